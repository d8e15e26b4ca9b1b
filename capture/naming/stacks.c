/* SPDX-License-Identifier: MIT */
/* stacks.c - modules, call stacks and their frames, as the snapshot has them. */
#include <stdio.h>

#include "capture/naming/work.h"

const char *hsnap_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static hsnap_string hex(struct hsnap_strings *strings, const uint8_t *bytes, size_t num)
{
	char text[2 * sizeof(((struct hsnap_target_module *)0)->build_id) + 1] = "";
	for (size_t i = 0; i < num && i < sizeof(text) / 2; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return hsnap_strings_add(strings, text);
}

/* Why a module's types are missing, where that is news: few libraries have debug info. */
static bool note_missing_types(struct hsnap_work *work, const struct hsnap_module *module, size_t i)
{
	struct hsnap_snapshot *snapshot = work->snapshot;
	if (!work->symbols || i >= work->symbols->modules.num || work->target->modules.items[i].vdso)
		return true;
	const char *note = hsnap_str(&work->symbols->strings, work->symbols->modules.items[i].note);
	if (!note[0] || (!module->main && !strcmp(note, "no debug info")))
		return true;
	hsnap_string text = hsnap_strings_addf(&snapshot->strings, "no types for %s: %s",
					       hsnap_last_part(hsnap_text(snapshot, module->path)), note);
	return text != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->notes, text);
}

enum hsnap_code hsnap_copy_modules(struct hsnap_work *work, struct hsnap_error *err)
{
	struct hsnap_snapshot *snapshot = work->snapshot;
	for (size_t i = 1; i < work->target->modules.num; i++) {
		const struct hsnap_target_module *from = &work->target->modules.items[i];
		struct hsnap_module module = {
			.path = hsnap_strings_add(&snapshot->strings, hsnap_str(&work->target->strings, from->path)),
			.build_id = hex(&snapshot->strings, from->build_id, from->build_id_size),
			.base = from->start,
			.main = from->main,
			.has_types = work->symbols && i < work->symbols->modules.num &&
				     work->symbols->modules.items[i].has_types,
		};
		if (module.path == HSNAP_NO_STRING || module.build_id == HSNAP_NO_STRING ||
		    !hsnap_vec_push(&snapshot->modules, module) || !note_missing_types(work, &module, i))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

static bool copy_frames(struct hsnap_work *work, const struct hsnap_dpc *pc, struct hsnap_frame frame)
{
	struct hsnap_snapshot *snapshot = work->snapshot;
	for (uint32_t i = 0; i < pc->num_frames; i++) {
		const struct hsnap_dframe *from = &work->symbols->frames.items[pc->first_frame + i];
		frame.function = hsnap_strings_add(&snapshot->strings,
						   hsnap_str(&work->symbols->strings, from->function));
		frame.source = hsnap_strings_add(&snapshot->strings,
						 hsnap_str(&work->symbols->strings, from->source));
		if (frame.function == HSNAP_NO_STRING || frame.source == HSNAP_NO_STRING ||
		    !hsnap_vec_push(&snapshot->frames, frame))
			return false;
	}
	return true;
}

static bool copy_pc(struct hsnap_work *work, uint64_t pc)
{
	const struct hsnap_target_module *module = hsnap_target_module(work->target, pc - 1);
	struct hsnap_frame frame = { .offset = pc - 1 };
	if (module) {
		frame.module = (uint32_t)(module - work->target->modules.items);
		frame.offset -= module->start;
	}
	const struct hsnap_dpc *answer = work->symbols ? hsnap_symbols_pc(work->symbols, pc) : NULL;
	if (answer && answer->num_frames)
		return copy_frames(work, answer, frame);
	return hsnap_vec_push(&work->snapshot->frames, frame);
}

enum hsnap_code hsnap_copy_stacks(struct hsnap_work *work, struct hsnap_error *err)
{
	const struct hsnap_heap *heap = work->heap;
	struct hsnap_snapshot *snapshot = work->snapshot;
	for (size_t i = 1; i < heap->stacks.num; i++) {
		const struct hsnap_raw_stack *from = &heap->stacks.items[i];
		struct hsnap_stack stack = { .first_frame = (uint32_t)snapshot->frames.num };
		for (uint32_t p = 0; p < from->num_pcs; p++)
			if (!copy_pc(work, heap->pcs.items[from->first_pc + p]))
				return hsnap_no_memory(err);
		stack.num_frames = (uint32_t)snapshot->frames.num - stack.first_frame;
		if (!hsnap_vec_push(&snapshot->stacks, stack))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

/* Functions that only hand on what they allocate: the standard libraries', and who says so by its name. */
static bool is_allocator_name(const char *name)
{
	static const char *const prefixes[] = { "operator new", "std::", "__gnu_cxx::" };
	static const char *const parts[] = { "alloc", "strdup", "strndup", "wcsdup", "asprintf", "getdelim" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}

const struct hsnap_frame *hsnap_label_frame(const struct hsnap_work *work, uint32_t stack)
{
	const struct hsnap_snapshot *snapshot = work->snapshot;
	const struct hsnap_raw_stack *raw = &work->heap->stacks.items[stack];
	const struct hsnap_frame *frame = snapshot->frames.items + snapshot->stacks.items[stack].first_frame;
	const struct hsnap_frame *first = snapshot->stacks.items[stack].num_frames ? frame : NULL;
	for (uint32_t p = 0; p < raw->num_pcs; p++) {
		uint64_t pc = work->heap->pcs.items[raw->first_pc + p];
		const struct hsnap_dpc *answer = work->symbols ? hsnap_symbols_pc(work->symbols, pc) : NULL;
		uint32_t num = answer && answer->num_frames ? answer->num_frames : 1;
		bool wrapper = answer && answer->returns_result;
		for (uint32_t i = 0; i < num && !wrapper; i++)
			if (!is_allocator_name(hsnap_text(snapshot, frame[i].function)))
				return &frame[i];
		frame += num;
	}
	return first;
}
