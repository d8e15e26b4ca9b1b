/* SPDX-License-Identifier: MIT */
/* tell.c - print what the agent that is loaded into this program says of itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/wire.h"

int main(int argc, char **argv)
{
	const struct hsnap_wire_directory *dir = dlsym(RTLD_DEFAULT, HSNAP_WIRE_SYMBOL);
	if (!dir) {
		puts("no agent");
		return 1;
	}
	static const char *const allocators[] = { "undecided", "glibc", "aside" };
	static const char *const stacks[] = { "auto", "caller", "fp", "unwind" };
	if (argc > 1 && !strcmp(argv[1], "stacks"))
		puts(stacks[dir->stacks]);
	else
		printf("%s \"%s\"\n", allocators[dir->allocator], dir->aside);
	return 0;
}
