/* SPDX-License-Identifier: MIT */
/* variables.c - variables with a fixed place, and the declarations that they complete. */
#include "capture/symbols/places.h"
#include "capture/symbols/walk.h"
#include "snapshot/base/search.h"

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
		struct hsnap_die_facts origin;
		if (!hsnap_table_facts(reader, of, &origin))
			return;
		if (!variable->name)
			variable->name = hsnap_table_string(reader, origin.name);
		if (!variable->type)
			variable->type = origin.type;
		variable->external |= (origin.flags & HSNAP_DIE_EXTERNAL) != 0;
		if (!variable->line)
			hsnap_walk_declared(reader, of, &origin, &variable->file, &variable->line);
		of = origin.specification ? origin.specification : origin.origin;
	}
}

/* The address in the process of what is there; false: nothing is. */
static bool settle_address(const struct hsnap_reader *reader, bool thread_local_, uint64_t *address)
{
	const struct hsnap_elf *program = reader->program;
	if (!thread_local_) {
		/* What the linker threw away has address 0, or a small one. */
		bool there = hsnap_elf_writable(program, *address);
		*address += reader->bias;
		return there;
	}
	/* gcc -gsplit-dwarf has the linker write where the variable's first value lies, not its offset. */
	uint64_t into = *address - program->tls_address;
	if (*address >= program->tls_size && into < program->tls_size)
		*address = into;
	return true;
}

/* Where it lies, by libdwarf: of the most it is clear before that there is no such place. */
static bool fixed_place(struct hsnap_walk *walk, hsnap_die_key key, struct hsnap_raw_variable *variable)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_dies *dies = walk->scan->file.dies;
	struct hsnap_fixed_place place;
	Dwarf_Die die = hsnap_die_at(dies, key);
	bool ok = die && hsnap_die_fixed_place(dies, die, &place);
	hsnap_die_free(die);
	if (!ok)
		return false;
	variable->thread_local_ = place.thread_local_;
	variable->address = place.pieces[0].address;
	if (!place.pieces[0].size)
		return settle_address(reader, place.thread_local_, &variable->address);
	variable->first_piece = (uint32_t)reader->pieces.num;
	for (uint32_t i = 0; i < place.num; i++) {
		const struct hsnap_fixed_piece *from = &place.pieces[i];
		struct hsnap_dpiece piece = { from->offset, from->size, from->address };
		if (!settle_address(reader, place.thread_local_, &piece.address))
			continue;
		if (!hsnap_vec_push(&reader->pieces, piece))
			return hsnap_table_no_memory(reader);
		if (!variable->num_pieces++)
			variable->address = piece.address;
	}
	return variable->num_pieces;
}

/* One without a place, that others may complete. */
static void add_declaration(struct hsnap_walk *walk, hsnap_die_key key, const struct hsnap_die_facts *facts,
			    hsnap_string name, const struct hsnap_walk_place *place)
{
	struct hsnap_reader *reader = walk->reader;
	size_t num = reader->declarations.num;
	if (walk->function || !name || (num && reader->declarations.items[num - 1].key >= key))
		return;
	struct hsnap_raw_declaration declaration = { .key = key, .type = facts->type, .name = name,
						    .external = facts->flags & HSNAP_DIE_EXTERNAL };
	hsnap_walk_declared(reader, key, facts, &declaration.file, &declaration.line);
	struct hsnap_raw_misplaced misplaced = { (uint32_t)num, place->owner, 0, true };
	if (hsnap_walk_is_misplaced(reader, place->owner))
		misplaced.leaf = hsnap_table_string(reader, facts->name);
	if (!hsnap_vec_push(&reader->declarations, declaration) ||
	    (misplaced.leaf && !hsnap_vec_push(&reader->misplaced, misplaced)))
		hsnap_table_no_memory(reader);
}

void hsnap_walk_variable(struct hsnap_walk *walk, struct hsnap_entry *entry, const struct hsnap_walk_place *place)
{
	struct hsnap_reader *reader = walk->reader;
	struct hsnap_die_facts facts;
	hsnap_entry_read(walk->scan, entry, &facts);
	/* Members are those of objects, unless they are only declared. */
	if (facts.tag == DW_TAG_member && !(facts.flags & (HSNAP_DIE_EXTERNAL | HSNAP_DIE_DECLARATION)))
		return;
	hsnap_die_key key = hsnap_entry_key(walk->scan, entry);
	struct hsnap_raw_variable variable = {
		.type = facts.type,
		.name = hsnap_table_named(reader, walk->function ? 0 : place->name, facts.name),
		.function = walk->function,
		.external = facts.flags & HSNAP_DIE_EXTERNAL,
	};
	if (!(facts.flags & HSNAP_DIE_HAS_LOCATION)) {
		add_declaration(walk, key, &facts, variable.name, place);
		return;
	}
	if (!(facts.flags & HSNAP_DIE_FIXED_PLACE) || !fixed_place(walk, key, &variable))
		return;
	hsnap_walk_declared(reader, key, &facts, &variable.file, &variable.line);
	variable.completes = facts.specification ? facts.specification : facts.origin;
	if (reader->indexed)
		complete_variable(reader, &variable);
	if ((variable.name || variable.completes) && !hsnap_vec_push(&reader->variables, variable))
		hsnap_table_no_memory(reader);
}

void hsnap_walk_complete_variables(struct hsnap_reader *reader)
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
