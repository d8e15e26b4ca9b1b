/* SPDX-License-Identifier: MIT */
/* targets.c - may a pointer of a type have this value, by all that is known so far? */
#include "capture/naming/claims.h"
#include "capture/naming/walk.h"

#define MAX_ARRAYS 8 /* one in the other */
#define FIRST_WORDS 16 /* of a block of bytes: where an object would have its pointers */
#define LEAST_TEXT 3   /* characters */
#define LEAST_UTF8 0xc2 /* what a character of more bytes begins with */
#define MOST_UTF8 0xf4

/* hsnap_is_target() of a value that is not null and lies in block b, or in none. */
static bool is_target_in(struct hsnap_work *work, uint32_t b, uint64_t value, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	bool object = dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION;
	if (b == HSNAP_NO_BLOCK)
		return object ? hsnap_target_module(work->target, value) != NULL
			      : hsnap_target_mapping(work->target, value) != NULL;
	if (!object)
		return true;
	const struct hsnap_claim *claim = &work->claims[b];
	if (hsnap_object_start(work, b) != value)
		return false;
	if (claim->evidence >= HSNAP_EVIDENCE_RUN)
		return claim->evidence == HSNAP_EVIDENCE_VTABLE || hsnap_starts_with(&work->plans, claim->type, type);
	return hsnap_fit(work, b, type) == HSNAP_FORM_ONE;
}

bool hsnap_is_target(struct hsnap_work *work, uint64_t value, hsnap_dtype_id type, uint32_t *hint)
{
	return !value || is_target_in(work, hsnap_block_index_find(&work->index, value, hint), value, type);
}

/* What a run of objects is checked by. */
struct check {
	struct hsnap_work *work;
	uint32_t hint;
	bool bad;
	bool used; /* a pointer that may not tell lies leads to the start of a block */
};

static void check_pointer(void *context, const struct hsnap_found *found)
{
	struct check *check = context;
	if (found->kind != HSNAP_SLOT_POINTER)
		return;
	/* Objects may lie inside blocks, behind headers of a garbage collector's. */
	uint32_t b = hsnap_block_index_find(&check->work->index, found->value, &check->hint);
	bool inside = b != HSNAP_NO_BLOCK && hsnap_object_start(check->work, b) != found->value;
	if (!(inside && found->value % 8 == 0) && !is_target_in(check->work, b, found->value, found->type))
		check->bad = true;
	check->used |= b != HSNAP_NO_BLOCK && !inside && hsnap_is_telling(check->work, found->type);
}

bool hsnap_is_run(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type, uint64_t first, uint64_t last, bool *ret_used)
{
	uint64_t start = hsnap_object_start(work, b);
	uint64_t each = hsnap_dtype(work->symbols, type)->size, num = each ? hsnap_object_room(work, b) / each : 0;
	struct check check = { .work = work };
	struct hsnap_walk walk;
	hsnap_walk_init(&walk, work, check_pointer, &check);
	bool used = num;
	for (uint64_t n = first; n < num && n < last && !check.bad; n++) {
		check.used = false;
		hsnap_walk_object(&walk, type, start + n * each, start + (n + 1) * each);
		used &= check.used;
	}
	if (ret_used)
		*ret_used = used;
	return !check.bad;
}

bool hsnap_is_telling(const struct hsnap_work *work, hsnap_dtype_id type)
{
	uint8_t kind = hsnap_dtype(work->symbols, type)->kind;
	return kind == HSNAP_DTYPE_STRUCT || kind == HSNAP_DTYPE_UNION || kind == HSNAP_DTYPE_FUNCTION;
}

bool hsnap_is_bare_link(struct hsnap_work *work, hsnap_dtype_id type)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	for (uint32_t i = 0; i < plan->num; i++)
		if (work->plans.same[plan->slots[i].type] != work->plans.same[type])
			return false;
	return plan->num && plan->words * 8 >= hsnap_dtype(work->symbols, type)->size;
}

hsnap_dtype_id hsnap_lone_pointer(struct hsnap_work *work, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	if (dtype->kind != HSNAP_DTYPE_STRUCT || dtype->size != sizeof(uint64_t))
		return 0;
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	return plan->num == 1 && plan->slots[0].kind == HSNAP_SLOT_POINTER ? plan->slots[0].type : 0;
}

hsnap_dtype_id hsnap_element_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	for (unsigned depth = 0; depth < MAX_ARRAYS && hsnap_dtype(symbols, type)->kind == HSNAP_DTYPE_ARRAY; depth++)
		type = hsnap_dtype(symbols, type)->target;
	return type;
}

/* Code that was made at run time lies in mappings of its own. */
static bool is_code(const struct hsnap_work *work, uint64_t value)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(work->target, value);
	return mapping && mapping->prot & HSNAP_PROT_EXEC;
}

/* Linkers of old put constants and code into one segment, which then is the module's first. */
bool hsnap_is_only_code(const struct hsnap_work *work, uint64_t value)
{
	const struct hsnap_target_module *module = hsnap_target_module(work->target, value);
	return module && is_code(work, value) && !is_code(work, module->start);
}

bool hsnap_may_point(struct hsnap_work *work, uint64_t value, hsnap_dtype_id type, uint32_t *hint)
{
	if (hsnap_dtype(work->symbols, type)->kind == HSNAP_DTYPE_FUNCTION)
		return is_code(work, value);
	if (!hsnap_is_telling(work, type))
		return hsnap_is_target(work, value, type, hint);
	uint32_t b = hsnap_block_index_find(&work->index, value, hint);
	if (b == HSNAP_NO_BLOCK)
		return hsnap_target_module(work->target, value) != NULL;
	const struct hsnap_claim *claim = &work->claims[b];
	if (value % 8 || !hsnap_has_room(work, b, value, hsnap_dtype(work->symbols, type)->size))
		return false;
	return value != hsnap_object_start(work, b) || claim->evidence < HSNAP_EVIDENCE_POINTER || claim->form != HSNAP_FORM_ONE ||
	       hsnap_starts_with(&work->plans, claim->type, type) || hsnap_starts_with(&work->plans, type, claim->type);
}

static void check_telling(void *context, const struct hsnap_found *found)
{
	struct check *check = context;
	check->bad = check->bad || (found->kind == HSNAP_SLOT_POINTER && hsnap_is_telling(check->work, found->type) &&
				    !hsnap_may_point(check->work, found->value, found->type, &check->hint));
}

bool hsnap_is_object(struct hsnap_work *work, hsnap_dtype_id type, uint64_t address)
{
	struct check check = { .work = work };
	struct hsnap_walk walk;
	hsnap_walk_init(&walk, work, check_telling, &check);
	hsnap_walk_object(&walk, type, address, address + hsnap_dtype(work->symbols, type)->size);
	return !check.bad;
}

/* Is there an array of anything but bytes and numbers at its end? */
static bool has_typed_tail(const struct hsnap_work *work, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	if (!(dtype->flags & HSNAP_DTYPE_FLEXIBLE) || !dtype->num_members)
		return false;
	hsnap_dtype_id last = work->symbols->members.items[dtype->first_member + dtype->num_members - 1].type;
	uint8_t kind = hsnap_dtype(work->symbols, hsnap_element_of(work->symbols, last))->kind;
	return kind != HSNAP_DTYPE_BYTE && kind != HSNAP_DTYPE_SCALAR;
}

bool hsnap_part_counts(const struct hsnap_work *work, const struct hsnap_part *part)
{
	const struct hsnap_claim *claim = &work->claims[part->block];
	if (claim->evidence < HSNAP_EVIDENCE_RUN || claim->form == HSNAP_FORM_BYTES)
		return true;
	/* What follows a struct in its block, or is but bytes at its end, it says nothing of. */
	return claim->form == HSNAP_FORM_ONE && claim->type && part->address >= hsnap_object_start(work, part->block) &&
	       part->address - hsnap_object_start(work, part->block) >= hsnap_dtype(work->symbols, claim->type)->size &&
	       !has_typed_tail(work, claim->type);
}

bool hsnap_part_stands(struct hsnap_work *work, const struct hsnap_part *part)
{
	return hsnap_part_counts(work, part) && hsnap_is_object(work, part->type, part->address);
}

/* A text, as far as one word tells: what lies behind the end of a short one is from before.  One or two characters may be a number. */
static bool begins_as_text(uint64_t word)
{
	unsigned at = 0;
	for (; at < sizeof(word); at++) {
		uint8_t byte = (uint8_t)(word >> (8 * at));
		bool control = byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r';
		if (control || byte > MOST_UTF8 || (!at && byte >= 0x80 && byte < LEAST_UTF8))
			return at >= LEAST_TEXT && !byte;
	}
	return true;
}

bool hsnap_holds_blocks(const struct hsnap_work *work, uint32_t b)
{
	uint64_t start = hsnap_object_start(work, b), room = hsnap_object_room(work, b), word;
	uint32_t hint = 0;
	for (uint64_t at = 0; at < FIRST_WORDS * sizeof(word) && at < room && room - at >= sizeof(word); at += sizeof(word)) {
		if (!hsnap_target_word(work->target, start + at, &word))
			return false;
		if (hsnap_block_at(work, word, &hint) != HSNAP_NO_BLOCK)
			return true;
		if (!at && begins_as_text(word))
			return false;
	}
	return false;
}
