#!/bin/sh
# SPDX-License-Identifier: MIT
# cgroup.sh - inside the cgroup of its target heapsnap refuses rather than having it killed.
. "$(dirname "$0")/../../e2e/lib.sh"

# A memory cgroup of our own below the one that we are in, of whichever version there is.
make_cgroup() {
	own=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
	for cgroup in "/sys/fs/cgroup/memory$own/heapsnap-test-$$" \
		"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/heapsnap-test-$$"; do
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

# inside COMMAND… - run it in that cgroup.
inside() {
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"
}

# limit_to PERCENT - of what the service uses.
limit_to() {
	echo $(($(cat "$cgroup/$usage") / 100 * $1)) >"$cgroup/$limit"
}

if ! make_cgroup; then
	skip "a full cgroup" "no memory cgroup can be made here"
	finish
fi
start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
if serve 3000 truth; then
	limit_to 105
	for round in 1 2 3 4 5; do
		expect "full to 95 %: refused, take $round" 3 \
			'^heapsnap: cannot take pid [0-9]+ \(bookstore\): needs [0-9]+ MiB, this cgroup has [0-9]+ of [0-9]+ MiB left$' \
			inside "$HEAPSNAP" take -p "$service" -o none.snap
	done
	expect "… and says what to do" 3 '^hint: take it from outside \(the node, an ephemeral container\), or work on disk: --scratch DIR$' inside "$HEAPSNAP" take -p "$service" -o none.snap
	check "… and writes nothing" not test -e none.snap
	expect "from outside it works" 0 '^heapsnap: all of it was captured' "$HEAPSNAP" take -p "$service" -o outside.snap
	limit_to 500
	expect "with room it works inside" 0 '^heapsnap: all of it was captured' \
		inside "$HEAPSNAP" take -p "$service" -o inside.snap
	check "the service serves on" serve 100 truth
fi
stop
rmdir "$cgroup"
finish
