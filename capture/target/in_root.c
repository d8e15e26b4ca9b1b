/* SPDX-License-Identifier: MIT */
/* in_root.c - openat2, and what it does in steps. */
#include "capture/target/in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

#define MAX_DEPTH 64 /* folders below the root */
#define MAX_LINKS 40 /* as the kernel's */
#define MAX_TRIES 8  /* of a path with ".." while somebody renames folders */

/* The way from the root to where we are.  Held open, so that nobody can put a link under our feet. */
struct walk {
	int root;
	int folders[MAX_DEPTH];
	unsigned depth, links;
	char rest[2 * PATH_MAX]; /* of the path */
};

static void go_to_depth(struct walk *walk, unsigned depth)
{
	while (walk->depth > depth)
		close(walk->folders[--walk->depth]);
}

/* Takes the first name off the rest; false: there is none left. */
static bool next_name(struct walk *walk, char *name)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(start, "/");
	if (!len)
		return false;
	if (len > NAME_MAX)
		len = NAME_MAX + 1; /* no folder has it */
	memcpy(name, start, len);
	name[len] = '\0';
	memmove(walk->rest, start + len, strlen(start + len) + 1);
	return true;
}

/* The link's text comes before the rest; an absolute one begins at the root again. */
static bool follow(struct walk *walk, int link)
{
	char text[PATH_MAX], rest[sizeof(walk->rest)];
	ssize_t len = readlinkat(link, "", text, sizeof(text) - 1);
	if (len < 0)
		return false;
	text[len] = '\0';
	memcpy(rest, walk->rest, sizeof(rest));
	int all = snprintf(walk->rest, sizeof(walk->rest), "%s%s", text, rest);
	if (++walk->links > MAX_LINKS || all < 0 || (size_t)all >= sizeof(walk->rest)) {
		errno = ELOOP;
		return false;
	}
	if (text[0] == '/')
		go_to_depth(walk, 0);
	return true;
}

/* One step; *ret is what stands at the path's end, once it has come to that. */
static bool step(struct walk *walk, const char *name, int *ret)
{
	struct stat st;
	if (!strcmp(name, ".."))
		go_to_depth(walk, walk->depth ? walk->depth - 1 : 0);
	if (!strcmp(name, "..") || !strcmp(name, "."))
		return true;
	int from = walk->depth ? walk->folders[walk->depth - 1] : walk->root;
	hsnap_auto(hsnap_closefdp) int fd = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return false;
	if (S_ISLNK(st.st_mode))
		return follow(walk, fd);
	bool end = !walk->rest[0];
	if (!end && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return false;
	}
	if (!end && walk->depth == MAX_DEPTH) {
		errno = ENAMETOOLONG;
		return false;
	}
	if (end)
		*ret = fd;
	else
		walk->folders[walk->depth++] = fd;
	fd = -1;
	return true;
}

static int open_in_steps(int root, const char *path)
{
	struct walk walk = { .root = root };
	char name[NAME_MAX + 2];
	int found = -1;
	if ((size_t)snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	errno = EISDIR; /* for a path that names a folder by its end: nobody asks for those */
	while (found < 0 && next_name(&walk, name))
		if (!step(&walk, name, &found))
			break;
	int error = errno;
	go_to_depth(&walk, 0);
	errno = error;
	return found;
}

int hsnap_open_in_root(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	/* A filter says EPERM, which openat2 itself never does here. */
	return fd < 0 && (errno == ENOSYS || errno == EPERM) ? open_in_steps(root, path) : (int)fd;
}
