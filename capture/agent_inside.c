/* SPDX-License-Identifier: MIT */
/* agent_inside.c - a file of the agent's bytes in a folder of our own. */
#include "capture/agent_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/wire.h"
#include "snapshot/base/cleanup.h"

bool hsnap_can_be_carried(const char *path)
{
	return path[0] == '/' && !strpbrk(path, " :\t\n$");
}

static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool hsnap_private_folder(const char *top, char *folder, size_t size)
{
	struct stat st;
	int len = snprintf(folder, size, "%s/heapsnap-%u", top, (unsigned)geteuid());
	if (len < 0 || (size_t)len >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	if ((mkdir(folder, 0711) && errno != EEXIST) || lstat(folder, &st))
		return false;
	errno = EPERM;
	if (!S_ISDIR(st.st_mode) || !is_ours_alone(&st))
		return false;
	return (st.st_mode & 0111) == 0111 || !chmod(folder, 0711); /* whatever the umask is */
}

/* Would the loader map it?  Not on a file system that is mounted noexec, whatever says so. */
static bool is_mappable(int fd)
{
	void *at = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	munmap(at, 1);
	return true;
}

static bool has_bytes(int fd, const void *bytes, size_t num)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_ours_alone(&st) || st.st_size != (off_t)num)
		return false;
	void *at = mmap(NULL, num, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	bool same = !memcmp(at, bytes, num);
	munmap(at, num);
	return same;
}

static bool write_all(int fd, const void *bytes, size_t num)
{
	for (size_t done = 0; done < num;) {
		ssize_t n = write(fd, (const uint8_t *)bytes + done, num - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Beside its name, then renamed: nobody ever loads half of it, and two that do this at once are no harm. */
static bool make_file(const char *path, const void *bytes, size_t num)
{
	char beside[PATH_MAX + 16];
	snprintf(beside, sizeof(beside), "%s.%d", path, getpid());
	unlink(beside); /* of one with our number that was killed here */
	hsnap_auto(hsnap_closefdp) int fd = open(beside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	if (!fchmod(fd, 0644) && write_all(fd, bytes, num) && is_mappable(fd) && !rename(beside, path))
		return true;
	int error = errno;
	unlink(beside);
	errno = error;
	return false;
}

/* FNV-1a: tells builds apart; that the content is right is looked at byte by byte. */
static uint64_t hash_of(const void *bytes, size_t num)
{
	uint64_t hash = 14695981039346656037ull;
	for (size_t i = 0; i < num; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull;
	return hash;
}

static bool unpack_to(const char *place, const void *bytes, size_t num, char *path, size_t size)
{
	char folder[PATH_MAX];
	if (!hsnap_can_be_carried(place)) {
		errno = EINVAL;
		return false;
	}
	if (!hsnap_private_folder(place, folder, sizeof(folder)))
		return false;
	int len = snprintf(path, size, "%s/" HSNAP_WIRE_NAME "-%016" PRIx64 ".so", folder, hash_of(bytes, num));
	if (len < 0 || (size_t)len >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	hsnap_auto(hsnap_closefdp) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return (fd >= 0 && has_bytes(fd, bytes, num) && is_mappable(fd)) || make_file(path, bytes, num);
}

enum hsnap_code hsnap_agent_unpack(const void *bytes, size_t num, const char *const *places, char *path,
				   size_t size, struct hsnap_error *err)
{
	const char *first = NULL;
	int error = ENOENT;
	for (; *places && **places; places++) {
		if (unpack_to(*places, bytes, num, path, size))
			return HSNAP_OK;
		if (!first) {
			first = *places;
			error = errno;
		}
	}
	/* mmap's answer for a file system that is mounted noexec */
	const char *why = error == EPERM ? "mounted noexec, or somebody else's folder stands there" : strerror(error);
	hsnap_fail(err, HSNAP_IO, 0, "cannot unpack the agent to '%s' or any other place: %s", first ? first : "", why);
	return hsnap_hint(err, HSNAP_IO, "XDG_RUNTIME_DIR=FOLDER heapsnap run ...: one that you can write to, not mounted noexec");
}
