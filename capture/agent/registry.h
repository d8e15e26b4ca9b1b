/* SPDX-License-Identifier: MIT */
/*
 * registry.h - blocks that have no trailer, by their address.
 *
 * Layout in capture/wire.h.  Whoever holds a block, between the call that handed it out and the one
 * that gives it back, is alone in asking for its address: so an entry is taken out before the block
 * is given back, and put in after it was handed out.  Any thread may move entries meanwhile.
 *
 * Nothing waits here: not for another thread, not for one that a fork left behind, not for what a signal
 * handler has interrupted.  At most 48 bytes for each of the blocks that were live at once.
 */
#ifndef HSNAP_CAPTURE_AGENT_REGISTRY_H
#define HSNAP_CAPTURE_AGENT_REGISTRY_H

#include "capture/agent/agent.h"

/* An entry that was found. */
struct hsnap_agent_entry {
	uint64_t *place;
	uint64_t word, second; /* as they stood there */
};

/* A key is a block's address, or HSNAP_KEY() of another kind. */

/* false: no room, or such a size that it does not fit; counted in registry_lost. */
bool hsnap_agent_registry_add(uint64_t key, uint64_t requested, uint32_t site, unsigned epoch);
/* Take an entry out; false: it is not there, and nothing was written. */
bool hsnap_agent_registry_take(uint64_t key, uint64_t *ret_requested, uint32_t *ret_site);

/* The same in two steps, for who has something to do in between; false: it is not there. */
bool hsnap_agent_registry_find(uint64_t key, struct hsnap_agent_entry *ret);
void hsnap_agent_registry_drop(struct hsnap_agent_entry *entry);

/* Keep an entry where it is, found by nobody, while its block may move; then drop it, or let it be as
 * it was.  false: it is not there. */
bool hsnap_agent_registry_hold(uint64_t key, struct hsnap_agent_entry *ret);
void hsnap_agent_registry_let_go(const struct hsnap_agent_entry *held);

/* Take out all of other kinds than blocks of which that is true.  Cost: a look at all entries. */
void hsnap_agent_registry_sweep(bool (*is_gone)(uint64_t word, uint64_t second, uint64_t context), uint64_t context);

#endif
