/* SPDX-License-Identifier: MIT */
/*
 * sites.c - allocation sites of C, each on a line that says what the result is.
 *
 * want: T        the first result that is not void points to T
 * maybe: T       so, or none where the code does not show it
 * want: void     only void * variables get it
 * returns        the result is the function's own result
 * A result of any other type is an error at every line.
 */
#include "tests/capture/symbols/recorder.h"

#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct node {
	struct node *next;
	int value;
	char pad[40];
};

struct item {
	long a, b;
};

struct list_head {
	struct list_head *next, *prev;
};

struct session {
	struct list_head link;
	char *name;
	int id;
};

struct part {
	struct item *item;
	char *label;
};

struct table {
	int num;
	struct node **buckets;
	struct item *items;
	char *text;
	struct part part;
	struct item *fixed[4];
	struct node *others[4];
	void *anything;
	union {
		struct node *node;
		struct item *item;
	} either;
};

typedef struct {
	int width, height;
} box_t;

struct table table;
struct item *one_item;
struct node *nodes[8];
char *global_text;
struct list_head sessions = { &sessions, &sessions };
static box_t *boxes;

NOINLINE void *xmalloc(size_t size)
{
	void *p = malloc(size); /* want: void returns */
	if (!p)
		abort();
	return p;
}

NOINLINE void *xcalloc(size_t num, size_t size)
{
	return calloc(num, size); /* tail call, or want: void returns */
}

NOINLINE struct node *make_node(int value)
{
	struct node *n = malloc(sizeof(*n)); /* want: node returns */
	if (!n)
		return NULL;
	n->value = value;
	n->next = NULL;
	return n;
}

static inline void link_in(struct list_head *head, struct list_head *link)
{
	link->next = head->next;
	link->prev = head;
	head->next->prev = link;
	head->next = link;
}

NOINLINE int open_session(const char *name)
{
	struct session *s = malloc(sizeof(*s)); /* want: session or: list_head */
	if (!s)
		return -1;
	s->name = malloc(strlen(name) + 1); /* want: char */
	strcpy(s->name, name);
	link_in(&sessions, &s->link);
	return s->id = 7;
}

NOINLINE void fill(struct table *t, int num)
{
	t->buckets = calloc((size_t)num, sizeof(*t->buckets)); /* want: node * */
	t->items = xmalloc((size_t)num * sizeof(struct item));
	t->text = malloc(10); /* want: char */
	t->part.item = malloc(sizeof(struct item)); /* want: item */
	t->part.label = malloc(16); /* want: char */
	t->fixed[num & 3] = malloc(sizeof(struct item)); /* maybe: item */
	t->others[num & 3] = malloc(sizeof(struct node)); /* maybe: node */
	t->fixed[2] = malloc(sizeof(struct item)); /* want: item */
	t->anything = malloc(3); /* want: void */
	t->either.item = malloc(sizeof(struct item)); /* none */
	for (int i = 0; i < num; i++)
		t->buckets[i] = malloc(sizeof(struct node)); /* maybe: node */
}

NOINLINE void fill_globals(int i)
{
	one_item = malloc(sizeof(*one_item)); /* want: item */
	nodes[i] = malloc(sizeof(struct node)); /* want: node */
	nodes[i - 1] = malloc(sizeof(struct node)); /* maybe: node */
	global_text = malloc(7); /* want: char */
	table.part.item = malloc(sizeof(struct item)); /* want: item */
	boxes = calloc(4, sizeof(*boxes)); /* want: box_t */
}

NOINLINE size_t buffers(size_t n)
{
	struct item *it = malloc(sizeof(*it)); /* want: item */
	char *first = malloc(n); /* want: char */
	struct node *node = malloc(sizeof(*node)); /* want: node */
	unsigned char *second = malloc(n); /* want: unsigned char */
	double *numbers = calloc(n, sizeof(*numbers)); /* want: double */
	if (!it || !first || !node || !second || !numbers)
		abort();
	memset(first, 'x', n);
	memset(second, 'y', n);
	it->a = first[n / 2];
	node->value = second[n / 3];
	numbers[n / 2] = 2;
	size_t sum = (size_t)it->a + (size_t)node->value + (size_t)numbers[n / 2];
	free(numbers);
	free(second);
	free(node);
	free(first);
	free(it);
	return sum;
}

NOINLINE int grow(struct table *t)
{
	struct item *more = realloc(t->items, 99 * sizeof(*more)); /* want: item */
	if (!more)
		return -1;
	t->items = more;
	t->text = realloc(t->text, 100); /* want: char */
	return 0;
}

NOINLINE int local_struct(int n)
{
	struct part part;
	part.label = malloc((size_t)n); /* maybe: char */
	part.item = malloc(sizeof(*part.item)); /* maybe: item */
	part.label[0] = (char)n;
	part.item->a = n;
	fill_globals((int)part.item->a);
	n += part.label[0];
	free(part.item);
	free(part.label);
	return n;
}

NOINLINE void take_node(struct node *n)
{
	n->next = nodes[7];
	nodes[7] = n;
}

NOINLINE void hand_over(void)
{
	take_node(malloc(sizeof(struct node))); /* want: node */
}

/* A header before what the caller gets: neither type is the block's but the header's. */
NOINLINE char *with_header(size_t n)
{
	struct item *header = malloc(sizeof(*header) + n); /* want: item */
	header->a = (long)n;
	return (char *)(header + 1);
}

int main(int argc, char **argv)
{
	(void)argv;
	table.num = argc;
	fill(&table, argc + 3);
	int sum = local_struct(argc + 4) + open_session("somebody") + (int)buffers((size_t)argc + 50);
	sum += grow(&table);
	hand_over();
	struct node *n = make_node(sum);
	char *text = with_header(20);
	struct node **more = xcalloc(4, sizeof(*more)); /* maybe: node * */
	*text = 0;
	more[1] = n;
	sum += n->value + *text + boxes->width + more[1]->value;
	return fflush(stdout) || sum == 12345;
}
