/* SPDX-License-Identifier: MIT */
/*
 * obstacle.h - what is known, before anything is tried, to stand against a way of freezing.
 *
 * Each answers HSNAP_OK, or HSNAP_UNSUPPORTED with the reason as message and the cure as hint.
 */
#ifndef HSNAP_CAPTURE_FREEZE_OBSTACLE_H
#define HSNAP_CAPTURE_FREEZE_OBSTACLE_H

#include "capture/freeze/forecast.h"
#include "capture/freeze/freeze.h"

/* A system call cannot be made in the target's name. */
HSNAP_CHECKED enum hsnap_code hsnap_injection_obstacle(const struct hsnap_freeze_options *options,
						       struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_precopy_obstacle(const struct hsnap_freeze_options *options,
						     const struct hsnap_forecast *forecast,
						     struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_clone_obstacle(const struct hsnap_freeze_options *options,
						   const struct hsnap_forecast *forecast, struct hsnap_error *err);

#endif
