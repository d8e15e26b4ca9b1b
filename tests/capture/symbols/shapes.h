/* SPDX-License-Identifier: MIT */
/* shapes.h - a type that two files include, and that means two things: struct entry is each file's own. */
#ifndef HSNAP_TESTS_CAPTURE_SYMBOLS_SHAPES_H
#define HSNAP_TESTS_CAPTURE_SYMBOLS_SHAPES_H

#include <stdio.h>
#include <stddef.h>

struct opaque; /* defined in shapes_other.c alone */
struct never;  /* defined nowhere */

struct table {
	struct entry *first;
	struct opaque *opaque;
	struct never *never;
	unsigned long used;
};

struct shared { /* the same in both files */
	struct shared *next;
	int value;
};

#define SIZE(type, name) printf("size %s %zu\n", name, sizeof(type))
#define MEMBER(type, name, member, text) \
	printf("member %s %s %zu %s\n", name, #member, offsetof(type, member), text)

void other_truth(void);

#endif
