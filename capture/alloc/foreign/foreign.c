/* SPDX-License-Identifier: MIT */
/* foreign.c - the memory in question, the recognisers in turn, and the sentence. */
#include "capture/alloc/foreign/foreign.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/foreign/claims.h"
#include "capture/target/elf_image.h"
#include "snapshot/base/search.h"

#define MIN_BYTES ((uint64_t)256 << 10) /* below it nothing is looked at: a page or two are anybody's */
#define MOST_CLAIMS ((size_t)1 << 22)
#define MOST_TRIES ((uint64_t)1 << 24) /* of one recogniser: a few seconds of nothing but looking */

enum mend { MEND_MALLOC, MEND_TEXT, MEND_NONE };

static const struct allocator {
	const char *whose;               /* "… are jemalloc's" */
	void (*look)(struct foreign *foreign);
	const char *prefix;              /* of the names of its mappings; NULL: it has a recogniser */
	const char *library;             /* its own, where it comes as one */
	enum mend mend;
	const char *text;
} allocators[] = {
	{ "jemalloc's", foreign_look_jemalloc, NULL, "libjemalloc", MEND_MALLOC, NULL },
	{ "tcmalloc's", foreign_look_tcmalloc, NULL, "libtcmalloc", MEND_MALLOC, NULL },
	{ "mimalloc's", foreign_look_mimalloc, NULL, "libmimalloc", MEND_MALLOC, NULL },
	{ "musl's", foreign_look_musl, NULL, NULL, MEND_TEXT, "start a build of it for glibc with the agent" },
	{ "pymalloc's", foreign_look_pymalloc, NULL, NULL, MEND_TEXT, "start it with PYTHONMALLOC=malloc in its environment" },
	{ "Go's", foreign_look_go, NULL, NULL, MEND_TEXT, "let Go tell of its own heap: go tool pprof" },
	{ "the Java VM's", foreign_look_jvm, NULL, NULL, MEND_TEXT, "let the VM tell of its own heap: jcmd PID GC.heap_dump FILE" },
	{ ".NET's", foreign_look_dotnet, NULL, NULL, MEND_TEXT, "let .NET tell of its own heap: dotnet-gcdump collect -p PID" },
	{ "V8's", NULL, "v8", NULL, MEND_NONE, NULL },
	{ "PartitionAlloc's", NULL, "partition_alloc", NULL, MEND_NONE, NULL },
	{ "Scudo's", NULL, "scudo", NULL, MEND_NONE, NULL },
};
#define NUM_ALLOCATORS (sizeof(allocators) / sizeof(*allocators))

/* ---- spans ---- */

static void add(struct foreign *foreign, struct foreign_spans *spans, uint64_t start, uint64_t end)
{
	if (start < end && !hsnap_vec_push(spans, (struct foreign_span){ start, end }))
		foreign->no_memory = true;
}

void foreign_claim(struct foreign *foreign, uint64_t start, uint64_t end)
{
	struct foreign_span *last = foreign->claims.num ? &foreign->claims.items[foreign->claims.num - 1] : NULL;
	if (last && start >= last->start && start <= last->end) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	if (foreign->claims.num < MOST_CLAIMS)
		add(foreign, &foreign->claims, start, end);
}

void foreign_claim_data(struct foreign *foreign, uint64_t start, uint64_t end)
{
	add(foreign, &foreign->data, start, end);
}

static int by_start(const void *a, const void *b)
{
	const struct foreign_span *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static uint64_t sum(const struct foreign_spans *spans)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < spans->num; i++)
		bytes += spans->items[i].end - spans->items[i].start;
	return bytes;
}

/* Take what was claimed out of the spans; returns its bytes. */
static uint64_t settle(struct foreign *foreign)
{
	struct foreign_spans left = { 0 };
	uint64_t before = sum(&foreign->spans);
	size_t claim = 0;
	if (!foreign->claims.num)
		return 0;
	qsort(foreign->claims.items, foreign->claims.num, sizeof(*foreign->claims.items), by_start);
	for (size_t i = 0; i < foreign->spans.num; i++) {
		uint64_t at = foreign->spans.items[i].start, end = foreign->spans.items[i].end;
		for (; claim < foreign->claims.num && foreign->claims.items[claim].start < end; claim++) {
			const struct foreign_span *taken = &foreign->claims.items[claim];
			add(foreign, &left, at, taken->start);
			at = taken->end > at ? taken->end : at;
			if (taken->end > end)
				break; /* it goes on in the next one */
		}
		add(foreign, &left, at, end);
	}
	hsnap_vec_deinit(&foreign->spans);
	foreign->spans = left;
	foreign->claims.num = 0;
	return before - sum(&left);
}

/* ---- what is in question ---- */

static bool is_guarded(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	const struct hsnap_mapping *guard = mapping - 1;
	return mapping > target->mappings.items && guard->end == mapping->start &&
	       !(guard->prot & (HSNAP_PROT_READ | HSNAP_PROT_WRITE));
}

/* The first thread's, or one with a guard in front and a thread on it. */
static bool is_stack(const struct hsnap_target *target, const struct hsnap_thread_places *threads,
		     const struct hsnap_mapping *mapping)
{
	if (!strcmp(hsnap_str(&target->strings, mapping->path), "[stack]"))
		return true;
	if (!is_guarded(target, mapping))
		return false;
	for (size_t i = hsnap_threads_from(threads, mapping->start); i < threads->num && threads->items[i].at < mapping->end; i++) {
		uint64_t storage = target->threads.items[threads->items[i].thread].thread_pointer;
		if (storage >= mapping->start && storage < mapping->end)
			return true;
	}
	return false;
}

/* Resident bytes of [start, end) that are in no region; `region` is the first that may matter. */
static void add_unexplained(struct foreign *foreign, const struct hsnap_heap *heap, size_t *region, uint64_t start,
			    uint64_t end)
{
	while (*region < heap->regions.num && heap->regions.items[*region].end <= start)
		++*region;
	for (size_t i = *region; i < heap->regions.num && heap->regions.items[i].start < end; i++) {
		add(foreign, &foreign->spans, start, heap->regions.items[i].start);
		start = heap->regions.items[i].end > start ? heap->regions.items[i].end : start;
	}
	add(foreign, &foreign->spans, start, end);
}

static void gather(struct foreign *foreign, const struct hsnap_heap *heap, struct hsnap_foreign *ret)
{
	const struct hsnap_target *target = foreign->target;
	struct hsnap_thread_places threads = { 0 };
	size_t region = 0;
	if (!hsnap_threads_by_stack(target, &threads)) {
		foreign->no_memory = true;
		return;
	}
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		const struct hsnap_target_module *module =
			mapping->module < target->modules.num ? &target->modules.items[mapping->module] : NULL;
		uint64_t start, end, from = mapping->start;
		if (mapping->inode || !(mapping->prot & HSNAP_PROT_READ) ||
		    !strncmp(hsnap_str(&target->strings, mapping->path), "[v", 2))
			continue;
		/* The heap may continue a module's .bss in one mapping. */
		if (mapping->module && module)
			from = (module->end + HSNAP_FOREIGN_PAGE - 1) & ~(HSNAP_FOREIGN_PAGE - 1);
		bool stack = is_stack(target, &threads, mapping);
		while (from < mapping->end && hsnap_target_next_run(target, from, &start, &end) && start < mapping->end) {
			end = end < mapping->end ? end : mapping->end;
			ret->anonymous += end - start;
			if (!stack)
				add_unexplained(foreign, heap, &region, start, end);
			from = end;
		}
	}
	hsnap_vec_deinit(&threads);
	ret->unexplained = sum(&foreign->spans);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const struct hsnap_target_module *foreign_module(const struct foreign *foreign, const char *name)
{
	for (size_t i = 1; i < foreign->target->modules.num; i++) {
		const struct hsnap_target_module *module = &foreign->target->modules.items[i];
		if (!strncmp(base_name(hsnap_str(&foreign->target->strings, module->path)), name, strlen(name)))
			return module;
	}
	return NULL;
}

/* ---- the sentence ---- */

struct share {
	const struct allocator *allocator;
	uint64_t bytes;
};

static int greatest_first(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

struct text {
	char text[24];
};

static struct text size_text(uint64_t bytes)
{
	struct text text;
	double mib = (double)bytes / (1 << 20);
	snprintf(text.text, sizeof(text.text), mib >= 99.95 ? "%.0f MiB" : "%.1f MiB", mib);
	return text;
}

static void say_mend(const struct foreign *foreign, const struct allocator *allocator, struct hsnap_foreign *ret)
{
	const char *program = *foreign->program ? base_name(foreign->program) : "CMD";
	switch (allocator->mend) {
	case MEND_MALLOC:
		if (foreign_module(foreign, allocator->library))
			snprintf(ret->mend, sizeof(ret->mend), "start it with the agent: heapsnap run -- %.60s", program);
		else
			snprintf(ret->mend, sizeof(ret->mend), "start with the agent a build of %.60s that has glibc's malloc", program);
		break;
	case MEND_TEXT:
		snprintf(ret->mend, sizeof(ret->mend), "%s", allocator->text);
		break;
	case MEND_NONE:
		break;
	}
}

static HSNAP_PRINTF(2, 3) void append(struct hsnap_foreign *ret, const char *format, ...)
{
	size_t len = strlen(ret->sentence);
	va_list args;
	va_start(args, format);
	vsnprintf(ret->sentence + len, sizeof(ret->sentence) - len, format, args);
	va_end(args);
}

/* Of the greatest, and of the next and of nobody's where they are not small beside it. */
static void say_claimed(const struct share *shares, struct hsnap_foreign *ret)
{
	uint64_t rest = ret->unexplained - ret->claimed;
	struct text first = size_text(shares[0].bytes), second = size_text(shares[1].bytes);
	struct text all = size_text(ret->anonymous);
	append(ret, "%s of %s are %s", first.text, all.text, shares[0].allocator->whose);
	if (shares[1].bytes * 10 >= ret->claimed)
		append(ret, " and %s are %s", second.text, shares[1].allocator->whose);
	append(ret, ", which this version cannot walk");
	if (rest >= ret->claimed)
		append(ret, "; %s are of no allocator that is known", size_text(rest).text);
}

static void say_unknown(const struct foreign *foreign, struct hsnap_foreign *ret)
{
	const struct hsnap_target_module *loaded = NULL;
	for (size_t i = 0; i < NUM_ALLOCATORS && !loaded; i++)
		loaded = allocators[i].library ? foreign_module(foreign, allocators[i].library) : NULL;
	struct text unknown = size_text(ret->unexplained), all = size_text(ret->anonymous);
	append(ret, "%s of %s are of no allocator that is known", unknown.text, all.text);
	if (loaded)
		append(ret, " (%.40s is loaded)", base_name(hsnap_str(&foreign->target->strings, loaded->path)));
}

static void recognise(struct foreign *foreign, struct hsnap_foreign *ret)
{
	struct share shares[NUM_ALLOCATORS];
	for (size_t i = 0; i < NUM_ALLOCATORS; i++) {
		foreign->tries = MOST_TRIES;
		if (allocators[i].look)
			allocators[i].look(foreign);
		else
			foreign_look_names(foreign, allocators[i].prefix);
		shares[i] = (struct share){ &allocators[i], settle(foreign) };
		ret->claimed += shares[i].bytes;
	}
	qsort(shares, NUM_ALLOCATORS, sizeof(*shares), greatest_first);
	if (ret->claimed >= MIN_BYTES) {
		say_claimed(shares, ret);
		say_mend(foreign, shares[0].allocator, ret);
		/* A tenth: what is listed then still is nine tenths of what the program holds. */
		ret->noteworthy = ret->claimed * 10 >= ret->anonymous;
	} else {
		say_unknown(foreign, ret);
	}
}

enum hsnap_code hsnap_foreign_look(const struct hsnap_target *target, const struct hsnap_heap *heap, const char *program,
				   struct hsnap_foreign *ret, struct hsnap_error *err)
{
	struct foreign foreign = { .target = target, .program = program };
	*ret = (struct hsnap_foreign){ 0 };
	if (!hsnap_threads_by_pointer(target, &foreign.pointers))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	gather(&foreign, heap, ret);
	if (ret->unexplained >= MIN_BYTES)
		recognise(&foreign, ret);
	hsnap_vec_deinit(&foreign.spans);
	hsnap_vec_deinit(&foreign.claims);
	hsnap_vec_deinit(&foreign.data);
	hsnap_vec_deinit(&foreign.pointers);
	return foreign.no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}

uint32_t hsnap_foreign_allocator(const struct hsnap_target *target, uint64_t address)
{
	static const struct {
		const char *library, *function;
	} known[] = { { "libjemalloc", "mallctl" }, { "libtcmalloc", "tc_malloc" }, { "libmimalloc", "mi_malloc" } };
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, address);
	uint32_t index = mapping && mapping->module < target->modules.num ? mapping->module : 0;
	const struct hsnap_target_module *module = &target->modules.items[index];
	const char *name = index ? base_name(hsnap_str(&target->strings, module->path)) : "";
	uint64_t at;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i].library, strlen(known[i].library)) &&
		    hsnap_module_symbol(target, module, known[i].function, &at))
			return index;
	return 0;
}

/* What is claimed of the memory in question: what else a claim reaches into is not the allocator's to give away. */
static void add_regions(struct foreign *foreign, struct hsnap_heap *heap)
{
	const struct foreign_spans *spans = &foreign->spans;
	for (size_t c = 0; c < foreign->claims.num; c++) {
		const struct foreign_span *claim = &foreign->claims.items[c];
		size_t i = hsnap_first(spans->num, n, spans->items[n].end > claim->start);
		for (; i < spans->num && spans->items[i].start < claim->end && !foreign->no_memory; i++) {
			struct hsnap_region region = { spans->items[i].start, spans->items[i].end };
			region.start = claim->start > region.start ? claim->start : region.start;
			region.end = claim->end < region.end ? claim->end : region.end;
			foreign->no_memory = region.start < region.end && !hsnap_vec_push(&heap->regions, region);
		}
	}
}

enum hsnap_code hsnap_foreign_regions(const struct hsnap_target *target, struct hsnap_heap *heap, struct hsnap_error *err)
{
	struct foreign foreign = { .target = target, .program = "" };
	struct hsnap_foreign sums = { 0 };
	if (!hsnap_threads_by_pointer(target, &foreign.pointers))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	gather(&foreign, heap, &sums);
	for (size_t i = 0; i < NUM_ALLOCATORS && !foreign.no_memory; i++) {
		if (allocators[i].mend != MEND_MALLOC)
			continue;
		foreign.tries = MOST_TRIES;
		allocators[i].look(&foreign);
		add_regions(&foreign, heap);
		settle(&foreign);
	}
	for (size_t i = 0; i < foreign.data.num && !foreign.no_memory; i++)
		foreign.no_memory = !hsnap_vec_push(&heap->regions, (struct hsnap_region){ foreign.data.items[i].start,
											 foreign.data.items[i].end });
	hsnap_vec_deinit(&foreign.spans);
	hsnap_vec_deinit(&foreign.claims);
	hsnap_vec_deinit(&foreign.data);
	hsnap_vec_deinit(&foreign.pointers);
	return foreign.no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}
