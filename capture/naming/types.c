/* SPDX-License-Identifier: MIT */
/*
 * types.c - flattens types into plans.
 *
 * Debug info is the target's choice: nesting is bounded, and a type that has
 * more pointers than its size has room for is taken to have none.
 */
#include "capture/naming/types.h"

#include <stdlib.h>
#include <string.h>

#include "capture/naming/shapes.h"

#define MAX_DEPTH 64
#define MAX_INLINE 256 /* slots of a member that are copied; more stay one loop of one */

enum plan_state { UNKNOWN, MAKING, MADE };

struct builder {
	struct hsnap_plans *plans;
	struct hsnap_vec(struct hsnap_slot) slots;
	uint64_t words;
};

static const struct hsnap_plan *make_plan(struct hsnap_plans *plans, hsnap_dtype_id type, unsigned depth);

static const char *type_name(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	return hsnap_str(&symbols->strings, hsnap_dtype(symbols, type)->name);
}

static void add_slot(struct builder *builder, struct hsnap_slot slot, uint64_t words)
{
	slot.type = builder->plans->same[slot.type];
	if (__builtin_add_overflow(builder->words, words, &builder->words))
		builder->words = UINT64_MAX;
	if (!hsnap_vec_push(&builder->slots, slot))
		builder->plans->failed = true;
}

/* `count` objects of a type at an offset. */
static void add_objects(struct builder *builder, hsnap_dtype_id type, uint64_t offset, uint64_t count,
			unsigned depth)
{
	const struct hsnap_plan *plan = make_plan(builder->plans, type, depth);
	if (!plan->num || !count)
		return;
	uint64_t words;
	if (__builtin_mul_overflow(plan->words, count, &words))
		words = UINT64_MAX;
	if (count > 1 || plan->num > MAX_INLINE) {
		add_slot(builder, (struct hsnap_slot){ .kind = HSNAP_SLOT_EACH, .offset = offset, .count = count,
						       .type = type }, words);
		return;
	}
	for (uint32_t i = 0; i < plan->num; i++) {
		struct hsnap_slot slot = plan->slots[i];
		slot.offset += offset;
		add_slot(builder, slot, 0);
	}
	if (__builtin_add_overflow(builder->words, words, &builder->words))
		builder->words = UINT64_MAX;
}

/* Hash tables with and without cached hashes have different nodes. */
static struct hsnap_key node_key(const struct hsnap_plans *plans, enum hsnap_family family,
				 hsnap_dtype_id element, const char *name)
{
	bool cached = family == HSNAP_FAMILY_HASH && hsnap_is_cached(name);
	return (struct hsnap_key){ (uint64_t)family << 1 | cached, plans->same[element] };
}

/* false: it has not what the entry says, or too little is known of its arguments. */
static bool resolve(const struct hsnap_plans *plans, struct hsnap_container *container)
{
	const struct hsnap_symbols *symbols = plans->symbols;
	const struct hsnap_library *library = container->library;
	for (unsigned f = 0; f < HSNAP_MAX_FIELDS; f++)
		if (library->fields[f] && !hsnap_find_field(symbols, container->type, library->fields[f], &container->offsets[f],
							    &container->types[f]))
			return false;
	if (library->argument != HSNAP_NO_ARGUMENT) {
		container->element = plans->same[hsnap_type_argument(symbols, container->type, library->argument)];
		if (!container->element)
			return false;
	}
	if (library->family)
		container->node = plans->same[hsnap_keymap_get(&plans->nodes, node_key(plans, (enum hsnap_family)library->family,
							       container->element, type_name(symbols, container->type)))];
	return container->node || !library->family;
}

static void count_word(void *context, uint64_t offset)
{
	(void)offset;
	++*(uint64_t *)context;
}

/* false: the table does not know it, or not enough is known. */
static bool add_container(struct builder *builder, hsnap_dtype_id type)
{
	struct hsnap_plans *plans = builder->plans;
	struct hsnap_container container = { .library = hsnap_library_of(plans->symbols, type), .type = type };
	if (!container.library || !resolve(plans, &container))
		return false;
	uint64_t words = 0;
	hsnap_shape_words(&container, count_word, &words);
	if (!hsnap_vec_push(&plans->containers, container)) {
		plans->failed = true;
		return false;
	}
	add_slot(builder, (struct hsnap_slot){ .kind = HSNAP_SLOT_CONTAINER, .count = plans->containers.num - 1, .type = type },
		 words);
	return true;
}

/* A node's links are declared as pointers to its base, which knows no element. */
static void retarget_links(struct builder *builder, hsnap_dtype_id type)
{
	const struct hsnap_symbols *symbols = builder->plans->symbols;
	enum hsnap_family family = hsnap_node_family(type_name(symbols, type));
	for (size_t i = 0; family && i < builder->slots.num; i++) {
		struct hsnap_slot *slot = &builder->slots.items[i];
		if (slot->kind != HSNAP_SLOT_POINTER || !hsnap_is_link(family, type_name(symbols, slot->type)))
			continue;
		slot->kind = HSNAP_SLOT_NODE;
		slot->type = type;
	}
}

/* Links between nodes with several indices lead to the part of the same index, and are those of the whole node. */
static void retarget_parts(struct builder *builder, hsnap_dtype_id type)
{
	const struct hsnap_symbols *symbols = builder->plans->symbols;
	uint64_t at;
	hsnap_dtype_id part, rest;
	if (!hsnap_index_of(type_name(symbols, type)) || !hsnap_find_part(symbols, type, &at, &part, &rest) || !at)
		return;
	for (size_t i = 0; i < builder->slots.num; i++) {
		struct hsnap_slot *slot = &builder->slots.items[i];
		bool is_new = slot->kind == HSNAP_SLOT_POINTER && slot->offset >= at && hsnap_is_part(type_name(symbols, slot->type));
		if (!is_new && (slot->kind != HSNAP_SLOT_NODE || !slot->count))
			continue;
		*slot = (struct hsnap_slot){ .kind = HSNAP_SLOT_NODE, .offset = slot->offset, .count = is_new ? at : slot->count,
					     .type = builder->plans->same[type] };
	}
}

/* std::unique_ptr<T[]>, std::shared_ptr<T[]>: their pointer is declared as one to a T. */
static void retarget_owner(struct builder *builder, hsnap_dtype_id type)
{
	const struct hsnap_symbols *symbols = builder->plans->symbols;
	const struct hsnap_dtype *of = hsnap_dtype(symbols, hsnap_type_argument(symbols, type, 0));
	if (of->kind != HSNAP_DTYPE_ARRAY || of->count || !hsnap_owns_array(type_name(symbols, type)))
		return;
	for (size_t i = 0; i < builder->slots.num; i++) {
		struct hsnap_slot *slot = &builder->slots.items[i];
		if (slot->kind == HSNAP_SLOT_POINTER && slot->type == builder->plans->same[of->target])
			slot->kind = HSNAP_SLOT_ARRAY;
	}
}

static void add_members(struct builder *builder, hsnap_dtype_id type, unsigned depth)
{
	const struct hsnap_symbols *symbols = builder->plans->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	const uint32_t skip = HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VPTR;
	for (uint32_t m = 0; m < dtype->num_members; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		uint64_t size = hsnap_dtype(symbols, member->type)->size;
		if (!(member->flags & skip) && member->offset <= dtype->size && size <= dtype->size - member->offset)
			add_objects(builder, member->type, member->offset, 1, depth);
	}
}

/* The tail of `struct { …; T items[]; }`. */
static void find_tail(const struct hsnap_symbols *symbols, hsnap_dtype_id type, struct hsnap_plan *plan)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (!(dtype->flags & HSNAP_DTYPE_FLEXIBLE) || !dtype->num_members)
		return;
	const struct hsnap_dmember *last = &symbols->members.items[dtype->first_member + dtype->num_members - 1];
	const struct hsnap_dtype *array = hsnap_dtype(symbols, last->type);
	if (array->kind != HSNAP_DTYPE_ARRAY || last->offset > dtype->size ||
	    !hsnap_dtype(symbols, array->target)->size)
		return;
	plan->tail = array->target;
	plan->tail_offset = last->offset;
}

/* What the user says of words of the type, and whose owner it is: no pointers of the type's own. */
static void add_user_slots(struct builder *builder, hsnap_dtype_id type)
{
	const struct hsnap_bounds *bounds = builder->plans->bounds;
	if (!bounds)
		return;
	for (uint32_t i = hsnap_keymap_get(&bounds->holds, (struct hsnap_key){ type, 0 }); i; i = bounds->bounds.items[i].next)
		add_slot(builder, (struct hsnap_slot){ .kind = HSNAP_SLOT_USER, .count = i }, 0);
	for (uint32_t i = hsnap_keymap_get(&bounds->owned, (struct hsnap_key){ type, 0 }); i; i = bounds->owners.items[i - 1].next)
		add_slot(builder, (struct hsnap_slot){ .kind = HSNAP_SLOT_OWNER, .count = i - 1,
						       .type = bounds->owners.items[i - 1].member }, 0);
}

static void build(struct builder *builder, hsnap_dtype_id type, unsigned depth)
{
	const struct hsnap_symbols *symbols = builder->plans->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	switch (dtype->kind) {
	case HSNAP_DTYPE_POINTER:
		add_slot(builder, (struct hsnap_slot){ .kind = HSNAP_SLOT_POINTER, .type = dtype->target }, 1);
		break;
	case HSNAP_DTYPE_ARRAY:
		add_objects(builder, dtype->target, 0, dtype->count, depth);
		break;
	case HSNAP_DTYPE_STRUCT:
		if (hsnap_is_storage(type_name(symbols, type)) &&
		    hsnap_dtype(symbols, hsnap_type_argument(symbols, type, 0))->size <= dtype->size)
			add_objects(builder, hsnap_type_argument(symbols, type, 0), 0, 1, depth);
		else if (!add_container(builder, type))
			add_members(builder, type, depth);
		retarget_links(builder, type);
		retarget_parts(builder, type);
		retarget_owner(builder, type);
		break;
	default:
		break;
	}
	add_user_slots(builder, type);
}

static const struct hsnap_plan *make_plan(struct hsnap_plans *plans, hsnap_dtype_id type, unsigned depth)
{
	static const struct hsnap_plan empty = { .state = MADE };
	struct hsnap_plan *plan = &plans->plans[type];
	if (plan->state == MADE)
		return plan;
	if (plan->state == MAKING || depth == MAX_DEPTH)
		return &empty;
	plan->state = MAKING;
	struct builder builder = { .plans = plans };
	build(&builder, type, depth + 1);
	if (builder.words <= hsnap_dtype(plans->symbols, type)->size / 8) {
		plan->slots = builder.slots.items;
		plan->num = (uint32_t)builder.slots.num;
		plan->words = builder.words;
	} else {
		hsnap_vec_deinit(&builder.slots);
	}
	find_tail(plans->symbols, type, plan);
	plan->state = MADE;
	return plan;
}

const struct hsnap_plan *hsnap_plan_of(struct hsnap_plans *plans, hsnap_dtype_id type)
{
	return make_plan(plans, type, 0);
}

/* Node types by what they hold. */
static bool index_nodes(struct hsnap_plans *plans)
{
	const struct hsnap_symbols *symbols = plans->symbols;
	for (hsnap_dtype_id type = 1; type < symbols->types.num; type++) {
		enum hsnap_family family = hsnap_node_family(type_name(symbols, type));
		hsnap_dtype_id element = hsnap_type_argument(symbols, type, 0);
		if (!family || !element || hsnap_dtype(symbols, type)->kind != HSNAP_DTYPE_STRUCT)
			continue;
		bool is_new;
		uint32_t *node = hsnap_keymap_at(&plans->nodes, node_key(plans, family, element, type_name(symbols, type)), &is_new);
		if (!node)
			return false;
		if (is_new)
			*node = type;
	}
	return true;
}

/* The node of a container that has none. */
static bool make_node(struct hsnap_plans *plans, struct hsnap_symbols *symbols, hsnap_dtype_id container)
{
	const struct hsnap_library *library = hsnap_library_of(symbols, container);
	hsnap_dtype_id element = library && library->family ? hsnap_type_argument(symbols, container, library->argument) : 0;
	if (!element || hsnap_dtype(symbols, container)->kind != HSNAP_DTYPE_STRUCT)
		return true;
	struct hsnap_key key = node_key(plans, (enum hsnap_family)library->family, element, type_name(symbols, container));
	hsnap_dtype_id node = hsnap_keymap_get(&plans->nodes, key);
	if (node)
		return true;
	if (!hsnap_make_node(symbols, library, container, &node))
		return false;
	if (!node)
		return true;
	bool is_new;
	uint32_t *to = hsnap_keymap_at(&plans->nodes, key, &is_new);
	if (to)
		*to = node;
	return to;
}

static bool make_nodes(struct hsnap_plans *plans, struct hsnap_symbols *symbols)
{
	hsnap_dtype_id num = (hsnap_dtype_id)symbols->types.num;
	for (hsnap_dtype_id type = 1; type < num; type++)
		if (!make_node(plans, symbols, type))
			return false;
	if (symbols->types.num == num)
		return true;
	uint32_t *same = realloc(plans->same, symbols->types.num * sizeof(*same));
	if (!same)
		return false;
	plans->same = same;
	for (hsnap_dtype_id type = num; type < symbols->types.num; type++)
		same[type] = type;
	return true;
}

bool hsnap_plans_init(struct hsnap_plans *plans, struct hsnap_symbols *symbols)
{
	*plans = (struct hsnap_plans){ .symbols = symbols };
	if (!symbols)
		return true;
	if (!hsnap_make_pairs(symbols))
		return false;
	plans->same = hsnap_same_types(symbols);
	if (!plans->same || !index_nodes(plans) || !make_nodes(plans, symbols))
		return false;
	plans->plans = calloc(symbols->types.num, sizeof(*plans->plans));
	return plans->plans;
}

void hsnap_plans_deinit(struct hsnap_plans *plans)
{
	if (plans->plans)
		for (size_t i = 0; i < plans->symbols->types.num; i++)
			free(plans->plans[i].slots);
	free(plans->plans);
	free(plans->same);
	hsnap_keymap_deinit(&plans->nodes);
	hsnap_vec_deinit(&plans->containers);
	*plans = (struct hsnap_plans){ 0 };
}

bool hsnap_starts_with(const struct hsnap_plans *plans, hsnap_dtype_id outer, hsnap_dtype_id inner)
{
	const struct hsnap_symbols *symbols = plans->symbols;
	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		if (plans->same[outer] == plans->same[inner])
			return true;
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, outer);
		if (dtype->kind == HSNAP_DTYPE_ARRAY) {
			outer = dtype->target;
			continue;
		}
		if (dtype->kind != HSNAP_DTYPE_STRUCT || !dtype->num_members)
			return false;
		const struct hsnap_dmember *first = &symbols->members.items[dtype->first_member];
		if (first->offset || first->flags & (HSNAP_DMEMBER_VPTR | HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD))
			return false;
		outer = first->type;
	}
	return false;
}
