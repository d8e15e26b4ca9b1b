/* SPDX-License-Identifier: MIT */
/* ways_other.c - what ways.c knows only by name. */
#include "tests/capture/symbols/ways.h"

struct ways_hidden {
	struct ways_item *item;
	struct ways_hidden *link;
	long secret[3];
};

static struct ways_hidden *last_hidden;

struct ways_hidden *ways_hide(struct ways_item *item)
{
	struct ways_hidden *hidden = ways_give(sizeof(*hidden));
	hidden->item = item;
	hidden->link = last_hidden;
	last_hidden = hidden;
	return hidden;
}
