/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - how much memory may still be used before somebody is harmed.
 *
 * Run by `docker exec` or `kubectl debug` we sit in the target's cgroup, and
 * every page of ours is one less for it.  A limit anywhere above us counts.
 *
 * What counts as a limit: memory.max and, since beyond it the kernel brakes
 * every process of the group, memory.high; of version 1 the limit on memory and
 * the one on memory and swap together.  Room in swap is no room: what we push
 * out there is the target's.  The soft limit of version 1 only orders whom to
 * reclaim from, and harms nobody by itself.
 *
 * What counts as free beside what is: clean pages of files on the inactive list.
 * They go first, before anybody is killed, and nobody has used them lately.
 * Pages of files in active use would go too, but they are the target's code and
 * data, and reading them again and again is a standstill by another name.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "capture/proc/proc.h"
#include "snapshot/base/cleanup.h"

#define MAX_LEVELS 64
#define MAX_LIMITS 2
#define LINE 512 /* of mountinfo beside its two paths */

static const struct flavour {
	const char *type; /* of the mount */
	struct {
		const char *limit, *usage; /* files */
	} limits[MAX_LIMITS];
	const char *swap;     /* file; of version 1 with what is in memory */
	const char *inactive, *dirty, *writeback; /* keys in memory.stat, of the whole subtree */
} flavours[] = {
	{ "cgroup2", { { "memory.max", "memory.current" }, { "memory.high", "memory.current" } }, "memory.swap.current",
	  "inactive_file", "file_dirty", "file_writeback" },
	{ "cgroup", { { "memory.limit_in_bytes", "memory.usage_in_bytes" },
		      { "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes" } }, "memory.memsw.usage_in_bytes",
	  "total_inactive_file", "total_dirty", "total_writeback" },
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

/* A mount of a flavour, as a line of mountinfo tells. */
struct mount {
	int id, parent;
	char top[PATH_MAX];   /* the folder of the hierarchy that is seen there; "/../.." above our namespace's own */
	char point[PATH_MAX]; /* where */
};

/* "\040" and the like, which stand for blanks and backslashes. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		unsigned value;
		if (at[0] == '\\' && strspn(at + 1, "01234567") >= 3 && sscanf(at + 1, "%3o", &value) == 1) {
			*to = (char)value;
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

/* One line of mountinfo; false: it cannot be read. */
static bool parse_mount(const char *line, size_t len, struct mount *mount, char type[32], char options[LINE])
{
	char rest[LINE];
	const char *dash = memmem(line, len, " - ", 3);
	if (!dash || sscanf(line, "%d %d %*s %4095s %4095s", &mount->id, &mount->parent, mount->top, mount->point) != 4)
		return false;
	snprintf(rest, sizeof(rest), "%.*s", (int)(len - (size_t)(dash + 3 - line)), dash + 3);
	options[0] = '\0';
	if (sscanf(rest, "%31s %*s %511s", type, options) < 1)
		return false;
	unescape(mount->top);
	unescape(mount->point);
	return true;
}

/* The rest of a path below a folder, beginning with "/" or empty; NULL: it is not below it. */
static const char *path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	if (len && folder[len - 1] == '/')
		len--;
	if (strncmp(path, folder, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] == '/' && !path[len + 1] ? path + len + 1 : path + len;
}

/* Has something been mounted over it? */
static bool is_covered(const char *mounts, const struct mount *mount)
{
	char type[32], options[LINE];
	struct mount other;
	for (const char *line = mounts; *line;) {
		size_t len = strcspn(line, "\n");
		if (parse_mount(line, len, &other, type, options) && other.parent == mount->id &&
		    !strcmp(other.point, mount->point))
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

/* How often a path begins with "/..", which is cut off. */
static unsigned cut_parents(const char **path)
{
	unsigned num = 0;
	while (!strncmp(*path, "/..", 3) && ((*path)[3] == '/' || !(*path)[3])) {
		*path += 3;
		num++;
	}
	return num;
}

/*
 * Our cgroup's path below the top of a mount; NULL: we are not below it.
 *
 * Both paths are told from the root of our cgroup namespace on.  A top that lies above it is above
 * us, but what the levels between are called cannot be known: then the top itself is all there is.
 */
static const char *own_below(const char *own, const char *top)
{
	unsigned own_parents = cut_parents(&own), top_parents = cut_parents(&top);
	if (top_parents == own_parents)
		return path_below(own, top);
	return top_parents > own_parents && !*top ? "" : NULL;
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

/* Bytes of files that go without harm and without waiting for a disk. */
static uint64_t spare_bytes(const struct hsnap_proc *proc, const struct flavour *flavour, const char *folder)
{
	hsnap_auto(hsnap_freep) char *stat = hsnap_proc_read(proc, "%s/memory.stat", folder);
	uint64_t inactive = stat_value(stat, flavour->inactive);
	uint64_t busy = stat_value(stat, flavour->dirty) + stat_value(stat, flavour->writeback);
	return busy < inactive ? inactive - busy : 0;
}

/* What is done at each level. */
typedef void look_fn(const struct hsnap_proc *proc, const struct flavour *flavour, const char *folder, void *context);

static void look_for_room(const struct hsnap_proc *proc, const struct flavour *flavour, const char *folder, void *context)
{
	struct hsnap_headroom *least = context;
	uint64_t limit, usage, spare = UINT64_MAX;
	for (int i = 0; i < MAX_LIMITS; i++) {
		if (!read_number(proc, folder, flavour->limits[i].limit, &limit) ||
		    !read_number(proc, folder, flavour->limits[i].usage, &usage))
			continue;
		if (spare == UINT64_MAX)
			spare = spare_bytes(proc, flavour, folder);
		usage = spare < usage ? usage - spare : 0;
		uint64_t left = limit > usage ? limit - usage : 0;
		if (left < least->left)
			*least = (struct hsnap_headroom){ .left = left, .limit = limit, .cgroup = true };
	}
}

/* Version 1 could leave the levels above out of the account, up to Linux 5.10. */
static bool counts_above(const struct hsnap_proc *proc, const char *folder)
{
	uint64_t counts;
	return !read_number(proc, folder, "memory.use_hierarchy", &counts) || counts;
}

/* Every level from our own up to the mount's top. */
static void look_upward(const struct hsnap_proc *proc, const struct flavour *flavour, const char *point,
			const char *below, look_fn *look, void *context)
{
	char folder[2 * PATH_MAX];
	const char *place = point + strspn(point, "/");
	int n = snprintf(folder, sizeof(folder), "%s%s", place, below);
	if (n < 0 || (size_t)n >= sizeof(folder))
		return;
	size_t top = strlen(place);
	for (int level = 0; level < MAX_LEVELS; level++) {
		look(proc, flavour, folder, context);
		char *slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < top)
			break;
		*slash = '\0';
		if (!counts_above(proc, folder))
			break;
	}
}

/* By each mount through which we can be seen: one may show more levels than another. */
static bool look_through_mounts(const struct hsnap_proc *proc, const struct flavour *flavour, const char *own,
				const char *mounts, look_fn *look, void *context)
{
	bool seen = false;
	char type[32], options[LINE];
	struct mount mount;
	for (const char *line = mounts; *line;) {
		size_t len = strcspn(line, "\n");
		if (parse_mount(line, len, &mount, type, options) && !strcmp(type, flavour->type) &&
		    (!strcmp(type, "cgroup2") || has_word(options, strlen(options), "memory")) &&
		    !is_covered(mounts, &mount)) {
			const char *below = own_below(own, mount.top);
			seen |= below != NULL;
			if (below)
				look_upward(proc, flavour, mount.point, below, look, context);
		}
		line += len + (line[len] == '\n');
	}
	return seen;
}

/* The machine's own.  Where it promises no more than it has, also what is not promised yet: beyond
 * that everybody's allocations fail, the target's too. */
static struct hsnap_headroom machine_headroom(const struct hsnap_proc *proc)
{
	struct hsnap_headroom room = { .left = UINT64_MAX, .limit = UINT64_MAX };
	hsnap_auto(hsnap_freep) char *memory = hsnap_proc_read(proc, "proc/meminfo");
	uint64_t available, total, commit_limit, committed, overcommit;
	if (!memory || !hsnap_proc_field(memory, "MemAvailable", 10, &available) ||
	    !hsnap_proc_field(memory, "MemTotal", 10, &total))
		return room;
	room.left = available * 1024;
	room.limit = total * 1024;
	if (read_number(proc, "proc/sys/vm", "overcommit_memory", &overcommit) && overcommit == 2 &&
	    hsnap_proc_field(memory, "CommitLimit", 10, &commit_limit) &&
	    hsnap_proc_field(memory, "Committed_AS", 10, &committed)) {
		uint64_t left = commit_limit > committed ? (commit_limit - committed) * 1024 : 0;
		if (left < room.left)
			room = (struct hsnap_headroom){ .left = left, .limit = commit_limit * 1024 };
	}
	return room;
}

struct hsnap_headroom hsnap_proc_headroom(const struct hsnap_proc *proc)
{
	struct hsnap_headroom least = machine_headroom(proc);
	hsnap_auto(hsnap_freep) char *cgroups = hsnap_proc_read(proc, "proc/self/cgroup");
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	char own[PATH_MAX];
	for (size_t i = 0; cgroups && mounts && i < sizeof(flavours) / sizeof(*flavours); i++)
		if (own_path(cgroups, &flavours[i], own, sizeof(own)))
			(void)look_through_mounts(proc, &flavours[i], own, mounts, look_for_room, &least);
	return least;
}

struct hsnap_headroom hsnap_proc_headroom_of(const struct hsnap_proc *proc, pid_t pid)
{
	const struct hsnap_headroom unknown = { .left = UINT64_MAX, .limit = UINT64_MAX };
	struct hsnap_headroom least = machine_headroom(proc);
	hsnap_auto(hsnap_freep) char *cgroups = hsnap_proc_read(proc, "proc/%d/cgroup", pid);
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	char path[PATH_MAX];
	if (!cgroups || !mounts)
		return unknown;
	for (size_t i = 0; i < sizeof(flavours) / sizeof(*flavours); i++)
		if (own_path(cgroups, &flavours[i], path, sizeof(path)) &&
		    !look_through_mounts(proc, &flavours[i], path, mounts, look_for_room, &least) && strcmp(path, "/"))
			return unknown; /* it has limits that are not to be seen from here */
	return least;
}

/* Version 1 writes the greatest number there is where nothing was set. */
#define NO_LIMIT ((uint64_t)1 << 60)

static void look_for_limit(const struct hsnap_proc *proc, const struct flavour *flavour, const char *folder,
			   void *context)
{
	struct hsnap_cgroup *lowest = context, level = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	if (!read_number(proc, folder, flavour->limits[0].usage, &level.use))
		return;
	if (!read_number(proc, folder, flavour->limits[0].limit, &level.limit) || level.limit >= NO_LIMIT)
		level.limit = UINT64_MAX;
	bool both = !strcmp(flavour->swap, flavour->limits[1].usage);
	if (read_number(proc, folder, flavour->swap, &level.swap) && both)
		level.swap = level.swap > level.use ? level.swap - level.use : 0;
	if (lowest->use == UINT64_MAX || level.limit < lowest->limit)
		*lowest = level;
}

struct hsnap_cgroup hsnap_proc_cgroup(const struct hsnap_proc *proc, pid_t pid)
{
	const struct hsnap_cgroup unknown = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct hsnap_cgroup lowest = unknown;
	hsnap_auto(hsnap_freep) char *cgroups = hsnap_proc_read(proc, "proc/%d/cgroup", pid);
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	char path[PATH_MAX];
	for (size_t i = 0; cgroups && mounts && i < sizeof(flavours) / sizeof(*flavours); i++) {
		struct hsnap_cgroup found = unknown;
		if (!own_path(cgroups, &flavours[i], path, sizeof(path)) ||
		    !look_through_mounts(proc, &flavours[i], path, mounts, look_for_limit, &found))
			continue;
		/* The root is everybody's: what it uses says nothing of this process. */
		if (found.limit == UINT64_MAX && !strcmp(path, "/"))
			continue;
		if (lowest.use == UINT64_MAX || found.limit < lowest.limit)
			lowest = found;
	}
	return lowest;
}
