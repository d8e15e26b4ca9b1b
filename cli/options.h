/* SPDX-License-Identifier: MIT */
/*
 * options.h - one table of options: the parser, --help and completion all read it.
 *
 * To add an option: a field in struct hsnap_options and a row in options.c.
 */
#ifndef HSNAP_CLI_OPTIONS_H
#define HSNAP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/commands.h"

enum hsnap_by { HSNAP_BY_BYTES, HSNAP_BY_COUNT };

#define HSNAP_MOST_TYPES 16 /* files */

/* Every command's options; what was not given has the value said here. */
struct hsnap_options {
	const struct hsnap_command *command;
	char **args; /* operands; points into argv, NULL at its end */
	int num_args;

	uint64_t by;  /* enum hsnap_by; bytes */
	uint64_t top; /* rows of text; UINT64_MAX: all; through hsnap_top() */
	bool json, csv, full_names, ascii, no_color, no_pager, quiet;
	bool help, version;
	bool allow_partial;
	bool fail_on_leak;
	bool expand;  /* show, diff: objects in pools as objects */
	bool explain; /* why: what the name of the block rests on, not who keeps it */
	uint64_t pid; /* 0: not given */
	const char *output; /* take: NULL: the default name */
	bool force;
	const char *core, *exe;      /* take */
	const char *types[HSNAP_MOST_TYPES + 1]; /* files that say what types are; NULL at the end */
	uint64_t freeze, allocator;  /* take: enum hsnap_freeze_mode, enum hsnap_heap_from */
	uint64_t max_pause;          /* take: milliseconds */
	const char *scratch;         /* take: a folder, or NULL */
	bool suspend_seccomp, dry_run;
	uint64_t stacks, children; /* run: indices into hsnap_…_choices, 0 by default */
};

#define HSNAP_TOP_DEFAULT (UINT64_MAX - 1)

static inline uint64_t hsnap_top(const struct hsnap_options *options, uint64_t by_default)
{
	return options->top == HSNAP_TOP_DEFAULT ? by_default : options->top;
}

enum hsnap_option_kind {
	HSNAP_OPTION_FLAG,   /* bool */
	HSNAP_OPTION_TEXT,   /* const char * */
	HSNAP_OPTION_TEXTS,  /* const char *[HSNAP_MOST_TYPES + 1], may be given several times */
	HSNAP_OPTION_NUMBER, /* uint64_t, decimal */
	HSNAP_OPTION_PID,    /* uint64_t, decimal, the number of a process, once */
	HSNAP_OPTION_TOP,    /* uint64_t, decimal, 0 is UINT64_MAX */
	HSNAP_OPTION_CHOICE, /* uint64_t, index into choices */
};

struct hsnap_option {
	const char *name; /* without the dashes */
	char letter;      /* short form, or 0 */
	enum hsnap_option_kind kind;
	unsigned commands; /* enum hsnap_command_bit */
	size_t field;      /* offset in struct hsnap_options */
	const char *arg;   /* what --help calls the argument; NULL for flags */
	const char *const *choices; /* CHOICE: NULL at the end */
	const char *group; /* heading in --help */
	const char *help;  /* no full stop */
};

extern const struct hsnap_option hsnap_option_table[];
extern const size_t hsnap_num_options;

/* cmd_run.c: how the agent walks stacks; whether children get it too. */
extern const char *const hsnap_stacks_choices[];
extern const char *const hsnap_children_choices[];

#define HSNAP_MAX_PAUSE 500 /* ms, where no other was asked for */

#define HSNAP_GO_ON (-1)

/**
 * Parse a command's arguments.  Options and operands may be mixed, "--" ends the options.
 * Prints --help, --version and what is wrong itself.
 * @return HSNAP_GO_ON, or the exit status to leave with
 */
int hsnap_options_parse(int argc, char **argv, struct hsnap_options *ret);

/* One screen; false: it could not be written. */
void hsnap_help(const struct hsnap_command *command, FILE *out);

#endif
