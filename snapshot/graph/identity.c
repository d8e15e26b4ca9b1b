/* SPDX-License-Identifier: MIT */
/* identity.c - what a type is matched by from one snapshot to the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"

#define MAX_DEPTH 48 /* arrays of arrays, followed to what they are made of */

/* An array's or pointer's own unit is that of what it is made of; `char` is declared nowhere, and of which
 * module's debug info it was taken is chance. */
static const struct hsnap_type *declared(const struct hsnap_snapshot *snapshot, const struct hsnap_type *own)
{
	const struct hsnap_type *type = own;
	for (unsigned depth = 0; depth < MAX_DEPTH && !hsnap_text(snapshot, type->unit)[0] && type->element; depth++)
		type = &snapshot->types.items[type->element];
	return hsnap_text(snapshot, type->unit)[0] ? type : own;
}

static const char *module_prefix(const struct hsnap_snapshot *snapshot, const struct hsnap_type *type)
{
	const struct hsnap_module *module = &snapshot->modules.items[type->module];
	if (module->main)
		return "";
	const char *path = hsnap_text(snapshot, module->path);
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static char *identity_of(const struct hsnap_snapshot *snapshot, const struct hsnap_type *type, const char *name)
{
	const struct hsnap_type *base = declared(snapshot, type);
	/* The name goes last, so that none of its characters can be taken for a separator. */
	char *text;
	if (asprintf(&text, "%s|%s|%s|%s%s", module_prefix(snapshot, base), hsnap_text(snapshot, base->unit),
		     hsnap_text(snapshot, type->holder), type->kind == HSNAP_TYPE_LABEL ? "label|" : "", name) < 0)
		return NULL;
	return text;
}

char *hsnap_type_identity(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	const struct hsnap_type *own = &snapshot->types.items[type];
	const char *name = hsnap_text(snapshot, own->full_name);
	return identity_of(snapshot, own, name[0] ? name : hsnap_text(snapshot, own->name));
}

bool hsnap_label_any_size(const struct hsnap_snapshot *snapshot, hsnap_type_id type)
{
	const struct hsnap_type *label = &snapshot->types.items[type];
	return label->kind == HSNAP_TYPE_LABEL && !strcmp(hsnap_text(snapshot, label->name), HSNAP_LABEL_ANY_SIZE);
}

/* "48 bytes"; what has no place is in such a row only from a size on. */
static bool has_size(const struct hsnap_snapshot *snapshot, const struct hsnap_type *label)
{
	const char *name = hsnap_text(snapshot, label->name);
	char *end;
	if (name[0] < '0' || name[0] > '9')
		return false;
	unsigned long long size = strtoull(name, &end, 10);
	return !strcmp(end, " " HSNAP_LABEL_ANY_SIZE) &&
	       (size > HSNAP_LABEL_SMALL || hsnap_text(snapshot, label->holder)[0]);
}

bool hsnap_label_any_identity(const struct hsnap_snapshot *snapshot, hsnap_type_id type, char **ret)
{
	const struct hsnap_type *label = &snapshot->types.items[type];
	*ret = NULL;
	if (label->kind != HSNAP_TYPE_LABEL || !has_size(snapshot, label))
		return true;
	*ret = identity_of(snapshot, label, HSNAP_LABEL_ANY_SIZE);
	return *ret;
}
