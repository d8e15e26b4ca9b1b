/* SPDX-License-Identifier: MIT */
/*
 * child.h - the confined child and what it and its parent say to each other; private to this folder.
 *
 * The child asks for files, which the parent opens and hands over as
 * descriptors, and answers for one module after the other.  All over one
 * socket, as a header and its payload.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_CHILD_H
#define HSNAP_CAPTURE_SYMBOLS_CHILD_H

#include "capture/symbols/symbols.h"

enum hsnap_message_kind {
	HSNAP_MESSAGE_START,  /* the module that is next: its time counts from here */
	HSNAP_MESSAGE_OPEN,   /* payload: struct hsnap_open_request and text; the reply is a byte and, if 1, a descriptor */
	HSNAP_MESSAGE_ANSWER, /* payload: answer.h */
	HSNAP_MESSAGE_DONE,
};

struct hsnap_message {
	uint32_t kind, module;
	uint64_t size; /* of the payload */
};

enum hsnap_open_what {
	HSNAP_OPEN_PROGRAM,  /* the mapped file itself */
	HSNAP_OPEN_BUILD_ID, /* the debug file of a build id */
	HSNAP_OPEN_LINK,     /* the debug file of a name: .gnu_debuglink */
	HSNAP_OPEN_ALT,      /* the supplementary file of a path: .gnu_debugaltlink */
	HSNAP_OPEN_DWO,      /* the other half of a unit, of a path */
	HSNAP_OPEN_DWP,      /* the package of them all; no text */
};

/* Followed by the build id, or the name without its NUL. */
struct hsnap_open_request {
	uint32_t what;
	uint32_t attempt; /* 0, 1, …: the places where such a file can be, until the reply is 2 (no more) */
};

#define HSNAP_REPLY_NO 0   /* not here: try the next attempt */
#define HSNAP_REPLY_FILE 1 /* with a descriptor */
#define HSNAP_REPLY_END 2  /* no more places */

/* What the child ends with where it cannot go on, beside all that libraries may say. */
enum hsnap_child_exit { HSNAP_CHILD_UNCONFINED = 3, HSNAP_CHILD_NO_MEMORY = 4 };

struct hsnap_child_job {
	const struct hsnap_target *target;
	const struct hsnap_ask *asks;
	size_t num_asks;
	uint32_t first_module; /* this one and all after it */
	int socket;
	const struct hsnap_wanted *wanted; /* or NULL */
};

/* What differs in tests; NULL fields and zeros are the ordinary ones. */
struct hsnap_child_options {
	/* Runs in the child instead of the reader; already confined. */
	void (*body)(const struct hsnap_child_job *job);
	uint64_t memory;       /* bytes */
	unsigned seconds;      /* of wall clock, a module */
	const char *debug_root; /* instead of "" before our own /usr/lib/debug */
	const struct hsnap_wanted *wanted;
};

/* The modules' asks: [*ret_first, + answer) of the sorted asks lie within the module. */
size_t hsnap_child_asks(const struct hsnap_target_module *module, const struct hsnap_ask *asks, size_t num_asks,
			size_t *ret_first);

/* What the child does: files.c. */
void hsnap_child_read_module(const struct hsnap_child_job *job, uint32_t module);
void hsnap_child_read_modules(const struct hsnap_child_job *job);
bool hsnap_child_send(int socket, enum hsnap_message_kind kind, uint32_t module, const void *payload, size_t size);

/* The parent's answer to a request to open: find.c. */
struct hsnap_finder {
	const struct hsnap_target *target;
	const char *debug_root;
	char directory[4096]; /* of the file that was opened last: where relative links start */
};
int hsnap_finder_open(struct hsnap_finder *finder, uint32_t module, const struct hsnap_open_request *request,
		      const char *text, size_t size, bool *ret_end);

/**
 * Have children read all modules, and merge what they answer.
 *
 * @param symbols  with a module and a PC for each of the target's and the asks; notes are set here
 * @return HSNAP_OK, HSNAP_NO_MEMORY, HSNAP_IO (no child could be made)
 */
HSNAP_CHECKED enum hsnap_code hsnap_child_run(const struct hsnap_target *target, const struct hsnap_ask *asks,
					      size_t num_asks, const struct hsnap_child_options *options,
					      struct hsnap_symbols *symbols, struct hsnap_error *err);

/* hsnap_symbols_load() with a hand in what the child does. */
HSNAP_CHECKED enum hsnap_code hsnap_symbols_load_with(const struct hsnap_target *target,
						      const struct hsnap_ask *asks, size_t num_asks,
						      const struct hsnap_child_options *options,
						      struct hsnap_symbols **ret, struct hsnap_error *err);

#endif
