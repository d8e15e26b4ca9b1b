/* SPDX-License-Identifier: MIT */
/*
 * spelling.h - one spelling for a class's name, whoever wrote it.
 *
 * The demangler, gcc's and clang's debug info write blanks, const, numbers, anonymous namespaces, lambdas and
 * local classes each in its own way.  What is left after this is no name for people, and two classes can have the
 * same: it is for looking up candidates only.
 */
#ifndef HSNAP_CAPTURE_NAMING_SPELLING_H
#define HSNAP_CAPTURE_NAMING_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

/* Storage that grows with use; zeroed is empty. */
struct hsnap_spelling {
	char *text;
	size_t room;
};

void hsnap_spelling_deinit(struct hsnap_spelling *spelling);

/* spelling->text becomes the spelling of the name; false: out of memory.  O(length). */
bool hsnap_spell(struct hsnap_spelling *spelling, const char *name);

#endif
