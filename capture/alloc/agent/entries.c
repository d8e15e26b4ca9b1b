/* SPDX-License-Identifier: MIT */
/* entries.c - what stands in the agent's registry. */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "snapshot/base/cleanup.h"

#define PAGE 4096u

struct entry hsnap_reader_entry(uint64_t word, uint64_t second)
{
	return (struct entry){
		HSNAP_ENTRY_ADDRESS(word), HSNAP_ENTRY_REQUESTED(word, second), HSNAP_ENTRY_SITE(second),
		(uint16_t)HSNAP_ENTRY_EPOCH(word), (uint8_t)HSNAP_ENTRY_STATE(word),
	};
}

static bool add_segment(const uint64_t *words, unsigned kind, struct entries *ret)
{
	for (unsigned i = 0; i < 2 * HSNAP_REGISTRY_ENTRIES; i += 2)
		if (HSNAP_ENTRY_KIND(words[i]) == kind && HSNAP_ENTRY_ADDRESS(words[i]) >= PAGE &&
		    !hsnap_vec_push(ret, hsnap_reader_entry(words[i], words[i + 1])))
			return false;
	return true;
}

static enum hsnap_code read_segment(const struct reader *reader, uint32_t segment, unsigned kind, struct entries *ret,
				    struct hsnap_error *err)
{
	uint64_t words[2 * HSNAP_REGISTRY_ENTRIES];
	unsigned bits = segment ? 32u - (unsigned)__builtin_clz(segment) : 0;
	uint64_t at = reader->dir.registry_bases[bits] + (uint64_t)segment * HSNAP_REGISTRY_SEGMENT;
	enum hsnap_code code = hsnap_target_read(reader->target, at, words, sizeof(words), err);
	if (code)
		return hsnap_context(err, code, "cannot read the agent's registry");
	return add_segment(words, kind, ret) ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)x->state - (int)y->state;
}

enum hsnap_code hsnap_reader_entries(const struct reader *reader, unsigned kind, struct entries *ret, struct hsnap_error *err)
{
	const struct hsnap_wire_directory *dir = &reader->dir;
	if (!dir->registry_exists)
		return HSNAP_OK;
	hsnap_auto(hsnap_freep) uint64_t *exists = calloc(HSNAP_REGISTRY_WORDS, sizeof(*exists));
	if (!exists)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	enum hsnap_code code = hsnap_target_read(reader->target, dir->registry_exists, exists,
						 HSNAP_REGISTRY_WORDS * sizeof(*exists), err);
	if (code)
		return hsnap_context(err, code, "cannot read the agent's registry");
	exists[0] |= 1; /* the first is always there */
	for (uint32_t i = 0; i < HSNAP_REGISTRY_WORDS && !code; i++)
		for (uint64_t bits = exists[i]; bits && !code; bits &= bits - 1)
			code = read_segment(reader, 64 * i + (unsigned)__builtin_ctzll(bits), kind, ret, err);
	if (!code && ret->num)
		qsort(ret->items, ret->num, sizeof(*ret->items), by_address);
	return code;
}
