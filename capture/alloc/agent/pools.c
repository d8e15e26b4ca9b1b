/* SPDX-License-Identifier: MIT */
/*
 * pools.c - what the program says of its pools and roots (heapsnap.h), as the agent has it.
 *
 * Objects take the place of the blocks that they lie in.  An object in which others lie is a slab itself.  What the program
 * says is believed as far as memory bears it: an object lies whole in one live block, or in mapped memory that no
 * allocator explains.
 */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

#define PAGE 4096u
/* As many as the agent can number. */
#define MAX_ITEMS ((uint64_t)HSNAP_SLOT_FIRST * ((1u << HSNAP_SLOT_SEGMENTS) - 1))

struct object {
	uint64_t address, size, end; /* end > address */
	uint32_t site, pool;         /* pool: index into heap->pools */
	uint32_t age;                /* of an arena's: a greater one was made before */
	uint16_t epoch;
	bool gone;                   /* others lie in it, or there is no such memory */
};

struct pools {
	struct reader *reader;
	struct hsnap_heap *heap;
	struct hsnap_vec(struct object) objects;       /* in order of address */
	struct hsnap_vec(struct hsnap_region) slabs;   /* as told, in order of address, disjoint */
	uint64_t num_pools, num_pieces;
	uint64_t *seen;                                /* a bit a piece: a hostile list goes round */
	uint32_t age;
	uint32_t last_unit, last_pool, last_site;      /* the object's site before */
	bool failed;                                   /* out of memory */
};

static void pools_deinit(struct pools *pools)
{
	hsnap_vec_deinit(&pools->objects);
	hsnap_vec_deinit(&pools->slabs);
	free(pools->seen);
}

/* ---- what is on record ---- */

/* The words of a pool, or of a piece; false: there is none. */
static bool read_item(const struct pools *pools, const uint64_t *segments, uint64_t number, void *to, size_t size)
{
	unsigned segment = (unsigned)(63 - __builtin_clzll(number / HSNAP_SLOT_FIRST + 1));
	if (segment >= HSNAP_SLOT_SEGMENTS || !segments[segment])
		return false;
	uint64_t first = HSNAP_SLOT_FIRST * (((uint64_t)1 << segment) - 1);
	return !hsnap_target_read(pools->reader->target, segments[segment] + size * (number - first), to, size, NULL);
}

static void add_object(struct pools *pools, const struct entry *entry, uint32_t site, uint32_t pool)
{
	uint64_t size = entry->requested ? entry->requested : 1;
	struct object object = { .address = entry->address, .size = entry->requested, .end = entry->address + size, .site = site,
				 .pool = pool, .epoch = entry->epoch,
				 .age = pools->age };
	pools->failed |= !hsnap_vec_push(&pools->objects, object);
}

static void add_piece(struct pools *pools, const struct hsnap_wire_piece *piece, uint32_t pool, bool slabs)
{
	uint64_t num = piece->num < HSNAP_PIECE_ENTRIES ? piece->num : HSNAP_PIECE_ENTRIES;
	for (uint64_t i = num; i-- && !pools->failed; pools->age++) {
		uint64_t word = piece->entries[i][0], second = piece->entries[i][1], end;
		if (slabs) {
			if (word >= PAGE && !__builtin_add_overflow(word, second, &end) && second && !(end >> HSNAP_ADDRESS_BITS))
				pools->failed |= !hsnap_vec_push(&pools->slabs, (struct hsnap_region){ word, end });
			continue;
		}
		struct entry entry = hsnap_reader_entry(word, second);
		if (entry.address >= PAGE && HSNAP_ENTRY_KIND(word) == HSNAP_KIND_OBJECT)
			add_object(pools, &entry, entry.site, pool);
	}
}

static void add_list(struct pools *pools, uint64_t list, uint32_t pool, bool slabs)
{
	struct hsnap_wire_piece piece;
	for (; list && list <= pools->num_pieces && !pools->failed; list = piece.older) {
		uint64_t number = list - 1, bit = (uint64_t)1 << number % 64;
		if (pools->seen[number / 64] & bit || !read_item(pools, pools->reader->dir.piece_segments, number, &piece, sizeof(piece)))
			return;
		pools->seen[number / 64] |= bit;
		add_piece(pools, &piece, pool, slabs);
	}
}

static void read_pool(struct pools *pools, uint64_t number)
{
	struct hsnap_wire_pool pool = { 0 };
	hsnap_string name = 0;
	uint64_t head;
	bool there = read_item(pools, pools->reader->dir.pool_segments, number, &pool, sizeof(pool)) && HSNAP_POOL_KIND(pool.state);
	pools->failed |= (there && !hsnap_reader_text(pools->reader, HSNAP_POOL_NAME(pool.state), &name, &head)) ||
			 !hsnap_vec_push(&pools->heap->pools, name);
	if (!there || pools->failed)
		return;
	uint32_t index = (uint32_t)pools->heap->pools.num - 1;
	add_list(pools, pool.slabs, index, true);
	if (HSNAP_POOL_KIND(pool.state) == HSNAP_POOL_ARENA)
		add_list(pools, pool.objects, index, false);
}

/* Of which pool an object is, and the site of the call that made it; false: of none. */
static bool read_unit(struct pools *pools, uint32_t unit)
{
	uint64_t head;
	if (unit == pools->last_unit)
		return pools->last_pool;
	pools->last_unit = unit;
	pools->last_pool = 0;
	if (!hsnap_reader_unit(pools->reader, unit, &head, 1) || HSNAP_UNIT_KIND(head) != HSNAP_UNIT_OBJECT ||
	    HSNAP_OBJECT_POOL(head) >= pools->num_pools)
		return false;
	pools->last_pool = HSNAP_OBJECT_POOL(head) + 1;
	pools->last_site = HSNAP_OBJECT_SITE(head);
	return true;
}

static enum hsnap_code read_objects(struct pools *pools, struct hsnap_error *err)
{
	struct entries entries = { 0 };
	enum hsnap_code code = hsnap_reader_entries(pools->reader, HSNAP_KIND_OBJECT, &entries, err);
	uint64_t before = 0;
	for (size_t i = 0; i < entries.num && !code && !pools->failed; i++) {
		const struct entry *entry = &entries.items[i];
		if (entry->address != before && read_unit(pools, entry->site))
			add_object(pools, entry, pools->last_site, pools->last_pool);
		before = entry->address;
	}
	hsnap_vec_deinit(&entries);
	return code;
}

/* ---- which of them there are ---- */

/* Of those that begin at one place the greatest comes first: the others lie in it. */
static int by_address(const void *a, const void *b)
{
	const struct object *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->pool > y->pool) - (x->pool < y->pool);
}

static int by_age(const void *a, const void *b)
{
	const struct object *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return (x->age > y->age) - (x->age < y->age);
}

/* An arena may have changed the size of an object: the latest one counts. */
static void drop_older(struct pools *pools)
{
	size_t kept = 0;
	if (pools->objects.num)
		qsort(pools->objects.items, pools->objects.num, sizeof(*pools->objects.items), by_age);
	for (size_t i = 0; i < pools->objects.num; i++) {
		struct object object = pools->objects.items[i], *last = kept ? &pools->objects.items[kept - 1] : NULL;
		if (!last || last->address != object.address || last->pool != object.pool)
			pools->objects.items[kept++] = object;
	}
	pools->objects.num = kept;
}

static void drop(struct pools *pools, struct object *object)
{
	pools->heap->objects_gone += !object->gone;
	object->gone = true;
}

/* What others lie in is a slab; what overlaps with another is nothing. */
static void find_inner(struct pools *pools)
{
	struct hsnap_vec(size_t) open = { 0 };
	for (size_t i = 0; i < pools->objects.num && !pools->failed; i++) {
		struct object *object = &pools->objects.items[i];
		while (open.num && pools->objects.items[open.items[open.num - 1]].end <= object->address)
			open.num--;
		struct object *outer = open.num ? &pools->objects.items[open.items[open.num - 1]] : NULL;
		if (outer && outer->end < object->end) {
			drop(pools, object);
			continue;
		}
		if (outer)
			outer->gone = true;
		pools->failed |= !hsnap_vec_push(&open, i);
	}
	hsnap_vec_deinit(&open);
}

static bool is_mapped(const struct hsnap_target *target, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct hsnap_mapping *mapping = hsnap_target_mapping(target, start);
		if (!mapping || !(mapping->prot & HSNAP_PROT_WRITE))
			return false;
		start = mapping->end;
	}
	return true;
}

/* Index of the first region that ends behind an address. */
static size_t region_at(const struct hsnap_region *regions, size_t num, uint64_t address)
{
	return hsnap_first(num, i, regions[i].end > address);
}

static bool is_region(const struct hsnap_region *regions, size_t num, uint64_t start, uint64_t end)
{
	size_t i = region_at(regions, num, start);
	return i < num && regions[i].start < end;
}

/* Outside of blocks there may be no allocator's memory: it would be free. */
static void find_places(struct pools *pools)
{
	const struct hsnap_heap *heap = pools->heap;
	size_t block = 0;
	for (size_t i = 0; i < pools->objects.num; i++) {
		struct object *object = &pools->objects.items[i];
		while (block < heap->blocks.num && heap->blocks.items[block].address + heap->blocks.items[block].usable <= object->address)
			block++;
		const struct hsnap_block *of = block < heap->blocks.num ? &heap->blocks.items[block] : NULL;
		bool inside = of && of->address <= object->address && object->end <= of->address + of->usable;
		bool beside = is_region(heap->regions.items, heap->regions.num, object->address, object->end);
		if (!inside && (beside || !is_mapped(pools->reader->target, object->address, object->end)))
			drop(pools, object);
	}
}

/* ---- blocks ---- */

/* The memory from `at` to `end` that is told to be nothing but places for objects is passed over. */
static void add_rest(struct pools *pools, uint64_t at, uint64_t end, uint32_t pool, bool told)
{
	const struct hsnap_region *slabs = pools->slabs.items;
	size_t num = pools->slabs.num;
	for (size_t i = region_at(slabs, num, at); at < end; i++) {
		uint64_t stop = i < num && slabs[i].start < end ? slabs[i].start : end;
		if (at < stop)
			pools->failed |= !hsnap_vec_push(&pools->heap->rests, (struct hsnap_rest){ at, stop, pool, told });
		at = i < num && slabs[i].end > stop ? slabs[i].end : stop;
	}
}

/* Is the block a slab?  Then what of it is no object's is a rest.  *next: the first object that may lie in it. */
static bool take_slab(struct pools *pools, const struct hsnap_block *block, size_t *next)
{
	uint64_t at = block->address, end = block->address + block->usable, bytes = 0, num = 0;
	bool told = is_region(pools->slabs.items, pools->slabs.num, at, end);
	uint32_t pool = 0;
	while (*next < pools->objects.num && pools->objects.items[*next].address < block->address)
		++*next;
	size_t first = *next;
	for (; *next < pools->objects.num && pools->objects.items[*next].address < end; ++*next) {
		const struct object *object = &pools->objects.items[*next];
		if (object->gone)
			continue;
		pool = pool ? pool : object->pool;
		bytes += object->end - object->address;
		num++;
	}
	if (!num && !told)
		return false;
	for (size_t i = first; i < *next && !pools->failed; i++) {
		if (pools->objects.items[i].gone)
			continue;
		add_rest(pools, at, pools->objects.items[i].address, pool, told);
		at = pools->objects.items[i].end;
	}
	add_rest(pools, at, end, pool, told);
	/* A block that is one object is no slab. */
	if (told || num > 1) {
		pools->heap->num_slabs++;
		pools->heap->slab_bytes += block->usable - bytes;
	}
	return true;
}

static void take_slabs(struct pools *pools)
{
	struct hsnap_heap *heap = pools->heap;
	size_t kept = 0, next = 0;
	for (size_t i = 0; i < heap->blocks.num && !pools->failed; i++) {
		struct hsnap_block block = heap->blocks.items[i];
		if (!take_slab(pools, &block, &next))
			heap->blocks.items[kept++] = block;
	}
	heap->blocks.num = pools->failed ? heap->blocks.num : kept;
}

/* Merged from the end on, in place. */
static void put_objects(struct pools *pools)
{
	struct hsnap_heap *heap = pools->heap;
	size_t num = 0, block = heap->blocks.num;
	for (size_t i = 0; i < pools->objects.num; i++)
		if (!pools->objects.items[i].gone)
			pools->objects.items[num++] = pools->objects.items[i];
	pools->objects.num = num;
	if (!num)
		return;
	heap->pool_of = calloc(heap->blocks.num + num, sizeof(*heap->pool_of));
	if (!heap->pool_of || !hsnap_vec_reserve(&heap->blocks, num)) {
		pools->failed = true;
		return;
	}
	heap->blocks.num += num;
	for (size_t to = heap->blocks.num; num && to--;) {
		const struct object *object = &pools->objects.items[num - 1];
		if (block && heap->blocks.items[block - 1].address > object->address) {
			heap->blocks.items[to] = heap->blocks.items[--block];
			continue;
		}
		heap->blocks.items[to] = (struct hsnap_block){
			.address = object->address, .usable = object->end - object->address, .requested = object->size,
			.stack = object->site, .epoch = hsnap_reader_epoch(object->epoch), .flags = HSNAP_BLOCK_OBJECT,
		};
		heap->pool_of[to] = object->pool;
		heap->num_objects++;
		heap->object_bytes += object->size;
		num--;
	}
}

/* A pool's memory that is of no allocator's: what is told of it, and its objects, hold what these hold and no more. */
static void add_regions(struct pools *pools)
{
	struct hsnap_heap *heap = pools->heap;
	struct hsnap_vec(struct hsnap_region) found = { 0 };
	for (size_t i = 0; i < pools->slabs.num && !pools->failed; i++) {
		const struct hsnap_region *slab = &pools->slabs.items[i];
		if (is_region(heap->regions.items, heap->regions.num, slab->start, slab->end) ||
		    !is_mapped(pools->reader->target, slab->start, slab->end))
			continue;
		pools->failed |= !hsnap_vec_push(&found, *slab);
		heap->num_slabs++;
		heap->slab_bytes += slab->end - slab->start;
	}
	for (size_t i = 0; i < pools->objects.num && !pools->failed; i++) {
		const struct object *object = &pools->objects.items[i];
		if (is_region(heap->regions.items, heap->regions.num, object->address, object->end))
			continue;
		pools->failed |= !hsnap_vec_push(&found, (struct hsnap_region){ object->address, object->end });
		if (is_region(pools->slabs.items, pools->slabs.num, object->address, object->end))
			heap->slab_bytes -= object->end - object->address < heap->slab_bytes ? object->end - object->address : heap->slab_bytes;
	}
	for (size_t i = 0; i < found.num && !pools->failed; i++)
		pools->failed |= !hsnap_vec_push(&heap->regions, found.items[i]);
	hsnap_vec_deinit(&found);
	hsnap_heap_sort_regions(heap);
}

/* ---- roots ---- */

static enum hsnap_code read_roots(struct pools *pools, struct hsnap_error *err)
{
	struct entries entries = { 0 };
	enum hsnap_code code = hsnap_reader_entries(pools->reader, HSNAP_KIND_ROOT, &entries, err);
	uint64_t before = 0, head;
	for (size_t i = 0; i < entries.num && !code && !pools->failed; i++) {
		const struct entry *entry = &entries.items[i];
		struct hsnap_named_root root = { .start = entry->address, .end = entry->address + entry->requested };
		if (entry->address == before || root.end >> HSNAP_ADDRESS_BITS)
			continue;
		before = entry->address;
		pools->failed |= !hsnap_reader_text(pools->reader, entry->site, &root.name, &head) ||
				 (root.name && root.start < root.end && !hsnap_vec_push(&pools->heap->named_roots, root));
	}
	hsnap_vec_deinit(&entries);
	return code;
}

/* ---- all ---- */

static bool prepare(struct pools *pools)
{
	const struct hsnap_wire_directory *dir = &pools->reader->dir;
	pools->num_pools = dir->num_pools < MAX_ITEMS ? dir->num_pools : MAX_ITEMS;
	pools->num_pieces = dir->num_pieces < MAX_ITEMS ? dir->num_pieces : MAX_ITEMS;
	pools->seen = calloc(pools->num_pieces / 64 + 1, sizeof(*pools->seen));
	return pools->seen && hsnap_vec_push(&pools->heap->pools, 0);
}

static enum hsnap_code read_all(struct pools *pools, struct hsnap_error *err)
{
	for (uint64_t number = 0; number < pools->num_pools && !pools->failed; number++)
		read_pool(pools, number);
	enum hsnap_code code = pools->failed ? HSNAP_OK : read_objects(pools, err);
	return code || pools->failed ? code : read_roots(pools, err);
}

enum hsnap_code hsnap_reader_pools(struct reader *reader, struct hsnap_error *err)
{
	hsnap_auto(pools_deinit) struct pools pools = { .reader = reader, .heap = reader->heap };
	pools.failed = !prepare(&pools);
	enum hsnap_code code = pools.failed ? HSNAP_OK : read_all(&pools, err);
	if (code)
		return code;
	drop_older(&pools);
	pools.slabs.num = hsnap_regions_sort(pools.slabs.items, pools.slabs.num);
	if (pools.objects.num)
		qsort(pools.objects.items, pools.objects.num, sizeof(*pools.objects.items), by_address);
	find_inner(&pools);
	if (!pools.failed && (pools.objects.num || pools.slabs.num)) {
		find_places(&pools);
		take_slabs(&pools);
		put_objects(&pools);
		add_regions(&pools);
	}
	return pools.failed ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}
