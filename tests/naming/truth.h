/* SPDX-License-Identifier: MIT */
/*
 * truth.h - what witnesses say of a process's blocks.
 *
 * A file of lines `ADDRESS SIZE TYPE`: an object of TYPE and of SIZE bytes stands at ADDRESS (hex).  TYPE is in
 * the program's own words, `T[]` for a run of them; several that are as right are separated by `|`, and one behind
 * `~` is true but says less (a base class).  Bytes are `char[]`, whoever holds them.
 */
#ifndef HSNAP_TESTS_NAMING_TRUTH_H
#define HSNAP_TESTS_NAMING_TRUTH_H

#include <stdint.h>

#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

struct truth_line {
	uint64_t address, size;
	hsnap_string type; /* as it stands there */
};

struct truth {
	struct hsnap_strings strings;
	struct hsnap_vec(struct truth_line) lines; /* in order of address */
};

/* Add the lines of a file; says on stderr what is wrong with it and returns false. */
bool truth_read(struct truth *truth, const char *path);
/* Put them in order, one line an address; false: out of memory. */
bool truth_sort(struct truth *truth);
void truth_deinit(struct truth *truth);

enum verdict { VERDICT_RIGHT, VERDICT_VAGUE, VERDICT_WRONG };

/* What a snapshot says of a block. */
struct said {
	const char *name, *full_name; /* of a run: with its "[]" */
	bool run;
	bool bytes; /* a run of scalars of one byte */
};

/* What witnesses say of it. */
struct told {
	const char *type;
	bool single;  /* it has the size of one of what was said: a run of one is the same as a single object */
	bool several; /* it is but the first of several in the block, all alike */
};

/* Are they the same?  Bytes are bytes, signed or not. */
enum verdict truth_verdict(const struct said *said, const struct told *told);

#endif
