/* SPDX-License-Identifier: MIT */
/* shapes_other.c - another struct entry, and the definition of what shapes.c only declares. */
#include "tests/capture/symbols/shapes.h"

struct entry {
	long id;
	struct opaque *owner;
	double scores[4];
};

struct opaque {
	struct entry *entries;
	int num;
};

struct entry b_entry;
struct table b_table = { &b_entry, 0, 0, 0 };
struct shared b_shared;

void other_truth(void)
{
	SIZE(struct entry, "shapes_other.c:entry");
	MEMBER(struct entry, "shapes_other.c:entry", owner, "opaque *");
	MEMBER(struct entry, "shapes_other.c:entry", scores, "double [4]");
	SIZE(struct opaque, "opaque");
	MEMBER(struct opaque, "opaque", entries, "entry *");
}
