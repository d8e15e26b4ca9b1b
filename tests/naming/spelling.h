/* SPDX-License-Identifier: MIT */
/*
 * spelling.h - are two names of one type?
 *
 * gcc, gdb and the demangler spell a type in ways of their own: where `const` stands, blanks, the names of
 * built-in types.  What they call by different names is different here too.
 */
#ifndef HSNAP_TESTS_NAMING_SPELLING_H
#define HSNAP_TESTS_NAMING_SPELLING_H

#include <stddef.h>

/* The name in the one spelling that is compared; for the caller to free; NULL: out of memory. */
char *spelling_of(const char *name);

#endif
