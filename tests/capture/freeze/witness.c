/* SPDX-License-Identifier: MIT */
/* witness.c - every page that is there, and the zeros of private ones that are not. */
#include "tests/capture/freeze/witness.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u

void witness_create(struct witness *witness, pid_t pid, size_t max)
{
	*witness = (struct witness){ .pid = pid, .max = max };
	witness->pages = mmap(NULL, max * sizeof(*witness->pages), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq((void *)witness->pages, MAP_FAILED);
}

void witness_destroy(struct witness *witness)
{
	munmap(witness->pages, witness->max * sizeof(*witness->pages));
}

static void add_page(struct witness *witness, uint64_t address, bool there)
{
	if (witness->num == witness->max)
		return;
	struct witness_page *page = &witness->pages[witness->num];
	struct iovec local = { page->bytes, PAGE }, remote = { (void *)(uintptr_t)address, PAGE };
	page->address = address;
	if (!there)
		memset(page->bytes, 0, PAGE);
	else if (process_vm_readv(witness->pid, &local, 1, &remote, 1, 0) != PAGE)
		return;
	witness->num++;
}

void witness_look(void *context)
{
	struct witness *witness = context;
	char path[64], line[4096], access[8], name[4096];
	uint64_t start, end, inode, entry;
	witness->num = 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", witness->pid);
	int pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", witness->pid);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 " %4095s", &start, &end, access, &inode, name) < 4 ||
		    access[0] != 'r' || !strncmp(name, "[v", 2) || end - start > (uint64_t)1 << 32)
			continue;
		if (access[3] == 's') /* others write to it, whom nobody holds */
			continue;
		for (uint64_t at = start; at < end; at += PAGE) {
			if (pread(pagemap, &entry, 8, (off_t)(at / PAGE * 8)) != 8)
				continue;
			bool there = entry >> 62;
			if (there || !inode) /* absent pages of files are not the process's own */
				add_page(witness, at, there);
		}
	}
	if (maps)
		fclose(maps);
	close(pagemap);
}

size_t witness_compare(const struct witness *witness, const struct hsnap_target *target, uint64_t *first)
{
	uint8_t bytes[PAGE];
	size_t wrong = 0;
	for (size_t i = 0; i < witness->num; i++) {
		const struct witness_page *page = &witness->pages[i];
		if (!hsnap_target_read(target, page->address, bytes, PAGE, NULL) && !memcmp(bytes, page->bytes, PAGE))
			continue;
		if (!wrong++)
			*first = page->address;
	}
	return wrong;
}
