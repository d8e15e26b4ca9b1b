/* SPDX-License-Identifier: MIT */
/* claims.c - sizes that fit and claims that win. */
#include "capture/naming/claims.h"

/* Where only the usable size is known: what rounding leaves. */
#define USUAL_SLACK HSNAP_LEAST_REST
#define PAGE 4096u
#define HEADER 16u           /* of a mapped chunk (glibc malloc.c, sysmalloc_mmap) */
#define LEAST_MAPPED 131072u /* M_MMAP_THRESHOLD as it starts */
#define LEAST_CHUNK 32u

static bool is_object(const struct hsnap_dtype *dtype)
{
	return dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION ||
	       dtype->kind == HSNAP_DTYPE_POINTER;
}

static enum hsnap_form fit_requested(const struct hsnap_plan *plan, uint64_t each, uint64_t size)
{
	if (size == each)
		return HSNAP_FORM_ONE;
	/* An array of one as the last member, by old custom, is often asked for with less. */
	if (plan->tail)
		return size >= plan->tail_offset ? HSNAP_FORM_ONE : HSNAP_FORM_NONE;
	return size > each && !(size % each) ? HSNAP_FORM_RUN : HSNAP_FORM_NONE;
}

/* glibc maps what is large by itself, page by page, and the block begins behind a header of 16 bytes. */
static bool is_mapped(const struct hsnap_block *block)
{
	return block->usable + HEADER >= LEAST_MAPPED && block->address % PAGE == HEADER &&
	       (block->usable + HEADER) % PAGE == 0;
}

static enum hsnap_form fit_usable(const struct hsnap_plan *plan, uint64_t each, const struct hsnap_block *block,
				  uint64_t header)
{
	uint64_t usable = block->usable - header;
	if (usable < each)
		return HSNAP_FORM_NONE;
	if (is_mapped(block) && usable - each < PAGE)
		return HSNAP_FORM_ONE;
	if (plan->tail || usable - each < (each > HSNAP_MOST_SLACK ? HSNAP_MOST_SLACK : USUAL_SLACK))
		return HSNAP_FORM_ONE;
	/* Of a mapped one the rest of the last page may be left, and what has pointers is looked at. */
	bool filled = usable % each < USUAL_SLACK || (plan->num && is_mapped(block) && usable % each < PAGE);
	return each >= USUAL_SLACK && filled ? HSNAP_FORM_RUN : HSNAP_FORM_NONE;
}

enum hsnap_form hsnap_fit(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	if (!dtype->size || !is_object(dtype))
		return HSNAP_FORM_NONE;
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	enum hsnap_form form = hsnap_is_requested(work, block)
				       ? fit_requested(plan, dtype->size, hsnap_object_room(work, b))
				       : fit_usable(plan, dtype->size, block, hsnap_header(work, b));
	/* What is larger than a class with virtual functions is rather one derived from it. */
	return form == HSNAP_FORM_RUN && dtype->flags & HSNAP_DTYPE_POLYMORPHIC ? HSNAP_FORM_NONE : form;
}

uint64_t hsnap_most_rest(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	return hsnap_is_requested(work, block) ? 1 : is_mapped(block) ? PAGE : HSNAP_MOST_SLACK;
}

bool hsnap_is_odd(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	if (!dtype->size || !is_object(dtype) || hsnap_is_requested(work, block))
		return false;
	uint64_t chunk = (dtype->size + hsnap_header(work, b) + 8 + 15) & ~(uint64_t)15;
	return block->usable == (chunk < LEAST_CHUNK ? LEAST_CHUNK : chunk) + 8;
}

static bool find_larger(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_symbols *symbols = work->symbols;
	uint64_t room = hsnap_object_room(work, b), size = hsnap_dtype(symbols, type)->size;
	for (hsnap_dtype_id other = 1; other < symbols->types.num; other++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, other);
		if (dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size > size && dtype->size <= room &&
		    hsnap_starts_with(&work->plans, other, type) && hsnap_fit(work, b, other) == HSNAP_FORM_ONE)
			return true;
	}
	return false;
}

bool hsnap_may_be_larger(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	bool is_new;
	uint32_t *known = hsnap_keymap_at(&work->larger, (struct hsnap_key){ type, hsnap_object_room(work, b) }, &is_new);
	if (known && is_new)
		*known = 1 + find_larger(work, b, type);
	return !known || *known > 1;
}

static bool is_exact(uint8_t evidence)
{
	return hsnap_evidence_confidence((enum hsnap_evidence)evidence) == HSNAP_EXACT;
}

/* The same said once more: only what says it may be stronger, and then no weaker one contests it. */
static bool confirm(struct hsnap_claim *claim, enum hsnap_evidence evidence)
{
	/* The user's word is no more than proved: what is exact stays so. */
	if (evidence <= claim->evidence || (evidence == HSNAP_EVIDENCE_USER && is_exact(claim->evidence)))
		return false;
	bool sure = hsnap_claim_is_sure(claim);
	claim->evidence = evidence;
	claim->conflicts = 0;
	return !sure && hsnap_claim_is_sure(claim);
}

/* Remember a claim; false: it was remembered already. */
static bool lose(struct hsnap_work *work, struct hsnap_claim *claim, struct hsnap_loser lost)
{
	bool is_new;
	claim->others = hsnap_losers_add(&work->losers, claim->others, lost, &is_new);
	return is_new;
}

/* A better claim takes the place of what there was. */
static void replace(struct hsnap_work *work, struct hsnap_claim *claim, const struct hsnap_claim *better)
{
	struct hsnap_claim old = *claim;
	*claim = *better;
	claim->holder = old.holder;
	claim->others = hsnap_losers_remove(&work->losers, old.others, better->type, better->form);
	if (old.type)
		lose(work, claim, (struct hsnap_loser){ .type = old.type, .form = old.form, .evidence = old.evidence });
}

bool hsnap_claim_block(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type, enum hsnap_form form,
		       enum hsnap_evidence evidence)
{
	struct hsnap_claim *claim = &work->claims[b];
	type = work->plans.same[type];
	if (claim->form == form && claim->type == type)
		return confirm(claim, evidence);
	bool equal = evidence == claim->evidence;
	bool inner = claim->form == form && hsnap_starts_with(&work->plans, claim->type, type);
	bool outer = claim->form == form && !inner && hsnap_starts_with(&work->plans, type, claim->type);
	/* The user's word against what is exact: whoever is right, it is no more than inferred. */
	bool against = evidence == HSNAP_EVIDENCE_USER && is_exact(claim->evidence);
	if ((evidence > claim->evidence && !(against && inner)) || (equal && outer)) {
		struct hsnap_claim better = { .type = type, .form = form, .evidence = evidence,
					      .conflicts = equal ? claim->conflicts : against && !outer };
		replace(work, claim, &better);
		return true;
	}
	bool is_new = lose(work, claim, (struct hsnap_loser){ .type = type, .form = (uint8_t)form, .evidence = (uint8_t)evidence });
	/* Where nothing is remembered any more, there is one at least. */
	equal |= claim->evidence == HSNAP_EVIDENCE_USER && is_exact((uint8_t)evidence);
	if (equal && !inner && claim->conflicts < UINT8_MAX && (is_new || !claim->conflicts))
		claim->conflicts++;
	return false;
}

void hsnap_unname_block(struct hsnap_work *work, uint32_t b, enum hsnap_verdict verdict)
{
	struct hsnap_claim *claim = &work->claims[b], old = *claim;
	*claim = (struct hsnap_claim){ .holder = old.holder, .live_only = old.live_only, .others = old.others };
	if (old.type)
		lose(work, claim, (struct hsnap_loser){ .type = old.type, .form = old.form, .evidence = old.evidence,
							.verdict = (uint8_t)verdict });
}

void hsnap_reject_claim(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type, enum hsnap_form form,
			enum hsnap_evidence evidence, enum hsnap_verdict verdict)
{
	lose(work, &work->claims[b], (struct hsnap_loser){ .type = work->plans.same[type], .form = (uint8_t)form,
							  .evidence = (uint8_t)evidence, .verdict = (uint8_t)verdict });
}

enum hsnap_confidence hsnap_claim_confidence(const struct hsnap_claim *claim)
{
	enum hsnap_confidence confidence = hsnap_evidence_confidence((enum hsnap_evidence)claim->evidence);
	return claim->conflicts && confidence > HSNAP_INFERRED ? HSNAP_INFERRED : confidence;
}

bool hsnap_set_live(struct hsnap_work *work, uint32_t b, uint64_t first, uint64_t live)
{
	uint32_t *number = &work->body_of[b];
	if (!*number) {
		if (!hsnap_vec_push(&work->bodies, (struct hsnap_body){ .block = b, .first = first, .live = live }))
			return false;
		*number = (uint32_t)work->bodies.num;
	}
	/* Of two containers that have it each is right. */
	struct hsnap_body *body = &work->bodies.items[*number - 1];
	body->first = first < body->first ? first : body->first;
	body->live = live > body->live ? live : body->live;
	work->claims[b].live_only = true;
	return true;
}
