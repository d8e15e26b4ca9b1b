/* SPDX-License-Identifier: MIT */
/*
 * naming_mixed.c - naming-mixed BLOCKS: a process with so many blocks, about, that C programs of some age have.
 *
 * Lists and tables of void pointers whose meaning only the code knows, a pool by hand with a list of what is free, texts
 * behind a struct, an intrusive list.  "READY" when all of it is there; it ends with its standard input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKETS 65536
#define ON_A_PAGE 64
#define FREE_EACH 8 /* one of so many in the pool is free again */

struct cell {
	struct cell *next;
	void *value;
};

struct link {
	struct link *next, *previous;
};

struct order {
	struct order *replaced;
	char *note;
	uint64_t number, amount;
};

struct person {
	struct link links; /* of all persons */
	struct cell *orders;
	char *name;
	uint64_t born;
};

struct entry {
	struct entry *next;
	void *value;
	char key[24];
};

/* Objects of a pool. */
struct visit {
	uint64_t when, where, how_long;
	struct person *who;
};

struct pool {
	struct link_of_pages {
		struct link_of_pages *next;
		char *bytes;
	} *pages;
	void *free;
};

static struct entry *table[BUCKETS];
static struct link persons = { &persons, &persons };
static struct pool visits;

static void *get(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		abort();
	return block;
}

static char *make_text(uint64_t number)
{
	char *text = get(40);
	snprintf(text, 40, "the text of number %llu", (unsigned long long)number);
	return text;
}

static void push(struct cell **list, void *value)
{
	struct cell *cell = get(sizeof(*cell));
	*cell = (struct cell){ *list, value };
	*list = cell;
}

static void put(uint64_t number, void *value)
{
	struct entry *entry = get(sizeof(*entry));
	entry->value = value;
	snprintf(entry->key, sizeof(entry->key), "%llu", (unsigned long long)number);
	entry->next = table[number % BUCKETS];
	table[number % BUCKETS] = entry;
}

static void add_page(struct pool *pool)
{
	struct link_of_pages *page = get(sizeof(*page));
	page->bytes = get(ON_A_PAGE * sizeof(struct visit));
	page->next = pool->pages;
	pool->pages = page;
	for (size_t i = 0; i < ON_A_PAGE; i++) {
		void **object = (void **)(page->bytes + i * sizeof(struct visit));
		*object = pool->free;
		pool->free = object;
	}
}

static void note_visit(struct person *who, uint64_t number)
{
	if (!visits.free)
		add_page(&visits);
	struct visit *visit = visits.free;
	visits.free = *(void **)visit;
	*visit = (struct visit){ number, number % 100, 60, who };
	if (number % FREE_EACH == 0) {
		*(void **)visit = visits.free;
		visits.free = visit;
	}
}

/* 12 blocks, and an object in the pool. */
static void add_person(uint64_t number)
{
	struct person *person = get(sizeof(*person));
	person->name = make_text(number);
	person->links = (struct link){ persons.next, &persons };
	persons.next->previous = &person->links;
	persons.next = &person->links;
	struct order *last = NULL;
	for (uint64_t i = 0; i < 3; i++) {
		struct order *order = get(sizeof(*order));
		*order = (struct order){ .replaced = last, .note = make_text(i), .number = i, .amount = number };
		push(&person->orders, order);
		last = order;
	}
	put(number, person);
	note_visit(person, number);
}

/* What the values are the code says here alone. */
static uint64_t add_up(void)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *entry = table[i]; entry; entry = entry->next) {
			struct person *person = entry->value;
			for (struct cell *cell = person->orders; cell; cell = cell->next) {
				struct order *order = cell->value;
				sum += order->amount;
			}
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	for (uint64_t i = 0; i < blocks / 12; i++)
		add_person(i);
	printf("%llu\nREADY\n", (unsigned long long)add_up());
	fflush(stdout);
	char byte;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		add_person(blocks);
	return 0;
}
