/* SPDX-License-Identifier: MIT */
/*
 * in_root.h - opening a path as a process with another root sees it.
 *
 * By openat2(RESOLVE_IN_ROOT); where the kernel has none (before 5.6: RHEL 8) or a container's filter
 * forbids it, folder by folder, with every link read and followed by ourselves.
 */
#ifndef HSNAP_CAPTURE_TARGET_IN_ROOT_H
#define HSNAP_CAPTURE_TARGET_IN_ROOT_H

/* An O_PATH descriptor of what the path leads to, links followed and never out of the root; -1 with
 * errno.  `root` is a descriptor of a folder. */
int hsnap_open_in_root(int root, const char *path);

#endif
