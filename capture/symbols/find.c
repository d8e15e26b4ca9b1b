/* SPDX-License-Identifier: MIT */
/*
 * find.c - where the parent looks for the files that the child asks for.
 *
 * The child names no path: it hands over a build id, or what a link section
 * says, and gets a file from the places where debug files are, as the target
 * sees them first and in our own /usr/lib/debug then.  Whether it is the right
 * one (build id, CRC) the child finds out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/symbols/child.h"

#define DEBUG "/usr/lib/debug"

/* Ours: regular files only, and nothing that hangs. */
static int open_own(const struct hsnap_finder *finder, const char *path)
{
	char full[4096];
	struct stat st;
	if ((size_t)snprintf(full, sizeof(full), "%s%s", finder->debug_root, path) >= sizeof(full))
		return -1;
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_both(const struct hsnap_finder *finder, const char *path, bool own)
{
	const struct hsnap_target *target = finder->target;
	return own ? open_own(finder, path) : target->ops->open_path(target->self, path);
}

/* The folder of a path, without its last slash; "" where there is none. */
static void directory_of(const char *path, char *to, size_t size)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (len >= size)
		len = 0;
	memcpy(to, path, len);
	to[len] = '\0';
}

/* Resolve "." and ".." by text; false: it does not end up below /usr/lib/debug or `home`. */
static bool tidy(char *path, const char *home)
{
	char *to = path;
	if (*path != '/')
		return false;
	for (char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		if (len == 2 && !memcmp(at, "..", 2)) {
			while (to > path && *--to != '/') {
			}
		} else if (len && !(len == 1 && *at == '.')) {
			*to++ = '/';
			memmove(to, at, len);
			to += len;
		}
		at += len + (at[len] == '/');
	}
	*to = '\0';
	size_t home_len = strlen(home);
	return !strncmp(path, DEBUG "/", sizeof(DEBUG)) ||
	       (home_len && !strncmp(path, home, home_len) && path[home_len] == '/');
}

static bool build_id_path(const char *id, size_t size, char *to, size_t room)
{
	char hex[80];
	if (size < 2 || size > 32)
		return false;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + i * 2, 3, "%02x", (unsigned char)id[i]);
	return (size_t)snprintf(to, room, DEBUG "/.build-id/%.2s/%s.debug", hex, hex + 2) < room;
}

/* gdb's places for a debug link: beside the program, in .debug, and mirrored below /usr/lib/debug. */
static bool link_path(const char *home, unsigned place, const char *name, char *to, size_t room)
{
	static const char *const formats[] = { "%s/%s", "%s/.debug/%s", DEBUG "%s/%s" };
	if (strchr(name, '/') || !strcmp(name, "..") || place >= sizeof(formats) / sizeof(*formats))
		return false;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	return (size_t)snprintf(to, room, formats[place], home, name) < room;
#pragma GCC diagnostic pop
}

/*
 * Where the compiler left a .dwo, which is any folder, or beside the program.  Its name must say
 * what it is: debug info is not to open what else there is.
 */
static bool half_path(const char *home, unsigned place, const char *said, char *to, size_t room)
{
	const char *slash = strrchr(said, '/'), *dot = strrchr(said, '.');
	if (*said != '/' || !dot || dot < slash || strcmp(dot, ".dwo"))
		return false;
	return (size_t)snprintf(to, room, "%s%s", place ? home : "", place ? slash : said) < room;
}

int hsnap_finder_open(struct hsnap_finder *finder, uint32_t module, const struct hsnap_open_request *request,
		      const char *text, size_t size, bool *ret_end)
{
	const struct hsnap_target *target = finder->target;
	const struct hsnap_target_module *m = &target->modules.items[module];
	char path[8192], home[4096];
	directory_of(hsnap_str(&target->strings, m->path), home, sizeof(home));
	*ret_end = true;
	bool own = false;
	switch (request->what) {
	case HSNAP_OPEN_PROGRAM:
		snprintf(finder->directory, sizeof(finder->directory), "%s", home);
		return request->attempt ? -1 : target->ops->open_module(target->self, m);
	case HSNAP_OPEN_BUILD_ID:
		*ret_end = request->attempt > 1;
		own = request->attempt == 1;
		if (*ret_end || !build_id_path(text, size, path, sizeof(path)))
			return -1;
		break;
	case HSNAP_OPEN_LINK:
		/* Beside our own programs there is nothing of the target's. */
		*ret_end = request->attempt > 3 || strnlen(text, size) != size;
		own = request->attempt == 3;
		if (*ret_end || !link_path(home, own ? 2 : request->attempt, text, path, sizeof(path)))
			return -1;
		break;
	case HSNAP_OPEN_ALT:
		*ret_end = request->attempt > 1 || !size || strnlen(text, size) != size;
		own = request->attempt == 1;
		if (*ret_end || (size_t)snprintf(path, sizeof(path), "%s%s%s", *text == '/' ? "" : finder->directory,
						 *text == '/' ? "" : "/", text) >= sizeof(path))
			return -1;
		break;
	case HSNAP_OPEN_DWO:
		*ret_end = request->attempt > 1 || strnlen(text, size) != size;
		if (*ret_end || !half_path(home, request->attempt, text, path, sizeof(path)))
			return -1;
		return target->ops->open_path(target->self, path);
	case HSNAP_OPEN_DWP:
		*ret_end = request->attempt > 2;
		own = request->attempt == 2;
		if (*ret_end || (size_t)snprintf(path, sizeof(path), "%s%s.dwp", request->attempt ? DEBUG : "",
						 hsnap_str(&target->strings, m->path)) >= sizeof(path))
			return -1;
		break;
	default:
		return -1;
	}
	if (!tidy(path, home))
		return -1;
	int fd = open_both(finder, path, own);
	if (fd >= 0 && request->what != HSNAP_OPEN_ALT && request->what != HSNAP_OPEN_DWP)
		directory_of(path, finder->directory, sizeof(finder->directory));
	return fd;
}
