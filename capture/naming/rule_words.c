/* SPDX-License-Identifier: MIT */
/* rule_words.c - the words, marks and names of types that statements of a user's rules are made of. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/naming/rule_parser.h"

#define MAX_NAME 1024

void hsnap_rule_wrong(struct hsnap_rule_parser *parser, const char *format, ...)
{
	char why[512];
	va_list args;
	if (parser->code)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	parser->code = hsnap_fail(parser->err, HSNAP_FORMAT, parser->line, "%s:%" PRIu32 ": %s",
				 parser->name, parser->line, why);
	hsnap_hint(parser->err, parser->code, "docs/naming.md has the grammar, with examples");
}

void hsnap_rule_no_memory(struct hsnap_rule_parser *parser)
{
	if (!parser->code)
		parser->code = hsnap_fail(parser->err, HSNAP_NO_MEMORY, 0, "out of memory");
}

hsnap_string hsnap_rule_keep(struct hsnap_rule_parser *parser, const char *text, size_t len)
{
	hsnap_string s = hsnap_strings_add_len(&parser->rules->strings, text, len);
	if (s != HSNAP_NO_STRING)
		return s;
	hsnap_rule_no_memory(parser);
	return 0;
}

void hsnap_rule_skip_blanks(struct hsnap_rule_parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t')
		parser->at++;
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$';
}

size_t hsnap_rule_name_length(const char *at)
{
	size_t len = 0;
	if (is_name_start(*at))
		while (is_name_start(at[len]) || isdigit((unsigned char)at[len]))
			len++;
	return len;
}

const char *hsnap_rule_next_text(struct hsnap_rule_parser *parser, char *to, size_t size)
{
	hsnap_rule_skip_blanks(parser);
	size_t len = strcspn(parser->at, " \t");
	snprintf(to, size, *parser->at ? "'%.*s'" : "the line's end", (int)(len < 60 ? len : 60), parser->at);
	return to;
}

bool hsnap_rule_is_word(struct hsnap_rule_parser *parser, const char *word)
{
	hsnap_rule_skip_blanks(parser);
	size_t len = hsnap_rule_name_length(parser->at);
	return len == strlen(word) && !memcmp(parser->at, word, len);
}

bool hsnap_rule_accept_word(struct hsnap_rule_parser *parser, const char *word)
{
	if (!hsnap_rule_is_word(parser, word))
		return false;
	parser->at += strlen(word);
	return true;
}

bool hsnap_rule_accept(struct hsnap_rule_parser *parser, const char *mark)
{
	hsnap_rule_skip_blanks(parser);
	if (strncmp(parser->at, mark, strlen(mark)))
		return false;
	parser->at += strlen(mark);
	return true;
}

void hsnap_rule_expect(struct hsnap_rule_parser *parser, const char *mark, const char *where)
{
	char next[80];
	if (!hsnap_rule_accept(parser, mark))
		hsnap_rule_wrong(parser, "'%s' is wanted %s, not %s", mark, where, hsnap_rule_next_text(parser, next, sizeof(next)));
}

hsnap_string hsnap_rule_parse_name(struct hsnap_rule_parser *parser, const char *what)
{
	char next[80];
	hsnap_rule_skip_blanks(parser);
	size_t len = hsnap_rule_name_length(parser->at);
	if (!len || len > MAX_NAME) {
		hsnap_rule_wrong(parser, "%s is wanted, not %s", what, hsnap_rule_next_text(parser, next, sizeof(next)));
		return 0;
	}
	parser->at += len;
	return hsnap_rule_keep(parser, parser->at - len, len);
}

/* --- types --- */

/* What "unsigned long int" is made of. */
static bool is_plain_word(const char *at, size_t len)
{
	static const char *const words[] = { "unsigned", "signed", "long", "short", "int", "char" };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], at, len))
			return true;
	return false;
}

/* The length of a template's arguments, brackets included; 0: they do not end. */
static size_t arguments_length(const char *at)
{
	unsigned open = 0;
	for (size_t i = 0; at[i]; i++) {
		open += at[i] == '<';
		open -= at[i] == '>';
		if (!open)
			return i + 1;
	}
	return 0;
}

/* "unsigned long int", as long as it goes on. */
static size_t plain_length(const char *at)
{
	size_t len = hsnap_rule_name_length(at);
	for (;;) {
		size_t blank = strspn(at + len, " "), next = hsnap_rule_name_length(at + len + blank);
		if (!blank || !next || !is_plain_word(at + len + blank, next))
			return len;
		len += blank + next;
	}
}

/* "std::map<int, long>::node" without what follows; 0: no name. */
static size_t type_length(struct hsnap_rule_parser *parser)
{
	const char *at = parser->at;
	size_t first = hsnap_rule_name_length(at), len = is_plain_word(at, first) ? plain_length(at) : first;
	while (len && (at[len] == '<' || !strncmp(at + len, "::", 2))) {
		size_t more = at[len] == '<' ? arguments_length(at + len) : hsnap_rule_name_length(at + len + 2);
		if (!more) {
			hsnap_rule_wrong(parser, "the name of a type does not end: '%.60s'", at);
			return 0;
		}
		len += at[len] == '<' ? more : more + 2;
	}
	return len;
}

struct hsnap_rule_type hsnap_rule_parse_type(struct hsnap_rule_parser *parser)
{
	struct hsnap_rule_type type = { 0 };
	char next[80];
	(void)(hsnap_rule_accept_word(parser, "struct") || hsnap_rule_accept_word(parser, "union") ||
	       hsnap_rule_accept_word(parser, "class") || hsnap_rule_accept_word(parser, "enum"));
	hsnap_rule_skip_blanks(parser);
	if (*parser->at == '"') {
		size_t len = strcspn(parser->at + 1, "\"");
		if (!len || len > MAX_NAME || parser->at[1 + len] != '"')
			hsnap_rule_wrong(parser, "a name in quotes does not end");
		else
			type.name = hsnap_rule_keep(parser, parser->at + 1, len);
		parser->at += parser->code ? 0 : len + 2;
	} else {
		size_t len = type_length(parser);
		if (!len || len > MAX_NAME)
			hsnap_rule_wrong(parser, "a type is wanted, not %s", hsnap_rule_next_text(parser, next, sizeof(next)));
		else
			type.name = hsnap_rule_keep(parser, parser->at, len);
		parser->at += parser->code ? 0 : len;
	}
	if (*parser->at == '@' && !parser->code) {
		size_t len = strcspn(++parser->at, " \t.*[(");
		/* "dict.c" has a dot, and so has the member behind it: the extension belongs to the file. */
		if (parser->at[len] == '.')
			len += 1 + hsnap_rule_name_length(parser->at + len + 1);
		if (!len || len > MAX_NAME)
			hsnap_rule_wrong(parser, "a file is wanted after '@'");
		else
			type.file = hsnap_rule_keep(parser, parser->at, len);
		parser->at += parser->code ? 0 : len;
	}
	return type;
}
