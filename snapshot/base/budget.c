/* SPDX-License-Identifier: MIT */
/* budget.c - the one budget. */
#include "snapshot/base/budget.h"

#include <stdint.h>

#define MIN_STEP ((size_t)1 << 20)
#define MAX_STEP ((size_t)32 << 20)
#define STEP_SHARE 8 /* of what is left: asking costs tenths of a millisecond */

atomic_bool hsnap_budget_closed_;
atomic_size_t hsnap_budget_grown_, hsnap_budget_step_ = MIN_STEP;
static atomic_size_t left = SIZE_MAX;
static hsnap_budget_ask *asked;
static void *asked_context;

void hsnap_budget_watch(hsnap_budget_ask *ask, void *context)
{
	asked = ask;
	asked_context = context;
	hsnap_budget_closed_ = false;
	hsnap_budget_step_ = MIN_STEP;
	left = SIZE_MAX;
}

void hsnap_budget_close(void)
{
	hsnap_budget_closed_ = true;
}

void hsnap_budget_set_left(size_t bytes)
{
	size_t step = bytes / STEP_SHARE;
	left = bytes;
	hsnap_budget_step_ = step < MIN_STEP ? MIN_STEP : step > MAX_STEP ? MAX_STEP : step;
}

size_t hsnap_budget_left(void)
{
	return left;
}

bool hsnap_budget_ask_(size_t bytes)
{
	hsnap_budget_grown_ = 0;
	return !asked || asked(asked_context, bytes);
}
