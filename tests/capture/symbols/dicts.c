/* SPDX-License-Identifier: MIT */
/*
 * dicts.c - names that mean several things: a dictEntry that is only declared here, once with the
 * header that tells which one it is, and once (dicts_lost.c) with nothing that does.
 */
#include "dicts_own.h"

dict *own_dict;
dictEntry *own_entry;

/* dicts_library.c has a list too, which is none of ours. */
typedef struct list list;
list *own_list;

void client_create(void);
void *lost(void);

int main(void)
{
	own_dict = own_create();
	own_entry = own_dict->table[0];
	client_create();
	return lost() != 0;
}
