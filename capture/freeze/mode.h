/* SPDX-License-Identifier: MIT */
/* mode.h - the ways of holding a process still, as a user asks for them. */
#ifndef HSNAP_CAPTURE_FREEZE_MODE_H
#define HSNAP_CAPTURE_FREEZE_MODE_H

enum hsnap_freeze_mode {
	HSNAP_FREEZE_AUTO,    /* precopy where it can be had, else copy where that is short enough, else nothing */
	HSNAP_FREEZE_COPY,    /* stop, copy, go: every kernel */
	HSNAP_FREEZE_PRECOPY, /* copy while it runs, stop for the last dirty pages: Linux 6.7, or soft-dirty bits */
	HSNAP_FREEZE_CLONE,   /* stop, fork, go; read the child: only when asked for */
	HSNAP_NUM_FREEZE_MODES,
};

#endif
