/* SPDX-License-Identifier: MIT */
/* demangle.c - the demangler in a confined child, name by name; what it says comes back over a socket. */
#include "capture/symbols/demangle.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/symbols/confine.h"
#include "snapshot/base/budget.h"

/* libstdc++, Itanium C++ ABI 3.4 (cxxabi.h is for C++ alone): malloc'ed, or NULL. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

#define MEMORY (UINT64_C(256) << 20)
#define SECONDS 10u   /* of wall clock, all names of one child; of processor time as well */
#define MAX_DEATHS 4u
#define MAX_NAME 32768u
#define MAX_TEXT (UINT64_C(32) << 20) /* bytes of all names together */

struct batch {
	struct hsnap_strings *strings;
	const hsnap_string *names;
	size_t num, done;
	hsnap_string *ret;
	uint64_t text; /* bytes that came */
};

static char *demangle(const char *mangled)
{
	int status = 0;
	return __cxa_demangle(mangled, NULL, NULL, &status);
}

/* --- the child --- */

static void send_all(int socket, const void *bytes, size_t size)
{
	for (const char *at = bytes; size;) {
		ssize_t sent = write(socket, at, size);
		if (sent < 0 && errno != EINTR)
			_exit(1);
		at += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
}

static void child_main(const struct batch *batch, const struct hsnap_demangle_options *options, int socket, pid_t parent)
{
	struct hsnap_confine_limits limits = { .memory = MEMORY, .data = MEMORY, .cpu_seconds = SECONDS };
	hsnap_budget_watch(NULL, NULL); /* who watches does not live here; limits do that */
	if (!hsnap_confine(parent, socket, &limits))
		_exit(1);
	for (size_t i = batch->done; i < batch->num; i++) {
		const char *mangled = hsnap_str(batch->strings, batch->names[i]);
		char *text = options->demangle ? options->demangle(mangled) : demangle(mangled);
		uint32_t size = text && strlen(text) < MAX_NAME ? (uint32_t)strlen(text) : 0;
		send_all(socket, &size, sizeof(size));
		send_all(socket, text, size);
		free(text);
	}
	_exit(0);
}

/* --- the parent --- */

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* All len bytes before the deadline; false: end, error, or too late. */
static bool receive(int socket, void *to, size_t len, uint64_t deadline)
{
	while (len) {
		uint64_t now = now_ms();
		struct pollfd poll_fd = { .fd = socket, .events = POLLIN };
		int ready = now < deadline ? poll(&poll_fd, 1, (int)(deadline - now)) : 0;
		if (!ready || (ready < 0 && errno != EINTR))
			return false;
		ssize_t got = ready > 0 ? recv(socket, to, len, MSG_DONTWAIT) : 0;
		if (ready > 0 && (!got || (got < 0 && errno != EINTR && errno != EAGAIN)))
			return false;
		to = (char *)to + (got > 0 ? got : 0);
		len -= got > 0 ? (size_t)got : 0;
	}
	return true;
}

enum hsnap_code hsnap_demangle_receive(int socket, unsigned milliseconds, struct hsnap_strings *strings,
				       hsnap_string *ret, size_t num, size_t *ret_done, uint64_t *text,
				       struct hsnap_error *err)
{
	uint64_t deadline = now_ms() + milliseconds;
	char name[MAX_NAME];
	uint32_t size;
	for (*ret_done = 0; *ret_done < num; ++*ret_done) {
		if (!receive(socket, &size, sizeof(size), deadline) || size >= MAX_NAME || size > MAX_TEXT - *text ||
		    !receive(socket, name, size, deadline) || memchr(name, '\0', size))
			break;
		hsnap_string string = size ? hsnap_strings_add_len(strings, name, size) : 0;
		if (string == HSNAP_NO_STRING)
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
		ret[*ret_done] = string;
		*text += size;
	}
	return HSNAP_OK;
}

/* *ret_child false: there is none to be had. */
static enum hsnap_code run_one(struct batch *batch, const struct hsnap_demangle_options *options, bool *ret_child,
			       struct hsnap_error *err)
{
	*ret_child = false;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return HSNAP_OK;
	pid_t parent = getpid(), pid = fork();
	if (!pid)
		child_main(batch, options, pair[1], parent);
	close(pair[1]);
	enum hsnap_code code = HSNAP_OK;
	if (pid > 0) {
		size_t done;
		code = hsnap_demangle_receive(pair[0], (options->seconds ? options->seconds : SECONDS) * 1000u, batch->strings,
					      batch->ret + batch->done, batch->num - batch->done, &done, &batch->text, err);
		batch->done += done;
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
	close(pair[0]);
	*ret_child = pid > 0;
	return code;
}

enum hsnap_code hsnap_demangle(struct hsnap_strings *strings, const hsnap_string *names, size_t num,
			       const struct hsnap_demangle_options *options, hsnap_string *ret, struct hsnap_error *err)
{
	struct batch batch = { .strings = strings, .names = names, .num = num, .ret = ret };
	memset(ret, 0, num * sizeof(*ret));
	for (unsigned deaths = 0; batch.done < num && deaths < MAX_DEATHS; deaths++) {
		bool child;
		enum hsnap_code code = run_one(&batch, options, &child, err);
		if (code)
			return code;
		if (!child)
			break;
		batch.done += batch.done < num; /* the one that it died of */
	}
	return HSNAP_OK;
}
