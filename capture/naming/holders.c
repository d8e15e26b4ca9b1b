/* SPDX-License-Identifier: MIT */
/*
 * holders.c - a second walk along all declared pointers, now that the names are known.
 *
 * Most blocks have one holder, and the walk that counts finds it.  What several places lead to is walked once more, when it
 * is known how much each of them holds; of types that lead to no such block nothing is.
 */
#include "capture/naming/holders.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"

#define MAX_NESTING 4
#define MAX_PATH 512
#define MAX_HEADER 32

struct search {
	struct hsnap_work *work;
	struct hsnap_walk walk;
	uint32_t hint;
	bool sure;                 /* its own name is no mere inference */
	struct hsnap_holder place; /* of the object that is walked; b counts from its start */
	struct hsnap_keymap known; /* {kind, a; b} → index into holders */
	struct hsnap_keymap votes; /* {holder, stack} → blocks of the stack that the holder leads to, about */
	bool voting;               /* the first of two walks */
	bool all;                  /* the second one is of everything, and bytes are proved in it */
	uint64_t *contested;       /* a bit a block: several places lead there */
	bool any_contested;
	bool *again;               /* one a type: a member of it leads to a contested block */
	struct hsnap_keymap again_others; /* {kind, a}: so does that variable, or element */
	bool failed; /* out of memory */
};

static void search_deinit(struct search *search)
{
	hsnap_keymap_deinit(&search->known);
	hsnap_keymap_deinit(&search->votes);
	free(search->contested);
	free(search->again);
	hsnap_keymap_deinit(&search->again_others);
}

static uint32_t intern(struct search *search, struct hsnap_holder holder)
{
	bool is_new;
	uint64_t flags = (uint64_t)holder.bytes << 32 | (uint64_t)holder.inside << 33;
	struct hsnap_key key = { (uint64_t)holder.kind << 40 | flags | holder.a, holder.b };
	uint32_t *number = hsnap_keymap_at(&search->known, key, &is_new);
	if (number && is_new) {
		*number = (uint32_t)search->work->holders.num;
		if (!hsnap_vec_push(&search->work->holders, holder))
			number = NULL;
	}
	search->failed |= !number;
	return number ? *number : 0;
}

static bool is_bytes(const struct hsnap_dtype *dtype)
{
	return dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR;
}

/* Texts that keep their length before their first byte are only ever pointed into. */
static bool may_have_header(const struct hsnap_dtype *dtype, uint64_t header)
{
	return header <= MAX_HEADER && (is_bytes(dtype) || dtype->kind == HSNAP_DTYPE_VOID);
}

/* A pointer to bytes at a block's start proves what an allocation to `char *` only tells. */
static void prove_bytes(struct search *search, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_claim *claim = &search->work->claims[b];
	uint64_t each = hsnap_dtype(search->work->symbols, type)->size;
	const struct hsnap_block *block = &search->work->heap->blocks.items[b];
	bool object = claim->form == HSNAP_FORM_ONE || claim->form == HSNAP_FORM_RUN;
	if ((object && claim->evidence >= HSNAP_EVIDENCE_RUN) || claim->evidence >= HSNAP_EVIDENCE_POINTER || !each ||
	    (hsnap_is_requested(search->work, block) && hsnap_object_room(search->work, b) % each))
		return;
	enum hsnap_evidence evidence = search->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED;
	/* C programs keep any object in a `char *`, and cast it back. */
	bool undecided = search->work->undecided[b / 64] >> b % 64 & 1;
	if (undecided || (each < sizeof(uint64_t) && hsnap_holds_blocks(search->work, b)))
		hsnap_reject_claim(search->work, b, type, HSNAP_FORM_BYTES, evidence, HSNAP_VERDICT_LOOK);
	else
		hsnap_claim_block(search->work, b, type, HSNAP_FORM_BYTES, evidence);
}

/* Elements of pointers and library objects have no name of their own to hold by. */
static bool wants_holder(const struct hsnap_work *work, const struct hsnap_claim *claim)
{
	if (claim->form != HSNAP_FORM_RUN)
		return claim->form != HSNAP_FORM_ONE;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, claim->type);
	return dtype->kind == HSNAP_DTYPE_POINTER ||
	       !strncmp(hsnap_str(&work->symbols->strings, dtype->name), "std::", 5);
}

static struct hsnap_key vote_key(const struct search *search, uint32_t b, uint32_t number)
{
	const struct hsnap_holder *holder = &search->work->holders.items[number];
	uint64_t who = number;
	if (holder->kind == HSNAP_HOLDER_ELEMENT) /* all arrays of a kind together */
		who = (uint64_t)1 << 32 | search->work->claims[holder->a].type;
	return (struct hsnap_key){ who, search->work->heap->blocks.items[b].stack };
}

/* ---- what is walked twice ---- */

static void walk_again(struct search *search, uint32_t number)
{
	const struct hsnap_holder *holder = &search->work->holders.items[number];
	bool is_new;
	if (holder->kind == HSNAP_HOLDER_MEMBER) {
		search->again[holder->a] = true;
		return;
	}
	uint32_t *known = hsnap_keymap_at(&search->again_others, (struct hsnap_key){ holder->kind, holder->a }, &is_new);
	search->failed |= !known;
	if (known)
		*known = true;
}

/* Whoever leads to a contested block is there with each other that does: so all are walked again. */
static void contest(struct search *search, uint32_t b, uint32_t number)
{
	search->contested[b / 64] |= (uint64_t)1 << b % 64;
	search->any_contested = true;
	walk_again(search, search->work->claims[b].holder);
	walk_again(search, number);
}

/* Is the place that is to be walked worth it, in this walk? */
static bool is_due(const struct search *search)
{
	const struct hsnap_holder *place = &search->place;
	if (search->voting || search->all)
		return true;
	return place->kind == HSNAP_HOLDER_MEMBER
		       ? search->again[place->a]
		       : hsnap_keymap_get(&search->again_others, (struct hsnap_key){ place->kind, place->a }) != 0;
}

/* Who comes to an array of pointers may say that it is bytes, and what its elements lead to then nobody asks. */
static bool may_lose_elements(const struct hsnap_work *work)
{
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		if (claim->form == HSNAP_FORM_RUN && claim->evidence < HSNAP_EVIDENCE_RUN && wants_holder(work, claim))
			return true;
	}
	return false;
}

static void forget_contested(struct search *search)
{
	struct hsnap_work *work = search->work;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		if (search->all || search->contested[b / 64] >> b % 64 & 1)
			work->claims[b].holder = 0;
}

/* ---- what is seen ---- */

/* Many pointers of one kind to the same block are one vote, where none of another kind comes between. */
static void vote(struct search *search, uint32_t b, uint32_t number)
{
	bool is_new;
	struct hsnap_claim *claim = &search->work->claims[b];
	if (claim->holder == number)
		return;
	if (claim->holder)
		contest(search, b, number);
	claim->holder = number;
	uint32_t *votes = hsnap_keymap_at(&search->votes, vote_key(search, b, number), &is_new);
	search->failed |= !votes;
	if (votes)
		++*votes;
}

/* One that says what the bytes are before one to void; then whoever holds more of what the call site made. */
static bool is_better(const struct search *search, uint32_t b, uint32_t number)
{
	const struct hsnap_work *work = search->work;
	uint32_t now = work->claims[b].holder;
	if (!now || now == number)
		return !now;
	const struct hsnap_holder *old = &work->holders.items[now], *other = &work->holders.items[number];
	if (other->inside != old->inside)
		return old->inside;
	if (other->bytes != old->bytes)
		return other->bytes;
	return hsnap_keymap_get(&search->votes, vote_key(search, b, number)) >
	       hsnap_keymap_get(&search->votes, vote_key(search, b, now));
}

/* A block that is not what the pointer says: links of mixed lists.  Where it was made tells more. */
static bool is_misfit(const struct hsnap_work *work, uint32_t b, const struct hsnap_claim *claim, hsnap_dtype_id type)
{
	uint8_t kind = hsnap_dtype(work->symbols, type)->kind;
	return claim->form != HSNAP_FORM_RUN && work->heap->blocks.items[b].stack &&
	       (kind == HSNAP_DTYPE_STRUCT || kind == HSNAP_DTYPE_UNION);
}

static void visit(void *context, const struct hsnap_found *found)
{
	struct search *search = context;
	struct hsnap_work *work = search->work;
	uint32_t b = hsnap_block_index_find(&work->index, found->value, &search->hint);
	if (b == HSNAP_NO_BLOCK || !wants_holder(work, &work->claims[b]))
		return;
	struct hsnap_claim *claim = &work->claims[b];
	uint64_t header = found->value - hsnap_object_start(work, b);
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	if (is_misfit(work, b, claim, found->type) || (header && !may_have_header(dtype, header)))
		return;
	struct hsnap_holder holder = search->place;
	holder.b += found->offset;
	holder.bytes = is_bytes(dtype);
	holder.inside = header;
	uint32_t number = intern(search, holder);
	if (search->voting)
		vote(search, b, number);
	else if (is_better(search, b, number))
		claim->holder = number;
	bool proves = search->voting != search->all;                            /* once, in the walk that is of everything */
	if (proves && holder.bytes && !header && found->kind != HSNAP_SLOT_USER) /* the user's word was held against the size */
		prove_bytes(search, b, found->type);
}

struct hsnap_holder hsnap_place_of_block(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_claim *claim = &work->claims[b];
	const char *name = hsnap_str(&work->symbols->strings, hsnap_dtype(work->symbols, claim->type)->name);
	if (claim->form == HSNAP_FORM_RUN && wants_holder(work, claim))
		return (struct hsnap_holder){ .kind = HSNAP_HOLDER_ELEMENT, .a = b };
	/* What a control block was made for stands in its storage. */
	hsnap_dtype_id made = !strncmp(name, "std::_Sp_counted_ptr_inplace<", 29)
				      ? hsnap_type_argument(work->symbols, claim->type, 0) : 0;
	if (made)
		return (struct hsnap_holder){ .kind = HSNAP_HOLDER_MEMBER, .a = made, .b = (uint64_t)0 - 16 };
	return (struct hsnap_holder){ .kind = HSNAP_HOLDER_MEMBER, .a = claim->type };
}

struct hsnap_holder hsnap_place_of_segment(const struct hsnap_work *work, uint32_t s)
{
	const struct hsnap_segment *segment = &work->segments.items[s];
	hsnap_dtype_id type = hsnap_segment_whole(segment);
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	if (dtype->kind == HSNAP_DTYPE_STRUCT &&
	    strncmp(hsnap_str(&work->symbols->strings, dtype->name), "std::", 5))
		return (struct hsnap_holder){ .kind = HSNAP_HOLDER_MEMBER, .a = type, .b = segment->into };
	return (struct hsnap_holder){ .kind = HSNAP_HOLDER_VARIABLE, .a = s, .b = segment->into };
}

static void walk_blocks(struct search *search, bool exact)
{
	struct hsnap_work *work = search->work;
	for (uint32_t b = 0; b < work->num_blocks && !search->failed; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		if (claim->form != HSNAP_FORM_ONE && claim->form != HSNAP_FORM_RUN)
			continue;
		if ((claim->evidence >= HSNAP_EVIDENCE_SITE) != exact)
			continue;
		search->place = hsnap_place_of_block(work, b);
		search->sure = hsnap_claim_is_sure(claim);
		if (is_due(search))
			hsnap_walk_next(&search->walk, b);
	}
}

static void walk_segments(struct search *search, bool stack)
{
	struct hsnap_work *work = search->work;
	for (uint32_t s = 0; s < work->segments.num && !search->failed; s++) {
		const struct hsnap_segment *segment = &work->segments.items[s];
		if (!segment->type || (segment->root.kind == HSNAP_ROOT_STACK) != stack)
			continue;
		search->place = hsnap_place_of_segment(work, s);
		search->sure = true;
		if (is_due(search))
			hsnap_walk_segment(&search->walk, segment);
	}
}

static void walk_parts(struct search *search)
{
	struct hsnap_work *work = search->work;
	for (size_t i = 0; i < work->parts.num && !search->failed; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		search->place = (struct hsnap_holder){ .kind = HSNAP_HOLDER_MEMBER, .a = part->type };
		search->sure = part->sure;
		if (!is_due(search) || !hsnap_part_stands(work, part))
			continue;
		hsnap_walk_object(&search->walk, part->type, part->address,
				  part->address + hsnap_dtype(work->symbols, part->type)->size);
	}
}

static void walk_all(struct search *search)
{
	walk_blocks(search, true);
	walk_blocks(search, false);
	walk_parts(search);
	walk_segments(search, false);
	walk_segments(search, true);
}

enum hsnap_code hsnap_find_holders(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols)
		return HSNAP_OK;
	hsnap_auto(search_deinit) struct search search = { .work = work, .voting = true, .all = may_lose_elements(work) };
	search.contested = calloc(work->num_blocks / 64 + 1, sizeof(*search.contested));
	search.again = calloc(work->symbols->types.num, sizeof(*search.again));
	if (!search.contested || !search.again)
		return hsnap_no_memory(err);
	hsnap_walk_init(&search.walk, work, visit, &search);
	walk_all(&search);
	forget_contested(&search);
	search.voting = false;
	if (search.all || search.any_contested)
		walk_all(&search);
	return search.failed || work->plans.failed ? hsnap_no_memory(err) : HSNAP_OK;
}

/* ".names[3]" as ".names[*]": a row for each element helps nobody. */
static void merge_elements(char *path)
{
	char *to = path;
	const char *from = path;
	while (*from) {
		bool index = *from == '[' && isdigit((unsigned char)from[1]);
		*to++ = *from++;
		while (index && isdigit((unsigned char)from[1]))
			from++;
		if (index) {
			*to++ = '*';
			from++;
		}
	}
	*to = '\0';
}

static hsnap_string member_text(struct hsnap_work *work, struct hsnap_convert *convert, const char *of,
				hsnap_dtype_id dtype, uint64_t offset)
{
	char path[MAX_PATH];
	hsnap_type_id type = hsnap_convert_type(convert, dtype);
	struct hsnap_snapshot *snapshot = work->snapshot;
	hsnap_member_path(snapshot, type, offset, path, sizeof(path));
	merge_elements(path);
	if (!of)
		return hsnap_strings_addf(&snapshot->strings, "in %s%s",
					  hsnap_text(snapshot, snapshot->types.items[type].name), path);
	return hsnap_strings_addf(&snapshot->strings, "%s%s", of, path);
}

static hsnap_string variable_text(struct hsnap_work *work, struct hsnap_convert *convert,
				  const struct hsnap_holder *holder)
{
	const struct hsnap_segment *segment = &work->segments.items[holder->a];
	struct hsnap_snapshot *snapshot = work->snapshot;
	char path[MAX_PATH];
	hsnap_member_path(snapshot, hsnap_convert_type(convert, hsnap_segment_whole(segment)), holder->b, path, sizeof(path));
	merge_elements(path);
	const char *function = hsnap_text(snapshot, segment->root.function);
	return hsnap_strings_addf(&snapshot->strings, "in %s%s%s%s", hsnap_text(snapshot, segment->root.name), path,
				  function[0] ? " of " : "", function);
}

static hsnap_string nested_text(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_holder holder,
				unsigned depth)
{
	if (holder.kind == HSNAP_HOLDER_NONE || depth == MAX_NESTING)
		return 0;
	if (holder.kind == HSNAP_HOLDER_VARIABLE)
		return variable_text(work, convert, &holder);
	if (holder.kind == HSNAP_HOLDER_MEMBER)
		return member_text(work, convert, NULL, holder.a, holder.b);
	const struct hsnap_claim *claim = &work->claims[holder.a];
	hsnap_string outer = nested_text(work, convert, work->holders.items[claim->holder], depth + 1);
	if (outer == HSNAP_NO_STRING)
		return outer;
	hsnap_auto(hsnap_freep) char *of = NULL;
	hsnap_type_id element = outer ? HSNAP_NO_TYPE : hsnap_convert_type(convert, claim->type);
	if (asprintf(&of, outer ? "%s[*]" : "in %s[]",
		     hsnap_text(work->snapshot, outer ? outer : work->snapshot->types.items[element].name)) < 0) {
		of = NULL;
		return HSNAP_NO_STRING;
	}
	return member_text(work, convert, of, claim->type, holder.b);
}

hsnap_string hsnap_holder_text(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_holder holder)
{
	return nested_text(work, convert, holder, 0);
}
