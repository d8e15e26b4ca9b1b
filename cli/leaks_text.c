/* SPDX-License-Identifier: MIT */
/* leaks_text.c - leaks as a screen. */
#include <string.h>

#include "cli/head.h"
#include "cli/leaks_view.h"
#include "cli/names.h"

#define INDENT 6
#define VIA_WIDTH 14   /* member and arrow, at least */
#define TYPE_WIDTH 40  /* type and count, at least */
#define BYTES_WIDTH 11
#define MOST_DRAGS 8   /* of one group */

static void add_name(struct hsnap_line *to, const struct hsnap_leaks_view *view, hsnap_type_id type, bool with_holder)
{
	struct hsnap_line name = { 0 };
	if (with_holder)
		hsnap_add_type_name(&name, view->snapshot, type);
	else
		hsnap_line_add(&name, hsnap_text(view->snapshot, view->snapshot->types.items[type].name));
	hsnap_line_add_escaped(to, hsnap_line_text(&name), view->emit->charset);
	hsnap_line_deinit(&name);
}

/* ", 48 bytes each"; ", 40 to 56 bytes each"; ", 48 bytes" of one.  A label that is of one size says so itself. */
static void add_sizes(struct hsnap_line *to, const struct hsnap_leaks_view *view, hsnap_type_id type, uint64_t count,
		      uint64_t least, uint64_t most)
{
	if (view->snapshot->types.items[type].kind == HSNAP_TYPE_LABEL && !hsnap_label_any_size(view->snapshot, type) && least == most)
		return;
	hsnap_line_add(to, ", ");
	if (least != most)
		hsnap_line_addf(to, "%s to ", hsnap_grouped(least).text);
	hsnap_line_addf(to, "%s%s", hsnap_plural(most, "byte").text, count > 1 ? " each" : "");
}

/* What hangs on a group's heads, before it is laid out. */
struct drag_line {
	struct hsnap_line via, type, count;
	uint64_t bytes;
	bool weak;
};

static void fill_drag(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks,
		      const struct hsnap_drag *drag, struct drag_line *line)
{
	hsnap_line_add_escaped(&line->via, hsnap_str(&leaks->strings, drag->via), view->emit->charset);
	if (drag->max > 1)
		hsnap_line_addf(&line->via, " %s1%s%s", view->emit->symbols->times, view->emit->symbols->dash,
				hsnap_grouped(drag->max).text);
	/* The way says what a holder would. */
	add_name(&line->type, view, drag->type, hsnap_is_label(view->snapshot, drag->type));
	add_sizes(&line->type, view, drag->type, drag->count, drag->least, drag->most);
	hsnap_line_add(&line->count, hsnap_grouped(drag->count).text);
	line->bytes = drag->bytes;
	line->weak = drag->weak;
}

static void print_drag(const struct hsnap_leaks_view *view, const struct drag_line *line, size_t via_width,
		       size_t type_width)
{
	const struct hsnap_symbols *symbols = view->emit->symbols;
	const char *arrow = line->weak ? symbols->weak_arrow : symbols->arrow;
	struct hsnap_line text = { 0 };
	size_t type_start = INDENT + via_width;
	hsnap_line_pad(&text, 0, INDENT);
	hsnap_line_add(&text, hsnap_line_text(&line->via));
	hsnap_line_pad(&text, 0, type_start - hsnap_columns(arrow) - 1);
	hsnap_line_addf(&text, "%s ", arrow);
	hsnap_line_add(&text, hsnap_line_text(&line->type));
	hsnap_line_pad(&text, 0, type_start + type_width - line->count.num);
	hsnap_line_addf(&text, "%s block%s%*s bytes%s\n", hsnap_line_text(&line->count),
			strcmp(hsnap_line_text(&line->count), "1") ? "s" : " ", BYTES_WIDTH,
			hsnap_grouped(line->bytes).text, line->weak ? "   weak" : "");
	hsnap_print(view->emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
}

static void print_drags(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks,
			const struct hsnap_leak_group *group)
{
	struct drag_line lines[MOST_DRAGS] = { 0 };
	uint32_t num = group->num_drags < MOST_DRAGS ? group->num_drags : MOST_DRAGS;
	size_t via_width = VIA_WIDTH, type_width = TYPE_WIDTH;
	for (uint32_t i = 0; i < num; i++) {
		fill_drag(view, leaks, &leaks->drags.items[group->first_drag + i], &lines[i]);
		size_t via = hsnap_columns(hsnap_line_text(&lines[i].via)) + 4;
		size_t type = hsnap_columns(hsnap_line_text(&lines[i].type)) + 2 + lines[i].count.num;
		via_width = via > via_width ? via : via_width;
		type_width = type > type_width ? type : type_width;
	}
	for (uint32_t i = 0; i < num; i++) {
		print_drag(view, &lines[i], via_width, type_width);
		hsnap_line_deinit(&lines[i].via);
		hsnap_line_deinit(&lines[i].type);
		hsnap_line_deinit(&lines[i].count);
	}
	if (group->num_drags <= num)
		return;
	uint64_t count = 0, bytes = 0;
	for (uint32_t i = num; i < group->num_drags; i++) {
		count += leaks->drags.items[group->first_drag + i].count;
		bytes += leaks->drags.items[group->first_drag + i].bytes;
	}
	hsnap_printf(view->emit, "      and %s on %s, %s bytes (--json tells all)\n", hsnap_plural(count, "block").text,
		     hsnap_plural(group->num_drags - num, "more way").text, hsnap_grouped(bytes).text);
}

static void print_group(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks, size_t index)
{
	const struct hsnap_leak_group *group = &leaks->groups.items[index];
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "\n%zu.  %s %s ", index + 1, hsnap_grouped(group->heads).text, view->emit->symbols->times);
	add_name(&line, view, group->type, true);
	add_sizes(&line, view, group->type, group->heads, group->least, group->most);
	if (group->count > group->heads)
		hsnap_line_addf(&line, "; with what hangs on %s %s", group->heads > 1 ? "them" : "it",
				hsnap_plural(group->count, "block").text);
	if (group->count > 1)
		hsnap_line_addf(&line, ", %s bytes", hsnap_grouped(group->bytes).text);
	hsnap_line_add(&line, "\n      allocated by  ");
	hsnap_add_site(&line, view->emit, view->snapshot, group->site);
	hsnap_line_add(&line, "\n");
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
	print_drags(view, leaks, group);
	hsnap_print(view->emit, group->cycle ? "      in a cycle\n" : "      no cycle\n");
}

static void print_groups(const struct hsnap_leaks_view *view, const struct hsnap_leaks *leaks)
{
	uint64_t most = hsnap_top(view->emit->options, 25), left_out = 0, bytes = 0;
	for (size_t i = 0; i < leaks->groups.num; i++) {
		if (i < most) {
			print_group(view, leaks, i);
			continue;
		}
		left_out++;
		bytes += leaks->groups.items[i].bytes;
	}
	if (left_out)
		hsnap_printf(view->emit, "\n%s and %s, %s bytes (--top 0)\n", view->emit->symbols->more,
			     hsnap_plural(left_out, "more group").text, hsnap_grouped(bytes).text);
}

static void print_head(const struct hsnap_leaks_view *view)
{
	const struct hsnap_leaks *leaks = view->leaks;
	const struct hsnap_facts *facts = &view->snapshot->facts;
	struct hsnap_line line = { 0 };
	hsnap_add_head(&line, view->emit, view->path, view->snapshot);
	hsnap_line_add(&line, "\n");
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
	hsnap_print_reservations(view->emit, &view->path, &view->snapshot, 1);
	if (!leaks->count) {
		hsnap_printf(view->emit, "no leaks: every one of the %s is reached from a root\n",
			     hsnap_plural(view->snapshot->graph.num_blocks, "block").text);
		return;
	}
	hsnap_printf(view->emit, "%s, %s bytes (%s %% of the heap) %s in use and nothing points to %s; %s\n",
		     hsnap_plural(leaks->count, "block").text, hsnap_grouped(leaks->bytes).text,
		     hsnap_share((double)leaks->bytes, (double)facts->heap_bytes).text, leaks->count == 1 ? "is" : "are",
		     leaks->count == 1 ? "it" : "them", hsnap_plural(leaks->heads, "head").text);
}

/* Where roots were looked for: a leak is only as true as this is complete. */
static void print_searched(const struct hsnap_leaks_view *view)
{
	const struct hsnap_facts *facts = &view->snapshot->facts;
	uint64_t reached = view->snapshot->graph.num_blocks - view->leaks->count;
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "\nsearched: globals of %s", hsnap_plural(facts->searched_modules, "module").text);
	hsnap_line_addf(&line, ", %s", hsnap_plural(facts->searched_tls, "thread-local area").text);
	hsnap_line_addf(&line, ", %s with registers", hsnap_plural(facts->num_threads, "stack").text);
	hsnap_line_addf(&line, ", %s\n", hsnap_plural(reached, "block").text);
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
}

void hsnap_leaks_print(const struct hsnap_leaks_view *view)
{
	print_head(view);
	print_groups(view, view->leaks);
	print_searched(view);
	hsnap_print(view->emit, "possible leaks (only weak evidence keeps them): ");
	if (!view->possible->count) {
		hsnap_print(view->emit, "none\n");
		return;
	}
	hsnap_printf(view->emit, "%s, %s bytes\n", hsnap_plural(view->possible->count, "block").text,
		     hsnap_grouped(view->possible->bytes).text);
	print_groups(view, view->possible);
}
