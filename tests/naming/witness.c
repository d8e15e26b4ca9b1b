/* SPDX-License-Identifier: MIT */
/* witness.c - the program: witness SNAP PID WHAT [ARG…], see witness.h. */
#include "tests/naming/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

static int usage(void)
{
	fputs("usage: witness SNAP PID python NAMES | lua STRT LIST… | words | classes FILE | sites | placed FILE\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct hsnap_error err = { 0 };
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *snapshot = NULL;
	if (argc < 4)
		return usage();
	if (hsnap_snapshot_read(argv[1], HSNAP_LOAD_NODES, &snapshot, &err)) {
		fprintf(stderr, "witness: %s\n", err.message);
		return 4;
	}
	const char *what = argv[3], *argument = argv[4];
	if (!memory_open(atoi(argv[2])))
		return 3;
	bool done;
	if (!strcmp(what, "words"))
		done = witness_words(snapshot);
	else if (!strcmp(what, "sites"))
		done = witness_sites(snapshot);
	else if (!argument)
		return usage();
	else if (!strcmp(what, "python"))
		done = witness_python(snapshot, argument);
	else if (!strcmp(what, "lua"))
		done = witness_lua(argv + 5, strtoull(argument, NULL, 0));
	else if (!strcmp(what, "classes"))
		done = witness_classes(snapshot, argument);
	else if (!strcmp(what, "placed"))
		done = witness_placed(snapshot, argument);
	else
		return usage();
	return done && !ferror(stdout) && !fflush(stdout) ? 0 : 5;
}
