/* SPDX-License-Identifier: MIT */
/*
 * fuzz_symbols.c - an ELF file of anybody's making, read as the confined child reads it.
 *
 * Input: the file.  Holds: what is read of it is refused by the parent or arrives there whole, each
 * index within its bounds.  A crash within libdwarf is what the child is confined for; one in our
 * own code is a bug all the same.
 */
#include <stdlib.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/child.h"
#include "capture/symbols/module.h"
#include "tests/fuzz/fuzz.h"

#define NUM_ASKS 48u

/* On broken bytes libdwarf loses an error record now and then; on whole ones nothing is lost.
 * Visible, so that a sanitizer in a library of its own finds it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdwarf.so\n";
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct hsnap_symbols *empty(void)
{
	struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	require(symbols);
	return symbols;
}

static void check(const struct hsnap_symbols *s)
{
	for (size_t i = 0; i < s->types.num; i++) {
		const struct hsnap_dtype *t = &s->types.items[i];
		require(t->target < s->types.num && t->kind < HSNAP_NUM_DTYPE_KINDS);
		require(!t->num_members || (size_t)t->first_member + t->num_members <= s->members.num);
		require(!t->num_arguments || (size_t)t->first_argument + t->num_arguments <= s->arguments.num);
	}
	for (size_t i = 0; i < s->members.num; i++)
		require(s->members.items[i].type < s->types.num);
	for (size_t i = 0; i < s->variables.num; i++)
		require(s->variables.items[i].type < s->types.num);
	for (size_t i = 0; i < s->aliases.num; i++)
		require(s->aliases.items[i].opaque < s->types.num && s->aliases.items[i].type < s->types.num);
	for (size_t i = 0; i < s->landings.num; i++)
		require(s->landings.items[i].holder < s->types.num && s->landings.items[i].type < s->types.num);
	for (size_t i = 0; i < s->pcs.num; i++) {
		const struct hsnap_dpc *pc = &s->pcs.items[i];
		require(!pc->num_frames || (size_t)pc->first_frame + pc->num_frames <= s->frames.num);
		require(!pc->num_locals || (size_t)pc->first_local + pc->num_locals <= s->locals.num);
		require(!pc->num_results || (size_t)pc->first_result + pc->num_results <= s->results.num);
	}
}

/* What the child would send, and the parent make of it. */
static void send_and_receive(const struct hsnap_symbols *sent)
{
	struct hsnap_target_module module = { .end = UINT64_MAX, .tls_size = UINT64_MAX };
	struct hsnap_target target = { 0 };
	struct hsnap_answer_bytes bytes = { 0 };
	struct hsnap_symbols *got = empty();
	struct hsnap_error err;
	require(hsnap_vec_push(&target.modules, module) && hsnap_vec_push(&got->modules, (struct hsnap_dmodule){ 0 }) &&
		hsnap_vec_push(&got->types, (struct hsnap_dtype){ 0 }) && hsnap_answer_write(sent, &bytes));
	for (size_t i = 0; i < sent->pcs.num; i++)
		require(hsnap_vec_push(&got->pcs, (struct hsnap_dpc){ .pc = sent->pcs.items[i].pc }));
	enum hsnap_code code =
		hsnap_answer_merge(bytes.items, bytes.num, &target, 0, 0, sent->pcs.num, got, &err);
	require(code == HSNAP_OK || code == HSNAP_FORMAT);
	if (!code) {
		check(got);
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_ask asks[NUM_ASKS];
	struct hsnap_symbols *symbols = empty();
	struct hsnap_error err;
	for (unsigned i = 0; i < NUM_ASKS; i++)
		asks[i] = (struct hsnap_ask){ 0x280 + 11 * i, i & 7 };
	struct hsnap_module_bytes self = { bytes, size };
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
