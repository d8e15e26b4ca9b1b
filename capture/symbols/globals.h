/* SPDX-License-Identifier: MIT */
/* globals.h - what lies at fixed addresses, for those who follow code; private to this folder. */
#ifndef HSNAP_CAPTURE_SYMBOLS_GLOBALS_H
#define HSNAP_CAPTURE_SYMBOLS_GLOBALS_H

#include "capture/symbols/reader.h"

/* A variable of the process, or a piece of one. */
struct hsnap_global {
	uint64_t address;
	hsnap_die_key type;  /* of the variable */
	uint64_t into, size; /* a piece of it: where in the variable, how long; size 0: all of it */
};

typedef void hsnap_see_global(void *context, const struct hsnap_global *global);

/* Call see() for each that is not thread-local. */
void hsnap_globals_see(struct hsnap_reader *reader, hsnap_see_global *see, void *context);

#endif
