/* SPDX-License-Identifier: MIT */
/*
 * sites.c - types by the call that allocated.
 *
 * The variable that is handed the result of the allocating call tells what was
 * wanted, if its type has the size that was asked for.  Each stack has at most
 * one site: its innermost frame with a typed result; frames farther out are
 * looked at only where the one before hands on what it got.  What a site's
 * blocks are is decided once, from the sizes of all of them: a site that
 * allocates one to five lines allocates arrays of lines.
 */
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "snapshot/base/cleanup.h"

#define MAX_CANDIDATES 8
#define MAX_SAMPLES 64    /* blocks of a site whose words are looked at */
#define SAMPLED_BYTES 64u /* of each */
#define KEPT_BYTES 4096u  /* of each block that is to be bytes and nothing else */
#define FEW_SAMPLES 4     /* fewer may hold what was there before */
#define MAX_NAME 1024

/* One type that a site's variable may point to, and how the live blocks' sizes bear it. */
struct candidate {
	hsnap_dtype_id type;
	hsnap_string taker;               /* the variable, in the symbols' strings; "": none */
	bool equal, multiple, holds_tail; /* true of all blocks so far */
	bool lone;                        /* of one at least: it has the size of a single element */
};

struct site {
	struct candidate candidates[MAX_CANDIDATES];
	uint32_t num;
	bool hinted;         /* a template argument of who allocates, and no variable */
	bool single;         /* hinted: it makes one object at a time */
	uint32_t frame;      /* hinted: of the PC's frames the one that says so */
	uint32_t blocks, samples, pointing; /* of bytes: all, those looked at, and those of them that hold pointers to blocks */
	/* Once decided: */
	hsnap_dtype_id type; /* 0: cannot be told */
	enum hsnap_form form;
	enum hsnap_evidence evidence;
	hsnap_string taker;
};

struct sites {
	struct hsnap_work *work;
	struct site *sites;   /* one a PC of symbols */
	uint32_t *of_stack;   /* 1 + index into sites; 0: none */
	bool *wrapped;        /* one a stack: its innermost function keeps a header in front of what it hands out */
};

static void sites_deinit(struct sites *sites)
{
	free(sites->sites);
	free(sites->of_stack);
	free(sites->wrapped);
}

static void add_candidate(const struct hsnap_work *work, struct site *site, hsnap_dtype_id type, hsnap_string taker)
{
	type = work->plans.same[type];
	for (uint32_t i = 0; i < site->num; i++)
		if (site->candidates[i].type == type)
			return;
	if (type && site->num < MAX_CANDIDATES)
		site->candidates[site->num++] =
			(struct candidate){ .type = type, .taker = taker, .equal = true, .multiple = true, .holds_tail = true };
}

/* The class F of std::_Function_base::_Base_manager<F>, which puts an F on the heap (bits/std_function.h). */
static hsnap_dtype_id functor_of(const struct hsnap_symbols *symbols, const struct hsnap_dframe *frame)
{
	static const char prefix[] = "std::_Function_base::_Base_manager<";
	char name[MAX_NAME];
	const char *function = hsnap_str(&symbols->strings, frame->function);
	if (strncmp(function, prefix, sizeof(prefix) - 1))
		return 0;
	function += sizeof(prefix) - 1;
	size_t len = 0;
	for (int depth = 1; function[len] && len < sizeof(name) - 1; len++) {
		depth += function[len] == '<' ? 1 : function[len] == '>' ? -1 : 0;
		if (!depth)
			break;
		name[len] = function[len];
	}
	while (len && name[len - 1] == ' ')
		len--;
	name[len] = '\0';
	return hsnap_symbols_class(symbols, name, frame->module);
}

/* What the functions at the PC are made for, by their template arguments. */
static void add_hints(const struct hsnap_work *work, const struct hsnap_dpc *pc, struct site *site)
{
	const struct hsnap_symbols *symbols = work->symbols;
	for (uint32_t f = 0; f < pc->num_frames && !site->num; f++) {
		const struct hsnap_dframe *frame = &symbols->frames.items[pc->first_frame + f];
		hsnap_dtype_id functor = functor_of(symbols, frame);
		add_candidate(work, site, functor ? functor : frame->allocates, 0);
		site->frame = f;
		const char *name = hsnap_str(&symbols->strings, hsnap_dtype(symbols, frame->allocates)->name);
		site->single = functor || hsnap_node_family(name) || hsnap_index_of(name) || !strncmp(name, "std::_Sp_counted_", 17) ||
			       !strncmp(name, "std::__1::__shared_ptr_", 23) || !strncmp(name, "std::__1::__function::__func<", 29);
	}
	site->hinted = site->num;
}

static void make_sites(struct sites *sites)
{
	const struct hsnap_symbols *symbols = sites->work->symbols;
	for (size_t p = 0; p < symbols->pcs.num; p++) {
		const struct hsnap_dpc *pc = &symbols->pcs.items[p];
		struct site *site = &sites->sites[p];
		add_hints(sites->work, pc, site);
		for (uint32_t r = 0; r < pc->num_results && !site->hinted; r++) {
			const struct hsnap_dresult *result = &symbols->results.items[pc->first_result + r];
			add_candidate(sites->work, site, result->pointee, result->name);
		}
	}
}

static bool is_object(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	uint8_t kind = hsnap_dtype(symbols, type)->kind;
	return kind == HSNAP_DTYPE_STRUCT || kind == HSNAP_DTYPE_UNION || kind == HSNAP_DTYPE_POINTER;
}

static bool has_object(const struct sites *sites, const struct site *site)
{
	for (uint32_t i = 0; i < site->num; i++)
		if (is_object(sites->work->symbols, site->candidates[i].type))
			return true;
	return false;
}

/* Are all functions that stand at the PC an allocator's own? */
static bool is_allocator(const struct hsnap_symbols *symbols, const struct hsnap_dpc *pc)
{
	static const char *const prefixes[] = {
		"operator new", "std::__new_allocator<", "std::allocator<", "std::allocator_traits<",
		"__gnu_cxx::new_allocator<", "std::__1::allocator<", "std::__1::allocator_traits<", "std::__1::__libcpp_",
	};
	for (uint32_t f = 0; f < pc->num_frames; f++) {
		const char *name = hsnap_str(&symbols->strings, symbols->frames.items[pc->first_frame + f].function);
		size_t i = 0, num = sizeof(prefixes) / sizeof(*prefixes);
		while (i < num && strncmp(name, prefixes[i], strlen(prefixes[i])))
			i++;
		if (i == num)
			return false;
	}
	return pc->num_frames;
}

/* The innermost site of the stack whose variable points to objects; else to bytes; else 0. */
static uint32_t site_of_stack(const struct sites *sites, const struct hsnap_raw_stack *stack, bool wrapped)
{
	const struct hsnap_work *work = sites->work;
	uint32_t bytes = 0;
	for (uint32_t p = wrapped; p < stack->num_pcs; p++) {
		const struct hsnap_dpc *pc =
			hsnap_symbols_pc(work->symbols, work->heap->pcs.items[stack->first_pc + p]);
		if (!pc)
			break;
		uint32_t number = (uint32_t)(pc - work->symbols->pcs.items);
		const struct site *site = &sites->sites[number];
		if (has_object(sites, site))
			return number + 1;
		if (site->num && !bytes)
			bytes = number + 1;
		if (site->hinted || !(pc->returns_result || is_allocator(work->symbols, pc)))
			break;
	}
	return bytes;
}

static void find_sites(struct sites *sites)
{
	const struct hsnap_heap *heap = sites->work->heap;
	for (uint32_t b = 0; b < sites->work->num_blocks && sites->work->headers; b++)
		if (hsnap_header(sites->work, b) && heap->blocks.items[b].stack < heap->stacks.num)
			sites->wrapped[heap->blocks.items[b].stack] = true;
	for (size_t i = 1; i < heap->stacks.num; i++)
		sites->of_stack[i] = site_of_stack(sites, &heap->stacks.items[i], sites->wrapped[i]);
}

static struct site *site_of_block(const struct sites *sites, const struct hsnap_block *block)
{
	if (block->stack >= sites->work->heap->stacks.num || !hsnap_is_requested(sites->work, block))
		return NULL;
	uint32_t number = sites->of_stack[block->stack];
	return number ? &sites->sites[number - 1] : NULL;
}

static void see_size(struct hsnap_work *work, struct candidate *candidate, uint64_t size)
{
	uint64_t each = hsnap_dtype(work->symbols, candidate->type)->size;
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, candidate->type);
	candidate->equal &= size == each;
	candidate->lone |= size == each;
	candidate->multiple &= each && size >= each && !(size % each);
	candidate->holds_tail &= plan->tail && size >= plan->tail_offset;
}

static void see_sizes(struct sites *sites)
{
	struct hsnap_work *work = sites->work;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		struct site *site = site_of_block(sites, &work->heap->blocks.items[b]);
		if (!site)
			continue;
		uint64_t size = hsnap_object_room(work, b);
		for (uint32_t i = 0; i < site->num; i++)
			see_size(work, &site->candidates[i], size);
	}
}

/* How well a candidate bears the sizes; equal ones that differ are a conflict. */
static int fitness(const struct hsnap_symbols *symbols, const struct candidate *candidate)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, candidate->type);
	switch (dtype->kind) {
	case HSNAP_DTYPE_STRUCT:
	case HSNAP_DTYPE_UNION:
		return candidate->equal ? 5 : candidate->holds_tail ? 4 : candidate->multiple ? 3 : 0;
	case HSNAP_DTYPE_POINTER:
		return candidate->multiple ? 3 : 0;
	case HSNAP_DTYPE_SCALAR:
		return candidate->multiple ? 2 : 0;
	case HSNAP_DTYPE_BYTE:
		return 1;
	default:
		return 0;
	}
}

/* A container's allocator makes one node at a time, and elements by the run. */
static void decide_hinted(const struct hsnap_symbols *symbols, struct site *site)
{
	int fit = fitness(symbols, &site->candidates[0]);
	if (!fit || (site->single && fit != 5))
		return;
	site->type = site->candidates[0].type;
	site->form = site->single ? HSNAP_FORM_ONE : fit > 2 ? HSNAP_FORM_RUN : HSNAP_FORM_BYTES;
	site->evidence = fit > 1 ? HSNAP_EVIDENCE_SITE : HSNAP_EVIDENCE_TOLD;
}

/* A multiple may as well be a head and what was put behind it: sure is only a run that was once of one. */
static enum hsnap_evidence evidence_of(const struct hsnap_symbols *symbols, const struct candidate *chosen, int fit)
{
	if (fit == 1)
		return HSNAP_EVIDENCE_TOLD;
	bool doubtful = fit == 3 && !chosen->lone && hsnap_dtype(symbols, chosen->type)->kind != HSNAP_DTYPE_POINTER;
	return doubtful ? HSNAP_EVIDENCE_GUESS : HSNAP_EVIDENCE_SITE;
}

static void decide(const struct hsnap_symbols *symbols, struct site *site)
{
	int best = 0;
	const struct candidate *chosen = NULL;
	bool conflict = false; /* of bytes any will do: they are told apart by who holds them */
	for (uint32_t i = 0; i < site->num; i++) {
		int fit = fitness(symbols, &site->candidates[i]);
		if (fit > best) {
			best = fit;
			chosen = &site->candidates[i];
			conflict = false;
		} else if (fit == best) {
			conflict = fit > 1;
		}
	}
	if (conflict || !best)
		return;
	site->type = chosen->type;
	site->taker = chosen->taker;
	site->form = best >= 4 ? HSNAP_FORM_ONE : best == 3 ? HSNAP_FORM_RUN : HSNAP_FORM_BYTES;
	site->evidence = evidence_of(symbols, chosen, best);
}

static bool points_to_blocks(const struct hsnap_work *work, uint32_t b, uint64_t most)
{
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	uint64_t size = hsnap_block_size(block), word;
	uint32_t hint = 0;
	for (uint64_t at = 0; at < most && at < size && size - at >= 8; at += 8)
		if (hsnap_target_word(work->target, block->address + at, &word) &&
		    hsnap_block_index_find(&work->index, word, &hint) != HSNAP_NO_BLOCK)
			return true;
	return false;
}

/* A general allocator keeps what it hands out in a `char *`: objects, not text. */
static void sample_bytes(const struct sites *sites)
{
	struct hsnap_work *work = sites->work;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		struct site *site = site_of_block(sites, &work->heap->blocks.items[b]);
		if (!site || site->evidence != HSNAP_EVIDENCE_TOLD)
			continue;
		site->blocks++;
		if (site->samples == MAX_SAMPLES)
			continue;
		site->samples++;
		site->pointing += points_to_blocks(work, b, SAMPLED_BYTES);
	}
	for (size_t p = 0; p < work->symbols->pcs.num; p++) {
		struct site *site = &sites->sites[p];
		if (site->samples >= FEW_SAMPLES && site->pointing * 2 >= site->samples)
			site->type = 0;
	}
}

static bool all_bytes(const struct hsnap_symbols *symbols, const struct site *site)
{
	for (uint32_t i = 0; i < site->num; i++)
		if (hsnap_dtype(symbols, site->candidates[i].type)->kind != HSNAP_DTYPE_BYTE)
			return false;
	return true;
}

/* Bytes they are where nothing else takes the result, and no block of the site holds a pointer: what is cut up into
 * objects begins with links. */
static void find_kept(const struct sites *sites)
{
	struct hsnap_work *work = sites->work;
	for (size_t p = 0; p < work->symbols->pcs.num; p++) {
		struct site *site = &sites->sites[p];
		if (site->type && site->evidence == HSNAP_EVIDENCE_TOLD && site->blocks >= FEW_SAMPLES && !site->pointing &&
		    all_bytes(work->symbols, site))
			site->evidence = HSNAP_EVIDENCE_KEPT;
	}
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		struct site *site = site_of_block(sites, &work->heap->blocks.items[b]);
		if (site && site->evidence == HSNAP_EVIDENCE_KEPT && points_to_blocks(work, b, KEPT_BYTES))
			site->evidence = HSNAP_EVIDENCE_TOLD;
	}
}

/* A pointer to a smaller struct may be all that the caller knows of a larger one. */
static bool may_be_run(struct hsnap_work *work, const struct site *site, uint32_t b)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, site->type);
	if (site->hinted || site->form != HSNAP_FORM_RUN || dtype->kind == HSNAP_DTYPE_POINTER)
		return true;
	return !(dtype->flags & HSNAP_DTYPE_POLYMORPHIC) && hsnap_is_run(work, b, site->type, 1, 2, NULL);
}

static void claim_blocks(const struct sites *sites)
{
	struct hsnap_work *work = sites->work;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		const struct site *site = site_of_block(sites, &work->heap->blocks.items[b]);
		if (site && site->type && may_be_run(work, site, b))
			hsnap_claim_block(work, b, site->type, site->form, site->evidence);
	}
}

/* Which frame of a stack the site of its blocks is, and which variable: for who asks why they are called so. */
static enum hsnap_code keep_deciders(const struct sites *sites, struct hsnap_error *err)
{
	const struct hsnap_work *work = sites->work;
	struct hsnap_snapshot *snapshot = work->snapshot;
	for (size_t i = 1; i < work->heap->stacks.num && i < snapshot->stacks.num; i++) {
		const struct hsnap_raw_stack *raw = &work->heap->stacks.items[i];
		const struct site *site = sites->of_stack[i] ? &sites->sites[sites->of_stack[i] - 1] : NULL;
		if (!site || !site->type)
			continue;
		struct hsnap_stack *stack = &snapshot->stacks.items[i];
		uint32_t frames = 0;
		for (uint32_t p = 0; p < raw->num_pcs && !stack->decider; p++) {
			const struct hsnap_dpc *pc = hsnap_symbols_pc(work->symbols, work->heap->pcs.items[raw->first_pc + p]);
			if (pc && &sites->sites[pc - work->symbols->pcs.items] == site)
				stack->decider = frames + 1 + (site->hinted ? site->frame : 0);
			frames += pc && pc->num_frames ? pc->num_frames : 1;
		}
		if (stack->decider > stack->num_frames)
			stack->decider = 0;
		stack->taker = hsnap_strings_add(&snapshot->strings, hsnap_str(&work->symbols->strings, site->taker));
		if (stack->taker == HSNAP_NO_STRING)
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_claim_sites(struct hsnap_work *work, struct hsnap_error *err)
{
	/* Stack 0 is that of blocks of which it is not known. */
	if (!work->symbols || !work->symbols->pcs.num || work->heap->stacks.num <= 1)
		return HSNAP_OK;
	hsnap_auto(sites_deinit) struct sites sites = { .work = work };
	sites.sites = calloc(work->symbols->pcs.num, sizeof(*sites.sites));
	sites.of_stack = calloc(work->heap->stacks.num, sizeof(*sites.of_stack));
	sites.wrapped = calloc(work->heap->stacks.num, sizeof(*sites.wrapped));
	if (!sites.sites || !sites.of_stack || !sites.wrapped)
		return hsnap_no_memory(err);
	make_sites(&sites);
	find_sites(&sites);
	see_sizes(&sites);
	for (size_t p = 0; p < work->symbols->pcs.num; p++) {
		struct site *site = &sites.sites[p];
		if (site->hinted)
			decide_hinted(work->symbols, site);
		else
			decide(work->symbols, site);
	}
	sample_bytes(&sites);
	find_kept(&sites);
	claim_blocks(&sites);
	return keep_deciders(&sites, err);
}
