/* SPDX-License-Identifier: MIT */
/*
 * pagemap.c - allocators that keep a map of all their pages: jemalloc 5 and gperftools' tcmalloc.
 *
 * Both have a root in their .bss, indexed by the high bits of an address, of pointers to leaves,
 * indexed by the next bits, whose entries lead to a descriptor of the run of pages.  No symbol is
 * needed: a word of module data that, taken as such a pointer for an address in question, leads to
 * a descriptor that holds this very address, is in the root.
 *
 * What the allocator keeps for itself is its memory, too: what it remembers of blocks holds none of them.
 */
#include "capture/alloc/foreign/claims.h"
#include "snapshot/base/cleanup.h"

#define ADDRESS_BITS 48
#define MAX_PROBES 64u       /* addresses with which the root is looked for */
#define MAX_DATA ((uint64_t)16 << 20) /* of one module */
#define LEAF_BITS 18
#define JEMALLOC_DESCRIPTOR ((((uint64_t)1 << ADDRESS_BITS) - 1) & ~(uint64_t)127)
#define METADATA ((uint64_t)2 << 20) /* jemalloc's base blocks are aligned to huge pages */
/* tcmalloc, common.cc, kMetadataAllocChunkSize: descriptors and caches are cut from stretches of so much. */
#define STRETCH ((uint64_t)8 << 20)

struct layout {
	unsigned page_shift, root_bits;
	uint64_t descriptor;  /* the bits of an entry that lead to the descriptor */
	/* The run that an entry describes; false: it makes no sense. */
	bool (*describe)(const struct hsnap_target *target, uint64_t entry, struct foreign_span *ret);
	/* Claim what the allocator has for itself where this descriptor lies; returns where it need not look again. */
	struct foreign_span (*claim_metadata)(struct foreign *foreign, uint64_t root, uint64_t descriptor);
	/* The same of the data that the root is in; NULL: there is nothing that matters. */
	void (*claim_data)(struct foreign *foreign, uint64_t start, const uint64_t *words, size_t num);
};

/*
 * jemalloc 5.0 to 5.3: rtree_leaf_elm_s (the descriptor's address in the middle bits, flags in the
 * low seven), extent_s and edata_s (bits, address, size with a serial number below the page).
 */
static bool describe_jemalloc(const struct hsnap_target *target, uint64_t entry, struct foreign_span *ret)
{
	uint64_t words[3];
	uint64_t at = (entry & JEMALLOC_DESCRIPTOR);
	if (!at || hsnap_target_read(target, at, words, sizeof(words), NULL))
		return false;
	ret->start = words[1] & ~(HSNAP_FOREIGN_PAGE - 1); /* a large block may begin anywhere in its first page */
	return !__builtin_add_overflow(ret->start, words[2] & ~(HSNAP_FOREIGN_PAGE - 1), &ret->end) && ret->start < ret->end &&
	       !(ret->end >> ADDRESS_BITS);
}

/* gperftools 2.10 src/span.h: the first page's number, the number of pages, of 8 KiB each. */
static bool describe_tcmalloc(const struct hsnap_target *target, uint64_t entry, struct foreign_span *ret)
{
	uint64_t words[2];
	if (!entry || entry % 8 || hsnap_target_read(target, entry, words, sizeof(words), NULL) ||
	    words[0] >> (ADDRESS_BITS - 13) || !words[1] || words[1] >> (ADDRESS_BITS - 13))
		return false;
	ret->start = words[0] << 13;
	ret->end = ret->start + (words[1] << 13);
	return true;
}

static struct foreign_span claim_jemallocs(struct foreign *foreign, uint64_t root, uint64_t descriptor);
static struct foreign_span claim_tcmallocs(struct foreign *foreign, uint64_t root, uint64_t descriptor);

static const struct layout jemalloc = { 12, 18, JEMALLOC_DESCRIPTOR, describe_jemalloc, claim_jemallocs, NULL };
static const struct layout tcmalloc = { 13, 17, UINT64_MAX, describe_tcmalloc, claim_tcmallocs, foreign_look_central };

static uint64_t root_index(const struct layout *layout, uint64_t address)
{
	return address >> (layout->page_shift + LEAF_BITS);
}

/* What the map says of an address; 0: nothing. */
static uint64_t entry_of(const struct foreign *foreign, const struct layout *layout, uint64_t root, uint64_t address)
{
	uint64_t high = root_index(layout, address), leaf, entry;
	uint64_t low = address >> layout->page_shift & (((uint64_t)1 << LEAF_BITS) - 1);
	if (high >> layout->root_bits || !hsnap_target_word(foreign->target, root + high * 8, &leaf) || !leaf ||
	    leaf % 8 || !hsnap_target_word(foreign->target, leaf + low * 8, &entry))
		return 0;
	return entry;
}

/*
 * The run that holds an address by the map with this root.  The map must say the same of the run's
 * first and last page: no other structure does.
 */
static bool look_up(const struct foreign *foreign, const struct layout *layout, uint64_t root, uint64_t address,
		    struct foreign_span *ret, uint64_t *ret_entry)
{
	uint64_t entry = entry_of(foreign, layout, root, address), page = (uint64_t)1 << layout->page_shift;
	if (!entry || !layout->describe(foreign->target, entry, ret) || ret->start > address || address >= ret->end)
		return false;
	*ret_entry = entry;
	return !((entry_of(foreign, layout, root, ret->start) ^ entry) & layout->descriptor) &&
	       !((entry_of(foreign, layout, root, ret->end - page) ^ entry) & layout->descriptor);
}

/*
 * Could a leaf begin there?  An allocator has it from the kernel, never from a file, and of a file nothing was
 * copied: of python3.11's data half the words lead into its text, and 64 addresses were looked up by way of each.
 */
static bool may_be_leaf(const struct foreign *foreign, uint64_t word)
{
	if (!word || word % 8 || word >> ADDRESS_BITS || word < HSNAP_FOREIGN_PAGE)
		return false;
	const struct hsnap_mapping *mapping = hsnap_target_mapping(foreign->target, word);
	return mapping && !mapping->inode;
}

/* Is there a root in this data?  Its address, or 0. */
static uint64_t find_in_data(struct foreign *foreign, const struct layout *layout, uint64_t start,
			     const uint64_t *words, size_t num, const uint64_t *probes, size_t num_probes)
{
	for (size_t i = 0; i < num; i++) {
		if (!may_be_leaf(foreign, words[i]))
			continue;
		for (size_t p = 0; p < num_probes && foreign->tries; p++, foreign->tries--) {
			uint64_t index = root_index(layout, probes[p]), root = start + (i - index) * 8, entry;
			struct foreign_span run;
			if (index <= i && look_up(foreign, layout, root, probes[p], &run, &entry))
				return root;
		}
	}
	return 0;
}

/* Addresses in the memory in question: at equal distances, since of small blocks each page is in the
 * map; and where stretches begin, since of a large block only the ends are. */
static size_t choose_probes(const struct foreign *foreign, uint64_t *probes)
{
	uint64_t all = 0, passed = 0;
	size_t num = 0, every = foreign->spans.num / (MAX_PROBES / 2) + 1, starts = 0;
	for (size_t i = 0; i < foreign->spans.num; i++)
		all += foreign->spans.items[i].end - foreign->spans.items[i].start;
	uint64_t step = (all / (MAX_PROBES / 2) + HSNAP_FOREIGN_PAGE) & ~(HSNAP_FOREIGN_PAGE - 1);
	for (size_t i = 0; i < foreign->spans.num; i++) {
		const struct foreign_span *span = &foreign->spans.items[i];
		for (; num < MAX_PROBES / 2 && num * step < passed + (span->end - span->start); num++)
			probes[num] = span->start + (num * step - passed);
		passed += span->end - span->start;
	}
	for (size_t i = 0; i < foreign->spans.num && starts < MAX_PROBES / 2; i += every, starts++)
		probes[num++] = foreign->spans.items[i].start;
	return num;
}

static uint64_t find_root(struct foreign *foreign, const struct layout *layout)
{
	uint64_t probes[MAX_PROBES];
	size_t num_probes = choose_probes(foreign, probes);
	for (size_t i = 0; i < foreign->target->mappings.num && num_probes; i++) {
		const struct hsnap_mapping *mapping = &foreign->target->mappings.items[i];
		uint64_t size = mapping->end - mapping->start;
		if (!mapping->module || !(mapping->prot & HSNAP_PROT_WRITE) || size > MAX_DATA)
			continue;
		hsnap_auto(hsnap_freep) uint64_t *words = malloc(size);
		if (!words)
			return 0;
		size_t got = foreign->target->ops->read(foreign->target->self, mapping->start, words, size);
		uint64_t root = find_in_data(foreign, layout, mapping->start, words, got / 8, probes, num_probes);
		if (root && layout->claim_data)
			layout->claim_data(foreign, mapping->start, words, got / 8);
		if (root)
			return root;
	}
	return 0;
}

static struct foreign_span claim_jemallocs(struct foreign *foreign, uint64_t root, uint64_t descriptor)
{
	(void)root;
	uint64_t block = descriptor & ~(METADATA - 1);
	foreign_claim(foreign, block, block + METADATA);
	return (struct foreign_span){ block, block + METADATA };
}

/* Is this page of nobody's that the map knows? */
static bool is_between(const struct foreign *foreign, uint64_t root, uint64_t page)
{
	struct foreign_span run;
	uint64_t entry;
	return !look_up(foreign, &tcmalloc, root, page, &run, &entry);
}

/*
 * The stretch is what lies between two runs, or between one and an end of the mapping.  Where that is more than a
 * stretch, who has the rest is not known, and which part is the rest neither: memory of the program's own may lie
 * next to it, and what that holds is no leak.
 */
static struct foreign_span claim_tcmallocs(struct foreign *foreign, uint64_t root, uint64_t descriptor)
{
	const uint64_t page = (uint64_t)1 << tcmalloc.page_shift;
	const struct hsnap_mapping *mapping = hsnap_target_mapping(foreign->target, descriptor);
	uint64_t start = descriptor & ~(page - 1), end = start + page, most = STRETCH + 2 * page;
	if (!mapping || mapping->module)
		return (struct foreign_span){ start, end };
	for (; start > mapping->start && end - start <= most && is_between(foreign, root, start - page); start -= page)
		;
	for (; end < mapping->end && end - start <= most && is_between(foreign, root, end); end += page)
		;
	struct foreign_span stretch = { start > mapping->start ? start : mapping->start, end < mapping->end ? end : mapping->end };
	if (end - start <= most && end - start >= STRETCH)
		foreign_claim(foreign, stretch.start, stretch.end);
	return stretch;
}

static void look(struct foreign *foreign, const struct layout *layout)
{
	uint64_t root = find_root(foreign, layout);
	struct foreign_span metadata = { 0 };
	for (size_t i = 0; root && i < foreign->spans.num; i++) {
		const struct foreign_span *span = &foreign->spans.items[i];
		for (uint64_t at = span->start, next; at < span->end; at = next) {
			struct foreign_span run;
			uint64_t entry;
			next = at + HSNAP_FOREIGN_PAGE;
			if (!look_up(foreign, layout, root, at, &run, &entry))
				continue;
			foreign_claim(foreign, run.start, run.end);
			if (run.end > next)
				next = run.end & ~(HSNAP_FOREIGN_PAGE - 1);
			uint64_t descriptor = entry & layout->descriptor;
			if (descriptor < metadata.start || descriptor >= metadata.end)
				metadata = layout->claim_metadata(foreign, root, descriptor);
		}
	}
}

void foreign_look_jemalloc(struct foreign *foreign)
{
	look(foreign, &jemalloc);
}

void foreign_look_tcmalloc(struct foreign *foreign)
{
	look(foreign, &tcmalloc);
}
