/* SPDX-License-Identifier: MIT */
/* account.h - the memory account as lines of a screen and as a JSON object. */
#ifndef HSNAP_CLI_ACCOUNT_H
#define HSNAP_CLI_ACCOUNT_H

#include "cli/emit.h"
#include "snapshot/snapshot.h"

/* The section "memory" of show; nothing where the snapshot has no account. */
void hsnap_print_account(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot);

/* The section "is it the heap?" of diff, on the basis that it compares by; nothing where neither
 * snapshot has an account. */
void hsnap_print_account_growth(struct hsnap_emit *emit, const struct hsnap_snapshot *first,
				const struct hsnap_snapshot *last, enum hsnap_basis basis);

/* "account": null where there is none. */
void hsnap_emit_account(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot);

#endif
