/* SPDX-License-Identifier: MIT */
/* shapes.c - proofs and walks, one pair a shape (enum hsnap_shape says what its fields are). */
#include "capture/naming/shapes.h"

#include <string.h>

#include "capture/naming/claims.h"
#include "snapshot/base/search.h"

#define MAX_NODES 64    /* of a chain, that are looked at before it is believed */
#define MAX_HEIGHT 128  /* of a tree of as many nodes as there can be */
#define MAX_BUCKETS 16  /* that are looked at */
#define COW_HEAD 24u    /* length, capacity, owners */
#define DEQUE_BYTES 512u         /* libstdc++: of a block with more than one element */
#define DEQUE_INDEX_BYTES 4096u  /* libc++: the same, */
#define DEQUE_INDEX_SMALL 256u   /* for elements smaller than this, */
#define DEQUE_INDEX_NUM 16u      /* else so many elements */
#define LOCAL_FUNCTION 16u       /* libstdc++: bytes of a functor that need no block */

/* One container on its way to being believed. */
struct shape {
	struct hsnap_walk *walk;
	const struct hsnap_container *container;
	uint64_t at;     /* the container's address */
	uint64_t offset; /* the same in the outermost object */
	uint32_t hint;
};

static bool load(const struct shape *shape, uint64_t at, uint64_t *ret)
{
	return hsnap_window_word(&shape->walk->reader, at, ret);
}

/* A word that must be there; 0 where it is not. */
static uint64_t word_at(const struct shape *shape, uint64_t at)
{
	uint64_t word = 0;
	return load(shape, at, &word) ? word : 0;
}

static uint64_t field(const struct shape *shape, unsigned number)
{
	return word_at(shape, shape->at + shape->container->offsets[number]);
}

static uint64_t size_of(const struct shape *shape, hsnap_dtype_id type)
{
	return hsnap_dtype(shape->walk->work->symbols, type)->size;
}

static hsnap_dtype_id target_of(const struct shape *shape, unsigned number)
{
	return hsnap_dtype(shape->walk->work->symbols, shape->container->types[number])->target;
}

/* No container has more elements than there are blocks, where each has a block of its own. */
static uint64_t most(const struct shape *shape)
{
	return shape->walk->work->num_blocks;
}

static uint32_t block_at(struct shape *shape, uint64_t value)
{
	const struct hsnap_work *work = shape->walk->work;
	uint32_t b = hsnap_block_index_find(&work->index, value, &shape->hint);
	return b != HSNAP_NO_BLOCK && work->heap->blocks.items[b].address == value ? b : HSNAP_NO_BLOCK;
}

static void visit(struct shape *shape, struct hsnap_found found, unsigned number)
{
	found.offset = shape->offset + shape->container->offsets[number];
	if (found.value)
		shape->walk->visit(shape->walk->context, &found);
}

static void visit_node(struct shape *shape, uint64_t value, unsigned number)
{
	visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_NODE, .value = value, .type = shape->container->node }, number);
}

/* A body of `capacity` bytes: was its block asked for with as many? */
static void visit_body(struct shape *shape, struct hsnap_found found, uint64_t capacity, unsigned number)
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

/* In what LLVM calls the alternate layout the text comes first, and the flag is the highest bit. */
static bool is_long(const struct hsnap_container *container, uint64_t capacity, uint64_t *ret)
{
	uint64_t flag = container->offsets[0] ? 1 : (uint64_t)1 << 63;
	*ret = capacity & ~flag;
	return capacity & flag;
}

static void walk_flagged_string(struct shape *shape)
{
	uint64_t capacity;
	if (is_long(shape->container, field(shape, 2), &capacity) && capacity)
		visit_text(shape, 0, field(shape, 0), field(shape, 1), capacity - 1);
}

/* Its own head is linked with the nodes, and is none: remembered where it could be mistaken for a block's object. */
static void remember_head(struct shape *shape, uint64_t head)
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

static bool is_ring(const struct shape *shape, uint64_t head, uint64_t next, uint64_t previous, uint64_t length)
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

static void walk_list(struct shape *shape)
{
	const uint64_t *offsets = shape->container->offsets;
	uint64_t start = offsets[0] < offsets[1] ? offsets[0] : offsets[1], head = shape->at + start;
	uint64_t length = shape->container->library->fields[2] ? field(shape, 2) : UINT64_MAX;
	if ((length != UINT64_MAX && length > most(shape)) || !is_ring(shape, head, offsets[0] - start, offsets[1] - start, length))
		return;
	remember_head(shape, head);
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

static void walk_chain(struct shape *shape)
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

static void walk_tree(struct shape *shape)
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

static void walk_hash(struct shape *shape)
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
	visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = control, .type = target_of(shape, 1) }, 1);
	if (fewer ? (int64_t)owners >= 0 : (int32_t)owners > 0)
		visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = field(shape, 0),
						   .type = shape->container->element }, 0);
}

/* The same seen from the control block. */
static void walk_owned(struct shape *shape)
{
	bool fewer = shape->container->library->shape == HSNAP_SHAPE_OWNED_FEWER;
	if (fewer ? (int64_t)word_at(shape, shape->at + 8) >= 0 : (int32_t)field(shape, 1) > 0)
		visit(shape, (struct hsnap_found){ .kind = HSNAP_SLOT_POINTER, .value = field(shape, 0),
						   .type = target_of(shape, 0) }, 0);
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
		[HSNAP_SHAPE_LIST] = walk_list,          [HSNAP_SHAPE_CHAIN] = walk_chain,
		[HSNAP_SHAPE_TREE] = walk_tree,          [HSNAP_SHAPE_HASH] = walk_hash,
		[HSNAP_SHAPE_DEQUE] = walk_deque,        [HSNAP_SHAPE_DEQUE_INDEX] = walk_indexed_deque,
		[HSNAP_SHAPE_WEAK] = walk_weak,          [HSNAP_SHAPE_WEAK_FEWER] = walk_weak,
		[HSNAP_SHAPE_MANAGED] = walk_storage,    [HSNAP_SHAPE_OPTIONAL] = walk_storage,
		[HSNAP_SHAPE_VARIANT] = walk_storage,    [HSNAP_SHAPE_OWNED] = walk_owned,
		[HSNAP_SHAPE_OWNED_FEWER] = walk_owned,
		[HSNAP_SHAPE_INPLACE] = walk_storage,    [HSNAP_SHAPE_INPLACE_FEWER] = walk_storage,
	};
	struct shape shape = { walk, container, at, offset, 0 };
	walks[container->library->shape](&shape);
}

/* --- what is in a storage --- */

static uint64_t number_at(const struct hsnap_work *work, uint64_t at, uint64_t size, bool *ret_there)
{
	uint64_t number = 0;
	*ret_there = size && size <= sizeof(number) && work->target->ops->read(work->target->self, at, &number, size) == size;
	return number;
}

/* Is there room in the storage for an object of the type? */
static bool fits(const struct hsnap_symbols *symbols, const struct hsnap_container *container, hsnap_dtype_id type)
{
	return type && hsnap_dtype(symbols, type)->size <= hsnap_dtype(symbols, container->types[0])->size;
}

static enum hsnap_content optional_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					   hsnap_dtype_id *ret_type)
{
	bool there;
	uint64_t engaged = number_at(work, at + container->offsets[1], 1, &there);
	*ret_type = container->element;
	if (!there || engaged > 1 || !fits(work->symbols, container, *ret_type))
		return HSNAP_CONTENT_UNKNOWN;
	return engaged ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_NOTHING;
}

static enum hsnap_content variant_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	uint64_t size = hsnap_dtype(work->symbols, container->types[1])->size;
	uint32_t arms = hsnap_dtype(work->symbols, container->type)->num_arguments;
	bool there;
	uint64_t arm = number_at(work, at + container->offsets[1], size, &there);
	if (!there)
		return HSNAP_CONTENT_UNKNOWN;
	if (arm == UINT64_MAX >> (64 - 8 * size)) /* an exception was thrown while it was assigned to */
		return HSNAP_CONTENT_NOTHING;
	*ret_type = arm < arms ? hsnap_type_argument(work->symbols, container->type, (unsigned)arm) : 0;
	return fits(work->symbols, container, *ret_type) ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_UNKNOWN;
}

/* Classes of libstdc++ that copying needs code for; the others that are as small are plain. */
static bool is_plain_class(const char *name)
{
	static const char *const plain[] = { "std::pair<", "std::tuple<", "std::_Tuple_impl<", "std::_Head_base<", "std::array<",
		"std::basic_string_view<", "std::reference_wrapper<", "std::_Bind<", "std::chrono::" };
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!strncmp(name, plain[i], strlen(plain[i])))
			return true;
	return strncmp(name, "std::", 5) != 0;
}

enum copying { BY_BYTES, MAY_NEED_CODE, NEEDS_CODE };

/* How is an object of the type copied?  Of a class of one's own debug info does not tell. */
static enum copying copying_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned depth)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	const char *name = hsnap_str(&symbols->strings, dtype->name);
	if (dtype->kind != HSNAP_DTYPE_STRUCT)
		return dtype->kind == HSNAP_DTYPE_UNION || dtype->kind == HSNAP_DTYPE_ARRAY ? MAY_NEED_CODE : BY_BYTES;
	if (!is_plain_class(name))
		return NEEDS_CODE;
	enum copying worst = !strncmp(name, "std::", 5) || strstr(name, "(lambda at ") ? BY_BYTES : MAY_NEED_CODE;
	for (uint32_t m = 0; m < dtype->num_members && depth < 4; m++) {
		enum copying of_member = copying_of(symbols, symbols->members.items[dtype->first_member + m].type, depth + 1);
		worst = of_member > worst ? of_member : worst;
	}
	return worst;
}

/* A functor stands in the function object where it is small and copied by bytes, else in a block. */
static enum hsnap_content functor_content(const struct hsnap_work *work, hsnap_dtype_id type, uint64_t word)
{
	uint64_t size = hsnap_dtype(work->symbols, type)->size;
	enum copying copying = copying_of(work->symbols, type, 0);
	if (!type || !size)
		return HSNAP_CONTENT_UNKNOWN;
	if (size > LOCAL_FUNCTION || copying == NEEDS_CODE)
		return HSNAP_CONTENT_POINTER;
	if (copying == BY_BYTES)
		return HSNAP_CONTENT_OBJECT;
	uint32_t hint = 0, b = hsnap_block_index_find(&work->index, word, &hint);
	return b == HSNAP_NO_BLOCK || hsnap_block_size(&work->heap->blocks.items[b]) < size ? HSNAP_CONTENT_OBJECT
											     : HSNAP_CONTENT_UNKNOWN;
}

/* The class whose function it is, by the debug info: what it manages is a type argument. */
static const struct hsnap_dmanager *find_manager(const struct hsnap_symbols *symbols, uint64_t address)
{
	size_t low = hsnap_first(symbols->managers.num, i, symbols->managers.items[i].address >= address);
	return low < symbols->managers.num && symbols->managers.items[low].address == address ? &symbols->managers.items[low] : NULL;
}

static enum hsnap_content managed_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	static const struct {
		const char *prefix;
		uint8_t argument, content; /* UNKNOWN: it depends */
	} managers[] = {
		{ "std::_Function_handler<", 1, HSNAP_CONTENT_UNKNOWN },
		{ "std::_Function_base::_Base_manager<", 0, HSNAP_CONTENT_UNKNOWN },
		{ "std::any::_Manager_internal<", 0, HSNAP_CONTENT_OBJECT },
		{ "std::any::_Manager_external<", 0, HSNAP_CONTENT_POINTER },
		{ "std::__1::__any_imp::_SmallHandler<", 0, HSNAP_CONTENT_OBJECT },
		{ "std::__1::__any_imp::_LargeHandler<", 0, HSNAP_CONTENT_POINTER },
	};
	bool there;
	uint64_t address = number_at(work, at + container->offsets[1], 8, &there);
	if (!there)
		return HSNAP_CONTENT_UNKNOWN;
	if (!address)
		return HSNAP_CONTENT_NOTHING;
	const struct hsnap_dmanager *manager = find_manager(work->symbols, address);
	const char *name = manager ? hsnap_str(&work->symbols->strings, hsnap_dtype(work->symbols, manager->type)->name) : "";
	for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++) {
		if (strncmp(name, managers[i].prefix, strlen(managers[i].prefix)))
			continue;
		*ret_type = hsnap_type_argument(work->symbols, manager->type, managers[i].argument);
		if (!managers[i].content)
			return functor_content(work, *ret_type, number_at(work, at + container->offsets[0], 8, &there));
		if (managers[i].content == HSNAP_CONTENT_OBJECT && !fits(work->symbols, container, *ret_type))
			return HSNAP_CONTENT_UNKNOWN;
		return *ret_type ? managers[i].content : HSNAP_CONTENT_UNKNOWN;
	}
	return HSNAP_CONTENT_UNKNOWN;
}

static enum hsnap_content string_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					 hsnap_dtype_id *ret_type)
{
	bool there;
	uint64_t capacity = number_at(work, at + container->offsets[2], 8, &there);
	*ret_type = container->element;
	return there && is_long(container, capacity, &capacity) ? HSNAP_CONTENT_POINTER : HSNAP_CONTENT_NOTHING;
}

/* The object dies with its last owner, its storage lives on. */
static enum hsnap_content inplace_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	bool there, fewer = container->library->shape == HSNAP_SHAPE_INPLACE_FEWER;
	/* clang leaves libc++'s base to the library's own debug info: the binary interface tells where they are. */
	uint64_t owners = number_at(work, at + (fewer ? 8 : container->offsets[1]), fewer ? 8 : 4, &there);
	*ret_type = container->element;
	if (!there || !fits(work->symbols, container, *ret_type))
		return HSNAP_CONTENT_UNKNOWN;
	bool alive = fewer ? (int64_t)owners >= 0 : (int32_t)owners > 0;
	return alive ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_NOTHING;
}

enum hsnap_content hsnap_shape_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
				       hsnap_dtype_id *ret_type)
{
	*ret_type = 0;
	switch (container->library->shape) {
	case HSNAP_SHAPE_OPTIONAL:
		return optional_content(work, container, at, ret_type);
	case HSNAP_SHAPE_VARIANT:
		return variant_content(work, container, at, ret_type);
	case HSNAP_SHAPE_MANAGED:
		return managed_content(work, container, at, ret_type);
	case HSNAP_SHAPE_INPLACE:
	case HSNAP_SHAPE_INPLACE_FEWER:
		return inplace_content(work, container, at, ret_type);
	case HSNAP_SHAPE_STRING_FLAG:
		return string_content(work, container, at, ret_type);
	default:
		return HSNAP_CONTENT_UNKNOWN;
	}
}

bool hsnap_shape_storage(const struct hsnap_symbols *symbols, const struct hsnap_container *container,
			 uint64_t *ret_offset, uint64_t *ret_size)
{
	switch (container->library->shape) {
	case HSNAP_SHAPE_OPTIONAL:
	case HSNAP_SHAPE_VARIANT:
	case HSNAP_SHAPE_MANAGED:
	case HSNAP_SHAPE_INPLACE:
	case HSNAP_SHAPE_INPLACE_FEWER:
		*ret_offset = container->offsets[0];
		*ret_size = hsnap_dtype(symbols, container->types[0])->size;
		return true;
	case HSNAP_SHAPE_STRING_FLAG: /* a short one has all of it */
		*ret_offset = 0;
		*ret_size = hsnap_dtype(symbols, container->type)->size;
		return true;
	default:
		return false;
	}
}

void hsnap_shape_words(const struct hsnap_container *container, void (*see)(void *context, uint64_t offset), void *context)
{
	/* One bit a field; of a deque's places all four words. */
	static const uint8_t pointers[] = {
		[HSNAP_SHAPE_VECTOR] = 7, [HSNAP_SHAPE_BITS] = 7, [HSNAP_SHAPE_BITS_SIZED] = 1, [HSNAP_SHAPE_STRING] = 1,
		[HSNAP_SHAPE_STRING_COW] = 1, [HSNAP_SHAPE_LIST] = 3, [HSNAP_SHAPE_CHAIN] = 1, [HSNAP_SHAPE_TREE] = 7,
		[HSNAP_SHAPE_HASH] = 5, [HSNAP_SHAPE_DEQUE] = 13, [HSNAP_SHAPE_DEQUE_INDEX] = 15, [HSNAP_SHAPE_WEAK] = 2,
		[HSNAP_SHAPE_WEAK_FEWER] = 2, [HSNAP_SHAPE_VARIANT] = 0,
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
