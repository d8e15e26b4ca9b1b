/* SPDX-License-Identifier: MIT */
/*
 * result.c - who gets the result of a call.
 *
 * From the return address on the result is followed through the code: copies
 * between registers, spills to the stack and back.  A pointer variable whose
 * location says that it lives where the result is has been handed the result;
 * so has a member, an element or a global that it is stored to, if what the
 * store's address points into is known.  Nothing is guessed: what is not
 * understood ends the trail.
 */
#include <string.h>

#include "capture/symbols/pcs.h"
#include "capture/symbols/steps.h"

#define MAX_STEPS 96  /* along one path */
#define MAX_TOTAL 600 /* along all */
#define MAX_PATHS 16
#define MAX_SLOTS 16
#define MAX_WITNESSES 32
#define MAX_CODE 32768 /* bytes of a function whose straight-line pieces are looked for */

/* What a register or a stack slot holds. */
struct value {
	bool result;
	bool assigned;  /* it came here by a move: what lives here from before is this now */
	bool address;   /* of a variable; else it is a pointer that somebody had: more may follow */
	uint32_t into;  /* index of the type that it points into; 0: not known */
	int64_t offset; /* how far into it */
};

struct slot {
	uint8_t base; /* stack pointer (as it was at the return) or frame pointer */
	int64_t offset;
	struct value value;
};

struct path {
	uint64_t pc;
	unsigned steps;
	bool sp_known;
	int64_t sp; /* by how much the stack pointer has changed since the return */
	struct value regs[HSNAP_STEP_REGS];
	struct slot slots[MAX_SLOTS];
	unsigned num_slots;
};

struct witness {
	uint32_t pointee;
	bool declared_void;
	unsigned steps;
};

struct hsnap_result_cache {
	struct hsnap_decoder *decoder;
	hsnap_die_key function;
	bool returns_pointer;
	struct hsnap_frame_base base;
	struct hsnap_scoped_list variables;
	uint64_t low; /* of the code that `blocks` are of */
	struct hsnap_vec(uint64_t) blocks;
};

struct follow {
	struct hsnap_reader *reader;
	const struct hsnap_result_cache *cache;
	uint64_t start, low, high;
	bool frame_pointer; /* the CFA is counted from it: it holds no variable */
	uint64_t cfa_pc;    /* where `cfa` was looked up */
	struct hsnap_cfa cfa;
	struct path paths[MAX_PATHS];
	unsigned num_paths, total;
	struct witness witnesses[MAX_WITNESSES];
	unsigned num_witnesses;
	bool before; /* it is the code before the call that is looked at */
	bool returns;
};

/* --- types --- */

static const struct hsnap_raw_type *type_of(const struct follow *f, uint32_t index)
{
	return &f->reader->types.items[index == HSNAP_UNKNOWN_TYPE ? 0 : index];
}

/*
 * The type of the word at an offset of a type; 0: not known.  Of a union nothing is known: which
 * arm it is the code does not say.
 *
 * @param[out] ret_array_start  it is the first element of an array
 */
static uint32_t type_at(struct follow *f, uint32_t index, int64_t offset, bool *ret_array_start)
{
	*ret_array_start = false;
	for (unsigned depth = 0; depth < 16 && index && index != HSNAP_UNKNOWN_TYPE && offset >= 0; depth++) {
		const struct hsnap_raw_type *type = type_of(f, index);
		if (type->kind == HSNAP_RAW_ARRAY) {
			uint32_t element = hsnap_index_type(f->reader, type->ref);
			uint64_t size = hsnap_index_size(f->reader, element);
			if (!size)
				return 0;
			*ret_array_start = !offset;
			offset = (int64_t)((uint64_t)offset % size);
			index = element;
			continue;
		}
		if (type->kind != HSNAP_RAW_STRUCT)
			return offset ? 0 : index;
		uint32_t found = 0;
		*ret_array_start = false;
		for (uint32_t i = 0; i < type->num_members; i++) {
			struct hsnap_raw_member member = f->reader->members.items[type->first_member + i];
			if (member.flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL) ||
			    member.offset > (uint64_t)offset)
				continue;
			uint32_t of = hsnap_index_type(f->reader, member.type);
			uint64_t size = hsnap_index_size(f->reader, of);
			type = type_of(f, index); /* looking may have moved them */
			bool open_end = of && type_of(f, of)->flags & HSNAP_RAW_UNBOUNDED;
			uint64_t into = (uint64_t)offset - member.offset;
			if ((into >= size || size - into < 8) && !open_end)
				continue; /* no whole word of it is there: an empty base, say */
			if (found)
				return 0;
			found = i + 1;
		}
		if (!found)
			return 0;
		struct hsnap_raw_member member = f->reader->members.items[type->first_member + found - 1];
		offset -= (int64_t)member.offset;
		index = hsnap_index_type(f->reader, member.type);
	}
	return 0;
}

/* What a pointer type points to; false: it is no pointer. */
static bool pointee_of(struct follow *f, uint32_t index, uint32_t *ret)
{
	if (!index || type_of(f, index)->kind != HSNAP_RAW_POINTER)
		return false;
	*ret = hsnap_index_type(f->reader, type_of(f, index)->ref);
	return true;
}

static void add_witness(struct follow *f, unsigned steps, uint32_t type)
{
	uint32_t pointee;
	if (!pointee_of(f, type, &pointee) || pointee == HSNAP_UNKNOWN_TYPE || f->num_witnesses == MAX_WITNESSES)
		return;
	for (unsigned i = 0; i < f->num_witnesses; i++) {
		struct witness *w = &f->witnesses[i];
		if (w->pointee != pointee)
			continue;
		w->steps = steps < w->steps ? steps : w->steps;
		return;
	}
	f->witnesses[f->num_witnesses++] = (struct witness){ pointee, !pointee, steps };
}

/* --- places --- */

static struct hsnap_cfa cfa_at(struct follow *f, uint64_t pc)
{
	if (f->cfa_pc != pc) {
		f->cfa_pc = pc;
		f->cfa = hsnap_pcs_cfa(f->reader, pc);
	}
	return f->cfa;
}

/* Is it memory of this frame, in terms that last: stack pointer at the return, or frame pointer? */
static bool frame_slot(const struct follow *f, const struct path *path, uint8_t base, int64_t offset,
		       struct slot *ret)
{
	if (base == HSNAP_REG_SP && path->sp_known) {
		*ret = (struct slot){ .base = base, .offset = offset + path->sp };
		return true;
	}
	*ret = (struct slot){ .base = base, .offset = offset };
	return base == HSNAP_REG_FRAME && f->frame_pointer;
}

/* Where in the frame the variable lives at pc, if it does. */
static bool variable_slot(struct follow *f, const struct path *path, const struct hsnap_scoped *variable,
			  struct slot *ret)
{
	const struct hsnap_location *l = &variable->location;
	if (l->kind == HSNAP_LOCATION_MEMORY)
		return frame_slot(f, path, l->number, l->offset, ret);
	if (l->kind != HSNAP_LOCATION_FRAME || !f->cache->base.known)
		return false;
	if (!f->cache->base.is_cfa)
		return frame_slot(f, path, f->cache->base.number, l->offset, ret);
	struct hsnap_cfa cfa = cfa_at(f, path->pc);
	return cfa.known && frame_slot(f, path, cfa.number, l->offset + cfa.offset, ret);
}

static bool in_scope(const struct hsnap_scoped *variable, uint64_t pc)
{
	return pc >= variable->location.low && pc < variable->location.high;
}

static struct slot *find_slot(struct path *path, const struct slot *where)
{
	for (unsigned i = 0; i < path->num_slots; i++)
		if (path->slots[i].base == where->base && path->slots[i].offset == where->offset)
			return &path->slots[i];
	return NULL;
}

/* Anything written to the frame ends what overlaps it; then the word is there. */
static void set_slot(struct path *path, const struct slot *where, const struct value *value)
{
	for (unsigned i = 0; i < path->num_slots;) {
		int64_t apart = path->slots[i].offset - where->offset;
		if (path->slots[i].base == where->base && apart > -8 && apart < 16)
			path->slots[i] = path->slots[--path->num_slots];
		else
			i++;
	}
	if (path->num_slots < MAX_SLOTS && (value->result || value->into)) {
		path->slots[path->num_slots] = *where;
		path->slots[path->num_slots++].value = *value;
	}
}

typedef void see_value(struct follow *f, const struct path *path, const struct value *value, void *context);

/* The variable that a fixed address lies in, as a value. */
static struct value global_value(struct follow *f, int64_t address_in_file)
{
	uint64_t address = (uint64_t)address_in_file + f->reader->bias;
	const struct hsnap_raw_variable *best = NULL;
	for (size_t i = 0; i < f->reader->variables.num; i++) {
		const struct hsnap_raw_variable *v = &f->reader->variables.items[i];
		if (!v->thread_local_ && v->address <= address && (!best || v->address > best->address))
			best = v;
	}
	if (!best)
		return (struct value){ 0 };
	uint64_t offset = address - best->address;
	uint32_t type = hsnap_index_type(f->reader, best->type);
	if (offset >= hsnap_index_size(f->reader, type))
		return (struct value){ 0 };
	return (struct value){ .into = type, .offset = (int64_t)offset, .address = true };
}

/* The variable of this frame's memory that has the slot within it, as a value. */
static struct value local_value(struct follow *f, const struct path *path, const struct slot *where)
{
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct slot at;
		if (!in_scope(v, path->pc) || !variable_slot(f, path, v, &at) || at.base != where->base)
			continue;
		uint32_t type = hsnap_index_type(f->reader, v->type);
		if (where->offset < at.offset || (uint64_t)(where->offset - at.offset) >= hsnap_index_size(f->reader, type))
			continue;
		return (struct value){ .into = type, .offset = where->offset - at.offset, .address = true };
	}
	return (struct value){ 0 };
}

/* What a register is known to point into, else what the variables that live in it do. */
static void register_values(struct follow *f, const struct path *path, uint8_t reg, see_value *see, void *context)
{
	if (path->regs[reg].into) {
		see(f, path, &path->regs[reg], context);
		return;
	}
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct value value = { 0 };
		if (v->location.kind != HSNAP_LOCATION_REGISTER || v->location.number != reg || !in_scope(v, path->pc) ||
		    !pointee_of(f, hsnap_index_type(f->reader, v->type), &value.into) || !value.into ||
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
static struct value indexed(struct follow *f, const struct value *value)
{
	bool array_start;
	if (type_of(f, value->into)->kind == HSNAP_RAW_POINTER && !value->address)
		return (struct value){ .into = value->into };
	uint32_t element = type_at(f, value->into, value->offset, &array_start);
	if (!element || !array_start || type_of(f, element)->kind != HSNAP_RAW_POINTER)
		return (struct value){ 0 };
	return (struct value){ .into = element };
}

struct addressing {
	const struct hsnap_step_memory *memory;
	see_value *see;
	void *context;
	bool any;
};

static void see_base(struct follow *f, const struct path *path, const struct value *value, void *context)
{
	struct addressing *a = context;
	struct value at = *value;
	at.offset += a->memory->displacement;
	if (a->memory->index != HSNAP_STEP_NONE)
		at = a->memory->scale == 8 || a->memory->scale == 1 ? indexed(f, &at) : (struct value){ 0 };
	if (!at.into)
		return;
	a->any = true;
	a->see(f, path, &at, a->context);
}

/* What the address of a memory operand is known to point into. */
static void address_values(struct follow *f, const struct path *path, const struct hsnap_step_memory *memory,
			   see_value *see, void *context)
{
	struct addressing a = { memory, see, context, false };
	struct slot where;
	struct value value = { 0 };
	if (memory->base == HSNAP_REG_PC)
		value = global_value(f, memory->displacement);
	else if (frame_slot(f, path, memory->base, memory->displacement, &where))
		value = local_value(f, path, &where);
	if (value.into) {
		value.offset -= memory->displacement; /* which see_base() adds */
		see_base(f, path, &value, &a);
		return;
	}
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

static void see_word(struct follow *f, const struct path *path, const struct value *value, void *context)
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

static uint32_t word_type(struct follow *f, const struct path *path, const struct hsnap_step_memory *memory)
{
	struct agreed agreed = { 0 };
	address_values(f, path, memory, see_word, &agreed);
	return agreed.differ ? 0 : agreed.type;
}

/* --- following --- */

/* Variables that live where the result is. */
static void look_around(struct follow *f, struct path *path)
{
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct slot where, *slot;
		if (!in_scope(v, path->pc))
			continue;
		if (v->location.kind == HSNAP_LOCATION_REGISTER) {
			if (v->location.number >= HSNAP_STEP_REGS)
				continue;
			const struct value *value = &path->regs[v->location.number];
			if (!value->result || (!value->assigned && v->location.low < f->start))
				continue;
		} else {
			if (!path->num_slots || !variable_slot(f, path, v, &where))
				continue;
			slot = find_slot(path, &where);
			if (!slot || !slot->value.result)
				continue;
		}
		add_witness(f, path->steps, hsnap_index_type(f->reader, v->type));
	}
}

static void step_load(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	struct slot where;
	struct value value = { 0 };
	bool in_frame = step->memory.index == HSNAP_STEP_NONE &&
			frame_slot(f, path, step->memory.base, step->memory.displacement, &where);
	const struct slot *slot = in_frame ? find_slot(path, &where) : NULL;
	if (slot) {
		value = slot->value;
	} else {
		uint32_t pointee = 0;
		if (pointee_of(f, word_type(f, path, &step->memory), &pointee) && pointee != HSNAP_UNKNOWN_TYPE)
			value.into = pointee;
	}
	value.assigned = value.result;
	path->regs[step->to] = value;
}

static void step_store(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	struct slot where;
	struct value none = { 0 };
	const struct value *value = step->from < HSNAP_STEP_REGS ? &path->regs[step->from] : &none;
	/* Into itself it is a link that starts empty, and the type of a part. */
	bool into_itself = step->memory.base < HSNAP_STEP_REGS && path->regs[step->memory.base].result;
	if (value->result && !into_itself)
		add_witness(f, path->steps, word_type(f, path, &step->memory));
	if (!frame_slot(f, path, step->memory.base, step->memory.displacement, &where))
		return;
	if (step->memory.index != HSNAP_STEP_NONE)
		path->num_slots = 0; /* anywhere in the frame */
	else
		set_slot(path, &where, value);
}

static void see_only(struct follow *f, const struct path *path, const struct value *value, void *context)
{
	struct value *only = context;
	(void)f;
	(void)path;
	if (only->into && (only->into != value->into || only->offset != value->offset))
		only->result = true; /* several: see step_address() */
	else
		*only = (struct value){ .into = value->into, .offset = value->offset, .address = value->address };
}

static void step_address(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	const struct hsnap_step_memory *memory = &step->memory;
	struct value value = { 0 };
	address_values(f, path, memory, see_only, &value);
	if (value.result)
		value = (struct value){ 0 };
	bool same = memory->base < HSNAP_STEP_REGS && memory->index == HSNAP_STEP_NONE && !memory->displacement;
	value.result = same && path->regs[memory->base].result;
	path->regs[step->to] = value;
}

/* Go on at another place too, if it is within the function. */
static void fork_path(struct follow *f, const struct path *path, uint64_t target)
{
	if (f->before || target < f->low || target >= f->high || f->num_paths == MAX_PATHS)
		return;
	f->paths[f->num_paths] = *path;
	f->paths[f->num_paths++].pc = target;
}

static void forget(struct path *path, uint32_t registers)
{
	for (unsigned i = 0; i < HSNAP_STEP_REGS; i++)
		if (registers >> i & 1)
			path->regs[i] = (struct value){ 0 };
}

static bool holds_result(const struct path *path)
{
	bool any = false;
	for (unsigned i = 0; i < HSNAP_STEP_REGS; i++)
		any |= path->regs[i].result;
	for (unsigned i = 0; i < path->num_slots; i++)
		any |= path->slots[i].value.result;
	return any;
}

/* Where the first arguments go: System V psABI 1.0, 3.2.3. */
static const uint8_t argument_registers[] = { 5, 4, 1, 2, 8, 9 };

/* The result is handed to another function: its parameter's type says what it is. */
static void see_arguments(struct follow *f, const struct path *path, uint64_t target)
{
	bool any = false;
	for (size_t i = 0; i < sizeof(argument_registers); i++)
		any |= path->regs[argument_registers[i]].result;
	hsnap_die_key function = any && target ? hsnap_pcs_function_at(f->reader, target) : 0;
	if (!function)
		return;
	struct hsnap_scoped_list parameters = { 0 };
	bool in_order = hsnap_pcs_parameters(f->reader, function, &parameters);
	for (size_t i = 0; i < parameters.num; i++) {
		const struct hsnap_scoped *p = &parameters.items[i];
		uint32_t type = hsnap_index_type(f->reader, p->type), pointee = 0;
		bool pointer = type != HSNAP_UNKNOWN_TYPE && pointee_of(f, type, &pointee);
		uint8_t reg = HSNAP_STEP_NONE;
		if (p->location.kind == HSNAP_LOCATION_REGISTER && target >= p->location.low && target < p->location.high)
			reg = p->location.number;
		else if (p->location.kind == HSNAP_LOCATION_FRAME && in_order && i < sizeof(argument_registers))
			reg = argument_registers[i];
		if (pointer && pointee && reg < HSNAP_STEP_REGS && path->regs[reg].result)
			add_witness(f, path->steps, type);
		in_order &= pointer; /* numbers may go elsewhere */
	}
	hsnap_vec_deinit(&parameters);
}

/* Execute one instruction; false: the path ends with it. */
static bool take_step(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	switch (step->kind) {
	case HSNAP_STEP_RETURN:
		f->returns |= path->regs[HSNAP_REG_RESULT].result;
		return false;
	case HSNAP_STEP_JUMP:
		if (step->target < f->low || step->target >= f->high)
			see_arguments(f, path, step->target); /* a tail call */
		fork_path(f, path, step->target);
		return false;
	case HSNAP_STEP_BRANCH:
		fork_path(f, path, step->target);
		break;
	case HSNAP_STEP_CALL:
		see_arguments(f, path, step->target);
		forget(path, HSNAP_STEP_CLOBBERED);
		break;
	case HSNAP_STEP_MOVE:
		path->regs[step->to] = path->regs[step->from];
		path->regs[step->to].assigned = path->regs[step->from].result;
		break;
	case HSNAP_STEP_LOAD:
		step_load(f, path, step);
		break;
	case HSNAP_STEP_STORE:
		step_store(f, path, step);
		break;
	case HSNAP_STEP_ADDRESS:
		step_address(f, path, step);
		break;
	default:
		forget(path, step->writes);
		break;
	}
	bool keeps_sp = !(step->writes >> HSNAP_REG_SP & 1) || step->sp_known;
	bool sets_frame = step->writes >> HSNAP_REG_FRAME & 1;
	path->sp += step->sp_change;
	if (!keeps_sp) {
		path->sp_known = false;
		path->num_slots = 0;
	}
	if (sets_frame && f->frame_pointer) /* it is being taken down: only a return can follow */
		path->num_slots = 0;
	path->pc = step->next;
	return holds_result(path);
}

/* Decode at an address of the function; false: no instruction. */
static bool decode(const struct follow *f, uint64_t address, struct hsnap_step *ret)
{
	size_t left = 0;
	const uint8_t *bytes = hsnap_elf_at(f->reader->program, address, &left);
	return bytes && address >= f->low && address < f->high &&
	       hsnap_decoder_step(f->cache->decoder, bytes, left, address, ret);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Where straight-line code begins: behind each jump, and where each leads.  None: not all are known. */
static void find_blocks(struct follow *f, struct hsnap_result_cache *cache)
{
	struct hsnap_step step;
	cache->low = f->low;
	cache->blocks.num = 0;
	for (uint64_t at = f->low; at < f->high; at = step.next) {
		bool ok = f->high - f->low <= MAX_CODE && decode(f, at, &step);
		bool jump = ok && (step.kind == HSNAP_STEP_JUMP || step.kind == HSNAP_STEP_BRANCH);
		ok = ok && (!jump || step.target);
		if (ok && jump)
			ok = hsnap_vec_push(&cache->blocks, step.target) && hsnap_vec_push(&cache->blocks, step.next);
		if (!ok) {
			cache->blocks.num = 0;
			return;
		}
	}
	if (!hsnap_vec_push(&cache->blocks, f->low))
		cache->blocks.num = 0;
	if (cache->blocks.num)
		qsort(cache->blocks.items, cache->blocks.num, sizeof(*cache->blocks.items), compare_addresses);
}

/* What the registers that survive the call point into, from the code right before it. */
static void look_before(struct follow *f, struct hsnap_result_cache *cache, struct path *path)
{
	uint64_t block = UINT64_MAX;
	if (!cache->blocks.num || cache->low != f->low)
		find_blocks(f, cache);
	for (size_t i = 0; i < cache->blocks.num && cache->blocks.items[i] < f->start; i++)
		block = cache->blocks.items[i];
	if (block < f->low || block >= f->start)
		return;
	f->before = true;
	path->pc = block;
	path->sp_known = true;
	while (path->pc < f->start) {
		struct hsnap_step step;
		if (!decode(f, path->pc, &step)) {
			*path = (struct path){ 0 };
			break;
		}
		take_step(f, path, &step);
	}
	f->before = false;
	/* Slots count from the stack pointer at the return. */
	for (unsigned i = 0; i < path->num_slots; i++)
		if (path->slots[i].base == HSNAP_REG_SP)
			path->slots[i].offset -= path->sp;
	if (!path->sp_known || path->pc != f->start)
		path->num_slots = 0;
	path->sp = 0;
}

static void follow_path(struct follow *f, struct path *path)
{
	for (; path->steps < MAX_STEPS && f->total < MAX_TOTAL; path->steps++, f->total++) {
		struct hsnap_step step;
		look_around(f, path);
		if (!decode(f, path->pc, &step) || !take_step(f, path, &step))
			return;
	}
}

/* --- the answer --- */

void hsnap_result_free(struct hsnap_reader *reader)
{
	if (!reader->results)
		return;
	hsnap_decoder_destroy(reader->results->decoder);
	hsnap_vec_deinit(&reader->results->variables);
	hsnap_vec_deinit(&reader->results->blocks);
	free(reader->results);
	reader->results = NULL;
}

/* Does the function return a pointer?  What is left in the register of another is no result. */
static bool returns_pointer(struct hsnap_reader *reader, hsnap_die_key function)
{
	for (unsigned hops = 0; hops < 4 && function; hops++) {
		struct hsnap_die_facts facts;
		Dwarf_Die die = hsnap_die_at(reader->dies, function);
		if (!die)
			return false;
		hsnap_die_read(hsnap_dies_of(reader->dies, function), die, &facts);
		hsnap_die_free(die);
		if (facts.type) {
			uint32_t type = hsnap_index_type(reader, facts.type);
			return type != HSNAP_UNKNOWN_TYPE && reader->types.items[type].kind == HSNAP_RAW_POINTER;
		}
		function = facts.specification ? facts.specification : facts.origin;
	}
	return false;
}

/* Variables of the function, kept for its other calls. */
static struct hsnap_result_cache *load_function(struct hsnap_reader *reader, hsnap_die_key function)
{
	struct hsnap_result_cache *cache = reader->results;
	if (!cache) {
		cache = reader->results = calloc(1, sizeof(*cache));
		if (!cache || !(cache->decoder = hsnap_decoder_create())) {
			hsnap_table_no_memory(reader);
			return NULL;
		}
		cache->function = HSNAP_DIE_UNKNOWN;
	}
	if (cache->function == function)
		return cache;
	cache->function = function;
	cache->variables.num = 0;
	cache->base = (struct hsnap_frame_base){ 0 };
	cache->returns_pointer = !function || returns_pointer(reader, function);
	if (!function)
		return cache;
	Dwarf_Die die = hsnap_die_at(reader->dies, function);
	if (die)
		cache->base = hsnap_die_frame_base(reader->dies, die);
	hsnap_die_free(die);
	hsnap_pcs_variables(reader, function, UINT64_MAX, &cache->variables);
	return cache;
}

static void write_results(struct follow *f, struct hsnap_dpc *pc)
{
	struct hsnap_symbols *out = f->reader->out;
	pc->first_result = (uint32_t)out->results.num;
	for (unsigned steps = 0; steps <= MAX_STEPS; steps++) {
		for (unsigned i = 0; i < f->num_witnesses; i++) {
			const struct witness *w = &f->witnesses[i];
			if (w->steps != steps)
				continue;
			if (!hsnap_vec_push(&out->results, (struct hsnap_dresult){ w->pointee, w->declared_void }))
				hsnap_table_no_memory(f->reader);
		}
	}
	pc->num_results = (uint32_t)(out->results.num - pc->first_result);
	pc->returns_result = f->returns && f->cache->returns_pointer;
}

void hsnap_result_answer(struct hsnap_reader *reader, hsnap_die_key function, uint64_t low, uint64_t high,
			 uint64_t address, struct hsnap_dpc *pc)
{
	struct hsnap_result_cache *cache = load_function(reader, function);
	struct follow *f = cache ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		hsnap_table_no_memory(reader);
		return;
	}
	f->reader = reader;
	f->cache = cache;
	f->start = address;
	f->low = low;
	f->high = high;
	f->cfa_pc = UINT64_MAX;
	struct hsnap_cfa cfa = cfa_at(f, address);
	f->frame_pointer = (cfa.known && cfa.number == HSNAP_REG_FRAME) ||
			   (cache->base.known && !cache->base.is_cfa && cache->base.number == HSNAP_REG_FRAME);
	look_before(f, cache, &f->paths[0]);
	f->num_paths = 1;
	f->paths[0].pc = address;
	f->paths[0].sp_known = true;
	f->paths[0].regs[HSNAP_REG_RESULT] = (struct value){ .result = true };
	for (unsigned i = 0; i < f->num_paths; i++)
		follow_path(f, &f->paths[i]);
	write_results(f, pc);
	free(f);
}
