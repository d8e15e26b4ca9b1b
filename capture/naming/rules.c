/* SPDX-License-Identifier: MIT */
/* rules.c - reads what a user says of types: statements of one line each, and what goes on indented. */
#include "capture/naming/rules.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

#define MAX_STATEMENT 4096 /* bytes */
#define MAX_NAME 1024
#define MAX_DEPTH 32       /* of expressions */
#define MAX_STEPS 16       /* of a path */
#define MAX_HEADER 255     /* bytes: a byte a block keeps it */

struct parser {
	struct hsnap_rules *rules;
	const char *name;
	const char *at;                /* the rest of the statement, NUL-terminated */
	uint32_t file, line;
	unsigned depth;
	enum hsnap_code code;          /* of the first error, which ends it */
	struct hsnap_error *err;
	char statement[MAX_STATEMENT];
};

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

/* The first error stays. */
static void HSNAP_PRINTF(2, 3) wrong(struct parser *parser, const char *format, ...)
{
	char why[512];
	va_list args;
	if (parser->code)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	parser->code = hsnap_fail(parser->err, HSNAP_FORMAT, parser->line, "%s:%" PRIu32 ": %s", parser->name, parser->line, why);
	hsnap_hint(parser->err, parser->code, "docs/naming.md has the grammar, with examples");
}

static void no_memory(struct parser *parser)
{
	if (!parser->code)
		parser->code = hsnap_fail(parser->err, HSNAP_NO_MEMORY, 0, "out of memory");
}

static hsnap_string keep(struct parser *parser, const char *text, size_t len)
{
	hsnap_string s = hsnap_strings_add_len(&parser->rules->strings, text, len);
	if (s != HSNAP_NO_STRING)
		return s;
	no_memory(parser);
	return 0;
}

#define PUSH(parser, vector, ...) \
	do { \
		if (!hsnap_vec_push(vector, __VA_ARGS__)) \
			no_memory(parser); \
	} while (0)

/* --- words --- */

static void skip_blanks(struct parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t')
		parser->at++;
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$';
}

static size_t name_length(const char *at)
{
	size_t len = 0;
	if (is_name_start(*at))
		while (is_name_start(at[len]) || isdigit((unsigned char)at[len]))
			len++;
	return len;
}

/* What stands next, for people. */
static const char *next_text(struct parser *parser, char *to, size_t size)
{
	skip_blanks(parser);
	size_t len = strcspn(parser->at, " \t");
	snprintf(to, size, *parser->at ? "'%.*s'" : "the line's end", (int)(len < 60 ? len : 60), parser->at);
	return to;
}

static bool is_word(struct parser *parser, const char *word)
{
	skip_blanks(parser);
	size_t len = name_length(parser->at);
	return len == strlen(word) && !memcmp(parser->at, word, len);
}

static bool accept_word(struct parser *parser, const char *word)
{
	if (!is_word(parser, word))
		return false;
	parser->at += strlen(word);
	return true;
}

static bool accept(struct parser *parser, const char *mark)
{
	skip_blanks(parser);
	if (strncmp(parser->at, mark, strlen(mark)))
		return false;
	parser->at += strlen(mark);
	return true;
}

static void expect(struct parser *parser, const char *mark, const char *where)
{
	char next[80];
	if (!accept(parser, mark))
		wrong(parser, "'%s' is wanted %s, not %s", mark, where, next_text(parser, next, sizeof(next)));
}

static hsnap_string parse_name(struct parser *parser, const char *what)
{
	char next[80];
	skip_blanks(parser);
	size_t len = name_length(parser->at);
	if (!len || len > MAX_NAME) {
		wrong(parser, "%s is wanted, not %s", what, next_text(parser, next, sizeof(next)));
		return 0;
	}
	parser->at += len;
	return keep(parser, parser->at - len, len);
}

/* --- numbers and expressions --- */

static uint32_t parse_expression(struct parser *parser);

static uint32_t add_expr(struct parser *parser, struct hsnap_expr expr)
{
	PUSH(parser, &parser->rules->exprs, expr);
	return (uint32_t)parser->rules->exprs.num - 1;
}

static bool parse_number(struct parser *parser, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned base = 10;
	skip_blanks(parser);
	if (parser->at[0] == '\'' && parser->at[1] && parser->at[1] != '\'' && parser->at[2] == '\'') {
		*ret = (unsigned char)parser->at[1];
		parser->at += 3;
		return true;
	}
	if (!isdigit((unsigned char)*parser->at))
		return false;
	if (parser->at[0] == '0' && (parser->at[1] == 'x' || parser->at[1] == 'X')) {
		base = 16;
		parser->at += 2;
		if (!isxdigit((unsigned char)*parser->at))
			wrong(parser, "a number ends after '0x'");
	}
	for (; isxdigit((unsigned char)*parser->at); parser->at++) {
		unsigned char c = (unsigned char)*parser->at;
		unsigned digit = isdigit(c) ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a') + 10;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
			wrong(parser, "a number has more than 64 bits");
	}
	if (name_length(parser->at))
		wrong(parser, "'%.20s' is no number's end", parser->at);
	*ret = value;
	return true;
}

/* name, or name.name->name; `follow`: "->" stood before the first. */
static struct hsnap_rule_path parse_path(struct parser *parser, bool follow, bool may_follow, const char *what)
{
	struct hsnap_rule_path path = { .first = (uint32_t)parser->rules->steps.num };
	do {
		struct hsnap_step_name step = { .name = parse_name(parser, what), .follow = follow };
		PUSH(parser, &parser->rules->steps, step);
		if (++path.num > MAX_STEPS)
			wrong(parser, "a path has more than %d members", MAX_STEPS);
		follow = may_follow && !strncmp(parser->at, "->", 2);
		/* A blank ends a path, and so does what is no name. */
	} while (!parser->code && (follow ? (parser->at += 2) : *parser->at == '.' ? (parser->at += 1) : NULL));
	return path;
}

/* The text of a path's only name, or NULL. */
static hsnap_string only_name(const struct parser *parser, const struct hsnap_rule_path *path)
{
	return path->num == 1 && !parser->code ? parser->rules->steps.items[path->first].name : 0;
}

static bool find_constant(const struct parser *parser, hsnap_string name, int64_t *ret)
{
	const struct hsnap_rules *rules = parser->rules;
	for (size_t i = rules->files.items[parser->file].first_constant; i < rules->constants.num; i++)
		if (rules->constants.items[i].name == name) {
			*ret = rules->constants.items[i].value;
			return true;
		}
	return false;
}

/* u8(, u16(, u32(, u64(; 0: none of them. */
static unsigned peek_size(struct parser *parser)
{
	static const char *const marks[] = { "u8(", "u16(", "u32(", "u64(" };
	for (unsigned i = 0; i < 4; i++)
		if (accept(parser, marks[i]))
			return 1u << i;
	return 0;
}

static uint32_t parse_primary(struct parser *parser)
{
	char next[80];
	uint64_t number;
	skip_blanks(parser);
	if (accept(parser, "(")) {
		uint32_t inner = parse_expression(parser);
		expect(parser, ")", "to close '('");
		return inner;
	}
	if (parse_number(parser, &number))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_NUMBER, .value = (int64_t)number });
	if (accept(parser, "@"))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_WORD });
	if (*parser->at == '&' && name_length(parser->at + 1)) {
		parser->at++;
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_ADDRESS, .a = parse_name(parser, "a variable") });
	}
	unsigned bytes = peek_size(parser);
	if (bytes) {
		uint32_t address = parse_expression(parser);
		expect(parser, ")", "to close '('");
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_PEEK, .a = address, .value = bytes });
	}
	bool target = accept(parser, "->");
	if (!target && !name_length(parser->at)) {
		wrong(parser, "a number or a member is wanted, not %s", next_text(parser, next, sizeof(next)));
		return 0;
	}
	struct hsnap_rule_path path = parse_path(parser, false, true, "a member");
	int64_t constant;
	hsnap_string name = target ? 0 : only_name(parser, &path);
	if (name && find_constant(parser, name, &constant))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_NUMBER, .value = constant });
	return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_PATH, .a = path.first, .b = path.num, .value = target });
}

static uint32_t parse_unary(struct parser *parser)
{
	static const struct {
		const char *mark;
		enum hsnap_expr_op op;
	} marks[] = { { "-", HSNAP_EXPR_NEGATE }, { "~", HSNAP_EXPR_INVERT }, { "!", HSNAP_EXPR_NOT } };
	skip_blanks(parser);
	if (++parser->depth > MAX_DEPTH)
		wrong(parser, "an expression is nested more than %d deep", MAX_DEPTH);
	uint32_t got = 0;
	bool done = parser->code != HSNAP_OK;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && !done; i++) {
		bool arrow = marks[i].mark[0] == '-' && parser->at[1] == '>';
		if (arrow || !accept(parser, marks[i].mark))
			continue;
		got = add_expr(parser, (struct hsnap_expr){ .op = marks[i].op, .a = parse_unary(parser) });
		done = true;
	}
	if (!done)
		got = parse_primary(parser);
	parser->depth--;
	return got;
}

/* Operators of two operands by how strongly they bind, longer marks first. */
static const struct binary {
	const char *mark;
	uint8_t level, op;
} binaries[] = {
	{ "||", 0, HSNAP_EXPR_OR },	  { "or", 0, HSNAP_EXPR_OR },	   { "&&", 1, HSNAP_EXPR_AND },
	{ "and", 1, HSNAP_EXPR_AND },	  { "==", 2, HSNAP_EXPR_EQUAL },   { "!=", 2, HSNAP_EXPR_UNEQUAL },
	{ "<<", 4, HSNAP_EXPR_LEFT },	  { ">>", 4, HSNAP_EXPR_RIGHT },   { "<=", 2, HSNAP_EXPR_AT_MOST },
	{ ">=", 2, HSNAP_EXPR_AT_LEAST }, { "<", 2, HSNAP_EXPR_LESS },	   { ">", 2, HSNAP_EXPR_MORE },
	{ "+", 3, HSNAP_EXPR_ADD },	  { "-", 3, HSNAP_EXPR_SUBTRACT }, { "|", 3, HSNAP_EXPR_OR_BITS },
	{ "^", 3, HSNAP_EXPR_XOR_BITS },  { "*", 4, HSNAP_EXPR_MULTIPLY }, { "/", 4, HSNAP_EXPR_DIVIDE },
	{ "%", 4, HSNAP_EXPR_REST },	  { "&", 4, HSNAP_EXPR_AND_BITS },
};
#define SUMS 3
#define TIGHTEST 4

static const struct binary *next_binary(struct parser *parser)
{
	skip_blanks(parser);
	for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++) {
		const char *mark = binaries[i].mark;
		if (isalpha((unsigned char)*mark) ? is_word(parser, mark) : !strncmp(parser->at, mark, strlen(mark)))
			return &binaries[i];
	}
	return NULL;
}

static uint32_t parse_level(struct parser *parser, unsigned level)
{
	uint32_t left = level > TIGHTEST ? parse_unary(parser) : parse_level(parser, level + 1);
	for (const struct binary *binary; !parser->code && level <= TIGHTEST && (binary = next_binary(parser)) &&
					  binary->level == level;) {
		parser->at += strlen(binary->mark);
		uint32_t right = parse_level(parser, level + 1);
		left = add_expr(parser, (struct hsnap_expr){ .op = binary->op, .a = left, .b = right });
	}
	return left;
}

static uint32_t parse_expression(struct parser *parser)
{
	if (++parser->depth > MAX_DEPTH)
		wrong(parser, "an expression is nested more than %d deep", MAX_DEPTH);
	uint32_t got = parser->code ? 0 : parse_level(parser, 0);
	parser->depth--;
	return got;
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
	size_t len = name_length(at);
	for (;;) {
		size_t blank = strspn(at + len, " "), next = name_length(at + len + blank);
		if (!blank || !next || !is_plain_word(at + len + blank, next))
			return len;
		len += blank + next;
	}
}

/* "std::map<int, long>::node" without what follows; 0: no name. */
static size_t type_length(struct parser *parser)
{
	const char *at = parser->at;
	size_t first = name_length(at), len = is_plain_word(at, first) ? plain_length(at) : first;
	while (len && (at[len] == '<' || !strncmp(at + len, "::", 2))) {
		size_t more = at[len] == '<' ? arguments_length(at + len) : name_length(at + len + 2);
		if (!more) {
			wrong(parser, "the name of a type does not end: '%.60s'", at);
			return 0;
		}
		len += at[len] == '<' ? more : more + 2;
	}
	return len;
}

static struct hsnap_rule_type parse_type(struct parser *parser)
{
	struct hsnap_rule_type type = { 0 };
	char next[80];
	(void)(accept_word(parser, "struct") || accept_word(parser, "union") || accept_word(parser, "class") ||
	       accept_word(parser, "enum"));
	skip_blanks(parser);
	if (*parser->at == '"') {
		size_t len = strcspn(parser->at + 1, "\"");
		if (!len || len > MAX_NAME || parser->at[1 + len] != '"')
			wrong(parser, "a name in quotes does not end");
		else
			type.name = keep(parser, parser->at + 1, len);
		parser->at += parser->code ? 0 : len + 2;
	} else {
		size_t len = type_length(parser);
		if (!len || len > MAX_NAME)
			wrong(parser, "a type is wanted, not %s", next_text(parser, next, sizeof(next)));
		else
			type.name = keep(parser, parser->at, len);
		parser->at += parser->code ? 0 : len;
	}
	if (*parser->at == '@' && !parser->code) {
		size_t len = strcspn(++parser->at, " \t.*[(");
		/* "dict.c" has a dot, and so has the member behind it: the extension belongs to the file. */
		if (parser->at[len] == '.')
			len += 1 + name_length(parser->at + len + 1);
		if (!len || len > MAX_NAME)
			wrong(parser, "a file is wanted after '@'");
		else
			type.file = keep(parser, parser->at, len);
		parser->at += parser->code ? 0 : len;
	}
	return type;
}

/* --- statements --- */

static void parse_owners(struct parser *parser, struct hsnap_rule *rule)
{
	rule->first_owner = rule->num_owners ? rule->first_owner : (uint32_t)parser->rules->owners.num;
	do {
		struct hsnap_rule_owner owner = { .type = parse_type(parser), .when = HSNAP_NO_EXPR };
		if (*parser->at == '.' && !parser->code) {
			parser->at++;
			owner.path = parse_path(parser, false, false, "a member");
		}
		if (accept_word(parser, "with"))
			owner.when = parse_expression(parser);
		if (parser->rules->owners.num == HSNAP_MAX_OWNERS)
			wrong(parser, "there are more than %u owners", HSNAP_MAX_OWNERS);
		PUSH(parser, &parser->rules->owners, owner);
		rule->num_owners++;
	} while (!parser->code && accept(parser, ","));
}

static void parse_at(struct parser *parser, struct hsnap_rule *rule)
{
	if (parse_number(parser, &rule->behind_start))
		return;
	accept(parser, ".");
	rule->at = parse_path(parser, false, false, "a member, or a number of bytes,");
}

static void parse_header(struct parser *parser, struct hsnap_rule *rule)
{
	char next[80];
	if (!parse_number(parser, &rule->header))
		wrong(parser, "a number of bytes is wanted after 'behind', not %s", next_text(parser, next, sizeof(next)));
	else if (!rule->header || rule->header > MAX_HEADER || rule->header % 8)
		wrong(parser, "an object begins 8, 16, ... 248 bytes behind a block's start, not %" PRIu64, rule->header);
}

/* live MEMBER [& MASK] == VALUE */
static void parse_live(struct parser *parser, struct hsnap_rule *rule)
{
	rule->live = parse_path(parser, false, false, "a member");
	rule->live_mask = UINT64_MAX;
	if (accept(parser, "&") && !parse_number(parser, &rule->live_mask))
		wrong(parser, "a number is wanted after '&'");
	expect(parser, "==", "after a member, or after a member & mask");
	if (!parser->code && !parse_number(parser, &rule->live_value))
		wrong(parser, "a number is wanted after '=='");
}

static void parse_clauses(struct parser *parser, struct hsnap_rule *rule)
{
	char next[80];
	for (skip_blanks(parser); *parser->at && !parser->code; skip_blanks(parser)) {
		if (accept_word(parser, "when") && rule->when == HSNAP_NO_EXPR)
			rule->when = parse_expression(parser);
		else if (accept_word(parser, "under"))
			parse_owners(parser, rule);
		else if (accept_word(parser, "step") && rule->step == HSNAP_NO_EXPR)
			rule->step = parse_expression(parser);
		else if (accept_word(parser, "from") && rule->from == HSNAP_NO_EXPR)
			rule->from = parse_expression(parser);
		else if (accept_word(parser, "live"))
			parse_live(parser, rule);
		else if (accept_word(parser, "at"))
			parse_at(parser, rule);
		else if (accept_word(parser, "behind"))
			parse_header(parser, rule);
		else if (accept_word(parser, "mask") && parse_number(parser, &rule->mask))
			continue;
		else
			wrong(parser, "when, under, at, behind, mask, step, from or live is wanted, once each, not %s", next_text(parser, next, sizeof(next)));
	}
}

static void parse_held(struct parser *parser, struct hsnap_rule *rule)
{
	rule->held = parse_type(parser);
	while (!parser->code && accept(parser, "*"))
		rule->held.stars++;
	if (rule->held.stars > 1)
		wrong(parser, "pointers to pointers are no more than T *");
	if (accept(parser, "+"))
		rule->extra = parse_level(parser, SUMS);
	if (accept(parser, "[")) {
		rule->form = HSNAP_RULE_FILL;
		if (!accept(parser, "]")) {
			rule->form = HSNAP_RULE_COUNT;
			rule->count = parse_expression(parser);
			expect(parser, "]", "after a number of elements");
		}
	}
	parse_clauses(parser, rule);
}

static void finish_rule(struct parser *parser, struct hsnap_rule *rule)
{
	if (rule->kind == HSNAP_RULE_IS && (rule->num_owners || rule->mask))
		wrong(parser, "'is' says what something is, wherever it is: no mask and no owner");
	bool pool = rule->step != HSNAP_NO_EXPR;
	if (pool && (rule->form != HSNAP_RULE_FILL || rule->held.stars || rule->header || rule->at.num || rule->behind_start))
		wrong(parser, "'step' is of a pool: T[] step n");
	if (!pool && (rule->from != HSNAP_NO_EXPR || rule->live.num))
		wrong(parser, "'from' and 'live' are of a pool: T[] step n");
	if ((rule->header || rule->extra != HSNAP_NO_EXPR) && (rule->form != HSNAP_RULE_ONE || rule->held.stars))
		wrong(parser, "'behind' and '+' are of one object, and not of an array");
	if (parser->rules->rules.num == HSNAP_MAX_RULES)
		wrong(parser, "there are more than %u rules", HSNAP_MAX_RULES);
	PUSH(parser, &parser->rules->rules, *rule);
}

/* Type.member, Type.(bytes), with [] or [n]. */
static void parse_place(struct parser *parser, struct hsnap_rule *rule)
{
	parser->at++; /* the dot */
	rule->elsewhere = accept(parser, "*");
	if (accept(parser, "(")) {
		rule->place = parse_expression(parser);
		expect(parser, ")", "to close '('");
	} else if (rule->elsewhere) {
		wrong(parser, "an address is wanted after '.*': .*(member)");
	} else {
		rule->path = parse_path(parser, false, false, "a member");
	}
	if (!accept(parser, "["))
		return;
	rule->many = true;
	if (!accept(parser, "]")) {
		rule->pointers = parse_expression(parser);
		expect(parser, "]", "after a number of pointers");
	}
}

static void parse_rule(struct parser *parser)
{
	char next[80];
	struct hsnap_rule rule = { .file = parser->file, .line = parser->line, .place = HSNAP_NO_EXPR, .pointers = HSNAP_NO_EXPR, .extra = HSNAP_NO_EXPR, .step = HSNAP_NO_EXPR, .from = HSNAP_NO_EXPR,
				   .count = HSNAP_NO_EXPR, .when = HSNAP_NO_EXPR };
	rule.type = parse_type(parser);
	if (parser->code)
		return;
	if (*parser->at == '.') {
		parse_place(parser, &rule);
		if (!parser->code && !accept_word(parser, "holds"))
			wrong(parser, "'holds' is wanted after a member, not %s", next_text(parser, next, sizeof(next)));
	} else if (accept_word(parser, "is")) {
		rule.kind = HSNAP_RULE_IS;
	} else {
		wrong(parser, "'.' and a member, or 'is', is wanted after a type, not %s", next_text(parser, next, sizeof(next)));
	}
	if (parser->code)
		return;
	parse_held(parser, &rule);
	finish_rule(parser, &rule);
}

static void parse_module(struct parser *parser)
{
	struct hsnap_rule_file *file = &parser->rules->files.items[parser->file];
	if (file->num_patterns)
		wrong(parser, "'module' is said once, and names all");
	for (skip_blanks(parser); *parser->at && !parser->code; skip_blanks(parser)) {
		size_t len = strcspn(parser->at, " \t");
		PUSH(parser, &parser->rules->patterns, keep(parser, parser->at, len));
		parser->at += len;
		file->num_patterns++;
	}
	if (!file->num_patterns)
		wrong(parser, "'module' wants names of files, such as lua5.4 or 'liblua5.4.so*'");
}

static int64_t value_of(struct parser *parser, uint32_t index)
{
	struct hsnap_expr expr = parser->code ? (struct hsnap_expr){ 0 } : parser->rules->exprs.items[index];
	uint64_t a, b;
	switch ((enum hsnap_expr_op)expr.op) {
	case HSNAP_EXPR_NUMBER:
		return expr.value;
	case HSNAP_EXPR_NEGATE:
		return (int64_t)-(uint64_t)value_of(parser, expr.a);
	case HSNAP_EXPR_INVERT:
		return ~value_of(parser, expr.a);
	case HSNAP_EXPR_ADD:
	case HSNAP_EXPR_SUBTRACT:
	case HSNAP_EXPR_OR_BITS:
	case HSNAP_EXPR_LEFT:
		a = (uint64_t)value_of(parser, expr.a);
		b = (uint64_t)value_of(parser, expr.b);
		return (int64_t)(expr.op == HSNAP_EXPR_ADD	  ? a + b
				 : expr.op == HSNAP_EXPR_SUBTRACT ? a - b
				 : expr.op == HSNAP_EXPR_OR_BITS  ? a | b
				 : b < 64			  ? a << b : 0);
	default:
		wrong(parser, "'let' wants a number, of numbers with + - | << and of constants said before");
		return 0;
	}
}

static void parse_let(struct parser *parser)
{
	struct hsnap_rule_constant constant = { .name = parse_name(parser, "a name") };
	int64_t before;
	if (!parser->code && find_constant(parser, constant.name, &before))
		wrong(parser, "'%s' was said before", hsnap_str(&parser->rules->strings, constant.name));
	expect(parser, "=", "after the name");
	if (parser->code)
		return;
	constant.value = value_of(parser, parse_expression(parser));
	PUSH(parser, &parser->rules->constants, constant);
}

static void parse_statement(struct parser *parser)
{
	char next[80];
	parser->at = parser->statement;
	parser->depth = 0;
	skip_blanks(parser);
	if (!*parser->at)
		return;
	const char *begin = parser->at;
	/* A type may be called so, too. */
	bool module = accept_word(parser, "module") && *parser->at != '.' && !is_word(parser, "is");
	bool let = !module && (parser->at = begin) && accept_word(parser, "let") && *parser->at != '.' && !is_word(parser, "is");
	if (module) {
		parse_module(parser);
	} else if (let) {
		parse_let(parser);
	} else {
		parser->at = begin;
		parse_rule(parser);
	}
	skip_blanks(parser);
	if (*parser->at && !parser->code)
		wrong(parser, "%s is too much", next_text(parser, next, sizeof(next)));
}

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
static void take_line(struct parser *parser, const char *line, size_t len, uint32_t number, size_t *used)
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
		wrong(parser, "an indented line goes on with the one before, and there is none");
	}
	if (parser->code)
		return;
	if (memchr(line, '\0', text))
		wrong(parser, "there is a zero byte in it");
	else if (text + 2 > sizeof(parser->statement) - *used)
		wrong(parser, "a statement has more than %d bytes", MAX_STATEMENT - 2);
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
	struct parser *parser = calloc(1, sizeof(*parser));
	hsnap_auto(hsnap_freep) void *free_later = parser;
	if (!parser)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	*parser = (struct parser){ .rules = rules, .name = name, .err = err, .file = (uint32_t)rules->files.num, .line = 1 };
	keep(parser, "", 0);
	struct hsnap_rule_file file = { .name = keep(parser, name, strlen(name)), .first_pattern = (uint32_t)rules->patterns.num,
					.first_constant = (uint32_t)rules->constants.num };
	PUSH(parser, &rules->files, file);
	if (size > HSNAP_MAX_RULES_FILE)
		wrong(parser, "it has more than %u bytes", HSNAP_MAX_RULES_FILE);
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
