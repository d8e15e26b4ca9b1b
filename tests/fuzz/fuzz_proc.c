/* SPDX-License-Identifier: MIT */
/*
 * fuzz_proc.c - texts of /proc and of cgroups: names of files, programs and mounts in them are anybody's.
 *
 * Input: a byte, then lines of maps (0), epoll sets (1) or timers (2); or files that 0xff parts: status and stat (3), or
 * cgroup, mountinfo, meminfo, and a limit, a use and a memory.stat of the group (4).  Holds: all is read to its end; what
 * is pointed to lies in the text; names end; no room is found beyond a limit.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/proc/kernel.h"
#include "capture/proc/proc.h"
#include "tests/fuzz/fuzz.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void read_maps(const char *text)
{
	struct hsnap_maps_line line;
	for (const char *at = text, *before = at; hsnap_maps_next(&at, &line); before = at) {
		require(at > before && at <= text + strlen(text) && line.start < line.end);
		require(line.path >= before && line.path + line.path_len <= at && !memchr(line.path, '\n', line.path_len));
	}
}

static void read_list(enum hsnap_kernel_kind kind, const char *text)
{
	uint64_t id, value;
	for (const char *at = text, *before = at; hsnap_kernel_next(kind, &at, &id, &value); before = at)
		require(at > before && at <= text + strlen(text));
}

/* A root folder with what all of this is in, of this process. */
static char root[] = "/tmp/fuzz-proc.XXXXXX";
static const char *const files[] = {
	"proc/1/status", "proc/1/stat", "proc/self/cgroup", "proc/self/mountinfo", "proc/meminfo", "group/memory.max",
	"group/memory.current", "group/memory.stat", "proc/1/cgroup", "group/memory.limit_in_bytes", "group/memory.usage_in_bytes",
};
static const char *const folders[] = { "group", "proc", "proc/self", "proc/1" };

static char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void remove_tree(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(path_of(files[i]));
	for (size_t i = sizeof(folders) / sizeof(*folders); i-- > 0;)
		rmdir(path_of(folders[i]));
	rmdir(root);
}

static const struct hsnap_proc *make_tree(void)
{
	static struct hsnap_proc proc = { .root = -1 };
	struct hsnap_error err;
	if (proc.root >= 0)
		return &proc;
	require(mkdtemp(root));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		require(!mkdir(path_of(folders[i]), 0700));
	require(!hsnap_proc_init(&proc, root, &err) && !atexit(remove_tree));
	return &proc;
}

static void write_file(const struct hsnap_proc *proc, const char *name, const char *text, size_t len)
{
	int fd = openat(proc->root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

/* The next text up to 0xff; "" where there is none. */
static void write_next(const struct hsnap_proc *proc, const char *name, const char **at, const char *end)
{
	const char *stop = *at < end ? memchr(*at, '\xff', (size_t)(end - *at)) : NULL;
	size_t len = (size_t)((stop ? stop : end) - *at);
	write_file(proc, name, *at, len);
	*at += len + (stop != NULL);
}

static void read_status(const char *at, const char *end)
{
	const struct hsnap_proc *proc = make_tree();
	struct hsnap_proc_status status;
	write_next(proc, files[0], &at, end);
	write_next(proc, files[1], &at, end);
	if (hsnap_proc_status(proc, 1, &status))
		require(memchr(status.comm, '\0', sizeof(status.comm)) && !strchr(status.comm, '\n'));
	(void)hsnap_proc_start_time(proc, 1);
}

static void read_groups(const char *at, const char *end)
{
	const struct hsnap_proc *proc = make_tree();
	const char *start = at;
	for (int i = 2; i < 8; i++)
		write_next(proc, files[i], &at, end);
	write_next(proc, files[8], &start, end); /* as our own */
	struct hsnap_headroom room = hsnap_proc_headroom(proc), other = hsnap_proc_headroom_of(proc, 1);
	require((!room.cgroup || room.left <= room.limit) && (!other.cgroup || other.left <= other.limit));
	(void)hsnap_proc_cgroup(proc, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (!size)
		return 0;
	char *text = calloc(1, size);
	require(text);
	memcpy(text, bytes + 1, size - 1);
	switch (bytes[0] % 5) {
	case 0: read_maps(text); break;
	case 1: read_list(HSNAP_KERNEL_EPOLL, text); break;
	case 2: read_list(HSNAP_KERNEL_TIMERS, text); break;
	case 3: read_status(text, text + size - 1); break;
	default: read_groups(text, text + size - 1);
	}
	free(text);
	return 0;
}
