#!/bin/sh
# SPDX-License-Identifier: MIT
# starved.sh - heapsnap runs out of memory at any point of a take: the target goes on, nothing is left.
. "$(dirname "$0")/lib.sh"

# unharmed - the service is neither stopped nor traced, has no descriptor more, and still works.
unharmed() {
	grep -q '^TracerPid:	0$' "/proc/$service/status" || { cat "/proc/$service/status"; return 1; }
	grep -q '^State:	[tT]' "/proc/$service/status" && { cat "/proc/$service/status"; return 1; }
	[ "$(ls "/proc/$service/fd" | wc -l)" -eq "$descriptors" ] || { ls -l "/proc/$service/fd"; return 1; }
	serve 20 truth
}

# With so many KiB of address space; it may work, or fail as one that says why.
starve() {
	rm -rf out
	mkdir out
	(ulimit -v "$1" && shift && exec "$HEAPSNAP" take --quiet -p "$service" -o out/x.snap --max-pause 5000 "$@") >/dev/null 2>err
	starve_status=$?
	case $starve_status in
	0) "$HEAPSNAP" show out/x.snap >/dev/null 2>>err && worked=$((worked + 1)) ;;
	3 | 5)
		grep -q '^heapsnap: cannot ' err && [ -z "$(ls -A out)" ] && failed=$((failed + 1))
		;;
	127) grep -q 'error while loading\|cannot allocate\|Cannot allocate' err && failed=$((failed + 1)) ;;
	*) false ;;
	esac || { echo "exit status $starve_status with $1 KiB: $(ls out)" >>err; return 1; }
	unharmed >>err 2>&1
}

disk=$here # where the sources are; /tmp may be in memory
[ -w "$disk" ] || disk=.
start "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
serve 2000 truth || finish
descriptors=$(ls "/proc/$service/fd" | wc -l)
for how in --freeze=copy "--freeze=copy --scratch" --freeze=auto "--freeze=auto --scratch"; do
	folder=
	[ "${how%--scratch}" = "$how" ] || folder=$disk
	worked=0 failed=0 right=yes
	# What it needs is about 250 MiB: the threads' stacks are address space too.
	for mib in 8 24 40 56 72 96 128 160 208 256 512 1024; do
		# shellcheck disable=SC2086
		starve $((mib * 1024)) $how $folder || { fail "$how, $mib MiB" err; right=; break; }
	done
	[ -z "$right" ] || pass "$how: 12 takes with 8 to 1,024 MiB, each works ($worked) or says why not ($failed)"
	check "$how: some work, some do not" test $worked -gt 0 -a $failed -gt 0
done
stop
finish
