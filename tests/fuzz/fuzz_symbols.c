/* SPDX-License-Identifier: MIT */
/*
 * fuzz_symbols.c - an ELF file of anybody's making, read as the confined child reads it.
 *
 * Input: the file.  Holds: what is read of it is refused by the parent or arrives there whole, each
 * index within its bounds.  A crash within libdwarf is what the child is confined for; one in our
 * own code is a bug all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/child.h"
#include "capture/symbols/elf_file.h"
#include "capture/symbols/module.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/symbols.h"

#define NUM_ASKS 48u
#define MOST_INFLATED (1u << 30)

/* On broken bytes libdwarf loses an error record now and then; on whole ones nothing is lost.
 * Visible, so that a sanitizer in a library of its own finds it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdwarf.so\n";
}

/* What the child would send, and the parent make of it. */
static void send_and_receive(const struct hsnap_symbols *sent)
{
	struct hsnap_target_module module = { .end = UINT64_MAX, .tls_size = UINT64_MAX };
	struct hsnap_target target = { 0 };
	struct hsnap_answer_bytes bytes = { 0 };
	struct hsnap_symbols *got = empty_symbols();
	struct hsnap_error err;
	require(hsnap_vec_push(&target.modules, module) && hsnap_vec_push(&got->modules, (struct hsnap_dmodule){ 0 }) &&
		hsnap_vec_push(&got->types, (struct hsnap_dtype){ 0 }) && hsnap_answer_write(sent, &bytes));
	for (size_t i = 0; i < sent->pcs.num; i++)
		require(hsnap_vec_push(&got->pcs, (struct hsnap_dpc){ .pc = sent->pcs.items[i].pc }));
	enum hsnap_code code =
		hsnap_answer_merge(bytes.items, bytes.num, &target, 0, 0, sent->pcs.num, got, &err);
	require(code == HSNAP_OK || code == HSNAP_FORMAT);
	if (!code) {
		check_symbols(got);
		require(got->types.num == sent->types.num && got->members.num == sent->members.num &&
			got->frames.num == sent->frames.num && got->locals.num == sent->locals.num &&
			got->results.num == sent->results.num && got->aliases.num == sent->aliases.num &&
			got->landings.num == sent->landings.num);
	}
	hsnap_symbols_destroy(got);
	hsnap_vec_deinit(&bytes);
	hsnap_vec_deinit(&target.modules);
}

/* The other halves of its units, and the package of them, are in the very file too. */
static uint8_t get_split(void *context, uint32_t what, uint32_t attempt, const char *path,
			 struct hsnap_module_bytes *ret)
{
	(void)what;
	(void)path;
	*ret = *(const struct hsnap_module_bytes *)context;
	return attempt ? HSNAP_REPLY_END : HSNAP_REPLY_FILE;
}

/* Where it says that its debug info is: names that end, in the file. */
static void look_for_links(const uint8_t *bytes, size_t size)
{
	struct hsnap_elf elf = { 0 };
	struct hsnap_error err;
	const char *name;
	const uint8_t *id;
	size_t id_size;
	uint32_t crc;
	if (!hsnap_elf_init(&elf, bytes, size, &err)) {
		require(!hsnap_elf_debuglink(&elf, &name, &crc) || strlen(name) < MOST_INFLATED);
		if (hsnap_elf_altlink(&elf, &name, &id, &id_size)) {
			require(strlen(name) < MOST_INFLATED);
			for (size_t i = 0; i < id_size; i++)
				crc += id[i];
		}
	}
	hsnap_elf_deinit(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_ask asks[NUM_ASKS];
	struct hsnap_symbols *symbols = empty_symbols();
	struct hsnap_error err;
	for (unsigned i = 0; i < NUM_ASKS; i++)
		asks[i] = (struct hsnap_ask){ 0x280 + 11 * i, i & 7 };
	struct hsnap_module_bytes self = { bytes, size };
	look_for_links(bytes, size);
	/* Its own debug info, and once more as another's debug file and supplementary file. */
	struct hsnap_module_input input = {
		.program = bytes, .program_size = size, .debug = bytes, .debug_size = size, .alt = bytes, .alt_size = size,
		.asks = asks, .num_asks = NUM_ASKS, .get_split = get_split, .context = &self,
	};
	enum hsnap_code code = hsnap_module_read(&input, symbols, &err);
	require(code == HSNAP_OK || code == HSNAP_NO_MEMORY);
	if (!code)
		send_and_receive(symbols);
	hsnap_symbols_destroy(symbols);
	return 0;
}
