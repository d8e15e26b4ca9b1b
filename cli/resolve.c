/* SPDX-License-Identifier: MIT */
/* resolve.c - from a word to types: names in several forms, patterns, parts, places. */
#include "cli/resolve.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/names.h"
#include "cli/text.h"
#include "snapshot/base/cleanup.h"

#define LONGEST_NAME 4096 /* longer ones are compared up to here */
#define NEAREST 3
#define LONGEST_NEAR 160 /* of a name that is measured against a mistyped one */

/* In the order in which they are tried; the first kind that matches decides. */
enum form { FULL, SHORT, BARE, NUM_FORMS };

struct resolver {
	const struct hsnap_snapshot *snapshot;
	struct hsnap_resolution *resolution;
	uint64_t *bytes, *count; /* of each type */
	struct hsnap_line wanted, place; /* the word, normalized; what stands behind its @ */
	struct hsnap_line key;
	bool empty_too; /* types without a block as well */
};

void hsnap_resolution_deinit(struct hsnap_resolution *resolution)
{
	free(resolution->wanted);
	hsnap_vec_deinit(&resolution->candidates);
	*resolution = (struct hsnap_resolution){ 0 };
}

bool hsnap_parse_address(const char *text, uint64_t *ret)
{
	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X') || !text[2] || strlen(text) > 18)
		return false;
	uint64_t value = 0;
	for (text += 2; *text; text++) {
		if (!isxdigit((unsigned char)*text))
			return false;
		value = value << 4 | (uint64_t)(isdigit((unsigned char)*text) ? *text - '0' : (*text | 0x20) - 'a' + 10);
	}
	*ret = value;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Length of "struct " and its like where a word begins, else 0. */
static size_t keyword_at(const char *text)
{
	static const char *const keywords[] = { "struct ", "class ", "union ", "enum " };
	for (size_t i = 0; i < 4; i++)
		if (!strncmp(text, keywords[i], strlen(keywords[i])))
			return strlen(keywords[i]);
	return 0;
}

/* Blanks around * , < > do not matter, nor do struct, class, union, enum. */
static void normalize(struct hsnap_line *to, const char *text)
{
	const char *const tight = "*,<>&";
	char last = '\0';
	for (size_t left = LONGEST_NAME; *text && left; left--) {
		size_t keyword = is_word(last) ? 0 : keyword_at(text);
		if (keyword) {
			text += keyword;
			continue;
		}
		if (*text == ' ' || *text == '\t') {
			text += strspn(text, " \t");
			if (last && !strchr(tight, last) && *text && !strchr(tight, *text)) {
				last = ' ';
				hsnap_line_add(to, " ");
			}
			continue;
		}
		last = *text++;
		hsnap_line_add_len(to, &last, 1);
	}
}

/* "a::B<c::D>" without what stands before "::"; of "A<b::C>::D" the class remains. */
static void strip_namespaces(char *text)
{
	static const char anonymous[] = "(anonymous namespace)::";
	char *out = text, *word = text;
	for (const char *at = text; *at;) {
		if (!strncmp(at, anonymous, strlen(anonymous))) {
			at += strlen(anonymous);
			continue;
		}
		if (at[0] == ':' && at[1] == ':' && out > text && is_word(out[-1])) {
			out = word; /* drop the word that was a namespace */
			at += 2;
			continue;
		}
		*out++ = *at;
		if (!is_word(*at))
			word = out;
		at++;
	}
	*out = '\0';
}

static bool key_equals(struct resolver *resolver, const char *name, const char *holder, bool bare)
{
	hsnap_line_clear(&resolver->key);
	normalize(&resolver->key, name);
	if (bare && resolver->key.text)
		strip_namespaces(resolver->key.text);
	struct hsnap_line *key = &resolver->key;
	if (!strcmp(hsnap_line_text(key), hsnap_line_text(&resolver->wanted)))
		return true;
	if (!*holder)
		return false;
	key->num = strlen(hsnap_line_text(key));
	hsnap_line_add(key, key->num ? " " : "");
	normalize(key, holder);
	return !strcmp(hsnap_line_text(key), hsnap_line_text(&resolver->wanted));
}

/* "Session.extra" of "in Session.extra". */
static const char *without_preposition(const char *holder)
{
	static const char *const words[] = { "in ", "from ", "behind " };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(holder, words[i], strlen(words[i])))
			return holder + strlen(words[i]);
	return holder;
}

/* "bytes in Session.extra", where the place has a row for each size. */
static bool is_any_size(struct resolver *resolver, const struct hsnap_type *type)
{
	const char *holder = hsnap_text(resolver->snapshot, type->holder);
	return type->kind == HSNAP_TYPE_LABEL && *holder &&
	       !strncmp(hsnap_line_text(&resolver->wanted), HSNAP_LABEL_ANY_SIZE " ", strlen(HSNAP_LABEL_ANY_SIZE " ")) &&
	       key_equals(resolver, HSNAP_LABEL_ANY_SIZE, holder, false);
}

static bool has_form(struct resolver *resolver, hsnap_type_id id, enum form form)
{
	const struct hsnap_snapshot *snapshot = resolver->snapshot;
	const struct hsnap_type *type = &snapshot->types.items[id];
	const char *name = hsnap_text(snapshot, type->name), *holder = hsnap_text(snapshot, type->holder);
	switch (form) {
	case FULL:
		return key_equals(resolver, hsnap_text(snapshot, type->full_name), holder, false);
	case SHORT:
		return key_equals(resolver, name, holder, false) || is_any_size(resolver, type) ||
		       (*holder && (key_equals(resolver, holder, "", false) ||
				    key_equals(resolver, without_preposition(holder), "", false)));
	case BARE:
		return key_equals(resolver, name, holder, true);
	case NUM_FORMS:
		break;
	}
	return false;
}

static bool ends_with_path(const char *path, const char *end)
{
	size_t path_len = strlen(path), len = strlen(end);
	return len && path_len >= len && !strcmp(path + path_len - len, end) &&
	       (path_len == len || path[path_len - len - 1] == '/');
}

/* Is the type declared at the place behind the @: "routes.c", "routes.c:12", "libfoo.so.1"? */
static bool is_at_place(struct resolver *resolver, hsnap_type_id id)
{
	const char *place = hsnap_line_text(&resolver->place);
	if (!*place)
		return true;
	const struct hsnap_snapshot *snapshot = resolver->snapshot;
	struct hsnap_line *key = &resolver->key;
	hsnap_line_clear(key);
	hsnap_add_type_source(key, snapshot, id);
	if (!strcmp(hsnap_line_text(key), place))
		return true;
	char *colon = key->text ? strrchr(key->text, ':') : NULL;
	if (colon)
		*colon = '\0';
	if (!strcmp(hsnap_line_text(key), place) || ends_with_path(hsnap_text(snapshot, snapshot->types.items[id].unit), place))
		return true;
	return ends_with_path(hsnap_text(snapshot, snapshot->modules.items[hsnap_type_module(snapshot, id)].path), place);
}

static bool may_be_meant(const struct resolver *resolver, hsnap_type_id id)
{
	return resolver->empty_too || resolver->count[id];
}

static void want(struct resolver *resolver, hsnap_type_id id)
{
	struct hsnap_resolution *resolution = resolver->resolution;
	if (!resolution->num_wanted || resolver->bytes[id] > resolver->bytes[resolution->first])
		resolution->first = id;
	resolution->num_wanted += !resolution->wanted[id];
	resolution->wanted[id] = true;
}

/* Names in their forms, one form after the other. */
static bool try_names(struct resolver *resolver)
{
	for (enum form form = FULL; form < NUM_FORMS; form++) {
		for (hsnap_type_id id = 0; id < resolver->snapshot->types.num; id++)
			if (may_be_meant(resolver, id) && has_form(resolver, id, form) && is_at_place(resolver, id))
				want(resolver, id);
		if (resolver->resolution->num_wanted)
			return true;
	}
	return false;
}

/* "entry@routes.c": the last @ divides. */
static bool try_place(struct resolver *resolver, const char *text)
{
	const char *at = strrchr(text, '@');
	if (!at || at == text || !at[1])
		return false;
	hsnap_auto(hsnap_freep) char *name = strndup(text, (size_t)(at - text));
	if (!name)
		return false;
	hsnap_line_clear(&resolver->wanted);
	normalize(&resolver->wanted, name);
	hsnap_line_add(&resolver->place, at + 1);
	if (try_names(resolver))
		return true;
	hsnap_line_clear(&resolver->place);
	hsnap_line_clear(&resolver->wanted);
	normalize(&resolver->wanted, text);
	return false;
}

/* Shell-like, without classes: "[" is a bracket. */
static bool matches_pattern(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

/* The type's own name, as what was asked for is compared with it; `name` is scratch. */
static void key_of(struct resolver *resolver, hsnap_type_id id, struct hsnap_line *name)
{
	hsnap_line_clear(name);
	hsnap_line_clear(&resolver->key);
	hsnap_add_type_name(name, resolver->snapshot, id);
	normalize(&resolver->key, hsnap_line_text(name));
}

static bool try_pattern(struct resolver *resolver)
{
	const char *pattern = hsnap_line_text(&resolver->wanted);
	if (!strpbrk(pattern, "*?"))
		return false;
	hsnap_auto(hsnap_line_deinit) struct hsnap_line name = { 0 };
	for (hsnap_type_id id = 0; id < resolver->snapshot->types.num; id++) {
		if (!resolver->count[id])
			continue;
		key_of(resolver, id, &name);
		if (matches_pattern(pattern, hsnap_line_text(&resolver->key)))
			want(resolver, id);
	}
	resolver->resolution->by_pattern = resolver->resolution->num_wanted > 0;
	return resolver->resolution->by_pattern;
}

static int compare_bytes(const void *a, const void *b, void *context)
{
	const struct resolver *resolver = context;
	hsnap_type_id left = *(const hsnap_type_id *)a, right = *(const hsnap_type_id *)b;
	if (resolver->bytes[left] != resolver->bytes[right])
		return resolver->bytes[left] < resolver->bytes[right] ? 1 : -1;
	return left < right ? -1 : 1;
}

/* Part of a name: one type, or all that have it as candidates. */
static enum hsnap_resolved try_part(struct resolver *resolver)
{
	struct hsnap_resolution *resolution = resolver->resolution;
	hsnap_auto(hsnap_line_deinit) struct hsnap_line name = { 0 };
	for (hsnap_type_id id = 0; id < resolver->snapshot->types.num; id++) {
		if (!resolver->count[id])
			continue;
		key_of(resolver, id, &name);
		if (strstr(hsnap_line_text(&resolver->key), hsnap_line_text(&resolver->wanted)) &&
		    !hsnap_vec_push(&resolution->candidates, id))
			return HSNAP_RESOLVED_NO_MEMORY;
	}
	if (resolution->candidates.num == 1) {
		want(resolver, resolution->candidates.items[0]);
		return HSNAP_RESOLVED;
	}
	if (!resolution->candidates.num)
		return HSNAP_RESOLVED_NOTHING;
	qsort_r(resolution->candidates.items, resolution->candidates.num, sizeof(hsnap_type_id), compare_bytes, resolver);
	return HSNAP_RESOLVED_AMBIGUOUS;
}

/* Levenshtein's, without regard to case; at most LONGEST_NEAR bytes of each. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[LONGEST_NEAR + 1];
	size_t a_len = strnlen(a, LONGEST_NEAR), b_len = strnlen(b, LONGEST_NEAR);
	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned best = corner + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

/* The names that are least unlike the word, nearest first. */
static enum hsnap_resolved find_nearest(struct resolver *resolver)
{
	struct hsnap_resolution *resolution = resolver->resolution;
	unsigned distances[NEAREST];
	const char *wanted = hsnap_line_text(&resolver->wanted);
	if (!hsnap_vec_reserve(&resolution->candidates, NEAREST + 1))
		return HSNAP_RESOLVED_NO_MEMORY;
	for (hsnap_type_id id = 1; id < resolver->snapshot->types.num; id++) {
		if (!resolver->count[id])
			continue;
		hsnap_line_clear(&resolver->key);
		normalize(&resolver->key, hsnap_text(resolver->snapshot, resolver->snapshot->types.items[id].name));
		unsigned distance = edit_distance(wanted, hsnap_line_text(&resolver->key));
		if (resolver->key.text)
			strip_namespaces(resolver->key.text);
		unsigned bare = edit_distance(wanted, hsnap_line_text(&resolver->key));
		distance = bare < distance ? bare : distance;
		size_t at = resolution->candidates.num;
		while (at && distances[at - 1] > distance)
			at--;
		if (at == NEAREST)
			continue;
		size_t move = (resolution->candidates.num < NEAREST ? resolution->candidates.num : NEAREST - 1) - at;
		memmove(distances + at + 1, distances + at, move * sizeof(*distances));
		memmove(resolution->candidates.items + at + 1, resolution->candidates.items + at, move * sizeof(hsnap_type_id));
		distances[at] = distance;
		resolution->candidates.items[at] = id;
		resolution->candidates.num += resolution->candidates.num < NEAREST;
	}
	return HSNAP_RESOLVED_NOTHING;
}

static bool prepare(struct resolver *resolver, const char *text)
{
	const struct hsnap_snapshot *snapshot = resolver->snapshot;
	resolver->bytes = calloc(snapshot->types.num, sizeof(*resolver->bytes));
	resolver->count = calloc(snapshot->types.num, sizeof(*resolver->count));
	resolver->resolution->wanted = calloc(snapshot->types.num, sizeof(bool));
	if (!resolver->bytes || !resolver->count || !resolver->resolution->wanted)
		return false;
	for (size_t i = 0; i < snapshot->rows.num; i++) {
		resolver->bytes[snapshot->rows.items[i].type] += snapshot->rows.items[i].bytes;
		resolver->count[snapshot->rows.items[i].type] += snapshot->rows.items[i].count;
	}
	for (size_t i = 0; i < snapshot->item_rows.num; i++) {
		resolver->bytes[snapshot->item_rows.items[i].type] += snapshot->item_rows.items[i].bytes;
		resolver->count[snapshot->item_rows.items[i].type] += snapshot->item_rows.items[i].count;
	}
	normalize(&resolver->wanted, text);
	return true;
}

/* Where there are only runs of them, those are meant: "PricedLine" for PricedLine[]. */
static bool try_runs(struct resolver *resolver)
{
	struct hsnap_line *wanted = &resolver->wanted;
	hsnap_line_add(wanted, "[]");
	if (try_names(resolver))
		return true;
	if (!wanted->failed)
		wanted->text[wanted->num -= 2] = '\0';
	return false;
}

/* A type of this very name that has no block left, before one that merely contains the word. */
static bool try_empty(struct resolver *resolver, const char *text)
{
	resolver->empty_too = true;
	bool found = try_names(resolver) || try_place(resolver, text);
	resolver->empty_too = false;
	return found;
}

static enum hsnap_resolved try_all(struct resolver *resolver, const char *text)
{
	if (try_names(resolver) || try_place(resolver, text) || try_pattern(resolver))
		return HSNAP_RESOLVED;
	if (try_runs(resolver) || try_empty(resolver, text))
		return HSNAP_RESOLVED;
	enum hsnap_resolved part = try_part(resolver);
	return part == HSNAP_RESOLVED_NOTHING ? find_nearest(resolver) : part;
}

enum hsnap_resolved hsnap_resolve(const struct hsnap_snapshot *snapshot, const char *text,
				  struct hsnap_resolution *ret)
{
	*ret = (struct hsnap_resolution){ 0 };
	struct resolver resolver = { .snapshot = snapshot, .resolution = ret };
	enum hsnap_resolved answer =
		prepare(&resolver, text) ? try_all(&resolver, text) : HSNAP_RESOLVED_NO_MEMORY;
	if (resolver.wanted.failed || resolver.key.failed || resolver.place.failed)
		answer = HSNAP_RESOLVED_NO_MEMORY;
	free(resolver.bytes);
	free(resolver.count);
	hsnap_line_deinit(&resolver.wanted);
	hsnap_line_deinit(&resolver.place);
	hsnap_line_deinit(&resolver.key);
	return answer;
}

char *hsnap_unique_name(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	struct hsnap_line name = { 0 }, other = { 0 };
	hsnap_add_type_name(&name, snapshot, type);
	bool twin = false;
	for (size_t i = 0; i < snapshot->rows.num && !twin; i++) {
		hsnap_type_id id = snapshot->rows.items[i].type;
		hsnap_line_clear(&other);
		hsnap_add_type_name(&other, snapshot, id);
		twin = id != type && !strcmp(hsnap_line_text(&name), hsnap_line_text(&other));
	}
	hsnap_line_clear(&other);
	if (twin)
		hsnap_add_type_source(&other, snapshot, type);
	if (other.num)
		hsnap_line_addf(&name, "@%s", other.text);
	else if (twin)
		hsnap_line_addf(&name, "@%s", hsnap_module_name(snapshot, hsnap_type_module(snapshot, type)));
	hsnap_line_deinit(&other);
	if (!name.failed)
		return name.text;
	hsnap_line_deinit(&name);
	return NULL;
}
