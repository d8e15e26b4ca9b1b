/* SPDX-License-Identifier: MIT */
/* walk.h - the stack of the calling thread: see walk.c. */
#ifndef HSNAP_CAPTURE_AGENT_WALK_H
#define HSNAP_CAPTURE_AGENT_WALK_H

#include "capture/agent/agent.h"

#define HSNAP_DEPTH HSNAP_WIRE_MAX_DEPTH

/* One of these for each place in a stack: the hash is a sum of products, which the processor can
 * work on side by side. */
extern const uint64_t hsnap_agent_factors[HSNAP_DEPTH];

/* Two words of a stack, as they stand there where a function begins with push rbp. */
struct hsnap_agent_pair {
	uintptr_t fp, pc;
};
typedef uintptr_t hsnap_agent_both __attribute__((vector_size(16), aligned(8), may_alias));

/* Frames of a thread, innermost first.  Of frame n: the frame pointer and the return address, the stack pointer behind
 * it, and where that frame pointer had been saved (by the frame before). */
struct hsnap_agent_stack {
	uint32_t num, sure;   /* sure: how many were found by call-frame information */
	uint32_t site;        /* 0: not known yet */
	uint16_t needs;       /* a bit a frame: the walk depends on the frame pointer there */
	uint16_t saved;       /* a bit a frame: that one is read from saved_fp, and was not what it had been before */
	bool stopped;         /* it ends here, whatever room there is */
	uint8_t pairs;        /* of so many frames the words below sp are the pair, of the others fp is not needed; 0: neither */
	uint64_t hash;
	struct hsnap_agent_pair pair[HSNAP_DEPTH];
	uintptr_t sp[HSNAP_DEPTH];
	const uintptr_t *saved_fp[HSNAP_DEPTH]; /* on the stack, not below the frame, in any case */
};

/* What a thread keeps of its walks: the last one from each of some places, found by frame and caller. */
#define HSNAP_WALK_BITS 4
#define HSNAP_WALKS (1u << HSNAP_WALK_BITS)
struct hsnap_agent_walks {
	uint8_t way[HSNAP_WALKS]; /* into stacks */
	uint8_t spare, latest;
	bool walking;
	uint64_t unloads; /* seen when they were made: equal addresses are other code after the next one */
	struct hsnap_agent_stack stacks[HSNAP_WALKS + 1];
};

static inline void hsnap_agent_push(struct hsnap_agent_stack *stack, struct hsnap_agent_pair pair, uintptr_t sp,
				    const uintptr_t *saved_fp)
{
	uint32_t n = stack->num++;
	stack->hash += pair.pc * hsnap_agent_factors[n];
	stack->pair[n] = pair;
	stack->sp[n] = sp;
	stack->saved_fp[n] = saved_fp;
}

/* Does everything that led from frame `at` of a walk to its end still stand?  Then it leads there again. */
static inline bool hsnap_agent_still_stands(const struct hsnap_agent_stack *last, uint32_t at)
{
	uintptr_t differs = 0;
	unsigned read = last->needs & last->saved;
	for (uint32_t i = at + 1; i < last->num; i++)
		differs |= (((const uintptr_t *)last->sp[i])[-1] ^ last->pair[i].pc) |
			   ((*last->saved_fp[i] ^ last->pair[i].fp) & -(uintptr_t)(read >> i & 1));
	return !differs;
}

/* Is the whole stack the same?  Asked by each allocation: of most programs two words a frame, side by side, or one. */
static inline bool hsnap_agent_same_stack(const struct hsnap_agent_stack *last, const uintptr_t *frame)
{
	if (last->sp[0] != (uintptr_t)(frame + 2) || last->pair[0].pc != frame[1] ||
	    (last->pair[0].fp ^ frame[0]) & -(uintptr_t)(last->needs & 1))
		return false;
	if (UNLIKELY(!last->pairs))
		return hsnap_agent_still_stands(last, 0);
	hsnap_agent_both differ = { 0 };
	uintptr_t differs = 0;
	uint32_t i = 1;
	for (; i < last->pairs; i++)
		differ |= *(const hsnap_agent_both *)(last->sp[i] - sizeof(differ)) ^ *(const hsnap_agent_both *)&last->pair[i];
	for (; i < last->num; i++)
		differs |= ((const uintptr_t *)last->sp[i])[-1] ^ last->pair[i].pc;
	return !(differs | differ[0] | differ[1]);
}

/**
 * Return addresses from the caller of one of our functions outward.
 *
 * @param frame  of our function, on the calling thread's stack
 * @param end    of that stack
 * @param last   the stack that this thread walked before; what of it still stands is taken over
 * @param[out] ret  without its site
 */
void hsnap_agent_walk(const uintptr_t *frame, uintptr_t end, const struct hsnap_agent_stack *last,
		      struct hsnap_agent_stack *ret);

/* A module was unloaded: nothing that is known of return addresses holds. */
void hsnap_agent_forget_rules(void);

/* Does the executable keep frame pointers, on the whole? */
bool hsnap_agent_has_frames(void);

#endif
