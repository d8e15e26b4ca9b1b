/* SPDX-License-Identifier: MIT */
/*
 * witness.h - what an entry says, through libdwarf: what the scanner (capture/symbols/scan.h) is held against.
 *
 * Each attribute is found, decoded and understood here once more, so that a mistake in one of the two shows.
 */
#ifndef HSNAP_TESTS_CAPTURE_SYMBOLS_WITNESS_H
#define HSNAP_TESTS_CAPTURE_SYMBOLS_WITNESS_H

#include "capture/symbols/scan.h"

/* The texts are borrowed from the file's sections. */
void witness_read(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_die_facts *ret);

#endif
