/* SPDX-License-Identifier: MIT */
/*
 * lua.c - what Lua's objects say of themselves.
 *
 * Lua 5.4.4, lobject.h, lstate.h, lfunc.h: every collectable object hangs on one of a few lists by its first word and
 * has its tag in the byte behind; its parts stand where it says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/naming/witness.h"

#define MOST_OBJECTS 100000000u
#define ROOM_FOR_ERRORS 5 /* EXTRA_STACK */

static void tell(uint64_t address, uint64_t size, const char *type)
{
	if (address && size)
		printf("%" PRIx64 " %" PRIu64 " %s\n", address, size, type);
}

static void tell_table(uint64_t o)
{
	uint64_t limit = memory_u32(o + 12), slots = limit;
	if (memory_u8(o + 10) & 0x80) /* BITRAS: the array is larger, a power of two */
		for (slots = 1; slots < limit; slots *= 2)
			;
	tell(o, 56, "Table|~GCObject");
	tell(memory_word(o + 16), 16 * slots, "TValue[]");
	tell(memory_word(o + 24), 24ull << memory_u8(o + 11), "Node[]");
}

static void tell_function(uint64_t o)
{
	static const struct {
		unsigned at, number_at, size;
		const char *type;
	} parts[] = {
		{ 56, 20, 16, "TValue[]" }, { 64, 24, 4, "Instruction[]|unsigned int[]|l_uint32[]" }, { 72, 32, 8, "Proto *[]" },
		{ 80, 16, 16, "Upvaldesc[]" }, { 88, 28, 1, "char[]" }, { 96, 40, 8, "AbsLineInfo[]" }, { 104, 36, 16, "LocVar[]" },
	};
	tell(o, 128, "Proto|~GCObject");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		tell(memory_word(o + parts[i].at), (uint64_t)parts[i].size * memory_u32(o + parts[i].number_at), parts[i].type);
}

static void tell_thread(uint64_t o)
{
	uint64_t stack = memory_word(o + 48), last = memory_word(o + 40);
	bool first = !memory_word(o); /* the first of all objects, at the end of its list, has the common state behind it */
	tell(o - 8, 208, first ? "LG|~LX|~lua_State|~GCObject" : "LX|lua_State|~GCObject"); /* LUA_EXTRASPACE before it */
	tell(stack, last - stack + ROOM_FOR_ERRORS * 16, "StackValue[]|TValue[]");
	/* The first one is part of the thread. */
	uint64_t info = memory_word(o + 96 + 24);
	for (unsigned i = 0; info && i < 1000; i++, info = memory_word(info + 24))
		tell(info, 64, "CallInfo");
}

static void tell_object(uint64_t o)
{
	switch (memory_u8(o + 8) & 0x3f) {
	case 0x04:
		tell(o, 25 + memory_u8(o + 11), "TString|~GCObject");
		break;
	case 0x14:
		tell(o, 25 + memory_word(o + 16), "TString|~GCObject");
		break;
	case 0x05:
		tell_table(o);
		break;
	case 0x06:
		tell(o, 32 + 8 * memory_u8(o + 10), "LClosure|~Closure|~GCObject");
		break;
	case 0x26:
		tell(o, 32 + 16 * memory_u8(o + 10), "CClosure|~Closure|~GCObject");
		break;
	case 0x07:
		tell(o, memory_word(o + 16) + 32, "Udata|Udata0|~GCObject");
		break;
	case 0x08:
		tell_thread(o);
		break;
	case 0x09:
		tell(o, 40, "UpVal|~GCObject");
		break;
	case 0x0a:
		tell_function(o);
		break;
	}
}

bool witness_lua(char **lists, uint64_t strt)
{
	unsigned left = MOST_OBJECTS;
	tell(memory_word(strt), 8ull * memory_u32(strt + 12), "TString *[]");
	for (; *lists; lists++)
		for (uint64_t o = memory_word(strtoull(*lists, NULL, 0)); o && left; o = memory_word(o), left--)
			tell_object(o);
	return left;
}
