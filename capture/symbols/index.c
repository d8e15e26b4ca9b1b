/* SPDX-License-Identifier: MIT */
/*
 * index.c - one walk over all units of a module: types, variables, functions.
 *
 * Functions are not entered: that would triple the work.  A function's own
 * types are read when somebody asks for one, and its statics where a scan of
 * the section's bytes has seen an address of writable memory between its
 * entries (statics.c).  The walk keeps a stack of its own, of bounded depth.
 */
#include <string.h>

#include "capture/symbols/places.h"
#include "capture/symbols/walk.h"

#define MAX_WALKING 8

static void add_function(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *scope)
{
	struct hsnap_reader *reader = walk->reader;
	hsnap_die_key key = hsnap_entry_key(walk->scan, entry);
	size_t num = reader->functions.num;
	if (walk->function) {
		reader->nested_sorted = false;
		if (!hsnap_vec_push(&reader->nested, (struct hsnap_raw_function){
							     .key = key, .owner = scope->owner, .scope = scope->name }))
			hsnap_table_no_memory(reader);
		return;
	}
	if ((scope->around && !entry->abbrev->has_code) || (num && reader->functions.items[num - 1].key >= key))
		return; /* only declared; or broken bytes, an entry twice */
	if (!hsnap_vec_push(&reader->functions, (struct hsnap_raw_function){
					   .key = key, .owner = scope->owner, .scope = scope->name }))
		hsnap_table_no_memory(reader);
}

/* A class with something in it, its functions for one. */
static void add_class(struct hsnap_walk *walk, struct hsnap_entry *entry, uint32_t outer, struct hsnap_walk_place *inner)
{
	struct hsnap_reader *reader = walk->reader;
	size_t num = reader->classes.num;
	hsnap_die_key key = hsnap_entry_key(walk->scan, entry);
	(void)hsnap_entry_next(walk->scan, entry); /* where it ends is known then */
	if (walk->function || entry->sibling <= entry->offset || (num && reader->classes.items[num - 1].key >= key))
		return;
	struct hsnap_raw_class class = { .key = key, .end = key + (entry->sibling - entry->offset), .outer = outer,
					 .owner = inner->owner, .scope = inner->name };
	if (!hsnap_vec_push(&reader->classes, class))
		hsnap_table_no_memory(reader);
	inner->around = (uint32_t)reader->classes.num;
}

/* One entry; true: descend, with *scope then the scope of its children. */
static bool see_entry(struct hsnap_walk *walk, struct hsnap_entry *entry, struct hsnap_walk_place *scope)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	unsigned tag = hsnap_entry_tag(entry);
	switch (tag) {
	case DW_TAG_namespace:
		hsnap_entry_read(walk->scan, entry, &facts);
		scope->name = hsnap_table_named(reader, scope->name, facts.name ? facts.name : "(anonymous namespace)");
		scope->owner = scope->around = 0;
		return true;
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type: {
		struct hsnap_walk_place outer = *scope;
		bool descend = hsnap_walk_struct(walk, entry, &outer, scope);
		if (descend)
			add_class(walk, entry, outer.around, scope);
		return descend;
	}
	case DW_TAG_array_type:
		hsnap_walk_array(walk, entry);
		return false;
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_subrange_type:
		hsnap_walk_plain_type(walk, entry, scope);
		return false;
	case DW_TAG_variable:
	case DW_TAG_member: /* a static one, declared in its class */
		hsnap_walk_variable(walk, entry, scope);
		return false;
	case DW_TAG_subprogram:
		add_function(walk, entry, scope);
		*scope = (struct hsnap_walk_place){ 0 }; /* a function is no scope: what is in it has its own name alone */
		return walk->function != 0;
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
		return walk->function != 0;
	default:
		return false;
	}
}

/* All entries below one; that of `root` itself is the caller's. */
static void walk_below(struct hsnap_walk *walk, struct hsnap_entry *root, hsnap_string scope)
{
	walk->levels[0] = (struct hsnap_walk_level){ .entry = hsnap_entry_child(walk->scan, root), .scope.name = scope };
	walk->depth = 0;
	for (;;) {
		struct hsnap_walk_level *level = &walk->levels[walk->depth];
		if (!level->entry.abbrev) {
			if (!walk->depth)
				return;
			walk->depth--;
			level = &walk->levels[walk->depth];
		} else {
			struct hsnap_walk_place inner = level->scope;
			if (see_entry(walk, &level->entry, &inner) && walk->depth + 1 < HSNAP_WALK_DEPTH) {
				walk->levels[++walk->depth] = (struct hsnap_walk_level){
					.entry = hsnap_entry_child(walk->scan, &level->entry), .scope = inner };
				continue;
			}
		}
		level->entry = hsnap_entry_next(walk->scan, &level->entry);
	}
}

/* All entries of a unit; false: its bytes are broken. */
static bool walk_unit(struct hsnap_reader *reader, struct hsnap_dies *dies, bool types, uint64_t start)
{
	struct hsnap_walk walk = { .reader = reader, .scan = hsnap_scan_open(&reader->scans, dies, types, start) };
	if (!walk.scan)
		return false;
	struct hsnap_entry root = hsnap_entry_at(walk.scan, walk.scan->first);
	walk_below(&walk, &root, 0);
	bool whole = !walk.scan->broken;
	hsnap_scan_close(walk.scan);
	return whole;
}

struct unit_ranges {
	struct hsnap_reader *reader;
	uint32_t unit;
};

static bool see_unit_range(void *context, uint64_t low, uint64_t high)
{
	struct unit_ranges *r = context;
	if (!hsnap_vec_push(&r->reader->ranges, (struct hsnap_raw_range){ low, high, r->unit }))
		hsnap_table_no_memory(r->reader);
	return true;
}

/* Where the code of a unit lies its skeleton says. */
static void see_skeleton_ranges(struct hsnap_reader *reader, uint32_t skeleton, struct unit_ranges *ranges)
{
	Dwarf_Die die = hsnap_die_at(reader->dies, reader->split.skeletons.items[skeleton - 1].key);
	if (die)
		hsnap_die_ranges(reader->dies, die, see_unit_range, ranges);
	hsnap_die_free(die);
}

static bool walk_units(struct hsnap_reader *reader, struct hsnap_dies *dies, bool types)
{
	struct hsnap_die_unit unit;
	bool whole, all = true;
	struct hsnap_split *split = &reader->split;
	const struct hsnap_split_half *half = dies->lists ? split->halves.items[dies->half] : NULL;
	while (hsnap_die_next_unit(dies, types, &unit, &whole)) {
		hsnap_die_key key = hsnap_die_key_here(dies, unit.die);
		size_t num = reader->units.num;
		if (half && !unit.signature && !hsnap_split_is_wanted(split, half, unit.id)) {
			hsnap_die_free(unit.die);
			continue;
		}
		struct hsnap_raw_unit raw = { .key = key, .header = unit.header, .is_type = unit.signature != 0,
					      .skeleton = half && !unit.signature ? half->skeleton : 0 };
		if (!key || (num && reader->units.items[num - 1].key >= key) || !hsnap_vec_push(&reader->units, raw)) {
			hsnap_die_free(unit.die);
			return false;
		}
		struct unit_ranges ranges = { reader, (uint32_t)num };
		if (unit.signature)
			hsnap_reader_table_add(reader, &(struct hsnap_raw_type){ .key = unit.signature, .ref = unit.type,
								   .kind = HSNAP_RAW_ALIAS });
		else if (unit.skeleton && !half && !dies->is_alt)
			hsnap_split_add(reader, dies, unit.die, unit.id);
		else if (half)
			see_skeleton_ranges(reader, raw.skeleton, &ranges);
		else if (!dies->is_alt)
			hsnap_die_ranges(dies, unit.die, see_unit_range, &ranges);
		hsnap_die_free(unit.die);
		all &= walk_unit(reader, dies, types, unit.start);
		if (reader->no_memory)
			return false;
	}
	return whole && all;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct hsnap_raw_range *x = a, *y = b;
	return (x->low > y->low) - (x->low < y->low);
}

/* Where each unit ends: where the next one of its section begins. */
static void close_units(struct hsnap_reader *reader)
{
	for (size_t i = 0; i < reader->units.num; i++) {
		bool last = i + 1 == reader->units.num || hsnap_die_section_of(reader->units.items[i + 1].key) !=
								   hsnap_die_section_of(reader->units.items[i].key);
		reader->units.items[i].end = last ? HSNAP_DIE_OFFSET : reader->units.items[i + 1].key & HSNAP_DIE_OFFSET;
	}
}

/* The other halves, as far as they are there; what is missing their skeletons tell. */
static bool walk_halves(struct hsnap_reader *reader, const struct hsnap_module_input *input)
{
	struct hsnap_split *split = &reader->split;
	bool whole = true;
	hsnap_split_open(reader, input);
	/* A file's unit comes before its type units: of another build's file these are left out too. */
	for (size_t i = 0; i < split->halves.num && !reader->no_memory; i++) {
		struct hsnap_split_half *half = split->halves.items[i];
		if (half->owner && !split->skeletons.items[half->owner - 1].found)
			continue;
		size_t before = reader->units.num;
		whole &= walk_units(reader, &half->dies, false);
		bool found = false;
		for (size_t k = before; k < reader->units.num; k++)
			found |= reader->units.items[k].skeleton != 0;
		if (half->skeleton && !found)
			split->skeletons.items[half->skeleton - 1].found = false;
	}
	for (size_t i = 0; i < split->halves.num && !reader->no_memory; i++) {
		uint32_t owner = split->halves.items[i]->owner;
		if (!owner || split->skeletons.items[owner - 1].found)
			whole &= walk_units(reader, &split->halves.items[i]->dies, true);
	}
	return whole;
}

enum hsnap_code hsnap_index_units(struct hsnap_reader *reader, const struct hsnap_module_input *input,
				  struct hsnap_error *err)
{
	if (!reader->types.num && !hsnap_vec_push(&reader->types, (struct hsnap_raw_type){ .kind = HSNAP_RAW_VOID }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	struct hsnap_dies *dies = reader->dies;
	bool whole = walk_units(reader, dies, false);
	whole &= walk_units(reader, dies, true);
	if (dies->alt)
		whole &= walk_units(reader, dies->alt, false);
	if (reader->split.skeletons.num && !reader->no_memory)
		whole &= walk_halves(reader, input);
	if (reader->no_memory)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	reader->damaged = !whole;
	if (reader->ranges.num)
		qsort(reader->ranges.items, reader->ranges.num, sizeof(*reader->ranges.items), compare_ranges);
	close_units(reader);
	hsnap_walk_place_misplaced(reader);
	hsnap_walk_complete_variables(reader);
	return HSNAP_OK;
}

/* --- within functions, when asked for --- */

void hsnap_index_walk_function(struct hsnap_reader *reader, struct hsnap_raw_function *function, hsnap_string scope)
{
	if (function->walked || reader->walking > MAX_WALKING)
		return;
	function->walked = true;
	reader->walking++;
	hsnap_die_key key = function->key;
	uint64_t offset;
	struct hsnap_walk walk = { .reader = reader, .scan = hsnap_table_scan(reader, key, &offset) };
	if (walk.scan) {
		struct hsnap_entry entry = hsnap_entry_at(walk.scan, offset);
		walk.function = hsnap_table_function_name(reader, key);
		if (!walk.function)
			walk.function = hsnap_table_string(reader, "?");
		walk_below(&walk, &entry, scope);
	}
	hsnap_scan_close(walk.scan);
	reader->walking--;
}
