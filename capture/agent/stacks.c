/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - who calls: stacks, each stored once, and the number a trailer carries.
 *
 * Records are appended to a pool and never change.  The tables that find them by
 * hash are lock-free; a full one gets a bigger one in front of it, and what is
 * found in an older one is entered in the newest, so that a busy stack costs one
 * look.  Two stacks are taken for one where 40 bits of tag and the index agree.
 */
#include "capture/agent/agent.h"

#include "capture/agent/walk.h"

struct hsnap_agent_table {
	struct hsnap_agent_table *older;
	uint32_t mask, used;
	uint64_t entries[]; /* tag 40 | site 24; 0 = empty */
};

#define FIRST_ENTRIES 4096u
#define MAX_ENTRIES (1u << 24)
#define MAX_PROBES 32u

static struct hsnap_agent_table *make_table(struct hsnap_agent_table *older)
{
	uint32_t entries = older ? (older->mask + 1) * 4 : FIRST_ENTRIES;
	if (entries > MAX_ENTRIES)
		return NULL;
	size_t size = sizeof(struct hsnap_agent_table) + sizeof(uint64_t) * entries;
	struct hsnap_agent_table *fresh = hsnap_agent_pages(size);
	if (!fresh)
		return NULL;
	fresh->older = older;
	fresh->mask = entries - 1;
	struct hsnap_agent_table *expected = older;
	if (!__atomic_compare_exchange_n(&hsnap_agent.table, &expected, fresh, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		hsnap_agent_pages_free(fresh, size);
		return expected;
	}
	return fresh;
}

/* Room for a record of these many units, all in one segment; 0: the pool is full. */
static bool has_segment(uint64_t *place)
{
	uint64_t segment = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (LIKELY(segment))
		return true;
	size_t size = sizeof(uint64_t) * HSNAP_STACK_UNIT_WORDS * HSNAP_STACK_SEGMENT_UNITS;
	void *fresh = hsnap_agent_pages(size);
	if (fresh && !__atomic_compare_exchange_n(place, &segment, (uintptr_t)fresh, false, __ATOMIC_ACQ_REL,
						  __ATOMIC_ACQUIRE))
		hsnap_agent_pages_free(fresh, size);
	return fresh;
}

/* Where there is no memory, no units are used up. */
static uint32_t take_units(uint32_t units)
{
	struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	uint64_t at = __atomic_load_n(&dir->stack_units, __ATOMIC_RELAXED), first;
	do {
		first = at ? at : 1;
		uint64_t left = HSNAP_STACK_SEGMENT_UNITS - first % HSNAP_STACK_SEGMENT_UNITS;
		if (left < units)
			first += left;
		if (first + units > HSNAP_MAX_SITE || !has_segment(&dir->stack_segments[first / HSNAP_STACK_SEGMENT_UNITS]))
			return 0;
	} while (!__atomic_compare_exchange_n(&dir->stack_units, &at, first + units, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return (uint32_t)first;
}

static uint64_t *record_at(uint32_t site)
{
	uint64_t segment = hsnap_agent_directory.stack_segments[site / HSNAP_STACK_SEGMENT_UNITS];
	return (uint64_t *)segment + (uint64_t)HSNAP_STACK_UNIT_WORDS * (site % HSNAP_STACK_SEGMENT_UNITS);
}

static uint32_t add_record(uint64_t head, const uint64_t *words, uint32_t num)
{
	uint32_t units = (num + HSNAP_STACK_UNIT_WORDS) / HSNAP_STACK_UNIT_WORDS;
	uint32_t site = take_units(units);
	if (!site)
		return 0;
	uint64_t *record = record_at(site);
	record[0] = head;
	for (unsigned i = 0; i < num; i++)
		record[1 + i] = words[i];
	return site;
}

/* The entry with this tag; else 0, and *ret_slot an empty place for it (or UINT32_MAX). */
static inline uint32_t look(const struct hsnap_agent_table *table, uint64_t hash, uint32_t *ret_slot)
{
	uint32_t slot = (uint32_t)hash & table->mask;
	for (unsigned i = 0; i < MAX_PROBES; i++, slot = (slot + 1) & table->mask) {
		uint64_t entry = __atomic_load_n(&table->entries[slot], __ATOMIC_ACQUIRE);
		if (LIKELY((entry ^ hash) >> 24 == 0 && entry))
			return (uint32_t)entry & HSNAP_MAX_SITE;
		if (!entry) {
			*ret_slot = slot;
			return 0;
		}
	}
	*ret_slot = UINT32_MAX;
	return 0;
}

static void enter(struct hsnap_agent_table *table, uint64_t hash, uint32_t slot, uint32_t site)
{
	uint64_t empty = 0;
	/* Lost to another thread: the next call finds either that stack or an older table's entry. */
	if (__atomic_compare_exchange_n(&table->entries[slot], &empty, (hash & ~(uint64_t)HSNAP_MAX_SITE) | site, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		__atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
}

/* A record that is not in the newest table. */
static __attribute__((noinline)) uint32_t intern_slowly(uint64_t head, const uint64_t *words, uint32_t num, uint64_t hash)
{
	struct hsnap_agent_table *newest = __atomic_load_n(&hsnap_agent.table, __ATOMIC_ACQUIRE);
	uint32_t slot = UINT32_MAX, ignored, site = newest ? look(newest, hash, &slot) : 0;
	if (site)
		return site;
	if (!newest || slot == UINT32_MAX || newest->used > newest->mask / 2) {
		struct hsnap_agent_table *grown = make_table(newest);
		if (grown) {
			newest = grown;
			site = look(newest, hash, &slot);
		}
	}
	for (struct hsnap_agent_table *older = newest ? newest->older : NULL; older && !site; older = older->older)
		site = look(older, hash, &ignored);
	/* What no table leads to would be stored again by each call. */
	if (!newest || slot == UINT32_MAX)
		return site;
	if (!site)
		site = add_record(head, words, num);
	if (site)
		enter(newest, hash, slot, site);
	return site;
}

/* The last unload of a module through which the stack leads: code that has come to its place since
 * makes stacks of its own. */
static __attribute__((noinline)) uint64_t last_unload(const uint64_t *pcs, uint32_t num)
{
	uint64_t last = 0;
	for (unsigned i = 0; i < HSNAP_NUM_UNLOADS; i++) {
		const struct hsnap_wire_unload *unload = &hsnap_agent_directory.unloads[i];
		for (uint32_t p = 0; p < num && unload->number > last; p++)
			if (pcs[p] - unload->start < unload->end - unload->start)
				last = unload->number;
	}
	return last;
}

static inline uint64_t spread(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0x9e3779b97f4a7c15;
	hash ^= hash >> 29;
	return LIKELY(hash >> 24) ? hash : hash | 1ull << 24; /* an entry is never 0 */
}

static inline uint32_t intern(const uint64_t *pcs, uint32_t num, uint32_t sure, uint64_t hash)
{
	uint64_t unloads = __atomic_load_n(&hsnap_agent_directory.num_unloads, __ATOMIC_RELAXED);
	if (UNLIKELY(unloads))
		hash += last_unload(pcs, num) * 0xc2b2ae3d27d4eb4d;
	hash = spread(hash);
	struct hsnap_agent_table *newest = __atomic_load_n(&hsnap_agent.table, __ATOMIC_ACQUIRE);
	uint32_t ignored, site = LIKELY(newest != NULL) ? look(newest, hash, &ignored) : 0;
	return LIKELY(site) ? site : intern_slowly(num | sure << 8 | (unloads < 0xffff ? unloads : 0xffff) << 16, pcs, num, hash);
}

/* ---- what annotations say ---- */

#define MAX_TRIES 8u /* other records that have the same hash */

uint64_t hsnap_agent_unit(uint32_t unit)
{
	return *record_at(unit);
}

const char *hsnap_agent_unit_text(uint32_t unit)
{
	return (const char *)(record_at(unit) + 1);
}

/* Two of these are never taken for one: they are held against each other. */
uint32_t hsnap_agent_intern(uint64_t head, const uint64_t *words, uint32_t num)
{
	uint64_t hash = head * 0xff51afd7ed558ccd;
	for (uint32_t i = 0; i < num; i++)
		hash = (hash ^ hash >> 31 ^ words[i]) * 0xff51afd7ed558ccd;
	for (uint32_t tries = 0; tries < MAX_TRIES; tries++) {
		uint32_t unit = intern_slowly(head, words, num, spread(hash + tries * 0xc2b2ae3d27d4eb4d));
		uint64_t differs = unit ? *record_at(unit) ^ head : 1;
		for (uint32_t i = 0; i < num && !differs; i++)
			differs = record_at(unit)[1 + i] ^ words[i];
		if (!differs || !unit)
			return unit;
	}
	return 0;
}

/* ---- sites ---- */

uint64_t hsnap_agent_callers[1u << HSNAP_CALLER_BITS];

void hsnap_agent_forget_callers(void)
{
	for (size_t i = 0; i < 1u << HSNAP_CALLER_BITS; i++)
		if (__atomic_load_n(&hsnap_agent_callers[i], __ATOMIC_RELAXED))
			__atomic_store_n(&hsnap_agent_callers[i], 0, __ATOMIC_RELAXED);
}

static inline uint32_t intern_walk(const struct hsnap_agent_stack *stack)
{
	uintptr_t pcs[HSNAP_DEPTH];
	for (uint32_t i = 0; i < stack->num; i++)
		pcs[i] = stack->pair[i].pc;
	return intern(pcs, stack->num, stack->sure, stack->hash);
}

static uint32_t site_of_caller(uintptr_t pc)
{
	uint64_t pcs[1] = { pc };
	uint32_t site = intern(pcs, 1, 1, pc * hsnap_agent_factors[0]);
	if (site)
		__atomic_store_n(hsnap_agent_caller(pc), (uint64_t)(pc >> HSNAP_CALLER_BITS) << 24 | site, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&hsnap_agent_directory.stacks_lost, 1, __ATOMIC_RELAXED);
	return site;
}

/* Is this thread's stack known, and the frame on it?  If not (a coroutine's stack, a signal's), reading
 * beyond the frame is not safe. */
static inline bool on_stack(struct hsnap_agent_thread *self, uintptr_t frame)
{
	if (UNLIKELY(!self->bounds))
		hsnap_agent_find_bounds(self, frame);
	return LIKELY(self->bounds == 1) && frame >= self->stack_start && frame < self->stack_end - 16;
}

/* Where the last walk from this frame by this caller is kept. */
static inline unsigned way_of(const uintptr_t *frame)
{
	return (unsigned)((frame[1] + ((uintptr_t)frame << 20)) * 0x9e3779b97f4a7c15 >> (64 - HSNAP_WALK_BITS));
}

static __attribute__((noinline)) uint32_t site_of_new_stack(struct hsnap_agent_walks *walks, const uintptr_t *frame,
							    uintptr_t end)
{
	walks->walking = true;
	__asm__ volatile("" ::: "memory");
	struct hsnap_agent_stack *stack = &walks->stacks[walks->spare];
	uint8_t *way = &walks->way[way_of(frame)];
	/* A signal's handler may have come between that one's being found and its being the latest. */
	uint8_t last = LIKELY(walks->latest != walks->spare) ? walks->latest : *way;
	hsnap_agent_walk(frame, end, &walks->stacks[last], stack);
	uint32_t site = intern_walk(stack);
	stack->site = site;
	walks->latest = walks->spare;
	walks->spare = *way;
	*way = walks->latest;
	__asm__ volatile("" ::: "memory");
	walks->walking = false;
	return site;
}

/* Words that still stand on the stack may be addresses of code that has come to the old one's place. */
static __attribute__((noinline)) void forget_walks(struct hsnap_agent_walks *walks, uint64_t unloads)
{
	for (unsigned i = 0; i <= HSNAP_WALKS; i++)
		walks->stacks[i].num = walks->stacks[i].site = 0;
	walks->unloads = unloads;
}

uint32_t hsnap_agent_site(const uintptr_t *frame)
{
	struct hsnap_agent_thread *self = &hsnap_agent_self;
	struct hsnap_agent_walks *walks = self->walks;
	if (UNLIKELY(!walks && !self->counters)) { /* the thread's first call */
		hsnap_agent_slot();
		walks = self->walks;
	}
	/* A signal's handler that comes in the middle of a walk has to leave its notes alone. */
	if (hsnap_agent.stacks >= HSNAP_STACKS_FP && LIKELY(walks != NULL) && !walks->walking &&
	    on_stack(self, (uintptr_t)frame)) {
		uint64_t unloads = __atomic_load_n(&hsnap_agent_directory.num_unloads, __ATOMIC_RELAXED);
		if (UNLIKELY(walks->unloads != unloads))
			forget_walks(walks, unloads);
		uint8_t kept = walks->way[way_of(frame)];
		const struct hsnap_agent_stack *last = &walks->stacks[kept];
		uint32_t site = last->site;
		if (LIKELY(site && hsnap_agent_same_stack(last, frame)))
			walks->latest = kept;
		else
			site = site_of_new_stack(walks, frame, self->stack_end);
		if (LIKELY(site))
			return site;
		/* The pool is full: better the caller alone than nothing. */
		__atomic_fetch_add(&hsnap_agent_directory.stacks_lost, 1, __ATOMIC_RELAXED);
	}
	return site_of_caller(frame[1]);
}
