/* SPDX-License-Identifier: MIT */
/* head.c - which snapshot an answer is about. */
#include "cli/head.h"

#include "cli/account.h"

void hsnap_add_process(struct hsnap_line *to, const struct hsnap_emit *emit,
		       const struct hsnap_snapshot *snapshot)
{
	const char *comm = hsnap_text(snapshot, snapshot->facts.comm);
	hsnap_line_add_escaped(to, *comm ? comm : "unknown program", emit->charset);
	if (snapshot->facts.pid)
		hsnap_line_addf(to, ", pid %llu", (unsigned long long)snapshot->facts.pid);
}

void hsnap_add_head(struct hsnap_line *to, const struct hsnap_emit *emit, const char *path,
		    const struct hsnap_snapshot *snapshot)
{
	hsnap_line_add_escaped(to, path, emit->charset);
	hsnap_line_addf(to, "   %s   ", hsnap_time(snapshot->facts.taken_at).text);
	hsnap_add_process(to, emit, snapshot);
}

static void print_clause(struct hsnap_emit *emit, const char *word, const char *clause)
{
	struct hsnap_line line = { 0 };
	hsnap_line_add(&line, word);
	hsnap_line_pad(&line, 0, 9);
	hsnap_line_add_escaped(&line, clause, emit->charset);
	hsnap_line_add(&line, "\n");
	hsnap_print(emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
}

void hsnap_print_partial(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->partial_reasons.num; i++)
		print_clause(emit, "partial", hsnap_text(snapshot, snapshot->partial_reasons.items[i]));
}

void hsnap_print_notes(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_facts *facts = &snapshot->facts;
	for (size_t i = 0; i < snapshot->notes.num; i++)
		print_clause(emit, "note", hsnap_text(snapshot, snapshot->notes.items[i]));
	if (facts->overruns)
		hsnap_printf(emit, "note     %s written past their end\n", hsnap_plural(facts->overruns, "block").text);
	if (facts->no_record)
		hsnap_printf(emit, "note     %s without a record of the agent, counted with usable size\n",
			     hsnap_plural(facts->no_record, "block").text);
}

static void emit_named(struct hsnap_emit *emit, const struct hsnap_facts *facts)
{
	hsnap_emit_begin_object(emit, "named");
	for (int c = HSNAP_NUM_CONFIDENCES - 1; c >= 0; c--)
		hsnap_emit_u64(emit, hsnap_confidence_name((enum hsnap_confidence)c), facts->bytes_by_confidence[c]);
	hsnap_emit_end_object(emit);
}

static void emit_texts(struct hsnap_emit *emit, const char *key, const struct hsnap_snapshot *snapshot,
		       const hsnap_string *texts, size_t num)
{
	hsnap_emit_begin_array(emit, key);
	for (size_t i = 0; i < num; i++)
		hsnap_emit_string(emit, NULL, hsnap_text(snapshot, texts[i]));
	hsnap_emit_end_array(emit);
}

void hsnap_emit_snapshot(struct hsnap_emit *emit, const char *key, const char *path,
			 const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_facts *facts = &snapshot->facts;
	hsnap_emit_begin_object(emit, key);
	hsnap_emit_string(emit, "path", path);
	hsnap_emit_u64(emit, "pid", facts->pid);
	hsnap_emit_string(emit, "comm", hsnap_text(snapshot, facts->comm));
	hsnap_emit_string(emit, "taken_at", hsnap_iso_time(facts->taken_at).text);
	hsnap_emit_string(emit, "source", hsnap_text(snapshot, facts->source));
	hsnap_emit_string(emit, "size_basis", facts->basis == HSNAP_BASIS_REQUESTED ? "requested" : "usable");
	hsnap_emit_bool(emit, "partial", snapshot->partial_reasons.num > 0);
	emit_texts(emit, "partial_reasons", snapshot, snapshot->partial_reasons.items, snapshot->partial_reasons.num);
	hsnap_emit_u64(emit, "heap_bytes", facts->heap_bytes);
	hsnap_emit_u64(emit, "heap_count", facts->heap_count);
	hsnap_emit_string(emit, "freeze", hsnap_text(snapshot, facts->freeze));
	hsnap_emit_u64(emit, "pause_ns", facts->pause_ns);
	hsnap_emit_u64(emit, "elapsed_ns", facts->elapsed_ns);
	emit_named(emit, facts);
	emit_texts(emit, "notes", snapshot, snapshot->notes.items, snapshot->notes.num);
	hsnap_emit_u64(emit, "no_record", facts->no_record);
	hsnap_emit_u64(emit, "overruns", facts->overruns);
	hsnap_emit_u64(emit, "allocated_bytes", facts->allocated_bytes);
	hsnap_emit_u64(emit, "allocated_count", facts->allocated_count);
	hsnap_emit_u64(emit, "freed_bytes", facts->freed_bytes);
	hsnap_emit_u64(emit, "freed_count", facts->freed_count);
	hsnap_emit_account(emit, snapshot);
	hsnap_emit_end_object(emit);
}
