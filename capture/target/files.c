/* SPDX-License-Identifier: MIT */
/* files.c - opening what a process has mapped. */
#include "capture/target/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/proc/memory.h"
#include "capture/target/elf_image.h"
#include "capture/target/in_root.h"
#include "capture/target/target.h"
#include "snapshot/base/cleanup.h"

#define MAX_FILES 4096

int hsnap_files_reopen(int fd)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* From a handle that opened nothing yet: a device or a FIFO is never opened for reading. */
static int open_regular(int handle)
{
	struct stat st;
	if (handle < 0 || fstat(handle, &st) || !S_ISREG(st.st_mode))
		return -1;
	return hsnap_files_reopen(handle);
}

/* The part of a path that is below the process's own root. */
static const char *below_root(const struct hsnap_files *files, const char *path)
{
	size_t len = files->root_path ? strlen(files->root_path) : 0;
	return len && !strncmp(path, files->root_path, len) && path[len] == '/' ? path + len : path;
}

int hsnap_files_open_path(const struct hsnap_files *files, const char *path)
{
	if (files->root < 0)
		return -1;
	hsnap_auto(hsnap_closefdp) int handle = hsnap_open_in_root(files->root, below_root(files, path));
	return open_regular(handle);
}

static bool is_inode(int fd, uint64_t device, uint64_t inode)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_dev == device && st.st_ino == inode;
}

int hsnap_files_open_inode(const struct hsnap_files *files, const char *path, uint64_t device, uint64_t inode)
{
	int fd = hsnap_files_open_path(files, path);
	if (fd >= 0 && !is_inode(fd, device, inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Memory of the process while it runs: of file-backed pages only, which do not change. */
struct memory {
	struct hsnap_memory of;
	uint64_t base;
};

static size_t read_memory(void *context, uint64_t offset, void *to, size_t len)
{
	const struct memory *memory = context;
	struct iovec local = { to, len };
	struct iovec remote = { (void *)(uintptr_t)(memory->base + offset), len };
	ssize_t n = hsnap_memory_read(&memory->of, &local, 1, &remote, 1);
	return n < 0 ? 0 : (size_t)n;
}

static size_t read_file(void *context, uint64_t offset, void *to, size_t len)
{
	ssize_t n = offset > INT64_MAX ? -1 : pread(*(int *)context, to, len, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

/* File systems of layers tell another device in maps than in fstat(): then the build id decides. */
static bool is_same_build(int fd, const struct hsnap_proc *proc, pid_t pid, uint64_t start)
{
	struct hsnap_elf mapped, file;
	struct memory memory = { .base = start };
	hsnap_memory_init(&memory.of, proc, pid);
	bool same = hsnap_elf_read(read_memory, &memory, &mapped) && hsnap_elf_read(read_file, &fd, &file) &&
	       hsnap_elf_build_id(read_memory, &memory, true, &mapped) &&
	       hsnap_elf_build_id(read_file, &fd, false, &file) &&
	       mapped.build_id_size == file.build_id_size &&
	       !memcmp(mapped.build_id, file.build_id, file.build_id_size);
	hsnap_memory_deinit(&memory.of);
	return same;
}

/* Where the first mapping of that file with its very first byte lies, or 0. */
static uint64_t find_start(const char *maps, uint64_t device, uint64_t inode)
{
	for (struct hsnap_maps_line line; hsnap_maps_next(&maps, &line);)
		if (line.device == device && line.inode == inode && !line.offset)
			return line.start;
	return 0;
}

static int open_mapped(const struct hsnap_files *files, const struct hsnap_proc *proc, pid_t pid,
		       const char *maps, const struct hsnap_maps_line *line)
{
	hsnap_auto(hsnap_closefdp) int handle = hsnap_proc_open(proc, O_PATH, "proc/%d/map_files/%lx-%lx", pid,
								line->start, line->end);
	hsnap_auto(hsnap_closefdp) int fd = open_regular(handle);
	if (fd < 0) {
		char path[PATH_MAX];
		if (line->path_len >= sizeof(path))
			return -1;
		memcpy(path, line->path, line->path_len);
		path[line->path_len] = '\0';
		fd = hsnap_files_open_path(files, path);
		uint64_t start = find_start(maps, line->device, line->inode);
		if (fd >= 0 && !is_inode(fd, line->device, line->inode) && !(start && is_same_build(fd, proc, pid, start)))
			return -1;
	}
	int opened = fd;
	fd = -1;
	return opened;
}

/* One descriptor a library; the soft limit is often 1024. */
static void raise_limit(void)
{
	struct rlimit limit;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static const struct hsnap_file *find_file(const struct hsnap_files *files, uint64_t device, uint64_t inode)
{
	for (size_t i = files->files.num; i--;)
		if (files->files.items[i].inode == inode && files->files.items[i].device == device)
			return &files->files.items[i];
	return NULL;
}

bool hsnap_files_init(struct hsnap_files *files, const struct hsnap_proc *proc, pid_t pid, const char *maps)
{
	*files = (struct hsnap_files){ .root = hsnap_proc_open(proc, O_PATH | O_DIRECTORY, "proc/%d/root", pid) };
	char path[PATH_MAX];
	if (hsnap_proc_link(proc, path, sizeof(path), "proc/%d/root", pid) && strcmp(path, "/")) {
		files->root_path = strdup(path);
		if (!files->root_path)
			return false;
	}
	raise_limit();
	const char *at = maps;
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
		if (!(line.prot & HSNAP_PROT_EXEC) || !line.inode || line.path_len < 1 || line.path[0] != '/' ||
		    files->files.num >= MAX_FILES || find_file(files, line.device, line.inode))
			continue;
		struct hsnap_file file = { .device = line.device, .inode = line.inode };
		file.fd = open_mapped(files, proc, pid, maps, &line);
		if (!hsnap_vec_push(&files->files, file)) {
			hsnap_closefdp(&file.fd);
			return false;
		}
	}
	return true;
}

void hsnap_files_deinit(struct hsnap_files *files)
{
	hsnap_closefdp(&files->root);
	files->root = -1;
	free(files->root_path);
	files->root_path = NULL;
	for (size_t i = 0; i < files->files.num; i++)
		hsnap_closefdp(&files->files.items[i].fd);
	hsnap_vec_deinit(&files->files);
}

int hsnap_files_find(const struct hsnap_files *files, uint64_t device, uint64_t inode)
{
	const struct hsnap_file *file = find_file(files, device, inode);
	return file ? file->fd : -1;
}

bool hsnap_files_is_lost(const struct hsnap_files *files, uint64_t device, uint64_t inode)
{
	const struct hsnap_file *file = find_file(files, device, inode);
	return file && file->fd < 0;
}
