/* SPDX-License-Identifier: MIT */
/* shape.h - what the walks of containers share.  Private to shapes.c, links.c and their like. */
#ifndef HSNAP_CAPTURE_NAMING_SHAPE_H
#define HSNAP_CAPTURE_NAMING_SHAPE_H

#include "capture/naming/claims.h"
#include "capture/naming/shapes.h"

/* One container on its way to being believed. */
struct shape {
	struct hsnap_walk *walk;
	const struct hsnap_container *container;
	uint64_t at;     /* the container's address */
	uint64_t offset; /* the same in the outermost object */
	uint32_t hint;
};

static inline bool load(const struct shape *shape, uint64_t at, uint64_t *ret)
{
	return hsnap_window_word(&shape->walk->reader, at, ret);
}

/* A word that must be there; 0 where it is not. */
static inline uint64_t word_at(const struct shape *shape, uint64_t at)
{
	uint64_t word = 0;
	return load(shape, at, &word) ? word : 0;
}

static inline uint64_t field(const struct shape *shape, unsigned number)
{
	return word_at(shape, shape->at + shape->container->offsets[number]);
}

static inline uint64_t size_of(const struct shape *shape, hsnap_dtype_id type)
{
	return hsnap_dtype(shape->walk->work->symbols, type)->size;
}

static inline hsnap_dtype_id target_of(const struct shape *shape, unsigned number)
{
	return hsnap_dtype(shape->walk->work->symbols, shape->container->types[number])->target;
}

/* No container has more elements than there are blocks, where each has a block of its own. */
static inline uint64_t most(const struct shape *shape)
{
	return shape->walk->work->num_blocks;
}

static inline uint32_t block_at(struct shape *shape, uint64_t value)
{
	return hsnap_block_at(shape->walk->work, value, &shape->hint);
}

static inline void visit(struct shape *shape, struct hsnap_found found, unsigned number)
{
	found.offset = shape->offset + shape->container->offsets[number];
	if (found.value)
		shape->walk->visit(shape->walk->context, &found);
}

static inline void visit_node(struct shape *shape, uint64_t value, unsigned number)
{
	visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_NODE, .value = value, .type = shape->container->node }, number);
}

/* A body of `capacity` bytes: was its block asked for with as many? */
static inline void visit_body(struct shape *shape, struct hsnap_found found, uint64_t capacity, unsigned number)
{
	const struct hsnap_work *work = shape->walk->work;
	uint32_t b = block_at(shape, found.value);
	if (b != HSNAP_NO_BLOCK) {
		uint64_t size = hsnap_block_size(&work->heap->blocks.items[b]), slack = size - capacity;
		if (capacity > size || (slack > HSNAP_MOST_SLACK && slack > size / 4))
			return;
	}
	found.kind = HSNAP_SLOT_BODY;
	visit(shape, found, number);
}

/* In what LLVM calls the alternate layout the text comes first, and the flag is the highest bit. */
static inline bool is_long(const struct hsnap_container *container, uint64_t capacity, uint64_t *ret)
{
	uint64_t flag = container->offsets[0] ? 1 : (uint64_t)1 << 63;
	*ret = capacity & ~flag;
	return capacity & flag;
}

/* links.c */
void hsnap_walk_list(struct shape *shape);
void hsnap_walk_chain(struct shape *shape);
void hsnap_walk_tree(struct shape *shape);
void hsnap_walk_hash(struct shape *shape);
/* Its own head is linked with the nodes, and is none: remembered where it could be mistaken for a block's object. */
void hsnap_remember_head(struct shape *shape, uint64_t head);
/* Do the nodes lead back to the head, both ways?  Where the links stand in each; length UINT64_MAX: any. */
bool hsnap_is_ring(const struct shape *shape, uint64_t head, uint64_t next, uint64_t previous, uint64_t length);
/* indices.c */
void hsnap_walk_indices(struct shape *shape);

#endif
