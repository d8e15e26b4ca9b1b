/* SPDX-License-Identifier: MIT */
/* failing.h - system calls that fail from now on in this process, by seccomp.  There is no way back. */
#ifndef HSNAP_TESTS_SUPPORT_FAILING_H
#define HSNAP_TESTS_SUPPORT_FAILING_H

#include <stdint.h>

/* The call fails with `error`; ends the program where seccomp is not to be had. */
void fail_call(int call, int error);
/* Only where least <= (argument & mask) <= most, as 32 bits. */
void fail_call_if(int call, int error, unsigned argument, uint32_t mask, uint32_t least, uint32_t most);
/* open() with O_TMPFILE: EOPNOTSUPP, as on file systems that do not have it. */
void fail_nameless_files(void);

#endif
