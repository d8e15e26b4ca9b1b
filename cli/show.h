/* SPDX-License-Identifier: MIT */
/* show.h - what `show` prints, of a snapshot that is at hand. */
#ifndef HSNAP_CLI_SHOW_H
#define HSNAP_CLI_SHOW_H

#include "cli/emit.h"
#include "snapshot/snapshot.h"

/* false: out of memory. */
bool hsnap_show(struct hsnap_emit *emit, const char *path, const struct hsnap_snapshot *snapshot);

#endif
