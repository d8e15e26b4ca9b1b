/* SPDX-License-Identifier: MIT */
/* why_text.c - retention paths as a screen. */
#include <string.h>

#include "cli/head.h"
#include "cli/input.h"
#include "cli/names.h"
#include "cli/why_view.h"
#include "snapshot/base/cleanup.h"

#define INDENT 6
#define VIA_WIDTH 22   /* member and arrow, at least */
#define TYPE_WIDTH 31  /* type and count, at least */
#define HEAD_WIDTH 41
#define LEAST_NAME 24  /* a name is not cut below this */
#define MOST_SITES 10

/* One line of a path before it is laid out. */
struct line {
	struct hsnap_line via, type, count, extra;
	bool weak, is_root;
};

static void free_line(struct line *line)
{
	hsnap_line_deinit(&line->via);
	hsnap_line_deinit(&line->type);
	hsnap_line_deinit(&line->count);
	hsnap_line_deinit(&line->extra);
}

void hsnap_add_root(struct hsnap_line *to, const struct hsnap_emit *emit,
		    const struct hsnap_snapshot *snapshot, uint32_t root)
{
	const struct hsnap_root *item = &snapshot->graph.roots.items[root];
	const char *name = hsnap_text(snapshot, item->name), *function = hsnap_text(snapshot, item->function);
	const char *kind = hsnap_root_kind_name((enum hsnap_root_kind)item->kind);
	bool says_kind = !strncmp(name, kind, strlen(kind)); /* "mapping of 16 KiB" */
	if (!says_kind)
		hsnap_line_add(to, kind);
	if (*name || !*function) {
		hsnap_line_add(to, says_kind ? "" : " ");
		hsnap_line_add_escaped(to, *name ? name : hsnap_module_name(snapshot, item->module), emit->charset);
	}
	if (*function) {
		hsnap_line_add(to, " in ");
		hsnap_line_add_escaped(to, function, emit->charset);
	}
}

static void add_escaped_type(struct hsnap_line *to, const struct hsnap_why_view *view, hsnap_type_id type)
{
	struct hsnap_line name = { 0 };
	hsnap_add_type_name(&name, view->snapshot, type);
	hsnap_line_add_escaped(to, hsnap_line_text(&name), view->emit->charset);
	hsnap_line_deinit(&name);
}

static void add_extra(struct hsnap_line *extra, const char *text)
{
	if (extra->num && *text)
		hsnap_line_add(extra, ", ");
	hsnap_line_add(extra, text);
}

static void fill_root_line(const struct hsnap_why_view *view, const struct hsnap_path *path, struct line *line)
{
	const struct hsnap_snapshot *snapshot = view->snapshot;
	const struct hsnap_root *root = &snapshot->graph.roots.items[path->root];
	hsnap_type_id type = snapshot->graph.type[1 + path->root];
	line->is_root = true;
	line->weak = root->weak;
	hsnap_add_root(&line->via, view->emit, snapshot, path->root);
	if (type != HSNAP_NO_TYPE)
		add_escaped_type(&line->type, view, type);
	hsnap_line_add(&line->count, hsnap_grouped(path->num_roots).text);
	struct hsnap_line words = { 0 };
	add_extra(&words, hsnap_text(snapshot, root->source));
	if (root->module && !snapshot->modules.items[root->module].main && hsnap_text(snapshot, root->name)[0])
		add_extra(&words, hsnap_module_name(snapshot, root->module));
	if (hsnap_text(snapshot, root->thread)[0]) {
		add_extra(&words, "thread ");
		hsnap_line_add(&words, hsnap_text(snapshot, root->thread));
	}
	hsnap_line_add_escaped(&line->extra, hsnap_line_text(&words), view->emit->charset);
	hsnap_line_deinit(&words);
}

/* " ×0–5"; " ×9,999" where all ways are of one length. */
static void add_repeats(struct hsnap_line *to, const struct hsnap_emit *emit, const struct hsnap_step *step)
{
	hsnap_line_addf(to, " %s%s", emit->symbols->times, hsnap_grouped(step->min).text);
	if (step->max != step->min)
		hsnap_line_addf(to, "%s%s", emit->symbols->dash, hsnap_grouped(step->max).text);
}

/* At the end of a path that many blocks may have: where one of them is. */
static void add_sample(const struct hsnap_why_view *view, const struct hsnap_path *path, struct line *line)
{
	if (view->resolution)
		hsnap_line_addf(&line->extra, "%se.g. 0x%llx", line->extra.num ? ", " : "",
				  (unsigned long long)view->snapshot->graph.address[path->sample]);
}

static void fill_step_line(const struct hsnap_why_view *view, const struct hsnap_step *step, struct line *line)
{
	const struct hsnap_type *type = &view->snapshot->types.items[step->type];
	line->weak = step->weak;
	hsnap_line_add_escaped(&line->via, hsnap_str(&view->why->strings, step->via), view->emit->charset);
	if (step->folded)
		add_repeats(&line->via, view->emit, step);
	add_escaped_type(&line->type, view, step->type);
	hsnap_line_add(&line->count, hsnap_grouped(step->count).text);
	if (!step->items || view->snapshot->types.items[type->element].size <= 1)
		return;
	bool pointers = view->snapshot->types.items[type->element].kind == HSNAP_TYPE_POINTER;
	hsnap_line_add(&line->extra, hsnap_at_most(view->snapshot));
	hsnap_line_add(&line->extra, hsnap_plural(step->items, pointers ? "slot" : "item").text);
}

/* Columns of the parts of all lines of one path. */
struct widths {
	size_t via, type;
};

static void widen(struct widths *widths, const struct hsnap_emit *emit, const struct line *line)
{
	size_t arrow = line->is_root ? 2 : 2 + hsnap_columns(emit->symbols->weak_arrow) + 1;
	size_t via = hsnap_columns(hsnap_line_text(&line->via)) + arrow;
	size_t type = hsnap_columns(hsnap_line_text(&line->type)) + 2 + line->count.num;
	widths->via = via > widths->via ? via : widths->via;
	widths->type = type > widths->type ? type : widths->type;
}

/* On a terminal the type gives way, but keeps 24 columns. */
static void narrow(struct widths *widths, const struct hsnap_emit *emit)
{
	size_t others = INDENT + widths->via;
	if (!emit->width || others + widths->type <= emit->width)
		return;
	size_t room = emit->width > others ? emit->width - others : 0;
	widths->type = room > TYPE_WIDTH ? room : TYPE_WIDTH;
}

static void add_line(const struct hsnap_emit *emit, const struct widths *widths, const struct line *line,
		     struct hsnap_line *to)
{
	size_t start = to->num, type_start = INDENT + widths->via;
	hsnap_line_pad(to, start, INDENT);
	hsnap_line_add(to, hsnap_line_text(&line->via));
	if (!line->is_root) {
		const char *arrow = line->weak ? emit->symbols->weak_arrow : emit->symbols->arrow;
		hsnap_line_pad(to, start, type_start - hsnap_columns(arrow) - 1);
		hsnap_line_add(to, arrow);
	}
	hsnap_line_pad(to, start, type_start);
	size_t room = widths->type - 2 - line->count.num;
	hsnap_line_add_cut(to, hsnap_line_text(&line->type), room < LEAST_NAME ? LEAST_NAME : room, emit->symbols->more);
	size_t have = hsnap_columns(to->text + start), end = type_start + widths->type;
	hsnap_line_pad(to, start, end > line->count.num && end - line->count.num > have + 1 ? end - line->count.num : have + 2);
	hsnap_line_add(to, hsnap_line_text(&line->count));
	if (line->extra.num)
		hsnap_line_addf(to, "   %s", line->extra.text);
	if (line->weak)
		hsnap_line_add(to, "   weak");
	hsnap_line_add(to, "\n");
}

static bool print_path(const struct hsnap_why_view *view, size_t index)
{
	const struct hsnap_path *path = &view->why->paths.items[index];
	struct hsnap_vec(struct line) lines = { 0 };
	struct hsnap_line text = { 0 };
	struct widths widths = { VIA_WIDTH, TYPE_WIDTH };
	bool ok = hsnap_vec_reserve(&lines, path->num_steps + 1u);
	if (ok) {
		lines.num = path->num_steps + 1u;
		memset(lines.items, 0, lines.num * sizeof(*lines.items));
		fill_root_line(view, path, &lines.items[0]);
		for (uint32_t i = 0; i < path->num_steps; i++)
			fill_step_line(view, &view->why->steps.items[path->first_step + i], &lines.items[1 + i]);
		add_sample(view, path, &lines.items[path->num_steps]);
		for (size_t i = 0; i < lines.num; i++)
			widen(&widths, view->emit, &lines.items[i]);
		narrow(&widths, view->emit);
		for (size_t i = 0; i < lines.num; i++)
			add_line(view->emit, &widths, &lines.items[i], &text);
		hsnap_printf(view->emit, "\n%zu.  %s  %s bytes  %s %%\n", index + 1, hsnap_plural(path->count, hsnap_why_thing(view)).text,
			     hsnap_grouped(path->bytes).text,
			     hsnap_share((double)path->bytes, (double)view->why->bytes).text);
		hsnap_print(view->emit, hsnap_line_text(&text));
	}
	for (size_t i = 0; i < lines.num; i++)
		free_line(&lines.items[i]);
	hsnap_vec_deinit(&lines);
	hsnap_line_deinit(&text);
	return ok;
}

/* ", 1,024 bytes into pool of Item at 0x7f…": of an object in a pool where that is. */
static void add_block_of(const struct hsnap_why_view *view, struct hsnap_line *to)
{
	const struct hsnap_graph *graph = &view->snapshot->graph;
	hsnap_node_id block = hsnap_pool_block(graph, view->node);
	hsnap_line_addf(to, ", %s into ", hsnap_plural(graph->address[view->node] - graph->address[block], "byte").text);
	add_escaped_type(to, view, graph->type[block]);
	hsnap_line_addf(to, " at 0x%llx", (unsigned long long)graph->address[block]);
}

/* "CacheEntry, 104 bytes (cache.h:14)", "3 types like Cache*", "CacheEntry at 0x5555…". */
static void add_asked(const struct hsnap_why_view *view, struct hsnap_line *to)
{
	const struct hsnap_snapshot *snapshot = view->snapshot;
	if (view->resolution && view->resolution->num_wanted > 1) {
		hsnap_line_addf(to, "%zu types, ", view->resolution->num_wanted);
		hsnap_line_add_escaped(to, view->asked, view->emit->charset);
		return;
	}
	hsnap_type_id type = view->resolution ? view->resolution->first : snapshot->graph.type[view->node];
	uint64_t size = view->resolution ? snapshot->types.items[type].size : hsnap_node_size(&snapshot->graph, view->node);
	add_escaped_type(to, view, type);
	if (!view->resolution)
		hsnap_line_addf(to, " at 0x%llx", (unsigned long long)snapshot->graph.address[view->node]);
	if (size)
		hsnap_line_addf(to, ", %s", hsnap_plural(size, "byte").text);
	if (!view->resolution && view->in_pools)
		add_block_of(view, to);
	struct hsnap_line source = { 0 };
	hsnap_add_type_source(&source, snapshot, type);
	if (source.num) {
		hsnap_line_add(to, " (");
		hsnap_line_add_escaped(to, source.text, view->emit->charset);
		hsnap_line_add(to, ")");
	}
	hsnap_line_deinit(&source);
}

static void print_head(const struct hsnap_why_view *view)
{
	const struct hsnap_why *why = view->why;
	struct hsnap_line line = { 0 };
	add_asked(view, &line);
	hsnap_line_add(&line, "   ");
	hsnap_line_pad(&line, 0, HEAD_WIDTH);
	hsnap_line_addf(&line, "%s, %s bytes; ", hsnap_plural(why->count, hsnap_why_thing(view)).text, hsnap_grouped(why->bytes).text);
	if (why->paths.num)
		hsnap_line_addf(&line, "%s; ", hsnap_plural(why->paths.num, "path").text);
	else
		hsnap_line_add(&line, "no path; ");
	if (!why->unreachable_count)
		hsnap_line_add(&line, "unreachable: none\n");
	else if (why->unreachable_count == why->count)
		hsnap_line_add(&line, "unreachable: all\n");
	else
		hsnap_line_addf(&line, "unreachable: %s\n", hsnap_grouped(why->unreachable_count).text);
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
	hsnap_print_reservations(view->emit, &view->path, &view->snapshot, 1);
}

static void print_unreachable(const struct hsnap_why_view *view)
{
	const struct hsnap_why *why = view->why;
	struct hsnap_line text = { 0 };
	if (why->paths.num)
		hsnap_line_addf(&text, "\nunreachable: %s, %s bytes\n", hsnap_plural(why->unreachable_count, hsnap_why_thing(view)).text,
				  hsnap_grouped(why->unreachable_bytes).text);
	uint64_t most = hsnap_top(view->emit->options, MOST_SITES), left_out = 0;
	for (size_t i = 0; i < why->sites.num; i++) {
		if (i >= most) {
			left_out++;
			continue;
		}
		hsnap_line_add(&text, "  allocated by  ");
		hsnap_add_site(&text, view->emit, view->snapshot, why->sites.items[i].site);
		if (why->sites.num > 1)
			hsnap_line_addf(&text, "   %s, %s bytes", hsnap_plural(why->sites.items[i].count, hsnap_why_thing(view)).text,
					  hsnap_grouped(why->sites.items[i].bytes).text);
		hsnap_line_add(&text, "\n");
	}
	if (left_out)
		hsnap_line_addf(&text, "  and at %s (--top 0)\n", hsnap_plural(left_out, "more place").text);
	hsnap_print(view->emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
}

/* What one of them rests on is the next question. */
static void say_next(const struct hsnap_why_view *view)
{
	const struct hsnap_why *why = view->why;
	if (!why->paths.num && !why->sites.num)
		return;
	hsnap_node_id sample = why->paths.num ? why->paths.items[0].sample : why->sites.items[0].sample;
	hsnap_auto(hsnap_line_deinit) struct hsnap_line command = { 0 };
	hsnap_line_addf(&command, "heapsnap why --explain 0x%llx ", (unsigned long long)view->snapshot->graph.address[sample]);
	hsnap_add_input(&command, view->emit->options, view->path);
	hsnap_emit_next(view->emit, hsnap_line_text(&command));
}

void hsnap_why_print(const struct hsnap_why_view *view)
{
	const struct hsnap_why *why = view->why;
	uint64_t most = hsnap_top(view->emit->options, 10), left_out = 0, left_bytes = 0;
	print_head(view);
	for (size_t i = 0; i < why->paths.num; i++) {
		if (i < most) {
			if (!print_path(view, i))
				view->emit->out.failed = true;
			continue;
		}
		left_out++;
		left_bytes += why->paths.items[i].bytes;
	}
	if (left_out)
		hsnap_printf(view->emit, "\n%s and %s, %s %% of the bytes (--top 0)\n", view->emit->symbols->more,
			     hsnap_plural(left_out, "more path").text, hsnap_share((double)left_bytes, (double)why->bytes).text);
	if (why->unreachable_count)
		print_unreachable(view);
	say_next(view);
}
