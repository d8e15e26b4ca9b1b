/* SPDX-License-Identifier: MIT */
/* plugin.c - a module that is loaded, allocates, frees, and is unloaded. */
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *plugin_make(size_t size);
EXPORTED void plugin_free(void *block);
EXPORTED void *plugin_resize(void *block, size_t size);

void *plugin_make(size_t size)
{
	void *volatile block = malloc(size);
	return block;
}

void plugin_free(void *block)
{
	free(block);
}

void *plugin_resize(void *block, size_t size)
{
	void *volatile moved = realloc(block, size);
	return moved;
}
