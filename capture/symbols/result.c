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

/* What a register or a stack slot holds. */
struct value {
	bool result;
	bool assigned;  /* it came here by a move: what lives here from before is this now */
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

/*
 * The type of the word at an offset into what `into` names.
 *
 * With an index it must be the start of an array of words, or be pointed to as words are: from
 * `array[i - 1]` the offset alone would name the member before the array.
 */
static uint32_t word_type(struct follow *f, uint32_t into, int64_t offset, const struct hsnap_step_memory *memory,
			  bool pointed_to)
{
	bool array_start;
	uint64_t size = hsnap_index_size(f->reader, into);
	if (!size || offset < 0)
		return 0;
	uint32_t type = type_at(f, into, offset, &array_start);
	/* What follows an object that is pointed to is another of its kind. */
	if (!type && pointed_to && (uint64_t)offset >= size)
		type = type_at(f, into, (int64_t)((uint64_t)offset % size), &array_start);
	bool words = pointed_to && type_of(f, into)->kind == HSNAP_RAW_POINTER;
	if (memory->index != HSNAP_STEP_NONE && (memory->scale != 8 || !(array_start || words)))
		return 0;
	return type;
}

static uint32_t global_type(struct follow *f, const struct hsnap_step_memory *memory, uint32_t *ret_into,
			    int64_t *ret_offset)
{
	uint64_t address = (uint64_t)memory->displacement + f->reader->bias;
	const struct hsnap_raw_variable *best = NULL;
	for (size_t i = 0; i < f->reader->variables.num; i++) {
		const struct hsnap_raw_variable *v = &f->reader->variables.items[i];
		if (!v->thread_local_ && v->address <= address && (!best || v->address > best->address))
			best = v;
	}
	if (!best)
		return 0;
	uint64_t offset = address - best->address;
	uint32_t type = hsnap_index_type(f->reader, best->type);
	if (offset >= hsnap_index_size(f->reader, type))
		return 0;
	*ret_into = type;
	*ret_offset = (int64_t)offset;
	return word_type(f, type, (int64_t)offset, memory, false);
}

typedef void see_type(struct follow *f, const struct path *path, uint32_t type, void *context);

/* Through a register: what it is known to point into, or the variables that live in it. */
static void through_register(struct follow *f, const struct path *path, const struct hsnap_step_memory *memory,
			     see_type *see, void *context)
{
	const struct value *value = &path->regs[memory->base];
	if (value->into) {
		see(f, path, word_type(f, value->into, value->offset + memory->displacement, memory, true), context);
		return;
	}
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		uint32_t pointee;
		if (v->location.kind != HSNAP_LOCATION_REGISTER || v->location.number != memory->base ||
		    !in_scope(v, path->pc) || !pointee_of(f, hsnap_index_type(f->reader, v->type), &pointee) ||
		    !pointee || pointee == HSNAP_UNKNOWN_TYPE)
			continue;
		see(f, path, word_type(f, pointee, memory->displacement, memory, true), context);
	}
}

/* A variable of this frame's memory that has the slot within it. */
static uint32_t local_type(struct follow *f, const struct path *path, const struct slot *where,
			   const struct hsnap_step_memory *memory, uint32_t *ret_into, int64_t *ret_offset)
{
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct slot at;
		if (!in_scope(v, path->pc) || !variable_slot(f, path, v, &at) || at.base != where->base)
			continue;
		uint32_t type = hsnap_index_type(f->reader, v->type);
		if (where->offset < at.offset || (uint64_t)(where->offset - at.offset) >= hsnap_index_size(f->reader, type))
			continue;
		*ret_into = type;
		*ret_offset = where->offset - at.offset;
		return word_type(f, type, *ret_offset, memory, false);
	}
	return 0;
}

/* The types that the word at a memory operand has, as far as they are known. */
static void memory_types(struct follow *f, const struct path *path, const struct hsnap_step_memory *memory,
			 see_type *see, void *context)
{
	struct slot where;
	uint32_t into;
	int64_t offset;
	if (memory->base == HSNAP_REG_PC)
		see(f, path, global_type(f, memory, &into, &offset), context);
	else if (frame_slot(f, path, memory->base, memory->displacement, &where))
		see(f, path, local_type(f, path, &where, memory, &into, &offset), context);
	else if (memory->base < HSNAP_STEP_REGS)
		through_register(f, path, memory, see, context);
}

/* --- following --- */

static void see_stored(struct follow *f, const struct path *path, uint32_t type, void *context)
{
	(void)context;
	add_witness(f, path->steps, type);
}

struct loaded {
	uint32_t type;
	bool several;
};

static void see_loaded(struct follow *f, const struct path *path, uint32_t type, void *context)
{
	struct loaded *loaded = context;
	(void)f;
	(void)path;
	loaded->several |= loaded->type && type && loaded->type != type;
	loaded->type = type ? type : loaded->type;
}

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
		struct loaded loaded = { 0 };
		uint32_t pointee = 0;
		memory_types(f, path, &step->memory, see_loaded, &loaded);
		if (!loaded.several && pointee_of(f, loaded.type, &pointee) && pointee != HSNAP_UNKNOWN_TYPE)
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
		memory_types(f, path, &step->memory, see_stored, NULL);
	if (!frame_slot(f, path, step->memory.base, step->memory.displacement, &where))
		return;
	if (step->memory.index != HSNAP_STEP_NONE)
		path->num_slots = 0; /* anywhere in the frame */
	else
		set_slot(path, &where, value);
}

static void step_address(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	const struct hsnap_step_memory *memory = &step->memory;
	struct value value = { 0 };
	struct slot where;
	if (memory->index != HSNAP_STEP_NONE) {
		/* Somewhere in an array: not where. */
	} else if (memory->base == HSNAP_REG_PC) {
		global_type(f, memory, &value.into, &value.offset);
	} else if (frame_slot(f, path, memory->base, memory->displacement, &where)) {
		local_type(f, path, &where, memory, &value.into, &value.offset);
	} else if (memory->base < HSNAP_STEP_REGS) {
		value = path->regs[memory->base];
		value.offset += memory->displacement;
		if (memory->displacement)
			value.result = false;
	}
	path->regs[step->to] = value;
}

/* Go on at another place too, if it is within the function. */
static void fork_path(struct follow *f, const struct path *path, uint64_t target)
{
	if (target < f->low || target >= f->high || f->num_paths == MAX_PATHS)
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

/* Execute one instruction; false: the path ends with it. */
static bool take_step(struct follow *f, struct path *path, const struct hsnap_step *step)
{
	switch (step->kind) {
	case HSNAP_STEP_RETURN:
		f->returns |= path->regs[HSNAP_REG_RESULT].result;
		return false;
	case HSNAP_STEP_JUMP:
		fork_path(f, path, step->target);
		return false;
	case HSNAP_STEP_BRANCH:
		fork_path(f, path, step->target);
		break;
	case HSNAP_STEP_CALL:
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

static void follow_path(struct follow *f, struct path *path)
{
	for (; path->steps < MAX_STEPS && f->total < MAX_TOTAL; path->steps++, f->total++) {
		struct hsnap_step step;
		size_t left = 0;
		if (path->pc < f->low || path->pc >= f->high)
			return;
		look_around(f, path);
		const uint8_t *bytes = hsnap_elf_at(f->reader->program, path->pc, &left);
		if (!bytes || !hsnap_decoder_step(f->cache->decoder, bytes, left, path->pc, &step))
			return;
		if (!take_step(f, path, &step))
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
	f->num_paths = 1;
	f->paths[0].pc = address;
	f->paths[0].sp_known = true;
	f->paths[0].regs[HSNAP_REG_RESULT].result = true;
	for (unsigned i = 0; i < f->num_paths; i++)
		follow_path(f, &f->paths[i]);
	write_results(f, pc);
	free(f);
}
