/* SPDX-License-Identifier: MIT */
/*
 * environment.c - what the agent was told, and keeping its children free of it.
 *
 * The strings are the process's own, on its main stack, and are cut in place: an
 * environment that shrinks needs no memory.
 */
#include "capture/agent/agent.h"

#include <errno.h>
#include <string.h>

extern void *__libc_stack_end;
extern char **environ;

/* As the kernel laid it, above the end of the main stack: libc's own list is not set yet when the
 * loader allocates for the first time. */
const char *hsnap_agent_option(const char *name)
{
	const uintptr_t *at = __libc_stack_end;
	uintptr_t argc = at[0];
	if (argc > 1u << 24 || at[1 + argc])
		return NULL;
	size_t len = strlen(name);
	for (const char *const *e = (const char *const *)(at + argc + 2); *e; e++)
		if (!strncmp(*e, name, len) && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

static void take_out(char **entry)
{
	for (; *entry; entry++)
		entry[0] = entry[1];
}

/* Take one path out of a list that blanks or colons separate; false: nothing is left of it. */
static bool cut(char *list, const char *path)
{
	size_t len = strlen(path);
	for (char *at = list; *at;) {
		size_t word = strcspn(at, " :");
		if (word == len && !memcmp(at, path, len)) {
			size_t more = at[word] ? word + 1 : word;
			memmove(at, at + more, strlen(at + more) + 1);
			continue;
		}
		at += word + (at[word] != '\0');
	}
	size_t left = strlen(list);
	if (left && strchr(" :", list[left - 1]))
		list[left - 1] = '\0';
	return *list;
}

/* Programs that only become another one: the first lines of scripts name env, units and shells the rest.  The
 * program that was meant comes after them, in the same process. */
static bool hands_on(const char *program)
{
	static const char *const known[] = { "env", "nice", "nohup", "ionice", "chrt", "taskset", "stdbuf", "setarch", "setpriv",
					     "prlimit", "numactl", "setsid", "heapsnap" };
	for (size_t i = 0; program && i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(program, known[i]))
			return true;
	return false;
}

void hsnap_agent_leave_environment(const char *own_path)
{
	const char *children = hsnap_agent_option(HSNAP_WIRE_ENV_CHILDREN);
	if (!environ || !children || strcmp(children, "no") || hands_on(program_invocation_short_name))
		return;
	static const char *const ours[] = { HSNAP_WIRE_ENV_CHILDREN "=", HSNAP_WIRE_ENV_STACKS "=" };
	for (char **entry = environ; *entry;) {
		bool gone = !strncmp(*entry, ours[0], strlen(ours[0])) || !strncmp(*entry, ours[1], strlen(ours[1])) ||
			    (!strncmp(*entry, "LD_PRELOAD=", 11) && !cut(*entry + 11, own_path));
		if (gone)
			take_out(entry);
		else
			entry++;
	}
}
