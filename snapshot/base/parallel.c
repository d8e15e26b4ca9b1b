/* SPDX-License-Identifier: MIT */
/* parallel.c - a bounded set of threads that pull piece numbers from a counter. */
#include "snapshot/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_THREADS 64

struct job {
	atomic_size_t next;
	size_t count;
	void (*work)(void *context, size_t i);
	void *context;
};

static void *run(void *argument)
{
	struct job *job = argument;
	for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->count;)
		job->work(job->context, i);
	return NULL;
}

static size_t usable_cores(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	int num = CPU_COUNT(&set);
	return num < 1 ? 1 : num > MAX_THREADS ? MAX_THREADS : (size_t)num;
}

void hsnap_parallel(size_t count, void (*work)(void *context, size_t i), void *context)
{
	struct job job = { .count = count, .work = work, .context = context };
	size_t want = usable_cores();
	if (want > count)
		want = count;
	pthread_t threads[MAX_THREADS];
	size_t started = 0;
	while (started + 1 < want && !pthread_create(&threads[started], NULL, run, &job))
		started++;
	run(&job);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}
