/* SPDX-License-Identifier: MIT */
/* live.h - a target whose pages were copied from a process. */
#ifndef HSNAP_CAPTURE_TARGET_LIVE_H
#define HSNAP_CAPTURE_TARGET_LIVE_H

#include "capture/target/copy.h"
#include "capture/target/files.h"
#include "capture/target/target.h"
#include "snapshot/base/error.h"

/**
 * Make a target of what was copied.
 *
 * @param maps  /proc/PID/maps as it was while the pages were copied
 * @param headers_address  where the program headers of the executable lie (AT_PHDR), 0: unknown
 * @param take_copy, take_files  moved from, also on failure
 */
HSNAP_CHECKED enum hsnap_code hsnap_live_create(pid_t pid, const char *maps, uint64_t headers_address,
						struct hsnap_copy *take_copy, struct hsnap_files *take_files,
						struct hsnap_target **ret, struct hsnap_error *err);

/* Fill mappings from the text of maps. */
HSNAP_CHECKED enum hsnap_code hsnap_mappings_parse(struct hsnap_target *target, const char *maps,
						   struct hsnap_error *err);
/* Find the modules among the mappings. */
HSNAP_CHECKED enum hsnap_code hsnap_modules_find(struct hsnap_target *target, uint64_t headers_address,
						 struct hsnap_error *err);

#endif
