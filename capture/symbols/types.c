/* SPDX-License-Identifier: MIT */
/* types.c - types as their entries have them: members, arguments, bounds. */
#include <stdio.h>
#include <string.h>

#include "capture/symbols/walk.h"

void hsnap_walk_declared(struct hsnap_reader *reader, hsnap_die_key key, const struct hsnap_die_facts *facts,
			 hsnap_string *file, uint32_t *line)
{
	if (facts->decl_file != UINT64_MAX)
		*file = hsnap_table_file(reader, key, facts->decl_file);
	*line = (uint32_t)facts->decl_line;
}

static uint8_t scalar_kind(const struct hsnap_die_facts *facts)
{
	bool character = facts->encoding == DW_ATE_signed_char || facts->encoding == DW_ATE_unsigned_char ||
			 facts->encoding == DW_ATE_UTF;
	return facts->size == 1 && character ? HSNAP_RAW_BYTE : HSNAP_RAW_SCALAR;
}

/* Which bits a bit-field has, as HSNAP_DMEMBER_BITS() and FIRST_BIT() tell them; 0: not known. */
static uint32_t bits_of(const struct hsnap_die_facts *facts)
{
	uint64_t first = facts->first_bit;
	if (!facts->num_bits || facts->num_bits > 64)
		return 0;
	if (facts->high_bit) {
		if (facts->size > 8 || facts->high_bit > 64 || facts->high_bit - 1 + facts->num_bits > facts->size * 8)
			return 0;
		first = facts->size * 8 - (facts->high_bit - 1) - facts->num_bits;
	}
	return (uint32_t)(facts->num_bits << 16 | first << 8);
}

static void add_member(struct hsnap_walk *walk, const struct hsnap_die_facts *facts, bool is_union)
{
	struct hsnap_reader *reader = walk->reader;
	bool base = facts->tag == DW_TAG_inheritance;
	if (!base && facts->flags & (HSNAP_DIE_EXTERNAL | HSNAP_DIE_DECLARATION))
		return; /* a static member of DWARF 4 */
	struct hsnap_raw_member member = {
		.type = facts->type,
		.offset = facts->member_offset,
		.name = base ? 0 : hsnap_table_named(reader, 0, facts->name),
	};
	if (base)
		member.flags |= HSNAP_DMEMBER_BASE;
	if (facts->flags & HSNAP_DIE_MEMBER_COMPUTED || (base && facts->flags & HSNAP_DIE_VIRTUAL)) {
		member.flags |= HSNAP_DMEMBER_VIRTUAL;
		member.offset = 0;
	} else if (!(facts->flags & HSNAP_DIE_HAS_MEMBER_OFFSET) && !is_union && !base) {
		return; /* no place that we know */
	}
	if (facts->flags & HSNAP_DIE_BIT_FIELD)
		member.flags |= HSNAP_DMEMBER_BITFIELD | bits_of(facts);
	if (facts->name && !strncmp(facts->name, "_vptr", 5) &&
	    (facts->flags & HSNAP_DIE_ARTIFICIAL || facts->name[5] == '.' || facts->name[5] == '$'))
		member.flags |= HSNAP_DMEMBER_VPTR;
	if (!hsnap_vec_push(&reader->members, member))
		hsnap_table_no_memory(reader);
}

static void add_arguments(struct hsnap_walk *walk, struct hsnap_entry *pack);

/*
 * One child of a struct or union: is it something to descend to later?
 *
 * @param[in,out] ret_calls  set where it is an operator(); NULL: nobody asks
 */
static bool see_child(struct hsnap_walk *walk, struct hsnap_entry *child, bool is_union, bool *ret_calls)
{
	struct hsnap_die_facts facts;
	unsigned tag = hsnap_entry_tag(child);
	switch (tag) {
	case DW_TAG_member:
	case DW_TAG_inheritance:
		hsnap_entry_read(walk->scan, child, &facts);
		add_member(walk, &facts, is_union);
		return tag == DW_TAG_member && facts.flags & HSNAP_DIE_DECLARATION;
	case DW_TAG_template_type_parameter:
		hsnap_entry_read(walk->scan, child, &facts);
		if (!hsnap_vec_push(&walk->reader->arguments, facts.type))
			hsnap_table_no_memory(walk->reader);
		return false;
	case DW_TAG_GNU_template_parameter_pack:
		add_arguments(walk, child);
		return false;
	case DW_TAG_template_value_parameter:
		return false;
	case DW_TAG_subprogram:
		if (ret_calls && !*ret_calls) {
			hsnap_entry_read(walk->scan, child, &facts);
			*ret_calls = facts.name && !strncmp(facts.name, "operator()", 10);
		}
		return true;
	default:
		return true;
	}
}

static void add_arguments(struct hsnap_walk *walk, struct hsnap_entry *pack)
{
	struct hsnap_die_facts facts;
	struct hsnap_entry entry = hsnap_entry_child(walk->scan, pack);
	for (; entry.abbrev; entry = hsnap_entry_next(walk->scan, &entry)) {
		if (hsnap_entry_tag(&entry) != DW_TAG_template_type_parameter)
			continue;
		hsnap_entry_read(walk->scan, &entry, &facts);
		if (!hsnap_vec_push(&walk->reader->arguments, facts.type))
			hsnap_table_no_memory(walk->reader);
	}
}

/* Members in order of offset, as they are promised; stable, and few. */
static void sort_members(struct hsnap_raw_member *members, size_t num)
{
	for (size_t i = 1; i < num; i++) {
		struct hsnap_raw_member member = members[i];
		size_t j = i;
		for (; j && members[j - 1].offset > member.offset && i - j < 4096; j--)
			members[j] = members[j - 1];
		members[j] = member;
	}
}

/*
 * The name of the declaration that this is the definition of, or "": for `class A::B {…}` after
 * `class A { class B; };`, and in type units, where only the declaration stands in its namespace.
 */
static hsnap_string declared_name(struct hsnap_reader *reader, const struct hsnap_die_facts *facts)
{
	uint32_t declared = facts->specification ? hsnap_table_entry(reader, facts->specification) : 0;
	return declared && declared != HSNAP_UNKNOWN_TYPE ? reader->types.items[declared].name : 0;
}

/* The class of a lambda has no name: where it was written names it, as clang does. */
static hsnap_string lambda_name(struct hsnap_reader *reader, const struct hsnap_raw_type *type)
{
	char name[512];
	const char *path = hsnap_str(&reader->strings, type->file), *slash = strrchr(path, '/');
	snprintf(name, sizeof(name), "(lambda at %s:%u)", slash ? slash + 1 : path, type->line);
	return hsnap_table_string(reader, name);
}

/*
 * A class that a type unit defines can stand for itself without a name where others stand in it
 * (clang): what is in it gets its scope once all units are known.
 */
bool hsnap_walk_is_misplaced(const struct hsnap_reader *reader, uint32_t owner)
{
	const struct hsnap_raw_type *type = &reader->types.items[owner];
	return owner && ((type->kind == HSNAP_RAW_ALIAS && !type->name) || type->flags & HSNAP_RAW_MISPLACED);
}

static void note_misplaced(struct hsnap_reader *reader, uint32_t index, uint32_t owner, const char *leaf)
{
	if (!index || !leaf || !hsnap_walk_is_misplaced(reader, owner))
		return;
	reader->types.items[index].flags |= HSNAP_RAW_MISPLACED;
	struct hsnap_raw_misplaced misplaced = { index, owner, hsnap_table_string(reader, leaf), false };
	if (!hsnap_vec_push(&reader->misplaced, misplaced))
		hsnap_table_no_memory(reader);
}

void hsnap_walk_place_misplaced(struct hsnap_reader *reader)
{
	bool changed = true;
	for (unsigned round = 0; changed && round < HSNAP_WALK_DEPTH; round++) {
		changed = false;
		for (size_t i = 0; i < reader->misplaced.num && !reader->no_memory; i++) {
			struct hsnap_raw_misplaced m = reader->misplaced.items[i];
			char leaf[1024];
			snprintf(leaf, sizeof(leaf), "%s", hsnap_str(&reader->strings, m.leaf)); /* the text may move */
			hsnap_string scope = hsnap_table_type_name(reader, m.owner);
			hsnap_string name = strlen(leaf) + 1 < sizeof(leaf) ? hsnap_table_join(reader, scope, leaf) : 0;
			hsnap_string *at = m.is_variable ? &reader->declarations.items[m.index].name : &reader->types.items[m.index].name;
			changed |= name && *at != name;
			*at = name ? name : *at;
		}
	}
	for (size_t i = 0; i < reader->functions.num; i++) {
		struct hsnap_raw_function *function = &reader->functions.items[i];
		if (function->owner && hsnap_walk_is_misplaced(reader, function->owner))
			function->scope = hsnap_table_type_name(reader, function->owner);
	}
	for (size_t i = 0; i < reader->classes.num; i++) {
		struct hsnap_raw_class *class = &reader->classes.items[i];
		if (hsnap_walk_is_misplaced(reader, class->owner))
			class->scope = hsnap_table_type_name(reader, class->owner);
	}
}

bool hsnap_walk_struct(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place,
		       struct hsnap_walk_place *ret_inner)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	hsnap_entry_read(walk->scan, entry, &facts);
	hsnap_string scope = place->name;
	bool is_union = facts.tag == DW_TAG_union_type;
	struct hsnap_raw_type type = {
		.key = hsnap_entry_key(walk->scan, entry),
		.size = facts.size,
		.name = hsnap_table_named(reader, scope, facts.name),
		.kind = is_union ? HSNAP_RAW_UNION : HSNAP_RAW_STRUCT,
		.first_member = (uint32_t)reader->members.num,
		.first_argument = (uint32_t)reader->arguments.num,
	};
	hsnap_walk_declared(reader, type.key, &facts, &type.file, &type.line);
	hsnap_string declared = declared_name(reader, &facts);
	if (declared) {
		type.name = declared;
		scope = 0;
	}
	bool declaration = facts.flags & HSNAP_DIE_DECLARATION;
	if (facts.signature) { /* the skeleton of what a type unit defines */
		type.ref = facts.signature;
		type.kind = HSNAP_RAW_ALIAS;
	}
	if (declaration && type.kind != HSNAP_RAW_ALIAS) {
		type.flags |= is_union ? HSNAP_RAW_IS_UNION : 0;
		type.kind = HSNAP_RAW_DECLARATION;
	}
	if (facts.flags & HSNAP_DIE_CONTAINING)
		type.flags |= HSNAP_RAW_VTABLE;
	bool descend = false, calls = false;
	struct hsnap_entry child = hsnap_entry_child(walk->scan, entry);
	for (; child.abbrev; child = hsnap_entry_next(walk->scan, &child))
		descend |= see_child(walk, &child, is_union, type.name ? NULL : &calls);
	type.num_members = (uint32_t)(reader->members.num - type.first_member);
	type.num_arguments = (uint32_t)(reader->arguments.num - type.first_argument);
	if (type.num_members)
		sort_members(reader->members.items + type.first_member, type.num_members);
	if (calls && type.line)
		type.name = lambda_name(reader, &type);
	uint32_t index = hsnap_reader_table_add(reader, &type);
	note_misplaced(reader, declared ? 0 : index, place->owner, facts.name);
	*ret_inner = (struct hsnap_walk_place){ type.name ? type.name : scope, hsnap_table_find(reader, type.key) };
	return descend;
}

/* The bounds of all dimensions, as one. */
void hsnap_walk_array(struct hsnap_walk *walk, struct hsnap_entry *entry)
{
	struct hsnap_die_facts facts, bound;
	hsnap_entry_read(walk->scan, entry, &facts);
	struct hsnap_raw_type type = {
		.key = hsnap_entry_key(walk->scan, entry),
		.ref = facts.type,
		.kind = HSNAP_RAW_ARRAY,
	};
	bool bounded = false, unbounded = false;
	uint64_t count = 1;
	struct hsnap_entry child = hsnap_entry_child(walk->scan, entry);
	for (; child.abbrev; child = hsnap_entry_next(walk->scan, &child)) {
		unsigned tag = hsnap_entry_tag(&child);
		if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type)
			continue;
		hsnap_entry_read(walk->scan, &child, &bound);
		bounded = true;
		if (!(bound.flags & HSNAP_DIE_HAS_COUNT) || __builtin_mul_overflow(count, bound.count, &count))
			unbounded = true;
	}
	if (unbounded || !bounded)
		type.flags |= HSNAP_RAW_UNBOUNDED;
	else
		type.count = count;
	if (!(type.flags & HSNAP_RAW_UNBOUNDED) && count <= 1)
		type.flags |= HSNAP_RAW_OLD_FLEXIBLE;
	hsnap_reader_table_add(walk->reader, &type);
}

void hsnap_walk_plain_type(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	hsnap_entry_read(walk->scan, entry, &facts);
	hsnap_string scope = place->name;
	struct hsnap_raw_type type = {
		.key = hsnap_entry_key(walk->scan, entry),
		.size = facts.size,
		.kind = HSNAP_RAW_SCALAR,
	};
	switch (facts.tag) {
	case DW_TAG_base_type:
		type.kind = scalar_kind(&facts);
		type.name = hsnap_table_named(reader, 0, facts.name);
		break;
	case DW_TAG_unspecified_type: /* decltype(nullptr) */
		type.size = 8;
		type.name = hsnap_table_named(reader, 0, facts.name);
		break;
	case DW_TAG_enumeration_type:
		type.name = declared_name(reader, &facts);
		if (!type.name)
			type.name = hsnap_table_named(reader, scope, facts.name);
		hsnap_walk_declared(reader, type.key, &facts, &type.file, &type.line);
		if (facts.size == 1 && !strcmp(hsnap_str(&reader->strings, type.name), "std::byte"))
			type.kind = HSNAP_RAW_BYTE;
		if (facts.signature) {
			type.ref = facts.signature;
			type.kind = HSNAP_RAW_ALIAS;
		}
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type.kind = HSNAP_RAW_POINTER;
		type.flags = facts.tag == DW_TAG_pointer_type ? 0 : HSNAP_RAW_REFERENCE;
		type.size = 8;
		type.ref = facts.type;
		break;
	case DW_TAG_ptr_to_member_type:
		type.size = facts.size ? facts.size : 8;
		break;
	case DW_TAG_subroutine_type:
		type.kind = HSNAP_RAW_FUNCTION;
		break;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		type.kind = HSNAP_RAW_ALIAS;
		type.flags = HSNAP_RAW_TYPEDEF;
		type.ref = facts.type;
		/* Its name matters only where it stands for a struct without one: kept as written. */
		type.name = hsnap_table_named(reader, scope, facts.name);
		hsnap_walk_declared(reader, type.key, &facts, &type.file, &type.line);
		break;
	default: /* const, volatile, restrict, _Atomic, subrange */
		type.kind = HSNAP_RAW_ALIAS;
		type.flags = HSNAP_RAW_QUALIFIER;
		type.ref = facts.type;
		break;
	}
	uint32_t index = hsnap_reader_table_add(reader, &type);
	if (facts.tag == DW_TAG_enumeration_type && !facts.specification)
		note_misplaced(reader, index, place->owner, facts.name);
}
