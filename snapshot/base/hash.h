/* SPDX-License-Identifier: MIT */
/*
 * hash.h - uthash, where running out of memory is an error like any other.
 *
 * By itself uthash ends the program when a table cannot grow.  Told to live with that before it is
 * included, it takes the entry out again; here the entry is also freed and the variable that named
 * it is NULL.  So whoever adds asks once:
 *
 *	HASH_ADD(hh, table, key, sizeof(entry->key), entry);
 *	if (!entry) return out of memory;
 *
 * A table is a pointer to its first entry: NULL is an empty one.  Each entry comes from malloc() and
 * stays where it is.  Keys are compared as bytes, so a key of several members has no padding.
 */
#ifndef HSNAP_SNAPSHOT_BASE_HASH_H
#define HSNAP_SNAPSHOT_BASE_HASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) (free(entry), (entry) = NULL)
#define HASH_FUNCTION(key, len, hash) ((hash) = hsnap_hash((key), (len)))
#include <uthash.h>

/* Most keys are one word or two, and looked up once a block or pointer: uthash's own function, which goes
 * byte by byte, takes ten times as long. */
static inline unsigned hsnap_hash(const void *key, size_t len)
{
	const uint8_t *at = key;
	uint64_t hash = len, word;
	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, at, len);
	hash = (hash ^ word) * 0xd6e8feb86659fd93u;
	return (unsigned)(hash ^ hash >> 32);
}

/* Free the table and its entries; it is empty then. */
#define hsnap_hash_free(table)                                                                   \
	do {                                                                                     \
		__typeof__(table) entry_ = (table);                                              \
		HASH_CLEAR(hh, table);                                                           \
		while (entry_) {                                                                 \
			__typeof__(table) next_ = entry_->hh.next;                               \
			free(entry_);                                                            \
			entry_ = next_;                                                          \
		}                                                                                \
	} while (0)

#endif
