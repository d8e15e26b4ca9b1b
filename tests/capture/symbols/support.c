/* SPDX-License-Identifier: MIT */
/* support.c - a target that is nothing but ELF files, and looking into what was read of them. */
#include "tests/capture/symbols/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/elf_file.h"

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "tests/capture/symbols: %s\n", what);
	exit(3);
}

void *file_bytes(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "re");
	need(f, path);
	need(!fseek(f, 0, SEEK_END), path);
	long size = ftell(f);
	need(size >= 0 && !fseek(f, 0, SEEK_SET), path);
	char *bytes = malloc((size_t)size + 1);
	need(bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size, path);
	fclose(f);
	*ret_size = (size_t)size;
	return bytes;
}

struct hsnap_target *files_target(void)
{
	struct hsnap_target *target = hsnap_image_create();
	need(target, "no memory");
	return target;
}

uint32_t files_add(struct hsnap_target *target, const char *path, uint64_t bias)
{
	struct hsnap_target_module module = { .bias = bias, .start = UINT64_MAX };
	struct hsnap_elf elf;
	struct hsnap_error err;
	size_t size;
	void *bytes = file_bytes(path, &size);
	if (hsnap_elf_init(&elf, bytes, size, &err)) /* a damaged one: it is mapped somewhere all the same */
		module.start = bias;
	for (size_t i = 0; i < elf.num_segments; i++) {
		uint64_t start = elf.segments[i].address + bias, end = start + elf.segments[i].memory_size;
		module.start = start < module.start ? start : module.start;
		module.end = end > module.end ? end : module.end;
	}
	module.tls_size = elf.tls_size;
	module.build_id_size = elf.build_id_size;
	memcpy(module.build_id, elf.build_id, sizeof(module.build_id));
	hsnap_elf_deinit(&elf);
	free(bytes);
	module.path = hsnap_strings_add(&target->strings, path);
	if (!target->modules.num) /* [0] is empty */
		need(hsnap_vec_push(&target->modules, (struct hsnap_target_module){ 0 }), "no memory");
	need(hsnap_vec_push(&target->modules, module), "no memory");
	return (uint32_t)target->modules.num - 1;
}

const char *name_of(const struct hsnap_symbols *symbols, hsnap_dtype_id id)
{
	return hsnap_str(&symbols->strings, hsnap_dtype(symbols, id)->name);
}

hsnap_dtype_id type_named(const struct hsnap_symbols *symbols, const char *name, unsigned kind)
{
	hsnap_dtype_id found = 0;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++) {
		if (hsnap_dtype(symbols, id)->kind != kind || strcmp(name_of(symbols, id), name))
			continue;
		if (found)
			return 0;
		found = id;
	}
	return found;
}

const struct hsnap_dmember *member_named(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name)
{
	const struct hsnap_dtype *t = hsnap_dtype(symbols, type);
	for (uint32_t i = 0; i < t->num_members; i++)
		if (!strcmp(hsnap_str(&symbols->strings, symbols->members.items[t->first_member + i].name), name))
			return &symbols->members.items[t->first_member + i];
	return NULL;
}

const struct hsnap_dvariable *variable_named(const struct hsnap_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->variables.num; i++)
		if (!strcmp(hsnap_str(&symbols->strings, symbols->variables.items[i].name), name))
			return &symbols->variables.items[i];
	return NULL;
}

static void write_type(const struct hsnap_symbols *symbols, hsnap_dtype_id id, unsigned depth, FILE *to)
{
	const struct hsnap_dtype *t = hsnap_dtype(symbols, id);
	switch (depth < 8 ? t->kind : HSNAP_NUM_DTYPE_KINDS) {
	case HSNAP_DTYPE_VOID:
		fputs("void", to);
		break;
	case HSNAP_DTYPE_POINTER:
		write_type(symbols, t->target, depth + 1, to);
		fputs(t->flags & HSNAP_DTYPE_REFERENCE ? " &" : " *", to);
		break;
	case HSNAP_DTYPE_ARRAY:
		write_type(symbols, t->target, depth + 1, to);
		fprintf(to, " [%lu]", (unsigned long)t->count);
		break;
	case HSNAP_DTYPE_FUNCTION:
		fputs("function", to);
		break;
	case HSNAP_DTYPE_INCOMPLETE:
		fprintf(to, "incomplete %s", name_of(symbols, id));
		break;
	default:
		fprintf(to, "%s", t->name ? name_of(symbols, id) : "{…}");
		break;
	}
}

const char *written(const struct hsnap_symbols *symbols, hsnap_dtype_id id)
{
	static char text[1024];
	FILE *to = fmemopen(text, sizeof(text), "w");
	need(to, "no memory");
	write_type(symbols, id, 0, to);
	fclose(to);
	return text;
}
