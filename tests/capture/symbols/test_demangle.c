/* SPDX-License-Identifier: MIT */
/* test_demangle.c - names from run-time type information, and a demangler that they are the end of. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/symbols/demangle.h"

enum { MAX_NAMES = 16 };

/* The names demangled, as one text. */
static const char *demangle(const struct hsnap_demangle_options *options, const char *const *names)
{
	static char text[4096];
	struct hsnap_strings strings = { 0 };
	struct hsnap_error err;
	hsnap_string mangled[MAX_NAMES], got[MAX_NAMES];
	size_t num = 0, used = 0;
	cr_assert_neq(hsnap_strings_add(&strings, ""), HSNAP_NO_STRING);
	for (; names[num]; num++)
		mangled[num] = hsnap_strings_add(&strings, names[num]);
	cr_assert_eq(hsnap_demangle(&strings, mangled, num, options, got, &err), HSNAP_OK);
	text[0] = '\0';
	for (size_t i = 0; i < num; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? "; " : "", hsnap_str(&strings, got[i]));
	hsnap_strings_deinit(&strings);
	cr_expect_lt(waitpid(-1, NULL, WNOHANG), 0, "no child is left");
	return text;
}

#define DEMANGLE(options, ...) demangle((options), (const char *const[]){ __VA_ARGS__, NULL })
static const struct hsnap_demangle_options ordinary = { 0 };

Test(demangle, templates_local_classes_lambdas)
{
	cr_expect_str_eq(DEMANGLE(&ordinary, "3FooIiE", "N12_GLOBAL__N_16HiddenE", "Z4mainE5Local", "4TaskIZ4mainEUliE_E"),
			 "Foo<int>; (anonymous namespace)::Hidden; main::Local; Task<main::{lambda(int)#1}>");
}

Test(demangle, what_is_no_name_has_none)
{
	cr_expect_str_eq(DEMANGLE(&ordinary, "3Fo", "N99999999999shopE", "3Foo"), "; ; Foo");
}

static char *dies_of_x(const char *name)
{
	if (strchr(name, 'x'))
		raise(SIGKILL);
	return strdup(name);
}

Test(demangle, a_name_that_it_dies_of_is_left_out)
{
	const struct hsnap_demangle_options options = { .demangle = dies_of_x };
	cr_expect_str_eq(DEMANGLE(&options, "a", "x", "b", "c", "x"), "a; ; b; c; ");
	cr_expect_str_eq(DEMANGLE(&options, "x", "x", "x", "x", "a"), "; ; ; ; ", "that is enough");
}

static char *opens_a_file(const char *name)
{
	return access(name, F_OK) ? NULL : strdup(name);
}

/* What a compiler sees to be of no use it may leave out: loops without an end, and memory that nobody reads. */
static void *volatile used;

static char *takes_long(const char *name)
{
	while (*name == 'x')
		used = NULL;
	return strdup(name);
}

static char *takes_memory(const char *name)
{
	for (size_t i = 0; *name == 'x'; i++) {
		char *bytes = malloc(1 << 20);
		if (!bytes)
			return NULL;
		memset(bytes, 1, 1 << 20);
		used = bytes;
	}
	return strdup(name);
}

static char *says_much(const char *name)
{
	char *text = malloc(1 << 20);
	memset(text, 'y', 1 << 20);
	text[(1 << 20) - 1] = '\0';
	return *name == 'x' ? text : strdup(name);
}

Test(demangle, the_child_is_confined)
{
	const struct hsnap_demangle_options file = { .demangle = opens_a_file }, slow = { .demangle = takes_long, .seconds = 1 };
	const struct hsnap_demangle_options memory = { .demangle = takes_memory }, much = { .demangle = says_much };
	cr_expect_str_eq(DEMANGLE(&file, "/", "/"), "; ");
	cr_expect_str_eq(DEMANGLE(&slow, "a", "x", "b"), "a; ; b");
#ifndef __SANITIZE_ADDRESS__ /* whose shadow has no limits */
	cr_expect_str_eq(DEMANGLE(&memory, "a", "x", "b"), "a; ; b");
#else
	(void)memory;
#endif
	cr_expect_str_eq(DEMANGLE(&much, "a", "x", "b"), "a; ; b");
}

static void send_text(int socket, uint32_t size, const char *text, size_t sent)
{
	cr_assert(write(socket, &size, sizeof(size)) == sizeof(size) && write(socket, text, sent) == (ssize_t)sent);
}

/* "Foo; Bar" of a child that says Foo, then `text` with a length of `size`; *text counts on from `before`. */
static const char *received(uint32_t size, const char *text, size_t sent, uint64_t before)
{
	static char out[256];
	int pair[2];
	struct hsnap_strings strings = { 0 };
	struct hsnap_error err;
	hsnap_string names[3] = { 0 };
	size_t done;
	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && hsnap_strings_add(&strings, "") != HSNAP_NO_STRING);
	send_text(pair[1], 3, "Foo", 3);
	send_text(pair[1], size, text, sent);
	close(pair[1]);
	cr_assert_eq(hsnap_demangle_receive(pair[0], 5000, &strings, names, 3, &done, &before, &err), HSNAP_OK);
	close(pair[0]);
	snprintf(out, sizeof(out), "%zu: %s; %s", done, hsnap_str(&strings, names[0]), hsnap_str(&strings, names[1]));
	hsnap_strings_deinit(&strings);
	return out;
}

Test(demangle, what_a_child_says_is_not_believed)
{
	cr_expect_str_eq(received(3, "Bar", 3, 0), "2: Foo; Bar");
	cr_expect_str_eq(received(4, "Bar", 3, 0), "1: Foo; ", "cut short");
	cr_expect_str_eq(received(UINT32_MAX, "Bar", 3, 0), "1: Foo; ", "no name is so long");
	cr_expect_str_eq(received(3, "B\0r", 3, 0), "1: Foo; ", "no text");
	cr_expect_str_eq(received(3, "Bar", 3, (32u << 20) - 5), "1: Foo; ", "enough in all");
}
