/* SPDX-License-Identifier: MIT */
/*
 * places.c - frames and variables at a PC; prints what is true of them, for the call that prints:
 *
 *	pc OFFSET
 *	frame FUNCTION FILE:LINE      innermost first
 *	local NAME TYPE OFFSET        from the canonical frame address
 */
#include "tests/capture/symbols/recorder.h"

#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

struct point {
	int x, y;
};

struct node {
	struct node *next;
	struct point at;
};

enum { INNER = __LINE__ + 4, MIDDLE = INNER + 5, OUTER = MIDDLE + 12 };

INLINE int inner(int x)
{
	return (int)(size_t)record_malloc((size_t)x) * 2;
}

INLINE int middle(int x)
{
	return inner(x + 1) + 1;
}

void print_local(const char *name, const char *type, const void *address, const void *frame);
void use(void *p, struct point *q, int n);

NOINLINE int outer(struct node *list, int n)
{
	struct point here = { n, 2 };
	struct node *found = list->next;
	int sum = 0;
	use(found, &here, n);
	sum += middle(n);
	printf("frame inner places.c:%d\nframe middle places.c:%d\nframe outer places.c:%d\n", INNER, MIDDLE, OUTER);
#ifndef __OPTIMIZE__
	const char *cfa = (const char *)__builtin_frame_address(0) + 16;
	print_local("here", "point", &here, cfa);
	print_local("found", "node *", &found, cfa);
	print_local("list", "node *", &list, cfa);
	print_local("n", "int", &n, cfa);
	print_local("sum", "int", &sum, cfa);
#endif
	use(found, &here, sum);
	return sum + here.x + found->at.y;
}

NOINLINE void print_local(const char *name, const char *type, const void *address, const void *frame)
{
	printf("local %s %ld %s\n", name, (long)((const char *)address - (const char *)frame), type);
}

NOINLINE void use(void *p, struct point *q, int n)
{
	__asm__ volatile("" : : "r"(p), "r"(q), "r"(n) : "memory");
}

int main(int argc, char **argv)
{
	struct node last = { 0, { argc, 1 } }, first = { &last, { 2, 3 } };
	(void)argv;
	int sum = outer(&first, argc);
	return fflush(stdout) || sum == 12345;
}
