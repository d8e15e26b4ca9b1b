/* SPDX-License-Identifier: MIT */
/*
 * behind.c - from places that have a name, along all edges, to the blocks that have none.
 *
 * Breadth first, so that a block is told by what is nearest.  A stale word on a stack may
 * lead anywhere: places of that kind have their turn when the others have reached all they can.
 */
#include "capture/naming/behind.h"

#include "capture/naming/holders.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

/* The turns that places have: declared pointers, other words of objects and variables, data that has no type,
 * stacks and the like, text. */
enum turn { DECLARED, NAMED, DATA, STALE, TEXT, NUM_TURNS };

struct behind {
	struct hsnap_work *work;
	struct hsnap_convert *convert;
	hsnap_string *where;
	uint32_t *queue; /* blocks whose edges are to be followed */
	size_t num_queued, taken;
	struct hsnap_keymap direct; /* {kind, a; offset} of a place → "in …" */
	struct hsnap_keymap beyond; /* "in …" → "behind …" */
	bool failed;                /* out of memory */
};

static void behind_deinit(struct behind *behind)
{
	hsnap_pages_free(behind->queue, behind->work->num_blocks, sizeof(*behind->queue));
	hsnap_keymap_deinit(&behind->direct);
	hsnap_keymap_deinit(&behind->beyond);
}

static hsnap_string keep(struct behind *behind, hsnap_string s)
{
	behind->failed |= s == HSNAP_NO_STRING;
	return s == HSNAP_NO_STRING ? 0 : s;
}

static bool is_object(const struct hsnap_claim *claim)
{
	return claim->form == HSNAP_FORM_ONE || claim->form == HSNAP_FORM_RUN;
}

/* All elements of a run, and of a flexible tail, are one place. */
static uint64_t fold(struct hsnap_work *work, const struct hsnap_claim *claim, uint64_t offset)
{
	uint64_t each = hsnap_dtype(work->symbols, claim->type)->size;
	if (claim->form == HSNAP_FORM_RUN)
		return each ? offset % each : offset;
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, claim->type);
	uint64_t tail = plan->tail ? hsnap_dtype(work->symbols, plan->tail)->size : 0;
	return tail && offset >= plan->tail_offset ? plan->tail_offset + (offset - plan->tail_offset) % tail : offset;
}

static hsnap_string holder_text(struct behind *behind, struct hsnap_holder holder, uint64_t offset)
{
	bool is_new;
	struct hsnap_key key = { (uint64_t)holder.kind << 32 | holder.a, holder.b + offset };
	uint32_t *text = hsnap_keymap_at(&behind->direct, key, &is_new);
	behind->failed |= !text;
	if (!text || !is_new)
		return text ? *text : 0;
	holder.b += offset;
	*text = keep(behind, hsnap_holder_text(behind->work, behind->convert, holder));
	return *text;
}

/* Roots that no variable names. */
static hsnap_string area_text(struct behind *behind, const struct hsnap_root *root)
{
	struct hsnap_snapshot *snapshot = behind->work->snapshot;
	const char *name = hsnap_text(snapshot, root->name), *function = hsnap_text(snapshot, root->function);
	const char *module = hsnap_last_part(hsnap_text(snapshot, snapshot->modules.items[root->module].path));
	switch (root->kind) {
	case HSNAP_ROOT_GLOBAL:
	case HSNAP_ROOT_STATIC:
		return hsnap_strings_addf(&snapshot->strings, "in data of %s", module[0] ? module : "a module");
	case HSNAP_ROOT_THREAD_LOCAL:
		return name[0] ? hsnap_strings_addf(&snapshot->strings, "in %s", name)
			       : hsnap_strings_add(&snapshot->strings, "in thread-local data");
	case HSNAP_ROOT_STACK:
		return function[0] ? hsnap_strings_addf(&snapshot->strings, "in the stack of %s", function)
				   : hsnap_strings_add(&snapshot->strings, "in a stack");
	case HSNAP_ROOT_REGISTER:
		return hsnap_strings_add(&snapshot->strings, "in a register");
	case HSNAP_ROOT_KERNEL:
		return hsnap_strings_add(&snapshot->strings, "in the kernel");
	case HSNAP_ROOT_MAPPING:
		return hsnap_strings_add(&snapshot->strings, "in a mapping");
	default:
		return hsnap_strings_add(&snapshot->strings, "in a root");
	}
}

static hsnap_string root_text(struct behind *behind, uint32_t r, uint64_t offset)
{
	const struct hsnap_segment *segment = &behind->work->segments.items[r];
	if (segment->type)
		return holder_text(behind, hsnap_place_of_segment(behind->work, r), offset - segment->into);
	if (segment->variable)
		return keep(behind, hsnap_strings_addf(&behind->work->snapshot->strings, "in %s",
						       hsnap_text(behind->work->snapshot, segment->root.name)));
	return keep(behind, area_text(behind, &segment->root));
}

static hsnap_string block_text(struct behind *behind, uint32_t b, uint64_t offset)
{
	struct hsnap_work *work = behind->work;
	const struct hsnap_claim *claim = &work->claims[b];
	return holder_text(behind, hsnap_place_of_block(work, b), fold(work, claim, offset));
}

/* "behind DictNode.value" of "in DictNode.value", "behind what parse_line made" of "from parse_line". */
static hsnap_string beyond(struct behind *behind, hsnap_string place)
{
	bool is_new;
	struct hsnap_strings *strings = &behind->work->snapshot->strings;
	uint32_t *text = hsnap_keymap_at(&behind->beyond, (struct hsnap_key){ place, 0 }, &is_new);
	behind->failed |= !text;
	if (!text || !is_new)
		return text ? *text : 0;
	const char *direct = hsnap_text(behind->work->snapshot, place);
	if (!strncmp(direct, "in ", 3))
		*text = keep(behind, hsnap_strings_addf(strings, "behind %s", direct + 3));
	else if (!strncmp(direct, "from ", 5))
		*text = keep(behind, hsnap_strings_addf(strings, "behind what %s made", direct + 5));
	else
		*text = place;
	return *text;
}

/* Bytes that nobody holds by a name: "behind char[]". */
static hsnap_string bytes_text(struct behind *behind, uint32_t b)
{
	struct hsnap_snapshot *snapshot = behind->work->snapshot;
	hsnap_type_id type = hsnap_convert_type(behind->convert, behind->work->claims[b].type);
	return keep(behind, hsnap_strings_addf(&snapshot->strings, "behind %s[]",
					       hsnap_text(snapshot, snapshot->types.items[type].name)));
}

static void reach(struct behind *behind, uint32_t b, hsnap_string text)
{
	if (!text)
		return;
	behind->where[b] = text;
	behind->queue[behind->num_queued++] = b;
}

/* The block without type and place that an edge leads to, or HSNAP_NO_BLOCK. */
static uint32_t target_of(const struct behind *behind, uint32_t e)
{
	const struct hsnap_graph *graph = &behind->work->snapshot->graph;
	uint32_t b = (graph->edge_to[e] & ~HSNAP_EDGE_WEAK) - hsnap_first_block(graph);
	return behind->work->claims[b].type || behind->where[b] ? HSNAP_NO_BLOCK : b;
}

/* A block of which something is known is a place itself. */
static void leave_block(struct behind *behind, uint32_t b, enum turn turn)
{
	const struct hsnap_graph *graph = &behind->work->snapshot->graph;
	const struct hsnap_claim *claim = &behind->work->claims[b];
	hsnap_node_id node = hsnap_first_block(graph) + b;
	for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1] && !behind->failed; e++) {
		uint32_t to = target_of(behind, e);
		if (to == HSNAP_NO_BLOCK || (turn == DECLARED && (graph->edge_to[e] & HSNAP_EDGE_WEAK)))
			continue;
		if (is_object(claim))
			reach(behind, to, block_text(behind, b, graph->edge_offset[e]));
		else
			reach(behind, to, behind->where[b] ? beyond(behind, behind->where[b]) : bytes_text(behind, b));
	}
}

/* In whose turn does the root come? */
static enum turn turn_of_root(const struct hsnap_segment *segment)
{
	if (segment->type || segment->variable)
		return segment->root.weak || segment->root.kind == HSNAP_ROOT_STACK ? DATA : NAMED;
	switch (segment->root.kind) {
	case HSNAP_ROOT_STACK:
	case HSNAP_ROOT_REGISTER:
	case HSNAP_ROOT_MAPPING:
		return STALE;
	default:
		return DATA;
	}
}

static void leave_roots(struct behind *behind, enum turn turn)
{
	const struct hsnap_graph *graph = &behind->work->snapshot->graph;
	for (uint32_t r = 0; r < graph->num_roots; r++) {
		if (turn_of_root(&behind->work->segments.items[r]) != turn)
			continue;
		for (uint32_t e = graph->first_edge[1 + r]; e < graph->first_edge[1 + r + 1] && !behind->failed; e++) {
			uint32_t to = target_of(behind, e);
			if (to != HSNAP_NO_BLOCK)
				reach(behind, to, root_text(behind, r, graph->edge_offset[e]));
		}
	}
}

/* Text may stand where there were pointers before, or end in front of them: a buffer of stdin's holds nobody. */
static void leave_blocks(struct behind *behind, enum turn turn)
{
	for (uint32_t b = 0; b < behind->work->num_blocks && !behind->failed; b++)
		if (behind->work->claims[b].type && is_object(&behind->work->claims[b]) == (turn != TEXT))
			leave_block(behind, b, turn);
}

/* On from what has just got its place. */
static void follow(struct behind *behind)
{
	for (; behind->taken < behind->num_queued && !behind->failed; behind->taken++)
		leave_block(behind, behind->queue[behind->taken], NAMED);
}

/* Blocks that have a place and no type; false: all have one. */
static bool queue_labelled(struct behind *behind)
{
	bool any = false;
	for (uint32_t b = 0; b < behind->work->num_blocks; b++) {
		if (behind->work->claims[b].type)
			continue;
		if (behind->where[b])
			behind->queue[behind->num_queued++] = b;
		else
			any = true;
	}
	return any;
}

enum hsnap_code hsnap_find_behind(struct hsnap_work *work, struct hsnap_convert *convert, hsnap_string *where,
				  struct hsnap_error *err)
{
	hsnap_auto(behind_deinit) struct behind behind = { .work = work, .convert = convert, .where = where };
	behind.queue = hsnap_pages_alloc(work->num_blocks, sizeof(*behind.queue));
	if (!behind.queue)
		return hsnap_no_memory(err);
	if (!queue_labelled(&behind))
		return HSNAP_OK;
	for (enum turn turn = DECLARED; turn < NUM_TURNS; turn++) {
		leave_roots(&behind, turn);
		if (turn < DATA || turn == TEXT)
			leave_blocks(&behind, turn);
		if (turn >= NAMED)
			follow(&behind);
	}
	return behind.failed || convert->failed ? hsnap_no_memory(err) : HSNAP_OK;
}
