/* SPDX-License-Identifier: MIT */
/* test_explain.c - from grounds, types and edges to why a block is called what it is. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/explain.h"
#include "tests/support/graph_text.h"

static struct hsnap_snapshot *s;

/* What a name rests on, as grounds of the snapshot for one block. */
static void ground(const char *block, struct hsnap_grounds grounds, size_t num, const struct hsnap_other *others)
{
	if (!s->graph.grounds) {
		cr_assert_eq(hsnap_graph_alloc_grounds(&s->graph, NULL), HSNAP_OK);
		cr_assert(hsnap_vec_push(&s->grounds, (struct hsnap_grounds){ 0 }));
	}
	grounds.first_other = (uint32_t)s->others.num;
	grounds.num_others = (uint32_t)num;
	for (size_t i = 0; i < num; i++)
		cr_assert(hsnap_vec_push(&s->others, others[i]));
	cr_assert(hsnap_vec_push(&s->grounds, grounds));
	s->graph.grounds[node_from_text(block)] = (uint16_t)(s->grounds.num - 1);
}

#define OTHERS(...) \
	sizeof((const struct hsnap_other[]){ __VA_ARGS__ }) / sizeof(struct hsnap_other), (const struct hsnap_other[]){ __VA_ARGS__ }

static void add_said(char *text, size_t size, const struct hsnap_said *said)
{
	char path[64];
	size_t used = strlen(text);
	const struct hsnap_place *place = &said->place;
	used += (size_t)snprintf(text + used, size - used, "%s %s %s", hsnap_text(s, s->types.items[said->type].name),
				 hsnap_evidence_name((enum hsnap_evidence)said->evidence),
				 hsnap_outcome_name((enum hsnap_outcome)said->outcome));
	if (place->node == HSNAP_NO_NODE)
		return;
	hsnap_member_path(s, s->graph.type[place->node], place->offset, path, sizeof(path));
	snprintf(text + used, size - used, " by %s%s%s:%s +%llu", place->weak ? "word " : "", node_to_text(place->node), path,
		 place->declared ? hsnap_text(s, s->types.items[place->declared].name) : "?", (unsigned long long)place->others);
}

/* "Item pointer won by cart.items:Item* +0, exact; Page site weaker". */
static const char *explained(const char *block)
{
	static char text[1024];
	struct hsnap_explanation got;
	cr_assert_eq(hsnap_explain(s, node_from_text(block), &got, NULL), HSNAP_OK);
	text[0] = '\0';
	add_said(text, sizeof(text), &got.name);
	size_t used = strlen(text);
	snprintf(text + used, sizeof(text) - used, ", %s %llu %llu%s", hsnap_fit_name((enum hsnap_fit_kind)got.fit),
		 (unsigned long long)got.items, (unsigned long long)got.rest, got.known ? "" : ", unknown");
	for (size_t i = 0; i < got.others.num; i++) {
		strncat(text, "; ", sizeof(text) - strlen(text) - 1);
		add_said(text, sizeof(text), &got.others.items[i]);
	}
	hsnap_explanation_deinit(&got);
	return text;
}

#define TYPES \
	"Base=16{id:long@0} Item=24{:Base@0,next:Item*@16} Page=24{text:char*@0} Tail=16{num:long@0,items:Item*[]@8} " \
	"Cart=40{items:Item*@0,page:Page*@8,any:void*@16,all:Item**@24,base:Base*@32} label:48_bytes^in_Cart.any"

Test(explain, places_outcomes_and_fit)
{
	s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = "global:cart=Cart static:other=Item*",
		.blocks = "i:Item j:Item/32 all:Item*[]/80 l:48_bytes/48 b:Item t:Tail/64 n:Item c:Item w:48_bytes/48",
		.edges = "cart.0>i cart.8>i cart.16>c cart.24>c j.16>c cart.24>all cart.16>l cart.32>b other.0>i j.16>i all.8>j all.16~b t.8>n "
			 "l.24~w all.72~w" });
	hsnap_type_id page = type_from_text(s, "Page"), base = type_from_text(s, "Base"), tail = type_from_text(s, "Tail");
	ground("i", (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_POINTER, .conflicts = 1 },
	       OTHERS({ page, HSNAP_EVIDENCE_POINTER, HSNAP_VERDICT_LOST }, { tail, HSNAP_EVIDENCE_POINTER, HSNAP_VERDICT_SIZE }));
	ground("j", (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_SITE },
	       OTHERS({ page, HSNAP_EVIDENCE_CONTAINER, HSNAP_VERDICT_LOST }, { page, HSNAP_EVIDENCE_RUN, HSNAP_VERDICT_LOOK }));
	ground("b", (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_VTABLE },
	       OTHERS({ base, HSNAP_EVIDENCE_POINTER, HSNAP_VERDICT_SIZE }));
	ground("all", (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_POINTER }, 0, NULL);
	ground("c", (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_CONTAINER }, 0, NULL);
	ground("l", (struct hsnap_grounds){ 0 }, 0, NULL);
	/* All places that say so count together; who says otherwise has its own. */
	cr_expect_str_eq(explained("i"), "Item pointer won by cart.items:Item* +2, exact 0 0; "
			 "Page pointer contests by cart.page:Page* +0; Tail pointer size");
	cr_expect_str_eq(explained("j"), "Item site won, bigger 0 8; Page container weaker by all[*]:Item* +0; "
			 "Page run look");
	cr_expect_str_eq(explained("b"), "Item vtable won, exact 0 0; Base pointer within by cart.base:Base* +0",
			 "what it begins with is no contradiction, and weak edges say nothing");
	cr_expect_str_eq(explained("all"), "Item*[] pointer won by cart.all:Item** +0, array 10 0");
	cr_expect_str_eq(explained("l"), "48_bytes none won by cart.any:void* +0, unknown 0 0");
	cr_expect_str_eq(explained("w"), "48_bytes none won by word all[*]:? +1, unknown 0 0, unknown",
			 "any word tells of what has no name");
	cr_expect_str_eq(explained("c"), "Item container won by j.next:Item* +0, exact 0 0", "rather who says so than the first");
	cr_expect_str_eq(explained("t"), "Tail none won, flexible 0 48, unknown");
	cr_expect_str_eq(explained("n"), "Item none won by t.items[*]:Item* +0, exact 0 0, unknown", "%s", explained("n"));
	hsnap_snapshot_destroy(s);
}

Test(explain, rounding_fits_where_only_usable_sizes_are_known)
{
	s = snapshot_from_text(&(struct graph_text){ .types = TYPES, .blocks = "a:Item/39 b:Item/40 c:Item/16 d:Item[]/100" });
	s->facts.basis = HSNAP_BASIS_USABLE;
	cr_expect_str_eq(explained("a"), "Item none won, exact 0 15, unknown");
	cr_expect_str_eq(explained("b"), "Item none won, bigger 0 16, unknown");
	cr_expect_str_eq(explained("c"), "Item none won, unknown 0 0, unknown");
	cr_expect_str_eq(explained("d"), "Item[] none won, array 4 4, unknown");
	hsnap_snapshot_destroy(s);
}
