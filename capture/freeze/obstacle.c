/* SPDX-License-Identifier: MIT */
/* obstacle.c - sandboxes, kernels and limits that do not bear a way of freezing. */
#include "capture/freeze/obstacle.h"

#include <inttypes.h>
#include <string.h>

#include "capture/freeze/soft.h"

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
		return hsnap_soft_obstacle(options, err);
	return hsnap_injection_obstacle(options, err);
}

/* A child would be the first process of a namespace that the program has made for another. */
static bool makes_a_namespace(const struct hsnap_freeze_options *options)
{
	char own[64], childs[64];
	return hsnap_proc_link(options->proc, own, sizeof(own), "proc/%d/ns/pid", options->pid) &&
	       hsnap_proc_link(options->proc, childs, sizeof(childs), "proc/%d/ns/pid_for_children", options->pid) &&
	       strcmp(own, childs) != 0;
}

/* Each page that the target writes while its copy is read is doubled, in the worst case each one is;
 * under one limit with us our own need comes on top. */
enum hsnap_code hsnap_clone_obstacle(const struct hsnap_freeze_options *options,
				     const struct hsnap_forecast *forecast, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_injection_obstacle(options, err);
	if (code)
		return code;
	if (makes_a_namespace(options))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "its next child is to be the first of a PID namespace");
	const struct hsnap_headroom *ours = &forecast->ours, *theirs = &forecast->theirs;
	bool shared = ours->limit == theirs->limit && ours->cgroup == theirs->cgroup;
	uint64_t growth = forecast->bytes - forecast->shared, need = growth + (shared ? forecast->need : 0);
	if (theirs->limit == UINT64_MAX || need <= theirs->left)
		return HSNAP_OK;
	hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "it could grow by %" PRIu64 " MiB%s, its %s has %" PRIu64 " of %" PRIu64
		   " MiB left", (growth + (1 << 20) - 1) >> 20, shared ? ", with heapsnap beside it" : "",
		   theirs->cgroup ? "cgroup" : "machine", theirs->left >> 20, theirs->limit >> 20);
	return hsnap_hint(err, HSNAP_UNSUPPORTED, "raise its limit for a moment, or another --freeze");
}
