#!/bin/sh
# SPDX-License-Identifier: MIT
# leaks.sh - leaks of programs that nobody prepared: none where there are none, and the planted ones as
# LeakSanitizer (another build of the same source) and valgrind (another run) find them.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"

# snapshot_of COMMAND… - take t.snap of it, waiting for it to be ready; leaves show.json and leaks.json.
snapshot_of() {
	rm -f t.snap
	start "$@"
	await truth && take t.snap || return 1
	stop
	"$HEAPSNAP" show --json t.snap >show.json && "$HEAPSNAP" leaks --json t.snap >leaks.json
}

no_leaks() {
	jq -e '.count == 0 and .bytes == 0' leaks.json || { cat leaks.json; return 1; }
}

whole() {
	jq -e '.snapshot | .source == "glibc" and (.partial | not)' show.json || { jq .snapshot show.json; return 1; }
}

if snapshot_of "$FIXTURES/traps/trap-cached"; then
	check "full thread caches: read whole, by glibc's own lists" whole
	check "full thread caches: no leaks" no_leaks
	# Nine threads with 62 x 7 blocks each would be 3,906; what is live is the loader's and stdio's.
	check "full thread caches: cached blocks are free" jq -e '.snapshot.heap_count < 100' show.json
fi
for way in epoll key pool fibre heap-fibre timer thread-local function-static; do
	snapshot_of "$FIXTURES/traps/trap-held" "$way" || continue
	check "held by $way: no leaks" no_leaks
	check "held by $way: all 40 are there" sh -c '[ "$("$0" t.snap | awk "\$2 == 72" | wc -l)" -ge 40 ]' "$BLOCKS"
done

# A forked child of a program with threads has their caches, and nobody else leads to them.
start "${FIXTURES%/*}/tests/capture/alloc/heaps" forked
read -r line <&8
child=$(cat "/proc/$service/task/$service/children") child=${child%% *}
"$HEAPSNAP" take --quiet -p "$child" -o forked.snap >out 2>err || fail "take a forked child" err
"$HEAPSNAP" leaks --json forked.snap >leaks.json
check "a forked child of a program with threads: no leaks" no_leaks
kill "$child" "$service" # it waits for nothing else
stop

# by_size_lsan / by_size_valgrind FILE - "size blocks" lines.
by_size_lsan() {
	awk '/ leak of / { print $4 / $7, $7 }' "$1"
}

by_size_valgrind() {
	sed -nE 's/,//g; s/^==[0-9]+== ([0-9]+ \()?([0-9]+) .*in ([0-9]+) blocks are (definitely|indirectly) lost in .*/\2 \3/p' "$1" |
		awk '{ print $1 / $2, $2 }'
}

# agree - planted, lsan, valgrind (sizes as asked for) and ours (usable sizes): all of a size within three of each
# other, ours never above what was planted and of no other size.  A stale word that holds the middle of a train
# holds ten wagons.
agree() {
	awk '
		function room(size,  chunk) { # usable bytes; a mapping of its own ends on a page
			if (size >= 131072) return int((size + 16 + 4095) / 4096) * 4096 - 16
			chunk = int((size + 8 + 15) / 16) * 16
			return (chunk < 32 ? 32 : chunk) - 8
		}
		function near(a, b, most) { return a - b <= most && b - a <= most }
		FILENAME == "ours" { ours[$1] += $2; sizes[$1] = 1; next }
		{ sum[FILENAME, room($1)] += $2; if (FILENAME == "planted") sizes[room($1)] = 1 }
		END {
			for (size in sizes) {
				p = sum["planted", size]; l = sum["lsan", size]; v = sum["valgrind", size]; o = ours[size]
				most = size == 88 && p == 2000 ? 30 : 3 # wagons, and orphans of the same room
				printf "%8d usable: planted %5d, LeakSanitizer %5d, valgrind %5d, heapsnap %5d\n", size, p, l, v, o
				if (o > p || o < p - most || !near(o, l, most) || !near(o, v, most)) { print "^ differs"; bad = 1 }
			}
			exit bad
		}' planted lsan valgrind ours
}

for trap in planted lost; do
	snapshot_of "$FIXTURES/traps/trap-$trap" || continue
	awk '$3 == "leaked" { print $2 / $1, $1 }' truth >planted
	"$BLOCKS" t.snap unreachable | awk '{ print $2, 1 }' >ours
	"$FIXTURES/traps/trap-$trap-lsan" </dev/null >lsan.out 2>&1
	by_size_lsan lsan.out >lsan
	[ -s lsan ] || fail "$trap: LeakSanitizer runs" lsan.out
	if command -v valgrind >/dev/null; then
		valgrind --leak-check=full --show-leak-kinds=definite,indirect "$FIXTURES/traps/trap-$trap" </dev/null >valgrind.out 2>&1
		by_size_valgrind valgrind.out >valgrind
		[ -s valgrind ] || fail "$trap: valgrind runs" valgrind.out
	else
		skip "$trap: valgrind" "not installed"
		cp lsan valgrind
	fi
	check "$trap: read whole" whole
	check "$trap: LeakSanitizer, valgrind and heapsnap find the same" agree
	cat check.out
done
finish
