/* SPDX-License-Identifier: MIT */
/* cgroup.c - folders and files of the memory controller. */
#include "tests/capture/support/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *file(const struct cgroup *cgroup, const char *first, const char *second)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", cgroup->folder, cgroup->second ? second : first);
	return path;
}

static bool put(const char *path, unsigned long long value)
{
	char text[32];
	int fd = open(path, O_WRONLY | O_CLOEXEC), len = snprintf(text, sizeof(text), "%llu", value);
	bool done = fd >= 0 && write(fd, text, (size_t)len) == len;
	if (fd >= 0)
		close(fd);
	return done;
}

/* The path of our own in the memory controller's hierarchy. */
static void own_path(char *own, size_t size)
{
	char line[512];
	FILE *list = fopen("/proc/self/cgroup", "re");
	own[0] = '\0';
	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, ":memory:") || (!own[0] && !strncmp(line, "0::", 3)))
			snprintf(own, size, "%s", strrchr(line, ':') + 1);
	}
	if (list)
		fclose(list);
}

bool cgroup_create(struct cgroup *cgroup, unsigned long long limit)
{
	char own[256];
	own_path(own, sizeof(own));
	for (int second = 0; second < 2; second++) {
		cgroup->second = second;
		snprintf(cgroup->folder, sizeof(cgroup->folder), "/sys/fs/cgroup%s%s/heapsnap-unit-%d", second ? "" : "/memory",
			 own, getpid());
		if (!mkdir(cgroup->folder, 0700) && put(file(cgroup, "memory.limit_in_bytes", "memory.max"), limit))
			return true;
		rmdir(cgroup->folder);
	}
	return false;
}

bool cgroup_enter(const struct cgroup *cgroup)
{
	return put(file(cgroup, "cgroup.procs", "cgroup.procs"), (unsigned long long)getpid());
}

unsigned long long cgroup_kills(const struct cgroup *cgroup)
{
	char line[128];
	unsigned long long kills = 0;
	FILE *events = fopen(file(cgroup, "memory.oom_control", "memory.events"), "re");
	while (events && fgets(line, sizeof(line), events))
		if (!strncmp(line, "oom_kill ", 9))
			kills = strtoull(line + 9, NULL, 10);
	if (events)
		fclose(events);
	return kills;
}

void cgroup_remove(const struct cgroup *cgroup)
{
	/* What it was charged for is given back a little after its last process is gone. */
	for (int left = 1000; rmdir(cgroup->folder); left--) {
		cr_assert(left && errno == EBUSY, "%s: %s", cgroup->folder, strerror(errno));
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}
