/* SPDX-License-Identifier: MIT */
/* lists.c - range and location lists: DWARF 5, 2.6.2, 2.17.3, 7.25, 7.29; GNU's DebugFission for DWARF 4. */
#include "capture/symbols/lists.h"

#include <libdwarf/dwarf.h>

#include "snapshot/base/bytes.h"

#define MAX_ENTRIES 65536

/* The list's bytes up to the end of the section. */
static struct hsnap_bytes list_at(const uint8_t *section, uint64_t size, uint64_t base, bool wide, uint64_t where,
				  bool indexed)
{
	struct hsnap_bytes none = { .bad = true };
	if (!section)
		return none;
	if (indexed) {
		/* How many there are stands in the four bytes before. */
		if (base < HSNAP_LISTS_HEADER || base > size)
			return none;
		struct hsnap_bytes table = hsnap_bytes(section + base - 4, size - base + 4);
		uint32_t num = hsnap_bytes_u32(&table);
		if (where >= num || !hsnap_bytes_get(&table, where * (wide ? 8 : 4)))
			return none;
		uint64_t offset = wide ? hsnap_bytes_u64(&table) : hsnap_bytes_u32(&table);
		if (table.bad || offset > size - base)
			return none;
		where = base + offset;
	}
	return where < size ? hsnap_bytes(section + where, size - where) : none;
}

static uint64_t address_at(const struct hsnap_lists *lists, uint64_t index, struct hsnap_bytes *b)
{
	uint64_t address = 0;
	if (!lists->addresses || index >= lists->addresses_size / 8)
		b->bad = true;
	else
		memcpy(&address, lists->addresses + index * 8, sizeof(address));
	return address;
}

/* One entry of either kind of list: they differ in their codes alone. */
enum entry_kind { ENTRY_END, ENTRY_BASE, ENTRY_RANGE, ENTRY_DEFAULT };

/* DW_RLE_… of a code of a location list. */
static const uint8_t range_codes[] = {
	[DW_LLE_end_of_list] = DW_RLE_end_of_list, [DW_LLE_base_addressx] = DW_RLE_base_addressx,
	[DW_LLE_startx_endx] = DW_RLE_startx_endx, [DW_LLE_startx_length] = DW_RLE_startx_length,
	[DW_LLE_offset_pair] = DW_RLE_offset_pair, [DW_LLE_default_location] = UINT8_MAX,
	[DW_LLE_base_address] = DW_RLE_base_address, [DW_LLE_start_end] = DW_RLE_start_end,
	[DW_LLE_start_length] = DW_RLE_start_length,
};

static enum entry_kind read_entry(const struct hsnap_lists *lists, struct hsnap_bytes *b, unsigned code, uint64_t *base,
				  uint64_t *ret_low, uint64_t *ret_high)
{
	switch (code) {
	case DW_RLE_end_of_list:
		return ENTRY_END;
	case DW_RLE_base_addressx:
		*base = address_at(lists, hsnap_bytes_varint(b), b);
		return ENTRY_BASE;
	case DW_RLE_base_address:
		*base = hsnap_bytes_u64(b);
		return ENTRY_BASE;
	case DW_RLE_startx_endx:
		*ret_low = address_at(lists, hsnap_bytes_varint(b), b);
		*ret_high = address_at(lists, hsnap_bytes_varint(b), b);
		return ENTRY_RANGE;
	case DW_RLE_startx_length:
		*ret_low = address_at(lists, hsnap_bytes_varint(b), b);
		*ret_high = *ret_low + hsnap_bytes_varint(b);
		return ENTRY_RANGE;
	case DW_RLE_offset_pair:
		*ret_low = *base + hsnap_bytes_varint(b);
		*ret_high = *base + hsnap_bytes_varint(b);
		return ENTRY_RANGE;
	case DW_RLE_start_end:
		*ret_low = hsnap_bytes_u64(b);
		*ret_high = hsnap_bytes_u64(b);
		return ENTRY_RANGE;
	case DW_RLE_start_length:
		*ret_low = hsnap_bytes_u64(b);
		*ret_high = *ret_low + hsnap_bytes_varint(b);
		return ENTRY_RANGE;
	case UINT8_MAX:
		*ret_low = 0;
		*ret_high = UINT64_MAX;
		return ENTRY_DEFAULT;
	default:
		b->bad = true;
		return ENTRY_END;
	}
}

void hsnap_lists_ranges(const struct hsnap_lists *lists, uint64_t where, bool indexed,
			bool (*see)(void *context, uint64_t low, uint64_t high), void *context)
{
	struct hsnap_bytes b = list_at(lists->ranges, lists->ranges_size, lists->ranges_base, lists->wide, where, indexed);
	uint64_t base = lists->low_pc, low = 0, high = 0;
	for (unsigned i = 0; i < MAX_ENTRIES; i++) {
		enum entry_kind kind = read_entry(lists, &b, hsnap_bytes_u8(&b), &base, &low, &high);
		if (b.bad || kind == ENTRY_END || kind == ENTRY_DEFAULT)
			return;
		if (kind == ENTRY_RANGE && low < high && !see(context, low, high))
			return;
	}
}

typedef void see_entry(void *context, uint64_t low, uint64_t high, const uint8_t *bytes, size_t size);

/* GNU's form of DWARF 4: codes 0 to 4, lengths of four bytes, expressions behind two. */
static bool old_entry(const struct hsnap_lists *lists, struct hsnap_bytes *b, uint64_t *base, see_entry *see, void *context)
{
	uint64_t low = 0, high = 0;
	switch (hsnap_bytes_u8(b)) {
	case DW_LLEX_base_address_selection_entry:
		*base = address_at(lists, hsnap_bytes_varint(b), b);
		return !b->bad;
	case DW_LLEX_start_end_entry:
		low = address_at(lists, hsnap_bytes_varint(b), b);
		high = address_at(lists, hsnap_bytes_varint(b), b);
		break;
	case DW_LLEX_start_length_entry:
		low = address_at(lists, hsnap_bytes_varint(b), b);
		high = low + hsnap_bytes_u32(b);
		break;
	case DW_LLEX_offset_pair_entry:
		low = *base + hsnap_bytes_u32(b);
		high = *base + hsnap_bytes_u32(b);
		break;
	default:
		return false;
	}
	uint16_t size = hsnap_bytes_u16(b);
	const uint8_t *bytes = hsnap_bytes_get(b, size);
	if (bytes && low < high)
		see(context, low, high, bytes, size);
	return bytes != NULL;
}

void hsnap_lists_locations(const struct hsnap_lists *lists, unsigned version, uint64_t where, bool indexed,
			   void (*see)(void *context, uint64_t low, uint64_t high, const uint8_t *bytes, size_t size),
			   void *context)
{
	struct hsnap_bytes b = list_at(lists->locations, lists->locations_size, lists->locations_base, lists->wide, where,
				       indexed);
	uint64_t base = lists->low_pc, low = 0, high = 0;
	for (unsigned i = 0; i < MAX_ENTRIES && !b.bad; i++) {
		if (version < 5) {
			if (!old_entry(lists, &b, &base, see, context))
				return;
			continue;
		}
		unsigned code = hsnap_bytes_u8(&b);
		if (code >= sizeof(range_codes))
			return;
		enum entry_kind kind = read_entry(lists, &b, range_codes[code], &base, &low, &high);
		if (kind == ENTRY_END || b.bad)
			return;
		if (kind == ENTRY_BASE)
			continue;
		uint64_t size = hsnap_bytes_varint(&b);
		const uint8_t *bytes = hsnap_bytes_get(&b, size);
		/* A default holds only where no other entry does: which that is, is not looked for. */
		if (bytes && kind == ENTRY_RANGE && low < high)
			see(context, low, high, bytes, size);
	}
}
