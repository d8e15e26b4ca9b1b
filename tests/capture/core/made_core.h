/* SPDX-License-Identifier: MIT */
/* made_core.h - core files made by hand, as the kernel would lay them out. */
#ifndef HSNAP_TESTS_CAPTURE_CORE_MADE_CORE_H
#define HSNAP_TESTS_CAPTURE_CORE_MADE_CORE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/vec.h"

#define MADE_PID 4711
#define MADE_PAGE 0x1000u

struct made_part hsnap_vec_body(uint8_t);

struct made_core {
	Elf64_Ehdr head;
	struct hsnap_vec(Elf64_Phdr) segments; /* p_offset counts from the first byte of `data` */
	struct made_part notes, data;
};

void made_init(struct made_core *core);
void made_deinit(struct made_core *core);

/* Memory of which `dumped` bytes are in the core; NULL: zeros. */
void made_segment(struct made_core *core, uint64_t address, uint64_t size, uint32_t flags, const void *bytes,
		  uint64_t dumped);
void made_note(struct made_core *core, const char *name, uint32_t type, const void *value, size_t size);
void made_thread(struct made_core *core, uint32_t tid, uint64_t sp, uint64_t thread_pointer);
void made_process(struct made_core *core, const char *comm);
void made_auxv(struct made_core *core, uint64_t headers, uint64_t vdso);

struct made_file {
	uint64_t start, end, page;
	const char *path;
};
void made_files(struct made_core *core, const struct made_file *files, size_t num);

/* All of it, the caller's to free.  `extended`: the number of segments stands in a section header. */
uint8_t *made_bytes(struct made_core *core, bool extended, size_t *ret_size);
/* The same in a file that has no name. */
int made_open(struct made_core *core, bool extended);
int open_bytes(const void *bytes, size_t size);

#endif
