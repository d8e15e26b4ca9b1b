#!/bin/sh
# SPDX-License-Identifier: MIT
# killed.sh - whoever dies in the middle of a take, the other one goes on and no half file is left.
. "$(dirname "$0")/lib.sh"
program=$FIXTURES/bookstore/bookstore

# let_go - once whoever clears up after a killed heapsnap is done, nobody traces it, and it has no child.
let_go() {
	let_go_left=100
	while ! grep -q '^TracerPid:	0$' "/proc/$service/status" || [ -n "$(cat "/proc/$service"/task/*/children)" ]; do
		let_go_left=$((let_go_left - 1))
		[ $let_go_left -gt 0 ] || { cat "/proc/$service/status" "/proc/$service"/task/*/children; return 1; }
		sleep 0.1
	done
}

# runs_on - the service is neither stopped nor traced, and still works.
runs_on() {
	grep -q '^TracerPid:	0$' "/proc/$service/status" || { cat "/proc/$service/status"; return 1; }
	grep -q '^State:	[tT]' "/proc/$service/status" && { cat "/proc/$service/status"; return 1; }
	serve 50 truth
}

start "$HEAPSNAP" run -- "$program"
serve 5000 truth || finish
mkdir out
before=$(date +%s%N)
take first.snap || finish
took=$(($(date +%s%N) - before))

# kill_takes NUMBER WAY - heapsnap is killed at so many moments spread over the time that a take needs.
kill_takes() {
	round=0 held=0
	while [ $round -lt "$1" ]; do
		"$HEAPSNAP" take --quiet -p "$service" --freeze "$2" -o out/x.snap >/dev/null 2>&1 &
		victim=$!
		sleep "$(awk -v r=$round -v n="$1" -v ns=$took 'BEGIN { printf "%.4f", r / n * ns / 1e9 }')"
		kill -9 $victim 2>/dev/null
		wait $victim 2>/dev/null
		# The kernel lets go of the target once the tracer is gone; its children may outlive it for a moment.
		{ let_go && runs_on; } >runs_on.out 2>&1 || { fail "heapsnap killed ($2): the service runs on (round $round)" runs_on.out; break; }
		held=$((held + 1))
		[ ! -e out/x.snap ] || { "$HEAPSNAP" show out/x.snap >/dev/null 2>&1 || { fail "heapsnap killed ($2): no half file under the name"; break; }; rm -f out/x.snap; }
		round=$((round + 1))
	done
	[ $held -lt "$1" ] || pass "heapsnap killed at $1 moments ($2): the service runs on, no half file"
}
kill_takes 10 copy
kill_takes 10 precopy
kill_takes 10 clone
take after.snap && pass "a take after that works"

# An interrupt lets the target go first, and says so by its status.
# What a shell starts in the background ignores the signal, unless it is told not to.
env --default-signal=INT "$HEAPSNAP" take --quiet -p "$service" -o out/y.snap >/dev/null 2>err &
victim=$!
sleep 0.1
kill -INT $victim
wait $victim
status=$?
if [ $status -eq 0 ]; then
	skip "interrupted" "the take was done before the signal"
else
	check "interrupted: exit status 130" test $status -eq 130
	check "interrupted: no file" not test -e out/y.snap
fi
check "interrupted: the service runs on" runs_on
stop

# The target dies at moments spread over the take.
round=0 right=0
while [ $round -lt 6 ]; do
	start "$HEAPSNAP" run -- "$program"
	serve 500 truth || finish
	"$HEAPSNAP" take --quiet -p "$service" -o out/z.snap >/dev/null 2>err &
	taker=$!
	sleep "$(awk -v r=$round -v ns=$took 'BEGIN { printf "%.4f", r / 12 * ns / 1e9 }')"
	kill -9 "$service"
	wait $taker
	status=$?
	stop
	case $status in
	0 | 6) "$HEAPSNAP" show out/z.snap >/dev/null 2>err && right=$((right + 1)) || fail "target killed: status $status, but no snapshot" err ;;
	3) [ ! -e out/z.snap ] && grep -q '^heapsnap: cannot take pid' err && right=$((right + 1)) || fail "target killed: status 3 with a file, or no error" err ;;
	*) fail "target killed: exit status $status" err ;;
	esac
	rm -f out/z.snap
	round=$((round + 1))
done
[ $right -lt 6 ] || pass "target killed at 6 moments: a snapshot or the promised error"
check "nothing else is left in the folder" not sh -c 'ls -A out | grep -q "z.snap"'
finish
