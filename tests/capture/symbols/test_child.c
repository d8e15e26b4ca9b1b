/* SPDX-License-Identifier: MIT */
/*
 * test_child.c - the child that reads debug info dies, hangs, lies, and breaks out: nothing of it
 * reaches the parent but a note.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/symbols/answer.h"
#include "tests/capture/symbols/support.h"

#define PROGRAM HSNAP_TEST_PROGRAMS "/shapes-gcc5-O0"

/* --- what a child may do wrong; each has said that it is at module 1 --- */

static void start(const struct hsnap_child_job *job)
{
	hsnap_child_send(job->socket, HSNAP_MESSAGE_START, 1, NULL, 0);
}

static int *volatile nowhere;

static void crash(const struct hsnap_child_job *job)
{
	start(job);
	*nowhere = 1;
}

static void loop(const struct hsnap_child_job *job)
{
	start(job);
	for (volatile unsigned i = 0;; i++) {
	}
}

static void leave(const struct hsnap_child_job *job)
{
	start(job);
	_exit(0);
}

static void send_garbage(const struct hsnap_child_job *job)
{
	char bytes[1000];
	start(job);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 167 + 13);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_ANSWER, 1, bytes, sizeof(bytes));
}

static void send_nothing_of_much(const struct hsnap_child_job *job)
{
	struct hsnap_message message = { .kind = HSNAP_MESSAGE_ANSWER, .module = 1, .size = 900u << 20 };
	start(job);
	if (write(job->socket, &message, sizeof(message)) < 0)
		_exit(1);
	_exit(0);
}

static void send_too_much(const struct hsnap_child_job *job)
{
	struct hsnap_message message = { .kind = HSNAP_MESSAGE_ANSWER, .module = 1, .size = UINT64_MAX };
	start(job);
	if (write(job->socket, &message, sizeof(message)) < 0)
		_exit(1);
}

static void answer_for_another(const struct hsnap_child_job *job)
{
	start(job);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_ANSWER, 2, "", 0);
}

static void start_twice(const struct hsnap_child_job *job)
{
	start(job);
	start(job);
}

static void send_unknown_kind(const struct hsnap_child_job *job)
{
	start(job);
	hsnap_child_send(job->socket, (enum hsnap_message_kind)77, 1, NULL, 0);
}

static void ask_too_long(const struct hsnap_child_job *job)
{
	static char payload[20000];
	start(job);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_OPEN, 1, payload, sizeof(payload));
}

static void open_a_file(const struct hsnap_child_job *job)
{
	start(job);
	if (syscall(SYS_open, "/etc/passwd", O_RDONLY) >= 0)
		hsnap_child_send(job->socket, HSNAP_MESSAGE_DONE, 0, NULL, 0);
}

static void make_a_process(const struct hsnap_child_job *job)
{
	start(job);
	if (syscall(SYS_fork) >= 0)
		hsnap_child_send(job->socket, HSNAP_MESSAGE_DONE, 0, NULL, 0);
}

static void make_a_program(const struct hsnap_child_job *job)
{
	start(job);
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		hsnap_child_send(job->socket, HSNAP_MESSAGE_DONE, 0, NULL, 0);
}

static void run_out_of_memory(const struct hsnap_child_job *job)
{
	start(job);
	_exit(HSNAP_CHILD_NO_MEMORY);
}

static void allocate_for_ever(const struct hsnap_child_job *job)
{
	start(job);
	/* Not more than a gigabyte, should the limit not be there. */
	for (int i = 0; i < 64; i++)
		if (mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(0);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_DONE, 0, NULL, 0);
}

#define DIED "the debug info reader died"
#define NONSENSE "the debug info reader's answer makes no sense"

static const struct {
	const char *name;
	void (*body)(const struct hsnap_child_job *job);
	const char *note; /* its beginning */
} rows[] = {
	{ "crash", crash, DIED },
	{ "loop", loop, "the debug info reader took more than 3 s" },
	{ "leaves", leave, DIED },
	{ "garbage", send_garbage, NONSENSE },
	{ "a size and no bytes", send_nothing_of_much, DIED },
	{ "a size beyond all", send_too_much, NONSENSE },
	{ "another module's answer", answer_for_another, NONSENSE },
	{ "the same module twice", start_twice, NONSENSE },
	{ "unknown message", send_unknown_kind, NONSENSE },
	{ "a long request", ask_too_long, NONSENSE },
	{ "opens a file", open_a_file, DIED },
	{ "forks", make_a_process, DIED },
	{ "makes code", make_a_program, DIED },
	{ "allocates", allocate_for_ever, DIED },
	{ "runs out of memory", run_out_of_memory,
	  "to read its debug info takes more than the 256 MiB of memory that are left for that" },
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static unsigned seconds; /* of patience; 0: all there is */

static struct hsnap_symbols *load(struct hsnap_target *target, void (*body)(const struct hsnap_child_job *job))
{
	struct hsnap_child_options options = { .body = body, .seconds = seconds, .memory = 256 << 20 };
	struct hsnap_symbols *symbols;
	struct hsnap_error err;
	cr_assert_eq(hsnap_symbols_load_with(target, NULL, 0, &options, &symbols, &err), HSNAP_OK, "%s", err.message);
	return symbols;
}

static const char *note_of(const struct hsnap_symbols *s, uint32_t module)
{
	return hsnap_str(&s->strings, s->modules.items[module].note);
}

static size_t which; /* inherited by the child */

/* Misbehaves at the first module; a new child reads the second. */
static void misbehave_once(const struct hsnap_child_job *job)
{
	if (job->first_module == 1)
		rows[which].body(job);
	else
		hsnap_child_read_modules(job);
}

ParameterizedTestParameters(symbols_child, harms_nobody)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_child, harms_nobody)
{
	which = *row;
	seconds = rows[which].body == loop ? 3 : 0;
#if defined(__SANITIZE_ADDRESS__) /* its shadow needs all the address space there is */
	if (rows[which].body == allocate_for_ever)
		return;
#endif
	struct hsnap_target *target = files_target();
	files_add(target, PROGRAM, BIAS);
	files_add(target, PROGRAM, BIAS + (1ull << 36));
	struct hsnap_symbols *s = load(target, misbehave_once);
	cr_expect(!s->modules.items[1].has_types, "%s", rows[which].name);
	cr_expect_eq(strncmp(note_of(s, 1), rows[which].note, strlen(rows[which].note)), 0, "%s: '%s'", rows[which].name,
		     note_of(s, 1));
	cr_expect(s->modules.items[2].has_types, "%s: '%s'", rows[which].name, note_of(s, 2));
	for (size_t i = 0; i < s->variables.num; i++)
		cr_expect_eq(s->variables.items[i].module, 2);
	cr_expect_neq(type_named(s, "all", HSNAP_DTYPE_STRUCT), 0, "%s", rows[which].name);
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

static void crash_at_the_second(const struct hsnap_child_job *job)
{
	hsnap_child_read_module(job, 1);
	hsnap_child_send(job->socket, HSNAP_MESSAGE_START, 2, NULL, 0);
	*nowhere = 1;
}

Test(symbols_child, finished_modules_stay)
{
	struct hsnap_target *target = files_target();
	files_add(target, PROGRAM, BIAS);
	files_add(target, PROGRAM, BIAS + (1ull << 36));
	struct hsnap_symbols *s = load(target, crash_at_the_second);
	cr_expect(s->modules.items[1].has_types);
	cr_expect_str_eq(note_of(s, 1), "");
	cr_expect_neq(type_named(s, "all", HSNAP_DTYPE_STRUCT), 0);
	cr_expect_eq(strncmp(note_of(s, 2), DIED, strlen(DIED)), 0, "'%s'", note_of(s, 2));
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

static void never_begin(const struct hsnap_child_job *job)
{
	(void)job;
	_exit(1);
}

Test(symbols_child, one_that_never_begins_is_not_tried_for_ever)
{
	struct hsnap_target *target = files_target();
	files_add(target, PROGRAM, BIAS);
	files_add(target, PROGRAM, BIAS + (1ull << 36));
	struct hsnap_symbols *s = load(target, never_begin);
	for (uint32_t i = 1; i <= 2; i++)
		cr_expect_eq(strncmp(note_of(s, i), DIED, strlen(DIED)), 0, "'%s'", note_of(s, i));
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

/* At whatever module it is told to begin with. */
static void loop_at_each(const struct hsnap_child_job *job)
{
	hsnap_child_send(job->socket, HSNAP_MESSAGE_START, job->first_module, NULL, 0);
	for (volatile unsigned i = 0;; i++) {
	}
}

Test(symbols_child, keeps_us_waiting_twice_and_no_more)
{
	struct hsnap_target *target = files_target();
	for (uint64_t i = 0; i < 5; i++)
		files_add(target, PROGRAM, BIAS + (i << 36));
	seconds = 2;
	struct hsnap_symbols *s = load(target, loop_at_each);
	for (uint32_t i = 1; i <= 5; i++)
		cr_expect_eq(strncmp(note_of(s, i), i <= 2 ? "the debug info reader took" : "not read:", 9), 0, "%u: '%s'", i,
			     note_of(s, i));
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

static int parents_file; /* open in the parent, far up */

/* Answers properly only if it cannot read what its parent has open. */
static void read_parents_file(const struct hsnap_child_job *job)
{
	char byte;
	if (read(parents_file, &byte, 1) != -1 || errno != EBADF)
		_exit(1);
	hsnap_child_read_modules(job);
}

Test(symbols_child, inherits_no_descriptors)
{
	struct hsnap_target *target = files_target();
	files_add(target, PROGRAM, BIAS);
	int fd = open(PROGRAM, O_RDONLY);
	parents_file = fcntl(fd, F_DUPFD, 500);
	cr_assert_geq(parents_file, 500);
	struct hsnap_symbols *s = load(target, read_parents_file);
	cr_expect(s->modules.items[1].has_types, "'%s'", note_of(s, 1));
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
	close(parents_file);
	close(fd);
}

/* --- damaged files --- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Some of the bytes from `from` on are others; the rest of the file is whole. */
static void damage(uint8_t *bytes, size_t size, size_t from, uint64_t seed)
{
	uint64_t state = seed;
	for (int i = 0; i < 40; i++)
		bytes[from + next_random(&state) % (size - from)] = (uint8_t)next_random(&state);
}

Test(symbols_child, damaged_files_are_survived)
{
	char path[] = "/tmp/hsnap-symbols-XXXXXX";
	size_t size;
	uint8_t *whole = file_bytes(PROGRAM, &size);
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint8_t *bytes = malloc(size);
		memcpy(bytes, whole, size);
		/* Headers too, now and then; else the sections, which are the second half. */
		damage(bytes, size, seed % 5 ? size / 2 : 0, seed);
		FILE *f = fopen(path, "we");
		fwrite(bytes, 1, seed % 7 ? size : size / 2, f);
		fclose(f);
		free(bytes);
		struct hsnap_target *target = files_target();
		files_add(target, path, BIAS);
		files_add(target, PROGRAM, BIAS + (1ull << 36));
		struct hsnap_symbols *s = load(target, NULL);
		cr_expect(s->modules.items[2].has_types, "seed %lu: '%s'", (unsigned long)seed, note_of(s, 2));
		hsnap_symbols_destroy(s);
		hsnap_target_close(target);
	}
	unlink(path);
	free(whole);
}

/* --- answers that lie, byte by byte --- */

static void free_all(struct hsnap_symbols *on_the_stack)
{
	struct hsnap_symbols *copy = malloc(sizeof(*copy));
	*copy = *on_the_stack;
	hsnap_symbols_destroy(copy);
}

Test(symbols_child, every_flipped_answer_is_refused_or_sound)
{
	struct hsnap_target *target = files_target();
	files_add(target, PROGRAM, BIAS);
	struct hsnap_symbols *s = load(target, NULL);
	struct hsnap_answer_bytes bytes = { 0 };
	/* As the child sends it: module 1's symbols, with modules[0] about it. */
	s->modules.items[0] = s->modules.items[1];
	cr_assert(hsnap_answer_write(s, &bytes));
	unsigned refused = 0;
	for (size_t i = 0; i < bytes.num; i += 3) {
		struct hsnap_symbols into = { 0 };
		struct hsnap_error err;
		hsnap_vec_push(&into.types, (struct hsnap_dtype){ 0 });
		hsnap_vec_push(&into.modules, (struct hsnap_dmodule){ 0 });
		hsnap_vec_push(&into.modules, (struct hsnap_dmodule){ 0 });
		bytes.items[i] ^= 0x15;
		enum hsnap_code code = hsnap_answer_merge(bytes.items, bytes.num, target, 1, 0, 0, &into, &err);
		bytes.items[i] ^= 0x15;
		refused += code != HSNAP_OK;
		cr_assert(code == HSNAP_OK || code == HSNAP_FORMAT);
		cr_assert(code == HSNAP_OK || into.types.num == 1, "byte %zu: refused, and yet it left types", i);
		for (size_t t = 0; t < into.types.num; t++) {
			const struct hsnap_dtype *type = &into.types.items[t];
			cr_assert_lt(type->target, into.types.num);
			cr_assert(!type->num_members || type->first_member + type->num_members <= into.members.num);
		}
		for (size_t m = 0; m < into.members.num; m++)
			cr_assert_lt(into.members.items[m].type, into.types.num);
		free_all(&into);
	}
	cr_expect_gt(refused, 50, "only %u of the flips were noticed", refused);
	hsnap_vec_deinit(&bytes);
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

/* struct a { struct b x; }; struct b { struct a y; }; cannot be. */
Test(symbols_child, types_that_contain_themselves_are_refused)
{
	for (unsigned pointer = 0; pointer < 2; pointer++) {
		struct hsnap_symbols lie = { 0 }, into = { 0 };
		struct hsnap_answer_bytes bytes = { 0 };
		struct hsnap_error err;
		struct hsnap_target *target = files_target();
		files_add(target, PROGRAM, BIAS);
		hsnap_strings_add(&lie.strings, "");
		hsnap_vec_push(&lie.modules, (struct hsnap_dmodule){ .has_types = true });
		hsnap_vec_push(&lie.types, (struct hsnap_dtype){ 0 });
		for (unsigned i = 0; i < 2; i++)
			hsnap_vec_push(&lie.types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_STRUCT, .size = 8, .first_member = i,
									 .num_members = 1 });
		hsnap_vec_push(&lie.members, (struct hsnap_dmember){ .type = 2 });
		hsnap_vec_push(&lie.members, (struct hsnap_dmember){ .type = pointer ? 3 : 1 });
		hsnap_vec_push(&lie.types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_POINTER, .size = 8, .target = 1 });
		cr_assert(hsnap_answer_write(&lie, &bytes));
		hsnap_vec_push(&into.types, (struct hsnap_dtype){ 0 });
		hsnap_vec_push(&into.modules, (struct hsnap_dmodule){ 0 });
		hsnap_vec_push(&into.modules, (struct hsnap_dmodule){ 0 });
		/* Through a pointer it is an ordinary list. */
		cr_expect_eq(hsnap_answer_merge(bytes.items, bytes.num, target, 1, 0, 0, &into, &err),
			     pointer ? HSNAP_OK : HSNAP_FORMAT);
		free_all(&lie);
		free_all(&into);
		hsnap_vec_deinit(&bytes);
		hsnap_target_close(target);
	}
}
