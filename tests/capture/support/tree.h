/* SPDX-License-Identifier: MIT */
/* tree.h - a made-up root folder with /proc and /sys files in it. */
#ifndef HSNAP_TESTS_CAPTURE_SUPPORT_TREE_H
#define HSNAP_TESTS_CAPTURE_SUPPORT_TREE_H

#include "capture/proc/proc.h"

/* A fresh folder, opened as `proc`. */
void tree_create(struct hsnap_proc *proc);
/* A file below it; folders are made as needed. */
void tree_write(const struct hsnap_proc *proc, const char *path, const char *text);
void tree_destroy(struct hsnap_proc *proc);

#endif
