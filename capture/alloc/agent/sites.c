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

/* Append the stack of a site; false: out of memory.  *ret is 0 where the site makes no sense. */
static bool add_stack(struct reader *reader, uint32_t site, uint32_t *ret)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t record[1 + HSNAP_WIRE_MAX_DEPTH];
	uint64_t segment = reader->dir.stack_segments[site / HSNAP_STACK_SEGMENT_UNITS];
	uint32_t unit = site % HSNAP_STACK_SEGMENT_UNITS;
	uint64_t at = segment + (uint64_t)unit * HSNAP_STACK_UNIT_WORDS * sizeof(uint64_t);
	*ret = 0;
	if (!segment || hsnap_target_read(reader->target, at, record, sizeof(*record), NULL))
		return true;
	unsigned num = HSNAP_STACK_NUM(record[0]), unloads = HSNAP_STACK_UNLOADS(record[0]);
	unsigned sure = HSNAP_STACK_SURE(record[0]);
	if (!num || num > HSNAP_WIRE_MAX_DEPTH ||
	    hsnap_target_read(reader->target, at, record, (1 + num) * sizeof(*record), NULL))
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

enum hsnap_code hsnap_reader_sites(struct reader *reader, struct hsnap_error *err)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t num_sites = reader->dir.stack_units;
	if (num_sites > HSNAP_MAX_SITE)
		num_sites = (uint64_t)HSNAP_MAX_SITE + 1;
	/* Site to stack, plus one; 0: not read yet. */
	hsnap_auto(hsnap_freep) uint32_t *stack_of = calloc((size_t)num_sites + 1, sizeof(*stack_of));
	if (!stack_of || !hsnap_vec_push(&heap->stacks, (struct hsnap_raw_stack){ 0 }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < heap->blocks.num; i++) {
		uint32_t site = heap->blocks.items[i].stack, stack = 0;
		heap->blocks.items[i].stack = 0;
		if (!site || site >= num_sites)
			continue;
		if (!stack_of[site]) {
			if (!add_stack(reader, site, &stack))
				return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
			stack_of[site] = stack + 1;
		}
		heap->blocks.items[i].stack = stack_of[site] - 1;
	}
	return HSNAP_OK;
}
