/* SPDX-License-Identifier: MIT */
/* tell.c - print what the agent that is loaded into this program says of itself. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/wire.h"

/* Of this process and of a forked child. */
static void tell_pid(const struct hsnap_wire_directory *dir)
{
	bool here = dir->pid == (uint64_t)getpid();
	int status = 1;
	pid_t child = fork();
	if (!child)
		_exit(dir->pid != (uint64_t)getpid());
	waitpid(child, &status, 0);
	printf("pid %s, child's %s\n", here ? "right" : "wrong", status ? "wrong" : "right");
}

int main(int argc, char **argv)
{
	const struct hsnap_wire_directory *dir = dlsym(RTLD_DEFAULT, HSNAP_WIRE_SYMBOL);
	if (!dir) {
		puts("no agent");
		return 1;
	}
	static const char *const allocators[] = { "undecided", "glibc", "aside", "other" };
	static const char *const stacks[] = { "auto", "caller", "fp", "unwind" };
	if (argc > 1 && !strcmp(argv[1], "stacks"))
		puts(stacks[dir->stacks]);
	else if (argc > 1 && !strcmp(argv[1], "pid"))
		tell_pid(dir);
	else
		printf("%s \"%s\"\n", allocators[dir->allocator], dir->aside);
	return 0;
}
