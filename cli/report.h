/* SPDX-License-Identifier: MIT */
/* report.h - how a command ends: exit statuses, and errors on stderr, one line each. */
#ifndef HSNAP_CLI_REPORT_H
#define HSNAP_CLI_REPORT_H

#include "snapshot/base/error.h"

/* docs/cli.md, "Exit status". */
enum hsnap_exit {
	HSNAP_EXIT_DONE = 0,
	HSNAP_EXIT_GATE = 1,         /* a gate asked for with --fail-… did not hold */
	HSNAP_EXIT_USAGE = 2,        /* wrong use */
	HSNAP_EXIT_NOT_CAPTURED = 3, /* gone, not permitted, not supported, too little memory */
	HSNAP_EXIT_UNREADABLE = 4,   /* a snapshot is missing, damaged or newer */
	HSNAP_EXIT_OTHER = 5,
	HSNAP_EXIT_PARTIAL = 6,      /* not all of it was captured */
	HSNAP_EXIT_INTERRUPTED = 130,
};

/* What was being done when an error came up: the same code means different exits. */
enum hsnap_doing { HSNAP_DOING_OTHER, HSNAP_DOING_READ, HSNAP_DOING_CAPTURE };

int hsnap_exit_status(enum hsnap_code code, enum hsnap_doing doing);

/* Print `heapsnap: MESSAGE` ("cannot " is put before it where it is missing) and the hint if
 * there is one.  Returns the exit status. */
int hsnap_report(const struct hsnap_error *err, enum hsnap_doing doing);

/* Print `heapsnap: cannot …` and, unless hint is NULL, `hint: …`; returns HSNAP_EXIT_USAGE. */
int hsnap_wrong_use(const char *hint, const char *format, ...) HSNAP_PRINTF(2, 3);

/* `heapsnap: …` on stderr, control characters escaped: news, not an error. */
void hsnap_say(const char *format, ...) HSNAP_PRINTF(1, 2);

#endif
