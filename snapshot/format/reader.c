/* SPDX-License-Identifier: MIT */
/* reader.c - the ways in: a path, stdin, or bytes in memory. */
#include "snapshot/format/reader.h"

#include <string.h>

#include "snapshot/base/cleanup.h"

static unsigned with_implied(unsigned what)
{
	if (what & (HSNAP_LOAD_EDGES | HSNAP_LOAD_GROUNDS))
		what |= HSNAP_LOAD_NODES;
	if (what & HSNAP_LOAD_NODES)
		what |= HSNAP_LOAD_MEMBERS;
	return what;
}

static void deinit(struct hsnap_reader *reader)
{
	for (unsigned section = 0; section < HSNAP_NUM_SECTIONS; section++)
		hsnap_vec_deinit(&reader->extents[section].chunks);
	hsnap_vec_deinit(&reader->chunks);
	hsnap_scratch_pool_deinit(&reader->pool);
	hsnap_snapshot_destroy(reader->snapshot);
}

static enum hsnap_code read_all(struct hsnap_source source, unsigned what, struct hsnap_snapshot **ret,
				struct hsnap_error *err)
{
	struct hsnap_reader reader = { .source = source, .what = with_implied(what), .err = err,
				       .pool.lock = PTHREAD_MUTEX_INITIALIZER };
	enum hsnap_code code = HSNAP_OK;
	reader.snapshot = calloc(1, sizeof(*reader.snapshot));
	if (!reader.snapshot)
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	if (!code)
		code = hsnap_reader_open(&reader);
	if (!code)
		code = hsnap_reader_load(&reader);
	if (!code)
		*ret = hsnap_take(reader.snapshot);
	deinit(&reader);
	return code;
}

enum hsnap_code hsnap_snapshot_read(const char *path, unsigned what, struct hsnap_snapshot **ret,
				    struct hsnap_error *err)
{
	struct hsnap_source source;
	enum hsnap_code code = hsnap_source_open(&source, path, err);
	if (!code) {
		code = read_all(source, what, ret, err);
		if (code)
			hsnap_context(err, code, "cannot read '%s'", strcmp(path, "-") ? path : "stdin");
	}
	hsnap_source_close(&source);
	return code;
}

enum hsnap_code hsnap_snapshot_read_bytes(const void *bytes, size_t size, unsigned what, struct hsnap_snapshot **ret,
					  struct hsnap_error *err)
{
	return read_all((struct hsnap_source){ .fd = -1, .bytes = bytes, .size = size }, what, ret, err);
}
