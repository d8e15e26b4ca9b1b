/* SPDX-License-Identifier: MIT */
/*
 * evidence.h - what the places where pointers are found look like, before and after naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_EVIDENCE_H
#define HSNAP_CAPTURE_NAMING_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target/target.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"
#include "snapshot/graph/graph.h"

/* Memory of the target whose words are roots. */
struct hsnap_root_area {
	enum hsnap_root_kind kind;
	bool weak;            /* HSNAP_ROOT_MAPPING is */
	uint64_t address, size;
	uint32_t module;      /* module data: index into target->modules; else 0 */
	uint32_t thread;      /* 1 + index into target->threads; 0: none */
	hsnap_string name;    /* in area strings: "", "pthread keys", "mapping of 8 MiB" … */
};

/* A single word that is a root and lies in no memory of the copy. */
struct hsnap_root_value {
	enum hsnap_root_kind kind; /* REGISTER, KERNEL, or HANDLE: a block that the program names */
	uint64_t value;
	uint32_t thread;
	hsnap_string name; /* "rbx", "epoll 5 (fd 7)", "timer 2"; the program's word */
};

/* One frame of one thread, unwound by call-frame information. */
struct hsnap_root_frame {
	uint32_t thread; /* index into target->threads */
	uint32_t depth;  /* 0: innermost */
	uint64_t cfa;    /* canonical frame address; the frame's memory ends here */
	uint64_t low;    /* the frame's memory starts here */
	bool exact_pc;   /* regs' PC is where it stands (frame 0, signal frames), not a return address */
	struct hsnap_regs regs;
};

struct hsnap_roots {
	struct hsnap_strings strings;
	struct hsnap_vec(struct hsnap_root_area) areas;
	struct hsnap_vec(struct hsnap_root_value) values;
	struct hsnap_vec(struct hsnap_root_frame) frames;
	uint32_t searched_modules, searched_tls;
	char partial[160];    /* what of the threads was not looked at, and why; "" = nothing */
};

void hsnap_roots_deinit(struct hsnap_roots *roots);

#endif
