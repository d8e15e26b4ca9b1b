/* SPDX-License-Identifier: MIT */
/* resolve.h - what TYPE on the command line means in a snapshot (docs/cli.md, "TYPE"). */
#ifndef HSNAP_CLI_RESOLVE_H
#define HSNAP_CLI_RESOLVE_H

#include <stddef.h>

#include "snapshot/snapshot.h"

enum hsnap_resolved {
	HSNAP_RESOLVED,
	HSNAP_RESOLVED_NOTHING,   /* candidates: the nearest names, at most three */
	HSNAP_RESOLVED_AMBIGUOUS, /* candidates: all, greatest bytes first */
	HSNAP_RESOLVED_NO_MEMORY,
};

struct hsnap_resolution {
	bool *wanted; /* one entry a type */
	size_t num_wanted;
	hsnap_type_id first; /* of the wanted ones, the one with most bytes */
	bool by_pattern;
	struct hsnap_vec(hsnap_type_id) candidates;
};

/* Release with hsnap_resolution_deinit() whatever the answer. */
enum hsnap_resolved hsnap_resolve(const struct hsnap_snapshot *snapshot, const char *text,
				  struct hsnap_resolution *ret);
void hsnap_resolution_deinit(struct hsnap_resolution *resolution);

/* How TYPE must be written to mean this type alone: with its place where others share its name.
 * To be freed; NULL: out of memory. */
char *hsnap_unique_name(const struct hsnap_snapshot *snapshot, hsnap_type_id type);

/* "0x7f12": true, and the number.  Something else that starts with 0x is a name. */
bool hsnap_parse_address(const char *text, uint64_t *ret);

#endif
