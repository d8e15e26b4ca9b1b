/* SPDX-License-Identifier: MIT */
/* diff_view.h - growth as a screen (diff_text.c) and as a document (diff_json.c). */
#ifndef HSNAP_CLI_DIFF_VIEW_H
#define HSNAP_CLI_DIFF_VIEW_H

#include "cli/emit.h"
#include "diff/diff.h"

struct hsnap_diff_view {
	struct hsnap_emit *emit;
	const struct hsnap_diff *diff;
	const struct hsnap_snapshot *const *snapshots; /* diff->num_snapshots */
	const char *const *paths;
};

/* As hsnap_add_type_name(); a label of all sizes has none. */
void hsnap_add_growth_name(struct hsnap_line *to, const struct hsnap_diff_view *view, const struct hsnap_growth *row);

/* false: out of memory. */
bool hsnap_diff_print(const struct hsnap_diff_view *view);
bool hsnap_diff_emit(const struct hsnap_diff_view *view);

#endif
