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

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) (free(entry), (entry) = NULL)
#define HASH_FUNCTION(key, len, hash) ((hash) = hsnap_hash((key), (len)))
#include <uthash.h>

/* uthash's own function, once: clang warns of its cases, without a mark in macros, at each use. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
static inline unsigned hsnap_hash(const void *key, size_t len)
{
	unsigned hash;
	HASH_JEN(key, len, hash);
	return hash;
}
#pragma GCC diagnostic pop

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
