/* SPDX-License-Identifier: MIT */
/* growth.c - looking at the room of another process. */
#include "capture/freeze/growth.h"

#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/apart.h"
#include "snapshot/base/cleanup.h"

#define CALL_PROCESS_MRELEASE 448 /* Linux 5.15 */
#define LOOK_NS 3000000   /* a look takes a quarter of a millisecond */
#define RESERVE ((uint64_t)64 << 20) /* written in twenty milliseconds by who writes as fast as it can */

uint64_t hsnap_growth_reserve(const struct hsnap_headroom *room)
{
	return room->left / 4 < RESERVE ? room->left / 4 : RESERVE;
}

/* Its memory is free when we are back, though it may wait for a processor to end on. */
static void end_child(const struct hsnap_growth *growth)
{
	hsnap_auto(hsnap_closefdp) int child = (int)syscall(SYS_pidfd_open, growth->child, 0);
	kill(growth->child, SIGKILL); /* it cannot have ended and its number be another's: it is traced */
	if (child >= 0)
		(void)syscall(CALL_PROCESS_MRELEASE, child, 0);
}

/* 0: one table of descriptors; positive: two; negative: the kernel does not tell. */
static long compare_tables(const struct hsnap_growth *growth)
{
	return syscall(SYS_kcmp, growth->pid, growth->child, KCMP_FILES, 0, 0);
}

/* Has the target ended, or another table of descriptors by now?  Where the kernel does not tell tables
 * apart, only its end is seen. */
static bool is_alone(const struct hsnap_growth *growth)
{
	struct pollfd end = { .fd = growth->target, .events = POLLIN };
	return poll(&end, 1, 0) > 0 || (growth->shares && compare_tables(growth) > 0);
}

static void *look(void *argument)
{
	struct hsnap_growth *growth = argument;
	hsnap_apart_hurry();
	while (!growth->done) {
		if (is_alone(growth)) {
			growth->left = true;
			end_child(growth);
			break;
		}
		struct hsnap_headroom room = hsnap_proc_headroom_of(growth->proc, growth->pid);
		if (room.left < growth->reserve) {
			growth->room = room;
			growth->over = true;
			end_child(growth);
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return NULL;
}

bool hsnap_growth_watch(struct hsnap_growth *growth, const struct hsnap_proc *proc, pid_t pid, pid_t child,
			uint64_t reserve)
{
	*growth = (struct hsnap_growth){ .proc = proc, .pid = pid, .child = child, .reserve = reserve };
	growth->target = (int)syscall(SYS_pidfd_open, pid, 0);
	growth->shares = !compare_tables(growth); /* else it is the table of one of its threads */
	if (!pthread_create(&growth->thread, NULL, look, growth))
		return true;
	hsnap_closefdp(&growth->target);
	return false;
}

void hsnap_growth_end(struct hsnap_growth *growth)
{
	growth->done = true;
	pthread_join(growth->thread, NULL);
	hsnap_closefdp(&growth->target);
}
