/* SPDX-License-Identifier: MIT */
/* glibc.c - thread control blocks, thread-locals and the loader's list, read from a copy. */
#include "capture/roots/glibc.h"

#include <elf.h>

#include "capture/target/elf_image.h"
#include "snapshot/base/cleanup.h"

#define SIZEOF_PTHREAD 2304     /* glibc 2.36, x86-64 */
#define MAX_SIZEOF_PTHREAD 16384
#define MAX_FIELD 65536
#define MAX_DYNAMIC 512
#define MAX_LINK_MAPS 16384u
#define MAX_STATIC_TLS ((uint64_t)64 << 20)
#define MAX_TLS_MODULES ((uint64_t)1 << 20)

/* The table's module: libc.so.6, or libpthread.so.0 before 2.34. */
static const struct hsnap_target_module *find_table(const struct hsnap_target *target, uint64_t *size_address)
{
	for (size_t i = 1; i < target->modules.num; i++)
		if (hsnap_module_symbol(target, &target->modules.items[i], "_thread_db_sizeof_pthread", size_address))
			return &target->modules.items[i];
	return NULL;
}

/* An entry of the table is { bits of an element, elements, offset }, 32 bits each; `size` may be NULL. */
static bool read_field(const struct hsnap_target *target, const struct hsnap_target_module *table,
		       const char *symbol, uint64_t *offset)
{
	uint64_t address;
	uint32_t entry[3];
	if (!table || !hsnap_module_symbol(target, table, symbol, &address) ||
	    hsnap_target_read(target, address, entry, sizeof(entry), NULL) || entry[2] > MAX_FIELD)
		return false;
	*offset = entry[2];
	return true;
}

static bool read_size(const struct hsnap_target *target, const struct hsnap_target_module *table,
		      const char *symbol, uint64_t *ret)
{
	uint64_t address;
	uint32_t size;
	if (!table || !hsnap_module_symbol(target, table, symbol, &address) ||
	    hsnap_target_read(target, address, &size, sizeof(size), NULL) || !size || size > MAX_SIZEOF_PTHREAD)
		return false;
	*ret = size;
	return true;
}

/* The debugger's anchor: entry DT_DEBUG of the executable leads to struct r_debug (link.h). */
static uint64_t first_link_map(const struct hsnap_target *target)
{
	uint64_t at = target->modules.num > 1 ? target->modules.items[1].dynamic : 0;
	for (int i = 0; at && i < MAX_DYNAMIC; i++, at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;
		uint64_t first;
		if (hsnap_target_read(target, at, &entry, sizeof(entry), NULL) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_DEBUG)
			return entry.d_un.d_ptr && hsnap_target_word(target, entry.d_un.d_ptr + 8, &first) ? first : 0;
	}
	return 0;
}

uint32_t hsnap_glibc_link_maps(const struct hsnap_target *target, uint64_t *ret, uint32_t max)
{
	uint32_t num = 0;
	/* struct link_map: l_addr, l_name, l_ld, l_next, l_prev; a list that runs in a ring ends at max. */
	for (uint64_t at = first_link_map(target); at && num < max; num++) {
		ret[num] = at;
		if (!hsnap_target_word(target, at + 24, &at))
			at = 0;
	}
	return num;
}

static struct hsnap_target_module *module_by_dynamic(struct hsnap_target *target, uint64_t dynamic)
{
	for (size_t i = 1; dynamic && i < target->modules.num; i++)
		if (target->modules.items[i].dynamic == dynamic)
			return &target->modules.items[i];
	return NULL;
}

/* Tell each module with thread-locals what the loader has decided for it. */
static void read_tls_places(struct hsnap_target *target, uint64_t id_offset, uint64_t place_offset)
{
	hsnap_auto(hsnap_freep) uint64_t *maps = malloc(MAX_LINK_MAPS * sizeof(*maps));
	uint32_t num = maps ? hsnap_glibc_link_maps(target, maps, MAX_LINK_MAPS) : 0;
	for (uint32_t i = 0; i < num; i++) {
		uint64_t dynamic, id, place;
		if (!hsnap_target_word(target, maps[i] + 16, &dynamic) ||
		    !hsnap_target_word(target, maps[i] + id_offset, &id) ||
		    !hsnap_target_word(target, maps[i] + place_offset, &place))
			continue;
		struct hsnap_target_module *module = module_by_dynamic(target, dynamic);
		if (!module || !module->tls_size)
			continue;
		module->tls_id = id < MAX_TLS_MODULES ? id : 0;
		/* 0 and -1, -2 mean: not static (elf/dynamic-link.h, FORCED_DYNAMIC_TLS_OFFSET). */
		module->tls_offset = place >= module->tls_size && place < MAX_STATIC_TLS ? place : 0;
	}
}

void hsnap_glibc_read(struct hsnap_target *target, struct hsnap_glibc *ret)
{
	*ret = (struct hsnap_glibc){ .sizeof_pthread = SIZEOF_PTHREAD };
	uint64_t address, id, place;
	const struct hsnap_target_module *table = find_table(target, &address);
	read_size(target, table, "_thread_db_sizeof_pthread", &ret->sizeof_pthread);
	if (read_field(target, table, "_thread_db_pthread_specific", &ret->keys_offset) &&
	    !read_size(target, table, "_thread_db_sizeof_pthread_key_data_level2", &ret->keys_size))
		ret->keys_offset = 0;
	if (read_field(target, table, "_thread_db_link_map_l_tls_modid", &id) &&
	    read_field(target, table, "_thread_db_link_map_l_tls_offset", &place))
		read_tls_places(target, id, place);
	for (size_t i = 1; i < target->modules.num; i++)
		if (target->modules.items[i].tls_offset > ret->static_tls)
			ret->static_tls = target->modules.items[i].tls_offset;
}

bool hsnap_glibc_tls_block(const struct hsnap_target *target, const struct hsnap_thread *thread,
			   const struct hsnap_target_module *module, uint64_t *ret)
{
	if (!module->tls_size || !thread->thread_pointer)
		return false;
	if (module->tls_offset) {
		*ret = thread->thread_pointer - module->tls_offset;
		return module->tls_offset < thread->thread_pointer;
	}
	/* tcbhead_t.dtv is the second word; slots are 16 bytes; slot -1 holds how many there are. */
	uint64_t dtv, slots, block;
	if (!module->tls_id || !hsnap_target_word(target, thread->thread_pointer + 8, &dtv) ||
	    !hsnap_target_word(target, dtv - 16, &slots) || slots > MAX_TLS_MODULES || module->tls_id > slots ||
	    !hsnap_target_word(target, dtv + module->tls_id * 16, &block) || !block || block == UINT64_MAX)
		return false;
	*ret = block;
	return true;
}

bool hsnap_glibc_is_tcb(const struct hsnap_target *target, uint64_t address)
{
	uint64_t tcb, self;
	return hsnap_target_word(target, address, &tcb) && tcb == address &&
	       hsnap_target_word(target, address + 16, &self) && self == address;
}
