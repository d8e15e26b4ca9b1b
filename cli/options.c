/* SPDX-License-Identifier: MIT */
/* options.c - the table of options and its parser. */
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit.h"
#include "cli/report.h"
#include "cli/text.h"

static const char *const by_choices[] = { "bytes", "count", NULL };
/* In the order of enum hsnap_freeze_mode and enum hsnap_heap_from. */
static const char *const freeze_choices[] = { "auto", "copy", "precopy", "clone", NULL };
static const char *const allocator_choices[] = { "auto", "agent", "glibc", NULL };

#define AGENT "the agent"
#define CAPTURE "what to capture"
#define ANSWER "what to show"
#define STILL "how it is held still"
#define FORM "how to print it"
#define ROW(name, letter, kind, commands, field, arg, choices, group, help) \
	{ name, letter, HSNAP_OPTION_##kind, commands, offsetof(struct hsnap_options, field), arg, choices, \
	  group, help }

const struct hsnap_option hsnap_option_table[] = {
	ROW("stacks", 0, CHOICE, HSNAP_CMD_RUN, stacks, "auto|fp|unwind|caller", hsnap_stacks_choices, AGENT,
	    "how call stacks are found (auto: by frame pointers where the program has them)"),
	ROW("children", 0, CHOICE, HSNAP_CMD_RUN, children, "yes|no", hsnap_children_choices, AGENT,
	    "load the agent into what CMD starts, too (yes)"),
	ROW("pid", 'p', PID, HSNAP_CMD_TAKE, pid, "PID", NULL, CAPTURE, "the process"),
	ROW("core", 0, TEXT, HSNAP_CMD_TAKE, core, "CORE", NULL, CAPTURE, "a core file in place of a process"),
	ROW("exe", 0, TEXT, HSNAP_CMD_TAKE, exe, "FILE", NULL, CAPTURE, "the core's executable, where it has moved"),
	ROW("types", 0, TEXTS, HSNAP_CMD_TAKE, types, "FILE", NULL, CAPTURE,
	    "what void pointers and unions hold, in your words (lua5.4)"),
	ROW("allocator", 0, CHOICE, HSNAP_CMD_TAKE, allocator, "auto|agent|glibc", allocator_choices, CAPTURE,
	    "who tells which blocks there are (auto: the agent where it is loaded)"),
	ROW("output", 'o', TEXT, HSNAP_CMD_TAKE, output, "FILE", NULL, CAPTURE,
	    "write this file (COMM-PID-TIME.snap); - for stdout"),
	ROW("force", 0, FLAG, HSNAP_CMD_TAKE, force, NULL, NULL, CAPTURE, "replace a file that is there"),
	ROW("freeze", 0, CHOICE, HSNAP_CMD_TAKE, freeze, "auto|copy|precopy|clone", freeze_choices, STILL,
	    "the way (auto: precopy where it can be had, else copy)"),
	ROW("max-pause", 0, NUMBER, HSNAP_CMD_TAKE, max_pause, "MS", NULL, STILL,
	    "give up rather than hold it longer (500; 0: no limit)"),
	ROW("dry-run", 0, FLAG, HSNAP_CMD_TAKE, dry_run, NULL, NULL, STILL,
	    "only say what each way would cost, and what is permitted"),
	ROW("scratch", 0, TEXT, HSNAP_CMD_TAKE, scratch, "DIR", NULL, STILL,
	    "keep the copied pages in a file there, not in memory"),
	ROW("suspend-seccomp", 0, FLAG, HSNAP_CMD_TAKE, suspend_seccomp, NULL, NULL, STILL,
	    "lift its seccomp filter for the moment of a call"),
	ROW("pid", 'p', PID, HSNAP_CMD_SHOW | HSNAP_CMD_WHY | HSNAP_CMD_LEAKS, pid, "PID", NULL, ANSWER,
	    "a live process in place of a snapshot"),
	ROW("types", 0, TEXTS, HSNAP_CMD_SHOW | HSNAP_CMD_WHY | HSNAP_CMD_LEAKS, types, "FILE", NULL, ANSWER,
	    "with -p: as of take"),
	ROW("by", 0, CHOICE, HSNAP_CMD_READERS, by, "bytes|count", by_choices, ANSWER,
	    "rank by this (bytes)"),
	ROW("top", 0, TOP, HSNAP_CMD_READERS, top, "N", NULL, ANSWER, "so many rows (25; of paths 10); 0 for all"),
	ROW("allow-partial", 0, FLAG, HSNAP_CMD_READERS | HSNAP_CMD_TAKE, allow_partial, NULL, NULL, ANSWER,
	    "exit 0 and not 6 when the snapshot is incomplete"),
	ROW("expand", 0, FLAG, HSNAP_CMD_SHOW | HSNAP_CMD_DIFF, expand, NULL, NULL, ANSWER,
	    "count what is seen in pools as objects of its own"),
	ROW("explain", 0, FLAG, HSNAP_CMD_WHY, explain, NULL, NULL, ANSWER,
	    "what the name of the block at 0xADDR rests on"),
	ROW("fail-on-leak", 0, FLAG, HSNAP_CMD_LEAKS, fail_on_leak, NULL, NULL, ANSWER,
	    "exit 1 when there is a leak"),
	ROW("json", 0, FLAG, HSNAP_CMD_READERS, json, NULL, NULL, FORM, "JSON, all of it"),
	ROW("json", 0, FLAG, HSNAP_CMD_TAKE, json, NULL, NULL, FORM, "--dry-run as JSON"),
	ROW("csv", 0, FLAG, HSNAP_CMD_READERS, csv, NULL, NULL, FORM, "CSV, the rows of the JSON"),
	ROW("full-names", 0, FLAG, HSNAP_CMD_READERS, full_names, NULL, NULL, FORM,
	    "never cut a name to the terminal's width"),
	ROW("ascii", 0, FLAG, HSNAP_CMD_READERS, ascii, NULL, NULL, FORM, "-> for an arrow, x for a times sign"),
	ROW("no-color", 0, FLAG, HSNAP_CMD_READERS, no_color, NULL, NULL, FORM,
	    "no colour on a terminal (as NO_COLOR)"),
	ROW("no-pager", 0, FLAG, HSNAP_CMD_READERS, no_pager, NULL, NULL, FORM,
	    "no pager (else HEAPSNAP_PAGER, PAGER or less)"),
	ROW("quiet", 0, FLAG, HSNAP_CMD_READERS | HSNAP_CMD_TAKE, quiet, NULL, NULL, FORM, "nothing but errors on stderr"),
	ROW("help", 'h', FLAG, HSNAP_CMD_ALL, help, NULL, NULL, FORM, "this screen"),
	ROW("version", 0, FLAG, HSNAP_CMD_ALL, version, NULL, NULL, FORM, "the version"),
};
const size_t hsnap_num_options = sizeof(hsnap_option_table) / sizeof(*hsnap_option_table);

struct parse {
	struct hsnap_options *options;
	char hint[64];
	int argc;
	char **argv;
	int at;          /* next word */
};

static const struct hsnap_option *find_long(const struct parse *parse, const char *name, size_t len)
{
	for (size_t i = 0; i < hsnap_num_options; i++) {
		const struct hsnap_option *option = &hsnap_option_table[i];
		if (option->commands & parse->options->command->bit &&
		    strlen(option->name) == len && !strncmp(option->name, name, len))
			return option;
	}
	return NULL;
}

static const struct hsnap_option *find_letter(const struct parse *parse, char letter)
{
	for (size_t i = 0; i < hsnap_num_options; i++) {
		const struct hsnap_option *option = &hsnap_option_table[i];
		if (option->commands & parse->options->command->bit && option->letter && option->letter == letter)
			return option;
	}
	return NULL;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && !*end;
}

/* "heapsnap take -p 4711"; of who asks for another process. */
static void add_with_pid(struct hsnap_line *to, const struct hsnap_command *command, const char *pid)
{
	hsnap_line_addf(to, "heapsnap %s -p %s%s", command->name, pid, command->min_args ? " TYPE" : "");
}

/* What stands for a process and is no number may be its name. */
static int wrong_pid(const struct hsnap_command *command, const char *value)
{
	struct hsnap_line hint = { 0 };
	if (*value && strspn(value, " ,+-0123456789") < strlen(value)) {
		hsnap_line_add(&hint, "pgrep -x ");
		hsnap_line_add_quoted(&hint, value);
		hsnap_line_add(&hint, " tells the number where that is its name: ");
	} else {
		hsnap_line_add(&hint, "ps -e tells the number of each: ");
	}
	add_with_pid(&hint, command, "PID");
	int status = hsnap_wrong_use(hsnap_line_text(&hint), "%s: -p wants the number of one process, not '%s'",
				     command->name, value);
	hsnap_line_deinit(&hint);
	return status;
}

static int second_pid(const struct hsnap_command *command, const char *value)
{
	struct hsnap_line hint = { 0 };
	hsnap_line_add(&hint, "one after the other: ");
	add_with_pid(&hint, command, value);
	int status = hsnap_wrong_use(hsnap_line_text(&hint), "%s: one process at a time, not %s as well", command->name, value);
	hsnap_line_deinit(&hint);
	return status;
}

static int store_pid(const struct hsnap_command *command, uint64_t *field, const char *value)
{
	uint64_t pid;
	if (!parse_number(value, &pid) || !pid || pid > INT_MAX)
		return wrong_pid(command, value);
	if (*field && *field != pid)
		return second_pid(command, value);
	*field = pid;
	return HSNAP_GO_ON;
}

/* One more of an option that may be given several times. */
static int store_text(const struct parse *parse, const struct hsnap_option *option, const char **field, const char *value)
{
	size_t num = 0;
	while (num < HSNAP_MOST_TYPES && field[num])
		num++;
	if (num == HSNAP_MOST_TYPES)
		return hsnap_wrong_use(parse->hint, "%s: --%s is given more than %d times", parse->options->command->name,
				       option->name, HSNAP_MOST_TYPES);
	field[num] = value;
	return HSNAP_GO_ON;
}

/* Store one option's value; HSNAP_GO_ON or the exit status. */
static int store(const struct parse *parse, const struct hsnap_option *option, const char *value)
{
	void *field = (char *)parse->options + option->field;
	const char *command = parse->options->command->name;
	switch (option->kind) {
	case HSNAP_OPTION_FLAG:
		*(bool *)field = true;
		return HSNAP_GO_ON;
	case HSNAP_OPTION_TEXT:
		*(const char **)field = value;
		return HSNAP_GO_ON;
	case HSNAP_OPTION_TEXTS:
		return store_text(parse, option, field, value);
	case HSNAP_OPTION_PID:
		return store_pid(parse->options->command, field, value);
	case HSNAP_OPTION_NUMBER:
	case HSNAP_OPTION_TOP:
		if (!parse_number(value, field))
			return hsnap_wrong_use(parse->hint, "%s: --%s wants a number, not '%s'", command,
					       option->name, value);
		if (option->kind == HSNAP_OPTION_TOP && !*(uint64_t *)field)
			*(uint64_t *)field = UINT64_MAX;
		return HSNAP_GO_ON;
	case HSNAP_OPTION_CHOICE:
		for (uint64_t i = 0; option->choices[i]; i++)
			if (!strcmp(option->choices[i], value)) {
				*(uint64_t *)field = i;
				return HSNAP_GO_ON;
			}
		return hsnap_wrong_use(parse->hint, "%s: --%s is one of %s, not '%s'", command, option->name,
				       option->arg, value);
	}
	return HSNAP_GO_ON;
}

/* The word after an option that wants one; NULL: there is none. */
static const char *next_word(struct parse *parse)
{
	return parse->at < parse->argc ? parse->argv[parse->at++] : NULL;
}

static int parse_long(struct parse *parse, const char *word)
{
	const char *command = parse->options->command->name;
	const char *name = word + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct hsnap_option *option = find_long(parse, name, len);
	if (!option)
		return hsnap_wrong_use(parse->hint, "%s: there is no option '--%.*s'", command, (int)len, name);
	if (option->kind == HSNAP_OPTION_FLAG && equals)
		return hsnap_wrong_use(parse->hint, "%s: --%s takes no value", command, option->name);
	const char *value = equals ? equals + 1 : NULL;
	if (option->kind != HSNAP_OPTION_FLAG && !value && !(value = next_word(parse)))
		return hsnap_wrong_use(parse->hint, "%s: --%s needs %s", command, option->name, option->arg);
	return store(parse, option, value);
}

/* "-p 4711", "-p4711", and flags run together. */
static int parse_letters(struct parse *parse, const char *word)
{
	const char *command = parse->options->command->name;
	for (const char *letter = word + 1; *letter; letter++) {
		const struct hsnap_option *option = find_letter(parse, *letter);
		if (!option)
			return hsnap_wrong_use(parse->hint, "%s: there is no option '-%c'", command, *letter);
		const char *value = NULL;
		if (option->kind != HSNAP_OPTION_FLAG) {
			value = letter[1] ? letter + 1 : next_word(parse);
			if (!value)
				return hsnap_wrong_use(parse->hint, "%s: -%c needs %s", command, *letter, option->arg);
		}
		int status = store(parse, option, value);
		if (status != HSNAP_GO_ON || value)
			return status;
	}
	return HSNAP_GO_ON;
}

/* `heapsnap take 4711` */
static int bare_pid(const struct hsnap_command *command, const char *pid)
{
	struct hsnap_line hint = { 0 };
	add_with_pid(&hint, command, pid);
	int status = hsnap_wrong_use(hsnap_line_text(&hint), "%s: a process is named with -p", command->name);
	hsnap_line_deinit(&hint);
	return status;
}

static int check_operands(const struct parse *parse)
{
	const struct hsnap_options *options = parse->options;
	const struct hsnap_command *command = options->command;
	if (options->num_args < command->min_args)
		return hsnap_wrong_use(parse->hint, "%s: operands are missing: heapsnap %s %s", command->name, command->name,
				       command->usage);
	const char *more = command->max_args >= 0 && options->num_args > command->max_args ? options->args[command->max_args] : NULL;
	uint64_t pid;
	if (more && command->bit == HSNAP_CMD_TAKE && parse_number(more, &pid))
		return options->pid ? second_pid(command, more) : bare_pid(command, more);
	if (more)
		return hsnap_wrong_use(parse->hint, "%s: '%s' is one operand too many", command->name,
				       more);
	if (options->json && options->csv)
		return hsnap_wrong_use(parse->hint, "%s: --json and --csv exclude each other", command->name);
	return HSNAP_GO_ON;
}

static int print_and_leave(const struct hsnap_options *options)
{
	if (options->help)
		hsnap_help(options->command, stdout);
	else
		puts("heapsnap " HSNAP_VERSION);
	return hsnap_stdout_finish(HSNAP_EXIT_DONE);
}

int hsnap_options_parse(int argc, char **argv, struct hsnap_options *ret)
{
	*ret = (struct hsnap_options){ .command = hsnap_command_find(argv[0]), .top = HSNAP_TOP_DEFAULT,
					.max_pause = HSNAP_MAX_PAUSE, .args = argv };
	struct parse parse = { .options = ret, .argc = argc, .argv = argv, .at = 1 };
	snprintf(parse.hint, sizeof(parse.hint), "heapsnap %s --help", argv[0]);
	bool operands_only = false;
	while (parse.at < argc) {
		char *word = argv[parse.at++];
		int status = HSNAP_GO_ON;
		if (operands_only || word[0] != '-' || !word[1]) {
			/* Operands gather at the front of argv: at is always ahead of num_args. */
			argv[ret->num_args++] = word;
			operands_only |= ret->command->to_the_command;
		} else if (!strcmp(word, "--")) {
			operands_only = true;
		} else if (word[1] == '-') {
			status = parse_long(&parse, word);
		} else {
			status = parse_letters(&parse, word);
		}
		if (status != HSNAP_GO_ON)
			return status;
	}
	argv[ret->num_args] = NULL;
	if (ret->help || ret->version)
		return print_and_leave(ret);
	return check_operands(&parse);
}
