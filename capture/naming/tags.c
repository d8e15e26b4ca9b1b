/* SPDX-License-Identifier: MIT */
/* tags.c - from the texts of tags to types, and from types to claims. */
#include "capture/naming/tags.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture/naming/claims.h"
#include "capture/naming/spelling.h"
#include "capture/naming/work.h"
#include "capture/symbols/demangle.h"
#include "capture/wire.h"
#include "snapshot/base/cleanup.h"

#define MAX_STARS 4u
#define MAX_MEANT 64u /* types of one name that are looked at */

void hsnap_tags_deinit(struct hsnap_tags *tags)
{
	hsnap_vec_deinit(&tags->meanings);
	hsnap_vec_deinit(&tags->types);
}

/* ---- texts ---- */

/* "struct node *[]": what is behind all pointers and bounds. */
struct parsed {
	const char *base; /* borrowed, `len` bytes */
	size_t len;
	unsigned stars;
	bool run;
};

static const char *skip_words(const char *text, const char *end)
{
	static const char *const words[] = { "struct ", "class ", "union ", "enum ", "const ", "volatile " };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words);) {
		size_t len = strlen(words[i]);
		if ((size_t)(end - text) > len && !memcmp(text, words[i], len)) {
			text += len;
			i = 0;
		} else if (text < end && *text == ' ') {
			text++;
		} else {
			i++;
		}
	}
	return text;
}

/* What stands behind "T = ", as gcc and clang write it. */
static void skip_pretty(const char **text, const char **end)
{
	/* gcc tells behind it what other names mean that the function's declaration has. */
	const char *from = strstr(*text, "T = "), *to = from ? strchr(from, ';') : NULL;
	to = to ? to : strrchr(*text, ']');
	if (!from || !to || to < from + 4)
		return;
	*text = from + 4;
	*end = to;
}

/* The last bracket that opens; `text` itself: there is none, or nothing before it. */
static const char *find_open(const char *text, const char *end)
{
	do
		end--;
	while (end > text && *end != '[');
	return end;
}

static struct parsed parse(const char *text, unsigned how)
{
	const char *end = text + strlen(text), *open;
	struct parsed parsed = { 0 };
	if (how == HSNAP_TEXT_PRETTY)
		skip_pretty(&text, &end);
	text = skip_words(text, end);
	for (; end > text; end--) {
		if (end[-1] == '*' && parsed.stars < MAX_STARS) {
			parsed.stars++;
		} else if (end[-1] == ']' && !parsed.stars && (open = find_open(text, end)) > text) {
			parsed.run = true;
			end = open + 1;
		} else if (!isspace((unsigned char)end[-1])) {
			break;
		}
	}
	parsed.base = text;
	parsed.len = (size_t)(end - text);
	return parsed;
}

bool hsnap_tags_words(const struct hsnap_heap *heap, struct hsnap_strings *texts, struct hsnap_tag_words *words)
{
	struct hsnap_vec(hsnap_string) names = { 0 };
	bool room = true;
	for (size_t i = 1; i < heap->tags.num && room; i++) {
		const struct hsnap_tag *tag = &heap->tags.items[i];
		struct parsed parsed = parse(hsnap_str(&heap->texts, tag->text), tag->how);
		hsnap_string name = hsnap_strings_add_len(texts, parsed.base, parsed.len);
		room = name != HSNAP_NO_STRING && hsnap_vec_push(&names, name);
	}
	for (size_t i = 0; i < names.num && room; i++) /* now that they move no more */
		room = hsnap_vec_push(words, hsnap_str(texts, names.items[i]));
	hsnap_vec_deinit(&names);
	return room;
}

/* ---- frames ---- */

static bool is_annotation(const char *function)
{
	return !strncmp(function, "heapsnap_", 9) || !strncmp(function, "heapsnap::", 10);
}

void hsnap_hide_annotations(struct hsnap_symbols *symbols)
{
	for (size_t i = 0; i < symbols->pcs.num; i++) {
		struct hsnap_dpc *pc = &symbols->pcs.items[i];
		while (pc->num_frames > 1 &&
		       is_annotation(hsnap_str(&symbols->strings, symbols->frames.items[pc->first_frame].function))) {
			pc->first_frame++;
			pc->num_frames--;
		}
	}
}

/* ---- types ---- */

/* One a tag. */
struct named {
	hsnap_string base;  /* in symbols' strings; 0: the tag says nothing */
	unsigned stars;
	uint32_t next;      /* 1 + another tag of this spelling */
	uint32_t num;       /* types that are called so */
};

/* A type that a tag may mean. */
struct match {
	uint32_t tag;
	hsnap_dtype_id type;
};

struct finder {
	const struct hsnap_heap *heap;
	struct hsnap_symbols *symbols;
	struct hsnap_tags *tags;
	struct named *named; /* one a tag of the heap */
	struct hsnap_strings spellings;
	struct hsnap_keymap wanted; /* {spelling} → 1 + first tag */
	struct hsnap_vec(struct match) matches;
	bool failed; /* out of memory */
};

static void finder_deinit(struct finder *finder)
{
	free(finder->named);
	hsnap_strings_deinit(&finder->spellings);
	hsnap_keymap_deinit(&finder->wanted);
	hsnap_vec_deinit(&finder->matches);
}

/* Only what can be the name of a type gets to the demangler. */
static bool is_mangled(const char *text)
{
	return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")] == '\0';
}

/* The texts of the tags as people write them, in symbols' strings: one a tag; 0 where there is none. */
static enum hsnap_code read_texts(struct finder *finder, hsnap_string *texts, struct hsnap_error *err)
{
	static const struct hsnap_demangle_options ordinary = { 0 };
	const struct hsnap_heap *heap = finder->heap;
	struct hsnap_vec(hsnap_string) mangled = { 0 };
	for (size_t i = 1; i < heap->tags.num && !finder->failed; i++) {
		const struct hsnap_tag *tag = &heap->tags.items[i];
		const char *text = hsnap_str(&heap->texts, tag->text);
		text += tag->how == HSNAP_TEXT_MANGLED && *text == '*';
		texts[i] = hsnap_strings_addf(&finder->symbols->strings, "%s%s", text, tag->cut ? "…" : "");
		finder->failed |= texts[i] == HSNAP_NO_STRING;
		if (tag->how == HSNAP_TEXT_MANGLED && is_mangled(text))
			finder->failed |= !hsnap_vec_push(&mangled, texts[i]);
	}
	hsnap_string *names = calloc(mangled.num + 1, sizeof(*names));
	finder->failed |= !names;
	enum hsnap_code code = HSNAP_OK;
	if (mangled.num && !finder->failed)
		code = hsnap_demangle(&finder->symbols->strings, mangled.items, mangled.num, &ordinary, names, err);
	for (size_t i = 1, n = 0; n < mangled.num && !finder->failed && !code; i++)
		if (texts[i] == mangled.items[n] && heap->tags.items[i].how == HSNAP_TEXT_MANGLED) {
			texts[i] = names[n] ? names[n] : texts[i];
			n++;
		}
	free(names);
	hsnap_vec_deinit(&mangled);
	return code;
}

static void want(struct finder *finder, struct hsnap_key key, uint32_t tag)
{
	bool is_new;
	uint32_t *first = hsnap_keymap_at(&finder->wanted, key, &is_new);
	finder->failed |= !first;
	if (first) {
		finder->named[tag].next = *first;
		*first = tag + 1;
	}
}

static void name_tag(struct finder *finder, struct hsnap_spelling *spelling, uint32_t tag, hsnap_string text)
{
	struct hsnap_strings *strings = &finder->symbols->strings;
	hsnap_auto(hsnap_freep) char *copy = strdup(hsnap_str(strings, text)); /* which moves as the strings grow */
	finder->failed |= !copy;
	if (!copy)
		return;
	struct parsed parsed = parse(copy, finder->heap->tags.items[tag].how);
	copy[parsed.base + parsed.len - copy] = '\0';
	finder->tags->meanings.items[tag].run = parsed.run;
	finder->named[tag].stars = parsed.stars;
	finder->named[tag].base = hsnap_strings_add(strings, parsed.base);
	hsnap_string spelled = hsnap_spell(spelling, parsed.base) ? hsnap_strings_add(&finder->spellings, spelling->text) : HSNAP_NO_STRING;
	finder->failed |= finder->named[tag].base == HSNAP_NO_STRING || spelled == HSNAP_NO_STRING;
	if (!finder->failed && spelled)
		want(finder, (struct hsnap_key){ spelled, 0 }, tag);
}

/* All tags of a spelling may mean the type. */
static void match(struct finder *finder, hsnap_string spelled, hsnap_dtype_id type)
{
	uint32_t tag = spelled ? hsnap_keymap_get(&finder->wanted, (struct hsnap_key){ spelled, 0 }) : 0;
	for (; tag && !finder->failed; tag = finder->named[tag - 1].next)
		if (finder->named[tag - 1].num < MAX_MEANT) {
			finder->named[tag - 1].num++;
			finder->failed |= !hsnap_vec_push(&finder->matches, (struct match){ tag - 1, type });
		}
}

static void match_name(struct finder *finder, struct hsnap_spelling *spelling, hsnap_string name, hsnap_dtype_id type)
{
	if (!name)
		return;
	if (!hsnap_spell(spelling, hsnap_str(&finder->symbols->strings, name))) {
		finder->failed = true;
		return;
	}
	hsnap_string spelled = hsnap_strings_add(&finder->spellings, spelling->text);
	finder->failed |= spelled == HSNAP_NO_STRING;
	if (!finder->failed)
		match(finder, spelled, type);
}

/* Complete types and what they are also called. */
static void match_types(struct finder *finder, struct hsnap_spelling *spelling)
{
	const struct hsnap_symbols *symbols = finder->symbols;
	for (hsnap_dtype_id id = 1; id < symbols->types.num && !finder->failed; id++) {
		uint8_t kind = hsnap_dtype(symbols, id)->kind;
		if (kind == HSNAP_DTYPE_STRUCT || kind == HSNAP_DTYPE_UNION)
			match_name(finder, spelling, hsnap_dtype(symbols, id)->name, id);
	}
	for (size_t i = 0; i < symbols->words.num && !finder->failed; i++)
		if (symbols->words.items[i].type)
			match_name(finder, spelling, symbols->words.items[i].name, symbols->words.items[i].type);
}

/* A name that nobody has: it is all that is known. */
static void add_names(struct finder *finder)
{
	for (uint32_t tag = 1; tag < finder->heap->tags.num && !finder->failed; tag++) {
		const struct named *named = &finder->named[tag];
		struct hsnap_dtype type = { .name = named->base, .kind = HSNAP_DTYPE_INCOMPLETE };
		if (named->num || !named->base)
			continue;
		finder->failed |= !hsnap_vec_push(&finder->symbols->types, type);
		hsnap_dtype_id id = (hsnap_dtype_id)finder->symbols->types.num - 1;
		/* The same name, if it was tagged in several ways: "struct t", "t *". */
		for (uint32_t other = tag; other < finder->heap->tags.num && !finder->failed; other++)
			if (finder->named[other].base == named->base && !finder->named[other].num) {
				finder->named[other].num = 1;
				finder->failed |= !hsnap_vec_push(&finder->matches, (struct match){ other, id });
			}
	}
}

static hsnap_dtype_id pointer_to(struct finder *finder, hsnap_dtype_id target)
{
	struct hsnap_symbols *symbols = finder->symbols;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		if (hsnap_dtype(symbols, id)->kind == HSNAP_DTYPE_POINTER && hsnap_dtype(symbols, id)->target == target)
			return id;
	struct hsnap_dtype pointer = { .kind = HSNAP_DTYPE_POINTER, .size = 8, .target = target,
				       .module = hsnap_dtype(symbols, target)->module };
	finder->failed |= !hsnap_vec_push(&symbols->types, pointer);
	return finder->failed ? 0 : (hsnap_dtype_id)symbols->types.num - 1;
}

static int by_tag(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static void keep_meanings(struct finder *finder)
{
	struct hsnap_tags *tags = finder->tags;
	if (finder->matches.num)
		qsort(finder->matches.items, finder->matches.num, sizeof(*finder->matches.items), by_tag);
	for (size_t i = 0; i < finder->matches.num && !finder->failed; i++) {
		const struct match *match = &finder->matches.items[i];
		struct hsnap_meaning *meaning = &tags->meanings.items[match->tag];
		hsnap_dtype_id type = match->type;
		for (unsigned star = 0; star < finder->named[match->tag].stars && !finder->failed; star++)
			type = pointer_to(finder, type);
		if (!meaning->num)
			meaning->first = (uint32_t)tags->types.num;
		finder->failed |= !hsnap_vec_push(&tags->types, type);
		meaning->num += !finder->failed;
	}
}

enum hsnap_code hsnap_find_tags(struct hsnap_work *work, struct hsnap_symbols *symbols, struct hsnap_error *err)
{
	const struct hsnap_heap *heap = work->heap;
	if (!symbols || !heap->tag_of || heap->tags.num < 2)
		return HSNAP_OK;
	hsnap_auto(finder_deinit) struct finder finder = { .heap = heap, .symbols = symbols, .tags = &work->tags };
	hsnap_auto(hsnap_spelling_deinit) struct hsnap_spelling spelling = { 0 };
	hsnap_auto(hsnap_freep) hsnap_string *texts = calloc(heap->tags.num, sizeof(*texts));
	finder.named = calloc(heap->tags.num, sizeof(*finder.named));
	finder.failed = !texts || !finder.named || hsnap_strings_add(&finder.spellings, "") == HSNAP_NO_STRING ||
			!hsnap_vec_reserve(&work->tags.meanings, heap->tags.num);
	enum hsnap_code code = finder.failed ? HSNAP_OK : read_texts(&finder, texts, err);
	if (code)
		return code;
	for (uint32_t tag = 0; tag < heap->tags.num && !finder.failed; tag++) {
		work->tags.meanings.items[work->tags.meanings.num++] = (struct hsnap_meaning){ 0 };
		if (tag)
			name_tag(&finder, &spelling, tag, texts[tag]);
	}
	if (!finder.failed)
		match_types(&finder, &spelling);
	add_names(&finder);
	keep_meanings(&finder);
	return finder.failed ? hsnap_no_memory(err) : HSNAP_OK;
}

/* ---- claims ---- */

/* In what way the block is an object of the type, or several; NONE: it is too small for one. */
static enum hsnap_form form_of(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type, bool run)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	uint64_t room = hsnap_object_room(work, b);
	if (!dtype->size)
		return run ? HSNAP_FORM_RUN : HSNAP_FORM_ONE;
	if (room < dtype->size)
		return hsnap_fit(work, b, type); /* one with less of a tail */
	if (dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR)
		return HSNAP_FORM_BYTES;
	if (run)
		return HSNAP_FORM_RUN;
	bool flexible = dtype->flags & HSNAP_DTYPE_FLEXIBLE;
	return room > dtype->size && !(room % dtype->size) && !flexible ? HSNAP_FORM_RUN : HSNAP_FORM_ONE;
}

/* The module that allocated the block; 0: not known. */
static uint32_t module_of(const struct hsnap_work *work, uint32_t b)
{
	uint32_t stack = work->heap->blocks.items[b].stack;
	const struct hsnap_raw_stack *raw = stack < work->heap->stacks.num ? &work->heap->stacks.items[stack] : NULL;
	const struct hsnap_target_module *module =
		raw && raw->num_pcs ? hsnap_target_module(work->target, work->heap->pcs.items[raw->first_pc]) : NULL;
	return module ? (uint32_t)(module - work->target->modules.items) : 0;
}

/* Of several types by one name: that of the module that allocated goes before others; then the first that fits. */
static void claim_block(struct hsnap_work *work, uint32_t b)
{
	struct hsnap_meaning *meaning = &work->tags.meanings.items[work->heap->tag_of[b]];
	uint32_t module = meaning->num > 1 ? module_of(work, b) : 0;
	hsnap_dtype_id best = 0;
	enum hsnap_form best_form = HSNAP_FORM_NONE;
	unsigned best_rank = 0;
	for (uint32_t i = 0; i < meaning->num; i++) {
		hsnap_dtype_id type = work->tags.types.items[meaning->first + i];
		enum hsnap_form form = form_of(work, b, type, meaning->run);
		unsigned rank = 1 + 2 * (form != HSNAP_FORM_NONE) + (module && hsnap_dtype(work->symbols, type)->module == module);
		if (rank > best_rank) {
			best = type;
			best_form = form;
			best_rank = rank;
		}
	}
	if (best && best_form) {
		hsnap_claim_block(work, b, best, best_form, HSNAP_EVIDENCE_TAG);
	} else if (best) {
		hsnap_reject_claim(work, b, best, HSNAP_FORM_ONE, HSNAP_EVIDENCE_TAG, HSNAP_VERDICT_SIZE);
		meaning->vetoed++;
	}
}

static bool say_vetoed(struct hsnap_work *work)
{
	for (size_t i = 0; i < work->tags.meanings.num; i++) {
		const struct hsnap_meaning *meaning = &work->tags.meanings.items[i];
		if (!meaning->vetoed)
			continue;
		hsnap_string note = hsnap_strings_addf(&work->snapshot->strings,
			"%u blocks that the program has tagged '%s' are too small for one, and are not called so", meaning->vetoed,
			hsnap_str(&work->heap->texts, work->heap->tags.items[i].text));
		if (note == HSNAP_NO_STRING || !hsnap_vec_push(&work->snapshot->notes, note))
			return false;
	}
	return true;
}

enum hsnap_code hsnap_claim_tags(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->tags.meanings.num)
		return HSNAP_OK;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		if (work->heap->tag_of[b])
			claim_block(work, b);
	return say_vetoed(work) ? HSNAP_OK : hsnap_no_memory(err);
}
