/* SPDX-License-Identifier: MIT */
/* cmd_run.c - start a program with the agent loaded, and become it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cli/options.h"
#include "cli/report.h"

/* What shells answer: env(1), nohup(1) and POSIX's sh have the same two. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NO_SUCH_COMMAND 127

const char *const hsnap_stacks_choices[] = { "auto", "fp", "unwind", "caller", NULL };
const char *const hsnap_children_choices[] = { "yes", "no", NULL };

static int report(const struct hsnap_error *err, bool of_command)
{
	int status = hsnap_report(err, HSNAP_DOING_OTHER);
	if (of_command && err->code == HSNAP_NOT_FOUND)
		return EXIT_NO_SUCH_COMMAND;
	if (of_command && err->code == HSNAP_IO)
		return EXIT_NOT_EXECUTABLE;
	return err->code == HSNAP_REFUSED || err->code == HSNAP_NOT_FOUND ? HSNAP_EXIT_USAGE : status;
}

int hsnap_cmd_run(int argc, char **argv)
{
	struct hsnap_options options;
	struct hsnap_error err = { 0 };
	char agent[PATH_MAX];
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	if (hsnap_agent_check(options.args[0], &err))
		return report(&err, true);
	if (hsnap_agent_path(agent, sizeof(agent), &err))
		return report(&err, false);
	/* What the agent does anyway is not said: that leaves room for the variables. */
	const char *stacks = options.stacks ? hsnap_stacks_choices[options.stacks] : NULL;
	const char *children = options.children ? hsnap_children_choices[options.children] : NULL;
	if (hsnap_agent_environment(agent, stacks, children, &err))
		return report(&err, false);
	execvp(options.args[0], options.args);
	enum hsnap_code code = errno == ENOENT ? HSNAP_NOT_FOUND : HSNAP_IO;
	hsnap_fail(&err, code, 0, "cannot run '%s': %s", options.args[0], strerror(errno));
	return report(&err, true);
}
