/* SPDX-License-Identifier: MIT */
/* links.c - containers whose nodes are linked: rings, chains, trees, hash tables. */
#include <string.h>

#include "capture/naming/shape.h"

#define MAX_NODES 64   /* of a chain, that are looked at before it is believed */
#define MAX_HEIGHT 128 /* of a tree of as many nodes as there can be */
#define MAX_BUCKETS 16 /* that are looked at */

void hsnap_remember_head(struct shape *shape, uint64_t head)
{
	bool is_new;
	struct hsnap_work *work = shape->walk->work;
	if (block_at(shape, head) == HSNAP_NO_BLOCK)
		return;
	uint32_t *is_head = hsnap_keymap_at(&work->heads, (struct hsnap_key){ head, 0 }, &is_new);
	if (is_head)
		*is_head = true;
	else
		work->plans.failed = true;
}

bool hsnap_is_ring(const struct shape *shape, uint64_t head, uint64_t next, uint64_t previous, uint64_t length)
{
	uint64_t from = head, at = word_at(shape, head + next), num = 0;
	for (; at != head && num < MAX_NODES; num++) {
		if (word_at(shape, at + previous) != from)
			return false;
		from = at;
		at = word_at(shape, at + next);
	}
	uint64_t last = word_at(shape, head + previous);
	if (at != head)
		return word_at(shape, last + next) == head && length > num;
	return last == from && (length == UINT64_MAX || length == num);
}

void hsnap_walk_list(struct shape *shape)
{
	const uint64_t *offsets = shape->container->offsets;
	uint64_t start = offsets[0] < offsets[1] ? offsets[0] : offsets[1], head = shape->at + start;
	uint64_t length = shape->container->library->fields[2] ? field(shape, 2) : UINT64_MAX;
	if ((length != UINT64_MAX && length > most(shape)) || !hsnap_is_ring(shape, head, offsets[0] - start, offsets[1] - start, length))
		return;
	hsnap_remember_head(shape, head);
	if (field(shape, 0) == head)
		return;
	visit_node(shape, field(shape, 0), 0);
	visit_node(shape, field(shape, 1), 1);
}

/* A chain that ends after `length` nodes, as far as is looked. */
static bool is_chain(const struct shape *shape, uint64_t node, uint64_t length)
{
	uint64_t num = 0;
	for (; node && num < MAX_NODES; num++)
		if (node % 8 || !load(shape, node, &node))
			return false;
	return node ? length > num : length == num || length == UINT64_MAX;
}

void hsnap_walk_chain(struct shape *shape)
{
	uint64_t first = field(shape, 0);
	if (is_chain(shape, first, UINT64_MAX))
		visit_node(shape, first, 0);
}

/* Where the links stand in a node of the trees of each library. */
struct links {
	uint64_t parent, left, right;
};

/* From the root always to one side: is the last node the one? */
static bool leads_to(const struct shape *shape, const struct links *links, uint64_t root, uint64_t side, uint64_t last)
{
	for (unsigned height = 0; height < MAX_HEIGHT; height++) {
		uint64_t child = word_at(shape, root + side);
		if (!child)
			return root == last;
		if (word_at(shape, child + links->parent) != root)
			return false;
		root = child;
	}
	return false;
}

void hsnap_walk_tree(struct shape *shape)
{
	static const struct links of_libstdcxx = { .parent = 8, .left = 16, .right = 24 };
	static const struct links of_libcxx = { .parent = 16, .left = 0, .right = 8 };
	bool libcxx = shape->container->library->family == HSNAP_FAMILY_TREE_LIBCXX;
	const struct links *links = libcxx ? &of_libcxx : &of_libstdcxx;
	uint64_t root = field(shape, 0), first = field(shape, 1), num = field(shape, 3);
	uint64_t head = shape->at + shape->container->offsets[0] - (libcxx ? links->left : links->parent);
	if (!root || !num || num > most(shape) || word_at(shape, root + links->parent) != head ||
	    !leads_to(shape, links, root, links->left, first))
		return;
	if (!libcxx && !leads_to(shape, links, root, links->right, field(shape, 2)))
		return;
	visit_node(shape, root, 0);
	visit_node(shape, first, 1);
	if (!libcxx)
		visit_node(shape, field(shape, 2), 2);
}

/* The array's first entries: empty, or what comes before the bucket's first node. */
static bool are_buckets(struct shape *shape, uint64_t buckets, uint64_t num)
{
	const struct hsnap_work *work = shape->walk->work;
	uint64_t before = shape->at + shape->container->offsets[2];
	for (uint64_t i = 0; i < num && i < MAX_BUCKETS; i++) {
		uint64_t word;
		if (!load(shape, buckets + 8 * i, &word))
			return false;
		if (word && word != before && hsnap_block_index_find(&work->index, word, &shape->hint) == HSNAP_NO_BLOCK)
			return false;
	}
	return true;
}

void hsnap_walk_hash(struct shape *shape)
{
	uint64_t buckets = field(shape, 0), num_buckets = field(shape, 1), first = field(shape, 2), num = field(shape, 3);
	uint32_t bits = (uint32_t)field(shape, 4);
	float load_factor;
	memcpy(&load_factor, &bits, sizeof(load_factor));
	if (!(load_factor >= 1.0f / 16 && load_factor <= 64) || !buckets || !num_buckets || num_buckets > UINT64_MAX / 8 ||
	    num > most(shape) || num / 64 > num_buckets || !are_buckets(shape, buckets, num_buckets) || !is_chain(shape, first, num))
		return;
	bool inside = shape->container->library->fields[5] && buckets == shape->at + shape->container->offsets[5];
	if (inside && num_buckets != 1)
		return;
	if (!inside)
		visit_body(shape, (struct hsnap_found){ .value = buckets, .live = num_buckets * 8, .type = target_of(shape, 0) },
			   num_buckets * 8, 0);
	visit_node(shape, first, 2);
}
