/* SPDX-License-Identifier: MIT */
/* spelling.c - rewrites a name in place, in three passes that never make it longer than its room. */
#include "capture/naming/spelling.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64    /* of parentheses */
#define MAX_LAMBDA 1024 /* characters of one's parameters */

void hsnap_spelling_deinit(struct hsnap_spelling *spelling)
{
	free(spelling->text);
	*spelling = (struct hsnap_spelling){ 0 };
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Longest first; none is replaced by a longer one. */
static const struct {
	const char *from, *to;
} words[] = {
	{ "(anonymous namespace)", "{anonymous}" },
	{ "__gnu_cxx::_S_atomic", "2" },
	{ "(__gnu_cxx::_Lock_policy)", "" },
	{ "long long unsigned int", "unsigned long long" },
	{ "long unsigned int", "unsigned long" },
	{ "short unsigned int", "unsigned short" },
	{ "decltype(nullptr)", "std::nullptr_t" },
	{ "std::__cxx11::", "std::" },
	{ "[abi:cxx11]", "" },
	{ "long long int", "long long" },
	{ "unsigned int", "unsigned" },
	{ "short int", "short" },
	{ "long int", "long" },
	{ "volatile", "" },
	{ "struct ", "" },
	{ "class ", "" },
	{ "union ", "" },
	{ "const", "" },
	{ "enum ", "" },
};

/* The entry that stands at `at`, as whole words; its length. */
static const char *word_at(const char *name, const char *at, size_t *len)
{
	if (at > name && is_word(at[-1]) && is_word(*at))
		return NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		*len = strlen(words[i].from);
		if (*at == *words[i].from && !strncmp(at, words[i].from, *len) &&
		    (!is_word(at[*len - 1]) || !is_word(at[*len])))
			return words[i].to;
	}
	return NULL;
}

static void replace_words(const char *name, char *to)
{
	for (const char *at = name; *at;) {
		size_t len;
		const char *word = word_at(name, at, &len);
		if (!word) {
			*to++ = *at++;
			continue;
		}
		to = stpcpy(to, word);
		at += len;
	}
	*to = '\0';
}

/* How long is the u, l, ul … of a number that ends before `at`?  0: there is none. */
static size_t suffix_at(const char *start, const char *end, const char *at)
{
	size_t len = strspn(at, "ulUL");
	const char *digits = end;
	while (digits > start && isdigit((unsigned char)digits[-1]))
		digits--;
	return len && digits < end && (digits == start || !is_word(digits[-1])) && !is_word(at[len]) ? len : 0;
}

/* A blank stays between two words and nowhere else; what tells the type of a number goes. */
static void drop_blanks(char *name)
{
	char *to = name;
	for (const char *at = name; *at;) {
		size_t blanks = strspn(at, " \t");
		if (blanks) {
			at += blanks;
			if (to > name && is_word(to[-1]) && is_word(*at))
				*to++ = ' ';
			continue;
		}
		size_t suffix = strchr("ulUL", *at) ? suffix_at(name, to, at) : 0;
		at += suffix;
		if (!suffix)
			*to++ = *at++;
	}
	*to = '\0';
}

/* "{lambda(int)#2}" as "<lambda(int)>": which one of its function is not in debug info. */
static void rewrite_lambdas(char *name)
{
	char *to = name;
	for (const char *at = name; *at;) {
		const char *end = !strncmp(at, "{lambda(", 8) ? memchr(at, '#', strnlen(at, MAX_LAMBDA)) : NULL;
		size_t digits = end ? strspn(end + 1, "0123456789") : 0;
		if (!digits || end[1 + digits] != '}') {
			*to++ = *at++;
			continue;
		}
		*to++ = '<';
		memmove(to, at + 1, (size_t)(end - at - 1));
		to += end - at - 1;
		*to++ = '>';
		at = end + digits + 2;
	}
	*to = '\0';
}

/* "f(int)::Local" as "f::Local": of main() nobody writes what it takes. */
static void drop_parameters(char *name)
{
	char *open[MAX_DEPTH], *to = name;
	size_t depth = 0;
	for (const char *at = name; *at;) {
		char c = *to++ = *at++;
		if (c == '(' && depth++ < MAX_DEPTH)
			open[depth - 1] = to - 1;
		if (c != ')' || !depth || --depth >= MAX_DEPTH || strncmp(at, "::", 2))
			continue;
		/* Not "(T)::x", which is no function. */
		if (open[depth] > name && (is_word(open[depth][-1]) || open[depth][-1] == '>'))
			to = open[depth];
	}
	*to = '\0';
}

bool hsnap_spell(struct hsnap_spelling *spelling, const char *name)
{
	size_t size = strlen(name) + 1;
	if (spelling->room < size) {
		char *text = realloc(spelling->text, size + 256);
		if (!text)
			return false;
		spelling->text = text;
		spelling->room = size + 256;
	}
	replace_words(name, spelling->text);
	drop_blanks(spelling->text);
	rewrite_lambdas(spelling->text);
	drop_parameters(spelling->text);
	return true;
}
