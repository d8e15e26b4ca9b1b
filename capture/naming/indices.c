/* SPDX-License-Identifier: MIT */
/*
 * indices.c - boost::multi_index (1.74 multi_index/detail/{ord,hash,seq,rnd}_index_node.hpp): each node has a part for
 * each index, and all of them go round through a header that has a block of its own, and no value.
 */
#include "capture/naming/shape.h"

#define MAX_INDICES 20   /* BOOST_MULTI_INDEX_LIMIT_INDEXED_BY_SIZE */
#define MAX_HEIGHT 128   /* of a tree of as many nodes as there can be */
#define COLOUR 1u        /* stands in the parent's lowest bit */

/* One index of a container: where its part stands in a node, and the part's words in that. */
struct part {
	enum hsnap_index index;
	uint64_t at;
	uint64_t words[3]; /* ORDERED: parent, left, right; HASHED, SEQUENCED: prior, next; RANDOM: up */
};

static bool find_words(const struct hsnap_symbols *symbols, hsnap_dtype_id type, struct part *part)
{
	static const char *const names[][3] = {
		[HSNAP_INDEX_ORDERED] = { "parentcolor_", "left_", "right_" }, [HSNAP_INDEX_HASHED] = { "prior_", "next_" },
		[HSNAP_INDEX_SEQUENCED] = { "prior_", "next_" }, [HSNAP_INDEX_RANDOM] = { "up_" },
	};
	hsnap_dtype_id of;
	for (unsigned w = 0; w < 3 && names[part->index][w]; w++)
		if (!hsnap_find_field(symbols, type, names[part->index][w], &part->words[w], &of))
			return false;
	return true;
}

/* The parts of a node, from the outermost on; 0: it is none, or not all is known of it. */
static unsigned find_parts(const struct hsnap_symbols *symbols, hsnap_dtype_id node, struct part parts[MAX_INDICES])
{
	for (unsigned num = 0; num < MAX_INDICES; num++) {
		hsnap_dtype_id part;
		parts[num].index = hsnap_index_of(hsnap_str(&symbols->strings, hsnap_dtype(symbols, node)->name));
		if (!parts[num].index)
			return num;
		if (!hsnap_find_part(symbols, node, &parts[num].at, &part, &node) || !find_words(symbols, part, &parts[num]))
			return 0;
	}
	return 0;
}

static uint64_t link_at(const struct shape *shape, const struct part *part, uint64_t at, unsigned word)
{
	return word_at(shape, at + part->words[word]);
}

static uint64_t parent_at(const struct shape *shape, const struct part *part, uint64_t at)
{
	return link_at(shape, part, at, 0) & ~(uint64_t)COLOUR;
}

/* From the root always to one side: is the last node the one? */
static bool leads_to(const struct shape *shape, const struct part *part, uint64_t root, unsigned side, uint64_t last)
{
	for (unsigned height = 0; height < MAX_HEIGHT; height++) {
		uint64_t child = link_at(shape, part, root, side);
		if (!child)
			return root == last;
		if (parent_at(shape, part, child) != root)
			return false;
		root = child;
	}
	return false;
}

static bool is_tree(const struct shape *shape, const struct part *part, uint64_t head)
{
	uint64_t root = parent_at(shape, part, head), first = link_at(shape, part, head, 1), last = link_at(shape, part, head, 2);
	if (!root)
		return first == head && last == head;
	return root != head && parent_at(shape, part, root) == head && leads_to(shape, part, root, 1, first) &&
	       leads_to(shape, part, root, 2, last);
}

/* A node leads back to the one before, and on to the bucket of the next, which leads to that: so do the head's two neighbours. */
static bool is_table(const struct shape *shape, const struct part *part, uint64_t head)
{
	uint64_t last = link_at(shape, part, head, 0), bucket = link_at(shape, part, head, 1), end = link_at(shape, part, last, 1);
	uint64_t first = bucket ? word_at(shape, bucket) : 0;
	return last && first && end && link_at(shape, part, first, 0) == head && word_at(shape, end) == head;
}

/* Each node knows its place in an array, which ends with the head's. */
static bool has_place(const struct shape *shape, const struct part *part, uint64_t at)
{
	uint64_t place = link_at(shape, part, at, 0);
	return place && word_at(shape, place) == at;
}

static bool is_index(const struct shape *shape, const struct part *part, uint64_t head)
{
	switch (part->index) {
	case HSNAP_INDEX_ORDERED:
		return is_tree(shape, part, head);
	case HSNAP_INDEX_HASHED:
		return is_table(shape, part, head);
	case HSNAP_INDEX_SEQUENCED:
		return hsnap_is_ring(shape, head, part->words[1], part->words[0], UINT64_MAX);
	default:
		return has_place(shape, part, head);
	}
}

static void visit_linked(struct shape *shape, const struct part *part, uint64_t link, hsnap_dtype_id node)
{
	if (link > part->at && !hsnap_is_head(shape->walk->work, link - part->at))
		visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_NODE, .value = link - part->at, .type = node, .linked = true }, 0);
}

static void visit_places(struct shape *shape, const struct part *part, uint64_t head, hsnap_dtype_id node)
{
	const struct hsnap_work *work = shape->walk->work;
	uint64_t end = link_at(shape, part, head, 0);
	uint32_t b = hsnap_block_index_find(&work->index, end, &shape->hint);
	if (b == HSNAP_NO_BLOCK)
		return;
	for (uint64_t place = hsnap_object_start(work, b); place < end; place += 8) {
		uint64_t at = word_at(shape, place);
		if (at && link_at(shape, part, at, 0) == place)
			visit_linked(shape, part, at, node);
	}
}

/* A header is one container's: the first that says so.  Others that do are made up, and there may be many of them. */
static bool is_own(struct shape *shape, uint64_t header)
{
	bool is_new;
	struct hsnap_work *work = shape->walk->work;
	uint32_t self = (uint32_t)(shape->at / 8) | (uint32_t)1 << 31;
	uint32_t *owner = hsnap_keymap_at(&work->heads, (struct hsnap_key){ header, 1 }, &is_new);
	if (!owner)
		work->plans.failed = true;
	else if (is_new)
		*owner = self;
	return owner && *owner == self;
}

void hsnap_walk_indices(struct shape *shape)
{
	struct hsnap_work *work = shape->walk->work;
	struct part parts[MAX_INDICES];
	hsnap_dtype_id node = work->plans.same[target_of(shape, 0)];
	uint64_t header = field(shape, 0);
	unsigned num = find_parts(work->symbols, node, parts);
	uint32_t b = num ? block_at(shape, header) : HSNAP_NO_BLOCK;
	if (b == HSNAP_NO_BLOCK || hsnap_fit(work, b, node) != HSNAP_FORM_ONE)
		return;
	for (unsigned i = 0; i < num; i++)
		if (!is_index(shape, &parts[i], header + parts[i].at))
			return;
	if (!is_own(shape, header))
		return;
	hsnap_remember_head(shape, header);
	visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = header, .type = node }, 0);
	for (unsigned i = 0; i < num; i++) {
		uint64_t head = header + parts[i].at;
		if (parts[i].index == HSNAP_INDEX_RANDOM)
			visit_places(shape, &parts[i], head, node);
		else
			visit_linked(shape, &parts[i], parts[i].index == HSNAP_INDEX_ORDERED ? parent_at(shape, &parts[i], head)
											      : link_at(shape, &parts[i], head, 0), node);
	}
}
