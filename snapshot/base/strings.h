/* SPDX-License-Identifier: MIT */
/*
 * strings.h - many short strings in one buffer, each stored once.
 *
 * A string is the byte offset of its first character; 0 is "".  Offsets stay
 * valid as the buffer grows, pointers do not.  At most 4 GiB.
 */
#ifndef HSNAP_SNAPSHOT_BASE_STRINGS_H
#define HSNAP_SNAPSHOT_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t hsnap_string;
#define HSNAP_NO_STRING UINT32_MAX /* what hsnap_strings_add() answers when it is out of memory */

struct hsnap_strings {
	char *bytes; /* bytes[0] is NUL; each string ends in NUL */
	size_t num;  /* bytes used; 0 before the first string */
	size_t capacity;
	struct hsnap_string_entry *table; /* NULL in a loaded snapshot, until something is added */
};

/* The storage is the caller's; zeroed storage is a valid, empty set. */
void hsnap_strings_deinit(struct hsnap_strings *strings);

/* Offset of `text`, adding it if it is new; HSNAP_NO_STRING: out of memory or 4 GiB reached. */
hsnap_string hsnap_strings_add(struct hsnap_strings *strings, const char *text);
hsnap_string hsnap_strings_add_len(struct hsnap_strings *strings, const char *text, size_t len);
hsnap_string hsnap_strings_addf(struct hsnap_strings *strings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Borrowed until the next add; "" for an offset outside the buffer. */
static inline const char *hsnap_str(const struct hsnap_strings *strings, hsnap_string s)
{
	return s < strings->num ? strings->bytes + s : "";
}

#endif
