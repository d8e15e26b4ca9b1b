/* SPDX-License-Identifier: MIT */
/* diff_text.c - growth as a screen. */
#include <stdlib.h>
#include <string.h>

#include "cli/account.h"
#include "cli/diff_view.h"
#include "cli/head.h"
#include "cli/names.h"
#include "cli/input.h"
#include "cli/table.h"
#include "snapshot/base/cleanup.h"

void hsnap_add_growth_name(struct hsnap_line *to, const struct hsnap_diff_view *view, const struct hsnap_growth *row)
{
	const struct hsnap_snapshot *snapshot = view->snapshots[row->snapshot];
	const char *holder = hsnap_text(snapshot, snapshot->types.items[row->type].holder);
	if (!row->any_size)
		hsnap_add_type_name(to, snapshot, row->type);
	else
		hsnap_line_addf(to, "%s%s%s", HSNAP_LABEL_ANY_SIZE, *holder ? " " : "", holder);
}

static bool by_count(const struct hsnap_diff_view *view)
{
	return view->emit->options->by == HSNAP_BY_COUNT;
}

/* By what the rows are ranked, and by the other where that did not change. */
static int64_t growth_of(const struct hsnap_diff_view *view, const struct hsnap_growth *row)
{
	int64_t first = by_count(view) ? row->count_delta : row->bytes_delta;
	return first ? first : by_count(view) ? row->bytes_delta : row->count_delta;
}

/* Rows in their three kinds; what grew and what shrank are sums on the basis of the ranking. */
struct summary {
	size_t grown, shrunk, unchanged;
	int64_t sum_grown, sum_shrunk;
};

static struct summary summarize(const struct hsnap_diff_view *view)
{
	struct summary sum = { 0 };
	for (size_t i = 0; i < view->diff->rows.num; i++) {
		const struct hsnap_growth *row = &view->diff->rows.items[i];
		int64_t growth = growth_of(view, row), ranked = by_count(view) ? row->count_delta : row->bytes_delta;
		if (growth > 0)
			sum.grown++;
		else if (growth < 0)
			sum.shrunk++;
		else
			sum.unchanged++;
		__builtin_add_overflow(*(ranked > 0 ? &sum.sum_grown : &sum.sum_shrunk), ranked,
				       ranked > 0 ? &sum.sum_grown : &sum.sum_shrunk);
	}
	return sum;
}

/* The lines "1  a.snap   2026-11-30 01:24:20 UTC    80,258,943 bytes in 476,601 blocks". */
static void add_files(const struct hsnap_diff_view *view, struct hsnap_line *to)
{
	size_t path_width = 0, bytes_width = 0;
	struct hsnap_line path = { 0 };
	for (size_t i = 0; i < view->diff->num_snapshots; i++) {
		size_t width = hsnap_columns(view->paths[i]);
		path_width = width > path_width ? width : path_width;
		width = strlen(hsnap_grouped(view->diff->all_bytes[i]).text);
		bytes_width = width > bytes_width ? width : bytes_width;
	}
	for (size_t i = 0; i < view->diff->num_snapshots; i++) {
		hsnap_line_clear(&path);
		hsnap_line_add_escaped(&path, view->paths[i], view->emit->charset);
		hsnap_line_pad(&path, 0, path_width);
		hsnap_line_addf(to, "%zu  %s   %s    %*s bytes in %s\n", i + 1, hsnap_line_text(&path),
				  hsnap_time(view->snapshots[i]->facts.taken_at).text, (int)bytes_width,
				  hsnap_grouped(view->diff->all_bytes[i]).text,
				  hsnap_plural(view->diff->all_count[i], "block").text);
	}
	hsnap_line_deinit(&path);
}

static bool one_process(const struct hsnap_diff_view *view)
{
	for (size_t i = 1; i < view->diff->num_snapshots; i++)
		if (!hsnap_same_process(view->snapshots[0], view->snapshots[i]))
			return false;
	return true;
}

static void add_processes(const struct hsnap_diff_view *view, struct hsnap_line *to)
{
	if (one_process(view)) {
		hsnap_add_process(to, view->emit, view->snapshots[0]);
		return;
	}
	hsnap_line_add(to, "not one process: ");
	for (size_t i = 0; i < view->diff->num_snapshots; i++) {
		if (i)
			hsnap_line_add(to, i + 1 == view->diff->num_snapshots ? " and " : "; ");
		hsnap_add_process(to, view->emit, view->snapshots[i]);
	}
}

/* ", 27 s apart"; ", b.snap 27 s before a.snap" where they are given the wrong way round. */
static void add_apart(const struct hsnap_diff_view *view, struct hsnap_line *to, uint64_t first, uint64_t last)
{
	if (!first || !last)
		return;
	if (last >= first) {
		hsnap_line_addf(to, ", %s apart", hsnap_duration(last - first).text);
		return;
	}
	hsnap_line_add(to, ", ");
	hsnap_line_add_escaped(to, view->paths[view->diff->num_snapshots - 1], view->emit->charset);
	hsnap_line_addf(to, " %s before ", hsnap_duration(first - last).text);
	hsnap_line_add_escaped(to, view->paths[0], view->emit->charset);
}

/* "bookstore, pid 4711, 27 s apart:    +14,642,327 bytes (+18.2 %), +130,003 blocks; 31.0 MiB/minute". */
static void add_growth(const struct hsnap_diff_view *view, struct hsnap_line *to)
{
	const struct hsnap_diff *diff = view->diff;
	size_t last = diff->num_snapshots - 1;
	uint64_t first_at = view->snapshots[0]->facts.taken_at, last_at = view->snapshots[last]->facts.taken_at;
	add_processes(view, to);
	add_apart(view, to, first_at, last_at);
	hsnap_line_addf(to, ":    %s bytes", hsnap_growth(diff->bytes_delta).text);
	if (diff->all_bytes[0])
		hsnap_line_addf(to, " (%s%s %%)", diff->bytes_delta > 0 ? "+" : "",
				  hsnap_share((double)diff->bytes_delta, (double)diff->all_bytes[0]).text);
	hsnap_line_addf(to, ", %s block%s", hsnap_growth(diff->count_delta).text,
			  diff->count_delta == 1 || diff->count_delta == -1 ? "" : "s");
	if (first_at && last_at > first_at && one_process(view))
		hsnap_line_addf(to, "; %s/minute",
				  hsnap_human((double)diff->bytes_delta * 60e9 / (double)(last_at - first_at)).text);
	if (diff->mixed)
		hsnap_line_add(to, "; sizes as usable, which the files differ in");
	hsnap_line_add(to, "\n");
}

static void print_head(const struct hsnap_diff_view *view)
{
	struct hsnap_line text = { 0 };
	add_files(view, &text);
	add_growth(view, &text);
	hsnap_print(view->emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
	hsnap_print_reservations(view->emit, view->paths, view->snapshots, view->diff->num_snapshots);
	hsnap_print(view->emit, "\n");
}

struct columns {
	struct hsnap_column items[HSNAP_TABLE_COLUMNS];
	char heads[HSNAP_TABLE_COLUMNS][32];
	size_t num;
	bool steps; /* of three or more: what each step brought */
};

static void add_column(struct columns *columns, const char *head, size_t width, bool left)
{
	snprintf(columns->heads[columns->num], sizeof(columns->heads[0]), "%s", head);
	columns->items[columns->num] = (struct hsnap_column){ columns->heads[columns->num], width, left };
	columns->num++;
}

static void make_columns(const struct hsnap_diff_view *view, struct columns *columns)
{
	add_column(columns, "Bytes +", 12, false);
	add_column(columns, "%", 7, false);
	add_column(columns, "Count +", 12, false);
	columns->steps = view->diff->num_snapshots > 2;
	for (size_t i = 1; columns->steps && i < view->diff->num_snapshots; i++) {
		char head[32];
		snprintf(head, sizeof(head), "%s%zu", view->emit->symbols->delta, i);
		add_column(columns, head, 12, false);
	}
	if (!columns->steps) {
		add_column(columns, "Count 1", 12, false);
		add_column(columns, "Count 2", 12, false);
	}
	add_column(columns, "Type", 0, true);
}

/* A row's numbers, or the sums in the last row. */
struct numbers {
	int64_t bytes_delta, count_delta;
	const uint64_t *bytes, *count; /* one a snapshot */
};

static void set_numbers(const struct hsnap_diff_view *view, const struct columns *columns,
			struct hsnap_table *table, struct hsnap_table_row *to, const struct numbers *numbers,
			int64_t whole)
{
	const uint64_t *stepped = by_count(view) ? numbers->count : numbers->bytes;
	int64_t part = by_count(view) ? numbers->count_delta : numbers->bytes_delta;
	hsnap_table_set(table, to, 0, hsnap_growth(numbers->bytes_delta).text);
	hsnap_table_set(table, to, 1, hsnap_share((double)part, (double)whole).text);
	hsnap_table_set(table, to, 2, hsnap_growth(numbers->count_delta).text);
	for (size_t i = 3; i + 1 < columns->num; i++) {
		if (columns->steps)
			hsnap_table_set(table, to, i,
					hsnap_growth(hsnap_difference(stepped[i - 2], stepped[i - 3])).text);
		else
			hsnap_table_set(table, to, i, hsnap_grouped(numbers->count[i - 3]).text);
	}
}

static void add_row(const struct hsnap_diff_view *view, const struct columns *columns,
		    struct hsnap_table *table, const struct hsnap_growth *row, int64_t whole, bool twin)
{
	const struct hsnap_diff *diff = view->diff;
	const struct hsnap_snapshot *snapshot = view->snapshots[row->snapshot];
	struct hsnap_line name = { 0 }, after = { 0 };
	struct hsnap_table_row *to = hsnap_table_add(table);
	struct numbers numbers = { row->bytes_delta, row->count_delta, diff->bytes + row->first, diff->count + row->first };
	set_numbers(view, columns, table, to, &numbers, whole);
	hsnap_add_growth_name(&name, view, row);
	hsnap_table_set(table, to, columns->num - 1, hsnap_line_text(&name));
	bool pool = hsnap_is_label(snapshot, row->type);
	if (pool && row->items_delta)
		hsnap_line_addf(&after, "  (%s seen)", hsnap_growth(row->items_delta).text);
	/* Of characters, and of one block that was made anew, longer, the bytes say as much. */
	if (!pool && row->items_delta && row->count_delta && row->items_delta != row->bytes_delta)
		hsnap_line_addf(&after, "  (%s%s item%s)", diff->basis == HSNAP_BASIS_USABLE ? "about " : "",
				  hsnap_growth(row->items_delta).text,
				  row->items_delta == 1 || row->items_delta == -1 ? "" : "s");
	hsnap_add_type_place(&after, view->emit, snapshot, row->type, twin);
	if (after.num)
		hsnap_table_set_after(table, to, after.text);
	if (to && row->state == HSNAP_UNREACHABLE)
		to->word = "unreachable";
	hsnap_line_deinit(&name);
	hsnap_line_deinit(&after);
}

static void add_line(const struct columns *columns, struct hsnap_table *table, const char *text)
{
	hsnap_table_set(table, hsnap_table_add(table), columns->num - 1, text);
}

static bool find_twins(const struct hsnap_diff_view *view, bool *twin)
{
	size_t num = view->diff->rows.num;
	hsnap_auto(hsnap_freep) size_t *starts = calloc(num + 1, sizeof(*starts));
	hsnap_auto(hsnap_freep) const char **names = calloc(num + 1, sizeof(*names));
	hsnap_auto(hsnap_freep) uint64_t *keys = calloc(num + 1, sizeof(*keys));
	hsnap_auto(hsnap_line_deinit) struct hsnap_line text = { 0 };
	if (!starts || !names || !keys)
		return false;
	for (size_t i = 0; i < num; i++) {
		const struct hsnap_growth *row = &view->diff->rows.items[i];
		/* The states of one type are twins of each other only in name. */
		keys[i] = (uint64_t)row->snapshot << 32 | row->type;
		starts[i] = text.num;
		hsnap_add_growth_name(&text, view, row);
		hsnap_line_add_len(&text, "", 1);
	}
	for (size_t i = 0; i < num && !text.failed; i++)
		names[i] = text.text + starts[i];
	return !text.failed && hsnap_find_twins(names, keys, num, twin);
}

static bool fill_table(const struct hsnap_diff_view *view, const struct columns *columns,
		       struct hsnap_table *table, const struct summary *sum)
{
	const struct hsnap_diff *diff = view->diff;
	hsnap_auto(hsnap_freep) bool *twin = calloc(diff->rows.num + 1, sizeof(*twin));
	if (!twin || !find_twins(view, twin))
		return false;
	uint64_t shown = 0, left_out = 0, top = hsnap_top(view->emit->options, 25);
	bool shrunk_line = false;
	for (size_t i = 0; i < diff->rows.num; i++) {
		const struct hsnap_growth *row = &diff->rows.items[i];
		int64_t growth = growth_of(view, row);
		if (!growth || (growth < 0 && top != UINT64_MAX))
			continue;
		if (shown++ >= top) {
			left_out++;
			continue;
		}
		if (growth < 0 && !shrunk_line) {
			add_line(columns, table, "shrank:");
			shrunk_line = true;
		}
		add_row(view, columns, table, row, sum->sum_grown, twin[i]);
	}
	char text[128];
	snprintf(text, sizeof(text), "%s grew (--top 0)", hsnap_plural(left_out, "more type").text);
	if (left_out)
		add_line(columns, table, text);
	struct hsnap_table_row *all = hsnap_table_add(table);
	struct numbers numbers = { diff->bytes_delta, diff->count_delta, diff->all_bytes, diff->all_count };
	set_numbers(view, columns, table, all, &numbers, sum->sum_grown);
	hsnap_table_set(table, all, columns->num - 1, "all");
	return !table->failed;
}

/* "11 types did not change, none shrank." and what grew by the same count. */
static void print_end(const struct hsnap_diff_view *view, const struct summary *sum)
{
	struct hsnap_line text = { 0 };
	if (!sum->grown)
		hsnap_line_add(&text, "No type grew; ");
	if (sum->unchanged)
		hsnap_line_addf(&text, "%s did not change, ", hsnap_plural(sum->unchanged, "type").text);
	else
		hsnap_line_add(&text, sum->grown ? "Every type changed, " : "every type changed, ");
	if (sum->shrunk) {
		struct hsnap_small amount = hsnap_growth(-sum->sum_shrunk);
		hsnap_line_addf(&text, "%s shrank by %s %s in all.", hsnap_plural(sum->shrunk, "type").text,
				  amount.text + (amount.text[0] == '+'), by_count(view) ? "blocks" : "bytes");
	} else {
		hsnap_line_add(&text, "none shrank.");
	}
	int64_t delta = 0;
	size_t companions = hsnap_diff_companions(view->diff, &delta);
	if (companions)
		hsnap_line_addf(&text, " %zu types grew by the same count, %s: they belong together.", companions,
				  hsnap_growth(delta).text);
	hsnap_line_add(&text, "\n");
	hsnap_print(view->emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
}

/* The first row that is a type and is reached: who keeps it is the next question. */
static void say_next(const struct hsnap_diff_view *view)
{
	for (size_t i = 0; i < view->diff->rows.num; i++) {
		const struct hsnap_growth *row = &view->diff->rows.items[i];
		const struct hsnap_snapshot *snapshot = view->snapshots[row->snapshot];
		if (growth_of(view, row) <= 0)
			return;
		if (row->state != HSNAP_LIVE || row->snapshot + 1 != view->diff->num_snapshots ||
		    snapshot->types.items[row->type].kind != HSNAP_TYPE_STRUCT)
			continue;
		struct hsnap_line command = { 0 }, name = { 0 };
		hsnap_add_type_name(&name, snapshot, row->type);
		hsnap_line_add(&command, "heapsnap why ");
		hsnap_line_add_quoted(&command, hsnap_line_text(&name));
		hsnap_line_add(&command, " ");
		hsnap_line_add_quoted(&command, view->paths[row->snapshot]);
		hsnap_emit_next(view->emit, hsnap_line_text(&command));
		hsnap_line_deinit(&command);
		hsnap_line_deinit(&name);
		return;
	}
}

bool hsnap_diff_print(const struct hsnap_diff_view *view)
{
	struct columns columns = { 0 };
	struct summary sum = summarize(view);
	make_columns(view, &columns);
	hsnap_auto(hsnap_table_deinit) struct hsnap_table table = {
		.emit = view->emit, .columns = columns.items, .num_columns = columns.num,
	};
	print_head(view);
	if (!fill_table(view, &columns, &table, &sum))
		return false;
	hsnap_table_print(&table);
	print_end(view, &sum);
	hsnap_print_account_growth(view->emit, view->snapshots[0], view->snapshots[view->diff->num_snapshots - 1],
				   view->diff->basis);
	say_next(view);
	return true;
}
