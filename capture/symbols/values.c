/* SPDX-License-Identifier: MIT */
/* values.c - what addresses in registers and in the frame point into, as a path knows it. */
#include "capture/symbols/follow.h"
#include "capture/symbols/globals.h"

/* --- types --- */

static const struct hsnap_raw_type *type_of(const struct hsnap_follow *f, uint32_t index)
{
	return &f->reader->types.items[index == HSNAP_UNKNOWN_TYPE ? 0 : index];
}

/* The type of the word at an offset of a type; 0: not known. */
static uint32_t type_at(struct hsnap_follow *f, uint32_t index, int64_t offset, bool *ret_array_start)
{
	struct hsnap_table_word word = hsnap_table_word(f->reader, index, offset);
	*ret_array_start = word.array_start;
	return word.type;
}

/* What a pointer type points to; false: it is no pointer. */
bool hsnap_follow_pointee(struct hsnap_follow *f, uint32_t index, uint32_t *ret)
{
	if (!index || type_of(f, index)->kind != HSNAP_RAW_POINTER)
		return false;
	*ret = hsnap_table_type(f->reader, type_of(f, index)->ref);
	return true;
}

/* --- places --- */

struct hsnap_cfa hsnap_follow_cfa(struct hsnap_follow *f, uint64_t pc)
{
	if (f->cfa_pc != pc) {
		f->cfa_pc = pc;
		f->cfa = hsnap_pcs_cfa(f->reader, pc);
	}
	return f->cfa;
}

/* Is it memory of this frame, in terms that last: stack pointer at the return, or frame pointer? */
bool hsnap_follow_frame_slot(const struct hsnap_follow *f, const struct hsnap_follow_path *path, uint8_t base, int64_t offset,
		       struct hsnap_follow_slot *ret)
{
	if (base == HSNAP_REG_SP && path->sp_known) {
		*ret = (struct hsnap_follow_slot){ .base = base, .offset = offset + path->sp };
		return true;
	}
	*ret = (struct hsnap_follow_slot){ .base = base, .offset = offset };
	return base == HSNAP_REG_FRAME && f->frame_pointer;
}

/* Where in the frame the variable lives at pc, if it does. */
bool hsnap_follow_variable_slot(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_scoped *variable,
			  struct hsnap_follow_slot *ret)
{
	const struct hsnap_location *l = &variable->location;
	if (l->kind == HSNAP_LOCATION_MEMORY)
		return hsnap_follow_frame_slot(f, path, l->number, l->offset, ret);
	if (l->kind != HSNAP_LOCATION_FRAME || !f->cache->base.known)
		return false;
	if (!f->cache->base.is_cfa)
		return hsnap_follow_frame_slot(f, path, f->cache->base.number, l->offset, ret);
	struct hsnap_cfa cfa = hsnap_follow_cfa(f, path->pc);
	return cfa.known && hsnap_follow_frame_slot(f, path, cfa.number, l->offset + cfa.offset, ret);
}

uint32_t hsnap_follow_variable_type(struct hsnap_follow *f, const struct hsnap_scoped *variable)
{
	bool array_start;
	uint32_t type = hsnap_table_type(f->reader, variable->type);
	if (!variable->location.piece)
		return type == HSNAP_UNKNOWN_TYPE ? 0 : type;
	return type_at(f, type, (int64_t)variable->location.into, &array_start);
}

bool hsnap_follow_in_scope(const struct hsnap_scoped *variable, uint64_t pc)
{
	return pc >= variable->location.low && pc < variable->location.high;
}

struct hsnap_follow_slot *hsnap_follow_find_slot(struct hsnap_follow_path *path, const struct hsnap_follow_slot *where)
{
	for (unsigned i = 0; i < path->num_slots; i++)
		if (path->slots[i].base == where->base && path->slots[i].offset == where->offset)
			return &path->slots[i];
	return NULL;
}

/* Anything written to the frame ends what overlaps it; then the word is there. */
void hsnap_follow_set_slot(struct hsnap_follow_path *path, const struct hsnap_follow_slot *where, const struct hsnap_follow_value *value)
{
	for (unsigned i = 0; i < path->num_slots;) {
		int64_t apart = path->slots[i].offset - where->offset;
		if (path->slots[i].base == where->base && apart > -8 && apart < 16)
			path->slots[i] = path->slots[--path->num_slots];
		else
			i++;
	}
	if (path->num_slots < HSNAP_FOLLOW_SLOTS && (value->result || value->into)) {
		path->slots[path->num_slots] = *where;
		path->slots[path->num_slots++].value = *value;
	}
}

/* The last variable that begins at or before an address. */
struct last_global {
	uint64_t address;
	struct hsnap_global found;
	bool any;
};

static void see_global(void *context, const struct hsnap_global *global)
{
	struct last_global *last = context;
	if (global->address > last->address || (last->any && global->address <= last->found.address))
		return;
	last->found = *global;
	last->any = true;
}

/* The variable that a fixed address lies in, as a value. */
static struct hsnap_follow_value global_value(struct hsnap_follow *f, int64_t address_in_file)
{
	struct last_global last = { .address = (uint64_t)address_in_file + f->reader->bias };
	hsnap_globals_see(f->reader, see_global, &last);
	if (!last.any)
		return (struct hsnap_follow_value){ 0 };
	uint64_t offset = last.address - last.found.address, size = last.found.size;
	uint32_t type = hsnap_table_type(f->reader, last.found.type);
	if ((size && offset >= size) || last.found.into + offset >= hsnap_table_size(f->reader, type))
		return (struct hsnap_follow_value){ 0 };
	return (struct hsnap_follow_value){ .into = type, .offset = (int64_t)(last.found.into + offset), .address = true };
}

/*
 * The variables of this frame's memory that have the slot within them.  There may be several: what is not alive at once
 * shares a place in the frame, though both be in scope.
 */
static void local_values(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_follow_slot *where,
			 hsnap_see_value *see, void *context)
{
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct hsnap_follow_slot at;
		if (v->location.piece || !hsnap_follow_in_scope(v, path->pc) ||
		    !hsnap_follow_variable_slot(f, path, v, &at) || at.base != where->base)
			continue;
		uint32_t type = hsnap_table_type(f->reader, v->type);
		if (where->offset < at.offset || (uint64_t)(where->offset - at.offset) >= hsnap_table_size(f->reader, type))
			continue;
		see(f, path, &(struct hsnap_follow_value){ .into = type, .offset = where->offset - at.offset, .address = true },
		    context);
	}
}

/* What a register is known to point into, else what the variables that live in it do. */
static void register_values(struct hsnap_follow *f, const struct hsnap_follow_path *path, uint8_t reg, hsnap_see_value *see, void *context)
{
	if (path->regs[reg].into) {
		see(f, path, &path->regs[reg], context);
		return;
	}
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct hsnap_follow_value value = { 0 };
		if (v->location.kind != HSNAP_LOCATION_REGISTER || v->location.number != reg || !hsnap_follow_in_scope(v, path->pc) ||
		    !hsnap_follow_pointee(f, hsnap_follow_variable_type(f, v), &value.into) || !value.into ||
		    value.into == HSNAP_UNKNOWN_TYPE)
			continue;
		see(f, path, &value, context);
	}
}

/*
 * A value plus some index: only into an array of words.
 *
 * It must start an array, or be a pointer to words: of `array[i - 1]` the code has the address
 * before the array, which is another member's.
 */
static struct hsnap_follow_value indexed(struct hsnap_follow *f, const struct hsnap_follow_value *value)
{
	bool array_start;
	if (type_of(f, value->into)->kind == HSNAP_RAW_POINTER && !value->address)
		return (struct hsnap_follow_value){ .into = value->into };
	uint32_t element = type_at(f, value->into, value->offset, &array_start);
	if (!element || !array_start || type_of(f, element)->kind != HSNAP_RAW_POINTER)
		return (struct hsnap_follow_value){ 0 };
	return (struct hsnap_follow_value){ .into = element };
}

struct addressing {
	const struct hsnap_step_memory *memory;
	int64_t displacement; /* what is to be added to the values yet */
	hsnap_see_value *see;
	void *context;
	bool any;
};

static void see_base(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_follow_value *value, void *context)
{
	struct addressing *a = context;
	struct hsnap_follow_value at = *value;
	at.offset += a->displacement;
	if (a->memory->index != HSNAP_STEP_NONE)
		at = a->memory->scale == 8 || a->memory->scale == 1 ? indexed(f, &at) : (struct hsnap_follow_value){ 0 };
	if (!at.into)
		return;
	a->any = true;
	a->see(f, path, &at, a->context);
}

/* What the address of a memory operand is known to point into. */
void hsnap_follow_address(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_step_memory *memory,
			   hsnap_see_value *see, void *context)
{
	struct addressing a = { memory, 0, see, context, false };
	struct hsnap_follow_slot where;
	struct hsnap_follow_value value = { 0 };
	if (memory->base == HSNAP_REG_PC)
		value = global_value(f, memory->displacement);
	else if (hsnap_follow_frame_slot(f, path, memory->base, memory->displacement, &where))
		local_values(f, path, &where, see_base, &a);
	if (value.into)
		see_base(f, path, &value, &a);
	if (value.into || a.any)
		return;
	a.displacement = memory->displacement;
	if (memory->base < HSNAP_STEP_REGS)
		register_values(f, path, memory->base, see_base, &a);
	/* base + index and index + base are one. */
	if (!a.any && memory->index < HSNAP_STEP_REGS && memory->scale == 1)
		register_values(f, path, memory->index, see_base, &a);
}

/* The one type of a word in memory, where all that is known of it agrees. */
struct agreed {
	uint32_t type;
	bool differ;
};

static void see_word(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_follow_value *value, void *context)
{
	struct agreed *agreed = context;
	bool array_start;
	bool words = type_of(f, value->into)->kind == HSNAP_RAW_POINTER && !value->address;
	uint32_t type = words && value->offset % 8 == 0 ? value->into
							: type_at(f, value->into, value->offset, &array_start);
	(void)path;
	agreed->differ |= agreed->type && type && agreed->type != type;
	agreed->type = type ? type : agreed->type;
}

uint32_t hsnap_follow_word_type(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_step_memory *memory)
{
	struct agreed agreed = { 0 };
	hsnap_follow_address(f, path, memory, see_word, &agreed);
	return agreed.differ ? 0 : agreed.type;
}
