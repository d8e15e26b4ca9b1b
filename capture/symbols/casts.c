/* SPDX-License-Identifier: MIT */
/*
 * casts.c - what the program's code turns untyped pointers into.
 *
 * Where two variables live in one register at once they have one value: an opaque handle and the
 * struct that the library makes of it.  So location lists are the oracle; between them values are
 * followed through straight-line code, from members to variables, into calls and out of them.
 * All functions of the module are looked at, each once, or none: a part would be a wrong answer.
 */
#include <string.h>

#include "capture/symbols/flows.h"
#include "capture/symbols/globals.h"
#include "capture/symbols/pcs.h"
#include "capture/symbols/steps.h"
#include "snapshot/base/search.h"

#define MAX_PLACES (UINT32_C(6) << 20) /* of variables, in all functions */
#define MAX_STEPS (UINT32_C(4) << 20)  /* instructions, likewise: four seconds */
#define MAX_TEXT (UINT64_C(12) << 20)  /* bytes of code of a module: with more there would be too many */
#define MAX_LIVE 12                    /* variables in one register at once */
#define MAX_HELD 6                     /* ends that one value is known to come from */
#define MAX_RANGES 64                  /* of a function */
#define MAX_CODE (UINT32_C(1) << 20)   /* bytes of a function */

/* A variable that has something to say, where it lives for a while. */
struct place {
	uint64_t low, high;
	hsnap_flow_end end;
	struct hsnap_location location;
};

/* A value in a register: where it came from, and whose it is known to be. */
struct held {
	hsnap_flow_end ends[MAX_HELD];
	unsigned num;
	uint32_t number; /* the same for copies of one value; 0: it has none yet */
};

struct live {
	const struct place *places[MAX_LIVE];
	unsigned num;
};

struct global {
	uint64_t address; /* as in the file's headers */
	uint64_t into, size; /* of the variable: of all of it 0 and its size */
	uint32_t type;
};

struct range {
	uint64_t low, high;
};

struct casts {
	struct hsnap_reader *reader;
	struct hsnap_decoder *decoder;
	struct hsnap_flows flows;
	struct hsnap_vec(struct global) globals; /* in order of address */
	struct hsnap_scoped_list variables;
	struct hsnap_frame_base base;
	struct hsnap_vec(struct place) places;   /* of the function, in order of low */
	struct hsnap_vec(struct hsnap_step) steps;
	struct hsnap_vec(struct range) code;     /* of the function */
	struct hsnap_vec(uint64_t) starts;       /* where the code is jumped to */
	uint64_t function;                       /* where it is entered */
	uint32_t num_places, num_steps;          /* in all */
	/* At the instruction in hand: */
	size_t next_place;
	struct live live[HSNAP_STEP_REGS], in_memory;
	struct held held[HSNAP_STEP_REGS];
	uint32_t values; /* numbers given */
	uint64_t cfa_pc;
	struct hsnap_cfa cfa;
	uint64_t unit_end; /* where the unit that libdwarf is at ends */
	bool no_more_units;
	bool stop; /* too much, or out of memory */
};

static void casts_deinit(struct casts *casts)
{
	hsnap_decoder_destroy(casts->decoder);
	hsnap_flows_deinit(&casts->flows);
	hsnap_vec_deinit(&casts->globals);
	hsnap_vec_deinit(&casts->variables);
	hsnap_vec_deinit(&casts->places);
	hsnap_vec_deinit(&casts->steps);
	hsnap_vec_deinit(&casts->code);
	hsnap_vec_deinit(&casts->starts);
}

static const struct hsnap_raw_type *type_of(const struct casts *casts, uint32_t index)
{
	return &casts->reader->types.items[index == HSNAP_UNKNOWN_TYPE ? 0 : index];
}

static void add(struct casts *casts, hsnap_flow_end from, hsnap_flow_end to)
{
	casts->stop |= !hsnap_flows_add(&casts->flows, from, to);
}

/* One value, whichever was first. */
static void add_same(struct casts *casts, hsnap_flow_end a, hsnap_flow_end b)
{
	add(casts, a, b);
	add(casts, b, a);
}

static void hold(struct held *held, hsnap_flow_end end)
{
	for (unsigned i = 0; i < held->num; i++)
		if (held->ends[i] == end)
			return;
	if (end && held->num < MAX_HELD)
		held->ends[held->num++] = end;
}

/* --- types as ends --- */

/* What a pointer of the type leads to; `variable`: void * is that variable, 0: nothing. */
static hsnap_flow_end end_of_pointer(const struct casts *casts, uint32_t index, hsnap_flow_end variable)
{
	if (!index || type_of(casts, index)->kind != HSNAP_RAW_POINTER)
		return 0;
	uint32_t pointee = hsnap_table_type(casts->reader, type_of(casts, index)->ref);
	if (pointee == HSNAP_UNKNOWN_TYPE)
		return 0;
	switch (type_of(casts, pointee)->kind) {
	case HSNAP_RAW_VOID:
		return variable;
	case HSNAP_RAW_DECLARATION:
		return hsnap_flow_end_of(HSNAP_FLOW_OPAQUE, pointee, 0);
	case HSNAP_RAW_FUNCTION:
		return 0;
	default:
		return hsnap_flow_end_of(HSNAP_FLOW_TYPE, pointee, 0);
	}
}

static bool is_generic(const struct casts *casts, uint32_t pointer)
{
	if (type_of(casts, pointer)->kind != HSNAP_RAW_POINTER)
		return false;
	uint32_t pointee = hsnap_table_type(casts->reader, type_of(casts, pointer)->ref);
	uint8_t kind = type_of(casts, pointee)->kind;
	return pointee != HSNAP_UNKNOWN_TYPE &&
	       (kind == HSNAP_RAW_VOID || kind == HSNAP_RAW_BYTE || kind == HSNAP_RAW_DECLARATION);
}

/* The pointer among a union's arms, if there is one alone; 0: none, or several. */
static uint32_t pointer_arm(struct casts *casts, uint32_t index)
{
	struct hsnap_reader *reader = casts->reader;
	uint32_t found = 0;
	for (uint32_t i = 0; i < reader->types.items[index].num_members; i++) {
		struct hsnap_raw_member arm = reader->members.items[reader->types.items[index].first_member + i];
		uint32_t type = arm.offset ? 0 : hsnap_table_type(reader, arm.type);
		uint8_t kind = type_of(casts, type)->kind;
		if (kind != HSNAP_RAW_SCALAR && kind != HSNAP_RAW_POINTER)
			return 0;
		if (kind != HSNAP_RAW_POINTER)
			continue;
		if (found)
			return 0;
		found = type;
	}
	return found;
}

/* What a word of the type is: the member that has it, if its type says nothing, and what its type says. */
static void hold_word(struct casts *casts, uint32_t index, int64_t offset, bool indexed, struct held *ret)
{
	struct hsnap_table_word word = hsnap_table_word(casts->reader, index, offset);
	if (!word.type || (indexed && !word.in_array))
		return;
	if (type_of(casts, word.type)->kind == HSNAP_RAW_UNION) {
		word.holder = word.type;
		word.offset = 0;
		word.type = pointer_arm(casts, word.type);
	}
	if (!word.type)
		return;
	if (word.holder && is_generic(casts, word.type))
		hold(ret, hsnap_flow_end_of(HSNAP_FLOW_MEMBER, word.holder, word.offset));
	hold(ret, end_of_pointer(casts, word.type, 0));
}

/* --- variables --- */

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return (x->low > y->low) - (x->low < y->low);
}

static void add_place(struct casts *casts, const struct hsnap_scoped *variable)
{
	struct hsnap_reader *reader = casts->reader;
	uint32_t type = hsnap_table_type(reader, variable->type);
	const struct hsnap_location *l = &variable->location;
	if (l->kind == HSNAP_LOCATION_REGISTER && l->number >= HSNAP_STEP_REGS)
		return;
	struct place place = { .low = l->low, .high = l->high, .location = *l };
	if (l->piece)
		place.end = end_of_pointer(casts, hsnap_table_word(reader, type, (int64_t)l->into).type, 0);
	else if (type != HSNAP_UNKNOWN_TYPE)
		place.end = end_of_pointer(casts, type, hsnap_flow_end_of(HSNAP_FLOW_VARIABLE, variable->entry & HSNAP_DIE_OFFSET, 0));
	if (place.end && !hsnap_vec_push(&casts->places, place))
		casts->stop = true;
}

static void load_places(struct casts *casts, hsnap_die_key function)
{
	casts->variables.num = 0;
	casts->places.num = 0;
	hsnap_pcs_variables(casts->reader, function, UINT64_MAX, &casts->variables);
	casts->num_places += (uint32_t)casts->variables.num;
	casts->stop |= casts->num_places > MAX_PLACES;
	for (size_t i = 0; i < casts->variables.num && !casts->stop; i++)
		add_place(casts, &casts->variables.items[i]);
	if (casts->places.num)
		qsort(casts->places.items, casts->places.num, sizeof(*casts->places.items), compare_places);
}

/* --- registers and memory at the instruction in hand --- */

static void drop_ended(struct live *live, uint64_t pc)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < live->num; i++)
		if (live->places[i]->high > pc)
			live->places[kept++] = live->places[i];
	live->num = kept;
}

/* The value of a register is the variable's: so are its copies, made before that could be told. */
static void hold_copies(struct casts *casts, uint8_t reg, hsnap_flow_end end)
{
	uint32_t number = casts->held[reg].number;
	for (unsigned i = 0; i < HSNAP_STEP_REGS; i++)
		if (number && casts->held[i].number == number)
			hold(&casts->held[i], end);
}

/* A variable begins to live in a register: it is whatever else is there. */
static void begin_place(struct casts *casts, const struct place *place, uint64_t pc)
{
	bool in_register = place->location.kind == HSNAP_LOCATION_REGISTER;
	struct live *live = in_register ? &casts->live[place->location.number] : &casts->in_memory;
	drop_ended(live, pc);
	if (in_register) {
		const struct held *held = &casts->held[place->location.number];
		for (unsigned i = 0; i < live->num; i++)
			add_same(casts, live->places[i]->end, place->end);
		for (unsigned i = 0; i < held->num; i++)
			add(casts, held->ends[i], place->end);
		hold_copies(casts, place->location.number, place->end);
	}
	if (live->num < MAX_LIVE)
		live->places[live->num++] = place;
}

static void begin_places(struct casts *casts, uint64_t pc)
{
	for (; casts->next_place < casts->places.num && casts->places.items[casts->next_place].low <= pc; casts->next_place++) {
		const struct place *place = &casts->places.items[casts->next_place];
		if (place->high > pc)
			begin_place(casts, place, pc);
	}
}

/* All that is known of a register's value. */
static struct held value_of(struct casts *casts, uint8_t reg, uint64_t pc)
{
	struct held value = casts->held[reg];
	drop_ended(&casts->live[reg], pc);
	for (unsigned i = 0; i < casts->live[reg].num; i++)
		hold(&value, casts->live[reg].places[i]->end);
	return value;
}

static bool is_at(struct casts *casts, const struct place *place, const struct hsnap_step_memory *memory, uint64_t pc)
{
	const struct hsnap_location *l = &place->location;
	bool cfa = l->kind == HSNAP_LOCATION_FRAME && casts->base.known && casts->base.is_cfa;
	if (l->kind == HSNAP_LOCATION_MEMORY)
		return l->number == memory->base && l->offset == memory->displacement;
	if (!cfa)
		return casts->base.known && casts->base.number == memory->base && l->offset == memory->displacement;
	if (casts->cfa_pc != pc)
		casts->cfa = hsnap_pcs_cfa(casts->reader, pc);
	casts->cfa_pc = pc;
	return casts->cfa.known && casts->cfa.number == memory->base &&
	       l->offset + casts->cfa.offset == memory->displacement;
}

/* What the variables are that have the word of the frame. */
static void hold_frame(struct casts *casts, const struct hsnap_step_memory *memory, uint64_t pc, struct held *ret)
{
	if (memory->index != HSNAP_STEP_NONE || (memory->base != HSNAP_REG_SP && memory->base != HSNAP_REG_FRAME))
		return;
	drop_ended(&casts->in_memory, pc);
	for (unsigned i = 0; i < casts->in_memory.num; i++)
		if (is_at(casts, casts->in_memory.places[i], memory, pc))
			hold(ret, casts->in_memory.places[i]->end);
}

static void hold_global(struct casts *casts, uint64_t address, bool indexed, struct held *ret)
{
	size_t after = hsnap_first(casts->globals.num, i, casts->globals.items[i].address > address);
	if (!after)
		return;
	const struct global *global = &casts->globals.items[after - 1];
	uint64_t offset = address - global->address;
	if (offset < global->size)
		hold_word(casts, global->type, (int64_t)(global->into + offset), indexed, ret);
}

/* What a word of memory is, by where it lies. */
static struct held word_at(struct casts *casts, const struct hsnap_step_memory *memory, uint64_t pc)
{
	struct held word = { .num = 0 };
	bool indexed = memory->index != HSNAP_STEP_NONE;
	if (memory->base == HSNAP_REG_PC)
		hold_global(casts, (uint64_t)memory->displacement, indexed, &word);
	hold_frame(casts, memory, pc, &word);
	if (memory->base >= HSNAP_STEP_REGS || word.num)
		return word;
	struct held base = value_of(casts, memory->base, pc);
	for (unsigned i = 0; i < base.num; i++) {
		if (hsnap_flow_kind_of(base.ends[i]) != HSNAP_FLOW_TYPE)
			continue;
		uint32_t type = hsnap_flow_type(base.ends[i]);
		if (type_of(casts, type)->kind == HSNAP_RAW_POINTER) /* an element of a run of pointers */
			hold(&word, memory->displacement % 8 ? 0 : end_of_pointer(casts, type, 0));
		else
			hold_word(casts, type, memory->displacement, indexed, &word);
	}
	return word;
}

static void add_all(struct casts *casts, const struct held *from, const struct held *to)
{
	for (unsigned i = 0; i < from->num; i++)
		for (unsigned k = 0; k < to->num; k++)
			add(casts, from->ends[i], to->ends[k]);
}

/* --- instructions --- */

/* Where the first arguments go: System V psABI 1.0, 3.2.3. */
static const uint8_t argument_registers[] = { 5, 4, 1, 2, 8, 9 };

static void hand_arguments(struct casts *casts, uint64_t target, uint64_t pc)
{
	for (size_t i = 0; target && i < sizeof(argument_registers); i++) {
		struct held value = value_of(casts, argument_registers[i], pc);
		for (unsigned k = 0; k < value.num; k++)
			add(casts, value.ends[k], hsnap_flow_end_of(HSNAP_FLOW_PARAMETER, target, argument_registers[i]));
	}
}

static void hand_result(struct casts *casts, const struct held *value)
{
	for (unsigned i = 0; i < value->num; i++)
		add(casts, value->ends[i], hsnap_flow_end_of(HSNAP_FLOW_RESULT, casts->function, 0));
}

static void forget(struct casts *casts, uint32_t registers)
{
	for (unsigned i = 0; i < HSNAP_STEP_REGS; i++)
		if (registers >> i & 1)
			casts->held[i].num = casts->held[i].number = 0;
}

static void take_step(struct casts *casts, const struct hsnap_step *step, uint64_t low, uint64_t high)
{
	struct held value = { .num = 0 };
	uint64_t pc = step->address;
	uint64_t target = step->kind == HSNAP_STEP_CALL || step->kind == HSNAP_STEP_JUMP
				  ? hsnap_plt_target(casts->reader, step) : 0;
	uint8_t to = HSNAP_STEP_NONE;
	switch (step->kind) {
	case HSNAP_STEP_MOVE:
		if (!casts->held[step->from].number)
			casts->held[step->from].number = ++casts->values;
		value = value_of(casts, step->from, pc);
		to = step->to;
		break;
	case HSNAP_STEP_LOAD:
		value = word_at(casts, &step->memory, pc);
		to = step->to;
		break;
	case HSNAP_STEP_ADDRESS:
		if (step->memory.base < HSNAP_STEP_REGS && step->memory.index == HSNAP_STEP_NONE && !step->memory.displacement)
			value = value_of(casts, step->memory.base, pc);
		to = step->to;
		break;
	case HSNAP_STEP_STORE:
		if (step->from < HSNAP_STEP_REGS) {
			struct held word = word_at(casts, &step->memory, pc);
			value = value_of(casts, step->from, pc);
			add_all(casts, &value, &word);
		}
		break;
	case HSNAP_STEP_CALL:
		hand_arguments(casts, target, pc);
		forget(casts, HSNAP_STEP_CLOBBERED);
		to = HSNAP_REG_RESULT;
		hold(&value, target ? hsnap_flow_end_of(HSNAP_FLOW_RESULT, target, 0) : 0);
		break;
	case HSNAP_STEP_JUMP:
		if (target && (target < low || target >= high)) { /* a tail call */
			hand_arguments(casts, target, pc);
			hold(&value, hsnap_flow_end_of(HSNAP_FLOW_RESULT, target, 0));
			hand_result(casts, &value);
		}
		break;
	case HSNAP_STEP_RETURN:
		value = value_of(casts, HSNAP_REG_RESULT, pc);
		hand_result(casts, &value);
		break;
	default:
		break;
	}
	forget(casts, step->kind == HSNAP_STEP_CALL ? 0 : step->writes);
	if (to < HSNAP_STEP_REGS) {
		casts->held[to] = value;
		if (step->kind != HSNAP_STEP_MOVE)
			casts->held[to].number = ++casts->values;
	}
	if (step->kind == HSNAP_STEP_JUMP || step->kind == HSNAP_STEP_RETURN)
		forget(casts, ~0u);
}

/* Decode a stretch of a function's code, and note where it is jumped to; false: it cannot be. */
static bool decode_code(struct casts *casts, uint64_t low, uint64_t high)
{
	casts->steps.num = 0;
	casts->starts.num = 0;
	if (high - low > MAX_CODE)
		return false;
	for (uint64_t at = low; at < high;) {
		size_t left = 0;
		struct hsnap_step step;
		const uint8_t *bytes = hsnap_elf_at(casts->reader->program, at, &left);
		if (!bytes || !hsnap_decoder_step(casts->decoder, bytes, left, at, &step))
			return false;
		casts->stop |= ++casts->num_steps > MAX_STEPS || !hsnap_vec_push(&casts->steps, step);
		bool jump = step.kind == HSNAP_STEP_JUMP || step.kind == HSNAP_STEP_BRANCH;
		if (jump && step.target >= low && step.target < high && !hsnap_vec_push(&casts->starts, step.target))
			casts->stop = true;
		if (casts->stop)
			return false;
		at = step.next;
	}
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* One stretch of a function's code; the first is the one that is entered. */
static void see_code(struct casts *casts, uint64_t low, uint64_t high, bool entry)
{
	if (entry)
		casts->function = low;
	if (!decode_code(casts, low, high))
		return;
	if (casts->starts.num)
		qsort(casts->starts.items, casts->starts.num, sizeof(*casts->starts.items), compare_addresses);
	casts->next_place = 0;
	casts->in_memory.num = 0;
	memset(casts->live, 0, sizeof(casts->live));
	forget(casts, ~0u);
	for (size_t i = 0; entry && i < sizeof(argument_registers); i++)
		hold(&casts->held[argument_registers[i]],
		     hsnap_flow_end_of(HSNAP_FLOW_PARAMETER, low, argument_registers[i]));
	size_t start = 0;
	for (size_t i = 0; i < casts->steps.num && !casts->stop; i++) {
		const struct hsnap_step *step = &casts->steps.items[i];
		while (start < casts->starts.num && casts->starts.items[start] < step->address)
			start++;
		/* Who comes from elsewhere brings other values. */
		if (start < casts->starts.num && casts->starts.items[start] == step->address)
			forget(casts, ~0u);
		begin_places(casts, step->address);
		take_step(casts, step, low, high);
	}
}

static bool see_range(void *context, uint64_t low, uint64_t high)
{
	struct casts *casts = context;
	casts->stop |= casts->code.num == MAX_RANGES || !hsnap_vec_push(&casts->code, (struct range){ low, high });
	return !casts->stop;
}

/* libdwarf searches all units for an entry's, from the first on, but for the one that it is at. */
static void go_to_unit(struct casts *casts, hsnap_die_key key)
{
	struct hsnap_reader *reader = casts->reader;
	while (!casts->no_more_units && (key & HSNAP_DIE_OFFSET) >= casts->unit_end) {
		struct hsnap_die_unit unit;
		bool whole;
		casts->no_more_units = !hsnap_die_next_unit(reader->dies, false, &unit, &whole);
		if (casts->no_more_units)
			return;
		uint32_t known = hsnap_table_unit(reader, hsnap_die_key_here(reader->dies, unit.die));
		hsnap_die_free(unit.die);
		casts->unit_end = known == UINT32_MAX ? 0 : reader->units.items[known].end;
	}
}

static void see_function(struct casts *casts, hsnap_die_key key)
{
	struct hsnap_dies *dies = hsnap_dies_of(casts->reader->dies, key);
	if (hsnap_die_section_of(key) == HSNAP_DIE_INFO)
		go_to_unit(casts, key);
	Dwarf_Die die = hsnap_die_at(dies, key);
	casts->code.num = 0;
	casts->places.num = 0;
	if (die)
		hsnap_die_ranges(dies, die, see_range, casts);
	if (casts->code.num) {
		load_places(casts, key);
		casts->base = hsnap_die_frame_base(dies, die);
		casts->cfa_pc = UINT64_MAX;
	}
	for (size_t i = 0; i < casts->code.num && casts->places.num && !casts->stop; i++)
		see_code(casts, casts->code.items[i].low, casts->code.items[i].high, !i);
	hsnap_die_free(die);
	hsnap_flows_end_function(&casts->flows);
}

static int compare_globals(const void *a, const void *b)
{
	const struct global *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void add_global(void *context, const struct hsnap_global *from)
{
	struct casts *casts = context;
	struct hsnap_reader *reader = casts->reader;
	uint32_t type = hsnap_table_type(reader, from->type);
	struct global global = { from->address - reader->bias, from->into, from->size ? from->size : hsnap_table_size(reader, type), type };
	if (type && type != HSNAP_UNKNOWN_TYPE && from->into <= INT64_MAX && !hsnap_vec_push(&casts->globals, global))
		casts->stop = true;
}

static void list_globals(struct casts *casts)
{
	hsnap_globals_see(casts->reader, add_global, casts);
	if (casts->globals.num)
		qsort(casts->globals.items, casts->globals.num, sizeof(*casts->globals.items), compare_globals);
}

/* Is there more code than we take the time for?  Asked before any of it is spent. */
static bool is_large(const struct hsnap_elf *elf)
{
	uint64_t text = 0;
	for (size_t i = 0; i < elf->num_segments; i++)
		if (elf->segments[i].flags & PF_X)
			text += elf->segments[i].file_size < MAX_TEXT ? elf->segments[i].file_size : MAX_TEXT;
	return text >= MAX_TEXT;
}

void hsnap_casts_find(struct hsnap_reader *reader)
{
	if (is_large(reader->program) || hsnap_elf_is_c_library(reader->program))
		return;
	struct casts casts = { .reader = reader, .decoder = hsnap_decoder_create() };
	casts.stop = !casts.decoder;
	list_globals(&casts);
	/* What stands in a class is declared there, and defined elsewhere. */
	for (size_t i = 0; i < reader->functions.num && !casts.stop && !reader->no_memory; i++)
		if (!reader->functions.items[i].owner)
			see_function(&casts, reader->functions.items[i].key);
	if (!casts.stop && !hsnap_flows_answer(&casts.flows, reader->out))
		hsnap_table_no_memory(reader);
	casts_deinit(&casts);
}
