/* SPDX-License-Identifier: MIT */
/*
 * pools.c - pools of the program's own, their objects, and named roots.
 *
 * Objects stand in the registry beside blocks, by keys of their own; what an arena has handed out, in a list that is
 * emptied at once.  Handles are the program's word: each is looked at before it is believed.
 */
#include "capture/agent/pools.h"

#include "capture/agent/items.h"
#include "capture/agent/record.h"
#include "capture/agent/registry.h"

static struct hsnap_agent_items pools = {
	.segments = hsnap_agent_directory.pool_segments, .num = &hsnap_agent_directory.num_pools,
	.size = sizeof(struct hsnap_wire_pool),
};

static void astray(void)
{
	hsnap_agent_count(&hsnap_agent_directory.notes_astray);
}

static void lost(void)
{
	hsnap_agent_count(&hsnap_agent_directory.notes_lost);
}

/* NULL: it is none, or gone. */
static struct hsnap_wire_pool *pool_of(heapsnap_pool handle, uint64_t *ret_number)
{
	*ret_number = (handle & UINT32_MAX) - 1;
	if (!handle)
		return NULL;
	struct hsnap_wire_pool *pool = hsnap_agent_items_at(&pools, *ret_number);
	uint64_t state = pool ? __atomic_load_n(&pool->state, __ATOMIC_ACQUIRE) : 0;
	if (pool && state >> 32 == handle >> 32 && HSNAP_POOL_KIND(state))
		return pool;
	astray();
	return NULL;
}

static bool is_arena(const struct hsnap_wire_pool *pool)
{
	return HSNAP_POOL_KIND(pool->state) == HSNAP_POOL_ARENA;
}

heapsnap_pool hsnap_agent_pool_create(const char *name, int arena)
{
	uint64_t number;
	if (!name || !hsnap_agent_annotates())
		return 0;
	uint32_t text = hsnap_agent_text(name, HSNAP_TEXT_PLAIN);
	struct hsnap_wire_pool *pool = text ? hsnap_agent_items_take(&pools, &number) : NULL;
	if (!pool || number > HSNAP_MAX_SITE) {
		lost();
		return 0;
	}
	uint64_t generation = (pool->state >> 32) + 1;
	pool->objects = pool->slabs = pool->holes = 0;
	__atomic_store_n(&pool->state, generation << 32 | (uint64_t)text << 8 | (arena ? HSNAP_POOL_ARENA : HSNAP_POOL_OBJECTS),
			 __ATOMIC_RELEASE);
	return generation << 32 | (number + 1);
}

static bool is_of_pool(uint64_t word, uint64_t second, uint64_t number)
{
	if (HSNAP_ENTRY_KIND(word) != HSNAP_KIND_OBJECT)
		return false;
	uint64_t head = hsnap_agent_unit(HSNAP_ENTRY_SITE(second));
	return HSNAP_UNIT_KIND(head) == HSNAP_UNIT_OBJECT && HSNAP_OBJECT_POOL(head) == number;
}

static void empty(struct hsnap_wire_pool *pool, uint64_t number)
{
	if (is_arena(pool))
		hsnap_agent_list_clear(&pool->objects);
	else
		hsnap_agent_registry_sweep(is_of_pool, number);
}

void hsnap_agent_pool_reset(heapsnap_pool handle)
{
	uint64_t number;
	struct hsnap_wire_pool *pool = pool_of(handle, &number);
	if (pool)
		empty(pool, number);
}

void hsnap_agent_pool_destroy(heapsnap_pool handle)
{
	uint64_t number;
	struct hsnap_wire_pool *pool = pool_of(handle, &number);
	uint64_t state = pool ? __atomic_load_n(&pool->state, __ATOMIC_RELAXED) : 0;
	if (!pool)
		return;
	empty(pool, number);
	hsnap_agent_list_clear(&pool->slabs);
	/* Once only, if two destroy it. */
	if (__atomic_compare_exchange_n(&pool->state, &state, state & ~(uint64_t)UINT32_MAX, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		hsnap_agent_items_put(&pools, number);
}

/* ---- where its objects are ---- */

static bool is_address(uintptr_t address)
{
	return address > HSNAP_REGISTRY_BUSY && !(address >> HSNAP_ADDRESS_BITS);
}

void hsnap_agent_pool_slab(heapsnap_pool handle, void *memory, size_t size)
{
	uint64_t number, *entry = NULL;
	struct hsnap_wire_pool *pool = pool_of(handle, &number);
	if (!pool || !size)
		return;
	if (!is_address((uintptr_t)memory)) {
		astray();
		return;
	}
	if (__atomic_load_n(&pool->holes, __ATOMIC_RELAXED)) {
		uint64_t hole = HSNAP_PIECE_HOLE;
		entry = hsnap_agent_list_find(&pool->slabs, hole, 0);
		if (entry && !__atomic_compare_exchange_n(entry, &hole, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			entry = NULL;
		if (entry)
			__atomic_fetch_sub(&pool->holes, 1, __ATOMIC_RELAXED);
	}
	if (!entry)
		entry = hsnap_agent_list_add(&pool->slabs);
	if (!entry) {
		lost();
		return;
	}
	__atomic_store_n(&entry[1], size, __ATOMIC_RELAXED);
	__atomic_store_n(&entry[0], (uintptr_t)memory, __ATOMIC_RELEASE);
}

void hsnap_agent_pool_slab_gone(heapsnap_pool handle, void *memory)
{
	uint64_t number;
	struct hsnap_wire_pool *pool = pool_of(handle, &number);
	if (!pool)
		return;
	uint64_t *entry = is_address((uintptr_t)memory) ? hsnap_agent_list_find(&pool->slabs, (uintptr_t)memory, 0) : NULL;
	if (!entry) {
		astray();
		return;
	}
	__atomic_store_n(&entry[0], HSNAP_PIECE_HOLE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&pool->holes, 1, __ATOMIC_RELAXED);
}

/* ---- objects ---- */

#define ENTRY_EPOCH ((uint64_t)HSNAP_EPOCH_MAX << HSNAP_KEY_BITS)
#define ENTRY_SIZE ((uint64_t)1 << 63)

static bool add_to_arena(struct hsnap_wire_pool *pool, uintptr_t object, size_t size, uint32_t site)
{
	uint64_t *entry = size <= HSNAP_REGISTRY_MAX_SIZE ? hsnap_agent_list_add(&pool->objects) : NULL;
	if (!entry) {
		lost();
		return false;
	}
	__atomic_store_n(&entry[1], (uint64_t)size << 24 | site, __ATOMIC_RELAXED);
	__atomic_store_n(&entry[0], (uint64_t)size >> 40 << 63 | (uint64_t)hsnap_agent.epoch << HSNAP_KEY_BITS |
				    HSNAP_KEY(HSNAP_KIND_OBJECT, object), __ATOMIC_RELEASE);
	return true;
}

/* An entry of the same address was of an object that nobody said was free. */
static bool add_to_registry(uint64_t number, uintptr_t object, size_t size, uint32_t site)
{
	struct hsnap_agent_entry old;
	uint64_t key = HSNAP_KEY(HSNAP_KIND_OBJECT, object);
	uint32_t unit = hsnap_agent_intern(HSNAP_UNIT_OBJECT | number << 8 | (uint64_t)site << 32, NULL, 0);
	if (!unit) {
		lost();
		return false;
	}
	if (UNLIKELY(hsnap_agent_registry_find(key, &old)))
		hsnap_agent_registry_drop(&old);
	return hsnap_agent_registry_add(key, size, unit, hsnap_agent.epoch);
}

void *hsnap_agent_pool_alloc(heapsnap_pool handle, void *object, size_t size, const char *type, enum heapsnap_text how)
{
	static HSNAP_TLS unsigned num;
	uint64_t number;
	struct hsnap_wire_pool *pool = object ? pool_of(handle, &number) : NULL;
	if (!pool)
		return object;
	if (!is_address((uintptr_t)object)) {
		astray();
		return object;
	}
	uint32_t site = hsnap_agent_site_here(__builtin_frame_address(0));
	uint32_t text = type && *type ? hsnap_agent_text(type, how) : 0, both = text ? hsnap_agent_tagged(site, text) : 0;
	if (is_arena(pool))
		add_to_arena(pool, (uintptr_t)object, size, both ? both : site);
	else
		add_to_registry(number, (uintptr_t)object, size, both ? both : site);
	if (UNLIKELY(num++ % 64 == 0))
		hsnap_agent_renew_epoch();
	return object;
}

void hsnap_agent_pool_free(heapsnap_pool handle, void *object)
{
	uint64_t number;
	struct hsnap_wire_pool *pool = object ? pool_of(handle, &number) : NULL;
	uint64_t key = HSNAP_KEY(HSNAP_KIND_OBJECT, (uintptr_t)object);
	struct hsnap_agent_entry entry;
	if (!pool)
		return;
	if (!is_address((uintptr_t)object)) {
		astray();
	} else if (is_arena(pool)) {
		uint64_t *place = hsnap_agent_list_find(&pool->objects, key, ENTRY_EPOCH | ENTRY_SIZE);
		if (place)
			__atomic_store_n(place, 0, __ATOMIC_RELEASE);
		else
			astray();
	} else if (hsnap_agent_registry_find(key, &entry) && is_of_pool(entry.word, entry.second, number)) {
		hsnap_agent_registry_drop(&entry);
	} else {
		astray();
	}
}

bool hsnap_agent_tag_object(uintptr_t object, uint32_t text)
{
	struct hsnap_agent_entry entry;
	if (!is_address(object) || !hsnap_agent_registry_hold(HSNAP_KEY(HSNAP_KIND_OBJECT, object), &entry))
		return false;
	uint64_t head = hsnap_agent_unit(HSNAP_ENTRY_SITE(entry.second));
	uint32_t site = hsnap_agent_tagged(HSNAP_OBJECT_SITE(head), text);
	uint32_t unit = site ? hsnap_agent_intern((head & 0xffffffff) | (uint64_t)site << 32, NULL, 0) : 0;
	if (unit)
		__atomic_store_n(&entry.place[1], (entry.second & ~(uint64_t)HSNAP_MAX_SITE) | unit, __ATOMIC_RELAXED);
	else
		lost();
	hsnap_agent_registry_let_go(&entry);
	return true;
}

/* ---- roots ---- */

void hsnap_agent_root_gone(void *memory)
{
	struct hsnap_agent_entry entry;
	if (!memory || !hsnap_agent_annotates())
		return;
	if (is_address((uintptr_t)memory) && hsnap_agent_registry_find(HSNAP_KEY(HSNAP_KIND_ROOT, (uintptr_t)memory), &entry))
		hsnap_agent_registry_drop(&entry);
	else
		astray();
}

void hsnap_agent_root(void *memory, size_t size, const char *name)
{
	struct hsnap_agent_entry old;
	uint64_t key = HSNAP_KEY(HSNAP_KIND_ROOT, (uintptr_t)memory);
	if (!memory || !size || !name || !hsnap_agent_annotates())
		return;
	uint32_t text = is_address((uintptr_t)memory) ? hsnap_agent_text(name, HSNAP_TEXT_PLAIN) : 0;
	if (!is_address((uintptr_t)memory)) {
		astray();
	} else if (!text) {
		lost();
	} else {
		if (hsnap_agent_registry_find(key, &old))
			hsnap_agent_registry_drop(&old);
		hsnap_agent_registry_add(key, size, text, hsnap_agent.epoch);
	}
}
