/* SPDX-License-Identifier: MIT */
/* globals.c - what lies at fixed addresses, for those who follow code. */
#include "capture/symbols/globals.h"

void hsnap_globals_see(struct hsnap_reader *reader, hsnap_see_global *see, void *context)
{
	for (size_t i = 0; i < reader->variables.num; i++) {
		const struct hsnap_raw_variable v = reader->variables.items[i]; /* looking at types may find more */
		if (v.thread_local_)
			continue;
		struct hsnap_global global = { .address = v.address, .type = v.type };
		if (!v.num_pieces)
			see(context, &global);
		for (uint32_t p = 0; p < v.num_pieces; p++) {
			const struct hsnap_dpiece *piece = &reader->pieces.items[v.first_piece + p];
			global = (struct hsnap_global){ piece->address, v.type, piece->offset, piece->size };
			see(context, &global);
		}
	}
}
