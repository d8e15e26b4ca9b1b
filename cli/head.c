/* SPDX-License-Identifier: MIT */
/* head.c - which snapshot an answer is about. */
#include "cli/head.h"

#include <string.h>

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

struct clauses {
	struct hsnap_line *to;
	const struct hsnap_emit *emit;
	const char *path; /* whose they are, where that has to be said; or NULL */
	const char *word;
};

static void add_clause(const struct clauses *clauses, const char *clause)
{
	size_t start = clauses->to->num;
	hsnap_line_add(clauses->to, clauses->word);
	hsnap_line_pad(clauses->to, start, 9);
	if (clauses->path) {
		hsnap_line_add_escaped(clauses->to, clauses->path, clauses->emit->charset);
		hsnap_line_add(clauses->to, ": ");
	}
	hsnap_line_add_escaped(clauses->to, clause, clauses->emit->charset);
	hsnap_line_add(clauses->to, "\n");
}

static void add_counted(const struct clauses *clauses, uint64_t blocks, const char *what)
{
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "%s %s", hsnap_plural(blocks, "block").text, what);
	if (blocks)
		add_clause(clauses, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
}

static void add_partial(const struct clauses *clauses, const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->partial_reasons.num; i++)
		add_clause(clauses, hsnap_text(snapshot, snapshot->partial_reasons.items[i]));
}

static void add_notes(const struct clauses *clauses, const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->notes.num; i++)
		add_clause(clauses, hsnap_text(snapshot, snapshot->notes.items[i]));
	add_counted(clauses, snapshot->facts.overruns, "written past their end");
	add_counted(clauses, snapshot->facts.no_record, "without a record of the agent, counted with usable size");
}

/* Has every snapshot the same to say?  Then whose it is need not be said. */
static bool are_alike(struct clauses clauses, void (*add)(const struct clauses *, const struct hsnap_snapshot *),
		      const struct hsnap_snapshot *const *snapshots, size_t num)
{
	struct hsnap_line first = { 0 }, other = { 0 };
	bool alike = true;
	clauses.to = &first;
	add(&clauses, snapshots[0]);
	clauses.to = &other;
	for (size_t i = 1; i < num && alike; i++) {
		hsnap_line_clear(&other);
		add(&clauses, snapshots[i]);
		alike = !strcmp(hsnap_line_text(&first), hsnap_line_text(&other));
	}
	hsnap_line_deinit(&first);
	hsnap_line_deinit(&other);
	return alike;
}

void hsnap_print_reservations(struct hsnap_emit *emit, const char *const *paths,
			      const struct hsnap_snapshot *const *snapshots, size_t num)
{
	static const struct {
		const char *word;
		void (*add)(const struct clauses *clauses, const struct hsnap_snapshot *snapshot);
	} kinds[] = { { "partial", add_partial }, { "note", add_notes } };
	struct hsnap_line line = { 0 };
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct clauses clauses = { .to = &line, .emit = emit, .word = kinds[k].word };
		bool alike = are_alike(clauses, kinds[k].add, snapshots, num);
		for (size_t i = 0; i < (alike ? 1 : num); i++) {
			clauses.path = alike ? NULL : paths[i];
			kinds[k].add(&clauses, snapshots[i]);
		}
	}
	hsnap_print(emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
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
