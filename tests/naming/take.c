/* SPDX-License-Identifier: MIT */
/*
 * take.c - a snapshot whose names owe nothing to call sites: take PID SNAP.
 *
 * The call sites are then a witness of their own (sites.py); the program itself has no such option.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "snapshot/base/cleanup.h"

int main(int argc, char **argv)
{
	struct hsnap_error err = { 0 };
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *snapshot = NULL;
	if (argc != 3) {
		fputs("usage: take PID SNAP\n", stderr);
		return 2;
	}
	struct hsnap_take_options options = { .pid = (pid_t)atoi(argv[1]), .without_sites = true };
	enum hsnap_code code = hsnap_capture_take(&options, &snapshot, &err);
	if (!code)
		code = hsnap_snapshot_write(snapshot, argv[2], true, NULL, &err);
	if (code)
		fprintf(stderr, "take: %s\n", err.message);
	return code ? 3 : 0;
}
