/* SPDX-License-Identifier: MIT */
/* emit.c - one document as JSON or as CSV. */
#include "cli/emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_AT 65536

static void flush_if_full(struct hsnap_emit *emit)
{
	if (emit->out.num >= FLUSH_AT)
		hsnap_emit_flush(emit);
}

void hsnap_print(struct hsnap_emit *emit, const char *text)
{
	hsnap_line_add(&emit->out, text);
	flush_if_full(emit);
}

void hsnap_printf(struct hsnap_emit *emit, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		emit->out.failed = true;
		return;
	}
	hsnap_print(emit, text);
	free(text);
}

/* Inside a CSV row, on the level of its fields. */
static bool is_cell(const struct hsnap_emit *emit)
{
	return emit->row_depth && emit->depth == emit->row_depth;
}

/* CSV outside of rows: nothing comes out. */
static bool is_silent(const struct hsnap_emit *emit)
{
	return emit->format == HSNAP_AS_CSV && !emit->row_depth;
}

/* Where JSON goes: the output, or the cell that holds a nested value. */
static struct hsnap_line *json_to(struct hsnap_emit *emit)
{
	return emit->format == HSNAP_AS_CSV ? &emit->cell : &emit->out;
}

static void add_csv_text(struct hsnap_line *to, const char *text)
{
	if (!strpbrk(text, ",\"\r\n") && *text != ' ') {
		hsnap_line_add(to, text);
		return;
	}
	hsnap_line_add(to, "\"");
	for (; *text; text++)
		hsnap_line_add_len(to, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	hsnap_line_add(to, "\"");
}

/* One finished field of a row; index > 0 names one of several columns. */
static void add_cell(struct hsnap_emit *emit, const char *key, size_t index, const char *text)
{
	if (!emit->header_done) {
		if (emit->header.num)
			hsnap_line_add(&emit->header, ",");
		add_csv_text(&emit->header, key);
		if (index)
			hsnap_line_addf(&emit->header, "_%zu", index);
	}
	if (emit->level[emit->depth].any)
		hsnap_line_add(&emit->row, ",");
	emit->level[emit->depth].any = true;
	add_csv_text(&emit->row, text);
}

static void end_row(struct hsnap_emit *emit)
{
	if (!emit->header_done) {
		hsnap_print(emit, hsnap_line_text(&emit->header));
		hsnap_print(emit, "\r\n");
		emit->header_done = true;
	}
	if (!emit->header_only) {
		hsnap_print(emit, hsnap_line_text(&emit->row));
		hsnap_print(emit, "\r\n");
	}
	hsnap_line_clear(&emit->row);
}

bool hsnap_emit_needs_header(const struct hsnap_emit *emit)
{
	return emit->format == HSNAP_AS_CSV && !emit->header_done;
}

static const char *const hex_digits = "0123456789abcdef";

/* The text between quotes; *ret_valid: all of it was UTF-8. */
static void add_json_text(struct hsnap_line *to, const char *text, bool *ret_valid)
{
	*ret_valid = true;
	hsnap_line_add(to, "\"");
	while (*text) {
		uint32_t point = 0;
		size_t len = hsnap_utf8_next(text, &point);
		if (!len) {
			hsnap_line_add(to, "\\ufffd");
			*ret_valid = false;
		} else if (point == '"' || point == '\\') {
			hsnap_line_addf(to, "\\%c", (char)point);
		} else if (hsnap_is_control(point)) { /* no quotation either is to drive a terminal, or to read otherwise than it is */
			hsnap_line_addf(to, "\\u%04x", point);
		} else {
			hsnap_line_add_len(to, text, len);
		}
		text += len ? len : 1;
	}
	hsnap_line_add(to, "\"");
}

/* What stands between the value before and this one, and the key. */
static void begin_value(struct hsnap_emit *emit, const char *key)
{
	struct hsnap_line *to = json_to(emit);
	bool own_line = emit->format == HSNAP_AS_JSON && (emit->depth == 1 || emit->level[emit->depth].rows);
	if (emit->level[emit->depth].any)
		hsnap_line_add(to, own_line ? ",\n " : ", ");
	else if (emit->level[emit->depth].rows && own_line)
		hsnap_line_add(to, "\n ");
	if (emit->level[emit->depth].rows)
		hsnap_line_add(to, " ");
	emit->level[emit->depth].any = true;
	bool valid;
	if (key && !emit->level[emit->depth].array) {
		add_json_text(to, key, &valid);
		hsnap_line_add(to, ": ");
	}
}

/* A scalar that is already JSON; in CSV a cell. */
static void add_scalar(struct hsnap_emit *emit, const char *key, const char *json)
{
	if (is_silent(emit))
		return;
	if (is_cell(emit)) {
		add_cell(emit, key, 0, !strcmp(json, "null") ? "" : json);
		return;
	}
	begin_value(emit, key);
	hsnap_line_add(json_to(emit), json);
	if (emit->format == HSNAP_AS_JSON)
		flush_if_full(emit);
}

static void open_level(struct hsnap_emit *emit, const char *key, bool array)
{
	if (!is_silent(emit)) {
		if (is_cell(emit))
			hsnap_line_clear(&emit->cell);
		if (!is_cell(emit) && emit->depth)
			begin_value(emit, key);
		hsnap_line_add(json_to(emit), array ? "[" : "{");
	}
	emit->depth++;
	emit->level[emit->depth].array = array;
	emit->level[emit->depth].any = emit->level[emit->depth].rows = false;
}

/* "raw" of the object that ends. */
static void add_raw(struct hsnap_emit *emit)
{
	struct hsnap_line *raw = &emit->level[emit->depth].raw;
	if (!raw->num)
		return;
	begin_value(emit, "raw");
	hsnap_line_add(json_to(emit), "{");
	hsnap_line_add(json_to(emit), raw->text);
	hsnap_line_add(json_to(emit), "}");
	hsnap_line_clear(raw);
}

static void close_level(struct hsnap_emit *emit, const char *key)
{
	bool array = emit->level[emit->depth].array;
	if (!is_silent(emit)) {
		add_raw(emit);
		hsnap_line_add(json_to(emit), array ? "]" : "}");
	}
	emit->depth--;
	if (is_cell(emit))
		add_cell(emit, key, 0, hsnap_line_text(&emit->cell));
	if (!emit->depth && emit->format == HSNAP_AS_JSON)
		hsnap_print(emit, "\n");
}

void hsnap_emit_begin_object(struct hsnap_emit *emit, const char *key)
{
	if (emit->format == HSNAP_AS_CSV && emit->level[emit->depth].rows && !emit->row_depth) {
		emit->depth++;
		emit->row_depth = emit->depth;
		emit->level[emit->depth].array = emit->level[emit->depth].any = false;
		emit->level[emit->depth].rows = false;
		return;
	}
	if (is_cell(emit))
		emit->cell_key = key;
	open_level(emit, key, false);
}

void hsnap_emit_end_object(struct hsnap_emit *emit)
{
	if (is_cell(emit)) {
		end_row(emit);
		emit->row_depth = 0;
		emit->depth--;
		return;
	}
	close_level(emit, emit->cell_key);
}

void hsnap_emit_begin_array(struct hsnap_emit *emit, const char *key)
{
	if (is_cell(emit))
		emit->cell_key = key;
	open_level(emit, key, true);
}

void hsnap_emit_end_array(struct hsnap_emit *emit)
{
	close_level(emit, emit->cell_key);
}

void hsnap_emit_begin_rows(struct hsnap_emit *emit, const char *key)
{
	open_level(emit, key, true);
	emit->level[emit->depth].rows = true;
}

/* Remember the bytes of a string that JSON cannot carry. */
static void keep_raw(struct hsnap_emit *emit, const char *key, const char *text)
{
	struct hsnap_line *raw = &emit->level[emit->depth].raw;
	bool valid;
	if (raw->num)
		hsnap_line_add(raw, ", ");
	add_json_text(raw, key ? key : "", &valid);
	hsnap_line_add(raw, ": \"");
	for (; *text; text++) {
		uint8_t byte = (uint8_t)*text;
		hsnap_line_addf(raw, "%c%c", hex_digits[byte >> 4], hex_digits[byte & 15]);
	}
	hsnap_line_add(raw, "\"");
}

void hsnap_emit_string(struct hsnap_emit *emit, const char *key, const char *text)
{
	if (is_silent(emit))
		return;
	struct hsnap_line piece = { 0 };
	if (is_cell(emit)) {
		hsnap_line_add_escaped(&piece, text, HSNAP_TEXT_UTF8);
		add_cell(emit, key, 0, hsnap_line_text(&piece));
	} else {
		bool valid;
		add_json_text(&piece, text, &valid);
		add_scalar(emit, key, hsnap_line_text(&piece));
		if (!valid && !emit->level[emit->depth].array)
			keep_raw(emit, key, text);
	}
	emit->out.failed |= piece.failed;
	hsnap_line_deinit(&piece);
}

void hsnap_emit_string_or_null(struct hsnap_emit *emit, const char *key, const char *text)
{
	if (*text)
		hsnap_emit_string(emit, key, text);
	else
		hsnap_emit_null(emit, key);
}

void hsnap_emit_address(struct hsnap_emit *emit, const char *key, uint64_t address)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	hsnap_emit_string_or_null(emit, key, address ? text : "");
}

void hsnap_emit_u64(struct hsnap_emit *emit, const char *key, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, number);
	add_scalar(emit, key, text);
}

void hsnap_emit_i64(struct hsnap_emit *emit, const char *key, int64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRId64, number);
	add_scalar(emit, key, text);
}

void hsnap_emit_bool(struct hsnap_emit *emit, const char *key, bool value)
{
	add_scalar(emit, key, value ? "true" : "false");
}

void hsnap_emit_null(struct hsnap_emit *emit, const char *key)
{
	add_scalar(emit, key, "null");
}

void hsnap_emit_numbers(struct hsnap_emit *emit, const char *key, const uint64_t *numbers, size_t num)
{
	if (is_cell(emit)) {
		for (size_t i = 0; i < num; i++) {
			char text[24];
			snprintf(text, sizeof(text), "%" PRIu64, numbers[i]);
			add_cell(emit, key, i + 1, text);
		}
		return;
	}
	hsnap_emit_begin_array(emit, key);
	for (size_t i = 0; i < num; i++)
		hsnap_emit_u64(emit, NULL, numbers[i]);
	hsnap_emit_end_array(emit);
}
