/* SPDX-License-Identifier: MIT */
/*
 * roots.c - cuts the memory where roots are into variables, frames and the rest.
 *
 * Every variable whose place is known becomes a segment of its own; what lies
 * between is one segment a module area or stack frame.  Segments without an
 * edge go away again when they are scanned.
 */
#include <stdlib.h>

#include "capture/naming/pieces.h"
#include "capture/naming/work.h"
#include "snapshot/base/search.h"

/* A variable that stands in memory. */
struct place {
	uint64_t address, size;
	hsnap_dtype_id type, whole;
	uint64_t into;
	uint32_t variable; /* these as in struct hsnap_segment */
	struct hsnap_root root;
};

#define MAX_THREAD_PLACES ((size_t)1 << 21) /* beyond it a thread-local is a word of its thread's storage */

struct finder {
	struct hsnap_work *work;
	hsnap_string *thread_names; /* one a thread, 0: not made yet */
	size_t thread_places;
	uint64_t looks; /* at members of variables in pieces, that are left */
	struct hsnap_vec(struct place) places; /* in order of address */
	bool failed; /* out of memory */
};

static hsnap_string own_string(struct finder *finder, const struct hsnap_strings *from, hsnap_string s)
{
	hsnap_string own = hsnap_strings_add(&finder->work->snapshot->strings, hsnap_str(from, s));
	finder->failed |= own == HSNAP_NO_STRING;
	return own;
}

static hsnap_string thread_name(struct finder *finder, uint32_t thread)
{
	const struct hsnap_target *target = finder->work->target;
	if (thread >= target->threads.num)
		return 0;
	const struct hsnap_thread *t = &target->threads.items[thread];
	struct hsnap_strings *strings = &finder->work->snapshot->strings;
	if (finder->thread_names[thread])
		return finder->thread_names[thread];
	hsnap_string name = !thread ? hsnap_strings_add(strings, "main")
				    : hsnap_strings_addf(strings, "%.*s (tid %u)", (int)sizeof(t->name),
							 t->name, t->tid);
	finder->failed |= name == HSNAP_NO_STRING;
	return finder->thread_names[thread] = name;
}

static void add_place(struct finder *finder, const struct place *place)
{
	if (place->size && place->address + place->size > place->address &&
	    !hsnap_vec_push(&finder->places, *place))
		finder->failed = true;
}

/* A thread-local variable has a place in every thread, where its block is at a fixed distance. */
static void add_thread_places(struct finder *finder, const struct hsnap_dvariable *variable, struct place place)
{
	const struct hsnap_target *target = finder->work->target;
	if (variable->module >= target->modules.num)
		return;
	const struct hsnap_target_module *module = &target->modules.items[variable->module];
	if (!module->tls_offset || variable->address >= module->tls_size ||
	    place.size > module->tls_size - variable->address)
		return;
	for (uint32_t t = 0; t < target->threads.num && finder->thread_places++ < MAX_THREAD_PLACES; t++) {
		place.address = target->threads.items[t].thread_pointer - module->tls_offset + variable->address;
		place.root.thread = thread_name(finder, t);
		add_place(finder, &place);
	}
}

static void add_variable(struct finder *finder, const struct hsnap_dvariable *variable, const struct place *place)
{
	if (variable->thread_local_)
		add_thread_places(finder, variable, *place);
	else
		add_place(finder, place);
}

/* The objects in one piece of a variable. */
struct piece_places {
	struct finder *finder;
	const struct hsnap_dvariable *variable;
	const struct hsnap_dpiece *piece;
	const struct place *like; /* the variable, were it whole */
};

static void add_object(void *context, hsnap_dtype_id type, uint64_t offset)
{
	const struct piece_places *places = context;
	struct place place = *places->like;
	place.address = places->piece->address + (offset - places->piece->offset);
	place.size = hsnap_dtype(places->finder->work->symbols, type)->size;
	place.type = type;
	place.whole = places->like->type;
	place.into = offset;
	add_variable(places->finder, places->variable, &place);
}

/* A variable that an optimiser took apart. */
static void add_pieces(struct finder *finder, const struct hsnap_dvariable *variable, const struct place *like)
{
	const struct hsnap_symbols *symbols = finder->work->symbols;
	struct piece_places places = { .finder = finder, .variable = variable, .like = like };
	struct hsnap_piece_search search = { .symbols = symbols, .looks = finder->looks, .see = add_object, .context = &places };
	for (uint32_t i = 0; i < variable->num_pieces; i++) {
		places.piece = &symbols->pieces.items[variable->first_piece + i];
		search.from = places.piece->offset;
		search.to = places.piece->offset + places.piece->size;
		hsnap_see_objects(&search, like->type);
	}
	finder->looks = search.looks;
}

static void add_variables(struct finder *finder)
{
	const struct hsnap_symbols *symbols = finder->work->symbols;
	for (size_t i = 0; i < symbols->variables.num; i++) {
		const struct hsnap_dvariable *variable = &symbols->variables.items[i];
		struct place place = {
			.address = variable->address,
			.size = hsnap_dtype(symbols, variable->type)->size,
			.type = variable->type,
			.variable = (uint32_t)i + 1,
			.root = {
				.kind = variable->thread_local_ ? HSNAP_ROOT_THREAD_LOCAL
					: variable->external    ? HSNAP_ROOT_GLOBAL
								: HSNAP_ROOT_STATIC,
				.module = variable->module,
			},
		};
		if (variable->num_pieces)
			add_pieces(finder, variable, &place);
		else
			add_variable(finder, variable, &place);
	}
}

static void add_segment(struct finder *finder, struct hsnap_segment segment)
{
	if (segment.type)
		segment.type = finder->work->plans.same[segment.type];
	if (segment.whole)
		segment.whole = finder->work->plans.same[segment.whole];
	if (!hsnap_vec_push(&finder->work->segments, segment))
		finder->failed = true;
}

static bool register_value(const struct hsnap_root_frame *frame, unsigned number, uint64_t *ret)
{
	if (number >= HSNAP_NUM_REGS || !(frame->regs.valid >> number & 1))
		return false;
	*ret = frame->regs.value[number];
	return true;
}

static void add_local(struct finder *finder, const struct hsnap_root_frame *frame,
		      const struct hsnap_dlocal *local)
{
	const struct hsnap_symbols *symbols = finder->work->symbols;
	const struct hsnap_dtype *type = hsnap_dtype(symbols, local->type);
	struct hsnap_root root = {
		.kind = HSNAP_ROOT_STACK,
		.name = own_string(finder, &symbols->strings, local->name),
		.function = own_string(finder, &symbols->strings, local->function),
		.thread = thread_name(finder, frame->thread),
	};
	uint64_t base = frame->cfa;
	if (local->place != HSNAP_PLACE_CFA && !register_value(frame, local->number, &base))
		return;
	if (local->place != HSNAP_PLACE_REGISTER) {
		struct place place = { .address = base + (uint64_t)local->offset, .size = type->size,
				       .type = local->type, .root = root };
		add_place(finder, &place);
	} else if (type->kind == HSNAP_DTYPE_POINTER) {
		struct hsnap_segment segment = { .value = base, .type = local->type, .root = root };
		add_segment(finder, segment);
	}
}

/* What debug info says of the frame's PC, or NULL. */
static const struct hsnap_dpc *frame_pc(const struct hsnap_work *work, const struct hsnap_root_frame *frame)
{
	uint64_t pc;
	if (!work->symbols || !register_value(frame, HSNAP_REG_PC, &pc))
		return NULL;
	return hsnap_symbols_pc(work->symbols, pc);
}

static void add_locals(struct finder *finder)
{
	const struct hsnap_work *work = finder->work;
	for (size_t i = 0; i < work->roots->frames.num; i++) {
		const struct hsnap_root_frame *frame = &work->roots->frames.items[i];
		const struct hsnap_dpc *pc = frame_pc(work, frame);
		for (uint32_t l = 0; pc && l < pc->num_locals; l++)
			add_local(finder, frame, &work->symbols->locals.items[pc->first_local + l]);
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->size > right->size ? -1 : left->size < right->size; /* the outer one first */
}

static size_t first_place(const struct finder *finder, uint64_t address)
{
	size_t low = hsnap_first(finder->places.num, i, finder->places.items[i].address >= address);
	return low;
}

static void add_rest(struct finder *finder, const struct hsnap_root *rest, uint64_t start, uint64_t end)
{
	struct hsnap_segment segment = { .address = start, .size = end - start, .root = *rest };
	if (start < end)
		add_segment(finder, segment);
}

/* [start, end) as variables and what lies between; overlapping variables: the first one counts. */
static void cut_stretch(struct finder *finder, const struct hsnap_root *rest, uint64_t start, uint64_t end)
{
	uint64_t at = start;
	for (size_t i = first_place(finder, start); i < finder->places.num; i++) {
		const struct place *place = &finder->places.items[i];
		if (place->address >= end)
			break;
		if (place->address < at || place->size > end - place->address)
			continue;
		add_rest(finder, rest, at, place->address);
		struct hsnap_segment segment = { .address = place->address, .size = place->size,
						 .type = place->type, .whole = place->whole, .into = place->into,
						 .variable = place->variable, .root = place->root };
		if (rest->kind == HSNAP_ROOT_HANDLE) { /* what the program calls it is its name */
			segment.root = *rest;
			segment.variable = 0;
		}
		if (!segment.root.module)
			segment.root.module = rest->module;
		segment.root.weak = rest->weak;
		add_segment(finder, segment);
		at = place->address + place->size;
	}
	add_rest(finder, rest, at, end);
}

static hsnap_string frame_function(struct finder *finder, const struct hsnap_root_frame *frame,
				   uint32_t *ret_module)
{
	const struct hsnap_symbols *symbols = finder->work->symbols;
	const struct hsnap_dpc *pc = frame_pc(finder->work, frame);
	if (!pc || !pc->num_frames)
		return 0;
	const struct hsnap_dframe *outer = &symbols->frames.items[pc->first_frame + pc->num_frames - 1];
	*ret_module = outer->module;
	return own_string(finder, &symbols->strings, outer->function);
}

/* A stack, frame by frame; frames come innermost first, at rising addresses. */
static void cut_stack(struct finder *finder, const struct hsnap_root_area *area, const struct hsnap_root *rest)
{
	const struct hsnap_roots *roots = finder->work->roots;
	uint64_t at = area->address, end = area->address + area->size;
	size_t first = hsnap_first(roots->frames.num, i, roots->frames.items[i].thread + 1 >= area->thread);
	for (size_t i = first; i < roots->frames.num && roots->frames.items[i].thread + 1 == area->thread; i++) {
		const struct hsnap_root_frame *frame = &roots->frames.items[i];
		if (frame->low < at || frame->cfa > end ||
		    frame->low >= frame->cfa)
			continue;
		struct hsnap_root root = *rest;
		root.function = frame_function(finder, frame, &root.module);
		cut_stretch(finder, rest, at, frame->low);
		cut_stretch(finder, &root, frame->low, frame->cfa);
		at = frame->cfa;
	}
	cut_stretch(finder, rest, at, end);
}

/* The variable that the address stands in the middle of, or NULL. */
static const struct place *place_across(const struct finder *finder, uint64_t address, uint32_t module)
{
	size_t next = first_place(finder, address);
	const struct place *place = next ? &finder->places.items[next - 1] : NULL;
	return place && place->address + place->size > address && place->root.module == module ? place : NULL;
}

static bool is_cut_out(const struct hsnap_heap *heap, uint64_t start, uint64_t end)
{
	size_t region = hsnap_first(heap->regions.num, i, heap->regions.items[i].end > start);
	size_t root = hsnap_first(heap->named_roots.num, i, heap->named_roots.items[i].start >= end);
	return (region < heap->regions.num && heap->regions.items[region].start < end) ||
	       (root && heap->named_roots.items[root - 1].end > start);
}

/*
 * .data and .bss meet inside a page's mapping, and a variable may lie in both; or pages in its middle were
 * never touched, and are in no area.
 */
static bool goes_on(const struct finder *finder, const struct hsnap_root_area *area, const struct hsnap_root_area *next)
{
	uint64_t end = area->address + area->size;
	if (area->kind != HSNAP_ROOT_STATIC || next->kind != area->kind || next->module != area->module ||
	    next->weak != area->weak || next->address < end || next->address + next->size <= next->address)
		return false;
	/* The objects of a pool, and roots of a name of their own, are cut out of it. */
	if (next->address != end && is_cut_out(finder->work->heap, end, next->address))
		return false;
	const struct place *place = next->address == end ? NULL : place_across(finder, end, area->module);
	return next->address == end || (place && place->address + place->size > next->address);
}

/* A module's variables at both ends belong to the area as a whole, touched or not. */
static void widen(const struct finder *finder, struct hsnap_root_area *area)
{
	const struct hsnap_target *target = finder->work->target;
	uint64_t start = area->address, end = area->address + area->size;
	if (area->kind != HSNAP_ROOT_STATIC || !area->module || area->module >= target->modules.num)
		return;
	const struct hsnap_target_module *module = &target->modules.items[area->module];
	const struct place *place = place_across(finder, start, area->module);
	if (place && place->address >= module->start && !is_cut_out(finder->work->heap, place->address, start))
		start = place->address;
	place = place_across(finder, end, area->module);
	if (place && place->address + place->size <= module->end && !is_cut_out(finder->work->heap, end, place->address + place->size))
		end = place->address + place->size;
	area->address = start;
	area->size = end - start;
}

static void cut_areas(struct finder *finder)
{
	const struct hsnap_roots *roots = finder->work->roots;
	for (size_t i = 0; i < roots->areas.num; i++) {
		struct hsnap_root_area whole = roots->areas.items[i];
		if (!whole.size || whole.address + whole.size < whole.address)
			continue;
		for (; i + 1 < roots->areas.num && goes_on(finder, &whole, &roots->areas.items[i + 1]); i++)
			whole.size = roots->areas.items[i + 1].address + roots->areas.items[i + 1].size - whole.address;
		widen(finder, &whole);
		const struct hsnap_root_area *area = &whole;
		struct hsnap_root rest = {
			.kind = (uint8_t)area->kind, .weak = area->weak, .module = area->module,
			.name = own_string(finder, &roots->strings, area->name),
			.thread = area->thread ? thread_name(finder, area->thread - 1) : 0,
		};
		if (area->kind == HSNAP_ROOT_GLOBAL)
			rest.kind = HSNAP_ROOT_STATIC; /* what no variable of debug info covers */
		if (area->kind == HSNAP_ROOT_STACK)
			cut_stack(finder, area, &rest);
		else
			cut_stretch(finder, &rest, area->address, area->address + area->size);
	}
}

/* What the program says itself comes first: of paths that are alike the first one is told. */
static void add_values(struct finder *finder, bool program)
{
	const struct hsnap_roots *roots = finder->work->roots;
	for (size_t i = 0; i < roots->values.num; i++) {
		const struct hsnap_root_value *value = &roots->values.items[i];
		if ((value->kind == HSNAP_ROOT_HANDLE) != program)
			continue;
		struct hsnap_segment segment = {
			.value = value->value,
			.root = {
				.kind = (uint8_t)value->kind,
				.name = own_string(finder, &roots->strings, value->name),
				.thread = value->kind == HSNAP_ROOT_REGISTER ? thread_name(finder, value->thread) : 0,
			},
		};
		add_segment(finder, segment);
	}
}

enum hsnap_code hsnap_find_segments(struct hsnap_work *work, struct hsnap_error *err)
{
	struct finder finder = { .work = work, .looks = HSNAP_PIECES_LOOKS,
				 .thread_names = calloc(work->target->threads.num + 1, sizeof(hsnap_string)) };
	if (!finder.thread_names)
		return hsnap_no_memory(err);
	if (work->symbols) {
		add_variables(&finder);
		add_locals(&finder);
		if (finder.places.num)
			qsort(finder.places.items, finder.places.num, sizeof(*finder.places.items), compare_places);
	}
	add_values(&finder, true);
	cut_areas(&finder);
	add_values(&finder, false);
	hsnap_vec_deinit(&finder.places);
	free(finder.thread_names);
	return finder.failed ? hsnap_no_memory(err) : HSNAP_OK;
}

enum hsnap_code hsnap_name_segments(struct hsnap_work *work, struct hsnap_error *err)
{
	struct finder finder = { .work = work };
	for (size_t i = 0; i < work->segments.num; i++) {
		struct hsnap_segment *segment = &work->segments.items[i];
		if (!segment->variable)
			continue;
		const struct hsnap_dvariable *variable = &work->symbols->variables.items[segment->variable - 1];
		segment->root.name = own_string(&finder, &work->symbols->strings, variable->name);
		segment->root.source = own_string(&finder, &work->symbols->strings, variable->source);
		segment->root.function = own_string(&finder, &work->symbols->strings, variable->function);
	}
	return finder.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
