/* SPDX-License-Identifier: MIT */
/* dicts_own.h - a table whose entries only dicts_own.c knows, as in Redis' dict.h. */
typedef struct dictEntry dictEntry;

typedef struct dict {
	dictEntry **table;
	long used;
} dict;

dict *own_create(void);
