/* SPDX-License-Identifier: MIT */
/* contents.c - what stands in the storage of a container that holds its element itself. */
#include <string.h>

#include "capture/naming/shape.h"
#include "snapshot/base/search.h"

#define VPTR_AT 16u        /* Itanium C++ ABI 2.5.2: where objects without virtual bases point to in their vtable */
#define LOCAL_FUNCTION 16u /* libstdc++: bytes of a functor that need no block */

static uint64_t number_at(const struct hsnap_work *work, uint64_t at, uint64_t size, bool *ret_there)
{
	uint64_t number = 0;
	*ret_there = size && size <= sizeof(number) && work->target->ops->read(work->target->self, at, &number, size) == size;
	return number;
}

/* Is there room in the storage for an object of the type? */
static bool fits(const struct hsnap_symbols *symbols, const struct hsnap_container *container, hsnap_dtype_id type)
{
	return type && hsnap_dtype(symbols, type)->size <= hsnap_dtype(symbols, container->types[0])->size;
}

static enum hsnap_content optional_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					   hsnap_dtype_id *ret_type)
{
	bool there;
	uint64_t engaged = number_at(work, at + container->offsets[1], 1, &there);
	*ret_type = container->element;
	if (!there || engaged > 1 || !fits(work->symbols, container, *ret_type))
		return HSNAP_CONTENT_UNKNOWN;
	return engaged ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_NOTHING;
}

static enum hsnap_content variant_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	uint64_t size = hsnap_dtype(work->symbols, container->types[1])->size;
	uint32_t arms = hsnap_dtype(work->symbols, container->type)->num_arguments;
	bool there;
	uint64_t arm = number_at(work, at + container->offsets[1], size, &there);
	if (!there)
		return HSNAP_CONTENT_UNKNOWN;
	if (arm == UINT64_MAX >> (64 - 8 * size)) /* an exception was thrown while it was assigned to */
		return HSNAP_CONTENT_NOTHING;
	*ret_type = arm < arms ? hsnap_type_argument(work->symbols, container->type, (unsigned)arm) : 0;
	return fits(work->symbols, container, *ret_type) ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_UNKNOWN;
}

/* Classes of libstdc++ that copying needs code for; the others that are as small are plain. */
static bool is_plain_class(const char *name)
{
	static const char *const plain[] = { "std::pair<", "std::tuple<", "std::_Tuple_impl<", "std::_Head_base<", "std::array<",
		"std::basic_string_view<", "std::reference_wrapper<", "std::_Bind<", "std::chrono::" };
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!strncmp(name, plain[i], strlen(plain[i])))
			return true;
	return strncmp(name, "std::", 5) != 0;
}

enum copying { BY_BYTES, MAY_NEED_CODE, NEEDS_CODE };

/* How is an object of the type copied?  Of a class of one's own debug info does not tell. */
static enum copying copying_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned depth)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	const char *name = hsnap_str(&symbols->strings, dtype->name);
	if (dtype->kind != HSNAP_DTYPE_STRUCT)
		return dtype->kind == HSNAP_DTYPE_UNION || dtype->kind == HSNAP_DTYPE_ARRAY ? MAY_NEED_CODE : BY_BYTES;
	if (!is_plain_class(name))
		return NEEDS_CODE;
	enum copying worst = !strncmp(name, "std::", 5) || strstr(name, "(lambda at ") ? BY_BYTES : MAY_NEED_CODE;
	for (uint32_t m = 0; m < dtype->num_members && depth < 4; m++) {
		enum copying of_member = copying_of(symbols, symbols->members.items[dtype->first_member + m].type, depth + 1);
		worst = of_member > worst ? of_member : worst;
	}
	return worst;
}

/* A functor stands in the function object where it is small and copied by bytes, else in a block. */
static enum hsnap_content functor_content(const struct hsnap_work *work, hsnap_dtype_id type, uint64_t word)
{
	uint64_t size = hsnap_dtype(work->symbols, type)->size;
	enum copying copying = copying_of(work->symbols, type, 0);
	if (!type || !size)
		return HSNAP_CONTENT_UNKNOWN;
	if (size > LOCAL_FUNCTION || copying == NEEDS_CODE)
		return HSNAP_CONTENT_POINTER;
	if (copying == BY_BYTES)
		return HSNAP_CONTENT_OBJECT;
	uint32_t hint = 0, b = hsnap_block_index_find(&work->index, word, &hint);
	return b == HSNAP_NO_BLOCK || hsnap_block_size(&work->heap->blocks.items[b]) < size ? HSNAP_CONTENT_OBJECT
											     : HSNAP_CONTENT_UNKNOWN;
}

/* The class whose function it is, by the debug info: what it manages is a type argument. */
static const struct hsnap_dmanager *find_manager(const struct hsnap_symbols *symbols, uint64_t address)
{
	size_t low = hsnap_first(symbols->managers.num, i, symbols->managers.items[i].address >= address);
	return low < symbols->managers.num && symbols->managers.items[low].address == address ? &symbols->managers.items[low] : NULL;
}

static enum hsnap_content managed_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	static const struct {
		const char *prefix;
		uint8_t argument, content; /* UNKNOWN: it depends */
	} managers[] = {
		{ "std::_Function_handler<", 1, HSNAP_CONTENT_UNKNOWN },
		{ "std::_Function_base::_Base_manager<", 0, HSNAP_CONTENT_UNKNOWN },
		{ "std::any::_Manager_internal<", 0, HSNAP_CONTENT_OBJECT },
		{ "std::any::_Manager_external<", 0, HSNAP_CONTENT_POINTER },
		{ "std::__1::__any_imp::_SmallHandler<", 0, HSNAP_CONTENT_OBJECT },
		{ "std::__1::__any_imp::_LargeHandler<", 0, HSNAP_CONTENT_POINTER },
	};
	bool there;
	uint64_t address = number_at(work, at + container->offsets[1], 8, &there);
	if (!there)
		return HSNAP_CONTENT_UNKNOWN;
	if (!address)
		return HSNAP_CONTENT_NOTHING;
	const struct hsnap_dmanager *manager = find_manager(work->symbols, address);
	const char *name = manager ? hsnap_str(&work->symbols->strings, hsnap_dtype(work->symbols, manager->type)->name) : "";
	for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++) {
		if (strncmp(name, managers[i].prefix, strlen(managers[i].prefix)))
			continue;
		*ret_type = hsnap_type_argument(work->symbols, manager->type, managers[i].argument);
		if (!managers[i].content)
			return functor_content(work, *ret_type, number_at(work, at + container->offsets[0], 8, &there));
		if (managers[i].content == HSNAP_CONTENT_OBJECT && !fits(work->symbols, container, *ret_type))
			return HSNAP_CONTENT_UNKNOWN;
		return *ret_type ? managers[i].content : HSNAP_CONTENT_UNKNOWN;
	}
	return HSNAP_CONTENT_UNKNOWN;
}

/* The class whose vtable a complete object there points to, if its symbol is one class's alone; else 0. */
static hsnap_dtype_id class_by_symbol(const struct hsnap_symbols *symbols, uint64_t vptr)
{
	const struct hsnap_dvtable *vtables = symbols->vtables.items;
	size_t low = hsnap_first(symbols->vtables.num, i, vtables[i].address >= vptr - VPTR_AT);
	bool there = low < symbols->vtables.num && vtables[low].address == vptr - VPTR_AT;
	bool shared = there && low + 1 < symbols->vtables.num && vtables[low + 1].address == vtables[low].address;
	return there && !shared ? vtables[low].type : 0;
}

/* What a pointer beside it leads to is in the storage, or there is nothing. */
static enum hsnap_content inside_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					 hsnap_dtype_id *ret_type)
{
	bool there, readable;
	uint64_t object = number_at(work, at + container->offsets[1], 8, &there);
	uint64_t vptr = number_at(work, at + container->offsets[0], 8, &readable);
	if (!there || !readable)
		return HSNAP_CONTENT_UNKNOWN;
	if (object != at + container->offsets[0])
		return HSNAP_CONTENT_NOTHING;
	*ret_type = class_by_symbol(work->symbols, vptr);
	return fits(work->symbols, container, *ret_type) ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_UNKNOWN;
}

static enum hsnap_content string_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					 hsnap_dtype_id *ret_type)
{
	bool there;
	uint64_t capacity = number_at(work, at + container->offsets[2], 8, &there);
	*ret_type = container->element;
	return there && is_long(container, capacity, &capacity) ? HSNAP_CONTENT_POINTER : HSNAP_CONTENT_NOTHING;
}

/* The object dies with its last owner, its storage lives on. */
static enum hsnap_content inplace_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					  hsnap_dtype_id *ret_type)
{
	bool there, fewer = container->library->shape == HSNAP_SHAPE_INPLACE_FEWER;
	/* clang leaves libc++'s base to the library's own debug info: the binary interface tells where they are. */
	uint64_t owners = number_at(work, at + (fewer ? 8 : container->offsets[1]), fewer ? 8 : 4, &there);
	*ret_type = container->element;
	if (!there || !fits(work->symbols, container, *ret_type))
		return HSNAP_CONTENT_UNKNOWN;
	bool alive = fewer ? (int64_t)owners >= 0 : (int32_t)owners > 0;
	return alive ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_NOTHING;
}

/* A node's value; a header has room for one, too, and what stands there is what the memory held before. */
static enum hsnap_content value_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
					hsnap_dtype_id *ret_type)
{
	*ret_type = container->element;
	if (hsnap_is_head(work, at))
		return HSNAP_CONTENT_NOTHING;
	return hsnap_is_linked(work, at) && fits(work->symbols, container, *ret_type) ? HSNAP_CONTENT_OBJECT : HSNAP_CONTENT_UNKNOWN;
}

enum hsnap_content hsnap_shape_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
				       hsnap_dtype_id *ret_type)
{
	*ret_type = 0;
	switch (container->library->shape) {
	case HSNAP_SHAPE_OPTIONAL:
		return optional_content(work, container, at, ret_type);
	case HSNAP_SHAPE_VARIANT:
		return variant_content(work, container, at, ret_type);
	case HSNAP_SHAPE_MANAGED:
		return managed_content(work, container, at, ret_type);
	case HSNAP_SHAPE_INSIDE:
		return inside_content(work, container, at, ret_type);
	case HSNAP_SHAPE_INPLACE:
	case HSNAP_SHAPE_INPLACE_FEWER:
		return inplace_content(work, container, at, ret_type);
	case HSNAP_SHAPE_VALUE:
		return value_content(work, container, at, ret_type);
	case HSNAP_SHAPE_STRING_FLAG:
		return string_content(work, container, at, ret_type);
	default:
		return HSNAP_CONTENT_UNKNOWN;
	}
}

bool hsnap_shape_storage(const struct hsnap_symbols *symbols, const struct hsnap_container *container,
			 uint64_t *ret_offset, uint64_t *ret_size)
{
	switch (container->library->shape) {
	case HSNAP_SHAPE_OPTIONAL:
	case HSNAP_SHAPE_VARIANT:
	case HSNAP_SHAPE_MANAGED:
	case HSNAP_SHAPE_INSIDE:
	case HSNAP_SHAPE_INPLACE:
	case HSNAP_SHAPE_INPLACE_FEWER:
	case HSNAP_SHAPE_VALUE:
		*ret_offset = container->offsets[0];
		*ret_size = hsnap_dtype(symbols, container->types[0])->size;
		return true;
	case HSNAP_SHAPE_STRING_FLAG: /* a short one has all of it */
		*ret_offset = 0;
		*ret_size = hsnap_dtype(symbols, container->type)->size;
		return true;
	default:
		return false;
	}
}
