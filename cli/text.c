/* SPDX-License-Identifier: MIT */
/* text.c - growing text, escapes, numbers and widths. */
#include "cli/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void hsnap_line_deinit(struct hsnap_line *buffer)
{
	free(buffer->text);
	*buffer = (struct hsnap_line){ 0 };
}

void hsnap_line_clear(struct hsnap_line *buffer)
{
	buffer->num = 0;
	if (buffer->text)
		buffer->text[0] = '\0';
}

const char *hsnap_line_text(const struct hsnap_line *buffer)
{
	return buffer->text ? buffer->text : "";
}

void hsnap_line_add_len(struct hsnap_line *buffer, const char *text, size_t len)
{
	if (buffer->failed)
		return;
	if (len >= buffer->capacity - buffer->num) {
		size_t capacity = (buffer->capacity + len) * 2 + 64;
		char *grown = realloc(buffer->text, capacity);
		if (!grown) {
			buffer->failed = true;
			return;
		}
		buffer->text = grown;
		buffer->capacity = capacity;
	}
	memcpy(buffer->text + buffer->num, text, len);
	buffer->num += len;
	buffer->text[buffer->num] = '\0';
}

void hsnap_line_add(struct hsnap_line *buffer, const char *text)
{
	hsnap_line_add_len(buffer, text, strlen(text));
}

void hsnap_line_addf(struct hsnap_line *buffer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	hsnap_line_addv(buffer, format, args);
	va_end(args);
}

void hsnap_line_addv(struct hsnap_line *buffer, const char *format, va_list args)
{
	char *text = NULL;
	int len = vasprintf(&text, format, args);
	if (len < 0) {
		buffer->failed = true;
		return;
	}
	hsnap_line_add_len(buffer, text, (size_t)len);
	free(text);
}

void hsnap_line_pad(struct hsnap_line *buffer, size_t start, size_t width)
{
	if (start > buffer->num)
		return;
	size_t have = buffer->text ? hsnap_columns(buffer->text + start) : 0;
	for (; have < width; have++)
		hsnap_line_add_len(buffer, " ", 1);
}

size_t hsnap_utf8_next(const char *text, uint32_t *ret_point)
{
	const uint8_t *at = (const uint8_t *)text;
	if (at[0] < 0x80) {
		*ret_point = at[0];
		return 1;
	}
	size_t len = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	uint32_t point = at[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return len;
}

bool hsnap_is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x061c ||
	       (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

void hsnap_line_add_escaped(struct hsnap_line *buffer, const char *text,
			      enum hsnap_charset charset)
{
	while (*text) {
		uint32_t point = 0;
		size_t len = hsnap_utf8_next(text, &point);
		bool plain = len && !hsnap_is_control(point) && (charset == HSNAP_TEXT_UTF8 || point < 0x80);
		if (!len)
			len = 1;
		if (plain)
			hsnap_line_add_len(buffer, text, len);
		else
			for (size_t i = 0; i < len; i++)
				hsnap_line_addf(buffer, "\\x%02X", (uint8_t)text[i]);
		text += len;
	}
}

void hsnap_line_add_quoted(struct hsnap_line *buffer, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+=,";
	if (*word && *word != '-' && strspn(word, safe) == strlen(word)) {
		hsnap_line_add(buffer, word);
		return;
	}
	hsnap_line_add(buffer, "'");
	for (; *word; word++)
		if (*word == '\'')
			hsnap_line_add(buffer, "'\\''");
		else
			hsnap_line_add_len(buffer, word, 1);
	hsnap_line_add(buffer, "'");
}

/* 0 for combining marks, 2 for the East Asian wide blocks, else 1: near enough for names. */
static size_t point_columns(uint32_t point)
{
	if ((point >= 0x300 && point <= 0x36f) || (point >= 0x20d0 && point <= 0x20ff) ||
	    (point >= 0xfe00 && point <= 0xfe0f))
		return 0;
	if ((point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
	    (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
	    (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xff60) ||
	    (point >= 0x1f300 && point <= 0x1faff) || (point >= 0x20000 && point <= 0x3fffd))
		return 2;
	return 1;
}

size_t hsnap_columns(const char *text)
{
	size_t columns = 0;
	while (*text) {
		uint32_t point = ' ';
		size_t len = hsnap_utf8_next(text, &point);
		columns += point_columns(point);
		text += len ? len : 1;
	}
	return columns;
}

/* Bytes at the start of the text that take at least `width` columns. */
static size_t skip_columns(const char *text, size_t width)
{
	size_t at = 0, columns = 0;
	while (text[at] && columns < width) {
		uint32_t point = ' ';
		size_t len = hsnap_utf8_next(text + at, &point);
		columns += point_columns(point);
		at += len ? len : 1;
	}
	return at;
}

/* Bytes at the start of the text that take at most `width` columns. */
static size_t head_bytes(const char *text, size_t width)
{
	size_t at = 0, columns = 0;
	while (text[at]) {
		uint32_t point = ' ';
		size_t len = hsnap_utf8_next(text + at, &point);
		columns += point_columns(point);
		if (columns > width)
			break;
		at += len ? len : 1;
	}
	return at;
}

void hsnap_line_add_cut(struct hsnap_line *buffer, const char *text, size_t width,
			  const char *mark)
{
	size_t all = hsnap_columns(text), mark_columns = hsnap_columns(mark);
	if (all <= width || width <= mark_columns) {
		hsnap_line_add(buffer, text);
		return;
	}
	size_t keep = width - mark_columns, tail = keep / 2;
	hsnap_line_add_len(buffer, text, head_bytes(text, keep - tail));
	hsnap_line_add(buffer, mark);
	hsnap_line_add(buffer, text + skip_columns(text, all - tail));
}

struct hsnap_small hsnap_grouped(uint64_t number)
{
	char digits[24];
	int num = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	struct hsnap_small small;
	char *out = small.text;
	for (int i = 0; i < num; i++) {
		if (i && (num - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return small;
}

struct hsnap_small hsnap_growth(int64_t number)
{
	struct hsnap_small small = { "0" };
	if (number)
		snprintf(small.text, sizeof(small.text), "%c%.30s", number < 0 ? '-' : '+',
			 hsnap_grouped(number < 0 ? -(uint64_t)number : (uint64_t)number).text);
	return small;
}

struct hsnap_small hsnap_share(double part, double whole)
{
	struct hsnap_small small;
	double share = whole != 0 ? 100 * part / whole : 0;
	if (fabs(share) < 0.05)
		share = 0; /* never "-0.0" */
	snprintf(small.text, sizeof(small.text), "%.1f", share);
	return small;
}

struct hsnap_small hsnap_human(double bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;
	struct hsnap_small small;
	if (fabs(bytes) < 1023.5) {
		snprintf(small.text, sizeof(small.text), "%.0f bytes", bytes);
		return small;
	}
	for (bytes /= 1024; fabs(bytes) >= 1023.95 && unit < 5; unit++)
		bytes /= 1024;
	snprintf(small.text, sizeof(small.text), "%.1f %s", bytes, units[unit]);
	return small;
}

static struct hsnap_small format_time(uint64_t ns, bool iso)
{
	struct hsnap_small small = { "unknown time" };
	time_t seconds = (time_t)(ns / 1000000000u);
	struct tm tm;
	if (ns && gmtime_r(&seconds, &tm))
		strftime(small.text, sizeof(small.text), iso ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M:%S UTC", &tm);
	return small;
}

struct hsnap_small hsnap_time(uint64_t ns)
{
	return format_time(ns, false);
}

struct hsnap_small hsnap_iso_time(uint64_t ns)
{
	return format_time(ns, true);
}

struct hsnap_small hsnap_duration(uint64_t ns)
{
	uint64_t seconds = ns / 1000000000u + (ns % 1000000000u >= 500000000u);
	uint64_t minutes = seconds / 60, hours = minutes / 60;
	struct hsnap_small small;
	char *text = small.text;
	size_t size = sizeof(small.text);
	if (ns < 9950000000u && ns % 1000000000u)
		snprintf(text, size, "%.1f s", (double)ns / 1e9);
	else if (seconds < 120)
		snprintf(text, size, "%" PRIu64 " s", seconds);
	else if (hours < 2)
		snprintf(text, size, "%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
	else if (hours < 48)
		snprintf(text, size, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	else
		snprintf(text, size, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	return small;
}

struct hsnap_small hsnap_milliseconds(uint64_t ns)
{
	struct hsnap_small small;
	double ms = (double)ns / 1e6;
	snprintf(small.text, sizeof(small.text), ms < 9.95 ? "%.1f ms" : "%.0f ms", ms);
	return small;
}

struct hsnap_small hsnap_plural(uint64_t count, const char *word)
{
	struct hsnap_small small;
	snprintf(small.text, sizeof(small.text), "%.30s %.28s%s", hsnap_grouped(count).text, word,
		 count == 1 ? "" : "s");
	return small;
}

const char *hsnap_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
