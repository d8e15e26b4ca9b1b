/* SPDX-License-Identifier: MIT */
/* dicts_own.c - what an entry of dicts_own.h is. */
#include "dicts_own.h"

#include <stdlib.h>

struct dictEntry {
	void *key;
	union {
		void *val;
		long number;
	} v;
	struct dictEntry *next;
};

dict *own_create(void)
{
	dict *d = malloc(sizeof(*d));
	d->table = calloc(4, sizeof(*d->table));
	d->table[0] = malloc(sizeof(dictEntry));
	return d;
}
