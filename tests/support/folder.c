/* SPDX-License-Identifier: MIT */
/* folder.c - see folder.h. */
#include "tests/support/folder.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static void need(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	abort();
}

void folder_make(void)
{
	strcpy(folder, "/tmp/hsnap-test-XXXXXX");
	need(mkdtemp(folder), folder);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

void folder_remove(void)
{
	need(!nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), folder);
}

const char *folder_path(void)
{
	return folder;
}

const char *in_folder(const char *name)
{
	static char paths[4][320];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", folder, name);
	return paths[turn];
}

size_t folder_count(void)
{
	return folder_count_in(folder);
}

size_t folder_count_in(const char *path)
{
	DIR *dir = opendir(path);
	need(dir, path);
	size_t count = 0;
	for (struct dirent *entry; (entry = readdir(dir));)
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return count;
}

struct file file_read(const char *path)
{
	struct file file = { 0 };
	FILE *in = fopen(path, "rb");
	need(in, path);
	need(!fseek(in, 0, SEEK_END), path);
	file.size = (size_t)ftell(in);
	rewind(in);
	file.bytes = calloc(1, file.size + 1);
	need(file.bytes && fread(file.bytes, 1, file.size, in) == file.size, path);
	fclose(in);
	return file;
}

void file_write(const char *path, const void *bytes, size_t size)
{
	FILE *out = fopen(path, "wb");
	need(out && fwrite(bytes, 1, size, out) == size && !fclose(out), path);
}

struct file file_of_snapshot(const struct hsnap_snapshot *snapshot)
{
	struct hsnap_error err;
	const char *path = in_folder("of-snapshot.snap");
	if (hsnap_snapshot_write(snapshot, path, true, NULL, &err)) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
	struct file file = file_read(path);
	remove(path);
	return file;
}
