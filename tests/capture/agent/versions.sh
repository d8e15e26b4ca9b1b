#!/bin/sh
# SPDX-License-Identifier: MIT
# versions.sh AGENT: it loads with every glibc from 2.26 on.  A version that a libc lacks is the end of the
# program that it was to be loaded into, also where only a weak symbol has it.
set -u
newest=$(readelf -VW "$1" | grep -o 'Name: GLIBC_2\.[0-9]*' | sed 's/.*GLIBC_2\.//' | sort -n | tail -n 1)
[ -n "$newest" ] || { echo "no versions in $1"; exit 1; }
[ "$newest" -le 26 ] || { echo "needs glibc 2.$newest:"; readelf -sW --dyn-syms "$1" | grep "GLIBC_2\.$newest"; exit 1; }
