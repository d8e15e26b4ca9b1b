/* SPDX-License-Identifier: MIT */
/*
 * fuzz_answer.c - what a reader of debug info says that a hostile file has taken over.
 *
 * Input: one byte, then a module's symbols as it answers (an even byte), or a request to open a file: its kind, the
 * attempt, and the text.  Holds: an answer is refused, and all is as before, or each index is within its bounds;
 * no file is opened but below /usr/lib/debug, beside the program, or one that ends in ".dwo".
 */
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/child.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/symbols.h"

#define NUM_PCS 48u /* of the corpus's answers */

static void merge(const uint8_t *bytes, size_t size)
{
	struct hsnap_target_module modules[] = { { .end = UINT64_MAX, .tls_size = 64 }, { .start = 4096, .end = 1 << 20 } };
	struct hsnap_target target = { .modules = { modules, 2, 2 } };
	struct hsnap_symbols *symbols = empty_symbols();
	struct hsnap_error err;
	require(hsnap_vec_push(&symbols->types, (struct hsnap_dtype){ 0 }));
	for (unsigned i = 0; i < 2 + 2 * NUM_PCS; i++)
		require(i < 2 ? hsnap_vec_push(&symbols->modules, (struct hsnap_dmodule){ 0 })
			      : hsnap_vec_push(&symbols->pcs, (struct hsnap_dpc){ .pc = 0x280 + 11 * ((i - 2) % NUM_PCS) }));
	/* Twice, so that the second one's places are not those of the answer. */
	for (uint32_t module = 0; module < 2; module++) {
		size_t types = symbols->types.num, members = symbols->members.num, strings = symbols->strings.num;
		enum hsnap_code code = hsnap_answer_merge(bytes, size, &target, module, module * NUM_PCS, NUM_PCS, symbols, &err);
		require(code == HSNAP_OK || code == HSNAP_FORMAT);
		require(!code || (symbols->types.num == types && symbols->members.num == members && symbols->strings.num >= strings));
		check_symbols(symbols);
	}
	hsnap_symbols_destroy(symbols);
}

static int open_program(void *self, const struct hsnap_target_module *module)
{
	(void)self;
	(void)module;
	return -1;
}

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return !strncmp(path, folder, len) && path[len] == '/';
}

static int open_path(void *self, const char *path)
{
	(void)self;
	size_t len = strlen(path);
	bool half = len > 4 && !strcmp(path + len - 4, ".dwo");
	require(*path == '/');
	require(half || ((below(path, "/usr/lib/debug") || below(path, "/opt/app/bin")) && !strstr(path, "/../") &&
			 (len < 3 || strcmp(path + len - 3, "/.."))));
	return -1;
}

static void request(const uint8_t *bytes, size_t size)
{
	static const struct hsnap_target_ops ops = { .open_module = open_program, .open_path = open_path };
	struct hsnap_target_module module = { .main = true };
	struct hsnap_target target = { .ops = &ops, .modules = { &module, 1, 1 } };
	struct hsnap_open_request asked = { bytes[0] % 8, bytes[1] % 8 };
	char *text = calloc(1, size - 1); /* terminated, as child.c has it */
	bool end;
	module.path = hsnap_strings_add(&target.strings, "") ? 0 : hsnap_strings_add(&target.strings, "/opt/app/bin/served");
	require(text && module.path);
	memcpy(text, bytes + 2, size - 2);
	struct hsnap_finder finder = { .target = &target, .debug_root = "/dev/null", .directory = "/usr/lib/debug/.dwz" };
	require(hsnap_finder_open(&finder, 0, &asked, text, size - 2, &end) == -1);
	free(text);
	hsnap_strings_deinit(&target.strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size && !(bytes[0] & 1))
		merge(bytes + 1, size - 1);
	else if (size > 2 && size < 8192)
		request(bytes + 1, size - 1);
	return 0;
}
