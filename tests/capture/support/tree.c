/* SPDX-License-Identifier: MIT */
/* tree.c - files in a temporary folder. */
#include "tests/capture/support/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];

void tree_create(struct hsnap_proc *proc)
{
	const char *base = getenv("TMPDIR");
	snprintf(folder, sizeof(folder), "%s/hsnap-tree-XXXXXX", base ? base : "/tmp");
	cr_assert(mkdtemp(folder));
	cr_assert_eq(hsnap_proc_init(proc, folder, NULL), HSNAP_OK);
}

void tree_write(const struct hsnap_proc *proc, const char *path, const char *text)
{
	char part[PATH_MAX];
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdirat(proc->root, part, 0700);
	}
	int fd = openat(proc->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(fd >= 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_destroy(struct hsnap_proc *proc)
{
	hsnap_proc_deinit(proc);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
