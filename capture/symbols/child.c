/* SPDX-License-Identifier: MIT */
/* child.c - the parent's side: make a confined child, listen to it, outlive it. */
#include "capture/symbols/child.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/symbols/answer.h"
#include "capture/symbols/confine.h"
#include "snapshot/base/budget.h"
#include "snapshot/base/cleanup.h"

#define MEMORY (UINT64_C(3) << 30)
#define SECONDS 60          /* of wall clock, a module, for a child that has a processor to itself */
#define PATIENCE 4          /* times as long for one that has to share it, and no longer */
#define LEAST_SHARE 16      /* a child that got less than this part of a processor is asleep */
#define LARGE (1 << 20)     /* bytes of an allocation */
#define MAX_LATE 2          /* modules that may take longer */
#define CPU_SECONDS 600     /* all modules of one child */
#define MAX_ANSWER (UINT64_C(1) << 30)
#define MAX_REQUEST 8192

/* One child, while it is listened to. */
struct session {
	const struct hsnap_target *target;
	const struct hsnap_ask *asks;
	size_t num_asks;
	struct hsnap_symbols *symbols;
	struct hsnap_finder *finder;
	int socket;
	pid_t pid;
	uint64_t deadline; /* ns of CLOCK_MONOTONIC */
	uint64_t started, processor_at_start; /* of the module: ns of CLOCK_MONOTONIC, and of the child's processor time */
	unsigned seconds;
	uint32_t next;     /* the module that it is to begin with next */
	uint32_t current;  /* the one it is at, 0: none */
	bool done, timed_out, nonsense;
	bool no_memory;
	uint64_t half, most; /* bytes that the child may use beside files, and at all */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What the child has had of a processor, ns; 0: not to be found out. */
static uint64_t processor_ns(const struct session *s)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(s->pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void start_clock(struct session *s)
{
	s->started = now_ns();
	s->processor_at_start = processor_ns(s);
	s->deadline = s->started + s->seconds * UINT64_C(1000000000);
}

/* Too late, but at work, and kept from it by others: where the target itself keeps the machine busy. */
static bool was_held_up(const struct session *s, uint64_t now)
{
	uint64_t limit = s->seconds * UINT64_C(1000000000), used = processor_ns(s) - s->processor_at_start;
	return used < limit && now - s->started < limit * PATIENCE && used >= (now - s->started) / LEAST_SHARE;
}

/* All len bytes before the deadline; false: end, error, or too late. */
static bool receive(struct session *s, void *to, size_t len)
{
	while (len) {
		uint64_t now = now_ns();
		struct pollfd poll_fd = { .fd = s->socket, .events = POLLIN };
		if (now >= s->deadline && was_held_up(s, now)) {
			s->deadline = now + 1000000000;
		} else if (now >= s->deadline) {
			s->timed_out = true;
			return false;
		}
		int ready = poll(&poll_fd, 1, (int)((s->deadline - now) / 1000000) + 1);
		if (ready < 0 && errno != EINTR)
			return false;
		if (ready <= 0)
			continue;
		ssize_t got = recv(s->socket, to, len, MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return false;
		to = (char *)to + got;
		len -= (size_t)got;
	}
	return true;
}

/* A reply of one byte, with a descriptor where there is one; never waits for the child. */
static bool reply(struct session *s, uint8_t answer, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { &answer, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(s->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static bool handle_open(struct session *s, const struct hsnap_message *message)
{
	char payload[MAX_REQUEST];
	struct hsnap_open_request request;
	if (message->size < sizeof(request) || message->size >= sizeof(payload) || message->module != s->current) {
		s->nonsense = true;
		return false;
	}
	if (!receive(s, payload, message->size))
		return false;
	memcpy(&request, payload, sizeof(request));
	payload[message->size] = '\0';
	bool end = false;
	hsnap_auto(closep) int fd = hsnap_finder_open(s->finder, message->module, &request, payload + sizeof(request),
						      message->size - sizeof(request), &end);
	return reply(s, fd >= 0 ? HSNAP_REPLY_FILE : end ? HSNAP_REPLY_END : HSNAP_REPLY_NO, fd);
}

/* Grows with what arrives: a size alone costs nothing. */
static bool receive_answer(struct session *s, uint64_t size, struct hsnap_answer_bytes *ret)
{
	while (ret->num < size) {
		size_t part = size - ret->num < (1 << 20) ? size - ret->num : 1 << 20;
		if (!hsnap_vec_reserve(ret, part)) {
			s->no_memory = true;
			return false;
		}
		if (!receive(s, ret->items + ret->num, part))
			return false;
		ret->num += part;
	}
	return true;
}

static void set_note(struct session *s, uint32_t module, const char *note)
{
	hsnap_string string = hsnap_strings_add(&s->symbols->strings, note);
	if (string == HSNAP_NO_STRING)
		s->no_memory = true;
	else
		s->symbols->modules.items[module] = (struct hsnap_dmodule){ .note = string };
}

static bool handle_answer(struct session *s, const struct hsnap_message *message)
{
	struct hsnap_answer_bytes bytes = { 0 };
	struct hsnap_error err;
	size_t first;
	if (message->module != s->current || message->size > MAX_ANSWER) {
		s->nonsense = true;
		return false;
	}
	bool ok = receive_answer(s, message->size, &bytes);
	if (ok) {
		size_t num = hsnap_child_asks(&s->target->modules.items[s->current], s->asks, s->num_asks, &first);
		enum hsnap_code code = hsnap_answer_merge(bytes.items, bytes.num, s->target, s->current, first, num,
							  s->symbols, &err);
		s->no_memory |= code == HSNAP_NO_MEMORY;
		s->nonsense |= code == HSNAP_FORMAT;
		ok = !code;
	}
	if (ok)
		s->current = 0;
	hsnap_vec_deinit(&bytes);
	return ok;
}

static bool handle_message(struct session *s)
{
	struct hsnap_message message;
	if (!receive(s, &message, sizeof(message)))
		return false;
	switch (message.kind) {
	case HSNAP_MESSAGE_START:
		/* Each module once, and in order. */
		if (s->current || message.module < s->next || message.module >= s->target->modules.num || message.size) {
			s->nonsense = true;
			return false;
		}
		s->current = message.module;
		s->next = message.module + 1;
		start_clock(s);
		return true;
	case HSNAP_MESSAGE_OPEN:
		return s->current && handle_open(s, &message);
	case HSNAP_MESSAGE_ANSWER:
		return s->current && handle_answer(s, &message);
	case HSNAP_MESSAGE_DONE:
		s->done = true;
		return false;
	default:
		s->nonsense = true;
		return false;
	}
}

/* Why it ended before it was done: for the module that it was at, or for all that are left. */
static void note_death(struct session *s, int status)
{
	char note[160];
	bool left = WIFEXITED(status);
	if (s->timed_out)
		snprintf(note, sizeof(note), "the debug info reader took more than %u s", s->seconds);
	else if (s->nonsense)
		snprintf(note, sizeof(note), "the debug info reader's answer makes no sense");
	else if (WIFSIGNALED(status))
		snprintf(note, sizeof(note), "the debug info reader died (signal %d)", WTERMSIG(status));
	else if (left && WEXITSTATUS(status) == HSNAP_CHILD_NO_MEMORY)
		snprintf(note, sizeof(note), "to read its debug info takes more than the %" PRIu64 " MiB of memory that are left for that",
			 (s->half < s->most ? s->half : s->most) >> 20);
	else if (left && WEXITSTATUS(status) == HSNAP_CHILD_UNCONFINED)
		snprintf(note, sizeof(note), "the debug info reader could not be confined");
	else
		snprintf(note, sizeof(note), "the debug info reader died");
	if (s->current) {
		set_note(s, s->current, note);
		return;
	}
	for (; s->next < s->target->modules.num; s->next++)
		set_note(s, s->next, note);
}

static void child_main(const struct session *s, const struct hsnap_child_job *job,
		       const struct hsnap_child_options *options, pid_t parent)
{
	struct hsnap_confine_limits limits = {
		.memory = s->most,
		.data = s->half,
		.cpu_seconds = CPU_SECONDS,
		.descriptors = 16,
	};
	/* What is large goes back as a whole when it is let go, and moves without a copy when it grows. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	hsnap_budget_watch(NULL, NULL); /* who watches does not live here; limits do that */
	if (!hsnap_confine(parent, job->socket, &limits))
		_exit(HSNAP_CHILD_UNCONFINED);
	if (options->body)
		options->body(job);
	else
		hsnap_child_read_modules(job);
	_exit(0);
}

static enum hsnap_code run_one(struct session *s, const struct hsnap_child_options *options, struct hsnap_error *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return hsnap_fail(err, HSNAP_IO, 0, "cannot make a socket for the debug info reader: %s", strerror(errno));
	struct hsnap_child_job job = { s->target, s->asks, s->num_asks, s->next, pair[1], options->wanted };
	pid_t parent = getpid();
	/* The half of what may be used here at all: we ourselves take in what it answers. */
	s->half = hsnap_budget_left() / 2;
	s->most = options->memory ? options->memory : MEMORY;
	s->pid = fork();
	if (!s->pid)
		child_main(s, &job, options, parent);
	close(pair[1]);
	if (s->pid < 0) {
		close(pair[0]);
		return hsnap_fail(err, HSNAP_IO, 0, "cannot start the debug info reader: %s", strerror(errno));
	}
	s->socket = pair[0];
	start_clock(s);
	while (handle_message(s) && !s->no_memory) {
	}
	/* Whatever it still does, nobody listens.  One that is dying keeps the status it dies with. */
	kill(s->pid, SIGKILL);
	close(s->socket);
	int status = 0;
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (!s->done)
		note_death(s, status);
	return s->no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}

enum hsnap_code hsnap_child_run(const struct hsnap_target *target, const struct hsnap_ask *asks, size_t num_asks,
				const struct hsnap_child_options *options, struct hsnap_symbols *symbols,
				struct hsnap_error *err)
{
	struct hsnap_finder finder = { .target = target, .debug_root = options->debug_root ? options->debug_root : "" };
	uint32_t next = 1;
	bool done = false;
	unsigned late = 0;
	/* A new child after each that died, which is at most once a module. */
	while (!done && next < target->modules.num) {
		struct session session = {
			.target = target, .asks = asks, .num_asks = num_asks, .symbols = symbols, .finder = &finder,
			.seconds = options->seconds ? options->seconds : SECONDS, .next = next,
		};
		enum hsnap_code code = run_one(&session, options, err);
		if (code)
			return code;
		done = session.done;
		next = session.next;
		late += session.timed_out;
		/* Files made to keep us waiting do so a few times, not once a module. */
		if (late == MAX_LATE) {
			for (; next < target->modules.num; next++)
				set_note(&session, next, "not read: the debug info reader took too long before");
			return session.no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
		}
	}
	return HSNAP_OK;
}
