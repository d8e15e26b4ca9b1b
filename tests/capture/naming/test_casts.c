/* SPDX-License-Identifier: MIT */
/* test_casts.c - names from what the program's code does with pointers, and those that it must not give. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "world.h"

/* --- opaque handles --- */

/* A handle in a variable, the object behind it, and what that points to. */
static struct world *handle_world(hsnap_dtype_id *ret_opaque, hsnap_dtype_id *ret_object)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	*ret_opaque = world_type(w, "session", HSNAP_DTYPE_INCOMPLETE, 0);
	*ret_object = world_type(w, "session_data", STRUCT, 24);
	MEMBERS(w, *ret_object, { "user", 0, t.byte_pointer }, { "nodes", 8, t.node_pointer }, { "uses", 16, t.number });
	world_variable(w, "g_session", WORLD_DATA, world_pointer(w, *ret_opaque));
	uint64_t object = world_block(w, 24, 0), user = world_block(w, 40, 0), node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, object);
	world_set(w, object, user);
	world_set(w, object + 8, node);
	return w;
}

Test(casts, a_handle_is_what_the_code_takes_it_for)
{
	hsnap_dtype_id opaque, object;
	struct world *w = handle_world(&opaque, &object);
	world_alias(w, opaque, object, 3, 0);
	world_name(w);
	/* All that hangs on an inferred name is inferred, however it is declared. */
	cr_expect_str_eq(world_rows(w), "1 char[] in session_data.user inferred; 1 Node inferred; 1 session_data inferred", "%s",
			 w->text);
	world_destroy(w);
}

Test(casts, what_is_contradicted_is_no_name)
{
	hsnap_dtype_id opaque, object;
	struct world *w = handle_world(&opaque, &object);
	world_alias(w, opaque, object, 9, 1);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 40 bytes behind g_session label; 1 32 bytes behind g_session label; "
			 "1 24 bytes in g_session label", "%s", w->text);
	world_destroy(w);
}

Test(casts, the_size_must_fit_a_handle_too)
{
	hsnap_dtype_id opaque, object;
	struct world *w = handle_world(&opaque, &object);
	w->symbols.types.items[object].size = 32;
	world_alias(w, opaque, object, 3, 0);
	world_name(w);
	cr_expect(strstr(world_rows(w), "24 bytes in g_session label"), "%s", w->text);
	world_destroy(w);
}

Test(casts, a_declared_pointer_is_believed_before_a_handle)
{
	hsnap_dtype_id opaque, object;
	struct world *w = handle_world(&opaque, &object);
	hsnap_dtype_id real = world_type(w, "real", STRUCT, 24);
	world_variable(w, "g_real", WORLD_DATA + 64, world_pointer(w, real));
	world_set(w, WORLD_DATA + 64, WORLD_HEAP + 16);
	world_alias(w, opaque, object, 3, 0);
	world_name(w);
	cr_expect(strstr(world_rows(w), "1 real proved"), "%s", w->text);
	world_destroy(w);
}

/* A program that only hands on what a library has made knows the handle's name alone. */
Test(casts, another_modules_handle_goes_by_its_name)
{
	for (unsigned differ = 0; differ < 2; differ++) {
		hsnap_dtype_id opaque, object;
		struct world *w = handle_world(&opaque, &object);
		hsnap_dtype_id library = world_type(w, "session", HSNAP_DTYPE_INCOMPLETE, 0);
		hsnap_dtype_id other = world_type(w, "session", HSNAP_DTYPE_INCOMPLETE, 0);
		w->symbols.types.items[library].module = w->symbols.types.items[other].module = 0;
		world_alias(w, library, object, 3, 0);
		if (differ) /* two libraries mean two things by it */
			world_alias(w, other, make_basics(w).node, 3, 0);
		world_name(w);
		cr_expect_eq(!strstr(world_rows(w), "session_data inferred"), differ, "%s", w->text);
		world_destroy(w);
	}
}

/* --- void members, a container at a time --- */

#define MANY_NODES 10

/* Types that a Node's value may be. */
struct values {
	hsnap_dtype_id order, twin, invoice, plain, other, hook, freed;
};

static struct values make_values(struct world *w, const struct basics *t)
{
	struct values v;
	v.order = world_type(w, "order", STRUCT, 40);
	MEMBERS(w, v.order, { "text", 0, t->byte_pointer }, { "id", 8, t->number }, { "lines", 16, t->number },
		{ "sum", 24, t->number }, { "paid", 32, t->number });
	v.twin = world_type(w, "twin", STRUCT, 40);
	MEMBERS(w, v.twin, { "name", 0, t->byte_pointer });
	v.invoice = world_type(w, "invoice", STRUCT, 56);
	MEMBERS(w, v.invoice, { "id", 0, t->number }, { "text", 8, t->byte_pointer }, { "due", 16, t->number });
	v.plain = world_type(w, "plain", STRUCT, 48);
	MEMBERS(w, v.plain, { "numbers", 0, world_array(w, t->number, 6) });
	v.other = world_type(w, "other", STRUCT, 200);
	MEMBERS(w, v.other, { "text", 0, t->byte_pointer });
	v.hook = world_type(w, "hook", STRUCT, 40);
	hsnap_dtype_id function = world_type(w, "", HSNAP_DTYPE_FUNCTION, 0);
	MEMBERS(w, v.hook, { "call", 0, world_pointer(w, function) }, { "context", 24, t->void_pointer });
	v.freed = world_type(w, "freed", STRUCT, 8);
	MEMBERS(w, v.freed, { "next", 0, world_pointer(w, v.freed) });
	return v;
}

/*
 * A list in a variable at `at`; the values' sizes one after the other, again from the first.  A value's
 * first word leads to a text where `leads`.
 */
static void make_list(struct world *w, const struct basics *t, const char *name, uint64_t at, unsigned num,
		      const uint64_t *sizes, bool leads)
{
	uint64_t text = world_block(w, 24, 0);
	world_variable(w, name, at, t->node_pointer);
	world_variable(w, "g_text", at + 8, t->byte_pointer);
	world_set(w, at + 8, text);
	const uint64_t *size = sizes;
	for (unsigned i = 0; i < num; i++) {
		uint64_t node = world_block(w, 32, 0), value = world_block(w, *size, 0);
		world_set(w, at, node);
		world_set(w, node + 16, value);
		if (leads)
			world_set(w, value, text);
		size = size[1] ? size + 1 : sizes;
		at = node;
	}
}

#define SIZES(...) (const uint64_t[]){ __VA_ARGS__, 0 }

static struct world *list_world(struct basics *t, struct values *v)
{
	struct world *w = world_create();
	*t = make_basics(w);
	*v = make_values(w, t);
	return w;
}

static bool has_row(struct world *w, const char *row)
{
	return strstr(world_rows(w), row) != NULL;
}

/* One of them by its letter. */
static hsnap_dtype_id value_of(const struct values *v, char letter)
{
	switch (letter) {
	case 'i': return v->invoice;
	case 'p': return v->plain;
	case 'x': return v->other;
	case 'h': return v->hook;
	case 'f': return v->freed;
	case 't': return v->twin;
	default: return v->order;
	}
}

/* A list of values of these sizes, which may be any of `candidates`, has both rows. */
static void expect_list(const uint64_t *sizes, const char *candidates, const char *row, const char *other)
{
	struct basics t;
	struct values v;
	struct world *w = list_world(&t, &v);
	make_list(w, &t, "g_list", WORLD_DATA, MANY_NODES, sizes, true);
	for (const char *letter = candidates; *letter; letter++)
		world_landing(w, t.node, 16, value_of(&v, *letter));
	world_name(w);
	cr_expect(has_row(w, row) && has_row(w, other), "%s: %s", row, w->text);
	world_destroy(w);
}

Test(casts, one_containers_values_are_named_together)
{
	expect_list(SIZES(40), "ox", "10 order inferred", "");
}

Test(casts, two_containers_of_one_kind_of_node_hold_two_things)
{
	struct basics t;
	struct values v;
	struct world *w = list_world(&t, &v);
	make_list(w, &t, "g_orders", WORLD_DATA, MANY_NODES, SIZES(40), true);
	make_list(w, &t, "g_others", WORLD_DATA + 64, MANY_NODES, SIZES(200), true);
	world_landing(w, t.node, 16, v.order);
	world_landing(w, t.node, 16, v.other);
	world_name(w);
	cr_expect(has_row(w, "10 other inferred") && has_row(w, "10 order inferred"), "%s", w->text);
	world_destroy(w);
}

/* Each block's size would choose one type, and the right one; on redis it was the wrong one 5,000 times. */
Test(casts, a_block_is_never_named_by_its_size)
{
	expect_list(SIZES(40, 200), "ox", "5 40 bytes in Node.value label", "5 200 bytes in Node.value label");
}

Test(casts, one_in_ten_may_be_something_else)
{
	static const unsigned nums[] = { 20, 8 };
	for (size_t i = 0; i < 2; i++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		/* The tenth, and then the fourth: a size that `order` does not fit. */
		make_list(w, &t, "g_orders", WORLD_DATA, nums[i],
			  i ? SIZES(40, 40, 40, 24) : SIZES(40, 40, 40, 40, 40, 40, 40, 40, 40, 24), true);
		world_landing(w, t.node, 16, v.order);
		world_name(w);
		cr_expect_eq(has_row(w, "18 order inferred"), !i, "%s", w->text);
		cr_expect(i || has_row(w, "2 24 bytes in Node.value label"), "%s", w->text);
		cr_expect(!i || !has_row(w, "order inferred"), "%s", w->text);
		world_destroy(w);
	}
}

/* What a candidate must show for itself. */
Test(casts, candidates_must_look_like_their_blocks)
{
	static const struct {
		const char *what;
		unsigned num;
		uint64_t size;
		char type;    /* value_of() it */
		bool leads;   /* the first word of each leads to a text */
		const char *row;
	} rows[] = {
		{ "pointers in use", 10, 40, 'o', true, "10 order inferred" },
		{ "pointers that nobody uses", 10, 40, 'o', false, NULL },
		{ "too few", 3, 40, 'o', true, NULL },
		{ "a number of it is a block's address", 10, 56, 'i', true, NULL },
		{ "without pointers, but nothing else is ever there", 10, 48, 'p', false, "10 plain inferred" },
		{ "without pointers, and another size", 10, 64, 'p', false, NULL },
		{ "a function on the heap", 10, 40, 'h', true, NULL },
		{ "the link of freed blocks fits everything", 10, 40, 'f', true, NULL },
		{ "no block has its size", 10, 80, 'o', true, NULL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		make_list(w, &t, "g_list", WORLD_DATA, rows[i].num, SIZES(rows[i].size), rows[i].leads);
		world_landing(w, t.node, 16, value_of(&v, rows[i].type));
		world_name(w);
		if (rows[i].row)
			cr_expect(has_row(w, rows[i].row), "%s: %s", rows[i].what, w->text);
		else
			cr_expect(has_row(w, "in Node.value label") && !has_row(w, "inferred"), "%s: %s", rows[i].what, w->text);
		world_destroy(w);
	}
}

/* A word of the heap, or of the data. */
static uint64_t word_at(const struct world *w, uint64_t at)
{
	uint64_t word;
	memcpy(&word, at >= WORLD_HEAP ? w->heap_bytes + (at - WORLD_HEAP) : w->data + (at - WORLD_DATA), sizeof(word));
	return word;
}

/* What is a function in another struct is no text in this one. */
Test(casts, text_is_not_among_the_code)
{
	/* Where both are in one segment, it may be. */
	for (unsigned where = 0; where < 4; where++) {
		bool code = where & 1;
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		w->headers = where & 2;
		make_list(w, &t, "g_list", WORLD_DATA, MANY_NODES, SIZES(40), true);
		hsnap_dtype_id command = world_type(w, "command", STRUCT, 40);
		MEMBERS(w, command, { "name", 0, t.byte_pointer }, { "help", 8, t.byte_pointer });
		for (uint64_t at = WORLD_DATA, node; (node = word_at(w, at)); at = node)
			world_set(w, word_at(w, node + 16) + 8, code ? WORLD_TEXT + 64 : WORLD_RODATA + 64);
		world_landing(w, t.node, 16, command);
		world_name(w);
		cr_expect_eq(has_row(w, "10 command inferred"), !(code && w->headers), "%s", w->text);
		world_destroy(w);
	}
}

/* An object with its text behind it, in one block. */
Test(casts, some_blocks_may_be_larger)
{
	expect_list(SIZES(40, 70, 91, 120), "o", "10 order inferred", "");
}

Test(casts, two_that_fit_are_none)
{
	expect_list(SIZES(40), "ot", "10 40 bytes in Node.value label", "");
}

/* Nodes that an array of pointers leads to, or an array within their head, are one container's. */
Test(casts, arrays_hold_a_container_together)
{
	for (unsigned inside = 0; inside < 2; inside++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		hsnap_dtype_id pointers = world_array(w, t.node_pointer, 8);
		uint64_t text = world_block(w, 24, 0), at = WORLD_DATA;
		world_variable(w, "g_text", WORLD_DATA + 256, t.byte_pointer);
		world_set(w, WORLD_DATA + 256, text);
		if (inside) {
			world_variable(w, "g_heads", WORLD_DATA, pointers);
		} else {
			world_variable(w, "g_heads", WORLD_DATA, world_pointer(w, t.node_pointer));
			at = world_block(w, 64, 0);
			world_set(w, WORLD_DATA, at);
		}
		for (unsigned i = 0; i < 8; i++) {
			uint64_t node = world_block(w, 32, 0), value = world_block(w, 40, 0);
			world_set(w, at + i * 8, node);
			world_set(w, node + 16, value);
			world_set(w, value, text);
		}
		world_landing(w, t.node, 16, v.order);
		world_name(w);
		cr_expect(has_row(w, "8 order inferred"), "%s", w->text);
		world_destroy(w);
	}
}

/* --- bytes --- */

/* What a value's block holds: where the pointer leads into it, and what is there. */
struct text_row {
	const char *what;
	unsigned num;
	uint64_t size, header;
	const char *text;
	char candidates; /* t: text, o: objects, b: both */
	bool behind;     /* a block's address stands in the middle of the block */
	bool named;
};

static void make_texts(struct world *w, const struct basics *t, uint64_t at, const struct text_row *row)
{
	world_variable(w, "g_texts", at, t->node_pointer);
	for (unsigned i = 0; i < row->num; i++) {
		uint64_t node = world_block(w, 32, 0), value = world_block(w, row->size, 0);
		world_set(w, at, node);
		world_set(w, node + 16, value + row->header);
		if (row->header)
			world_write(w, value, "\x07\x08\x09", row->header < 3 ? row->header : 3);
		world_write(w, value + row->header, row->text, strlen(row->text) + 1);
		if (row->behind)
			world_set(w, value + row->size / 16 * 8, node);
		at = node;
	}
}

/* Objects are aligned: what an odd address leads to can be nothing but bytes, if it looks like them, too. */
Test(casts, an_odd_address_with_text_is_no_object)
{
	static const struct text_row rows[] = {
		{ "behind one byte", 10, 40, 1, "a text of some thirty letters…", 'b', false, true },
		{ "behind three bytes", 10, 40, 3, "a text of some thirty letters…", 'b', false, true },
		{ "no text was ever seen there", 10, 40, 1, "a text of some thirty letters…", 'o', false, false },
		{ "too few", 3, 40, 1, "a text of some thirty letters…", 'b', false, false },
		{ "a tagged pointer to numbers", 10, 40, 1, "\x01\x02", 'b', false, false },
		{ "a tagged pointer to a number that looks like text", 10, 40, 1, "abcdefg", 'b', false, false },
		{ "zeros behind it", 10, 80, 1, "a first word", 'b', false, true },
		{ "not UTF-8", 10, 40, 1, "a text of s\xf6me thirty letters..", 'b', false, false },
		{ "something else behind it", 10, 80, 1, "a first word", 'b', true, false },
		{ "an object may be there", 10, 40, 4, "a text of some thirty letters…", 'b', false, false },
		{ "a pointer may stand before it", 10, 48, 9, "a text of some thirty letters…", 'b', false, false },
		{ "at the start, where objects may be", 10, 40, 0, "a text of some thirty letters…", 'b', false, false },
		{ "at the start, where no object ever is", 10, 40, 0, "a text of some thirty letters…", 't', false, true },
		{ "bytes of any kind at the start", 10, 40, 0, "\x01\x02", 't', false, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		make_texts(w, &t, WORLD_DATA, &rows[i]);
		if (rows[i].candidates != 'o')
			world_landing(w, t.node, 16, t.byte);
		if (rows[i].candidates != 't')
			world_landing(w, t.node, 16, v.order);
		world_name(w);
		cr_expect_eq(has_row(w, "10 char[] in Node.value inferred"), rows[i].named, "%s: %s", rows[i].what, w->text);
		cr_expect(rows[i].named || has_row(w, "in Node.value label"), "%s: %s", rows[i].what, w->text);
		world_destroy(w);
	}
}

/* What is declared as text may be led to behind its length. */
Test(casts, declared_text_may_have_a_header)
{
	for (unsigned odd = 0; odd < 2; odd++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		uint64_t at = WORLD_DATA;
		world_variable(w, "g_list", at, t.node_pointer);
		for (unsigned i = 0; i < 10; i++) {
			uint64_t node = world_block(w, 32, 0), text = world_block(w, 30, 0);
			world_set(w, at, node);
			world_set(w, node + 8, text + 4 - odd);
			world_write(w, text + 4 - odd, "twenty-five letters here", 25);
			at = node;
		}
		world_landing(w, t.node, 8, t.byte);
		world_name(w);
		cr_expect(has_row(w, odd ? "10 char[] in Node.key inferred" : "10 30 bytes in Node.key label"), "%s", w->text);
		world_destroy(w);
	}
}

/* Where there may be bytes, too, a size alone tells of no object. */
Test(casts, numbers_are_believed_only_where_nothing_else_ever_is)
{
	for (unsigned bytes = 0; bytes < 2; bytes++) {
		struct basics t;
		struct values v;
		struct world *w = list_world(&t, &v);
		make_list(w, &t, "g_list", WORLD_DATA, MANY_NODES, SIZES(48), false);
		if (bytes)
			world_landing(w, t.node, 16, t.byte);
		world_landing(w, t.node, 16, v.plain);
		world_name(w);
		cr_expect_eq(has_row(w, "10 plain inferred"), !bytes, "%s", w->text);
		world_destroy(w);
	}
}

/* --- objects within blocks --- */

/* A pool's page, and items in it that an array leads to; the first is at its start. */
Test(casts, a_page_of_items_is_not_one_item)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id item = world_type(w, "item", STRUCT, 16), item_pointer = world_pointer(w, item);
	w->symbols.types.items[item].flags = HSNAP_DTYPE_FLEXIBLE;
	MEMBERS(w, item, { "owner", 0, t.node_pointer }, { "num", 8, t.number }, { "bytes", 16, world_array(w, t.byte, 0) });
	world_variable(w, "g_items", WORLD_DATA, world_pointer(w, item_pointer));
	uint64_t array = world_block(w, 64, 0), page = world_block(w, 1024, 0), node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, array);
	for (unsigned i = 0; i < 8; i++) {
		world_set(w, array + i * 8, page + i * 128);
		world_set(w, page + i * 128, node);
	}
	world_name(w);
	/* It is no item, and yet what its items point to has a name. */
	cr_expect_str_eq(world_rows(w), "1 pool of item in g_items[*] proved; 1 item *[] proved; 1 Node proved", "%s", w->text);
	world_destroy(w);
}

/* A block of two objects, one behind the other: neither names it, both lead on. */
Test(casts, objects_within_a_block_lead_on)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id head = world_type(w, "head", STRUCT, 32), cache = world_type(w, "cache", STRUCT, 48);
	MEMBERS(w, head, { "cache", 0, world_pointer(w, cache) }, { "n", 8, t.number });
	MEMBERS(w, cache, { "first", 0, t.node_pointer }, { "text", 8, t.byte_pointer }, { "n", 16, t.number });
	world_variable(w, "g_head", WORLD_DATA, world_pointer(w, head));
	uint64_t block = world_block(w, 88, 0), node = world_block(w, 32, 0), text = world_block(w, 50, 0);
	world_set(w, WORLD_DATA, block);
	world_set(w, block, block + 32);
	world_set(w, block + 32, node);
	world_set(w, block + 40, text);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 88 bytes in g_head label; 1 char[] in cache.text proved; 1 Node proved", "%s", w->text);
	world_destroy(w);
}

/* Pages of bytes with an object behind them, to which only a void pointer leads: it has no name to give, but a place. */
Test(casts, void_members_may_lead_into_blocks)
{
	for (unsigned few = 0; few < 2; few++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id header = world_type(w, "header", STRUCT, 48);
		MEMBERS(w, header, { "bytes", 0, t.byte_pointer }, { "owner", 8, t.node_pointer },
			{ "numbers", 16, world_array(w, t.number, 4) });
		world_variable(w, "g_list", WORLD_DATA, t.node_pointer);
		uint64_t at = WORLD_DATA;
		for (unsigned i = 0; i < (few ? 3 : 10); i++) {
			uint64_t node = world_block(w, 32, 0), page = world_block(w, 256 + 64, 0);
			world_set(w, at, node);
			world_set(w, node + 16, page + 256);
			world_set(w, page + 256, page);
			at = node;
		}
		world_landing(w, t.node, 16, header);
		world_name(w);
		cr_expect_eq(has_row(w, "10 char[] in header.bytes inferred"), !few, "%s", w->text);
		cr_expect(!has_row(w, " header "), "%s", w->text);
		world_destroy(w);
	}
}
