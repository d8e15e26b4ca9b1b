/* SPDX-License-Identifier: MIT */
/* module.c - all that one module's files say, from bytes in memory. */
#include "capture/symbols/module.h"

#include <stdio.h>
#include <string.h>

#include "capture/symbols/pcs.h"
#include "capture/symbols/reader.h"
#include "snapshot/base/cleanup.h"

#define ZSTD "its debug info is compressed with zstd, which is not read (objcopy --decompress-debug-sections)"

/* The files of one module, open. */
struct files {
	struct hsnap_elf program, debug, alt;
	struct hsnap_dies program_dies, debug_dies, alt_dies;
};

static void files_close(struct files *files)
{
	/* Users before what they use. */
	hsnap_dies_deinit(&files->program_dies);
	hsnap_dies_deinit(&files->debug_dies);
	hsnap_dies_deinit(&files->alt_dies);
	hsnap_elf_deinit(&files->program);
	hsnap_elf_deinit(&files->debug);
	hsnap_elf_deinit(&files->alt);
}

static void reader_deinit(struct hsnap_reader *reader)
{
	hsnap_pcs_cfa_free(reader);
	hsnap_split_deinit(&reader->split);
	hsnap_result_free(reader);
	hsnap_vec_deinit(&reader->plt);
	hsnap_strings_deinit(&reader->strings);
	hsnap_vec_deinit(&reader->types);
	hsnap_vec_deinit(&reader->members);
	hsnap_vec_deinit(&reader->arguments);
	hsnap_vec_deinit(&reader->variables);
	hsnap_vec_deinit(&reader->pieces);
	hsnap_vec_deinit(&reader->functions);
	hsnap_vec_deinit(&reader->classes);
	hsnap_vec_deinit(&reader->nested);
	hsnap_vec_deinit(&reader->declarations);
	hsnap_vec_deinit(&reader->misplaced);
	hsnap_vec_deinit(&reader->owners);
	hsnap_vec_deinit(&reader->units);
	hsnap_vec_deinit(&reader->ranges);
	hsnap_vec_deinit(&reader->files);
	hsnap_vec_deinit(&reader->scratch);
	hsnap_table_free(reader);
	hsnap_scans_deinit(&reader->scans);
}

static bool has_info(struct hsnap_elf *elf)
{
	struct hsnap_elf_section *section = hsnap_elf_find(elf, ".debug_info");
	if (!section)
		section = hsnap_elf_find(elf, ".zdebug_info");
	return section && section->type != SHT_NOBITS;
}

/* Open what there is; the answer is the note. */
static const char *open_files(const struct hsnap_module_input *input, struct files *files,
			      struct hsnap_reader *reader)
{
	struct hsnap_error err;
	struct hsnap_dies *alt = NULL;
	if (hsnap_elf_init(&files->program, input->program, input->program_size, &err))
		return "its file is no ELF file that can be read";
	reader->program = &files->program;
	files->program.mapped = input->mapped;
	if (input->alt && !hsnap_elf_init(&files->alt, input->alt, input->alt_size, &err) &&
	    !hsnap_dies_init(&files->alt_dies, &files->alt, NULL, &err))
		alt = &files->alt_dies;

	bool own = has_info(&files->program);
	bool unreadable = hsnap_dies_unreadable(&files->program);
	enum hsnap_code code = hsnap_dies_init(&files->program_dies, &files->program, own ? alt : NULL, &err);
	if (!code)
		reader->frames = &files->program_dies;
	if (own && !code && !unreadable)
		reader->dies = &files->program_dies;
	if (reader->dies)
		return NULL;
	if (own)
		return unreadable ? ZSTD : "its debug info is damaged";
	if (!input->debug)
		return input->other_build ? "debug file of another build" : "no debug info";
	if (hsnap_elf_init(&files->debug, input->debug, input->debug_size, &err))
		return "its debug file is no ELF file that can be read";
	files->debug.mapped = input->mapped;
	if (!has_info(&files->debug))
		return "its debug file has no debug info";
	if (hsnap_dies_unreadable(&files->debug))
		return ZSTD;
	if (hsnap_dies_init(&files->debug_dies, &files->debug, alt, &err))
		return "its debug info is damaged";
	reader->dies = &files->debug_dies;
	return NULL;
}

static void begin(const struct hsnap_module_input *input, const char *part)
{
	if (input->begin)
		input->begin(input->context, part);
}

static enum hsnap_code read_debug_info(struct hsnap_reader *reader, const struct hsnap_module_input *input,
				       struct hsnap_error *err)
{
	begin(input, "index of types");
	enum hsnap_code code = hsnap_index_units(reader, input, err);
	if (code)
		return code;
	/* What knows the functions' names enters them first: what is in one is called after it once and for all. */
	hsnap_locals_walk(reader);
	hsnap_vtables_find(reader);
	hsnap_statics_walk(reader);
	code = hsnap_unify_units(reader, err);
	begin(input, "places asked for");
	if (!code)
		code = hsnap_pcs_answer(reader, input->asks, input->num_asks, err);
	if (!code && reader->program) /* results of functions without debug info may be kept in variables that have some */
		hsnap_symtab_name(reader, input->asks, input->num_asks);
	if (!code && reader->program)
		hsnap_symtab_doubt(reader, input->asks, input->num_asks);
	if (!code)
		hsnap_symtab_managers(reader);
	begin(input, "casts");
	if (!code)
		hsnap_casts_find(reader);
	begin(input, "copies made one");
	if (!code && input->wanted)
		hsnap_words_find(reader, input->wanted);
	return code ? code : hsnap_unify_all(reader, err);
}

/* The note on units whose other half is not there; false: there are none. */
static bool describe_missing(const struct hsnap_reader *reader, char *to, size_t room)
{
	const struct hsnap_split_skeleton *first;
	size_t missing = hsnap_split_missing(&reader->split, &first);
	if (!missing)
		return false;
	const char *path = hsnap_str(&reader->strings, first->path), *slash = strrchr(path, '/');
	snprintf(to, room, "split debug info of %zu of %zu units is missing or of another build (%.100s%s)", missing,
		 reader->split.skeletons.num, slash ? slash + 1 : path, missing > 1 ? ", …" : "");
	return true;
}

enum hsnap_code hsnap_module_read(const struct hsnap_module_input *input, struct hsnap_symbols *ret,
				  struct hsnap_error *err)
{
	hsnap_auto(files_close) struct files files = { 0 };
	hsnap_auto(reader_deinit) struct hsnap_reader reader = {
		.module = input->module, .bias = input->bias, .out = ret };
	const char *note = open_files(input, &files, &reader);
	enum hsnap_code code;
	if (reader.dies)
		code = read_debug_info(&reader, input, err);
	else /* the PCs with what the symbol table knows of them */
		code = hsnap_pcs_answer(&reader, input->asks, input->num_asks, err);
	if (code)
		return code;
	if (!ret->types.num && !hsnap_vec_push(&ret->types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	if (reader.program && !reader.dies)
		hsnap_symtab_name(&reader, input->asks, input->num_asks);
	if (reader.program)
		hsnap_symtab_vtables(&reader);
	char missing[256];
	if (reader.damaged)
		note = "its debug info is damaged: read up to the damage";
	else if (describe_missing(&reader, missing, sizeof(missing)))
		note = missing;
	struct hsnap_dmodule module = {
		.has_types = reader.dies && note != missing && !reader.damaged,
		.no_classes = reader.program && hsnap_symtab_no_classes(&reader),
		.note = hsnap_table_string(&reader, note),
	};
	if (!hsnap_vec_push(&ret->modules, module) || reader.no_memory)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	hsnap_strings_deinit(&ret->strings);
	ret->strings = reader.strings;
	reader.strings = (struct hsnap_strings){ 0 };
	return HSNAP_OK;
}
