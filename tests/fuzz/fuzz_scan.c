/* SPDX-License-Identifier: MIT */
/*
 * fuzz_scan.c - entries of debug info, decoded by our own scanner from bytes of anybody's making.
 *
 * Input: a byte (1: they are type units), the sizes of .debug_abbrev, .debug_str_offsets and .debug_str (2 bytes
 * each), these, then .debug_info.  Holds: a walk over each unit ends; an entry lies in its unit, and who is next
 * behind it; that is the same whether its attributes were looked at or not; names end within their section.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/scan.h"
#include "tests/fuzz/fuzz.h"

#define MAX_DEPTH 32
#define MAX_UNITS 64
#define MAX_ENTRIES 20000 /* a list without an end in sight: many levels that each skip it */

static void require(bool holds)
{
	if (!holds)
		abort();
}

static size_t touch(const char *text)
{
	return text ? strlen(text) : 0;
}

static struct hsnap_entry check_entry(struct hsnap_scan *scan, struct hsnap_entry *entry)
{
	struct hsnap_die_facts facts;
	struct hsnap_entry looked = *entry;
	require(entry->offset >= scan->first && entry->offset < scan->end && entry->values > entry->offset);
	hsnap_entry_read(scan, &looked, &facts);
	require(touch(facts.name) + touch(facts.linkage_name) < scan->file.size + scan->file.text.size + 1);
	struct hsnap_entry next = hsnap_entry_next(scan, entry), same = hsnap_entry_next(scan, &looked);
	require(next.abbrev == same.abbrev && (!next.abbrev || next.offset == same.offset));
	require(!next.abbrev || next.offset > entry->offset);
	return next;
}

static void walk_unit(struct hsnap_scan *scan)
{
	struct hsnap_entry levels[MAX_DEPTH] = { hsnap_entry_at(scan, scan->first) };
	unsigned depth = 0;
	for (unsigned num = 0; num < MAX_ENTRIES; num++) {
		struct hsnap_entry here = levels[depth];
		if (!here.abbrev) {
			if (!depth--)
				return;
			continue;
		}
		levels[depth] = check_entry(scan, &here);
		if (depth + 1 < MAX_DEPTH) {
			levels[++depth] = hsnap_entry_child(scan, &here);
			require(!levels[depth].abbrev || levels[depth].offset > here.offset);
		}
	}
}

static const uint8_t *part(const uint8_t **bytes, size_t *size, size_t want, size_t *ret_size)
{
	const uint8_t *at = *bytes;
	*ret_size = want < *size ? want : *size;
	*bytes += *ret_size;
	*size -= *ret_size;
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_elf elf = { 0 };
	struct hsnap_dies dies = { .elf = &elf };
	static struct hsnap_scans scans;
	uint16_t sizes[3];
	if (size < 1 + sizeof(sizes))
		return 0;
	bool types = bytes[0] & 1;
	memcpy(sizes, bytes + 1, sizeof(sizes));
	bytes += 1 + sizeof(sizes);
	size -= 1 + sizeof(sizes);
	static const char *const names[] = { ".debug_abbrev", ".debug_str_offsets", ".debug_str" };
	for (unsigned i = 0; i < 3; i++) {
		size_t have;
		const uint8_t *at = part(&bytes, &size, sizes[i], &have);
		require(hsnap_elf_add_section(&elf, names[i], at, have));
	}
	require(hsnap_elf_add_section(&elf, types ? ".debug_types" : ".debug_info", bytes, size));
	memset(&scans, 0, sizeof(scans));
	uint64_t start = 0;
	for (unsigned i = 0; i < MAX_UNITS && start < size; i++) {
		struct hsnap_scan *scan = hsnap_scan_open(&scans, &dies, types, start);
		if (!scan)
			break;
		require(scan->end <= size && scan->end > start);
		walk_unit(scan);
		start = scan->end;
		hsnap_scan_close(scan);
	}
	hsnap_scans_deinit(&scans);
	hsnap_elf_deinit(&elf);
	return 0;
}
