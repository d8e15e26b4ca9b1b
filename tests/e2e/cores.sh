#!/bin/sh
# SPDX-License-Identifier: MIT
# cores.sh - a core tells what a live take of the same stopped process told, whatever is left out of it.
. "$(dirname "$0")/lib.sh"
program=$FIXTURES/bookstore/bookstore

# Can the kernel write cores into our folder?
read -r pattern </proc/sys/kernel/core_pattern
kernel=yes
case $pattern in
'|'* | */*) kernel="core_pattern is '$pattern', this test needs one that leads to the current folder" ;;
esac
ulimit -c unlimited 2>/dev/null || kernel="the limit on core files cannot be raised (ulimit -c)"
command -v gcore >/dev/null && gcore=yes || gcore="gcore is not here (Debian: gdb)"

# held NAME FILTER COMMAND… - have it work, stop it, and take NAME-live.snap; it stays in $service.
held() {
	held_name=$1
	echo "$2" >/proc/self/coredump_filter
	shift 2
	start "$@"
	serve 5000 truth || return 1
	kill -STOP "$service"
	take "$held_name-live.snap"
}

# dumped FILE - let the stopped service die; its core becomes FILE.
dumped() {
	rm -f core*
	kill -ABRT "$service"
	kill -CONT "$service"
	exec 7>&- 8<&-
	wait "$service" 2>/dev/null
	service=
	for dumped_file in core*; do
		[ -f "$dumped_file" ] || continue
		mv "$dumped_file" "$1"
		return 0
	done
	fail "the kernel wrote no core (pattern '$pattern')"
	return 1
}

# tables SNAP - all that the snapshot says of types, leaks and paths, in one form.
tables() {
	"$HEAPSNAP" show --json --allow-partial "$1" | jq -S 'del(.snapshot)' || return 1
	"$HEAPSNAP" leaks --json --allow-partial "$1" | jq -S 'del(.snapshot)' || return 1
	"$HEAPSNAP" why --json --allow-partial "$2" "$1" | jq -S 'del(.snapshot)'
}

# same NAME TYPE SNAP - the same tables as the live take's.
same() {
	tables "$1-live.snap" "$2" >want && tables "$3" "$2" >got && [ -s want ] && diff want got
}

# One core of each filter.  0x1: private memory alone; 0x33: the default; 0x37: files as well; 0x7f: all.
if [ "$kernel" = yes ]; then
	for filter in 0x1 0x33 0x37 0x7f; do
		held "k$filter" $filter "$HEAPSNAP" run -- "$program" || finish
		dumped "k$filter.core" || finish
		expect "a core of the kernel, filter $filter" 0 'from a core of 20..-..-.. ..:..:.. UTC; 2 threads' \
			"$HEAPSNAP" take --core "k$filter.core" -o "k$filter.snap"
		check "its tables are those of the process, filter $filter" same "k$filter" CacheEntry "k$filter.snap"
	done
	check "nothing is said of a stop" not grep -q 'held still' expect.err
	"$HEAPSNAP" show --json k0x7f.snap >facts.json
	check "the facts are the process's" jq -e '.snapshot | .source == "core" and .comm == "bookstore" and .pid > 0 and
		.pause_ns == 0 and .size_basis == "requested" and (.partial | not)' facts.json
	rm -f k0x1.core k0x33.core k0x37.core k0x7f.core
	held k0x0 0x0 "$HEAPSNAP" run -- "$program" || finish
	dumped k0x0.core || finish
	expect "a core without memory is refused" 3 'there is no memory of the process in it' \
		"$HEAPSNAP" take --core k0x0.core -o none.snap
	check "and how to get a better one is said" grep -q '^hint: .*coredump_filter' expect.err
else
	skip "cores of the kernel" "$kernel"
fi

# unprepared NAME TYPE - what runs as $service, which nobody prepared: a live take against its cores.
unprepared() {
	kill -STOP "$service"
	take "$1-live.snap" || return 1
	[ "$gcore" != yes ] || { gcore -o made "$service" >gcore.log 2>&1 && mv "made.$service" "$1-gcore.core"; }
	[ "$kernel" != yes ] || dumped "$1-kernel.core"
	for unprepared_core in "$1"-*.core; do
		[ -f "$unprepared_core" ] || continue
		expect "$unprepared_core can be read" 0 'from a core of' \
			"$HEAPSNAP" take --force --core "$unprepared_core" -o "$1.snap"
		check "its tables are those of the process, $unprepared_core" same "$1" "$2" "$1.snap"
	done
	[ -z "$service" ] || { kill -9 "$service"; wait "$service" 2>/dev/null; service=; }
}

# C++ objects are known by their vtables, which lie in pages that no core holds; and a static program.
echo 0x33 >/proc/self/coredump_filter
start "$FIXTURES/bookstore-cpp/bookstore-cpp"
serve 2000 truth && unprepared cpp shop::PrintedBook
"$HEAPSNAP" show --json cpp.snap >show.json 2>err || fail "show" err
check "its objects are known by their vtables" jq -e '[.types[] | select(.type == "shop::PrintedBook") |
	.bytes_by_confidence.exact] | add > 0' show.json
start "${FIXTURES%/*}/tests/capture/alloc/heaps-static" mixed
read -r line <&8
unprepared static '*'

# Programs that are not ours.
if [ -x /usr/bin/python3.11 ]; then
	start env PYTHONMALLOC=malloc /usr/bin/python3.11 -c \
		'import sys; x = [{i: str(i) * 3} for i in range(50000)]; print("ready", flush=True); sys.stdin.read()'
	read -r line <&8
	unprepared python '*'
else
	skip "python" "no /usr/bin/python3.11 here"
fi
if [ "$gcore" = yes ] && redis_server && ldd redis-server | grep -q jemalloc; then
	./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' >redis.log 2>&1 &
	service=$!
	sleep 1
	gcore -o redis "$service" >gcore.log 2>&1 || fail "gcore of redis" gcore.log
	expect "a core of redis: jemalloc is told from it, too" 3 "are jemalloc's, which this version cannot walk" \
		"$HEAPSNAP" take --core "redis.$service" -o none.snap
	kill "$service"
	wait "$service" 2>/dev/null
	service=
else
	skip "a core of redis" "no gcore, or no redis-server with jemalloc here"
fi

# A core of the default filter lacks what the process shares by a file: what that alone holds is not known to be leaked.
if [ "$kernel" = yes ]; then
	start "${FIXTURES%/*}/tests/e2e/shares" shared-file
	read -r line <&8
	take shares-live.snap
	"$HEAPSNAP" leaks --json shares-live.snap >leaks.json
	check "a live take knows what shared memory holds" jq -e '.count <= 10' leaks.json
	dumped shares.core || finish
	expect "that a core lacks it is told" 6 'the core lacks 4 KiB of shared memory' \
		"$HEAPSNAP" take --core shares.core -o shares.snap
	"$HEAPSNAP" leaks --allow-partial shares.snap >leaks.out
	check "also where leaks are listed" grep -q '^partial .*what only that holds counts as unreachable' leaks.out
	rm -f shares.core
fi

echo 0x33 >/proc/self/coredump_filter
cp "$program" moving
held g 0x33 "$HEAPSNAP" run -- ./moving || finish
core=
if [ "$gcore" = yes ]; then
	gcore -o g "$service" >gcore.log 2>&1
	mv "g.$service" g.core 2>/dev/null || fail "gcore" gcore.log
	core=g.core
else
	skip "cores of gcore" "$gcore"
fi
if [ "$kernel" = yes ]; then
	dumped gk.core && core=gk.core
else
	kill -9 "$service"
	wait "$service" 2>/dev/null
	service=
fi
[ -n "$core" ] || finish
for file in g.core gk.core; do
	[ -f $file ] || continue
	expect "$file can be read" 0 'all of it was captured' "$HEAPSNAP" take --force --core $file -o g.snap
	check "its tables are those of the process, $file" same g Receipt g.snap
done
sed 's/"count": 5000,/"count": 5001,/' want >flipped
"$HEAPSNAP" diff g-live.snap g.snap >diff.out 2>&1
check "a live take and a core of one process can be compared" not grep -q 'not one process' diff.out
check "the comparison notices a difference" not cmp -s want flipped

# says NAME PATTERN - the head of what.snap has such a line.
says() {
	says_name=$1 says_pattern=$2
	"$HEAPSNAP" show --top 1 what.snap >says.out 2>&1
	check "$says_name" grep -Eq "$says_pattern" says.out
}

# The executable's file may have gone, or be another by now: a path is not believed.
mv moving elsewhere
expect "without the executable's file" 0 '' "$HEAPSNAP" take --quiet --force --core $core -o what.snap
says "which file is missing is said" '^note +moving is not here$'
"$HEAPSNAP" show --json g-live.snap | jq -c '.snapshot | [.heap_count, .heap_bytes]' >want
"$HEAPSNAP" show --json what.snap | jq -c '.snapshot | [.heap_count, .heap_bytes]' >got
check "the blocks are all there" cmp want got
cp "$(command -v ls)" moving
expect "another program in its place" 0 '' "$HEAPSNAP" take --quiet --force --core $core -o what.snap
says "that it is another is said" '^note +moving differs from the one in the core$'
expect "the executable where it is now" 0 '' "$HEAPSNAP" take --quiet --force --core $core --exe elsewhere -o what.snap
check "it is used" same g Receipt what.snap
if command -v strip >/dev/null; then
	strip -o moving elsewhere
	expect "a stripped one in its place" 0 '' "$HEAPSNAP" take --quiet --force --core $core -o what.snap
	says "it is the same build, without debug info" '^note +no types for moving: no debug info'
fi
expect "an executable that is not the core's" 3 "is not the executable that the core is of" \
	"$HEAPSNAP" take --core $core --exe "$(command -v ls)" -o none.snap
expect "an executable that is not there" 3 "nowhere.*No such file" "$HEAPSNAP" take --core $core --exe nowhere -o none.snap

# As far as it goes: at many lengths, and no file under the name asked for where nothing can be had.
size=$(stat -c %s $core)
for share in 0 1 10 40 70 85 99; do
	head -c $((size * share / 100)) $core >cut.core
	rm -f cut.snap
	"$HEAPSNAP" take --core cut.core -o cut.snap >out 2>err
	status=$?
	case $status in
	3) [ ! -e cut.snap ] && { [ $share -eq 0 ] || grep -q 'cut short' err; } ;;
	6) [ -s cut.snap ] && grep -q "cut short: [0-9]* of [0-9]* MiB are there" err && "$HEAPSNAP" show --allow-partial cut.snap >out ;;
	*) false ;;
	esac
	status_fits=$?
	check "cut to $share % of its length: status $status" [ $status_fits -eq 0 ]
done
head -c $((size - 1)) $core >cut.core
expect "the last byte is missing" 6 'cut short' "$HEAPSNAP" take --force --core cut.core --exe elsewhere -o cut.snap
check "and nothing else" same g Receipt cut.snap

# What is no core.
expect "a program is no core" 3 'no core file' "$HEAPSNAP" take --core elsewhere -o none.snap
expect "a folder is no core" 3 'no regular file' "$HEAPSNAP" take --core . -o none.snap
mkfifo pipe
expect "a pipe does not hang it" 3 'no regular file' "$HEAPSNAP" take --core pipe -o none.snap
gzip -c says.out >packed
expect "a packed core is told" 3 'packed with gzip' "$HEAPSNAP" take --core packed -o none.snap
expect "--exe needs --core" 2 'of no use without --core' "$HEAPSNAP" take -p $$ --exe elsewhere
check "nothing was written for what failed" [ ! -e none.snap ]
finish
