/* SPDX-License-Identifier: MIT */
/*
 * error.h - one error type, owned by the caller.
 *
 * A function that can fail in more than one way returns enum hsnap_code, is
 * HSNAP_CHECKED, and takes `struct hsnap_error *err` as its last parameter.
 * Libraries neither print nor exit: cli/ prints each error once.
 */
#ifndef HSNAP_SNAPSHOT_BASE_ERROR_H
#define HSNAP_SNAPSHOT_BASE_ERROR_H

#include <stdint.h>

#define HSNAP_CHECKED __attribute__((warn_unused_result))
#define HSNAP_PRINTF(text_index, first_index) \
	__attribute__((format(printf, text_index, first_index)))

enum hsnap_code {
	HSNAP_OK = 0,
	HSNAP_NOT_FOUND,   /* a lookup found nothing: an answer, often not a failure */
	HSNAP_NO_MEMORY,   /* our own allocation failed; nothing was changed */
	HSNAP_IO,          /* a system call failed: sys_errno says how */
	HSNAP_FORMAT,      /* input bytes break their format: where is the file offset */
	HSNAP_FAULT,       /* target memory unreadable: where is the address */
	HSNAP_UNSUPPORTED, /* valid input that this build cannot handle */
	HSNAP_REFUSED,     /* a target that is not to be captured: message says why, hint the cure */
	HSNAP_INTERRUPTED, /* the user asked to stop */
};

/* Owned by the caller and allocates nothing: works after OOM, and nobody frees it. */
struct hsnap_error {
	enum hsnap_code code;
	int sys_errno;     /* errno value; 0 unless code is HSNAP_IO */
	uint64_t where;    /* bytes into the file, or target address; 0 if neither */
	char message[1024]; /* one line, "cannot open 'x': why", no full stop */
	char hint[1024];    /* the mend, for a `hint:` line; empty if there is none */
};

/* Fill *err (may be NULL) and return code: raising an error is one line.  Clears the hint.
 * For HSNAP_IO errno is saved in sys_errno before anything else.  Of a message or hint that is too
 * long (paths) the middle is left out, with " ... " in its place: its end says why. */
enum hsnap_code hsnap_fail(struct hsnap_error *err, enum hsnap_code code, uint64_t where,
			   const char *format, ...) HSNAP_PRINTF(4, 5);
/* Put "<what we were doing>: " before the message on the way up; returns code. */
enum hsnap_code hsnap_context(struct hsnap_error *err, enum hsnap_code code,
			      const char *format, ...) HSNAP_PRINTF(3, 4);
/* Set the hint of an error already raised; returns its code. */
enum hsnap_code hsnap_hint(struct hsnap_error *err, enum hsnap_code code, const char *format, ...)
	HSNAP_PRINTF(3, 4);

#endif
