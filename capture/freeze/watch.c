/* SPDX-License-Identifier: MIT */
/* watch.c - opened there, used here. */
#include "capture/freeze/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/freeze/inject.h"
#include "capture/freeze/step.h"

/* linux/userfaultfd.h of Linux 6.7. */
#define USER_MODE_ONLY 1
#define API 0xAA
#define FEATURE_WP_ASYNC ((uint64_t)1 << 15)
#define MODE_WP ((uint64_t)1 << 1)
struct api_arg {
	uint64_t api, features, ioctls;
};
struct register_arg {
	uint64_t start, len, mode, ioctls;
};
#define API_IOCTL _IOWR(API, 0x3f, struct api_arg)
#define REGISTER_IOCTL _IOWR(API, 0x00, struct register_arg)

struct opening {
	int pidfd;
	int64_t opened; /* number in the target, or -errno */
	int taken;      /* ours, or -errno */
};

static void open_there(void *context, struct hsnap_borrowed *borrowed)
{
	struct opening *opening = context;
	const uint64_t flags = O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY;
	opening->opened = hsnap_borrowed_call(borrowed, "userfaultfd", SYS_userfaultfd, (uint64_t[6]){ flags });
	if (opening->opened < 0)
		return;
	int taken = (int)syscall(SYS_pidfd_getfd, opening->pidfd, (int)opening->opened, 0);
	opening->taken = taken < 0 ? -errno : taken;
	hsnap_step("descriptor-taken");
	(void)hsnap_borrowed_call(borrowed, "close", SYS_close, (uint64_t[6]){ (uint64_t)opening->opened });
}

static enum hsnap_code inject(struct hsnap_watch *watch, const struct hsnap_freeze_options *options,
			      struct opening *opening, struct hsnap_error *err)
{
	struct hsnap_lender lender;
	enum hsnap_code code = hsnap_lender_init(&lender, options->proc, options->pid, options->suspend_seccomp, err);
	if (!code) {
		struct hsnap_injection injection = {
			.lender = &lender, .interrupted = options->interrupted, .work = open_there, .context = opening,
		};
		code = hsnap_inject(&injection, err);
		watch->pause_ns = injection.pause_ns;
		watch->spent_ns = injection.spent_ns;
	}
	hsnap_lender_deinit(&lender);
	return code;
}

enum hsnap_code hsnap_watch_open(struct hsnap_watch *watch, const struct hsnap_freeze_options *options, int pagemap,
				 struct hsnap_error *err)
{
	*watch = (struct hsnap_watch){ .descriptor = -1, .pagemap = pagemap };
	struct opening opening = { .pidfd = (int)syscall(SYS_pidfd_open, options->pid, 0), .taken = -EBADF };
	if (opening.pidfd < 0)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "cannot watch what it writes: %s", strerror(errno));
	enum hsnap_code code = inject(watch, options, &opening, err);
	close(opening.pidfd);
	if (code)
		return code;
	if (opening.opened < 0)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "cannot watch what it writes: userfaultfd: %s",
				  strerror((int)-opening.opened));
	if (opening.taken < 0)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "cannot watch what it writes: pidfd_getfd: %s",
				  strerror(-opening.taken));
	watch->descriptor = opening.taken;
	struct api_arg api = { .api = API, .features = FEATURE_WP_ASYNC };
	if (ioctl(watch->descriptor, API_IOCTL, &api)) {
		hsnap_watch_close(watch);
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0,
				  "cannot watch what it writes: the kernel has no asynchronous write protection (Linux 6.7)");
	}
	hsnap_step("watch-opened");
	return HSNAP_OK;
}

enum hsnap_code hsnap_watch_mappings(struct hsnap_watch *watch, const struct hsnap_plan *plan, const char *maps,
				     struct hsnap_error *err)
{
	for (struct hsnap_maps_line line; hsnap_maps_next(&maps, &line);) {
		if (!hsnap_plan_can_watch(plan, &line))
			continue;
		struct register_arg arg = { .start = line.start, .len = line.end - line.start, .mode = MODE_WP };
		/* One that is gone meanwhile, or of a kind that cannot be watched, is read in the end. */
		if (ioctl(watch->descriptor, REGISTER_IOCTL, &arg) && errno == EBUSY)
			return hsnap_fail(err, HSNAP_UNSUPPORTED, 0,
					  "cannot watch what it writes: it uses userfaultfd itself");
	}
	hsnap_step("watch-registered");
	return HSNAP_OK;
}

int hsnap_watch_protect(struct hsnap_watch *watch, uint64_t start, uint64_t end, struct hsnap_page_region *regions,
			int max, uint64_t *ret_end)
{
	const uint64_t never = HSNAP_PAGE_FILE | HSNAP_PAGE_ZERO;
	struct hsnap_scan_arg arg = {
		.size = sizeof(arg), .flags = HSNAP_SCAN_PROTECT, .start = start, .end = end,
		.vec = (uint64_t)(uintptr_t)regions, .vec_len = (uint64_t)max,
		.category_inverted = never, .category_mask = never | HSNAP_PAGE_WRITTEN,
		.category_anyof_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED,
		.return_mask = HSNAP_PAGE_WRITTEN,
	};
	int n = ioctl(watch->pagemap, HSNAP_SCAN_IOCTL, &arg);
	*ret_end = arg.walk_end;
	return n;
}

void hsnap_watch_close(struct hsnap_watch *watch)
{
	if (watch->descriptor >= 0)
		close(watch->descriptor);
	watch->descriptor = -1;
}
