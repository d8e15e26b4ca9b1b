#!/bin/sh
# SPDX-License-Identifier: MIT
# growth.sh - a clone of a process that fills its cgroup by writing is ended, and the process lives.
#
# Environment: PATIENT, FREEZER, HEAPSNAP.
. "$(dirname "$0")/../../e2e/lib.sh"

# A memory cgroup of our own below the one that we are in, of whichever version there is.
make_cgroup() {
	own=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
	for cgroup in "/sys/fs/cgroup/memory$own/heapsnap-growth-$$" \
		"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/heapsnap-growth-$$"; do
		mkdir "$cgroup" 2>/dev/null || continue
		if [ -w "$cgroup/memory.limit_in_bytes" ]; then
			limit=memory.limit_in_bytes usage=memory.usage_in_bytes
			return 0
		elif [ -w "$cgroup/memory.max" ]; then
			limit=memory.max usage=memory.current
			return 0
		fi
		rmdir "$cgroup"
	done
	return 1
}

# leave_room MIB - beside what it uses.
leave_room() {
	echo $(($(cat "$cgroup/$usage") + $1 * 1048576)) >"$cgroup/$limit"
}

if ! make_cgroup; then
	skip "a cgroup that fills" "no memory cgroup can be made here"
	finish
fi
start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$PATIENT" writer 256
read -r line <&8
leave_room 96
expect "without room for it: refused" 3 \
	'^heapsnap: cannot take pid [0-9]+ \(patient\): it could grow by 2[0-9][0-9] MiB, its cgroup has [0-9]+ of [0-9]+ MiB left$' \
	"$HEAPSNAP" take -p "$service" --freeze clone -o none.snap

# Where that is not asked first, whoever watches ends it.  On a busy machine the copy may be done before the
# process got to write so much: it goes on at the lowest priority, and once is enough.
ended=0 round=0
while [ $ended -eq 0 ] && [ $round -lt 20 ]; do
	nice -n 19 "$FREEZER" "$service" / clone >freezer.out 2>&1
	grep -q '^it wrote so much meanwhile that its cgroup had [0-9]* of [0-9]* MiB left, so the child was ended$' freezer.out &&
		ended=$((ended + 1))
	round=$((round + 1))
done
if [ $ended -gt 0 ]; then pass "the child was ended in time, by round $round"; else fail "the child was ended in time" freezer.out; fi
check "no child is left" sh -c '[ -z "$(cat /proc/$0/task/*/children)" ]' "$service"
exec 7>&-
read -r line <&8
check "it lives, and all that it wrote is there" expr "$line" : 'wrong 0 loops [1-9]'
stop
rmdir "$cgroup"
finish
