/* SPDX-License-Identifier: MIT */
/* test_rules.c - the grammar of --types, what its names mean, and what it makes of blocks. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>

#include "capture/naming/rules.h"
#include "world.h"

static void free_numbers(struct criterion_test_params *params)
{
	cr_free(params->params);
}

/* The numbers of a table's rows, a test each. */
static struct criterion_test_params row_numbers(size_t num)
{
	size_t *numbers = cr_malloc(num * sizeof(*numbers));
	for (size_t i = 0; i < num; i++)
		numbers[i] = i;
	return cr_make_param_array(size_t, numbers, num, free_numbers);
}

/* --- what is no rule --- */

static const struct {
	const char *text, *message;
} wrongs[] = {
	{ "Node", "t:1: '.' and a member, or 'is', is wanted after a type, not the line's end" },
	{ "Node.value", "t:1: 'holds' is wanted after a member, not the line's end" },
	{ "Node.value hold Item", "t:1: 'holds' is wanted after a member, not 'hold'" },
	{ "\n\n# remark\nNode.value holds", "t:4: a type is wanted, not the line's end" },
	{ "Node.value holds Item if x", "t:1: when, under, at, behind, mask, step, from or live is wanted, once each, not 'if'" },
	{ "Node.value holds Item when", "t:1: a number or a member is wanted, not the line's end" },
	{ "Node.value holds Item when a == 1 when b == 2", "t:1: when, under, at, behind, mask, step, from or live is wanted, once each, not 'b'" },
	{ "Node.value holds Item when (a == 1", "t:1: ')' is wanted to close '(', not the line's end" },
	{ "Node.value holds Item when a == 0x", "t:1: a number ends after '0x'" },
	{ "Node.value holds Item when a == 99999999999999999999", "t:1: a number has more than 64 bits" },
	{ "Node.value holds Item when a == 12ab", "t:1: 'ab' is no number's end" },
	{ "Node.value holds Item[n", "t:1: ']' is wanted after a number of elements, not the line's end" },
	{ "Node.value holds Item **", "t:1: pointers to pointers are no more than T *" },
	{ "Node.value holds Item behind 12", "t:1: an object begins 8, 16, ... 248 bytes behind a block's start, not 12" },
	{ "Node.value holds Item[] behind 8", "t:1: 'behind' and '+' are of one object, and not of an array" },
	{ "Node.value holds Item step 8", "t:1: 'step' is of a pool: T[] step n" },
	{ "Node.value holds Item[] from 8", "t:1: 'from' and 'live' are of a pool: T[] step n" },
	{ "Node.value holds Item[] step 8 live a & b == 1", "t:1: a number is wanted after '&'" },
	{ "Node.value holds Item[] step 8 live a", "t:1: '==' is wanted after a member, or after a member & mask, not the line's end" },
	{ "Node.*value holds Item", "t:1: an address is wanted after '.*': .*(member)" },
	{ "Node is Item mask 7", "t:1: 'is' says what something is, wherever it is: no mask and no owner" },
	{ "Node is Item under Table.nodes", "t:1: 'is' says what something is, wherever it is: no mask and no owner" },
	{ "* holds Item", "t:1: 'is' is wanted after '*', not 'holds'" },
	{ "* is Item", "t:1: '*' says by 'when' what a block is: one object, and no mask, no owner and no 'at'" },
	{ "* is Item[] when ->a == 1", "t:1: '*' says by 'when' what a block is: one object, and no mask, no owner and no 'at'" },
	{ "* is Item when ->a == 1 under Table.nodes", "t:1: '*' says by 'when' what a block is: one object, and no mask, no owner and no 'at'" },
	{ "* is Item at 8 when ->a == 1", "t:1: '*' says by 'when' what a block is: one object, and no mask, no owner and no 'at'" },
	{ "\"Node.value holds Item", "t:1: a name in quotes does not end" },
	{ "std::map<int.value holds Item", "t:1: the name of a type does not end: 'std::map<int.value holds Item'" },
	{ "module", "t:1: 'module' wants names of files, such as lua5.4 or 'liblua5.4.so*'" },
	{ "module a\nmodule b", "t:2: 'module' is said once, and names all" },
	{ "let X", "t:1: '=' is wanted after the name, not the line's end" },
	{ "let X = y", "t:1: 'let' wants a number, of numbers with + - | << and of constants said before" },
	{ "let X = 1\nlet X = 2", "t:2: 'X' was said before" },
	{ "let X = 1 2", "t:1: '2' is too much" },
	{ "  Node.value holds Item", "t:1: an indented line goes on with the one before, and there is none" },
	{ "Node.value holds Item\n\twhen", "t:1: a number or a member is wanted, not the line's end" },
	{ "Node.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q holds Item", "t:1: a path has more than 16 members" },
	{ "Node.value holds Item when "
	  "((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))", "t:1: an expression is nested more than 32 deep" },
};

ParameterizedTestParameters(rules, wrong)
{
	return row_numbers(sizeof(wrongs) / sizeof(*wrongs));
}

ParameterizedTest(size_t *row, rules, wrong)
{
	struct hsnap_rules rules = { 0 };
	struct hsnap_error err = { 0 };
	const char *text = wrongs[*row].text;
	cr_expect_eq(hsnap_rules_parse(&rules, "t", text, strlen(text), &err), HSNAP_FORMAT, "%s", text);
	cr_expect_str_eq(err.message, wrongs[*row].message, "%s\nwant %s\ngot  %s", text, wrongs[*row].message, err.message);
	cr_expect(err.hint[0], "%s: every refusal names its cure", text);
	hsnap_rules_deinit(&rules);
}

Test(rules, what_is_too_much_is_said)
{
	static char big[HSNAP_MAX_RULES_FILE + 1], line[6000];
	struct hsnap_rules rules = { 0 };
	struct hsnap_error err = { 0 };
	memset(big, '\n', sizeof(big));
	cr_expect_eq(hsnap_rules_parse(&rules, "t", big, sizeof(big), &err), HSNAP_FORMAT);
	cr_expect_str_eq(err.message, "t:1: it has more than 1048576 bytes");
	cr_expect_eq(hsnap_rules_parse(&rules, "t", big, sizeof(big) - 1, &err), HSNAP_OK);
	memset(line, 'a', sizeof(line));
	cr_expect_eq(hsnap_rules_parse(&rules, "t", line, sizeof(line), &err), HSNAP_FORMAT);
	cr_expect_str_eq(err.message, "t:1: a statement has more than 4094 bytes");
	cr_expect_eq(hsnap_rules_parse(&rules, "t", "a\0b", 3, &err), HSNAP_FORMAT);
	cr_expect_str_eq(err.message, "t:1: there is a zero byte in it");
	for (size_t i = 0; i + 8 <= sizeof(big); i += 8)
		memcpy(big + i, "A is B\n\n", 8);
	cr_expect_eq(hsnap_rules_parse(&rules, "t", big, 8 * 5000, &err), HSNAP_FORMAT);
	cr_expect_str_eq(err.message, "t:8193: there are more than 4096 rules");
	hsnap_rules_deinit(&rules);
}

/* --- a program that hides what it holds --- */

/*
 * struct Box { void *what; unsigned kind; unsigned low:3, high:5; void *many[2]; uint64_t num; };
 * struct Head { unsigned magic; unsigned size; }; struct Small { Head; long a; }; struct Large { Head; long a, b, c; Box *box; };
 */
struct boxes {
	struct world *w;
	struct basics t;
	struct hsnap_rules rules;
	hsnap_dtype_id half, box, head, small, large, text;
};

static struct boxes boxes_create(void)
{
	struct boxes b = { .w = world_create() };
	struct world *w = b.w;
	b.t = make_basics(w);
	b.half = world_type(w, "unsigned int", HSNAP_DTYPE_SCALAR, 4);
	b.box = world_type(w, "Box", STRUCT, 40);
	b.head = world_type(w, "Head", STRUCT, 8);
	b.small = world_type(w, "Small", STRUCT, 16);
	b.large = world_type(w, "Large", STRUCT, 40);
	b.text = world_type(w, "Text", STRUCT, 8);
	hsnap_dtype_id tail = world_type(w, "Tail", STRUCT, 8);
	w->symbols.types.items[tail].flags |= HSNAP_DTYPE_FLEXIBLE;
	MEMBERS(w, tail, { "kind", 0, b.half });
	MEMBERS(w, b.box, { "what", 0, b.t.void_pointer }, { "kind", 8, b.half },
		{ "low", 12, b.half, HSNAP_DMEMBER_BITFIELD | 3 << 16 }, { "high", 12, b.half, HSNAP_DMEMBER_BITFIELD | 5 << 16 | 3 << 8 },
		{ "many", 16, world_array(w, b.t.void_pointer, 2) }, { "num", 32, b.t.number });
	MEMBERS(w, b.head, { "magic", 0, b.half }, { "size", 4, b.half });
	MEMBERS(w, b.small, { "", 0, b.head, HSNAP_DMEMBER_BASE }, { "a", 8, b.t.number });
	MEMBERS(w, b.large, { "head", 0, b.head }, { "a", 8, b.t.number }, { "b", 16, b.t.number }, { "c", 24, b.t.number },
		{ "box", 32, world_pointer(w, b.box) });
	MEMBERS(w, b.text, { "len", 0, b.half }, { "flags", 4, b.half });
	world_variable(w, "g_box", WORLD_DATA, world_pointer(w, b.box));
	world_variable(w, "g_mark", WORLD_DATA + 64, b.t.number);
	return b;
}

static void boxes_destroy(struct boxes *b)
{
	hsnap_rules_deinit(&b->rules);
	world_destroy(b->w);
}

/* These rules, and none that were said before. */
static void say(struct boxes *b, const char *text)
{
	struct hsnap_error err = { 0 };
	hsnap_rules_deinit(&b->rules);
	cr_assert_eq(hsnap_rules_parse(&b->rules, "t", text, strlen(text), &err), HSNAP_OK, "%s: %s", text, err.message);
	b->w->rules = &b->rules;
}

static uint64_t put_box(struct boxes *b, uint64_t what, uint32_t kind, uint32_t bits)
{
	uint64_t box = world_block(b->w, 40, 0);
	uint32_t both[2] = { kind, bits };
	world_set(b->w, WORLD_DATA, box);
	world_set(b->w, box, what);
	world_write(b->w, box + 8, both, sizeof(both));
	return box;
}

/* The rows that these rules make. */
static const char *rows_by(struct boxes *b, const char *text)
{
	say(b, text);
	world_name(b->w);
	return world_rows(b->w);
}

/* One box that holds a block of `size` bytes, with a first word. */
static const char *rows_of(const char *rule, uint64_t size, uint64_t first, uint32_t kind, uint32_t bits)
{
	static char text[8192];
	struct boxes b = boxes_create();
	uint64_t held = world_block(b.w, size, 0);
	world_set(b.w, held, first);
	put_box(&b, held, kind, bits);
	snprintf(text, sizeof(text), "%s", rows_by(&b, rule));
	boxes_destroy(&b);
	return text;
}

#define LABEL(size) "1 " size " bytes in Box.what label"

static const struct {
	const char *rule;
	uint64_t size, first;
	uint32_t kind, bits;
	const char *want; /* of the row beside the box's own */
} held[] = {
	{ "Box.what holds Small", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.what holds struct Small", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.what holds Small", 32, 0, 0, 0, LABEL("32") },       /* the size vetoes */
	{ "Box.what holds Large", 16, 0, 0, 0, LABEL("16") },
	{ "Box.what holds Small[]", 48, 0, 0, 0, "1 Small[] proved" },
	{ "Box.what holds Small[3]", 48, 0, 0, 0, "1 Small[] proved" },
	{ "Box.what holds Small[kind]", 48, 0, 3, 0, "1 Small[] proved" },
	{ "Box.what holds Small[kind]", 48, 0, 2, 0, "1 Small[] proved" }, /* room for more */
	{ "Box.what holds Small[kind]", 48, 0, 4, 0, LABEL("48") },
	{ "Box.what holds Small[kind]", 48, 0, 0, 0, LABEL("48") },
	{ "Box.what holds char[kind]", 48, 0, 12, 0, "1 char[] in Box.what proved" },
	{ "Box.what holds char[kind]", 48, 0, 60, 0, LABEL("48") },
	{ "Box.what holds Small when kind == 7", 16, 0, 7, 0, "1 Small proved" },
	{ "Box.what holds Small when kind == 7", 16, 0, 6, 0, LABEL("16") },
	{ "let SMALL = 1 << 3 | 1\nBox.what holds Small when kind == SMALL", 16, 0, 9, 0, "1 Small proved" },
	{ "Box.what holds Small when kind & 0xf0 == 0x20", 16, 0, 0x2a, 0, "1 Small proved" },
	{ "Box.what holds Small when kind & 0xf0 == 0x20", 16, 0, 0x3a, 0, LABEL("16") },
	{ "Box.what holds Small when kind == 'x'", 16, 0, 'x', 0, "1 Small proved" },
	{ "Box.what holds Small when low == 5", 16, 0, 0, 5 | 9 << 3, "1 Small proved" },
	{ "Box.what holds Small when high == 9", 16, 0, 0, 5 | 9 << 3, "1 Small proved" },
	{ "Box.what holds Small when low == 6", 16, 0, 0, 5 | 9 << 3, LABEL("16") },
	{ "Box.what holds Small when kind == 1 or kind == 2", 16, 0, 2, 0, "1 Small proved" },
	{ "Box.what holds Small when kind > 1 and kind < 4 && !(kind == 3)", 16, 0, 2, 0, "1 Small proved" },
	{ "Box.what holds Small when kind > 1 and kind < 4 && !(kind == 3)", 16, 0, 3, 0, LABEL("16") },
	{ "Box.what holds Small when kind / low == 1", 16, 0, 1, 0, LABEL("16") }, /* by zero */
	{ "Box.what holds Small when ->magic == 77", 16, 77, 0, 0, "1 Small proved" },
	{ "Box.what holds Small when ->magic == 77", 16, 78, 0, 0, LABEL("16") },
	{ "Box.what holds Small\n\twhen ->magic == 77 # and so on\n", 16, 77, 0, 0, "1 Small proved" },
	{ "Box.what holds Head\nHead is Small when magic == 1\nHead is Large when magic == 2", 40, 2, 0, 0, "1 Large proved" },
	{ "Box.what holds Head\nHead is Small when magic == 1\nHead is Large when magic == 2", 16, 1, 0, 0, "1 Small proved" },
	{ "Box.what holds Head\nHead is Small when magic == 1\nHead is Large when magic == 2", 40, 1, 0, 0, LABEL("40") },
	{ "Box.what holds thing\nthing is Small when ->magic == 1\nthing is Large when ->head.magic == 2", 40, 2, 0, 0, "1 Large proved" },
	{ "Box.what holds thing\nthing is Small when ->magic == 1\nthing is Large when ->head.magic == 2", 40, 3, 0, 0, LABEL("40") },
	{ "Box.what holds thing\nthing is Small[3]", 48, 0, 0, 0, "1 Small[] proved" },
	{ "Box.what holds thing\nthing is char[] when u8(@) == 3", 48, 3, 0, 0, "1 char[] in Box.what proved" },
	{ "Box.what holds Small behind 16", 32, 0, 0, 0, LABEL("32") }, /* it leads to the block's very start */
	{ "Box.what holds Small when &g_mark == 0x600040", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.(kind) holds Small", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.*(@) holds Small", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.*(@ + 8) holds Small", 16, 0, 0, 0, LABEL("16") },
	{ "Box.(kind) holds Small", 16, 0, 8, 0, LABEL("16") },
	{ "Box.(kind) holds Small", 16, 0, 1u << 31, 0, LABEL("16") },
	{ "module app*\nBox.what holds Small", 16, 0, 0, 0, "1 Small proved" },
	{ "Box.what holds Head + kind", 48, 0, 40, 0, "1 Head proved" },
	{ "Box.what holds Head + kind", 48, 0, 0, 0, LABEL("48") },
	{ "Box.what holds Head\nHead is Head + size when magic == 1", 48, 40ull << 32 | 1, 0, 0, "1 Head proved" },
	{ "Box.what holds Head\nHead is Head + size when magic == 1", 48, 400ull << 32 | 1, 0, 0, LABEL("48") },
	{ "Box.what holds Small when u8(@) == 7 and u16(@ + 2) == 9", 16, 9 << 16 | 7, 0, 0, "1 Small proved" },
	{ "Box.what holds Small when u64(kind) == 0", 16, 0, 0, 0, LABEL("16") }, /* nothing is there */
	{ "Box.what holds Node *[]", 16, 0, 0, 0, "1 Node *[] proved" },
};

ParameterizedTestParameters(rules, held)
{
	return row_numbers(sizeof(held) / sizeof(*held));
}

ParameterizedTest(size_t *row, rules, held)
{
	char want[256], other[256];
	const char *rows = rows_of(held[*row].rule, held[*row].size, held[*row].first, held[*row].kind, held[*row].bits);
	snprintf(want, sizeof(want), "%s; 1 Box proved", held[*row].want);
	snprintf(other, sizeof(other), "1 Box proved; %s", held[*row].want);
	cr_expect(!strcmp(rows, want) || !strcmp(rows, other), "%s\nwant %s\ngot  %s", held[*row].rule, want, rows);
}

/* --- names that mean nothing here --- */

static const struct {
	const char *rule, *message, *hint;
} unbound[] = {
	{ "Bx.what holds Small", "t:1: there is no type 'Bx'", "there is a type 'Box'" },
	{ "# one\nBox.what holds Smal", "t:2: there is no type 'Smal'", "there is a type 'Small'" },
	{ "Box.waht holds Small", "t:1: 'Box' has no member 'waht'", "it has a member 'what'" },
	{ "Box.zzzzzz holds Small", "t:1: 'Box' has no member 'zzzzzz'", "its members are what, kind, low, high, many, num" },
	{ "Box.what holds Small when knd == 1", "t:1: 'Box' has no member 'knd'", "it has a member 'kind'" },
	{ "Box.what holds Small when ->magik == 1", "t:1: 'Small' has no member 'magik'", "it has a member 'magic'" },
	{ "Box.what holds Small when many == 1", "t:1: 'many' is no number and no pointer", "name a member of it that is one" },
	{ "Box.what holds Small when kind->x == 1", "t:1: 'kind' is no pointer, and '->' stands behind it",
	  "'.' stands between a member and a member of it" },
	{ "Box.kind holds Small", "t:1: 'kind' is no pointer, nor an array of pointers",
	  "a rule is about words of 8 bytes; Type.(bytes) says where one stands in bytes" },
	{ "Box.low holds Small", "t:1: 'low' is no pointer, nor an array of pointers",
	  "a rule is about words of 8 bytes; Type.(bytes) says where one stands in bytes" },
	{ "Box.many holds Small", "t:1: 'many' is an array of pointers", "say many[]" },
	{ "Box.what[] holds Small", "t:1: 'what' is one pointer, and no array",
	  "say what without brackets; an array that it leads to is T[]" },
	{ "Box.what holds char", "t:1: a block of 'char' is an array", "say char[], or char[n]" },
	{ "Box.what holds Small at b", "t:1: 'Small' has no member 'b' that a pointer could lead to", "its members are magic, size, a" },
	{ "Box.what holds Small at 17", "t:1: 17 bytes are more than a 'Small' has", "it has 16" },
	{ "Box.what holds Small when &g_mrk == 1", "t:1: there is no variable 'g_mrk'",
	  "only global and static variables have one address, and debug info must tell it" },
	{ "Box.what holds Small under nobody", "t:1: there is no variable and no type 'nobody'",
	  "an owner is a global or static variable, a member of one, or Type.member" },
	{ "Box.what holds Small under Large", "t:1: 'Large' is a type, and an owner is a variable or a member", "say Large.member" },
	{ "Box.what holds Small under Large.boxx", "t:1: 'Large' has no member 'boxx'", "it has a member 'box'" },
	{ "Box.what holds char[] step 8", "t:1: a pool is of structs, and 'char' is none", "an array without 'step' may be of anything" },
	{ "Box.what holds Box[] step 40 live low == 1", "t:1: what 'live' names is a number of 1, 2, 4 or 8 bytes, and no bit-field",
	  "of a bit-field say its neighbour with & MASK" },
	{ "Bxx is Small", "t:1: there is no type 'Bxx'", "there is a type 'Box'" },
	{ "Box.what holds thing[]\nthing is Small", "t:1: 'thing' may be several types: no array of it, no member, and nothing behind it",
	  "say it in its 'is' rules" },
	{ "Box.what holds thing\nthing is Small when magic == 1",
	  "t:2: what is called so is no type of the program: it has no members", "a member of what it is stands behind '->'" },
	{ "* is Tail when ->kind == 1", "t:1: a 'Tail' may have any size", "say how many bytes stand behind it: Tail + n" },
	{ "* is Small when magic == 1", "t:1: what is called so is no type of the program: it has no members", "a member of what it is stands behind '->'" },
	{ "module other\nBox.what holds Small", "t: it is for modules called other, and the process has none",
	  "leave --types t out, or add its module to the line that begins with 'module'" },
};

ParameterizedTestParameters(rules, unbound)
{
	return row_numbers(sizeof(unbound) / sizeof(*unbound));
}

ParameterizedTest(size_t *row, rules, unbound)
{
	struct boxes b = boxes_create();
	struct hsnap_error err = { 0 };
	say(&b, unbound[*row].rule);
	cr_expect_eq(world_try_name(b.w, &err), HSNAP_REFUSED, "%s", unbound[*row].rule);
	cr_expect_str_eq(err.message, unbound[*row].message, "%s\nwant %s\ngot  %s", unbound[*row].rule, unbound[*row].message,
			 err.message);
	cr_expect_str_eq(err.hint, unbound[*row].hint, "%s\nwant %s\ngot  %s", unbound[*row].rule, unbound[*row].hint, err.hint);
	boxes_destroy(&b);
}

/* --- what rules do together with all else --- */

Test(rules, a_name_of_two_types_is_asked_about)
{
	struct boxes b = boxes_create();
	struct hsnap_error err = { 0 };
	hsnap_dtype_id other = world_type(b.w, "Small", STRUCT, 24);
	b.w->symbols.types.items[other].unit = world_string(b.w, "src/b.c");
	b.w->symbols.types.items[other].line = 7;
	b.w->symbols.types.items[b.small].unit = world_string(b.w, "src/a.h");
	b.w->symbols.types.items[b.small].line = 3;
	say(&b, "Box.what holds Small");
	cr_expect_eq(world_try_name(b.w, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "t:1: 'Small' is several types: of a.h:3 and of b.c:7", "%s", err.message);
	cr_expect_str_eq(err.hint, "say which: Small@a.h", "%s", err.hint);
	say(&b, "Box.what holds Small@b.c");
	put_box(&b, world_block(b.w, 24, 0), 0, 0);
	world_name(b.w);
	cr_expect_str_eq(world_rows(b.w), "1 Box proved; 1 Small proved", "%s", b.w->text);
	boxes_destroy(&b);
}

Test(rules, each_pointer_of_an_array)
{
	struct boxes b = boxes_create();
	uint64_t one = world_block(b.w, 16, 0), two = world_block(b.w, 16, 0), box = put_box(&b, 0, 1, 0);
	world_set(b.w, box + 16, one);
	world_set(b.w, box + 24, two);
	cr_expect_str_eq(rows_by(&b, "Box.many[] holds Small"), "1 Box proved; 2 Small proved", "%s", b.w->text);
	cr_expect(strstr(rows_by(&b, "Box.many[kind] holds Small"), "1 Small proved"), "%s", b.w->text);
	boxes_destroy(&b);
}

/* The rows of a box that holds the inside of a block. */
static void expect_inside(uint64_t size, uint64_t offset, const char *rules, const char *rows)
{
	struct boxes b = boxes_create();
	put_box(&b, world_block(b.w, size, 0) + offset, 0, 0);
	cr_expect_str_eq(rows_by(&b, rules), rows, "%s: %s", rules, b.w->text);
	boxes_destroy(&b);
}

Test(rules, a_tag_is_taken_off)
{
	expect_inside(16, 5, "Box.what holds Large mask 7 when @ & 7 == 4\nBox.what holds Small mask 7 when @ & 7 == 5",
		      "1 Box proved; 1 Small proved");
}

Test(rules, a_pointer_past_a_head)
{
	expect_inside(40, 8, "Box.what holds Large at a", "1 Box proved; 1 Large proved");
}

Test(rules, an_object_behind_a_collectors_head)
{
	expect_inside(16 + 40, 16, "Box.what holds Large behind 16", "1 Large proved; 1 Box proved");
}

/* That its call site keeps it in a pointer to bytes is no name. */
Test(rules, a_head_where_the_call_site_tells_of_bytes)
{
	struct boxes b = boxes_create();
	uint32_t stack = STACK(b.w, WORLD_TEXT + 16);
	world_pc(b.w, WORLD_TEXT + 16, "make_any");
	world_result(b.w, b.t.byte, false);
	put_box(&b, world_block(b.w, 16 + 40, stack) + 16, 0, 0);
	cr_expect(strstr(rows_by(&b, "Box.what holds Large behind 16"), "1 Large proved"), "%s", b.w->text);
	boxes_destroy(&b);
}

/* What is named by a rule leads on, by declared pointers and by rules. */
Test(rules, names_lead_on)
{
	struct boxes b = boxes_create();
	uint64_t outer = put_box(&b, 0, 1, 0), large = world_block(b.w, 40, 0), inner = put_box(&b, world_block(b.w, 16, 0), 2, 0);
	world_set(b.w, WORLD_DATA, outer);
	world_set(b.w, outer, large);
	world_set(b.w, large + 32, inner);
	cr_expect_str_eq(rows_by(&b, "Box.what holds Large when kind == 1\nBox.what holds Small when kind == 2"),
			 "2 Box proved; 1 Large proved; 1 Small proved", "%s", b.w->text);
	cr_expect(strstr(world_grounds(b.w), "Large user"), "%s", b.w->text);
	boxes_destroy(&b);
}

/* Two tables of one type, and only one that the rule is about. */
Test(rules, an_owner_tells_what_its_nodes_hold)
{
	struct boxes b = boxes_create();
	struct world *w = b.w;
	uint64_t tables[2];
	hsnap_dtype_id table = world_type(w, "Table", STRUCT, 16), both = world_type(w, "Both", STRUCT, 16);
	MEMBERS(w, table, { "first", 0, b.t.node_pointer }, { "num", 8, b.t.number });
	MEMBERS(w, both, { "users", 0, world_pointer(w, table) }, { "items", 8, world_pointer(w, table) });
	world_variable(w, "g_both", WORLD_DATA + 128, both);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t head = world_block(w, 16, 0), before = head;
		world_set(w, WORLD_DATA + 128 + 8 * i, tables[i] = head);
		for (unsigned k = 0; k < 3; k++) {
			uint64_t node = world_block(w, 32, 0);
			world_set(w, node + 16, world_block(w, 16, 0));
			world_set(w, before, node);
			before = node;
		}
	}
	cr_expect(strstr(rows_by(&b, "Node.value holds Small under Both.users"), "3 Small proved"), "%s", w->text);
	cr_expect(strstr(world_rows(w), "3 16 bytes in Node.value label"), "%s", w->text);
	cr_expect(strstr(rows_by(&b, "Node.value holds Small under g_both.items"), "3 Small proved"), "%s", w->text);
	say(&b, "Node.value holds Small under Table.first with num == 3");
	world_set(w, WORLD_DATA + 128 + 8, world_block(w, 16, 0)); /* another table, of nobody's nodes */
	world_name(w);
	cr_expect(!strstr(world_rows(w), "Small proved"), "%s", w->text);
	hsnap_rules_deinit(&b.rules);
	world_set(w, WORLD_DATA + 128 + 8, tables[1]);
	world_set(w, tables[1] + 8, 3);
	cr_expect(strstr(rows_by(&b, "Node.value holds Small under Table.first with num == 3"), "3 Small proved"), "%s", w->text);
	cr_expect(strstr(rows_by(&b, "Node.value holds Small under Both.items, Both.users"), "6 Small proved"), "%s", w->text);
	boxes_destroy(&b);
}

/* A rule that the blocks contradict says so. */
Test(rules, sizes_that_contradict_are_told_of)
{
	struct boxes b = boxes_create();
	struct world *w = b.w;
	uint64_t before = 0;
	world_variable(w, "g_nodes", WORLD_DATA + 128, b.t.node_pointer);
	for (unsigned i = 0; i < 30; i++) {
		uint64_t node = world_block(w, 32, 0);
		world_set(w, node, before);
		world_set(w, node + 16, world_block(w, i % 2 ? 16 : 100, 0));
		before = node;
	}
	world_set(w, WORLD_DATA + 128, before);
	cr_expect(strstr(rows_by(&b, "\nNode.value holds Small"), "15 Small proved"), "%s", w->text);
	cr_assert_eq(w->snapshot->notes.num, 1);
	cr_expect_str_eq(hsnap_text(w->snapshot, w->snapshot->notes.items[0]),
			 "t:2: 15 of 30 blocks have not the size of it, and are not called so");
	boxes_destroy(&b);
}

/* What a block's own words say, whoever leads to it. */
Test(rules, any_block_may_say_what_it_is)
{
	struct boxes b = boxes_create();
	struct world *w = b.w;
	uint64_t kept = world_block(w, 16, 0), leaked = world_block(w, 16, 0), larger = world_block(w, 64, 0);
	uint64_t other = world_block(w, 16, 0), box = put_box(&b, kept, 7, 0), collected = world_block(w, 16 + 40, 0);
	for (uint64_t *block = (uint64_t[]){ kept, leaked, larger, box, 0 }; *block; block++)
		world_set(w, *block, *block == box ? 0 : 77);
	world_set(w, other, 78);
	world_set(w, collected + 16, 79);
	world_set(w, collected + 16 + 32, box);
	world_set(w, box, kept);
	cr_expect_str_eq(rows_by(&b, "* is Small when ->magic == 77\n* is Large behind 16 when ->head.magic == 79"),
			 "1 64 bytes unknown unreachable; 1 Large proved unreachable; 1 Box proved; 1 16 bytes unknown unreachable; "
			 "1 Small proved; 1 Small proved unreachable", "%s", w->text);
	cr_expect(strstr(world_grounds(w), "Small user"), "%s", w->text);
	/* What a declared pointer says is not asked for again. */
	cr_expect(strstr(rows_by(&b, "* is Small when u32(@ + 8) == 7"), "1 Box proved"), "%s", w->text);
	cr_expect(strstr(rows_by(&b, "* is thing when u32(@) == 77\nthing is Small"), "1 Small proved unreachable"), "%s", w->text);
	boxes_destroy(&b);
}

/* Thousands of rules, each with a number from the process: without a bound this takes hours. */
Test(rules, steps_are_bounded_in_all, .timeout = 60)
{
	static char text[HSNAP_MAX_RULES_FILE];
	struct boxes b = boxes_create();
	struct world *w = b.w;
	size_t len = 0;
	for (unsigned i = 0; i < 4000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "Box.*(num)[1 << 30] holds Small when "
					"kind == %u and (kind + kind * kind + num * num) / (kind + 1) %% 7 == 9\n", i % 7);
	put_box(&b, world_block(w, 16, 0), 3, 0);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t large = world_block(w, 40, 0), box = put_box(&b, large, 3, 0);
		world_set(w, large + 32, box);
		world_set(w, box + 32, WORLD_STACK);
		world_set(w, WORLD_DATA + 128 + 8 * i, box);
		world_set(w, WORLD_STACK + 8 * i, large);
	}
	world_variable(w, "g_boxes", WORLD_DATA + 128, world_array(w, world_pointer(w, b.box), 200));
	cr_expect(strstr(rows_by(&b, text), "200 Box proved"), "%s", w->text);
	bool said = false;
	for (size_t i = 0; i < w->snapshot->notes.num; i++)
		said |= !!strstr(hsnap_text(w->snapshot, w->snapshot->notes.items[i]), "what --types says is not complete: it was left after ");
	cr_expect(said);
	world_name(w);
	say(&b, "Box.*(num)[1000] holds Small");
	world_name(w);
	for (size_t i = 0; i < w->snapshot->notes.num; i++)
		cr_expect(!strstr(hsnap_text(w->snapshot, w->snapshot->notes.items[i]), "is not complete"));
	boxes_destroy(&b);
}

/* The vtable of an object says exactly what it is: whoever contradicts that makes it no more than inferred. */
Test(rules, a_contradiction_to_what_is_exact_is_counted)
{
	struct boxes b = boxes_create();
	struct world *w = b.w;
	uint32_t stack = STACK(w, WORLD_TEXT + 16);
	struct hsnap_dpc *pc = world_pc(w, WORLD_TEXT + 16, "make_text");
	(void)pc;
	world_result(w, b.small, false);
	put_box(&b, world_block(w, 16, stack), 0, 0);
	hsnap_dtype_id twin = world_type(w, "Twin", STRUCT, 16);
	MEMBERS(w, twin, { "x", 0, b.t.number }, { "y", 8, b.t.number });
	cr_expect(strstr(rows_by(&b, "Box.what holds Twin"), "1 Twin inferred"), "%s", w->text);
	cr_expect(strstr(rows_by(&b, "Box.what holds Small"), "1 Small exact"), "%s", w->text);
	boxes_destroy(&b);
}

/* Pages of a pool, which hang from an array that is somewhere else. */
Test(rules, a_pools_objects_stand_where_the_rule_says)
{
	struct boxes b = boxes_create();
	struct world *w = b.w;
	uint64_t pages = world_block(w, 32, 0);
	put_box(&b, pages, 2, 0);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t page = world_block(w, 8 + 6 * 24, 0);
		world_set(w, pages + 8 * i, page);
		for (unsigned k = 0; k < 6; k++)
			world_set(w, page + 8 + 24 * k, k < 4 ? 1 : 0);
	}
	cr_expect(strstr(rows_by(&b, "Box.*(what)[kind] holds Small[] step 16 + 8 from 8 live magic & 1 == 1"), "2 pool of Small"),
		  "%s", w->text);
	cr_expect_eq(w->snapshot->graph.items.num, 8);
	cr_expect(!strstr(rows_by(&b, "Box.*(what)[kind] holds Small[] step 400"), "pool"), "%s", w->text);
	boxes_destroy(&b);
}
