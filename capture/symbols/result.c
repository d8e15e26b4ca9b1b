/* SPDX-License-Identifier: MIT */
#include "capture/symbols/pcs.h"
void hsnap_result_answer(struct hsnap_reader *reader, hsnap_die_key function, uint64_t low, uint64_t high,
			 uint64_t address, struct hsnap_dpc *pc)
{ (void)reader;(void)function;(void)low;(void)high;(void)address;(void)pc; }
