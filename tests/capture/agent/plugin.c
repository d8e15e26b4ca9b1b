/* SPDX-License-Identifier: MIT */
/* plugin.c - a module that is loaded, allocates, and is unloaded. */
#include <stdlib.h>

__attribute__((visibility("default"))) void *plugin_make(size_t size);

void *plugin_make(size_t size)
{
	void *volatile block = malloc(size);
	return block;
}
