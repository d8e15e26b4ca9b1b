/* SPDX-License-Identifier: MIT */
/*
 * glibc.h - where glibc keeps a thread's things.
 *
 * No offset is built in that differs between versions: glibc exports a table of
 * its own layouts for debuggers (nptl_db/structs.def, symbols _thread_db_…),
 * and a target's libc carries the table of its own build.
 */
#ifndef HSNAP_CAPTURE_ROOTS_GLIBC_H
#define HSNAP_CAPTURE_ROOTS_GLIBC_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target/target.h"

struct hsnap_glibc {
	uint64_t sizeof_pthread; /* bytes; a safe guess where the table is missing */
	uint64_t keys_offset;    /* of the pointers to blocks of pthread keys in struct pthread; 0: unknown */
	uint64_t keys_size;      /* bytes of the first such block, which is inside struct pthread */
	uint64_t static_tls;     /* the farthest that static thread-locals begin below a thread pointer */
};

/* What the table says; also walks the loader's list of modules and fills their tls_offset and tls_id. */
void hsnap_glibc_read(struct hsnap_target *target, struct hsnap_glibc *ret);

/* The loader's list of modules: each entry's address, for at most `max` of them; returns how many. */
uint32_t hsnap_glibc_link_maps(const struct hsnap_target *target, uint64_t *ret, uint32_t max);

/* The block of a module's thread-locals in a thread; false: it has none there (yet). */
bool hsnap_glibc_tls_block(const struct hsnap_target *target, const struct hsnap_thread *thread,
			   const struct hsnap_target_module *module, uint64_t *ret);

/* Does a thread control block stand there?  It points to itself, twice. */
bool hsnap_glibc_is_tcb(const struct hsnap_target *target, uint64_t address);

#endif
