/* SPDX-License-Identifier: MIT */
/*
 * graph_text.h - a snapshot from a few words, so that a test case is one line.
 *
 *	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
 *		.types = "Cart=32{items:Item*@0,next:Cart*@8} Item=16{price:long@0}",
 *		.roots = "global:cart stack:argv/main%worker",
 *		.blocks = "a:Cart b:Item[]/48 c/100",
 *		.edges = "cart>a a>b a.8>a b.32~c",
 *	});
 *
 * Each string is words between white space (any may be NULL); "_" in a name is kept as it is.
 * A mistake in the text ends the test with a message.
 *
 * types   NAME[=SIZE][{MEMBER:TYPE@OFFSET,…}][%UNIT][^HOLDER]  "union:" or "label:" in front for those.
 *         "" as MEMBER: a base or an anonymous struct.  TYPE and blocks' types may be
 *         T*, T[N] and T[] of any named T: made when first met; so are char, int, long, void.
 *         In labels and holders "_" stands for a blank.
 * roots   KIND:NAME[=TYPE][@SOURCE][/FUNCTION][%THREAD][!]     KIND as in the JSON; "!": weak
 * blocks  NAME[*COUNT][:TYPE][^HOLDER][/SIZE][+SLACK][@0xADDRESS][!CONFIDENCE][&STACK]
 *         *COUNT: NAME0, NAME1, …  SIZE: of the type, else 10.  Addresses: one behind the
 *         other from 0x10000 on, 16 bytes apart at least.  STACK: 1 is the first of `stacks`.
 * edges   FROM[.OFFSET]>TO, or ~ for a weak one.  OFFSET: 8 × the number of FROM's edges so far.
 * stacks  FUNCTION[(SOURCE)]<FUNCTION…   innermost first
 * modules PATH[=BUILDID]; without: "/usr/bin/app", which is the executable.  All is in the first.
 *
 * With `account` there is a memory account too.  States are marked and rows summed at the end, but with `keep_states`.
 */
#ifndef HSNAP_TESTS_SUPPORT_GRAPH_TEXT_H
#define HSNAP_TESTS_SUPPORT_GRAPH_TEXT_H

#include "snapshot/snapshot.h"

struct graph_text {
	const char *types, *roots, *blocks, *edges, *stacks, *modules;
	bool keep_states;
	bool account; /* one of fixed numbers, each other than the rest */
};

/* For hsnap_snapshot_destroy(); never NULL. */
struct hsnap_snapshot *snapshot_from_text(const struct graph_text *text);

/* The node of a block's or root's name as in the text: only right after snapshot_from_text(). */
hsnap_node_id node_from_text(const char *name);
/* And back: "a", "cart"; "root" for the super-root, "-" for HSNAP_NO_NODE.  Borrowed. */
const char *node_to_text(hsnap_node_id node);
/* The type of that name, without holder; a test's mistake if there is none. */
hsnap_type_id type_from_text(const struct hsnap_snapshot *snapshot, const char *name);

#endif
