/* SPDX-License-Identifier: MIT */
/* names.h - how types, places and call sites are written. */
#ifndef HSNAP_CLI_NAMES_H
#define HSNAP_CLI_NAMES_H

#include "cli/emit.h"
#include "snapshot/snapshot.h"

/* As a table prints it: the name, and the holder where there is one. */
void hsnap_add_type_name(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			 hsnap_type_id type);
void hsnap_add_full_name(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			 hsnap_type_id type);
/* Of the element for arrays and pointers: "cache.h:14"; "cache.h" without a line; or nothing. */
void hsnap_add_type_source(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			   hsnap_type_id type);
/* "libfoo.so.1"; "bookstore" of the executable. */
const char *hsnap_module_name(const struct hsnap_snapshot *snapshot, uint32_t module);
/* The module that declares the type (of the element for arrays). */
uint32_t hsnap_type_module(const struct hsnap_snapshot *snapshot, hsnap_type_id type);
/* No type, but a description. */
bool hsnap_is_label(const struct hsnap_snapshot *snapshot, hsnap_type_id type);

/* Rows whose name another row of another type (by key) has too: twin[i] is set.  false: out of
 * memory.  O(num log num). */
bool hsnap_find_twins(const char *const *names, const uint64_t *keys, size_t num, bool *twin);
/* What stands behind a name: "  libfoo.so.1" where it is not the executable's, "  routes.c:12"
 * where it has a twin. */
void hsnap_add_type_place(struct hsnap_line *to, const struct hsnap_emit *emit,
			  const struct hsnap_snapshot *snapshot, hsnap_type_id type, bool twin);

/* The fields that say which type a row is about: type, label. */
void hsnap_emit_type(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, hsnap_type_id type);
/* The same where the name is another than the type's own. */
void hsnap_emit_type_named(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, hsnap_type_id type,
			   const char *name);
/* The fields of one call frame: function, source, module, offset. */
void hsnap_emit_frame(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, const struct hsnap_frame *frame);
/* An array of call frames, innermost first. */
void hsnap_emit_site(struct hsnap_emit *emit, const char *key, const struct hsnap_snapshot *snapshot,
		     uint32_t site);
/* "receipt_new (receipt.c:22)"; "libfoo.so.1+0x1f0" where no name is known. */
void hsnap_add_frame(struct hsnap_line *to, const struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot,
		     const struct hsnap_frame *frame);
/* "receipt_new (receipt.c:22) ← main (main.c:64)", up to main; "unknown" without frames. */
void hsnap_add_site(struct hsnap_line *to, const struct hsnap_emit *emit,
		    const struct hsnap_snapshot *snapshot, uint32_t site);

#endif
