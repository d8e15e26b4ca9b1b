/* SPDX-License-Identifier: MIT */
/*
 * registry.c - a hash table of blocks that many threads use at once and that never waits.
 *
 * It grows a segment at a time (linear hashing: W. Litwin, 1980, but each segment splits when it is
 * itself full), so that its memory follows the number of blocks.  A segment that splits stays in use: the new
 * one is announced first, from then on what hashes to it is entered there; then the old entries move,
 * each by itself:
 *
 *     1. a pending copy is written in the new segment,
 *     2. the old entry is emptied, if it is still the same (compare-and-swap: this decides),
 *     3. the copy becomes live, if it is still there; or it is withdrawn, if 2 failed.
 *
 * Entries only ever move from a segment to one of those that it split into.  So whoever looks from the oldest
 * to the newest cannot miss one, and a mover that stops half way, for a signal or for ever in a forked
 * child, leaves every block on record.  Two movers of one segment do no harm.
 */
#include "capture/agent/registry.h"

#define LINE_ENTRIES 4u /* of a cache line */
#define LINES (HSNAP_REGISTRY_ENTRIES / LINE_ENTRIES)
/* An entry stands within so many lines, circularly, of where it hashes to: enough to fill a segment to
 * four fifths before it splits, and mostly in the first. */
#define WINDOW 8u
#define STATE(state) ((uint64_t)(state) << HSNAP_ADDRESS_BITS)
#define KEY_AND_STATE (((uint64_t)1 << HSNAP_KEY_BITS) - 1)

/* A bit a segment; the first one needs none.  Half a mebibyte that stays unmapped but for its start. */
static uint64_t exists[HSNAP_REGISTRY_WORDS];
static uint32_t depth; /* of the segments that exist, the longest number in bits */
/* Growths that have begun, and those after which nothing stood elsewhere than where it belongs: while both are the same, and
 * none begins, what is not there is nowhere. */
static uint64_t growths, done_growths;

/* ---- places ---- */

/* Where an address belongs: 256 bytes of memory in one segment, so in one page, for those who allocate and free one
 * after the other; and 32 bytes in one line: more together would fill lines at a stroke, and what belongs there too would
 * stand elsewhere. */
struct spot {
	uint32_t hash; /* its low bits are the segment's number */
	uint32_t line;
};

static inline struct spot spot_of(uint64_t key)
{
	uint64_t product = (key >> 8) * 0x9e3779b97f4a7c15ull;
	_Static_assert(LINES == 1u << 6, "bits of a line's number");
	return (struct spot){ (uint32_t)(product ^ product >> 32), (uint32_t)((key >> 5) * 0xd6e8feb86659fd93ull >> 58) };
}

static inline bool is_key(uint64_t key)
{
	return HSNAP_ENTRY_KEY(key) == key && HSNAP_ENTRY_ADDRESS(key) > HSNAP_REGISTRY_BUSY;
}

static inline unsigned length_in_bits(uint32_t number)
{
	return number ? 32u - (unsigned)__builtin_clz(number) : 0;
}

static inline bool is_there(uint32_t segment)
{
	return !segment || __atomic_load_n(&exists[segment / 64], __ATOMIC_ACQUIRE) >> segment % 64 & 1;
}

/* The one it split off from. */
static inline uint32_t parent_of(uint32_t segment)
{
	return segment & ~(1u << (length_in_bits(segment) - 1));
}

static inline uint32_t segment_of(struct spot spot)
{
	uint32_t most = (1u << __atomic_load_n(&depth, __ATOMIC_ACQUIRE)) - 1, segment = spot.hash & most;
	/* Some have split and some not yet, at random: no branch foretells which. */
	uint32_t split = (uint32_t)(__atomic_load_n(&exists[segment / 64], __ATOMIC_ACQUIRE) >> segment % 64 & 1);
	segment &= most >> 1 | -split;
	while (UNLIKELY(!is_there(segment)))
		segment = parent_of(segment);
	return segment;
}

static inline uint64_t *entries_of(uint32_t segment)
{
	uint64_t base = __atomic_load_n(&hsnap_agent_directory.registry_bases[length_in_bits(segment)], __ATOMIC_ACQUIRE);
	return base ? (uint64_t *)(base + (uint64_t)segment * HSNAP_REGISTRY_SEGMENT) : NULL;
}

static inline uint64_t *line_at(uint64_t *entries, struct spot spot, unsigned i)
{
	return entries + 2 * LINE_ENTRIES * ((spot.line + i) % LINES);
}

/* Memory for all segments whose number has so many bits; false: there is none. */
static bool make_room(unsigned bits)
{
	/* The first few have no mapping each. */
	static uint64_t first[16][HSNAP_REGISTRY_SEGMENT / sizeof(uint64_t)] __attribute__((aligned(HSNAP_REGISTRY_SEGMENT)));
	uint64_t *place = &hsnap_agent_directory.registry_bases[bits];
	uint64_t base = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (base)
		return true;
	hsnap_agent_directory.registry_exists = (uintptr_t)exists;
	if (bits <= 4) {
		__atomic_store_n(place, (uintptr_t)first, __ATOMIC_RELEASE);
		return true;
	}
	uint64_t before = (uint64_t)HSNAP_REGISTRY_SEGMENT << (bits - 1);
	void *fresh = hsnap_agent_pages(before);
	if (!fresh)
		return false;
	if (!__atomic_compare_exchange_n(place, &base, (uintptr_t)fresh - before, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		hsnap_agent_pages_free(fresh, before);
	return true;
}

/* ---- entries ---- */

static inline unsigned match(const uint64_t *line, unsigned e, uint64_t mask, uint64_t wanted)
{
	return (unsigned)((__atomic_load_n(&line[2 * e], __ATOMIC_RELAXED) & mask) == wanted) << e;
}

/* Which entries of a line are so, a bit each: all are looked at, since no branch foretells which it is. */
static inline unsigned matches(const uint64_t *line, uint64_t mask, uint64_t wanted)
{
	_Static_assert(LINE_ENTRIES == 4, "what is looked at");
	return match(line, 0, mask, wanted) | match(line, 1, mask, wanted) | match(line, 2, mask, wanted) |
	       match(line, 3, mask, wanted);
}

/* An empty place, claimed; NULL: no room near where it belongs. */
static inline uint64_t *claim(uint32_t segment, struct spot spot)
{
	uint64_t *entries = entries_of(segment);
	for (unsigned i = 0; entries && i < WINDOW; i++) {
		uint64_t *line = line_at(entries, spot, i);
		for (unsigned found = matches(line, UINT64_MAX, 0); found; found &= found - 1) {
			uint64_t *place = &line[2 * __builtin_ctz(found)], empty = 0;
			if (__atomic_compare_exchange_n(place, &empty, HSNAP_REGISTRY_BUSY, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return place;
		}
	}
	return NULL;
}

/* An entry of this key whose state is zero but for the bits of `also`. */
static inline bool look(uint32_t segment, struct spot spot, uint64_t key, uint64_t also,
			struct hsnap_agent_entry *ret)
{
	uint64_t *entries = entries_of(segment), mask = KEY_AND_STATE & ~also;
	for (unsigned i = 0; entries && i < WINDOW; i++) {
		uint64_t *line = line_at(entries, spot, i);
		unsigned found = matches(line, mask, key);
		if (!found)
			continue;
		uint64_t *place = &line[2 * __builtin_ctz(found)], word = __atomic_load_n(place, __ATOMIC_ACQUIRE);
		*ret = (struct hsnap_agent_entry){ place, word, __atomic_load_n(&place[1], __ATOMIC_ACQUIRE) };
		if (LIKELY((word & mask) == key))
			return true;
	}
	return false;
}

/* Put `to` where the entry stands as it was found; false: it has moved. */
static inline bool replace(const struct hsnap_agent_entry *entry, uint64_t to)
{
	uint64_t word = entry->word;
	return __atomic_compare_exchange_n(entry->place, &word, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* ---- growth ---- */

static void move(const struct hsnap_agent_entry *entry, uint64_t *to)
{
	uint64_t pending = entry->word | STATE(HSNAP_ENTRY_PENDING);
	__atomic_store_n(&to[1], entry->second, __ATOMIC_RELAXED);
	__atomic_store_n(to, pending, __ATOMIC_RELEASE);
	uint64_t then = replace(entry, 0) ? entry->word : 0;
	__atomic_compare_exchange_n(to, &pending, then, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Move what a segment holds for those that split off from it; false: something of it stays. */
static bool move_on(uint32_t segment)
{
	bool all = true;
	uint64_t *entries = entries_of(segment);
	for (unsigned i = 0; entries && i < 2 * HSNAP_REGISTRY_ENTRIES; i += 2) {
		struct hsnap_agent_entry entry = { &entries[i], __atomic_load_n(&entries[i], __ATOMIC_ACQUIRE), 0 };
		/* Being filled is a matter of two stores, unless who does so has been held up. */
		for (unsigned looks = 0; entry.word == HSNAP_REGISTRY_BUSY && looks < 64; looks++)
			entry.word = __atomic_load_n(&entries[i], __ATOMIC_ACQUIRE);
		if (!entry.word)
			continue;
		if (entry.word == HSNAP_REGISTRY_BUSY || HSNAP_ENTRY_STATE(entry.word) != HSNAP_ENTRY_LIVE) {
			all = false;
			continue;
		}
		entry.second = __atomic_load_n(&entries[i + 1], __ATOMIC_ACQUIRE);
		struct spot spot = spot_of(HSNAP_ENTRY_KEY(entry.word));
		uint32_t owner = segment_of(spot);
		uint64_t *to = owner == segment ? NULL : claim(owner, spot);
		if (to)
			move(&entry, to);
		all &= owner == segment || (to && segment_of(spot) == owner);
	}
	return all;
}

/* Announce the next segment that splits off from this one; false: there can be none. */
static bool split(uint32_t segment)
{
	unsigned bits = length_in_bits(segment);
	while (bits < HSNAP_REGISTRY_BITS && is_there(segment | 1u << bits))
		bits++;
	if (bits == HSNAP_REGISTRY_BITS || !make_room(bits + 1))
		return false;
	uint32_t next = segment | 1u << bits, known = __atomic_load_n(&depth, __ATOMIC_RELAXED);
	__atomic_fetch_or(&exists[next / 64], 1ull << next % 64, __ATOMIC_RELEASE);
	while (known < bits + 1 && !__atomic_compare_exchange_n(&depth, &known, bits + 1, true, __ATOMIC_ACQ_REL,
								__ATOMIC_RELAXED))
		;
	return true;
}

/* The common place is full.  First with what others may have begun: a split whose mover is not done. */
static __attribute__((noinline)) uint64_t *claim_slowly(struct spot spot)
{
	if (!make_room(0))
		return NULL;
	bool all = true;
	__atomic_fetch_add(&growths, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < 8; i++) {
		uint32_t segment = segment_of(spot);
		all &= move_on(segment);
		uint32_t owner = segment_of(spot);
		uint64_t *place = claim(owner, spot);
		if (place) {
			__atomic_fetch_add(&done_growths, all && segment_of(spot) == owner, __ATOMIC_SEQ_CST);
			return place;
		}
		if (segment != segment_of(spot))
			continue;
		if (!split(segment))
			break;
		all &= move_on(segment);
	}
	/* No memory, or no more numbers: what it split off from is searched as well. */
	for (uint32_t segment = segment_of(spot); segment; segment = parent_of(segment)) {
		uint64_t *place = claim(parent_of(segment), spot);
		if (place)
			return place;
	}
	return NULL;
}

/* A segment has split while an entry was written there: it goes on to where it belongs, if nobody has moved it yet; or whoever
 * looks has to look twice from now on. */
static __attribute__((noinline)) void follow(struct spot spot, uint32_t segment, const struct hsnap_agent_entry *entry)
{
	uint32_t owner = segment_of(spot);
	uint64_t *to = owner == segment ? NULL : claim(owner, spot);
	if (owner == segment)
		return;
	if (to)
		move(entry, to);
	if (!to || segment_of(spot) != owner)
		__atomic_fetch_add(&growths, 1, __ATOMIC_SEQ_CST);
}

/* ---- from outside ---- */

bool hsnap_agent_registry_add(uint64_t key, uint64_t requested, uint32_t site, unsigned epoch)
{
	struct spot spot = spot_of(key);
	uint64_t *place = NULL, begun = __atomic_load_n(&growths, __ATOMIC_ACQUIRE);
	uint32_t segment = segment_of(spot);
	if (LIKELY(requested <= HSNAP_REGISTRY_MAX_SIZE && is_key(key))) {
		place = claim(segment, spot);
		if (UNLIKELY(!place)) {
			place = claim_slowly(spot);
			begun = UINT64_MAX; /* which knows where it is */
		}
	}
	if (UNLIKELY(!place)) {
		struct hsnap_wire_directory *dir = &hsnap_agent_directory;
		__atomic_fetch_add(HSNAP_ENTRY_KIND(key) == HSNAP_KIND_BLOCK ? &dir->registry_lost : &dir->notes_lost, 1,
				   __ATOMIC_RELAXED);
		return false;
	}
	struct hsnap_agent_entry entry = {
		place, requested >> 40 << 63 | (uint64_t)epoch << HSNAP_KEY_BITS | key, requested << 24 | site,
	};
	__atomic_store_n(&place[1], entry.second, __ATOMIC_RELAXED);
	__atomic_store_n(place, entry.word, __ATOMIC_RELEASE);
	if (UNLIKELY(__atomic_load_n(&growths, __ATOMIC_ACQUIRE) != begun) && begun != UINT64_MAX)
		follow(spot, segment, &entry);
	return true;
}

/* It is on its way, or stayed behind, or is not there: from the oldest segment to the newest, first for
 * live ones; what was half moved when its mover stopped is pending. */
static __attribute__((noinline)) bool find_slowly(struct spot spot, uint64_t key, struct hsnap_agent_entry *ret)
{
	for (uint64_t also = 0; also <= STATE(HSNAP_ENTRY_PENDING); also += STATE(HSNAP_ENTRY_PENDING)) {
		uint32_t last = UINT32_MAX;
		for (unsigned bits = 0; bits <= __atomic_load_n(&depth, __ATOMIC_ACQUIRE); bits++) {
			uint32_t segment = spot.hash & ((1u << bits) - 1);
			if (segment != last && is_there(segment) && look(segment, spot, key, also, ret))
				return true;
			last = segment;
		}
	}
	return false;
}

bool hsnap_agent_registry_find(uint64_t key, struct hsnap_agent_entry *ret)
{
	if (UNLIKELY(!is_key(key)))
		return false;
	struct spot spot = spot_of(key);
	uint64_t done = __atomic_load_n(&done_growths, __ATOMIC_ACQUIRE), begun = __atomic_load_n(&growths, __ATOMIC_ACQUIRE);
	if (LIKELY(look(segment_of(spot), spot, key, 0, ret)))
		return true;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	bool settled = begun == done && __atomic_load_n(&growths, __ATOMIC_RELAXED) == begun;
	return !settled && find_slowly(spot, key, ret);
}

void hsnap_agent_registry_drop(struct hsnap_agent_entry *entry)
{
	uint64_t key = HSNAP_ENTRY_KEY(entry->word);
	while (UNLIKELY(!replace(entry, 0)) && hsnap_agent_registry_find(key, entry))
		;
}

bool hsnap_agent_registry_take(uint64_t key, uint64_t *ret_requested, uint32_t *ret_site)
{
	struct hsnap_agent_entry entry;
	if (!hsnap_agent_registry_find(key, &entry))
		return false;
	hsnap_agent_registry_drop(&entry);
	*ret_requested = HSNAP_ENTRY_REQUESTED(entry.word, entry.second);
	*ret_site = HSNAP_ENTRY_SITE(entry.second);
	return true;
}

bool hsnap_agent_registry_hold(uint64_t key, struct hsnap_agent_entry *ret)
{
	while (hsnap_agent_registry_find(key, ret)) {
		uint64_t held = (ret->word & ~STATE(HSNAP_ENTRY_PENDING)) | STATE(HSNAP_ENTRY_HELD);
		if (replace(ret, held)) {
			ret->word = held;
			return true;
		}
	}
	return false;
}

void hsnap_agent_registry_let_go(const struct hsnap_agent_entry *held)
{
	__atomic_store_n(held->place, held->word & ~STATE(HSNAP_ENTRY_HELD), __ATOMIC_RELEASE);
}

/* Entries move to segments of greater numbers only: from the first to the last none is missed. */
void hsnap_agent_registry_sweep(bool (*is_gone)(uint64_t word, uint64_t second, uint64_t context), uint64_t context)
{
	uint32_t num = __atomic_load_n(&hsnap_agent_directory.registry_bases[0], __ATOMIC_ACQUIRE) ? 1 : 0;
	for (uint32_t segment = 0; segment < num; segment++) {
		num = 1u << __atomic_load_n(&depth, __ATOMIC_ACQUIRE);
		if (segment && segment % 64 == 0 && !__atomic_load_n(&exists[segment / 64], __ATOMIC_ACQUIRE)) {
			segment += 63;
			continue;
		}
		uint64_t *entries = is_there(segment) ? entries_of(segment) : NULL;
		for (unsigned i = 0; entries && i < 2 * HSNAP_REGISTRY_ENTRIES; i += 2) {
			struct hsnap_agent_entry entry = { &entries[i], __atomic_load_n(&entries[i], __ATOMIC_ACQUIRE), 0 };
			if (entry.word <= HSNAP_REGISTRY_BUSY || HSNAP_ENTRY_KIND(entry.word) == HSNAP_KIND_BLOCK)
				continue;
			entry.second = __atomic_load_n(&entries[i + 1], __ATOMIC_ACQUIRE);
			if (is_gone(entry.word, entry.second, context))
				hsnap_agent_registry_drop(&entry);
		}
	}
}
