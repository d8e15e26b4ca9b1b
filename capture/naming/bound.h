/* SPDX-License-Identifier: MIT */
/*
 * bound.h - a user's rules in one process: names have become types, offsets and addresses.
 *
 * Private to capture/naming.  Types that a rule speaks of are known to have the members that it names; what a
 * rule reads of the process is checked when it is read.
 */
#ifndef HSNAP_CAPTURE_NAMING_BOUND_H
#define HSNAP_CAPTURE_NAMING_BOUND_H

#include "capture/naming/keymap.h"
#include "capture/naming/rules.h"
#include "capture/symbols/symbols.h"

/* What a program does beside an expression's operators (enum hsnap_expr_op): it works on a stack. */
enum hsnap_op_kind {
	HSNAP_OP_BASE = HSNAP_EXPR_OR + 1, /* push the address of the object that the rule is about */
	HSNAP_OP_TARGET,                   /* push that of the object which is led to */
	HSNAP_OP_FOLLOW,                   /* the address on top: the word at value bytes behind it in its place */
	HSNAP_OP_LOAD,                     /* the address on top: the number at value bytes behind it in its place */
};

struct hsnap_op {
	uint8_t kind;
	uint8_t size;                /* LOAD: bytes, 1 to 8 */
	uint8_t first_bit, num_bits; /* LOAD: of these; num_bits 0: all */
	int64_t value;
};

#define HSNAP_MAX_STACK 64

/* [first, first + num) of ops; num 0: nothing was said. */
struct hsnap_program {
	uint32_t first, num;
};

/* A rule for one type; a name may be that of several. */
struct hsnap_bound {
	uint32_t rule;                      /* index into rules->rules */
	uint32_t next;                      /* of the same type, in the files' order; 0: none */
	hsnap_dtype_id type;                /* that has the member, or that a pointer is said to lead to; 0: `made`, or any block */
	hsnap_dtype_id held;                /* 0: `held_made` */
	uint32_t made, held_made;           /* 1 + index into made */
	uint64_t offset, stride, most;      /* of the first pointer in the object; most: pointers, 1 for a plain member */
	struct hsnap_program place, pointers, count, extra, when, step, from;
	uint64_t live_at;                   /* of the number that says whether a pool's object is in use */
	uint8_t live_bytes;                 /* 0: each is */
	uint64_t at;                        /* the pointer leads so many bytes into the object */
	uint32_t owners;                    /* a bit each; 0: whoever */
};

/* A name that is no type of the program: only what "is" rules say of it. */
struct hsnap_made {
	hsnap_string name; /* of rules->strings */
	uint32_t first;    /* index into bounds, or 0 */
	bool used;
};

/* A place whose pointers lead to what "under" means. */
struct hsnap_bound_owner {
	hsnap_dtype_id type;   /* that has the member; 0: a variable */
	uint32_t variable;     /* index into symbols->variables */
	uint32_t next;         /* of the same type; 1 + index */
	uint32_t bit;
	uint64_t offset;       /* in the type or the variable */
	hsnap_dtype_id member; /* what stands there */
	struct hsnap_program when;
};

struct hsnap_bounds {
	const struct hsnap_rules *rules;
	const struct hsnap_symbols *symbols;
	struct hsnap_vec(struct hsnap_bound) bounds;  /* [0] none */
	struct hsnap_vec(struct hsnap_op) ops;
	struct hsnap_vec(struct hsnap_made) made;
	struct hsnap_vec(struct hsnap_bound_owner) owners;
	struct hsnap_keymap holds, is;                /* {type} → index into bounds of the first */
	struct hsnap_keymap owned;                    /* {type} → 1 + index into owners of the first */
	uint32_t any;                                 /* index into bounds of the first that is about any block, or 0 */
};

void hsnap_bounds_deinit(struct hsnap_bounds *bounds);

/**
 * Find out what the rules mean here.
 *
 * Pointer types that the rules need and debug info has not are added to the symbols: before anybody makes
 * tables of types.
 *
 * @return HSNAP_OK; HSNAP_REFUSED, "FILE:LINE: why" with a hint: a name that means nothing, or several things;
 *         HSNAP_NO_MEMORY
 * Cost: a look at all types for each name in the rules.
 */
HSNAP_CHECKED enum hsnap_code hsnap_bounds_init(struct hsnap_bounds *bounds, const struct hsnap_rules *rules,
						const struct hsnap_target *target, struct hsnap_symbols *symbols,
						struct hsnap_error *err);

/* What a program may read, besides what it is told. */
struct hsnap_values {
	const struct hsnap_target *target;
	uint64_t base, led_to; /* addresses of the two objects */
	uint64_t word;
};

/* false: something cannot be read, or be divided by.  An empty program says 1. */
bool hsnap_run_program(const struct hsnap_bounds *bounds, struct hsnap_program program, const struct hsnap_values *values,
		       int64_t *ret);

#endif
