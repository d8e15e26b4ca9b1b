/* SPDX-License-Identifier: MIT */
/* test_library.c - containers, vtables and names of the C++ library. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "capture/naming/shorten.h"
#include "world.h"

#define ARGUMENTS(w, type, ...) \
	world_arguments((w), (type), sizeof((const hsnap_dtype_id[]){ __VA_ARGS__ }) / sizeof(hsnap_dtype_id), \
			(const hsnap_dtype_id[]){ __VA_ARGS__ })
#define STRING_NAME "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

/* struct Line { char *text; uint64_t n; } and containers of it. */
struct library {
	hsnap_dtype_id byte, number, line, line_pointer, vector, string, pair, node, base_pointer, table, map;
};

static struct library make_library(struct world *w)
{
	struct library t;
	t.byte = world_type(w, "char", HSNAP_DTYPE_BYTE, 1);
	t.number = world_type(w, "unsigned long", HSNAP_DTYPE_SCALAR, 8);
	t.line = world_type(w, "Line", STRUCT, 16);
	t.line_pointer = world_pointer(w, t.line);
	MEMBERS(w, t.line, { "text", 0, world_pointer(w, t.byte) }, { "n", 8, t.number });

	hsnap_dtype_id base = world_type(w, "std::_Vector_base<Line, std::allocator<Line> >", STRUCT, 24);
	ARGUMENTS(w, base, t.line);
	MEMBERS(w, base, { "_M_start", 0, t.line_pointer }, { "_M_finish", 8, t.line_pointer },
		{ "_M_end_of_storage", 16, t.line_pointer });
	t.vector = world_type(w, "std::vector<Line, std::allocator<Line> >", STRUCT, 24);
	MEMBERS(w, t.vector, { "", 0, base, HSNAP_DMEMBER_BASE });

	t.string = world_type(w, STRING_NAME, STRUCT, 32);
	ARGUMENTS(w, t.string, t.byte);
	MEMBERS(w, t.string, { "_M_p", 0, world_pointer(w, t.byte) }, { "_M_string_length", 8, t.number },
		{ "_M_allocated_capacity", 16, t.number }, { "_M_local_buf", 16, world_array(w, t.byte, 16) });

	t.pair = world_type(w, "std::pair<" STRING_NAME " const, Line *>", STRUCT, 40);
	MEMBERS(w, t.pair, { "first", 0, t.string }, { "second", 32, t.line_pointer });
	hsnap_dtype_id link = world_type(w, "std::__detail::_Hash_node_base", STRUCT, 8);
	t.base_pointer = world_pointer(w, link);
	MEMBERS(w, link, { "_M_nxt", 0, t.base_pointer });
	hsnap_dtype_id storage = world_type(w, "__gnu_cxx::__aligned_buffer<Pair>", STRUCT, 40);
	ARGUMENTS(w, storage, t.pair);
	MEMBERS(w, storage, { "_M_storage", 0, world_array(w, t.byte, 40) });
	t.node = world_type(w, "std::__detail::_Hash_node<Pair, true>", STRUCT, 56);
	ARGUMENTS(w, t.node, t.pair);
	MEMBERS(w, t.node, { "", 0, link, HSNAP_DMEMBER_BASE }, { "_M_storage", 8, storage });
	t.table = world_type(w, "std::_Hashtable<Key, Pair, std::__detail::_Hashtable_traits<true, false, true> >", STRUCT, 56);
	ARGUMENTS(w, t.table, t.string, t.pair);
	MEMBERS(w, t.table, { "_M_buckets", 0, world_pointer(w, t.base_pointer) }, { "_M_bucket_count", 8, t.number },
		{ "_M_before_begin", 16, link }, { "_M_element_count", 24, t.number },
		{ "_M_max_load_factor", 32, world_type(w, "float", HSNAP_DTYPE_SCALAR, 4) },
		{ "_M_single_bucket", 48, t.base_pointer });
	t.map = world_type(w, "std::unordered_map<Key, Line *>", STRUCT, 56);
	MEMBERS(w, t.map, { "_M_h", 0, t.table });
	return t;
}

static void set_vector(struct world *w, uint64_t at, uint64_t begin, uint64_t used, uint64_t capacity)
{
	world_set(w, at, begin);
	world_set(w, at + 8, begin + used);
	world_set(w, at + 16, begin + capacity);
}

Test(library, a_vectors_body_ends_at_its_size)
{
	struct world *w = world_create();
	struct library t = make_library(w);
	world_variable(w, "g_lines", WORLD_DATA, t.vector);
	uint64_t body = world_block(w, 64, 0), live = world_block(w, 20, 0), dead = world_block(w, 21, 0);
	set_vector(w, WORLD_DATA, body, 32, 64);
	world_set(w, body + 16, live);
	world_set(w, body + 32, dead); /* of an element that was taken out */
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Line[] proved; 1 21 bytes unknown unreachable; 1 char[] in Line.text proved");
	cr_expect_str_eq(world_edges(w), "g_lines+0>1 g_lines+8>1 g_lines+16>1 1+16>2");
	world_destroy(w);
}

Test(library, what_is_no_vector_is_not_walked)
{
	static const struct {
		const char *name;
		uint64_t begin_offset, used, capacity;
	} rows[] = {
		{ "end before begin", 0, (uint64_t)-16, 64 },
		{ "storage before end", 0, 48, 32 },
		{ "half an element", 0, 24, 64 },
		{ "more than the block", 0, 128, 128 },
		{ "much less than the block", 0, 16, 16 },
		{ "begins inside", 16, 16, 32 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct library t = make_library(w);
		world_variable(w, "g_lines", WORLD_DATA, t.vector);
		uint64_t body = world_block(w, 64, 0), other = world_block(w, 20, 0);
		set_vector(w, WORLD_DATA, body + rows[i].begin_offset, rows[i].used, rows[i].capacity);
		world_set(w, body + 16, other);
		world_name(w);
		cr_expect_str_eq(world_rows(w), "1 64 bytes in g_lines label; 1 20 bytes behind g_lines label", "%s: %s",
				 rows[i].name, w->text);
		world_destroy(w);
	}
}

Test(library, a_long_string_is_bytes_in_its_holder)
{
	struct world *w = world_create();
	struct library t = make_library(w);
	hsnap_dtype_id book = world_type(w, "Book", STRUCT, 64);
	MEMBERS(w, book, { "title_", 0, t.string }, { "blurb_", 32, t.string });
	world_variable(w, "g_book", WORLD_DATA, world_pointer(w, book));
	uint64_t block = world_block(w, 64, 0), text = world_block(w, 31, 0);
	world_set(w, WORLD_DATA, block);
	world_set(w, block, block + 16); /* a short one */
	world_set(w, block + 8, 5);
	world_set(w, block + 32, text);
	world_set(w, block + 40, 22);
	world_set(w, block + 48, 30);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Book proved; 1 char[] in Book.blurb_ proved");
	cr_expect_str_eq(world_edges(w), "g_book+0>1 1+32>2");
	world_destroy(w);
}

Test(library, a_hash_table_knows_its_nodes)
{
	struct world *w = world_create();
	struct library t = make_library(w);
	world_variable(w, "g_map", WORLD_DATA, t.map);
	uint64_t buckets = world_block(w, 32, 0), one = world_block(w, 56, 0), two = world_block(w, 56, 0);
	uint64_t key = world_block(w, 40, 0), line = world_block(w, 16, 0);
	world_set(w, WORLD_DATA, buckets);
	world_set(w, WORLD_DATA + 8, 4);
	world_set(w, WORLD_DATA + 16, one);
	world_set(w, WORLD_DATA + 24, 2);
	world_set(w, WORLD_DATA + 32, 0x3f800000); /* 1.0 */
	world_set(w, buckets + 8, WORLD_DATA + 16);
	world_set(w, buckets + 16, one);
	world_set(w, one, two);
	world_set(w, two + 8, key);
	world_set(w, two + 16, 38);
	world_set(w, two + 24, 39);
	world_set(w, two + 40, line);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "2 std::unordered_set<Pair>::node proved; "
			 "1 char[] in std::unordered_set<Pair>::node.first proved; "
			 "1 _Hash_node_base *[] proved; 1 Line proved");
	cr_expect_str_eq(world_edges(w), "g_map+0>1 g_map+16>2 1+16>2 2+0>3 3+8>4 3+40>5");
	char path[64];
	cr_expect(hsnap_member_path(w->snapshot, w->snapshot->graph.type[1], 0, path, sizeof(path)));
	cr_expect_str_eq(path, ".buckets");
	cr_expect(hsnap_member_path(w->snapshot, w->snapshot->graph.type[4], 40, path, sizeof(path)));
	cr_expect_str_eq(path, ".second");
	world_destroy(w);
}

Test(library, elements_of_arrays_of_strings_are_called_by_the_array)
{
	struct world *w = world_create();
	struct library t = make_library(w);
	hsnap_dtype_id base = world_type(w, "std::_Vector_base<" STRING_NAME ", std::allocator<X> >", STRUCT, 24);
	ARGUMENTS(w, base, t.string);
	hsnap_dtype_id pointer = world_pointer(w, t.string);
	MEMBERS(w, base, { "_M_start", 0, pointer }, { "_M_finish", 8, pointer }, { "_M_end_of_storage", 16, pointer });
	hsnap_dtype_id shop = world_type(w, "Shop", STRUCT, 24);
	MEMBERS(w, shop, { "names", 0, base });
	world_variable(w, "g_shop", WORLD_DATA, shop);
	uint64_t body = world_block(w, 64, 0), text = world_block(w, 40, 0);
	set_vector(w, WORLD_DATA, body, 64, 64);
	world_set(w, body, body + 16);
	world_set(w, body + 32, text);
	world_set(w, body + 40, 37);
	world_set(w, body + 48, 39);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 std::string[] proved; 1 char[] in Shop.names[*] proved");
	world_destroy(w);
}

/* A vtable at a place of the read-only data: offset to top, descriptor, functions. */
static uint64_t make_vtable(struct world *w, uint64_t at, uint64_t top, const char *mangled)
{
	world_set(w, at, top);
	world_set(w, at + 8, at + 64);
	world_set(w, at + 64, at + 16);
	world_set(w, at + 64 + 8, at + 96);
	world_write(w, at + 96, mangled, strlen(mangled) + 1);
	return at + 16;
}

Test(library, a_vtable_says_what_an_object_is)
{
	static const struct {
		const char *name, *mangled;
		uint64_t top, size;
		bool symbol;
		const char *rows;
	} rows[] = {
		{ "by its descriptor", "N4shop5AudioE", 0, 32, false, "1 shop::Audio exact" },
		{ "by its symbol", "?", 0, 32, true, "1 shop::Audio exact" },
		{ "a run", "N4shop5AudioE", 0, 64, false, "1 shop::Audio[] inferred" },
		{ "another size", "N4shop5AudioE", 0, 40, false, "1 40 bytes in g label" },
		{ "a base inside another", "N4shop5AudioE", (uint64_t)-16, 32, false, "1 32 bytes in g label" },
		{ "a template", "N4shop5AudioIiEE", 0, 32, false, "1 shop::Audio<int> exact" },
		{ "an endless name", "N99999999999shopE", 0, 32, false, "1 32 bytes in g label" },
		{ "nothing", "", 0, 32, false, "1 32 bytes in g label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		hsnap_dtype_id product = world_type(w, "shop::Product", STRUCT, 16);
		w->symbols.types.items[product].flags = HSNAP_DTYPE_POLYMORPHIC;
		hsnap_dtype_id audio = world_type(w, "shop::Audio", STRUCT, 32);
		MEMBERS(w, audio, { "", 0, product, HSNAP_DMEMBER_BASE });
		uint64_t vptr = make_vtable(w, WORLD_RODATA + 256, rows[i].top, rows[i].mangled);
		if (rows[i].symbol) {
			struct hsnap_dvtable vtable = { .address = vptr - 16, .size = 48, .type = audio };
			cr_assert(hsnap_vec_push(&w->symbols.vtables, vtable));
		}
		world_variable(w, "g", WORLD_DATA, world_pointer(w, product));
		uint64_t block = world_block(w, rows[i].size, 0);
		world_set(w, WORLD_DATA, block);
		world_set(w, block, vptr);
		world_set(w, block + 32, vptr);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

/* A class of that name and size with a vtable at that place, by its symbol; of one name twice: two. */
static uint64_t make_class(struct world *w, const char *name, uint64_t size, uint64_t at)
{
	hsnap_dtype_id type = size ? world_type(w, name, STRUCT, size) : 0;
	struct hsnap_dvtable vtable = { .address = WORLD_RODATA + at, .size = 48, .class_name = world_string(w, name), .type = type };
	cr_assert(hsnap_vec_push(&w->symbols.vtables, vtable));
	return WORLD_RODATA + at + 16;
}

/* A block whose first words are these. */
static uint64_t make_object(struct world *w, uint64_t size, uint64_t first, uint64_t second)
{
	uint64_t block = world_block(w, size, 0);
	world_set(w, block, first);
	world_set(w, block + 8, second);
	return block;
}

static void give_and_expect(struct world *w, const char *rows)
{
	hsnap_dtype_id any = world_pointer(w, 0);
	world_variable(w, "g", WORLD_DATA, world_array(w, any, 8));
	world_name(w);
	cr_expect_str_eq(world_rows(w), rows, "%s, not %s", w->text, rows);
	world_destroy(w);
}

/* Have g lead to the blocks, so that their labels are known. */
static void hold(struct world *w, uint64_t block, unsigned slot)
{
	world_set(w, WORLD_DATA + 8 * slot, block);
}

Test(library, of_vtables_that_the_linker_made_one_the_size_decides)
{
	struct world *w = world_create();
	uint64_t vptr = make_class(w, "Cat", 24, 256);
	make_class(w, "Dog", 32, 256);
	make_class(w, "Eel", 40, 256);
	make_class(w, "Fox", 40, 256);
	hold(w, make_object(w, 24, vptr, 0), 0);
	hold(w, make_object(w, 32, vptr, 0), 1);
	hold(w, make_object(w, 40, vptr, 0), 2);
	give_and_expect(w, "1 40 bytes in g[*] label; 1 Dog exact; 1 Cat exact");
}

/* Debug info can have any number of them; each block would be held against all. */
Test(library, of_too_many_classes_of_one_name_it_is_none)
{
	for (unsigned others = 63; others < 65; others++) {
		struct world *w = world_create();
		uint64_t vptr = make_vtable(w, WORLD_RODATA + 256, 0, "3Cat");
		world_type(w, "Cat", STRUCT, 24);
		for (unsigned i = 0; i < others; i++)
			world_type(w, "Cat", STRUCT, 1000 + 8 * i);
		hold(w, make_object(w, 24, vptr, 0), 0);
		give_and_expect(w, others < 64 ? "1 Cat exact" : "1 24 bytes in g[*] label");
	}
}

Test(library, a_spelling_of_its_own_is_no_other_class)
{
	struct world *w = world_create();
	world_type(w, "Box<const char *, 3>", STRUCT, 32);
	world_type(w, "Box<char *, 3>", STRUCT, 32);
	uint64_t vptr = make_class(w, "Box<char const*, 3ul>", 0, 256);
	hold(w, make_object(w, 32, vptr, 0), 0);
	give_and_expect(w, "1 Box<const char *, 3> exact");
}

Test(library, without_debug_info_a_class_has_its_name_and_its_usual_size)
{
	struct world *w = world_create();
	uint64_t vptr = make_class(w, "Cat", 0, 256);
	for (unsigned i = 0; i < 3; i++)
		hold(w, make_object(w, 24, vptr, 0), i);
	hold(w, make_object(w, 120, vptr, 0), 3);
	/* Three of them may be a struct, of which nobody tells. */
	for (unsigned num = 3; num <= 4; num++) {
		uint64_t run = world_block(w, num * 24, 0);
		for (unsigned i = 0; i < num; i++)
			world_set(w, run + i * 24, vptr);
		hold(w, run, num + 1);
	}
	give_and_expect(w, "1 120 bytes in g[*] label; 1 Cat[] inferred; 3 Cat exact; 1 72 bytes in g[*] label");
}

/* A struct of that size which begins with one may be all of them. */
Test(library, a_run_is_doubted_where_a_struct_fills_the_block)
{
	for (unsigned known = 0; known < 2; known++) {
		struct world *w = world_create();
		uint64_t vptr = make_class(w, "Cat", 24, 256);
		hsnap_dtype_id cat = w->symbols.vtables.items[0].type, home = world_type(w, "Home", STRUCT, 72);
		MEMBERS(w, home, { "first", known ? 0 : 8, cat }, { "second", 24, cat }, { "third", 48, cat });
		uint64_t run = world_block(w, 72, 0);
		for (unsigned i = 0; i < 3; i++)
			world_set(w, run + i * 24, vptr);
		hold(w, run, 0);
		give_and_expect(w, known ? "1 72 bytes in g[*] label" : "1 Cat[] inferred");
	}
}

Test(library, an_array_begins_with_the_number_of_its_elements)
{
	static const struct {
		uint64_t size, number, elements;
		const char *rows;
	} rows[] = {
		{ 8 + 3 * 24, 3, 3, "1 Cat[] exact" },
		{ 8 + 3 * 24, 2, 3, "1 80 bytes in g[*] label" },
		{ 8 + 3 * 24, 3, 2, "1 80 bytes in g[*] label" },
		{ 8 + 24, 1, 1, "1 32 bytes in g[*] label" }, /* as well an object behind its count of references */
		{ 8 + 3 * 24, UINT64_MAX / 24, 3, "1 80 bytes in g[*] label" },
		{ 8 + 3 * 24, 0, 3, "1 80 bytes in g[*] label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		uint64_t vptr = make_class(w, "Cat", 24, 256), block = world_block(w, rows[i].size, 0);
		world_set(w, block, rows[i].number);
		for (uint64_t n = 0; n < rows[i].elements; n++)
			world_set(w, block + 8 + 24 * n, vptr);
		hold(w, block, 0);
		give_and_expect(w, rows[i].rows);
	}
}

Test(library, a_vtable_pointer_further_on_names_nothing)
{
	struct world *w = world_create();
	uint64_t vptr = make_class(w, "Cat", 24, 256);
	hold(w, make_object(w, 24, 'x', vptr), 0);
	hold(w, make_object(w, 16, vptr, vptr), 1); /* smaller than one */
	give_and_expect(w, "1 24 bytes in g[*] label; 1 16 bytes in g[*] label");
}

Test(library, a_control_block_says_that_it_is_one)
{
	struct world *w = world_create();
	uint64_t vptr = make_class(w, "std::_Sp_counted_ptr_inplace<Cat, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>", 0, 256);
	hold(w, make_object(w, 40, vptr, 0), 0);
	hsnap_dtype_id any = world_pointer(w, 0);
	world_variable(w, "g", WORLD_DATA, world_array(w, any, 8));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Cat (make_shared) exact");
	cr_expect_eq(w->snapshot->grounds.items[w->snapshot->graph.grounds[hsnap_first_block(&w->snapshot->graph)]].evidence,
		     HSNAP_EVIDENCE_CONTROL);
	world_destroy(w);
}

/* Descriptors anywhere, in circles, and tops beyond all memory. */
Test(library, hostile_vtables_name_nothing)
{
	static const struct {
		uint64_t top, descriptor, own, name;
		const char *text;
	} rows[] = {
		{ UINT64_MAX, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ (uint64_t)1 << 63, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ 8, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ 0, UINT64_MAX - 7, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ 0, WORLD_RODATA + 513, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ 0, WORLD_HEAP, WORLD_RODATA, WORLD_RODATA + 768, "3Cat" },
		{ 0, WORLD_RODATA + 256, WORLD_RODATA + 256, WORLD_RODATA + 256, "" },
		{ 0, WORLD_RODATA + 512, 0, WORLD_RODATA + 768, "3Cat" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 520, "" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + WORLD_SIZE - 1, "" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "PKc" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "3Cat\x01" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "9Cat" },
		{ 0, WORLD_RODATA + 512, WORLD_RODATA, WORLD_RODATA + 768, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		world_type(w, "Cat", STRUCT, 24);
		world_set(w, WORLD_RODATA + 256, rows[i].top);
		world_set(w, WORLD_RODATA + 264, rows[i].descriptor);
		world_set(w, WORLD_RODATA + 512, rows[i].own);
		world_set(w, WORLD_RODATA + 520, rows[i].name);
		world_write(w, WORLD_RODATA + 768, rows[i].text, strlen(rows[i].text) + 1);
		hold(w, make_object(w, 24, WORLD_RODATA + 272, 0), 0);
		give_and_expect(w, "1 24 bytes in g[*] label");
	}
}

Test(library, template_arguments_at_the_call_site)
{
	struct world *w = world_create();
	struct library t = make_library(w);
	hsnap_dtype_id handler = world_type(w, "shop::Handler", STRUCT, 24);
	MEMBERS(w, handler, { "n", 0, t.number });
	const hsnap_dtype_id allocates[] = { t.line, t.node, t.base_pointer, t.byte, 0 };
	static const char *const functions[] = {
		"std::__new_allocator<Line>::allocate", "std::__new_allocator<Node>::allocate",
		"std::__new_allocator<Base *>::allocate", "std::__new_allocator<char>::allocate",
		"std::_Function_base::_Base_manager<shop::Handler>::_M_create<shop::Handler>",
	};
	static const uint64_t sizes[] = { 16, 56, 80, 33, 24 };
	for (size_t i = 0; i < 5; i++) {
		world_pc(w, WORLD_TEXT + 16 * (i + 1), functions[i]);
		w->symbols.frames.items[w->symbols.frames.num - 1].allocates = allocates[i];
		world_block(w, sizes[i], STACK(w, WORLD_TEXT + 16 * (i + 1)));
	}
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 _Hash_node_base *[] exact unreachable; "
			 "1 std::unordered_set<Pair>::node exact unreachable; "
			 "1 char[] from std::__new_allocator<char>::allocate label unreachable; "
			 "1 shop::Handler exact unreachable; 1 Line[] exact unreachable");
	world_destroy(w);
}

#define EIGHT "a,a,a,a,a,a,a,a,"
#define MANY "Pack<" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT ">" /* a comma more than arguments are taken apart */

static const struct {
	const char *name, *want;
} names[] = {
	{ "Book", "Book" },
	{ "unsigned long", "unsigned long" },
	{ "long unsigned int", "unsigned long" },
	{ "std::pair<long int, short unsigned int>", "std::pair<long, unsigned short>" },
	{ "long long unsigned int", "unsigned long long" },
	{ "oblong int", "oblong int" },
	{ "long integer", "long integer" },
	{ STRING_NAME, "std::string" },
	{ "std::vector<int, std::allocator<int> >", "std::vector<int>" },
	{ "std::vector<int, pool::allocator<int> >", "std::vector<int, pool::allocator<int>>" },
	{ "shop::vector<int, std::allocator<int> >", "shop::vector<int, std::allocator<int>>" },
	{ "std::unordered_map<" STRING_NAME ", Book *, std::hash<" STRING_NAME " >, std::equal_to<" STRING_NAME
	  " >, std::allocator<std::pair<" STRING_NAME " const, Book *> > >", "std::unordered_map<std::string, Book *>" },
	{ "std::map<int, Book, Later, std::allocator<std::pair<int const, Book> > >", "std::map<int, Book, Later>" },
	{ "std::__detail::_Hash_node<std::pair<const " STRING_NAME ", shop::CacheEntry>, true>",
	  "std::unordered_map<std::string, shop::CacheEntry>::node" },
	{ "std::__detail::_Hash_node<std::pair<" STRING_NAME " const, int>, true>",
	  "std::unordered_map<std::string, int>::node" },
	{ "std::__detail::_Hash_node<int, false>", "std::unordered_set<int>::node" },
	{ "std::_Rb_tree_node<std::pair<const int, int> >", "std::map<int, int>::node" },
	{ "std::_List_node<Book>", "std::list<Book>::node" },
	{ "boost::multi_index::detail::hashed_index_node<boost::multi_index::detail::index_node_base<shop::Book, std::allocator<shop::Book> > >",
	  "boost::multi_index_container<shop::Book>::node" },
	{ "boost::multi_index::detail::ordered_index_node<boost::multi_index::detail::null_augment_policy, boost::multi_index::detail::"
	  "sequenced_index_node<boost::multi_index::detail::index_node_base<std::pair<int, Book>, A> > >",
	  "boost::multi_index_container<std::pair<int, Book>>::node" },
	{ "boost::multi_index::multi_index_container<Book, boost::multi_index::indexed_by<boost::multi_index::sequenced<> >, A>",
	  "boost::multi_index_container<Book>" },
	{ "boost::multi_index::detail::ordered_index_node<P, Book>", "boost::multi_index::detail::ordered_index_node<P, Book>" },
	{ "std::__detail::_Hash_node_base", "_Hash_node_base" },
	{ "std::_Sp_counted_ptr_inplace<shop::Page, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>",
	  "shop::Page" },
	{ "std::unique_ptr<Book, std::default_delete<Book> >", "std::unique_ptr<Book>" },
	{ "std::function<void(const shop::Order&)>", "std::function<void(const shop::Order&)>" },
	{ "std::function<void (int, std::vector<int, std::allocator<int> >)>", "std::function<void (int, std::vector<int>)>" },
	{ "main()::<lambda(int)>", "main()::<lambda(int)>" },
	{ "Box<main()::<lambda(int, int)> >", "Box<main()::<lambda(int, int)>>" },
	{ "shop::operator< <int>", "shop::operator< <int>" },
	{ "A<B<C>::D, 3>::E", "A<B<C>::D, 3>::E" },
	{ "Broken<int", "Broken<int" },
	{ "Empty<>", "Empty<>" },
	{ MANY, MANY },
	{ "std::__1::vector<std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >, "
	  "std::__1::allocator<std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> > > >",
	  "std::vector<std::string>" },
	{ "std::__1::__tree_node<std::__1::__value_type<long, Session>, void *>", "std::map<long, Session>::node" },
	{ "std::__1::__hash_node<std::__1::__hash_value_type<long, Session>, void *>",
	  "std::unordered_map<long, Session>::node" },
	{ "std::__1::__hash_node<long, void *>", "std::unordered_set<long>::node" },
	{ "std::__1::__list_node<Book, void *>", "std::list<Book>::node" },
	{ "std::__1::__shared_ptr_emplace<Book, std::__1::allocator<Book> >", "Book" },
	{ "std::__1::any", "std::any" },
	{ "mystd::__1::any", "mystd::__1::any" },
	{ "<<<>>><", "<<<>>><" },
	{ ">,>", ">,>" },
	{ "", "" },
};

ParameterizedTestParameters(library, shorten)
{
	static size_t rows[sizeof(names) / sizeof(*names)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, library, shorten)
{
	char *got = hsnap_shorten(names[*row].name);
	cr_expect_str_eq(got, names[*row].want, "%s: %s", names[*row].name, got);
	free(got);
}

Test(library, deep_nesting_is_copied)
{
	enum { DEPTH = 5000 };
	char *name = calloc(1, 4 * DEPTH);
	for (int i = 0; i < DEPTH; i++)
		memcpy(name + 2 * i, "A<", 2);
	memset(name + 2 * DEPTH, '>', DEPTH);
	char *got = hsnap_shorten(name);
	cr_expect_str_eq(got, name);
	free(got);
	free(name);
}
