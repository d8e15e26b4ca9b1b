/* SPDX-License-Identifier: MIT */
/*
 * proc.h - the one door to /proc, /sys and the cgroup files.
 *
 * Everything is read below a root folder that tests replace by a recorded
 * tree, so that refusals which a machine cannot produce are tested all the
 * same.  Paths are given without the leading slash: "proc/%d/status".
 */
#ifndef HSNAP_CAPTURE_PROC_PROC_H
#define HSNAP_CAPTURE_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "snapshot/base/error.h"
#include "snapshot/base/vec.h"

struct hsnap_proc {
	int root; /* descriptor of the root folder */
};

/* `root` is "/" but for tests. */
HSNAP_CHECKED enum hsnap_code hsnap_proc_init(struct hsnap_proc *proc, const char *root,
					      struct hsnap_error *err);
void hsnap_proc_deinit(struct hsnap_proc *proc);

/* A descriptor (close-on-exec), or -1 with errno. */
int hsnap_proc_open(const struct hsnap_proc *proc, int flags, const char *format, ...)
	HSNAP_PRINTF(3, 4);
/* The whole file, NUL-terminated, the caller's to free; NULL with errno.  At most 64 MiB. */
char *hsnap_proc_read(const struct hsnap_proc *proc, const char *format, ...) HSNAP_PRINTF(2, 3);
/* The same from a descriptor, from its start.  *len may be NULL. */
char *hsnap_proc_read_fd(int fd, size_t *len);
/* Where a symbolic link leads, terminated; false with errno, also where it does not fit. */
bool hsnap_proc_link(const struct hsnap_proc *proc, char *to, size_t size, const char *format, ...)
	HSNAP_PRINTF(4, 5);
bool hsnap_proc_write(const struct hsnap_proc *proc, const char *text, const char *format, ...)
	HSNAP_PRINTF(3, 4);

struct hsnap_proc_ids hsnap_vec_body(int);
/* The entries of a folder whose names are numbers; false with errno.  Replaces what is in `ids`. */
bool hsnap_proc_list(const struct hsnap_proc *proc, struct hsnap_proc_ids *ids, const char *format, ...)
	HSNAP_PRINTF(3, 4);

/* The number after a line's "Key:" (blanks skipped, then base 10 or 16); false: no such line. */
bool hsnap_proc_field(const char *text, const char *key, int base, uint64_t *ret);

/* What status tells of a process or thread.  Bytes; 0 where the line is absent. */
struct hsnap_proc_status {
	char comm[64];
	char state; /* R S D T t Z X I */
	uint64_t tgid, parent, tracer, uid, effective_uid, gid, threads, seccomp;
	uint64_t effective_caps, permitted_caps;
	uint64_t rss, rss_anon, swap;
	uint64_t blocked, ignored, caught; /* signal n is bit n - 1 */
	bool has_memory; /* false: a kernel thread or a zombie */
};
bool hsnap_proc_status(const struct hsnap_proc *proc, pid_t pid, struct hsnap_proc_status *ret);
/* The same of "self". */
bool hsnap_proc_status_of(const struct hsnap_proc *proc, const char *who, struct hsnap_proc_status *ret);

/* Field 22 of stat: clock ticks from boot to the start of the process; 0: unknown. */
uint64_t hsnap_proc_start_time(const struct hsnap_proc *proc, pid_t pid);

/* One line of maps; the path points into the text. */
struct hsnap_maps_line {
	uint64_t start, end, offset, device, inode;
	uint8_t prot; /* enum hsnap_prot of capture/target/target.h, or'ed */
	bool deleted;
	const char *path; /* without " (deleted)"; not terminated */
	size_t path_len;
};
/* The next line that can be read; allocates nothing.  false: the end. */
bool hsnap_maps_next(const char **at, struct hsnap_maps_line *ret);
static inline bool hsnap_maps_is(const struct hsnap_maps_line *line, const char *path)
{
	return line->path_len == __builtin_strlen(path) &&
	       !__builtin_memcmp(line->path, path, line->path_len);
}

/* The least room that any limit on memory leaves us. */
struct hsnap_headroom {
	uint64_t left, limit; /* bytes; limit UINT64_MAX: none is known */
	bool cgroup;          /* of a cgroup, else of the whole machine */
};
/* All memory cgroups above this very process, version 1 and 2, and the machine itself. */
struct hsnap_headroom hsnap_proc_headroom(const struct hsnap_proc *proc);
/* The same of another process; nothing is known where its cgroup cannot be seen from here. */
struct hsnap_headroom hsnap_proc_headroom_of(const struct hsnap_proc *proc, pid_t pid);

/* A memory cgroup, bytes; UINT64_MAX where it is not known, or there is no limit. */
struct hsnap_cgroup {
	uint64_t limit, use, swap;
};
/* Of those above a process the one with the lowest limit on memory; its own where none has one. */
struct hsnap_cgroup hsnap_proc_cgroup(const struct hsnap_proc *proc, pid_t pid);

#endif
