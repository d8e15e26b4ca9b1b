#!/bin/sh
# SPDX-License-Identifier: MIT
# cgroup.sh - inside the cgroup of its target heapsnap captures it or refuses; nobody is ever killed.
. "$(dirname "$0")/lib.sh"

# fill_to PERCENT - set the limit so that what is used now is that much of it.
fill_to() {
	echo $(($(cat "$cgroup/$usage") / $1 * 100)) >"$cgroup/$limit"
}

nobody_was_killed() {
	cat "$cgroup/$events"
	grep -q '^oom_kill 0$' "$cgroup/$events"
}

# What a refusal for want of room says.
needs='(needs [0-9]+ MiB( beside the scratch file| more)?|gave up with [0-9]+ MiB in use), this cgroup has [0-9]+ of [0-9]+ MiB left'

# take_inside OPTION… - one take: it succeeds, or refuses with that line and leaves nothing.
taken=0 refused=0
take_inside() {
	rm -f inside.snap
	inside "$HEAPSNAP" take --quiet -p "$service" -o inside.snap "$@" >take.out 2>take.err
	take_status=$?
	if [ $take_status -eq 0 ] && "$HEAPSNAP" show inside.snap >show.out 2>>take.err; then
		taken=$((taken + 1))
		return 0
	fi
	if [ $take_status -eq 3 ] && [ ! -e inside.snap ] &&
		grep -Eq "^heapsnap: cannot take pid $service \(bookstore\): $needs\$" take.err &&
		grep -q '^hint: take it from outside (the node, an ephemeral container)' take.err; then
		refused=$((refused + 1))
		return 0
	fi
	echo "exit status $take_status of take $*" >>take.err
	return 1
}

if ! make_cgroup; then
	skip "a full cgroup" "no memory cgroup can be made here"
	finish
fi
disk=$here # where the sources are; /tmp may be in memory
[ -w "$disk" ] || disk=.
start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
serve 3000 before || finish
check "from outside it works" "$HEAPSNAP" take --quiet -p "$service" -o before.snap

fill_to 95
expect "full to 95 %: refused, and what to do" 3 \
	'^hint: take it from outside \(the node, an ephemeral container\), or work on disk: --scratch DIR$' \
	inside "$HEAPSNAP" take -p "$service" -o none.snap
expect "… with --scratch, which it does not offer again" 3 '^hint: take it from outside \(the node, an ephemeral container\)$' \
	inside "$HEAPSNAP" take -p "$service" -o none.snap --scratch "$disk"
check "… and nothing is written" not test -e none.snap

# met - how often the group came to its limit, and what could be dropped was: version 1 counts it.
met() {
	cat "$cgroup/memory.failcnt" 2>/dev/null || echo 0
}

# Full to so many percent, each way and both places: some fit and some do not.  What is written to the scratch file
# passes through the group's page cache, and is dropped from it.
met_in_memory=0 met_on_disk=0
for percent in 95 80 65 55 50 45 40 35 30 25; do
	fill_to $percent
	for mode in copy auto; do
		for place in "" "--scratch $disk"; do
			# shellcheck disable=SC2086
			met_before=$(met)
			take_inside --freeze=$mode --max-pause 5000 $place || { fail "full to $percent %: --freeze=$mode $place" take.err; break 3; }
			met_now=$(($(met) - met_before))
			[ "$place" ] && met_on_disk=$((met_on_disk + met_now)) || met_in_memory=$((met_in_memory + met_now))
		done
	done
done
echo "# $taken taken, $refused refused; the limit was met $met_in_memory times, with a scratch file $met_on_disk times"
check "40 takes at 95 to 25 %: each succeeds or refuses" test $((taken + refused)) -eq 40
check "… some succeed" test $taken -gt 0
check "… some refuse" test $refused -gt 0
check "nobody was killed for want of memory" nobody_was_killed
check "without a scratch file nobody comes to the limit" test $met_in_memory -eq 0

# It grows while it is captured: the prediction does not hold, the guard does.
fill_to 40
grown=0
while [ $grown -lt 10 ]; do
	echo 400 >&7
	take_inside || { fail "a service that grows meanwhile" take.err; break; }
	await after || break
	fill_to $((40 + grown * 5))
	grown=$((grown + 1))
done
check "a service that grows meanwhile: each take succeeds or refuses" test $grown -eq 10
check "… and nobody was killed" nobody_was_killed

echo max >"$cgroup/$limit" 2>/dev/null || echo -1 >"$cgroup/$limit"
serve 100 after || fail "the service serves on" service.err
check "from outside it works again" "$HEAPSNAP" take --quiet -p "$service" -o after.snap
"$HEAPSNAP" diff --json --top 0 before.snap after.snap >diff.json
check "the service's own truth is right" compare before after diff.json

# Debug info that takes more to read than is left: its names are what is lost, and nobody comes to the limit.
if command -v cc >/dev/null; then
	awk 'BEGIN {
		for (i = 0; i < 20000; i++)
			printf "struct s%d { struct s%d *next; int member_%d; char text[%d]; } *g%d;\n", i, i, i, i % 90 + 1, i
		print "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { g7 = calloc(1, sizeof(*g7)); puts(\"END\");"
		print "fflush(stdout); while (getchar() != EOF) { } }"
	}' >wordy.c
	cc -g -o wordy wordy.c 2>cc.log || fail "cc" cc.log
	stop
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" ./wordy
	await truth || finish
	"$HEAPSNAP" take --quiet -p "$service" -o wordy.snap >/dev/null 2>&1
	check "much debug info, and room: the block has its name" sh -c '"$0" show wordy.snap | grep -q " s7$"' "$HEAPSNAP"
	echo $(($(cat "$cgroup/$usage") + 48 * 1048576)) >"$cgroup/$limit"
	echo 0 >"$cgroup/memory.failcnt" 2>/dev/null
	expect "no room for it: all blocks are there" 0 'all of it was captured' \
		inside "$HEAPSNAP" take -p "$service" -o wordy.snap --force
	"$HEAPSNAP" show wordy.snap >show.out
	check "… and it is told why names are not" grep -Eq \
		'^note +no types for wordy: to read its debug info takes more than the [0-9]+ MiB of memory that are left for that$' show.out
	check "… and the limit was not met" sh -c '[ ! -e "$0" ] || grep -qx 0 "$0"' "$cgroup/memory.failcnt"
	check "… nor anybody killed" nobody_was_killed
	stop
	echo max >"$cgroup/$limit" 2>/dev/null || echo -1 >"$cgroup/$limit"
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
	serve 3000 after || finish
else
	skip "much debug info in a full cgroup" "no cc here"
fi

# Of us two the kernel would take heapsnap.
sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HEAPSNAP" take --quiet -p "$service" -o last.snap >/dev/null 2>&1 &
victim=$!
adjusted=
while [ -z "$adjusted" ] && kill -0 $victim 2>/dev/null; do
	[ "$(cat /proc/$victim/oom_score_adj 2>/dev/null)" != 1000 ] || adjusted=yes
done
wait $victim
check "heapsnap offers itself to the kernel" test -n "$adjusted"
check "the service does not" grep -qx 0 "/proc/$service/oom_score_adj"

# Somebody else takes all there is, at moments spread over a take: the service is the last to go.
fill_to 35
round=0
while [ $round -lt 6 ]; do
	inside "$HEAPSNAP" take --quiet -p "$service" -o last.snap --force >/dev/null 2>&1 &
	victim=$!
	sleep "0.$round"
	inside sh -c 'echo 500 >/proc/self/oom_score_adj; head -c 2000m /dev/zero | tail >/dev/null' 2>/dev/null
	wait $victim
	serve 20 after && grep -q '^TracerPid:	0$' "/proc/$service/status" || { fail "the kernel kills in the cgroup (round $round)" service.err; break; }
	round=$((round + 1))
done
check "the kernel kills in the cgroup, six times: the service lives" test $round -eq 6
check "… and it did kill" not nobody_was_killed
stop
rmdir "$cgroup"
finish
