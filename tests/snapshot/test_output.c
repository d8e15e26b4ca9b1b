/* SPDX-License-Identifier: MIT */
/* test_output.c - a snapshot's file is there whole and private, or not at all. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/format/output.h"
#include "tests/support/compare.h"
#include "tests/support/failing.h"
#include "tests/support/folder.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ALL HSNAP_LOAD_ALL

static struct hsnap_snapshot *small_snapshot(void)
{
	return snapshot_from_text(&(struct graph_text){ .roots = "global:r", .blocks = "a b", .edges = "r>a a>b" });
}

/* More than 1 MiB of file. */
static struct hsnap_snapshot *large_snapshot(void)
{
	return random_snapshot(&(struct random_shape){ .seed = 1, .num_types = 9, .num_stacks = 9, .num_blocks = 100000,
						       .num_edges = 400000, .style = RANDOM_WILD });
}

static void expect_readable(const char *path)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL;
	struct hsnap_error err;
	cr_expect_eq(hsnap_snapshot_read(path, ALL, &read, &err), HSNAP_OK, "%s", err.message);
}

Test(output, the_file_is_private, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	static const mode_t masks[] = { 0, 022, 0777 };
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		mode_t old = umask(masks[i]);
		struct hsnap_error err;
		cr_assert_eq(hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, &err), HSNAP_OK, "%s", err.message);
		umask(old);
		struct stat st;
		cr_assert_eq(lstat(in_folder("a.snap"), &st), 0);
		cr_expect_eq(st.st_mode & 07777, 0600, "umask %o: mode %o", masks[i], st.st_mode & 07777);
	}
	cr_expect_eq(folder_count(), 1, "the temporary file is still there");
}

/* ---- with a temporary file: where files without a name are not to be had ---- */

Test(output, a_temporary_file_does_as_well, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	struct hsnap_error err;
	struct stat st;
	fail_nameless_files();
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), false, NULL, &err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EEXIST);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, &err), HSNAP_OK, "%s", err.message);
	expect_readable(in_folder("a.snap"));
	cr_assert_eq(lstat(in_folder("a.snap"), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_expect_eq(folder_count(), 1);
}

Test(output, a_temporary_file_goes_when_the_write_fails, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot();
	struct rlimit limit = { .rlim_cur = 700000, .rlim_max = RLIM_INFINITY };
	fail_nameless_files();
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct hsnap_error err;
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EFBIG, "%s", err.message);
	cr_expect_eq(folder_count(), 0);
}

Test(output, a_kill_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_output out;
	int probe = open(folder_path(), O_TMPFILE | O_WRONLY, 0600);
	if (probe < 0)
		cr_skip_test("no files without a name on this file system");
	close(probe);
	pid_t child = fork();
	if (!child) {
		if (hsnap_output_open(&out, in_folder("a.snap"), true, NULL) || hsnap_output_write(&out, "x", 1, NULL))
			_exit(1);
		raise(SIGKILL);
	}
	int status;
	waitpid(child, &status, 0);
	cr_assert(WIFSIGNALED(status), "status %x", status);
	cr_expect_eq(folder_count(), 0);
}

Test(output, an_existing_file_needs_force, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	struct hsnap_error err;
	file_write(in_folder("a.snap"), "mine", 4);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EEXIST);
	cr_expect(strstr(err.message, "a.snap': File exists"), "%s", err.message);
	cr_expect(strstr(err.hint, "--force"), "%s", err.hint);
	struct file file = file_read(in_folder("a.snap"));
	cr_expect_str_eq((char *)file.bytes, "mine");
	free(file.bytes);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, &err), HSNAP_OK);
	expect_readable(in_folder("a.snap"));
	cr_expect_eq(folder_count(), 1);
}

Test(output, a_link_is_not_followed, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	struct hsnap_error err;
	file_write(in_folder("victim"), "mine", 4);
	cr_assert_eq(symlink("victim", in_folder("a.snap")), 0);
	cr_assert_eq(symlink("nowhere", in_folder("b.snap")), 0);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EEXIST);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("b.snap"), false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EEXIST, "a link that leads nowhere is there, too");
	/* /dev/stdout is one, and is everybody's. */
	struct stat st;
	for (int i = 0; i < 2; i++) {
		const char *link = in_folder(i ? "b.snap" : "a.snap");
		cr_expect_eq(hsnap_snapshot_write(s, link, true, NULL, &err), HSNAP_IO);
		cr_expect(strstr(err.message, "it is a link, which is not followed"), "%s", err.message);
		cr_expect(strstr(err.hint, "-o - writes to stdout"), "%s", err.hint);
		cr_assert_eq(lstat(link, &st), 0);
		cr_expect(S_ISLNK(st.st_mode), "the link was replaced");
	}
	struct file file = file_read(in_folder("victim"));
	cr_expect_str_eq((char *)file.bytes, "mine", "the file behind the link was written to");
	free(file.bytes);
}

Test(output, only_regular_files_are_replaced, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	struct hsnap_error err;
	cr_assert_eq(mkdir(in_folder("folder"), 0700), 0);
	cr_assert_eq(mkfifo(in_folder("fifo"), 0600), 0);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("folder"), true, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EISDIR);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("folder/"), true, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EISDIR);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("fifo"), true, NULL, &err), HSNAP_IO);
	cr_expect(strstr(err.message, "not a regular file"), "%s", err.message);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("no/such/a.snap"), true, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, ENOENT);
	cr_expect_eq(folder_count(), 2);
}

Test(output, a_name_without_a_folder_is_in_the_current_one, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	cr_assert_eq(chdir(folder_path()), 0);
	cr_expect_eq(hsnap_snapshot_write(s, "a.snap", false, NULL, NULL), HSNAP_OK);
	expect_readable(in_folder("a.snap"));
	cr_assert_eq(chdir("/"), 0);
}

/* ---- no room ---- */

Test(output, a_limit_on_files_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot();
	struct rlimit limit = { .rlim_cur = 700000, .rlim_max = RLIM_INFINITY };
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	file_write(in_folder("a.snap"), "mine", 4);
	struct hsnap_error err;
	/* SIGXFSZ would end this process. */
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EFBIG, "%s", err.message);
	cr_expect_eq(folder_count(), 1);
	struct file file = file_read(in_folder("a.snap"));
	cr_expect_str_eq((char *)file.bytes, "mine", "the file that was to be replaced is gone");
	free(file.bytes);
	sigset_t mask, pending;
	cr_assert_eq(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	cr_assert_eq(sigpending(&pending), 0);
	cr_expect_not(sigismember(&mask, SIGXFSZ), "the signal stays blocked");
	cr_expect_not(sigismember(&pending, SIGXFSZ), "the signal is still to come");
}

Test(output, a_full_disk_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	const char *disk = in_folder("disk");
	cr_assert_eq(mkdir(disk, 0700), 0);
	if (mount("tmpfs", disk, "tmpfs", 0, "size=512k"))
		cr_skip_test("mounting is not permitted here");
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot();
	struct hsnap_error err;
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("disk/a.snap"), false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, ENOSPC, "%s", err.message);
	cr_expect(strstr(err.message, "cannot write"), "%s", err.message);
	cr_expect_eq(folder_count_in(in_folder("disk")), 0);
	cr_expect_eq(umount(in_folder("disk")), 0);
}

/* As nobody: root may write anywhere. */
Test(output, a_folder_that_is_closed_says_so, .init = folder_make, .fini = folder_remove)
{
	if (geteuid())
		cr_skip_test("only root can become somebody else");
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	char path[320];
	strcpy(path, in_folder("a.snap"));
	cr_assert_eq(chmod(folder_path(), 0755), 0);
	cr_assert_eq(seteuid(65534), 0);
	struct hsnap_error err;
	cr_expect_eq(hsnap_snapshot_write(s, path, false, NULL, &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EACCES, "%s", err.message);
	cr_assert_eq(seteuid(0), 0);
	/* One that may be written to and not listed will do. */
	cr_assert_eq(chmod(folder_path(), 0733), 0);
	cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(hsnap_snapshot_write(s, path, false, NULL, &err), HSNAP_OK, "%s", err.message);
	cr_assert_eq(seteuid(0), 0);
}

/* ---- stdout and stdin ---- */

/* Put fd in the place of stdout or stdin; answers what to put back. */
static int redirect(int fd, int standard)
{
	int saved = dup(standard);
	cr_assert(saved >= 0 && dup2(fd, standard) == standard);
	close(fd);
	return saved;
}

static void put_back(int saved, int standard)
{
	dup2(saved, standard);
	close(saved);
}

Test(output, stdout_and_stdin_carry_a_snapshot, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot(), *read = NULL;
	struct hsnap_error err;
	uint64_t size = 0;
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	pid_t writer = fork();
	if (!writer) {
		close(ends[0]);
		redirect(ends[1], STDOUT_FILENO);
		_exit(hsnap_snapshot_write(s, "-", false, &size, NULL) || !size);
	}
	close(ends[1]);
	int saved = redirect(ends[0], STDIN_FILENO);
	enum hsnap_code code = hsnap_snapshot_read("-", ALL, &read, &err);
	put_back(saved, STDIN_FILENO);
	cr_assert_eq(code, HSNAP_OK, "%s", err.message);
	int status;
	waitpid(writer, &status, 0);
	cr_expect_eq(status, 0);
	char text[256];
	cr_expect(snapshots_equal(s, read, ALL, text, sizeof(text)), "%s", text);
	cr_expect_eq(folder_count(), 0);
}

static enum hsnap_code write_to_fd(int fd, struct hsnap_error *err)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = small_snapshot();
	cr_assert(fd >= 0);
	int saved = redirect(fd, STDOUT_FILENO);
	enum hsnap_code code = hsnap_snapshot_write(s, "-", false, NULL, err);
	put_back(saved, STDOUT_FILENO);
	return code;
}

Test(output, a_stdout_that_fails_is_a_failure)
{
	struct hsnap_error err;
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	close(ends[0]);
	cr_expect_eq(write_to_fd(ends[1], &err), HSNAP_IO); /* SIGPIPE would end this process */
	cr_expect_eq(err.sys_errno, EPIPE);
	cr_expect_eq(write_to_fd(open("/dev/full", O_WRONLY), &err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, ENOSPC);
	cr_expect(strstr(err.message, "'stdout'"), "%s", err.message);
}

static int open_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	cr_assert(master >= 0 && !grantpt(master) && !unlockpt(master));
	return open(ptsname(master), O_RDWR | O_NOCTTY); /* the master is closed with the process */
}

Test(output, a_terminal_is_refused)
{
	struct hsnap_error err;
	cr_expect_eq(write_to_fd(open_terminal(), &err), HSNAP_IO);
	cr_expect(strstr(err.message, "not written to a terminal"), "%s", err.message);
	int saved = redirect(open_terminal(), STDIN_FILENO);
	struct hsnap_snapshot *read = NULL;
	cr_expect_eq(hsnap_snapshot_read("-", ALL, &read, &err), HSNAP_IO);
	put_back(saved, STDIN_FILENO);
	cr_expect(strstr(err.message, "not read from a terminal"), "%s", err.message);
}

/* Endless input that is no snapshot is put down after its first bytes. */
Test(output, an_endless_stdin_is_not_swallowed)
{
	struct hsnap_error err;
	struct hsnap_snapshot *read = NULL;
	int saved = redirect(open("/dev/zero", O_RDONLY), STDIN_FILENO);
	cr_expect_eq(hsnap_snapshot_read("-", ALL, &read, &err), HSNAP_FORMAT);
	put_back(saved, STDIN_FILENO);
	cr_expect(strstr(err.message, "cannot read 'stdin': it is not a heapsnap snapshot"), "%s", err.message);
}
