/* SPDX-License-Identifier: MIT */
/* why_view.h - retention paths as a screen (why_text.c) and as a document (why_json.c). */
#ifndef HSNAP_CLI_WHY_VIEW_H
#define HSNAP_CLI_WHY_VIEW_H

#include "cli/emit.h"
#include "cli/resolve.h"
#include "retention/retention.h"

struct hsnap_why_view {
	struct hsnap_emit *emit;
	const char *path; /* of the snapshot */
	const struct hsnap_snapshot *snapshot;
	const char *asked; /* TYPE or 0xADDR as it was given */
	const struct hsnap_resolution *resolution; /* NULL: a single block, */
	hsnap_node_id node;                        /* this one */
	const struct hsnap_why *why;
	uint64_t in_pools; /* of what is asked for: objects in pools */
};

/* What is counted: "block", and with those in pools "object". */
static inline const char *hsnap_why_thing(const struct hsnap_why_view *view)
{
	return view->in_pools ? "object" : "block";
}

void hsnap_why_print(const struct hsnap_why_view *view);
void hsnap_why_emit(const struct hsnap_why_view *view);

/* A path's root: "stack handle_request: req" (in JSON the parts are fields). */
void hsnap_add_root(struct hsnap_line *to, const struct hsnap_emit *emit,
		    const struct hsnap_snapshot *snapshot, uint32_t root);

#endif
