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

/* false: no room, or such a size that it does not fit; counted in registry_lost. */
bool hsnap_agent_registry_add(uintptr_t address, uint64_t requested, uint32_t site, unsigned epoch);
/* Take an entry out; false: it is not there, and nothing was written. */
bool hsnap_agent_registry_take(uintptr_t address, uint64_t *ret_requested, uint32_t *ret_site);

/* The same in two steps, for who has something to do in between; false: it is not there. */
bool hsnap_agent_registry_find(uintptr_t address, struct hsnap_agent_entry *ret);
void hsnap_agent_registry_drop(struct hsnap_agent_entry *entry);

/* Keep an entry where it is, found by nobody, while its block may move; then drop it, or let it be as
 * it was.  false: it is not there. */
bool hsnap_agent_registry_hold(uintptr_t address, struct hsnap_agent_entry *ret);
void hsnap_agent_registry_let_go(const struct hsnap_agent_entry *held);

#endif
