/* SPDX-License-Identifier: MIT */
/*
 * vtable.c - objects that say themselves what they are.
 *
 * The class of its first word names a block's object if one fills it.  A larger block has such an object as
 * a member or is a run of them; a smaller one has the word from whoever had the memory before.
 */
#include "capture/naming/claims.h"
#include "snapshot/base/cleanup.h"

#define MAX_STRIDE 4096u /* bytes in which a second object of a run is looked for */

#define FEW_UNKNOWN 4u   /* objects of a run where no debug info tells of structs */

struct viewer {
	struct hsnap_work *work;
	struct hsnap_window reader;
	struct hsnap_keymap sizes; /* {class, size} → blocks of that size; {class, 0} → most of one size */
	struct hsnap_keymap usual; /* {class} → 1 + the size that most have */
	bool failed;               /* out of memory */
};

static void viewer_deinit(struct viewer *viewer)
{
	hsnap_keymap_deinit(&viewer->sizes);
	hsnap_keymap_deinit(&viewer->usual);
}

/* How many objects with this pointer follow one another, `each` bytes apart?  0: no whole block of them. */
static uint64_t count_run(struct viewer *viewer, uint32_t b, uint64_t each, uint64_t vptr)
{
	bool requested = hsnap_is_requested(viewer->work, &viewer->work->heap->blocks.items[b]);
	uint64_t start = hsnap_object_start(viewer->work, b), size = hsnap_object_room(viewer->work, b), word, num = 0;
	if (!each || size < 2 * each || (requested ? size % each : size % each >= HSNAP_MOST_SLACK))
		return 0;
	/* Behind the last one can be room for more. */
	while (num < size / each && hsnap_window_word(&viewer->reader, start + num * each, &word) && word == vptr)
		num++;
	return num;
}

/* How far behind the first the same pointer stands again; 0: nowhere near. */
static uint64_t find_stride(struct viewer *viewer, uint32_t b, uint64_t vptr)
{
	uint64_t start = hsnap_object_start(viewer->work, b), size = hsnap_object_room(viewer->work, b), word;
	for (uint64_t at = 8; at <= size / 2 && at <= MAX_STRIDE; at += 8)
		if (hsnap_window_word(&viewer->reader, start + at, &word) && word == vptr)
			return at;
	return 0;
}

static enum hsnap_evidence evidence_of(const struct hsnap_vclass *class)
{
	return class->control ? HSNAP_EVIDENCE_CONTROL : HSNAP_EVIDENCE_VTABLE;
}

/* The only candidate of which one object fills the block; 0: none, or several. */
static hsnap_dtype_id find_fitting(struct viewer *viewer, uint32_t b, const struct hsnap_vclass *class)
{
	struct hsnap_work *work = viewer->work;
	hsnap_dtype_id found = 0;
	for (uint32_t c = 0; c < class->num; c++) {
		hsnap_dtype_id type = work->plans.same[work->classes.candidates.items[class->first + c]];
		if ((hsnap_fit(work, b, type) != HSNAP_FORM_ONE && !hsnap_is_odd(work, b, type)) || type == found)
			continue;
		if (found)
			return 0;
		found = type;
	}
	return found;
}

/* The class whose name is all that is known, if there is no other; else 0. */
static hsnap_dtype_id only_name(const struct hsnap_work *work, const struct hsnap_vclass *class)
{
	hsnap_dtype_id type = class->num == 1 ? work->classes.candidates.items[class->first] : 0;
	return type && hsnap_dtype(work->symbols, type)->kind == HSNAP_DTYPE_INCOMPLETE ? type : 0;
}

/*
 * A run may as well be a struct that has members of one class and nothing else: who declares that is right.  Where
 * structs are known there must be none such; else they are more than a struct is likely to have.
 */
static void claim_run(struct viewer *viewer, uint32_t b, const struct hsnap_vclass *class)
{
	struct hsnap_work *work = viewer->work;
	for (uint32_t c = 0; c < class->num; c++) {
		hsnap_dtype_id type = work->classes.candidates.items[class->first + c];
		uint64_t each = hsnap_dtype(work->symbols, type)->size;
		uint64_t num = count_run(viewer, b, each ? each : find_stride(viewer, b, class->vptr), class->vptr);
		if (each ? num > 1 && !hsnap_may_be_larger(work, b, type) : num >= FEW_UNKNOWN) {
			hsnap_claim_block(work, b, type, HSNAP_FORM_RUN, HSNAP_EVIDENCE_RUN);
			return;
		}
	}
}

/* Objects of a class are of one size.  Of one whose size nobody knows, the blocks that are not of the usual
 * size have it as a member, or from before. */
static void claim_name(struct viewer *viewer, uint32_t b, const struct hsnap_vclass *class, hsnap_dtype_id type)
{
	struct hsnap_work *work = viewer->work;
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	uint64_t usual = hsnap_keymap_get(&viewer->usual, (struct hsnap_key){ class->vptr, 0 }), size = hsnap_object_room(work, b);
	bool fits = usual && size >= usual - 1 &&
		    size - (usual - 1) < (hsnap_is_requested(work, block) ? 1 : HSNAP_MOST_SLACK);
	if (find_stride(viewer, b, class->vptr))
		claim_run(viewer, b, class);
	else if (fits)
		hsnap_claim_block(work, b, type, HSNAP_FORM_ONE, evidence_of(class));
}

static void count_size(struct viewer *viewer, uint32_t b, const struct hsnap_vclass *class)
{
	bool is_new;
	uint64_t size = hsnap_object_room(viewer->work, b);
	if (size >= UINT32_MAX)
		return;
	uint32_t *num = hsnap_keymap_at(&viewer->sizes, (struct hsnap_key){ class->vptr, size }, &is_new);
	uint32_t count = num ? ++*num : 0;
	uint32_t *most = num ? hsnap_keymap_at(&viewer->sizes, (struct hsnap_key){ class->vptr, 0 }, &is_new) : NULL;
	uint32_t *usual = most ? hsnap_keymap_at(&viewer->usual, (struct hsnap_key){ class->vptr, 0 }, &is_new) : NULL;
	if (!usual) {
		viewer->failed = true;
	} else if (count > *most) {
		*most = count;
		*usual = (uint32_t)size + 1;
	}
}

/* What the vtable pointer says that stands in a block at an offset, or NULL. */
static const struct hsnap_vclass *class_at(struct viewer *viewer, uint32_t b, uint64_t at)
{
	const struct hsnap_block *block = &viewer->work->heap->blocks.items[b];
	uint64_t vptr;
	const struct hsnap_vclass *class = NULL;
	if (block->address + block->usable > viewer->reader.end)
		hsnap_open_window(viewer->work, &viewer->reader, b, viewer->work->num_blocks);
	if (block->usable >= at + 8 && hsnap_window_word(&viewer->reader, block->address + at, &vptr))
		class = hsnap_class_of(&viewer->work->classes, vptr);
	return class && class->num ? class : NULL;
}

/*
 * What the object of a block says that it is, or NULL.  That a block has a header is told by share: one that a class
 * fills from its very start has none, but where the rest behind the header may be an object, too, nobody knows.
 */
static const struct hsnap_vclass *class_of(struct viewer *viewer, uint32_t b)
{
	struct hsnap_work *work = viewer->work;
	uint8_t header = (uint8_t)hsnap_header(work, b);
	const struct hsnap_vclass *behind = class_at(viewer, b, header), *front = header ? class_at(viewer, b, 0) : NULL;
	if (!front || work->claims[b].type)
		return behind;
	bool either = behind && (only_name(work, behind) || find_fitting(viewer, b, behind));
	work->headers[b] = 0;
	bool all = find_fitting(viewer, b, front);
	if (all && !either)
		return front;
	work->headers[b] = header;
	return all ? NULL : behind;
}

static void claim_first(struct viewer *viewer, uint32_t b)
{
	const struct hsnap_vclass *class = class_of(viewer, b);
	if (!class)
		return;
	hsnap_dtype_id name = only_name(viewer->work, class), type = name ? 0 : find_fitting(viewer, b, class);
	if (name)
		claim_name(viewer, b, class, name);
	else if (type)
		hsnap_claim_block(viewer->work, b, type, HSNAP_FORM_ONE, evidence_of(class));
	else
		claim_run(viewer, b, class);
}

enum hsnap_code hsnap_claim_vtables(struct hsnap_work *work, struct hsnap_error *err)
{
	const struct hsnap_classes *classes = &work->classes;
	hsnap_auto(viewer_deinit) struct viewer viewer = { .work = work };
	hsnap_window_init(&viewer.reader, work->target);
	for (size_t i = 0; i < classes->blocks.num && !viewer.failed; i++) {
		const struct hsnap_vclass *class = class_of(&viewer, classes->blocks.items[i]);
		if (class && only_name(work, class))
			count_size(&viewer, classes->blocks.items[i], class);
	}
	hsnap_window_init(&viewer.reader, work->target);
	for (size_t i = 0; i < classes->blocks.num && !viewer.failed; i++)
		claim_first(&viewer, classes->blocks.items[i]);
	for (size_t i = 0; i < classes->counted.num; i++)
		hsnap_claim_block(work, classes->counted.items[i].block, classes->counted.items[i].type, HSNAP_FORM_ONE,
				  HSNAP_EVIDENCE_VTABLE);
	return viewer.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
