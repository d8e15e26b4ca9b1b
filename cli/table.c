/* SPDX-License-Identifier: MIT */
/* table.c - widths, alignment, and the name cut to the terminal. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_NAME 24 /* a name is not cut below this */
#define WORD_COLUMN 77 /* where the word at the end stands if there is room */
#define BOLD "\033[1m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

void hsnap_table_deinit(struct hsnap_table *table)
{
	for (size_t i = 0; i < table->rows.num; i++) {
		for (size_t c = 0; c < HSNAP_TABLE_COLUMNS; c++)
			free(table->rows.items[i].cells[c]);
		free(table->rows.items[i].name);
		free(table->rows.items[i].after);
	}
	hsnap_vec_deinit(&table->rows);
}

struct hsnap_table_row *hsnap_table_add(struct hsnap_table *table)
{
	if (!hsnap_vec_push(&table->rows, (struct hsnap_table_row){ 0 })) {
		table->failed = true;
		return NULL;
	}
	return &table->rows.items[table->rows.num - 1];
}

void hsnap_table_set(struct hsnap_table *table, struct hsnap_table_row *row, size_t column,
		     const char *text)
{
	if (!row)
		return;
	char **cell = &row->cells[column];
	struct hsnap_line escaped = { 0 };
	if (column == table->num_columns - 1) {
		cell = &row->name;
		hsnap_line_add_escaped(&escaped, text, table->emit->charset);
	} else {
		hsnap_line_add(&escaped, text);
	}
	free(*cell);
	*cell = escaped.text; /* NULL for "" */
	table->failed |= escaped.failed;
}

void hsnap_table_set_after(struct hsnap_table *table, struct hsnap_table_row *row, const char *text)
{
	if (!row)
		return;
	free(row->after);
	row->after = strdup(text);
	table->failed |= !row->after;
}

static size_t columns_of(const char *text)
{
	return text ? hsnap_columns(text) : 0;
}

/* Width of each column but the last, the blanks between included. */
static void measure(const struct hsnap_table *table, size_t *widths)
{
	for (size_t c = 0; c + 1 < table->num_columns; c++) {
		const struct hsnap_column *column = &table->columns[c];
		size_t widest = hsnap_columns(column->head);
		for (size_t i = 0; i < table->rows.num; i++) {
			size_t have = columns_of(table->rows.items[i].cells[c]);
			widest = have > widest ? have : widest;
		}
		size_t between = column->left ? 3 : c ? 2 : 1;
		widths[c] = widest + between > column->width ? widest + between : column->width;
	}
}

static void add_cell(struct hsnap_line *line, const char *text, size_t width, bool left)
{
	size_t have = columns_of(text), start = line->num;
	if (!left)
		hsnap_line_pad(line, start, have < width ? width - have : 0);
	if (text)
		hsnap_line_add(line, text);
	hsnap_line_pad(line, start, width);
}

/* The number columns, then three blanks; the left ones bring their own. */
static void add_cells(const struct hsnap_table *table, const size_t *widths, char *const *cells,
		      struct hsnap_line *line)
{
	bool was_left = false;
	for (size_t c = 0; c + 1 < table->num_columns; c++) {
		bool left = table->columns[c].left;
		if (left && !was_left)
			hsnap_line_add(line, "   ");
		add_cell(line, cells ? cells[c] : table->columns[c].head, widths[c], left);
		was_left = left;
	}
	if (!was_left)
		hsnap_line_add(line, "   ");
}

static void end_line(struct hsnap_line *line)
{
	while (line->num && line->text[line->num - 1] == ' ')
		line->text[--line->num] = '\0';
	hsnap_line_add(line, "\n");
}

/* Columns that the widest name with a word behind it takes. */
static size_t widest_with_word(const struct hsnap_table *table)
{
	size_t widest = 0;
	for (size_t i = 0; i < table->rows.num; i++) {
		const struct hsnap_table_row *row = &table->rows.items[i];
		size_t have = columns_of(row->name) + columns_of(row->after);
		if (row->word && have > widest)
			widest = have;
	}
	return widest;
}

struct layout {
	size_t widths[HSNAP_TABLE_COLUMNS];
	size_t before;   /* columns before the name */
	size_t word_at;  /* column of the word, from the name's start */
	size_t longest;  /* columns that a row may have; 0: any */
};

static void lay_out(const struct hsnap_table *table, struct layout *layout)
{
	struct hsnap_line head = { 0 };
	measure(table, layout->widths);
	add_cells(table, layout->widths, NULL, &head);
	layout->before = columns_of(head.text);
	layout->longest = table->emit->width;
	hsnap_line_deinit(&head);
	size_t widest = widest_with_word(table) + 5;
	size_t usual = layout->before < WORD_COLUMN ? WORD_COLUMN - layout->before : 0;
	layout->word_at = layout->longest ? 0 : usual > widest ? usual : widest;
}

static void add_name(const struct hsnap_table *table, const struct layout *layout,
		     const struct hsnap_table_row *row, struct hsnap_line *line)
{
	size_t start = line->num;
	size_t others = layout->before + columns_of(row->after) + (row->word ? 2 + strlen(row->word) : 0);
	size_t room = !layout->longest                            ? SIZE_MAX
		      : layout->longest >= others + LEAST_NAME ? layout->longest - others
								: LEAST_NAME;
	hsnap_line_add_cut(line, row->name ? row->name : "", room, table->emit->symbols->more);
	if (row->after)
		hsnap_line_add(line, row->after);
	if (!row->word)
		return;
	hsnap_line_add(line, "  ");
	hsnap_line_pad(line, start, layout->word_at);
	if (table->emit->color)
		hsnap_line_add(line, YELLOW);
	hsnap_line_add(line, row->word);
	if (table->emit->color)
		hsnap_line_add(line, PLAIN);
}

void hsnap_table_print(const struct hsnap_table *table)
{
	struct layout layout = { 0 };
	struct hsnap_line line = { 0 };
	lay_out(table, &layout);
	if (table->emit->color)
		hsnap_line_add(&line, BOLD);
	add_cells(table, layout.widths, NULL, &line);
	hsnap_line_add(&line, table->columns[table->num_columns - 1].head);
	if (table->emit->color)
		hsnap_line_add(&line, PLAIN);
	end_line(&line);
	hsnap_print(table->emit, line.text ? line.text : "");
	for (size_t i = 0; i < table->rows.num; i++) {
		hsnap_line_clear(&line);
		add_cells(table, layout.widths, table->rows.items[i].cells, &line);
		add_name(table, &layout, &table->rows.items[i], &line);
		end_line(&line);
		hsnap_print(table->emit, line.text ? line.text : "");
	}
	table->emit->out.failed |= line.failed || table->failed;
	hsnap_line_deinit(&line);
}
