/* SPDX-License-Identifier: MIT */
/* taken_apart.c - a static struct whose members an optimiser may put anywhere, for test_pieces.c. */
#include <stdlib.h>

struct node {
	struct node *next;
	long value;
};

static struct table {
	struct node *head;
	long count;
	struct node *last;
	long unused;
} g_table;

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < argc + 3; i++) {
		struct node *node = calloc(1, sizeof(*node));
		if (!node)
			return 1;
		node->next = g_table.head;
		node->value = i;
		g_table.head = node;
		g_table.last = g_table.last ? g_table.last : node;
		g_table.count++;
	}
	return (int)(g_table.head->value + g_table.last->value + g_table.count) & 1;
}
