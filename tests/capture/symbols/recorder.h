/* SPDX-License-Identifier: MIT */
/* recorder.h - allocators that print where they were called from. */
#ifndef HSNAP_TESTS_CAPTURE_SYMBOLS_RECORDER_H
#define HSNAP_TESTS_CAPTURE_SYMBOLS_RECORDER_H

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
void record(const void *caller);
void *record_malloc(size_t size) __attribute__((malloc));
void *record_calloc(size_t num, size_t size) __attribute__((malloc));
void *record_realloc(void *old, size_t size);
#ifdef __cplusplus
}
#endif

#ifndef __cplusplus
#define malloc record_malloc
#define calloc record_calloc
#define realloc record_realloc
#endif

#endif
