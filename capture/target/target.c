/* SPDX-License-Identifier: MIT */
/* target.c - look-ups and checked reads over any backing of a target. */
#include "capture/target/target.h"

#include <endian.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

void hsnap_target_close(struct hsnap_target *target)
{
	if (!target)
		return;
	if (target->ops)
		target->ops->close(target->self);
	hsnap_strings_deinit(&target->strings);
	hsnap_vec_deinit(&target->mappings);
	hsnap_vec_deinit(&target->modules);
	hsnap_vec_deinit(&target->threads);
	free(target);
}

void hsnap_target_closep(struct hsnap_target **target)
{
	hsnap_target_close(*target);
}

enum hsnap_code hsnap_target_read(const struct hsnap_target *target, uint64_t address, void *to,
				  size_t len, struct hsnap_error *err)
{
	size_t got = target->ops->read(target->self, address, to, len);
	if (got < len)
		return hsnap_fail(err, HSNAP_FAULT, address + got, "cannot read target memory at 0x%llx",
				  (unsigned long long)(address + got));
	return HSNAP_OK;
}

bool hsnap_target_word(const struct hsnap_target *target, uint64_t address, uint64_t *ret)
{
	uint64_t word;
	if (target->ops->read(target->self, address, &word, sizeof(word)) < sizeof(word))
		return false;
	*ret = le64toh(word);
	return true;
}

bool hsnap_target_text(const struct hsnap_target *target, uint64_t address, char *to, size_t size)
{
	/* A short read is fine here: the text may end just before a page that is not there. */
	size_t got = size ? target->ops->read(target->self, address, to, size) : 0;
	return got && memchr(to, '\0', got);
}

const struct hsnap_mapping *hsnap_target_mapping(const struct hsnap_target *target, uint64_t address)
{
	size_t low = 0, high = target->mappings.num;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hsnap_mapping *mapping = &target->mappings.items[middle];
		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

const struct hsnap_target_module *hsnap_target_module(const struct hsnap_target *target,
						      uint64_t address)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, address);
	if (!mapping || !mapping->module || mapping->module >= target->modules.num)
		return NULL;
	/* A mapping can go on past its module: the heap may follow .bss without a gap. */
	const struct hsnap_target_module *module = &target->modules.items[mapping->module];
	return address >= module->start && address < module->end ? module : NULL;
}
