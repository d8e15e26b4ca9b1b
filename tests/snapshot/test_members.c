/* SPDX-License-Identifier: MIT */
/* test_members.c - member paths and identities of types. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "tests/support/graph_text.h"

#define TYPES \
	"Key=16{text:char*@0,len:long@8} " \
	"Entry=40{next:Entry*@0,key:Key@8,values:long[2]@24} " \
	"Table=200{buckets:Entry**@0,entry:Entry@8,slots:Key[8]@48,hole:int@192} " \
	"Base=16{vptr:void*@0,owner:Table*@8} Mixin=8{peer:Mixin*@0} " \
	"Derived=40{:Base@0,:Mixin@16,own:void*@24,tail:int@32} " \
	"union:Value=8{number:long@0,text:char*@0} Cell=16{tag:int@0,value:Value@8} " \
	"union:Pair=16{flat:long[2]@0,:Key@0} " \
	"union:Any=16{text:char*@0,key:Key@0,next:Entry*@8} Slot=24{tag:long@0,any:Any@8} " \
	"Page=16{used:long@0,marker:int[0]@8,items:Key[]@8} " \
	"Empty=1 Hollow=32{:Empty@0,first:void*@8} " \
	"label:48_bytes"

static const struct {
	const char *name, *type;
	uint64_t offset;
	const char *path;
	bool pointer;
} rows[] = {
	{ "a pointer member", "Table", 0, ".buckets", true },
	{ "into a nested struct", "Table", 8, ".entry.next", true },
	{ "two levels down", "Table", 16, ".entry.key.text", true },
	{ "a number is no pointer", "Table", 24, ".entry.key.len", false },
	{ "an element of a fixed array", "Table", 48 + 3 * 16, ".slots[3].text", true },
	{ "an array of numbers in a nested struct", "Table", 8 + 32, ".entry.values[1]", false },
	{ "in a pointer's middle", "Table", 12, ".entry.next+4", false },
	{ "a hole between members", "Table", 197, "+197", false },
	{ "past the end", "Table", 4000, "+4000", false },
	{ "the greatest offset", "Table", UINT64_MAX, "+18446744073709551615", false },
	{ "a base adds nothing", "Derived", 8, ".owner", true },
	{ "a second base adds nothing", "Derived", 16, ".peer", true },
	{ "a base's middle counts from what was named last", "Derived", 12, ".owner+4", false },
	{ "a pointer among union members is preferred", "Cell", 8, ".value.text", true },
	{ "of two pointers in a union neither is named", "Slot", 8, ".any", true },
	{ "the one pointer there is named", "Slot", 16, ".any.next", true },
	{ "an anonymous struct in a union", "Pair", 0, ".text", true },
	{ "the first of equals", "Pair", 8, ".flat[1]", false },
	{ "a run of elements", "Entry[]", 80, "[*].next", true },
	{ "a run of pointers", "Entry*[]", 800, "[*]", true },
	{ "a pointer's middle in a run", "Entry*[]", 804, "[*]+4", false },
	{ "a run of bytes", "char[]", 8, "[*]", false },
	{ "a fixed array as the type itself", "Key[8]", 32, "[2].text", true },
	{ "beyond a fixed array", "Key[8]", 128, "+128", false },
	{ "a flexible array at the end", "Page", 8 + 16 * 5, ".items[*].text", true },
	{ "before the first member", "Hollow", 0, "+0", false },
	{ "an empty base covers only what it has", "Hollow", 8, ".first", true },
	{ "a pointer itself", "void*", 0, "", true },
	{ "a label has no members", "48 bytes", 16, "+16", false },
	{ "a label's start", "48 bytes", 0, "+0", false },
};

ParameterizedTestParameters(members, path)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, members, path)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .blocks = "a:Entry[] b:Entry*[] c:char[] d:Key[8] e:void*" });
	char text[64];
	bool pointer = hsnap_member_path(s, type_from_text(s, rows[*row].type), rows[*row].offset, text, sizeof(text));
	cr_expect_str_eq(text, rows[*row].path, "%s: want '%s', got '%s'", rows[*row].name, rows[*row].path, text);
	cr_expect_eq(pointer, rows[*row].pointer, "%s: pointer", rows[*row].name);
}

Test(members, a_long_path_is_cut_and_terminated)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s =
		snapshot_from_text(&(struct graph_text){ .types = TYPES });
	char text[8];
	memset(text, 'x', sizeof(text));
	cr_expect(hsnap_member_path(s, type_from_text(s, "Table"), 16, text, 6), "the cut changed the answer");
	cr_expect_str_eq(text, ".entr");
	cr_expect_eq(text[6], 'x', "written past the end");
	text[0] = 'x';
	cr_expect(hsnap_member_path(s, type_from_text(s, "Table"), 16, text, 0));
	cr_expect_eq(text[0], 'x', "written to a buffer of no bytes");
	cr_expect_not(hsnap_member_path(s, 12345, 16, text, sizeof(text)), "a type that is not there");
	cr_expect_str_eq(text, "+16");
}

/* Each level has the next twice, at the same place: 2^60 ways down to the pointer that is not there. */
Test(members, hostile_nesting_ends)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "T59=8 T=8", .blocks = "" });
	hsnap_type_id first = (hsnap_type_id)s->types.num;
	for (uint32_t i = 0; i < 60; i++) {
		struct hsnap_type type = { .kind = HSNAP_TYPE_UNION, .size = 8, .num_members = 2,
					   .first_member = (uint32_t)s->members.num };
		hsnap_type_id next = i < 59 ? first + i + 1 : HSNAP_NO_TYPE;
		for (int twice = 0; twice < 2; twice++)
			cr_assert(hsnap_vec_push(&s->members, (struct hsnap_member){ .type = next }));
		cr_assert(hsnap_vec_push(&s->types, type));
	}
	char text[32];
	cr_expect_not(hsnap_member_path(s, first, 0, text, sizeof(text)));
	/* And a type that contains itself. */
	s->members.items[s->types.items[first].first_member].type = first;
	cr_expect_not(hsnap_member_path(s, first, 4, text, sizeof(text)));
}

static const struct {
	const char *name, *types, *type, *identity;
} identities[] = {
	{ "unit and name", "Entry=8%src/cache.c", "Entry", "|src/cache.c||Entry" },
	{ "without a unit", "Entry=8", "Entry", "|||Entry" },
	{ "a holder sets apart", "char[]^in_Entry.key", "char[]", "||in Entry.key|char[]" },
	{ "a run has its element's unit", "Entry=8%a.c Entry[]", "Entry[]", "|a.c||Entry[]" },
	{ "a label", "label:48_bytes^in_Entry.extra", "48 bytes", "||in Entry.extra|label|48 bytes" },
};

Test(members, identity_tells_types_apart)
{
	for (size_t i = 0; i < sizeof(identities) / sizeof(*identities); i++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s =
			snapshot_from_text(&(struct graph_text){ .types = identities[i].types });
		hsnap_auto(hsnap_freep) char *got = hsnap_type_identity(s, type_from_text(s, identities[i].type));
		cr_expect_str_eq(got, identities[i].identity, "%s: got '%s'", identities[i].name, got);
	}
}

Test(members, identity_names_a_library_by_its_file)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "Entry=8%a.c", .modules = "/usr/bin/app /usr/lib/libx.so.1" });
	hsnap_type_id type = type_from_text(s, "Entry");
	s->types.items[type].module = 2;
	hsnap_auto(hsnap_freep) char *got = hsnap_type_identity(s, type);
	cr_expect_str_eq(got, "libx.so.1|a.c||Entry");
}

/* Another library that is loaded meanwhile may become the one whose `char` is taken. */
Test(members, identity_of_bytes_is_not_that_of_char)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "char=1 char[]^in_Entry.key", .modules = "/usr/bin/app /usr/lib/libx.so.1" });
	hsnap_type_id bytes = type_from_text(s, "char[]"), element = s->types.items[bytes].element;
	cr_assert(element);
	s->types.items[element].module = 2;
	hsnap_auto(hsnap_freep) char *got = hsnap_type_identity(s, bytes);
	cr_expect_str_eq(got, "||in Entry.key|char[]");
}

static const struct {
	const char *name, *types, *type, *identity;
	bool any;
} label_rows[] = {
	{ "one size", "label:48_bytes^in_Entry.extra", "48 bytes", "||in Entry.extra|label|bytes", false },
	{ "all sizes", "label:bytes^in_Entry.extra", "bytes", NULL, true },
	{ "without a place, small", "label:1024_bytes", "1024 bytes", NULL, false },
	{ "without a place", "label:1025_bytes", "1025 bytes", "|||label|bytes", false },
	{ "no size", "label:x_bytes^in_Entry.extra", "x bytes", NULL, false },
	{ "a type of that name", "bytes=8", "bytes", NULL, false },
};

Test(members, labels_of_a_size_know_the_row_of_all_sizes)
{
	for (size_t i = 0; i < sizeof(label_rows) / sizeof(*label_rows); i++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s =
			snapshot_from_text(&(struct graph_text){ .types = label_rows[i].types });
		hsnap_type_id type = type_from_text(s, label_rows[i].type);
		hsnap_auto(hsnap_freep) char *got = NULL;
		cr_assert(hsnap_label_any_identity(s, type, &got));
		cr_expect_eq(hsnap_label_any_size(s, type), label_rows[i].any, "%s", label_rows[i].name);
		cr_expect(label_rows[i].identity ? got && !strcmp(got, label_rows[i].identity) : !got, "%s: got '%s'",
			  label_rows[i].name, got ? got : "");
	}
}
