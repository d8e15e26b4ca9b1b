/* SPDX-License-Identifier: MIT */
/* scopes.c - the variables of a function and of what is inlined into it, with the code in which they are there. */
#include "capture/symbols/pcs.h"

#define MAX_DEPTH 64
#define MAX_PIECES 64 /* of a scope's code */

/* Code of a scope.  Between its pieces stands somebody else's, whose variables may have the same places. */
struct piece {
	uint64_t low, high;
};

struct pieces hsnap_vec_body(struct piece);

struct scope {
	Dwarf_Die die;       /* the child that is next */
	size_t first_piece;  /* those of the scope in hand are the last */
	hsnap_string function;
};

struct collect {
	struct hsnap_reader *reader;
	uint64_t pc;
	const struct scope *scope;
	const struct pieces *pieces;
	bool one_place; /* the first place only */
	unsigned found;
	struct hsnap_scoped variable;
	struct hsnap_scoped_list *list;
};

static void add_variable(struct collect *c)
{
	if (!hsnap_vec_push(c->list, c->variable))
		hsnap_table_no_memory(c->reader);
}

static void see_location(void *context, const struct hsnap_location *location)
{
	struct collect *c = context;
	if (location->piece && (c->one_place || c->pc != UINT64_MAX))
		return; /* only who asks for all places can make something of a part */
	if (c->one_place && c->found++)
		return;
	c->variable.location = *location;
	if (c->pc != UINT64_MAX && !location->single && (c->pc < location->low || c->pc >= location->high))
		return;
	bool in_pieces = location->single && !c->one_place && c->pc == UINT64_MAX;
	if (!in_pieces)
		add_variable(c);
	for (size_t i = c->scope->first_piece; in_pieces && i < c->pieces->num; i++) {
		c->variable.location.low = c->pieces->items[i].low;
		c->variable.location.high = c->pieces->items[i].high;
		add_variable(c);
	}
}

/*
 * The type of an entry's origin.  What is inlined has one for each of its variables, many times over, and
 * each time its entry would be looked for and decoded: the last answers are kept.
 */
static hsnap_die_key origin_type(struct hsnap_reader *reader, hsnap_die_key origin)
{
	struct hsnap_origin *known = &reader->origins[(origin * 0x9e3779b97f4a7c15u) >> 52];
	if (known->key == origin)
		return known->type;
	hsnap_die_key type = 0, of = origin;
	for (unsigned hops = 0; of && hops < 4 && !type; hops++) {
		struct hsnap_die_facts facts;
		if (!hsnap_table_facts(reader, of, &facts))
			break;
		type = facts.type;
		of = facts.origin;
	}
	*known = (struct hsnap_origin){ origin, type };
	return type;
}

hsnap_string hsnap_pcs_variable_name(struct hsnap_reader *reader, hsnap_die_key entry)
{
	struct hsnap_die_facts facts = { 0 };
	for (unsigned hops = 0; entry && hops < 4 && !facts.name; hops++) {
		if (!hsnap_table_facts(reader, entry, &facts))
			return 0;
		entry = facts.origin;
	}
	return hsnap_table_string(reader, facts.name);
}

static void collect_variable(struct collect *c, struct hsnap_dies *dies, Dwarf_Die die)
{
	struct hsnap_reader *reader = c->reader;
	struct hsnap_die_facts facts, origin;
	hsnap_die_key entry = hsnap_die_key_here(dies, die);
	if (!hsnap_table_facts(reader, entry, &facts) || !(facts.flags & HSNAP_DIE_HAS_LOCATION) ||
	    facts.flags & HSNAP_DIE_FIXED_PLACE)
		return;
	hsnap_die_key of = facts.origin;
	bool named = c->pc != UINT64_MAX;
	if (!named && !facts.type)
		facts.type = origin_type(reader, of);
	for (unsigned hops = 0; named && of && hops < 4 && (!facts.type || !facts.name); hops++) {
		if (!hsnap_table_facts(reader, of, &origin))
			break;
		facts.type = facts.type ? facts.type : origin.type;
		facts.name = facts.name ? facts.name : origin.name;
		of = origin.origin;
	}
	if (!facts.type)
		return;
	c->variable = (struct hsnap_scoped){
		.entry = entry,
		.type = facts.type,
		.name = named ? hsnap_table_string(reader, facts.name) : 0,
		.function = c->scope->function,
	};
	c->found = 0;
	hsnap_die_locations(dies, die, DW_AT_location, see_location, c);
}

struct see_piece {
	struct hsnap_reader *reader;
	struct pieces *pieces;
	size_t most;
};

static bool see_piece(void *context, uint64_t low, uint64_t high)
{
	struct see_piece *see = context;
	if (!hsnap_vec_push(see->pieces, (struct piece){ low, high }))
		return hsnap_table_no_memory(see->reader);
	return see->pieces->num < see->most;
}

static struct scope open_scope(struct hsnap_reader *reader, struct hsnap_dies *dies, Dwarf_Die die, hsnap_string function,
			       struct pieces *pieces)
{
	struct scope scope = { .first_piece = pieces->num, .function = function };
	struct see_piece see = { reader, pieces, pieces->num + MAX_PIECES };
	hsnap_die_ranges(dies, die, see_piece, &see);
	scope.die = hsnap_die_child(dies, die);
	return scope;
}

void hsnap_pcs_variables(struct hsnap_reader *reader, hsnap_die_key function, uint64_t pc,
			 struct hsnap_scoped_list *ret)
{
	struct scope scopes[MAX_DEPTH];
	struct pieces pieces = { 0 };
	unsigned depth = 0;
	struct hsnap_dies *dies = hsnap_dies_of(reader->dies, function);
	Dwarf_Die die = hsnap_die_at(reader->dies, function);
	if (!die)
		return;
	bool named = pc != UINT64_MAX;
	scopes[0] = open_scope(reader, dies, die, named ? hsnap_table_function_name(reader, function) : 0, &pieces);
	hsnap_die_free(die);
	for (;;) {
		struct scope *scope = &scopes[depth];
		if (!scope->die) {
			pieces.num = scope->first_piece;
			if (!depth--)
				break;
			continue;
		}
		Dwarf_Die here = scope->die;
		unsigned tag = hsnap_die_tag(dies, here);
		scope->die = hsnap_die_sibling(dies, here);
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
			struct collect collect = { .reader = reader, .pc = pc, .scope = scope, .pieces = &pieces, .list = ret };
			collect_variable(&collect, dies, here);
		} else if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) && depth + 1 < MAX_DEPTH &&
			   (pc == UINT64_MAX || hsnap_die_covers(dies, here, pc))) {
			hsnap_string name = tag == DW_TAG_lexical_block || !named
						    ? scope->function
						    : hsnap_table_function_name(reader, hsnap_die_key_here(dies, here));
			scopes[++depth] = open_scope(reader, dies, here, name, &pieces);
		}
		hsnap_die_free(here);
	}
	hsnap_vec_deinit(&pieces);
}

bool hsnap_pcs_parameters(struct hsnap_reader *reader, hsnap_die_key function, struct hsnap_scoped_list *ret)
{
	struct hsnap_die_facts facts = { 0 };
	struct hsnap_dies *dies = hsnap_dies_of(reader->dies, function);
	Dwarf_Die die = hsnap_die_at(reader->dies, function);
	if (!die)
		return false;
	hsnap_die_key type = 0;
	hsnap_die_key of = function;
	for (unsigned hops = 0; of && hops < 4 && !type; hops++) {
		if (!hsnap_table_facts(reader, of, &facts))
			break;
		type = facts.type;
		of = facts.specification ? facts.specification : facts.origin;
	}
	size_t num = 0;
	struct scope scope = { 0 };
	struct collect collect = { .reader = reader, .pc = UINT64_MAX, .scope = &scope, .list = ret, .one_place = true };
	for (Dwarf_Die child = hsnap_die_child(dies, die); child;) {
		if (hsnap_die_tag(dies, child) == DW_TAG_formal_parameter) {
			collect_variable(&collect, dies, child);
			num++;
		}
		Dwarf_Die next = hsnap_die_sibling(dies, child);
		hsnap_die_free(child);
		child = next;
	}
	hsnap_die_free(die);
	uint32_t index = hsnap_table_type(reader, type);
	return num == ret->num && index != HSNAP_UNKNOWN_TYPE &&
	       reader->types.items[index].kind != HSNAP_RAW_STRUCT && reader->types.items[index].kind != HSNAP_RAW_UNION;
}
