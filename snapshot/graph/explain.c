/* SPDX-License-Identifier: MIT */
/* explain.c - gathers what a block's name rests on. */
#include "snapshot/explain.h"

#include <string.h>

#define MAX_DEPTH 48
#define ROUNDING 16u /* bytes that an allocator leaves behind an object that fits */

const char *hsnap_fit_name(enum hsnap_fit_kind fit)
{
	static const char *const names[HSNAP_NUM_FITS] = { "unknown", "exact", "array", "flexible", "bigger" };
	return (unsigned)fit < HSNAP_NUM_FITS ? names[fit] : "unknown";
}

const char *hsnap_outcome_name(enum hsnap_outcome outcome)
{
	static const char *const names[HSNAP_NUM_OUTCOMES] = { "won", "weaker", "contests", "within", "size", "look" };
	return (unsigned)outcome < HSNAP_NUM_OUTCOMES ? names[outcome] : "weaker";
}

static const struct hsnap_type *type_at(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	return &snapshot->types.items[type];
}

/* One type may stand in the table for several modules' copies of it. */
static bool same_type(const struct hsnap_snapshot *snapshot, hsnap_type_id a, hsnap_type_id b)
{
	const struct hsnap_type *x = type_at(snapshot, a), *y = type_at(snapshot, b);
	return a == b || (a && b && x->kind == y->kind && x->size == y->size &&
			  !strcmp(hsnap_text(snapshot, x->full_name), hsnap_text(snapshot, y->full_name)));
}

/* ---- how it fits ---- */

static bool has_tail(const struct hsnap_snapshot *snapshot, const struct hsnap_type *type)
{
	if (!type->num_members)
		return false;
	hsnap_type_id last = snapshot->members.items[type->first_member + type->num_members - 1].type;
	return type_at(snapshot, last)->kind == HSNAP_TYPE_ARRAY;
}

static void find_fit(const struct hsnap_snapshot *snapshot, struct hsnap_explanation *explanation)
{
	const struct hsnap_type *type = type_at(snapshot, snapshot->graph.type[explanation->node]);
	uint64_t size = hsnap_node_size(&snapshot->graph, explanation->node);
	bool run = type->kind == HSNAP_TYPE_ARRAY && !type->size;
	uint64_t each = run ? type_at(snapshot, type->element)->size : type->size;
	bool usable = snapshot->facts.basis == HSNAP_BASIS_USABLE ||
		      snapshot->graph.flags[explanation->node] & HSNAP_FLAG_NO_RECORD;
	if (!each || type->kind == HSNAP_TYPE_LABEL || type->kind == HSNAP_TYPE_UNKNOWN)
		return;
	if (run) {
		explanation->fit = HSNAP_FIT_ARRAY;
		explanation->items = size / each;
		explanation->rest = size % each;
		return;
	}
	explanation->rest = size > each ? size - each : 0;
	if (size >= each && explanation->rest < (usable ? ROUNDING : 1))
		explanation->fit = HSNAP_FIT_EXACT;
	else if (has_tail(snapshot, type))
		explanation->fit = HSNAP_FIT_FLEXIBLE;
	else if (size >= each)
		explanation->fit = HSNAP_FIT_BIGGER;
}

/* ---- who lost, and why ---- */

/* Is an `inner` at the very start of an `outer`? */
static bool begins_with(const struct hsnap_snapshot *snapshot, hsnap_type_id outer, hsnap_type_id inner)
{
	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		if (same_type(snapshot, outer, inner))
			return true;
		const struct hsnap_type *type = type_at(snapshot, outer);
		if (type->kind != HSNAP_TYPE_STRUCT || !type->num_members ||
		    snapshot->members.items[type->first_member].offset)
			return false;
		outer = snapshot->members.items[type->first_member].type;
	}
	return false;
}

static enum hsnap_outcome outcome_of(const struct hsnap_snapshot *snapshot, const struct hsnap_explanation *explanation,
				     const struct hsnap_other *other)
{
	if (begins_with(snapshot, explanation->name.type, other->type))
		return HSNAP_OUTCOME_WITHIN;
	if (other->verdict != HSNAP_VERDICT_LOST)
		return other->verdict == HSNAP_VERDICT_SIZE ? HSNAP_OUTCOME_SIZE : HSNAP_OUTCOME_LOOK;
	return other->evidence >= explanation->name.evidence ? HSNAP_OUTCOME_CONTESTS : HSNAP_OUTCOME_WEAKER;
}

static bool add_others(const struct hsnap_snapshot *snapshot, const struct hsnap_grounds *grounds,
		       struct hsnap_explanation *explanation)
{
	for (uint32_t i = 0; i < grounds->num_others; i++) {
		const struct hsnap_other *other = &snapshot->others.items[grounds->first_other + i];
		struct hsnap_said said = { .type = other->type, .evidence = other->evidence, .place.node = HSNAP_NO_NODE };
		said.outcome = (uint8_t)outcome_of(snapshot, explanation, other);
		if (!hsnap_vec_push(&explanation->others, said))
			return false;
	}
	return true;
}

/* ---- the places that say so ---- */

/* Of a block without a name it is told who holds it. */
static bool goes_by_pointers(uint8_t evidence)
{
	return evidence <= HSNAP_EVIDENCE_RUN ||
	       (evidence >= HSNAP_EVIDENCE_LANDING && evidence <= HSNAP_EVIDENCE_CONTAINER);
}

/* Containers declare their nodes as something smaller, what lands behind a void pointer is declared nowhere. */
static bool is_declared(uint8_t evidence)
{
	return evidence == HSNAP_EVIDENCE_GUESS || evidence == HSNAP_EVIDENCE_RUN || evidence == HSNAP_EVIDENCE_POINTER;
}

/* Does a pointer declared so lead to an object of the type, or to a run of them? */
static bool leads_to(const struct hsnap_snapshot *snapshot, hsnap_type_id pointer, hsnap_type_id type)
{
	const struct hsnap_type *of = type_at(snapshot, type);
	hsnap_type_id target = type_at(snapshot, pointer)->element;
	return pointer && target &&
	       (same_type(snapshot, target, type) ||
		(of->kind == HSNAP_TYPE_ARRAY && !of->size && same_type(snapshot, target, of->element)));
}

static void offer_place(const struct hsnap_snapshot *snapshot, struct hsnap_said *said, const struct hsnap_place *place)
{
	bool says_so = leads_to(snapshot, place->declared, said->type);
	if (!goes_by_pointers(said->evidence) || (!says_so && is_declared(said->evidence)))
		return;
	bool has = said->place.node != HSNAP_NO_NODE;
	bool has_better = has && leads_to(snapshot, said->place.declared, said->type);
	if (has && (has_better || !says_so)) {
		said->place.others += has_better == says_so;
		return;
	}
	said->place = *place; /* the first that says so, else the first at all */
}

/* What has no name is called by who holds it, be it by a word that nobody declared a pointer. */
static bool is_description(uint8_t evidence)
{
	return evidence == HSNAP_EVIDENCE_NONE || evidence == HSNAP_EVIDENCE_TOLD;
}

/* One edge that leads to the block; *word is the first of those that say nothing of its type. */
static void look_at_edge(const struct hsnap_snapshot *snapshot, hsnap_node_id from, uint32_t edge,
			 struct hsnap_explanation *explanation, struct hsnap_place *word)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	struct hsnap_place place = { .node = from, .offset = graph->edge_offset[edge] };
	if (graph->edge_to[edge] & HSNAP_EDGE_WEAK ||
	    !hsnap_member_pointer(snapshot, graph->type[from], place.offset, &place.declared)) {
		place.weak = true;
		place.declared = HSNAP_NO_TYPE;
		if (word->node == HSNAP_NO_NODE)
			*word = place;
		else
			word->others++;
		return;
	}
	offer_place(snapshot, &explanation->name, &place);
	for (size_t i = 0; i < explanation->others.num; i++)
		offer_place(snapshot, &explanation->others.items[i], &place);
}

static void find_places(const struct hsnap_snapshot *snapshot, struct hsnap_explanation *explanation)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	struct hsnap_place word = { .node = HSNAP_NO_NODE };
	for (hsnap_node_id node = 1; graph->first_edge && node < graph->num_nodes; node++)
		for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++)
			if ((graph->edge_to[e] & ~HSNAP_EDGE_WEAK) == explanation->node && node != explanation->node)
				look_at_edge(snapshot, node, e, explanation, &word);
	if (explanation->name.place.node == HSNAP_NO_NODE && (explanation->rule || is_description(explanation->name.evidence)))
		explanation->name.place = word;
}

enum hsnap_code hsnap_explain(const struct hsnap_snapshot *snapshot, hsnap_node_id node,
			      struct hsnap_explanation *ret, struct hsnap_error *err)
{
	struct hsnap_explanation explanation = { .node = node };
	uint32_t number = snapshot->graph.grounds ? snapshot->graph.grounds[node] : 0;
	explanation.name = (struct hsnap_said){ .type = snapshot->graph.type[node], .place.node = HSNAP_NO_NODE };
	find_fit(snapshot, &explanation);
	if (number) {
		const struct hsnap_grounds *grounds = &snapshot->grounds.items[number];
		explanation.known = true;
		explanation.more = grounds->more;
		explanation.conflicts = grounds->conflicts;
		explanation.rule = grounds->rule;
		explanation.name.evidence = grounds->evidence;
		if (!add_others(snapshot, grounds, &explanation)) {
			hsnap_explanation_deinit(&explanation);
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
		}
	}
	find_places(snapshot, &explanation);
	*ret = explanation;
	return HSNAP_OK;
}

void hsnap_explanation_deinit(struct hsnap_explanation *explanation)
{
	hsnap_vec_deinit(&explanation->others);
}
