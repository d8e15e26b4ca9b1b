/* SPDX-License-Identifier: MIT */
/* cmd_show.c - one snapshot: the process, how sure its names are, its types ranked. */
#include <stdlib.h>
#include <string.h>

#include "cli/account.h"
#include "cli/head.h"
#include "cli/names.h"
#include "cli/report.h"
#include "cli/resolve.h"
#include "cli/input.h"
#include "cli/table.h"
#include "snapshot/base/cleanup.h"

/* Labels that hold less than this share of the bytes are one row: they are many and small. */
#define SMALL_LABELS 0.01

struct rows hsnap_vec_body(struct hsnap_row);

struct view {
	struct hsnap_emit *emit;
	const struct hsnap_snapshot *snapshot;
	struct rows rows; /* one a type and state (live or unreachable), ranked */
	uint64_t bytes, count;
	bool fold_labels;
};

static int compare_types(const void *a, const void *b)
{
	const struct hsnap_row *left = a, *right = b;
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	return left->state - right->state;
}

/* What is only possibly leaked is reached all the same: it counts as live. */
static void join_states(struct rows *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->num; i++)
		if (rows->items[i].state != HSNAP_UNREACHABLE)
			rows->items[i].state = HSNAP_LIVE;
	if (rows->num)
		qsort(rows->items, rows->num, sizeof(*rows->items), compare_types);
	for (size_t i = 0; i < rows->num; i++) {
		struct hsnap_row *row = &rows->items[i], *last = kept ? &rows->items[kept - 1] : NULL;
		if (!last || compare_types(last, row)) {
			rows->items[kept++] = *row;
			continue;
		}
		last->count += row->count;
		last->bytes += row->bytes;
		last->usable += row->usable;
		last->items += row->items;
		last->no_record += row->no_record;
		for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
			last->bytes_by_confidence[c] += row->bytes_by_confidence[c];
	}
	rows->num = kept;
}

static int compare_numbers(uint64_t left, uint64_t right)
{
	return left < right ? 1 : left > right ? -1 : 0; /* greatest first */
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct view *view = context;
	const struct hsnap_row *left = a, *right = b;
	const struct hsnap_type *types = view->snapshot->types.items;
	int by_bytes = compare_numbers(left->bytes, right->bytes);
	int by_count = compare_numbers(left->count, right->count);
	bool count_first = view->emit->options->by == HSNAP_BY_COUNT;
	int order = count_first ? by_count : by_bytes;
	if (!order)
		order = count_first ? by_bytes : by_count;
	if (!order)
		order = strcmp(hsnap_text(view->snapshot, types[left->type].name),
			       hsnap_text(view->snapshot, types[right->type].name));
	if (!order)
		order = strcmp(hsnap_text(view->snapshot, types[left->type].holder),
			       hsnap_text(view->snapshot, types[right->type].holder));
	return order ? order : compare_types(left, right);
}

static bool make_view(struct view *view)
{
	const struct hsnap_snapshot *snapshot = view->snapshot;
	size_t labels = 0;
	uint64_t label_bytes = 0;
	if (!hsnap_vec_reserve(&view->rows, snapshot->rows.num))
		return false;
	for (size_t i = 0; i < snapshot->rows.num; i++)
		view->rows.items[view->rows.num++] = snapshot->rows.items[i];
	join_states(&view->rows);
	if (view->rows.num)
		qsort_r(view->rows.items, view->rows.num, sizeof(*view->rows.items), compare_rows, view);
	for (size_t i = 0; i < view->rows.num; i++) {
		const struct hsnap_row *row = &view->rows.items[i];
		view->bytes += row->bytes;
		view->count += row->count;
		/* What is seen in pools is worth a row, however small. */
		if (!hsnap_is_label(snapshot, row->type) || row->items)
			continue;
		labels++;
		label_bytes += row->bytes;
	}
	view->fold_labels = view->emit->options->top != UINT64_MAX && labels > 1 &&
			    (double)label_bytes < SMALL_LABELS * (double)view->bytes;
	return true;
}

static enum hsnap_confidence lowest_confidence(const struct hsnap_row *row)
{
	for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
		if (row->bytes_by_confidence[c])
			return (enum hsnap_confidence)c;
	return HSNAP_UNKNOWN;
}

static void print_head(const struct view *view, const char *path)
{
	const struct hsnap_facts *facts = &view->snapshot->facts;
	const uint64_t *named = facts->bytes_by_confidence;
	double all = (double)facts->heap_bytes;
	struct hsnap_line line = { 0 };
	hsnap_add_head(&line, view->emit, path, view->snapshot);
	hsnap_line_addf(&line, "     %s bytes in %s\n", hsnap_grouped(facts->heap_bytes).text,
			  hsnap_plural(facts->heap_count, "block").text);
	hsnap_line_addf(&line, "names    exact %s %%, proved %s %%, inferred %s %%, labelled %s %%",
			  hsnap_share((double)named[HSNAP_EXACT], all).text,
			  hsnap_share((double)named[HSNAP_PROVED], all).text,
			  hsnap_share((double)named[HSNAP_INFERRED], all).text,
			  hsnap_share((double)named[HSNAP_LABEL], all).text);
	if (named[HSNAP_UNKNOWN])
		hsnap_line_addf(&line, ", unknown %s %%", hsnap_share((double)named[HSNAP_UNKNOWN], all).text);
	hsnap_line_addf(&line, " of bytes; sizes as %s\n",
			  facts->basis == HSNAP_BASIS_REQUESTED ? "requested" : "usable");
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
	hsnap_print_reservations(view->emit, &path, &view->snapshot, 1);
	hsnap_print(view->emit, "\n");
}

static void set_numbers(const struct view *view, struct hsnap_table *table, struct hsnap_table_row *to,
			uint64_t bytes, uint64_t count)
{
	bool by_count = view->emit->options->by == HSNAP_BY_COUNT;
	double part = (double)(by_count ? count : bytes), whole = (double)(by_count ? view->count : view->bytes);
	hsnap_table_set(table, to, 0, hsnap_grouped(bytes).text);
	hsnap_table_set(table, to, 1, hsnap_share(part, whole).text);
	hsnap_table_set(table, to, 2, hsnap_grouped(count).text);
}

static const char *row_word(const struct hsnap_row *row)
{
	bool no_record = row->no_record && row->no_record == row->count;
	if (row->state == HSNAP_UNREACHABLE)
		return no_record ? "unreachable, no record" : "unreachable";
	return no_record ? "no record" : NULL;
}

static void add_row(const struct view *view, struct hsnap_table *table, const struct hsnap_row *row, bool twin)
{
	struct hsnap_table_row *to = hsnap_table_add(table);
	struct hsnap_line name = { 0 }, after = { 0 };
	set_numbers(view, table, to, row->bytes, row->count);
	hsnap_table_set(table, to, 3, hsnap_confidence_name(lowest_confidence(row)));
	hsnap_add_type_name(&name, view->snapshot, row->type);
	hsnap_table_set(table, to, 4, hsnap_line_text(&name));
	if (row->items && hsnap_is_label(view->snapshot, row->type))
		hsnap_line_addf(&after, "  (%s seen)", hsnap_grouped(row->items).text);
	else if (row->items && row->items != row->bytes) /* of characters the bytes say it */
		hsnap_line_addf(&after, "  (%s%s)", hsnap_at_most(view->snapshot), hsnap_plural(row->items, "item").text);
	hsnap_add_type_place(&after, view->emit, view->snapshot, row->type, twin);
	if (row->no_record && row->no_record != row->count)
		hsnap_line_addf(&after, "  (%s no record)", hsnap_grouped(row->no_record).text);
	if (after.num)
		hsnap_table_set_after(table, to, after.text);
	if (to)
		to->word = row_word(row);
	hsnap_line_deinit(&name);
	hsnap_line_deinit(&after);
}

/* Several rows as one: what did not fit, or small labels. */
static void add_sum(const struct view *view, struct hsnap_table *table, const struct hsnap_row *sum,
		    const char *confidence, const char *text)
{
	struct hsnap_table_row *to = hsnap_table_add(table);
	set_numbers(view, table, to, sum->bytes, sum->count);
	hsnap_table_set(table, to, 3, confidence);
	hsnap_table_set(table, to, 4, text);
}

/* twin[i]: row i shares its name with another type. */
static bool find_twins(const struct view *view, bool *twin)
{
	size_t num = view->rows.num;
	hsnap_auto(hsnap_freep) const char **names = calloc(num + 1, sizeof(*names));
	hsnap_auto(hsnap_freep) uint64_t *keys = calloc(num + 1, sizeof(*keys));
	hsnap_auto(hsnap_line_deinit) struct hsnap_line text = { 0 };
	hsnap_auto(hsnap_freep) size_t *starts = calloc(num + 1, sizeof(*starts));
	if (!names || !keys || !starts)
		return false;
	for (size_t i = 0; i < num; i++) {
		keys[i] = view->rows.items[i].type;
		starts[i] = text.num;
		hsnap_add_type_name(&text, view->snapshot, view->rows.items[i].type);
		hsnap_line_add_len(&text, "", 1);
	}
	if (text.failed)
		return false;
	for (size_t i = 0; i < num; i++)
		names[i] = text.text + starts[i];
	return hsnap_find_twins(names, keys, num, twin);
}

static const struct hsnap_column columns[] = {
	{ "Bytes", 12, false }, { "%", 7, false }, { "Count", 12, false }, { "Name", 9, true }, { "Type", 0, true },
};

static bool fill_table(const struct view *view, struct hsnap_table *table)
{
	hsnap_auto(hsnap_freep) bool *twin = calloc(view->rows.num + 1, sizeof(*twin));
	if (!twin || !find_twins(view, twin))
		return false;
	struct hsnap_row labels = { 0 }, rest = { 0 };
	uint64_t shown = 0, num_labels = 0, num_rest = 0, top = hsnap_top(view->emit->options, 25);
	for (size_t i = 0; i < view->rows.num; i++) {
		const struct hsnap_row *row = &view->rows.items[i];
		bool fold = view->fold_labels && hsnap_is_label(view->snapshot, row->type) && !row->items;
		if (!fold && shown++ < top) {
			add_row(view, table, row, twin[i]);
			continue;
		}
		struct hsnap_row *sum = fold ? &labels : &rest;
		sum->bytes += row->bytes;
		sum->count += row->count;
		*(fold ? &num_labels : &num_rest) += 1;
	}
	char text[128];
	if (num_rest) {
		snprintf(text, sizeof(text), "%s (--top 0)", hsnap_plural(num_rest, "more type").text);
		add_sum(view, table, &rest, "", text);
	}
	if (num_labels) {
		snprintf(text, sizeof(text), "%s without a type (--top 0)",
			 hsnap_plural(num_labels, "kind").text);
		add_sum(view, table, &labels, "label", text);
	}
	add_sum(view, table, &(struct hsnap_row){ .bytes = view->bytes, .count = view->count }, "", "all");
	return !table->failed;
}

static bool print_text(const struct view *view, const char *path)
{
	hsnap_auto(hsnap_table_deinit) struct hsnap_table table = {
		.emit = view->emit, .columns = columns, .num_columns = sizeof(columns) / sizeof(*columns),
	};
	print_head(view, path);
	if (!fill_table(view, &table))
		return false;
	hsnap_table_print(&table);
	hsnap_print_account(view->emit, view->snapshot);
	return true;
}

static void emit_confidences(struct hsnap_emit *emit, const struct hsnap_row *row)
{
	hsnap_emit_string(emit, "confidence", hsnap_confidence_name(lowest_confidence(row)));
	hsnap_emit_begin_object(emit, "bytes_by_confidence");
	for (int c = HSNAP_NUM_CONFIDENCES - 1; c >= 0; c--)
		if (row->bytes_by_confidence[c])
			hsnap_emit_u64(emit, hsnap_confidence_name((enum hsnap_confidence)c),
				       row->bytes_by_confidence[c]);
	hsnap_emit_end_object(emit);
}

static bool emit_row(const struct view *view, const struct hsnap_row *row)
{
	struct hsnap_emit *emit = view->emit;
	const struct hsnap_snapshot *snapshot = view->snapshot;
	bool label = hsnap_is_label(snapshot, row->type);
	hsnap_auto(hsnap_freep) char *id = hsnap_type_identity(snapshot, row->type);
	hsnap_auto(hsnap_line_deinit) struct hsnap_line name = { 0 }, full = { 0 }, source = { 0 };
	if (!id)
		return false;
	hsnap_add_type_name(&name, snapshot, row->type);
	hsnap_add_full_name(&full, snapshot, row->type);
	hsnap_add_type_source(&source, snapshot, row->type);
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "id", id);
	hsnap_emit_string_or_null(emit, "type", label ? "" : hsnap_line_text(&name));
	hsnap_emit_string_or_null(emit, "full_type", label ? "" : hsnap_line_text(&full));
	hsnap_emit_string_or_null(emit, "label", label ? hsnap_line_text(&name) : "");
	hsnap_emit_string_or_null(emit, "module", hsnap_module_name(snapshot, hsnap_type_module(snapshot, row->type)));
	hsnap_emit_string_or_null(emit, "source", hsnap_line_text(&source));
	emit_confidences(emit, row);
	hsnap_emit_u64(emit, "no_record", row->no_record);
	hsnap_emit_u64(emit, "bytes", row->bytes);
	hsnap_emit_u64(emit, "count", row->count);
	if (row->items)
		hsnap_emit_u64(emit, "items", row->items);
	else
		hsnap_emit_null(emit, "items");
	hsnap_emit_string(emit, "state", hsnap_state_name(row->state));
	hsnap_emit_address(emit, "sample", row->sample);
	hsnap_emit_end_object(emit);
	return true;
}

static bool emit_rows(const struct view *view, const char *path)
{
	struct hsnap_emit *emit = view->emit;
	bool ok = true;
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.types/1");
	hsnap_emit_snapshot(emit, "snapshot", path, view->snapshot);
	hsnap_emit_begin_rows(emit, "types");
	for (size_t i = 0; ok && i < view->rows.num; i++)
		ok = emit_row(view, &view->rows.items[i]);
	if (hsnap_emit_needs_header(emit)) {
		emit->header_only = true;
		ok = emit_row(view, &(struct hsnap_row){ 0 });
	}
	hsnap_emit_end_array(emit);
	hsnap_emit_end_object(emit);
	return ok;
}

/* Who keeps the first type of the table is the next question. */
static void say_next(const struct view *view, const char *path)
{
	for (size_t i = 0; i < view->rows.num; i++) {
		hsnap_type_id type = view->rows.items[i].type;
		if (view->snapshot->types.items[type].kind != HSNAP_TYPE_STRUCT || view->rows.items[i].state != HSNAP_LIVE)
			continue;
		hsnap_auto(hsnap_freep) char *name = hsnap_unique_name(view->snapshot, type);
		hsnap_auto(hsnap_line_deinit) struct hsnap_line command = { 0 };
		hsnap_line_add(&command, "heapsnap why ");
		hsnap_line_add_quoted(&command, name ? name : "");
		hsnap_line_add(&command, " ");
		hsnap_add_input(&command, view->emit->options, path);
		hsnap_emit_next(view->emit, hsnap_line_text(&command));
		return;
	}
}

static bool print_answer(struct hsnap_emit *emit, const char *path, const struct hsnap_snapshot *snapshot)
{
	struct view view = { .emit = emit, .snapshot = snapshot };
	bool ok = make_view(&view);
	if (ok)
		ok = emit->format == HSNAP_AS_TEXT ? print_text(&view, path) : emit_rows(&view, path);
	say_next(&view, path);
	hsnap_vec_deinit(&view.rows);
	return ok;
}

int hsnap_cmd_show(int argc, char **argv)
{
	struct hsnap_options options;
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	hsnap_auto(hsnap_input_deinit) struct hsnap_input source = { 0 };
	status = hsnap_input_open(&options, options.args[0], HSNAP_LOAD_TABLE, &source);
	if (status != HSNAP_GO_ON)
		return status;
	struct hsnap_error err;
	if (options.expand && hsnap_snapshot_expand_rows(source.snapshot, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	struct hsnap_emit emit;
	hsnap_emit_open(&emit, &options);
	if (!print_answer(&emit, source.path, source.snapshot))
		emit.out.failed = true;
	return hsnap_emit_close(&emit, hsnap_input_status(&options, source.snapshot));
}
