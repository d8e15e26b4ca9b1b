/* SPDX-License-Identifier: MIT */
/*
 * place.c - where the chunks lie that this process was handed.
 *
 * main_arena is not exported, so the reader finds the chunks by what is noted
 * here: heaps of other arenas and pieces of the main one as bits, the brk area
 * as a range, blocks that are a mapping of their own in a table.
 */
#include "capture/agent/agent.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP_SIZE ((uintptr_t)1 << HSNAP_HEAP_SHIFT)

/* 256 KiB and 16 MiB that stay unmapped but for the few pages with a bit set. */
uint64_t hsnap_agent_heap_bits[HSNAP_HEAP_WORDS];
static uint64_t piece_bits[HSNAP_PIECE_WORDS];
/* Of the heaps those that an arena began with: its state is in there, so they are never unmapped. */
static uint64_t first_heaps[HSNAP_HEAP_WORDS];

static void set_bit(uint64_t *words, uintptr_t number)
{
	uint64_t bit = 1ull << (number & 63);
	if (!(__atomic_load_n(&words[number >> 6], __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&words[number >> 6], bit, __ATOMIC_RELAXED);
}

void hsnap_agent_note_heap(uintptr_t address)
{
	if (UNLIKELY(address >> HSNAP_ADDRESS_BITS))
		return;
	hsnap_agent_directory.heap_bits = (uintptr_t)hsnap_agent_heap_bits;
	set_bit(hsnap_agent_heap_bits, address >> HSNAP_HEAP_SHIFT);
	/* The arena's address is the first word (glibc 2.36 malloc/arena.c, struct _heap_info). */
	uintptr_t heap = address & ~(HEAP_SIZE - 1), arena = *(const uintptr_t *)heap;
	if (arena > heap && arena < heap + 4096)
		set_bit(first_heaps, address >> HSNAP_HEAP_SHIFT);
}

/* A chunk of the main arena beyond what is known of the brk area: it has grown, or the chunk
 * lies outside, because brk is blocked by another mapping. */
void hsnap_agent_note_main(uintptr_t address)
{
	if (UNLIKELY(address >> HSNAP_ADDRESS_BITS))
		return;
	uintptr_t piece = address >> HSNAP_PIECE_SHIFT;
	if (__atomic_load_n(&piece_bits[piece >> 6], __ATOMIC_RELAXED) >> (piece & 63) & 1)
		return;
	/* What libc knows, who has just had a chunk from there: no system call. */
	uintptr_t brk = (uintptr_t)sbrk(0);
	if (address >= hsnap_agent.brk_start && address < brk) {
		/* Two threads may come here at once: the arena's lock let them in one after the
		 * other, so the greater end is the later one. */
		uint64_t size = brk - hsnap_agent.brk_start;
		uint64_t known = __atomic_load_n(&hsnap_agent.brk_size, __ATOMIC_RELAXED);
		while (known < size && !__atomic_compare_exchange_n(&hsnap_agent.brk_size, &known, size, true,
								    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		hsnap_agent_directory.brk_start = hsnap_agent.brk_start;
		hsnap_agent_directory.brk_end = hsnap_agent.brk_start +
						__atomic_load_n(&hsnap_agent.brk_size, __ATOMIC_RELAXED);
		return;
	}
	hsnap_agent_directory.piece_bits = (uintptr_t)piece_bits;
	set_bit(piece_bits, piece);
}

/* ---- may it be read? ---- */

/* The kernel is asked, where it may be. */
static bool is_mapped(uintptr_t start, uintptr_t end)
{
	start &= ~(uintptr_t)4095;
	return !hsnap_agent_sandboxed && !hsnap_agent_syscall(SYS_msync, (long)start, (long)(end - start), MS_ASYNC, 0, 0, 0);
}

static bool has_bit(const uint64_t *words, uintptr_t number)
{
	return __atomic_load_n(&words[number >> 6], __ATOMIC_RELAXED) >> (number & 63) & 1;
}

/* The third word is the heap's size. */
static bool is_in_heap(uintptr_t start, uintptr_t end)
{
	uintptr_t heap = start & ~(HEAP_SIZE - 1);
	if (!has_bit(first_heaps, heap >> HSNAP_HEAP_SHIFT) && !is_mapped(heap, heap + 4096))
		return false;
	uintptr_t size = ((const uintptr_t *)heap)[2];
	return size <= HEAP_SIZE && end - heap <= size;
}

bool hsnap_agent_is_heap(uintptr_t start, uintptr_t end)
{
	if (start < 4096 || end <= start || end >> HSNAP_ADDRESS_BITS)
		return false;
	if (start >= hsnap_agent.brk_start && start - hsnap_agent.brk_start < hsnap_agent.brk_size)
		return end <= (uintptr_t)sbrk(0); /* it may have been given back */
	if (has_bit(hsnap_agent_heap_bits, start >> HSNAP_HEAP_SHIFT))
		return is_in_heap(start, end);
	return has_bit(piece_bits, start >> HSNAP_PIECE_SHIFT) && is_mapped(start, end);
}

/* ---- large blocks ---- */

/* glibc maps at most 65,536 blocks on their own unless told otherwise. */
#define LARGE_CAPACITY ((size_t)1 << 18)

static uint64_t *large_table(void)
{
	uint64_t *table = __atomic_load_n(&hsnap_agent.large_address, __ATOMIC_ACQUIRE);
	if (LIKELY(table))
		return table;
	size_t size = LARGE_CAPACITY * 3 * sizeof(uint64_t);
	uint64_t *fresh = hsnap_agent_pages(size);
	if (!fresh)
		return NULL;
	if (!__atomic_compare_exchange_n(&hsnap_agent.large_address, &table, fresh, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		hsnap_agent_pages_free(fresh, size);
		return table;
	}
	struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	dir->large_capacity = LARGE_CAPACITY;
	dir->large_requested = (uintptr_t)(fresh + LARGE_CAPACITY);
	dir->large_site = (uintptr_t)(fresh + 2 * LARGE_CAPACITY);
	__atomic_store_n(&dir->large_address, (uintptr_t)fresh, __ATOMIC_RELEASE);
	return fresh;
}

static size_t large_hash(uintptr_t address)
{
	return (size_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> (64 - 18));
}

/* Where the address stands in the table, or LARGE_CAPACITY.  Only the thread that owns a block
 * asks for it, so nobody takes it out meanwhile. */
static size_t large_find(const uint64_t *table, uintptr_t address)
{
	size_t at = large_hash(address);
	for (size_t i = 0; i < HSNAP_LARGE_WINDOW; i++) {
		size_t slot = (at + i) & (LARGE_CAPACITY - 1);
		if (__atomic_load_n(&table[slot], __ATOMIC_RELAXED) == address)
			return slot;
	}
	return LARGE_CAPACITY;
}

bool hsnap_agent_large_add(uintptr_t address, uint64_t requested, uint64_t site, unsigned epoch)
{
	uint64_t *table = large_table();
	size_t at = large_hash(address), known = table ? large_find(table, address) : LARGE_CAPACITY;
	/* A block of a heap whose entry stayed when it was freed. */
	if (known != LARGE_CAPACITY) {
		table[LARGE_CAPACITY + known] = requested;
		table[2 * LARGE_CAPACITY + known] = site << 12 | epoch;
		return true;
	}
	for (size_t i = 0; table && i < HSNAP_LARGE_WINDOW; i++) {
		size_t slot = (at + i) & (LARGE_CAPACITY - 1);
		uint64_t empty = 0;
		if (__atomic_load_n(&table[slot], __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&table[slot], &empty, HSNAP_LARGE_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		table[LARGE_CAPACITY + slot] = requested;
		table[2 * LARGE_CAPACITY + slot] = site << 12 | epoch;
		__atomic_store_n(&table[slot], address, __ATOMIC_RELEASE);
		return true;
	}
	hsnap_agent_large_lost();
	return false;
}

uint64_t *hsnap_agent_large_site(uintptr_t address)
{
	uint64_t *table = __atomic_load_n(&hsnap_agent.large_address, __ATOMIC_ACQUIRE);
	size_t slot = table && address > HSNAP_LARGE_BUSY ? large_find(table, address) : LARGE_CAPACITY;
	return slot == LARGE_CAPACITY ? NULL : &table[2 * LARGE_CAPACITY + slot];
}

void hsnap_agent_large_lost(void)
{
	__atomic_fetch_add(&hsnap_agent_directory.large_lost, 1, __ATOMIC_RELAXED);
}

bool hsnap_agent_large_found(void)
{
	uint64_t lost = __atomic_load_n(&hsnap_agent_directory.large_lost, __ATOMIC_RELAXED);
	while (lost && !__atomic_compare_exchange_n(&hsnap_agent_directory.large_lost, &lost, lost - 1, true,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return lost;
}

bool hsnap_agent_large_take(uintptr_t address, uint64_t *ret_requested, uint64_t *ret_site)
{
	uint64_t *table = __atomic_load_n(&hsnap_agent.large_address, __ATOMIC_ACQUIRE);
	size_t slot = table ? large_find(table, address) : LARGE_CAPACITY;
	if (slot == LARGE_CAPACITY)
		return false;
	*ret_requested = table[LARGE_CAPACITY + slot];
	*ret_site = table[2 * LARGE_CAPACITY + slot];
	__atomic_store_n(&table[slot], 0, __ATOMIC_RELEASE);
	return true;
}
