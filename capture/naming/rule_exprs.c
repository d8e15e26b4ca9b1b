/* SPDX-License-Identifier: MIT */
/* rule_exprs.c - the numbers, paths and expressions in statements of a user's rules. */
#include <ctype.h>
#include <string.h>

#include "capture/naming/rule_parser.h"

#define MAX_DEPTH 32 /* of expressions */
#define MAX_STEPS 16 /* of a path */

static uint32_t add_expr(struct hsnap_rule_parser *parser, struct hsnap_expr expr)
{
	HSNAP_RULE_PUSH(parser, &parser->rules->exprs, expr);
	return (uint32_t)parser->rules->exprs.num - 1;
}

bool hsnap_rule_parse_number(struct hsnap_rule_parser *parser, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned base = 10;
	hsnap_rule_skip_blanks(parser);
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
			hsnap_rule_wrong(parser, "a number ends after '0x'");
	}
	for (; isxdigit((unsigned char)*parser->at); parser->at++) {
		unsigned char c = (unsigned char)*parser->at;
		unsigned digit = isdigit(c) ? (unsigned)(c - '0') : (unsigned)(tolower(c) - 'a') + 10;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
			hsnap_rule_wrong(parser, "a number has more than 64 bits");
	}
	if (hsnap_rule_name_length(parser->at))
		hsnap_rule_wrong(parser, "'%.20s' is no number's end", parser->at);
	*ret = value;
	return true;
}

struct hsnap_rule_path hsnap_rule_parse_path(struct hsnap_rule_parser *parser, bool follow, bool may_follow,
					     const char *what)
{
	struct hsnap_rule_path path = { .first = (uint32_t)parser->rules->steps.num };
	do {
		struct hsnap_step_name step = { .name = hsnap_rule_parse_name(parser, what), .follow = follow };
		HSNAP_RULE_PUSH(parser, &parser->rules->steps, step);
		if (++path.num > MAX_STEPS)
			hsnap_rule_wrong(parser, "a path has more than %d members", MAX_STEPS);
		follow = may_follow && !strncmp(parser->at, "->", 2);
		/* A blank ends a path, and so does what is no name. */
	} while (!parser->code && (follow ? (parser->at += 2) : *parser->at == '.' ? (parser->at += 1) : NULL));
	return path;
}

/* The text of a path's only name, or NULL. */
static hsnap_string only_name(const struct hsnap_rule_parser *parser, const struct hsnap_rule_path *path)
{
	return path->num == 1 && !parser->code ? parser->rules->steps.items[path->first].name : 0;
}

bool hsnap_rule_find_constant(const struct hsnap_rule_parser *parser, hsnap_string name, int64_t *ret)
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
static unsigned peek_size(struct hsnap_rule_parser *parser)
{
	static const char *const marks[] = { "u8(", "u16(", "u32(", "u64(" };
	for (unsigned i = 0; i < 4; i++)
		if (hsnap_rule_accept(parser, marks[i]))
			return 1u << i;
	return 0;
}

static uint32_t parse_primary(struct hsnap_rule_parser *parser)
{
	char next[80];
	uint64_t number;
	hsnap_rule_skip_blanks(parser);
	if (hsnap_rule_accept(parser, "(")) {
		uint32_t inner = hsnap_rule_parse_expression(parser);
		hsnap_rule_expect(parser, ")", "to close '('");
		return inner;
	}
	if (hsnap_rule_parse_number(parser, &number))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_NUMBER, .value = (int64_t)number });
	if (hsnap_rule_accept(parser, "@"))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_WORD });
	if (*parser->at == '&' && hsnap_rule_name_length(parser->at + 1)) {
		parser->at++;
		hsnap_string name = hsnap_rule_parse_name(parser, "a variable");
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_ADDRESS, .a = name });
	}
	unsigned bytes = peek_size(parser);
	if (bytes) {
		uint32_t address = hsnap_rule_parse_expression(parser);
		hsnap_rule_expect(parser, ")", "to close '('");
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_PEEK, .a = address, .value = bytes });
	}
	bool target = hsnap_rule_accept(parser, "->");
	if (!target && !hsnap_rule_name_length(parser->at)) {
		hsnap_rule_wrong(parser, "a number or a member is wanted, not %s", hsnap_rule_next_text(parser, next, sizeof(next)));
		return 0;
	}
	struct hsnap_rule_path path = hsnap_rule_parse_path(parser, false, true, "a member");
	int64_t constant;
	hsnap_string name = target ? 0 : only_name(parser, &path);
	if (name && hsnap_rule_find_constant(parser, name, &constant))
		return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_NUMBER, .value = constant });
	return add_expr(parser, (struct hsnap_expr){ .op = HSNAP_EXPR_PATH, .a = path.first, .b = path.num, .value = target });
}

static uint32_t parse_unary(struct hsnap_rule_parser *parser)
{
	static const struct {
		const char *mark;
		enum hsnap_expr_op op;
	} marks[] = { { "-", HSNAP_EXPR_NEGATE }, { "~", HSNAP_EXPR_INVERT }, { "!", HSNAP_EXPR_NOT } };
	hsnap_rule_skip_blanks(parser);
	if (++parser->depth > MAX_DEPTH)
		hsnap_rule_wrong(parser, "an expression is nested more than %d deep", MAX_DEPTH);
	uint32_t got = 0;
	bool done = parser->code != HSNAP_OK;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && !done; i++) {
		bool arrow = marks[i].mark[0] == '-' && parser->at[1] == '>';
		if (arrow || !hsnap_rule_accept(parser, marks[i].mark))
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

static const struct binary *next_binary(struct hsnap_rule_parser *parser)
{
	hsnap_rule_skip_blanks(parser);
	for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++) {
		const char *mark = binaries[i].mark;
		if (isalpha((unsigned char)*mark) ? hsnap_rule_is_word(parser, mark) : !strncmp(parser->at, mark, strlen(mark)))
			return &binaries[i];
	}
	return NULL;
}

static uint32_t parse_level(struct hsnap_rule_parser *parser, unsigned level)
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

uint32_t hsnap_rule_parse_expression(struct hsnap_rule_parser *parser)
{
	if (++parser->depth > MAX_DEPTH)
		hsnap_rule_wrong(parser, "an expression is nested more than %d deep", MAX_DEPTH);
	uint32_t got = parser->code ? 0 : parse_level(parser, 0);
	parser->depth--;
	return got;
}

uint32_t hsnap_rule_parse_sum(struct hsnap_rule_parser *parser)
{
	return parse_level(parser, SUMS);
}

int64_t hsnap_rule_value(struct hsnap_rule_parser *parser, uint32_t index)
{
	struct hsnap_expr expr = parser->code ? (struct hsnap_expr){ 0 } : parser->rules->exprs.items[index];
	uint64_t a, b;
	switch ((enum hsnap_expr_op)expr.op) {
	case HSNAP_EXPR_NUMBER:
		return expr.value;
	case HSNAP_EXPR_NEGATE:
		return (int64_t)-(uint64_t)hsnap_rule_value(parser, expr.a);
	case HSNAP_EXPR_INVERT:
		return ~hsnap_rule_value(parser, expr.a);
	case HSNAP_EXPR_ADD:
	case HSNAP_EXPR_SUBTRACT:
	case HSNAP_EXPR_OR_BITS:
	case HSNAP_EXPR_LEFT:
		a = (uint64_t)hsnap_rule_value(parser, expr.a);
		b = (uint64_t)hsnap_rule_value(parser, expr.b);
		return (int64_t)(expr.op == HSNAP_EXPR_ADD	  ? a + b
				 : expr.op == HSNAP_EXPR_SUBTRACT ? a - b
				 : expr.op == HSNAP_EXPR_OR_BITS  ? a | b
				 : b < 64			  ? a << b : 0);
	default:
		hsnap_rule_wrong(parser, "'let' wants a number, of numbers with + - | << and of constants said before");
		return 0;
	}
}
