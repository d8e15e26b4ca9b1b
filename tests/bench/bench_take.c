/* SPDX-License-Identifier: MIT */
/*
 * bench_take.c - bench-take [BLOCKS [SCRATCH]]: what a take of an unprepared process costs.
 *
 * Time of each phase, by the clock and of our processors (the reader of debug info's not included), and
 * the greatest memory of ours, of a program without and with debug info; then
 * gcore of the latter.  Memory is beside the resident size of the target.  SCRATCH: a folder for a third
 * row, with the pages on a disk.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/proc/proc.h"

#define MAX_PHASES 16

struct phases {
	const char *names[MAX_PHASES];
	double began[MAX_PHASES], used[MAX_PHASES]; /* s */
	size_t num;
};

static double read_clock(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void note_phase(void *context, const char *phase, uint64_t done, uint64_t all)
{
	struct phases *phases = context;
	(void)done;
	(void)all;
	if (phases->num == MAX_PHASES)
		return;
	phases->names[phases->num] = phase;
	phases->used[phases->num] = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	phases->began[phases->num++] = read_clock(CLOCK_MONOTONIC);
}

static uint64_t resident(pid_t pid)
{
	struct hsnap_proc proc;
	struct hsnap_proc_status status = { 0 };
	if (hsnap_proc_init(&proc, "/", NULL) || !hsnap_proc_status(&proc, pid, &status))
		return 0;
	hsnap_proc_deinit(&proc);
	return status.rss;
}

/* In a process of its own, whose greatest size is ours alone. */
static int take(pid_t pid, const char *scratch, const char *output)
{
	struct phases phases = { 0 };
	struct hsnap_snapshot *snapshot = NULL;
	struct hsnap_error err = { 0 };
	struct hsnap_take_options options = {
		.pid = pid, .scratch = scratch, .progress = note_phase, .progress_context = &phases,
	};
	uint64_t bytes = 0;
	double began = read_clock(CLOCK_MONOTONIC);
	enum hsnap_code code = hsnap_capture_take(&options, &snapshot, &err);
	note_phase(&phases, "writing", 0, 0);
	if (!code)
		code = hsnap_snapshot_write(snapshot, output, true, &bytes, &err);
	note_phase(&phases, "", 0, 0);
	if (code) {
		printf("  %s\n", err.message);
		return 1;
	}
	struct rusage own, child;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &child);
	size_t last = phases.num - 1;
	printf("  %.2f s, %.2f of processors:", phases.began[last] - began, phases.used[last]);
	for (size_t i = 0; i < last; i++)
		printf(" %s %.2f (%.2f)%s", phases.names[i], phases.began[i + 1] - phases.began[i],
		       phases.used[i + 1] - phases.used[i], i + 1 < last ? "," : "\n");
	printf("  held still %.1f ms (%s); %" PRIu64 " blocks; file %" PRIu64 " KiB\n",
	       (double)snapshot->facts.pause_ns / 1e6, hsnap_text(snapshot, snapshot->facts.freeze),
	       snapshot->facts.heap_count, bytes >> 10);
	double rss = (double)resident(pid) / 1024;
	printf("  memory %.0f MiB = %.2f of the target's %.0f MiB; the reader of debug info %.0f MiB, what it shares included\n",
	       (double)own.ru_maxrss / 1024, (double)own.ru_maxrss / rss, rss / 1024, (double)child.ru_maxrss / 1024);
	return 0;
}

static void take_apart(pid_t pid, const char *scratch, const char *output)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child)
		exit(take(pid, scratch, output));
	waitpid(child, NULL, 0);
	unlink(output);
}

static void run_gcore(pid_t pid, const char *prefix)
{
	char command[256], core[256];
	snprintf(command, sizeof(command), "gcore -o %s %d >/dev/null 2>&1", prefix, pid);
	double began = read_clock(CLOCK_MONOTONIC);
	int status = system(command);
	printf("gcore\n  %.2f s%s\n", read_clock(CLOCK_MONOTONIC) - began, status ? ": it failed" : "");
	snprintf(core, sizeof(core), "%s.%d", prefix, pid);
	unlink(core);
}

/* Its standard input; it has said that it is ready. */
static int start(const char *program, const char *blocks, pid_t *ret)
{
	int in[2], out[2];
	char byte;
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	*ret = fork();
	if (!*ret) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, blocks, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	while (read(out[0], &byte, 1) == 1 && byte != '\n') {
	}
	close(out[0]);
	return in[1];
}

static void bench(const char *program, const char *what, const char *blocks, const char *scratch, bool gcore)
{
	pid_t target;
	int in = start(program, blocks, &target);
	printf("%s\n", what);
	take_apart(target, scratch, "bench-take.snap");
	if (gcore)
		run_gcore(target, "bench-take.core");
	close(in);
	waitpid(target, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *blocks = argc > 1 ? argv[1] : "8000000";
	bench(TARGET_BARE, "without debug info", blocks, NULL, false);
	bench(TARGET, "with debug info", blocks, NULL, true);
	if (argc > 2)
		bench(TARGET, "with debug info, pages on a disk", blocks, argv[2], false);
	return 0;
}
