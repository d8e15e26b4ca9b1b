/* SPDX-License-Identifier: MIT */
/* ways.c - one of each thing that debug info tells, to be built in every way that there is (ways.sh). */
#include "tests/capture/symbols/ways.h"

#include <stdlib.h>
#include <string.h>

union ways_either {
	long number;
	struct ways_item *item;
	char bytes[16];
};

struct ways_flexible {
	size_t num;
	struct ways_item *more[];
};

enum ways_colour { WAYS_RED, WAYS_BLUE };

struct ways_all {
	struct ways_box box;
	union ways_either either;
	enum ways_colour colour;
	const ways_wrapped *wrapped;
	struct {
		int x, y;
	} point;
	struct ways_item **list;
	struct ways_flexible *flexible;
	struct ways_hidden *hidden;
	unsigned char matrix[2][3];
};

struct ways_all ways_all;
static struct ways_box *ways_boxes;
_Thread_local struct ways_item *ways_per_thread;
static _Thread_local int ways_count_per_thread;

void *ways_give(size_t size)
{
	static size_t given;
	given += size;
	return malloc(size);
}

static int compare(const struct ways_item *a, const struct ways_item *b)
{
	return a->number - b->number;
}

struct ways_item *ways_find(struct ways_box *box, int number)
{
	static struct ways_item *found;
	struct ways_counter {
		struct ways_item *where;
		int times;
	};
	static struct ways_counter *counter;
	for (int i = 0; i < 4; i++)
		for (struct ways_item *item = box->items[i]; item; item = item->next)
			if (item->number == number)
				found = item;
	if (!counter)
		counter = calloc(1, sizeof(*counter));
	counter->where = found;
	counter->times++;
	return found;
}

int main(int argc, char **argv)
{
	struct ways_box *box = calloc(1, sizeof(*box));
	ways_boxes = box;
	box->compare = compare;
	for (int i = 0; i < argc + 3; i++) {
		struct ways_item *item = ways_give(sizeof(*item));
		strncpy(item->name, argv[0], sizeof(item->name) - 1);
		item->number = i;
		item->next = box->items[i % 4];
		box->items[i % 4] = item;
	}
	ways_per_thread = ways_find(box, 2);
	ways_wrapped *wrapped = malloc(sizeof(*wrapped));
	wrapped->data = ways_per_thread;
	ways_all.wrapped = wrapped;
	ways_all.hidden = ways_hide(ways_per_thread);
	ways_count_per_thread += (int)ways_all.box.weight;
	return ways_boxes->compare(ways_per_thread, box->items[0]) + ways_count_per_thread < -9;
}
