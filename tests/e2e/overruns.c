/* SPDX-License-Identifier: MIT */
/*
 * overruns.c BY BYTE GAP - a chain of blocks of every size, of which some are written past their end.
 *
 * Of each size one is written past (BYTE -1: each byte to its opposite).  Each block is held by the one before, the first by a
 * static; GAP whole ones are between two of those.  Says how many blocks there are, and how many were changed beyond what
 * they may use; then waits for its stdin to end.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct link {
	char before[24]; /* what is written over may reach so far into the next one */
	struct link *next;
	char text[];
};
static struct link *first, *last;
static unsigned long num;

static struct link *add(size_t size)
{
	struct link *link = malloc(size);
	if (!link)
		abort();
	memset(link, 0x11, size);
	link->next = NULL;
	if (last)
		last->next = link;
	else
		first = link;
	last = link;
	num++;
	return link;
}

/* Not by what the compiler knows of it.  Was anything changed beyond what may be used? */
static int write_past(struct link *link, size_t size, size_t by, int byte)
{
	volatile char *end = (volatile char *)link + size;
	size_t slack = malloc_usable_size(link) - size;
	int changed = 0;
	for (size_t i = 0; i < by; i++) {
		char to = (char)(byte < 0 ? ~end[i] : byte);
		changed |= i >= slack && end[i] != to;
		end[i] = to;
	}
	return changed;
}

int main(int argc, char **argv)
{
	enum { MOST = 1400 };
	static struct link *hit[MOST];
	unsigned long damaged = 0;
	if (argc != 4)
		return 2;
	size_t by = strtoul(argv[1], NULL, 10);
	int byte = atoi(argv[2]), gap = atoi(argv[3]);
	for (size_t size = sizeof(struct link); size < MOST; size++) {
		hit[size] = add(size);
		for (int i = 0; i < gap; i++)
			add(32 + size % 500);
	}
	for (size_t size = sizeof(struct link); size < MOST; size++)
		damaged += (unsigned long)write_past(hit[size], size, by, byte);
	char text[128];
	int n = snprintf(text, sizeof(text), "%lu %lu\n", num, damaged);
	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		return 1;
	return read(STDIN_FILENO, text, 1) != 0;
}
