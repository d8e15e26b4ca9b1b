/* SPDX-License-Identifier: MIT */
/*
 * test_walks.c - when a walk that was kept is taken for the stack of now.
 *
 * Each word of a stack is changed, one by one: where the kept walk is still taken for right, a walk anew finds the same; and
 * where it is gone on from, the same as from nothing.  And what a walk does not depend on may change: the frame pointer of
 * programs that use it as any other register holds another value in each call.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>

#include "capture/agent/walk.h"

struct hsnap_agent_state hsnap_agent;

void *hsnap_agent_lookup_next(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* held(value, next, argument): calls next(argument), with the value in the frame pointer. */
#ifndef __x86_64__
#error "a function that keeps data in the frame pointer"
#endif
void held(unsigned long value, void (*next)(unsigned), unsigned argument);
/* The same, but it saves the frame pointer elsewhere than beside its return address. */
void held_low(unsigned long value, void (*next)(unsigned), unsigned argument);
__asm__(".pushsection .text\n"
	".globl held\n"
	".type held, @function\n"
	"held:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rdi, %rbp\n"
	"	movl %edx, %edi\n"
	"	call *%rsi\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size held, .-held\n"
	".globl held_low\n"
	".type held_low, @function\n"
	"held_low:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbx, -16\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.cfi_offset %rbp, -24\n"
	"	subq $8, %rsp\n"
	"	.cfi_def_cfa_offset 32\n"
	"	movq %rdi, %rbp\n"
	"	movl %edx, %edi\n"
	"	call *%rsi\n"
	"	addq $8, %rsp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	popq %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size held_low, .-held_low\n"
	".popsection");

#define NOT_INLINED __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory")

static const struct hsnap_agent_stack nothing;
static struct hsnap_agent_stack before, kept, anew, on; /* before: of a call that shares outer frames with what is kept */
static unsigned words, taken, times, same;
static uintptr_t stack_end;

static bool equal(const struct hsnap_agent_stack *a, const struct hsnap_agent_stack *b)
{
	bool all = a->num == b->num && a->sure == b->sure && a->hash == b->hash;
	for (uint32_t i = 0; all && i < a->num; i++)
		all = a->pair[i].pc == b->pair[i].pc;
	return all;
}

/* Criterion's own frames are on this stack as well: nothing is called in between but what is asked. */
static NOT_INLINED bool holds(uintptr_t *word, uintptr_t value, const uintptr_t *frame)
{
	uintptr_t stood = *word;
	*(volatile uintptr_t *)word = value;
	bool is_same = hsnap_agent_same_stack(&kept, frame);
	hsnap_agent_walk(frame, stack_end, &nothing, &anew);
	hsnap_agent_walk(frame, stack_end, &kept, &on);
	*(volatile uintptr_t *)word = stood;
	words++;
	taken += is_same;
	return (!is_same || equal(&kept, &anew)) && equal(&on, &anew);
}

static NOT_INLINED void remember(void)
{
	hsnap_agent_walk(__builtin_frame_address(0), stack_end, &nothing, &before);
	STAY();
}

static NOT_INLINED void change_each(unsigned how)
{
	uintptr_t *frame = __builtin_frame_address(0);
	bool all = true;
	(void)how;
	hsnap_agent_walk(frame, stack_end, &before, &kept);
	const uintptr_t *last = (const uintptr_t *)kept.sp[kept.num - 1];
	for (uint32_t i = 0; i < kept.num; i++)
		cr_expect(kept.saved_fp[i] >= frame && kept.saved_fp[i] < last, "frame %u is compared with what lies elsewhere", i);
	for (uintptr_t *word = frame; word < last; word++) {
		const uintptr_t values[] = { 0, *word ^ 16, *word ^ 8, *word ^ 1ul << 40, (uintptr_t)(frame + 8),
					     (uintptr_t)(word + 2), (uintptr_t)change_each + 9 };
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
			all = holds(word, values[i], frame) && all;
	}
	cr_expect(all);
	cr_expect(equal(&kept, (hsnap_agent_walk(frame, stack_end, &kept, &on), &on)));
}

/* The first time it is kept. */
static NOT_INLINED void look_again(unsigned how)
{
	uintptr_t *frame = __builtin_frame_address(0);
	(void)how;
	if (!times++)
		hsnap_agent_walk(frame, stack_end, &nothing, &kept);
	same += hsnap_agent_same_stack(&kept, frame);
	hsnap_agent_walk(frame, stack_end, &nothing, &anew);
	cr_expect(equal(&kept, &anew));
}

/* ---- chains: what is called at the end, and frames of each kind ---- */

static void (*at_end)(unsigned how);

static NOT_INLINED void plain(unsigned how)
{
	at_end(how);
	STAY();
}

static NOT_INLINED void data(unsigned how)
{
	remember();
	held(how * 0x10001ul + 3, plain, how);
	STAY();
}

/* Makes the frame of a function one that is found by the frame pointer. */
#define BY_FRAME_POINTER(len) \
	do { \
		char *room_ = __builtin_alloca(len); \
		__asm__ volatile("" ::"r"(room_) : "memory"); \
	} while (0)

static NOT_INLINED void variable(unsigned how)
{
	BY_FRAME_POINTER(64);
	remember();
	data(how);
	STAY();
}

static NOT_INLINED void twice(unsigned how)
{
	remember();
	held(how * 0x20001ul + 5, variable, how);
	STAY();
}

static NOT_INLINED void deeper(unsigned how)
{
	BY_FRAME_POINTER(48);
	twice(how);
	STAY();
}

static NOT_INLINED void low(unsigned how)
{
	BY_FRAME_POINTER(64);
	held_low(how * 0x10001ul + 3, at_end, how);
	STAY();
}

static unsigned end_depth, phase;

/* Two frames that leave the frame pointer alone. */
static void recurse(unsigned depth);

static NOT_INLINED void pass_on(unsigned depth)
{
	recurse(depth);
	STAY();
}

static NOT_INLINED void pass(unsigned depth)
{
	pass_on(depth);
	STAY();
}

static NOT_INLINED void recurse(unsigned depth)
{
	BY_FRAME_POINTER(16);
	if ((depth + phase) % 3 == 1 && depth > 1)
		held(depth * 0x10001ul, recurse, depth - 1);
	else if ((depth + phase) % 4 == 2 && depth > 1)
		pass(depth - 1);
	else if (depth)
		recurse(depth - 1);
	else
		remember();
	if (depth == end_depth)
		at_end(depth);
	STAY();
}

/* What is gone on from ends, for its length, before the stack does. */
static NOT_INLINED void from_deep(unsigned how)
{
	(void)how;
	for (unsigned depth = 17; depth < 26; depth++) {
		end_depth = 4 + depth % 6; /* some frames are in both walks */
		phase = depth;
		recurse(depth);
	}
	STAY();
}

static void (*const chains[])(unsigned) = { plain, data, variable, twice, deeper, low, from_deep };
enum { NUM_CHAINS = sizeof(chains) / sizeof(*chains) };

static void prepare(uint8_t stacks)
{
	hsnap_agent.stacks = stacks;
	hsnap_agent_walks_start();
	/* A part of the stack is enough, as long as what is walked lies in it. */
	stack_end = (uintptr_t)__builtin_frame_address(0) + 2048;
}

static void change(uint8_t stacks)
{
	prepare(stacks);
	at_end = change_each;
	for (size_t i = 0; i < NUM_CHAINS; i++)
		chains[i]((unsigned)i);
	cr_expect_gt(words, 500);
	cr_expect(taken > words / 8 && taken < words, "%u of %u", taken, words);
}

Test(walks, each_word_by_information)
{
	change(HSNAP_STACKS_UNWIND);
}

Test(walks, each_word_by_frames)
{
	change(HSNAP_STACKS_FP);
}

/* Else each call of most programs of a distribution would be walked anew. */
Test(walks, data_in_the_frame_pointer)
{
	prepare(HSNAP_STACKS_UNWIND);
	at_end = look_again;
	for (size_t i = 0; chains[i] != from_deep; i++) {
		times = same = 0;
		for (volatile unsigned how = 0; how < 10; how++) /* one call, be the compiler's mind what it may */
			chains[i](how);
		cr_expect_eq(same, 10, "chain %zu: %u of 10", i, same);
	}
}
