/* SPDX-License-Identifier: MIT */
/* test_scratch.c - what goes to a scratch file comes back, and only a disk is one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/target/copy.h"
#include "capture/target/scratch.h"

#define MIB ((size_t)1 << 20)

/* On the disk that the tests are built on: /tmp may be in memory. */
static int open_scratch(void)
{
	int fd = -1;
	struct hsnap_error err;
	if (hsnap_scratch_open(SCRATCH_FOLDER, &fd, &err))
		cr_skip_test("%s", err.message);
	return fd;
}

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

/* Fill a copy as a way of freezing does: pieces of odd sizes, wherever there is room. */
static void fill(struct hsnap_copy *copy, size_t size)
{
	for (size_t done = 0, piece = 4096; done < size; piece = (piece * 5 + 8192) % (512 << 10) + 1) {
		struct iovec to[2];
		int num;
		while (!(num = hsnap_copy_room(copy, to)))
			cr_assert(hsnap_copy_wait(copy), "%s", strerror(errno));
		size_t len = piece < size - done ? piece : size - done, left = len;
		for (int i = 0; i < num && left; i++) {
			size_t part = left < to[i].iov_len ? left : to[i].iov_len;
			for (size_t n = 0; n < part; n++)
				((uint8_t *)to[i].iov_base)[n] = byte_at(done + (len - left) + n);
			left -= part;
		}
		cr_assert_eq(left, 0, "less room than was promised");
		cr_assert(hsnap_copy_add(copy, 0x10000 + done, len));
		done += len;
	}
}

static void expect_bytes(const struct hsnap_copy *copy, size_t size)
{
	cr_assert_eq(copy->used, size);
	cr_expect_eq(copy->num_extents, 1);
	for (size_t i = 0; i < size; i++)
		if (copy->buffer[i] != byte_at(i))
			cr_assert_fail("byte %zu of %zu is wrong", i, size);
}

Test(scratch, what_is_staged_comes_back)
{
	static const size_t sizes[] = { 1, 4096, 4 * MIB - 1, 4 * MIB, 4 * MIB + 4097, 61 * MIB + 5 };
	int fd = open_scratch();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct hsnap_copy copy;
		cr_assert(hsnap_copy_init(&copy, sizes[i] + MIB, 4, fd), "%s", strerror(errno));
		cr_assert(hsnap_copy_stage(&copy, 0));
		fill(&copy, sizes[i] / 3 * 2); /* an attempt that is given up */
		hsnap_copy_rewind(&copy);
		fill(&copy, sizes[i]);
		cr_assert(hsnap_copy_finish(&copy), "%s", strerror(errno));
		expect_bytes(&copy, sizes[i]);
		hsnap_copy_deinit(&copy);
	}
	close(fd);
}

Test(scratch, without_a_stage_the_buffer_is_the_file)
{
	int fd = open_scratch();
	struct hsnap_copy copy;
	cr_assert(hsnap_copy_init(&copy, 9 * MIB, 4, fd));
	fill(&copy, 8 * MIB + 3);
	copy.buffer[5] ^= 1; /* as a page that was written again meanwhile */
	copy.buffer[5] ^= 1;
	cr_assert(hsnap_copy_finish(&copy));
	hsnap_scratch_relieve(fd, copy.buffer, 0, copy.size);
	unsigned char there[9 * MIB / 4096];
	cr_assert_eq(mincore(copy.buffer, copy.size, there), 0);
	size_t num = 0;
	for (size_t i = 0; i < copy.size / 4096; i++)
		num += there[i] & 1;
	cr_expect_lt(num, 16, "%zu pages are still in memory", num);
	expect_bytes(&copy, 8 * MIB + 3);
	hsnap_copy_deinit(&copy);
	close(fd);
}

Test(scratch, nobody_finds_the_file)
{
	int fd = open_scratch();
	struct stat st;
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_nlink, 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

Test(scratch, a_disk_that_fails)
{
	int fd = open_scratch();
	struct hsnap_copy copy;
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(hsnap_copy_init(&copy, 32 * MIB, 4, fd));
	cr_assert(hsnap_copy_stage(&copy, 0));
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 6 * MIB, 6 * MIB });
	struct iovec to[2];
	bool failed = false;
	for (int i = 0; i < 1000 && !failed; i++) {
		int num = hsnap_copy_room(&copy, to);
		if (num && copy.used + MIB <= copy.size)
			cr_assert(hsnap_copy_add(&copy, copy.used, MIB));
		else
			failed = !hsnap_copy_wait(&copy);
	}
	int sys_errno = errno;
	cr_expect(failed);
	cr_expect_eq(sys_errno, EFBIG, "%s", strerror(sys_errno));
	cr_expect(!hsnap_copy_finish(&copy) && errno == EFBIG);
	hsnap_copy_deinit(&copy);
	cr_expect(!hsnap_copy_init(&copy, 64 * MIB, 4, fd), "there was room beyond the limit");
	cr_expect_eq(errno, EFBIG, "%s", strerror(errno));
	close(fd);
}

Test(scratch, what_is_no_disk_is_refused)
{
	int fd;
	struct hsnap_error err = { 0 };
	cr_expect_eq(hsnap_scratch_open("/dev/shm", &fd, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "what is written to '/dev/shm' stays in memory (tmpfs)");
	cr_expect_str_eq(err.hint, "name a folder on a disk: --scratch DIR");
	cr_expect_eq(hsnap_scratch_open("/nonexistent/folder", &fd, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "'/nonexistent/folder': No such file or directory"), "%s", err.message);
	cr_expect_eq(hsnap_scratch_open("/proc/self/exe", &fd, &err), HSNAP_REFUSED, "a file is no folder");
}

/* In a mount namespace of our own: an overlay whose upper folder is in memory, and a ramfs. */
static int try_overlay(void)
{
	struct hsnap_error err = { 0 };
	int fd;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, NULL) || mkdir("/mnt/upper", 0700) || mkdir("/mnt/work", 0700) ||
	    mkdir("/mnt/lower", 0700) || mkdir("/mnt/both", 0700) || mkdir("/mnt/ram", 0700) ||
	    mount("overlay", "/mnt/both", "overlay", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work") ||
	    mount("ramfs", "/mnt/ram", "ramfs", 0, NULL))
		return 77;
	if (hsnap_scratch_open("/mnt/both", &fd, &err) != HSNAP_REFUSED ||
	    strcmp(err.message, "what is written to '/mnt/both' stays in memory (an overlay on one)"))
		return 1;
	if (hsnap_scratch_open("/mnt/ram", &fd, &err) != HSNAP_REFUSED || !strstr(err.message, "(ramfs)"))
		return 2;
	return 0;
}

Test(scratch, an_overlay_in_memory_is_refused)
{
	pid_t pid = fork();
	if (!pid)
		_exit(try_overlay());
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		cr_skip_test("no overlay can be mounted here");
	cr_expect_eq(WEXITSTATUS(status), 0, "row %d", WEXITSTATUS(status));
}
