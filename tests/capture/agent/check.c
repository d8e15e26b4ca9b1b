/* SPDX-License-Identifier: MIT */
/* check.c COMMAND - what `run` would say before it starts COMMAND; "path": where the agent is. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"

int main(int argc, char **argv)
{
	static const char *const codes[] = { "ok", "not found", "no memory", "not executable", "format",
					     "fault", "unsupported", "refused", "interrupted" };
	struct hsnap_error err = { 0 };
	char path[PATH_MAX];
	if (argc < 2)
		return 2;
	enum hsnap_code code = !strcmp(argv[1], "path") ? hsnap_agent_path(path, sizeof(path), &err)
							: hsnap_agent_check(argv[1], &err);
	if (!code && !strcmp(argv[1], "path"))
		puts(path);
	else
		printf("%s|%s|%s\n", codes[code], err.message, err.hint);
	return 0;
}
