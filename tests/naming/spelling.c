/* SPDX-License-Identifier: MIT */
/* spelling.c - are two names of one type? */
#include "tests/naming/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Longest first: each is looked for as whole words, from left to right. */
static const struct {
	const char *from, *to;
} words[] = {
	{ "long long unsigned int", "unsigned long long" },
	{ "long unsigned int", "unsigned long" },
	{ "short unsigned int", "unsigned short" },
	{ "long long int", "long long" },
	{ "long int", "long" },
	{ "short int", "short" },
	{ "unsigned int", "unsigned" },
	{ "std::__cxx11::", "std::" },
	{ "std::__1::", "std::" },
	{ "(anonymous namespace)", "{anonymous}" },
	{ "__gnu_cxx::_S_atomic", "(__gnu_cxx::_Lock_policy)2" },
	{ "struct ", "" },
	{ "class ", "" },
	{ "union ", "" },
	{ "enum ", "" },
	{ "const", "" },
	{ "volatile", "" },
};

/* The entry of words that stands at `at`, or NULL. */
static const char *word_at(const char *name, const char *at, size_t *len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		*len = strlen(words[i].from);
		if (strncmp(at, words[i].from, *len))
			continue;
		bool begins = at == name || !is_word(at[-1]) || !is_word(*at);
		bool ends = !is_word(at[*len - 1]) || !is_word(at[*len]);
		if (begins && ends)
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

/* A blank stays between two words and nowhere else; so does the u or l behind a number go. */
static void drop_blanks(char *name)
{
	char *to = name;
	for (const char *at = name; *at; at++) {
		if (isspace((unsigned char)*at)) {
			const char *next = at;
			while (isspace((unsigned char)*next))
				next++;
			if (to == name || !is_word(to[-1]) || !is_word(*next))
				continue;
			*to++ = ' ';
			at = next - 1;
			continue;
		}
		bool suffix = strchr("ulUL", *at) && to > name && isdigit((unsigned char)to[-1]);
		if (suffix) {
			const char *back = to;
			while (back > name && isdigit((unsigned char)back[-1]))
				back--;
			const char *rest = at + strspn(at, "ulUL");
			if ((back == name || !is_word(back[-1])) && !is_word(*rest)) {
				at = rest - 1;
				continue;
			}
		}
		*to++ = *at;
	}
	*to = '\0';
}

static void replace_all(char *name, const char *from, const char *to)
{
	size_t len = strlen(from), by = strlen(to);
	for (char *at = name; (at = strstr(at, from)); at += by) {
		memmove(at + by, at + len, strlen(at + len) + 1);
		memcpy(at, to, by);
	}
}

/* Where the bracket that closes at `close` opens, or NULL. */
static char *opening(char *name, char *close)
{
	int depth = 0;
	for (char *at = close; at >= name; at--) {
		depth += *at == ')' ? 1 : *at == '(' ? -1 : 0;
		if (!depth)
			return at;
	}
	return NULL;
}

/* "start(int)::{lambda()#1}" and "start(number)::<lambda()>" as "start::<lambda>": gdb does not count them, and
 * writes the parameters as the program does. */
static void shorten_lambdas(char *name)
{
	static const char to[] = "::<lambda>";
	char *at = name;
	while ((at = strstr(at, "lambda(")) && at - name > 3) {
		char *start = at - 3, *end = strchr(at, ')');
		if (end && at[-1] == '{')
			end = strchr(end, '}');
		else if (end && at[-1] == '<' && end[1] == '>')
			end++;
		else
			end = NULL;
		if (!end || start == name || strncmp(start, "::", 2)) {
			at++;
			continue;
		}
		if (start[-1] == ')' && opening(name, start - 1))
			start = opening(name, start - 1);
		if ((size_t)(end + 1 - start) < sizeof(to) - 1)
			return; /* no room: it is as short as can be */
		memmove(start + sizeof(to) - 1, end + 1, strlen(end + 1) + 1);
		memcpy(start, to, sizeof(to) - 1);
		at = start + sizeof(to) - 1;
	}
}

/* A pointer to a function, as it is called here whatever it takes and returns; one inside <> stays. */
static void shorten_function(char *name)
{
	char *pointer = strstr(name, "(*)(");
	int depth = 0;
	for (const char *at = name; pointer && at < pointer; at++)
		depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
	if (!pointer || depth)
		return;
	bool run = strlen(name) > 2 && !strcmp(name + strlen(name) - 2, "[]");
	strcpy(name, run ? "function*[]" : "function*");
}

char *spelling_of(const char *name)
{
	size_t size = 2 * strlen(name) + 64; /* the one entry that makes longer makes it no more than 2 x */
	char *spelt = malloc(size);
	if (!spelt)
		return NULL;
	replace_words(name, spelt);
	drop_blanks(spelt);
	shorten_lambdas(spelt);
	shorten_function(spelt);
	replace_all(spelt, "std::basic_string<char,std::char_traits<char>,std::allocator<char>>", "std::string");
	return spelt;
}
