/* SPDX-License-Identifier: MIT */
/* freeze.c - the way that was asked for, or the best there is. */
#include "capture/freeze/freeze.h"

#include <stdio.h>

#include "capture/freeze/forecast.h"

typedef enum hsnap_code way(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret, struct hsnap_error *err);
static way *const ways[HSNAP_NUM_FREEZE_MODES] = {
	[HSNAP_FREEZE_COPY] = hsnap_freeze_copy,
	[HSNAP_FREEZE_PRECOPY] = hsnap_freeze_precopy,
	[HSNAP_FREEZE_CLONE] = hsnap_freeze_clone,
};

enum hsnap_code hsnap_freeze(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
			     struct hsnap_error *err)
{
	struct hsnap_forecast forecast;
	struct hsnap_error why = { 0 };
	*ret = (struct hsnap_frozen){ 0 };
	enum hsnap_code code = hsnap_forecast_make(options, &forecast, err);
	if (!code)
		code = hsnap_forecast_refuse(&forecast, err);
	if (code)
		return code;
	code = ways[forecast.chosen](options, ret, &why);
	if (code == HSNAP_UNSUPPORTED && options->mode == HSNAP_FREEZE_AUTO && forecast.chosen != HSNAP_FREEZE_COPY) {
		struct hsnap_freeze_options rest = *options;
		rest.spent_ns = ret->spent_ns;
		rest.longest_ns = ret->pause_ns;
		hsnap_forecast_rule_out(&forecast, forecast.chosen, ret->spent_ns, &why);
		code = hsnap_forecast_refuse(&forecast, err);
		if (code)
			return code;
		code = ways[forecast.chosen](&rest, ret, &why);
	}
	if (code && err)
		*err = why;
	if (!code && options->mode == HSNAP_FREEZE_AUTO && forecast.chosen == HSNAP_FREEZE_COPY)
		snprintf(ret->note, sizeof(ret->note), "no precopy: %s", forecast.ways[HSNAP_FREEZE_PRECOPY].why_not);
	return code;
}

void hsnap_frozen_deinit(struct hsnap_frozen *frozen)
{
	hsnap_target_close(frozen->target);
	hsnap_kernel_deinit(&frozen->kernel);
	*frozen = (struct hsnap_frozen){ 0 };
}
