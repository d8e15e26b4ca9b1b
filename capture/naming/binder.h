/* SPDX-License-Identifier: MIT */
/* binder.h - what the halves of binding share: bind.c, compile.c, lookup.c.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_BINDER_H
#define HSNAP_CAPTURE_NAMING_BINDER_H

#include "capture/naming/bound.h"

/* Types of one name. */
struct hsnap_type_list hsnap_vec_body(hsnap_dtype_id);

struct hsnap_binder {
	struct hsnap_bounds *bounds;
	const struct hsnap_rules *rules;
	const struct hsnap_target *target;
	struct hsnap_symbols *symbols;
	const struct hsnap_rule *rule; /* that is being bound */
	bool *open;                    /* one a module: the rule's file speaks of it */
	enum hsnap_code code;          /* of the first error */
	struct hsnap_error *err;
};

/* "FILE:LINE: why"; the first one stays. */
void hsnap_bind_refuse(struct hsnap_binder *binder, const char *format, ...) HSNAP_PRINTF(2, 3);
void hsnap_bind_hint(struct hsnap_binder *binder, const char *format, ...) HSNAP_PRINTF(2, 3);
void hsnap_bind_no_memory(struct hsnap_binder *binder);

static inline const char *hsnap_bind_text(const struct hsnap_binder *binder, hsnap_string s)
{
	return hsnap_str(&binder->rules->strings, s);
}

/* --- lookup.c --- */

/* What of a type's members a name means. */
struct hsnap_named {
	hsnap_dtype_id type;
	uint64_t offset;
	uint32_t flags; /* HSNAP_DMEMBER_… */
};

/* By itself, or in what has no name of its own; false: there is none. */
bool hsnap_find_member(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name, struct hsnap_named *ret);
/* "its members are a, b, c"; or the one that is spelled nearly so. */
void hsnap_hint_member(struct hsnap_binder *binder, hsnap_dtype_id type, const char *name);

/* All types of a name, each kind that is in `kinds` (bits by enum hsnap_dtype_kind), typedefs included. */
void hsnap_find_types(struct hsnap_binder *binder, const struct hsnap_rule_type *wanted, unsigned kinds,
		      struct hsnap_type_list *ret);
/* There is no such type: say so, and which one is spelled nearly so. */
void hsnap_refuse_type(struct hsnap_binder *binder, const struct hsnap_rule_type *wanted);
/* An enumerator; false: there is none, or several that differ (which is refused). */
bool hsnap_find_enumerator(struct hsnap_binder *binder, hsnap_string name, int64_t *ret);
/* A variable; false: there is none.  Of several by one name the first. */
bool hsnap_find_variable(struct hsnap_binder *binder, hsnap_string name, uint32_t *ret);

/* --- compile.c --- */

/* What an expression's names are looked up in; 0: nothing is known of the object. */
struct hsnap_scope {
	hsnap_dtype_id base, led_to;
};

/* HSNAP_NO_EXPR gives the empty program. */
struct hsnap_program hsnap_compile(struct hsnap_binder *binder, uint32_t expr, const struct hsnap_scope *scope);

#define HSNAP_KINDS_OBJECT (1u << HSNAP_DTYPE_STRUCT | 1u << HSNAP_DTYPE_UNION)
#define HSNAP_KINDS_PLAIN (1u << HSNAP_DTYPE_SCALAR | 1u << HSNAP_DTYPE_BYTE)

#endif
