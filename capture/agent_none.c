/* SPDX-License-Identifier: MIT */
/* agent_none.c - in all builds but the single file: no agent is inside. */
#include "capture/agent_inside.h"

const uint8_t hsnap_agent_inside[] = { 0 };
const uint64_t hsnap_agent_inside_size = 0;
