/* SPDX-License-Identifier: MIT */
/* pcs.c - functions, lines and variables at the PCs that were asked for. */
#include "capture/symbols/pcs.h"

#include <stdio.h>
#include <string.h>

#include "snapshot/base/search.h"

#define MAX_INLINED 64
#define MAX_DEPTH 64

struct row {
	uint64_t address;
	uint32_t file, line, order;
	bool end;
};

struct code {
	uint64_t low, high;
	hsnap_die_key function;
};

/* What is kept of the unit that is being answered for. */
struct hsnap_unit_code {
	uint32_t unit; /* UINT32_MAX: none yet */
	struct hsnap_vec(struct row) rows;
	struct hsnap_vec(struct code) code;
};

/* --- the unit's functions and lines --- */

struct see_code {
	struct hsnap_reader *reader;
	struct hsnap_unit_code *unit;
	hsnap_die_key function;
};

static bool see_code(void *context, uint64_t low, uint64_t high)
{
	struct see_code *see = context;
	if (!hsnap_vec_push(&see->unit->code, (struct code){ low, high, see->function }))
		hsnap_table_no_memory(see->reader);
	return true;
}

static int compare_code(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	return (x->low > y->low) - (x->low < y->low);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void load_functions(struct hsnap_reader *reader, struct hsnap_unit_code *unit)
{
	hsnap_die_key start = reader->units.items[unit->unit].key;
	uint64_t end = reader->units.items[unit->unit].end;
	unit->code.num = 0;
	size_t i = hsnap_first(reader->functions.num, at, reader->functions.items[at].key >= start);
	for (; i < reader->functions.num; i++) {
		hsnap_die_key key = reader->functions.items[i].key;
		if (hsnap_die_section_of(key) != hsnap_die_section_of(start) || (key & HSNAP_DIE_OFFSET) >= end)
			break;
		Dwarf_Die die = hsnap_die_at(reader->dies, key);
		if (!die)
			continue;
		struct see_code see = { reader, unit, key };
		hsnap_die_ranges(hsnap_dies_of(reader->dies, key), die, see_code, &see);
		hsnap_die_free(die);
	}
	if (unit->code.num)
		qsort(unit->code.items, unit->code.num, sizeof(*unit->code.items), compare_code);
}

static void add_row(struct hsnap_reader *reader, struct hsnap_unit_code *unit, Dwarf_Line line)
{
	Dwarf_Addr address = 0;
	Dwarf_Unsigned number = 0, file = 0;
	Dwarf_Bool end = 0;
	Dwarf_Error error = NULL;
	if (dwarf_lineaddr(line, &address, &error) != DW_DLV_OK ||
	    dwarf_lineno(line, &number, &error) != DW_DLV_OK ||
	    dwarf_line_srcfileno(line, &file, &error) != DW_DLV_OK ||
	    dwarf_lineendsequence(line, &end, &error) != DW_DLV_OK) {
		dwarf_dealloc_error(reader->dies->dbg, error);
		return;
	}
	struct row row = { address, (uint32_t)file, (uint32_t)number, (uint32_t)unit->rows.num, end };
	if (!hsnap_vec_push(&unit->rows, row))
		hsnap_table_no_memory(reader);
}

static void load_lines(struct hsnap_reader *reader, struct hsnap_unit_code *unit)
{
	Dwarf_Die die = hsnap_die_at(reader->dies, hsnap_table_lines(reader, unit->unit));
	Dwarf_Unsigned version = 0;
	Dwarf_Small tables = 0;
	Dwarf_Line_Context context = NULL;
	Dwarf_Line *lines = NULL;
	Dwarf_Signed num = 0;
	Dwarf_Error error = NULL;
	unit->rows.num = 0;
	if (!die)
		return;
	if (dwarf_srclines_b(die, &version, &tables, &context, &error) == DW_DLV_OK) {
		if (tables == 1 && dwarf_srclines_from_linecontext(context, &lines, &num, &error) == DW_DLV_OK)
			for (Dwarf_Signed i = 0; i < num; i++)
				add_row(reader, unit, lines[i]);
		dwarf_srclines_dealloc_b(context);
	}
	if (error)
		dwarf_dealloc_error(reader->dies->dbg, error);
	hsnap_die_free(die);
	if (unit->rows.num)
		qsort(unit->rows.items, unit->rows.num, sizeof(*unit->rows.items), compare_rows);
}

static const struct row *find_row(const struct hsnap_unit_code *unit, uint64_t address)
{
	size_t low = hsnap_first(unit->rows.num, i, unit->rows.items[i].address > address);
	return low && !unit->rows.items[low - 1].end ? &unit->rows.items[low - 1] : NULL;
}

static const struct code *find_code(const struct hsnap_unit_code *unit, uint64_t address)
{
	size_t low = hsnap_first(unit->code.num, i, unit->code.items[i].low > address);
	return low && address < unit->code.items[low - 1].high ? &unit->code.items[low - 1] : NULL;
}

/*
 * Is the code at the address another function's of the unit, too?  The linker may have made one of several (--icf).  Of other
 * units copies of one inline function are there as well: those are told by their symbols.
 */
static bool is_shared(const struct hsnap_unit_code *unit, const struct code *code)
{
	const struct code *items = unit->code.items;
	size_t at = (size_t)(code - items);
	return (at && items[at - 1].low == code->low) || (at + 1 < unit->code.num && items[at + 1].low == code->low);
}

hsnap_die_key hsnap_pcs_function_at(const struct hsnap_reader *reader, uint64_t address)
{
	const struct code *code = reader->code ? find_code(reader->code, address) : NULL;
	return code && code->low == address ? code->function : 0;
}

static uint32_t find_unit(const struct hsnap_reader *reader, uint64_t address)
{
	size_t low = hsnap_first(reader->ranges.num, i, reader->ranges.items[i].low > address);
	return low && address < reader->ranges.items[low - 1].high ? reader->ranges.items[low - 1].unit : UINT32_MAX;
}

/* --- frames --- */

/* Classes whose first template argument is what they allocate, and the function that does. */
static const struct {
	const char *owner, *function;
} allocators[] = {
	{ "std::__new_allocator<", "allocate" }, /* libstdc++ from 12 */
	{ "__gnu_cxx::new_allocator<", "allocate" },
	{ "__gnu_cxx::malloc_allocator<", "allocate" },
	{ "std::allocator<", "allocate" },
	{ "std::__1::allocator<", "allocate" }, /* libc++ */
	{ "std::_Function_base::_Base_manager<", "_M_create<" }, /* the functor of a std::function */
};

/* T of Allocator<T>::allocate: index into reader->types, or 0. */
static uint32_t allocated_type(struct hsnap_reader *reader, hsnap_die_key key)
{
	struct hsnap_die_facts facts = { 0 };
	for (unsigned hops = 0; hops < 8; hops++) {
		if (!hsnap_table_facts(reader, key, &facts))
			return 0;
		if (facts.name)
			break;
		key = facts.specification ? facts.specification : facts.origin;
	}
	if (!facts.name || (strcmp(facts.name, "allocate") && strncmp(facts.name, "_M_create<", 10)))
		return 0;
	struct hsnap_raw_function function;
	if (!hsnap_table_own_function(reader, key, &function) || !function.owner)
		return 0;
	uint32_t owner = function.owner;
	if (!reader->types.items[owner].num_arguments)
		return 0;
	const char *name = hsnap_str(&reader->strings, reader->types.items[owner].name);
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (strncmp(name, allocators[i].owner, strlen(allocators[i].owner)) ||
		    strncmp(facts.name, allocators[i].function, strlen(allocators[i].function)))
			continue;
		uint32_t first = reader->types.items[owner].first_argument;
		uint32_t type = hsnap_table_type(reader, reader->arguments.items[first]);
		return type == HSNAP_UNKNOWN_TYPE ? 0 : type;
	}
	return 0;
}

static hsnap_string source_of(struct hsnap_reader *reader, hsnap_die_key in_unit, uint64_t file, uint64_t line)
{
	const char *path = hsnap_str(&reader->strings, hsnap_table_file(reader, in_unit, file));
	const char *slash = strrchr(path, '/');
	char name[512];
	if (!*path || !line)
		return 0;
	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path); /* the text may move while it is added to */
	hsnap_string s = hsnap_strings_addf(&reader->strings, "%s:%llu", name, (unsigned long long)line);
	return s == HSNAP_NO_STRING ? 0 : s;
}

/* The calls that are inlined at the address, outermost first; returns how many. */
static unsigned find_inlined(struct hsnap_reader *reader, hsnap_die_key function, uint64_t address,
			     hsnap_die_key *ret)
{
	unsigned num = 0;
	struct hsnap_dies *dies = hsnap_dies_of(reader->dies, function);
	Dwarf_Die parent = hsnap_die_at(reader->dies, function);
	for (unsigned depth = 0; parent && depth < MAX_DEPTH * 4; depth++) {
		Dwarf_Die inner = NULL;
		for (Dwarf_Die die = hsnap_die_child(dies, parent); die;) {
			unsigned tag = hsnap_die_tag(dies, die);
			if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
			    hsnap_die_covers(dies, die, address)) {
				inner = die;
				if (tag == DW_TAG_inlined_subroutine && num < MAX_INLINED)
					ret[num++] = hsnap_die_key_here(dies, die);
				break;
			}
			Dwarf_Die next = hsnap_die_sibling(dies, die);
			hsnap_die_free(die);
			die = next;
		}
		hsnap_die_free(parent);
		parent = inner;
	}
	hsnap_die_free(parent);
	return num;
}

static void add_frame(struct hsnap_reader *reader, hsnap_die_key function, hsnap_string source, uint64_t line)
{
	struct hsnap_dframe frame = {
		.function = hsnap_table_function_name(reader, function),
		.source = source,
		.line = (uint32_t)line,
		.module = reader->module,
		.allocates = allocated_type(reader, function),
	};
	if (!hsnap_vec_push(&reader->out->frames, frame))
		hsnap_table_no_memory(reader);
}

static void answer_frames(struct hsnap_reader *reader, const struct hsnap_unit_code *unit, hsnap_die_key function,
			  uint64_t address, struct hsnap_dpc *pc)
{
	hsnap_die_key inlined[MAX_INLINED];
	unsigned num = find_inlined(reader, function, address, inlined);
	hsnap_die_key unit_key = reader->units.items[unit->unit].key;
	const struct row *row = find_row(unit, address);
	uint64_t file = row ? row->file : UINT64_MAX, line = row ? row->line : 0;
	pc->first_frame = (uint32_t)reader->out->frames.num;
	while (num--) {
		add_frame(reader, inlined[num], source_of(reader, unit_key, file, line), line);
		struct hsnap_die_facts facts = { .call_file = UINT64_MAX };
		(void)hsnap_table_facts(reader, inlined[num], &facts);
		file = facts.call_file;
		line = facts.call_line;
	}
	add_frame(reader, function, source_of(reader, unit_key, file, line), line);
	pc->num_frames = (uint32_t)(reader->out->frames.num - pc->first_frame);
}

/* --- variables --- */

static void answer_locals(struct hsnap_reader *reader, hsnap_die_key function, uint64_t address,
			  struct hsnap_dpc *pc)
{
	struct hsnap_scoped_list list = { 0 };
	struct hsnap_symbols *out = reader->out;
	Dwarf_Die die = hsnap_die_at(reader->dies, function);
	struct hsnap_frame_base base = { 0 };
	if (die)
		base = hsnap_die_frame_base(hsnap_dies_of(reader->dies, function), die);
	hsnap_die_free(die);
	hsnap_pcs_variables(reader, function, address, &list);
	pc->first_local = (uint32_t)out->locals.num;
	for (size_t i = 0; i < list.num; i++) {
		const struct hsnap_scoped *v = &list.items[i];
		uint32_t type = hsnap_table_type(reader, v->type);
		struct hsnap_dlocal local = {
			.name = v->name, .function = v->function, .type = type == HSNAP_UNKNOWN_TYPE ? 0 : type,
			.place = v->location.kind == HSNAP_LOCATION_REGISTER ? HSNAP_PLACE_REGISTER : HSNAP_PLACE_BASE,
			.number = v->location.number, .offset = v->location.offset,
		};
		if (v->location.kind == HSNAP_LOCATION_FRAME) {
			if (!base.known)
				continue;
			local.place = base.is_cfa ? HSNAP_PLACE_CFA : HSNAP_PLACE_BASE;
			local.number = base.number;
		}
		if (local.number >= HSNAP_REG_PC || !local.type)
			continue;
		if (!hsnap_vec_push(&out->locals, local))
			hsnap_table_no_memory(reader);
	}
	pc->num_locals = (uint32_t)(out->locals.num - pc->first_local);
	hsnap_vec_deinit(&list);
}

/* --- all of it --- */

struct order {
	uint32_t unit;
	size_t ask;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return (x->ask > y->ask) - (x->ask < y->ask);
}

static void answer_one(struct hsnap_reader *reader, const struct hsnap_unit_code *unit, const struct hsnap_ask *ask,
		       struct hsnap_dpc *pc)
{
	uint64_t address = ask->pc - reader->bias, inside = address - !(ask->what & HSNAP_ASK_EXACT);
	const struct code *code = find_code(unit, inside);
	if (!code)
		return;
	/* Types within the function first: what is asked next may name them. */
	struct hsnap_raw_function *function = hsnap_table_function(reader, code->function);
	if (function && ask->what & (HSNAP_ASK_LOCALS | HSNAP_ASK_RESULT))
		hsnap_index_walk_function(reader, function, 0);
	answer_frames(reader, unit, code->function, inside, pc);
	if (is_shared(unit, code)) { /* what it says of variables is one function's */
		for (uint32_t f = 0; f < pc->num_frames; f++)
			reader->out->frames.items[pc->first_frame + f].allocates = 0;
		return;
	}
	if (ask->what & HSNAP_ASK_LOCALS)
		answer_locals(reader, code->function, inside, pc);
	if (ask->what & HSNAP_ASK_RESULT)
		hsnap_result_answer(reader, code->function, code->low, code->high, address, pc);
}

enum hsnap_code hsnap_pcs_answer(struct hsnap_reader *reader, const struct hsnap_ask *asks, size_t num_asks,
				 struct hsnap_error *err)
{
	struct hsnap_unit_code unit = { .unit = UINT32_MAX };
	struct order *order = calloc(num_asks + 1, sizeof(*order));
	size_t first = reader->out->pcs.num;
	if (!order || !hsnap_vec_reserve(&reader->out->pcs, num_asks)) {
		free(order);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	}
	for (size_t i = 0; i < num_asks; i++) {
		uint64_t inside = asks[i].pc - reader->bias - !(asks[i].what & HSNAP_ASK_EXACT);
		order[i] = (struct order){ reader->dies ? find_unit(reader, inside) : UINT32_MAX, i };
		reader->out->pcs.items[reader->out->pcs.num++] = (struct hsnap_dpc){ .pc = asks[i].pc };
	}
	qsort(order, num_asks, sizeof(*order), compare_order);
	for (size_t i = 0; i < num_asks && order[i].unit != UINT32_MAX && !reader->no_memory; i++) {
		if (unit.unit != order[i].unit) {
			unit.unit = order[i].unit;
			reader->code = &unit;
			load_functions(reader, &unit);
			load_lines(reader, &unit);
		}
		answer_one(reader, &unit, &asks[order[i].ask], &reader->out->pcs.items[first + order[i].ask]);
	}
	reader->code = NULL;
	hsnap_vec_deinit(&unit.rows);
	hsnap_vec_deinit(&unit.code);
	free(order);
	return reader->no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}

void hsnap_pcs_functions(struct hsnap_reader *reader, const uint64_t *addresses, size_t num,
			 void (*see)(void *context, uint64_t address, hsnap_die_key function), void *context)
{
	struct hsnap_unit_code unit = { .unit = UINT32_MAX };
	struct order *order = calloc(num + 1, sizeof(*order));
	if (!order)
		hsnap_table_no_memory(reader);
	for (size_t i = 0; order && i < num; i++)
		order[i] = (struct order){ find_unit(reader, addresses[i]), i };
	if (order)
		qsort(order, num, sizeof(*order), compare_order);
	for (size_t i = 0; order && i < num && order[i].unit != UINT32_MAX && !reader->no_memory; i++) {
		uint64_t address = addresses[order[i].ask];
		if (unit.unit != order[i].unit) {
			unit.unit = order[i].unit;
			load_functions(reader, &unit);
		}
		const struct code *code = find_code(&unit, address);
		if (code && code->low == address && !is_shared(&unit, code))
			see(context, address, code->function);
	}
	hsnap_vec_deinit(&unit.code);
	free(order);
}
