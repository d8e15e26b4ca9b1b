/* SPDX-License-Identifier: MIT */
/* budget.c - the one budget. */
#include "snapshot/base/budget.h"

atomic_bool hsnap_budget_closed_;
atomic_size_t hsnap_budget_grown_, hsnap_budget_step_ = HSNAP_BUDGET_STEP;
static hsnap_budget_ask *asked;
static void *asked_context;

void hsnap_budget_watch(hsnap_budget_ask *ask, void *context)
{
	asked = ask;
	asked_context = context;
	hsnap_budget_closed_ = false;
	hsnap_budget_step_ = HSNAP_BUDGET_STEP;
}

void hsnap_budget_close(void)
{
	hsnap_budget_closed_ = true;
}

void hsnap_budget_step(size_t bytes)
{
	hsnap_budget_step_ = bytes;
}

bool hsnap_budget_ask_(size_t bytes)
{
	hsnap_budget_grown_ = 0;
	return !asked || asked(asked_context, bytes);
}
