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

#include "capture/symbols/follow.h"

#define MAX_STEPS 96  /* along one path */
#define MAX_TOTAL 600 /* along all */
#define MAX_CODE 32768 /* bytes of a function whose straight-line pieces are looked for */

/* `entry` is the variable's own, 0 where it is a member, an element or a global. */
static void add_witness(struct hsnap_follow *f, unsigned steps, hsnap_die_key entry, uint32_t type)
{
	uint32_t pointee;
	if (!hsnap_follow_pointee(f, type, &pointee) || pointee == HSNAP_UNKNOWN_TYPE || f->num_witnesses == HSNAP_FOLLOW_WITNESSES)
		return;
	for (unsigned i = 0; i < f->num_witnesses; i++) {
		struct hsnap_follow_witness *w = &f->witnesses[i];
		if (w->pointee != pointee)
			continue;
		if (steps < w->steps || !w->entry) {
			w->entry = entry ? entry : w->entry;
			w->steps = steps < w->steps ? steps : w->steps;
		}
		return;
	}
	f->witnesses[f->num_witnesses++] = (struct hsnap_follow_witness){ entry, pointee, !pointee, steps };
}

/* --- following --- */

/* Variables that live where the result is. */
static void look_around(struct hsnap_follow *f, struct hsnap_follow_path *path)
{
	for (size_t i = 0; i < f->cache->variables.num; i++) {
		const struct hsnap_scoped *v = &f->cache->variables.items[i];
		struct hsnap_follow_slot where, *slot;
		if (!hsnap_follow_in_scope(v, path->pc))
			continue;
		if (v->location.kind == HSNAP_LOCATION_REGISTER) {
			if (v->location.number >= HSNAP_STEP_REGS)
				continue;
			const struct hsnap_follow_value *value = &path->regs[v->location.number];
			if (!value->result || (!value->assigned && v->location.low < f->start))
				continue;
		} else {
			if (!path->num_slots || !hsnap_follow_variable_slot(f, path, v, &where))
				continue;
			slot = hsnap_follow_find_slot(path, &where);
			if (!slot || !slot->value.result)
				continue;
		}
		add_witness(f, path->steps, v->entry, hsnap_follow_variable_type(f, v));
	}
}

static void step_load(struct hsnap_follow *f, struct hsnap_follow_path *path, const struct hsnap_step *step)
{
	struct hsnap_follow_slot where;
	struct hsnap_follow_value value = { 0 };
	bool in_frame = step->memory.index == HSNAP_STEP_NONE &&
			hsnap_follow_frame_slot(f, path, step->memory.base, step->memory.displacement, &where);
	const struct hsnap_follow_slot *slot = in_frame ? hsnap_follow_find_slot(path, &where) : NULL;
	if (slot) {
		value = slot->value;
	} else {
		uint32_t pointee = 0;
		if (hsnap_follow_pointee(f, hsnap_follow_word_type(f, path, &step->memory), &pointee) && pointee != HSNAP_UNKNOWN_TYPE)
			value.into = pointee;
	}
	value.assigned = value.result;
	path->regs[step->to] = value;
}

static void step_store(struct hsnap_follow *f, struct hsnap_follow_path *path, const struct hsnap_step *step)
{
	struct hsnap_follow_slot where;
	struct hsnap_follow_value none = { 0 };
	const struct hsnap_follow_value *value = step->from < HSNAP_STEP_REGS ? &path->regs[step->from] : &none;
	/* Into itself it is a link that starts empty, and the type of a part. */
	bool into_itself = step->memory.base < HSNAP_STEP_REGS && path->regs[step->memory.base].result;
	if (value->result && !into_itself)
		add_witness(f, path->steps, 0, hsnap_follow_word_type(f, path, &step->memory));
	if (!hsnap_follow_frame_slot(f, path, step->memory.base, step->memory.displacement, &where))
		return;
	if (step->memory.index != HSNAP_STEP_NONE)
		path->num_slots = 0; /* anywhere in the frame */
	else
		hsnap_follow_set_slot(path, &where, value);
}

static void see_only(struct hsnap_follow *f, const struct hsnap_follow_path *path, const struct hsnap_follow_value *value, void *context)
{
	struct hsnap_follow_value *only = context;
	(void)f;
	(void)path;
	if (only->into && (only->into != value->into || only->offset != value->offset))
		only->result = true; /* several: see step_address() */
	else
		*only = (struct hsnap_follow_value){ .into = value->into, .offset = value->offset, .address = value->address };
}

static void step_address(struct hsnap_follow *f, struct hsnap_follow_path *path, const struct hsnap_step *step)
{
	const struct hsnap_step_memory *memory = &step->memory;
	struct hsnap_follow_value value = { 0 };
	hsnap_follow_address(f, path, memory, see_only, &value);
	if (value.result)
		value = (struct hsnap_follow_value){ 0 };
	bool same = memory->base < HSNAP_STEP_REGS && memory->index == HSNAP_STEP_NONE && !memory->displacement;
	value.result = same && path->regs[memory->base].result;
	path->regs[step->to] = value;
}

/* Go on at another place too, if it is within the function. */
static void fork_path(struct hsnap_follow *f, const struct hsnap_follow_path *path, uint64_t target)
{
	if (f->before || target < f->low || target >= f->high || f->num_paths == HSNAP_FOLLOW_PATHS)
		return;
	f->paths[f->num_paths] = *path;
	f->paths[f->num_paths++].pc = target;
}

static void forget(struct hsnap_follow_path *path, uint32_t registers)
{
	for (unsigned i = 0; i < HSNAP_STEP_REGS; i++)
		if (registers >> i & 1)
			path->regs[i] = (struct hsnap_follow_value){ 0 };
}

static bool holds_result(const struct hsnap_follow_path *path)
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
static void see_arguments(struct hsnap_follow *f, const struct hsnap_follow_path *path, uint64_t target)
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
		uint32_t type = hsnap_table_type(f->reader, p->type), pointee = 0;
		bool pointer = type != HSNAP_UNKNOWN_TYPE && hsnap_follow_pointee(f, type, &pointee);
		uint8_t reg = HSNAP_STEP_NONE;
		if (p->location.kind == HSNAP_LOCATION_REGISTER && target >= p->location.low && target < p->location.high)
			reg = p->location.number;
		else if (p->location.kind == HSNAP_LOCATION_FRAME && in_order && i < sizeof(argument_registers))
			reg = argument_registers[i];
		if (pointer && pointee && reg < HSNAP_STEP_REGS && path->regs[reg].result)
			add_witness(f, path->steps, p->entry, type);
		in_order &= pointer; /* numbers may go elsewhere */
	}
	hsnap_vec_deinit(&parameters);
}

/* Execute one instruction; false: the path ends with it. */
static bool take_step(struct hsnap_follow *f, struct hsnap_follow_path *path, const struct hsnap_step *step)
{
	switch (step->kind) {
	case HSNAP_STEP_RETURN:
		f->returns |= path->regs[HSNAP_REG_RESULT].result;
		return false;
	case HSNAP_STEP_JUMP:
		if (step->target < f->low || step->target >= f->high)
			see_arguments(f, path, hsnap_plt_target(f->reader, step)); /* a tail call */
		fork_path(f, path, step->target);
		return false;
	case HSNAP_STEP_BRANCH:
		fork_path(f, path, step->target);
		break;
	case HSNAP_STEP_CALL:
		see_arguments(f, path, hsnap_plt_target(f->reader, step));
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
static bool decode(const struct hsnap_follow *f, uint64_t address, struct hsnap_step *ret)
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
static void find_blocks(struct hsnap_follow *f, struct hsnap_result_cache *cache)
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
static void look_before(struct hsnap_follow *f, struct hsnap_result_cache *cache, struct hsnap_follow_path *path)
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
		/* Code that is read from two starts can differ: then this is no straight line. */
		if (!decode(f, path->pc, &step) || step.kind == HSNAP_STEP_RETURN || step.kind == HSNAP_STEP_JUMP ||
		    step.kind == HSNAP_STEP_BRANCH) {
			*path = (struct hsnap_follow_path){ 0 };
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

static void follow_path(struct hsnap_follow *f, struct hsnap_follow_path *path)
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
		if (!hsnap_table_facts(reader, function, &facts))
			return false;
		if (facts.type) {
			uint32_t type = hsnap_table_type(reader, facts.type);
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
		cache->base = hsnap_die_frame_base(hsnap_dies_of(reader->dies, function), die);
	hsnap_die_free(die);
	hsnap_pcs_variables(reader, function, UINT64_MAX, &cache->variables);
	return cache;
}

static void write_results(struct hsnap_follow *f, struct hsnap_dpc *pc)
{
	struct hsnap_symbols *out = f->reader->out;
	pc->first_result = (uint32_t)out->results.num;
	for (unsigned steps = 0; steps <= MAX_STEPS; steps++) {
		for (unsigned i = 0; i < f->num_witnesses; i++) {
			const struct hsnap_follow_witness *w = &f->witnesses[i];
			if (w->steps != steps)
				continue;
			if (!hsnap_vec_push(&out->results, (struct hsnap_dresult){
				    hsnap_pcs_variable_name(f->reader, w->entry), w->pointee, w->declared_void }))
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
	struct hsnap_follow *f = cache ? calloc(1, sizeof(*f)) : NULL;
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
	struct hsnap_cfa cfa = hsnap_follow_cfa(f, address);
	f->frame_pointer = (cfa.known && cfa.number == HSNAP_REG_FRAME) ||
			   (cache->base.known && !cache->base.is_cfa && cache->base.number == HSNAP_REG_FRAME);
	look_before(f, cache, &f->paths[0]);
	f->num_paths = 1;
	f->paths[0].pc = address;
	f->paths[0].sp_known = true;
	f->paths[0].regs[HSNAP_REG_RESULT] = (struct hsnap_follow_value){ .result = true };
	for (unsigned i = 0; i < f->num_paths; i++)
		follow_path(f, &f->paths[i]);
	write_results(f, pc);
	free(f);
}
