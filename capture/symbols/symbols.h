/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - what debug info says of the modules of one process.
 *
 * libdwarf is used behind this header and nowhere else, in a child process of
 * its own without capabilities, under seccomp and limits: the files it reads
 * are the target's choice.  What the child answers is checked here before
 * anyone sees it; if it dies, what it had finished (module by module) stays.
 *
 * Addresses are absolute in the target.  Indices are checked: a user of a
 * finished struct hsnap_symbols need not check them again.  Type chains can be
 * cyclic (struct → pointer → struct) but never through ARRAY and member
 * containment, which is checked too.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_SYMBOLS_H
#define HSNAP_CAPTURE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target/target.h"
#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

typedef uint32_t hsnap_dtype_id; /* index into symbols.types; 0 = void / unknown */

enum hsnap_dtype_kind {
	HSNAP_DTYPE_VOID,
	HSNAP_DTYPE_SCALAR,     /* integers, floats, bool, enums, pointers to member */
	HSNAP_DTYPE_BYTE,       /* char, signed/unsigned char, std::byte, char8_t */
	HSNAP_DTYPE_POINTER,    /* and references */
	HSNAP_DTYPE_STRUCT,     /* struct, class */
	HSNAP_DTYPE_UNION,
	HSNAP_DTYPE_ARRAY,
	HSNAP_DTYPE_FUNCTION,
	HSNAP_DTYPE_INCOMPLETE, /* only ever declared, here or in any unit that it could be matched with */
	HSNAP_NUM_DTYPE_KINDS,
};

#define HSNAP_DTYPE_POLYMORPHIC 1u /* has a vtable pointer at offset 0 (own or of its first base) */
#define HSNAP_DTYPE_REFERENCE 2u   /* POINTER written as a reference */
#define HSNAP_DTYPE_FLEXIBLE 4u    /* STRUCT whose last member is an array without a bound (or [0], [1] by old custom) */
#define HSNAP_DTYPE_WRAPPED 8u     /* same as a typedef of an anonymous struct: name is the typedef's */

/*
 * Typedefs, const, volatile, restrict and atomic are stripped: a type is what is behind them.
 * Identity is module + unit + DIE; copies of one definition in several units (same name, same
 * declaring file and line, same size, same members) are one entry.
 */
struct hsnap_dtype {
	hsnap_string name;      /* qualified, as the compiler writes it: "std::vector<int, std::allocator<int> >";
	                           "" for an anonymous type without a typedef, for pointers and arrays */
	hsnap_string unit;      /* path of the declaring file */
	uint32_t line;
	uint32_t module;        /* index into target->modules */
	uint64_t die;           /* offset of the DIE in .debug_info (of the first copy seen) */
	uint64_t size;          /* sizeof; an array without a bound: 0 */
	uint64_t count;         /* ARRAY: number of elements; 0 without a bound */
	hsnap_dtype_id target;  /* POINTER: pointed to; ARRAY: element; else 0 */
	uint32_t first_member, num_members; /* STRUCT, UNION: in order of offset */
	uint32_t first_argument, num_arguments; /* template type arguments */
	uint8_t kind, flags;
};

#define HSNAP_DMEMBER_BASE 1u     /* a base class */
#define HSNAP_DMEMBER_VIRTUAL 2u  /* a virtual base: offset unknown, 0 */
#define HSNAP_DMEMBER_BITFIELD 4u
#define HSNAP_DMEMBER_VPTR 8u     /* the compiler's vtable pointer */
/* Of a BITFIELD: how many bits, and the first of them, counted from the lowest of the byte at its offset; 0 bits: not known. */
#define HSNAP_DMEMBER_BITS(flags) ((flags) >> 16 & 0xff)
#define HSNAP_DMEMBER_FIRST_BIT(flags) ((flags) >> 8 & 0xff)
#define HSNAP_DMEMBER_ALL 0xffff0fu

struct hsnap_dmember {
	hsnap_string name; /* "" for anonymous ones and bases */
	uint64_t offset;   /* bytes */
	hsnap_dtype_id type;
	uint32_t flags;
};

/* Where so much of a variable lies that an optimiser took apart. */
struct hsnap_dpiece {
	uint64_t offset, size; /* bytes of the variable's type: hostile ones go beyond it */
	uint64_t address;      /* as the variable's */
};

/* A variable with a fixed place: global, static, function-local static, or thread-local. */
struct hsnap_dvariable {
	hsnap_string name;     /* qualified */
	hsnap_string function; /* of a function-local static, else "" */
	hsnap_string source;   /* "cache.c:31" */
	uint32_t module;
	uint64_t address;      /* absolute; thread-local: offset in the module's TLS block; in pieces: of the first */
	hsnap_dtype_id type;
	uint32_t first_piece, num_pieces; /* num 0: it lies there whole */
	bool thread_local_;
	bool external;
};

/* Names of one PC, inlined functions expanded, innermost first. */
struct hsnap_dframe {
	hsnap_string function; /* qualified; from the symbol table where there is no debug info */
	hsnap_string source;   /* "receipt.c:22", or "" */
	uint32_t line;
	uint32_t module;
	hsnap_dtype_id allocates; /* T where this is std::__new_allocator<T>::allocate or the like, else 0 */
};

enum hsnap_place {
	HSNAP_PLACE_REGISTER, /* in register `number` */
	HSNAP_PLACE_CFA,      /* in memory at the frame's CFA + offset */
	HSNAP_PLACE_BASE,     /* in memory at register `number` + offset */
	HSNAP_NUM_PLACES,
};

/* A variable or parameter that has a place at a PC. */
struct hsnap_dlocal {
	hsnap_string name, function;
	hsnap_dtype_id type; /* of the variable itself */
	uint8_t place;       /* enum hsnap_place */
	uint8_t number;      /* DWARF register */
	int64_t offset;
};

/* A variable that is handed the result of the call before a return address. */
struct hsnap_dresult {
	hsnap_string name;      /* of the variable, or parameter of who is handed it next; "": a member, an element, a global */
	hsnap_dtype_id pointee; /* the variable is a pointer to this; 0: void * */
	bool declared_void;     /* void *, not an unknown type */
};

/* Answers for one PC that was asked for. */
struct hsnap_dpc {
	uint64_t pc;   /* as asked */
	uint32_t first_frame, num_frames;
	uint32_t first_local, num_locals;   /* only for PCs asked with HSNAP_ASK_LOCALS */
	uint32_t first_result, num_results; /* only for HSNAP_ASK_RESULT, best first */
	bool returns_result; /* the result of the call reaches this function's own return: a wrapper */
};

#define HSNAP_ASK_LOCALS 1u /* variables in scope and their places at this very PC */
#define HSNAP_ASK_RESULT 2u /* it is a return address: who gets the result */
/* Frames are looked up at pc - 1 for a return address, at pc with HSNAP_ASK_EXACT. */
#define HSNAP_ASK_EXACT 4u

struct hsnap_ask {
	uint64_t pc;
	unsigned what; /* HSNAP_ASK_… */
};

/* A vtable's symbol, for classes named without run-time type information. */
struct hsnap_dvtable {
	uint64_t address, size;
	hsnap_string class_name; /* demangled */
	hsnap_dtype_id type;     /* the class's definition, 0 where there is none or more than one */
};

/* A function that knows what a type-erased object holds: it is one of the class `type`, whose arguments tell. */
struct hsnap_dmanager {
	uint64_t address;
	hsnap_dtype_id type;
};

/*
 * A type that is only ever declared, and the one that the module's code turns pointers to it into
 * or makes them of: most often, where there are several.
 */
struct hsnap_dalias {
	hsnap_dtype_id opaque; /* INCOMPLETE */
	hsnap_dtype_id type;   /* STRUCT or UNION */
	uint32_t sites;        /* functions that do so */
	uint32_t against;      /* of other types that this one does not begin with */
};

/* A type that a member of no type (void *, char *, a pointer to a declaration) has been seen to lead to. */
struct hsnap_dlanding {
	hsnap_dtype_id holder; /* the innermost STRUCT or UNION; of an array member any element */
	uint64_t offset;       /* of the member in it; 0 in a union */
	hsnap_dtype_id type;   /* STRUCT, UNION, INCOMPLETE or BYTE */
	uint32_t sites;        /* functions where it was seen at once; 0: only by way of others */
};

/* What a word that was asked for means in one module: a type that has another name there, or an enumerator. */
struct hsnap_dword {
	hsnap_string name;
	uint32_t module;
	hsnap_dtype_id type; /* 0: it is a number */
	int64_t value;       /* of an enumerator */
};

/* Words to look for besides all else: names of typedefs and of plain types, enumerators. */
struct hsnap_wanted {
	const char *const *words;
	size_t num;
};

struct hsnap_dmodule {
	bool has_types;     /* debug info was found and read to its end */
	bool no_classes;    /* it has no vtable that could be told from other memory: neither symbols nor descriptors of any */
	hsnap_string note;  /* "no debug info", "debug file of another build", "reader died: …"; "" = fine */
};

struct hsnap_symbols {
	struct hsnap_strings strings;
	struct hsnap_vec(struct hsnap_dmodule) modules; /* parallel to target->modules */
	struct hsnap_vec(struct hsnap_dtype) types;     /* [0] is void */
	struct hsnap_vec(struct hsnap_dmember) members;
	struct hsnap_vec(hsnap_dtype_id) arguments;
	struct hsnap_vec(struct hsnap_dvariable) variables;
	struct hsnap_vec(struct hsnap_dpiece) pieces;   /* of each in order of offset; they do not overlap in it */
	struct hsnap_vec(struct hsnap_dvtable) vtables; /* in order of address */
	struct hsnap_vec(struct hsnap_dmanager) managers; /* in order of address */
	struct hsnap_vec(struct hsnap_dpc) pcs;         /* in order of pc */
	struct hsnap_vec(struct hsnap_dframe) frames;
	struct hsnap_vec(struct hsnap_dlocal) locals;
	struct hsnap_vec(struct hsnap_dresult) results;
	struct hsnap_vec(struct hsnap_dalias) aliases;     /* in order of opaque, each once */
	struct hsnap_vec(struct hsnap_dlanding) landings;  /* in order of module, holder, offset, type */
	struct hsnap_vec(struct hsnap_dword) words;        /* what was asked for, in order of module */
	struct hsnap_vec(hsnap_dtype_id) classes;       /* structs that have a name, in order of name */
};

/**
 * Read the debug info of all modules of the target and answer for the PCs asked.
 *
 * @param asks   sorted by pc, without duplicates
 * @param[out] ret  also on a child's death: with what was finished, and notes per module
 * @return HSNAP_OK, HSNAP_NO_MEMORY, HSNAP_IO (no child could be made)
 */
HSNAP_CHECKED enum hsnap_code hsnap_symbols_load(const struct hsnap_target *target,
						 const struct hsnap_ask *asks, size_t num_asks,
						 struct hsnap_symbols **ret, struct hsnap_error *err);
/* The same, and look for words as well; wanted may be NULL. */
HSNAP_CHECKED enum hsnap_code hsnap_symbols_load_words(const struct hsnap_target *target, const struct hsnap_ask *asks,
						       size_t num_asks, const struct hsnap_wanted *wanted,
						       struct hsnap_symbols **ret, struct hsnap_error *err);
void hsnap_symbols_destroy(struct hsnap_symbols *symbols);
void hsnap_symbols_destroyp(struct hsnap_symbols **symbols);

/* The answer for a PC that was asked, or NULL. */
const struct hsnap_dpc *hsnap_symbols_pc(const struct hsnap_symbols *symbols, uint64_t pc);

/* The definition of a class by its qualified name, preferring `module`; 0: none, or several that differ. */
hsnap_dtype_id hsnap_symbols_class(const struct hsnap_symbols *symbols, const char *name, uint32_t module);

/* Holder, offset, type: for qsort(). */
int hsnap_compare_landings(const void *a, const void *b);

static inline const struct hsnap_dtype *hsnap_dtype(const struct hsnap_symbols *symbols, hsnap_dtype_id id)
{
	return &symbols->types.items[id];
}

#endif
