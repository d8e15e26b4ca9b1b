/* SPDX-License-Identifier: MIT */
/*
 * pymalloc.c - CPython's pools: each begins with a header whose numbers depend on each other.
 *
 * CPython 3.5 to 3.13 Objects/obmalloc.c, struct pool_header.  Pools are of 16 KiB from 3.10 on, of
 * 4 KiB before; blocks of 16 bytes times a class, of 8 before 3.8.  A program that carries CPython
 * inside is recognised like the interpreter itself.
 */
#include <string.h>

#include "capture/alloc/foreign/claims.h"
#include "capture/target/elf_image.h"

struct pool_header {
	uint32_t used, pad;
	uint64_t free, next, previous;
	uint32_t arena, size_class;
	uint32_t next_offset, max_offset;
};
_Static_assert(sizeof(struct pool_header) == 48, "as CPython lays it out on 64-bit machines");

struct shape {
	uint64_t pool;
	uint32_t unit, classes;
};
static const struct shape shapes[] = {
	{ 16384, 16, 32 }, /* 3.10 */
	{ 4096, 16, 32 },  /* 3.8 */
	{ 4096, 8, 64 },   /* 3.5 */
};

#define MAX_ARENAS (1u << 24)
#define MIN_POOLS 4u /* the least that is believed: none of them alone proves much */

static bool is_pool(const struct foreign *foreign, const struct shape *shape, uint64_t at)
{
	struct pool_header pool;
	if (hsnap_target_read(foreign->target, at, &pool, sizeof(pool), NULL) || pool.size_class >= shape->classes)
		return false;
	uint32_t size = (pool.size_class + 1) * shape->unit;
	return pool.max_offset == shape->pool - size && pool.next_offset >= sizeof(pool) &&
	       pool.next_offset <= shape->pool && !((pool.next_offset - sizeof(pool)) % size) && pool.arena < MAX_ARENAS &&
	       pool.used <= (shape->pool - sizeof(pool)) / size && pool.next && pool.next % 8 == 0 &&
	       (!pool.free || (pool.free >= at + sizeof(pool) && pool.free < at + shape->pool));
}

static size_t look(struct foreign *foreign, const struct shape *shape)
{
	size_t found = 0;
	for (size_t i = 0; i < foreign->spans.num; i++) {
		const struct foreign_span *span = &foreign->spans.items[i];
		for (uint64_t at = (span->start + shape->pool - 1) & ~(shape->pool - 1); at < span->end; at += shape->pool) {
			if (!is_pool(foreign, shape, at))
				continue;
			foreign_claim(foreign, at, at + shape->pool);
			found++;
		}
	}
	return found;
}

/* Nobody else has such a function, and the interpreter exports all of them for its extensions. */
static bool has_python(const struct foreign *foreign)
{
	const struct hsnap_target *target = foreign->target;
	const struct hsnap_target_module *library = foreign_module(foreign, "libpython");
	uint64_t at;
	return (library && hsnap_module_symbol(target, library, "PyObject_Malloc", &at)) ||
	       (target->modules.num > 1 && hsnap_module_symbol(target, &target->modules.items[1], "PyObject_Malloc", &at));
}

void foreign_look_pymalloc(struct foreign *foreign)
{
	if (!has_python(foreign))
		return;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (look(foreign, &shapes[i]) >= MIN_POOLS)
			return;
		foreign->claims.num = 0;
	}
}
