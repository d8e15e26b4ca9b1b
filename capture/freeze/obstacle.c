/* SPDX-License-Identifier: MIT */
/* obstacle.c - sandboxes, kernels and limits that do not bear a way of freezing. */
#include "capture/freeze/obstacle.h"

#include <inttypes.h>

#define CAPABILITY_ADMIN 21

enum hsnap_code hsnap_injection_obstacle(const struct hsnap_freeze_options *options, struct hsnap_error *err)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(options->proc, options->pid, &status) || !status.seccomp)
		return HSNAP_OK; /* or gone, which shows soon enough */
	if (!options->suspend_seccomp) {
		hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "it runs under a seccomp filter");
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "--suspend-seccomp (the filter is lifted for the moment of a call)");
	}
	/* linux/kernel/seccomp.c and ptrace.c: the right to, and no filter on whoever lifts one. */
	struct hsnap_proc_status own = { 0 };
	if (hsnap_proc_status_of(options->proc, "self", &own) && (own.seccomp || !(own.effective_caps >> CAPABILITY_ADMIN & 1))) {
		hsnap_fail(err, HSNAP_UNSUPPORTED, 0, own.seccomp ? "its seccomp filter can only be lifted by who has none"
								  : "lifting its seccomp filter is not permitted");
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "needs CAP_SYS_ADMIN and no seccomp filter on heapsnap: the node's root");
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_precopy_obstacle(const struct hsnap_freeze_options *options,
				       const struct hsnap_forecast *forecast, struct hsnap_error *err)
{
	if (!forecast->scan)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "this kernel cannot tell which pages are written to: that came with 6.7");
	return hsnap_injection_obstacle(options, err);
}

/* Each page that the target writes while its copy is read is doubled; in the worst case each one is. */
enum hsnap_code hsnap_clone_obstacle(const struct hsnap_freeze_options *options,
				     const struct hsnap_forecast *forecast, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_injection_obstacle(options, err);
	if (code || forecast->theirs.limit == UINT64_MAX || forecast->bytes <= forecast->theirs.left)
		return code;
	hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "it could grow by %" PRIu64 " MiB, its %s has %" PRIu64 " of %" PRIu64
		   " MiB left", (forecast->bytes + (1 << 20) - 1) >> 20, forecast->theirs.cgroup ? "cgroup" : "machine",
		   forecast->theirs.left >> 20, forecast->theirs.limit >> 20);
	return hsnap_hint(err, HSNAP_UNSUPPORTED, "raise its limit for a moment, or another --freeze");
}
