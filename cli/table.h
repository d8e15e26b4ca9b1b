/* SPDX-License-Identifier: MIT */
/*
 * table.h - rows of numbers with a name at their end.
 *
 * The columns before the last are numbers (right-aligned) or words
 * (left-aligned); the last is the long one, a name, and may be followed by a
 * word such as "unreachable".
 */
#ifndef HSNAP_CLI_TABLE_H
#define HSNAP_CLI_TABLE_H

#include "cli/emit.h"
#include "snapshot/base/vec.h"

struct hsnap_column {
	const char *head;
	size_t width; /* at least; numbers: with the blanks before them */
	bool left;
};

#define HSNAP_TABLE_COLUMNS 32

struct hsnap_table_row {
	char *cells[HSNAP_TABLE_COLUMNS]; /* of num_columns - 1; NULL is blank */
	char *name;                       /* escaped; may be cut to the terminal */
	char *after;                      /* stays beside the name: "  (87,720 items)"; or NULL */
	const char *word;                 /* "unreachable", or NULL */
};

struct hsnap_table {
	struct hsnap_emit *emit;
	const struct hsnap_column *columns; /* borrowed; the last one is the name's */
	size_t num_columns;
	struct hsnap_vec(struct hsnap_table_row) rows;
	bool failed;
};

void hsnap_table_deinit(struct hsnap_table *table);
/* A new row; NULL (and failed): out of memory.  Valid until the next one. */
struct hsnap_table_row *hsnap_table_add(struct hsnap_table *table);
/* Set a cell to a copy; column num_columns - 1 is the name, which is escaped. */
void hsnap_table_set(struct hsnap_table *table, struct hsnap_table_row *row, size_t column,
		     const char *text);
void hsnap_table_set_after(struct hsnap_table *table, struct hsnap_table_row *row, const char *text);
void hsnap_table_print(const struct hsnap_table *table);

#endif
