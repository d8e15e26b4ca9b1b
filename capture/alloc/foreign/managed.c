/* SPDX-License-Identifier: MIT */
/*
 * managed.c - run-time systems whose heaps lie where they say: Go, the Java VM, .NET.
 */
#include <elf.h>
#include <string.h>

#include "capture/alloc/foreign/claims.h"
#include "capture/target/elf_image.h"

/* ---- Go ---- */

/* Go asks for its arenas from here on (runtime/malloc.go, mallocinit; linux/amd64), and gets them:
 * nothing else is ever put so low. */
#define GO_FIRST 0xc000000000u
#define GO_END 0x10000000000u
#define GO_HEAD 16384u /* of an executable: its build id comes first in its text */

static bool is_go(const struct foreign *foreign)
{
	static const char mark[] = "\xff Go build ID: \"";
	static uint8_t const note[] = { 4, 0, 0, 0, 'G', 'o', 0, 0 }; /* type 4 of "Go": .note.go.buildid */
	uint8_t head[GO_HEAD];
	if (foreign->target->modules.num < 2)
		return false;
	const struct hsnap_target_module *module = &foreign->target->modules.items[1];
	size_t got = foreign->target->ops->read(foreign->target->self, module->start, head, sizeof(head));
	return memmem(head, got, mark, sizeof(mark) - 1) || memmem(head, got, note, sizeof(note));
}

void foreign_look_go(struct foreign *foreign)
{
	if (is_go(foreign))
		foreign_claim(foreign, GO_FIRST, GO_END);
}

/* ---- Java ---- */

/* HotSpot's own table of its structures, for its debuggers: runtime/vmStructs.hpp, VMStructEntry. */
struct vm_entry {
	uint64_t type_name, field_name, type;
	int32_t is_static, pad;
	uint64_t offset, address;
};

#define MAX_ENTRIES 8192u

static bool text_is(const struct hsnap_target *target, uint64_t at, const char *want)
{
	char text[64];
	return hsnap_target_text(target, at, text, sizeof(text)) && !strcmp(text, want);
}

/* The offset or address of a field; false: it has none of that name. */
static bool find_field(const struct hsnap_target *target, uint64_t table, const char *type, const char *field,
		       uint64_t *ret)
{
	for (unsigned i = 0; i < MAX_ENTRIES; i++) {
		struct vm_entry entry;
		if (hsnap_target_read(target, table + i * sizeof(entry), &entry, sizeof(entry), NULL) || !entry.type_name)
			break;
		if (!text_is(target, entry.field_name, field) || !text_is(target, entry.type_name, type))
			continue;
		*ret = entry.is_static ? entry.address : entry.offset;
		return true;
	}
	return false;
}

void foreign_look_jvm(struct foreign *foreign)
{
	const struct hsnap_target *target = foreign->target;
	const struct hsnap_target_module *jvm = foreign_module(foreign, "libjvm.so");
	uint64_t table, heap_at, heap, reserved, start_at, size_at, start, size;
	if (!jvm || !hsnap_module_symbol(target, jvm, "gHotSpotVMStructs", &table) || !hsnap_target_word(target, table, &table))
		return;
	if (!find_field(target, table, "Universe", "_collectedHeap", &heap_at) ||
	    !find_field(target, table, "CollectedHeap", "_reserved", &reserved) ||
	    !find_field(target, table, "MemRegion", "_start", &start_at) ||
	    !find_field(target, table, "MemRegion", "_word_size", &size_at) || !hsnap_target_word(target, heap_at, &heap) ||
	    !hsnap_target_word(target, heap + reserved + start_at, &start) ||
	    !hsnap_target_word(target, heap + reserved + size_at, &size) || size > (uint64_t)1 << 44)
		return;
	foreign_claim(foreign, start, start + size * 8);
}

/* ---- .NET ---- */

#define DOTNET_RESERVED ((uint64_t)256 << 20) /* the collector reserves 256 GiB, or five times its limit */

/* Mappings without a gap or a file between them: a reserved range, whatever of it is in use. */
static void claim_reserved(struct foreign *foreign)
{
	const struct hsnap_target *target = foreign->target;
	for (size_t i = 0, next; i < target->mappings.num; i = next) {
		const struct hsnap_mapping *first = &target->mappings.items[i];
		uint64_t end = first->end, unused = 0;
		for (next = i; next < target->mappings.num; next++) {
			const struct hsnap_mapping *mapping = &target->mappings.items[next];
			if (mapping->inode || mapping->module || (next > i && mapping->start != end))
				break;
			end = mapping->end;
			if (!(mapping->prot & (HSNAP_PROT_READ | HSNAP_PROT_WRITE)))
				unused += mapping->end - mapping->start;
		}
		next += next == i;
		if (unused >= DOTNET_RESERVED)
			foreign_claim(foreign, first->start, end);
	}
}

void foreign_look_dotnet(struct foreign *foreign)
{
	uint64_t at;
	const struct hsnap_target_module *runtime = foreign_module(foreign, "libcoreclr.so");
	/* A program in a single file carries the runtime inside, and its table for debuggers, too. */
	if (!runtime && foreign->target->modules.num > 1 &&
	    hsnap_module_symbol(foreign->target, &foreign->target->modules.items[1], "DotNetRuntimeInfo", &at))
		runtime = &foreign->target->modules.items[1];
	if (runtime)
		claim_reserved(foreign);
}

/* ---- by the name that the allocator gave its mappings ---- */

/* prctl(PR_SET_VMA_ANON_NAME): "[anon:scudo:primary]", "[anon: Go: heap]". */
void foreign_look_names(struct foreign *foreign, const char *prefix)
{
	for (size_t i = 0; i < foreign->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &foreign->target->mappings.items[i];
		const char *path = hsnap_str(&foreign->target->strings, mapping->path);
		if (strncmp(path, "[anon:", 6))
			continue;
		path += 6 + strspn(path + 6, " ");
		if (!strncmp(path, prefix, strlen(prefix)))
			foreign_claim(foreign, mapping->start, mapping->end);
	}
}
