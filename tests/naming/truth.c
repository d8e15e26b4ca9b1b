/* SPDX-License-Identifier: MIT */
/* truth.c - what witnesses say of a process's blocks. */
#include "tests/naming/truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "tests/naming/spelling.h"

void truth_deinit(struct truth *truth)
{
	hsnap_strings_deinit(&truth->strings);
	hsnap_vec_deinit(&truth->lines);
}

/* "ADDRESS SIZE TYPE"; false: it is none. */
static bool parse(const char *text, uint64_t *address, uint64_t *size, const char **type)
{
	char *end;
	errno = 0;
	*address = strtoull(text, &end, 16);
	if (errno || end == text || *end != ' ')
		return false;
	text = end + 1;
	*size = strtoull(text, &end, 10);
	*type = end + 1;
	return !errno && end != text && *end == ' ' && **type;
}

bool truth_read(struct truth *truth, const char *path)
{
	FILE *file = fopen(path, "re");
	if (!file) {
		fprintf(stderr, "judge: cannot read '%s': %s\n", path, strerror(errno));
		return false;
	}
	hsnap_auto(hsnap_freep) char *text = NULL;
	size_t room = 0;
	bool good = true;
	for (size_t number = 1; good; number++) {
		ssize_t len = getline(&text, &room, file);
		if (len < 0)
			break;
		if (len && text[len - 1] == '\n')
			text[len - 1] = '\0';
		struct truth_line line;
		const char *type;
		good = parse(text, &line.address, &line.size, &type);
		if (!good)
			fprintf(stderr, "judge: %s:%zu is not 'ADDRESS SIZE TYPE': %.80s\n", path, number, text);
		line.type = good ? hsnap_strings_add(&truth->strings, type) : 0;
		if (good && (line.type == HSNAP_NO_STRING || !hsnap_vec_push(&truth->lines, line))) {
			fputs("judge: out of memory\n", stderr);
			good = false;
		}
	}
	fclose(file);
	return good;
}

static int in_order(const void *a, const void *b)
{
	const struct truth_line *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* Two witnesses of one object: what either says is right. */
static bool join(struct truth *truth, struct truth_line *line, const struct truth_line *other)
{
	if (other->size > line->size)
		line->size = other->size;
	if (other->type == line->type)
		return true;
	char *both;
	if (asprintf(&both, "%s|%s", hsnap_str(&truth->strings, line->type), hsnap_str(&truth->strings, other->type)) < 0)
		return false;
	line->type = hsnap_strings_add(&truth->strings, both);
	free(both);
	return line->type != HSNAP_NO_STRING;
}

bool truth_sort(struct truth *truth)
{
	if (!truth->lines.num)
		return true;
	struct truth_line *lines = truth->lines.items;
	qsort(lines, truth->lines.num, sizeof(*lines), in_order);
	size_t kept = 1;
	for (size_t i = 1; i < truth->lines.num; i++) {
		if (lines[i].address != lines[kept - 1].address)
			lines[kept++] = lines[i];
		else if (!join(truth, &lines[kept - 1], &lines[i]))
			return false;
	}
	truth->lines.num = kept;
	return true;
}

/* The name without "pool of " and without the "[]" at its end, in one spelling; *run says whether there was either. */
static char *element(const char *name, bool *run)
{
	static const char pool[] = "pool of ";
	*run = !strncmp(name, pool, sizeof(pool) - 1);
	char *spelt = spelling_of(*run ? name + sizeof(pool) - 1 : name);
	size_t len = spelt ? strlen(spelt) : 0;
	if (len > 2 && !strcmp(spelt + len - 2, "[]")) {
		*run = true;
		spelt[len - 2] = '\0';
	}
	return spelt;
}

static bool is_byte(const char *spelt)
{
	static const char *const bytes[] = { "char", "unsigned char", "signed char", "std::byte", "uint8_t", "int8_t" };
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		if (!strcmp(spelt, bytes[i]))
			return true;
	return false;
}

static bool agrees(const struct said *said, const struct told *told, const char *type)
{
	bool run, said_run, ignored;
	hsnap_auto(hsnap_freep) char *want = element(type, &run);
	hsnap_auto(hsnap_freep) char *name = element(said->name, &said_run);
	hsnap_auto(hsnap_freep) char *full_name = element(said->full_name, &ignored);
	if (!want || !name || !full_name)
		return false;
	if (run && said->bytes && is_byte(want))
		return true;
	run |= told->several;
	said_run |= said->run;
	return (run == said_run || (told->single && !told->several)) && (!strcmp(want, name) || !strcmp(want, full_name));
}

enum verdict truth_verdict(const struct said *said, const struct told *told)
{
	hsnap_auto(hsnap_freep) char *copy = strdup(told->type);
	enum verdict verdict = VERDICT_WRONG;
	char *rest = copy;
	for (const char *each; copy && (each = strsep(&rest, "|"));) {
		bool vague = *each == '~';
		if (!agrees(said, told, each + vague))
			continue;
		if (!vague)
			return VERDICT_RIGHT;
		verdict = VERDICT_VAGUE;
	}
	return verdict;
}
