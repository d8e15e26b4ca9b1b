/* SPDX-License-Identifier: MIT */
/*
 * index.c - one walk over all units of a module: types, variables, functions.
 *
 * Functions are not entered: that would triple the work.  A function's own
 * types are read when somebody asks for one, and its statics where a scan of
 * the section's bytes has seen an address of writable memory between its
 * entries (statics.c).  The walk keeps a stack of its own, of bounded depth.
 */
#include <stdio.h>
#include <string.h>

#include "capture/symbols/places.h"
#include "capture/symbols/reader.h"
#include "snapshot/base/search.h"

#define MAX_DEPTH 64
#define MAX_WALKING 8

/* The scope of entries: its name, and the class that it is. */
struct place {
	hsnap_string name;
	uint32_t owner;
};

struct level {
	Dwarf_Die die;
	struct place scope;
};

struct walk {
	struct hsnap_reader *reader;
	struct hsnap_dies *dies;
	hsnap_string function;   /* set within a function */
	struct level levels[MAX_DEPTH];
	unsigned depth;
};

static void set_declared(struct hsnap_reader *reader, hsnap_die_key key, const struct hsnap_die_facts *facts,
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

static void add_member(struct walk *walk, const struct hsnap_die_facts *facts, bool is_union)
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
		member.flags |= HSNAP_DMEMBER_BITFIELD;
	if (facts->name && !strncmp(facts->name, "_vptr", 5) &&
	    (facts->flags & HSNAP_DIE_ARTIFICIAL || facts->name[5] == '.' || facts->name[5] == '$'))
		member.flags |= HSNAP_DMEMBER_VPTR;
	if (!hsnap_vec_push(&reader->members, member))
		hsnap_table_no_memory(reader);
}

static void add_arguments(struct walk *walk, Dwarf_Die pack);

/*
 * One child of a struct or union: is it something to descend to later?
 *
 * @param[in,out] ret_calls  set where it is an operator(); NULL: nobody asks
 */
static bool see_child(struct walk *walk, Dwarf_Die child, bool is_union, bool *ret_calls)
{
	struct hsnap_die_facts facts;
	unsigned tag = hsnap_die_tag(walk->dies, child);
	switch (tag) {
	case DW_TAG_member:
	case DW_TAG_inheritance:
		hsnap_die_read(walk->dies, child, &facts);
		add_member(walk, &facts, is_union);
		return tag == DW_TAG_member && facts.flags & HSNAP_DIE_DECLARATION;
	case DW_TAG_template_type_parameter:
		hsnap_die_read(walk->dies, child, &facts);
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
			hsnap_die_read(walk->dies, child, &facts);
			*ret_calls = facts.name && !strncmp(facts.name, "operator()", 10);
		}
		return true;
	default:
		return true;
	}
}

static void add_arguments(struct walk *walk, Dwarf_Die pack)
{
	struct hsnap_die_facts facts;
	for (Dwarf_Die die = hsnap_die_child(walk->dies, pack); die;) {
		if (hsnap_die_tag(walk->dies, die) == DW_TAG_template_type_parameter) {
			hsnap_die_read(walk->dies, die, &facts);
			if (!hsnap_vec_push(&walk->reader->arguments, facts.type))
				hsnap_table_no_memory(walk->reader);
		}
		Dwarf_Die next = hsnap_die_sibling(walk->dies, die);
		hsnap_die_free(die);
		die = next;
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
static bool is_misplaced(const struct hsnap_reader *reader, uint32_t owner)
{
	const struct hsnap_raw_type *type = &reader->types.items[owner];
	return owner && ((type->kind == HSNAP_RAW_ALIAS && !type->name) || type->flags & HSNAP_RAW_MISPLACED);
}

static void note_misplaced(struct hsnap_reader *reader, uint32_t index, uint32_t owner, const char *leaf)
{
	if (!index || !leaf || !is_misplaced(reader, owner))
		return;
	reader->types.items[index].flags |= HSNAP_RAW_MISPLACED;
	struct hsnap_raw_misplaced misplaced = { index, owner, hsnap_table_string(reader, leaf), false };
	if (!hsnap_vec_push(&reader->misplaced, misplaced))
		hsnap_table_no_memory(reader);
}

static hsnap_string defined_name(const struct hsnap_reader *reader, uint32_t index)
{
	for (unsigned hops = 0; index && hops < 4; hops++) {
		const struct hsnap_raw_type *type = &reader->types.items[index];
		if (type->name || type->kind != HSNAP_RAW_ALIAS)
			return type->name;
		index = hsnap_table_find(reader, type->ref);
	}
	return 0;
}

static void place_misplaced(struct hsnap_reader *reader)
{
	bool changed = true;
	for (unsigned round = 0; changed && round < MAX_DEPTH; round++) {
		changed = false;
		for (size_t i = 0; i < reader->misplaced.num && !reader->no_memory; i++) {
			struct hsnap_raw_misplaced m = reader->misplaced.items[i];
			char leaf[1024];
			snprintf(leaf, sizeof(leaf), "%s", hsnap_str(&reader->strings, m.leaf)); /* the text may move */
			hsnap_string scope = defined_name(reader, m.owner);
			hsnap_string name = strlen(leaf) + 1 < sizeof(leaf) ? hsnap_table_join(reader, scope, leaf) : 0;
			hsnap_string *at = m.is_variable ? &reader->declarations.items[m.index].name : &reader->types.items[m.index].name;
			changed |= name && *at != name;
			*at = name ? name : *at;
		}
	}
	for (size_t i = 0; i < reader->functions.num; i++) {
		struct hsnap_raw_function *function = &reader->functions.items[i];
		if (function->owner && is_misplaced(reader, function->owner))
			function->scope = defined_name(reader, function->owner);
	}
}

/* A struct, class or union; true: it has children to descend to. */
static bool add_struct(struct walk *walk, Dwarf_Die die, const struct hsnap_die_facts *facts,
		       const struct place *place, hsnap_string *ret_scope)
{
	struct hsnap_reader *reader = walk->reader;
	hsnap_string scope = place->name;
	bool is_union = facts->tag == DW_TAG_union_type;
	struct hsnap_raw_type type = {
		.key = hsnap_die_key_here(walk->dies, die),
		.size = facts->size,
		.name = hsnap_table_named(reader, scope, facts->name),
		.kind = is_union ? HSNAP_RAW_UNION : HSNAP_RAW_STRUCT,
		.first_member = (uint32_t)reader->members.num,
		.first_argument = (uint32_t)reader->arguments.num,
	};
	set_declared(reader, type.key, facts, &type.file, &type.line);
	hsnap_string declared = declared_name(reader, facts);
	if (declared) {
		type.name = declared;
		scope = 0;
	}
	bool declaration = facts->flags & HSNAP_DIE_DECLARATION;
	if (facts->signature) { /* the skeleton of what a type unit defines */
		type.ref = facts->signature;
		type.kind = HSNAP_RAW_ALIAS;
	}
	if (declaration && type.kind != HSNAP_RAW_ALIAS) {
		type.flags |= is_union ? HSNAP_RAW_IS_UNION : 0;
		type.kind = HSNAP_RAW_DECLARATION;
	}
	if (facts->flags & HSNAP_DIE_CONTAINING)
		type.flags |= HSNAP_RAW_VTABLE;
	bool descend = false, calls = false;
	for (Dwarf_Die child = hsnap_die_child(walk->dies, die); child;) {
		descend |= see_child(walk, child, is_union, type.name ? NULL : &calls);
		Dwarf_Die next = hsnap_die_sibling(walk->dies, child);
		hsnap_die_free(child);
		child = next;
	}
	type.num_members = (uint32_t)(reader->members.num - type.first_member);
	type.num_arguments = (uint32_t)(reader->arguments.num - type.first_argument);
	if (type.num_members)
		sort_members(reader->members.items + type.first_member, type.num_members);
	if (calls && type.line)
		type.name = lambda_name(reader, &type);
	*ret_scope = type.name ? type.name : scope;
	uint32_t index = hsnap_reader_table_add(reader, &type);
	note_misplaced(reader, declared ? 0 : index, place->owner, facts->name);
	return descend;
}

/* The bounds of all dimensions, as one. */
static void add_array(struct walk *walk, Dwarf_Die die, const struct hsnap_die_facts *facts)
{
	struct hsnap_raw_type type = {
		.key = hsnap_die_key_here(walk->dies, die),
		.ref = facts->type,
		.kind = HSNAP_RAW_ARRAY,
	};
	bool bounded = false, unbounded = false;
	uint64_t count = 1;
	for (Dwarf_Die child = hsnap_die_child(walk->dies, die); child;) {
		unsigned tag = hsnap_die_tag(walk->dies, child);
		if (tag == DW_TAG_subrange_type || tag == DW_TAG_enumeration_type) {
			struct hsnap_die_facts bound;
			hsnap_die_read(walk->dies, child, &bound);
			bounded = true;
			if (!(bound.flags & HSNAP_DIE_HAS_COUNT) ||
			    __builtin_mul_overflow(count, bound.count, &count))
				unbounded = true;
		}
		Dwarf_Die next = hsnap_die_sibling(walk->dies, child);
		hsnap_die_free(child);
		child = next;
	}
	if (unbounded || !bounded)
		type.flags |= HSNAP_RAW_UNBOUNDED;
	else
		type.count = count;
	if (!(type.flags & HSNAP_RAW_UNBOUNDED) && count <= 1)
		type.flags |= HSNAP_RAW_OLD_FLEXIBLE;
	hsnap_reader_table_add(walk->reader, &type);
}

static void add_plain_type(struct walk *walk, Dwarf_Die die, const struct hsnap_die_facts *facts,
			   const struct place *place)
{
	struct hsnap_reader *reader = walk->reader;
	hsnap_string scope = place->name;
	struct hsnap_raw_type type = {
		.key = hsnap_die_key_here(walk->dies, die),
		.size = facts->size,
		.kind = HSNAP_RAW_SCALAR,
	};
	switch (facts->tag) {
	case DW_TAG_base_type:
		type.kind = scalar_kind(facts);
		type.name = hsnap_table_named(reader, 0, facts->name);
		break;
	case DW_TAG_unspecified_type: /* decltype(nullptr) */
		type.size = 8;
		type.name = hsnap_table_named(reader, 0, facts->name);
		break;
	case DW_TAG_enumeration_type:
		type.name = declared_name(reader, facts);
		if (!type.name)
			type.name = hsnap_table_named(reader, scope, facts->name);
		set_declared(reader, type.key, facts, &type.file, &type.line);
		if (facts->size == 1 && !strcmp(hsnap_str(&reader->strings, type.name), "std::byte"))
			type.kind = HSNAP_RAW_BYTE;
		if (facts->signature) {
			type.ref = facts->signature;
			type.kind = HSNAP_RAW_ALIAS;
		}
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type.kind = HSNAP_RAW_POINTER;
		type.flags = facts->tag == DW_TAG_pointer_type ? 0 : HSNAP_RAW_REFERENCE;
		type.size = 8;
		type.ref = facts->type;
		break;
	case DW_TAG_ptr_to_member_type:
		type.size = facts->size ? facts->size : 8;
		break;
	case DW_TAG_subroutine_type:
		type.kind = HSNAP_RAW_FUNCTION;
		break;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		type.kind = HSNAP_RAW_ALIAS;
		type.flags = HSNAP_RAW_TYPEDEF;
		type.ref = facts->type;
		/* Its name matters only where it stands for a struct without one: kept as written. */
		type.name = hsnap_table_named(reader, scope, facts->name);
		set_declared(reader, type.key, facts, &type.file, &type.line);
		break;
	default: /* const, volatile, restrict, _Atomic, subrange */
		type.kind = HSNAP_RAW_ALIAS;
		type.flags = HSNAP_RAW_QUALIFIER;
		type.ref = facts->type;
		break;
	}
	uint32_t index = hsnap_reader_table_add(reader, &type);
	if (facts->tag == DW_TAG_enumeration_type && !facts->specification)
		note_misplaced(reader, index, place->owner, facts->name);
}

static struct hsnap_raw_declaration *find_declaration(struct hsnap_reader *reader, hsnap_die_key key)
{
	size_t low = hsnap_first(reader->declarations.num, i, reader->declarations.items[i].key >= key);
	return low < reader->declarations.num && reader->declarations.items[low].key == key
		       ? &reader->declarations.items[low] : NULL;
}

/* What a variable's entry leaves to the one that it completes, once all of those have been seen. */
static void complete_variable(struct hsnap_reader *reader, struct hsnap_raw_variable *variable)
{
	hsnap_die_key of = variable->completes;
	variable->completes = 0;
	for (unsigned hops = 0; of && hops < 4; hops++) {
		struct hsnap_raw_declaration *declared = find_declaration(reader, of);
		if (declared) {
			variable->name = declared->name;
			variable->type = variable->type ? variable->type : declared->type;
			if (!variable->line) {
				variable->file = declared->file;
				variable->line = declared->line;
			}
			variable->external |= declared->external;
			return;
		}
		Dwarf_Die die = hsnap_die_at(reader->dies, of);
		if (!die)
			return;
		struct hsnap_die_facts origin;
		hsnap_die_read(hsnap_dies_of(reader->dies, of), die, &origin);
		hsnap_die_free(die);
		if (!variable->name)
			variable->name = hsnap_table_string(reader, origin.name);
		if (!variable->type)
			variable->type = origin.type;
		variable->external |= (origin.flags & HSNAP_DIE_EXTERNAL) != 0;
		if (!variable->line)
			set_declared(reader, of, &origin, &variable->file, &variable->line);
		of = origin.specification ? origin.specification : origin.origin;
	}
}

static void add_variable(struct walk *walk, Dwarf_Die die, const struct place *place)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	hsnap_die_read(walk->dies, die, &facts);
	hsnap_die_key key = hsnap_die_key_here(walk->dies, die);
	struct hsnap_raw_variable variable = {
		.type = facts.type,
		.name = hsnap_table_named(reader, walk->function ? 0 : place->name, facts.name),
		.function = walk->function,
		.external = facts.flags & HSNAP_DIE_EXTERNAL,
	};
	if (!(facts.flags & HSNAP_DIE_HAS_LOCATION)) {
		if (walk->function || !variable.name)
			return;
		struct hsnap_raw_declaration declaration = { .key = key, .type = variable.type, .name = variable.name,
							    .external = variable.external };
		set_declared(reader, key, &facts, &declaration.file, &declaration.line);
		if (reader->declarations.num && reader->declarations.items[reader->declarations.num - 1].key >= key)
			return;
		struct hsnap_raw_misplaced misplaced = { (uint32_t)reader->declarations.num, place->owner,
							 is_misplaced(reader, place->owner) ? hsnap_table_string(reader, facts.name) : 0, true };
		if (!hsnap_vec_push(&reader->declarations, declaration) ||
		    (misplaced.leaf && !hsnap_vec_push(&reader->misplaced, misplaced)))
			hsnap_table_no_memory(reader);
		return;
	}
	if (!(facts.flags & HSNAP_DIE_FIXED_PLACE) ||
	    !hsnap_die_fixed_place(walk->dies, die, &variable.address, &variable.thread_local_))
		return;
	/* gcc -gsplit-dwarf has the linker write where the variable's first value lies, not its offset. */
	uint64_t into = variable.address - reader->program->tls_address;
	if (variable.thread_local_ && variable.address >= reader->program->tls_size && into < reader->program->tls_size)
		variable.address = into;
	set_declared(reader, key, &facts, &variable.file, &variable.line);
	variable.completes = facts.specification ? facts.specification : facts.origin;
	if (reader->indexed)
		complete_variable(reader, &variable);
	/* What the linker threw away has address 0, or a small one. */
	if (!variable.thread_local_ && !hsnap_elf_writable(reader->program, variable.address))
		return;
	if (!variable.thread_local_)
		variable.address += reader->bias;
	if ((variable.name || variable.completes) && !hsnap_vec_push(&reader->variables, variable))
		hsnap_table_no_memory(reader);
}

static void add_function(struct walk *walk, Dwarf_Die die, const struct place *scope)
{
	struct hsnap_reader *reader = walk->reader;
	hsnap_die_key key = hsnap_die_key_here(walk->dies, die);
	size_t num = reader->functions.num;
	if (walk->function) {
		reader->nested_sorted = false;
		if (!hsnap_vec_push(&reader->nested, (struct hsnap_raw_function){
							     .key = key, .owner = scope->owner, .scope = scope->name }))
			hsnap_table_no_memory(reader);
		return;
	}
	if (num && reader->functions.items[num - 1].key >= key)
		return; /* broken bytes: an entry twice */
	if (!hsnap_vec_push(&reader->functions, (struct hsnap_raw_function){
					   .key = key, .owner = scope->owner, .scope = scope->name }))
		hsnap_table_no_memory(reader);
}

/* One entry; true: descend, with *scope then the scope of its children. */
static bool see_entry(struct walk *walk, Dwarf_Die die, struct place *scope)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	unsigned tag = hsnap_die_tag(walk->dies, die);
	switch (tag) {
	case DW_TAG_namespace:
		hsnap_die_read(walk->dies, die, &facts);
		scope->name = hsnap_table_named(reader, scope->name, facts.name ? facts.name : "(anonymous namespace)");
		scope->owner = 0;
		return true;
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type: {
		hsnap_die_read(walk->dies, die, &facts);
		hsnap_string inner;
		bool descend = add_struct(walk, die, &facts, scope, &inner);
		*scope = (struct place){ inner, hsnap_table_find(reader, hsnap_die_key_here(walk->dies, die)) };
		return descend;
	}
	case DW_TAG_array_type:
		hsnap_die_read(walk->dies, die, &facts);
		add_array(walk, die, &facts);
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
		hsnap_die_read(walk->dies, die, &facts);
		add_plain_type(walk, die, &facts, scope);
		return false;
	case DW_TAG_variable:
	case DW_TAG_member: /* a static one, declared in its class */
		add_variable(walk, die, scope);
		return false;
	case DW_TAG_subprogram:
		add_function(walk, die, scope);
		*scope = (struct place){ 0 }; /* a function is no scope: what is in it has its own name alone */
		return walk->function != 0;
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
		return walk->function != 0;
	default:
		return false;
	}
}

/* All entries below one; those of `root` itself are the caller's. */
static void walk_below(struct walk *walk, Dwarf_Die root)
{
	walk->levels[0] = (struct level){ .die = hsnap_die_child(walk->dies, root) };
	walk->depth = 0;
	for (;;) {
		struct level *level = &walk->levels[walk->depth];
		if (!level->die) {
			if (!walk->depth)
				return;
			walk->depth--;
			level = &walk->levels[walk->depth];
		} else {
			struct place inner = level->scope;
			if (see_entry(walk, level->die, &inner) && walk->depth + 1 < MAX_DEPTH) {
				walk->levels[++walk->depth] = (struct level){
					.die = hsnap_die_child(walk->dies, level->die), .scope = inner };
				continue;
			}
		}
		Dwarf_Die next = hsnap_die_sibling(walk->dies, level->die);
		hsnap_die_free(level->die);
		level->die = next;
	}
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
	bool whole;
	struct hsnap_split *split = &reader->split;
	const struct hsnap_split_half *half = dies->lists ? split->halves.items[dies->half] : NULL;
	while (hsnap_die_next_unit(dies, types, &unit, &whole)) {
		hsnap_die_key key = hsnap_die_key_here(dies, unit.die);
		size_t num = reader->units.num;
		if (half && !unit.signature && !hsnap_split_is_wanted(split, half, unit.id)) {
			hsnap_die_free(unit.die);
			continue;
		}
		struct hsnap_raw_unit raw = { .key = key, .is_type = unit.signature != 0,
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
		struct walk walk = { .reader = reader, .dies = dies };
		walk_below(&walk, unit.die);
		hsnap_die_free(unit.die);
		if (reader->no_memory)
			return false;
	}
	return whole;
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

static void complete_all(struct hsnap_reader *reader)
{
	size_t kept = 0;
	for (size_t i = 0; i < reader->variables.num; i++) {
		struct hsnap_raw_variable variable = reader->variables.items[i];
		complete_variable(reader, &variable);
		if (variable.name)
			reader->variables.items[kept++] = variable;
	}
	reader->variables.num = kept;
	reader->indexed = true;
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
	place_misplaced(reader);
	complete_all(reader);
	return HSNAP_OK;
}

/* --- within functions, when asked for --- */

void hsnap_index_walk_function(struct hsnap_reader *reader, struct hsnap_raw_function *function)
{
	if (function->walked || reader->walking > MAX_WALKING)
		return;
	function->walked = true;
	reader->walking++;
	hsnap_die_key key = function->key;
	struct hsnap_dies *dies = hsnap_dies_of(reader->dies, key);
	Dwarf_Die die = hsnap_die_at(reader->dies, key);
	if (die) {
		struct walk walk = { .reader = reader, .dies = dies, .function = hsnap_table_function_name(reader, key) };
		if (!walk.function)
			walk.function = hsnap_table_string(reader, "?");
		walk_below(&walk, die);
	}
	hsnap_die_free(die);
	reader->walking--;
}
