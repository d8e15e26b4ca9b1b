/* SPDX-License-Identifier: MIT */
/*
 * agree.c - agree [--stops N] [--sure] [--verbose] [--of agent] NAME PID WITNESS…: do they agree with the walk of glibc's heap?
 *
 * Each time the process is frozen once, and both are read from that one copy.  WITNESS: agent (its records), ledger
 * (the program's own list of live blocks, see ledger.h) and info (what glibc's mallinfo() said in the process).
 * A row for each witness; exit status 1 where they differ by more than is allowed:
 *
 *   - what libc itself allocated, by name: a thread's cache, a thread's table of thread-locals (dtv), and with a ledger
 *     what a static program's start took before main(), or dlmopen() for a second libc;
 *   - for each thread that stood inside malloc or free one block, inside realloc two;
 *   - with a ledger and threads at work one block a thread, which it holds and has not yet written down.
 *
 * --of agent: judge what the agent's reader says instead of the walk.
 * --verbose: show each block that differs, also where it is allowed to.
 * --sure: no thread is at work, so nothing at all is in flight, and the walk must be complete.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/alloc/alloc.h"
#include "capture/freeze/freeze.h"
#include "capture/target/elf_image.h"
#include "capture/unwind/target.h"
#include "snapshot/base/cleanup.h"
#include "tests/capture/alloc/ledger.h"

#define MAX_SHOWN 12
#define MAX_TRIES 50
#define BEFORE_MAIN 8192u /* bytes */

struct known {
	uint64_t address, usable;
	bool no_record;
};

struct blocks hsnap_vec_body(struct known);

struct judge {
	const struct hsnap_target *target;
	struct hsnap_heap walk;
	unsigned in_malloc; /* blocks that threads may be handing over */
	struct hsnap_vec(uint64_t) tls; /* words of the threads' storage that may lead to a block, in order */
	enum hsnap_heap_from of;
	uint64_t loader, loader_end; /* in between stands what the loader took; 0: not known */
	bool sure, verbose;
};

/* A row; of several stops the sums. */
struct row {
	const char *witness;
	uint64_t blocks, missing, extra, in_flight, caches, dtvs, loader, stops, locked, arenas, partial, wrong;
};

static unsigned shown;

static void show(const char *what, const struct judge *judge, const struct known *block, const char *more)
{
	uint64_t words[4] = { 0 };
	if ((!judge->sure && !judge->verbose) || shown++ >= MAX_SHOWN)
		return;
	for (unsigned i = 0; i < 4; i++)
		hsnap_target_word(judge->target, block->address - 16 + 8 * i, &words[i]);
	printf("# %s: 0x%" PRIx64 " usable %" PRIu64 "%s%s; head %" PRIx64 " %" PRIx64 ", words %" PRIx64 " %" PRIx64 "\n", what,
	       block->address, block->usable, block->no_record ? " (no record)" : "", more, words[0], words[1], words[2], words[3]);
}

/* ---- threads inside the allocator ---- */

static const struct hsnap_target_module *module_named(const struct hsnap_target *target, const char *part)
{
	for (size_t i = 1; i < target->modules.num; i++)
		if (strstr(hsnap_str(&target->strings, target->modules.items[i].path), part))
			return &target->modules.items[i];
	return NULL;
}

/* malloc.o lies in one piece; its functions without an exported name come first. */
#define BEFORE_MALLOC 0x3000u
#define AFTER_MALLOC 0x200u

static void find_malloc(const struct hsnap_target *target, uint64_t *start, uint64_t *end, uint64_t *re, uint64_t *re_end)
{
	static const char *const names[] = { "malloc", "free", "realloc", "calloc", "memalign", "malloc_trim",
					     "malloc_usable_size", "mallopt", "malloc_info", "posix_memalign" };
	const struct hsnap_target_module *libc = module_named(target, "/libc.so.6");
	if (!libc)
		libc = module_named(target, "/libc-2");
	*start = *end = *re = *re_end = 0;
	if (!libc || !hsnap_module_symbol(target, libc, "realloc", re))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t at;
		if (!hsnap_module_symbol(target, libc, names[i], &at))
			continue;
		*start = !*start || at < *start ? at : *start;
		*end = at > *end ? at : *end;
		if (at > *re && (!*re_end || at < *re_end))
			*re_end = at;
	}
	*start -= BEFORE_MALLOC;
	*end += AFTER_MALLOC;
}

static unsigned in_flight(const struct hsnap_target *target)
{
	uint64_t start, end, re, re_end, agent_re = 0;
	unsigned blocks = 0;
	find_malloc(target, &start, &end, &re, &re_end);
	const struct hsnap_target_module *agent = module_named(target, "libheapsnap-agent");
	if (agent && !hsnap_module_symbol(target, agent, "realloc", &agent_re))
		agent_re = 0;
	for (size_t i = 0; i < target->threads.num; i++) {
		struct hsnap_unwind_frame frames[32];
		size_t num = hsnap_unwind_thread(target, &target->threads.items[i], frames, 32, NULL);
		unsigned most = 0;
		for (size_t f = 0; f < num; f++) {
			uint64_t pc = frames[f].regs.value[HSNAP_REG_PC];
			bool inside = pc - start < end - start || (agent && pc - agent->start < agent->end - agent->start);
			bool both = pc - re < re_end - re || (agent_re && pc - agent_re < 1024);
			most = both ? 2 : inside && !most ? 1 : most;
		}
		blocks += most;
	}
	return blocks;
}

/* ---- what is libc's own ---- */

/* Led to from a thread's control block; or, of an ended thread whose stack waits for another one, just as long as
 * its first word says (a count of entries of 16 bytes, after two more). */
static bool is_dtv(const struct hsnap_target *target, uint64_t address, uint64_t usable)
{
	uint64_t entries, generation;
	for (size_t i = 0; i < target->threads.num; i++) {
		uint64_t dtv; /* the second word of the control block leads to its second entry */
		if (hsnap_target_word(target, target->threads.items[i].thread_pointer + 8, &dtv) && dtv - 16 == address)
			return true;
	}
	return hsnap_target_word(target, address, &entries) && hsnap_target_word(target, address + 16, &generation) &&
	       entries < 4096 && entries > generation && usable - 16 * (entries + 2) < 16;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void gather_tls(struct judge *judge)
{
	for (size_t i = 0; i < judge->target->threads.num; i++) {
		uint64_t pointer = judge->target->threads.items[i].thread_pointer, word;
		for (uint64_t back = 8; back <= 4096; back += 8)
			if (hsnap_target_word(judge->target, pointer - back, &word) && word && !(word & 15) &&
			    !hsnap_vec_push(&judge->tls, word))
				exit(2);
	}
	if (judge->tls.num)
		qsort(judge->tls.items, judge->tls.num, sizeof(*judge->tls.items), by_value);
}

/* Its size is one of those that a thread's cache has, and it is led to from a thread's storage, or is an ended
 * thread's: then all that it leads to has the size of the place where it stands. */
static bool is_cache(const struct judge *judge, const struct known *block)
{
	const struct hsnap_target *target = judge->target;
	static const struct {
		uint64_t usable;
		unsigned places, counts; /* bytes of counts before the places */
	} kinds[] = { { 0x248, 64, 64 }, { 0x288, 64, 128 }, { 0x2f8, 76, 152 } };
	if (judge->tls.num && block->usable < 1024 &&
	    bsearch(&block->address, judge->tls.items, judge->tls.num, sizeof(*judge->tls.items), by_value))
		return true;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		/* A rest of 16 bytes is left to it. */
		if (block->usable != kinds[k].usable && block->usable != kinds[k].usable + 16)
			continue;
		unsigned taken = 0;
		for (unsigned i = 0; i < kinds[k].places; i++) {
			uint64_t place = 0, head;
			if (!hsnap_target_word(target, block->address + kinds[k].counts + 8 * i, &place) ||
			    (place && !hsnap_target_word(target, place - 8, &head)) || (place && i < 64 && (head & ~7ull) != 32 + 16 * i))
				return false;
			taken += place != 0;
		}
		return taken;
	}
	return false;
}

/* ---- comparing ---- */

/* A mapping of its own, and up to its end: since 2.43 its size says eight bytes more than the agent gives. */
static bool is_mapped(const struct hsnap_target *target, uint64_t block)
{
	uint64_t head;
	return hsnap_target_word(target, block - 8, &head) && head & 2 && (block - 16 + (head & ~7ull)) % 4096 == 0;
}

/* `slack`: by how much a witness may understate; its trailer. */
static bool is_same_size(const struct judge *judge, const struct known *block, const struct hsnap_block *walked, uint64_t slack)
{
	uint64_t want = block->usable + (block->no_record || is_mapped(judge->target, block->address) ? 0 : slack);
	char more[64];
	if (walked->usable == want)
		return true;
	snprintf(more, sizeof(more), ", the walk says %" PRIu64, walked->usable);
	show("another size", judge, block, more);
	return false;
}

static void missing(struct row *row, const struct judge *judge, const struct known *block, uint64_t *unexplained)
{
	if (block->no_record && is_cache(judge, block)) {
		row->caches++;
		return;
	}
	show("missing in the walk", judge, block, "");
	row->missing++;
	++*unexplained;
}

static void extra(struct row *row, const struct judge *judge, const struct hsnap_block *walked, bool ledger,
		  uint64_t *unexplained)
{
	struct known block = { walked->address, walked->usable, walked->flags & (HSNAP_BLOCK_NO_RECORD | HSNAP_BLOCK_ALLOCATOR) };
	if (ledger && is_dtv(judge->target, walked->address, walked->usable)) {
		row->dtvs++;
		return;
	}
	/* One that stands where a block was freed may have that block's mark at its end: the agent takes it for free. */
	if (is_cache(judge, &block)) {
		row->caches++;
		return;
	}
	if (ledger && walked->address >= judge->loader && walked->address < judge->loader_end) {
		row->loader++;
		return;
	}
	show("not known to the witness", judge, &block, "");
	row->extra++;
	++*unexplained;
}

/* Both are in order of address.  Returns how many differences are not explained; *lost: of those that are missing
 * from a ledger. */
static uint64_t go_through(struct row *row, const struct judge *judge, const struct blocks *known, bool ledger, uint64_t slack,
			   uint64_t *lost)
{
	const struct hsnap_heap *walk = &judge->walk;
	uint64_t unexplained = 0;
	size_t k = 0, w = 0;
	while (k < known->num || w < walk->blocks.num) {
		const struct known *block = k < known->num ? &known->items[k] : NULL;
		const struct hsnap_block *walked = w < walk->blocks.num ? &walk->blocks.items[w] : NULL;
		if (block && walked && block->address == walked->address) {
			unexplained += !is_same_size(judge, block, walked, slack);
			k++, w++;
		} else if (block && (!walked || block->address < walked->address)) {
			missing(row, judge, block, ledger ? lost : &unexplained);
			k++;
		} else {
			extra(row, judge, walked, ledger, &unexplained);
			w++;
		}
	}
	return unexplained;
}

static void compare(struct row *row, const struct judge *judge, const struct blocks *known, bool ledger, uint64_t slack,
		    uint64_t may_fly)
{
	uint64_t lost = 0, wrong = row->wrong, unexplained = go_through(row, judge, known, ledger, slack, &lost);
	row->blocks += known->num;
	row->in_flight += may_fly;
	row->wrong += lost; /* what stands in a ledger is live, whatever the threads are about */
	if (unexplained > may_fly)
		row->wrong += unexplained - may_fly;
	if (row->wrong > wrong && !judge->sure && !judge->verbose) {
		struct row again = { 0 };
		struct judge loud = *judge;
		loud.verbose = true;
		printf("# %s: %" PRIu64 " differ where %" PRIu64 " may, %" PRIu64 " live ones are missing\n", row->witness, unexplained,
		       may_fly, lost);
		go_through(&again, &loud, known, ledger, slack, &lost);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* ---- witnesses ---- */

static bool hear_agent(struct row *row, struct judge *judge)
{
	struct hsnap_heap agent;
	struct hsnap_error err;
	struct blocks known = { 0 };
	if (hsnap_heap_read(judge->target, HSNAP_HEAP_AGENT, &agent, &err)) {
		printf("# agent: %s\n", err.message);
		return false;
	}
	for (size_t i = 0; i < agent.blocks.num; i++) {
		const struct hsnap_block *block = &agent.blocks.items[i];
		struct known one = { block->address, block->usable, block->flags & HSNAP_BLOCK_NO_RECORD };
		if (!hsnap_vec_push(&known, one))
			exit(2);
	}
	compare(row, judge, &known, false, 8, judge->sure ? 0 : judge->in_malloc);
	if (agent.partial[0])
		printf("# agent: %s\n", agent.partial);
	hsnap_vec_deinit(&known);
	hsnap_heap_deinit(&agent);
	return true;
}

static const struct ledger *ledger_of(const struct judge *judge)
{
	uint64_t magic;
	if (!hsnap_target_word(judge->target, LEDGER_ADDRESS, &magic) || magic != LEDGER_MAGIC) {
		puts("# the program has no ledger");
		return NULL;
	}
	struct ledger *ledger = calloc(1, sizeof(*ledger));
	uint64_t size = offsetof(struct ledger, line);
	if (!ledger || hsnap_target_read(judge->target, LEDGER_ADDRESS, ledger, size, NULL) || ledger->lines > LEDGER_LINES)
		exit(2);
	for (uint64_t i = 0; i < ledger->lines; i++) /* a page without a line was never touched */
		if (hsnap_target_read(judge->target, LEDGER_ADDRESS + size + i * sizeof(*ledger->line), &ledger->line[i],
				      sizeof(*ledger->line), NULL))
			ledger->line[i] = (struct ledger_line){ 0 };
	return ledger;
}

static bool hear_ledger(struct row *row, struct judge *judge)
{
	const struct ledger *ledger = ledger_of(judge);
	struct blocks known = { 0 };
	if (!ledger)
		return false;
	for (uint64_t i = 0; i < ledger->lines; i++) {
		struct known one = { ledger->line[i].address, ledger->line[i].usable, false };
		if (one.address && !hsnap_vec_push(&known, one))
			exit(2);
	}
	if (known.num)
		qsort(known.items, known.num, sizeof(*known.items), by_address);
	judge->loader = ledger->line[0].address - BEFORE_MAIN;
	judge->loader_end = ledger->loader_end;
	bool agent = module_named(judge->target, "libheapsnap-agent") != NULL;
	compare(row, judge, &known, true, agent && judge->of != HSNAP_HEAP_AGENT ? 8 : 0, ledger->threads);
	hsnap_vec_deinit(&known);
	free((void *)ledger);
	return true;
}

static void same(struct row *row, const char *what, uint64_t glibc, uint64_t walk)
{
	if (glibc == walk)
		return;
	printf("# %s: glibc says %" PRIu64 ", the walk %" PRIu64 "\n", what, glibc, walk);
	row->wrong++;
}

/* glibc counts what lies in a thread's cache as in use, and what arenas and fence posts take. */
static bool hear_info(struct row *row, struct judge *judge)
{
	const struct ledger *ledger = ledger_of(judge);
	const struct hsnap_heap *walk = &judge->walk;
	uint64_t kinds[HSNAP_NUM_FREE_KINDS] = { 0 }, system = 0, mapped = 0, num_mapped = 0;
	if (!ledger || !ledger->has_info) {
		puts("# the program has no mallinfo()");
		free((void *)ledger);
		return false;
	}
	for (size_t i = 0; i < walk->free.num; i++)
		kinds[walk->free.items[i].kind] += walk->free.items[i].end - walk->free.items[i].start;
	for (size_t i = 1; i < walk->arenas.num; i++)
		system += walk->arenas.items[i].system;
	for (size_t i = 0; i < walk->blocks.num; i++) {
		uint64_t head, before, block = walk->blocks.items[i].address;
		if (!hsnap_target_word(judge->target, block - 8, &head) || !(head & 2) ||
		    !hsnap_target_word(judge->target, block - 16, &before))
			continue;
		num_mapped++;
		mapped += ((head & ~7ull) + before + 4095) & ~4095ull;
	}
	same(row, "bytes of the system", ledger->system, system);
	same(row, "free bytes in bins and tops", ledger->free - ledger->in_fastbins,
	     kinds[HSNAP_FREE_BIN] + kinds[HSNAP_FREE_TOP]);
	same(row, "mappings of their own", ledger->num_mapped, num_mapped);
	same(row, "bytes in them", ledger->mapped, mapped);
	if (kinds[HSNAP_FREE_CACHED] < ledger->in_fastbins)
		same(row, "cached", ledger->in_fastbins, kinds[HSNAP_FREE_CACHED]);
	row->blocks += walk->blocks.num;
	free((void *)ledger);
	return true;
}

static const struct {
	const char *name;
	bool (*hear)(struct row *row, struct judge *judge);
} witnesses[] = { { "agent", hear_agent }, { "ledger", hear_ledger }, { "info", hear_info } };

/* ---- one stop ---- */

/* On a busy machine a thread that has no turn does not stop in time, either. */
static enum hsnap_code freeze(const struct hsnap_freeze_options *how, struct hsnap_frozen *ret, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_REFUSED;
	for (int i = 0; i < MAX_TRIES && code == HSNAP_REFUSED; i++) {
		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
		code = hsnap_freeze_copy(how, ret, err);
	}
	return code;
}

static bool judge_once(pid_t pid, const struct judge *how_to, struct row *rows, size_t num)
{
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	struct hsnap_freeze_options how = { .proc = &proc, .pid = pid, .scratch = -1 };
	enum hsnap_code code = hsnap_proc_init(&proc, "/", &err);
	if (!code)
		code = freeze(&how, &frozen, &err);
	if (code) {
		printf("# cannot freeze: %s\n", err.message);
		return false;
	}
	struct judge judge = { .target = frozen.target, .of = how_to->of, .sure = how_to->sure, .verbose = how_to->verbose };
	bool good = true;
	if (hsnap_heap_read(frozen.target, judge.of, &judge.walk, &err)) {
		printf("# cannot walk: %s\n", err.message);
		good = false;
	} else {
		judge.in_malloc = in_flight(frozen.target);
		gather_tls(&judge);
	}
	for (size_t i = 0; good && i < num; i++) {
		struct row *row = &rows[i];
		for (size_t w = 0; w < sizeof(witnesses) / sizeof(*witnesses); w++)
			if (!strcmp(witnesses[w].name, row->witness) && !witnesses[w].hear(row, &judge))
				good = false;
		row->stops++;
		for (size_t a = 1; a < judge.walk.arenas.num; a++)
			row->locked += judge.walk.arenas.items[a].locked;
		row->arenas = judge.walk.arenas.num ? judge.walk.arenas.num - 1 : 0;
		row->partial += judge.walk.partial[0] != '\0';
	}
	if (good && judge.walk.partial[0]) {
		printf("# the walk: %s\n", judge.walk.partial);
		good = !judge.sure;
	}
	hsnap_vec_deinit(&judge.tls);
	hsnap_heap_deinit(&judge.walk);
	hsnap_frozen_deinit(&frozen);
	hsnap_proc_deinit(&proc);
	return good;
}

static int usage(void)
{
	fputs("usage: agree [--stops N] [--sure] [--verbose] [--of agent] NAME PID agent|ledger|info…\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct row rows[3] = { 0 };
	unsigned long stops = 1;
	struct judge how = { .of = HSNAP_HEAP_GLIBC };
	bool good = true;
	int at = 1;
	for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
		if (!strcmp(argv[at], "--sure"))
			how.sure = true;
		else if (!strcmp(argv[at], "--verbose"))
			how.verbose = true;
		else if (!strcmp(argv[at], "--stops") && at + 1 < argc)
			stops = strtoul(argv[++at], NULL, 10);
		else if (!strcmp(argv[at], "--of") && at + 1 < argc && !strcmp(argv[++at], "agent"))
			how.of = HSNAP_HEAP_AGENT;
		else
			return usage();
	}
	if (argc - at < 3 || argc - at > 5)
		return usage();
	size_t num = (size_t)(argc - at - 2);
	for (size_t i = 0; i < num; i++)
		rows[i].witness = argv[at + 2 + (int)i];
	srandom((unsigned)time(NULL));
	for (unsigned long i = 0; i < stops && good; i++) {
		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = random() % 30000000 }, NULL);
		good = judge_once(atoi(argv[at + 1]), &how, rows, num);
	}
	for (size_t i = 0; i < num; i++) {
		const struct row *row = &rows[i];
		printf("%-26s %-6s %3" PRIu64 " %8" PRIu64 " %7" PRIu64 " %5" PRIu64 " %6" PRIu64 " %6" PRIu64 " %4" PRIu64 " %4" PRIu64
		       " %6" PRIu64 " %6" PRIu64 " %7" PRIu64 "%s\n",
		       argv[at], row->witness, row->stops, row->blocks, row->missing, row->extra, row->in_flight, row->caches,
		       row->dtvs, row->loader, row->arenas, row->locked, row->partial, row->wrong ? "  DISAGREE" : "");
		good = good && !row->wrong;
	}
	return good ? 0 : 1;
}
