/* SPDX-License-Identifier: MIT */
/* kernel.c - /proc/PID/fdinfo of epoll descriptors, /proc/PID/timers. */
#include "capture/proc/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

#define MAX_IN_STOP ((size_t)1 << 20) /* some 15,000 watched descriptors: 5 ms */

static bool add_list(struct hsnap_kernel *kernel, enum hsnap_kernel_kind kind, int number, int file)
{
	size_t len;
	hsnap_auto(hsnap_closefdp) int fd = file;
	hsnap_auto(hsnap_freep) char *before = hsnap_proc_read_fd(fd, &len);
	if (!before)
		return true; /* closed meanwhile */
	size_t room = len + len / 4 + 8192;
	if (room > MAX_IN_STOP)
		room = MAX_IN_STOP;
	hsnap_auto(hsnap_freep) char *text = malloc(room);
	if (!text || !hsnap_vec_reserve(&kernel->lists, 1))
		return false;
	memset(text, 0, room); /* faulted in before the stop */
	kernel->lists.items[kernel->lists.num++] = (struct hsnap_kernel_list){
		.kind = kind, .number = number, .file = fd, .before = hsnap_take(before), .text = hsnap_take(text),
		.room = room,
	};
	fd = -1;
	return true;
}

bool hsnap_kernel_prepare(struct hsnap_kernel *kernel, const struct hsnap_proc *proc, pid_t pid)
{
	struct hsnap_proc_ids numbers = { 0 };
	if (!hsnap_proc_list(proc, &numbers, "proc/%d/fd", pid))
		numbers.num = 0; /* not permitted, or gone: the stop will tell */
	bool good = true;
	for (size_t i = 0; good && i < numbers.num; i++) {
		char link[64];
		if (!hsnap_proc_link(proc, link, sizeof(link), "proc/%d/fd/%d", pid, numbers.items[i]) ||
		    strcmp(link, "anon_inode:[eventpoll]"))
			continue;
		int file = hsnap_proc_open(proc, O_RDONLY, "proc/%d/fdinfo/%d", pid, numbers.items[i]);
		if (file >= 0)
			good = add_list(kernel, HSNAP_KERNEL_EPOLL, numbers.items[i], file);
	}
	hsnap_vec_deinit(&numbers);
	int timers = hsnap_proc_open(proc, O_RDONLY, "proc/%d/timers", pid);
	if (good && timers >= 0)
		good = add_list(kernel, HSNAP_KERNEL_TIMERS, 0, timers);
	return good;
}

void hsnap_kernel_read(struct hsnap_kernel *kernel)
{
	for (size_t i = 0; i < kernel->lists.num; i++) {
		struct hsnap_kernel_list *list = &kernel->lists.items[i];
		size_t used = 0;
		for (ssize_t n = 1; n > 0 && used < list->room - 1; used += n > 0 ? (size_t)n : 0)
			n = pread(list->file, list->text + used, list->room - 1 - used, (off_t)used);
		while (used && list->text[used - 1] != '\n')
			used--; /* half a line would give a wrong number */
		list->text[used] = '\0';
	}
}

void hsnap_kernel_deinit(struct hsnap_kernel *kernel)
{
	for (size_t i = 0; i < kernel->lists.num; i++) {
		close(kernel->lists.items[i].file);
		free(kernel->lists.items[i].before);
		free(kernel->lists.items[i].text);
	}
	hsnap_vec_deinit(&kernel->lists);
}

/* "tfd:        7 events:       19 data:     55d0c2a012a0  pos:0 ino:f sdev:9" */
static bool next_epoll(const char **at, uint64_t *id, uint64_t *value)
{
	for (const char *line; (line = strstr(*at, "tfd:"));) {
		*at = line + 4;
		const char *data = line + strcspn(line, "\n");
		const char *found = memmem(line, (size_t)(data - line), "data:", 5);
		if (!found)
			continue;
		*id = strtoull(line + 4, NULL, 10);
		*value = strtoull(found + 5, NULL, 16);
		return true;
	}
	return false;
}

/* "ID: 0", and on the next line "signal: 10/000055d0c2a012a0"; then others, "ClockID: 1" among them. */
static bool next_timer(const char **at, uint64_t *id, uint64_t *value)
{
	while (**at) {
		const char *line = *at;
		*at += strcspn(*at, "\n");
		*at += **at == '\n';
		if (strncmp(line, "ID: ", 4) || strncmp(*at, "signal: ", 8))
			continue;
		const char *slash = strchr(*at, '/');
		if (!slash)
			break;
		*id = strtoull(line + 4, NULL, 10);
		*value = strtoull(slash + 1, NULL, 16);
		return true;
	}
	return false;
}

bool hsnap_kernel_next(enum hsnap_kernel_kind kind, const char **at, uint64_t *id, uint64_t *value)
{
	return kind == HSNAP_KERNEL_EPOLL ? next_epoll(at, id, value) : next_timer(at, id, value);
}
