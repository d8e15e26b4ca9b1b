/* SPDX-License-Identifier: MIT */
/* take.c - the way from a live process or a core to a snapshot, phase by phase. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/account/account.h"
#include "capture/alloc/alloc.h"
#include "capture/alloc/foreign/foreign.h"
#include "capture/capture.h"
#include "capture/core/core.h"
#include "capture/freeze/freeze.h"
#include "capture/freeze/refuse.h"
#include "capture/ration.h"
#include "capture/naming/naming.h"
#include "capture/naming/rules.h"
#include "capture/naming/tags.h"
#include "capture/proc/proc.h"
#include "capture/roots/roots.h"
#include "capture/symbols/symbols.h"
#include "capture/target/scratch.h"
#include "capture/wire.h"
#include "snapshot/base/cleanup.h"

struct take {
	const struct hsnap_take_options *options;
	struct hsnap_proc proc;
	struct hsnap_proc_status status; /* as it was before the stop */
	struct hsnap_frozen frozen;
	struct hsnap_core_facts core; /* of options->core */
	struct hsnap_account_look look;
	struct hsnap_heap heap;
	struct hsnap_foreign foreign;
	struct hsnap_roots roots;
	struct hsnap_symbols *symbols;
	struct hsnap_snapshot *snapshot;
	int scratch; /* options->scratch, opened; -1: none */
	struct hsnap_ration ration;
	char exe[4096];
	uint64_t start_time;
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell(const struct take *take, const char *phase)
{
	if (take->options->progress)
		take->options->progress(take->options->progress_context, phase, 0, 0);
}

static enum hsnap_code check_interrupt(const struct take *take, struct hsnap_error *err)
{
	if (take->options->interrupted && *take->options->interrupted)
		return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	return HSNAP_OK;
}

/* What is only known while the process is there; a process that is gone shows in the freezing. */
static void look_at_process(struct take *take)
{
	pid_t pid = take->options->pid;
	if (!hsnap_proc_status(&take->proc, pid, &take->status))
		take->status = (struct hsnap_proc_status){ 0 };
	if (!hsnap_proc_link(&take->proc, take->exe, sizeof(take->exe), "proc/%d/exe", pid))
		take->exe[0] = '\0';
	static const char deleted[] = " (deleted)";
	size_t len = strlen(take->exe), tail = sizeof(deleted) - 1;
	if (len > tail && !strcmp(take->exe + len - tail, deleted))
		take->exe[len - tail] = '\0';
	take->start_time = hsnap_proc_start_time(&take->proc, pid);
}

/* As it was started, as a rule; the file may have another name (a link leads to it). */
static const char *program_of(const struct take *take)
{
	const char *comm = take->status.comm;
	return *comm && strlen(comm) < 15 && !strpbrk(comm, " \t/'\"$`\\:;&|<>()*?") ? comm : take->exe;
}

/* Nothing could be walked: whose memory is it? */
static enum hsnap_code refuse_foreign(struct take *take, struct hsnap_error *err)
{
	const struct hsnap_foreign *foreign = &take->foreign;
	static const struct hsnap_heap none = { 0 };
	if (take->core.partial[0][0])
		return hsnap_fail(err, HSNAP_REFUSED, 0, "no heap of an allocator that this version can walk is in it: %s",
				  take->core.partial[0]);
	enum hsnap_code code = hsnap_foreign_look(take->frozen.target, &none, program_of(take), &take->foreign, err);
	if (code)
		return code;
	hsnap_fail(err, HSNAP_REFUSED, 0, "%s", foreign->sentence[0] ? foreign->sentence
							: "no heap of an allocator that this version can walk is in it");
	if (foreign->mend[0])
		return hsnap_hint(err, HSNAP_REFUSED, "%s", foreign->mend);
	return HSNAP_REFUSED;
}

static enum hsnap_code read_heap(struct take *take, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_heap_read(take->frozen.target, take->options->from, &take->heap, err);
	if (code == HSNAP_NOT_FOUND)
		return refuse_foreign(take, err);
	if (!code)
		code = hsnap_foreign_look(take->frozen.target, &take->heap, program_of(take), &take->foreign, err);
	if (code == HSNAP_FAULT && take->core.partial[0][0])
		hsnap_context(err, code, "%s", take->core.partial[0]);
	/* An agent of another version, or one that stood aside, is a target not to be captured. */
	if (code == HSNAP_UNSUPPORTED || code == HSNAP_FORMAT) {
		if (err)
			err->code = HSNAP_REFUSED;
		return HSNAP_REFUSED;
	}
	return code;
}

struct asks hsnap_vec_body(struct hsnap_ask);

static int by_pc(const void *a, const void *b)
{
	const struct hsnap_ask *x = a, *y = b;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* In order, each program counter once.  Where one is both a return address and the place where a
 * thread stands, it is looked up as the former: it is the call before it that tells more. */
static void merge_asks(struct asks *asks)
{
	size_t last = 0;
	qsort(asks->items, asks->num, sizeof(*asks->items), by_pc);
	for (size_t i = 1; i < asks->num; i++) {
		struct hsnap_ask *kept = &asks->items[last], next = asks->items[i];
		if (next.pc != kept->pc)
			asks->items[++last] = next;
		else
			kept->what = ((kept->what | next.what) & ~HSNAP_ASK_EXACT) |
				     (kept->what & next.what & HSNAP_ASK_EXACT);
	}
	if (asks->num)
		asks->num = last + 1;
}

static bool collect_asks(const struct take *take, struct asks *asks)
{
	if (!hsnap_vec_reserve(asks, take->heap.pcs.num + take->roots.frames.num))
		return false;
	for (size_t i = 0; i < take->heap.pcs.num && !take->options->without_sites; i++)
		asks->items[asks->num++] = (struct hsnap_ask){ .pc = take->heap.pcs.items[i], .what = HSNAP_ASK_RESULT };
	for (size_t i = 0; i < take->roots.frames.num; i++) {
		const struct hsnap_root_frame *frame = &take->roots.frames.items[i];
		asks->items[asks->num++] = (struct hsnap_ask){
			.pc = frame->regs.value[HSNAP_REG_PC],
			.what = HSNAP_ASK_LOCALS | (frame->exact_pc ? HSNAP_ASK_EXACT : 0),
		};
	}
	merge_asks(asks);
	return true;
}

static bool add_reason(struct take *take, bool partial, const char *text)
{
	hsnap_string string = hsnap_strings_add(&take->snapshot->strings, text);
	if (string == HSNAP_NO_STRING)
		return false;
	return partial ? hsnap_vec_push(&take->snapshot->partial_reasons, string)
		       : hsnap_vec_push(&take->snapshot->notes, string);
}

/* Of the user's rules and the program's tags.  false: out of memory. */
static bool list_words(const struct take *take, struct hsnap_strings *texts, struct hsnap_tag_words *words)
{
	size_t num = 0;
	hsnap_auto(hsnap_freep) const char **rules = take->options->rules ? hsnap_rules_words(take->options->rules, &num) : NULL;
	bool room = rules || !take->options->rules;
	for (size_t i = 0; i < num && room; i++)
		room = hsnap_vec_push(words, rules[i]);
	return room && hsnap_tags_words(&take->heap, texts, words);
}

/* Without debug info there is still a snapshot: sites and sizes label the blocks. */
static enum hsnap_code read_symbols(struct take *take, struct hsnap_error *err)
{
	struct asks asks = { 0 };
	struct hsnap_error why;
	if (!collect_asks(take, &asks))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	struct hsnap_strings texts = { 0 };
	struct hsnap_tag_words words = { 0 };
	enum hsnap_code code = HSNAP_NO_MEMORY;
	if (list_words(take, &texts, &words)) {
		struct hsnap_wanted wanted = { words.items, words.num };
		code = hsnap_symbols_load_words(take->frozen.target, asks.items, asks.num, words.num ? &wanted : NULL, &take->symbols, &why);
	} else {
		hsnap_fail(&why, code, 0, "out of memory");
	}
	hsnap_strings_deinit(&texts);
	hsnap_vec_deinit(&words);
	hsnap_vec_deinit(&asks);
	if (code == HSNAP_NO_MEMORY)
		return hsnap_fail(err, code, 0, "%s", why.message);
	if (code && !add_reason(take, false, why.message))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	return HSNAP_OK;
}

static bool add_core_reasons(struct take *take)
{
	bool ok = true;
	for (size_t i = 0; i < HSNAP_CORE_NOTES; i++) {
		ok = ok && (!take->core.partial[i][0] || add_reason(take, true, take->core.partial[i]));
		ok = ok && (!take->core.notes[i][0] || add_reason(take, false, take->core.notes[i]));
	}
	return ok;
}

static bool add_foreign(struct take *take)
{
	const struct hsnap_foreign *foreign = &take->foreign;
	char text[sizeof(foreign->sentence) + sizeof(foreign->mend) + 2];
	snprintf(text, sizeof(text), "%s%s%s", foreign->sentence, foreign->mend[0] ? ": " : "", foreign->mend);
	return !text[0] || add_reason(take, foreign->noteworthy, text);
}

/* What of the program's annotations came to nothing. */
static bool add_annotations(struct take *take)
{
	const struct hsnap_heap *heap = &take->heap;
	char text[200];
	snprintf(text, sizeof(text), "%" PRIu64 " objects of the program's pools, %" PRIu64 " bytes; around them in %" PRIu64
		 " slabs %" PRIu64 " bytes that are no blocks", heap->num_objects, heap->object_bytes, heap->num_slabs, heap->slab_bytes);
	if ((heap->num_objects || heap->num_slabs) && !add_reason(take, false, text))
		return false;
	snprintf(text, sizeof(text), "%" PRIu64 " objects of the program's pools are on record where these have no memory", heap->objects_gone);
	if (heap->objects_gone && !add_reason(take, false, text))
		return false;
	snprintf(text, sizeof(text), "%" PRIu64 " annotations of the program found no place", heap->notes_lost);
	if (heap->notes_lost && !add_reason(take, true, text))
		return false;
	snprintf(text, sizeof(text), "%" PRIu64 " annotations of the program are of addresses where no block is", heap->notes_astray);
	return !heap->notes_astray || add_reason(take, false, text);
}

static bool fill_facts(struct take *take)
{
	struct hsnap_facts *facts = &take->snapshot->facts;
	struct hsnap_strings *strings = &take->snapshot->strings;
	const struct hsnap_heap *heap = &take->heap;
	facts->pid = take->options->core ? take->core.pid : (uint64_t)take->options->pid;
	facts->start_time = take->start_time;
	facts->taken_at = take->frozen.released_at;
	facts->pause_ns = take->frozen.pause_ns;
	facts->epoch_start = heap->epoch_start;
	facts->comm = hsnap_strings_add(strings, take->status.comm);
	facts->exe = hsnap_strings_add(strings, take->exe);
	facts->source = hsnap_strings_add(strings, take->options->core ? "core" : heap->source);
	facts->freeze = hsnap_strings_add(strings, take->frozen.mode);
	facts->basis = heap->requested_known ? HSNAP_BASIS_REQUESTED : HSNAP_BASIS_USABLE;
	facts->num_threads = (uint32_t)take->frozen.target->threads.num;
	facts->searched_modules = take->roots.searched_modules;
	facts->searched_tls = take->roots.searched_tls;
	facts->rss = take->status.rss;
	facts->swap = take->status.swap;
	facts->no_record = heap->no_record;
	facts->overruns = heap->overruns;
	facts->allocated_bytes = heap->allocated_bytes;
	facts->allocated_count = heap->allocated_count;
	facts->freed_bytes = heap->freed_bytes;
	facts->freed_count = heap->freed_count;
	if (heap->partial[0] && !add_reason(take, true, heap->partial))
		return false;
	if (take->roots.partial[0] && !add_reason(take, true, take->roots.partial))
		return false;
	if (!add_core_reasons(take) || !add_foreign(take) || !add_annotations(take))
		return false;
	if (take->frozen.note[0] && !add_reason(take, false, take->frozen.note))
		return false;
	if (take->frozen.lost) {
		char text[96];
		snprintf(text, sizeof(text), "%lu KiB of its memory could not be read", take->frozen.lost >> 10);
		if (!add_reason(take, true, text))
			return false;
	}
	return facts->comm != HSNAP_NO_STRING && facts->exe != HSNAP_NO_STRING && facts->source != HSNAP_NO_STRING &&
	       facts->freeze != HSNAP_NO_STRING;
}

/* Now that the blocks are counted the need is known.  A core endangers nobody. */
static enum hsnap_code check_need(const struct take *take, struct hsnap_error *err)
{
	bool on_disk = take->scratch >= 0;
	uint64_t need = hsnap_naming_need(&take->heap, on_disk ? 0 : take->frozen.copied);
	return take->options->core ? HSNAP_OK : hsnap_refuse_rest(&take->proc, need, on_disk, err);
}

/* All that is done once the target runs again. */
static enum hsnap_code make_snapshot(struct take *take, struct hsnap_error *err)
{
	tell(take, "walking the heap");
	enum hsnap_code code = read_heap(take, err);
	if (!code)
		code = check_interrupt(take, err);
	if (!code)
		code = check_need(take, err);
	if (code)
		return code;
	code = hsnap_roots_find(take->frozen.target, &take->frozen.kernel, &take->heap, &take->roots, err);
	if (code)
		return code;
	take->snapshot = hsnap_snapshot_create();
	if (!take->snapshot || !fill_facts(take))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	tell(take, "reading debug info");
	code = read_symbols(take, err);
	if (!code)
		code = check_interrupt(take, err);
	if (code)
		return code;
	tell(take, "naming blocks");
	code = hsnap_name_and_connect(take->frozen.target, &take->heap, &take->roots, take->symbols, take->options->rules, take->snapshot,
				      err);
	if (!code)
		code = hsnap_account_fill(take->frozen.target, &take->heap, &take->frozen.kernel, &take->look, take->snapshot,
					  err);
	return code ? code : check_interrupt(take, err);
}

static enum hsnap_code freeze(struct take *take, struct hsnap_error *err)
{
	const struct hsnap_take_options *options = take->options;
	struct hsnap_freeze_options how = {
		.proc = &take->proc, .pid = options->pid, .mode = options->freeze, .max_pause_ns = options->max_pause_ns,
		.suspend_seccomp = options->suspend_seccomp, .interrupted = &take->ration.halt,
	};
	enum hsnap_code code = hsnap_proc_init(&take->proc, "/", err);
	if (!code)
		code = hsnap_refuse_proc(&take->proc, err); /* in another one the number is somebody else's */
	if (code)
		return code;
	look_at_process(take);
	if (options->scratch)
		code = hsnap_scratch_open(options->scratch, &take->scratch, err);
	if (code)
		return code;
	how.scratch = take->scratch;
	tell(take, "copying");
	hsnap_ration_begin(&take->ration, &take->proc, options->interrupted);
	code = hsnap_freeze(&how, &take->frozen, err);
	if (!code)
		hsnap_ration_relieve(&take->ration, take->frozen.target);
	if (code == HSNAP_UNSUPPORTED && err)
		err->code = HSNAP_REFUSED; /* a way that was asked for and cannot be had */
	return code == HSNAP_UNSUPPORTED ? HSNAP_REFUSED : code;
}

static enum hsnap_code has_room(void *context, uint64_t bytes, struct hsnap_error *err)
{
	const struct take *take = context;
	return hsnap_refuse_need(&take->proc, bytes, take->scratch, err);
}

static enum hsnap_code open_core(struct take *take, struct hsnap_error *err)
{
	const struct hsnap_take_options *options = take->options;
	struct hsnap_core_options how = { .path = options->core, .exe = options->exe, .has_room = has_room, .context = take };
	enum hsnap_code code = hsnap_proc_init(&take->proc, "/", err);
	if (!code && options->scratch)
		code = hsnap_scratch_open(options->scratch, &take->scratch, err);
	if (code)
		return code;
	how.scratch = take->scratch;
	tell(take, "reading the core");
	code = hsnap_core_open(&how, &take->frozen.target, &take->core, err);
	if (code)
		return code;
	take->frozen.mode = "";
	take->frozen.released_at = take->core.taken_at;
	memcpy(take->status.comm, take->core.comm, sizeof(take->core.comm));
	memcpy(take->exe, take->core.exe, sizeof(take->exe));
	return HSNAP_OK;
}

static enum hsnap_code run(struct take *take, struct hsnap_error *err)
{
	enum hsnap_code code = take->options->core ? open_core(take, err) : freeze(take, err);
	if (!code)
		code = hsnap_account_look(take->options->core ? NULL : &take->proc, take->frozen.target,
					  &take->frozen.kernel, &take->look, err);
	return code ? code : make_snapshot(take, err);
}

static void deinit(struct take *take)
{
	hsnap_symbols_destroy(take->symbols);
	hsnap_roots_deinit(&take->roots);
	hsnap_heap_deinit(&take->heap);
	hsnap_account_look_deinit(&take->look);
	hsnap_frozen_deinit(&take->frozen);
	hsnap_closefdp(&take->scratch);
	hsnap_proc_deinit(&take->proc);
	hsnap_snapshot_destroy(take->snapshot);
}

enum hsnap_code hsnap_capture_take(const struct hsnap_take_options *options, struct hsnap_snapshot **ret,
				   struct hsnap_error *err)
{
	uint64_t began = now(CLOCK_MONOTONIC);
	struct take take = { .options = options, .proc = { .root = -1 }, .scratch = -1 };
	enum hsnap_code code = run(&take, err);
	hsnap_ration_end(&take.ration);
	code = hsnap_ration_explain(&take.ration, code, take.scratch >= 0, err);
	if (code && code != HSNAP_INTERRUPTED) {
		if (options->core)
			hsnap_context(err, code, "cannot take the core '%s'", options->core);
		else if (take.status.comm[0])
			hsnap_context(err, code, "cannot take pid %d (%s)", options->pid, take.status.comm);
		else
			hsnap_context(err, code, "cannot take pid %d", options->pid);
	}
	if (!code) {
		take.snapshot->facts.elapsed_ns = now(CLOCK_MONOTONIC) - began;
		*ret = hsnap_take(take.snapshot);
	}
	deinit(&take);
	return code;
}
