/* SPDX-License-Identifier: MIT */
/* maps.c - reading /proc/PID/maps line by line, in place. */
#include <string.h>
#include <sys/sysmacros.h>

#include "capture/proc/proc.h"
#include "capture/target/target.h"

/* A hexadecimal number that ends in `stop`; moves *at past it. */
static bool hex(const char **at, const char *end, char stop, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *at;
	for (; p < end && *p != stop; p++) {
		unsigned digit = *p >= '0' && *p <= '9' ? (unsigned)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10 : 16;
		if (digit > 15 || value >> 60)
			return false;
		value = value << 4 | digit;
	}
	if (p == *at || p == end)
		return false;
	*at = p + 1;
	*ret = value;
	return true;
}

static bool decimal(const char **at, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *at;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	if (p == *at)
		return false;
	*at = p;
	*ret = value;
	return true;
}

static bool parse_line(const char *at, const char *end, struct hsnap_maps_line *line)
{
	uint64_t major, minor;
	if (!hex(&at, end, '-', &line->start) || !hex(&at, end, ' ', &line->end) || end - at < 5)
		return false;
	line->prot = (uint8_t)((at[0] == 'r' ? HSNAP_PROT_READ : 0) | (at[1] == 'w' ? HSNAP_PROT_WRITE : 0) |
			       (at[2] == 'x' ? HSNAP_PROT_EXEC : 0) | (at[3] == 's' ? HSNAP_PROT_SHARED : 0));
	at += 5;
	if (!hex(&at, end, ' ', &line->offset) || !hex(&at, end, ':', &major) ||
	    !hex(&at, end, ' ', &minor) || !decimal(&at, end, &line->inode) || line->start >= line->end)
		return false;
	line->device = makedev((unsigned)major, (unsigned)minor);
	while (at < end && *at == ' ')
		at++;
	static const char deleted[] = " (deleted)";
	size_t len = (size_t)(end - at), tail = sizeof(deleted) - 1;
	line->deleted = len > tail && !memcmp(end - tail, deleted, tail);
	line->path = at;
	line->path_len = line->deleted ? len - tail : len;
	return true;
}

bool hsnap_maps_next(const char **at, struct hsnap_maps_line *ret)
{
	while (**at) {
		const char *line = *at;
		const char *end = line + strcspn(line, "\n");
		*at = *end ? end + 1 : end;
		if (parse_line(line, end, ret))
			return true;
	}
	return false;
}
