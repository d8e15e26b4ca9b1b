/* SPDX-License-Identifier: MIT */
/*
 * flows.c - from single steps of pointers to what they can be.
 *
 * What a member can lead to is what flows out of it and what flows into it, through variables,
 * parameters and results of no type, each way by itself: whoever else hands something to the
 * function that frees it says nothing of it.
 */
#include "capture/symbols/flows.h"

#include <string.h>

#include "snapshot/base/search.h"

#define MAX_EDGES (UINT32_C(4) << 20)
#define MAX_HOPS 6       /* of one value between functions */
#define MAX_REACHED 256 /* ends that one member's value gets to */
#define MAX_NESTING 64
#define A_BITS 36
#define B_BITS (60 - A_BITS)

/* Kinds without `b` have all the room for `a`: addresses and offsets of entries. */
static bool has_b(enum hsnap_flow_kind kind)
{
	return kind == HSNAP_FLOW_MEMBER || kind == HSNAP_FLOW_PARAMETER;
}

hsnap_flow_end hsnap_flow_end_of(enum hsnap_flow_kind kind, uint64_t a, uint64_t b)
{
	bool fits = has_b(kind) ? a >> A_BITS == 0 && b >> B_BITS == 0 : a >> 60 == 0;
	if (!fits)
		return 0;
	return (uint64_t)kind << 60 | (has_b(kind) ? a << B_BITS | b : a);
}

static uint64_t a_of(hsnap_flow_end end)
{
	uint64_t value = end & ((UINT64_C(1) << 60) - 1);
	return has_b(hsnap_flow_kind_of(end)) ? value >> B_BITS : value;
}

static uint64_t b_of(hsnap_flow_end end)
{
	return has_b(hsnap_flow_kind_of(end)) ? end & ((UINT64_C(1) << B_BITS) - 1) : 0;
}

uint32_t hsnap_flow_type(hsnap_flow_end end)
{
	return (uint32_t)a_of(end);
}

void hsnap_flows_deinit(struct hsnap_flows *flows)
{
	hsnap_vec_deinit(&flows->edges);
}

bool hsnap_flows_add(struct hsnap_flows *flows, hsnap_flow_end from, hsnap_flow_end to)
{
	if (!from || !to || from == to)
		return true;
	/* What is new is mostly the same as what was just seen. */
	for (size_t i = flows->edges.num; i > flows->done && i + 8 > flows->edges.num; i--)
		if (flows->edges.items[i - 1].from == from && flows->edges.items[i - 1].to == to)
			return true;
	flows->overflow |= flows->edges.num >= MAX_EDGES;
	return !flows->overflow && hsnap_vec_push(&flows->edges, (struct hsnap_flow_edge){ from, to, 1 });
}

static int compare_edges(const void *a, const void *b)
{
	const struct hsnap_flow_edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Sorted by from or, backwards, by to. */
static int compare_back(const void *a, const void *b)
{
	const struct hsnap_flow_edge *x = a, *y = b;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Sort and merge what is equal; `count`: their times add up, else they stay once. */
static size_t merge_edges(struct hsnap_flow_edge *edges, size_t num, bool count)
{
	size_t kept = 0;
	if (num)
		qsort(edges, num, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < num; i++) {
		if (!kept || compare_edges(&edges[kept - 1], &edges[i]))
			edges[kept++] = edges[i];
		else if (count)
			edges[kept - 1].times += edges[i].times;
	}
	return kept;
}

void hsnap_flows_end_function(struct hsnap_flows *flows)
{
	if (flows->edges.num > flows->done)
		flows->edges.num = flows->done +
				   merge_edges(flows->edges.items + flows->done, flows->edges.num - flows->done, false);
	flows->done = flows->edges.num;
}

/* --- the ways of one member --- */

struct reached {
	hsnap_flow_end end;
	uint32_t times;
	unsigned hops;
};

struct search {
	const struct hsnap_flow_edge *forth, *back; /* the edges in both orders */
	size_t num;
	struct hsnap_vec(struct reached) reached;
	bool failed; /* out of memory */
};

static void reach(struct search *search, hsnap_flow_end end, uint32_t times, unsigned hops)
{
	for (size_t i = 0; i < search->reached.num; i++) {
		if (search->reached.items[i].end != end)
			continue;
		if (!hops) /* a type, which can be got to in many ways */
			search->reached.items[i].times += times;
		return;
	}
	if (search->reached.num < MAX_REACHED &&
	    !hsnap_vec_push(&search->reached, (struct reached){ end, times, hops }))
		search->failed = true;
}

/* Follow the edges from `start`, or to it, through what has no type. */
static void spread(struct search *search, hsnap_flow_end start, bool back)
{
	const struct hsnap_flow_edge *edges = back ? search->back : search->forth;
	size_t first = search->reached.num; /* types of the other direction stay */
	hsnap_flow_end here = start;
	unsigned hops = 0;
	for (size_t next = first;;) {
		size_t e = back ? hsnap_first(search->num, i, edges[i].to >= here)
				: hsnap_first(search->num, i, edges[i].from >= here);
		for (; e < search->num && (back ? edges[e].to : edges[e].from) == here; e++) {
			hsnap_flow_end other = back ? edges[e].from : edges[e].to;
			enum hsnap_flow_kind kind = hsnap_flow_kind_of(other);
			if (kind == HSNAP_FLOW_TYPE || kind == HSNAP_FLOW_OPAQUE)
				reach(search, other, edges[e].times, 0);
			else if (kind != HSNAP_FLOW_MEMBER && hops < MAX_HOPS)
				reach(search, other, 0, hops + 1);
		}
		while (next < search->reached.num && !search->reached.items[next].hops)
			next++;
		if (next == search->reached.num)
			break;
		here = search->reached.items[next].end;
		hops = search->reached.items[next++].hops;
	}
	/* What was passed through is not wanted, and must not keep the other direction away. */
	size_t kept = first;
	for (size_t i = first; i < search->reached.num; i++)
		if (!search->reached.items[i].hops)
			search->reached.items[kept++] = search->reached.items[i];
	search->reached.num = kept;
}

static bool answer_member(struct search *search, hsnap_flow_end member, struct hsnap_symbols *out)
{
	search->reached.num = 0;
	spread(search, member, false);
	spread(search, member, true);
	for (size_t i = 0; i < search->reached.num; i++) {
		const struct reached *reached = &search->reached.items[i];
		struct hsnap_dlanding landing = {
			.holder = (uint32_t)a_of(member), .offset = b_of(member),
			.type = (uint32_t)a_of(reached->end), .sites = reached->times,
		};
		if (!hsnap_vec_push(&out->landings, landing))
			return false;
	}
	return !search->failed;
}

/* --- all of it --- */

static bool answer_members(struct search *search, struct hsnap_symbols *out)
{
	/* Each member is somewhere in one of the orders. */
	hsnap_flow_end last = 0;
	for (size_t i = 0, k = 0; i < search->num || k < search->num;) {
		hsnap_flow_end from = i < search->num ? search->forth[i].from : UINT64_MAX;
		hsnap_flow_end to = k < search->num ? search->back[k].to : UINT64_MAX;
		hsnap_flow_end here = from < to ? from : to;
		i += i < search->num && from == here;
		k += k < search->num && to == here;
		if (here == last || hsnap_flow_kind_of(here) != HSNAP_FLOW_MEMBER)
			continue;
		last = here;
		if (!answer_member(search, here, out))
			return false;
	}
	return true;
}

/* Either way a handle becomes its object, or an object its handle. */
static bool answer_opaque(const struct hsnap_flow_edge *edge, struct hsnap_symbols *out)
{
	bool out_of = hsnap_flow_kind_of(edge->from) == HSNAP_FLOW_OPAQUE;
	hsnap_flow_end opaque = out_of ? edge->from : edge->to, type = out_of ? edge->to : edge->from;
	if (hsnap_flow_kind_of(opaque) != HSNAP_FLOW_OPAQUE || hsnap_flow_kind_of(type) != HSNAP_FLOW_TYPE)
		return true;
	struct hsnap_dalias alias = { .opaque = (uint32_t)a_of(opaque), .type = (uint32_t)a_of(type), .sites = edge->times };
	return hsnap_vec_push(&out->aliases, alias);
}

bool hsnap_flows_answer(struct hsnap_flows *flows, struct hsnap_symbols *out)
{
	flows->edges.num = merge_edges(flows->edges.items, flows->edges.num, true);
	size_t num = flows->edges.num;
	struct hsnap_flow_edge *back = calloc(num + 1, sizeof(*back));
	if (!back)
		return false;
	if (num) {
		memcpy(back, flows->edges.items, num * sizeof(*back));
		qsort(back, num, sizeof(*back), compare_back);
	}
	struct search search = { .forth = flows->edges.items, .back = back, .num = num };
	bool ok = answer_members(&search, out);
	for (size_t i = 0; ok && i < num; i++)
		ok = answer_opaque(&flows->edges.items[i], out);
	hsnap_vec_deinit(&search.reached);
	free(back);
	return ok;
}

/* --- in terms of the module's own types --- */

static bool is_struct(const struct hsnap_symbols *out, hsnap_dtype_id type)
{
	uint8_t kind = out->types.items[type].kind;
	return kind == HSNAP_DTYPE_STRUCT || kind == HSNAP_DTYPE_UNION;
}

static void merge_landings(struct hsnap_symbols *out)
{
	struct hsnap_dlanding *items = out->landings.items;
	size_t kept = 0;
	if (out->landings.num)
		qsort(items, out->landings.num, sizeof(*items), hsnap_compare_landings);
	for (size_t i = 0; i < out->landings.num; i++) {
		uint8_t kind = out->types.items[items[i].type].kind;
		bool wanted = is_struct(out, items[i].type) || kind == HSNAP_DTYPE_INCOMPLETE || kind == HSNAP_DTYPE_BYTE;
		if (!wanted || !is_struct(out, items[i].holder) || items[i].offset >= out->types.items[items[i].holder].size)
			continue;
		if (kept && !hsnap_compare_landings(&items[kept - 1], &items[i]))
			items[kept - 1].sites += items[i].sites;
		else
			items[kept++] = items[i];
	}
	out->landings.num = kept;
}

static int compare_aliases(const void *a, const void *b)
{
	const struct hsnap_dalias *x = a, *y = b;
	if (x->opaque != y->opaque)
		return x->opaque < y->opaque ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

/* Is the one at the start of the other, as its first member? */
static bool begins_with(const struct hsnap_symbols *out, hsnap_dtype_id outer, hsnap_dtype_id inner)
{
	for (unsigned depth = 0; depth < MAX_NESTING && outer != inner; depth++) {
		const struct hsnap_dtype *type = &out->types.items[outer];
		if (type->kind != HSNAP_DTYPE_STRUCT || !type->num_members || out->members.items[type->first_member].offset)
			return false;
		outer = out->members.items[type->first_member].type;
	}
	return outer == inner;
}

/* Of the aliases of one handle, all of different types: the one with the most sites. */
static struct hsnap_dalias best_alias(const struct hsnap_symbols *out, const struct hsnap_dalias *aliases, size_t num)
{
	struct hsnap_dalias best = aliases[0];
	for (size_t i = 1; i < num; i++)
		if (aliases[i].sites > best.sites)
			best = aliases[i];
	for (size_t i = 0; i < num; i++)
		if (!begins_with(out, best.type, aliases[i].type))
			best.against += aliases[i].sites;
	return best;
}

static void merge_aliases(struct hsnap_symbols *out)
{
	struct hsnap_dalias *items = out->aliases.items;
	size_t kept = 0, best = 0;
	if (out->aliases.num)
		qsort(items, out->aliases.num, sizeof(*items), compare_aliases);
	for (size_t i = 0; i < out->aliases.num; i++) {
		if (!is_struct(out, items[i].type) || out->types.items[items[i].opaque].kind != HSNAP_DTYPE_INCOMPLETE)
			continue;
		if (kept && !compare_aliases(&items[kept - 1], &items[i]))
			items[kept - 1].sites += items[i].sites;
		else
			items[kept++] = items[i];
	}
	for (size_t i = 0, end; i < kept; i = end) {
		for (end = i + 1; end < kept && items[end].opaque == items[i].opaque;)
			end++;
		items[best++] = best_alias(out, &items[i], end - i);
	}
	out->aliases.num = best;
}

void hsnap_flows_merge(struct hsnap_symbols *out)
{
	merge_landings(out);
	merge_aliases(out);
}
