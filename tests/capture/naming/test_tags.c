/* SPDX-License-Identifier: MIT */
/* test_tags.c - what the program says of its blocks itself: which types its words mean, and where sizes speak against them. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "capture/naming/tags.h"
#include "capture/wire.h"
#include "world.h"

static void tag_as(struct world *w, size_t block, const char *text, unsigned how)
{
	struct hsnap_tag tag = { .text = hsnap_strings_add(&w->heap.texts, text), .how = (uint8_t)how };
	if (!w->heap.tag_of)
		w->heap.tag_of = calloc(256, sizeof(*w->heap.tag_of));
	cr_assert(w->heap.tag_of && tag.text != HSNAP_NO_STRING);
	if (!w->heap.tags.num)
		cr_assert(hsnap_vec_push(&w->heap.tags, (struct hsnap_tag){ 0 }));
	w->heap.tag_of[block] = (uint32_t)w->heap.tags.num;
	cr_assert(hsnap_vec_push(&w->heap.tags, tag));
}

/* One block of a size that is tagged so, and nothing else known. */
static void expect(uint64_t size, const char *text, unsigned how, const char *rows)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id flexible = world_type(w, "Blob", STRUCT, 8), tail = world_array(w, t.byte, 0);
	world_type(w, "ns::Box<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >", STRUCT, 40);
	world_type(w, "Choice", HSNAP_DTYPE_UNION, 16);
	w->symbols.types.items[flexible].flags |= HSNAP_DTYPE_FLEXIBLE;
	MEMBERS(w, flexible, { "size", 0, t.number }, { "bytes", 8, tail });
	cr_assert(hsnap_vec_push(&w->symbols.words, (struct hsnap_dword){ .name = world_string(w, "node_t"), .type = t.node }));
	cr_assert(hsnap_vec_push(&w->symbols.words, (struct hsnap_dword){ .name = world_string(w, "char"), .type = t.byte }));
	cr_assert(hsnap_vec_push(&w->symbols.words, (struct hsnap_dword){ .name = world_string(w, "LIMIT"), .value = 7 }));
	w->heap.requested_known = true;
	world_variable(w, "g", WORLD_DATA, t.void_pointer);
	world_set(w, WORLD_DATA, world_block(w, size, 0));
	tag_as(w, 0, text, how);
	world_name(w);
	cr_expect_str_eq(world_rows(w), rows, "%s, %lu bytes: %s", text, (unsigned long)size, w->text);
	world_destroy(w);
}

Test(tags, names_mean_types)
{
	static const struct {
		uint64_t size;
		const char *text, *rows;
	} rows[] = {
		{ 32, "Node", "1 Node exact" },
		{ 32, "struct Node", "1 Node exact" },
		{ 32, "  const  struct Node  ", "1 Node exact" },
		{ 32, "node_t", "1 Node exact" },
		{ 96, "Node", "1 Node[] exact" },
		{ 32, "Node[]", "1 Node[] exact" },
		{ 32, "Node[1]", "1 Node[] exact" },
		{ 40, "Node", "1 Node exact" }, /* something stands behind it */
		{ 31, "Node", "1 31 bytes in g label" },
		{ 8, "Node", "1 8 bytes in g label" },
		{ 100, "Blob", "1 Blob exact" },
		{ 8, "Blob", "1 Blob exact" },
		{ 16, "Choice", "1 Choice exact" },
		{ 77, "char", "1 char[] in g exact" },
		{ 80, "Node *", "1 Node *[] exact" },
		{ 8, "struct Node*", "1 Node * exact" },
		{ 80, "Node **", "1 Node **[] exact" },
		{ 7, "Node *", "1 7 bytes in g label" },
		/* Names that no type has. */
		{ 100, "request headers", "1 request headers exact" },
		{ 100, "struct unheard_of", "1 unheard_of exact" },
		{ 16, "unheard_of *", "1 unheard_of *[] exact" },
		{ 16, "LIMIT", "1 LIMIT exact" },
		{ 16, "[", "1 [ exact" },
		{ 16, "]", "1 ] exact" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect(rows[i].size, rows[i].text, HSNAP_TEXT_PLAIN, rows[i].rows);
}

Test(tags, names_of_cxx)
{
	expect(40, "N2ns3BoxINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEE", HSNAP_TEXT_MANGLED, "1 ns::Box<std::string> exact");
	expect(32, "4Node", HSNAP_TEXT_MANGLED, "1 Node exact");
	expect(32, "*4Node", HSNAP_TEXT_MANGLED, "1 Node exact");
	expect(80, "P4Node", HSNAP_TEXT_MANGLED, "1 Node *[] exact");
	expect(32, "no mangled name", HSNAP_TEXT_MANGLED, "1 no mangled name exact");
	expect(32, "9999Node", HSNAP_TEXT_MANGLED, "1 9999Node exact");
	expect(32, "T* heapsnap::tag_as(void*) [with T = Node]", HSNAP_TEXT_PRETTY, "1 Node exact");
	expect(80, "T *heapsnap::tag_as(void *) [T = Node *]", HSNAP_TEXT_PRETTY, "1 Node *[] exact");
	expect(40, "T* heapsnap::tag_as(void*) [with T = ns::Box<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >]",
	       HSNAP_TEXT_PRETTY, "1 ns::Box<std::string> exact");
	expect(64, "T* heapsnap::pool_alloc(heapsnap_pool, void*, size_t) [with T = Node; size_t = long unsigned int]", HSNAP_TEXT_PRETTY,
	       "1 Node[] exact");
	expect(32, "T = ", HSNAP_TEXT_PRETTY, "1 T = exact");
	expect(32, "]T = ", HSNAP_TEXT_PRETTY, "1 ]T = exact");
}

/* A tag goes before pointers, and what loses is remembered; one that is too small a block for is counted. */
Test(tags, against_others)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_type(w, "Other", STRUCT, 32);
	w->heap.requested_known = true;
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	world_variable(w, "h", WORLD_DATA + 8, t.node_pointer);
	world_set(w, WORLD_DATA, world_block(w, 32, 0));
	world_set(w, WORLD_DATA + 8, world_block(w, 24, 0));
	tag_as(w, 0, "Other", HSNAP_TEXT_PLAIN);
	tag_as(w, 1, "Other", HSNAP_TEXT_PLAIN);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Other tag (Node pointer); 2 - none (Other tag size; Node pointer size)", "%s", w->text);
	cr_assert_eq(w->snapshot->notes.num, 1);
	cr_expect_str_eq(hsnap_text(w->snapshot, w->snapshot->notes.items[0]),
			 "1 blocks that the program has tagged 'Other' are too small for one, and are not called so");
	world_destroy(w);
}

/* From a tagged block the types go on; and one by another spelling is the same. */
Test(tags, lead_on)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	w->heap.requested_known = true;
	world_variable(w, "g", WORLD_DATA, t.void_pointer);
	uint64_t first = world_block(w, 32, 0), second = world_block(w, 32, 0), third = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, first);
	world_set(w, first, second);
	world_set(w, second, third);
	tag_as(w, 0, "struct Node", HSNAP_TEXT_PLAIN);
	tag_as(w, 2, "Node", HSNAP_TEXT_PLAIN);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node tag; 2 Node pointer; 3 Node tag", "%s", w->text);
	world_destroy(w);
}

Test(tags, words_to_ask_for)
{
	struct world *w = world_create();
	struct hsnap_strings texts = { 0 };
	struct hsnap_tag_words words = { 0 };
	tag_as(w, 0, "struct node_t *[]", HSNAP_TEXT_PLAIN);
	tag_as(w, 1, "size_t", HSNAP_TEXT_PLAIN);
	cr_assert(hsnap_tags_words(&w->heap, &texts, &words));
	cr_assert_eq(words.num, 2);
	cr_expect_str_eq(words.items[0], "node_t");
	cr_expect_str_eq(words.items[1], "size_t");
	hsnap_vec_deinit(&words);
	hsnap_strings_deinit(&texts);
	world_destroy(w);
}

/* Objects of a pool are called by it, where nothing else is known. */
Test(tags, pools)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	w->heap.requested_known = true;
	world_variable(w, "g", WORLD_DATA, t.void_pointer);
	world_variable(w, "h", WORLD_DATA + 8, t.node_pointer);
	world_set(w, WORLD_DATA, world_block(w, 48, 0));
	world_set(w, WORLD_DATA + 8, world_block(w, 32, 0));
	cr_assert(hsnap_vec_push(&w->heap.pools, 0) && hsnap_vec_push(&w->heap.pools, hsnap_strings_add(&w->heap.texts, "cells")));
	w->heap.pool_of = calloc(2, sizeof(*w->heap.pool_of));
	cr_assert(w->heap.pool_of);
	w->heap.pool_of[0] = w->heap.pool_of[1] = 1;
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 48 bytes of pool cells label; 1 Node proved", "%s", w->text);
	world_destroy(w);
}
