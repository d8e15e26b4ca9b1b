#!/bin/sh
# SPDX-License-Identifier: MIT
# survival.sh OVERRUNS FORKED CORNERS - what programs do to the agent's records, carried through take, show and leaks: blocks written
# past their end, forked children, memory that a cgroup does not give.  The first three are programs of tests/.
. "$(dirname "$0")/lib.sh"
overruns=$1 forked=$2 corners=$3

fact() {
	jq -r ".snapshot | $1" show.json
}

# --- no block that was written past its end vanishes, nothing behind it is called leaked, and it is said ---

# overrun BY BYTE GAP: tests/e2e/overruns.c says what that is.
overrun() {
	overrun_name="$1 bytes of $2 past the end, of each size"
	start "$HEAPSNAP" run -- "$overruns" "$1" "$2" "$3"
	read -r num damaged <&8
	"$HEAPSNAP" take --quiet -p "$service" -o s.snap --force >/dev/null 2>err
	overrun_status=$?
	"$HEAPSNAP" show --json s.snap >show.json 2>>err
	"$HEAPSNAP" leaks --json s.snap >leaks.json 2>>err
	"$HEAPSNAP" show s.snap >show.txt 2>>err
	stop
	# A thread's cache, which libc made, besides.
	count=$(($(fact .heap_count) - 1))
	# Up to the agent's own eight bytes the walk goes on as if nothing were; beyond them lies the head of the next block.
	check "$overrun_name: exit status" test $overrun_status -eq $((6 * ($1 > 8)))
	if [ "$1 $2" = "16 0" ]; then # the next block's size is only wrong by this
		check "$overrun_name: $num blocks, none vanishes" test $count -ge "$num"
		check "$overrun_name: $damaged are told" test "$(fact .overruns)" -ge "$damaged"
	else
		check "$overrun_name: $num blocks, none vanishes" test $count -eq "$num"
		check "$overrun_name: $damaged are told" test "$(fact .overruns)" -eq "$damaged"
	fi
	check "$overrun_name: also as text" grep -q "blocks written past their end" show.txt
	check "$overrun_name: none is called leaked" jq -e '.count == 0' leaks.json
}
for row in "1 -1 0" "1 0 0" "2 66 0" "4 0 0" "7 66 0" "8 66 0" "8 0 0" "9 66 4" "12 66 4" "16 66 4" "16 0 4" "16 -1 4" "24 66 4" "40 66 9"; do
	# shellcheck disable=SC2086
	overrun $row
done

# --- a forked child ---

# has NAME FILE TYPE COUNT
has() {
	check "$1: $4 $3" jq -e --arg type "$3" --argjson count "$4" '[.types[] | select(.type == $type).count] | add // 0 | . == $count' "$2"
}

start "$HEAPSNAP" run -- "$forked"
read -r child <&8
for who in "$service" "$child"; do
	"$HEAPSNAP" take --quiet -p "$who" -o "$who.snap" >out 2>err || fail "take of $who" err
	"$HEAPSNAP" show --json "$who.snap" >"$who.json"
	cp "$who.json" show.json
	check "$who: with its own number, by the agent" jq -e --argjson pid "$who" '.snapshot | .pid == $pid and .source == "agent"' show.json
	check "$who: its totals are of its own blocks" test \
		$(($(fact .allocated_count) - $(fact .freed_count))) -eq $(($(fact .heap_count) - $(fact .no_record)))
	"$HEAPSNAP" leaks --json "$who.snap" >leaks.json
	check "$who: nothing is leaked" jq -e '.count == 0' leaks.json
done
has "the parent" "$service.json" of_parent 300
has "the parent" "$service.json" of_child 0
has "the child" "$child.json" of_parent 200
has "the child" "$child.json" of_child 200
"$HEAPSNAP" diff --json "$service.snap" "$child.snap" >diff.json 2>err
check "parent and child compared" jq -e '[.types[] | select(.type == "of_parent").count_delta] == [-100]' diff.json
stop

# --- dead arenas, of 2,000 threads at a time ---

waves=2
[ "${HEAPSNAP_TEST_ALL:-no}" = no ] || waves=50
MALLOC_ARENA_MAX=100000 HSNAP_TEST_WAVES=$waves "$HEAPSNAP" run -- "$corners" dead_arenas >out 2>err &
service=$!
left=300
until grep -q '^State:.*stopped' "/proc/$service/status" || [ $((left -= 1)) -eq 0 ]; do sleep 0.1; done
check "dead arenas of $((waves * 2000)) threads: take" "$HEAPSNAP" take --quiet -p "$service" -o dead.snap
"$HEAPSNAP" show --json dead.snap >show.json
echo "# held for $(($(fact .pause_ns) / 1000000)) ms of $(($(fact .elapsed_ns) / 1000000)) ms"
kill -9 "$service"
wait "$service" 2>/dev/null
service=

# --- memory that a cgroup does not give ---

if ! make_cgroup; then
	skip "no memory by a cgroup" "no memory cgroup can be made here"
	finish
fi
end_cgroup() {
	[ -z "$service" ] || kill -9 "$service" 2>/dev/null
	[ -z "$service" ] || wait "$service" 2>/dev/null
	service=
	rmdir "$cgroup"
}
trap 'end_cgroup; leave' EXIT
echo $((64 << 20)) >"$cgroup/$limit"

# The kernel ends who takes too much; with the agent, as without it.
for with in "" "$HEAPSNAP run --"; do
	# shellcheck disable=SC2086
	inside $with "$corners" eats_all >out 2>err
	check "a program that takes more than its cgroup has, ${with:+with }${with:-without the agent}: is killed" test $? -eq 137
done

# Version 1 can let it wait instead until there is more.
if [ "$limit" != memory.limit_in_bytes ] || ! echo 1 >"$cgroup/memory.oom_control" 2>/dev/null; then
	skip "a program that waits for memory" "no memory cgroup of version 1 here"
	finish
fi
# Not by inside(): its PID would be a shell's.
sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$HEAPSNAP" run -- "$corners" eats_all 96 >out 2>err &
service=$!
left=200
until grep -q '^under_oom 1' "$cgroup/memory.oom_control" || [ $((left -= 1)) -eq 0 ]; do sleep 0.1; done
check "a program that waits for memory: it waits" grep -q '^under_oom 1' "$cgroup/memory.oom_control"
timeout 60 "$HEAPSNAP" take --quiet -p "$service" -o waits.snap >out 2>err
check "a program that waits for memory: a take is refused" test $? -eq 3
check "… and says why" grep -q '^heapsnap: cannot take .* does not stop: it is in state D' err
echo $((256 << 20)) >"$cgroup/$limit"
left=200
until grep -q '^State:.*stopped' "/proc/$service/status" || [ $((left -= 1)) -eq 0 ]; do sleep 0.1; done
check "… and goes on" grep -q '^State:.*stopped' "/proc/$service/status"
check "… and is taken" "$HEAPSNAP" take --quiet -p "$service" -o after.snap
"$HEAPSNAP" show --json after.snap >show.json
check "… with its totals right" test $(($(fact .allocated_count) - $(fact .freed_count))) -eq $(($(fact .heap_count) - $(fact .no_record)))
check "… and whole" jq -e '.snapshot.partial == false and .snapshot.heap_bytes > 96000000' show.json
end_cgroup
trap leave EXIT
finish
