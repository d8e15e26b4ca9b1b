/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the table of commands.  To add one: declare its function here, give it a row in
 * commands.c, and name it in the rows of options.c whose options it takes.
 */
#ifndef HSNAP_CLI_COMMANDS_H
#define HSNAP_CLI_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#define HSNAP_MOST_SNAPSHOTS 24 /* of one diff */

/* Bits for the option table: which commands take an option. */
enum hsnap_command_bit {
	HSNAP_CMD_RUN = 1,
	HSNAP_CMD_TAKE = 2,
	HSNAP_CMD_SHOW = 4,
	HSNAP_CMD_DIFF = 8,
	HSNAP_CMD_WHY = 16,
	HSNAP_CMD_LEAKS = 32,
	HSNAP_CMD_READERS = HSNAP_CMD_SHOW | HSNAP_CMD_DIFF | HSNAP_CMD_WHY | HSNAP_CMD_LEAKS,
	HSNAP_CMD_ALL = HSNAP_CMD_RUN | HSNAP_CMD_TAKE | HSNAP_CMD_READERS,
};

struct hsnap_command {
	const char *name;
	enum hsnap_command_bit bit;
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
	const char *summary;     /* one line, no full stop */
	const char *usage;       /* what follows the name */
	const char *examples[3]; /* commands that work with the demo's files */
	int min_args, max_args;  /* operands; -1: any number */
	bool to_the_command;     /* the first operand ends the options: the rest is a command's */
};

extern const struct hsnap_command hsnap_commands[];
extern const size_t hsnap_num_commands;

const struct hsnap_command *hsnap_command_find(const char *name);

int hsnap_cmd_run(int argc, char **argv);
int hsnap_cmd_take(int argc, char **argv);
int hsnap_cmd_show(int argc, char **argv);
int hsnap_cmd_diff(int argc, char **argv);
int hsnap_cmd_why(int argc, char **argv);
int hsnap_cmd_leaks(int argc, char **argv);

#endif
