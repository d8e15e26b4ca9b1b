/* SPDX-License-Identifier: MIT */
/*
 * forked.c - a process and its forked child: what each has of its own and what the child has from its parent.
 *
 * The parent keeps 300 struct of_parent.  The child frees 100 of its copies, keeps 200 struct of_child more, and
 * says its PID; both wait for stdin to end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct of_parent {
	struct of_parent *next;
	long numbers[6];
};
struct of_child {
	struct of_parent *from;
	double weight, more[3];
};

static struct of_parent *parents;
static struct of_child *volatile children[200]; /* nobody reads it */

static void add_parent(int i)
{
	struct of_parent *parent = calloc(1, sizeof(struct of_parent));
	if (!parent)
		abort();
	parent->numbers[0] = i;
	parent->next = parents;
	parents = parent;
}

static void add_child(int i)
{
	struct of_child *child = calloc(1, sizeof(struct of_child));
	if (!child)
		abort();
	child->from = parents;
	child->weight = i;
	children[i] = child;
}

static int wait_for_end(void)
{
	char byte;
	return read(STDIN_FILENO, &byte, 1) != 0;
}

int main(void)
{
	for (int i = 0; i < 300; i++)
		add_parent(i);
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid) {
		int status = wait_for_end();
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return status;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 100; i++) {
		struct of_parent *gone = parents;
		parents = gone->next;
		free(gone);
	}
	for (int i = 0; i < 200; i++)
		add_child(i);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return wait_for_end();
}
