/* SPDX-License-Identifier: MIT */
/* test_unpack.c - the agent that the single file carries comes to a file that is whole and nobody else's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/agent_inside.h"

static const char bytes[] = "the agent, all of it";
static struct hsnap_error err;
static char path[PATH_MAX];

static enum hsnap_code unpack(const char *first, const char *second)
{
	const char *places[] = { first, second, NULL };
	return hsnap_agent_unpack(bytes, sizeof(bytes), places, path, sizeof(path), &err);
}

static void expect_whole(void)
{
	char text[sizeof(bytes) + 1] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_expect_eq(read(fd, text, sizeof(text)), (ssize_t)sizeof(bytes));
	cr_expect_str_eq(text, bytes);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0644);
	close(fd);
}

/* The only one left: what was written beside is gone. */
static size_t count_files(const char *folder)
{
	char command[PATH_MAX + 32], line[32] = "";
	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
	FILE *pipe = popen(command, "r");
	cr_assert(pipe && fgets(line, sizeof(line), pipe));
	pclose(pipe);
	return strtoul(line, NULL, 10);
}

static void folder_of(const char *top, char *to)
{
	snprintf(to, PATH_MAX, "%s/heapsnap-%u", top, geteuid());
}

static char top[64], other[64];

static void make_tops(void)
{
	strcpy(top, "/tmp/hsnap-unpack-XXXXXX");
	strcpy(other, "/tmp/hsnap-unpack-XXXXXX");
	cr_assert(mkdtemp(top) && mkdtemp(other));
}

static void remove_tops(void)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf '%s' '%s' '%s x'", top, other, top);
	cr_expect_eq(system(command), 0);
}

TestSuite(unpack, .init = make_tops, .fini = remove_tops);

Test(unpack, once_and_again)
{
	char folder[PATH_MAX];
	struct stat first, second;
	umask(077);
	cr_assert_eq(unpack(top, other), HSNAP_OK, "%s", err.message);
	expect_whole();
	folder_of(top, folder);
	cr_expect_eq(strncmp(path, folder, strlen(folder)), 0, "%s", path);
	cr_assert_eq(stat(folder, &first), 0);
	cr_expect_eq(first.st_mode & 07777, 0711, "others may pass, and not write or list: %o", first.st_mode);
	cr_assert_eq(stat(path, &first), 0);
	cr_assert_eq(unpack(top, other), HSNAP_OK);
	cr_assert_eq(stat(path, &second), 0);
	cr_expect_eq(first.st_ino, second.st_ino, "it is used again");
	cr_expect_eq(count_files(folder), 1);
	cr_expect_eq(count_files(other), 0);
}

Test(unpack, another_build_has_another_name)
{
	char before[PATH_MAX];
	const char *places[] = { top, NULL };
	cr_assert_eq(unpack(top, NULL), HSNAP_OK);
	strcpy(before, path);
	cr_assert_eq(hsnap_agent_unpack("another", 7, places, path, sizeof(path), &err), HSNAP_OK);
	cr_expect_str_neq(before, path);
}

/* Whatever stands there under the name and is not it, is replaced; and what a link leads to stays. */
Test(unpack, wrong_content)
{
	char folder[PATH_MAX], victim[128];
	static const char *const wrong[] = { "", "the agent, all of iT", "the agent, all of it and more" };
	cr_assert_eq(unpack(top, NULL), HSNAP_OK);
	for (size_t i = 0; i < 3; i++) {
		int fd = open(path, O_WRONLY | O_TRUNC);
		cr_assert_eq(write(fd, wrong[i], strlen(wrong[i]) + !!i), (ssize_t)(strlen(wrong[i]) + !!i));
		close(fd);
		cr_assert_eq(unpack(top, NULL), HSNAP_OK, "%s", err.message);
		expect_whole();
	}
	snprintf(victim, sizeof(victim), "%s/victim", other);
	cr_assert_eq(close(open(victim, O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(unlink(path) || symlink(victim, path), 0);
	cr_assert_eq(unpack(top, NULL), HSNAP_OK, "%s", err.message);
	expect_whole();
	struct stat st;
	cr_expect(!stat(victim, &st) && !st.st_size);
	cr_assert_eq(unlink(path) || mkfifo(path, 0600), 0);
	cr_assert_eq(unpack(top, NULL), HSNAP_OK, "a FIFO does not hang it: %s", err.message);
	expect_whole();
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_eq(unpack(top, NULL), HSNAP_OK, "one that others can write to: %s", err.message);
	expect_whole();
	folder_of(top, folder);
	cr_expect_eq(count_files(folder), 1);
}

static void expect_other(const char *why)
{
	cr_expect_eq(unpack(top, other), HSNAP_OK, "%s: %s", why, err.message);
	cr_expect_eq(strncmp(path, other, strlen(other)), 0, "%s: %s", why, path);
	cr_expect_eq(unpack(top, ""), HSNAP_IO, "%s", why);
	cr_expect(strstr(err.message, top), "%s: %s", why, err.message);
	cr_expect_neq(err.hint[0], '\0');
}

Test(unpack, folders_that_are_not_ours)
{
	char folder[PATH_MAX];
	folder_of(top, folder);
	cr_assert_eq(mkdir(folder, 0777) || chmod(folder, 0777), 0);
	expect_other("others can write to it");
	cr_assert_eq(rmdir(folder) || symlink("/", folder), 0);
	expect_other("a link");
	cr_assert_eq(unlink(folder), 0);
	cr_assert_eq(close(open(folder, O_CREAT | O_WRONLY, 0600)), 0);
	expect_other("a file");
	cr_assert_eq(unlink(folder), 0);
	if (!geteuid()) {
		cr_assert_eq(mkdir(folder, 0700) || chown(folder, 1234, 1234), 0);
		expect_other("somebody else's");
	}
}

Test(unpack, places_that_do_not_do)
{
	char blank[128];
	snprintf(blank, sizeof(blank), "%s x", top);
	cr_assert_eq(mkdir(blank, 0700), 0);
	cr_expect_eq(unpack(blank, other), HSNAP_OK, "ld.so would cut it at the blank");
	cr_expect_eq(strncmp(path, other, strlen(other)), 0, "%s", path);
	cr_expect_eq(unpack("relative", other), HSNAP_OK);
	cr_expect_eq(unpack("/no/such/folder", other), HSNAP_OK);
	cr_expect_eq(unpack("/no/such/folder", NULL), HSNAP_IO);
	cr_expect_str_eq(err.message, "cannot unpack the agent to '/no/such/folder' or any other place: No such file or directory");
}
