/* SPDX-License-Identifier: MIT */
/* room_plugin.c - a module that is loaded late and asks the allocator itself how large a block is. */
#include <stddef.h>

#define OWN __attribute__((weak))
OWN size_t sallocx(const void *block, int flags);
OWN size_t tc_malloc_size(void *block);
OWN size_t mi_usable_size(const void *block);
__attribute__((visibility("default"))) size_t plugin_room(void *block);

size_t plugin_room(void *block)
{
	return sallocx ? sallocx(block, 0) : tc_malloc_size ? tc_malloc_size(block) : mi_usable_size ? mi_usable_size(block) : 0;
}
