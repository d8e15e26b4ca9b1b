/* SPDX-License-Identifier: MIT */
/*
 * fuzz_naming.c - memory of anybody's making, named by debug info that is as it should be.
 *
 * Input: the sizes of blocks (16 bytes, one a block, 0: none), then words of four bytes each: what it is, and
 * how much.  The first half are the module's data, vtables and type descriptors, the rest the heap's.  Holds:
 * it ends; what comes of it is a snapshot that can be written; nothing that is sure of its name is larger than
 * its block.  The demangler is not the real one, which has a process of its own (fuzz_names.c has its answers).
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "capture/naming/naming.h"
#include "capture/symbols/demangle.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/format/check.h"
#include "tests/fuzz/fuzz.h"

#define MODULE 0x10000u
#define HEAP 0x40000u
#define ROOM 0x8000u     /* bytes of each */
#define VARIABLES 0x200u /* bytes of the module's data that are variables */
#define NUM_BLOCKS 16u

static void require(bool holds)
{
	if (!holds)
		abort();
}

enum hsnap_code hsnap_demangle(struct hsnap_strings *strings, const hsnap_string *names, size_t num,
			       const struct hsnap_demangle_options *options, hsnap_string *ret, struct hsnap_error *err)
{
	(void)options;
	(void)err;
	for (size_t i = 0; i < num; i++)
		ret[i] = hsnap_strings_addf(strings, "Box<%s>", hsnap_str(strings, names[i]) + 1);
	return HSNAP_OK;
}

/* A number, an address in the module or in the heap, or text. */
static uint64_t word_of(const uint8_t *bytes)
{
	static const char *const texts[] = { "3Foo", "N1s3BarE", "3BoxI3FE", "*3Foo", "6HandleE", "", "3Fo", "Z1fvE3Fo" };
	uint64_t much = bytes[1] | (uint64_t)bytes[2] << 8 | (uint64_t)bytes[3] << 16, word = 0;
	switch (*bytes % 5) {
	case 0:
		return much;
	case 1:
		return MODULE + much % ROOM;
	case 2:
		return HEAP + much % ROOM / 8 * 8;
	case 3:
		return MODULE + much % ROOM / 8 * 8;
	default:
		memcpy(&word, texts[much % 8], strlen(texts[much % 8]));
		return word;
	}
}

static void fill(uint8_t *memory, const uint8_t *bytes, size_t size)
{
	memset(memory, 0, ROOM);
	for (size_t at = 0; at + 4 <= size && at * 2 < ROOM; at += 4) {
		uint64_t word = word_of(bytes + at);
		memcpy(memory + at * 2, &word, sizeof(word));
	}
}

/* On one processor no thread is made for a piece of work: they would take more time than all else. */
static void stay_alone(void)
{
	static bool done;
	cpu_set_t set;
	int cpu = sched_getcpu();
	if (done || cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	done = !sched_setaffinity(0, sizeof(set), &set);
}

/* --- debug info --- */

static hsnap_dtype_id add_type(struct hsnap_symbols *s, const char *name, uint8_t kind, uint64_t size, hsnap_dtype_id target)
{
	struct hsnap_dtype type = { .name = hsnap_strings_add(&s->strings, name), .kind = kind, .size = size, .module = 1,
				    .target = target };
	require(hsnap_vec_push(&s->types, type));
	return (hsnap_dtype_id)s->types.num - 1;
}

static void add_member(struct hsnap_symbols *s, hsnap_dtype_id of, const char *name, uint64_t offset, hsnap_dtype_id type,
		       uint32_t flags)
{
	struct hsnap_dtype *dtype = &s->types.items[of];
	if (!dtype->num_members++)
		dtype->first_member = (uint32_t)s->members.num;
	require(hsnap_vec_push(&s->members, (struct hsnap_dmember){ hsnap_strings_add(&s->strings, name), offset, type, flags }));
}

static void add_variable(struct hsnap_symbols *s, const char *name, uint64_t at, hsnap_dtype_id type)
{
	struct hsnap_dvariable variable = { .name = hsnap_strings_add(&s->strings, name), .module = 1, .address = MODULE + at,
					    .type = type, .external = true };
	require(hsnap_vec_push(&s->variables, variable));
}

/* Classes, a container, a union, a flexible array, a handle and a member that may lead anywhere. */
static struct hsnap_symbols *make_symbols(void)
{
	struct hsnap_symbols *s = calloc(1, sizeof(*s));
	require(s && hsnap_strings_add(&s->strings, "") == 0 && hsnap_vec_push(&s->modules, (struct hsnap_dmodule){ 0 }) &&
		hsnap_vec_push(&s->modules, (struct hsnap_dmodule){ .has_types = true }) &&
		hsnap_vec_push(&s->types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID }));
	hsnap_dtype_id byte = add_type(s, "char", HSNAP_DTYPE_BYTE, 1, 0), number = add_type(s, "long", HSNAP_DTYPE_SCALAR, 8, 0);
	hsnap_dtype_id any = add_type(s, "", HSNAP_DTYPE_POINTER, 8, 0), text = add_type(s, "", HSNAP_DTYPE_POINTER, 8, byte);
	hsnap_dtype_id foo = add_type(s, "Foo", HSNAP_DTYPE_STRUCT, 40, 0), foos = add_type(s, "", HSNAP_DTYPE_POINTER, 8, foo);
	hsnap_dtype_id table = add_type(s, "", HSNAP_DTYPE_POINTER, 8, foos);
	hsnap_dtype_id bar = add_type(s, "s::Bar", HSNAP_DTYPE_STRUCT, 64, 0), either = add_type(s, "", HSNAP_DTYPE_UNION, 8, 0);
	hsnap_dtype_id tail = add_type(s, "Tail", HSNAP_DTYPE_STRUCT, 8, 0), items = add_type(s, "", HSNAP_DTYPE_ARRAY, 0, foos);
	hsnap_dtype_id tails = add_type(s, "", HSNAP_DTYPE_POINTER, 8, tail), box = add_type(s, "Box<3BoxI3FE>", HSNAP_DTYPE_STRUCT, 24, 0);
	hsnap_dtype_id handle = add_type(s, "Handle", HSNAP_DTYPE_INCOMPLETE, 0, 0), handles = add_type(s, "", HSNAP_DTYPE_POINTER, 8, handle);
	hsnap_dtype_id data = add_type(s, "std::_Vector_base<Foo, std::allocator<Foo> >::_Vector_impl_data", HSNAP_DTYPE_STRUCT, 24, 0);
	hsnap_dtype_id vector = add_type(s, "std::_Vector_base<Foo, std::allocator<Foo> >", HSNAP_DTYPE_STRUCT, 24, 0);
	s->types.items[foo].flags = s->types.items[bar].flags = HSNAP_DTYPE_POLYMORPHIC;
	s->types.items[tail].flags = HSNAP_DTYPE_FLEXIBLE;
	const struct {
		hsnap_dtype_id of;
		const char *name;
		uint64_t offset;
		hsnap_dtype_id type;
		uint32_t flags;
	} members[] = {
		{ foo, "_vptr.Foo", 0, any, HSNAP_DMEMBER_VPTR }, { foo, "next", 8, foos },
		{ foo, "any", 16, any }, { foo, "text", 24, text }, { foo, "handle", 32, handles },
		{ bar, "", 0, foo, HSNAP_DMEMBER_BASE }, { bar, "either", 40, either },
		{ bar, "table", 48, table }, { bar, "tail", 56, tails },
		{ either, "number", 0, number }, { either, "foo", 0, foos },
		{ tail, "num", 0, number }, { tail, "items", 8, items },
		{ box, "_vptr.Box", 0, any, HSNAP_DMEMBER_VPTR }, { box, "foo", 8, foos },
		{ box, "self", 16, any },
		{ data, "_M_start", 0, foos }, { data, "_M_finish", 8, foos },
		{ data, "_M_end_of_storage", 16, foos },
		{ vector, "_M_impl", 0, data },
	};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		add_member(s, members[i].of, members[i].name, members[i].offset, members[i].type, members[i].flags);
	s->types.items[vector].first_argument = (uint32_t)s->arguments.num;
	s->types.items[vector].num_arguments = 1;
	require(hsnap_vec_push(&s->arguments, foo));
	add_variable(s, "g_foo", 0, foos);
	add_variable(s, "g_bar", 8, bar);
	add_variable(s, "g_vector", 0x48, vector);
	add_variable(s, "g_table", 0x60, table);
	add_variable(s, "g_tail", 0x68, tails);
	add_variable(s, "g_handle", 0x70, handles);
	require(hsnap_vec_push(&s->aliases, (struct hsnap_dalias){ handle, box, 3, 0 }));
	require(hsnap_vec_push(&s->landings, (struct hsnap_dlanding){ foo, 16, bar, 2 }));
	require(hsnap_vec_push(&s->landings, (struct hsnap_dlanding){ foo, 16, tail, 1 }));
	require(hsnap_vec_push(&s->vtables, (struct hsnap_dvtable){ MODULE + 0x300, 0x40, hsnap_strings_add(&s->strings, "Foo"), foo }));
	require(hsnap_vec_push(&s->vtables, (struct hsnap_dvtable){ MODULE + 0x300, 0x40, hsnap_strings_add(&s->strings, "s::Bar"), bar }));
	return s;
}

/* --- the process --- */

static struct hsnap_target *make_target(const uint8_t *module_bytes, const uint8_t *heap_bytes)
{
	struct hsnap_target *target = hsnap_image_create();
	require(target && hsnap_image_add(target, MODULE, module_bytes, ROOM, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "/usr/bin/app") &&
		hsnap_image_add(target, HEAP, heap_bytes, ROOM, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "[heap]"));
	struct hsnap_target_module module = { .start = MODULE, .end = MODULE + ROOM, .main = true };
	module.path = hsnap_strings_add(&target->strings, "/usr/bin/app");
	require(hsnap_vec_push(&target->modules, module));
	return target;
}

static void add_blocks(struct hsnap_heap *heap, const uint8_t *sizes)
{
	uint64_t at = HEAP + 16;
	require(hsnap_vec_push(&heap->stacks, (struct hsnap_raw_stack){ 0 }));
	for (unsigned i = 0; i < NUM_BLOCKS; i++) {
		uint64_t size = 8 + (uint64_t)(sizes[i] & 127) * 8;
		uint64_t usable = (size + 23) / 16 * 16 - 8;
		heap->requested_known |= sizes[i] >> 7;
		if (sizes[i] && at + usable + 8 < HEAP + ROOM)
			require(hsnap_vec_push(&heap->blocks, (struct hsnap_block){ .address = at, .usable = usable, .requested = size }));
		at += usable + 8;
	}
	for (size_t i = 0; i < heap->blocks.num && !heap->requested_known; i++)
		heap->blocks.items[i].requested = heap->blocks.items[i].usable;
}

static void check(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	bool no_memory;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		const struct hsnap_type *type = &snapshot->types.items[graph->type[node]];
		if (hsnap_node_confidence(graph, node) >= HSNAP_PROVED && type->kind == HSNAP_TYPE_STRUCT)
			require(type->size <= hsnap_node_usable(graph, node));
	}
	require(!hsnap_check_table(snapshot, true, &no_memory) && !hsnap_check_graph(snapshot) &&
		!hsnap_check_nodes(snapshot, 1, graph->num_nodes - 1) && !hsnap_check_edges(snapshot, 0, graph->num_nodes));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t module[ROOM], memory[ROOM];
	struct hsnap_error err;
	if (size < NUM_BLOCKS + 8 || size > ROOM)
		return 0;
	stay_alone();
	size_t half = (size - NUM_BLOCKS) / 8 * 4;
	fill(module, bytes + NUM_BLOCKS, half);
	fill(memory, bytes + NUM_BLOCKS + half, size - NUM_BLOCKS - half);
	struct hsnap_target *target = make_target(module, memory);
	struct hsnap_heap heap = { .source = "agent" };
	struct hsnap_roots roots = { 0 };
	struct hsnap_symbols *symbols = make_symbols();
	struct hsnap_snapshot *snapshot = hsnap_snapshot_create();
	require(snapshot && hsnap_vec_push(&roots.areas, (struct hsnap_root_area){ .kind = HSNAP_ROOT_STATIC, .address = MODULE,
										 .size = VARIABLES, .module = 1 }));
	add_blocks(&heap, bytes);
	require(hsnap_name_and_connect(target, &heap, &roots, symbols, NULL, snapshot, &err) == HSNAP_OK);
	check(snapshot);
	hsnap_snapshot_destroy(snapshot);
	hsnap_symbols_destroy(symbols);
	hsnap_roots_deinit(&roots);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	return 0;
}
