/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - names of types as run-time type information has them, as people write them.
 *
 * The names are the target's choice, and the demangler is a parser of some thousand lines: it runs in a
 * process of its own, confined as the reader of debug info is.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_DEMANGLE_H
#define HSNAP_CAPTURE_SYMBOLS_DEMANGLE_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"

/* What differs in tests; zeros are the ordinary ones. */
struct hsnap_demangle_options {
	char *(*demangle)(const char *mangled); /* runs in the child; malloc'ed, or NULL */
	unsigned seconds;
};

/**
 * Demangle names such as "N2ns3FooE", without "_Z" before them (Itanium C++ ABI 5.1.3; 2.9.2 of
 * std::type_info).
 *
 * A name that the demangler does not survive, and one that takes it too long, is left out, and the others
 * are gone on with a few times; then all that follow are left out, too.
 *
 * @param names  texts of `strings`
 * @param[out] ret  num of them, in `strings`; 0 where there is none
 * @return HSNAP_OK, also where nothing could be demangled; HSNAP_NO_MEMORY
 * Cost: a fork, where there is anything to do.
 */
HSNAP_CHECKED enum hsnap_code hsnap_demangle(struct hsnap_strings *strings, const hsnap_string *names, size_t num,
					     const struct hsnap_demangle_options *options, hsnap_string *ret,
					     struct hsnap_error *err);

/**
 * What a child says of `num` names: for each its length in four bytes, 0 where there is none, and its text.
 * Believed is nothing: what is too long, too much in all (*text counts it), late, or no text ends it.
 *
 * @param[out] ret_done  so many of ret are set
 * @return HSNAP_OK, or HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_demangle_receive(int socket, unsigned milliseconds, struct hsnap_strings *strings,
						     hsnap_string *ret, size_t num, size_t *ret_done, uint64_t *text,
						     struct hsnap_error *err);

#endif
