/* SPDX-License-Identifier: MIT */
/*
 * walk.c - the stack of the calling thread, by call-frame information.
 *
 * What the information says of a return address is kept in one word, in a table
 * that all threads share; only a word that is not there costs a search.  Only
 * memory between the caller's frame and the end of the thread's stack is read.
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
extern int _dl_find_object(void *pc, struct dl_find_object *ret) __attribute__((weak));
#endif

/* glibc from 2.35 on answers without a lock; before, dl_iterate_phdr takes one for a moment. */
static bool find_module(uintptr_t pc, struct hsnap_unwind_module *ret)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;
	if (_dl_find_object) {
		if (_dl_find_object((void *)pc, &found))
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

/* pc >> 15: 32 bits | kind 2 | frame words 8 | CFA offset / 8: 13 | unloads seen: 9.  The rest of the
 * PC is in the place of the entry. */
#define CACHE_BITS 15
static uint64_t cache[1u << CACHE_BITS];

static inline uint64_t *cache_place(uintptr_t pc)
{
	return &cache[(pc ^ (pc >> CACHE_BITS) * 0x9e37u) & ((1u << CACHE_BITS) - 1)];
}

static __attribute__((noinline)) uint32_t find_rule(uintptr_t pc, uint64_t *place, uint32_t unloads)
{
	struct hsnap_unwind_module module;
	struct hsnap_small_rule rule = { .kind = HSNAP_SMALL_STOP };
	if (find_module(pc - 1, &module)) {
		struct hsnap_unwind_memory memory = { read_own, &module };
		rule = hsnap_unwind_small(&memory, &module, pc - 1);
	}
	uint32_t word = rule.kind | (uint32_t)rule.frame_words << 2 | rule.cfa_offset / 8 << 10 | unloads << 23;
	__atomic_store_n(place, (uint64_t)(pc >> CACHE_BITS) << 32 | word, __ATOMIC_RELAXED);
	return word;
}

static inline uint32_t rule_of(uintptr_t pc)
{
	uint64_t *place = cache_place(pc);
	uint64_t entry = __atomic_load_n(place, __ATOMIC_RELAXED);
	uint32_t unloads = (uint32_t)hsnap_agent.unloads & 0x1ff;
	if (LIKELY(entry >> 32 == pc >> CACHE_BITS && (uint32_t)entry >> 23 == unloads))
		return (uint32_t)entry;
	return find_rule(pc, place, unloads);
}

/* ---- the walk ---- */

unsigned hsnap_agent_walk(const uintptr_t *frame, uintptr_t end, bool then_frames, uint64_t *pcs, unsigned most,
			  uintptr_t *ret_frame)
{
	const uintptr_t start = (uintptr_t)frame;
	uintptr_t sp = start + 2 * sizeof(uintptr_t), fp = frame[0], pc = frame[1];
	unsigned num = 1;
	pcs[0] = pc;
	*ret_frame = 0;
	while (num < most) {
		uint32_t rule = rule_of(pc), kind = rule & 3, words = rule >> 2 & 0xff;
		uintptr_t cfa, offset = (rule >> 10 & 0x1fff) * 8;
		if (kind == HSNAP_SMALL_SP) {
			cfa = sp + offset;
		} else if (kind == HSNAP_SMALL_FRAME) {
			if (then_frames && offset == 16 && words == 2) {
				*ret_frame = fp;
				return num;
			}
			cfa = fp + offset;
		} else if (kind == HSNAP_SMALL_DEREF && fp - start < end - start - 8 && fp - offset >= start) {
			cfa = *(const uintptr_t *)(fp - offset);
		} else {
			break;
		}
		/* The caller's frame lies above, and inside the stack. */
		if (cfa <= sp || cfa > end || cfa & 7)
			break;
		pc = ((const uintptr_t *)cfa)[-1];
		if (words >= 2) {
			if (cfa - 8 * words < start)
				break;
			fp = ((const uintptr_t *)cfa)[-(intptr_t)words];
		} else if (words == HSNAP_SMALL_AT_FRAME) {
			if (fp < start || fp >= end - 8)
				break;
			fp = *(const uintptr_t *)fp;
		}
		sp = cfa;
		if (pc < 4096)
			break;
		pcs[num++] = pc;
	}
	return num;
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
