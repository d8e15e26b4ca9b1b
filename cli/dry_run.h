/* SPDX-License-Identifier: MIT */
/* dry_run.h - take --dry-run: what each way would cost, and what is permitted. */
#ifndef HSNAP_CLI_DRY_RUN_H
#define HSNAP_CLI_DRY_RUN_H

#include "cli/options.h"

/* Print it; the exit status is what a take would have, as far as can be known beforehand. */
int hsnap_dry_run(const struct hsnap_options *options);

#endif
