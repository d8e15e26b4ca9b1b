#!/bin/sh
# SPDX-License-Identifier: MIT
# session.sh - what a user's shell relies on: names of files, stdout and stderr, exit statuses, pipes.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
program=$FIXTURES/traps/trap-planted

# run: the process is the program itself.
check "run: the exit status is the program's" sh -c '"$0" run -- sh -c "exit 7"; [ $? -eq 7 ]' "$HEAPSNAP"
check "run: so is death by a signal" sh -c '"$0" run -- sh -c "kill -TERM \$\$"; [ $? -eq 143 ]' "$HEAPSNAP"
sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$"' "$HEAPSNAP" >pids 2>err
check "run: the pid stays" sh -c '[ "$(sort -u pids | wc -l)" -eq 1 ] && [ "$(wc -l <pids)" -eq 2 ]'
check "run: nothing is printed" test ! -s err
"$HEAPSNAP" run -- cat <"$here/names.jq" >copy 2>err
check "run: stdin and stdout are the program's" cmp copy "$here/names.jq"
for foreign in static asan; do
	"$HEAPSNAP" run -- "$FIXTURES/traps/trap-$foreign" >started 2>err
	check "run: a program that cannot carry the agent ($foreign)" test $? -eq 2
	check "run: … is not started ($foreign)" test ! -s started
	check "run: … says why in one line, and a hint ($foreign)" sh -c '
		[ "$(grep -c "^heapsnap: cannot " err)" -eq 1 ] && [ "$(grep -vc "^hint: " err)" -eq 1 ]'
done

# A closed descriptor is no file of ours: an answer or an error would be written into it.
mkfifo snap
"$HEAPSNAP" show - <snap >&- 2>&- &
reader=$!
exec 9>snap
left=50
until [ "$(readlink "/proc/$reader/exe")" = "$(readlink -f "$HEAPSNAP")" ] || [ $left -eq 0 ]; do left=$((left - 1)); sleep 0.1; done
sleep 0.2
check "closed stdout and stderr: nothing else takes their place" sh -c '
	[ "$(readlink "/proc/$1/fd/1") $(readlink "/proc/$1/fd/2")" = "/ /" ]' - "$reader"
exec 9>&-
wait "$reader"
check "… and what cannot be said has its exit status" test $? -eq 4
"$HEAPSNAP" run -- sh -c 'ls -l /proc/$$/fd >seen' 0<&- 2>&-
check "run: what is closed is closed for the program" sh -c '! grep -Eq " (0|2) -> " seen && grep -q " 1 -> " seen'

start "$HEAPSNAP" run -- "$program"
await truth || finish
path=$("$HEAPSNAP" take -p "$service" 2>err)
check "take: stdout is the path alone" test -f "$path"
check "take: the name says what, who and when" sh -c 'echo "$1" | grep -Eqx "trap-planted-$2-[0-9]{8}T[0-9]{6}Z(-[0-9]+)?\.snap"' - "$path" "$service"
check "take: three lines on stderr" sh -c '[ "$(wc -l <err)" -eq 3 ] && [ "$(grep -c "^heapsnap: " err)" -eq 3 ]'
check "take: how long it was held still" grep -Eq 'held still for [0-9.]+ .?s \(' err
check "take: the file is the user's alone" test "$(stat -c %a "$path")" = 600
one=$("$HEAPSNAP" take --quiet -p "$service")
two=$("$HEAPSNAP" take --quiet -p "$service")
three=$("$HEAPSNAP" take --quiet -p "$service")
check "take: a default name is never taken twice" test "$(printf '%s\n' "$path" "$one" "$two" "$three" | sort -u | wc -l)" -eq 4
"$HEAPSNAP" take --quiet -p "$service" -o q.snap >path 2>err
check "take: --quiet is quiet" sh -c '[ ! -s err ] && grep -qx q.snap path'

"$HEAPSNAP" show >shown 2>err
check "show: the newest without being told" grep -q 'Orphan' shown
check "show: … and says which" grep -Eq 'trap-planted|q\.snap' err
"$HEAPSNAP" take --quiet -p "$service" -o - 2>err | "$HEAPSNAP" show - >shown 2>>err
check "show: through a pipe" grep -q Orphan shown
"$HEAPSNAP" show -p "$service" >shown 2>err
check "show: of a process" grep -q Orphan shown
"$HEAPSNAP" show --csv q.snap >rows.csv 2>err
check "show: --csv has as many columns in every line" awk -F, '
	{ gsub(/"[^"]*"/, "x") } NR == 1 { n = NF } NF != n { exit 1 } END { exit NR < 3 }' rows.csv
"$HEAPSNAP" show --top 1 q.snap >one.txt && "$HEAPSNAP" show --top 0 q.snap >all.txt
check "show: --top is how many rows" test "$(wc -l <one.txt)" -lt "$(wc -l <all.txt)"
check "show: no colour in a file" not grep -q "$(printf '\033')" all.txt
"$HEAPSNAP" why --ascii Wagon q.snap >ascii.txt 2>err
check "why: --ascii is ASCII" sh -c 'grep -q "kept_trains" ascii.txt && ! LC_ALL=C grep -q "[^ -~]" ascii.txt'
"$BLOCKS" q.snap >blocks.txt 2>err
address=$(awk '$4 == "Orphan" { print $1; exit }' blocks.txt)
"$HEAPSNAP" why "${address:-0x1}" q.snap >why.txt 2>err
check "why: by address" grep -q Orphan why.txt
check "leaks: exit status 0 though there are some" "$HEAPSNAP" leaks q.snap
stop

start "$HEAPSNAP" run -- "$FIXTURES/traps/trap-cached"
await truth && take other.snap || finish
"$HEAPSNAP" diff q.snap other.snap >out 2>&1
check "diff: of two programs is refused or said" grep -q trap-cached out
"$HEAPSNAP" leaks other.snap >out 2>&1
check "leaks: none is said in a line" grep -q '^no leaks' out
stop
expect "show: snapshots of two processes, and no choice" 2 . "$HEAPSNAP" show
finish
