/* SPDX-License-Identifier: MIT */
/* snapshot.c - life and death of struct hsnap_snapshot. */
#include "snapshot/snapshot.h"

#include <stdlib.h>

struct hsnap_snapshot *hsnap_snapshot_create(void)
{
	struct hsnap_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return NULL;
	hsnap_string unknown = hsnap_strings_add(&snapshot->strings, "unknown");
	if (unknown == HSNAP_NO_STRING ||
	    !hsnap_vec_push(&snapshot->modules, (struct hsnap_module){ 0 }) ||
	    !hsnap_vec_push(&snapshot->types,
			    (struct hsnap_type){ .name = unknown, .full_name = unknown }) ||
	    !hsnap_vec_push(&snapshot->stacks, (struct hsnap_stack){ 0 })) {
		hsnap_snapshot_destroy(snapshot);
		return NULL;
	}
	return snapshot;
}

void hsnap_snapshot_destroy(struct hsnap_snapshot *snapshot)
{
	if (!snapshot)
		return;
	hsnap_strings_deinit(&snapshot->strings);
	hsnap_vec_deinit(&snapshot->partial_reasons);
	hsnap_vec_deinit(&snapshot->notes);
	hsnap_vec_deinit(&snapshot->modules);
	hsnap_vec_deinit(&snapshot->types);
	hsnap_vec_deinit(&snapshot->members);
	hsnap_vec_deinit(&snapshot->rows);
	hsnap_vec_deinit(&snapshot->item_rows);
	hsnap_vec_deinit(&snapshot->account_arenas);
	hsnap_vec_deinit(&snapshot->account_parts);
	hsnap_vec_deinit(&snapshot->stacks);
	hsnap_vec_deinit(&snapshot->frames);
	hsnap_vec_deinit(&snapshot->grounds);
	hsnap_vec_deinit(&snapshot->others);
	hsnap_graph_deinit(&snapshot->graph);
	free(snapshot);
}

void hsnap_snapshot_destroyp(struct hsnap_snapshot **snapshot)
{
	hsnap_snapshot_destroy(*snapshot);
}
