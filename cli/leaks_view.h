/* SPDX-License-Identifier: MIT */
/* leaks_view.h - leaks as a screen (leaks_text.c) and as a document (leaks_json.c). */
#ifndef HSNAP_CLI_LEAKS_VIEW_H
#define HSNAP_CLI_LEAKS_VIEW_H

#include "cli/emit.h"
#include "retention/retention.h"

struct hsnap_leaks_view {
	struct hsnap_emit *emit;
	const char *path; /* of the snapshot */
	const struct hsnap_snapshot *snapshot;
	const struct hsnap_leaks *leaks, *possible;
};

void hsnap_leaks_print(const struct hsnap_leaks_view *view);
void hsnap_leaks_emit(const struct hsnap_leaks_view *view);

#endif
