/* SPDX-License-Identifier: MIT */
/* strings.c - interning into one buffer with an open-addressed hash of offsets. */
#include "snapshot/base/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

void hsnap_strings_deinit(struct hsnap_strings *strings)
{
	if (!strings)
		return;
	free(strings->bytes);
	free(strings->table);
	*strings = (struct hsnap_strings){ 0 };
}

static uint64_t hash_text(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

/* The slot of the text, or the empty slot where it belongs. */
static size_t find_slot(const struct hsnap_strings *strings, const char *text, size_t len)
{
	size_t mask = strings->table_size - 1;
	for (size_t i = hash_text(text, len) & mask;; i = (i + 1) & mask) {
		uint32_t at = strings->table[i];
		if (!at)
			return i;
		const char *have = strings->bytes + at;
		if (strings->num - at > len && !memcmp(have, text, len) && !have[len])
			return i;
	}
}

/* (Re)build the table with room for one more string at a load of 2/3. */
static bool grow_table(struct hsnap_strings *strings)
{
	size_t size = strings->table_size ? strings->table_size * 2 : 256;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	free(strings->table);
	strings->table = table;
	strings->table_size = size;
	strings->table_used = 0;
	for (size_t at = 1; at < strings->num; at += strlen(strings->bytes + at) + 1) {
		const char *text = strings->bytes + at;
		size_t slot = find_slot(strings, text, strlen(text));
		if (!table[slot])
			strings->table_used++;
		table[slot] = (uint32_t)at;
	}
	return strings->table_used * 3 < size * 2 || grow_table(strings);
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
	if (strings->table_used * 3 >= strings->table_size * 2 && !grow_table(strings))
		return HSNAP_NO_STRING;
	size_t slot = find_slot(strings, text, len);
	if (strings->table[slot])
		return strings->table[slot];
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
	strings->num += len + 1;
	strings->table[slot] = at;
	strings->table_used++;
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
