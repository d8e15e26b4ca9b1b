#!/bin/sh
# SPDX-License-Identifier: MIT
# locks.sh AGENT: no lock in the common path.  The agent is bound to nothing that waits for another thread, and what hands
# out and takes back on glibc has not so much as one locked instruction.
set -u
waits=$(nm -D --undefined-only "$1" | grep -E ' (pthread_(mutex|rwlock|spin|cond|once|barrier)|sem_|mtx_|call_once|__lll|futex)')
[ -z "$waits" ] || { echo "it may wait:"; echo "$waits"; exit 1; }
readelf -hW "$1" | grep -q 'Machine:.*X86-64' || { echo "SKIP: locked instructions are known of x86-64 only"; exit 77; }
objdump -d --no-show-raw-insn "$1" >code.$$ || exit 1
trap 'rm -f code.$$' EXIT
for function in malloc calloc free memalign posix_memalign aligned_alloc _Znwm _Znam _ZdlPv _ZdlPvm; do
	awk -v name="<$function>:" '$2 == name { p = 1; next } /^$/ { p = 0 } p' code.$$ >body.$$
	instructions=$(wc -l <body.$$)
	locked=$(grep -E '[[:space:]](lock[[:space:]]|xchg[[:space:]].*\()' body.$$)
	rm -f body.$$
	[ "$instructions" -ge 10 ] || { echo "$function: $instructions instructions found"; exit 1; }
	[ -z "$locked" ] || { echo "$function:"; echo "$locked"; exit 1; }
done
