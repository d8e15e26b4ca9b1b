/* SPDX-License-Identifier: MIT */
/*
 * agent_inside.h - the agent that the single file carries, brought to where the loader can map it.
 *
 * LD_PRELOAD needs a path, and one that the program's children can open too: no descriptor of ours
 * and nothing that ends with us.  So there is a folder of the user's own that nobody else can write to, and
 * in it a file whose name tells its content.  It is left there; the same build uses it again.
 */
#ifndef HSNAP_CAPTURE_AGENT_INSIDE_H
#define HSNAP_CAPTURE_AGENT_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "snapshot/base/error.h"

/* Of the single file by agent/inside.sh, of all others by agent_none.c, where the size is 0. */
extern const uint8_t hsnap_agent_inside[];
extern const uint64_t hsnap_agent_inside_size; /* bytes */

/**
 * Make `top`/heapsnap-UID if need be: a folder, no link, ours, writable by nobody else.
 * Others may pass through it: a service that gives up root starts children with the agent, too.
 * @return false with errno (EPERM: it is somebody else's, or others can write to it)
 */
bool hsnap_private_folder(const char *top, char *folder, size_t size);

/* A path that LD_PRELOAD can carry: ld.so takes blanks and colons for separators, and expands $ORIGIN. */
bool hsnap_can_be_carried(const char *path);

/**
 * The path of a file with these bytes in the first of the places that can be written and mapped as
 * code.  One that stands there is used only if it is ours and every byte is right; else it is replaced.
 * @param places  folders, up to a NULL or one that is ""
 * @return HSNAP_OK; HSNAP_IO: what stood in the way at the first of the places, and a hint
 */
HSNAP_CHECKED enum hsnap_code hsnap_agent_unpack(const void *bytes, size_t num, const char *const *places,
						 char *path, size_t size, struct hsnap_error *err);

#endif
