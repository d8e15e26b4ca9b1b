/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - every block of a snapshot with its address, for judges that look at the process
 * itself: "0xADDRESS SIZE CONFIDENCE TYPE" a line.  blocks SNAP [STATE]: only those of that state.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/snapshot.h"

static void print_block(const struct hsnap_snapshot *snapshot, hsnap_node_id node)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	const struct hsnap_type *type = &snapshot->types.items[graph->type[node]];
	const char *holder = hsnap_text(snapshot, type->holder);
	printf("0x%" PRIx64 " %" PRIu64 " %s %s%s%s\n", graph->address[node],
	       hsnap_node_size(graph, node), hsnap_confidence_name(hsnap_node_confidence(graph, node)),
	       hsnap_text(snapshot, type->name), holder[0] ? " " : "", holder);
}

int main(int argc, char **argv)
{
	struct hsnap_error err = { 0 };
	struct hsnap_snapshot *snapshot = NULL;
	if (argc != 2 && argc != 3) {
		fputs("usage: blocks SNAP [STATE]\n", stderr);
		return 2;
	}
	if (hsnap_snapshot_read(argv[1], HSNAP_LOAD_NODES, &snapshot, &err)) {
		fprintf(stderr, "blocks: %s\n", err.message);
		return 4;
	}
	for (hsnap_node_id n = hsnap_first_block(&snapshot->graph); n < snapshot->graph.num_nodes; n++)
		if (argc == 2 || !strcmp(argv[2], hsnap_state_name(hsnap_node_state(&snapshot->graph, n))))
			print_block(snapshot, n);
	hsnap_snapshot_destroy(snapshot);
	return ferror(stdout) || fflush(stdout) ? 5 : 0;
}
