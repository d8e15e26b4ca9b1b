/* SPDX-License-Identifier: MIT */
/* explain_json.c - what a name rests on, as JSON and CSV. */
#include "cli/explain_view.h"
#include "cli/head.h"
#include "cli/names.h"

#define MAX_PATH 512

static void emit_name(struct hsnap_emit *emit, const char *key, const struct hsnap_snapshot *snapshot,
		      hsnap_type_id type)
{
	struct hsnap_line name = { 0 };
	if (type != HSNAP_NO_TYPE)
		hsnap_add_type_name(&name, snapshot, type);
	hsnap_emit_string_or_null(emit, key, hsnap_line_text(&name));
	hsnap_line_deinit(&name);
}

static void emit_path(const struct hsnap_explain_view *view, hsnap_type_id type, uint64_t offset)
{
	char path[MAX_PATH];
	hsnap_member_path(view->snapshot, type, offset, path, sizeof(path));
	hsnap_emit_string_or_null(view->emit, "member", path);
}

static void emit_place(const struct hsnap_explain_view *view, const struct hsnap_place *place)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_snapshot *snapshot = view->snapshot;
	const struct hsnap_graph *graph = &snapshot->graph;
	if (place->node == HSNAP_NO_NODE) {
		hsnap_emit_null(emit, "place");
		return;
	}
	uint64_t address = graph->address[place->node];
	bool far = place->offset == HSNAP_OFFSET_BEYOND;
	hsnap_emit_begin_object(emit, "place");
	if (hsnap_is_root(graph, place->node)) {
		const struct hsnap_root *root = &graph->roots.items[place->node - 1];
		hsnap_emit_string(emit, "kind", hsnap_root_kind_name((enum hsnap_root_kind)root->kind));
		hsnap_emit_string_or_null(emit, "name", hsnap_text(snapshot, root->name));
		hsnap_emit_string_or_null(emit, "function", hsnap_text(snapshot, root->function));
	} else {
		hsnap_emit_string(emit, "kind", "block");
	}
	emit_name(emit, "type", snapshot, graph->type[place->node]);
	emit_path(view, graph->type[place->node], place->offset);
	hsnap_emit_address(emit, "address", address && !far ? address + place->offset : 0);
	emit_name(emit, "declared", snapshot, place->declared);
	hsnap_emit_bool(emit, "weak", place->weak);
	hsnap_emit_u64(emit, "others", place->others);
	hsnap_emit_end_object(emit);
}

static void emit_evidence(const struct hsnap_explain_view *view, uint8_t evidence)
{
	hsnap_emit_string(view->emit, "evidence", hsnap_evidence_name((enum hsnap_evidence)evidence));
	hsnap_emit_string(view->emit, "words", hsnap_evidence_words((enum hsnap_evidence)evidence));
}

/* Of the call site: the variable that gets what was made, and the frame that it is in. */
static void emit_decider(const struct hsnap_explain_view *view, const struct hsnap_said *said)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_frame *frame = hsnap_explain_decider(view, said);
	if (!frame) {
		hsnap_emit_null(emit, "decided_by");
		return;
	}
	hsnap_emit_begin_object(emit, "decided_by");
	hsnap_emit_string_or_null(emit, "variable", hsnap_text(view->snapshot, hsnap_explain_stack(view)->taker));
	hsnap_emit_frame(emit, view->snapshot, frame);
	hsnap_emit_end_object(emit);
}

static void emit_size(const struct hsnap_explain_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_explanation *explanation = view->explanation;
	const struct hsnap_graph *graph = &view->snapshot->graph;
	hsnap_node_id node = explanation->node;
	uint64_t size = view->snapshot->types.items[explanation->name.type].size;
	hsnap_emit_begin_object(emit, "size");
	if (view->snapshot->facts.basis == HSNAP_BASIS_REQUESTED && !(graph->flags[node] & HSNAP_FLAG_NO_RECORD))
		hsnap_emit_u64(emit, "requested", hsnap_node_size(graph, node));
	else
		hsnap_emit_null(emit, "requested");
	hsnap_emit_u64(emit, "usable", hsnap_node_usable(graph, node));
	if (size)
		hsnap_emit_u64(emit, "type", size);
	else
		hsnap_emit_null(emit, "type");
	hsnap_emit_string(emit, "fit", hsnap_fit_name((enum hsnap_fit_kind)explanation->fit));
	if (explanation->fit == HSNAP_FIT_ARRAY)
		hsnap_emit_u64(emit, "items", explanation->items);
	else
		hsnap_emit_null(emit, "items");
	hsnap_emit_u64(emit, "rest", explanation->rest);
	hsnap_emit_end_object(emit);
}

static const char *own_confidence(const struct hsnap_explain_view *view)
{
	return hsnap_confidence_name(hsnap_node_confidence(&view->snapshot->graph, view->explanation->node));
}

static void emit_claim(const struct hsnap_explain_view *view, const struct hsnap_said *said, const char *confidence)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	emit_name(emit, "type", view->snapshot, said->type);
	hsnap_emit_string(emit, "confidence", confidence);
	emit_evidence(view, said->evidence);
	hsnap_emit_string(emit, "outcome", hsnap_outcome_name((enum hsnap_outcome)said->outcome));
	emit_place(view, &said->place);
	emit_decider(view, said);
	hsnap_emit_end_object(emit);
}

static void emit_others(const struct hsnap_explain_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_explanation *explanation = view->explanation;
	hsnap_emit_begin_rows(emit, "others");
	/* CSV has nothing but rows: the name is the first of them. */
	if (emit->format == HSNAP_AS_CSV)
		emit_claim(view, &explanation->name, own_confidence(view));
	for (size_t i = 0; i < explanation->others.num; i++)
		emit_claim(view, &explanation->others.items[i], hsnap_said_confidence(&explanation->others.items[i]));
	hsnap_emit_end_array(emit);
}

/* The pool that the block is, and the object at the address. */
static void emit_pool(const struct hsnap_explain_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_graph *graph = &view->snapshot->graph;
	const struct hsnap_pool *pool = hsnap_pool_of(graph, view->explanation->node);
	uint64_t offset = hsnap_explain_offset(view);
	if (!pool) {
		hsnap_emit_null(emit, "pool");
		return;
	}
	uint32_t item = offset < pool->header ? UINT32_MAX : hsnap_pool_find(graph, pool, offset - pool->header);
	hsnap_emit_begin_object(emit, "pool");
	emit_name(emit, "type", view->snapshot, pool->type);
	hsnap_emit_string(emit, "confidence",
			    hsnap_confidence_name(hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence)));
	hsnap_emit_u64(emit, "count", pool->num_items);
	hsnap_emit_u64(emit, "stride", pool->stride);
	hsnap_emit_u64(emit, "size", pool->size);
	if (item == UINT32_MAX)
		hsnap_emit_null(emit, "object");
	else
		hsnap_emit_address(emit, "object", graph->address[pool->node] + pool->header + pool->first +
						     pool->stride * graph->items.items[pool->first_item + item]);
	hsnap_emit_end_object(emit);
}

void hsnap_explain_emit(const struct hsnap_explain_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_explanation *explanation = view->explanation;
	const struct hsnap_snapshot *snapshot = view->snapshot;
	hsnap_node_id node = explanation->node;
	uint64_t offset = hsnap_explain_offset(view);
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.explain/1");
	hsnap_emit_snapshot(emit, "snapshot", view->path, snapshot);
	hsnap_emit_type(emit, snapshot, explanation->name.type);
	hsnap_emit_address(emit, "address", snapshot->graph.address[node]);
	hsnap_emit_u64(emit, "offset", offset);
	if (offset)
		emit_path(view, explanation->name.type, offset);
	else
		hsnap_emit_null(emit, "member");
	emit_pool(view);
	hsnap_emit_string(emit, "state", hsnap_state_name(hsnap_node_state(&snapshot->graph, node)));
	hsnap_emit_string(emit, "confidence", own_confidence(view));
	if (explanation->known) {
		emit_evidence(view, explanation->name.evidence);
	} else {
		hsnap_emit_null(emit, "evidence");
		hsnap_emit_null(emit, "words");
	}
	hsnap_emit_string_or_null(emit, "rule", hsnap_text(snapshot, explanation->rule));
	emit_place(view, &explanation->name.place);
	emit_decider(view, &explanation->name);
	hsnap_emit_u64(emit, "conflicts", explanation->conflicts);
	emit_size(view);
	hsnap_emit_site(emit, "site", snapshot, snapshot->graph.site[node]);
	emit_others(view);
	hsnap_emit_bool(emit, "more", explanation->more);
	hsnap_emit_end_object(emit);
}
