/* SPDX-License-Identifier: MIT */
/*
 * confine.c - a process that may compute, allocate, and talk over what it holds.
 *
 * The filter is written by hand: eight instructions and a list need no library.
 */
#include "capture/symbols/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const unsigned allowed[] = {
	SYS_read, SYS_pread64, SYS_write, SYS_recvmsg, SYS_sendmsg, SYS_close, SYS_fstat, SYS_newfstatat, SYS_lseek,
	SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
	SYS_restart_syscall, SYS_clock_gettime, SYS_sched_yield,
#if SANITIZED /* its run-time looks around when it starts to report */
	SYS_getpid, SYS_gettid, SYS_sigaltstack, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_openat, SYS_readlink,
	SYS_getrlimit, SYS_prlimit64, SYS_prctl,
#endif
};
#define NUM_ALLOWED (sizeof(allowed) / sizeof(*allowed))

/* mmap and mprotect have their third argument looked at: no memory becomes a program. */
static const unsigned allowed_without_exec[] = { SYS_mmap, SYS_mprotect };
#define NUM_WITHOUT_EXEC (sizeof(allowed_without_exec) / sizeof(*allowed_without_exec))

#define DATA(field) (uint32_t) offsetof(struct seccomp_data, field)

static bool install_filter(void)
{
	struct sock_filter code[8 + NUM_ALLOWED * 2 + NUM_WITHOUT_EXEC + 8];
	unsigned n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr));
	for (unsigned i = 0; i < NUM_ALLOWED; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	/* What is left but those with an argument to look at (and x32's numbers) ends here. */
	for (unsigned i = 0; i < NUM_WITHOUT_EXEC; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed_without_exec[i],
							  (uint8_t)(NUM_WITHOUT_EXEC - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[2]));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog program = { .len = (unsigned short)n, .filter = code };
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	return !syscall(SYS_capset, &header, none);
}

/* Before Linux 5.9, and where a container's filter does not know close_range. */
static bool close_listed(int keep)
{
	DIR *folder = opendir("/proc/self/fd");
	if (!folder)
		return false;
	for (struct dirent *entry; (entry = readdir(folder));) {
		int fd = atoi(entry->d_name);
		if (fd > 2 && fd != keep && fd != dirfd(folder))
			close(fd);
	}
	return !closedir(folder);
}

static bool close_others(int keep)
{
	/* A small container may have no /dev/null: of this, reading ends at once and writing fails. */
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return false;
	for (int fd = 0; fd <= 2; fd++)
		if (fd != keep && dup2(ends[0], fd) < 0)
			return false;
	/* From 3 up, but for the one that is kept. */
	unsigned kept = keep < 3 ? 3 : (unsigned)keep;
	return ((kept <= 3 || !syscall(SYS_close_range, 3, kept - 1, 0)) &&
		!syscall(SYS_close_range, kept + (keep >= 3), ~0U, 0)) || close_listed(keep);
}

static bool set_limit(int what, uint64_t value)
{
	struct rlimit limit = { value, value }, old;
	if (!getrlimit(what, &old) && old.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = old.rlim_max;
	return !setrlimit(what, &limit);
}

/* Of this process now, in bytes: what it inherits may be gigabytes.  false: not to be found out. */
static bool read_sizes(uint64_t *ret_space, uint64_t *ret_data)
{
	unsigned long space = 0, data = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f)
		return false;
	int num = fscanf(f, "%lu %*u %*u %*u %*u %lu", &space, &data);
	fclose(f);
	*ret_space = space * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_data = data * (uint64_t)sysconf(_SC_PAGESIZE);
	return num == 2;
}

static int compare_bytes(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* glibc's qsort asks once how much memory there is, which can mean opening a file. */
static void warm_up(void)
{
	uint8_t bytes[4096] = { 0 };
	qsort(bytes, sizeof(bytes), 1, compare_bytes);
}

bool hsnap_confine(pid_t parent, int keep, const struct hsnap_confine_limits *limits)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return false;
	warm_up();
	uint64_t space, data;
	if (!read_sizes(&space, &data) || !close_others(keep))
		return false;
	uint64_t more = limits->data < limits->memory ? limits->data : limits->memory;
	/* A sanitizer's shadow alone is terabytes. */
	if (!SANITIZED && (!set_limit(RLIMIT_AS, space + limits->memory) || !set_limit(RLIMIT_DATA, data + more)))
		return false;
	return set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_CPU, limits->cpu_seconds) &&
	       set_limit(RLIMIT_NOFILE, (unsigned)keep + 1 + limits->descriptors) &&
	       set_limit(RLIMIT_FSIZE, 0) && !prctl(PR_SET_DUMPABLE, 0) && drop_capabilities() &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && install_filter();
}
