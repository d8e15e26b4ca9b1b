/* SPDX-License-Identifier: MIT */
/* fuzz.h - the one function of each target: libFuzzer calls it, and replay.c with the corpus. */
#ifndef HSNAP_TESTS_FUZZ_FUZZ_H
#define HSNAP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Aborts where the property does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
