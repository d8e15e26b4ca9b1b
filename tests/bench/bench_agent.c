/* SPDX-License-Identifier: MIT */
/*
 * bench_agent.c [MODE…] - what the agent costs: a malloc and a free with it, next to the same on glibc
 * itself, in turns, in one run.
 *
 * Hot: one thread, 2,000 live blocks, one call site.  Varying: four call chains in turn.  Many: one
 * of 256 stacks at random.  Missing: two threads, 400,000 live blocks in all, random
 * victims.  Eight frames of this program lie below the calls.  Figures are medians of all rounds, in ns of
 * processor time a pair; the memory is what 400,000 live blocks of the same mix take more.
 * The agent is loaded by HEAPSNAP_AGENT, or as LD_PRELOAD already has it.
 */
#include "tests/bench/agent_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

static struct allocator agent, bare;

enum { ROUNDS = 15, MOST_LIVE = 200000 };

/* What it may cost, in ns; NULL: nothing was laid down. */
static const char *budget(const char *mode, const char *what)
{
	bool caller = !strcmp(mode, "caller");
	if (!strcmp(what, "hot"))
		return caller ? "8" : "25";
	if (!strcmp(what, "missing"))
		return caller ? "70" : "170";
	return NULL;
}

/* One round of each in turn, on each of the threads. */
static void measure(const char *mode, const char *what, uint32_t num_live, uint32_t num_pairs, int num_threads,
		    enum load_stacks stacks)
{
	double result[2][ROUNDS];
	static void *blocks[2][2][MOST_LIVE];
	struct load load[2][2];
	for (int a = 0; a < 2; a++)
		for (int t = 0; t < num_threads; t++) {
			load[a][t] = (struct load){ a ? &agent : &bare, blocks[a][t], num_live, num_pairs,
						    (uint32_t)(t * 77 + 1), 0, stacks };
			load_fill(&load[a][t]);
		}
	for (int round = 0; round < ROUNDS; round++)
		for (int a = 0; a < 2; a++) {
			pthread_t threads[2];
			for (int t = 1; t < num_threads; t++)
				pthread_create(&threads[t], NULL, load_run, &load[a][t]);
			load_run(&load[a][0]);
			for (int t = 1; t < num_threads; t++)
				pthread_join(threads[t], NULL);
			result[a][round] = 0;
			for (int t = 0; t < num_threads; t++)
				result[a][round] += load[a][t].ns / num_threads;
		}
	for (int a = 0; a < 2; a++)
		for (int t = 0; t < num_threads; t++)
			load_empty(&load[a][t]);
	double least[2] = { 1e9, 1e9 };
	for (int a = 0; a < 2; a++)
		for (int round = 0; round < ROUNDS; round++)
			least[a] = result[a][round] < least[a] ? result[a][round] : least[a];
	double without = median(result[0], ROUNDS), with = median(result[1], ROUNDS);
	const char *most = budget(mode, what);
	printf("%-7s %-8s bare %6.1f  agent %6.1f  difference %6.1f  ratio %.2f  (best rounds %.1f, %.1f: %.1f)%s%s\n", mode, what, without,
	       with, with - without, with / without, least[0], least[1], least[1] - least[0], most ? "  budget " : "", most ? most : "");
}

static long resident(void)
{
	long pages = 0;
	FILE *in = fopen("/proc/self/statm", "r");
	if (!in || fscanf(in, "%*s %ld", &pages) != 1)
		pages = 0;
	if (in)
		fclose(in);
	return pages * sysconf(_SC_PAGESIZE);
}

static void measure_memory(const char *mode)
{
	long grown[2];
	static void *blocks[400000];
	memset(blocks, 1, sizeof(blocks)); /* its own pages are there before */
	for (int a = 0; a < 2; a++) {
		struct load load = { a ? &agent : &bare, blocks, 400000, 0, 5, 0, 0 };
		long before = resident();
		load_fill(&load); /* never freed: the next round must not find its pages */
		grown[a] = resident() - before;
	}
	printf("%-7s %-8s bare %6.1f  agent %6.1f  difference %6.1f bytes a live block\n", mode, "memory",
	       (double)grown[0] / 400000, (double)grown[1] / 400000, (double)(grown[1] - grown[0]) / 400000);
}

static int child(const char *mode)
{
	if (!dlsym(RTLD_DEFAULT, "hsnap_agent_directory")) {
		fprintf(stderr, "bench_agent: the agent is not loaded; set HEAPSNAP_AGENT\n");
		return 1;
	}
	bare = (struct allocator){ __libc_malloc, __libc_free };
	/* By pointers, both ways alike: the compiler knows too much of malloc, and a jump table costs. */
	*(void **)&agent.get = dlsym(RTLD_DEFAULT, "malloc");
	*(void **)&agent.put = dlsym(RTLD_DEFAULT, "free");
	measure_memory(mode); /* first: what is freed later would serve it */
	measure(mode, "hot", 2000, 300000, 1, LOAD_ONE_STACK);
	measure(mode, "varying", 2000, 300000, 1, LOAD_FOUR_STACKS);
	measure(mode, "many", 2000, 300000, 1, LOAD_MANY_STACKS);
	measure(mode, "missing", MOST_LIVE, 200000, 2, LOAD_ONE_STACK);
	return 0;
}

int main(int argc, char **argv)
{
	static char *all[] = { "caller", "fp", "unwind" };
	if (argc == 3 && !strcmp(argv[1], "--child"))
		return child(argv[2]);
	char **modes = argc > 1 ? argv + 1 : all;
	int num = argc > 1 ? argc - 1 : 3;
	const char *path = getenv("HEAPSNAP_AGENT");
	if (path)
		setenv("LD_PRELOAD", path, 1);
	for (int i = 0; i < num; i++) {
		int status = 0;
		pid_t pid = fork();
		if (!pid) {
			setenv("HEAPSNAP_STACKS", modes[i], 1);
			execl("/proc/self/exe", argv[0], "--child", modes[i], (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}
