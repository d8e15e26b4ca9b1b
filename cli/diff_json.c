/* SPDX-License-Identifier: MIT */
/* diff_json.c - growth as JSON and CSV: all types, grown, shrunk and unchanged. */
#include <stdlib.h>

#include "cli/diff_view.h"
#include "cli/head.h"
#include "cli/names.h"
#include "snapshot/base/cleanup.h"

static bool has_items(const struct hsnap_diff *diff, const struct hsnap_growth *row)
{
	for (size_t i = 0; i < diff->num_snapshots; i++)
		if (diff->items[row->first + i])
			return true;
	return false;
}

static bool emit_row(const struct hsnap_diff_view *view, const struct hsnap_growth *row)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_diff *diff = view->diff;
	const struct hsnap_snapshot *snapshot = view->snapshots[row->snapshot];
	hsnap_auto(hsnap_freep) char *id = hsnap_growth_identity(snapshot, row);
	hsnap_auto(hsnap_line_deinit) struct hsnap_line source = { 0 }, name = { 0 };
	if (!id)
		return false;
	hsnap_add_type_source(&source, snapshot, row->type);
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "id", id);
	hsnap_add_growth_name(&name, view, row);
	hsnap_emit_type_named(emit, snapshot, row->type, hsnap_line_text(&name));
	hsnap_emit_string_or_null(emit, "module", hsnap_module_name(snapshot, hsnap_type_module(snapshot, row->type)));
	hsnap_emit_string_or_null(emit, "source", hsnap_line_text(&source));
	hsnap_emit_string(emit, "state", hsnap_state_name(row->state));
	hsnap_emit_numbers(emit, "bytes", diff->bytes + row->first, diff->num_snapshots);
	hsnap_emit_numbers(emit, "count", diff->count + row->first, diff->num_snapshots);
	/* In CSV every row must have the same columns. */
	if (has_items(diff, row) || emit->format == HSNAP_AS_CSV)
		hsnap_emit_numbers(emit, "items", diff->items + row->first, diff->num_snapshots);
	else
		hsnap_emit_null(emit, "items");
	hsnap_emit_i64(emit, "bytes_delta", row->bytes_delta);
	hsnap_emit_i64(emit, "count_delta", row->count_delta);
	hsnap_emit_end_object(emit);
	return true;
}

bool hsnap_diff_emit(const struct hsnap_diff_view *view)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_diff *diff = view->diff;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.diff/1");
	hsnap_emit_string(emit, "size_basis", diff->basis == HSNAP_BASIS_REQUESTED ? "requested" : "usable");
	hsnap_emit_begin_array(emit, "snapshots");
	for (size_t i = 0; i < diff->num_snapshots; i++)
		hsnap_emit_snapshot(emit, NULL, view->paths[i], view->snapshots[i]);
	hsnap_emit_end_array(emit);
	bool ok = true;
	hsnap_emit_begin_rows(emit, "types");
	for (size_t i = 0; ok && i < diff->rows.num; i++)
		ok = emit_row(view, &diff->rows.items[i]);
	hsnap_emit_end_array(emit);
	hsnap_emit_end_object(emit);
	return ok;
}
