/* SPDX-License-Identifier: MIT */
/* commands.c - the table of commands. */
#include "cli/commands.h"

#include <string.h>

const struct hsnap_command hsnap_commands[] = {
	{
		.name = "run",
		.bit = HSNAP_CMD_RUN,
		.run = hsnap_cmd_run,
		.summary = "start a program with the debug agent loaded, so that take knows more of its heap",
		.usage = "[OPTION...] [--] CMD [ARG...]",
		.examples = { "heapsnap run -- ./bookstore", "heapsnap run --stacks caller -- redis-server --port 7777",
			      "heapsnap run --children no -- ./start-service.sh" },
		.min_args = 1,
		.max_args = -1,
		.to_the_command = true,
	},
	{
		.name = "take",
		.bit = HSNAP_CMD_TAKE,
		.run = hsnap_cmd_take,
		.summary = "snapshot a live process, prepared or not, or a core file",
		.usage = "-p PID|--core CORE [OPTION...]",
		.examples = { "heapsnap take -p 4711 -o b.snap", "heapsnap take --core core.4711 --exe ./bookstore",
			      "heapsnap take -p 4711 -o - | heapsnap show -" },
		.max_args = 0,
	},
	{
		.name = "show",
		.bit = HSNAP_CMD_SHOW,
		.run = hsnap_cmd_show,
		.summary = "one snapshot: the process, and its types ranked by bytes",
		.usage = "[OPTION...] [SNAP]",
		.examples = { "heapsnap show b.snap", "heapsnap show --by count --top 10 b.snap",
			      "heapsnap show --json b.snap | jq '.types[0]'" },
		.max_args = 1,
	},
	{
		.name = "diff",
		.bit = HSNAP_CMD_DIFF,
		.run = hsnap_cmd_diff,
		.summary = "which types grew from the first snapshot to the last",
		.usage = "[OPTION...] A B [C...]",
		.examples = { "heapsnap diff a.snap b.snap", "heapsnap diff --by count a.snap b.snap c.snap",
			      "heapsnap diff --csv a.snap b.snap > growth.csv" },
		.min_args = 2,
		.max_args = HSNAP_MOST_SNAPSHOTS,
	},
	{
		.name = "why",
		.bit = HSNAP_CMD_WHY,
		.run = hsnap_cmd_why,
		.summary = "who keeps it alive: paths from the roots, merged by shape, ranked by bytes",
		.usage = "[OPTION...] TYPE|0xADDR [SNAP]",
		.examples = { "heapsnap why CacheEntry b.snap", "heapsnap why 'char[] in DictNode.key' b.snap",
			      "heapsnap why --json Handler b.snap | jq '.paths[0].steps'" },
		.min_args = 1,
		.max_args = 2,
	},
	{
		.name = "leaks",
		.bit = HSNAP_CMD_LEAKS,
		.run = hsnap_cmd_leaks,
		.summary = "what no root reaches, each leaked structure by its head",
		.usage = "[OPTION...] [SNAP]",
		.examples = { "heapsnap leaks b.snap", "heapsnap leaks --fail-on-leak b.snap",
			      "heapsnap leaks --json b.snap | jq '.groups[0].site'" },
		.max_args = 1,
	},
};
const size_t hsnap_num_commands = sizeof(hsnap_commands) / sizeof(*hsnap_commands);

const struct hsnap_command *hsnap_command_find(const char *name)
{
	for (size_t i = 0; i < hsnap_num_commands; i++)
		if (!strcmp(hsnap_commands[i].name, name))
			return &hsnap_commands[i];
	return NULL;
}
