/* SPDX-License-Identifier: MIT */
/*
 * shapes.c - proofs and walks, one pair a shape (enum hsnap_shape says what its fields are): those that stand in one
 * piece, and pointers.
 */
#include <string.h>

#include "capture/naming/shape.h"

#define GLIB_LEAST 8u            /* places of a hash table (HASH_TABLE_MIN_SHIFT) */
#define COW_HEAD 24u    /* length, capacity, owners */
#define DEQUE_BYTES 512u         /* libstdc++: of a block with more than one element */
#define DEQUE_INDEX_BYTES 4096u  /* libc++: the same, */
#define DEQUE_INDEX_SMALL 256u   /* for elements smaller than this, */
#define DEQUE_INDEX_NUM 16u      /* else so many elements */

static void walk_vector(struct shape *shape)
{
	uint64_t begin = field(shape, 0), end = field(shape, 1), storage = field(shape, 2);
	uint64_t each = size_of(shape, shape->container->element);
	if (!each || begin > end || end > storage || (end - begin) % each || (storage - begin) % each)
		return;
	visit_body(shape, (struct hsnap_found){ .value = begin, .live = end - begin, .type = shape->container->element },
		   storage - begin, 0);
}

static void walk_bits(struct shape *shape)
{
	uint64_t begin = field(shape, 0), end = field(shape, 1), storage = field(shape, 2);
	if (shape->container->library->shape == HSNAP_SHAPE_BITS_SIZED) {
		if (end / 64 > storage || storage > UINT64_MAX / 8)
			return;
		end = begin + end / 64 * 8;
		storage = begin + 8 * storage;
	}
	if (begin > end || end > storage || (end - begin) % 8 || (storage - begin) % 8)
		return;
	uint64_t live = end - begin + (end < storage ? 8 : 0); /* the last word may be in use in part */
	visit_body(shape, (struct hsnap_found){ .value = begin, .live = live, .type = target_of(shape, 0) }, storage - begin, 0);
}

/* Does a zero of `each` bytes stand at the address? */
static bool ends(const struct shape *shape, uint64_t at, uint64_t each)
{
	uint8_t zero[8] = { 0 }, bytes[8];
	const struct hsnap_target *target = shape->walk->work->target;
	return each <= sizeof(bytes) && target->ops->read(target->self, at, bytes, each) == each && !memcmp(bytes, zero, each);
}

/* `capacity` without the zero at the end. */
static void visit_text(struct shape *shape, uint64_t head, uint64_t text, uint64_t length, uint64_t capacity)
{
	uint64_t each = size_of(shape, shape->container->element);
	if (!each || length > capacity || capacity >= UINT64_MAX / 64 / each || text < head || !ends(shape, text + length * each, each))
		return;
	visit_body(shape, (struct hsnap_found){ .value = text - head, .live = head + (length + 1) * each,
						.type = shape->container->element }, head + (capacity + 1) * each, 0);
}

static void walk_string(struct shape *shape)
{
	uint64_t text = field(shape, 0);
	if (text && text != shape->at + shape->container->offsets[3])
		visit_text(shape, 0, text, field(shape, 1), field(shape, 2));
}

static void walk_shared_string(struct shape *shape)
{
	uint64_t text = field(shape, 0), length, capacity, owners;
	if (text < COW_HEAD || block_at(shape, text - COW_HEAD) == HSNAP_NO_BLOCK || !load(shape, text - COW_HEAD, &length) ||
	    !load(shape, text - COW_HEAD + 8, &capacity) || !load(shape, text - 8, &owners) || (int32_t)owners < -1)
		return;
	visit_text(shape, COW_HEAD, text, length, capacity);
}

static void walk_flagged_string(struct shape *shape)
{
	uint64_t capacity;
	if (is_long(shape->container, field(shape, 2), &capacity) && capacity)
		visit_text(shape, 0, field(shape, 0), field(shape, 1), capacity - 1);
}
/* One block of a deque: bytes in use are [first, live). */
static void visit_deque_block(struct shape *shape, uint64_t slot, uint64_t first, uint64_t live, uint64_t size)
{
	visit_body(shape, (struct hsnap_found){ .value = word_at(shape, slot), .first = first, .live = live,
						.type = shape->container->element }, size, 0);
}

/* Has the map, and each slot of it, the block that it needs? */
static bool is_map(struct shape *shape, uint64_t map, uint64_t slots)
{
	uint32_t b = block_at(shape, map);
	return b != HSNAP_NO_BLOCK && slots <= shape->walk->work->heap->blocks.items[b].usable / 8;
}

/* An iterator of libstdc++'s deque. */
struct place {
	uint64_t current, first, last, slot;
};

static struct place place_at(const struct shape *shape, unsigned number)
{
	uint64_t at = shape->at + shape->container->offsets[number];
	return (struct place){ word_at(shape, at), word_at(shape, at + 8), word_at(shape, at + 16), word_at(shape, at + 24) };
}

static bool is_place(const struct shape *shape, const struct place *place, uint64_t map, uint64_t slots, uint64_t size,
		     uint64_t each)
{
	return place->slot >= map && place->slot < map + 8 * slots && !((place->slot - map) % 8) &&
	       word_at(shape, place->slot) == place->first && place->last - place->first == size &&
	       place->current >= place->first && place->current <= place->last && !((place->current - place->first) % each);
}

static void walk_deque(struct shape *shape)
{
	uint64_t map = field(shape, 0), slots = field(shape, 1), each = size_of(shape, shape->container->element);
	if (!each || !is_map(shape, map, slots))
		return;
	uint64_t size = each < DEQUE_BYTES ? DEQUE_BYTES / each * each : each;
	struct place start = place_at(shape, 2), finish = place_at(shape, 3);
	if (!is_place(shape, &start, map, slots, size, each) || !is_place(shape, &finish, map, slots, size, each) ||
	    start.slot > finish.slot || (start.slot == finish.slot && start.current > finish.current))
		return;
	visit_body(shape, (struct hsnap_found){ .value = map, .first = start.slot - map, .live = finish.slot - map + 8,
						.type = target_of(shape, 0) }, 8 * slots, 0);
	for (uint64_t slot = start.slot; slot <= finish.slot; slot += 8)
		visit_deque_block(shape, slot, slot == start.slot ? start.current - start.first : 0,
				  slot == finish.slot ? finish.current - finish.first : size, size);
}

static void walk_indexed_deque(struct shape *shape)
{
	uint64_t map = field(shape, 0), begin = field(shape, 1), end = field(shape, 2), storage = field(shape, 3);
	uint64_t start = field(shape, 4), num = field(shape, 5), each = size_of(shape, shape->container->element);
	if (!each || map > begin || begin > end || end > storage || (begin - map) % 8 || (end - map) % 8 ||
	    !is_map(shape, map, (storage - map) / 8))
		return;
	uint64_t per_block = each < DEQUE_INDEX_SMALL ? DEQUE_INDEX_BYTES / each : DEQUE_INDEX_NUM;
	uint64_t all = (end - begin) / 8 * per_block;
	if (start > all || num > all - start)
		return;
	visit_body(shape, (struct hsnap_found){ .value = map, .first = begin - map, .live = end - map,
						.type = target_of(shape, 1) }, storage - map, 0);
	uint64_t from = 0; /* number of the block's first element */
	for (uint64_t slot = begin; slot < end; slot += 8, from += per_block) {
		uint64_t first = start > from ? start - from : 0, last = start + num > from ? start + num - from : 0;
		first = first < per_block ? first : per_block;
		last = last < per_block ? last : per_block;
		visit_deque_block(shape, slot, first * each, (last > first ? last : first) * each, per_block * each);
	}
}

/* What is pointed to is there as long as it has owners; the control block lives longer. */
static void walk_weak(struct shape *shape)
{
	uint64_t control = field(shape, 1), owners;
	if (!control || !load(shape, control + 8, &owners))
		return;
	bool fewer = shape->container->library->shape == HSNAP_SHAPE_WEAK_FEWER;
	const struct hsnap_dtype *element = hsnap_dtype(shape->walk->work->symbols, shape->container->element);
	bool array = element->kind == HSNAP_DTYPE_ARRAY && !element->count;
	visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = control, .type = target_of(shape, 1) }, 1);
	if (fewer ? (int64_t)owners >= 0 : (int32_t)owners > 0)
		visit(shape, (struct hsnap_found){ .kind = array ? HSNAP_SLOT_ARRAY : HSNAP_SLOT_POINTER, .value = field(shape, 0),
						   .type = array ? shape->walk->work->plans.same[element->target]
								 : shape->container->element }, 0);
}

/* The same seen from the control block. */
static void walk_owned(struct shape *shape)
{
	bool fewer = shape->container->library->shape == HSNAP_SHAPE_OWNED_FEWER;
	if (fewer ? (int64_t)word_at(shape, shape->at + 8) >= 0 : (int32_t)field(shape, 1) > 0)
		visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = field(shape, 0),
						   .type = target_of(shape, 0) }, 0);
}

/* As many elements as there is room for, where no more is said. */
static void walk_array(struct shape *shape)
{
	uint64_t begin = field(shape, 0), room = field(shape, 1), each = size_of(shape, target_of(shape, 0));
	bool counted = shape->container->library->fields[2];
	uint64_t num = counted ? field(shape, 2) : room - 1;
	if (!begin || !each || room > UINT64_MAX / each || num >= room)
		return;
	visit_body(shape, (struct hsnap_found){ .value = begin, .live = (num + 1) * each, .type = target_of(shape, 0) },
		   room * each, 0);
}

/* GLib's hash table (glib/ghash.c): three arrays side by side; small keys and values are kept as numbers of 32 bits. */
static void walk_glib_table(struct shape *shape)
{
	uint64_t keys = field(shape, 0), hashes = field(shape, 1), values = field(shape, 2), size = field(shape, 3);
	uint32_t mask = (uint32_t)field(shape, 4), have_big = (uint32_t)field(shape, 5);
	uint64_t counts = word_at(shape, shape->at + shape->container->offsets[4] + 4);
	uint32_t nodes = (uint32_t)counts, occupied = (uint32_t)(counts >> 32);
	if (size < GLIB_LEAST || size & (size - 1) || mask != size - 1 || nodes > occupied || occupied > size ||
	    block_at(shape, hashes) == HSNAP_NO_BLOCK)
		return;
	visit_body(shape, (struct hsnap_found){ .value = hashes, .live = size * 4, .type = target_of(shape, 1) }, size * 4, 1);
	/* Two bits of a word, whose others nobody sets. */
	if (have_big & 1)
		visit_body(shape, (struct hsnap_found){ .value = keys, .live = size * 8, .type = target_of(shape, 0) }, size * 8, 0);
	if (have_big & 2 && values != keys)
		visit_body(shape, (struct hsnap_found){ .value = values, .live = size * 8, .type = target_of(shape, 2) }, size * 8, 2);
}

static void walk_glib_pointers(struct shape *shape)
{
	uint64_t begin = field(shape, 0);
	uint32_t num = (uint32_t)field(shape, 1), room = (uint32_t)field(shape, 2);
	if (num > room || block_at(shape, begin) == HSNAP_NO_BLOCK)
		return;
	visit_body(shape, (struct hsnap_found){ .value = begin, .live = 8 * (uint64_t)num, .type = target_of(shape, 0) },
		   8 * (uint64_t)room, 0);
}

static void walk_storage(struct shape *shape)
{
	hsnap_dtype_id type;
	if (hsnap_shape_content(shape->walk->work, shape->container, shape->at, &type) == HSNAP_CONTENT_POINTER)
		visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_NODE, .value = field(shape, 0), .type = type }, 0);
}

void hsnap_shape_walk(struct hsnap_walk *walk, const struct hsnap_container *container, uint64_t at, uint64_t offset)
{
	static void (*const walks[])(struct shape *) = {
		[HSNAP_SHAPE_VECTOR] = walk_vector,      [HSNAP_SHAPE_BITS] = walk_bits,
		[HSNAP_SHAPE_BITS_SIZED] = walk_bits,    [HSNAP_SHAPE_STRING] = walk_string,
		[HSNAP_SHAPE_STRING_COW] = walk_shared_string, [HSNAP_SHAPE_STRING_FLAG] = walk_flagged_string,
		[HSNAP_SHAPE_LIST] = hsnap_walk_list,          [HSNAP_SHAPE_CHAIN] = hsnap_walk_chain,
		[HSNAP_SHAPE_TREE] = hsnap_walk_tree,          [HSNAP_SHAPE_HASH] = hsnap_walk_hash,
		[HSNAP_SHAPE_DEQUE] = walk_deque,        [HSNAP_SHAPE_DEQUE_INDEX] = walk_indexed_deque,
		[HSNAP_SHAPE_WEAK] = walk_weak,          [HSNAP_SHAPE_WEAK_FEWER] = walk_weak,
		[HSNAP_SHAPE_MANAGED] = walk_storage,    [HSNAP_SHAPE_OPTIONAL] = walk_storage,
		[HSNAP_SHAPE_VARIANT] = walk_storage,    [HSNAP_SHAPE_OWNED] = walk_owned,
		[HSNAP_SHAPE_OWNED_FEWER] = walk_owned,
		[HSNAP_SHAPE_INPLACE] = walk_storage,    [HSNAP_SHAPE_INPLACE_FEWER] = walk_storage,
		[HSNAP_SHAPE_INDICES] = hsnap_walk_indices, [HSNAP_SHAPE_ARRAY] = walk_array,
		[HSNAP_SHAPE_GLIB_TABLE] = walk_glib_table, [HSNAP_SHAPE_GLIB_POINTERS] = walk_glib_pointers,
		[HSNAP_SHAPE_VALUE] = walk_storage,      [HSNAP_SHAPE_INSIDE] = walk_storage,
	};
	struct shape shape = { walk, container, at, offset, 0 };
	walks[container->library->shape](&shape);
}

void hsnap_shape_words(const struct hsnap_container *container, void (*see)(void *context, uint64_t offset), void *context)
{
	/* One bit a field; of a deque's places all four words. */
	static const uint8_t pointers[] = {
		[HSNAP_SHAPE_VECTOR] = 7, [HSNAP_SHAPE_BITS] = 7, [HSNAP_SHAPE_BITS_SIZED] = 1, [HSNAP_SHAPE_STRING] = 1,
		[HSNAP_SHAPE_STRING_COW] = 1, [HSNAP_SHAPE_LIST] = 3, [HSNAP_SHAPE_CHAIN] = 1, [HSNAP_SHAPE_TREE] = 7,
		[HSNAP_SHAPE_HASH] = 5, [HSNAP_SHAPE_DEQUE] = 13, [HSNAP_SHAPE_DEQUE_INDEX] = 15, [HSNAP_SHAPE_WEAK] = 2,
		[HSNAP_SHAPE_WEAK_FEWER] = 2, [HSNAP_SHAPE_INDICES] = 1, [HSNAP_SHAPE_ARRAY] = 1, [HSNAP_SHAPE_GLIB_TABLE] = 7,
		[HSNAP_SHAPE_GLIB_POINTERS] = 1, [HSNAP_SHAPE_VALUE] = 0, [HSNAP_SHAPE_INSIDE] = 2,
	};
	uint8_t shape = container->library->shape;
	for (unsigned f = 0; f < HSNAP_MAX_FIELDS; f++) {
		unsigned words = shape == HSNAP_SHAPE_DEQUE && f >= 2 ? 4 : 1;
		if (!(pointers[shape] >> f & 1) || !container->library->fields[f])
			continue;
		for (unsigned w = 0; w < words; w++)
			see(context, container->offsets[f] + 8 * w);
	}
}
