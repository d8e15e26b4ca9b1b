/* SPDX-License-Identifier: MIT */
/* forbid.h - a seccomp filter as containers have them: one call is answered with an error. */
#ifndef HSNAP_TESTS_CAPTURE_SUPPORT_FORBID_H
#define HSNAP_TESTS_CAPTURE_SUPPORT_FORBID_H

/* For this process, its children and for good; ends the program where that cannot be had. */
void forbid(long call, int error);

#endif
