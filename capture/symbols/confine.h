/* SPDX-License-Identifier: MIT */
/* confine.h - a process that may compute, allocate, and talk over what it holds; nothing else. */
#ifndef HSNAP_CAPTURE_SYMBOLS_CONFINE_H
#define HSNAP_CAPTURE_SYMBOLS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hsnap_confine_limits {
	uint64_t memory;      /* bytes of address space beyond what the process has now */
	uint64_t data;        /* bytes of that which are no files: what a cgroup is charged for and cannot give back */
	unsigned cpu_seconds;
	unsigned descriptors;
};

/**
 * Give up, for good: capabilities, new privileges, every descriptor but `keep` (0 to 2 become
 * /dev/null), all system calls that are not for memory, reading, writing and ending.
 * The process dies when `parent` does.
 *
 * @return false: it could not be confined, and must not go on
 */
bool hsnap_confine(pid_t parent, int keep, const struct hsnap_confine_limits *limits);

#endif
