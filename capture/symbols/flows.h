/* SPDX-License-Identifier: MIT */
/*
 * flows.h - which ways pointers go whose type says nothing; private to casts.c and flows.c.
 *
 * Ends of a way are numbers that mean the same in every function: a type, a member, a variable,
 * what a function is handed or returns.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_FLOWS_H
#define HSNAP_CAPTURE_SYMBOLS_FLOWS_H

#include "capture/symbols/reader.h"

enum hsnap_flow_kind {
	HSNAP_FLOW_NONE,
	HSNAP_FLOW_TYPE,      /* pointers to type `a` */
	HSNAP_FLOW_OPAQUE,    /* pointers to the declaration `a` */
	HSNAP_FLOW_MEMBER,    /* the member at offset `b` of the struct or union `a` */
	HSNAP_FLOW_VARIABLE,  /* the void * variable with the entry `a` */
	HSNAP_FLOW_PARAMETER, /* what the function at address `a` is handed in register `b` */
	HSNAP_FLOW_RESULT,    /* what the function at address `a` returns */
};

/* 0: none.  Types are indices into reader->types. */
typedef uint64_t hsnap_flow_end;

/* 0 where the numbers are too large to be held. */
hsnap_flow_end hsnap_flow_end_of(enum hsnap_flow_kind kind, uint64_t a, uint64_t b);
static inline enum hsnap_flow_kind hsnap_flow_kind_of(hsnap_flow_end end)
{
	return (enum hsnap_flow_kind)(end >> 60);
}

/* The type of a TYPE or OPAQUE. */
uint32_t hsnap_flow_type(hsnap_flow_end end);

/* A value goes from one to the other, in `times` functions. */
struct hsnap_flow_edge {
	hsnap_flow_end from, to;
	uint32_t times;
};

struct hsnap_flows {
	struct hsnap_vec(struct hsnap_flow_edge) edges;
	size_t done;   /* edges of functions that are finished: each once a function */
	bool overflow; /* there were too many */
};

void hsnap_flows_deinit(struct hsnap_flows *flows);
/* false: out of memory, or too many. */
bool hsnap_flows_add(struct hsnap_flows *flows, hsnap_flow_end from, hsnap_flow_end to);
void hsnap_flows_end_function(struct hsnap_flows *flows);
/* out->aliases and out->landings, in terms of reader->types; false: out of memory. */
bool hsnap_flows_answer(struct hsnap_flows *flows, struct hsnap_symbols *out);
/* Once these name out->types, and those are written: each once, in order, and only what is of use. */
void hsnap_flows_merge(struct hsnap_symbols *out);

#endif
