/* SPDX-License-Identifier: MIT */
/*
 * newest.c - which snapshot is meant when none is named.
 *
 * Only regular files that the user owns count: in a folder like /tmp the newest
 * *.snap is anybody's.  Newest is what the snapshot says, not the file's time,
 * and where the candidates are of more than one process nothing is guessed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/input.h"
#include "cli/text.h"
#include "snapshot/base/cleanup.h"

struct candidate {
	char *path;
	struct hsnap_snapshot *snapshot; /* its table alone */
};

struct candidates hsnap_vec_body(struct candidate);

static void free_candidates(struct candidates *all)
{
	for (size_t i = 0; i < all->num; i++) {
		free(all->items[i].path);
		hsnap_snapshot_destroy(all->items[i].snapshot);
	}
	hsnap_vec_deinit(all);
}

static bool is_ours(const char *name)
{
	size_t len = strlen(name);
	struct stat st;
	return len > 5 && !strcmp(name + len - 5, ".snap") && name[0] != '.' && name[0] != '-' &&
	       !lstat(name, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* Keep the file if it can be read; say so on stderr if not.  false: out of memory. */
static bool consider(struct candidates *all, const char *name)
{
	struct candidate candidate = { 0 };
	struct hsnap_error err;
	if (hsnap_snapshot_read(name, HSNAP_LOAD_TABLE, &candidate.snapshot, &err)) {
		hsnap_say("left out: %s", err.message);
		return err.code != HSNAP_NO_MEMORY;
	}
	candidate.path = strdup(name);
	if (candidate.path && hsnap_vec_push(all, candidate))
		return true;
	free(candidate.path);
	hsnap_snapshot_destroy(candidate.snapshot);
	return false;
}

static bool list_folder(struct candidates *all)
{
	DIR *folder = opendir(".");
	if (!folder)
		return true;
	bool ok = true;
	for (struct dirent *entry; ok && (entry = readdir(folder));)
		if (is_ours(entry->d_name))
			ok = consider(all, entry->d_name);
	closedir(folder);
	return ok;
}

/* Latest first, then by name. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	uint64_t when_left = left->snapshot->facts.taken_at, when_right = right->snapshot->facts.taken_at;
	return when_left < when_right   ? 1
	       : when_left > when_right ? -1
					: strcmp(left->path, right->path);
}

static bool of_one_process(const struct candidates *all)
{
	for (size_t i = 1; i < all->num; i++)
		if (!hsnap_same_process(all->items[0].snapshot, all->items[i].snapshot))
			return false;
	return true;
}

static int list_processes(const struct hsnap_options *options, const struct candidates *all)
{
	hsnap_wrong_use(NULL, "%s: which snapshot? those here are of more than one process",
			options->command->name);
	for (size_t i = 0; i < all->num; i++) {
		const struct hsnap_snapshot *snapshot = all->items[i].snapshot;
		struct hsnap_line path = { 0 }, line = { 0 };
		hsnap_line_add_quoted(&path, all->items[i].path);
		hsnap_line_addf(&line, "%s   %s   %s, pid %llu", hsnap_line_text(&path),
				  hsnap_time(snapshot->facts.taken_at).text, hsnap_text(snapshot, snapshot->facts.comm),
				  (unsigned long long)snapshot->facts.pid);
		hsnap_line_clear(&path);
		hsnap_line_add_escaped(&path, hsnap_line_text(&line), HSNAP_TEXT_UTF8);
		fprintf(stderr, "  %s\n", hsnap_line_text(&path));
		hsnap_line_deinit(&path);
		hsnap_line_deinit(&line);
	}
	return HSNAP_EXIT_USAGE;
}

int hsnap_find_newest(const struct hsnap_options *options, char **ret)
{
	hsnap_auto(free_candidates) struct candidates all = { 0 };
	if (!list_folder(&all)) {
		hsnap_wrong_use(NULL, "%s: out of memory", options->command->name);
		return HSNAP_EXIT_OTHER;
	}
	if (!all.num) {
		hsnap_wrong_use("heapsnap take -p PID", "%s: no snapshot is named, and this folder has none of yours",
				options->command->name);
		return HSNAP_EXIT_UNREADABLE;
	}
	qsort(all.items, all.num, sizeof(*all.items), compare_candidates);
	if (!of_one_process(&all))
		return list_processes(options, &all);
	if (!options->quiet)
		hsnap_say("%s, the newest here", all.items[0].path);
	*ret = hsnap_take(all.items[0].path);
	return HSNAP_GO_ON;
}
