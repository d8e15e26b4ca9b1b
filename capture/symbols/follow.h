/* SPDX-License-Identifier: MIT */
/* follow.h - one value on its way through the code; private to result.c and values.c. */
#ifndef HSNAP_CAPTURE_SYMBOLS_FOLLOW_H
#define HSNAP_CAPTURE_SYMBOLS_FOLLOW_H

#include "capture/symbols/pcs.h"
#include "capture/symbols/steps.h"

#define HSNAP_FOLLOW_PATHS 16
#define HSNAP_FOLLOW_SLOTS 16
#define HSNAP_FOLLOW_WITNESSES 32

/* What a register or a stack slot holds. */
struct hsnap_follow_value {
	bool result;
	bool assigned;  /* it came here by a move: what lives here from before is this now */
	bool address;   /* of a variable; else it is a pointer that somebody had: more may follow */
	uint32_t into;  /* index of the type that it points into; 0: not known */
	int64_t offset; /* how far into it */
};

struct hsnap_follow_slot {
	uint8_t base; /* stack pointer (as it was at the return) or frame pointer */
	int64_t offset;
	struct hsnap_follow_value value;
};

struct hsnap_follow_path {
	uint64_t pc;
	unsigned steps;
	bool sp_known;
	int64_t sp; /* by how much the stack pointer has changed since the return */
	struct hsnap_follow_value regs[HSNAP_STEP_REGS];
	struct hsnap_follow_slot slots[HSNAP_FOLLOW_SLOTS];
	unsigned num_slots;
};

struct hsnap_follow_witness {
	hsnap_die_key entry; /* the variable's; 0: it is none */
	uint32_t pointee;
	bool declared_void;
	unsigned steps;
};

struct hsnap_result_cache {
	struct hsnap_decoder *decoder;
	hsnap_die_key function;
	bool returns_pointer;
	struct hsnap_frame_base base;
	struct hsnap_scoped_list variables;
	uint64_t low; /* of the code that `blocks` are of */
	struct hsnap_vec(uint64_t) blocks;
};

struct hsnap_follow {
	struct hsnap_reader *reader;
	const struct hsnap_result_cache *cache;
	uint64_t start, low, high;
	bool frame_pointer; /* the CFA is counted from it: it holds no variable */
	uint64_t cfa_pc;    /* where `cfa` was looked up */
	struct hsnap_cfa cfa;
	struct hsnap_follow_path paths[HSNAP_FOLLOW_PATHS];
	unsigned num_paths, total;
	struct hsnap_follow_witness witnesses[HSNAP_FOLLOW_WITNESSES];
	unsigned num_witnesses;
	bool before; /* it is the code before the call that is looked at */
	bool returns;
};

typedef void hsnap_see_value(struct hsnap_follow *f, const struct hsnap_follow_path *path,
			     const struct hsnap_follow_value *value, void *context);

/* What a pointer type points to; false: it is no pointer. */
bool hsnap_follow_pointee(struct hsnap_follow *f, uint32_t index, uint32_t *ret);
/* The CFA at an address; the last answer is kept. */
struct hsnap_cfa hsnap_follow_cfa(struct hsnap_follow *f, uint64_t pc);
/* The type of the variable, or of the word of it that is at its location; 0: not known. */
uint32_t hsnap_follow_variable_type(struct hsnap_follow *f, const struct hsnap_scoped *variable);
bool hsnap_follow_in_scope(const struct hsnap_scoped *variable, uint64_t pc);
/* Is base + offset memory of this frame?  Then *ret names it in terms that last. */
bool hsnap_follow_frame_slot(const struct hsnap_follow *f, const struct hsnap_follow_path *path, uint8_t base,
			     int64_t offset, struct hsnap_follow_slot *ret);
/* Where in the frame the variable lives at the path's pc, if it does. */
bool hsnap_follow_variable_slot(struct hsnap_follow *f, const struct hsnap_follow_path *path,
				const struct hsnap_scoped *variable, struct hsnap_follow_slot *ret);
struct hsnap_follow_slot *hsnap_follow_find_slot(struct hsnap_follow_path *path, const struct hsnap_follow_slot *where);
void hsnap_follow_set_slot(struct hsnap_follow_path *path, const struct hsnap_follow_slot *where,
			   const struct hsnap_follow_value *value);
/* Call see() for what the address of a memory operand is known to point into. */
void hsnap_follow_address(struct hsnap_follow *f, const struct hsnap_follow_path *path,
			  const struct hsnap_step_memory *memory, hsnap_see_value *see, void *context);
/* The type of the word there; 0: not known, or not agreed on. */
uint32_t hsnap_follow_word_type(struct hsnap_follow *f, const struct hsnap_follow_path *path,
				const struct hsnap_step_memory *memory);

#endif
