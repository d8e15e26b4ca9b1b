/* SPDX-License-Identifier: MIT */
/* walk.h - what the walk over a module's entries makes of each; private to this folder: index.c walks. */
#ifndef HSNAP_CAPTURE_SYMBOLS_WALK_H
#define HSNAP_CAPTURE_SYMBOLS_WALK_H

#include "capture/symbols/reader.h"

#define HSNAP_WALK_DEPTH 64

/* The scope of entries: its name, and the class that it is. */
struct hsnap_walk_place {
	hsnap_string name;
	uint32_t owner;
	uint32_t around; /* 1 + index into classes of the innermost one, else 0 */
};

struct hsnap_walk_level {
	struct hsnap_entry entry;
	struct hsnap_walk_place scope;
};

struct hsnap_walk {
	struct hsnap_reader *reader;
	struct hsnap_scan *scan;
	hsnap_string function; /* set within a function */
	struct hsnap_walk_level levels[HSNAP_WALK_DEPTH];
	unsigned depth;
};

void hsnap_walk_declared(struct hsnap_reader *reader, hsnap_die_key key, const struct hsnap_die_facts *facts,
			 hsnap_string *file, uint32_t *line);

/* --- types.c --- */

/* A struct, class or union; true: it has children to descend to, whose scope is *ret_inner. */
bool hsnap_walk_struct(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place,
		       struct hsnap_walk_place *ret_inner);
void hsnap_walk_array(struct hsnap_walk *walk, struct hsnap_entry *entry);
void hsnap_walk_plain_type(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place);
/* Does the class get its name only once all units are known?  And then it does, with all that is in it. */
bool hsnap_walk_is_misplaced(const struct hsnap_reader *reader, uint32_t owner);
void hsnap_walk_place_misplaced(struct hsnap_reader *reader);

/* --- variables.c --- */

void hsnap_walk_variable(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place);
/* What variables leave to the entries that they complete, once all of those have been seen. */
void hsnap_walk_complete_variables(struct hsnap_reader *reader);

#endif
