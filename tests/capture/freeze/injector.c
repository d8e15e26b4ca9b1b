/* SPDX-License-Identifier: MIT */
/*
 * injector.c - injector PID TIMES [suspend]: have a process open and close an event descriptor, so often.
 *
 * A program of its own, so that a test can kill it at every step.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "capture/freeze/inject.h"

struct answers {
	int64_t parent, opened, closed;
};

static void call(void *context, struct hsnap_borrowed *borrowed)
{
	struct answers *answers = context;
	answers->parent = hsnap_borrowed_call(borrowed, "ask", SYS_getppid, (uint64_t[6]){ 0 });
	answers->opened = hsnap_borrowed_call(borrowed, "open", SYS_eventfd2, (uint64_t[6]){ 0, O_CLOEXEC });
	answers->closed = hsnap_borrowed_call(borrowed, "close", SYS_close, (uint64_t[6]){ (uint64_t)answers->opened });
}

int main(int argc, char **argv)
{
	struct hsnap_proc proc;
	struct hsnap_lender lender;
	struct hsnap_error err = { 0 };
	struct answers answers = { 0 };
	uint64_t longest = 0;
	if (argc < 3 || hsnap_proc_init(&proc, "/", &err))
		return 2;
	for (int left = atoi(argv[2]); left > 0; left--) {
		enum hsnap_code code = hsnap_lender_init(&lender, &proc, atoi(argv[1]), argc > 3, &err);
		struct hsnap_injection injection = { .lender = &lender, .work = call, .context = &answers };
		if (!code)
			code = hsnap_inject(&injection, &err);
		hsnap_lender_deinit(&lender);
		if (code) {
			printf("%s\nhint: %s\n", err.message, err.hint);
			return code == HSNAP_UNSUPPORTED ? 4 : 3;
		}
		if (injection.pause_ns > longest)
			longest = injection.pause_ns;
	}
	printf("parent %ld opened %d closed %ld longest_us %lu\n", answers.parent, answers.opened > 2, answers.closed,
	       longest / 1000);
	hsnap_proc_deinit(&proc);
	return 0;
}
