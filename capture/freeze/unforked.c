/* SPDX-License-Identifier: MIT */
/* unforked.c - the flags of mappings.  Source: proc_pid_smaps(5), Linux fs/proc/task_mmu.c. */
#include "capture/freeze/unforked.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

/* Is the two-letter word in a line of such? */
static bool has_flag(const char *line, const char *flag)
{
	const char *at = line + strcspn(line, " \n");
	while (*at == ' ') {
		at += strspn(at, " ");
		size_t len = strcspn(at, " \n");
		if (len == 2 && !memcmp(at, flag, 2))
			return true;
		at += len;
	}
	return false;
}

/* The first line of a mapping.  (sscanf() would look for the end of the whole text, at each line.) */
static bool parse_range(const char *line, struct hsnap_range *ret)
{
	char *at;
	ret->start = strtoull(line, &at, 16);
	if (at == line || *at != '-')
		return false;
	ret->end = strtoull(at + 1, &at, 16);
	return *at == ' ' && ret->start < ret->end;
}

bool hsnap_unforked_parse(struct hsnap_unforked *unforked, const char *smaps)
{
	struct hsnap_range range = { 0 };
	for (const char *line = smaps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		struct hsnap_range next;
		if (parse_range(line, &next)) {
			range = next;
		} else if (!strncmp(line, "VmFlags:", 8)) {
			unforked->faults |= has_flag(line, "um") || has_flag(line, "uw") || has_flag(line, "ui");
			if ((has_flag(line, "dc") || has_flag(line, "wf")) && range.end &&
			    !hsnap_vec_push(&unforked->ranges, range))
				return false;
		}
	}
	return true;
}

bool hsnap_unforked_find(struct hsnap_unforked *unforked, const struct hsnap_proc *proc, pid_t pid)
{
	hsnap_auto(hsnap_freep) char *smaps = hsnap_proc_read(proc, "proc/%d/smaps", pid);
	*unforked = (struct hsnap_unforked){ 0 };
	return !smaps || hsnap_unforked_parse(unforked, smaps);
}

bool hsnap_unforked_has(const struct hsnap_unforked *unforked, uint64_t address)
{
	size_t low = hsnap_first(unforked->ranges.num, i, address < unforked->ranges.items[i].end);
	return low < unforked->ranges.num && unforked->ranges.items[low].start <= address;
}

void hsnap_unforked_deinit(struct hsnap_unforked *unforked)
{
	hsnap_vec_deinit(&unforked->ranges);
}
