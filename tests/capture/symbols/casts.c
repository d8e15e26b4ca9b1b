/* SPDX-License-Identifier: MIT */
/*
 * casts.c - handles that are never defined, void members and those who know better, for test_casts.c.
 *
 * Nothing of it is ever run: it is the code that is read.
 */
#include <stddef.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

/* --- an opaque handle, whose own struct has another name --- */

typedef struct session session; /* never defined */

struct header {
	long magic;
};

struct session_data {
	struct header head; /* a pointer to it is no contradiction */
	char *user;
	long uses;
};

APART session *session_open(char *user)
{
	struct session_data *data = calloc(1, sizeof(*data));
	data->user = user;
	return (session *)data;
}

APART long session_use(session *handle, long by)
{
	struct session_data *data = (struct session_data *)handle;
	data->uses += by;
	return data->uses;
}

APART char *session_user(session *handle)
{
	struct session_data *data = (struct session_data *)handle;
	return data->uses > 1 ? data->user : NULL;
}

APART long session_magic(session *handle)
{
	struct header *head = (struct header *)handle;
	head->magic++;
	return head->magic;
}

APART void session_close(session *handle)
{
	struct session_data *data = (struct session_data *)handle;
	free(data->user);
	free(data);
}

/* --- the trap: a handle that is one of two things --- */

typedef struct shape shape; /* never defined */

struct circle {
	long kind;
	double radius;
};

struct polygon {
	long kind, corners;
	double *points;
};

APART double circle_radius(shape *handle)
{
	struct circle *circle = (struct circle *)handle;
	circle->kind++;
	return circle->radius;
}

APART long polygon_corners(shape *handle)
{
	struct polygon *polygon = (struct polygon *)handle;
	polygon->kind++;
	return polygon->corners;
}

/* --- a generic container --- */

struct node {
	struct node *next;
	long unused; /* else both others are stored at once, as a vector, of which nothing is known */
	void *value;
};

struct table {
	struct node *first;
	session *owner;
	long count;
};

struct order {
	long id, lines;
};

struct invoice {
	long id;
	char *text;
};

struct gauge {
	long value, limit;
};

struct stranger {
	struct stranger *other;
	long n;
};

struct freed {
	struct freed *next;
};

static struct freed *freed_blocks;

APART void *node_value(struct node *node)
{
	return node->value;
}

APART void table_put(struct table *table, void *value)
{
	struct node *node = malloc(sizeof(*node));
	node->next = table->first;
	node->value = value;
	table->first = node;
	table->count++;
}

/* Is handed everything. */
APART void discard(void *block)
{
	struct freed *freed = block;
	freed->next = freed_blocks;
	freed_blocks = freed;
}

/* By the getter. */
APART long order_lines(struct table *table)
{
	struct order *order = node_value(table->first);
	order->id++;
	return order->lines;
}

/* By the setter. */
APART void add_invoice(struct table *table, long id)
{
	struct invoice *invoice = calloc(1, sizeof(*invoice));
	invoice->id = id;
	table_put(table, invoice);
}

/* At once. */
APART long gauge_left(struct table *table)
{
	struct gauge *gauge = table->first->next->value;
	gauge->value++;
	return gauge->limit - gauge->value;
}

APART void discard_first(struct table *table)
{
	struct node *first = table->first;
	table->first = first->next;
	discard(first->value);
}

APART void discard_stranger(struct stranger *stranger)
{
	stranger->other->n++;
	discard(stranger);
}

/* --- a pointer among a union's arms; a local void pointer on the way --- */

struct cell {
	struct cell *next;
	union {
		void *pointer;
		long number;
		double real;
	} v;
};

struct sample {
	long at;
	char *label;
};

APART long use_void(void *value, long by)
{
	struct sample *sample = value;
	sample->at += by;
	return sample->at;
}

APART long sample_at(struct cell *cell, long by)
{
	return use_void(cell->v.pointer, by);
}

/* --- text, whose pointer leads behind a byte of its own --- */

struct word {
	struct word *next;
	long unused;
	void *text;
};

APART long word_first(struct word *word)
{
	char *text = word->text;
	text[-1]++;
	return text[0];
}

/* --- nothing is known of it: it only ever goes to the library --- */

struct box {
	long size;
	void *bytes;
};

APART void box_empty(struct box *box)
{
	free(box->bytes);
	box->bytes = NULL;
	box->size = 0;
}

int main(int argc, char **argv)
{
	struct table table = { 0 };
	struct box box = { 0 };
	session *handle = session_open(argv[0]);
	table.owner = handle;
	if (argc > 100) {
		struct stranger stranger = { .other = &stranger };
		struct cell cell = { 0 };
		struct word word = { .text = argv[0] };
		add_invoice(&table, session_use(handle, argc));
		discard_first(&table);
		discard_stranger(&stranger);
		box_empty(&box);
		return (int)(order_lines(&table) + gauge_left(&table) + sample_at(&cell, argc) + session_magic(handle) + word_first(&word)) +
		       (int)(circle_radius((shape *)argv) + polygon_corners((shape *)argv)) + (session_user(handle) != NULL);
	}
	session_close(handle);
	return 0;
}
