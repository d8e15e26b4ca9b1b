/* SPDX-License-Identifier: MIT */
/* leaks_json.c - leaks as JSON and CSV. */
#include "cli/head.h"
#include "cli/leaks_view.h"
#include "cli/names.h"

static void emit_drag(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks,
		      const struct hsnap_drag *drag)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "via", hsnap_str(&leaks->strings, drag->via));
	if (drag->max)
		hsnap_emit_u64(emit, "max", drag->max);
	hsnap_emit_type(emit, view->snapshot, drag->type);
	hsnap_emit_u64(emit, "count", drag->count);
	hsnap_emit_u64(emit, "bytes", drag->bytes);
	if (drag->weak)
		hsnap_emit_bool(emit, "weak", true);
	hsnap_emit_end_object(emit);
}

static void emit_group(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks,
		       const struct hsnap_leak_group *group, enum hsnap_state state)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_type(emit, view->snapshot, group->type);
	hsnap_emit_site(emit, "site", view->snapshot, group->site);
	hsnap_emit_u64(emit, "heads", group->heads);
	hsnap_emit_u64(emit, "head_bytes", group->head_bytes);
	hsnap_emit_u64(emit, "count", group->count);
	hsnap_emit_u64(emit, "bytes", group->bytes);
	hsnap_emit_bool(emit, "cycle", group->cycle);
	hsnap_emit_begin_array(emit, "drags");
	for (uint32_t i = 0; i < group->num_drags; i++)
		emit_drag(view, leaks, &leaks->drags.items[group->first_drag + i]);
	hsnap_emit_end_array(emit);
	hsnap_emit_string(emit, "state", hsnap_state_name(state));
	hsnap_emit_end_object(emit);
}

static void emit_groups(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks, enum hsnap_state state)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_u64(emit, "count", leaks->count);
	hsnap_emit_u64(emit, "bytes", leaks->bytes);
	hsnap_emit_begin_rows(emit, "groups");
	for (size_t i = 0; i < leaks->groups.num; i++)
		emit_group(view, leaks, &leaks->groups.items[i], state);
	hsnap_emit_end_array(emit);
}

void hsnap_leaks_emit(const struct hsnap_leaks_view *view)
{
	struct hsnap_emit *emit = view->emit;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.leaks/1");
	hsnap_emit_snapshot(emit, "snapshot", view->path, view->snapshot);
	emit_groups(view, view->leaks, HSNAP_UNREACHABLE);
	hsnap_emit_begin_object(emit, "possible");
	emit_groups(view, view->possible, HSNAP_POSSIBLE);
	hsnap_emit_end_object(emit);
	if (hsnap_emit_needs_header(emit)) {
		emit->header_only = true;
		hsnap_emit_begin_rows(emit, "groups");
		emit_group(view, view->leaks, &(struct hsnap_leak_group){ 0 }, HSNAP_UNREACHABLE);
		hsnap_emit_end_array(emit);
	}
	hsnap_emit_end_object(emit);
}
