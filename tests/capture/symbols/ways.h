/* SPDX-License-Identifier: MIT */
/* ways.h - what ways.c and ways_other.c share. */
#include <stddef.h>

struct ways_item {
	struct ways_item *next;
	char name[20];
	int number;
};

struct ways_box {
	struct ways_item *items[4];
	unsigned flags : 3, rest : 13;
	double weight;
	int (*compare)(const struct ways_item *, const struct ways_item *);
};

typedef struct {
	short width;
	void *data;
} ways_wrapped;

struct ways_hidden;
struct ways_item *ways_find(struct ways_box *box, int number);
struct ways_hidden *ways_hide(struct ways_item *item);
void *ways_give(size_t size);
