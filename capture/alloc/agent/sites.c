/* SPDX-License-Identifier: MIT */
/* sites.c - the stacks that the blocks' records name. */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "capture/unwind/target.h"
#include "snapshot/base/cleanup.h"

/* Code that was unloaded after this stack was made: what stands there now is another's. */
static bool is_unloaded(const struct hsnap_wire_directory *dir, uint64_t pc, unsigned unloads)
{
	for (unsigned i = 0; i < HSNAP_NUM_UNLOADS; i++)
		if (dir->unloads[i].number > unloads && pc >= dir->unloads[i].start && pc < dir->unloads[i].end)
			return true;
	return false;
}

static bool is_code(const struct hsnap_target *target, uint64_t pc)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, pc);
	return mapping && mapping->prot & HSNAP_PROT_EXEC;
}

/* Could the frame of the function that `pc` returns into have been found by the frame pointer?  Where
 * nothing is known of the PC, nothing contradicts. */
static bool keeps_frame(const struct hsnap_target *target, uint64_t pc)
{
	struct hsnap_unwind_row row;
	if (!hsnap_unwind_target_row(target, pc - 1, &row))
		return true;
	/* A function that realigns its stack pushes a second copy of its return address, next to the
	 * frame pointer that leads to the first. */
	if (row.signal_frame)
		return false;
	if (row.cfa_is_expression)
		return row.kind[HSNAP_REG_FRAME] == HSNAP_RULE_AT_EXPRESSION;
	return row.cfa_register == HSNAP_REG_FRAME && row.cfa_offset == 16;
}

/* What is known of a unit; each plus one, 0: not looked at yet. */
struct site {
	uint32_t stack, tag; /* where it is a site: indices */
	uint32_t text;       /* where it is a tag's text: the tag's */
};

struct sites {
	struct reader *reader;
	struct site *items; /* one a unit of the pool of stacks, and one */
	uint64_t num;
};

static void sites_deinit(struct sites *sites)
{
	free(sites->items);
}

/* Append the stack of a site; false: out of memory.  *ret is 0 where the site makes no sense. */
static bool add_stack(struct reader *reader, uint32_t site, uint32_t *ret)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t record[1 + HSNAP_WIRE_MAX_DEPTH];
	*ret = 0;
	if (!hsnap_reader_unit(reader, site, record, 1))
		return true;
	unsigned num = HSNAP_STACK_NUM(record[0]), unloads = HSNAP_STACK_UNLOADS(record[0]);
	unsigned sure = HSNAP_STACK_SURE(record[0]);
	if (!num || num > HSNAP_WIRE_MAX_DEPTH || !hsnap_reader_unit(reader, site, record, 1 + num))
		return true;
	struct hsnap_raw_stack stack = { .first_pc = (uint32_t)heap->pcs.num };
	for (unsigned i = 0; i < num; i++) {
		uint64_t pc = record[1 + i];
		if (!is_code(reader->target, pc) || is_unloaded(&reader->dir, pc, unloads))
			break;
		if (i >= sure && i && !keeps_frame(reader->target, record[i]))
			break;
		if (!hsnap_vec_push(&heap->pcs, pc))
			return false;
		stack.num_pcs++;
	}
	if (!stack.num_pcs)
		return true;
	*ret = (uint32_t)heap->stacks.num;
	return hsnap_vec_push(&heap->stacks, stack);
}

/* Append the tag that is such a text; false: out of memory.  *ret is 0 where it makes no sense. */
static bool add_tag(struct reader *reader, uint32_t unit, uint32_t *ret)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t head;
	hsnap_string text;
	*ret = 0;
	if (!hsnap_reader_text(reader, unit, &text, &head))
		return false;
	if (!text)
		return true;
	struct hsnap_tag tag = { .text = text, .how = (uint8_t)HSNAP_TEXT_HOW(head), .cut = HSNAP_TEXT_IS_CUT(head) };
	*ret = (uint32_t)heap->tags.num;
	return hsnap_vec_push(&heap->tags, tag);
}

/* Find out what a site is: a stack, or the two of which a tagged one is made; false: out of memory. */
static bool know(struct sites *sites, uint32_t number)
{
	struct site *site = &sites->items[number];
	uint32_t bare = number, text = 0;
	uint64_t head;
	if (hsnap_reader_unit(sites->reader, number, &head, 1) && HSNAP_UNIT_KIND(head) == HSNAP_UNIT_TAGGED) {
		bare = HSNAP_TAGGED_SITE(head) < sites->num ? HSNAP_TAGGED_SITE(head) : 0;
		text = HSNAP_TAGGED_TEXT(head) < sites->num ? HSNAP_TAGGED_TEXT(head) : 0;
	}
	struct site *stack = &sites->items[bare], *tag = &sites->items[text];
	if (bare && !stack->stack && (!add_stack(sites->reader, bare, &stack->stack) || !++stack->stack))
		return false;
	if (text && !tag->text && (!add_tag(sites->reader, text, &tag->text) || !++tag->text))
		return false;
	site->stack = bare ? stack->stack : 1;
	site->tag = text ? tag->text : 1;
	return true;
}

/* false: out of memory */
static bool note_tag(struct hsnap_heap *heap, size_t block, uint32_t tag)
{
	if (!heap->tag_of)
		heap->tag_of = calloc(heap->blocks.num, sizeof(*heap->tag_of));
	if (!heap->tag_of)
		return false;
	heap->tag_of[block] = tag;
	return true;
}

/* What the allocator asks itself for is its own affair: gperftools' MallocExtension is made twice and held once. */
static void mark_inside(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	const struct hsnap_target_module *module = &reader->target->modules.items[heap->allocator];
	for (size_t i = 0; i < heap->blocks.num && heap->allocator; i++) {
		struct hsnap_block *block = &heap->blocks.items[i];
		const struct hsnap_raw_stack *stack = &heap->stacks.items[block->stack];
		uint64_t pc = stack->num_pcs ? heap->pcs.items[stack->first_pc] : 0;
		if (pc >= module->start && pc < module->end)
			block->flags |= HSNAP_BLOCK_INSIDE;
	}
}

enum hsnap_code hsnap_reader_sites(struct reader *reader, struct hsnap_error *err)
{
	struct hsnap_heap *heap = reader->heap;
	hsnap_auto(sites_deinit) struct sites sites = { .reader = reader, .num = reader->dir.stack_units };
	if (sites.num > HSNAP_MAX_SITE)
		sites.num = (uint64_t)HSNAP_MAX_SITE + 1;
	sites.items = calloc((size_t)sites.num + 1, sizeof(*sites.items));
	bool room = sites.items && hsnap_vec_push(&heap->stacks, (struct hsnap_raw_stack){ 0 }) &&
		    hsnap_vec_push(&heap->tags, (struct hsnap_tag){ 0 });
	for (size_t i = 0; i < heap->blocks.num && room; i++) {
		struct hsnap_block *block = &heap->blocks.items[i];
		uint32_t number = block->stack < sites.num ? block->stack : 0;
		room = !number || sites.items[number].tag || know(&sites, number);
		block->stack = number && room ? sites.items[number].stack - 1 : 0;
		if (room && number && sites.items[number].tag > 1)
			room = note_tag(heap, i, sites.items[number].tag - 1);
	}
	if (room)
		mark_inside(reader);
	return room ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}
