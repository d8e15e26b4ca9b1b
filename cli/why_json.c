/* SPDX-License-Identifier: MIT */
/* why_json.c - retention paths as JSON and CSV. */
#include "cli/head.h"
#include "cli/names.h"
#include "cli/why_view.h"

static void emit_type_name(struct hsnap_emit *emit, const char *key, const struct hsnap_snapshot *snapshot,
			   hsnap_type_id type)
{
	struct hsnap_line name = { 0 };
	if (type != HSNAP_NO_TYPE)
		hsnap_add_type_name(&name, snapshot, type);
	hsnap_emit_string_or_null(emit, key, hsnap_line_text(&name));
	hsnap_line_deinit(&name);
}

static void emit_root(const struct hsnap_why_view *view, const struct hsnap_path *path)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_snapshot *snapshot = view->snapshot;
	const struct hsnap_root *root = &snapshot->graph.roots.items[path->root];
	hsnap_emit_begin_object(emit, "root");
	hsnap_emit_string(emit, "kind", hsnap_root_kind_name((enum hsnap_root_kind)root->kind));
	hsnap_emit_string_or_null(emit, "name", hsnap_text(snapshot, root->name));
	hsnap_emit_string_or_null(emit, "module", hsnap_module_name(snapshot, root->module));
	hsnap_emit_string_or_null(emit, "source", hsnap_text(snapshot, root->source));
	emit_type_name(emit, "type", snapshot, snapshot->graph.type[1 + path->root]);
	if (hsnap_text(snapshot, root->function)[0])
		hsnap_emit_string(emit, "function", hsnap_text(snapshot, root->function));
	if (hsnap_text(snapshot, root->thread)[0])
		hsnap_emit_string(emit, "thread", hsnap_text(snapshot, root->thread));
	if (path->num_roots > 1)
		hsnap_emit_u64(emit, "count", path->num_roots);
	hsnap_emit_end_object(emit);
}

static void emit_step(const struct hsnap_why_view *view, const struct hsnap_step *step)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "via", hsnap_str(&view->why->strings, step->via));
	if (step->folded) {
		hsnap_emit_u64(emit, "min", step->min);
		hsnap_emit_u64(emit, "max", step->max);
	}
	hsnap_emit_type(emit, view->snapshot, step->type);
	hsnap_emit_u64(emit, "count", step->count);
	if (step->items)
		hsnap_emit_u64(emit, "items", step->items);
	if (step->weak)
		hsnap_emit_bool(emit, "weak", true);
	hsnap_emit_end_object(emit);
}

static void emit_path(const struct hsnap_why_view *view, const struct hsnap_path *path)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_u64(emit, "count", path->count);
	hsnap_emit_u64(emit, "bytes", path->bytes);
	hsnap_emit_bool(emit, "weak", path->weak);
	emit_root(view, path);
	hsnap_emit_begin_array(emit, "steps");
	for (uint32_t i = 0; i < path->num_steps; i++)
		emit_step(view, &view->why->steps.items[path->first_step + i]);
	hsnap_emit_end_array(emit);
	hsnap_emit_address(emit, "sample", view->snapshot->graph.address[path->sample]);
	hsnap_emit_end_object(emit);
}

static void emit_unreachable(const struct hsnap_why_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_why *why = view->why;
	hsnap_emit_begin_object(emit, "unreachable");
	hsnap_emit_u64(emit, "count", why->unreachable_count);
	hsnap_emit_u64(emit, "bytes", why->unreachable_bytes);
	hsnap_emit_begin_array(emit, "sites");
	for (size_t i = 0; i < why->sites.num; i++) {
		hsnap_emit_begin_object(emit, NULL);
		hsnap_emit_u64(emit, "count", why->sites.items[i].count);
		hsnap_emit_u64(emit, "bytes", why->sites.items[i].bytes);
		hsnap_emit_site(emit, "site", view->snapshot, why->sites.items[i].site);
		hsnap_emit_address(emit, "sample", view->snapshot->graph.address[why->sites.items[i].sample]);
		hsnap_emit_end_object(emit);
	}
	hsnap_emit_end_array(emit);
	hsnap_emit_end_object(emit);
}

/* The type asked for; of several together "type" is the pattern, and "types" tells them. */
static void emit_asked(const struct hsnap_why_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_resolution *resolution = view->resolution;
	if (resolution && resolution->num_wanted > 1) {
		hsnap_emit_string(emit, "type", view->asked);
		hsnap_emit_begin_array(emit, "types");
		for (hsnap_type_id id = 0; id < view->snapshot->types.num; id++)
			if (resolution->wanted[id])
				emit_type_name(emit, NULL, view->snapshot, id);
		hsnap_emit_end_array(emit);
		return;
	}
	hsnap_emit_type(emit, view->snapshot, resolution ? resolution->first : view->snapshot->graph.type[view->node]);
	if (!resolution)
		hsnap_emit_address(emit, "address", view->snapshot->graph.address[view->node]);
}

/* CSV has a header line even where no row follows. */
static void emit_header_row(const struct hsnap_why_view *view)
{
	struct hsnap_emit *emit = view->emit;
	emit->header_only = true;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_u64(emit, "count", 0);
	hsnap_emit_u64(emit, "bytes", 0);
	hsnap_emit_bool(emit, "weak", false);
	hsnap_emit_null(emit, "root");
	hsnap_emit_null(emit, "steps");
	hsnap_emit_null(emit, "sample");
	hsnap_emit_end_object(emit);
}

void hsnap_why_emit(const struct hsnap_why_view *view)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.why/1");
	hsnap_emit_snapshot(emit, "snapshot", view->path, view->snapshot);
	emit_asked(view);
	hsnap_emit_u64(emit, "count", view->why->count);
	hsnap_emit_u64(emit, "bytes", view->why->bytes);
	hsnap_emit_u64(emit, "in_pools", view->in_pools);
	hsnap_emit_begin_rows(emit, "paths");
	for (size_t i = 0; i < view->why->paths.num; i++)
		emit_path(view, &view->why->paths.items[i]);
	if (hsnap_emit_needs_header(emit))
		emit_header_row(view);
	hsnap_emit_end_array(emit);
	emit_unreachable(view);
	hsnap_emit_end_object(emit);
}
