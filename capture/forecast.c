/* SPDX-License-Identifier: MIT */
/* forecast.c - what a take of a live process would cost, without taking it. */
#include "capture/capture.h"
#include "capture/freeze/freeze.h"
#include "capture/target/scratch.h"
#include "snapshot/base/cleanup.h"

enum hsnap_code hsnap_capture_forecast(const struct hsnap_take_options *options, struct hsnap_forecast *ret,
				       struct hsnap_error *err)
{
	struct hsnap_proc proc;
	struct hsnap_freeze_options how = {
		.proc = &proc, .pid = options->pid, .mode = options->freeze, .max_pause_ns = options->max_pause_ns,
		.suspend_seccomp = options->suspend_seccomp, .scratch = -1,
	};
	enum hsnap_code code = hsnap_proc_init(&proc, "/", err);
	if (code)
		return code;
	if (options->scratch)
		code = hsnap_scratch_open(options->scratch, &how.scratch, err);
	if (!code)
		code = hsnap_forecast_make(&how, ret, err);
	hsnap_closefdp(&how.scratch);
	hsnap_proc_deinit(&proc);
	return code ? hsnap_context(err, code, "cannot take pid %d", options->pid) : HSNAP_OK;
}
