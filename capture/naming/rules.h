/* SPDX-License-Identifier: MIT */
/*
 * rules.h - what a user's --types files say (docs/naming.md has their grammar).
 *
 * A file is read into rules as it is written, before any process is looked at; names are names.  What they mean
 * in one process is found out by binding (bound.h).  Private to capture/naming, but for struct hsnap_rules
 * itself, which capture/types.c makes for the public.
 */
#ifndef HSNAP_CAPTURE_NAMING_RULES_H
#define HSNAP_CAPTURE_NAMING_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

#define HSNAP_MAX_RULES 4096u           /* of all files */
#define HSNAP_MAX_RULES_FILE (1u << 20) /* bytes */
#define HSNAP_MAX_OWNERS 32u            /* places that are owners, of all files */

/* What stands in an expression; operands are indices into exprs. */
enum hsnap_expr_op {
	HSNAP_EXPR_NUMBER,  /* value */
	HSNAP_EXPR_WORD,    /* @: the word that the rule is about */
	HSNAP_EXPR_PATH,    /* a..: first step, b: steps; value 1: from the object that is led to */
	HSNAP_EXPR_ADDRESS, /* &name: the address of variable a (a string) */
	HSNAP_EXPR_NEGATE,
	HSNAP_EXPR_NOT,
	HSNAP_EXPR_INVERT,
	HSNAP_EXPR_PEEK, /* u8(a) … u64(a): the number of value bytes at an address */
	HSNAP_EXPR_ADD, /* from here on two operands */
	HSNAP_EXPR_SUBTRACT,
	HSNAP_EXPR_MULTIPLY,
	HSNAP_EXPR_DIVIDE,
	HSNAP_EXPR_REST,
	HSNAP_EXPR_LEFT,
	HSNAP_EXPR_RIGHT,
	HSNAP_EXPR_AND_BITS,
	HSNAP_EXPR_OR_BITS,
	HSNAP_EXPR_XOR_BITS,
	HSNAP_EXPR_EQUAL,
	HSNAP_EXPR_UNEQUAL,
	HSNAP_EXPR_LESS,
	HSNAP_EXPR_MORE,
	HSNAP_EXPR_AT_MOST,
	HSNAP_EXPR_AT_LEAST,
	HSNAP_EXPR_AND,
	HSNAP_EXPR_OR,
};

struct hsnap_expr {
	uint8_t op; /* enum hsnap_expr_op */
	uint32_t a, b;
	int64_t value;
};

/* One name of a path. */
struct hsnap_step_name {
	hsnap_string name;
	bool follow; /* "->" stands before it: what stands before that is a pointer */
};

/* A path as written: [first, first + num) of steps. */
struct hsnap_rule_path {
	uint32_t first, num;
};

/* "unsigned long", "dict@dict.c", "TString *". */
struct hsnap_rule_type {
	hsnap_string name, file; /* file: "" for any */
	uint32_t stars;
};

enum hsnap_rule_kind {
	HSNAP_RULE_HOLDS, /* a member of `type` leads to `held` */
	HSNAP_RULE_IS,    /* what is called a `type` is a `held` */
	HSNAP_RULE_ANY,   /* any block is a `held`, whatever leads to it */
};

/* How many objects a pointer leads to. */
enum hsnap_rule_form {
	HSNAP_RULE_ONE,
	HSNAP_RULE_FILL,  /* T[]: as many as the block has room for */
	HSNAP_RULE_COUNT, /* T[n] */
};

#define HSNAP_NO_EXPR UINT32_MAX

struct hsnap_rule {
	uint8_t kind, form;
	uint32_t file, line; /* file: index into files */
	struct hsnap_rule_type type, held;
	struct hsnap_rule_path path;  /* HOLDS: of the member; num 0: it stands at `place` */
	uint32_t place;               /* expressions, or HSNAP_NO_EXPR: where the first pointer stands in the object … */
	bool elsewhere;               /* place is an address, and no distance from the object */
	bool many;                    /* [] or [n] behind the member: all pointers of the array, or */
	uint32_t pointers;            /* … so many */
	uint32_t count;               /* COUNT */
	uint32_t when;
	uint32_t step, from;          /* a pool: bytes from object to object, and to the first one */
	struct hsnap_rule_path live;  /* a pool's object is in use if this number of it … */
	uint64_t live_mask, live_value; /* … is that, by these bits; live.num 0: each is */
	uint32_t extra;               /* so many bytes stand behind the object in its block */
	struct hsnap_rule_path at;    /* the pointer leads to this member of the object, or … */
	uint64_t behind_start;        /* … so many bytes behind its start */
	uint64_t header;              /* the object begins so many bytes behind the block's start */
	uint64_t mask;                /* bits of the word that are no address */
	uint32_t first_owner, num_owners; /* "under …"; into owners */
};

/* "redisDb.dict", "g_table": a type or a variable, and a member in it. */
struct hsnap_rule_owner {
	struct hsnap_rule_type type; /* or the variable's name */
	struct hsnap_rule_path path; /* num 0: the whole */
	uint32_t when;               /* of the object that has the member */
};

struct hsnap_rule_constant {
	hsnap_string name;
	int64_t value;
};

struct hsnap_rule_file {
	hsnap_string name;
	uint32_t first_pattern, num_patterns;   /* "module …"; none: all modules */
	uint32_t first_constant, num_constants; /* "let …" */
};

struct hsnap_rules {
	struct hsnap_strings strings;
	struct hsnap_vec(struct hsnap_rule_file) files;
	struct hsnap_vec(hsnap_string) patterns;
	struct hsnap_vec(struct hsnap_rule_constant) constants;
	struct hsnap_vec(struct hsnap_rule) rules;
	struct hsnap_vec(struct hsnap_rule_owner) owners;
	struct hsnap_vec(struct hsnap_step_name) steps;
	struct hsnap_vec(struct hsnap_expr) exprs;
};

/* Zeroed storage is valid and says nothing. */
void hsnap_rules_deinit(struct hsnap_rules *rules);

/**
 * Add what a file says.
 *
 * @param name  what errors call it: "lua5.4", "./pool.types"
 * @return HSNAP_OK; HSNAP_FORMAT: "NAME:LINE: why", rules are to be thrown away; HSNAP_NO_MEMORY
 * Cost: linear in size; recursion is bounded.
 */
HSNAP_CHECKED enum hsnap_code hsnap_rules_parse(struct hsnap_rules *rules, const char *name, const char *text,
						size_t size, struct hsnap_error *err);

/**
 * All names that may be a typedef's or an enumerator's, for hsnap_symbols_load_words(): the texts are the rules'.
 * @param[out] ret  to be freed; NULL: out of memory
 */
const char **hsnap_rules_words(const struct hsnap_rules *rules, size_t *ret_num);

/* "lua5.4:12". */
void hsnap_rule_place(const struct hsnap_rules *rules, const struct hsnap_rule *rule, char *to, size_t size);

#endif
