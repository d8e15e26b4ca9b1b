/* SPDX-License-Identifier: MIT */
/* rules.c - reads what a user says of types: statements of one line each, and what goes on indented. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/naming/rule_parser.h"
#include "snapshot/base/cleanup.h"

#define MAX_HEADER 255 /* bytes: a byte a block keeps it */

void hsnap_rules_deinit(struct hsnap_rules *rules)
{
	hsnap_strings_deinit(&rules->strings);
	hsnap_vec_deinit(&rules->files);
	hsnap_vec_deinit(&rules->patterns);
	hsnap_vec_deinit(&rules->constants);
	hsnap_vec_deinit(&rules->rules);
	hsnap_vec_deinit(&rules->owners);
	hsnap_vec_deinit(&rules->steps);
	hsnap_vec_deinit(&rules->exprs);
}

void hsnap_rule_place(const struct hsnap_rules *rules, const struct hsnap_rule *rule, char *to, size_t size)
{
	snprintf(to, size, "%s:%" PRIu32, hsnap_str(&rules->strings, rules->files.items[rule->file].name), rule->line);
}

/* --- statements --- */

static void parse_owners(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	rule->first_owner = rule->num_owners ? rule->first_owner : (uint32_t)parser->rules->owners.num;
	do {
		struct hsnap_rule_owner owner = { .type = hsnap_rule_parse_type(parser), .when = HSNAP_NO_EXPR };
		if (*parser->at == '.' && !parser->code) {
			parser->at++;
			owner.path = hsnap_rule_parse_path(parser, false, false, "a member");
		}
		if (hsnap_rule_accept_word(parser, "with"))
			owner.when = hsnap_rule_parse_expression(parser);
		if (parser->rules->owners.num == HSNAP_MAX_OWNERS)
			hsnap_rule_wrong(parser, "there are more than %u owners", HSNAP_MAX_OWNERS);
		HSNAP_RULE_PUSH(parser, &parser->rules->owners, owner);
		rule->num_owners++;
	} while (!parser->code && hsnap_rule_accept(parser, ","));
}

static void parse_at(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	if (hsnap_rule_parse_number(parser, &rule->behind_start))
		return;
	hsnap_rule_accept(parser, ".");
	rule->at = hsnap_rule_parse_path(parser, false, false, "a member, or a number of bytes,");
}

static void parse_header(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	char next[80];
	if (!hsnap_rule_parse_number(parser, &rule->header))
		hsnap_rule_wrong(parser, "a number of bytes is wanted after 'behind', not %s",
				 hsnap_rule_next_text(parser, next, sizeof(next)));
	else if (!rule->header || rule->header > MAX_HEADER || rule->header % 8)
		hsnap_rule_wrong(parser, "an object begins 8, 16, ... 248 bytes behind a block's start, not %" PRIu64, rule->header);
}

/* live MEMBER [& MASK] == VALUE */
static void parse_live(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	rule->live = hsnap_rule_parse_path(parser, false, false, "a member");
	rule->live_mask = UINT64_MAX;
	if (hsnap_rule_accept(parser, "&") && !hsnap_rule_parse_number(parser, &rule->live_mask))
		hsnap_rule_wrong(parser, "a number is wanted after '&'");
	hsnap_rule_expect(parser, "==", "after a member, or after a member & mask");
	if (!parser->code && !hsnap_rule_parse_number(parser, &rule->live_value))
		hsnap_rule_wrong(parser, "a number is wanted after '=='");
}

static void parse_clauses(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	char next[80];
	for (hsnap_rule_skip_blanks(parser); *parser->at && !parser->code; hsnap_rule_skip_blanks(parser)) {
		if (hsnap_rule_accept_word(parser, "when") && rule->when == HSNAP_NO_EXPR)
			rule->when = hsnap_rule_parse_expression(parser);
		else if (hsnap_rule_accept_word(parser, "under"))
			parse_owners(parser, rule);
		else if (hsnap_rule_accept_word(parser, "step") && rule->step == HSNAP_NO_EXPR)
			rule->step = hsnap_rule_parse_expression(parser);
		else if (hsnap_rule_accept_word(parser, "from") && rule->from == HSNAP_NO_EXPR)
			rule->from = hsnap_rule_parse_expression(parser);
		else if (hsnap_rule_accept_word(parser, "live"))
			parse_live(parser, rule);
		else if (hsnap_rule_accept_word(parser, "at"))
			parse_at(parser, rule);
		else if (hsnap_rule_accept_word(parser, "behind"))
			parse_header(parser, rule);
		else if (hsnap_rule_accept_word(parser, "mask") && hsnap_rule_parse_number(parser, &rule->mask))
			continue;
		else
			hsnap_rule_wrong(parser, "when, under, at, behind, mask, step, from or live is wanted, once each, not %s",
					 hsnap_rule_next_text(parser, next, sizeof(next)));
	}
}

static void parse_held(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	rule->held = hsnap_rule_parse_type(parser);
	while (!parser->code && hsnap_rule_accept(parser, "*"))
		rule->held.stars++;
	if (rule->held.stars > 1)
		hsnap_rule_wrong(parser, "pointers to pointers are no more than T *");
	if (hsnap_rule_accept(parser, "+"))
		rule->extra = hsnap_rule_parse_sum(parser);
	if (hsnap_rule_accept(parser, "[")) {
		rule->form = HSNAP_RULE_FILL;
		if (!hsnap_rule_accept(parser, "]")) {
			rule->form = HSNAP_RULE_COUNT;
			rule->count = hsnap_rule_parse_expression(parser);
			hsnap_rule_expect(parser, "]", "after a number of elements");
		}
	}
	parse_clauses(parser, rule);
}

static void finish_rule(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	if (rule->kind == HSNAP_RULE_IS && (rule->num_owners || rule->mask))
		hsnap_rule_wrong(parser, "'is' says what something is, wherever it is: no mask and no owner");
	if (rule->kind == HSNAP_RULE_ANY && (rule->num_owners || rule->mask || rule->when == HSNAP_NO_EXPR || rule->form != HSNAP_RULE_ONE ||
					     rule->held.stars || rule->at.num || rule->behind_start))
		hsnap_rule_wrong(parser, "'*' says by 'when' what a block is: one object, and no mask, no owner and no 'at'");
	bool pool = rule->step != HSNAP_NO_EXPR;
	if (pool && (rule->form != HSNAP_RULE_FILL || rule->held.stars || rule->header || rule->at.num || rule->behind_start))
		hsnap_rule_wrong(parser, "'step' is of a pool: T[] step n");
	if (!pool && (rule->from != HSNAP_NO_EXPR || rule->live.num))
		hsnap_rule_wrong(parser, "'from' and 'live' are of a pool: T[] step n");
	if ((rule->header || rule->extra != HSNAP_NO_EXPR) && (rule->form != HSNAP_RULE_ONE || rule->held.stars))
		hsnap_rule_wrong(parser, "'behind' and '+' are of one object, and not of an array");
	if (parser->rules->rules.num == HSNAP_MAX_RULES)
		hsnap_rule_wrong(parser, "there are more than %u rules", HSNAP_MAX_RULES);
	HSNAP_RULE_PUSH(parser, &parser->rules->rules, *rule);
}

/* Type.member, Type.(bytes), with [] or [n]. */
static void parse_place(struct hsnap_rule_parser *parser, struct hsnap_rule *rule)
{
	parser->at++; /* the dot */
	rule->elsewhere = hsnap_rule_accept(parser, "*");
	if (hsnap_rule_accept(parser, "(")) {
		rule->place = hsnap_rule_parse_expression(parser);
		hsnap_rule_expect(parser, ")", "to close '('");
	} else if (rule->elsewhere) {
		hsnap_rule_wrong(parser, "an address is wanted after '.*': .*(member)");
	} else {
		rule->path = hsnap_rule_parse_path(parser, false, false, "a member");
	}
	if (!hsnap_rule_accept(parser, "["))
		return;
	rule->many = true;
	if (!hsnap_rule_accept(parser, "]")) {
		rule->pointers = hsnap_rule_parse_expression(parser);
		hsnap_rule_expect(parser, "]", "after a number of pointers");
	}
}

static void parse_rule(struct hsnap_rule_parser *parser)
{
	char next[80];
	struct hsnap_rule rule = { .file = parser->file, .line = parser->line,
				   .place = HSNAP_NO_EXPR, .pointers = HSNAP_NO_EXPR, .count = HSNAP_NO_EXPR,
				   .extra = HSNAP_NO_EXPR, .step = HSNAP_NO_EXPR, .from = HSNAP_NO_EXPR,
				   .when = HSNAP_NO_EXPR };
	bool any = hsnap_rule_accept(parser, "*");
	if (!any)
		rule.type = hsnap_rule_parse_type(parser);
	if (parser->code)
		return;
	if (any) {
		rule.kind = HSNAP_RULE_ANY;
		if (!hsnap_rule_accept_word(parser, "is"))
			hsnap_rule_wrong(parser, "'is' is wanted after '*', not %s", hsnap_rule_next_text(parser, next, sizeof(next)));
	} else if (*parser->at == '.') {
		parse_place(parser, &rule);
		if (!parser->code && !hsnap_rule_accept_word(parser, "holds"))
			hsnap_rule_wrong(parser, "'holds' is wanted after a member, not %s",
					 hsnap_rule_next_text(parser, next, sizeof(next)));
	} else if (hsnap_rule_accept_word(parser, "is")) {
		rule.kind = HSNAP_RULE_IS;
	} else {
		hsnap_rule_wrong(parser, "'.' and a member, or 'is', is wanted after a type, not %s",
				 hsnap_rule_next_text(parser, next, sizeof(next)));
	}
	if (parser->code)
		return;
	parse_held(parser, &rule);
	finish_rule(parser, &rule);
}

static void parse_module(struct hsnap_rule_parser *parser)
{
	struct hsnap_rule_file *file = &parser->rules->files.items[parser->file];
	if (file->num_patterns)
		hsnap_rule_wrong(parser, "'module' is said once, and names all");
	for (hsnap_rule_skip_blanks(parser); *parser->at && !parser->code; hsnap_rule_skip_blanks(parser)) {
		size_t len = strcspn(parser->at, " \t");
		HSNAP_RULE_PUSH(parser, &parser->rules->patterns, hsnap_rule_keep(parser, parser->at, len));
		parser->at += len;
		file->num_patterns++;
	}
	if (!file->num_patterns)
		hsnap_rule_wrong(parser, "'module' wants names of files, such as lua5.4 or 'liblua5.4.so*'");
}

static void parse_let(struct hsnap_rule_parser *parser)
{
	struct hsnap_rule_constant constant = { .name = hsnap_rule_parse_name(parser, "a name") };
	int64_t before;
	if (!parser->code && hsnap_rule_find_constant(parser, constant.name, &before))
		hsnap_rule_wrong(parser, "'%s' was said before", hsnap_str(&parser->rules->strings, constant.name));
	hsnap_rule_expect(parser, "=", "after the name");
	if (parser->code)
		return;
	constant.value = hsnap_rule_value(parser, hsnap_rule_parse_expression(parser));
	HSNAP_RULE_PUSH(parser, &parser->rules->constants, constant);
}

static void parse_statement(struct hsnap_rule_parser *parser)
{
	char next[80];
	parser->at = parser->statement;
	parser->depth = 0;
	hsnap_rule_skip_blanks(parser);
	if (!*parser->at)
		return;
	const char *begin = parser->at;
	/* A type may be called so, too. */
	bool module = hsnap_rule_accept_word(parser, "module") && *parser->at != '.' && !hsnap_rule_is_word(parser, "is");
	bool let = !module && (parser->at = begin) && hsnap_rule_accept_word(parser, "let") && *parser->at != '.' &&
		   !hsnap_rule_is_word(parser, "is");
	if (module) {
		parse_module(parser);
	} else if (let) {
		parse_let(parser);
	} else {
		parser->at = begin;
		parse_rule(parser);
	}
	hsnap_rule_skip_blanks(parser);
	if (*parser->at && !parser->code)
		hsnap_rule_wrong(parser, "%s is too much", hsnap_rule_next_text(parser, next, sizeof(next)));
}

/* --- lines --- */

/* Where a comment begins in the line, or its end; '#' in quotes is none. */
static size_t text_length(const char *line, size_t len)
{
	bool quoted = false;
	for (size_t i = 0; i < len; i++) {
		quoted ^= line[i] == '"';
		if (line[i] == '#' && !quoted)
			return i;
	}
	return len;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

/* One line: a new statement, or more of the last one, where it is indented. */
static void take_line(struct hsnap_rule_parser *parser, const char *line, size_t len, uint32_t number, size_t *used)
{
	size_t text = text_length(line, len);
	while (text && is_blank(line + text - 1, 1))
		text--;
	if (!text)
		return;
	bool more = is_blank(line, 1);
	if (!more) {
		parse_statement(parser);
		parser->line = number;
		*used = 0;
	} else if (!*used) {
		parser->line = number;
		hsnap_rule_wrong(parser, "an indented line goes on with the one before, and there is none");
	}
	if (parser->code)
		return;
	if (memchr(line, '\0', text))
		hsnap_rule_wrong(parser, "there is a zero byte in it");
	else if (text + 2 > sizeof(parser->statement) - *used)
		hsnap_rule_wrong(parser, "a statement has more than %d bytes", HSNAP_MAX_STATEMENT - 2);
	if (parser->code)
		return;
	if (*used)
		parser->statement[(*used)++] = ' ';
	memcpy(parser->statement + *used, line, text);
	*used += text;
	parser->statement[*used] = '\0';
}

enum hsnap_code hsnap_rules_parse(struct hsnap_rules *rules, const char *name, const char *text, size_t size,
				  struct hsnap_error *err)
{
	hsnap_auto(hsnap_freep) struct hsnap_rule_parser *parser = calloc(1, sizeof(*parser));
	if (!parser)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	*parser = (struct hsnap_rule_parser){ .rules = rules, .name = name, .err = err,
					      .file = (uint32_t)rules->files.num, .line = 1 };
	hsnap_rule_keep(parser, "", 0);
	struct hsnap_rule_file file = { .name = hsnap_rule_keep(parser, name, strlen(name)),
					.first_pattern = (uint32_t)rules->patterns.num,
					.first_constant = (uint32_t)rules->constants.num };
	HSNAP_RULE_PUSH(parser, &rules->files, file);
	if (size > HSNAP_MAX_RULES_FILE)
		hsnap_rule_wrong(parser, "it has more than %u bytes", HSNAP_MAX_RULES_FILE);
	uint32_t number = 1;
	size_t used = 0;
	for (size_t at = 0; at < size && !parser->code; number++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) - at : size - at;
		take_line(parser, text + at, len, number, &used);
		at += len + 1;
	}
	if (!parser->code)
		parse_statement(parser);
	if (!parser->code)
		rules->files.items[parser->file].num_constants = (uint32_t)rules->constants.num - file.first_constant;
	return parser->code;
}

const char **hsnap_rules_words(const struct hsnap_rules *rules, size_t *ret_num)
{
	const struct hsnap_strings *strings = &rules->strings;
	const char **words = calloc(2 * rules->rules.num + rules->owners.num + rules->exprs.num + 1, sizeof(*words));
	size_t num = 0;
	for (size_t i = 0; words && i < rules->rules.num; i++) {
		if (rules->rules.items[i].kind != HSNAP_RULE_ANY)
			words[num++] = hsnap_str(strings, rules->rules.items[i].type.name);
		words[num++] = hsnap_str(strings, rules->rules.items[i].held.name);
	}
	for (size_t i = 0; words && i < rules->owners.num; i++)
		words[num++] = hsnap_str(strings, rules->owners.items[i].type.name);
	for (size_t i = 0; words && i < rules->exprs.num; i++) {
		const struct hsnap_expr *expr = &rules->exprs.items[i];
		if (expr->op == HSNAP_EXPR_PATH && expr->b == 1 && !expr->value)
			words[num++] = hsnap_str(strings, rules->steps.items[expr->a].name);
	}
	*ret_num = num;
	return words;
}
