/* SPDX-License-Identifier: MIT */
/* scratch.c - making sure that it is a disk. */
#include "capture/target/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

#define PAGE ((size_t)4096)
#define KEEP_FREE ((uint64_t)64 << 20) /* of the disk: the target may log to it */
#define MAX_TRIES 3

static int open_unlinked(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	/* Killed between these two we leave an empty file. */
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/.heapsnap-XXXXXX", folder);
	if (len < 0 || (size_t)len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/*
 * What kind of file system an overlay has below cannot be asked for.  But a page that has been
 * written to a disk can be dropped, and one that has nowhere else to be cannot.
 */
static bool stays_in_memory(int fd)
{
	static const char text[] = "heapsnap";
	bool stays = false;
	if (ftruncate(fd, (off_t)PAGE) || pwrite(fd, text, sizeof(text), 0) != sizeof(text))
		return false; /* the failure shows when it is used */
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return false;
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		unsigned char there = 0;
		if (fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) || mincore(page, PAGE, &there))
			break;
		stays = there & 1;
		if (!stays)
			break;
	}
	munmap(page, PAGE);
	return ftruncate(fd, 0) == 0 && stays;
}

static const char *kind_in_memory(int fd)
{
	struct statfs st;
	if (fstatfs(fd, &st))
		return NULL;
	switch ((unsigned long)st.f_type) {
	case TMPFS_MAGIC: return "tmpfs";
	case RAMFS_MAGIC: return "ramfs";
	case HUGETLBFS_MAGIC: return "hugetlbfs";
	default: break;
	}
	if (!stays_in_memory(fd))
		return NULL;
	return (unsigned long)st.f_type == OVERLAYFS_SUPER_MAGIC ? "an overlay on one" : "not on a disk";
}

enum hsnap_code hsnap_scratch_open(const char *folder, int *ret, struct hsnap_error *err)
{
	static const char cure[] = "name a folder on a disk: --scratch DIR";
	int fd = open_unlinked(folder);
	if (fd < 0) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "no file can be made in the scratch folder '%s': %s", folder,
			   strerror(errno));
		return hsnap_hint(err, HSNAP_REFUSED, "%s", cure);
	}
	const char *kind = kind_in_memory(fd);
	if (kind) {
		close(fd);
		hsnap_fail(err, HSNAP_REFUSED, 0, "what is written to '%s' stays in memory (%s)", folder, kind);
		return hsnap_hint(err, HSNAP_REFUSED, "%s", cure);
	}
	*ret = fd;
	return HSNAP_OK;
}

uint64_t hsnap_scratch_left(int fd)
{
	struct statfs st;
	if (fstatfs(fd, &st))
		return UINT64_MAX; /* resizing will tell */
	uint64_t left = (uint64_t)st.f_bavail * (uint64_t)(st.f_frsize ? st.f_frsize : st.f_bsize);
	return left > KEEP_FREE ? left - KEEP_FREE : 0;
}

bool hsnap_scratch_resize(int fd, size_t size)
{
	if (ftruncate(fd, (off_t)size))
		return false;
	/* Where a file system cannot promise, what was left of it has to do. */
	return !fallocate(fd, 0, 0, (off_t)size) || errno == EOPNOTSUPP || errno == ENOSYS;
}

void hsnap_scratch_relieve(int fd, void *pages, size_t offset, size_t len)
{
	(void)sync_file_range(fd, (off_t)offset, (off_t)len,
			      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	/* A page that is mapped cannot be dropped; from a shared mapping nothing is lost. */
	(void)madvise(pages, len, MADV_DONTNEED);
	(void)posix_fadvise(fd, (off_t)offset, (off_t)len, POSIX_FADV_DONTNEED);
}
