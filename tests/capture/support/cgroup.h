/* SPDX-License-Identifier: MIT */
/* cgroup.h - a memory cgroup of our own, of whichever version there is. */
#ifndef HSNAP_TESTS_CAPTURE_SUPPORT_CGROUP_H
#define HSNAP_TESTS_CAPTURE_SUPPORT_CGROUP_H

#include <stdbool.h>

struct cgroup {
	char folder[400];
	bool second; /* version 2 */
};

/* Below the one that we are in; false: none can be made here. */
bool cgroup_create(struct cgroup *cgroup, unsigned long long limit);
/* From now on this process belongs to it. */
bool cgroup_enter(const struct cgroup *cgroup);
/* How many processes of it the kernel has killed for want of memory. */
unsigned long long cgroup_kills(const struct cgroup *cgroup);
/* Once all its processes have been waited for. */
void cgroup_remove(const struct cgroup *cgroup);

#endif
