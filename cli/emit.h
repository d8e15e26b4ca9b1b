/* SPDX-License-Identifier: MIT */
/*
 * emit.h - the way out: text, JSON and CSV leave a command through here.
 *
 * JSON and CSV are one document: a command describes it once with the calls
 * below.  As CSV only the rows come out (hsnap_emit_begin_rows), their fields in
 * the order of the JSON: a list of numbers is one column an item (name_1,
 * name_2), any other nested value is one cell of JSON.
 */
#ifndef HSNAP_CLI_EMIT_H
#define HSNAP_CLI_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/options.h"
#include "cli/text.h"

enum hsnap_format { HSNAP_AS_TEXT, HSNAP_AS_JSON, HSNAP_AS_CSV };

/* What a screen draws with; the ASCII set where there is no UTF-8. */
struct hsnap_symbols {
	const char *arrow, *weak_arrow, *from, *times, *dash, *more, *delta;
};

#define HSNAP_EMIT_DEPTH 8

struct hsnap_emit {
	const struct hsnap_options *options;
	enum hsnap_format format;
	enum hsnap_charset charset;
	const struct hsnap_symbols *symbols;
	bool color;
	size_t width; /* columns of the terminal; 0: nothing is cut */
	bool header_only; /* CSV: the next row only tells its fields' names */

	struct hsnap_line out;
	struct hsnap_line next; /* a command to go on with, for stderr behind everything else */
	int write_error; /* errno of the first write that failed */
	pid_t pager;
	struct {
		bool array, any, rows;
		struct hsnap_line raw; /* "field": "hex" of strings that were no UTF-8 */
	} level[HSNAP_EMIT_DEPTH];
	unsigned depth;
	unsigned row_depth; /* CSV: level of a row's fields; 0: outside of rows */
	const char *cell_key; /* CSV: field whose nested value is being built */
	struct hsnap_line header, row, cell;
	bool header_done;
};

/* Look at stdout and the environment; starts the pager where one is wanted. */
void hsnap_emit_open(struct hsnap_emit *emit, const struct hsnap_options *options);
/* Write what is left, wait for the pager; returns `status`, or what a failed write makes of it. */
int hsnap_emit_close(struct hsnap_emit *emit, int status);
/* Write what has gathered; a failure is remembered until the close. */
void hsnap_emit_flush(struct hsnap_emit *emit);
/* The command of the line `next: …`, which is for terminals and not for --quiet. */
void hsnap_emit_next(struct hsnap_emit *emit, const char *command);
/* What the user's terminal shows, by LC_ALL, LC_CTYPE or LANG. */
enum hsnap_charset hsnap_locale_charset(void);
/* What close does, for a command that only uses stdio. */
int hsnap_stdout_finish(int status);

void hsnap_emit_begin_object(struct hsnap_emit *emit, const char *key);
void hsnap_emit_end_object(struct hsnap_emit *emit);
void hsnap_emit_begin_array(struct hsnap_emit *emit, const char *key);
void hsnap_emit_end_array(struct hsnap_emit *emit);
/* An array whose objects are CSV's rows. */
void hsnap_emit_begin_rows(struct hsnap_emit *emit, const char *key);

/* In arrays the key is NULL.  Text may be anything; invalid UTF-8 becomes U+FFFD, and the
 * object gets "raw": {key: hex}. */
void hsnap_emit_string(struct hsnap_emit *emit, const char *key, const char *text);
/* The same, but null for "". */
void hsnap_emit_string_or_null(struct hsnap_emit *emit, const char *key, const char *text);
/* "0x7f…"; null for 0. */
void hsnap_emit_address(struct hsnap_emit *emit, const char *key, uint64_t address);
void hsnap_emit_u64(struct hsnap_emit *emit, const char *key, uint64_t number);
void hsnap_emit_i64(struct hsnap_emit *emit, const char *key, int64_t number);
void hsnap_emit_bool(struct hsnap_emit *emit, const char *key, bool value);
void hsnap_emit_null(struct hsnap_emit *emit, const char *key);
void hsnap_emit_numbers(struct hsnap_emit *emit, const char *key, const uint64_t *numbers, size_t num);
/* CSV, and no row came out yet: write one with header_only set. */
bool hsnap_emit_needs_header(const struct hsnap_emit *emit);

/* Text, as it is. */
void hsnap_print(struct hsnap_emit *emit, const char *text);
void hsnap_printf(struct hsnap_emit *emit, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
