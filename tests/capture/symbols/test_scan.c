/* SPDX-License-Identifier: MIT */
/*
 * test_scan.c - entries decoded by ourselves are what libdwarf says they are, one by one, in whole files.
 *
 * Of each file all units are gone through side by side, down into every function: same entries, same
 * depth, same attributes.  Files of gcc and clang, DWARF 4 and 5, 32 and 64 bits, with type units, and
 * Debian's own: with strings and types in a file in common (dwz), by link-time optimisation.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/symbols/module.h"
#include "capture/symbols/reader.h"
#include "tests/capture/symbols/support.h"
#include "tests/capture/symbols/witness.h"

#define MAX_DEPTH 256

/* A path that is not absolute is one of our own programs. */
static const struct {
	const char *file;
	uint64_t least; /* entries that it has */
} rows[] = {
	{ "shapes-gcc4-O0", 150 },     { "shapes-gcc4-types", 150 }, { "shapes-gcc5-types", 150 }, { "shapes-gcc5-wide", 150 },
	{ "shapes-gcc-gz", 150 },      { "shapes-clang4", 150 },     { "shapes-clang5", 150 },     { "classes-gcc5-types", 6000 },
	{ "classes-clang4-O0", 1000 }, { "classes-clang5-O2", 1000 }, { "sites-c++-gcc-O2", 9000 }, { "sites-c++-clang-O2", 1000 },
	{ "pieces", 39 },              { "taken-apart", 15 },
	{ "/lib/x86_64-linux-gnu/libc.so.6", 400000 },
	{ "/usr/bin/python3.11", 300000 },
	{ "/usr/lib/x86_64-linux-gnu/liblua5.4.so.0", 10000 },
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

struct file {
	void *bytes;
	struct hsnap_elf elf;
	struct hsnap_dies dies;
};

/* false: it is not there. */
static bool open_elf(struct file *file, const char *path)
{
	struct hsnap_error err;
	size_t size;
	if (access(path, R_OK))
		return false;
	file->bytes = file_bytes(path, &size);
	cr_assert_eq(hsnap_elf_init(&file->elf, file->bytes, size, &err), HSNAP_OK, "%s: %s", path, err.message);
	return true;
}

static void close_file(struct file *file)
{
	hsnap_dies_deinit(&file->dies);
	hsnap_elf_deinit(&file->elf);
	free(file->bytes);
}

/* Debian's debug file of a build id: to be found in `ret`. */
static void debug_path(const struct hsnap_elf *elf, char *ret, size_t room)
{
	int at = snprintf(ret, room, "/usr/lib/debug/.build-id/%02x/", elf->build_id[0]);
	for (unsigned i = 1; i < elf->build_id_size; i++)
		at += snprintf(ret + at, room - (size_t)at, "%02x", elf->build_id[i]);
	snprintf(ret + at, room - (size_t)at, ".debug");
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void compare(const struct hsnap_die_facts *theirs, const struct hsnap_die_facts *ours, hsnap_die_key key)
{
#define SAME(what) cr_assert_eq(theirs->what, ours->what, "entry %lx: " #what " %lx, libdwarf %lx", (unsigned long)key, \
				(unsigned long)ours->what, (unsigned long)theirs->what)
	SAME(tag);
	SAME(flags);
	SAME(type);
	SAME(specification);
	SAME(origin);
	SAME(signature);
	SAME(size);
	SAME(count);
	SAME(member_offset);
	SAME(num_bits);
	SAME(first_bit);
	SAME(high_bit);
	SAME(const_value);
	SAME(decl_file);
	SAME(decl_line);
	SAME(call_file);
	SAME(call_line);
	SAME(encoding);
	SAME(language);
#undef SAME
	cr_assert(same_text(theirs->name, ours->name), "entry %lx: name", (unsigned long)key);
	cr_assert(same_text(theirs->linkage_name, ours->linkage_name), "entry %lx: linkage name", (unsigned long)key);
}

/* Both entries, and who follows; every other one is left without a look at its attributes. */
static void compare_entry(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_scan *scan, struct hsnap_entry *entry, uint64_t num)
{
	struct hsnap_die_facts theirs, ours;
	hsnap_die_key key = hsnap_die_key_here(dies, die);
	cr_assert(entry->abbrev, "entry %lx is not there", (unsigned long)key);
	cr_assert_eq(hsnap_entry_key(scan, entry), key);
	cr_assert_eq(hsnap_entry_tag(entry), hsnap_die_tag(dies, die), "entry %lx", (unsigned long)key);
	struct hsnap_entry again = hsnap_entry_at(scan, entry->offset);
	witness_read(dies, die, &theirs);
	hsnap_entry_read(scan, num % 2 ? entry : &again, &ours);
	compare(&theirs, &ours, key);
}

/* All entries of a unit, in order; how many. */
static uint64_t compare_unit(struct hsnap_dies *dies, Dwarf_Die unit, struct hsnap_scan *scan)
{
	Dwarf_Die dies_at[MAX_DEPTH] = { unit };
	struct hsnap_entry entries[MAX_DEPTH] = { hsnap_entry_at(scan, scan->first) };
	uint64_t num = 0;
	for (unsigned depth = 0;;) {
		if (!dies_at[depth]) {
			cr_assert(!entries[depth].abbrev, "an entry at %lx that libdwarf does not have",
				  (unsigned long)entries[depth].offset);
			if (!depth--)
				break;
		} else {
			compare_entry(dies, dies_at[depth], scan, &entries[depth], num++);
			cr_assert(depth + 1 < MAX_DEPTH);
			dies_at[depth + 1] = hsnap_die_child(dies, dies_at[depth]);
			entries[depth + 1] = hsnap_entry_child(scan, &entries[depth]);
			depth++;
			continue;
		}
		Dwarf_Die next = depth ? hsnap_die_sibling(dies, dies_at[depth]) : NULL;
		entries[depth] = hsnap_entry_next(scan, &entries[depth]);
		hsnap_die_free(dies_at[depth]);
		dies_at[depth] = next;
	}
	cr_assert(!scan->broken);
	return num;
}

static uint64_t compare_section(struct hsnap_dies *dies, bool types)
{
	struct hsnap_scans *scans = calloc(1, sizeof(*scans));
	struct hsnap_die_unit unit;
	uint64_t num = 0;
	bool whole;
	cr_assert(scans);
	while (hsnap_die_next_unit(dies, types, &unit, &whole)) {
		struct hsnap_scan *scan = hsnap_scan_open(scans, dies, types, unit.start);
		cr_assert(scan, "unit at %lx", (unsigned long)unit.start);
		cr_assert_eq(scan->shape.version, unit.version);
		cr_assert_eq(scan->first, unit.start + unit.header);
		num += compare_unit(dies, unit.die, scan);
		hsnap_scan_close(scan);
	}
	cr_assert(whole);
	hsnap_scans_deinit(scans);
	free(scans);
	return num;
}

ParameterizedTestParameters(scan, entries)
{
	static size_t index[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, NUM_ROWS);
}

ParameterizedTest(size_t *row, scan, entries, .timeout = 120)
{
	struct file program = { 0 }, debug = { 0 }, alt = { 0 };
	struct hsnap_error err;
	const char *name = rows[*row].file;
	char path[4096];
	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : HSNAP_TEST_PROGRAMS, *name == '/' ? "" : "/", name);
	if (!open_elf(&program, path))
		cr_skip_test("SKIPPED: no %s here", path);
	struct file *file = &program;
	if (*name == '/') {
		debug_path(&program.elf, path, sizeof(path));
		file = &debug;
		if (!open_elf(&debug, path))
			cr_skip_test("SKIPPED: no debug file of %s here", name);
	}
	const char *link, *slash;
	const uint8_t *id;
	size_t id_size;
	struct hsnap_dies *common = NULL;
	if (hsnap_elf_altlink(&file->elf, &link, &id, &id_size)) {
		char there[8192];
		slash = strrchr(path, '/');
		snprintf(there, sizeof(there), "%.*s%s", *link == '/' ? 0 : (int)(slash + 1 - path), path, link);
		cr_assert(open_elf(&alt, there), "no %s", there);
		cr_assert_eq(hsnap_dies_init(&alt.dies, &alt.elf, NULL, &err), HSNAP_OK, "%s", err.message);
		common = &alt.dies;
	}
	cr_assert_eq(hsnap_dies_init(&file->dies, &file->elf, common, &err), HSNAP_OK, "%s: %s", name, err.message);
	uint64_t num = compare_section(&file->dies, false) + compare_section(&file->dies, true);
	if (common)
		num += compare_section(common, false);
	cr_expect_geq(num, rows[*row].least, "%s has %lu entries only", name, (unsigned long)num);
	close_file(&program);
	close_file(&debug);
	close_file(&alt);
}

/*
 * An abbreviation behind those that a unit uses is cut off: libdwarf, which reads as many as it needs, has the unit all the
 * same, and our scanner, which reads all of them first, does not.  What is in the unit is unknown then, and said to be.
 */
Test(scan, unit_that_only_libdwarf_can_read)
{
	struct file file = { 0 };
	struct hsnap_error err;
	bool whole;
	cr_assert(open_elf(&file, HSNAP_TEST_PROGRAMS "/shapes-gcc5-O0"));
	const struct hsnap_elf_section *table = hsnap_elf_find(&file.elf, ".debug_abbrev");
	cr_assert(table && table->size);
	uint8_t *last = (uint8_t *)file.bytes + table->offset + table->size - 1;
	cr_assert_eq(*last, 0, "the table of the last unit does not end there");
	*last = 0x7f;
	cr_assert_eq(hsnap_dies_init(&file.dies, &file.elf, NULL, &err), HSNAP_OK, "%s", err.message);

	struct hsnap_reader *reader = calloc(1, sizeof(*reader));
	cr_assert(reader);
	reader->dies = &file.dies;
	struct hsnap_die_unit units[3];
	size_t num = 0;
	while (num < 3 && hsnap_die_next_unit(&file.dies, false, &units[num], &whole))
		num++;
	cr_assert(num == 2 && whole, "%zu units", num);
	for (size_t i = 0; i < num; i++) {
		struct hsnap_die_facts facts;
		Dwarf_Die child = hsnap_die_child(&file.dies, units[i].die);
		cr_expect(child, "libdwarf has nothing in unit %zu", i);
		bool found = hsnap_table_facts(reader, hsnap_die_key_here(&file.dies, child), &facts);
		cr_expect_eq(found, i == 0, "unit %zu", i);
		hsnap_die_free(child);
		hsnap_die_free(units[i].die);
	}
	hsnap_scans_deinit(&reader->scans);
	free(reader);

	struct hsnap_symbols symbols = { 0 };
	struct hsnap_module_input input = { .program = file.bytes, .program_size = file.elf.size };
	cr_assert_eq(hsnap_module_read(&input, &symbols, &err), HSNAP_OK, "%s", err.message);
	cr_expect_not(symbols.modules.items[0].has_types);
	cr_expect_str_eq(hsnap_str(&symbols.strings, symbols.modules.items[0].note),
			 "its debug info is damaged: read up to the damage");
	cr_expect(type_named(&symbols, "all", HSNAP_DTYPE_STRUCT), "what is in the first unit is not there");
	cr_expect_not(type_named(&symbols, "opaque", HSNAP_DTYPE_STRUCT), "what is in the second unit alone is there");
	cr_expect_not(variable_named(&symbols, "b_table"));
	close_file(&file);
}
