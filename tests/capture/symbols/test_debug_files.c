/* SPDX-License-Identifier: MIT */
/* test_debug_files.c - debug info that is not in the program: debug links, build ids, dwz. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/capture/symbols/support.h"

static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/hsnap-debug-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Run a command in the folder, quietly; its status. */
static int shell(const char *format, ...)
{
	char command[4096], text[8192];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "cd %s && P=%s && { %s; } >log 2>&1", folder, HSNAP_TEST_PROGRAMS, command);
	return system(text);
}

static void remove_folder(void)
{
	shell("cd / && rm -rf %s", folder);
}

static bool have(const char *tool)
{
	if (!shell("command -v %s", tool))
		return true;
	cr_log_warn("no %s: not tested", tool);
	return false;
}

/* The folder's file as a module; debug files of our own are looked for below the folder. */
static struct hsnap_symbols *load(const char *name)
{
	struct hsnap_target *target = files_target();
	struct hsnap_child_options options = { .debug_root = folder };
	struct hsnap_symbols *s;
	struct hsnap_error err;
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	files_add(target, path, BIAS);
	cr_assert_eq(hsnap_symbols_load_with(target, NULL, 0, &options, &s, &err), HSNAP_OK, "%s", err.message);
	hsnap_target_close(target);
	return s;
}

static const char *note_of(const struct hsnap_symbols *s)
{
	return hsnap_str(&s->strings, s->modules.items[1].note);
}

static void expect_whole(const struct hsnap_symbols *s, const char *what)
{
	cr_expect(s->modules.items[1].has_types, "%s: '%s'", what, note_of(s));
	hsnap_dtype_id all = type_named(s, "all", HSNAP_DTYPE_STRUCT);
	cr_assert(all, "%s: no struct all", what);
	cr_expect_str_eq(written(s, member_named(s, all, "inner")->type), "entry [2]", "%s", what);
	const struct hsnap_dvariable *v = variable_named(s, "everything");
	cr_assert(v, "%s: no variable", what);
	cr_expect(v->type == all && v->address > BIAS, "%s", what);
}

#define SPLIT "cp $P/shapes-gcc5-O0 p && objcopy --only-keep-debug p p.debug && strip -g p"

Test(symbols_debug_files, by_link, .init = make_folder, .fini = remove_folder)
{
	if (!have("objcopy"))
		return;
	cr_assert_eq(shell(SPLIT " && strip -R .note.gnu.build-id p && objcopy --add-gnu-debuglink=p.debug p"), 0);
	struct hsnap_symbols *s = load("p");
	expect_whole(s, "beside the program");
	hsnap_symbols_destroy(s);

	cr_assert_eq(shell("mkdir .debug && mv p.debug .debug"), 0);
	s = load("p");
	expect_whole(s, "in .debug");
	hsnap_symbols_destroy(s);

	cr_assert_eq(shell("mkdir -p usr/lib/debug%s && mv .debug/p.debug usr/lib/debug%s", folder, folder), 0);
	s = load("p");
	expect_whole(s, "below /usr/lib/debug");
	hsnap_symbols_destroy(s);

	cr_assert_eq(shell("mv usr/lib/debug%s/p.debug . && echo >>p.debug", folder), 0);
	s = load("p");
	cr_expect_str_eq(note_of(s), "debug file of another build");
	cr_expect(!s->modules.items[1].has_types);
	cr_expect_eq(s->types.num, 1);
	hsnap_symbols_destroy(s);

	cr_assert_eq(shell("rm p.debug"), 0);
	s = load("p");
	cr_expect_str_eq(note_of(s), "no debug info");
	hsnap_symbols_destroy(s);
}

#define BY_ID "I=$(readelf -n p | awk '/Build ID/ { print $3 }') && D=usr/lib/debug/.build-id/$(echo $I | cut -c1-2) && " \
	      "F=$D/$(echo $I | cut -c3-).debug && mkdir -p $D"

Test(symbols_debug_files, by_build_id, .init = make_folder, .fini = remove_folder)
{
	if (!have("objcopy"))
		return;
	cr_assert_eq(shell(SPLIT " && " BY_ID " && mv p.debug $F"), 0);
	struct hsnap_symbols *s = load("p");
	expect_whole(s, "by build id");
	hsnap_symbols_destroy(s);

	/* Another program's debug file under this one's name. */
	cr_assert_eq(shell("cp p q && cp $P/shapes-gcc4-O2 p && objcopy --only-keep-debug p p.debug && cp q p && " BY_ID
			   " && mv p.debug $F"), 0);
	s = load("p");
	cr_expect_str_eq(note_of(s), "debug file of another build");
	cr_expect_eq(s->types.num, 1);
	hsnap_symbols_destroy(s);

	/* A pipe must not hang us, a folder not confuse us. */
	cr_assert_eq(shell(BY_ID " && rm $F && mkfifo $F"), 0);
	s = load("p");
	cr_expect_str_eq(note_of(s), "no debug info");
	hsnap_symbols_destroy(s);
}

Test(symbols_debug_files, a_program_that_was_replaced, .init = make_folder, .fini = remove_folder)
{
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	char path[256];
	snprintf(path, sizeof(path), "%s/p", folder);
	cr_assert_eq(shell("cp $P/shapes-gcc5-O0 p"), 0);
	files_add(target, path, BIAS);
	target->modules.items[1].build_id[3] ^= 1; /* what is mapped is not what is there now */
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK);
	cr_expect_str_eq(note_of(s), "its file is not the one that is mapped");
	cr_expect_eq(s->types.num, 1);
	hsnap_symbols_destroy(s);
	unlink(path);
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK);
	cr_expect_str_eq(note_of(s), "its file cannot be opened");
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

/* With its supplementary file nothing is missing; without it nothing is wrong. */
/* A class with virtual functions, made so that none of the objects is thrown away. */
#define CLASS "printf 'struct A { virtual ~A() {} }; A *volatile a; int main() { a = new A; delete a; }' | g++ -x c++ -o p - "

static const struct {
	const char *name, *make;
	bool none;
} class_rows[] = {
	{ "C", "cp $P/shapes-gcc5-O0 p", true },
	{ "C, stripped", "strip -o p $P/shapes-gcc5-O0", true },
	{ "C++, with symbols", CLASS, false },
	{ "C++, stripped: what descriptors begin with is wanted from libstdc++", CLASS "-s", false },
	{ "C++, all of it in one file, stripped", CLASS "-static -s", false },
	{ "C++ without descriptors, with symbols", CLASS "-fno-rtti", false },
};

ParameterizedTestParameters(symbols_debug_files, classes)
{
	static size_t index[sizeof(class_rows) / sizeof(*class_rows)];
	for (size_t i = 0; i < sizeof(index) / sizeof(*index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(index) / sizeof(*index));
}

/* Can there be objects of classes in a process that has nothing but such files? */
ParameterizedTest(size_t *row, symbols_debug_files, classes, .init = make_folder, .fini = remove_folder)
{
	if (!have("strip") || !have("g++"))
		return;
	cr_assert_eq(shell("%s", class_rows[*row].make), 0, "%s", class_rows[*row].name);
	struct hsnap_symbols *s = load("p");
	cr_expect_eq(s->modules.items[1].no_classes, class_rows[*row].none, "%s", class_rows[*row].name);
	hsnap_symbols_destroy(s);
}

Test(symbols_debug_files, dwz, .init = make_folder, .fini = remove_folder)
{
	if (!have("dwz"))
		return;
	cr_assert_eq(shell("cp $P/shapes-gcc4-O0 p && cp $P/shapes-gcc4-O2 q && dwz -m common -M %s/common p q && "
			   "readelf -S p | grep gnu_debugaltlink", folder), 0);
	struct hsnap_symbols *s = load("p");
	expect_whole(s, "dwz");
	size_t whole = s->types.num;
	hsnap_symbols_destroy(s);

	cr_assert_eq(shell("mv common elsewhere"), 0);
	s = load("p");
	cr_expect_lt(s->types.num, whole, "the test does not test: nothing is missing");
	for (hsnap_dtype_id id = 1; id < s->types.num; id++) {
		cr_expect(!strstr(name_of(s, id), "DW_FORM"), "a type is called '%s'", name_of(s, id));
		const struct hsnap_dtype *t = hsnap_dtype(s, id);
		for (uint32_t i = 0; i < t->num_members; i++)
			cr_expect(!strstr(hsnap_str(&s->strings, s->members.items[t->first_member + i].name), "DW_FORM"));
	}
	hsnap_dtype_id all = type_named(s, "all", HSNAP_DTYPE_STRUCT);
	const struct hsnap_dmember *inner = all ? member_named(s, all, "inner") : NULL;
	if (inner)
		cr_expect(!strcmp(written(s, inner->type), "entry [2]") || !strcmp(written(s, inner->type), "void [2]") ||
			  !inner->type, "all.inner is '%s'", written(s, inner->type));
	const struct hsnap_dvariable *v = variable_named(s, "everything");
	cr_expect(!v || !v->type || v->type == all, "everything is '%s'", v ? written(s, v->type) : "");
	hsnap_symbols_destroy(s);

	/* Another file under its name is not taken for it. */
	cr_assert_eq(shell("cp $P/shapes-gcc5-O0 common"), 0);
	s = load("p");
	cr_expect_lt(s->types.num, whole);
	hsnap_symbols_destroy(s);
}

/* --- what the parent opens for whom --- */

static char opened[4096]; /* the last path that was asked of the target */

static int note_path(void *self, const char *path)
{
	(void)self;
	snprintf(opened, sizeof(opened), "%s", path);
	return -1;
}

static int open_none(void *self, const struct hsnap_target_module *module)
{
	(void)self;
	(void)module;
	return -1;
}

static const struct {
	const char *name;
	uint32_t what, attempt;
	const char *text, *directory; /* the module is /opt/app/bin/server */
	const char *path; /* "": nothing is opened */
} rows[] = {
	{ "beside", HSNAP_OPEN_LINK, 0, "server.debug", "", "/opt/app/bin/server.debug" },
	{ "in .debug", HSNAP_OPEN_LINK, 1, "server.debug", "", "/opt/app/bin/.debug/server.debug" },
	{ "mirrored", HSNAP_OPEN_LINK, 2, "server.debug", "", "/usr/lib/debug/opt/app/bin/server.debug" },
	{ "no more places", HSNAP_OPEN_LINK, 4, "server.debug", "", "" },
	{ "a link with a slash", HSNAP_OPEN_LINK, 0, "../../etc/passwd", "", "" },
	{ "a link upwards", HSNAP_OPEN_LINK, 0, "..", "", "" },
	{ "alt beside", HSNAP_OPEN_ALT, 0, "../.dwz/app.debug", "/usr/lib/debug/.build-id", "/usr/lib/debug/.dwz/app.debug" },
	{ "alt absolute", HSNAP_OPEN_ALT, 0, "/usr/lib/debug/.dwz/app", "", "/usr/lib/debug/.dwz/app" },
	{ "alt by the program", HSNAP_OPEN_ALT, 0, "common", "/opt/app/bin", "/opt/app/bin/common" },
	{ "alt elsewhere", HSNAP_OPEN_ALT, 0, "/etc/shadow", "", "" },
	{ "alt upwards", HSNAP_OPEN_ALT, 0, "/usr/lib/debug/../../../etc/shadow", "", "" },
	{ "alt out of sight", HSNAP_OPEN_ALT, 0, "../../../../../etc/shadow", "/usr/lib/debug/x", "" },
	{ "a prefix is not a folder", HSNAP_OPEN_ALT, 0, "/usr/lib/debug2/x", "", "" },
	{ "build id", HSNAP_OPEN_BUILD_ID, 0, "\x12\x34\x56", "", "/usr/lib/debug/.build-id/12/3456.debug" },
	{ "a short build id", HSNAP_OPEN_BUILD_ID, 0, "\x12", "", "" },
	{ "half where it was compiled", HSNAP_OPEN_DWO, 0, "/build/obj/a.dwo", "", "/build/obj/a.dwo" },
	{ "half beside the program", HSNAP_OPEN_DWO, 1, "/build/obj/a.dwo", "", "/opt/app/bin/a.dwo" },
	{ "half of another name", HSNAP_OPEN_DWO, 0, "/etc/shadow", "", "" },
	{ "half in a folder of that name", HSNAP_OPEN_DWO, 0, "/etc/a.dwo/shadow", "", "" },
	{ "half from nowhere", HSNAP_OPEN_DWO, 0, "a.dwo", "", "" },
	{ "package beside", HSNAP_OPEN_DWP, 0, "", "", "/opt/app/bin/server.dwp" },
	{ "package mirrored", HSNAP_OPEN_DWP, 1, "", "", "/usr/lib/debug/opt/app/bin/server.dwp" },
	{ "unknown", 99, 0, "x", "", "" },
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

ParameterizedTestParameters(symbols_debug_files, what_is_opened)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_debug_files, what_is_opened)
{
	static const struct hsnap_target_ops ops = { .open_path = note_path, .open_module = open_none };
	struct hsnap_target target = { .ops = &ops };
	struct hsnap_finder finder = { .target = &target, .debug_root = "/nowhere" };
	struct hsnap_open_request request = { rows[*row].what, rows[*row].attempt };
	bool end = false;
	hsnap_vec_push(&target.modules, (struct hsnap_target_module){ 0 });
	hsnap_vec_push(&target.modules, (struct hsnap_target_module){
						.path = hsnap_strings_add(&target.strings, "/opt/app/bin/server") });
	snprintf(finder.directory, sizeof(finder.directory), "%s", rows[*row].directory);
	int fd = hsnap_finder_open(&finder, 1, &request, rows[*row].text, strlen(rows[*row].text), &end);
	cr_expect_eq(fd, -1);
	cr_expect_str_eq(opened, rows[*row].path, "%s: '%s'", rows[*row].name, opened);
	hsnap_vec_deinit(&target.modules);
	hsnap_strings_deinit(&target.strings);
}
