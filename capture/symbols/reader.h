/* SPDX-License-Identifier: MIT */
/*
 * reader.h - one module's debug info on its way to a struct hsnap_symbols; private to this folder.
 *
 * All of this runs in the confined child.  A reader works through one module:
 *   index.c   walks the units (scan.h): types as written (types.c), variables (variables.c), functions, code ranges
 *   pcs.c     answers for the PCs that were asked
 *   scopes.c  tells what variables are there
 *   unify.c   finds the definitions of declarations, merges copies (refine.c), writes the types out (typeout.c)
 *   symtab.c  what only the symbol table knows
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_READER_H
#define HSNAP_CAPTURE_SYMBOLS_READER_H

#include "capture/symbols/dies.h"
#include "capture/symbols/scan.h"
#include "capture/symbols/split.h"
#include "capture/symbols/symbols.h"

/* A type as its entry has it: not merged, typedefs and the like still there. */
enum hsnap_raw_kind {
	HSNAP_RAW_ALIAS, /* typedef, const …: is what `ref` is */
	HSNAP_RAW_SCALAR,
	HSNAP_RAW_BYTE,
	HSNAP_RAW_POINTER,
	HSNAP_RAW_STRUCT,
	HSNAP_RAW_UNION,
	HSNAP_RAW_ARRAY,
	HSNAP_RAW_FUNCTION,
	HSNAP_RAW_DECLARATION, /* of a struct, class or union */
	HSNAP_RAW_VOID,
};

#define HSNAP_RAW_REFERENCE 1u
#define HSNAP_RAW_WRAPPED 2u
#define HSNAP_RAW_VTABLE 4u   /* the compiler says that it has one */
#define HSNAP_RAW_TYPEDEF 8u  /* ALIAS with a name to give */
#define HSNAP_RAW_UNBOUNDED 16u
#define HSNAP_RAW_OLD_FLEXIBLE 32u /* ARRAY of [0] or [1] */
#define HSNAP_RAW_IS_UNION 64u     /* DECLARATION of a union */
#define HSNAP_RAW_QUALIFIER 128u   /* ALIAS that is const or the like */
#define HSNAP_RAW_MISPLACED 256u   /* it stands in a class that a type unit has the name of: index.c */

struct hsnap_raw_type {
	hsnap_die_key key, ref;
	uint64_t size, count;
	hsnap_string name, file;
	uint32_t line;
	uint32_t first_member, num_members, first_argument, num_arguments;
	uint32_t aliased; /* DECLARATION: index of what it turned out to be, else 0 */
	uint8_t kind;
	uint16_t flags;
};

struct hsnap_raw_member {
	hsnap_die_key type;
	uint64_t offset;
	hsnap_string name;
	uint32_t flags; /* HSNAP_DMEMBER_… */
};

struct hsnap_raw_variable {
	hsnap_die_key type;
	hsnap_die_key completes; /* the entry that has what this one leaves out, until it was looked at; else 0 */
	uint64_t address;
	hsnap_string name, function, file;
	uint32_t line;
	uint32_t first_piece, num_pieces; /* into pieces; num 0: it lies at its address whole */
	bool thread_local_, external;
};

/* A function's entry, and the scope it stands in. */
struct hsnap_raw_function {
	hsnap_die_key key;
	hsnap_string scope;
	uint32_t owner : 31; /* index of the class that it is declared in, else 0 */
	uint32_t walked : 1;
};

/* A class whose functions are only declared in it: there are millions, and they are known by where they stand. */
struct hsnap_raw_class {
	hsnap_die_key key, end; /* its entry, and what comes behind it */
	uint32_t outer;         /* 1 + index of the one it stands in, else 0 */
	uint32_t owner;         /* index into types */
	hsnap_string scope;
};

/* A variable declared at one place and defined at another: a class's static, an extern. */
struct hsnap_raw_declaration {
	hsnap_die_key key, type;
	hsnap_string name, file;
	uint32_t line;
	bool external;
};

/* A type or a variable in a class whose name only its type unit has. */
struct hsnap_raw_misplaced {
	uint32_t index;    /* into types, or declarations */
	uint32_t owner;    /* into types */
	hsnap_string leaf; /* its own name */
	bool is_variable;
};

struct hsnap_raw_unit {
	hsnap_die_key key; /* of the unit's own entry */
	uint64_t end;      /* offset of the next unit of the section */
	bool is_type;
	uint8_t header;    /* bytes from where it begins to that entry */
	uint32_t skeleton; /* 1 + index into split.skeletons where this is the other half of that; else 0 */
};

struct hsnap_raw_range {
	uint64_t low, high;
	uint32_t unit;
};

/* The type of what entries are instances of. */
struct hsnap_origin {
	hsnap_die_key key, type;
};

/* A word of the global offset table that gets the address of a function of the module's own. */
struct hsnap_plt_slot {
	uint64_t address, function;
};

/* A vtable (its symbol) and the class that its functions show to have it. */
struct hsnap_raw_owner {
	uint64_t address; /* of the file */
	const char *name; /* in the file */
	uint32_t type; /* into types; of out->types once these are written */
};

struct hsnap_reader {
	uint32_t module;
	uint64_t bias;
	struct hsnap_elf *program; /* the mapped file */
	struct hsnap_dies *dies;   /* its debug info, or that of its debug file; NULL: none */
	struct hsnap_dies *frames; /* .eh_frame of the mapped file; NULL: none */
	struct hsnap_split split;  /* the other halves of its units */

	struct hsnap_strings strings;
	struct hsnap_vec(struct hsnap_raw_type) types; /* [0] is void */
	struct hsnap_vec(struct hsnap_raw_member) members;
	struct hsnap_vec(hsnap_die_key) arguments;
	struct hsnap_vec(struct hsnap_raw_variable) variables;
	struct hsnap_vec(struct hsnap_dpiece) pieces;  /* of variables */
	struct hsnap_vec(struct hsnap_raw_function) functions; /* in order of key */
	struct hsnap_vec(struct hsnap_raw_class) classes;      /* in order of key */
	/* Those declared within functions, in local classes; sorted when they are looked at. */
	struct hsnap_vec(struct hsnap_raw_function) nested;
	bool nested_sorted;
	unsigned walking; /* functions that are being walked: one can lead to another */
	struct hsnap_vec(struct hsnap_raw_declaration) declarations; /* in order of key */
	struct hsnap_vec(struct hsnap_raw_misplaced) misplaced;
	struct hsnap_vec(struct hsnap_raw_owner) owners; /* in order of address */
	struct hsnap_vec(struct hsnap_raw_unit) units;   /* in order of key */
	struct hsnap_vec(struct hsnap_raw_range) ranges; /* in order of low once indexed */
	struct hsnap_scans scans;
	uint32_t *table;   /* key → index into types: table.c */
	size_t table_size; /* a power of two, or 0 */

	/* The files of the unit that is being read. */
	hsnap_die_key files_unit;
	struct hsnap_vec(hsnap_string) files;
	unsigned files_base;

	struct hsnap_vec(char) scratch; /* for joining names */
	struct hsnap_joined *joined;    /* names that were joined lately: table.c */
	/* Call-frame information, once somebody asked: frames.c. */
	Dwarf_Cie *cies;
	Dwarf_Fde *fdes;
	Dwarf_Signed num_cies, num_fdes;
	bool cfi_tried;

	struct hsnap_origin origins[4096];  /* scopes.c's, by a hash of the key */
	const struct hsnap_unit_code *code; /* of the unit that is answered for: pcs.c */
	struct hsnap_vec(struct hsnap_plt_slot) plt; /* in order of address, once somebody asked: plt.c */
	bool plt_tried;
	struct hsnap_result_cache *results; /* of the function that was followed last: result.c */

	bool indexed;   /* all units have been walked */
	bool damaged;   /* the debug info ended early */
	bool no_memory; /* checked at the end of each step */

	struct hsnap_symbols *out;
};

/* --- plt.c --- */

struct hsnap_step;
/* Where a call or a jump leads: its target, but by way of the linkage table the module's own function; 0: not known. */
uint64_t hsnap_plt_target(struct hsnap_reader *reader, const struct hsnap_step *step);

/* --- table.c --- */

bool hsnap_table_no_memory(struct hsnap_reader *reader); /* false */
hsnap_string hsnap_table_string(struct hsnap_reader *reader, const char *text); /* NULL: "" */
/* "scope::name"; "" without a name. */
hsnap_string hsnap_table_join(struct hsnap_reader *reader, hsnap_string scope, const char *name);
/* The same of a name that stays where it is as long as the reader: as an entry's facts have it. */
hsnap_string hsnap_table_named(struct hsnap_reader *reader, hsnap_string scope, const char *name);
void hsnap_table_free(struct hsnap_reader *reader); /* what finds types by key */
/* Index of the type with the key; 0: none. */
uint32_t hsnap_table_find(const struct hsnap_reader *reader, hsnap_die_key key);
/* Index of the new type, or 0 where there is one already, or no memory. */
uint32_t hsnap_reader_table_add(struct hsnap_reader *reader, const struct hsnap_raw_type *type);
/* The unit that has the key: index into units, or UINT32_MAX. */
uint32_t hsnap_table_unit(const struct hsnap_reader *reader, hsnap_die_key key);
/* The unit that has the key as it is scanned, and the entry's offset; NULL: none, or it is broken.  Close it again. */
struct hsnap_scan *hsnap_table_scan(struct hsnap_reader *reader, hsnap_die_key key, uint64_t *ret_offset);
/* What the entry says; false: there is none. */
bool hsnap_table_facts(struct hsnap_reader *reader, hsnap_die_key key, struct hsnap_die_facts *ret);
/* The entry that has the line table of a unit (its index). */
hsnap_die_key hsnap_table_lines(const struct hsnap_reader *reader, uint32_t unit);
/* The path of file `number` of the unit that holds the key; "" where unknown. */
hsnap_string hsnap_table_file(struct hsnap_reader *reader, hsnap_die_key key, uint64_t number);
/* The function whose entries may include the key, or NULL.  Those that are declared in a class have none. */
struct hsnap_raw_function *hsnap_table_function(struct hsnap_reader *reader, hsnap_die_key key);
/*
 * What is known of the very function of that key, also of one in a class or within another function;
 * false: there is none.
 */
bool hsnap_table_own_function(struct hsnap_reader *reader, hsnap_die_key key, struct hsnap_raw_function *ret);
/* What the type is called, also where it stands for one that a type unit defines. */
hsnap_string hsnap_table_type_name(const struct hsnap_reader *reader, uint32_t index);
/* The class that a function is declared in, through specification and origin: index into types, or 0. */
uint32_t hsnap_table_owner(struct hsnap_reader *reader, hsnap_die_key key);
/* A function's qualified name, through specification and origin; "" where it has none. */
hsnap_string hsnap_table_function_name(struct hsnap_reader *reader, hsnap_die_key key);
/* The entry's linkage name, its own or that of what it is an instance of, borrowed from the file; NULL: none. */
const char *hsnap_table_linkage_name(struct hsnap_reader *reader, hsnap_die_key key);

/*
 * Index of the type at the key, read now if it was not yet; HSNAP_UNKNOWN_TYPE where there is none.
 * Of _type aliases are followed, and declarations that are resolved.
 */
#define HSNAP_UNKNOWN_TYPE UINT32_MAX
uint32_t hsnap_table_entry(struct hsnap_reader *reader, hsnap_die_key key);
uint32_t hsnap_table_type(struct hsnap_reader *reader, hsnap_die_key key);
/* sizeof of a type by its index; 0 where it is not known. */
uint64_t hsnap_table_size(struct hsnap_reader *reader, uint32_t index);

/*
 * The word at an offset of a type.  Of a union nothing is known but itself: which arm it is the
 * code does not say.
 */
struct hsnap_table_word {
	uint32_t type;    /* 0: not known */
	uint32_t holder;  /* the innermost struct or union that has it as a member; 0: none */
	uint64_t offset;  /* of that member in the holder; of an array's elements, that of the array */
	bool in_array, array_start; /* it is an element of an array; the first */
};
struct hsnap_table_word hsnap_table_word(struct hsnap_reader *reader, uint32_t index, int64_t offset);

/* --- index.c --- */

/* Types, variables, functions and ranges of all units. */
HSNAP_CHECKED enum hsnap_code hsnap_index_units(struct hsnap_reader *reader, const struct hsnap_module_input *input,
						  struct hsnap_error *err);
/* Types and statics declared within a function, once; names of types begin with the scope. */
void hsnap_index_walk_function(struct hsnap_reader *reader, struct hsnap_raw_function *function, hsnap_string scope);
/* --- statics.c --- */

/* Walk the functions that have a variable with a fixed place among their entries. */
void hsnap_statics_walk(struct hsnap_reader *reader);

/* Walk the functions that a vtable's symbol says to have a class of their own. */
void hsnap_locals_walk(struct hsnap_reader *reader);

/* --- vtables.c --- */

/* owners, of the vtables whose names do not tell. */
void hsnap_vtables_find(struct hsnap_reader *reader);

/* --- unify.c --- */

/* Names of anonymous structs by their typedefs; declarations by the definition in their own unit. */
HSNAP_CHECKED enum hsnap_code hsnap_unify_units(struct hsnap_reader *reader, struct hsnap_error *err);
/*
 * Declarations over all units, copies merged, types written to reader->out.  What out->frames,
 * locals, results, aliases and landings name by index into reader->types names out->types then.
 */
HSNAP_CHECKED enum hsnap_code hsnap_unify_all(struct hsnap_reader *reader, struct hsnap_error *err);

/* --- pcs.c --- */

/* Answer for the PCs of this module (absolute, in order): fills out->pcs, frames, locals, results. */
HSNAP_CHECKED enum hsnap_code hsnap_pcs_answer(struct hsnap_reader *reader, const struct hsnap_ask *asks,
					       size_t num_asks, struct hsnap_error *err);

/* --- casts.c --- */

/* out->aliases and out->landings, in terms of reader->types: what the code of the module does with pointers. */
void hsnap_casts_find(struct hsnap_reader *reader);

/* --- words.c --- */

/* out->words, in terms of reader->types: each entry of that name, and each enumerator. */
void hsnap_words_find(struct hsnap_reader *reader, const struct hsnap_wanted *wanted);

/* --- symtab.c --- */

/* Names from the symbol table for the PCs (parallel to out->pcs) that have none yet. */
void hsnap_symtab_name(struct hsnap_reader *reader, const struct hsnap_ask *asks, size_t num_asks);
/* out->managers, with the classes by their index into reader->types: before hsnap_unify_all(). */
void hsnap_symtab_managers(struct hsnap_reader *reader);
/* What is said of variables in code that the linker has for several functions is of one of them: drop it. */
void hsnap_symtab_doubt(struct hsnap_reader *reader, const struct hsnap_ask *asks, size_t num_asks);
/* Are the mangled names one function's?  Of constructors and destructors several are: "D1Ev", "D2Ev". */
bool hsnap_symtab_same_function(const char *a, const char *b);
/* malloc'ed, or NULL: it is no mangled name. */
char *hsnap_symtab_demangle(const char *name);
/* Has the mapped file no vtable that anybody could know for one? */
bool hsnap_symtab_no_classes(struct hsnap_reader *reader);
/* out->vtables, with the classes of out->types. */
void hsnap_symtab_vtables(struct hsnap_reader *reader);

#endif
