/* SPDX-License-Identifier: MIT */
/* strings.c - interning into one buffer. */
#include "snapshot/base/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/hash.h"

/* Its key is the text in the buffer and moves with it. */
struct hsnap_string_entry {
	hsnap_string at;
	UT_hash_handle hh;
};

void hsnap_strings_deinit(struct hsnap_strings *strings)
{
	if (!strings)
		return;
	free(strings->bytes);
	hsnap_hash_free(strings->table);
	*strings = (struct hsnap_strings){ 0 };
}

static bool add_entry(struct hsnap_strings *strings, hsnap_string at, size_t len, unsigned hash)
{
	struct hsnap_string_entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return false;
	entry->at = at;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, strings->table, strings->bytes + at, len, hash, entry);
	return entry;
}

/* The strings of a loaded snapshot come without a table. */
static bool index_all(struct hsnap_strings *strings)
{
	for (size_t at = 1, len; at < strings->num; at += len + 1) {
		struct hsnap_string_entry *entry;
		unsigned hash;
		len = strlen(strings->bytes + at);
		HASH_VALUE(strings->bytes + at, len, hash);
		HASH_FIND_BYHASHVALUE(hh, strings->table, strings->bytes + at, len, hash, entry);
		if (!entry && !add_entry(strings, (hsnap_string)at, len, hash)) {
			hsnap_hash_free(strings->table);
			return false;
		}
	}
	return true;
}

static bool grow_bytes(struct hsnap_strings *strings, size_t extra)
{
	size_t want = strings->num + extra;
	if (want > UINT32_MAX - 1)
		return false;
	if (want <= strings->capacity)
		return true;
	size_t capacity = strings->capacity * 2 > want ? strings->capacity * 2 : want + 4096;
	char *grown = realloc(strings->bytes, capacity);
	if (!grown)
		return false;
	strings->bytes = grown;
	strings->capacity = capacity;
	for (struct hsnap_string_entry *entry = strings->table; entry; entry = entry->hh.next)
		entry->hh.key = grown + entry->at;
	return true;
}

hsnap_string hsnap_strings_add_len(struct hsnap_strings *strings, const char *text, size_t len)
{
	len = strnlen(text, len);
	if (!strings->num) {
		if (!grow_bytes(strings, 1))
			return HSNAP_NO_STRING;
		strings->bytes[0] = '\0';
		strings->num = 1;
	}
	if (!len)
		return 0;
	if (!strings->table && !index_all(strings))
		return HSNAP_NO_STRING;
	struct hsnap_string_entry *entry;
	unsigned hash;
	HASH_VALUE(text, len, hash);
	HASH_FIND_BYHASHVALUE(hh, strings->table, text, len, hash, entry);
	if (entry)
		return entry->at;
	/* The text may lie in our own buffer, which is about to move. */
	size_t inside = text >= strings->bytes && text < strings->bytes + strings->num
				? (size_t)(text - strings->bytes) + 1 : 0;
	if (!grow_bytes(strings, len + 1))
		return HSNAP_NO_STRING;
	if (inside)
		text = strings->bytes + inside - 1;
	uint32_t at = (uint32_t)strings->num;
	memcpy(strings->bytes + at, text, len);
	strings->bytes[at + len] = '\0';
	if (!add_entry(strings, at, len, hash))
		return HSNAP_NO_STRING;
	strings->num += len + 1;
	return at;
}

hsnap_string hsnap_strings_add(struct hsnap_strings *strings, const char *text)
{
	return hsnap_strings_add_len(strings, text, strlen(text));
}

hsnap_string hsnap_strings_addf(struct hsnap_strings *strings, const char *format, ...)
{
	hsnap_auto(hsnap_freep) char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return HSNAP_NO_STRING;
	}
	return hsnap_strings_add_len(strings, text, (size_t)len);
}
