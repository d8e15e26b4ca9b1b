/* SPDX-License-Identifier: MIT */
/*
 * witness.h - what a live program's own tags say, read from its memory by nobody but the judge.
 *
 * Of the snapshot only the addresses and sizes of blocks are used.  Everything goes to stdout as lines of truth.h;
 * the process must not change meanwhile.
 */
#ifndef HSNAP_TESTS_NAMING_WITNESS_H
#define HSNAP_TESTS_NAMING_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "snapshot/snapshot.h"

/* A process's memory through a small cache; false: not readable. */
bool memory_open(int pid);
bool memory_read(uint64_t address, void *to, size_t size);
/* 0 where it cannot be read. */
uint64_t memory_word(uint64_t address);
uint32_t memory_u32(uint64_t address);
uint8_t memory_u8(uint64_t address);
/* A string, cut to what fits; "" where it cannot be read. */
void memory_text(uint64_t address, char *text, size_t size);

/* Objects of CPython 3.11.  names: lines "NAME TYPE", see python.names. */
bool witness_python(const struct hsnap_snapshot *snapshot, const char *names);
/* Objects of Lua 5.4: lists of them start at these addresses (global_State.allgc …), the table of strings at strt. */
bool witness_lua(char **lists, uint64_t strt);
/* "WORD N": each first word of blocks that leads into a module, and how many begin with it. */
bool witness_words(const struct hsnap_snapshot *snapshot);
/* Lines "WORD TYPE" in: a line of truth for each block that begins so. */
bool witness_classes(const struct hsnap_snapshot *snapshot, const char *classes);
/* "SITE SIZE PC…": each call site, with the sizes that blocks of it were asked for and its return addresses. */
bool witness_sites(const struct hsnap_snapshot *snapshot);
/* Lines "SITE SIZE TYPE" in: a line of truth for each block of that site and size. */
bool witness_placed(const struct hsnap_snapshot *snapshot, const char *types);

#endif
