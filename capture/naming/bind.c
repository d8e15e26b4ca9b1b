/* SPDX-License-Identifier: MIT */
/*
 * bind.c - what a user's rules mean in one process.
 *
 * A rule is bound to each type of its name that has the members it speaks of: one name is often several
 * structs.  What a pointer leads to must be one type, and if there are several of that name, the one of the
 * module of the type that points; else the user is asked which.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/naming/binder.h"
#include "capture/naming/work.h"
#include "snapshot/base/cleanup.h"

#define KINDS_NAMED (HSNAP_KINDS_OBJECT | 1u << HSNAP_DTYPE_INCOMPLETE)

void hsnap_bounds_deinit(struct hsnap_bounds *bounds)
{
	hsnap_vec_deinit(&bounds->bounds);
	hsnap_vec_deinit(&bounds->ops);
	hsnap_vec_deinit(&bounds->made);
	hsnap_vec_deinit(&bounds->owners);
	hsnap_keymap_deinit(&bounds->holds);
	hsnap_keymap_deinit(&bounds->is);
	hsnap_keymap_deinit(&bounds->owned);
}

void hsnap_bind_refuse(struct hsnap_binder *binder, const char *format, ...)
{
	char why[512], place[512];
	va_list args;
	if (binder->code)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	hsnap_rule_place(binder->rules, binder->rule, place, sizeof(place));
	binder->code = hsnap_fail(binder->err, HSNAP_REFUSED, 0, "%s: %s", place, why);
}

void hsnap_bind_hint(struct hsnap_binder *binder, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (binder->code == HSNAP_REFUSED && binder->err && !binder->err->hint[0])
		hsnap_hint(binder->err, binder->code, "%s", text);
}

void hsnap_bind_no_memory(struct hsnap_binder *binder)
{
	if (!binder->code)
		binder->code = hsnap_fail(binder->err, HSNAP_NO_MEMORY, 0, "out of memory");
}

/* --- names that no type has --- */

/* 1 + index, or 0. */
static uint32_t find_made(const struct hsnap_bounds *bounds, hsnap_string name)
{
	for (uint32_t i = 0; i < bounds->made.num; i++)
		if (bounds->made.items[i].name == name)
			return i + 1;
	return 0;
}

/* What "is" rules speak of and the program does not have. */
static void list_made(struct hsnap_binder *binder)
{
	hsnap_auto(hsnap_freep) void *free_later = NULL;
	struct hsnap_type_list list = { 0 };
	for (size_t i = 0; i < binder->rules->rules.num && !binder->code; i++) {
		const struct hsnap_rule *rule = binder->rule = &binder->rules->rules.items[i];
		if (rule->kind != HSNAP_RULE_IS || find_made(binder->bounds, rule->type.name))
			continue;
		hsnap_find_types(binder, &rule->type, KINDS_NAMED, &list);
		if (!list.num && !hsnap_vec_push(&binder->bounds->made, (struct hsnap_made){ .name = rule->type.name }))
			hsnap_bind_no_memory(binder);
	}
	free_later = list.items;
}

/* Those that nothing leads to are rather misspelled types. */
static void check_made(struct hsnap_binder *binder)
{
	for (size_t i = 0; i < binder->rules->rules.num && !binder->code; i++) {
		const struct hsnap_rule *rule = binder->rule = &binder->rules->rules.items[i];
		uint32_t made = rule->kind == HSNAP_RULE_IS ? find_made(binder->bounds, rule->type.name) : 0;
		if (made && !binder->bounds->made.items[made - 1].used)
			hsnap_refuse_type(binder, &rule->type);
	}
}

/* --- what is led to --- */

static bool is_same(const struct hsnap_symbols *symbols, hsnap_dtype_id a, hsnap_dtype_id b)
{
	const struct hsnap_dtype *x = hsnap_dtype(symbols, a), *y = hsnap_dtype(symbols, b);
	return x->size == y->size && x->line == y->line && x->kind == y->kind && x->unit == y->unit;
}

/* "src/dict.h" of "/build/src/dict.h". */
static const char *last_two(const char *path)
{
	const char *at = hsnap_last_part(path);
	if (at > path)
		at--;
	while (at > path && at[-1] != '/')
		at--;
	return at;
}

static void refuse_several(struct hsnap_binder *binder, hsnap_dtype_id one, hsnap_dtype_id other)
{
	const struct hsnap_symbols *symbols = binder->symbols;
	const struct hsnap_dtype *a = hsnap_dtype(symbols, one), *b = hsnap_dtype(symbols, other);
	const char *name = hsnap_bind_text(binder, binder->rule->held.name);
	const char *first = hsnap_str(&symbols->strings, a->unit), *second = hsnap_str(&symbols->strings, b->unit);
	bool alike = !strcmp(hsnap_last_part(first), hsnap_last_part(second));
	first = alike ? last_two(first) : hsnap_last_part(first);
	second = alike ? last_two(second) : hsnap_last_part(second);
	hsnap_bind_refuse(binder, "'%s' is several types: of %s:%" PRIu32 " and of %s:%" PRIu32, name, first, a->line, second, b->line);
	hsnap_bind_hint(binder, "say which: %s@%s", name, first);
}

/* Of all types of the name the only one, or the only one of the module; types that are the same count as one. */
static hsnap_dtype_id choose(struct hsnap_binder *binder, const struct hsnap_type_list *list, uint32_t module)
{
	hsnap_dtype_id found = 0;
	bool here = false;
	for (size_t i = 0; i < list->num; i++)
		here |= hsnap_dtype(binder->symbols, list->items[i])->module == module;
	for (size_t i = 0; i < list->num && !binder->code; i++) {
		if (here && hsnap_dtype(binder->symbols, list->items[i])->module != module)
			continue;
		if (found && !is_same(binder->symbols, found, list->items[i]))
			refuse_several(binder, found, list->items[i]);
		found = found ? found : list->items[i];
	}
	return found;
}

/* A pointer to the type; one is made where debug info has none. */
static hsnap_dtype_id pointer_to(struct hsnap_binder *binder, hsnap_dtype_id target)
{
	struct hsnap_symbols *symbols = binder->symbols;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		if (symbols->types.items[id].kind == HSNAP_DTYPE_POINTER && symbols->types.items[id].target == target)
			return id;
	struct hsnap_dtype pointer = { .kind = HSNAP_DTYPE_POINTER, .size = 8, .target = target,
				       .module = symbols->types.items[target].module };
	if (!hsnap_vec_push(&symbols->types, pointer)) {
		hsnap_bind_no_memory(binder);
		return 0;
	}
	return (hsnap_dtype_id)symbols->types.num - 1;
}

/* What can be led to: something that has a size. */
static hsnap_dtype_id find_held(struct hsnap_binder *binder, uint32_t module)
{
	const struct hsnap_rule_type *wanted = &binder->rule->held;
	unsigned kinds = HSNAP_KINDS_OBJECT | HSNAP_KINDS_PLAIN | 1u << HSNAP_DTYPE_POINTER;
	hsnap_auto(hsnap_freep) void *free_later = NULL;
	struct hsnap_type_list list = { 0 };
	hsnap_find_types(binder, wanted, kinds | (wanted->stars ? 1u << HSNAP_DTYPE_INCOMPLETE : 0), &list);
	free_later = list.items;
	if (!list.num && !binder->code)
		hsnap_refuse_type(binder, wanted);
	hsnap_dtype_id held = binder->code ? 0 : choose(binder, &list, module);
	if (!binder->code && wanted->stars)
		held = pointer_to(binder, held);
	if (binder->code)
		return 0;
	const struct hsnap_dtype *dtype = hsnap_dtype(binder->symbols, held);
	if (!dtype->size) {
		hsnap_bind_refuse(binder, "the size of '%s' is not known", hsnap_bind_text(binder, wanted->name));
		hsnap_bind_hint(binder, "it must be a type that debug info defines");
	} else if (HSNAP_KINDS_PLAIN >> dtype->kind & 1 && binder->rule->form == HSNAP_RULE_ONE) {
		const char *name = hsnap_bind_text(binder, wanted->name);
		hsnap_bind_refuse(binder, "a block of '%s' is an array", name);
		hsnap_bind_hint(binder, "say %s[], or %s[n]", name, name);
	}
	return held;
}

/* How far into the object the pointer leads. */
static uint64_t find_at(struct hsnap_binder *binder, hsnap_dtype_id held)
{
	const struct hsnap_rule *rule = binder->rule;
	struct hsnap_named named = { .type = held };
	uint64_t offset = rule->behind_start;
	for (uint32_t i = 0; i < rule->at.num && !binder->code; i++) {
		const char *name = hsnap_bind_text(binder, binder->rules->steps.items[rule->at.first + i].name);
		hsnap_dtype_id holder = named.type;
		if (!holder || !hsnap_find_member(binder->symbols, holder, name, &named)) {
			hsnap_bind_refuse(binder, "'%s' has no member '%s' that a pointer could lead to",
					  hsnap_bind_text(binder, rule->held.name), name);
			hsnap_hint_member(binder, holder, name);
		}
		offset += named.offset;
	}
	if (!binder->code && held && rule->form == HSNAP_RULE_ONE && offset > hsnap_dtype(binder->symbols, held)->size) {
		hsnap_bind_refuse(binder, "%" PRIu64 " bytes are more than a '%s' has", offset, hsnap_bind_text(binder, rule->held.name));
		hsnap_bind_hint(binder, "it has %" PRIu64, hsnap_dtype(binder->symbols, held)->size);
	}
	return offset;
}

/* --- the pointing member --- */

/* Where pointers can stand: in words, be they declared as numbers. */
static bool is_word(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	return dtype->size == 8 && (dtype->kind == HSNAP_DTYPE_POINTER || dtype->kind == HSNAP_DTYPE_UNION ||
				    dtype->kind == HSNAP_DTYPE_SCALAR || dtype->kind == HSNAP_DTYPE_STRUCT);
}

/* From the type along the path; false: it has none of that name, or (with `refuse`) that was said. */
static bool follow_path(struct hsnap_binder *binder, const struct hsnap_rule_path *path, hsnap_dtype_id type,
			struct hsnap_named *ret, bool refuse)
{
	uint64_t offset = 0;
	*ret = (struct hsnap_named){ .type = type };
	for (uint32_t i = 0; i < path->num; i++) {
		const char *name = hsnap_bind_text(binder, binder->rules->steps.items[path->first + i].name);
		hsnap_dtype_id holder = ret->type;
		if (!hsnap_find_member(binder->symbols, holder, name, ret)) {
			if (!refuse)
				return false;
			hsnap_bind_refuse(binder, "'%s' has no member '%s'", hsnap_str(&binder->symbols->strings,
					  hsnap_dtype(binder->symbols, holder)->name), name);
			hsnap_hint_member(binder, holder, name);
			return false;
		}
		offset += ret->offset;
	}
	ret->offset = offset;
	return true;
}

static void find_member(struct hsnap_binder *binder, struct hsnap_bound *bound)
{
	const struct hsnap_rule *rule = binder->rule;
	const struct hsnap_symbols *symbols = binder->symbols;
	struct hsnap_named named;
	bound->stride = 8;
	bound->most = rule->many ? UINT64_MAX : 1;
	if (!rule->path.num || !follow_path(binder, &rule->path, bound->type, &named, true))
		return;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, named.type);
	const char *name = hsnap_bind_text(binder, binder->rules->steps.items[rule->path.first + rule->path.num - 1].name);
	bool array = dtype->kind == HSNAP_DTYPE_ARRAY && is_word(symbols, dtype->target);
	if (named.flags & HSNAP_DMEMBER_BITFIELD || !(array || is_word(symbols, named.type))) {
		hsnap_bind_refuse(binder, "'%s' is no pointer, nor an array of pointers", name);
		hsnap_bind_hint(binder, "a rule is about words of 8 bytes; Type.(bytes) says where one stands in bytes");
	} else if (array != rule->many) {
		hsnap_bind_refuse(binder, array ? "'%s' is an array of pointers" : "'%s' is one pointer, and no array", name);
		hsnap_bind_hint(binder, array ? "say %s[]" : "say %s without brackets; an array that it leads to is T[]", name);
	}
	bound->offset = named.offset;
	if (array && dtype->count)
		bound->most = dtype->count;
}

/* --- pools --- */

/* The number by which a pool's objects are in use. */
static void find_live(struct hsnap_binder *binder, struct hsnap_bound *bound)
{
	const struct hsnap_rule *rule = binder->rule;
	struct hsnap_named named;
	if (binder->code || rule->step == HSNAP_NO_EXPR)
		return;
	if (hsnap_dtype(binder->symbols, bound->held)->kind != HSNAP_DTYPE_STRUCT) {
		hsnap_bind_refuse(binder, "a pool is of structs, and '%s' is none", hsnap_bind_text(binder, rule->held.name));
		hsnap_bind_hint(binder, "an array without 'step' may be of anything");
	}
	if (!rule->live.num || !follow_path(binder, &rule->live, bound->held, &named, true))
		return;
	const struct hsnap_dtype *dtype = hsnap_dtype(binder->symbols, named.type);
	bool number = HSNAP_KINDS_PLAIN >> dtype->kind & 1 || dtype->kind == HSNAP_DTYPE_POINTER;
	if (named.flags & HSNAP_DMEMBER_BITFIELD || !number || (dtype->size != 1 && dtype->size != 2 && dtype->size != 4 && dtype->size != 8)) {
		hsnap_bind_refuse(binder, "what 'live' names is a number of 1, 2, 4 or 8 bytes, and no bit-field");
		hsnap_bind_hint(binder, "of a bit-field say its neighbour with & MASK");
		return;
	}
	bound->live_at = named.offset;
	bound->live_bytes = (uint8_t)dtype->size;
}

/* --- rules --- */

/* Nothing leads to any block: its size has to tell, too. */
static void check_any(struct hsnap_binder *binder, const struct hsnap_bound *bound)
{
	const struct hsnap_rule *rule = binder->rule;
	if (binder->code || rule->kind != HSNAP_RULE_ANY || !bound->held || rule->extra != HSNAP_NO_EXPR ||
	    !(hsnap_dtype(binder->symbols, bound->held)->flags & HSNAP_DTYPE_FLEXIBLE))
		return;
	const char *name = hsnap_bind_text(binder, rule->held.name);
	hsnap_bind_refuse(binder, "a '%s' may have any size", name);
	hsnap_bind_hint(binder, "say how many bytes stand behind it: %s + n", name);
}

/* One rule for one type: an error is one of this type alone. */
static void bind_one(struct hsnap_binder *binder, hsnap_dtype_id type)
{
	const struct hsnap_rule *rule = binder->rule;
	struct hsnap_bounds *bounds = binder->bounds;
	struct hsnap_bound bound = { .rule = (uint32_t)(rule - binder->rules->rules.items), .type = type };
	if (rule->kind == HSNAP_RULE_IS && !type)
		bound.made = find_made(bounds, rule->type.name);
	bound.held_made = find_made(bounds, rule->held.name);
	if (bound.held_made && (rule->held.stars || rule->form != HSNAP_RULE_ONE || rule->at.num || rule->extra != HSNAP_NO_EXPR)) {
		hsnap_bind_refuse(binder, "'%s' may be several types: no array of it, no member, and nothing behind it", hsnap_bind_text(binder, rule->held.name));
		hsnap_bind_hint(binder, "say it in its 'is' rules");
	}
	if (rule->kind == HSNAP_RULE_HOLDS)
		find_member(binder, &bound);
	if (!bound.held_made)
		bound.held = find_held(binder, hsnap_dtype(binder->symbols, type)->module);
	bound.at = find_at(binder, bound.held);
	struct hsnap_scope scope = { .base = type, .led_to = bound.held };
	bound.place = hsnap_compile(binder, rule->place, &scope);
	bound.pointers = hsnap_compile(binder, rule->pointers, &scope);
	bound.count = hsnap_compile(binder, rule->count, &scope);
	bound.extra = hsnap_compile(binder, rule->extra, &scope);
	bound.when = hsnap_compile(binder, rule->when, &scope);
	bound.step = hsnap_compile(binder, rule->step, &scope);
	bound.from = hsnap_compile(binder, rule->from, &scope);
	find_live(binder, &bound);
	check_any(binder, &bound);
	for (uint32_t i = 0; i < rule->num_owners; i++)
		bound.owners |= 1u << (rule->first_owner + i);
	if (binder->code)
		return;
	if (bound.held_made)
		bounds->made.items[bound.held_made - 1].used = true;
	if (!hsnap_vec_push(&bounds->bounds, bound))
		hsnap_bind_no_memory(binder);
}

/* For all types of the name; what one of them lacks is an error if they all lack it. */
static void bind_rule(struct hsnap_binder *binder)
{
	const struct hsnap_rule *rule = binder->rule;
	hsnap_auto(hsnap_freep) void *free_later = NULL;
	struct hsnap_type_list list = { 0 };
	struct hsnap_error first = { 0 }, *err = binder->err;
	size_t before = binder->bounds->bounds.num;
	if (rule->kind == HSNAP_RULE_ANY || (rule->kind == HSNAP_RULE_IS && find_made(binder->bounds, rule->type.name))) {
		bind_one(binder, 0);
		return;
	}
	hsnap_find_types(binder, &rule->type, rule->kind == HSNAP_RULE_IS ? KINDS_NAMED : HSNAP_KINDS_OBJECT, &list);
	free_later = list.items;
	if (!list.num)
		hsnap_refuse_type(binder, &rule->type);
	for (size_t i = 0; i < list.num && (!binder->code || binder->code == HSNAP_REFUSED); i++) {
		struct hsnap_error here = { 0 };
		binder->code = HSNAP_OK;
		binder->err = &here;
		bind_one(binder, list.items[i]);
		first = binder->code && !first.code ? here : first;
	}
	binder->err = err;
	if (!list.num)
		return;
	if (binder->code != HSNAP_NO_MEMORY)
		binder->code = binder->bounds->bounds.num > before ? HSNAP_OK : first.code;
	if (binder->code && err)
		*err = first;
}

/* --- owners --- */

static void add_owner(struct hsnap_binder *binder, struct hsnap_bound_owner owner, const struct hsnap_named *named, size_t *found)
{
	owner.offset = named->offset;
	owner.member = named->type;
	++*found;
	if (!hsnap_vec_push(&binder->bounds->owners, owner))
		hsnap_bind_no_memory(binder);
}

static struct hsnap_program owner_program(struct hsnap_binder *binder, const struct hsnap_rule_owner *owner, hsnap_dtype_id type)
{
	struct hsnap_scope scope = { .base = type };
	return hsnap_compile(binder, owner->when, &scope);
}

static void bind_owner(struct hsnap_binder *binder, uint32_t number)
{
	const struct hsnap_rule_owner *owner = &binder->rules->owners.items[number];
	hsnap_auto(hsnap_freep) void *free_later = NULL;
	struct hsnap_type_list list = { 0 };
	struct hsnap_named named;
	uint32_t variable;
	size_t found = 0;
	hsnap_find_types(binder, &owner->type, HSNAP_KINDS_OBJECT, &list);
	free_later = list.items;
	for (size_t i = 0; i < list.num && owner->path.num && !binder->code; i++)
		if (follow_path(binder, &owner->path, list.items[i], &named, false))
			add_owner(binder, (struct hsnap_bound_owner){ .type = list.items[i], .bit = number,
				  .when = owner_program(binder, owner, list.items[i]) }, &named, &found);
	if (!found && hsnap_find_variable(binder, owner->type.name, &variable) &&
	    follow_path(binder, &owner->path, binder->symbols->variables.items[variable].type, &named, true))
		add_owner(binder, (struct hsnap_bound_owner){ .variable = variable, .bit = number,
			  .when = owner_program(binder, owner, binder->symbols->variables.items[variable].type) }, &named, &found);
	if (found || binder->code)
		return;
	const char *name = hsnap_bind_text(binder, owner->type.name);
	if (list.num && owner->path.num) {
		follow_path(binder, &owner->path, list.items[0], &named, true);
	} else if (list.num) {
		hsnap_bind_refuse(binder, "'%s' is a type, and an owner is a variable or a member", name);
		hsnap_bind_hint(binder, "say %s.member", name);
	} else {
		hsnap_bind_refuse(binder, "there is no variable and no type '%s'", name);
		hsnap_bind_hint(binder, "an owner is a global or static variable, a member of one, or Type.member");
	}
}

static void bind_owners(struct hsnap_binder *binder)
{
	for (uint32_t i = 0; i < binder->rule->num_owners && !binder->code; i++)
		bind_owner(binder, binder->rule->first_owner + i);
}

/* --- all of it --- */

/* Which modules a file speaks of. */
static void open_modules(struct hsnap_binder *binder, const struct hsnap_rule_file *file)
{
	const struct hsnap_target *target = binder->target;
	bool any = false;
	for (size_t m = 0; m < binder->symbols->modules.num; m++) {
		const char *name = m < target->modules.num
					   ? hsnap_last_part(hsnap_str(&target->strings, target->modules.items[m].path)) : "";
		binder->open[m] = !file->num_patterns;
		for (uint32_t i = 0; i < file->num_patterns; i++)
			binder->open[m] |= !fnmatch(hsnap_bind_text(binder, binder->rules->patterns.items[file->first_pattern + i]), name, 0);
		any |= binder->open[m];
	}
	if (any || binder->code)
		return;
	binder->code = hsnap_fail(binder->err, HSNAP_REFUSED, 0, "%s: it is for modules called %s, and the process has none",
				  hsnap_bind_text(binder, file->name),
				  hsnap_bind_text(binder, binder->rules->patterns.items[file->first_pattern]));
	hsnap_hint(binder->err, binder->code, "leave --types %s out, or add its module to the line that begins with 'module'",
		   hsnap_bind_text(binder, file->name));
}

/* Each type's in the files' order. */
static void link_bounds(struct hsnap_binder *binder)
{
	struct hsnap_bounds *bounds = binder->bounds;
	bool is_new;
	for (size_t i = bounds->bounds.num; i-- > 1;) {
		struct hsnap_bound *bound = &bounds->bounds.items[i];
		uint8_t kind = binder->rules->rules.items[bound->rule].kind;
		bool is = kind == HSNAP_RULE_IS;
		uint32_t *first = kind == HSNAP_RULE_ANY ? &bounds->any
				  : bound->made ? &bounds->made.items[bound->made - 1].first
				  : hsnap_keymap_at(is ? &bounds->is : &bounds->holds, (struct hsnap_key){ bound->type, 0 }, &is_new);
		if (!first) {
			hsnap_bind_no_memory(binder);
			return;
		}
		bound->next = *first;
		*first = (uint32_t)i;
	}
	for (size_t i = 0; i < bounds->owners.num; i++) {
		struct hsnap_bound_owner *owner = &bounds->owners.items[i];
		uint32_t *first = owner->type ? hsnap_keymap_at(&bounds->owned, (struct hsnap_key){ owner->type, 0 }, &is_new) : NULL;
		if (owner->type && !first)
			hsnap_bind_no_memory(binder);
		if (!first)
			continue;
		owner->next = *first;
		*first = (uint32_t)i + 1;
	}
}

static void bind_all(struct hsnap_binder *binder)
{
	uint32_t file = UINT32_MAX;
	for (size_t i = 0; i < binder->rules->files.num && !binder->code; i++)
		open_modules(binder, &binder->rules->files.items[i]);
	for (size_t m = 0; m < binder->symbols->modules.num; m++)
		binder->open[m] = true;
	list_made(binder);
	for (size_t i = 0; i < binder->rules->rules.num && !binder->code; i++) {
		binder->rule = &binder->rules->rules.items[i];
		if (binder->rule->file != file)
			open_modules(binder, &binder->rules->files.items[binder->rule->file]);
		file = binder->rule->file;
		if (!binder->code)
			bind_rule(binder);
		bind_owners(binder);
	}
	if (!binder->code)
		check_made(binder);
	if (!binder->code)
		link_bounds(binder);
}

enum hsnap_code hsnap_bounds_init(struct hsnap_bounds *bounds, const struct hsnap_rules *rules, const struct hsnap_target *target,
				  struct hsnap_symbols *symbols, struct hsnap_error *err)
{
	struct hsnap_error ignored;
	hsnap_auto(hsnap_freep) bool *open = calloc(symbols->modules.num + 1, sizeof(*open));
	struct hsnap_binder binder = { .bounds = bounds, .rules = rules, .target = target, .symbols = symbols, .open = open,
				       .err = err ? err : &ignored };
	*bounds = (struct hsnap_bounds){ .rules = rules, .symbols = symbols };
	if (!open || !hsnap_vec_push(&bounds->bounds, (struct hsnap_bound){ 0 }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	bind_all(&binder);
	return binder.code;
}
