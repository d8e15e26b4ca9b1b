/* SPDX-License-Identifier: MIT */
/*
 * rule_parser.h - how statements of a user's rules are read (docs/naming.md has their grammar): private to
 * rules.c, which reads lines and statements, rule_words.c and rule_exprs.c.
 *
 * One statement at a time, by recursive descent.  What is wrong is said once, with its line, and ends the
 * reading: from then on each of these may give anything, and the caller looks at `code` before it goes on.
 */
#ifndef HSNAP_CAPTURE_NAMING_RULE_PARSER_H
#define HSNAP_CAPTURE_NAMING_RULE_PARSER_H

#include "capture/naming/rules.h"

#define HSNAP_MAX_STATEMENT 4096 /* bytes */

struct hsnap_rule_parser {
	struct hsnap_rules *rules;
	const char *name;
	const char *at;                /* the rest of the statement, NUL-terminated */
	uint32_t file, line;
	unsigned depth;
	enum hsnap_code code;          /* of the first error, which ends it */
	struct hsnap_error *err;
	char statement[HSNAP_MAX_STATEMENT];
};

/* --- errors, and what is kept (rule_words.c) --- */

/* The first error stays. */
void hsnap_rule_wrong(struct hsnap_rule_parser *parser, const char *format, ...) HSNAP_PRINTF(2, 3);
void hsnap_rule_no_memory(struct hsnap_rule_parser *parser);
hsnap_string hsnap_rule_keep(struct hsnap_rule_parser *parser, const char *text, size_t len);
#define HSNAP_RULE_PUSH(parser, vector, ...) \
	do { \
		if (!hsnap_vec_push(vector, __VA_ARGS__)) \
			hsnap_rule_no_memory(parser); \
	} while (0)

/* --- words (rule_words.c) --- */

void hsnap_rule_skip_blanks(struct hsnap_rule_parser *parser);
/* Bytes of the name that begins there; 0: none does. */
size_t hsnap_rule_name_length(const char *at);
/* What stands next, for people. */
const char *hsnap_rule_next_text(struct hsnap_rule_parser *parser, char *to, size_t size);
bool hsnap_rule_is_word(struct hsnap_rule_parser *parser, const char *word);
/* These go past it, if it stands next. */
bool hsnap_rule_accept_word(struct hsnap_rule_parser *parser, const char *word);
bool hsnap_rule_accept(struct hsnap_rule_parser *parser, const char *mark);
/* `where`, `what`: for the error, where something else stands next. */
void hsnap_rule_expect(struct hsnap_rule_parser *parser, const char *mark, const char *where);
hsnap_string hsnap_rule_parse_name(struct hsnap_rule_parser *parser, const char *what);
struct hsnap_rule_type hsnap_rule_parse_type(struct hsnap_rule_parser *parser);

/* --- numbers, paths and expressions (rule_exprs.c): these are indices into exprs --- */

/* false: none stands next. */
bool hsnap_rule_parse_number(struct hsnap_rule_parser *parser, uint64_t *ret);
/* name, or name.name->name; `follow`: "->" stood before the first. */
struct hsnap_rule_path hsnap_rule_parse_path(struct hsnap_rule_parser *parser, bool follow, bool may_follow,
					     const char *what);
uint32_t hsnap_rule_parse_expression(struct hsnap_rule_parser *parser);
/* What binds no less than '+' does. */
uint32_t hsnap_rule_parse_sum(struct hsnap_rule_parser *parser);
/* What `let` said of that name in this file; false: nothing. */
bool hsnap_rule_find_constant(const struct hsnap_rule_parser *parser, hsnap_string name, int64_t *ret);
/* The value of an expression of numbers alone. */
int64_t hsnap_rule_value(struct hsnap_rule_parser *parser, uint32_t index);

#endif
