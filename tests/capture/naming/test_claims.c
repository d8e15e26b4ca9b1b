/* SPDX-License-Identifier: MIT */
/* test_claims.c - which of several claims is believed, and how surely. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "world.h"

/* One block; Base is what Derived begins with, Other begins with neither. */
struct stage {
	struct world *w;
	struct hsnap_work work;
	hsnap_dtype_id base, derived, other;
};

static void stage_init(struct stage *stage)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	stage->w = w;
	stage->base = world_type(w, "Base", STRUCT, 32);
	stage->derived = world_type(w, "Derived", STRUCT, 32);
	stage->other = world_type(w, "Other", STRUCT, 32);
	MEMBERS(w, stage->base, { "n", 0, t.number });
	MEMBERS(w, stage->derived, { "", 0, stage->base, HSNAP_DMEMBER_BASE }, { "text", 8, t.byte_pointer });
	MEMBERS(w, stage->other, { "text", 0, t.byte_pointer });
	world_block(w, 32, 0);
	stage->work = (struct hsnap_work){ .heap = &w->heap, .symbols = &w->symbols, .num_blocks = 1 };
	stage->work.claims = calloc(1, sizeof(*stage->work.claims));
	cr_assert(stage->work.claims && hsnap_plans_init(&stage->work.plans, &w->symbols));
}

static void stage_deinit(struct stage *stage)
{
	free(stage->work.claims);
	hsnap_losers_deinit(&stage->work.losers);
	hsnap_plans_deinit(&stage->work.plans);
	world_destroy(stage->w);
}

struct said {
	char what; /* 'b'ase, 'd'erived, 'o'ther; 'B' a run of bases */
	enum hsnap_evidence evidence;
};

/* Said one after the other; then what is believed: "Derived exact, 1 conflict". */
static const char *believed(struct stage *stage, const struct said *said, char text[64])
{
	for (; said->what; said++) {
		hsnap_dtype_id type = said->what == 'd' ? stage->derived : said->what == 'o' ? stage->other : stage->base;
		enum hsnap_form form = said->what == 'B' ? HSNAP_FORM_RUN : HSNAP_FORM_ONE;
		struct hsnap_claim before = stage->work.claims[0];
		bool changed = hsnap_claim_block(&stage->work, 0, type, form, said->evidence);
		struct hsnap_claim now = stage->work.claims[0];
		bool risen = hsnap_claim_confidence(&before) <= HSNAP_INFERRED && hsnap_claim_confidence(&now) > HSNAP_INFERRED;
		cr_expect_eq(changed, now.type != before.type || now.form != before.form || risen);
	}
	const struct hsnap_claim *claim = &stage->work.claims[0];
	snprintf(text, 64, "%s%s %s, %u", hsnap_str(&stage->w->symbols.strings, hsnap_dtype(&stage->w->symbols, claim->type)->name),
		 claim->form == HSNAP_FORM_RUN ? "[]" : "", hsnap_confidence_name(hsnap_claim_confidence(claim)),
		 claim->conflicts);
	return text;
}

#define POINTER HSNAP_EVIDENCE_POINTER
#define SITE HSNAP_EVIDENCE_SITE
#define VTABLE HSNAP_EVIDENCE_VTABLE
#define ALIAS HSNAP_EVIDENCE_ALIAS

Test(claims, order_conflict_and_kinship)
{
	static const struct {
		const char *name;
		struct said said[5];
		const char *believed;
	} rows[] = {
		{ "nothing is said", { { 0 } }, " unknown, 0" },
		{ "one", { { 'b', POINTER } }, "Base proved, 0" },
		{ "the stronger wins, late", { { 'o', POINTER }, { 'b', SITE } }, "Base exact, 0" },
		{ "the stronger wins, early", { { 'b', SITE }, { 'o', POINTER } }, "Base exact, 0" },
		{ "dynamic beats static", { { 'b', SITE }, { 'd', VTABLE }, { 'b', POINTER } }, "Derived exact, 0" },
		{ "the same, by stronger", { { 'b', POINTER }, { 'b', SITE } }, "Base exact, 0" },
		{ "the same, by weaker", { { 'b', SITE }, { 'b', POINTER } }, "Base exact, 0" },
		{ "a conflict", { { 'b', POINTER }, { 'o', POINTER } }, "Base inferred, 1" },
		{ "two against one", { { 'b', POINTER }, { 'o', POINTER }, { 'o', POINTER } }, "Base inferred, 1" },
		{ "a conflict of inferred ones", { { 'b', ALIAS }, { 'o', ALIAS } }, "Base inferred, 1" },
		{ "a conflict of exact ones", { { 'b', VTABLE }, { 'o', VTABLE } }, "Base inferred, 1" },
		{ "one object or several", { { 'b', POINTER }, { 'B', POINTER } }, "Base inferred, 1" },
		{ "derived over base", { { 'b', POINTER }, { 'd', POINTER } }, "Derived proved, 0" },
		{ "base under derived", { { 'd', POINTER }, { 'b', POINTER } }, "Derived proved, 0" },
		{ "but not over what is surer", { { 'b', SITE }, { 'd', POINTER } }, "Base exact, 0" },
		{ "kin does not settle a conflict", { { 'b', POINTER }, { 'o', POINTER }, { 'd', POINTER } }, "Derived inferred, 1" },
		{ "what is stronger does", { { 'b', POINTER }, { 'o', POINTER }, { 'b', SITE } }, "Base exact, 0" },
		{ "whichever it is for", { { 'b', POINTER }, { 'o', POINTER }, { 'o', SITE } }, "Other exact, 0" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct stage stage;
		char text[64];
		stage_init(&stage);
		cr_expect_str_eq(believed(&stage, rows[i].said, text), rows[i].believed, "%s: %s", rows[i].name, text);
		stage_deinit(&stage);
	}
}

Test(claims, each_evidence_has_its_confidence_and_words)
{
	static const enum hsnap_confidence want[HSNAP_NUM_EVIDENCE] = {
		[HSNAP_EVIDENCE_NONE] = HSNAP_UNKNOWN,
		[HSNAP_EVIDENCE_TOLD] = HSNAP_LABEL,
		[HSNAP_EVIDENCE_KEPT ... HSNAP_EVIDENCE_FOLLOWED] = HSNAP_INFERRED,
		[HSNAP_EVIDENCE_POINTER ... HSNAP_EVIDENCE_CONTAINER] = HSNAP_PROVED,
		[HSNAP_EVIDENCE_SITE ... HSNAP_EVIDENCE_TAG] = HSNAP_EXACT,
		[HSNAP_EVIDENCE_USER] = HSNAP_PROVED,
	};
	for (int e = 0; e < HSNAP_NUM_EVIDENCE; e++) {
		cr_expect_eq(hsnap_evidence_confidence((enum hsnap_evidence)e), want[e], "evidence %d", e);
		cr_expect(hsnap_evidence_name((enum hsnap_evidence)e)[0] && hsnap_evidence_words((enum hsnap_evidence)e)[0]);
		for (int other = 0; other < e; other++)
			cr_expect_str_neq(hsnap_evidence_name((enum hsnap_evidence)e),
					  hsnap_evidence_name((enum hsnap_evidence)other));
	}
	cr_expect_str_eq(hsnap_evidence_name((enum hsnap_evidence)200), "none");
}
