/* SPDX-License-Identifier: MIT */
/* threads.c - stacks, registers, thread-locals and control blocks; and the stacks of ended threads. */
#include <stdio.h>
#include <string.h>

#include "capture/roots/finder.h"
#include "capture/unwind/target.h"

#define MAX_FRAMES 256              /* of one thread */
#define MAX_ALL_FRAMES ((size_t)1 << 20)
#define MAX_UNWOUND ((uint64_t)1 << 29) /* bytes read for all of them: half a kilobyte each is usual */
#define LEAST_UNWOUND ((uint64_t)4096)
#define MAX_TLS_BLOCKS ((uint32_t)1 << 21)
#define MAX_TLS_TRIES ((uint64_t)1 << 23) /* most threads have no block of most modules */
#define MAX_STRAY ((uint64_t)65536) /* of a stack in allocator memory that is no block's */

static const char *const register_names[HSNAP_NUM_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

static void add_registers(struct hsnap_root_finder *finder, uint32_t index)
{
	const struct hsnap_regs *regs = &finder->target->threads.items[index].regs;
	for (unsigned i = 0; i < HSNAP_NUM_REGS; i++) {
		if (!(regs->valid >> i & 1) || i == HSNAP_REG_PC)
			continue;
		struct hsnap_root_value value = {
			.kind = HSNAP_ROOT_REGISTER, .value = regs->value[i], .thread = index + 1,
			.name = hsnap_strings_add(&finder->roots->strings, register_names[i]),
		};
		if (value.name == HSNAP_NO_STRING || !hsnap_vec_push(&finder->roots->values, value))
			finder->no_memory = true;
	}
}

/* Where a thread's storage begins below its thread pointer, and where its control block ends. */
static struct hsnap_span storage_of(const struct hsnap_root_finder *finder, const struct hsnap_thread *thread)
{
	uint64_t pointer = thread->thread_pointer;
	const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, pointer);
	if (!pointer || !mapping || !(mapping->prot & HSNAP_PROT_READ))
		return (struct hsnap_span){ 0 };
	struct hsnap_span span = { .start = mapping->start, .end = mapping->end };
	if (finder->glibc.static_tls < pointer - mapping->start)
		span.start = pointer - finder->glibc.static_tls;
	if (finder->glibc.sizeof_pthread < mapping->end - pointer)
		span.end = pointer + finder->glibc.sizeof_pthread;
	return span;
}

static bool is_readable(const struct hsnap_target *target, uint64_t start, uint64_t size)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, start);
	return mapping && mapping->prot & HSNAP_PROT_READ && size <= mapping->end - start;
}

static bool is_own(const struct hsnap_heap *heap, uint64_t address)
{
	for (size_t i = 0; i < heap->own.num; i++)
		if (address >= heap->own.items[i].start && address < heap->own.items[i].end)
			return true;
	return false;
}

/* What the agent's modules and the allocator's remember of blocks holds none of them. */
static bool is_keepers(const struct hsnap_root_finder *finder, const struct hsnap_target_module *module)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, module->start);
	const struct hsnap_mapping *last = finder->target->mappings.items + finder->target->mappings.num;
	for (; mapping && mapping < last && mapping->start < module->end; mapping++)
		if (mapping->module && &finder->target->modules.items[mapping->module] == module &&
		    mapping->prot & HSNAP_PROT_WRITE)
			return is_own(finder->heap, mapping->start) || mapping->module == finder->heap->allocator;
	return false;
}

/* A module with thread-locals. */
struct local_module {
	uint32_t module;
	bool keepers; /* the agent's or the allocator's */
};
struct local_modules hsnap_vec_body(struct local_module);

static void list_local_modules(struct hsnap_root_finder *finder, struct local_modules *ret)
{
	const struct hsnap_target *target = finder->target;
	for (uint32_t i = 1; i < target->modules.num; i++) {
		const struct hsnap_target_module *module = &target->modules.items[i];
		if (module->tls_size && !hsnap_vec_push(ret, (struct local_module){ i, is_keepers(finder, module) }))
			finder->no_memory = true;
	}
}

/* The thread-locals of every module; `own` collects those inside the thread's storage. */
static void add_thread_locals(struct hsnap_root_finder *finder, uint32_t index, const struct local_modules *locals,
			      struct hsnap_spans *own)
{
	const struct hsnap_target *target = finder->target;
	const struct hsnap_thread *thread = &target->threads.items[index];
	for (size_t l = 0; l < locals->num; l++) {
		uint32_t i = locals->items[l].module;
		const struct hsnap_target_module *module = &target->modules.items[i];
		uint64_t block;
		if (!hsnap_glibc_tls_block(target, thread, module, &block) ||
		    !is_readable(target, block, module->tls_size))
			continue;
		if (!hsnap_spans_add(own, block, block + module->tls_size))
			finder->no_memory = true;
		if (locals->items[l].keepers) {
			hsnap_roots_exclude(finder, block, block + module->tls_size);
			continue;
		}
		struct hsnap_root_place place = { .kind = HSNAP_ROOT_THREAD_LOCAL, .module = i, .thread = index + 1 };
		hsnap_roots_claim(finder, block, block + module->tls_size, &place);
		finder->roots->searched_tls++;
	}
}

/* pthread keys: the first block of values is inside struct pthread, and its first pointer leads to it. */
static struct hsnap_span keys_of(const struct hsnap_root_finder *finder, const struct hsnap_thread *thread,
				 struct hsnap_span storage)
{
	uint64_t block;
	const struct hsnap_glibc *glibc = &finder->glibc;
	if (!glibc->keys_offset ||
	    !hsnap_target_word(finder->target, thread->thread_pointer + glibc->keys_offset, &block) ||
	    block < thread->thread_pointer || block >= storage.end || glibc->keys_size > storage.end - block)
		return (struct hsnap_span){ 0 };
	return (struct hsnap_span){ block, block + glibc->keys_size };
}

/* The rest of a thread's storage, thread-locals apart: control block, keys, what lies between. */
static void add_storage(struct hsnap_root_finder *finder, uint32_t index, struct hsnap_span storage,
			struct hsnap_spans *own)
{
	const struct hsnap_thread *thread = &finder->target->threads.items[index];
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_THREAD_LOCAL, .thread = index + 1, .name = "pthread keys" };
	struct hsnap_span keys = keys_of(finder, thread, storage);
	if (keys.start < keys.end) {
		hsnap_roots_claim(finder, keys.start, keys.end, &place);
		if (!hsnap_spans_add(own, keys.start, keys.end))
			finder->no_memory = true;
	}
	hsnap_spans_sort(own);
	uint64_t end;
	place.name = "thread storage";
	for (uint64_t at = storage.start; hsnap_spans_gap(own, &at, thread->thread_pointer, &end); at = end)
		hsnap_roots_claim(finder, at, end, &place);
	place.name = "thread control block";
	for (uint64_t at = thread->thread_pointer; hsnap_spans_gap(own, &at, storage.end, &end); at = end)
		hsnap_roots_claim(finder, at, end, &place);
}

/* Where a stack that is in use at `sp` ends. */
static uint64_t stack_end(const struct hsnap_root_finder *finder, const struct hsnap_mapping *mapping, uint64_t sp,
			  struct hsnap_span storage)
{
	uint64_t at = sp, gap_end;
	if (!hsnap_spans_gap(&finder->regions, &at, sp + 1, &gap_end)) {
		/* A stack that the program allocated: it ends with its block. */
		size_t found = hsnap_heap_find(finder->heap, sp);
		uint64_t end = found == SIZE_MAX ? sp + MAX_STRAY
						 : finder->heap->blocks.items[found].address +
							   finder->heap->blocks.items[found].usable;
		return end > sp && end < mapping->end ? end : mapping->end;
	}
	return storage.start > sp && storage.start < mapping->end ? storage.start : mapping->end;
}

/* Live from the red zone below the stack pointer upward; what is below is dead. */
static void add_stack(struct hsnap_root_finder *finder, uint32_t index, uint64_t sp, struct hsnap_span storage)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, sp);
	if (!mapping || !(mapping->prot & HSNAP_PROT_READ) || !(mapping->prot & HSNAP_PROT_WRITE))
		return;
	uint64_t low = sp - mapping->start > HSNAP_RED_ZONE ? sp - HSNAP_RED_ZONE : mapping->start;
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_STACK, .thread = index + 1 };
	hsnap_roots_claim(finder, low & ~(uint64_t)7, stack_end(finder, mapping, sp, storage), &place);
	/* Two stacks without a guard between them can be one mapping: dead is only what is this one's. */
	uint64_t dead = mapping->start;
	size_t after = hsnap_threads_from(&finder->pointers, low);
	const struct hsnap_thread_place *before = after ? &finder->pointers.items[after - 1] : NULL;
	if (before && before->at >= dead)
		dead = storage_of(finder, &finder->target->threads.items[before->thread]).end;
	uint64_t at = sp, gap_end;
	if (hsnap_spans_gap(&finder->regions, &at, sp + 1, &gap_end))
		hsnap_roots_exclude(finder, dead, low & ~(uint64_t)7);
}

/*
 * The frames of a thread, for the names of its variables.  Where a frame lies in another mapping
 * than the one before, a handler runs on a stack of its own: what it interrupted is live too.
 */
static void add_frames(struct hsnap_root_finder *finder, uint32_t index, struct hsnap_span storage, uint64_t *left)
{
	const struct hsnap_thread *thread = &finder->target->threads.items[index];
	struct hsnap_unwind_frame frames[MAX_FRAMES];
	size_t num = hsnap_unwind_thread(finder->target, thread, frames, MAX_FRAMES, left);
	const struct hsnap_mapping *stack = hsnap_target_mapping(finder->target, thread->regs.value[HSNAP_REG_SP]);
	for (size_t i = 0; i < num; i++) {
		uint64_t sp = frames[i].regs.value[HSNAP_REG_SP];
		const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, sp);
		if (mapping != stack && mapping)
			add_stack(finder, index, sp, storage);
		stack = mapping ? mapping : stack;
		/* Only where nothing was called may words below the stack pointer be in use. */
		uint64_t low = frames[i].exact_pc && sp > HSNAP_RED_ZONE ? (sp - HSNAP_RED_ZONE) & ~(uint64_t)7 : sp;
		struct hsnap_root_frame frame = {
			.thread = index, .depth = (uint32_t)i, .cfa = frames[i].cfa, .low = low,
			.exact_pc = frames[i].exact_pc, .regs = frames[i].regs,
		};
		if (!hsnap_vec_push(&finder->roots->frames, frame))
			finder->no_memory = true;
	}
}

static bool is_live_tcb(const struct hsnap_root_finder *finder, uint64_t address)
{
	size_t found = hsnap_threads_from(&finder->pointers, address);
	return found < finder->pointers.num && finder->pointers.items[found].at == address;
}

/* The table of thread-locals (dtv, the second word of a control block) goes with a stack to its next thread. */
static void add_kept_dtv(struct hsnap_root_finder *finder, uint64_t tcb)
{
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_THREAD_LOCAL, .name = "kept for the next thread" };
	hsnap_roots_add(finder, tcb + 8, tcb + 16, &place);
}

/* In a forked child the threads that it did not get have left their caches behind: malloc's own, and never freed.
 * Their thread-locals lead there still. */
static void add_left_caches(struct hsnap_root_finder *finder, uint64_t tcb, uint64_t lowest)
{
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_THREAD_LOCAL, .name = "a cache of malloc's, of a thread that is gone" };
	uint64_t word, from = finder->glibc.static_tls < tcb - lowest ? tcb - finder->glibc.static_tls : lowest, start, end;
	for (uint64_t at = (from + 7) & ~7ull; hsnap_target_next_run(finder->target, at, &start, &end); at += 8) {
		at = at > start ? at : start;
		if (at >= tcb || !hsnap_target_word(finder->target, at, &word))
			break;
		size_t found = hsnap_heap_find(finder->heap, word);
		const struct hsnap_block *block = found == SIZE_MAX ? NULL : &finder->heap->blocks.items[found];
		if (block && block->address == word && block->flags & (HSNAP_BLOCK_ALLOCATOR | HSNAP_BLOCK_NO_RECORD))
			hsnap_roots_add(finder, at, at + 8, &place);
	}
}

/*
 * glibc keeps the stacks of ended threads for new ones.  Such a stack still has its control block
 * at its end, and what else it holds is stale.
 */
static void exclude_ended_stacks(struct hsnap_root_finder *finder)
{
	const struct hsnap_target *target = finder->target;
	for (size_t i = 1; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i], *guard = mapping - 1;
		if (mapping->inode || mapping->module || !(mapping->prot & HSNAP_PROT_WRITE) ||
		    guard->end != mapping->start || guard->prot & (HSNAP_PROT_READ | HSNAP_PROT_WRITE))
			continue;
		uint64_t size = mapping->end - mapping->start;
		uint64_t look = finder->glibc.sizeof_pthread + 4096, run, run_end;
		uint64_t first = mapping->end - (look < size ? look : size);
		if (!hsnap_target_next_run(target, first, &run, &run_end) || run >= mapping->end)
			continue; /* never touched: nobody's control block */
		for (uint64_t at = first; at < mapping->end; at += 64) {
			if (!hsnap_glibc_is_tcb(target, at))
				continue;
			if (!is_live_tcb(finder, at)) {
				add_kept_dtv(finder, at);
				add_left_caches(finder, at, mapping->start);
				hsnap_roots_exclude(finder, mapping->start, mapping->end);
			}
			break;
		}
	}
}

/* What a hostile target could make endless has its limits, far above what runs anywhere. */
static void tell_left_out(struct hsnap_root_finder *finder, uint32_t frames, uint32_t locals)
{
	char *to = finder->roots->partial;
	size_t size = sizeof(finder->roots->partial);
	if (frames)
		snprintf(to, size, "the frames of %u threads are left out: to look at more of them would take too long", frames);
	else if (locals)
		snprintf(to, size, "the thread-locals of %u threads are left out: to look at more of them would take too long", locals);
}

void hsnap_roots_of_threads(struct hsnap_root_finder *finder)
{
	const struct hsnap_target *target = finder->target;
	struct local_modules locals = { 0 };
	uint32_t frameless = 0, localless = 0;
	uint64_t tried = 0, left = MAX_UNWOUND;
	if (!hsnap_threads_by_pointer(target, &finder->pointers)) {
		finder->no_memory = true;
		return;
	}
	list_local_modules(finder, &locals);
	for (uint32_t i = 0; i < target->threads.num; i++) {
		const struct hsnap_thread *thread = &target->threads.items[i];
		struct hsnap_spans own = { 0 };
		struct hsnap_span storage = storage_of(finder, thread);
		add_registers(finder, i);
		tried += locals.num;
		if (tried <= MAX_TLS_TRIES && finder->roots->searched_tls < MAX_TLS_BLOCKS)
			add_thread_locals(finder, i, &locals, &own);
		else
			localless++;
		if (storage.start < storage.end)
			add_storage(finder, i, storage, &own);
		add_stack(finder, i, thread->regs.value[HSNAP_REG_SP], storage);
		if (!frameless)
			add_frames(finder, i, storage, &left);
		frameless += finder->roots->frames.num >= MAX_ALL_FRAMES || left < LEAST_UNWOUND;
		hsnap_vec_deinit(&own);
	}
	tell_left_out(finder, frameless, localless);
	hsnap_vec_deinit(&locals);
	hsnap_roots_settle(finder);
	exclude_ended_stacks(finder);
	hsnap_vec_deinit(&finder->pointers);
}
