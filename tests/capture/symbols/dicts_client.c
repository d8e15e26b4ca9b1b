/* SPDX-License-Identifier: MIT */
/* dicts_client.c - the same names and sizes for other things, as in hiredis' dict.h. */
#include <stdlib.h>

typedef struct dictEntry {
	void *key;
	void *val;
	struct dictEntry *next;
} dictEntry;

typedef struct dict {
	dictEntry **table;
	unsigned long size;
} dict;

dict *client_dict;

void client_create(void)
{
	client_dict = malloc(sizeof(*client_dict));
	client_dict->table = calloc(4, sizeof(*client_dict->table));
	client_dict->table[0] = malloc(sizeof(dictEntry));
}
