/* SPDX-License-Identifier: MIT */
/* output.c - a file without a name, or a temporary one, beside the target; synced, then named. */
#include "snapshot/format/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/snapshot.h"

#define NAMES_TRIED 100

static const volatile int *interrupt_flag;

void hsnap_snapshot_interrupt_by(const volatile int *flag)
{
	interrupt_flag = flag;
}

static bool is_interrupted(const struct hsnap_output *out)
{
	return !out->memory && interrupt_flag && *interrupt_flag;
}

static enum hsnap_code fail(const struct hsnap_output *out, struct hsnap_error *err, const char *what)
{
	int saved = errno;
	const char *why = saved == ENOTSUP ? "it is not a regular file"
			  : saved == ELOOP ? "it is a link, which is not followed"
			  : saved == EISDIR ? "it is a folder" : strerror(saved);
	enum hsnap_code code = hsnap_fail(err, HSNAP_IO, 0, "cannot %s '%s': %s", what, out->path, why);
	if (saved == EEXIST)
		hsnap_hint(err, code, "--force replaces it");
	else if (saved == ENOTSUP || saved == ELOOP)
		hsnap_hint(err, code, "name a file: -o FILE; -o - writes to stdout");
	else if (saved == EISDIR)
		hsnap_hint(err, code, "name a file in it: -o FILE");
	errno = saved;
	return code;
}

/* A write past RLIMIT_FSIZE or to a closed pipe is an error to report and no reason to die. */
static void block_signals(struct hsnap_output *out)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &out->mask);
}

static void unblock_signals(struct hsnap_output *out)
{
	int saved = errno;
	sigset_t set;
	sigemptyset(&set);
	if (!sigismember(&out->mask, SIGXFSZ))
		sigaddset(&set, SIGXFSZ);
	if (!sigismember(&out->mask, SIGPIPE))
		sigaddset(&set, SIGPIPE);
	struct timespec now = { 0 };
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &out->mask, NULL);
	errno = saved;
}

/* Split the path; the folder is held open so that a rename of it meanwhile does no harm. */
static bool open_folder(struct hsnap_output *out)
{
	const char *slash = strrchr(out->path, '/');
	hsnap_auto(hsnap_freep) char *folder =
		slash ? strndup(out->path, slash == out->path ? 1 : (size_t)(slash - out->path)) : strdup(".");
	out->name = strdup(slash ? slash + 1 : out->path);
	if (!folder || !out->name) {
		errno = ENOMEM;
		return false;
	}
	out->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	out->folder_readable = out->folder >= 0;
	if (out->folder < 0 && errno == EACCES) /* one that we may write to and not list */
		out->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->folder >= 0;
}

/* May the name be taken?  The answer can change until the rename, which asks again. */
static bool may_take_name(const struct hsnap_output *out)
{
	struct stat st;
	if (!*out->name) {
		errno = EISDIR;
		return false;
	}
	if (fstatat(out->folder, out->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	if (!out->force)
		errno = EEXIST;
	else if (S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (S_ISLNK(st.st_mode))
		errno = ELOOP; /* a rename over /dev/stdout would take it away from everybody */
	else if (!S_ISREG(st.st_mode))
		errno = ENOTSUP; /* as would one over /dev/null */
	else
		return true;
	return false;
}

static bool pick_temporary_name(struct hsnap_output *out)
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return false;
	snprintf(out->temporary, sizeof(out->temporary), ".heapsnap-%016llx.tmp", (unsigned long long)random);
	return true;
}

static void own_link(int fd, char path[40])
{
	snprintf(path, 40, "/proc/self/fd/%d", fd);
}

/* A file without a name is gone with us, even by kill -9.  Where the file system or /proc does not
 * allow it: false, and nothing is open. */
static bool open_nameless(struct hsnap_output *out)
{
	char path[40];
	out->fd = openat(out->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return false;
	own_link(out->fd, path);
	if (!access(path, F_OK))
		return true;
	close(out->fd);
	out->fd = -1;
	return false;
}

static bool open_named(struct hsnap_output *out)
{
	for (int attempt = 0; attempt < NAMES_TRIED && pick_temporary_name(out); attempt++) {
		out->fd = openat(out->folder, out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (out->fd >= 0)
			return true;
		out->temporary[0] = '\0';
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool open_temporary(struct hsnap_output *out)
{
	/* Whatever the umask took away. */
	return (open_nameless(out) || open_named(out)) && !fchmod(out->fd, 0600);
}

static bool can_be_written(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
}

enum hsnap_code hsnap_output_open(struct hsnap_output *out, const char *path, bool force, struct hsnap_error *err)
{
	*out = (struct hsnap_output){ .path = path, .folder = -1, .fd = -1, .force = force };
	block_signals(out);
	if (!strcmp(path, "-")) {
		out->path = "stdout";
		out->standard = true;
		out->fd = STDOUT_FILENO;
		if (!can_be_written(out->fd)) {
			errno = EBADF;
			return fail(out, err, "write");
		}
		if (!isatty(out->fd))
			return HSNAP_OK;
		errno = ENOTSUP;
		return hsnap_fail(err, HSNAP_IO, 0, "a snapshot is not written to a terminal");
	}
	if (!open_folder(out) || !may_take_name(out) || !open_temporary(out))
		return fail(out, err, "create");
	return HSNAP_OK;
}

enum hsnap_code hsnap_output_write(struct hsnap_output *out, const void *bytes, uint64_t len, struct hsnap_error *err)
{
	const char *at = bytes;
	if (out->memory) {
		hsnap_buffer_put(out->memory, bytes, len);
		out->written += len;
		return out->memory->full ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
	}
	while (len) {
		if (is_interrupted(out))
			return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
		ssize_t done = write(out->fd, at, len > (1u << 30) ? 1u << 30 : len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return fail(out, err, "write");
		at += done;
		len -= (uint64_t)done;
		out->written += (uint64_t)done;
	}
	return HSNAP_OK;
}

/* Give the nameless file a name: the final one, or where that is to be replaced a temporary one. */
static bool link_nameless(struct hsnap_output *out)
{
	char path[40];
	own_link(out->fd, path);
	if (!out->force)
		return !linkat(AT_FDCWD, path, out->folder, out->name, AT_SYMLINK_FOLLOW);
	for (int attempt = 0; attempt < NAMES_TRIED && pick_temporary_name(out); attempt++) {
		if (!linkat(AT_FDCWD, path, out->folder, out->temporary, AT_SYMLINK_FOLLOW))
			return true;
		out->temporary[0] = '\0';
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* The final name.  Where the file system knows no RENAME_NOREPLACE, a link is as atomic. */
static bool take_name(struct hsnap_output *out)
{
	if (!out->temporary[0]) {
		if (!link_nameless(out))
			return false;
		if (!out->force)
			return true;
	}
	if (!renameat2(out->folder, out->temporary, out->folder, out->name, out->force ? 0 : RENAME_NOREPLACE)) {
		out->temporary[0] = '\0';
		return true;
	}
	if (out->force || (errno != EINVAL && errno != ENOSYS))
		return false;
	return !linkat(out->folder, out->temporary, out->folder, out->name, 0);
}

enum hsnap_code hsnap_output_commit(struct hsnap_output *out, struct hsnap_error *err)
{
	if (out->standard || out->memory)
		return HSNAP_OK;
	if (fsync(out->fd))
		return fail(out, err, "write");
	if (is_interrupted(out))
		return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	if (!may_take_name(out) || !take_name(out))
		return fail(out, err, "create");
	/* Some file systems cannot sync a folder; that is not a fault of the file. */
	if (out->folder_readable && fsync(out->folder) && errno != EINVAL && errno != EROFS) {
		enum hsnap_code code = fail(out, err, "write");
		unlinkat(out->folder, out->name, 0);
		return code;
	}
	return HSNAP_OK;
}

void hsnap_output_close(struct hsnap_output *out)
{
	if (out->fd >= 0 && !out->standard)
		close(out->fd);
	if (out->temporary[0])
		unlinkat(out->folder, out->temporary, 0);
	if (out->folder >= 0)
		close(out->folder);
	free(out->name);
	if (!out->memory)
		unblock_signals(out);
}
