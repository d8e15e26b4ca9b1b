/* SPDX-License-Identifier: MIT */
/* library.c - a library with thread-locals, loaded late: its block is made on first use. */
void **library_holder(void);

static __thread char padding[4096] = { 1 };
static __thread void *holder;

__attribute__((visibility("default"))) void **library_holder(void)
{
	padding[5] = 1;
	return &holder;
}
