/* SPDX-License-Identifier: MIT */
/* explain_view.h - what a name rests on, as a screen (explain_text.c) and as a document (explain_json.c). */
#ifndef HSNAP_CLI_EXPLAIN_VIEW_H
#define HSNAP_CLI_EXPLAIN_VIEW_H

#include "cli/emit.h"
#include "snapshot/explain.h"

struct hsnap_explain_view {
	struct hsnap_emit *emit;
	const char *path; /* of the snapshot */
	const struct hsnap_snapshot *snapshot;
	uint64_t address; /* that was asked for: in the block, not always its start */
	const struct hsnap_explanation *explanation;
};

void hsnap_explain_print(const struct hsnap_explain_view *view);
void hsnap_explain_emit(const struct hsnap_explain_view *view);

/* Bytes from the block's start to the address asked for. */
static inline uint64_t hsnap_explain_offset(const struct hsnap_explain_view *view)
{
	return view->address - view->snapshot->graph.address[view->explanation->node];
}

/* Its confidence, had nothing contested it. */
static inline const char *hsnap_said_confidence(const struct hsnap_said *said)
{
	return hsnap_confidence_name(hsnap_evidence_confidence((enum hsnap_evidence)said->evidence));
}

#endif
