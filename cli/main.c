/* SPDX-License-Identifier: MIT */
/* main.c - heapsnap: finds the command and leaves the rest to it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/emit.h"
#include "cli/options.h"
#include "cli/report.h"

static int print_welcome(void)
{
	fputs("heapsnap: who uses the memory of a Linux process, what grew, and who keeps it alive.\n\n"
	      "  heapsnap take -p PID          a snapshot of a live process\n"
	      "  heapsnap diff a.snap b.snap   which types grew\n"
	      "  heapsnap why CacheEntry       who keeps them alive\n\n"
	      "Any process will do; one started as heapsnap run -- CMD tells more.  All commands: heapsnap --help\n",
	      stdout);
	return hsnap_stdout_finish(HSNAP_EXIT_DONE);
}

static int print_commands(void)
{
	puts("usage: heapsnap COMMAND [OPTION...] [ARGUMENT...]\n");
	for (size_t i = 0; i < hsnap_num_commands; i++)
		printf("  %-6s  %s\n", hsnap_commands[i].name, hsnap_commands[i].summary);
	puts("\nheapsnap COMMAND --help tells about one; heapsnap --version the version.");
	return hsnap_stdout_finish(HSNAP_EXIT_DONE);
}

/*
 * A descriptor that a shell has closed (>&-) is not to become the number of a file of ours, into which
 * an answer or an error would then be written.  What stands there instead can be neither read nor
 * written, and is gone for a program that is started.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/", O_PATH | O_CLOEXEC); /* the lowest number that is free: this one */
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	if (argc < 2)
		return print_welcome();
	const char *word = argv[1];
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return print_commands();
	if (!strcmp(word, "--version")) {
		puts("heapsnap " HSNAP_VERSION);
		return hsnap_stdout_finish(HSNAP_EXIT_DONE);
	}
	const struct hsnap_command *command = hsnap_command_find(word);
	if (!command)
		return hsnap_wrong_use("heapsnap --help", "do '%s': there is no such command", word);
	/* A file that may not grow (RLIMIT_FSIZE) is an error to report and no reason to die; what `run` starts has its own mind. */
	if (strcmp(word, "run"))
		signal(SIGXFSZ, SIG_IGN);
	return command->run(argc - 1, argv + 1);
}
