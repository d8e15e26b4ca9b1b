/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - how much memory may still be used before somebody is killed.
 *
 * Run by `docker exec` or `kubectl debug` we sit in the target's cgroup, and
 * every page of ours is one less for it.  A limit anywhere above us counts.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "capture/proc/proc.h"
#include "snapshot/base/cleanup.h"

#define MAX_LEVELS 64

static const struct flavour {
	const char *type;                 /* of the mount */
	const char *limit, *usage;        /* files */
	const char *reclaimable;          /* key in memory.stat of what goes without harm */
} flavours[] = {
	{ "cgroup2", "memory.max", "memory.current", "inactive_file" },
	{ "cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file" },
};

/* Does the comma-separated list hold the word? */
static bool has_word(const char *list, size_t len, const char *word)
{
	size_t want = strlen(word);
	for (const char *at = list, *end = list + len; at < end;) {
		size_t n = strcspn(at, ",");
		if (n > (size_t)(end - at))
			n = (size_t)(end - at);
		if (n == want && !memcmp(at, word, n))
			return true;
		at += n + 1;
	}
	return false;
}

/* Our path in the hierarchy of that flavour, from /proc/self/cgroup ("4:memory:/a", "0::/a"). */
static bool own_path(const char *text, const struct flavour *flavour, char *path, size_t size)
{
	bool second = !strcmp(flavour->type, "cgroup2");
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *first = memchr(line, ':', len);
		const char *next = first ? memchr(first + 1, ':', len - (size_t)(first + 1 - line)) : NULL;
		if (next && (second ? next == first + 1 && !strncmp(line, "0:", 2)
				    : has_word(first + 1, (size_t)(next - first - 1), "memory"))) {
			size_t n = len - (size_t)(next + 1 - line);
			if (n >= size)
				return false;
			memcpy(path, next + 1, n);
			path[n] = '\0';
			return true;
		}
		line += len + (line[len] == '\n');
	}
	return false;
}

/* Where that flavour is mounted, and which folder of the hierarchy is its top there. */
static bool find_mount(const char *text, const struct flavour *flavour, char *top, char *point)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		char buffer[2 * PATH_MAX + 512], type[32], options[512];
		const char *dash = len < sizeof(buffer) ? memmem(line, len, " - ", 3) : NULL;
		if (dash && sscanf(line, "%*s %*s %*s %4095s %4095s", top, point) == 2) {
			snprintf(buffer, sizeof(buffer), "%.*s", (int)(len - (size_t)(dash + 3 - line)), dash + 3);
			options[0] = '\0';
			if (sscanf(buffer, "%31s %*s %511s", type, options) >= 1 && !strcmp(type, flavour->type) &&
			    (!strcmp(type, "cgroup2") || has_word(options, strlen(options), "memory")))
				return true;
		}
		line += len + (line[len] == '\n');
	}
	return false;
}

static bool read_number(const struct hsnap_proc *proc, const char *folder, const char *file, uint64_t *ret)
{
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "%s/%s", folder, file);
	char *end = NULL;
	if (text)
		*ret = strtoull(text, &end, 10); /* "max" is no number: no limit */
	return end && end != text;
}

/* The key's value in a file of lines "key value". */
static uint64_t stat_value(const char *text, const char *key)
{
	size_t len = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static void look_at(const struct hsnap_proc *proc, const struct flavour *flavour, const char *folder,
		    struct hsnap_headroom *least)
{
	uint64_t limit, usage;
	if (!read_number(proc, folder, flavour->limit, &limit) ||
	    !read_number(proc, folder, flavour->usage, &usage))
		return;
	hsnap_auto(hsnap_freep) char *stat = hsnap_proc_read(proc, "%s/memory.stat", folder);
	uint64_t spare = stat_value(stat, flavour->reclaimable);
	usage = spare < usage ? usage - spare : 0;
	uint64_t left = limit > usage ? limit - usage : 0;
	if (left < least->left)
		*least = (struct hsnap_headroom){ .left = left, .limit = limit, .cgroup = true };
}

/* Every level from our own up to the mount point. */
static void look_upward(const struct hsnap_proc *proc, const struct flavour *flavour, const char *cgroups,
			const char *mounts, struct hsnap_headroom *least)
{
	char own[PATH_MAX], top[PATH_MAX], point[PATH_MAX], folder[2 * PATH_MAX];
	if (!own_path(cgroups, flavour, own, sizeof(own)) || !find_mount(mounts, flavour, top, point))
		return;
	/* In a container the mount's top is our own cgroup, under its name outside. */
	const char *below = own;
	size_t len = strcmp(top, "/") ? strlen(top) : 0;
	if (len && !strncmp(own, top, len) && (own[len] == '/' || !own[len]))
		below = own + len;
	else if (len || strstr(own, ".."))
		below = "";
	const char *place = point + strspn(point, "/");
	int n = snprintf(folder, sizeof(folder), "%s%s", place, strcmp(below, "/") ? below : "");
	if (n < 0 || (size_t)n >= sizeof(folder))
		return;
	for (int level = 0; level < MAX_LEVELS && strlen(folder) >= strlen(place); level++) {
		look_at(proc, flavour, folder, least);
		char *slash = strrchr(folder, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
}

struct hsnap_headroom hsnap_proc_headroom(const struct hsnap_proc *proc)
{
	struct hsnap_headroom least = { .left = UINT64_MAX, .limit = UINT64_MAX };
	hsnap_auto(hsnap_freep) char *memory = hsnap_proc_read(proc, "proc/meminfo");
	uint64_t available, total;
	if (memory && hsnap_proc_field(memory, "MemAvailable", 10, &available) &&
	    hsnap_proc_field(memory, "MemTotal", 10, &total))
		least = (struct hsnap_headroom){ .left = available * 1024, .limit = total * 1024 };
	hsnap_auto(hsnap_freep) char *cgroups = hsnap_proc_read(proc, "proc/self/cgroup");
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	for (size_t i = 0; cgroups && mounts && i < sizeof(flavours) / sizeof(*flavours); i++)
		look_upward(proc, &flavours[i], cgroups, mounts, &least);
	return least;
}
