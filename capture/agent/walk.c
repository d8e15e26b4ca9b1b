/* SPDX-License-Identifier: MIT */
/*
 * walk.c - the stack of the calling thread, by call-frame information or frame pointers.
 *
 * What the information says of a return address is kept in one word, in a table
 * that all threads share; only a word that is not there costs a search.  Still each
 * step waits for the one before.  So some stacks of the thread are kept, and where
 * a walk comes to a frame that was in the last one, the rest is not walked but compared,
 * word by word, all at once: return addresses are all that a walk depends on, and frame
 * pointers where it went by them.  In programs without any that is a register like
 * another, with another value in each call: so it is noted of which frames it was needed.
 * Only memory between the caller's frame and the end of the thread's stack is read.
 */
#include "capture/agent/walk.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/unwind/unwind.h"

/* ---- modules ---- */

/* The process's own memory, no further than the module whose tables are read. */
static size_t read_own(void *self, uint64_t address, void *to, size_t len)
{
	const struct hsnap_unwind_module *module = self;
	if (address < module->start || address >= module->end)
		return 0;
	size_t n = module->end - address < len ? (size_t)(module->end - address) : len;
	memcpy(to, (const void *)address, n);
	return n;
}

struct wanted {
	uintptr_t pc;
	struct hsnap_unwind_module *ret;
};

static int take_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *wanted = context;
	struct hsnap_unwind_module module = { .start = UINT64_MAX };
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;
		if (ph->p_type == PT_GNU_EH_FRAME)
			module.eh_frame_hdr = start;
		if (ph->p_type != PT_LOAD)
			continue;
		module.start = start < module.start ? start : module.start;
		module.end = start + ph->p_memsz > module.end ? start + ph->p_memsz : module.end;
	}
	if (wanted->pc < module.start || wanted->pc >= module.end)
		return 0;
	*wanted->ret = module;
	return 1;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int (*find_object)(void *pc, struct dl_find_object *ret);
#endif

/* By name: a reference, though weak, would have a version that the loader insists on. */
void hsnap_agent_walks_start(void)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	find_object = (int (*)(void *, struct dl_find_object *))hsnap_agent_lookup_next("_dl_find_object");
#endif
}

/* glibc from 2.35 on answers without a lock; before, dl_iterate_phdr takes one for a moment. */
static bool find_module(uintptr_t pc, struct hsnap_unwind_module *ret)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;
	if (find_object) {
		if (find_object((void *)pc, &found))
			return false;
		*ret = (struct hsnap_unwind_module){ (uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end,
						     (uintptr_t)found.dlfo_eh_frame };
		return true;
	}
#endif
	struct wanted wanted = { pc, ret };
	return dl_iterate_phdr(take_module, &wanted) == 1;
}

/* ---- the table of rules ---- */

/* pc >> 15: 32 bits | CFA offset 16 | 0 | pc's last bits 2 | frame pointer's place below the CFA 11 | 0 | kind 2.  The rest
 * of the PC is in the place of the entry, but for those two: where its place is taken, it stands in one of the three
 * next to that, of the same cache line.  Two calls that a loop makes in turn would else each cost a search, every time.
 * The bits of `kind` are such that nothing is asked twice. */
#define CACHE_BITS 15
#define KIND_FRAME 1u   /* the CFA is found from the frame pointer, else from the stack pointer */
#define KIND_SPECIAL 2u /* stop; with KIND_FRAME: the CFA is the word below the frame pointer */
#define SAVED_MASK 0x7f8u
#define LOW_SHIFT 11
#define WAYS 4u
#define OF_PC ((uint64_t)UINT32_MAX << 32 | (uint64_t)(WAYS - 1) << LOW_SHIFT)
#define FRAME_RULE (16u << 16 | 16u | KIND_FRAME) /* push rbp; mov rbp, rsp */
static uint64_t cache[1u << CACHE_BITS] __attribute__((aligned(WAYS * 8)));

/* Addresses that differ in the same bits of both halves are common: code is laid out so. */
static inline size_t cache_place(uintptr_t pc)
{
	return (pc ^ (pc >> CACHE_BITS) * 0x9e3779b97f4a7c15 >> (64 - CACHE_BITS)) & ((1u << CACHE_BITS) - 1);
}

static inline uint64_t tag_of(uintptr_t pc)
{
	return (uint64_t)(pc >> CACHE_BITS) << 32 | (pc & (WAYS - 1)) << LOW_SHIFT;
}

static inline bool is_of(uint64_t entry, uintptr_t pc)
{
	return !((entry ^ tag_of(pc)) & OF_PC) && !(pc >> (32 + CACHE_BITS));
}

/* Where it stands, in the set of its place, or where it may be entered. */
static uint64_t *find_place(uintptr_t pc)
{
	size_t place = cache_place(pc);
	uint64_t *empty = NULL;
	for (size_t way = 0; way < WAYS; way++) {
		uint64_t entry = __atomic_load_n(&cache[place ^ way], __ATOMIC_RELAXED);
		if (is_of(entry, pc))
			return &cache[place ^ way];
		if (!entry && !empty)
			empty = &cache[place ^ way];
	}
	return empty ? empty : &cache[place];
}

static __attribute__((noinline)) uint32_t find_rule(uintptr_t pc)
{
	uint64_t *place = find_place(pc), entry = __atomic_load_n(place, __ATOMIC_RELAXED);
	if (is_of(entry, pc))
		return (uint32_t)(entry & ~OF_PC);
	struct hsnap_unwind_module module;
	struct hsnap_small_rule rule = { .kind = HSNAP_SMALL_STOP };
	if (find_module(pc - 1, &module)) {
		struct hsnap_unwind_memory memory = { read_own, &module };
		rule = hsnap_unwind_small(&memory, &module, pc - 1);
	}
	static const uint8_t kinds[] = {
		[HSNAP_SMALL_STOP] = KIND_SPECIAL, [HSNAP_SMALL_SP] = 0, [HSNAP_SMALL_FRAME] = KIND_FRAME,
		[HSNAP_SMALL_DEREF] = KIND_SPECIAL | KIND_FRAME,
	};
	uint32_t word = kinds[rule.kind] | (uint32_t)rule.frame_words << 3 | rule.cfa_offset << 16;
	__atomic_store_n(place, tag_of(pc) | word, __ATOMIC_RELAXED);
	return word;
}

static inline uint32_t rule_of(uintptr_t pc)
{
	uint64_t entry = __atomic_load_n(&cache[cache_place(pc)], __ATOMIC_RELAXED);
	return LIKELY(is_of(entry, pc)) ? (uint32_t)(entry & ~OF_PC) : find_rule(pc);
}

void hsnap_agent_forget_rules(void)
{
	for (size_t i = 0; i < sizeof(cache) / sizeof(*cache); i++)
		if (__atomic_load_n(&cache[i], __ATOMIC_RELAXED))
			__atomic_store_n(&cache[i], 0, __ATOMIC_RELAXED);
}

/* ---- the walk ---- */

const uint64_t hsnap_agent_factors[HSNAP_DEPTH] = {
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93,
	0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3,
	0x1d8e4e27c47d124f, 0xeb44accab455d165, 0xc2b2ae3d27d4eb4f, 0x27d4eb2f165667c5,
	0x85ebca77c2b2ae63, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 0x2545f4914f6cdd1d,
};

/* Where a walk stands.  Of sets of frames: a bit a frame. */
struct step {
	uintptr_t start, end; /* of what may be read */
	uintptr_t sp, fp, pc;
	const uintptr_t *saved; /* where fp was saved; NULL: it has not changed */
	bool uses_fp;
	bool by_frames;
	unsigned here, since;   /* this frame; those since the one in which fp got the value that it has */
	unsigned needs, changed;
};

/* Take over what follows frame `at`, which is the last one pushed, and stand where that ends. */
static void take_over(const struct hsnap_agent_stack *last, uint32_t at, struct step *step, struct hsnap_agent_stack *ret)
{
	uint32_t before = ret->num;
	step->needs |= (last->needs >> at & 1 ? step->since : 0) | (unsigned)last->needs >> at << (before - 1);
	step->changed |= (unsigned)last->saved >> (at + 1) << before;
	for (uint32_t i = at + 1; i < last->num && ret->num < HSNAP_DEPTH; i++)
		hsnap_agent_push(ret, last->pair[i], last->sp[i], last->saved_fp[i]);
	if (!step->by_frames)
		ret->sure = last->sure > at + 1 ? before + (last->sure - at - 1) : before;
	if (ret->sure > ret->num)
		ret->sure = ret->num;
	ret->stopped = last->stopped && ret->num - before == last->num - at - 1;
	step->sp = ret->sp[ret->num - 1];
	step->fp = ret->pair[ret->num - 1].fp;
	step->pc = ret->pair[ret->num - 1].pc;
	step->here = step->since = 1u << (ret->num - 1);
}

/* The walk is done: how is it to be compared? */
static void settle(const struct step *step, struct hsnap_agent_stack *ret)
{
	/* Who goes on from where there was no room any more may need it. */
	unsigned all = (1u << ret->num) - 1, needs = (step->needs | (ret->stopped ? 0 : step->since)) & all;
	unsigned read = needs & step->changed & ~1u, next = read + 2;
	bool side_by_side = !(next & read); /* those that follow the first, without a gap */
	for (uint32_t i = 1; side_by_side && next >> i > 1; i++)
		side_by_side = ret->saved_fp[i] == (const uintptr_t *)ret->sp[i] - 2;
	ret->needs = (uint16_t)needs;
	ret->saved = (uint16_t)(step->changed & all);
	ret->pairs = side_by_side ? (uint8_t)__builtin_ctz(next) : 0;
}

/* One step by a rule that is not a plain one; false: it ends here. */
static bool special_cfa(uint32_t rule, uintptr_t fp, uintptr_t start, uintptr_t end, uintptr_t *ret)
{
	uintptr_t at = fp - (rule >> 16);
	if (!(rule & KIND_FRAME) || at < start || at > end - 8)
		return false;
	*ret = *(const uintptr_t *)at;
	return true;
}

/* To the caller, by what is known of the PC; false: it ends here. */
static inline __attribute__((always_inline)) bool step_by_rule(struct step *step, uint32_t rule)
{
	uint32_t below = rule & SAVED_MASK;
	uintptr_t cfa = (rule & KIND_FRAME ? step->fp : step->sp) + (rule >> 16);
	step->uses_fp = rule & KIND_FRAME || below == 8;
	if (UNLIKELY(rule & KIND_SPECIAL) && !special_cfa(rule, step->fp, step->start, step->end, &cfa))
		return false;
	/* The caller's frame lies above, and inside the stack. */
	if (cfa - step->sp - 8 > step->end - step->sp - 8)
		return false;
	step->saved = NULL;
	if (below) {
		uintptr_t at = below > 8 ? cfa - below : step->fp;
		if (at < step->start || at > step->end - 8)
			return false;
		step->saved = (const uintptr_t *)at;
		step->fp = *step->saved;
	}
	step->sp = cfa;
	return true;
}

/* On this stack, upward, aligned as the ABI aligns rbp. */
static inline __attribute__((always_inline)) bool step_by_frame(struct step *step)
{
	step->uses_fp = true;
	if (step->fp < step->sp || step->fp > step->end - 16 || step->fp & 15)
		return false;
	step->saved = (const uintptr_t *)step->fp;
	step->sp = step->fp + 16;
	step->fp = *step->saved;
	return true;
}

/* false: it ends here. */
static inline __attribute__((always_inline)) bool step_out(struct step *step, bool want_frames)
{
	bool goes_on;
	if (!step->by_frames) {
		uint32_t rule = rule_of(step->pc);
		step->by_frames = want_frames && rule == FRAME_RULE;
		goes_on = step_by_rule(step, rule);
	} else {
		goes_on = step_by_frame(step);
	}
	step->needs |= step->uses_fp ? step->since : 0;
	if (!goes_on)
		return false;
	step->pc = ((const uintptr_t *)step->sp)[-1];
	step->here <<= 1;
	step->changed |= step->saved ? step->here : 0;
	step->since = (step->saved ? 0 : step->since) | step->here;
	return step->pc >= 4096;
}

void hsnap_agent_walk(const uintptr_t *frame, uintptr_t end, const struct hsnap_agent_stack *last,
		      struct hsnap_agent_stack *ret)
{
	const bool want_frames = hsnap_agent.stacks == HSNAP_STACKS_FP;
	struct step step = { .start = (uintptr_t)frame, .end = end, .sp = (uintptr_t)(frame + 2), .fp = frame[0], .pc = frame[1],
			     .here = 1, .since = 1 };
	uint32_t at = 0;
	ret->num = ret->site = 0;
	ret->hash = 0;
	ret->sure = 1;
	ret->stopped = false;
	hsnap_agent_push(ret, (struct hsnap_agent_pair){ step.fp, step.pc }, step.sp, frame);
	while (ret->num < HSNAP_DEPTH) {
		while (at < last->num && last->sp[at] < step.sp)
			at++;
		if (at < last->num && last->sp[at] == step.sp && last->pair[at].pc == step.pc &&
		    (last->pair[at].fp == step.fp || !(last->needs >> at & 1))) {
			if (hsnap_agent_still_stands(last, at)) {
				take_over(last, at, &step, ret);
				step.by_frames = want_frames && ret->sure < ret->num;
			}
			at = last->num; /* asked once */
			if (ret->stopped || ret->num == HSNAP_DEPTH)
				break;
		}
		const bool exact = !step.by_frames; /* the first step by a frame pointer is one that a rule told */
		if (!step_out(&step, want_frames)) {
			ret->stopped = true;
			break;
		}
		ret->sure += exact;
		/* What is no saved one is read as well: let it be the return address, never what lies below who asks then. */
		hsnap_agent_push(ret, (struct hsnap_agent_pair){ step.fp, step.pc }, step.sp,
				 step.saved ? step.saved : (const uintptr_t *)step.sp - 1);
	}
	settle(&step, ret);
}

/* ---- how this program is to be walked ---- */

bool hsnap_agent_has_frames(void)
{
	struct hsnap_unwind_module module;
	unsigned looked, framed;
	uintptr_t entry = (uintptr_t)getauxval(AT_ENTRY);
	if (!entry || !find_module(entry, &module))
		return false;
	struct hsnap_unwind_memory memory = { read_own, &module };
	framed = hsnap_unwind_count_framed(&memory, &module, 96, &looked);
	/* Start-up code and the linker's own have none in any program; of Debian's programs, built
	 * without, one function in twenty has one. */
	return looked && framed * 2 >= looked;
}
