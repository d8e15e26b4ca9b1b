/* SPDX-License-Identifier: MIT */
/*
 * seed_answer.c - make the answers of tests/fuzz/corpus/answer anew, after a change of what the child says.
 *
 *	seed-answer ELF FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/module.h"

static void need(bool done)
{
	if (!done)
		abort();
}

int main(int argc, char **argv)
{
	static uint8_t bytes[1 << 20];
	struct hsnap_ask asks[48];
	struct hsnap_answer_bytes answer = { 0 };
	struct hsnap_error err;
	if (argc != 3)
		return 2;
	FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
	struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	need(in && out && symbols);
	size_t size = fread(bytes, 1, sizeof(bytes), in);
	for (unsigned i = 0; i < 48; i++) /* as fuzz_symbols.c asks */
		asks[i] = (struct hsnap_ask){ 0x280 + 11 * i, i & 7 };
	struct hsnap_module_input input = { .program = bytes, .program_size = size, .asks = asks, .num_asks = 48 };
	need(!hsnap_module_read(&input, symbols, &err) && hsnap_answer_write(symbols, &answer));
	need(fputc(0, out) == 0 && fwrite(answer.items, 1, answer.num, out) == answer.num && !fclose(out));
	fclose(in);
	hsnap_vec_deinit(&answer);
	hsnap_symbols_destroy(symbols);
	return 0;
}
