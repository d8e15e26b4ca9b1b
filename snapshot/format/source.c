/* SPDX-License-Identifier: MIT */
/* source.c - pread of a file, or all of a pipe. */
#include "snapshot/format/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/format/layout.h"

#define PIPE_STEP 1048576u

static enum hsnap_code fail(struct hsnap_error *err, const char *path)
{
	return hsnap_fail(err, HSNAP_IO, 0, "cannot read '%s': %s", path, strerror(errno));
}

/* Read until the end; something that does not begin like a snapshot is not read any further. */
static enum hsnap_code slurp(struct hsnap_source *source, int fd, const char *path, struct hsnap_error *err)
{
	struct hsnap_buffer *owned = &source->owned;
	for (;;) {
		uint8_t *room = hsnap_buffer_room(owned, PIPE_STEP);
		if (!room)
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory while reading '%s'", path);
		ssize_t got = read(fd, room, PIPE_STEP);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(err, path);
		owned->num += (size_t)got;
		bool foreign = owned->num >= 8 && memcmp(owned->bytes, HSNAP_FORMAT_MAGIC, 8);
		if (!got || foreign)
			break;
	}
	source->bytes = owned->bytes;
	source->size = owned->num;
	return HSNAP_OK;
}

static enum hsnap_code open_path(struct hsnap_source *source, const char *path, struct hsnap_error *err)
{
	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (source->fd < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot open '%s': %s", path, strerror(errno));
	struct stat st;
	if (fstat(source->fd, &st))
		return fail(err, path);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return fail(err, path);
	}
	if (S_ISREG(st.st_mode)) {
		source->size = (uint64_t)st.st_size;
		return HSNAP_OK;
	}
	enum hsnap_code code = slurp(source, source->fd, path, err);
	close(source->fd);
	source->fd = -1;
	return code;
}

enum hsnap_code hsnap_source_open(struct hsnap_source *source, const char *path, struct hsnap_error *err)
{
	*source = (struct hsnap_source){ .fd = -1 };
	if (strcmp(path, "-"))
		return open_path(source, path, err);
	if (isatty(STDIN_FILENO)) {
		errno = ENOTSUP;
		return hsnap_fail(err, HSNAP_IO, 0, "a snapshot is not read from a terminal");
	}
	return slurp(source, STDIN_FILENO, "stdin", err);
}

void hsnap_source_close(struct hsnap_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	hsnap_buffer_deinit(&source->owned);
}

const uint8_t *hsnap_source_get(const struct hsnap_source *source, uint64_t offset, size_t len,
				struct hsnap_buffer *buffer)
{
	if (source->fd < 0)
		return source->bytes + offset;
	buffer->num = 0;
	uint8_t *room = hsnap_buffer_room(buffer, len ? len : 1);
	if (!room) {
		errno = ENOMEM;
		return NULL;
	}
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(source->fd, room + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (!got)
			errno = 0;
		if (got <= 0)
			return NULL;
		done += (size_t)got;
	}
	return room;
}
