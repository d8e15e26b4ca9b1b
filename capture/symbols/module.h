/* SPDX-License-Identifier: MIT */
/*
 * module.h - all that one module's files say, from bytes in memory.
 *
 * This is the part that reads hostile bytes: it runs in the confined child
 * (child.c), and in a fuzz target's own process.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_MODULE_H
#define HSNAP_CAPTURE_SYMBOLS_MODULE_H

#include "capture/symbols/symbols.h"

struct hsnap_module_bytes {
	const void *bytes;
	size_t size;
};

struct hsnap_module_input {
	uint32_t module;
	uint64_t bias;
	const void *program, *debug, *alt; /* the mapped file, its debug file, its supplementary file; or NULL */
	size_t program_size, debug_size, alt_size;
	bool mapped;      /* all of these are files, mapped */
	bool other_build; /* a debug file was found, and it was another build's */
	/*
	 * Get a file that holds other halves of units: what is HSNAP_OPEN_DWO with its path, or
	 * HSNAP_OPEN_DWP.  Answers HSNAP_REPLY_…; the bytes stay until the module has been read.
	 * NULL: there are none.
	 */
	uint8_t (*get_split)(void *context, uint32_t what, uint32_t attempt, const char *path,
			     struct hsnap_module_bytes *ret);
	void (*begin)(void *context, const char *part); /* called as each part of the work begins, to measure it; may be NULL */
	void *context;
	const struct hsnap_ask *asks; /* those within the module, sorted */
	size_t num_asks;
	const struct hsnap_wanted *wanted; /* words, or NULL */
};

/**
 * @param[out] ret  zeroed by the caller; holds this module alone: modules[0] says how it went
 * @return HSNAP_OK also where the files are damaged (the note says so); else HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_module_read(const struct hsnap_module_input *input,
						struct hsnap_symbols *ret, struct hsnap_error *err);

#endif
