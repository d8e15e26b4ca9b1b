/* SPDX-License-Identifier: MIT */
/*
 * fuzz_names.c - names of anybody's making on their way to people.
 *
 * Input: a byte that says what the rest is: what the demangler's child sends (0), else a name.  Holds: the
 * parent believes nothing that is too long or not there; a spelling is no longer than the name; the short name
 * is hardly longer (a blank behind each comma).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/naming/shorten.h"
#include "capture/naming/spelling.h"
#include "capture/symbols/demangle.h"
#include "tests/fuzz/fuzz.h"

#define NUM 16u
#define MOST_SENT 65536u /* what a socket takes without a reader */

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void receive(const uint8_t *bytes, size_t size)
{
	int pair[2];
	struct hsnap_strings strings = { 0 };
	struct hsnap_error err;
	hsnap_string names[NUM] = { 0 };
	uint64_t text = 0;
	size_t done = NUM + 1, in_all = 0;
	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) && hsnap_strings_add(&strings, "") == 0);
	require(size <= MOST_SENT && write(pair[1], bytes, size) == (ssize_t)size);
	close(pair[1]);
	require(hsnap_demangle_receive(pair[0], 1000, &strings, names, NUM, &done, &text, &err) == HSNAP_OK);
	require(done <= NUM);
	for (size_t i = 0; i < NUM; i++) {
		require(names[i] < strings.num && (i < done || !names[i]));
		in_all += strlen(hsnap_str(&strings, names[i]));
	}
	require(in_all == text && in_all + 4 * done <= size);
	close(pair[0]);
	hsnap_strings_deinit(&strings);
}

static void rewrite(const uint8_t *bytes, size_t size)
{
	struct hsnap_spelling spelling = { 0 };
	char *name = strndup((const char *)bytes, size);
	require(name);
	size_t len = strlen(name);
	require(hsnap_spell(&spelling, name) && strlen(spelling.text) <= len && !strchr(spelling.text, '\t'));
	char *text = hsnap_shorten(name);
	require(text && strlen(text) <= 2 * len + 16);
	free(text);
	free(name);
	hsnap_spelling_deinit(&spelling);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (!size || size > MOST_SENT)
		return 0;
	if (*bytes)
		rewrite(bytes + 1, size - 1);
	else
		receive(bytes + 1, size - 1);
	return 0;
}
