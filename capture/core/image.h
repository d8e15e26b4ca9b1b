/* SPDX-License-Identifier: MIT */
/*
 * image.h - an open core as the parts of this folder share it.
 *
 * headers.c fills segments, notes.c what stands beside the memory, mappings.c lays segments and
 * mapped files side by side, backing.c finds the files, copy.c copies what the process wrote.
 */
#ifndef HSNAP_CAPTURE_CORE_IMAGE_H
#define HSNAP_CAPTURE_CORE_IMAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "capture/core/core.h"
#include "capture/target/copy.h"
#include "capture/target/target.h"
#include "snapshot/base/vec.h"

#define HSNAP_CORE_PAGE ((uint64_t)4096)

/* Memory of the process.  Disjoint, in order, whole pages. */
struct hsnap_core_segment {
	uint64_t start, end;
	uint64_t at;     /* of its bytes in the file */
	uint64_t dumped; /* so many from `start` on were written to the file */
	uint64_t there;  /* so many of these stand in it; less where it is cut short */
	uint8_t prot;    /* enum hsnap_prot, or'ed */
};

/* A stretch of a file that was mapped: NT_FILE.  Disjoint, in order. */
struct hsnap_core_range {
	uint64_t start, end, offset;
	uint32_t file; /* index into files */
};

enum hsnap_core_file_state {
	HSNAP_CORE_FILE_UNKNOWN, /* nothing in the core tells whether a file is the one */
	HSNAP_CORE_FILE_SAME,
	HSNAP_CORE_FILE_ALIKE,   /* without a build id; what there is agrees */
	HSNAP_CORE_FILE_OTHER,   /* there is one under its name, and it is not the one */
	HSNAP_CORE_FILE_MISSING,
};

struct hsnap_core_file {
	hsnap_string path; /* as the process saw it, without " (deleted)" */
	bool deleted;
	bool dumped;       /* some of its memory has a segment */
	bool code;         /* some of its memory may be run */
	uint8_t state;     /* enum hsnap_core_file_state */
	int fd;            /* -1 unless SAME or ALIKE */
};

struct hsnap_core_image {
	int fd;
	uint64_t size;         /* of the file */
	uint64_t wanted;       /* its size if it were whole */
	struct timespec written;
	struct hsnap_target *target;
	struct hsnap_vec(struct hsnap_core_segment) segments;
	struct hsnap_vec(struct hsnap_core_range) ranges;
	struct hsnap_vec(struct hsnap_core_file) files; /* [0] is none */
	struct hsnap_copy copy;
	uint64_t headers_address; /* AT_PHDR, 0: unknown */
	uint64_t vdso;            /* AT_SYSINFO_EHDR, 0: unknown */
	uint32_t exe;             /* index into files, 0: unknown */
	bool gaps;                /* of some mapping there is no segment: gcore leaves out what is not dumped */
};

/* So many bytes at an offset of the core as can be had. */
size_t hsnap_core_pread(const struct hsnap_core_image *core, uint64_t at, void *to, size_t len);
/* The segment that holds the address, or NULL. */
const struct hsnap_core_segment *hsnap_core_segment_at(const struct hsnap_core_image *core, uint64_t address);
/* What of the process's memory stands in the core itself. */
size_t hsnap_core_read_dumped(const struct hsnap_core_image *core, uint64_t address, void *to, size_t len);

/* A part of the file that holds notes. */
struct hsnap_core_notes {
	uint64_t at, size;
};
struct hsnap_core_note_list hsnap_vec_body(struct hsnap_core_notes);

/* Segments, and where notes are; HSNAP_REFUSED, HSNAP_FORMAT, HSNAP_NO_MEMORY. */
HSNAP_CHECKED enum hsnap_code hsnap_core_read_headers(struct hsnap_core_image *core, struct hsnap_core_note_list *notes,
						      struct hsnap_error *err);
/* Threads, mapped files, facts.  What is missing or makes no sense is passed over. */
HSNAP_CHECKED enum hsnap_code hsnap_core_read_notes(struct hsnap_core_image *core, const struct hsnap_core_note_list *notes,
						    struct hsnap_core_facts *facts, struct hsnap_error *err);
/* The target's mappings. */
HSNAP_CHECKED enum hsnap_code hsnap_core_make_mappings(struct hsnap_core_image *core, struct hsnap_error *err);
/* Open the files that are the ones of the core; HSNAP_REFUSED where `exe` is not. */
HSNAP_CHECKED enum hsnap_code hsnap_core_find_files(struct hsnap_core_image *core, const char *exe, struct hsnap_error *err);
/* Tell of the files that are not the ones. */
void hsnap_core_tell_files(const struct hsnap_core_image *core, struct hsnap_core_facts *facts);
/* Copy all that the process may have written; after the modules are known. */
HSNAP_CHECKED enum hsnap_code hsnap_core_copy(struct hsnap_core_image *core, const struct hsnap_core_options *options,
					       struct hsnap_error *err);

/* Note something, or that something is missing; what does not fit any more is left out. */
void hsnap_core_tell(struct hsnap_core_facts *facts, const char *format, ...) HSNAP_PRINTF(2, 3);
void hsnap_core_miss(struct hsnap_core_facts *facts, const char *format, ...) HSNAP_PRINTF(2, 3);

extern const struct hsnap_target_ops hsnap_core_ops;

#endif
