/* SPDX-License-Identifier: MIT */
/*
 * members.h - members whose type says nothing: where they stand, and what they lead to.
 *
 * Private to landings.c and what it asks.
 */
#ifndef HSNAP_CAPTURE_NAMING_MEMBERS_H
#define HSNAP_CAPTURE_NAMING_MEMBERS_H

#include "capture/naming/work.h"

#define HSNAP_MAX_CANDIDATES 64 /* a member with more can be anything */

/* Such a member, and what it has been seen to lead to. */
struct hsnap_void_member {
	hsnap_dtype_id holder;
	uint64_t offset;
	uint32_t first, num;  /* objects: into candidates */
	hsnap_dtype_id bytes; /* it may be a run of bytes, too; 0: never seen */
	bool declared;        /* as a pointer to bytes */
};

struct hsnap_void_slots {
	struct hsnap_void_slot *items;
	uint32_t num;
	bool made;
};

/* What a member leads to: a block, or an address within it. */
struct hsnap_void_target {
	uint32_t block;
	uint64_t address;
	bool at_start;
};

typedef void hsnap_see_target(void *context, uint32_t member, const struct hsnap_void_target *target);

struct hsnap_void_members {
	struct hsnap_work *work;
	struct hsnap_window reader;
	uint32_t hint;
	struct hsnap_vec(struct hsnap_void_member) items;
	struct hsnap_vec(hsnap_dtype_id) candidates;
	struct hsnap_void_slots *slots; /* one a type */
	uint32_t place; /* that is walked: a block, or behind them a segment */
	hsnap_see_target *see;
	void *context;
	bool only_names; /* what needs no name is not seen: a plain pointer to bytes that leads to no odd address */
	bool stop;      /* to be set by who sees: enough has been seen */
	bool failed;    /* out of memory */
};

/* Zeroed storage is valid for deinit; false: out of memory. */
bool hsnap_void_members_init(struct hsnap_void_members *members, struct hsnap_work *work);
void hsnap_void_members_deinit(struct hsnap_void_members *members);

/* See what the members of all typed places lead to: blocks, objects within blocks, variables. */
void hsnap_void_walk(struct hsnap_void_members *members, hsnap_see_target *see, void *context);

#endif
