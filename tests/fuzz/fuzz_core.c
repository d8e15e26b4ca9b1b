/* SPDX-License-Identifier: MIT */
/*
 * fuzz_core.c - a core file of anybody's making.
 *
 * Holds: it ends; mappings are in order and disjoint; what can be read in one piece can be read
 * byte by byte, and is what the view shows; runs are in order, inside mappings, and readable.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/core/core.h"
#include "tests/fuzz/fuzz.h"

#define PAGE 4096u
#define MOST 64u /* mappings and runs that are looked into */

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_place(const struct hsnap_target *target, uint64_t address)
{
	uint8_t whole[64], byte;
	size_t got = target->ops->read(target->self, address, whole, sizeof(whole));
	require(got <= sizeof(whole));
	for (size_t i = 0; i < got; i += 7)
		require(target->ops->read(target->self, address + i, &byte, 1) == 1 && byte == whole[i]);
	const uint8_t *view = hsnap_target_view(target, address, 16);
	require(!view || (got >= 16 && !memcmp(view, whole, 16)));
}

static void check_mappings(const struct hsnap_target *target)
{
	uint64_t last = 0;
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		require(mapping->start >= last && mapping->start < mapping->end);
		require(hsnap_target_mapping(target, mapping->start) == mapping);
		require(mapping->module < target->modules.num);
		last = mapping->end;
		if (i >= MOST)
			continue;
		check_place(target, mapping->start);
		check_place(target, mapping->end - 16);
		check_place(target, mapping->start + PAGE - 8);
	}
}

static void check_runs(const struct hsnap_target *target)
{
	uint64_t start, end = 0, last = 0;
	for (unsigned i = 0; i < MOST && hsnap_target_next_run(target, last, &start, &end); i++) {
		require(start >= last && start < end);
		require(hsnap_target_mapping(target, start) && hsnap_target_mapping(target, end - 1));
		require(hsnap_target_view(target, start, end - start));
		check_place(target, start);
		last = end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_core_options options = { .path = "fuzz", .scratch = -1 };
	struct hsnap_core_facts facts;
	struct hsnap_target *target;
	struct hsnap_error err;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	require(write(fd, bytes, size) == (ssize_t)size);
	if (hsnap_core_open_fd(fd, &options, &target, &facts, &err)) {
		require(err.message[0]);
		return 0;
	}
	require(memchr(facts.comm, '\0', sizeof(facts.comm)) && memchr(facts.exe, '\0', sizeof(facts.exe)));
	for (size_t i = 1; i < target->modules.num; i++)
		close(target->ops->open_module(target->self, &target->modules.items[i]));
	check_mappings(target);
	check_runs(target);
	hsnap_target_close(target);
	return 0;
}
