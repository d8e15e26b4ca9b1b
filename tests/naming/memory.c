/* SPDX-License-Identifier: MIT */
/* memory.c - a process's memory through a small cache. */
#include "tests/naming/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 4096u /* a power of two */

static int memory = -1;
static struct page {
	uint64_t address; /* 0: nothing */
	bool readable;
	uint8_t bytes[PAGE];
} pages[PAGES];

bool memory_open(int pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		perror(path);
	return memory >= 0;
}

static const struct page *page_of(uint64_t address)
{
	address -= address % PAGE;
	struct page *page = &pages[address / PAGE % PAGES];
	if (page->address != address || !address) {
		page->address = address;
		page->readable = address && pread(memory, page->bytes, PAGE, (off_t)address) == (ssize_t)PAGE;
	}
	return page;
}

bool memory_read(uint64_t address, void *to, size_t size)
{
	uint8_t *at = to;
	while (size) {
		const struct page *page = page_of(address);
		size_t piece = PAGE - address % PAGE;
		if (piece > size)
			piece = size;
		if (!page->readable)
			return false;
		memcpy(at, page->bytes + address % PAGE, piece);
		at += piece;
		address += piece;
		size -= piece;
	}
	return true;
}

uint64_t memory_word(uint64_t address)
{
	uint64_t word;
	return memory_read(address, &word, sizeof(word)) ? word : 0;
}

uint32_t memory_u32(uint64_t address)
{
	uint32_t word;
	return memory_read(address, &word, sizeof(word)) ? word : 0;
}

uint8_t memory_u8(uint64_t address)
{
	uint8_t byte;
	return memory_read(address, &byte, sizeof(byte)) ? byte : 0;
}

void memory_text(uint64_t address, char *text, size_t size)
{
	size_t used = 0;
	while (used + 1 < size && memory_read(address + used, text + used, 1) && text[used])
		used++;
	text[used] = '\0';
}
