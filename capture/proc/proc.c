/* SPDX-License-Identifier: MIT */
/* proc.c - opening, reading and listing below a replaceable root. */
#include "capture/proc/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

#define MAX_FILE ((size_t)64 << 20)

enum hsnap_code hsnap_proc_init(struct hsnap_proc *proc, const char *root, struct hsnap_error *err)
{
	proc->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc->root < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot open '%s': %s", root, strerror(errno));
	return HSNAP_OK;
}

void hsnap_proc_deinit(struct hsnap_proc *proc)
{
	hsnap_closefdp(&proc->root);
	proc->root = -1;
}

/* The path that a format gives, or false with ENAMETOOLONG. */
static HSNAP_PRINTF(2, 0) bool format_path(char path[PATH_MAX], const char *format, va_list args)
{
	int len = vsnprintf(path, PATH_MAX, format, args);
	if (len >= 0 && len < PATH_MAX)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

#define PATH_FROM(format) \
	char path[PATH_MAX]; \
	va_list args; \
	va_start(args, format); \
	bool formatted = format_path(path, format, args); \
	va_end(args)

int hsnap_proc_open(const struct hsnap_proc *proc, int flags, const char *format, ...)
{
	PATH_FROM(format);
	return formatted ? openat(proc->root, path, flags | O_CLOEXEC) : -1;
}

char *hsnap_proc_read_fd(int fd, size_t *len)
{
	size_t size = 8192, used = 0;
	hsnap_auto(hsnap_freep) char *text = malloc(size);
	for (;;) {
		if (!text)
			return NULL;
		ssize_t n = pread(fd, text + used, size - used - 1, (off_t)used);
		if (n < 0)
			return NULL;
		if (!n)
			break;
		used += (size_t)n;
		if (used > MAX_FILE) {
			errno = EFBIG;
			return NULL;
		}
		if (size - used < 4096) {
			char *grown = realloc(text, size *= 2);
			if (!grown)
				return NULL;
			text = grown;
		}
	}
	text[used] = '\0';
	if (len)
		*len = used;
	return hsnap_take(text);
}

char *hsnap_proc_read(const struct hsnap_proc *proc, const char *format, ...)
{
	PATH_FROM(format);
	hsnap_auto(hsnap_closefdp) int fd = formatted ? openat(proc->root, path, O_RDONLY | O_CLOEXEC) : -1;
	return fd < 0 ? NULL : hsnap_proc_read_fd(fd, NULL);
}

bool hsnap_proc_link(const struct hsnap_proc *proc, char *to, size_t size, const char *format, ...)
{
	PATH_FROM(format);
	ssize_t n = formatted ? readlinkat(proc->root, path, to, size) : -1;
	if (n < 0)
		return false;
	if ((size_t)n >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	to[n] = '\0';
	return true;
}

bool hsnap_proc_write(const struct hsnap_proc *proc, const char *text, const char *format, ...)
{
	PATH_FROM(format);
	hsnap_auto(hsnap_closefdp) int fd = formatted ? openat(proc->root, path, O_WRONLY | O_CLOEXEC) : -1;
	ssize_t len = (ssize_t)strlen(text);
	return fd >= 0 && write(fd, text, (size_t)len) == len;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

bool hsnap_proc_list(const struct hsnap_proc *proc, struct hsnap_proc_ids *ids, const char *format, ...)
{
	PATH_FROM(format);
	int fd = formatted ? openat(proc->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	hsnap_auto(closedirp) DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return false;
	}
	ids->num = 0;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char *end;
		long id = strtol(entry->d_name, &end, 10);
		if (!isdigit((unsigned char)entry->d_name[0]) || *end || id > INT_MAX)
			continue;
		if (!hsnap_vec_push(ids, (int)id)) {
			errno = ENOMEM;
			return false;
		}
	}
	return !errno;
}

bool hsnap_proc_field(const char *text, const char *key, int base, uint64_t *ret)
{
	size_t len = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) || line[len] != ':')
			continue;
		const char *number = line + len + 1 + strspn(line + len + 1, " \t");
		char *end;
		*ret = strtoull(number, &end, base);
		return end != number;
	}
	return false;
}
