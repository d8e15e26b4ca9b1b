/* SPDX-License-Identifier: MIT */
/* world.c - builds the made-up process and prints what became of it. */
#include "world.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NUM(array) (sizeof(array) / sizeof((array)[0]))

struct world *world_create(void)
{
	struct world *w = calloc(1, sizeof(*w));
	cr_assert(w);
	w->next_block = WORLD_HEAP + 16;
	w->heap.source = "agent";
	w->heap.requested_known = true;
	cr_assert(hsnap_vec_push(&w->heap.stacks, (struct hsnap_raw_stack){ 0 }));
	cr_assert(hsnap_vec_push(&w->symbols.types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID }));
	cr_assert(hsnap_vec_push(&w->symbols.modules, (struct hsnap_dmodule){ 0 }));
	cr_assert(hsnap_vec_push(&w->symbols.modules, (struct hsnap_dmodule){ .has_types = true }));
	struct hsnap_root_area data = { .kind = HSNAP_ROOT_STATIC, .address = WORLD_DATA, .size = WORLD_SIZE,
					.module = 1 };
	cr_assert(hsnap_vec_push(&w->roots.areas, data));
	return w;
}

void world_destroy(struct world *w)
{
	hsnap_vec_deinit(&w->heap.blocks);
	hsnap_vec_deinit(&w->heap.stacks);
	hsnap_vec_deinit(&w->heap.pcs);
	hsnap_vec_deinit(&w->heap.tags);
	hsnap_vec_deinit(&w->heap.pools);
	hsnap_strings_deinit(&w->heap.texts);
	free(w->heap.tag_of);
	free(w->heap.pool_of);
	hsnap_vec_deinit(&w->roots.areas);
	hsnap_vec_deinit(&w->roots.values);
	hsnap_vec_deinit(&w->roots.frames);
	hsnap_strings_deinit(&w->roots.strings);
	hsnap_strings_deinit(&w->symbols.strings);
	hsnap_vec_deinit(&w->symbols.modules);
	hsnap_vec_deinit(&w->symbols.types);
	hsnap_vec_deinit(&w->symbols.members);
	hsnap_vec_deinit(&w->symbols.arguments);
	hsnap_vec_deinit(&w->symbols.variables);
	hsnap_vec_deinit(&w->symbols.vtables);
	hsnap_vec_deinit(&w->symbols.managers);
	hsnap_vec_deinit(&w->symbols.pcs);
	hsnap_vec_deinit(&w->symbols.frames);
	hsnap_vec_deinit(&w->symbols.locals);
	hsnap_vec_deinit(&w->symbols.results);
	hsnap_vec_deinit(&w->symbols.classes);
	hsnap_vec_deinit(&w->symbols.aliases);
	hsnap_vec_deinit(&w->symbols.words);
	hsnap_vec_deinit(&w->symbols.landings);
	hsnap_snapshot_destroy(w->snapshot);
	free(w);
}

uint64_t world_block(struct world *w, uint64_t requested, uint32_t stack)
{
	uint64_t chunk = (requested + 8 + 15) & ~(uint64_t)15;
	if (chunk < 32)
		chunk = 32;
	struct hsnap_block block = { .address = w->next_block, .usable = chunk - 8, .requested = requested,
				     .stack = stack };
	cr_assert(block.address + chunk < WORLD_HEAP + WORLD_SIZE);
	cr_assert(hsnap_vec_push(&w->heap.blocks, block));
	w->next_block += chunk;
	return block.address;
}

void world_write(struct world *w, uint64_t address, const void *bytes, size_t size)
{
	const struct { uint64_t start; uint8_t *bytes; } places[] = {
		{ WORLD_HEAP, w->heap_bytes }, { WORLD_DATA, w->data }, { WORLD_RODATA, w->rodata },
		{ WORLD_STACK, w->stack }, { WORLD_TLS, w->tls },
	};
	for (size_t i = 0; i < NUM(places); i++) {
		if (address - places[i].start >= WORLD_SIZE || WORLD_SIZE - (address - places[i].start) < size)
			continue;
		memcpy(places[i].bytes + (address - places[i].start), bytes, size);
		return;
	}
	cr_assert_fail("0x%llx is no place in this world", (unsigned long long)address);
}

void world_set(struct world *w, uint64_t address, uint64_t word)
{
	world_write(w, address, &word, sizeof(word));
}

uint32_t world_stack(struct world *w, const uint64_t *pcs)
{
	struct hsnap_raw_stack stack = { .first_pc = (uint32_t)w->heap.pcs.num };
	for (; *pcs; pcs++, stack.num_pcs++)
		cr_assert(hsnap_vec_push(&w->heap.pcs, *pcs));
	cr_assert(hsnap_vec_push(&w->heap.stacks, stack));
	return (uint32_t)w->heap.stacks.num - 1;
}

hsnap_string world_string(struct world *w, const char *text)
{
	hsnap_string s = hsnap_strings_add(&w->symbols.strings, text);
	cr_assert_neq(s, HSNAP_NO_STRING);
	return s;
}

hsnap_dtype_id world_type(struct world *w, const char *name, enum hsnap_dtype_kind kind, uint64_t size)
{
	struct hsnap_dtype type = { .name = world_string(w, name), .kind = (uint8_t)kind, .size = size, .module = 1 };
	cr_assert(hsnap_vec_push(&w->symbols.types, type));
	return (hsnap_dtype_id)w->symbols.types.num - 1;
}

hsnap_dtype_id world_pointer(struct world *w, hsnap_dtype_id target)
{
	hsnap_dtype_id id = world_type(w, "", HSNAP_DTYPE_POINTER, 8);
	w->symbols.types.items[id].target = target;
	return id;
}

hsnap_dtype_id world_array(struct world *w, hsnap_dtype_id element, uint64_t count)
{
	hsnap_dtype_id id = world_type(w, "", HSNAP_DTYPE_ARRAY, count * w->symbols.types.items[element].size);
	w->symbols.types.items[id].target = element;
	w->symbols.types.items[id].count = count;
	return id;
}

void world_members(struct world *w, hsnap_dtype_id type, size_t num, const struct world_member *members)
{
	w->symbols.types.items[type].first_member = (uint32_t)w->symbols.members.num;
	w->symbols.types.items[type].num_members = (uint32_t)num;
	for (size_t i = 0; i < num; i++) {
		struct hsnap_dmember member = { .name = world_string(w, members[i].name), .offset = members[i].offset,
						.type = members[i].type, .flags = members[i].flags };
		cr_assert(hsnap_vec_push(&w->symbols.members, member));
	}
}

void world_arguments(struct world *w, hsnap_dtype_id type, size_t num, const hsnap_dtype_id *arguments)
{
	w->symbols.types.items[type].first_argument = (uint32_t)w->symbols.arguments.num;
	w->symbols.types.items[type].num_arguments = (uint32_t)num;
	for (size_t i = 0; i < num; i++)
		cr_assert(hsnap_vec_push(&w->symbols.arguments, arguments[i]));
}

void world_variable(struct world *w, const char *name, uint64_t address, hsnap_dtype_id type)
{
	struct hsnap_dvariable variable = { .name = world_string(w, name), .source = world_string(w, "app.c:7"),
					    .module = 1, .address = address, .type = type, .external = true };
	cr_assert(hsnap_vec_push(&w->symbols.variables, variable));
}

void world_alias(struct world *w, hsnap_dtype_id opaque, hsnap_dtype_id type, uint32_t sites, uint32_t against)
{
	struct hsnap_dalias alias = { opaque, type, sites, against };
	cr_assert(hsnap_vec_push(&w->symbols.aliases, alias));
}

void world_landing(struct world *w, hsnap_dtype_id holder, uint64_t offset, hsnap_dtype_id type)
{
	struct hsnap_dlanding landing = { holder, offset, type, 1 };
	cr_assert(hsnap_vec_push(&w->symbols.landings, landing));
}

struct hsnap_dpc *world_pc(struct world *w, uint64_t pc, const char *function)
{
	struct hsnap_dpc answer = { .pc = pc, .first_frame = (uint32_t)w->symbols.frames.num, .num_frames = 1,
				    .first_local = (uint32_t)w->symbols.locals.num,
				    .first_result = (uint32_t)w->symbols.results.num };
	struct hsnap_dframe frame = { .function = world_string(w, function),
				      .source = world_string(w, "app.c:1"), .module = 1 };
	cr_assert(hsnap_vec_push(&w->symbols.frames, frame));
	cr_assert(hsnap_vec_push(&w->symbols.pcs, answer));
	return &w->symbols.pcs.items[w->symbols.pcs.num - 1];
}

void world_result(struct world *w, hsnap_dtype_id pointee, bool declared_void)
{
	struct hsnap_dresult result = { .pointee = pointee, .declared_void = declared_void };
	cr_assert(hsnap_vec_push(&w->symbols.results, result));
	w->symbols.pcs.items[w->symbols.pcs.num - 1].num_results++;
}

static struct hsnap_target *make_target(const struct world *w)
{
	struct hsnap_target *target = hsnap_image_create();
	cr_assert(target);
	struct hsnap_target_module module = { .start = w->headers ? WORLD_HEADERS : WORLD_TEXT, .end = WORLD_DATA + WORLD_SIZE, .main = true,
					      .tls_offset = 0x100, .tls_size = 0x100 };
	module.path = hsnap_strings_add(&target->strings, "/usr/bin/app");
	cr_assert(hsnap_vec_push(&target->modules, module));
	cr_assert(hsnap_vec_push(&target->threads,
				 (struct hsnap_thread){ .tid = 1, .name = "app", .thread_pointer = WORLD_TLS + 0x200 }));
	const unsigned rw = HSNAP_PROT_READ | HSNAP_PROT_WRITE;
	cr_assert(!w->headers || hsnap_image_add(target, WORLD_HEADERS, NULL, 4096, HSNAP_PROT_READ, "/usr/bin/app"));
	cr_assert(hsnap_image_add(target, WORLD_TEXT, NULL, WORLD_SIZE, HSNAP_PROT_READ | HSNAP_PROT_EXEC, "/usr/bin/app"));
	cr_assert(hsnap_image_add(target, WORLD_RODATA, w->rodata, WORLD_SIZE, HSNAP_PROT_READ, "/usr/bin/app"));
	cr_assert(hsnap_image_add(target, WORLD_DATA, w->data, WORLD_SIZE, rw, "/usr/bin/app"));
	/* Two mappings, so that what spans them lies in no one piece. */
	cr_assert(hsnap_image_add(target, WORLD_HEAP, w->heap_bytes, 0x1000, rw, "[heap]"));
	cr_assert(hsnap_image_add(target, WORLD_HEAP + 0x1000, w->heap_bytes + 0x1000, WORLD_SIZE - 0x1000, rw, "[heap]"));
	cr_assert(hsnap_image_add(target, WORLD_TLS, w->tls, WORLD_SIZE, rw, ""));
	cr_assert(hsnap_image_add(target, WORLD_STACK, w->stack, WORLD_SIZE, rw, "[stack]"));
	return target;
}

static int compare_names(const void *a, const void *b, void *context)
{
	const struct hsnap_symbols *symbols = context;
	const hsnap_dtype_id x = *(const hsnap_dtype_id *)a, y = *(const hsnap_dtype_id *)b;
	return strcmp(hsnap_str(&symbols->strings, symbols->types.items[x].name),
		      hsnap_str(&symbols->strings, symbols->types.items[y].name));
}

static void list_classes(struct hsnap_symbols *symbols)
{
	symbols->classes.num = 0;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		if (symbols->types.items[id].kind == HSNAP_DTYPE_STRUCT)
			cr_assert(hsnap_vec_push(&symbols->classes, id));
	if (symbols->classes.num)
		qsort_r(symbols->classes.items, symbols->classes.num, sizeof(*symbols->classes.items), compare_names,
			symbols);
}

enum hsnap_code world_try_name(struct world *w, struct hsnap_error *err)
{
	list_classes(&w->symbols);
	struct hsnap_target *target = make_target(w);
	hsnap_snapshot_destroy(w->snapshot);
	w->snapshot = hsnap_snapshot_create();
	cr_assert(w->snapshot);
	enum hsnap_code code = hsnap_name_and_connect(target, &w->heap, &w->roots, w->without_symbols ? NULL : &w->symbols,
						      w->rules, w->snapshot, err);
	hsnap_target_close(target);
	return code;
}

void world_name(struct world *w)
{
	struct hsnap_error err;
	cr_assert_eq(world_try_name(w, &err), HSNAP_OK, "%s", err.message);
}

static void __attribute__((format(printf, 2, 3))) append(struct world *w, const char *format, ...)
{
	size_t used = strlen(w->text);
	va_list args;
	va_start(args, format);
	vsnprintf(w->text + used, sizeof(w->text) - used, format, args);
	va_end(args);
}

static enum hsnap_confidence best_confidence(const struct hsnap_row *row)
{
	int c = HSNAP_NUM_CONFIDENCES - 1;
	while (c && !row->bytes_by_confidence[c])
		c--;
	return (enum hsnap_confidence)c;
}

const char *world_rows(struct world *w)
{
	const struct hsnap_snapshot *s = w->snapshot;
	w->text[0] = '\0';
	for (size_t i = 0; i < s->rows.num; i++) {
		const struct hsnap_row *row = &s->rows.items[i];
		const struct hsnap_type *type = &s->types.items[row->type];
		const char *holder = hsnap_text(s, type->holder);
		append(w, "%s%llu %s%s%s %s", i ? "; " : "", (unsigned long long)row->count, hsnap_text(s, type->name),
		       holder[0] ? " " : "", holder, hsnap_confidence_name(best_confidence(row)));
		if (row->state != HSNAP_LIVE)
			append(w, " %s", hsnap_state_name((enum hsnap_state)row->state));
	}
	return w->text;
}

const char *world_edges(struct world *w)
{
	const struct hsnap_graph *g = &w->snapshot->graph;
	w->text[0] = '\0';
	for (hsnap_node_id n = 1; n < g->num_nodes; n++) {
		for (uint32_t e = g->first_edge[n]; e < g->first_edge[n + 1]; e++) {
			append(w, "%s", w->text[0] ? " " : "");
			if (hsnap_is_root(g, n))
				append(w, "%s", hsnap_text(w->snapshot, g->roots.items[n - 1].name));
			else
				append(w, "%u", n - g->num_roots);
			append(w, "+%u>%u%s", g->edge_offset[e], (g->edge_to[e] & ~HSNAP_EDGE_WEAK) - g->num_roots,
			       g->edge_to[e] & HSNAP_EDGE_WEAK ? "?" : "");
		}
	}
	return w->text;
}

const char *world_grounds(struct world *w)
{
	static const char *const verdicts[HSNAP_NUM_VERDICTS] = { "", " size", " look" };
	const struct hsnap_snapshot *s = w->snapshot;
	const struct hsnap_graph *g = &s->graph;
	w->text[0] = '\0';
	for (hsnap_node_id n = hsnap_first_block(g); n < g->num_nodes; n++) {
		const struct hsnap_grounds *grounds = &s->grounds.items[g->grounds[n]];
		bool named = g->type[n] && s->types.items[g->type[n]].kind != HSNAP_TYPE_LABEL;
		append(w, "%s%u %s %s", w->text[0] ? "; " : "", n - g->num_roots,
		       named ? hsnap_text(s, s->types.items[g->type[n]].name) : "-",
		       hsnap_evidence_name((enum hsnap_evidence)grounds->evidence));
		if (grounds->conflicts)
			append(w, ", %u conflict%s", grounds->conflicts, grounds->conflicts > 1 ? "s" : "");
		for (uint32_t i = 0; i < grounds->num_others; i++) {
			const struct hsnap_other *other = &s->others.items[grounds->first_other + i];
			append(w, "%s%s %s%s", i ? "; " : " (", hsnap_text(s, s->types.items[other->type].name),
			       hsnap_evidence_name((enum hsnap_evidence)other->evidence), verdicts[other->verdict]);
		}
		append(w, "%s%s", grounds->num_others ? ")" : "", grounds->more ? " and more" : "");
	}
	return w->text;
}

struct basics make_basics(struct world *w)
{
	struct basics t;
	t.byte = world_type(w, "char", HSNAP_DTYPE_BYTE, 1);
	t.number = world_type(w, "unsigned long", HSNAP_DTYPE_SCALAR, 8);
	t.node = world_type(w, "Node", STRUCT, 32);
	t.node_pointer = world_pointer(w, t.node);
	t.byte_pointer = world_pointer(w, t.byte);
	t.void_pointer = world_pointer(w, 0);
	MEMBERS(w, t.node, { "next", 0, t.node_pointer }, { "key", 8, t.byte_pointer },
		{ "value", 16, t.void_pointer }, { "hash", 24, t.number });
	return t;
}
