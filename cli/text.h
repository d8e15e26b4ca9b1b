/* SPDX-License-Identifier: MIT */
/*
 * text.h - what the screens are made of: growing text, grouped numbers, column widths.
 *
 * Nothing here depends on the locale: a comma stands between thousands everywhere.
 */
#ifndef HSNAP_CLI_TEXT_H
#define HSNAP_CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Growing text.  Zeroed storage is valid and empty; running out of memory sets `failed`. */
struct hsnap_line {
	char *text; /* NUL-terminated once anything was added */
	size_t num, capacity;
	bool failed;
};

void hsnap_line_deinit(struct hsnap_line *buffer);
void hsnap_line_clear(struct hsnap_line *buffer);
void hsnap_line_add(struct hsnap_line *buffer, const char *text);
void hsnap_line_add_len(struct hsnap_line *buffer, const char *text, size_t len);
void hsnap_line_addf(struct hsnap_line *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void hsnap_line_addv(struct hsnap_line *buffer, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Blanks until the text since byte `start` is `width` columns wide. */
void hsnap_line_pad(struct hsnap_line *buffer, size_t start, size_t width);
/* "" while nothing was added. */
const char *hsnap_line_text(const struct hsnap_line *buffer);

enum hsnap_charset { HSNAP_TEXT_ASCII, HSNAP_TEXT_UTF8 };

/* A name from a target or a file, fit for a terminal: control characters, what turns the
 * writing direction, and invalid UTF-8 (in ASCII: all but ASCII) become \xNN. */
void hsnap_line_add_escaped(struct hsnap_line *buffer, const char *text,
			      enum hsnap_charset charset);
/* One word for a POSIX shell, in single quotes where it needs them. */
void hsnap_line_add_quoted(struct hsnap_line *buffer, const char *word);

/* C0, DEL, C1, line separators, and what turns or hides the writing direction. */
bool hsnap_is_control(uint32_t point);
/* Bytes of the valid UTF-8 character at `text` (1 … 4) and its code point; 0: not valid. */
size_t hsnap_utf8_next(const char *text, uint32_t *ret_point);

/* Terminal columns of valid UTF-8. */
size_t hsnap_columns(const char *text);

/* Cut in the middle, `mark` where something is missing, to at most `width` columns. */
void hsnap_line_add_cut(struct hsnap_line *buffer, const char *text, size_t width,
			  const char *mark);

/* Small texts by value: hsnap_grouped(n).text lives to the end of the full expression. */
struct hsnap_small {
	char text[64];
};

struct hsnap_small hsnap_grouped(uint64_t number);           /* 1,234 */
struct hsnap_small hsnap_growth(int64_t number);             /* +1,234, -1,234, 0 */
struct hsnap_small hsnap_share(double part, double whole);   /* 27.6; 0.0 of nothing */
struct hsnap_small hsnap_human(double bytes);                /* 31.0 MiB; 12 bytes */
struct hsnap_small hsnap_time(uint64_t ns);                  /* 2026-11-30 01:24:47 UTC */
struct hsnap_small hsnap_iso_time(uint64_t ns);              /* 2026-11-30T01:24:47Z */
struct hsnap_small hsnap_duration(uint64_t ns);              /* 0.4 s, 27 s, 3 min 40 s, 2 h 5 min */
struct hsnap_small hsnap_milliseconds(uint64_t ns);         /* 0.4 ms, 21 ms */
struct hsnap_small hsnap_plural(uint64_t count, const char *word); /* 1 block, 2 blocks */

/* "cache.h" of "/usr/src/shop/cache.h". */
const char *hsnap_base_name(const char *path);

#endif
