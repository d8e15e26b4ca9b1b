/* SPDX-License-Identifier: MIT */
/*
 * target.h - the memory, mappings, threads and modules of a captured process.
 *
 * A target is frozen: it is the private copy that was made while the process
 * was held still (live.c), a core file, or a test's fake (image.c).  All bytes
 * in it are hostile.  Reading never touches the process again, except for
 * file-backed pages that it never wrote to, which come from the files.
 */
#ifndef HSNAP_CAPTURE_TARGET_TARGET_H
#define HSNAP_CAPTURE_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/target/regs.h"
#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

enum hsnap_prot { HSNAP_PROT_READ = 1, HSNAP_PROT_WRITE = 2, HSNAP_PROT_EXEC = 4, HSNAP_PROT_SHARED = 8 };

struct hsnap_mapping {
	uint64_t start, end;
	uint64_t offset;       /* into the file */
	uint64_t device, inode; /* 0: anonymous */
	hsnap_string path;     /* as in /proc/PID/maps without " (deleted)": "[heap]", "[stack]", "" … */
	uint32_t module;       /* index into modules, 0: none */
	uint8_t prot;          /* enum hsnap_prot, or'ed */
	bool deleted;
};

/* A module is an ELF file that is mapped: the executable or a shared object. */
struct hsnap_target_module {
	hsnap_string path;
	uint64_t bias;         /* what to add to an address in the file's headers */
	uint64_t start, end;   /* first and last byte mapped of it (end exclusive), .bss included */
	uint8_t build_id[32];
	uint8_t build_id_size; /* 0: none */
	bool main;
	bool vdso;
	uint64_t dynamic;      /* address of its dynamic section, 0: none */
	uint64_t eh_frame_hdr; /* address, 0: none */
	uint64_t eh_frame_hdr_size;
	uint64_t tls_size;     /* PT_TLS memory size, 0: none */
	uint64_t tls_offset;   /* static TLS: block = thread pointer - tls_offset; 0: dynamic or unknown */
	uint64_t tls_id;       /* index in the dtv, 0: unknown */
};

struct hsnap_thread {
	uint32_t tid;
	char name[16];
	struct hsnap_regs regs;
	uint64_t thread_pointer; /* fs base */
};

/* The backing of a target: see live.c and image.c. */
struct hsnap_target_ops {
	/* Copy up to len bytes at address; returns how many could be had from the start on. */
	size_t (*read)(void *self, uint64_t address, void *to, size_t len);
	/* The bytes themselves where they lie in one piece in our copy, else NULL.  Borrowed
	 * for the life of the target. */
	const void *(*view)(void *self, uint64_t address, size_t len);
	/* The first run of bytes at or after the address that lie in our copy; false: none.  What
	 * lies between runs was never written to, or is the file's. */
	bool (*next_run)(void *self, uint64_t address, uint64_t *start, uint64_t *end);
	/* A fresh descriptor of the module's very file, or -1: the caller closes it. */
	int (*open_module)(void *self, const struct hsnap_target_module *module);
	/* A fresh descriptor of `path` as the target sees it (separate debug files), or -1. */
	int (*open_path)(void *self, const char *path);
	/* What lies below the address is not read again: its memory may be given back.  Called while
	 * nobody reads; may be NULL. */
	void (*forget)(void *self, uint64_t address);
	/* Take what lies on a disk out of memory, from any thread; false: nothing does.  May be NULL. */
	bool (*relieve)(void *self);
	void (*close)(void *self);
};

struct hsnap_target {
	const struct hsnap_target_ops *ops;
	void *self;
	uint64_t pid;
	struct hsnap_strings strings;
	struct hsnap_vec(struct hsnap_mapping) mappings; /* in order of address */
	struct hsnap_vec(struct hsnap_target_module) modules; /* [0] is empty; main is [1] where known */
	struct hsnap_vec(struct hsnap_thread) threads;   /* the main thread first */
};

void hsnap_target_close(struct hsnap_target *target);
void hsnap_target_closep(struct hsnap_target **target);

/* All len bytes, or HSNAP_FAULT with the first address that could not be had. */
HSNAP_CHECKED enum hsnap_code hsnap_target_read(const struct hsnap_target *target, uint64_t address,
						void *to, size_t len, struct hsnap_error *err);
/* One little-endian word; false where it cannot be had. */
bool hsnap_target_word(const struct hsnap_target *target, uint64_t address, uint64_t *ret);
/* NUL-terminated text of at most size - 1 bytes; false where it is not there or longer. */
bool hsnap_target_text(const struct hsnap_target *target, uint64_t address, char *to, size_t size);

static inline const void *hsnap_target_view(const struct hsnap_target *target, uint64_t address,
					    size_t len)
{
	return target->ops->view(target->self, address, len);
}

static inline bool hsnap_target_next_run(const struct hsnap_target *target, uint64_t address,
					 uint64_t *start, uint64_t *end)
{
	return target->ops->next_run(target->self, address, start, end);
}

/* Nothing below the address will be read again, nor can be. */
static inline void hsnap_target_forget(const struct hsnap_target *target, uint64_t address)
{
	if (target->ops->forget)
		target->ops->forget(target->self, address);
}

/* Is less memory used for the copy now, since it can be read from a disk again? */
static inline bool hsnap_target_relieve(const struct hsnap_target *target)
{
	return target->ops->relieve && target->ops->relieve(target->self);
}

/* The mapping or module that holds the address, or NULL.  O(log n). */
const struct hsnap_mapping *hsnap_target_mapping(const struct hsnap_target *target, uint64_t address);
const struct hsnap_target_module *hsnap_target_module(const struct hsnap_target *target,
						      uint64_t address);

/**
 * A made-up target for tests: see image.c.  Add mappings and bytes, then read.
 * The target owns copies of all that is handed in.
 */
struct hsnap_target *hsnap_image_create(void);
/* One mapping with its bytes (size of them; zero-filled where bytes is NULL); false: out of memory. */
bool hsnap_image_add(struct hsnap_target *target, uint64_t start, const void *bytes, size_t size,
		     unsigned prot, const char *path);
/* A module; mappings in [start, end), added before or later, are marked as its own.  `path` must
 * be a string of target->strings, and is opened under that name on this machine. */
bool hsnap_image_add_module(struct hsnap_target *target, const struct hsnap_target_module *module);

#endif
