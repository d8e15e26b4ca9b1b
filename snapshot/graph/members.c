/* SPDX-License-Identifier: MIT */
/*
 * members.c - from a type and an offset to the member that stands there.
 *
 * The tables may come from a file: members may overlap, and nest deeper than
 * any program's.  So the search has a bound on its depth and one on its work;
 * past either it answers with the outer member and "+N".
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"

#define MAX_DEPTH 48
#define MAX_WORK 100000 /* members looked at in one search */

/* How good an end of the path is; the greatest wins, and the first among equals. */
enum rank { NOTHING, NOT_COVERED, INSIDE, AT_VALUE, AT_POINTER };

struct step {
	hsnap_string name; /* of a member; 0: an element */
	uint64_t index;    /* of the element; UINT64_MAX: any */
};

struct path {
	struct step steps[MAX_DEPTH];
	size_t num;
	uint64_t rest; /* bytes from the place that the last step names */
	hsnap_type_id type; /* of what stands there */
};

struct search {
	const struct hsnap_snapshot *snapshot;
	struct path now, best;
	enum rank rank; /* of best */
	unsigned work;
};

static void offer(struct search *search, enum rank rank, hsnap_type_id type)
{
	if (rank <= search->rank)
		return;
	search->rank = rank;
	search->best = search->now;
	search->best.type = type;
	/* What stands in members without a name, as the library's are shown, is called by what is around them. */
	if (rank == AT_POINTER && type)
		search->best.rest = 0;
}

static void descend(struct search *search, hsnap_type_id id, uint64_t offset, unsigned depth);

static void step_into(struct search *search, struct step step, hsnap_type_id type, uint64_t offset,
		      unsigned depth)
{
	uint64_t rest = search->now.rest;
	search->now.steps[search->now.num++] = step;
	search->now.rest = offset;
	descend(search, type, offset, depth);
	search->now.num--;
	search->now.rest = rest;
}

static void descend_array(struct search *search, hsnap_type_id id, uint64_t offset, unsigned depth)
{
	const struct hsnap_type *type = &search->snapshot->types.items[id];
	uint64_t each = search->snapshot->types.items[type->element].size;
	if (!each || (type->size && offset >= type->size)) {
		offer(search, NOT_COVERED, id);
		return;
	}
	struct step step = { .index = type->size ? offset / each : UINT64_MAX };
	step_into(search, step, type->element, offset % each, depth);
}

/* Does the member cover the byte?  A flexible array covers all that follows, where nothing else does. */
static bool covers(const struct hsnap_snapshot *snapshot, const struct hsnap_member *member,
		   uint64_t offset, bool flexible)
{
	const struct hsnap_type *type = &snapshot->types.items[member->type];
	if (flexible)
		return type->kind == HSNAP_TYPE_ARRAY && !type->size;
	return offset - member->offset < type->size;
}

static bool descend_members(struct search *search, const struct hsnap_type *type, uint64_t offset,
			    unsigned depth, bool flexible)
{
	bool found = false;
	if (!type->num_members)
		return false;
	const struct hsnap_member *members = search->snapshot->members.items + type->first_member;
	for (uint32_t i = 0; i < type->num_members && members[i].offset <= offset; i++) {
		if (search->rank == AT_POINTER || ++search->work > MAX_WORK)
			break;
		if (!covers(search->snapshot, &members[i], offset, flexible))
			continue;
		found = true;
		uint64_t inner = offset - members[i].offset;
		if (hsnap_text(search->snapshot, members[i].name)[0])
			step_into(search, (struct step){ .name = members[i].name }, members[i].type, inner, depth);
		else
			descend(search, members[i].type, inner, depth);
	}
	return found;
}

/* Which arm of a union is in use nobody knows: it is named only where no other has a pointer there. */
static bool descend_union(struct search *search, const struct hsnap_type *type, uint64_t offset, unsigned depth,
			  bool flexible)
{
	struct search best = { .rank = NOTHING };
	unsigned pointers = 0;
	bool found = false;
	const struct hsnap_member *members = search->snapshot->members.items + type->first_member;
	for (uint32_t i = 0; i < type->num_members && pointers < 2 && search->work <= MAX_WORK; i++, search->work++) {
		if (members[i].offset > offset || !covers(search->snapshot, &members[i], offset, flexible))
			continue;
		struct hsnap_type arm = *type;
		arm.first_member += i;
		arm.num_members = 1;
		struct search one = { .snapshot = search->snapshot, .now = search->now, .work = search->work };
		found |= descend_members(&one, &arm, offset, depth, flexible);
		search->work = one.work;
		pointers += one.rank == AT_POINTER;
		if (one.rank > best.rank)
			best = one;
	}
	if (pointers > 1) {
		offer(search, AT_POINTER, HSNAP_NO_TYPE);
	} else if (best.rank > search->rank) {
		search->rank = best.rank;
		search->best = best.best;
	}
	return found;
}

static void descend(struct search *search, hsnap_type_id id, uint64_t offset, unsigned depth)
{
	const struct hsnap_type *type = &search->snapshot->types.items[id];
	if (depth == MAX_DEPTH) {
		offer(search, INSIDE, id);
		return;
	}
	switch (type->kind) {
	case HSNAP_TYPE_POINTER:
		offer(search, offset ? INSIDE : AT_POINTER, id);
		break;
	case HSNAP_TYPE_SCALAR:
		offer(search, offset ? INSIDE : AT_VALUE, id);
		break;
	case HSNAP_TYPE_ARRAY:
		descend_array(search, id, offset, depth + 1);
		break;
	case HSNAP_TYPE_UNION:
		if (!descend_union(search, type, offset, depth + 1, false) &&
		    !descend_union(search, type, offset, depth + 1, true))
			offer(search, NOT_COVERED, id);
		break;
	case HSNAP_TYPE_STRUCT:
		if (!descend_members(search, type, offset, depth + 1, false) &&
		    !descend_members(search, type, offset, depth + 1, true))
			offer(search, NOT_COVERED, id);
		break;
	default:
		offer(search, NOT_COVERED, id);
	}
}

struct text {
	char *at;
	size_t left;
};

static void HSNAP_PRINTF(2, 3) append(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text->at, text->left, format, args);
	va_end(args);
	size_t used = len < 0 ? 0 : (size_t)len < text->left ? (size_t)len : text->left - 1;
	text->at += used;
	text->left -= used;
}

static void print_path(const struct search *search, struct text *out)
{
	const struct path *path = &search->best;
	for (size_t i = 0; i < path->num; i++) {
		const struct step *step = &path->steps[i];
		if (step->name)
			append(out, ".%s", hsnap_text(search->snapshot, step->name));
		else if (step->index == UINT64_MAX)
			append(out, "[*]");
		else
			append(out, "[%llu]", (unsigned long long)step->index);
	}
	if (path->rest || (!path->num && search->rank < AT_VALUE))
		append(out, "+%llu", (unsigned long long)path->rest);
}

bool hsnap_member_path(const struct hsnap_snapshot *snapshot, hsnap_type_id type, uint64_t offset,
		       char *text, size_t text_size)
{
	struct search search = { .snapshot = snapshot, .now.rest = offset };
	search.best.rest = offset;
	if (type < snapshot->types.num)
		descend(&search, type, offset, 0);
	if (text_size) {
		struct text out = { .at = text, .left = text_size };
		text[0] = '\0';
		print_path(&search, &out);
	}
	return search.rank == AT_POINTER;
}

bool hsnap_member_pointer(const struct hsnap_snapshot *snapshot, hsnap_type_id type, uint64_t offset,
			  hsnap_type_id *ret)
{
	struct search search = { .snapshot = snapshot };
	if (type < snapshot->types.num)
		descend(&search, type, offset, 0);
	if (search.rank != AT_POINTER)
		return false;
	*ret = search.best.type;
	return true;
}
