/* SPDX-License-Identifier: MIT */
/*
 * replay.c - a fuzz target over the files of its corpus, without libFuzzer.
 *
 *	replay FOLDER    an empty or absent folder is a failure
 *
 * Each file is tried whole, cut at some lengths, and with some bytes changed.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define ROUNDS 40u

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	size_t size = (size_t)ftell(in);
	rewind(in);
	uint8_t *bytes = malloc(size + 1);
	if (!bytes || fread(bytes, 1, size, in) != size) {
		perror(path);
		exit(1);
	}
	fclose(in);
	*ret_size = size;
	return bytes;
}

static void replay(const char *path)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);
	uint64_t state = 0x2545f4914f6cdd1du;
	LLVMFuzzerTestOneInput(bytes, size);
	for (unsigned round = 0; round < ROUNDS && size; round++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		size_t at = (size_t)(state >> 20) % size;
		LLVMFuzzerTestOneInput(bytes, at);
		uint8_t was = bytes[at];
		bytes[at] ^= (uint8_t)(state >> 56) | 1;
		LLVMFuzzerTestOneInput(bytes, size);
		bytes[at] = was;
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	if (!folder) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	unsigned files = 0;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		replay(path);
		files++;
	}
	closedir(folder);
	printf("%u files\n", files);
	return !files;
}
