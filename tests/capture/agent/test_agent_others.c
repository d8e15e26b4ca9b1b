/* SPDX-License-Identifier: MIT */
/* test_agent_others.c - the agent and its reader on other allocators than glibc's, against what a program knows of its
 * own heap: preloaded behind the agent, and linked. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "capture/alloc/alloc.h"
#include "frozen.h"

#define VICTIM "HSNAP_TEST_VICTIM"
#define CORNERS "HSNAP_TEST_CORNERS"
#define RANGES "HSNAP_TEST_RANGES"
#define LIFETIMES "HSNAP_TEST_LIFETIMES"
#define FORMS "HSNAP_TEST_FORMS"
#define CALLS "HSNAP_TEST_CALLS"

static const char *const libraries[] = { "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2" };
static const char *const names[] = { "jemalloc", "tcmalloc", "mimalloc" };
enum { NUM_LIBRARIES = sizeof(libraries) / sizeof(*libraries) };

static const struct row {
	const char *name, *program;
	unsigned in_flight; /* blocks that may be counted and not there, or the other way round */
	enum { ANY, UNTOLD, TOLD } room; /* of a block: does the program know it? */
	bool loses;         /* the agent has no memory for the entries of some blocks */
	const char *extra;  /* a variable of its environment */
	const char *only; /* with the other allocators the program does not come through, with the agent or without */
} rows[] = {
	{ "every_call", CALLS, 0 },
	{ "threads", CALLS, 0 },
	{ "child", CALLS, 0 },
	{ "sizes", VICTIM, 0, .room = UNTOLD },
	{ "churn", VICTIM, 0 },
	{ "realloc_moves", VICTIM, 0 },
	{ "memaligned", VICTIM, 0 },
	{ "usable_to_the_last_byte", VICTIM, 0 },
	{ "cached", VICTIM, 0 },
	{ "threads", VICTIM, 0 },
	{ "forked", VICTIM, 0 },
	{ "forked_child", VICTIM, 0 },
	{ "thread_destructors", VICTIM, 0 },
	{ "small_stacks", VICTIM, 0 },
	{ "fibres", VICTIM, 0 },
	{ "unloaded", VICTIM, 0 },
	{ "room_by_a_library", VICTIM, 0, .room = TOLD },
	{ "room_by_dlsym", CALLS, 0, .room = TOLD },
	{ "sparse", VICTIM, 0 },
	{ "C++", FORMS, 0, .only = "jemalloc tcmalloc" },
	{ "C++, no failures", FORMS, 0 },
	{ "thousands_of_threads", CORNERS, 0 },
	{ "forked_amid_work", CORNERS, 4 },
	{ "replaced", CORNERS, 0 },
	{ "programs_started", CORNERS, 0 },
	{ "daemonised", CORNERS, 0 },
	{ "before_main", LIFETIMES, 0, .only = "tcmalloc" },
	{ "after_main", LIFETIMES, 0, .only = "tcmalloc" },
	{ "after_threads", LIFETIMES, 0, .only = "tcmalloc" },
	{ "quick_exit", LIFETIMES, 0, .only = "tcmalloc" },
	{ "aligned_new", LIFETIMES, 0, .only = "tcmalloc" },
	/* A program that goes on where malloc fails; mimalloc 2.0.9 does not. */
	{ "out_of_address_space", RANGES, 0, .loses = true, .only = "jemalloc tcmalloc" },
	{ "out_of_data", RANGES, 0, .loses = true, .only = "jemalloc tcmalloc" },
	{ "out_of_address_space", RANGES, 0, .loses = true, .extra = PLAIN, .only = "jemalloc tcmalloc" },
	{ "out_of_data", RANGES, 0, .loses = true, .extra = PLAIN, .only = "jemalloc tcmalloc" },
	{ "no_room_for_entries", RANGES, 0, .loses = true },
};
enum { NUM_ROWS = sizeof(rows) / sizeof(*rows) };

/* ---- what was read against what the program says ---- */

static bool is_near(uint64_t counted, uint64_t found, uint64_t by)
{
	return counted - found + by <= 2 * by;
}

/* Blocks in order, disjoint, in regions; sums as the agent counted them. */
static void check_sums(const struct hsnap_heap *heap, const struct row *row)
{
	const char *name = row->name;
	unsigned in_flight = row->in_flight;
	uint64_t bytes = 0;
	size_t region = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *b = &heap->blocks.items[i];
		cr_assert(!i || heap->blocks.items[i - 1].address + heap->blocks.items[i - 1].usable <= b->address,
			  "%s: block %zu overlaps the one before", name, i);
		while (region < heap->regions.num && heap->regions.items[region].end <= b->address)
			region++;
		cr_assert(region < heap->regions.num && heap->regions.items[region].start <= b->address &&
				  b->address + b->usable <= heap->regions.items[region].end,
			  "%s: block %zu lies in no region", name, i);
		bytes += b->requested;
	}
	uint64_t live = heap->allocated_count - heap->freed_count;
	cr_expect(is_near(live, heap->blocks.num, in_flight), "%s: agent counts %" PRIu64 " live, there are %zu", name, live,
		  heap->blocks.num);
	live = heap->allocated_bytes - heap->freed_bytes;
	cr_expect(is_near(live, bytes, in_flight * 4096), "%s: agent counts %" PRIu64 " bytes, there are %" PRIu64, name, live, bytes);
	cr_expect(!heap->partial[0] || row->loses, "%s: %s", name, heap->partial);
}

/* Each block that is not there is said to have found no place; some that found none have been freed since. */
static void check_lost(const struct hsnap_heap *heap, const struct row *row, size_t missing)
{
	uint64_t lost = 0;
	bool told = sscanf(heap->partial, "%" SCNu64 " blocks found no place in the agent's registry, 0 in it", &lost) == 1;
	cr_expect(told || !heap->partial[0], "%s: %s", row->name, heap->partial);
	cr_expect(missing <= lost, "%s: %zu blocks are missing, %" PRIu64 " are said to be", row->name, missing, lost);
	cr_expect(lost || strcmp(row->name, "no_room_for_entries"), "%s: all found a place", row->name);
}

/* Was it handed out again since, to a library: the loader, for a thread, or libc? */
static bool is_library(const struct hsnap_target *target, const struct hsnap_heap *heap, const struct hsnap_block *block)
{
	const struct hsnap_raw_stack *stack = &heap->stacks.items[block->stack];
	const struct hsnap_mapping *mapping = stack->num_pcs ? hsnap_target_mapping(target, heap->pcs.items[stack->first_pc]) : NULL;
	return mapping && mapping->module && !target->modules.items[mapping->module].main;
}

static void check_truth(const struct hsnap_target *target, const struct hsnap_heap *heap, const struct row *row, FILE *truth,
			size_t lines)
{
	const char *name = row->name;
	char what[8];
	uint64_t address, size;
	size_t compared = 0, missing = 0;
	rewind(truth);
	for (size_t i = 0; i < lines; i++) {
		cr_assert_eq(fscanf(truth, "%7s %" SCNx64 " %" SCNu64, what, &address, &size), 3);
		size_t found = hsnap_heap_find(heap, address);
		const struct hsnap_block *b = found != SIZE_MAX && heap->blocks.items[found].address == address ?
						      &heap->blocks.items[found] : NULL;
		if (!strcmp(what, "dead")) {
			/* Threads that are at work may have been given it. */
			cr_expect(!b || row->in_flight || is_library(target, heap, b), "%s: freed block %" PRIx64 " is called live", name,
				  address);
			continue;
		}
		if (!b && row->loses) {
			missing++;
			continue;
		}
		cr_assert(b, "%s: block %" PRIx64 " of %" PRIu64 " bytes is missing", name, address, size);
		cr_expect_eq(b->requested, size, "%s: block %" PRIx64 ": %" PRIu64 " bytes, want %" PRIu64, name, address,
			     b->requested, size);
		/* 100 bytes are of a class of 112 with each of them. */
		if (row->room == UNTOLD)
			cr_expect_eq(b->usable, size ? size : 1, "%s: block of %" PRIu64 ", usable %" PRIu64, name, size, b->usable);
		else if (row->room == TOLD && size > 96 && size <= 112)
			cr_expect_eq(b->usable, 112, "%s: block of %" PRIu64 ", usable %" PRIu64, name, size, b->usable);
		cr_expect(b->epoch >= 1 && b->epoch < 600, "%s: epoch %u", name, b->epoch);
		bool gone = !strcmp(name, "unloaded") && size == 1000;
		cr_expect(b->stack < heap->stacks.num && !b->stack == gone, "%s: stack %u", name, b->stack);
		cr_expect(!(b->flags & HSNAP_BLOCK_INSIDE), "%s: block %" PRIx64 " was asked for by the program", name, address);
		compared++;
	}
	cr_assert(compared, "%s: nothing was compared", name);
	if (row->loses)
		check_lost(heap, row, missing);
}

/* Is it this process's allocator?  Where the library is not there the loader goes on without. */
static bool is_loaded(const struct victim *victim, int pid, const char *library)
{
	char path[64], line[4096];
	bool found = false;
	int status = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	cr_assert(maps, "%s cannot be opened: %m; of the program that was started %d, status %x", path,
		  waitpid(victim->pid, &status, WNOHANG | WUNTRACED | WCONTINUED), status);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, library) != NULL;
	fclose(maps);
	return found;
}

static void compare(const char *preload, const char *library, const char *program, const struct row *row)
{
	const char *argv[] = { program, row->name, NULL };
	struct victim victim = victim_start(preload, argv, row->extra);
	char path[64];
	int pid;
	size_t lines;
	cr_assert_eq(fscanf(victim.said, "%63s %zu", path, &lines), 2);
	cr_assert_eq(sscanf(path, "/proc/%d/", &pid), 1); /* the program itself, or a child of its */
	if (!is_loaded(&victim, pid, library)) {
		victim_end(&victim);
		cr_skip("no %s here", library);
	}
	struct hsnap_target *target = victim_freeze(pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", row->name, err.message);
	FILE *truth = fopen(path, "r");
	cr_assert(truth);
	check_truth(target, &heap, row, truth, lines);
	fclose(truth);
	check_sums(&heap, row);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}

/* ---- preloaded ---- */

ParameterizedTestParameters(agent_others, preloaded)
{
	static size_t indices[NUM_ROWS * NUM_LIBRARIES];
	for (size_t i = 0; i < NUM_ROWS * NUM_LIBRARIES; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS * NUM_LIBRARIES);
}

ParameterizedTest(size_t *index, agent_others, preloaded)
{
	const struct row *row = &rows[*index / NUM_LIBRARIES];
	const char *library = libraries[*index % NUM_LIBRARIES];
	char preload[8192];
	snprintf(preload, sizeof(preload), "%s:%s", getenv("HSNAP_TEST_AGENT"), library);
	if (row->only && !strstr(row->only, names[*index % NUM_LIBRARIES]))
		return;
	compare(preload, library, getenv(row->program), row);
}

/* ---- linked ---- */

static const struct row linked_rows[] = { { "every_call", NULL, 0 }, { "threads", NULL, 0 }, { "child", NULL, 0 } };
enum { NUM_LINKED = sizeof(linked_rows) / sizeof(*linked_rows) };

ParameterizedTestParameters(agent_others, linked)
{
	static size_t indices[NUM_LINKED * NUM_LIBRARIES];
	for (size_t i = 0; i < NUM_LINKED * NUM_LIBRARIES; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_LINKED * NUM_LIBRARIES);
}

ParameterizedTest(size_t *index, agent_others, linked)
{
	static const char *const programs[NUM_LIBRARIES] = {
		"HSNAP_TEST_CALLS_JEMALLOC", "HSNAP_TEST_CALLS_TCMALLOC_MINIMAL", "HSNAP_TEST_CALLS_MIMALLOC",
	};
	const char *program = getenv(programs[*index % NUM_LIBRARIES]);
	if (!program)
		cr_skip("no %s to link with here", libraries[*index % NUM_LIBRARIES]);
	compare(getenv("HSNAP_TEST_AGENT"), libraries[*index % NUM_LIBRARIES], program, &linked_rows[*index / NUM_LIBRARIES]);
}

/* ---- what the agent does not see ---- */

ParameterizedTestParameters(agent_others, past_the_agent)
{
	static size_t indices[NUM_LIBRARIES] = { 0, 1, 2 };
	return cr_make_param_array(size_t, indices, NUM_LIBRARIES);
}

/* The program calls the allocator's own functions: how much is missing is not known, that something may be is said. */
ParameterizedTest(size_t *index, agent_others, past_the_agent)
{
	static const char *const functions[NUM_LIBRARIES] = { "sdallocx", "tc_malloc", "mi_malloc" };
	const char *argv[] = { getenv("HSNAP_TEST_CALLS_PAST"), "past_the_agent", NULL };
	char preload[8192], want[128];
	snprintf(preload, sizeof(preload), "%s:%s", getenv("HSNAP_TEST_AGENT"), libraries[*index]);
	snprintf(want, sizeof(want), "the program calls %s, too: such blocks are not listed", functions[*index]);
	struct victim victim = victim_start(preload, argv, NULL);
	if (!is_loaded(&victim, victim.pid, libraries[*index])) {
		victim_end(&victim);
		cr_skip("no %s here", libraries[*index]);
	}
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s", err.message);
	cr_expect_str_eq(heap.partial, want);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}
