/* SPDX-License-Identifier: MIT */
/*
 * bench_naming.c - bench-naming [BLOCKS [ROUNDS [KIND]]]: what names cost, part by part, of heaps of several kinds.
 *
 * Each kind is a process that is copied once; the copy is then named ROUNDS times, each time in a process of its own that
 * is forked with the copy and nothing else done, and as often without debug info.  Printed are medians: processor
 * time and the greatest memory within a part beyond what was there before, for a million blocks; above them what the
 * same copy costs without names, and what readelf and gdb take to read the debug info of the program.  It asserts
 * nothing.  KIND: only the first, the second …
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/alloc/alloc.h"
#include "capture/freeze/freeze.h"
#include "capture/naming/naming.h"
#include "capture/roots/roots.h"
#include "capture/symbols/module.h"

#define MAX_PARTS 24
#define MAX_ROUNDS 32

struct part {
	const char *name;
	double seconds; /* of processors */
	double mib;     /* beyond what there was before all of it */
};

/* One time round: parts in the order in which they began first. */
struct round {
	struct part parts[MAX_PARTS];
	uint32_t num;
	double seconds, mib;
};

/* A round in the making. */
struct watch {
	struct round *round;
	struct part *part; /* that is being measured; NULL: none */
	double began;
	double before;     /* MiB */
};

struct kind {
	const char *what, *program;
	struct hsnap_frozen frozen;
	struct hsnap_heap heap;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-naming: %s: %s\n", what, why);
	exit(1);
}

static double read_clock(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of our own memory, in MiB: "VmRSS:", "VmHWM:". */
static double read_memory(const char *field)
{
	char line[128];
	double kib = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			kib = strtod(line + strlen(field), NULL);
	if (file)
		fclose(file);
	return kib / 1024;
}

/* The greatest size counts from now on: proc_pid_clear_refs(5). */
static void forget_greatest(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "5", 1) != 1)
		die("/proc/self/clear_refs", "cannot be written");
	close(fd);
}

static void end_part(struct watch *watch)
{
	if (!watch->part)
		return;
	double mib = read_memory("VmHWM:") - watch->before;
	watch->part->seconds += read_clock(CLOCK_PROCESS_CPUTIME_ID) - watch->began;
	watch->part->mib = mib > watch->part->mib ? mib : watch->part->mib;
	watch->round->mib = mib > watch->round->mib ? mib : watch->round->mib;
	watch->part = NULL;
}

static void begin_part(void *context, const char *name)
{
	struct watch *watch = context;
	struct round *round = watch->round;
	uint32_t i = 0;
	end_part(watch);
	while (i < round->num && strcmp(round->parts[i].name, name))
		i++;
	if (i == MAX_PARTS)
		die(name, "too many parts");
	if (i == round->num)
		round->parts[round->num++] = (struct part){ .name = name };
	watch->part = &round->parts[i];
	forget_greatest();
	watch->began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- rounds, each in a process of its own ---- */

static void name_blocks(struct kind *kind, bool with_types, struct watch *watch)
{
	struct hsnap_error err = { 0 };
	struct hsnap_roots roots = { 0 };
	struct hsnap_symbols *symbols = NULL;
	struct hsnap_snapshot *snapshot = hsnap_snapshot_create();
	struct hsnap_naming_watch parts = { begin_part, watch };
	if (!snapshot || hsnap_roots_find(kind->frozen.target, &kind->frozen.kernel, &kind->heap, &roots, &err) ||
	    (with_types && hsnap_symbols_load(kind->frozen.target, NULL, 0, &symbols, &err)))
		die(kind->what, err.message);
	watch->before = read_memory("VmRSS:");
	double began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	if (hsnap_name_watched(kind->frozen.target, &kind->heap, &roots, symbols, NULL, &parts, snapshot, &err))
		die(kind->what, err.message);
	end_part(watch);
	watch->round->seconds = read_clock(CLOCK_PROCESS_CPUTIME_ID) - began;
}

/* The program's own file, as the confined child reads it, but in this process. */
static void read_types(struct kind *kind, bool with_types, struct watch *watch)
{
	struct hsnap_error err = { 0 };
	struct hsnap_symbols symbols = { 0 };
	struct stat stat;
	(void)with_types;
	int fd = open(kind->program, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat))
		die(kind->program, "cannot be opened");
	size_t size = (size_t)stat.st_size;
	const void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	struct hsnap_module_input input = { .program = bytes, .program_size = size, .mapped = true, .begin = begin_part,
					    .context = watch };
	watch->before = read_memory("VmRSS:");
	double began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	if (bytes == MAP_FAILED || hsnap_module_read(&input, &symbols, &err))
		die(kind->program, err.message);
	end_part(watch);
	watch->round->seconds = read_clock(CLOCK_PROCESS_CPUTIME_ID) - began;
}

static struct round run_apart(struct kind *kind, void (*run)(struct kind *, bool, struct watch *), bool with_types)
{
	struct round *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	if (shared == MAP_FAILED)
		die(kind->what, "out of memory");
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct watch watch = { .round = shared };
		run(kind, with_types, &watch);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		die(kind->what, "a round failed");
	struct round round = *shared;
	munmap(shared, sizeof(*shared));
	return round;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, uint32_t num)
{
	qsort(values, num, sizeof(*values), by_value);
	return values[num / 2];
}

/* Medians of each part, and of all. */
static struct round run_rounds(struct kind *kind, void (*run)(struct kind *, bool, struct watch *), bool with_types, uint32_t num)
{
	static struct round rounds[MAX_ROUNDS];
	double seconds[MAX_ROUNDS], mib[MAX_ROUNDS];
	for (uint32_t r = 0; r < num; r++)
		rounds[r] = run_apart(kind, run, with_types);
	struct round all = rounds[0];
	for (uint32_t p = 0; p <= all.num; p++) {
		for (uint32_t r = 0; r < num; r++) {
			seconds[r] = p < all.num ? rounds[r].parts[p].seconds : rounds[r].seconds;
			mib[r] = p < all.num ? rounds[r].parts[p].mib : rounds[r].mib;
		}
		*(p < all.num ? &all.parts[p].seconds : &all.seconds) = median(seconds, num);
		*(p < all.num ? &all.parts[p].mib : &all.mib) = median(mib, num);
	}
	return all;
}

/* ---- a kind ---- */

/* Its standard input; it has said that it is ready. */
static int start(const char *program, const char *blocks, pid_t *ret)
{
	int in[2], out[2];
	char line[64];
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die(program, "no pipe");
	*ret = fork();
	if (!*ret) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, blocks, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	FILE *said = fdopen(out[0], "r");
	while (said && fgets(line, sizeof(line), said) && strcmp(line, "READY\n")) {
	}
	if (said)
		fclose(said);
	return in[1];
}

static void print_parts(const struct round *round, double per)
{
	for (uint32_t p = 0; p < round->num; p++)
		printf("    %-18s %7.3f s  %5.1f %%  %8.1f MiB\n", round->parts[p].name, round->parts[p].seconds / per,
		       100 * round->parts[p].seconds / round->seconds, round->parts[p].mib / per);
}

/* What somebody else's reader takes for all of the program's debug info, s of processors; 0: it is not here. */
static double peer(const char *tool, const char *program)
{
	char command[1024];
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	snprintf(command, sizeof(command), "%s '%s' >/dev/null 2>&1", tool, program);
	if (system(command))
		return 0;
	getrusage(RUSAGE_CHILDREN, &after);
	return (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec) +
	       (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_utime.tv_usec - before.ru_stime.tv_usec) / 1e6;
}

static void print_types(struct kind *kind, uint32_t rounds)
{
	struct stat file;
	struct round types = run_rounds(kind, read_types, true, rounds);
	if (stat(kind->program, &file))
		die(kind->program, "cannot be looked at");
	printf("  debug info of the program, a file of %.1f MiB: %.3f s, %.1f MiB\n", (double)file.st_size / (1 << 20), types.seconds,
	       types.mib);
	print_parts(&types, 1);
	double readelf = peer("readelf --debug-dump=info", kind->program);
	double gdb = peer("gdb -nx -batch -readnow", kind->program);
	printf("    beside it: readelf prints the entries in %.2f s (%.1f ×), gdb reads them in %.2f s (%.1f ×)\n", readelf,
	       readelf / types.seconds, gdb, gdb / types.seconds);
}

static void bench(struct kind *kind, const char *blocks, uint32_t rounds)
{
	pid_t pid;
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	int in = start(kind->program, blocks, &pid);
	if (hsnap_proc_init(&proc, "/", &err) ||
	    hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = pid, .scratch = -1 }, &kind->frozen, &err))
		die(kind->what, err.message);
	double began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	if (hsnap_glibc_heap_read(kind->frozen.target, &kind->heap, &err))
		die(kind->what, err.message);
	double walk = read_clock(CLOCK_PROCESS_CPUTIME_ID) - began, millions = (double)kind->heap.blocks.num / 1e6;
	printf("%s: %zu blocks in %" PRIu64 " MiB; figures for a million blocks\n", kind->what, kind->heap.blocks.num,
	       kind->frozen.copied >> 20);
	struct round plain = run_rounds(kind, name_blocks, false, rounds), named = run_rounds(kind, name_blocks, true, rounds);
	printf("  the heap walked: %.3f s; blocks connected without names: %.3f s, %.1f MiB\n", walk / millions,
	       plain.seconds / millions, plain.mib / millions);
	printf("  with names: %.3f s (%.2f ×), %.1f MiB (%.2f ×)\n", named.seconds / millions, named.seconds / plain.seconds,
	       named.mib / millions, named.mib / plain.mib);
	print_parts(&named, millions);
	print_types(kind, rounds);
	hsnap_heap_deinit(&kind->heap);
	hsnap_frozen_deinit(&kind->frozen);
	hsnap_proc_deinit(&proc);
	close(in);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static struct kind kinds[] = {
		{ .what = "C, structs linked", .program = TARGETS "/take-target" },
		{ .what = "C++, containers", .program = TARGETS "/naming-cxx" },
		{ .what = "C, void pointers and a pool", .program = TARGETS "/naming-mixed" },
		{ .what = "C++, much debug info", .program = TARGETS "/naming-many" },
	};
	const char *blocks = argc > 1 ? argv[1] : "1000000";
	uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3;
	if (!rounds || rounds > MAX_ROUNDS) {
		fputs("usage: bench-naming [BLOCKS [ROUNDS [KIND]]]\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (argc < 4 || strtoul(argv[3], NULL, 10) == i + 1)
			bench(&kinds[i], blocks, rounds);
	return 0;
}
