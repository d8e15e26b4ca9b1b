/* SPDX-License-Identifier: MIT */
/* files.c - the child's side: get each module's files, read them, send the answer. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/child.h"
#include "capture/symbols/elf_file.h"
#include "capture/symbols/module.h"

#define MAX_ATTEMPTS 8

struct mapped {
	const void *bytes; /* NULL: none */
	size_t size;
};

static void unmap(struct mapped *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size);
	*file = (struct mapped){ 0 };
}

static bool send_all(int socket, const void *bytes, size_t size)
{
	while (size) {
		ssize_t sent = write(socket, bytes, size);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		bytes = (const char *)bytes + sent;
		size -= (size_t)sent;
	}
	return true;
}

bool hsnap_child_send(int socket, enum hsnap_message_kind kind, uint32_t module, const void *payload, size_t size)
{
	struct hsnap_message message = { .kind = kind, .module = module, .size = size };
	return send_all(socket, &message, sizeof(message)) && send_all(socket, payload, size);
}

/* The parent's reply; *ret_fd >= 0 where it came with a file. */
static uint8_t receive_reply(int socket, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	uint8_t answer = HSNAP_REPLY_END;
	struct iovec part = { &answer, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t got;
	*ret_fd = -1;
	while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
	}
	if (got != 1)
		_exit(1); /* the parent is gone */
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return answer;
}

static struct mapped map_file(int fd)
{
	struct mapped file = { 0 };
	struct stat st;
	if (!fstat(fd, &st) && st.st_size > 0) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED)
			file = (struct mapped){ at, (size_t)st.st_size };
	}
	close(fd);
	return file;
}

struct wanted {
	uint32_t what;
	const void *text; /* sent along */
	size_t text_size;
	const uint8_t *id; /* the build id it must have, or NULL */
	size_t id_size;
	const uint32_t *crc; /* the CRC it must have, or NULL */
};

static bool is_wanted(const struct mapped *file, const struct wanted *wanted)
{
	struct hsnap_elf elf = { 0 };
	struct hsnap_error err;
	bool ok = !hsnap_elf_init(&elf, file->bytes, file->size, &err);
	if (ok && wanted->id)
		ok = elf.build_id_size == wanted->id_size && !memcmp(elf.build_id, wanted->id, wanted->id_size);
	if (ok && wanted->crc)
		ok = crc32_z(0, file->bytes, file->size) == *wanted->crc;
	hsnap_elf_deinit(&elf);
	return ok;
}

/* Ask once; a descriptor, or -1 and why. */
static int ask_file(const struct hsnap_child_job *job, uint32_t module, const struct wanted *wanted, uint32_t attempt,
		    uint8_t *ret_answer)
{
	char payload[sizeof(struct hsnap_open_request) + 4096];
	struct hsnap_open_request request = { wanted->what, attempt };
	int fd;
	*ret_answer = HSNAP_REPLY_END;
	if (wanted->text_size > 4096)
		return -1;
	memcpy(payload, &request, sizeof(request));
	if (wanted->text_size)
		memcpy(payload + sizeof(request), wanted->text, wanted->text_size);
	if (!hsnap_child_send(job->socket, HSNAP_MESSAGE_OPEN, module, payload, sizeof(request) + wanted->text_size))
		_exit(1);
	*ret_answer = receive_reply(job->socket, &fd);
	return fd;
}

/* The first file of the places there are that is the wanted one; *ret_other: there was another. */
static struct mapped get_file(const struct hsnap_child_job *job, uint32_t module, const struct wanted *wanted,
			      bool *ret_other)
{
	struct mapped file = { 0 };
	for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		uint8_t answer;
		int fd = ask_file(job, module, wanted, attempt, &answer);
		if (fd < 0 && answer != HSNAP_REPLY_NO)
			break;
		if (fd < 0)
			continue;
		file = map_file(fd);
		if (file.bytes && is_wanted(&file, wanted))
			break;
		*ret_other |= file.bytes != NULL;
		unmap(&file);
	}
	return file;
}

/* The files of one module that hold other halves of its units. */
struct split_files {
	const struct hsnap_child_job *job;
	uint32_t module;
	struct hsnap_vec(struct mapped) files;
};

static uint8_t get_split(void *context, uint32_t what, uint32_t attempt, const char *path, struct hsnap_module_bytes *ret)
{
	struct split_files *split = context;
	struct wanted wanted = { .what = what, .text = path, .text_size = strlen(path) };
	uint8_t answer;
	int fd = ask_file(split->job, split->module, &wanted, attempt, &answer);
	if (fd < 0)
		return answer;
	struct mapped file = map_file(fd);
	if (!file.bytes || !hsnap_vec_push(&split->files, file)) {
		unmap(&file);
		return HSNAP_REPLY_NO;
	}
	*ret = (struct hsnap_module_bytes){ file.bytes, file.size };
	return HSNAP_REPLY_FILE;
}

struct module_files {
	struct mapped program, debug, alt;
	bool other; /* a debug file was there, but of another build */
};

static bool has_debug_info(struct hsnap_elf *elf)
{
	struct hsnap_elf_section *section = hsnap_elf_find(elf, ".debug_info");
	if (!section)
		section = hsnap_elf_find(elf, ".zdebug_info");
	return section && section->type != SHT_NOBITS;
}

static void get_debug_file(const struct hsnap_child_job *job, uint32_t module, struct hsnap_elf *elf,
			   struct module_files *files)
{
	const char *name;
	uint32_t crc;
	if (elf->build_id_size) {
		struct wanted wanted = { .what = HSNAP_OPEN_BUILD_ID, .text = elf->build_id, .text_size = elf->build_id_size,
					 .id = elf->build_id, .id_size = elf->build_id_size };
		files->debug = get_file(job, module, &wanted, &files->other);
	}
	if (!files->debug.bytes && hsnap_elf_debuglink(elf, &name, &crc)) {
		struct wanted wanted = { .what = HSNAP_OPEN_LINK, .text = name, .text_size = strlen(name), .crc = &crc };
		files->debug = get_file(job, module, &wanted, &files->other);
	}
}

/* The supplementary file of the one that has the debug info. */
static void get_alt_file(const struct hsnap_child_job *job, uint32_t module, struct hsnap_elf *elf,
			 struct module_files *files)
{
	const char *name;
	const uint8_t *id;
	size_t id_size;
	bool other = false;
	if (!hsnap_elf_altlink(elf, &name, &id, &id_size))
		return;
	struct wanted wanted = { .what = HSNAP_OPEN_ALT, .text = name, .text_size = strlen(name), .id = id,
				 .id_size = id_size };
	files->alt = get_file(job, module, &wanted, &other);
	if (files->alt.bytes)
		return;
	wanted.what = HSNAP_OPEN_BUILD_ID;
	wanted.text = id;
	wanted.text_size = id_size;
	files->alt = get_file(job, module, &wanted, &other);
}

static void get_files(const struct hsnap_child_job *job, uint32_t module, struct module_files *files)
{
	const struct hsnap_target_module *m = &job->target->modules.items[module];
	struct wanted wanted = { .what = HSNAP_OPEN_PROGRAM };
	struct hsnap_elf elf = { 0 }, debug = { 0 };
	struct hsnap_error err;
	if (m->build_id_size) { /* what is mapped, and not what took its place */
		wanted.id = m->build_id;
		wanted.id_size = m->build_id_size;
	}
	files->program = get_file(job, module, &wanted, &files->other);
	if (!files->program.bytes)
		return;
	if (!hsnap_elf_init(&elf, files->program.bytes, files->program.size, &err)) {
		if (has_debug_info(&elf)) {
			get_alt_file(job, module, &elf, files);
		} else {
			get_debug_file(job, module, &elf, files);
			if (files->debug.bytes && !hsnap_elf_init(&debug, files->debug.bytes, files->debug.size, &err))
				get_alt_file(job, module, &debug, files);
			hsnap_elf_deinit(&debug);
		}
	}
	hsnap_elf_deinit(&elf);
}

/* A module of which nothing could be had. */
static bool only_note(struct hsnap_symbols *symbols, const struct hsnap_ask *asks, size_t num_asks, const char *note)
{
	struct hsnap_dmodule module = { .note = hsnap_strings_add(&symbols->strings, note) };
	bool ok = hsnap_vec_push(&symbols->types, (struct hsnap_dtype){ 0 }) &&
		  hsnap_vec_push(&symbols->modules, module);
	for (size_t i = 0; i < num_asks; i++)
		ok = ok && hsnap_vec_push(&symbols->pcs, (struct hsnap_dpc){ .pc = asks[i].pc });
	return ok;
}

static bool answer_module(const struct hsnap_child_job *job, uint32_t module)
{
	const struct hsnap_target_module *m = &job->target->modules.items[module];
	struct module_files files = { 0 };
	struct split_files split = { .job = job, .module = module };
	struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	struct hsnap_answer_bytes bytes = { 0 };
	struct hsnap_error err;
	size_t first;
	size_t num = hsnap_child_asks(m, job->asks, job->num_asks, &first);
	if (!symbols)
		return false;
	get_files(job, module, &files);
	bool ok;
	if (files.program.bytes) {
		struct hsnap_module_input input = {
			.module = module, .bias = m->bias,
			.program = files.program.bytes, .program_size = files.program.size,
			.debug = files.debug.bytes, .debug_size = files.debug.size,
			.alt = files.alt.bytes, .alt_size = files.alt.size,
			.other_build = files.other, .mapped = true,
			.get_split = get_split, .context = &split,
			.asks = job->asks + first, .num_asks = num, .wanted = job->wanted,
		};
		ok = !hsnap_module_read(&input, symbols, &err);
	} else {
		ok = only_note(symbols, job->asks + first, num,
			       files.other ? "its file is not the one that is mapped" : "its file cannot be opened");
	}
	ok = ok && hsnap_answer_write(symbols, &bytes) &&
	     hsnap_child_send(job->socket, HSNAP_MESSAGE_ANSWER, module, bytes.items, bytes.num);
	hsnap_vec_deinit(&bytes);
	hsnap_symbols_destroy(symbols);
	for (size_t i = 0; i < split.files.num; i++)
		unmap(&split.files.items[i]);
	hsnap_vec_deinit(&split.files);
	unmap(&files.program);
	unmap(&files.debug);
	unmap(&files.alt);
	return ok;
}

void hsnap_child_read_module(const struct hsnap_child_job *job, uint32_t module)
{
	if (!hsnap_child_send(job->socket, HSNAP_MESSAGE_START, module, NULL, 0) || !answer_module(job, module))
		_exit(HSNAP_CHILD_NO_MEMORY); /* or the parent is gone, and nobody asks */
}

void hsnap_child_read_modules(const struct hsnap_child_job *job)
{
	for (uint32_t module = job->first_module; module < job->target->modules.num; module++)
		hsnap_child_read_module(job, module);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_DONE, 0, NULL, 0);
}
