/* SPDX-License-Identifier: MIT */
/* test_failing_calls.c - disks that fail and memory that ends, while a snapshot is written or read. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/format/source.h"
#include "tests/support/compare.h"
#include "tests/support/failing.h"
#include "tests/support/folder.h"
#include "tests/support/random_graph.h"

#define ALL HSNAP_LOAD_ALL

static struct hsnap_snapshot *large_snapshot(void)
{
	return random_snapshot(&(struct random_shape){ .seed = 1, .num_types = 900, .num_stacks = 90, .num_blocks = 140000,
						       .num_edges = 300000, .crowd = 140000, .style = RANDOM_WILD });
}

static enum hsnap_code write_code(struct hsnap_error *err)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot();
	return hsnap_snapshot_write(s, in_folder("a.snap"), true, NULL, err);
}

static enum hsnap_code read_path_code(struct hsnap_error *err)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL;
	return hsnap_snapshot_read(in_folder("a.snap"), ALL, &read, err);
}

/* ---- writing ---- */

Test(failing_calls, a_sync_that_fails_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_error err;
	fail_call(SYS_fsync, EIO);
	cr_expect_eq(write_code(&err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EIO);
	cr_expect_eq(folder_count(), 0);
}

Test(failing_calls, a_folder_that_does_not_sync_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_error err;
	/* The folder is what hsnap_snapshot_write() opens first: it gets the lowest number that is free. */
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cr_assert_geq(next, 0);
	close(next);
	fail_call_if(SYS_fsync, EIO, 0, UINT32_MAX, (uint32_t)next, (uint32_t)next);
	cr_expect_eq(write_code(&err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EIO);
	cr_expect_eq(folder_count(), 0);
}

Test(failing_calls, a_write_that_fails_late_leaves_nothing, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_error err;
	/* The first chunks of columns are larger than any of the table's. */
	fail_call_if(SYS_write, EDQUOT, 2, UINT32_MAX, 40000, UINT32_MAX);
	cr_expect_eq(write_code(&err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EDQUOT);
	cr_expect_eq(folder_count(), 0);
}

Test(failing_calls, without_noreplace_a_link_does_as_well, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot();
	struct hsnap_error err;
	fail_nameless_files();
	fail_call(SYS_renameat2, EINVAL);
	cr_expect_eq(hsnap_snapshot_write(s, in_folder("a.snap"), false, NULL, &err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(read_path_code(&err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(folder_count(), 1, "the temporary name is still there");
}

/* ---- reading ---- */

Test(failing_calls, a_disk_that_cannot_be_read_says_so, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_error err;
	cr_assert_eq(write_code(&err), HSNAP_OK);
	pid_t child = fork();
	if (!child) { /* each way for itself: there is no way back */
		fail_call(SYS_pread64, EIO);
		_exit(read_path_code(&err) != HSNAP_IO || err.sys_errno != EIO || !strstr(err.message, "Input/output error"));
	}
	int status;
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0, "the header");
	/* Header, index and table can be read, a column in the middle cannot. */
	fail_call_if(SYS_pread64, EIO, 2, UINT32_MAX, 100000, UINT32_MAX);
	cr_expect_eq(read_path_code(&err), HSNAP_IO);
	cr_expect_eq(err.sys_errno, EIO, "%s", err.message);
	cr_expect_gt(err.where, 1000);
}

Test(failing_calls, a_file_that_shrinks_is_seen, .init = folder_make, .fini = folder_remove)
{
	struct hsnap_source source;
	struct hsnap_buffer buffer = { 0 };
	file_write(in_folder("b"), "0123456789", 10);
	cr_assert_eq(hsnap_source_open(&source, in_folder("b"), NULL), HSNAP_OK);
	const uint8_t *got = hsnap_source_get(&source, 2, 8, &buffer);
	cr_assert(got && !memcmp(got, "23456789", 8));
	cr_assert_eq(truncate(in_folder("b"), 5), 0);
	cr_expect_null(hsnap_source_get(&source, 2, 8, &buffer));
	cr_expect_eq(errno, 0);
	hsnap_source_close(&source);
	hsnap_buffer_deinit(&buffer);
}

Test(failing_calls, a_pipe_by_name_is_read, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = large_snapshot(), *read = NULL;
	struct file file = file_of_snapshot(s);
	struct hsnap_error err;
	char text[256];
	cr_assert_eq(mkfifo(in_folder("fifo"), 0600), 0);
	pid_t child = fork();
	if (!child) {
		file_write(in_folder("fifo"), file.bytes, file.size);
		_exit(0);
	}
	cr_expect_eq(hsnap_snapshot_read(in_folder("fifo"), ALL, &read, &err), HSNAP_OK, "%s", err.message);
	waitpid(child, NULL, 0);
	cr_expect(snapshots_equal(s, read, ALL, text, sizeof(text)), "%s", text);
	free(file.bytes);
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

/* In a child with so many bytes of address space more than it has: 0 done, 1 out of memory, else wrong. */
static int with_memory(uint64_t bytes, enum hsnap_code (*work)(struct hsnap_error *err))
{
	pid_t child = fork();
	if (!child) {
		char statm[64] = "";
		int fd = open("/proc/self/statm", O_RDONLY);
		if (fd < 0 || read(fd, statm, sizeof(statm) - 1) <= 0)
			_exit(2);
		struct rlimit limit = { .rlim_cur = strtoull(statm, NULL, 10) * 4096 + bytes, .rlim_max = RLIM_INFINITY };
		struct hsnap_error err = { 0 };
		if (setrlimit(RLIMIT_AS, &limit))
			_exit(3);
		enum hsnap_code code = work(&err);
		_exit(code == HSNAP_OK ? 0 : code == HSNAP_NO_MEMORY && err.message[0] ? 1 : 4);
	}
	int status;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static struct hsnap_snapshot *to_write;

static enum hsnap_code write_made(struct hsnap_error *err)
{
	return hsnap_snapshot_write(to_write, in_folder("b.snap"), true, NULL, err);
}

/* From none to enough: at each step it works or says that memory is short, and leaves no file then. */
static void sweep(const char *what, enum hsnap_code (*work)(struct hsnap_error *err))
{
	int failed = 0, done = 0;
	for (uint64_t bytes = 0; bytes < 256u << 20; bytes += bytes < 12u << 20 ? 1u << 20 : 8u << 20) {
		int got = with_memory(bytes, work);
		cr_expect(got == 0 || got == 1, "%s, with %llu bytes: %d", what, (unsigned long long)bytes, got);
		failed += got == 1;
		done += got == 0;
		if (got == 1)
			cr_expect_eq(folder_count(), 1, "%s, with %llu bytes: a file was left", what, (unsigned long long)bytes);
		remove(in_folder("b.snap"));
		if (done > 1)
			break;
	}
	cr_expect(failed && done, "%s: %d failed, %d worked", what, failed, done);
}

Test(failing_calls, memory_that_ends_is_an_error, .init = folder_make, .fini = folder_remove)
{
#ifdef ADDRESS_SANITIZER
	cr_skip_test("the sanitizer's own memory is beyond any limit");
#endif
	/* Else what malloc and the threads of this process keep would do for the whole work. */
	mallopt(M_MMAP_THRESHOLD, 65536);
	to_write = random_snapshot(&(struct random_shape){ .seed = 1, .num_types = 900, .num_stacks = 90,
		.num_blocks = 140000, .num_edges = 150000, .crowd = 9000, .style = RANDOM_WILD });
	pid_t child = fork();
	if (!child)
		_exit(hsnap_snapshot_write(to_write, in_folder("a.snap"), true, NULL, NULL));
	int status;
	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
	sweep("writing", write_made);
	sweep("reading", read_path_code);
	hsnap_snapshot_destroy(hsnap_take(to_write));
}
