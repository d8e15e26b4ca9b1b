/* SPDX-License-Identifier: MIT */
/*
 * losers.h - the claims that did not win, for who asks why a block is called what it is.
 *
 * Most blocks have none, and those of a kind have the same: sets of claims are kept once,
 * in order, and a block has the number of its set.  Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_LOSERS_H
#define HSNAP_CAPTURE_NAMING_LOSERS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/naming/keymap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/base/vec.h"

#define HSNAP_MOST_LOSERS 4           /* claims of a block that are kept besides the one that won */
#define HSNAP_LOSERS_UNKEPT UINT16_MAX /* the set of a block whose claims were not kept: there were too many sets */

struct hsnap_loser {
	hsnap_dtype_id type;
	uint8_t form;     /* enum hsnap_form */
	uint8_t evidence; /* enum hsnap_evidence */
	uint8_t verdict;  /* enum hsnap_verdict */
};

struct hsnap_loser_set {
	struct hsnap_loser last; /* type 0: and there were more */
	uint16_t rest;          /* the set without it */
};

/* Zeroed storage is valid: there is the empty set, 0, alone. */
struct hsnap_losers {
	struct hsnap_vec(struct hsnap_loser_set) sets; /* set n is sets.items[n - 1] */
	struct hsnap_keymap index;                    /* {rest, claim} → set */
	bool failed;                                  /* out of memory: nothing more is kept */
};

void hsnap_losers_deinit(struct hsnap_losers *sets);

/**
 * The set with one claim more; of the same type, form and verdict the stronger evidence is kept.
 * A full set lets the least go, and says that there were more.
 * @param[out] ret_new  the set changed by it
 */
uint16_t hsnap_losers_add(struct hsnap_losers *sets, uint16_t set, struct hsnap_loser lost, bool *ret_new);
/* The set without what is said of this type and form: it has won. */
uint16_t hsnap_losers_remove(struct hsnap_losers *sets, uint16_t set, hsnap_dtype_id type, uint8_t form);

#endif
