/* SPDX-License-Identifier: MIT */
/* help.c - --help from the tables of commands and options. */
#include <string.h>

#include "cli/options.h"

static void print_option(const struct hsnap_option *option, FILE *out)
{
	char left[64];
	if (option->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", option->letter, option->name,
			 option->arg ? " " : "", option->arg ? option->arg : "");
	else
		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->arg ? " " : "",
			 option->arg ? option->arg : "");
	fprintf(out, "  %-20s  %s\n", left, option->help);
}

/* Options in groups, in the order of the table. */
static void print_options(const struct hsnap_command *command, FILE *out)
{
	const char *group = NULL;
	for (size_t i = 0; i < hsnap_num_options; i++) {
		const struct hsnap_option *option = &hsnap_option_table[i];
		if (!(option->commands & command->bit))
			continue;
		if (!group || strcmp(group, option->group))
			fprintf(out, "%s:\n", option->group);
		group = option->group;
		print_option(option, out);
	}
}

void hsnap_help(const struct hsnap_command *command, FILE *out)
{
	fprintf(out, "heapsnap %s: %s\nusage: heapsnap %s %s\n", command->name, command->summary,
		command->name, command->usage);
	print_options(command, out);
	fprintf(out, "examples:\n");
	for (size_t i = 0; i < 3; i++)
		fprintf(out, "  %s\n", command->examples[i]);
}
