#!/bin/sh
# SPDX-License-Identifier: MIT
# dry_run.sh - take --dry-run and --max-pause: what is promised beforehand is what is done.
. "$(dirname "$0")/lib.sh"
program=$FIXTURES/bookstore/bookstore

# as_nobody COMMAND… - without root's rights.
chmod 755 "$work"
cp "$HEAPSNAP" "$work/heapsnap-nobody"
as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

start "$HEAPSNAP" run -- "$program"
serve 2000 truth || finish

expect "text" 0 '' "$HEAPSNAP" take -p "$service" --dry-run
cp expect.out text
check "text: size and threads" grep -Eq "^bookstore \(pid $service\): [0-9.]+ MiB resident, [0-9]+ threads?; [0-9.]+ MiB to be copied$" text
check "text: memory" grep -Eq '^memory: [0-9.]+ MiB needed at the most; [0-9.]+ [MG]iB of [0-9.]+ [MG]iB are left to (both|heapsnap) \((cgroup|machine)\)' text
for way in precopy copy clone; do
	check "text: $way" grep -Eq "^ *[0-9.]+ ms +(0|[0-9.]+ MiB)   $way( |$)" text
done
check "nothing was written" not sh -c 'ls *.snap'

expect "JSON" 0 '' "$HEAPSNAP" take -p "$service" --dry-run --json
cp expect.out json
check "JSON: its schema and sizes" jq -e --argjson pid "$service" '.schema == "heapsnap.forecast/1" and .pid == $pid and
	.copy_bytes > 1000000 and .need_bytes >= .copy_bytes and .max_pause_ns == 500000000 and .threads >= 1 and
	(.own_room.left_bytes <= .own_room.limit_bytes)' json
check "JSON: each way once, possible or with a reason" jq -e '[.ways[].freeze] == ["precopy", "copy", "clone"] and
	(.ways | all(.possible == (.why_not == null) and .pause_ns > 0))' json
check "JSON: what is chosen is possible" jq -e '.chosen as $c | .ways | any(.freeze == $c and .possible)' json

# The pause that copying takes, on the safe side: less than that is refused before anything is done.
expect "a copy that is too long for --max-pause: exit status 3" 3 \
	'^heapsnap: cannot take pid [0-9]+ \(bookstore\): copy would hold it still for about [0-9]+ ms: --max-pause is 1$' \
	"$HEAPSNAP" take -p "$service" --freeze copy --max-pause 1 --dry-run
check "… and the table stands all the same" grep -q '^it would not be taken$' expect.out
expect "the take says the same" 3 \
	'^heapsnap: cannot take pid [0-9]+ \(bookstore\): copy would hold it still for about [0-9]+ ms: --max-pause is 1$' \
	"$HEAPSNAP" take -p "$service" --freeze copy --max-pause 1 -o none.snap
expect "… and the way on" 3 '^hint: --max-pause [0-9]+' "$HEAPSNAP" take -p "$service" --freeze copy --max-pause 1 -o none.snap
check "… and writes nothing" not test -e none.snap
expect "no limit" 0 '^heapsnap: held still for' "$HEAPSNAP" take -p "$service" --freeze copy --max-pause 0 -o some.snap
check "the mode is in the file" sh -c '"$0" show --json some.snap | jq -e ".snapshot.freeze == \"copy\""' "$HEAPSNAP"

# Nothing is asked of the service between the two: they must find the same.
expect "a clone" 0 '^heapsnap: held still for [0-9.]+ ms \(clone\)' "$HEAPSNAP" take -p "$service" --freeze clone -o clone.snap
check "… finds what a copy finds" sh -c '"$0" diff --json some.snap clone.snap | jq -e ".types | length > 5 and
	all(.bytes_delta == 0 and .count_delta == 0)"' "$HEAPSNAP"
check "… and leaves no child" sh -c '[ -z "$(cat /proc/$0/task/*/children)" ]' "$service"
expect "as somebody else: exit status 3" 3 '^heapsnap: cannot take pid [0-9]+ \(.*\): not permitted' \
	as_nobody "$work/heapsnap-nobody" take -p 1 --dry-run
expect "… and the cure" 3 '^hint: needs CAP_SYS_PTRACE' as_nobody "$work/heapsnap-nobody" take -p 1 --dry-run
expect "a pid that is gone" 3 '^heapsnap: cannot take pid 4194303: no such process' "$HEAPSNAP" take -p 4194303 --dry-run
expect "not of a core" 2 '^heapsnap: cannot take: --dry-run' "$HEAPSNAP" take --core x --dry-run
expect "--json is of --dry-run" 2 '^heapsnap: cannot take: --json' "$HEAPSNAP" take -p "$service" --json
check "the service serves on" serve 50 truth
stop
finish
