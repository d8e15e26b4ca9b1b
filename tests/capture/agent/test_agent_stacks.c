/* SPDX-License-Identifier: MIT */
/* test_agent_stacks.c - recorded and unwound stacks against backtrace(3) in the same process. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "capture/alloc/alloc.h"
#include "capture/unwind/target.h"
#include "frozen.h"

#define DEPTH 16

static const struct {
	const char *name, *victim, *stacks;
	/* How many true frames are wanted at least, of an ordinary chain: all, or so many. */
	unsigned least;
} rows[] = {
	{ "caller", "HSNAP_TEST_STACKS_FP", "HEAPSNAP_STACKS=caller", 1 },
	{ "fp, frame pointers", "HSNAP_TEST_STACKS_FP", "HEAPSNAP_STACKS=fp", DEPTH },
	{ "fp, none", "HSNAP_TEST_STACKS_NONE", "HEAPSNAP_STACKS=fp", 1 },
	{ "unwind, frame pointers", "HSNAP_TEST_STACKS_FP", "HEAPSNAP_STACKS=unwind", DEPTH },
	{ "unwind, none", "HSNAP_TEST_STACKS_NONE", "HEAPSNAP_STACKS=unwind", DEPTH },
	{ "auto, frame pointers", "HSNAP_TEST_STACKS_FP", "HEAPSNAP_STACKS=auto", DEPTH },
	{ "auto, none", "HSNAP_TEST_STACKS_NONE", "HEAPSNAP_STACKS=auto", DEPTH },
};

ParameterizedTestParameters(agent_stacks, recorded)
{
	static size_t indices[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(rows) / sizeof(*rows));
}

static FILE *open_truth(const struct victim *victim)
{
	char path[64];
	cr_assert_eq(fscanf(victim->said, "%63s", path), 1);
	FILE *truth = fopen(path, "r");
	cr_assert(truth);
	rewind(truth);
	return truth;
}

/* The PCs at the end of a line; returns how many. */
static unsigned read_pcs(char *text, uint64_t *pcs, unsigned max)
{
	unsigned num = 0;
	for (char *word = strtok(text, " \n"); word && num < max; word = strtok(NULL, " \n"))
		pcs[num++] = strtoull(word, NULL, 16);
	return num;
}

/* Sizes of chains through a signal frame or on a foreign stack: recorded no further than that. */
static bool is_special(uint64_t size)
{
	return size == 55 || size == 66;
}

ParameterizedTest(size_t *row, agent_stacks, recorded)
{
	const char *name = rows[*row].name, *argv[] = { getenv(rows[*row].victim), NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, rows[*row].stacks);
	struct hsnap_target *target = victim_freeze(victim.pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	FILE *truth = open_truth(&victim);
	char line[1200];
	unsigned compared = 0;
	while (fgets(line, sizeof(line), truth)) {
		uint64_t address, size, pcs[48];
		int rest;
		if (sscanf(line, "block %" SCNx64 " %" SCNu64 "%n", &address, &size, &rest) != 2)
			continue;
		unsigned num = read_pcs(line + rest, pcs, 48);
		size_t found = hsnap_heap_find(&heap, address);
		cr_assert(found != SIZE_MAX, "%s: block of %" PRIu64 " is missing", name, size);
		const struct hsnap_raw_stack *stack = &heap.stacks.items[heap.blocks.items[found].stack];
		const uint64_t *got = &heap.pcs.items[stack->first_pc];
		cr_assert(stack->num_pcs >= 1 && stack->num_pcs <= DEPTH, "%s, %" PRIu64 ": depth %u", name, size, stack->num_pcs);
		/* In the same function, at another call. */
		cr_expect(got[0] < pcs[0] && pcs[0] - got[0] < 256, "%s, %" PRIu64 ": caller", name, size);
		for (unsigned i = 1; i < stack->num_pcs; i++)
			cr_expect(i < num && got[i] == pcs[i], "%s, %" PRIu64 ": frame %u is false", name, size, i);
		unsigned all = num < DEPTH ? num : DEPTH, least = rows[*row].least < all ? rows[*row].least : all;
		/* By frame pointers a chain ends where libc begins, which has none: at the latest behind main,
		 * or the thread's function. */
		bool by_frames = !strcmp(name, "fp, frame pointers") || !strcmp(name, "auto, frame pointers");
		if (by_frames)
			least = size == 44 ? 4 : num - 2 < least ? num - 2 : least;
		if (!is_special(size))
			cr_expect(stack->num_pcs >= least, "%s, %" PRIu64 ": %u frames, want %u of %u", name, size,
				  stack->num_pcs, least, num);
		else if (least > 1 && size == 55)
			cr_expect(stack->num_pcs >= 4, "%s: up to the signal handler", name);
		compared++;
	}
	cr_expect_eq(compared, 314, "%s: %u blocks", name, compared);
	fclose(truth);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}

/* The registers of the victim's only thread. */
static struct hsnap_thread main_thread(pid_t pid)
{
	struct user_regs_struct r;
	struct hsnap_thread thread = { .tid = (uint32_t)pid };
	cr_assert_eq(ptrace(PTRACE_ATTACH, pid, NULL, NULL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_eq(ptrace(PTRACE_GETREGS, pid, NULL, &r), 0);
	const unsigned long long values[HSNAP_NUM_REGS] = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
							    r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip };
	for (unsigned i = 0; i < HSNAP_NUM_REGS; i++)
		thread.regs.value[i] = values[i];
	thread.regs.valid = (1u << HSNAP_NUM_REGS) - 1;
	cr_assert_eq(ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP), 0);
	return thread;
}

/* A thread that is stopped below a signal handler: all frames to the end, and saved registers. */
static void check_thread(const char *variable)
{
	const char *argv[] = { getenv(variable), NULL };
	struct victim victim = victim_start(NULL, argv, NULL);
	struct hsnap_thread thread = main_thread(victim.pid);
	struct hsnap_target *target = victim_freeze(victim.pid);
	FILE *truth = open_truth(&victim);
	char line[1200];
	uint64_t pcs[48];
	unsigned num = 0;
	while (fgets(line, sizeof(line), truth))
		if (!strncmp(line, "stop 0 0", 8))
			num = read_pcs(line + 8, pcs, 48);
	fclose(truth);
	cr_assert(num >= 8, "%s: %u true frames", variable, num);

	struct hsnap_unwind_frame frames[64];
	size_t got = hsnap_unwind_thread(target, &thread, frames, 64, NULL);
	/* The stop is at another call of the innermost function: compare from its caller outward. */
	size_t first = 0;
	while (first < got && frames[first].regs.value[HSNAP_REG_PC] != pcs[1])
		first++;
	cr_assert(first < got, "%s: the caller was not found in %zu frames", variable, got);
	cr_expect_eq(got - first, num - 1, "%s: %zu frames, want %u", variable, got - first, num - 1);
	for (unsigned i = 1; i < num && first + i - 1 < got; i++)
		cr_expect_eq(frames[first + i - 1].regs.value[HSNAP_REG_PC], pcs[i], "%s: frame %u", variable, i);
	for (size_t i = 0; i + 1 < got; i++)
		cr_expect(frames[i].cfa, "%s: frame %zu has no CFA", variable, i);
	/* frames[first] is inner(1), then inner(2), inner(3). */
	for (unsigned depth = 1; depth <= 3 && first + depth - 1 < got; depth++) {
		const struct hsnap_regs *regs = &frames[first + depth - 1].regs;
		cr_expect(regs->valid >> 12 & 1 && regs->value[12] == 0x1212121200000000ull + depth, "%s: r12 of inner(%u)",
			  variable, depth);
		cr_expect(regs->valid >> 3 & 1 && regs->value[3] == 0x0b0b0b0b00000000ull + depth, "%s: rbx of inner(%u)",
			  variable, depth);
		cr_expect(!(regs->valid & 1u), "%s: rax is not preserved", variable);
	}
	hsnap_target_close(target);
	victim_end(&victim);
}

Test(agent_stacks, thread_with_frame_pointers)
{
	check_thread("HSNAP_TEST_STACKS_FP");
}

Test(agent_stacks, thread_without)
{
	check_thread("HSNAP_TEST_STACKS_NONE");
}
