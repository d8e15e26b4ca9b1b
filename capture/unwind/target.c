/* SPDX-License-Identifier: MIT */
/* target.c - the stepper over a captured process. */
#include "capture/unwind/target.h"

static size_t read_target(void *self, uint64_t address, void *to, size_t len)
{
	const struct hsnap_target *target = self;
	return target->ops->read(target->self, address, to, len);
}

struct limited {
	const struct hsnap_target *target;
	uint64_t *left;
};

static size_t read_limited(void *self, uint64_t address, void *to, size_t len)
{
	const struct limited *limited = self;
	if (*limited->left < len)
		return 0;
	*limited->left -= len;
	return limited->target->ops->read(limited->target->self, address, to, len);
}

static struct hsnap_unwind_memory memory_of(const struct hsnap_target *target)
{
	return (struct hsnap_unwind_memory){ .read = read_target, .self = (void *)target };
}

/* The module that holds the PC; an empty one where there is none. */
static struct hsnap_unwind_module module_of(const struct hsnap_target *target, uint64_t pc)
{
	const struct hsnap_target_module *module = hsnap_target_module(target, pc);
	if (!module)
		return (struct hsnap_unwind_module){ 0 };
	return (struct hsnap_unwind_module){ module->start, module->end, module->eh_frame_hdr };
}

size_t hsnap_unwind_thread(const struct hsnap_target *target, const struct hsnap_thread *thread,
			   struct hsnap_unwind_frame *frames, size_t max, uint64_t *left)
{
	const uint32_t needed = 1u << HSNAP_REG_PC | 1u << HSNAP_REG_SP;
	struct limited limited = { target, left };
	struct hsnap_unwind_memory memory = memory_of(target);
	if (left)
		memory = (struct hsnap_unwind_memory){ .read = read_limited, .self = &limited };
	if (!max || (thread->regs.valid & needed) != needed)
		return 0;
	frames[0] = (struct hsnap_unwind_frame){ .regs = thread->regs, .exact_pc = true };
	size_t num = 1;
	for (;;) {
		struct hsnap_unwind_frame *last = &frames[num - 1], caller;
		uint64_t pc = last->regs.value[HSNAP_REG_PC];
		struct hsnap_unwind_module module = module_of(target, last->exact_pc ? pc : pc - 1);
		if (hsnap_unwind_step(&memory, &module, last, &caller) || num == max)
			return num;
		frames[num++] = caller;
	}
}

struct hsnap_small_rule hsnap_unwind_target_small(const struct hsnap_target *target, uint64_t pc)
{
	struct hsnap_unwind_memory memory = memory_of(target);
	struct hsnap_unwind_module module = module_of(target, pc);
	return hsnap_unwind_small(&memory, &module, pc);
}

bool hsnap_unwind_target_row(const struct hsnap_target *target, uint64_t pc, struct hsnap_unwind_row *ret)
{
	struct hsnap_unwind_memory memory = memory_of(target);
	struct hsnap_unwind_module module = module_of(target, pc);
	return hsnap_unwind_row(&memory, &module, pc, ret) == HSNAP_UNWIND_OK;
}
