/* SPDX-License-Identifier: MIT */
/* types.c - the files of --types: where they are, and what is in them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/naming/rules.h"
#include "capture/own_folder.h"
#include "snapshot/base/cleanup.h"

#ifndef HSNAP_TYPES_FOLDER
#define HSNAP_TYPES_FOLDER "/usr/local/share/heapsnap/types"
#endif

/* In the build tree, beside the program's folder, under the prefix. */
static bool find_shipped(const char *name, char *path, size_t size)
{
	static const char *const places[] = { "/../capture/naming/types.d", "/../share/heapsnap/types" };
	char folder[PATH_MAX];
	bool known = hsnap_own_folder(folder, sizeof(folder));
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && known; i++) {
		int len = snprintf(path, size, "%s%s/%s.types", folder, places[i], name);
		if (len > 0 && (size_t)len < size && !access(path, R_OK))
			return true;
	}
	int len = snprintf(path, size, HSNAP_TYPES_FOLDER "/%s.types", name);
	return len > 0 && (size_t)len < size && !access(path, R_OK);
}

static enum hsnap_code refuse_name(const char *name, struct hsnap_error *err)
{
	hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot use the types '%s': none of that name come with heapsnap", name);
	if (!access(name, R_OK))
		return hsnap_hint(err, HSNAP_NOT_FOUND, "the file here: --types ./%s", name);
	return hsnap_hint(err, HSNAP_NOT_FOUND, "there are " HSNAP_TYPES_SHIPPED "; a file of your own is named with a slash: --types ./FILE");
}

/* All of a file, up to one byte more than may be. */
static char *read_file(const char *path, size_t *ret_size, int *ret_errno)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(HSNAP_MAX_RULES_FILE + 1) : NULL;
	*ret_errno = errno;
	errno = 0;
	*ret_size = text ? fread(text, 1, HSNAP_MAX_RULES_FILE + 1, file) : 0;
	if (text && ferror(file)) {
		*ret_errno = errno;
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

static enum hsnap_code load_one(struct hsnap_rules *rules, const char *name, struct hsnap_error *err)
{
	char path[PATH_MAX];
	size_t size;
	int why;
	bool shipped = !strchr(name, '/');
	if (shipped && !find_shipped(name, path, sizeof(path)))
		return refuse_name(name, err);
	hsnap_auto(hsnap_freep) char *text = read_file(shipped ? path : name, &size, &why);
	if (!text) {
		hsnap_fail(err, HSNAP_IO, 0, "cannot read the types '%s': %s", shipped ? path : name, strerror(why));
		return err ? err->code : HSNAP_IO;
	}
	enum hsnap_code code = hsnap_rules_parse(rules, name, text, size, err);
	return code == HSNAP_FORMAT ? hsnap_context(err, code, "cannot use --types") : code;
}

void hsnap_types_destroy(struct hsnap_rules *rules)
{
	if (rules)
		hsnap_rules_deinit(rules);
	free(rules);
}

enum hsnap_code hsnap_types_load(const char *const *names, size_t num, struct hsnap_rules **ret, struct hsnap_error *err)
{
	struct hsnap_rules *rules = calloc(1, sizeof(*rules));
	if (!rules)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	enum hsnap_code code = HSNAP_OK;
	for (size_t i = 0; i < num && !code; i++)
		code = load_one(rules, names[i], err);
	if (code)
		hsnap_types_destroy(rules);
	else
		*ret = rules;
	return code;
}
