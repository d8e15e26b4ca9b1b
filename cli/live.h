/* SPDX-License-Identifier: MIT */
/* live.h - a snapshot of a live process for a command, with progress and an orderly end on Ctrl-C. */
#ifndef HSNAP_CLI_LIVE_H
#define HSNAP_CLI_LIVE_H

#include "capture/capture.h"
#include "cli/options.h"
#include "snapshot/snapshot.h"

/* Of the process of --pid.  HSNAP_GO_ON, or the exit status: what went wrong has been said. */
int hsnap_live_take(const struct hsnap_options *options, struct hsnap_snapshot **ret);
/* What a take of it would cost; it is left alone.  The same answers. */
int hsnap_live_forecast(const struct hsnap_options *options, struct hsnap_forecast *ret);

#endif
