/* SPDX-License-Identifier: MIT */
/*
 * image.c - a made-up target for tests: mappings whose bytes a test hands in.
 *
 * Its modules' files are opened under their own path on this machine.
 */
#include <fcntl.h>
#include <string.h>

#include "capture/target/target.h"
#include "snapshot/base/cleanup.h"

struct piece {
	uint64_t start;
	size_t size;
	uint8_t *bytes;
};

struct image {
	struct hsnap_target *target;
	struct hsnap_vec(struct piece) pieces; /* parallel to target->mappings */
};

/* The piece that holds the address, or NULL. */
static const struct piece *find_piece(const struct image *image, uint64_t address)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(image->target, address);
	return mapping ? &image->pieces.items[mapping - image->target->mappings.items] : NULL;
}

static size_t read_image(void *self, uint64_t address, void *to, size_t len)
{
	size_t done = 0;
	while (done < len) {
		const struct piece *piece = find_piece(self, address + done);
		if (!piece)
			break;
		size_t at = (size_t)(address + done - piece->start);
		size_t n = piece->size - at < len - done ? piece->size - at : len - done;
		memcpy((uint8_t *)to + done, piece->bytes + at, n);
		done += n;
	}
	return done;
}

static const void *view_image(void *self, uint64_t address, size_t len)
{
	const struct piece *piece = find_piece(self, address);
	if (!piece || len > piece->size - (address - piece->start))
		return NULL;
	return piece->bytes + (address - piece->start);
}

static bool next_run(void *self, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct image *image = self;
	for (size_t i = 0; i < image->pieces.num; i++) {
		const struct piece *piece = &image->pieces.items[i];
		if (piece->start + piece->size <= address)
			continue;
		*start = piece->start > address ? piece->start : address;
		*end = piece->start + piece->size;
		return true;
	}
	return false;
}

static int open_path(void *self, const char *path)
{
	(void)self;
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static int open_module(void *self, const struct hsnap_target_module *module)
{
	const struct image *image = self;
	return open_path(self, hsnap_str(&image->target->strings, module->path));
}

static void close_image(void *self)
{
	struct image *image = self;
	for (size_t i = 0; i < image->pieces.num; i++)
		free(image->pieces.items[i].bytes);
	hsnap_vec_deinit(&image->pieces);
	free(image);
}

static const struct hsnap_target_ops image_ops = {
	.read = read_image,
	.view = view_image,
	.next_run = next_run,
	.open_module = open_module,
	.open_path = open_path,
	.close = close_image,
};

struct hsnap_target *hsnap_image_create(void)
{
	hsnap_auto(hsnap_freep) struct image *image = calloc(1, sizeof(*image));
	hsnap_auto(hsnap_target_closep) struct hsnap_target *target = calloc(1, sizeof(*target));
	if (!image || !target || !hsnap_vec_push(&target->modules, (struct hsnap_target_module){ 0 }))
		return NULL;
	target->ops = &image_ops;
	image->target = target;
	target->self = hsnap_take(image);
	return hsnap_take(target);
}

/* Where a mapping that starts at `start` belongs in order of address. */
static size_t place_of(const struct hsnap_target *target, uint64_t start)
{
	size_t at = target->mappings.num;
	while (at && target->mappings.items[at - 1].start > start)
		at--;
	return at;
}

bool hsnap_image_add(struct hsnap_target *target, uint64_t start, const void *bytes, size_t size,
		     unsigned prot, const char *path)
{
	struct image *image = target->self;
	struct hsnap_mapping mapping = {
		.start = start, .end = start + size, .prot = (uint8_t)prot,
		.path = hsnap_strings_add(&target->strings, path ? path : ""),
	};
	hsnap_auto(hsnap_freep) uint8_t *copy = calloc(1, size ? size : 1);
	if (!copy || mapping.path == HSNAP_NO_STRING || !hsnap_vec_reserve(&target->mappings, 1) ||
	    !hsnap_vec_reserve(&image->pieces, 1))
		return false;
	if (bytes)
		memcpy(copy, bytes, size);
	for (uint32_t i = 1; i < target->modules.num; i++)
		if (start >= target->modules.items[i].start && start < target->modules.items[i].end)
			mapping.module = i;

	size_t at = place_of(target, start);
	size_t after = target->mappings.num - at;
	memmove(&target->mappings.items[at + 1], &target->mappings.items[at], after * sizeof(mapping));
	memmove(&image->pieces.items[at + 1], &image->pieces.items[at], after * sizeof(struct piece));
	target->mappings.items[at] = mapping;
	image->pieces.items[at] = (struct piece){ .start = start, .size = size, .bytes = hsnap_take(copy) };
	target->mappings.num++;
	image->pieces.num++;
	return true;
}

bool hsnap_image_add_module(struct hsnap_target *target, const struct hsnap_target_module *module)
{
	uint32_t index = (uint32_t)target->modules.num;
	if (!hsnap_vec_push(&target->modules, *module))
		return false;
	for (size_t i = 0; i < target->mappings.num; i++) {
		struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (mapping->start < module->end && mapping->end > module->start)
			mapping->module = index;
	}
	return true;
}
