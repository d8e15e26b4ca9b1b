/* SPDX-License-Identifier: MIT */
/* pcs.h - one PC while it is answered for; private to pcs.c, scopes.c and result.c. */
#ifndef HSNAP_CAPTURE_SYMBOLS_PCS_H
#define HSNAP_CAPTURE_SYMBOLS_PCS_H

#include "capture/symbols/places.h"
#include "capture/symbols/reader.h"

/* A variable or parameter of a function, with one of its places. */
struct hsnap_scoped {
	hsnap_die_key entry, type; /* its own entry: one place of several has the same */
	hsnap_string name, function;
	struct hsnap_location location; /* single: low and high are those of a piece of its scope's code, where all places are asked for */
};

struct hsnap_scoped_list hsnap_vec_body(struct hsnap_scoped);

/**
 * Variables of a function and of what is inlined into it.
 *
 * @param pc  only those in scope at this address, and only their places there; UINT64_MAX: all, and
 *            without names, which takes half the time
 */
void hsnap_pcs_variables(struct hsnap_reader *reader, hsnap_die_key function, uint64_t pc,
			 struct hsnap_scoped_list *ret);

/* The name of such an entry, in out's strings; 0: it has none. */
hsnap_string hsnap_pcs_variable_name(struct hsnap_reader *reader, hsnap_die_key entry);

/* What functions begin at the addresses of the file, which are in order: `see` gets each that has debug info, and the code for itself. */
void hsnap_pcs_functions(struct hsnap_reader *reader, const uint64_t *addresses, size_t num,
			 void (*see)(void *context, uint64_t address, hsnap_die_key function), void *context);

/* The function of the unit in hand whose code begins at the address, or 0. */
hsnap_die_key hsnap_pcs_function_at(const struct hsnap_reader *reader, uint64_t address);
/*
 * Its parameters in order, with one place each; false: their order does not tell where they are
 * handed over (it returns a struct, or one has no place).
 */
bool hsnap_pcs_parameters(struct hsnap_reader *reader, hsnap_die_key function, struct hsnap_scoped_list *ret);

/* What the CFA is at an address of the file's headers, by call-frame information. */
struct hsnap_cfa {
	bool known;
	uint8_t number;
	int64_t offset;
};
struct hsnap_cfa hsnap_pcs_cfa(struct hsnap_reader *reader, uint64_t address);
void hsnap_pcs_cfa_free(struct hsnap_reader *reader);

/*
 * Who gets the result of the call that returns to `address`: fills out->results for *pc.  The
 * function's code is [low, high); key 0: no debug info, only whether it returns the result.
 */
void hsnap_result_answer(struct hsnap_reader *reader, hsnap_die_key function, uint64_t low, uint64_t high,
			 uint64_t address, struct hsnap_dpc *pc);
void hsnap_result_free(struct hsnap_reader *reader);

#endif
