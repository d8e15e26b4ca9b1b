/* SPDX-License-Identifier: MIT */
/* test_in_root.c - a path in another root leads where a process with that root is led, and never out of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/target/in_root.h"
#include "tests/capture/support/forbid.h"

static const struct {
	const char *path, *text; /* what stands in the file, or NULL */
	int error;
} rows[] = {
	{ "/file", "file", 0 },
	{ "file", "file", 0 },
	{ "/a/b/c/file", "deep", 0 },
	{ "//a/./b//c/../c/file", "deep", 0 },
	{ "/a/b/c/no", NULL, ENOENT },
	{ "/no/file", NULL, ENOENT },
	{ "/file/file", NULL, ENOTDIR },
	{ "/../../../../file", "file", 0 },
	{ "/a/../../../file", "file", 0 },
	{ "/absolute", "deep", 0 },     /* -> /a/b/c/file */
	{ "/relative", "deep", 0 },     /* -> a/b/c/file */
	{ "/a/b/up", "file", 0 },       /* -> ../../file */
	{ "/a/b/out", "file", 0 },      /* -> ../../../../../../file */
	{ "/folder/c/file", "deep", 0 }, /* folder -> /a/b */
	{ "/a/b/chain", "deep", 0 },    /* -> ../../folder/c/file */
	{ "/loop", NULL, ELOOP },
	{ "/ours", NULL, ENOENT },      /* -> the file's path in our root */
	{ "/dangling", NULL, ENOENT },
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static char top[64];

static void shell(const char *command)
{
	char line[1024];
	snprintf(line, sizeof(line), "cd '%s' && %s", top, command);
	cr_assert_eq(system(line), 0, "%s", line);
}

static void make_root(void)
{
	strcpy(top, "/tmp/hsnap-root-XXXXXX");
	cr_assert(mkdtemp(top));
	shell("printf file >file; mkdir -p a/b/c; printf deep >a/b/c/file; ln -s /a/b/c/file absolute; "
	      "ln -s a/b/c/file relative; ln -s ../../file a/b/up; ln -s ../../../../../../file a/b/out; ln -s /a/b folder; "
	      "ln -s ../../folder/c/file a/b/chain; ln -s loop loop; ln -s \"$PWD/file\" ours; ln -s nothing dangling; mkfifo fifo");
}

static void remove_root(void)
{
	char line[128];
	snprintf(line, sizeof(line), "rm -rf '%s'", top);
	cr_expect_eq(system(line), 0);
}

TestSuite(in_root, .init = make_root, .fini = remove_root);

static int descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY); /* the lowest that is free */
	close(fd);
	return fd;
}

static void expect_rows(void)
{
	int root = open(top, O_PATH | O_DIRECTORY);
	for (size_t i = 0; i < NUM_ROWS; i++) {
		int before = descriptors();
		int fd = hsnap_open_in_root(root, rows[i].path), error = errno;
		char path[64], text[16] = "";
		cr_expect_eq(fd >= 0, rows[i].text != NULL, "%s: %s", rows[i].path, strerror(error));
		if (fd < 0) {
			cr_expect_eq(error, rows[i].error, "%s: %s", rows[i].path, strerror(error));
			cr_expect_eq(descriptors(), before, "%s", rows[i].path);
			continue;
		}
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		int file = open(path, O_RDONLY);
		cr_expect(read(file, text, sizeof(text) - 1) > 0, "%s", rows[i].path);
		cr_expect_str_eq(text, rows[i].text, "%s", rows[i].path);
		close(file);
		close(fd);
		cr_expect_eq(descriptors(), before, "%s", rows[i].path);
	}
	/* Looked at without being opened: nobody waits at a FIFO. */
	struct stat st;
	int fifo = hsnap_open_in_root(root, "/fifo");
	cr_expect(!fstat(fifo, &st) && S_ISFIFO(st.st_mode));
	close(fifo);
	close(root);
}

Test(in_root, by_openat2)
{
	int root = open(top, O_PATH | O_DIRECTORY);
	if (syscall(SYS_openat2, root, "file", NULL, 0) < 0 && errno == ENOSYS)
		cr_skip_test("no openat2 here");
	close(root);
	expect_rows();
}

Test(in_root, in_steps_where_the_kernel_has_no_openat2)
{
	forbid(SYS_openat2, ENOSYS);
	expect_rows();
}

Test(in_root, in_steps_where_a_filter_forbids_it)
{
	forbid(SYS_openat2, EPERM);
	expect_rows();
}

Test(in_root, paths_without_an_end)
{
	char *deep = calloc(1, 10000), *links = calloc(1, 10000);
	int before = descriptors();
	forbid(SYS_openat2, ENOSYS);
	int root = open(top, O_PATH | O_DIRECTORY);
	for (int i = 0; i < 3000; i++)
		strcat(deep, "a/");
	cr_expect(hsnap_open_in_root(root, deep) < 0 && errno == ENAMETOOLONG);
	memset(links, 'n', 5000);
	cr_expect(hsnap_open_in_root(root, links) < 0 && errno == ENAMETOOLONG);
	links[300] = '\0';
	cr_expect(hsnap_open_in_root(root, links) < 0 && errno == ENAMETOOLONG);
	cr_expect_lt(hsnap_open_in_root(root, ""), 0);
	cr_expect_lt(hsnap_open_in_root(root, "/"), 0);
	shell("d=.; for i in $(seq 70); do mkdir $d/d && d=$d/d; done; printf far >$d/file");
	deep[0] = '\0';
	for (int i = 0; i < 70; i++)
		strcat(deep, "d/");
	strcat(deep, "file");
	cr_expect(hsnap_open_in_root(root, deep) < 0 && errno == ENAMETOOLONG, "%s", strerror(errno));
	close(root);
	cr_expect_eq(descriptors(), before);
	free(deep);
	free(links);
}
