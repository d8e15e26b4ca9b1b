/* SPDX-License-Identifier: MIT */
/* shapes.c - types and variables of C of every kind; prints what is true of them. */
#include "tests/capture/symbols/shapes.h"

#include <stdint.h>

struct entry {
	struct entry *next;
	char key[24];
};

typedef struct {
	int width;
	double height;
} box_t, *box_p;

typedef union {
	long number;
	void *pointer;
	char bytes[12];
} either_t;

struct flexible {
	size_t num;
	struct entry *items[];
};

struct old_flexible {
	int num;
	int items[1];
};

struct zero_flexible {
	int num;
	char text[0];
};

enum colour { RED, GREEN };

struct all {
	_Bool yes;
	char letter;
	uint8_t octet;
	int number;
	unsigned low : 3, high : 9;
	enum colour colour;
	const volatile struct entry *const qualified;
	struct entry **twice;
	int matrix[3][4];
	struct entry inner[2];
	int (*call)(struct all *, int);
	void *anything;
	box_t box;
	box_p boxes;
	either_t either;
	union {
		int left;
		float right;
	};
	struct {
		short x, y;
	} point;
};

static struct entry a_entry;
struct table a_table = { &a_entry, 0, 0, 0 };
struct shared a_shared;
struct all everything;
box_t box;
either_t either;
const struct flexible *flexible;
struct old_flexible old_flexible;
struct zero_flexible *zero_flexible;
static int hidden_number = 7;
_Thread_local struct entry *per_thread;
static _Thread_local int hidden_per_thread;

static int *counter(void)
{
	static int count;
	static _Thread_local struct shared *cache;
	struct only_here {
		struct only_here *link;
		long weight;
	};
	static struct only_here *list;
	count += cache != NULL || list != NULL;
	return &count;
}

int main(void)
{
	SIZE(struct entry, "shapes.c:entry");
	MEMBER(struct entry, "shapes.c:entry", next, "entry *");
	MEMBER(struct entry, "shapes.c:entry", key, "char [24]");
	SIZE(struct all, "all");
	MEMBER(struct all, "all", yes, "_Bool");
	MEMBER(struct all, "all", letter, "char");
	MEMBER(struct all, "all", octet, "unsigned char");
	MEMBER(struct all, "all", number, "int");
	MEMBER(struct all, "all", colour, "colour");
	MEMBER(struct all, "all", qualified, "entry *");
	MEMBER(struct all, "all", twice, "entry * *");
	MEMBER(struct all, "all", matrix, "int [12]");
	MEMBER(struct all, "all", inner, "entry [2]");
	MEMBER(struct all, "all", call, "function *");
	MEMBER(struct all, "all", anything, "void *");
	MEMBER(struct all, "all", box, "box_t");
	MEMBER(struct all, "all", boxes, "box_t *");
	MEMBER(struct all, "all", either, "either_t");
	MEMBER(struct all, "all", point, "{…}");
	SIZE(box_t, "box_t");
	MEMBER(box_t, "box_t", width, "int");
	MEMBER(box_t, "box_t", height, "double");
	SIZE(struct flexible, "flexible");
	MEMBER(struct flexible, "flexible", items, "entry * [0]");
	SIZE(struct old_flexible, "old_flexible");
	MEMBER(struct old_flexible, "old_flexible", items, "int [1]");
	SIZE(struct zero_flexible, "zero_flexible");
	MEMBER(struct zero_flexible, "zero_flexible", text, "char [0]");
	SIZE(struct shared, "shared");
	MEMBER(struct shared, "shared", next, "shared *");
	MEMBER(struct shared, "shared", value, "int");
	other_truth();
	hidden_number += hidden_per_thread + *counter();
	return per_thread != NULL || hidden_number < 7;
}
