/* SPDX-License-Identifier: MIT */
/* test_containers.c - containers as they stand in memory, whole, torn and hostile. */
#include <criterion/criterion.h>

#include "world.h"

#define ARGUMENTS(w, type, ...) \
	world_arguments((w), (type), sizeof((const hsnap_dtype_id[]){ __VA_ARGS__ }) / sizeof(hsnap_dtype_id), \
			(const hsnap_dtype_id[]){ __VA_ARGS__ })

/* struct Page { struct Text *text; } behind which what a container holds shows. */
struct pages {
	struct world *w;
	hsnap_dtype_id number, small, text, text_pointer, page, page_pointer;
};

static struct pages make_pages(void)
{
	struct pages t = { .w = world_create() };
	t.number = world_type(t.w, "unsigned long", HSNAP_DTYPE_SCALAR, 8);
	t.small = world_type(t.w, "unsigned char", HSNAP_DTYPE_SCALAR, 1);
	t.text = world_type(t.w, "Text", STRUCT, 48);
	MEMBERS(t.w, t.text, { "n", 0, t.number });
	t.text_pointer = world_pointer(t.w, t.text);
	t.page = world_type(t.w, "Page", STRUCT, 16);
	MEMBERS(t.w, t.page, { "text", 0, t.text_pointer }, { "n", 8, t.number });
	t.page_pointer = world_pointer(t.w, t.page);
	return t;
}

static void set_words(struct world *w, uint64_t at, size_t num, const uint64_t *words)
{
	for (size_t i = 0; i < num; i++)
		world_set(w, at + 8 * i, words[i]);
}

#define WORDS(w, at, ...) \
	set_words((w), (at), sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ })

/* A std::list<Page> and its node type; size 0: of the old binary interface, which does not count. */
static hsnap_dtype_id make_list(struct pages *t, bool counts)
{
	struct world *w = t->w;
	hsnap_dtype_id base = world_type(w, "std::__detail::_List_node_base", STRUCT, 16), link = world_pointer(w, base);
	MEMBERS(w, base, { "_M_next", 0, link }, { "_M_prev", 8, link });
	hsnap_dtype_id storage = world_type(w, "__gnu_cxx::__aligned_membuf<Page>", STRUCT, 16);
	ARGUMENTS(w, storage, t->page);
	MEMBERS(w, storage, { "_M_storage", 0, world_array(w, t->small, 16) });
	hsnap_dtype_id node = world_type(w, "std::_List_node<Page>", STRUCT, 32);
	ARGUMENTS(w, node, t->page);
	MEMBERS(w, node, { "", 0, base, HSNAP_DMEMBER_BASE }, { "_M_storage", 16, storage });
	hsnap_dtype_id head = world_type(w, "std::__detail::_List_node_header", STRUCT, 24);
	MEMBERS(w, head, { "", 0, base, HSNAP_DMEMBER_BASE }, { "_M_size", 16, t->number });
	const char *name = counts ? "std::__cxx11::_List_base<Page, std::allocator<Page> >" : "std::_List_base<Page, std::allocator<Page> >";
	hsnap_dtype_id list = world_type(w, name, STRUCT, counts ? 24 : 16);
	ARGUMENTS(w, list, t->page);
	MEMBERS(w, list, { "_M_node", 0, counts ? head : base });
	return list;
}

Test(containers, a_ring_of_nodes_is_gone_round)
{
	for (int counts = 0; counts < 2; counts++) {
		struct pages t = make_pages();
		hsnap_dtype_id list = make_list(&t, counts);
		world_variable(t.w, "g_list", WORLD_DATA, list);
		uint64_t one = world_block(t.w, 32, 0), two = world_block(t.w, 32, 0), text = world_block(t.w, 48, 0);
		WORDS(t.w, WORLD_DATA, one, two, 2);
		WORDS(t.w, one, two, WORLD_DATA, text);
		WORDS(t.w, two, WORLD_DATA, one);
		world_name(t.w);
		cr_expect_str_eq(world_rows(t.w), "2 std::list<Page>::node proved; 1 Text proved");
		world_destroy(t.w);
	}
}

/* The last node is linked with the list itself, which is no node. */
Test(containers, a_list_in_a_block_is_not_one_of_its_nodes)
{
	struct pages t = make_pages();
	hsnap_dtype_id list = make_list(&t, true);
	world_variable(t.w, "g_list", WORLD_DATA, world_pointer(t.w, list));
	uint64_t head = world_block(t.w, 24, 0), one = world_block(t.w, 32, 0);
	world_set(t.w, WORLD_DATA, head);
	WORDS(t.w, head, one, one, 1);
	WORDS(t.w, one, head, head);
	world_name(t.w);
	cr_expect_str_eq(world_rows(t.w), "1 std::list<Page>::node proved; 1 std::_List_base<Page> proved");
	world_destroy(t.w);
}

static const struct {
	const char *name;
	uint64_t length;
	bool torn, cut, turned;
} rings[] = {
	{ "too long a length", 3 },
	{ "too short a length", 1 },
	{ "an impossible length", (uint64_t)1 << 60 },
	{ "a link back to elsewhere", 2, .torn = true },
	{ "no way back", 2, .cut = true },
	{ "a ring without the head", 2, .turned = true },
};

Test(containers, a_ring_that_is_none_leads_nowhere)
{
	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		struct pages t = make_pages();
		world_variable(t.w, "g_list", WORLD_DATA, make_list(&t, true));
		uint64_t one = world_block(t.w, 32, 0), two = world_block(t.w, 32, 0);
		WORDS(t.w, WORLD_DATA, one, two, rings[i].length);
		WORDS(t.w, one, two, WORLD_DATA);
		WORDS(t.w, two, rings[i].cut ? 0 : rings[i].turned ? one : WORLD_DATA, rings[i].torn ? WORLD_HEAP + 8 : one);
		world_name(t.w);
		cr_expect_null(strstr(world_rows(t.w), "node"), "%s: %s", rings[i].name, t.w->text);
		world_destroy(t.w);
	}
}

/* std::deque<Page>: 32 in a block.  Returns the address of its map of four slots. */
static uint64_t make_deque(struct pages *t, uint64_t *blocks)
{
	struct world *w = t->w;
	hsnap_dtype_id map = world_pointer(w, t->page_pointer);
	hsnap_dtype_id place = world_type(w, "std::_Deque_iterator<Page, Page &, Page *>", STRUCT, 32);
	MEMBERS(w, place, { "_M_cur", 0, t->page_pointer }, { "_M_first", 8, t->page_pointer },
		{ "_M_last", 16, t->page_pointer }, { "_M_node", 24, map });
	hsnap_dtype_id deque = world_type(w, "std::_Deque_base<Page, std::allocator<Page> >", STRUCT, 80);
	ARGUMENTS(w, deque, t->page);
	MEMBERS(w, deque, { "_M_map", 0, map }, { "_M_map_size", 8, t->number }, { "_M_start", 16, place },
		{ "_M_finish", 48, place });
	world_variable(w, "g_deque", WORLD_DATA, deque);
	uint64_t slots = world_block(w, 32, 0);
	for (int i = 0; i < 2; i++)
		blocks[i] = world_block(w, 512, 0);
	WORDS(w, slots, 0, blocks[0], blocks[1], 0);
	WORDS(w, WORLD_DATA, slots, 4, blocks[0] + 480, blocks[0], blocks[0] + 512, slots + 8, blocks[1] + 32, blocks[1],
	      blocks[1] + 512, slots + 16);
	return slots;
}

Test(containers, dead_ends_of_a_deque_hold_nothing)
{
	struct pages t = make_pages();
	uint64_t blocks[2], slots = make_deque(&t, blocks);
	uint64_t live = world_block(t.w, 48, 0), dead = world_block(t.w, 200, 0);
	world_set(t.w, blocks[0] + 480, live);
	world_set(t.w, blocks[0] + 464, dead);
	world_set(t.w, blocks[1] + 32, dead);
	world_set(t.w, slots, dead);
	world_name(t.w);
	cr_expect_str_eq(world_rows(t.w), "2 Page[] proved; 1 200 bytes unknown unreachable; 1 Text proved; 1 Page *[] proved");
	world_destroy(t.w);
}

Test(containers, a_deque_that_is_none_leads_nowhere)
{
	static const struct {
		const char *name;
		unsigned word;
		int64_t change;
	} rows[] = {
		{ "begins after its end", 2, 16 * 40 }, { "between elements", 2, 8 }, { "a slot before the map", 5, -16 },
		{ "a slot beyond the map", 9, 64 }, { "a block of another size", 4, -16 }, { "another block", 3, 16 },
		{ "more slots than the map has", 1, 100 }, { "slots in the wrong order", 5, 8 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pages t = make_pages();
		uint64_t blocks[2], word;
		make_deque(&t, blocks);
		memcpy(&word, t.w->data + 8 * rows[i].word, sizeof(word));
		world_set(t.w, WORLD_DATA + 8 * rows[i].word, word + (uint64_t)rows[i].change);
		world_name(t.w);
		cr_expect_null(strstr(world_rows(t.w), "[] proved"), "%s: %s", rows[i].name, t.w->text);
		world_destroy(t.w);
	}
}

/* An optional is what its flag says; what is left in an empty one is no pointer. */
Test(containers, an_empty_optional_holds_nothing)
{
	for (uint64_t engaged = 0; engaged < 3; engaged++) {
		struct pages t = make_pages();
		hsnap_dtype_id storage = world_type(t.w, "std::_Optional_payload_base<Page>::_Storage<Page, true>", HSNAP_DTYPE_UNION, 16);
		MEMBERS(t.w, storage, { "_M_empty", 0, t.small }, { "_M_value", 0, t.page });
		hsnap_dtype_id payload = world_type(t.w, "std::_Optional_payload_base<Page>", STRUCT, 24);
		ARGUMENTS(t.w, payload, t.page);
		MEMBERS(t.w, payload, { "_M_payload", 0, storage }, { "_M_engaged", 16, t.small });
		world_variable(t.w, "g_page", WORLD_DATA, payload);
		uint64_t text = world_block(t.w, 48, 0);
		WORDS(t.w, WORLD_DATA, text, 0, engaged);
		world_name(t.w);
		static const char *const rows[] = { "1 48 bytes unknown unreachable", "1 Text proved", NULL };
		if (rows[engaged])
			cr_expect_str_eq(world_rows(t.w), rows[engaged], "%d: %s", (int)engaged, t.w->text);
		else /* a flag that is neither: it is not known what that is */
			cr_expect_null(strstr(world_rows(t.w), "proved"), "%s", t.w->text);
		world_destroy(t.w);
	}
}

Test(containers, of_a_variant_one_arm_counts)
{
	static const char *const rows[] = { "1 Text proved", "1 48 bytes unknown unreachable", NULL,
						"1 48 bytes unknown unreachable" };
	for (uint64_t arm = 0; arm < 4; arm++) {
		struct pages t = make_pages();
		hsnap_dtype_id arms = world_type(t.w, "std::__detail::__variant::_Variadic_union<Page, unsigned char>", HSNAP_DTYPE_UNION, 16);
		MEMBERS(t.w, arms, { "_M_first", 0, t.page });
		hsnap_dtype_id variant = world_type(t.w, "std::__detail::__variant::_Variant_storage<false, Page, unsigned char>", STRUCT, 24);
		ARGUMENTS(t.w, variant, t.page, t.small);
		MEMBERS(t.w, variant, { "_M_u", 0, arms }, { "_M_index", 16, t.small });
		world_variable(t.w, "g_page", WORLD_DATA, variant);
		uint64_t text = world_block(t.w, 48, 0);
		WORDS(t.w, WORLD_DATA, text, 0, arm == 3 ? 255 : arm);
		world_name(t.w);
		if (rows[arm])
			cr_expect_str_eq(world_rows(t.w), rows[arm], "%d: %s", (int)arm, t.w->text);
		else
			cr_expect_null(strstr(world_rows(t.w), "proved"), "%s", t.w->text);
		world_destroy(t.w);
	}
}

/* What a weak pointer led to is gone with the last owner; its place may be another's. */
Test(containers, a_weak_pointer_without_owners_says_nothing)
{
	for (uint64_t owners = 0; owners < 2; owners++) {
		struct pages t = make_pages();
		hsnap_dtype_id control = world_type(t.w, "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>", STRUCT, 16);
		MEMBERS(t.w, control, { "_M_use_count", 8, t.small });
		hsnap_dtype_id count = world_type(t.w, "std::__weak_count<(__gnu_cxx::_Lock_policy)2>", STRUCT, 8);
		MEMBERS(t.w, count, { "_M_pi", 0, world_pointer(t.w, control) });
		hsnap_dtype_id weak = world_type(t.w, "std::__weak_ptr<Text, (__gnu_cxx::_Lock_policy)2>", STRUCT, 16);
		ARGUMENTS(t.w, weak, t.text);
		MEMBERS(t.w, weak, { "_M_ptr", 0, t.text_pointer }, { "_M_refcount", 8, count });
		world_variable(t.w, "g_weak", WORLD_DATA, weak);
		uint64_t text = world_block(t.w, 48, 0), counts = world_block(t.w, 16, 0);
		WORDS(t.w, WORLD_DATA, text, counts);
		WORDS(t.w, counts, 0, owners | (uint64_t)1 << 32);
		world_name(t.w);
		cr_expect_eq(!strstr(world_rows(t.w), "Text proved"), !owners, "%s", t.w->text);
		world_destroy(t.w);
	}
}

/* Strings of the old binary interface are shared, and begin behind their counts. */
Test(containers, a_shared_string_ends_at_its_length)
{
	static const struct {
		const char *name;
		uint64_t length, capacity, owners;
		bool good;
	} rows[] = {
		{ "good", 20, 60, 1, true }, { "longer than its room", 61, 60, 0, false }, { "more room than the block", 20, 600, 0, false },
		{ "leaked more often than owned", 20, 60, (uint64_t)-2, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pages t = make_pages();
		hsnap_dtype_id byte = world_type(t.w, "char", HSNAP_DTYPE_BYTE, 1);
		hsnap_dtype_id string = world_type(t.w, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", STRUCT, 8);
		ARGUMENTS(t.w, string, byte);
		MEMBERS(t.w, string, { "_M_p", 0, world_pointer(t.w, byte) });
		world_variable(t.w, "g_text", WORLD_DATA, string);
		uint64_t text = world_block(t.w, 24 + 61, 0), dead = world_block(t.w, 200, 0);
		world_set(t.w, WORLD_DATA, text + 24);
		WORDS(t.w, text, rows[i].length, rows[i].capacity, rows[i].owners);
		world_set(t.w, text + 64, dead);
		world_name(t.w);
		const char *got = world_rows(t.w);
		cr_expect_eq(!!strstr(got, "1 char[] in g_text proved"), rows[i].good, "%s: %s", rows[i].name, got);
		cr_expect_eq(!!strstr(got, "unreachable"), rows[i].good, "%s: %s", rows[i].name, got);
		world_destroy(t.w);
	}
}

/* libc++: short ones have the flag clear, and their bytes are no pointer. */
Test(containers, a_flag_tells_long_strings)
{
	for (int alternate = 0; alternate < 2; alternate++) {
		for (int is_long = 0; is_long < 2; is_long++) {
			struct pages t = make_pages();
			hsnap_dtype_id byte = world_type(t.w, "char", HSNAP_DTYPE_BYTE, 1), pointer = world_pointer(t.w, byte);
			hsnap_dtype_id longer = world_type(t.w, "std::__1::basic_string<char>::__long", STRUCT, 24);
			if (alternate)
				MEMBERS(t.w, longer, { "__data_", 0, pointer }, { "__size_", 8, t.number }, { "__cap_", 16, t.number });
			else
				MEMBERS(t.w, longer, { "__cap_", 0, t.number }, { "__size_", 8, t.number }, { "__data_", 16, pointer });
			hsnap_dtype_id both = world_type(t.w, "", HSNAP_DTYPE_UNION, 24);
			MEMBERS(t.w, both, { "__l", 0, longer });
			hsnap_dtype_id string = world_type(t.w, "std::__1::basic_string<char, std::__1::char_traits<char> >", STRUCT, 24);
			ARGUMENTS(t.w, string, byte);
			MEMBERS(t.w, string, { "__r_", 0, both });
			world_variable(t.w, "g_text", WORLD_DATA, string);
			uint64_t text = world_block(t.w, 64, 0), flag = alternate ? (uint64_t)1 << 63 : 1;
			WORDS(t.w, WORLD_DATA + (alternate ? 0 : 16), text);
			WORDS(t.w, WORLD_DATA + 8, 30);
			WORDS(t.w, WORLD_DATA + (alternate ? 16 : 0), 64 | (is_long ? flag : 0));
			world_name(t.w);
			cr_expect_str_eq(world_rows(t.w), is_long ? "1 char[] in g_text proved" : "1 64 bytes unknown unreachable");
			world_destroy(t.w);
		}
	}
}

/* std::map<unsigned long, Text *>'s tree with three nodes; `word` of node `n` is changed. */
Test(containers, a_trees_links_are_checked)
{
	static const struct {
		const char *name;
		int node; /* -1: the head; -2: nothing */
		unsigned word;
		uint64_t value;
	} rows[] = {
		{ "good", -2, 0, 0 }, { "a parent that is none", 1, 1, 8 }, { "a root of another", 0, 1, 8 }, { "not the first", -1, 3, 8 },
		{ "not the last", -1, 4, 8 }, { "no nodes", -1, 5, 0 }, { "too many nodes", -1, 5, (uint64_t)1 << 40 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pages t = make_pages();
		struct world *w = t.w;
		hsnap_dtype_id base = world_type(w, "std::_Rb_tree_node_base", STRUCT, 32), link = world_pointer(w, base);
		MEMBERS(w, base, { "_M_color", 0, t.small }, { "_M_parent", 8, link }, { "_M_left", 16, link }, { "_M_right", 24, link });
		hsnap_dtype_id node = world_type(w, "std::_Rb_tree_node<Page>", STRUCT, 48);
		ARGUMENTS(w, node, t.page);
		MEMBERS(w, node, { "", 0, base, HSNAP_DMEMBER_BASE }, { "_M_value", 32, t.page });
		hsnap_dtype_id tree = world_type(w, "std::_Rb_tree<unsigned long, Page, std::_Identity<Page> >", STRUCT, 48);
		ARGUMENTS(w, tree, t.number, t.page);
		MEMBERS(w, tree, { "_M_header", 8, base }, { "_M_node_count", 40, t.number });
		world_variable(w, "g_tree", WORLD_DATA, tree);
		uint64_t nodes[3];
		for (int n = 0; n < 3; n++)
			nodes[n] = world_block(w, 48, 0);
		WORDS(w, WORLD_DATA, 0, 0, nodes[0], nodes[1], nodes[2], 3);
		WORDS(w, nodes[0], 1, WORLD_DATA + 8, nodes[1], nodes[2]);
		WORDS(w, nodes[1], 0, nodes[0], 0, 0);
		WORDS(w, nodes[2], 0, nodes[0], 0, 0);
		if (rows[i].node > -2)
			world_set(w, (rows[i].node < 0 ? WORLD_DATA : nodes[rows[i].node]) + 8 * rows[i].word, rows[i].value);
		world_name(w);
		cr_expect_eq(!!strstr(world_rows(w), "3 std::set<Page>::node proved"), rows[i].node == -2, "%s: %s", rows[i].name, w->text);
		cr_expect_eq(!!strstr(world_rows(w), "proved"), rows[i].node == -2, "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

/* A functor is known by the function that manages it. */
Test(containers, a_functor_is_known_by_its_manager)
{
	static const struct {
		const char *name;
		uint64_t manager, size;
		const char *rows;
	} rows[] = {
		{ "too large for the function object", WORLD_TEXT + 64, 32, "1 Text proved; 1 Task proved" },
		{ "another manager", WORLD_TEXT + 65, 32, NULL }, { "empty", 0, 32, "1 48 bytes unknown unreachable; 1 32 bytes unknown unreachable" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pages t = make_pages();
		struct world *w = t.w;
		hsnap_dtype_id task = world_type(w, "Task", STRUCT, 32);
		MEMBERS(w, task, { "text", 24, t.text_pointer });
		hsnap_dtype_id handler = world_type(w, "std::_Function_handler<void (), Task>", STRUCT, 1);
		ARGUMENTS(w, handler, world_type(w, "", HSNAP_DTYPE_FUNCTION, 0), task);
		cr_assert(hsnap_vec_push(&w->symbols.managers, (struct hsnap_dmanager){ WORLD_TEXT + 64, handler }));
		hsnap_dtype_id any = world_type(w, "std::_Any_data", HSNAP_DTYPE_UNION, 16), function = world_type(w, "std::function<void ()>", STRUCT, 32);
		MEMBERS(w, any, { "_M_pod_data", 0, world_array(w, t.small, 16) });
		MEMBERS(w, function, { "_M_functor", 0, any }, { "_M_manager", 16, t.number }, { "_M_invoker", 24, t.number });
		world_variable(w, "g_task", WORLD_DATA, function);
		uint64_t block = world_block(w, rows[i].size, 0), text = world_block(w, 48, 0);
		WORDS(w, WORLD_DATA, block, 0, rows[i].manager);
		world_set(w, block + 24, text);
		world_name(w);
		if (rows[i].rows)
			cr_expect_str_eq(world_rows(w), rows[i].rows, "%s: %s", rows[i].name, w->text);
		else
			cr_expect_null(strstr(world_rows(w), "proved"), "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

/* --- what one new[] made --- */

static const struct {
	const char *name;
	uint64_t size, at, number; /* of the block; where the pointer leads to in it, and what stands before that */
	bool named;
} arrays[] = {
	{ "three that fill the block", 48, 0, 0, true },
	{ "their number and two", 40, 8, 2, true },
	{ "room for a wider head", 48, 16, 2, true },
	{ "more than there is room for", 40, 8, 3, false },
	{ "as many as there can never be", 40, 8, UINT64_MAX / 16 + 2, false },
	{ "none", 40, 8, 0, false },
	{ "a number that leaves half of it", 168, 8, 5, false },
	{ "no place for a number", 64, 24, 2, false },
};

Test(containers, an_owner_of_an_array_has_what_new_made)
{
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		struct pages t = make_pages();
		hsnap_dtype_id owner = world_type(t.w, "std::unique_ptr<Page [], std::default_delete<Page []> >", STRUCT, 8);
		ARGUMENTS(t.w, owner, world_array(t.w, t.page, 0));
		MEMBERS(t.w, owner, { "_M_head_impl", 0, t.page_pointer });
		world_variable(t.w, "g_pages", WORLD_DATA, owner);
		uint64_t block = world_block(t.w, arrays[i].size, 0), at = block + arrays[i].at, text = world_block(t.w, 48, 0);
		world_set(t.w, WORLD_DATA, at);
		world_set(t.w, at + 16, text);
		if (arrays[i].at)
			world_set(t.w, at - 8, arrays[i].number);
		world_name(t.w);
		bool named = strstr(world_rows(t.w), "1 Page[] proved") && strstr(t.w->text, "1 Text proved");
		cr_expect(arrays[i].named ? named : !strstr(t.w->text, "Page[] proved"), "%s: %s", arrays[i].name, t.w->text);
		world_destroy(t.w);
	}
}

/* --- nodes that no debug info defines --- */

/* A std::list<Page> whose node is unknown. */
static void name_undefined(struct pages *t, uint64_t one, uint64_t two)
{
	struct world *w = t->w;
	hsnap_dtype_id base = world_type(w, "std::__detail::_List_node_base", STRUCT, 16), link = world_pointer(w, base);
	MEMBERS(w, base, { "_M_next", 0, link }, { "_M_prev", 8, link });
	hsnap_dtype_id head = world_type(w, "std::__detail::_List_node_header", STRUCT, 24);
	MEMBERS(w, head, { "", 0, base, HSNAP_DMEMBER_BASE }, { "_M_size", 16, t->number });
	hsnap_dtype_id list = world_type(w, "std::__cxx11::_List_base<Page, std::allocator<Page> >", STRUCT, 24);
	ARGUMENTS(w, list, t->page);
	MEMBERS(w, list, { "_M_node", 0, head });
	world_variable(w, "g_list", WORLD_DATA, list);
	WORDS(w, WORLD_DATA, one, two, 2);
	WORDS(w, one, two, WORLD_DATA, world_block(w, 48, 0));
	WORDS(w, two, WORLD_DATA, one, world_block(w, 48, 0));
	world_name(w);
}

Test(containers, a_node_that_nobody_defines_is_laid_out_by_the_rules)
{
	struct pages t = make_pages();
	uint64_t one = world_block(t.w, 32, 0), two = world_block(t.w, 32, 0);
	name_undefined(&t, one, two);
	cr_expect_str_eq(world_rows(t.w), "2 Text proved; 2 std::list<Page>::node proved");
	world_destroy(t.w);
}

Test(containers, a_node_of_what_nobody_knows_the_alignment_of_stays_unknown)
{
	struct pages t = make_pages();
	uint64_t one = world_block(t.w, 64, 0), two = world_block(t.w, 64, 0);
	t.w->symbols.types.items[t.page].size = 32; /* declared alignas(32) */
	name_undefined(&t, one, two);
	cr_expect(!strstr(world_rows(t.w), "::node") && !strstr(t.w->text, "Text proved"), "%s", t.w->text);
	world_destroy(t.w);
}

/* --- GLib --- */

struct glib {
	uint64_t size, keys, hashes, values;
	uint32_t mask, nodes, occupied, have_big;
	bool named;
	const char *name;
};

/* Arrays of eight places; what the table says of them is the row's. */
static const struct glib tables[] = {
	{ 8, 0, 0, 0, 7, 3, 4, 3, true, "a table" },
	{ 8, 0, 0, 0, 7, 3, 4, 0xabcdef03, true, "bits that nobody set" },
	{ 12, 0, 0, 0, 11, 3, 4, 3, false, "no power of two" },
	{ 4, 0, 0, 0, 3, 3, 4, 3, false, "too small a table" },
	{ 8, 0, 0, 0, 15, 3, 4, 3, false, "another mask" },
	{ 8, 0, 0, 0, 7, 5, 4, 3, false, "more nodes than places in use" },
	{ 8, 0, 0, 0, 7, 3, 9, 3, false, "more in use than there are" },
	{ 16, 0, 0, 0, 15, 3, 4, 3, false, "a larger table than its arrays" },
	{ (uint64_t)1 << 61, 0, 0, 0, UINT32_MAX, 3, 4, 3, false, "an impossible size" },
	{ 8, 0, 8, 0, 7, 3, 4, 3, false, "arrays that begin within blocks" },
};

Test(containers, a_table_of_glib_has_three_arrays_of_its_size)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct pages t = make_pages();
		struct world *w = t.w;
		const struct glib *row = &tables[i];
		hsnap_dtype_id number = world_type(w, "unsigned int", HSNAP_DTYPE_SCALAR, 4);
		hsnap_dtype_id pointers = world_pointer(w, world_pointer(w, 0)), numbers = world_pointer(w, number);
		hsnap_dtype_id table = world_type(w, "_GHashTable", STRUCT, 96);
		MEMBERS(w, table, { "size", 0, t.number }, { "mask", 12, number }, { "nnodes", 16, number }, { "noccupied", 20, number },
			{ "have_big", 24, number }, { "keys", 32, pointers }, { "hashes", 40, numbers }, { "values", 48, pointers });
		world_variable(w, "g_table", WORLD_DATA, table);
		uint64_t keys = world_block(w, 64, 0), hashes = world_block(w, 32, 0), values = world_block(w, 64, 0);
		WORDS(w, WORLD_DATA, row->size, (uint64_t)row->mask << 32, (uint64_t)row->occupied << 32 | row->nodes, row->have_big,
		      keys + row->keys, hashes + row->hashes, values + row->values);
		world_set(w, keys + 8, world_block(w, 48, 0));
		world_name(w);
		bool named = strstr(world_rows(w), "2 void *[] proved") && strstr(w->text, "unsigned int[] in _GHashTable.hashes proved");
		bool none = !strstr(w->text, "void *[]") && !strstr(w->text, "unsigned int[]");
		cr_expect(row->named ? named : none, "%s: %s", row->name, w->text);
		world_destroy(w);
	}
}

/* What is behind the last of an array's pointers is no pointer of its. */
Test(containers, an_array_of_glib_ends_at_its_length)
{
	static const struct {
		uint32_t num, room;
		bool named;
	} rows[] = { { 2, 4, true }, { 5, 4, false }, { 2, 400, false } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pages t = make_pages();
		struct world *w = t.w;
		hsnap_dtype_id number = world_type(w, "unsigned int", HSNAP_DTYPE_SCALAR, 4);
		hsnap_dtype_id array = world_type(w, "_GPtrArray", STRUCT, 32);
		MEMBERS(w, array, { "pdata", 0, world_pointer(w, world_pointer(w, 0)) }, { "len", 8, number }, { "alloc", 12, number });
		world_variable(w, "g_array", WORLD_DATA, array);
		uint64_t data = world_block(w, 32, 0);
		WORDS(w, WORLD_DATA, data, (uint64_t)rows[i].room << 32 | rows[i].num);
		WORDS(w, data, world_block(w, 40, 0), 0, world_block(w, 50, 0));
		world_name(w);
		bool named = strstr(world_rows(w), "1 void *[] proved") && strstr(w->text, "1 50 bytes unknown unreachable");
		cr_expect(rows[i].named ? named : !strstr(w->text, "void *[] proved"), "%zu: %s", i, w->text);
		world_destroy(w);
	}
}
