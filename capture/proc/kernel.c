/* SPDX-License-Identifier: MIT */
/* kernel.c - /proc/PID/fdinfo of epoll descriptors, /proc/PID/timers, status and pagemap. */
#include "capture/proc/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

#define MIN_SWAPPED ((size_t)4096)     /* ranges: 64 KiB … */
#define MAX_SWAPPED ((size_t)1 << 20)  /* … to 16 MiB */
#define LAST_ADDRESS (((uint64_t)1 << 47) - 4096)
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

static void destroy_memory(struct hsnap_kernel_memory *memory)
{
	if (!memory)
		return;
	hsnap_closefdp(&memory->status);
	hsnap_closefdp(&memory->pagemap);
	free(memory->text);
	free(memory->swapped);
	free(memory);
}

/* What the mappings tell: where the kernel's own object is, and which pages are swapped by now. */
static void look_at_maps(struct hsnap_kernel_memory *memory, const struct hsnap_proc *proc, pid_t pid)
{
	hsnap_auto(hsnap_freep) char *maps = hsnap_proc_read(proc, "proc/%d/maps", pid);
	const char *at = maps ? maps : "";
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
		if (hsnap_maps_is(&line, "[vdso]")) {
			memory->vdso_start = line.start;
			memory->vdso_end = line.end;
		}
		if (memory->max_swapped)
			(void)hsnap_pagemap_swapped(memory->pagemap, line.start, line.end, memory->swapped,
						    memory->max_swapped, &memory->num_swapped);
	}
}

/* Room for as many ranges as there are swapped pages, within reason. */
static bool make_room_for_swapped(struct hsnap_kernel_memory *memory, const char *status)
{
	uint64_t swap = 0;
	if (!hsnap_proc_field(status, "VmSwap", 10, &swap) || !swap)
		return true;
	memory->max_swapped = swap / 4 < MAX_SWAPPED ? swap / 4 + MIN_SWAPPED : MAX_SWAPPED;
	memory->swapped = malloc(memory->max_swapped * sizeof(*memory->swapped));
	if (memory->swapped)
		memset(memory->swapped, 0, memory->max_swapped * sizeof(*memory->swapped));
	return memory->swapped;
}

/* Descriptors are opened before: they stay those of this very process. */
static bool prepare_memory(struct hsnap_kernel *kernel, const struct hsnap_proc *proc, pid_t pid)
{
	struct hsnap_kernel_memory *memory = malloc(sizeof(*memory));
	if (!memory)
		return false;
	memset(memory, 0, sizeof(*memory)); /* faulted in before the stop */
	memory->status = hsnap_proc_open(proc, O_RDONLY, "proc/%d/status", pid);
	memory->pagemap = hsnap_proc_open(proc, O_RDONLY, "proc/%d/pagemap", pid);
	size_t len = 0;
	hsnap_auto(hsnap_freep) char *before = memory->status < 0 ? NULL : hsnap_proc_read_fd(memory->status, &len);
	if (!before) { /* gone: the stop will tell */
		destroy_memory(memory);
		return true;
	}
	memory->room = len + 1024 < MAX_IN_STOP ? len + 1024 : MAX_IN_STOP;
	memory->text = malloc(memory->room);
	if (!memory->text || !make_room_for_swapped(memory, before)) {
		destroy_memory(memory);
		return false;
	}
	memset(memory->text, 0, memory->room);
	look_at_maps(memory, proc, pid);
	kernel->memory = memory;
	return true;
}

static void read_memory(struct hsnap_kernel_memory *memory)
{
	ssize_t n = pread(memory->status, memory->text, memory->room - 1, 0);
	memory->text[n > 0 ? n : 0] = '\0';
	uint64_t swap = 0;
	memory->vdso_present = hsnap_pagemap_bits(memory->pagemap, memory->vdso_start, memory->vdso_end);
	if (!hsnap_proc_field(memory->text, "VmSwap", 10, &swap) || !swap) {
		memory->num_swapped = 0;
		return;
	}
	/* Those that find no place stay in the sum and make what is unexplained negative.  Where the
	 * kernel cannot tell so fast, what was seen before has to do. */
	if (hsnap_pagemap_scans(memory->pagemap)) {
		memory->num_swapped = 0;
		(void)hsnap_pagemap_swapped(memory->pagemap, 0, LAST_ADDRESS, memory->swapped, memory->max_swapped,
					    &memory->num_swapped);
	}
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
	return good && prepare_memory(kernel, proc, pid);
}

void hsnap_kernel_read(struct hsnap_kernel *kernel)
{
	if (kernel->memory)
		read_memory(kernel->memory);
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
	destroy_memory(kernel->memory);
	kernel->memory = NULL;
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
