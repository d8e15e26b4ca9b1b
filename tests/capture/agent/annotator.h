/* SPDX-License-Identifier: MIT */
/* annotator.h - what annotator.c tells the test of itself. */
#ifndef HSNAP_TESTS_CAPTURE_AGENT_ANNOTATOR_H
#define HSNAP_TESTS_CAPTURE_AGENT_ANNOTATOR_H

#include <stdint.h>

struct place {
	uint64_t address; /* 0: no object */
	uint32_t size;
	uint32_t type;    /* 0: without a tag; index into the names; from ANNOTATOR_LONG on: a letter again and again */
};

#define ANNOTATOR_TYPES 5
#define ANNOTATOR_NAMES { "", "struct one", "struct two", "three", "a type of another name" }
#define ANNOTATOR_LONG 100 /* + 26: it was cut */
#define ANNOTATOR_ANY 1000000000ul /* nobody knows how many */

#endif
