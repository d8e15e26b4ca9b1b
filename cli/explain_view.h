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

/* The call stack that made the block. */
static inline const struct hsnap_stack *hsnap_explain_stack(const struct hsnap_explain_view *view)
{
	return &view->snapshot->stacks.items[view->snapshot->graph.site[view->explanation->node]];
}

/* Its frame that says so, if the call site does; else NULL. */
static inline const struct hsnap_frame *hsnap_explain_decider(const struct hsnap_explain_view *view,
							      const struct hsnap_said *said)
{
	const struct hsnap_stack *stack = hsnap_explain_stack(view);
	bool by_site = said->evidence == HSNAP_EVIDENCE_SITE || said->evidence == HSNAP_EVIDENCE_KEPT ||
		       said->evidence == HSNAP_EVIDENCE_TOLD;
	if (!by_site || !stack->decider)
		return NULL;
	return &view->snapshot->frames.items[stack->first_frame + stack->decider - 1];
}

/* Its confidence, had nothing contested it. */
static inline const char *hsnap_said_confidence(const struct hsnap_said *said)
{
	return hsnap_confidence_name(hsnap_evidence_confidence((enum hsnap_evidence)said->evidence));
}

#endif
