/* SPDX-License-Identifier: MIT */
/* support.h - a target that is nothing but ELF files, and looking into what was read of them. */
#ifndef HSNAP_TESTS_CAPTURE_SYMBOLS_SUPPORT_H
#define HSNAP_TESTS_CAPTURE_SYMBOLS_SUPPORT_H

#include "capture/symbols/child.h"
#include "capture/symbols/symbols.h"

#define BIAS UINT64_C(0x7f0000000000)

/* A target without modules; exits where there is no memory, like all in here. */
struct hsnap_target *files_target(void);
/* Add the file as a module, its addresses moved by bias; its index. */
uint32_t files_add(struct hsnap_target *target, const char *path, uint64_t bias);

/* The file in memory, to be freed. */
void *file_bytes(const char *path, size_t *ret_size);

const char *name_of(const struct hsnap_symbols *symbols, hsnap_dtype_id id);
/* The only type of that name and kind; 0: none, or several. */
hsnap_dtype_id type_named(const struct hsnap_symbols *symbols, const char *name, unsigned kind);
const struct hsnap_dmember *member_named(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name);
const struct hsnap_dvariable *variable_named(const struct hsnap_symbols *symbols, const char *name);
/* The type as C would write it, into a static buffer: "struct entry *[8]". */
const char *written(const struct hsnap_symbols *symbols, hsnap_dtype_id id);

#endif
