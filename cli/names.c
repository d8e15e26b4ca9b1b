/* SPDX-License-Identifier: MIT */
/* names.c - types, places and call sites in words. */
#include "cli/names.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

#define MOST_FRAMES 6   /* of a call site in text */
#define MOST_ELEMENTS 8 /* arrays of arrays, followed to what they are made of */

static void add_with_holder(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			    hsnap_string name, hsnap_type_id type)
{
	const char *holder = hsnap_text(snapshot, snapshot->types.items[type].holder);
	const char *text = hsnap_text(snapshot, name);
	hsnap_line_add(to, *text || *holder ? text : "unknown");
	if (*holder)
		hsnap_line_addf(to, "%s%s", *text ? " " : "", holder);
}

void hsnap_add_type_name(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			 hsnap_type_id type)
{
	add_with_holder(to, snapshot, snapshot->types.items[type].name, type);
}

void hsnap_add_full_name(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			 hsnap_type_id type)
{
	const struct hsnap_type *item = &snapshot->types.items[type];
	add_with_holder(to, snapshot, item->full_name ? item->full_name : item->name, type);
}

/* What an array or a pointer is made of, where it is not itself declared somewhere. */
static const struct hsnap_type *declared(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	const struct hsnap_type *own = &snapshot->types.items[type], *item = own;
	for (int i = 0; i < MOST_ELEMENTS && !hsnap_text(snapshot, item->unit)[0] && item->element; i++)
		item = &snapshot->types.items[item->element];
	return hsnap_text(snapshot, item->unit)[0] ? item : own;
}

void hsnap_add_type_source(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
			   hsnap_type_id type)
{
	const struct hsnap_type *item = declared(snapshot, type);
	const char *unit = hsnap_text(snapshot, item->unit);
	if (!*unit)
		return;
	hsnap_line_add(to, hsnap_base_name(unit));
	if (item->line)
		hsnap_line_addf(to, ":%u", item->line);
}

const char *hsnap_module_name(const struct hsnap_snapshot *snapshot, uint32_t module)
{
	return hsnap_base_name(hsnap_text(snapshot, snapshot->modules.items[module].path));
}

uint32_t hsnap_type_module(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	return declared(snapshot, type)->module;
}

bool hsnap_is_label(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	uint8_t kind = snapshot->types.items[type].kind;
	return kind == HSNAP_TYPE_LABEL || kind == HSNAP_TYPE_UNKNOWN;
}

struct named {
	const char *name;
	uint64_t key;
	size_t row;
};

static int compare_named(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

bool hsnap_find_twins(const char *const *names, const uint64_t *keys, size_t num, bool *twin)
{
	hsnap_auto(hsnap_freep) struct named *all = calloc(num ? num : 1, sizeof(*all));
	if (!all)
		return false;
	for (size_t i = 0; i < num; i++)
		all[i] = (struct named){ names[i], keys[i], i };
	qsort(all, num, sizeof(*all), compare_named);
	for (size_t first = 0, end; first < num; first = end) {
		bool differ = false;
		for (end = first + 1; end < num && !strcmp(all[first].name, all[end].name); end++)
			differ |= all[end].key != all[first].key;
		for (size_t i = first; i < end; i++)
			twin[all[i].row] = differ;
	}
	return true;
}

void hsnap_add_type_place(struct hsnap_line *to, const struct hsnap_emit *emit,
			  const struct hsnap_snapshot *snapshot, hsnap_type_id type, bool twin)
{
	uint32_t module = hsnap_type_module(snapshot, type);
	if (module && !snapshot->modules.items[module].main) {
		hsnap_line_add(to, "  ");
		hsnap_line_add_escaped(to, hsnap_module_name(snapshot, module), emit->charset);
	}
	struct hsnap_line source = { 0 };
	if (twin)
		hsnap_add_type_source(&source, snapshot, type);
	if (source.num) {
		hsnap_line_add(to, "  ");
		hsnap_line_add_escaped(to, source.text, emit->charset);
	}
	hsnap_line_deinit(&source);
}

void hsnap_emit_type_named(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, hsnap_type_id type,
			   const char *name)
{
	bool label = hsnap_is_label(snapshot, type);
	hsnap_emit_string_or_null(emit, "type", label ? "" : name);
	hsnap_emit_string_or_null(emit, "label", label ? name : "");
}

void hsnap_emit_type(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	struct hsnap_line name = { 0 };
	hsnap_add_type_name(&name, snapshot, type);
	hsnap_emit_type_named(emit, snapshot, type, hsnap_line_text(&name));
	hsnap_line_deinit(&name);
}

void hsnap_emit_frame(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot, const struct hsnap_frame *frame)
{
	hsnap_emit_string_or_null(emit, "function", hsnap_text(snapshot, frame->function));
	hsnap_emit_string_or_null(emit, "source", hsnap_text(snapshot, frame->source));
	hsnap_emit_string_or_null(emit, "module", hsnap_module_name(snapshot, frame->module));
	hsnap_emit_u64(emit, "offset", frame->offset);
}

void hsnap_emit_site(struct hsnap_emit *emit, const char *key, const struct hsnap_snapshot *snapshot,
		     uint32_t site)
{
	const struct hsnap_stack *stack = &snapshot->stacks.items[site];
	hsnap_emit_begin_array(emit, key);
	for (uint32_t i = 0; i < stack->num_frames; i++) {
		hsnap_emit_begin_object(emit, NULL);
		hsnap_emit_frame(emit, snapshot, &snapshot->frames.items[stack->first_frame + i]);
		hsnap_emit_end_object(emit);
	}
	hsnap_emit_end_array(emit);
}

void hsnap_add_frame(struct hsnap_line *to, const struct hsnap_emit *emit,
		      const struct hsnap_snapshot *snapshot, const struct hsnap_frame *frame)
{
	const char *function = hsnap_text(snapshot, frame->function);
	const char *source = hsnap_text(snapshot, frame->source);
	if (*function)
		hsnap_line_add_escaped(to, function, emit->charset);
	if (*function && !*source)
		return;
	if (*function)
		hsnap_line_add(to, " (");
	if (*source)
		hsnap_line_add_escaped(to, source, emit->charset);
	else {
		hsnap_line_add_escaped(to, hsnap_module_name(snapshot, frame->module), emit->charset);
		hsnap_line_addf(to, "+0x%llx", (unsigned long long)frame->offset);
	}
	if (*function)
		hsnap_line_add(to, ")");
}

/* The frames at the start of a call site that are the C++ library's own, where any other follows. */
static uint32_t library_frames(const struct hsnap_snapshot *snapshot, const struct hsnap_stack *stack)
{
	static const char *const prefixes[] = { "std::", "__gnu_cxx::", "operator new" };
	size_t num = sizeof(prefixes) / sizeof(*prefixes);
	for (uint32_t i = 0; i < stack->num_frames; i++) {
		const char *function = hsnap_text(snapshot, snapshot->frames.items[stack->first_frame + i].function);
		size_t p = 0;
		while (p < num && strncmp(function, prefixes[p], strlen(prefixes[p])))
			p++;
		if (p == num)
			return i;
	}
	return 0;
}

void hsnap_add_site(struct hsnap_line *to, const struct hsnap_emit *emit,
		    const struct hsnap_snapshot *snapshot, uint32_t site)
{
	const struct hsnap_stack *stack = &snapshot->stacks.items[site];
	if (!stack->num_frames)
		hsnap_line_add(to, "an unknown place");
	uint32_t first = emit->options->full_names ? 0 : library_frames(snapshot, stack);
	for (uint32_t i = first; i < stack->num_frames; i++) {
		const struct hsnap_frame *frame = &snapshot->frames.items[stack->first_frame + i];
		if (i > first)
			hsnap_line_addf(to, " %s ", emit->symbols->from);
		if (i - first == MOST_FRAMES && !emit->options->full_names) {
			hsnap_line_add(to, emit->symbols->more);
			break;
		}
		hsnap_add_frame(to, emit, snapshot, frame);
		if (!strcmp(hsnap_text(snapshot, frame->function), "main"))
			break; /* what calls main is the C library's */
	}
}
