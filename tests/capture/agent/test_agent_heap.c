/* SPDX-License-Identifier: MIT */
/*
 * test_agent_heap.c - the agent and its reader against what a program knows of its own heap, and against glibc's walk.
 *
 * What a record has to survive, and the row that tries it:
 *
 *	realloc that moves                      realloc_moves, usable_of_every_size
 *	… that stays, by a cut-off tail         realloc_in_place
 *	… by mremap; in and out of the heap     realloc_mapped, mapped_of_every_size
 *	… that fails: the record is put back    realloc_mapped, out_of_address_space, out_of_data
 *	memalign's heads and tails              memaligned, every_alignment_and_size, aligned_new
 *	overruns of 1 and 8 bytes, at 16k       overrun_1_at_16k, overrun_8_at_16k
 *	… at 16k + 8                            overrun_1_at_16k_8, overrun_8_at_16k_8
 *	… of a block that is freed or moved     overrun_then_freed
 *	… of all sizes, carried to the end      tests/e2e/survival.sh
 *	free chunks that look like blocks       cached, churn
 *	usable sizes with and without a record  usable_of_every_size, deepbound
 *
 * Every row ends with the agent's totals being those of the walk.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "capture/wire.h"
#include "frozen.h"
#include "witness.h"

#define CORNERS .program = "HSNAP_TEST_CORNERS"
#define RANGES .program = "HSNAP_TEST_RANGES"
#define LIFETIMES .program = "HSNAP_TEST_LIFETIMES"
#define ONCE(which) { "own_memory_fails_once", 1, 0, 0, RANGES, .extra = "HSNAP_TEST_WHICH=" which, .no_stacks = true }

struct row {
	const char *name;
	unsigned threads; /* each has a tcache: at most so many blocks without a record */
	unsigned damaged; /* blocks whose record the case damages */
	unsigned lost;    /* … so much that it cannot be read any more */
	const char *program; /* where it is another one: the name of the variable that says */
	const char *extra;   /* a variable of its environment */
	unsigned in_flight;  /* blocks that may be counted and not there, or the other way round */
	bool no_stacks;      /* the agent had no memory for some */
	bool other_heap;     /* a second malloc in the process, whose blocks are not the agent's */
};

static const struct row rows[] = {
	{ "sizes", 1, 0, 0 },
	{ "churn", 1, 0, 0 },
	{ "realloc_moves", 1, 0, 0 },
	{ "realloc_in_place", 1, 0, 0 },
	{ "realloc_mapped", 1, 0, 0 },
	{ "memaligned", 1, 0, 0 },
	{ "usable_to_the_last_byte", 1, 0, 0 },
	{ "overrun_1_at_16k", 1, 100, 0 },
	{ "overrun_1_at_16k_8", 1, 0, 0 }, /* eight bytes of slack lie in between */
	{ "overrun_8_at_16k", 1, 100, 100 },
	{ "overrun_8_at_16k_8", 1, 0, 0 },
	{ "overrun_then_freed", 1, 100, 50 },
	{ "cached", 1, 0, 0 },
	{ "threads", 9, 0, 0 },
	{ "brk_blocked", 1, 0, 0 },
	{ "foreign_brk", 1, 0, 0 },
	{ "forked", 1, 0, 0 },
	{ "forked_child", 11, 0, 0 }, /* those of its parent's threads, too */
	{ "thread_destructors", 16, 0, 0 },
	{ "small_stacks", 2, 0, 0 },
	{ "fibres", 2, 0, 0 },
	{ "unloaded", 1, 0, 0 },
	{ "sparse", 1, 0, 0 },
	{ "beside_second_libc", 1, 0, 0, .other_heap = true },
	{ "C++", 1, 0, 0, .program = "HSNAP_TEST_FORMS" },
	{ "thousands_of_threads", 1, 0, 0, CORNERS },
	{ "dead_arenas", 1, 0, 0, CORNERS, .extra = "MALLOC_ARENA_MAX=100000" },
	{ "forked_amid_work", 9, 0, 0, CORNERS, .in_flight = 4 },
	{ "replaced", 1, 0, 0, CORNERS },
	{ "programs_started", 1, 0, 0, CORNERS },
	{ "daemonised", 1, 0, 0, CORNERS },
	{ "signals_anywhere", 1, 0, 0, CORNERS },
	{ "signal_at_each_instruction", 2, 0, 0, CORNERS },
	{ "deepbound", 1, 0, 0, CORNERS },
	{ "usable_of_every_size", 1, 0, 0, RANGES },
	{ "every_alignment_and_size", 1, 0, 0, RANGES },
	{ "mapped_of_every_size", 1, 0, 0, RANGES },
	{ "out_of_address_space", 1, 0, 0, RANGES },
	{ "out_of_data", 1, 0, 0, RANGES },
	{ "out_of_address_space", 1, 0, 0, RANGES, .extra = PLAIN },
	{ "out_of_data", 1, 0, 0, RANGES, .extra = PLAIN },
	{ "before_main", 2, 0, 0, LIFETIMES }, /* the cache from before the loader set up thread-locals for good */
	{ "after_main", 1, 0, 0, LIFETIMES },
	{ "after_threads", 8, 0, 0, LIFETIMES },
	{ "quick_exit", 1, 0, 0, LIFETIMES },
	{ "aligned_new", 1, 0, 0, LIFETIMES },
	{ "own_memory_fails_long", 1, 0, 0, RANGES, .no_stacks = true },
	{ "own_memory_never", 1, 0, 0, RANGES, .no_stacks = true },
	ONCE("1"), ONCE("2"), ONCE("3"), ONCE("4"), ONCE("5"), ONCE("6"), ONCE("7"),
};

ParameterizedTestParameters(agent_heap, walk)
{
	static size_t indices[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(rows) / sizeof(*rows));
}

/* Blocks in order, disjoint, in regions; sums as the agent counted them. */
static void check_order(const struct hsnap_heap *heap, const char *name)
{
	size_t region = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *b = &heap->blocks.items[i];
		cr_assert(!i || heap->blocks.items[i - 1].address + heap->blocks.items[i - 1].usable <= b->address,
			  "%s: block %zu overlaps the one before", name, i);
		cr_assert(b->requested <= b->usable, "%s: block %zu: %" PRIu64 " of %" PRIu64, name, i, b->requested, b->usable);
		while (region < heap->regions.num && heap->regions.items[region].end <= b->address)
			region++;
		cr_assert(region < heap->regions.num && heap->regions.items[region].start <= b->address &&
				  b->address + b->usable <= heap->regions.items[region].end + 8,
			  "%s: block %zu lies in no region", name, i);
	}
}

static bool lies_in(const struct hsnap_region *regions, size_t num, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < num; i++)
		if (regions[i].start <= start && end <= regions[i].end)
			return true;
	return false;
}

/* The agent's variables are the agent's: a table of its that begins where a block ends does not hold that. */
static void check_own(const struct hsnap_target *target, const struct hsnap_heap *heap, const char *name)
{
	unsigned found = 0;
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		const char *path = mapping->module ? hsnap_str(&target->strings, target->modules.items[mapping->module].path) : "";
		if (!strstr(path, "heapsnap-agent") || !(mapping->prot & HSNAP_PROT_WRITE))
			continue;
		/* Where other memory lies right behind it, it is one mapping with the last variables. */
		uint64_t end = (target->modules.items[mapping->module].end + 4095) & ~4095ull;
		end = end < mapping->end ? end : mapping->end;
		cr_expect(lies_in(heap->regions.items, heap->regions.num, mapping->start, end) &&
				  lies_in(heap->own.items, heap->own.num, mapping->start, end),
			  "%s: %s at %" PRIx64 " is no root", name, path, mapping->start);
		found++;
	}
	cr_expect(found, "%s: the agent's variables are somewhere", name);
}

static bool is_near(uint64_t counted, uint64_t found, uint64_t by)
{
	return counted - found + by <= 2 * by;
}

/* agent totals = walk */
static void check_totals(const struct hsnap_heap *heap, const struct row *row, uint64_t lost)
{
	uint64_t count = lost, bytes = 160 * lost; /* what is lost asks for 160 bytes, which leave no slack */
	for (size_t i = 0; i < heap->blocks.num; i++) {
		if (heap->blocks.items[i].flags & HSNAP_BLOCK_NO_RECORD)
			continue;
		count++;
		bytes += heap->blocks.items[i].requested;
	}
	uint64_t live = heap->allocated_count - heap->freed_count;
	cr_expect(is_near(live, count, row->in_flight), "%s: agent counts %" PRIu64 " live, walk %" PRIu64, row->name, live, count);
	uint64_t room = heap->found_room + 160 * lost, most = row->in_flight * 4096;
	cr_expect(is_near(heap->counted_room, room, most), "%s: agent counts room of %" PRIu64 ", walk %" PRIu64, row->name,
		  heap->counted_room, room);
	live = heap->allocated_bytes - heap->freed_bytes;
	cr_expect(is_near(live, bytes, most), "%s: agent counts %" PRIu64 " bytes, walk %" PRIu64, row->name, live, bytes);
}

ParameterizedTest(size_t *row, agent_heap, walk)
{
	const char *name = rows[*row].name;
	const char *program = getenv(rows[*row].program ? rows[*row].program : "HSNAP_TEST_VICTIM");
	const char *argv[] = { program, name, NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, rows[*row].extra);
	char path[64], what[8];
	int pid;
	size_t lines;
	cr_assert_eq(fscanf(victim.said, "%63s %zu", path, &lines), 2);
	cr_assert_eq(sscanf(path, "/proc/%d/", &pid), 1); /* the program itself, or a child of its */
	struct hsnap_target *target = victim_freeze(pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	check_order(&heap, name);
	check_own(target, &heap, name);

	size_t live = 0, over = 0, lost = 0, bare = 0;
	uint64_t address, size;
	FILE *truth = fopen(path, "r");
	cr_assert(truth);
	rewind(truth);
	for (size_t i = 0; i < lines; i++) {
		cr_assert_eq(fscanf(truth, "%7s %" SCNx64 " %" SCNu64, what, &address, &size), 3);
		size_t found = hsnap_heap_find(&heap, address);
		const struct hsnap_block *b = found != SIZE_MAX && heap.blocks.items[found].address == address ?
						      &heap.blocks.items[found] : NULL;
		if (!strcmp(what, "dead")) {
			cr_expect(!b, "%s: freed block %" PRIx64 " is called live", name, address);
			continue;
		}
		cr_assert(b, "%s: block %" PRIx64 " of %" PRIu64 " bytes is missing", name, address, size);
		if (!strcmp(what, "bare")) {
			cr_expect(b->flags & HSNAP_BLOCK_NO_RECORD && b->usable >= size, "%s: block %" PRIx64, name, address);
			bare++;
			continue;
		}
		if (b->flags & HSNAP_BLOCK_NO_RECORD) {
			cr_expect(*what == 'o', "%s: block %" PRIx64 " has no record", name, address);
			cr_expect_eq(b->requested, b->usable, "%s: size", name);
			lost++;
			continue;
		}
		cr_expect_eq(b->requested, size, "%s: block %" PRIx64 ": %" PRIu64 " bytes, want %" PRIu64, name, address,
			     b->requested, size);
		cr_expect(b->epoch >= 1 && b->epoch < 600, "%s: epoch %u", name, b->epoch);
		bool gone = !strcmp(name, "unloaded") && size == 1000;
		cr_expect(b->stack < heap.stacks.num && (!b->stack == gone || rows[*row].no_stacks), "%s: stack %u", name, b->stack);
		bool flagged = b->flags & HSNAP_BLOCK_OVERRUN;
		cr_expect_eq(flagged, *what == 'o' && rows[*row].damaged, "%s: overrun flag", name);
		over += *what == 'o';
		live += *what == 'l';
	}
	fclose(truth);
	cr_assert(live + over + lost, "%s: nothing was compared", name);
	cr_expect_eq(lost, rows[*row].lost, "%s: %zu records lost", name, lost);

	check_totals(&heap, &rows[*row], lost);
	cr_expect_eq(heap.overruns, rows[*row].damaged, "%s: %" PRIu64 " overruns", name, heap.overruns);
	cr_expect(heap.no_record <= rows[*row].threads + lost + bare, "%s: %" PRIu64 " blocks without a record", name, heap.no_record);
	cr_expect_eq(heap.walked_bytes, heap.expected_bytes, "%s: walked", name);
	bool told = !strncmp(heap.partial, "the call stacks of up to ", 25), once = !strcmp(name, "own_memory_fails_once");
	cr_expect(rows[*row].no_stacks ? told || (once && !heap.partial[0]) : !heap.partial[0], "%s: '%s'", name, heap.partial);
	if (!rows[*row].other_heap)
		witness_agrees(target, &heap, name, rows[*row].in_flight);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}

Test(agent_heap, no_agent_is_an_answer)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "sparse", NULL };
	struct victim victim = victim_start(NULL, argv, NULL);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_expect_eq(hsnap_heap_read(target, HSNAP_HEAP_AGENT, &heap, &err), HSNAP_NOT_FOUND);
	cr_expect_str_eq(err.message, "the agent is not loaded");
	hsnap_target_close(target);
	victim_end(&victim);
}

/* Another allocator serves the program in the agent's place: nothing is recorded, and the reason is the answer. */
Test(agent_heap, stood_aside)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "realloc_moves", NULL };
	char preload[8192];
	snprintf(preload, sizeof(preload), "%s:%s", getenv("HSNAP_TEST_DUMMY"), getenv("HSNAP_TEST_AGENT"));
	struct victim victim = victim_start(preload, argv, NULL);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_expect_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "the agent stood aside: malloc comes from libdummy-allocator.so");
	hsnap_target_close(target);
	victim_end(&victim);
}

/* Where the directory is, by the place of its magic in the agent's writable segment. */
static struct hsnap_wire_directory *directory_of(const struct hsnap_target *target)
{
	const uint64_t magic = HSNAP_WIRE_MAGIC;
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *m = &target->mappings.items[i];
		if (!(m->prot & HSNAP_PROT_WRITE) || !strstr(hsnap_str(&target->strings, m->path), HSNAP_WIRE_SONAME))
			continue;
		size_t size = (size_t)(m->end - m->start);
		const void *found = memmem(hsnap_target_view(target, m->start, size), size, &magic, sizeof(magic));
		if (found)
			return (struct hsnap_wire_directory *)found;
	}
	cr_assert_fail("no directory");
	return NULL;
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* A word that does harm: small, great, one off, near another address. */
static uint64_t evil(uint64_t was)
{
	switch (rnd() % 7) {
	case 0: return rnd();
	case 1: return 0;
	case 2: return ~0ull;
	case 3: return was + 1;
	case 4: return was ^ 1ull << rnd() % 64;
	case 5: return was + (rnd() % 65536) * 16;
	default: return was - (rnd() % 65536) * 16;
	}
}

static void *writable(const struct hsnap_target *target, uint64_t address, size_t len)
{
	return (void *)hsnap_target_view(target, address, len);
}

/* Whatever stands in the target: an end, and an answer that is in order. */
static void read_damaged(const struct hsnap_target *target)
{
	struct hsnap_heap heap;
	struct hsnap_error err;
	if (hsnap_agent_heap_read(target, &heap, &err)) {
		cr_expect_neq(err.message[0], '\0');
		return;
	}
	for (size_t i = 0; i < heap.blocks.num; i++) {
		const struct hsnap_block *b = &heap.blocks.items[i];
		cr_assert(b->requested <= b->usable && b->stack < heap.stacks.num && b->address + b->usable > b->address);
		cr_assert(!i || heap.blocks.items[i - 1].address + heap.blocks.items[i - 1].usable <= b->address,
			  "blocks %zu and %zu overlap", i - 1, i);
	}
	for (size_t i = 1; i < heap.regions.num; i++)
		cr_assert(heap.regions.items[i - 1].end < heap.regions.items[i].start, "regions overlap");
	cr_assert(heap.walked_bytes <= heap.expected_bytes);
	cr_assert(heap.walked_bytes == heap.expected_bytes || heap.partial[0], "a loss was not told");
	hsnap_heap_deinit(&heap);
}

Test(agent_heap, damaged_directory)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "threads", NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, NULL);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_wire_directory *dir = directory_of(target), whole = *dir;
	for (int round = 0; round < 300; round++) {
		uint64_t *words = (uint64_t *)dir;
		for (unsigned i = 0; i <= rnd() % 4; i++) {
			/* The interesting words are at the start; most of the rest are tables of zeros. */
			size_t at = rnd() % (rnd() % 2 ? 40 : sizeof(*dir) / 8);
			words[at] = evil(words[at]);
		}
		dir->magic = whole.magic;
		read_damaged(target);
		*dir = whole;
	}
	hsnap_target_close(target);
	victim_end(&victim);
}

Test(agent_heap, damaged_heap)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "realloc_mapped", NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, NULL);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_wire_directory *dir = directory_of(target);
	for (int round = 0; round < 400; round++) {
		/* Damage adds up: the last rounds read a ruin. */
		uint64_t span = dir->brk_end - dir->brk_start;
		uint64_t *word = writable(target, dir->brk_start + rnd() % (span / 8) * 8, 8);
		if (word && rnd() % 4)
			*word = evil(*word);
		uint64_t *table = writable(target, dir->large_address, dir->large_capacity * 24);
		for (size_t i = 0; round % 8 == 0 && table && i < dir->large_capacity; i++)
			if (table[i] && rnd() % 4 == 0)
				table[i + rnd() % 3 * dir->large_capacity] = evil(table[i]);
		read_damaged(target);
	}
	hsnap_target_close(target);
	victim_end(&victim);
}

/* One head destroyed: its neighbours are all found, the loss is told, the bytes are kept. */
Test(agent_heap, one_head_destroyed)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "overrun_1_at_16k_8", NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, NULL);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_heap before, after;
	cr_assert_eq(hsnap_agent_heap_read(target, &before, NULL), HSNAP_OK);
	const struct hsnap_block *hit = &before.blocks.items[before.blocks.num / 2];
	uint64_t *head = writable(target, hit->address - 8, 8);
	*head = 0x4242424242424242;
	cr_assert_eq(hsnap_agent_heap_read(target, &after, NULL), HSNAP_OK);
	cr_expect_eq(after.blocks.num, before.blocks.num);
	cr_expect_neq(after.partial[0], '\0');
	cr_expect(after.walked_bytes < after.expected_bytes);
	size_t found = hsnap_heap_find(&after, hit->address);
	cr_assert(found != SIZE_MAX);
	cr_expect_eq(after.blocks.items[found].address, hit->address);
	cr_expect_eq(after.blocks.items[found].usable, hit->usable + HSNAP_TRAILER_SIZE); /* the record is gone, too */
	cr_expect_eq(after.blocks.items[found].flags, HSNAP_BLOCK_NO_RECORD | HSNAP_BLOCK_OVERRUN);
	hsnap_heap_deinit(&before);
	hsnap_heap_deinit(&after);
	hsnap_target_close(target);
	victim_end(&victim);
}
