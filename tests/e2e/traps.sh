#!/bin/sh
# SPDX-License-Identifier: MIT
# traps.sh - no false leaks, no free block called live, and planted leaks found.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"

# snapshot_of COMMAND… - take t.snap of it, waiting for it to be ready; leaves show.json and leaks.json.
snapshot_of() {
	rm -f t.snap
	start "$HEAPSNAP" run -- "$@"
	await truth && take t.snap || return 1
	stop
	"$HEAPSNAP" show --json t.snap >show.json && "$HEAPSNAP" leaks --json t.snap >leaks.json
}

no_leaks() {
	jq -e '.count == 0 and .bytes == 0' leaks.json || { cat leaks.json; return 1; }
}

# counted TYPE COUNT BYTES - live, unreachable and possible together.
counted() {
	jq -e -L "$here" --arg type "$1" --argjson count "$2" --argjson bytes "$3" 'include "names";
		[.types[] | select(row_name == $type)] |
		(map(.count) | add) == $count and (map(.bytes) | add) == $bytes' show.json ||
		{ jq -c '.types[] | [.type, .label, .state, .count, .bytes]' show.json; return 1; }
}

if snapshot_of "$FIXTURES/traps/trap-cached"; then
	check "full thread caches: no leaks" no_leaks
	# Nine threads with 62 x 7 blocks each would be 3,906; what is live is the loader's and stdio's.
	check "full thread caches: cached blocks are free" jq -e '.snapshot.heap_count < 100' show.json
fi
for way in epoll key pool fibre heap-fibre timer thread-local function-static; do
	snapshot_of "$FIXTURES/traps/trap-held" "$way" || continue
	check "held by $way: no leaks" no_leaks
	check "held by $way: all are counted" counted Connection 40 2560
done
if snapshot_of "$FIXTURES/traps/trap-plugins" "$FIXTURES/traps/trap-first.so" "$FIXTURES/traps/trap-second.so"; then
	check "plugins: one that came later names its own objects" counted Second 40 2240
	check "plugins: and nothing of who was there before" jq -e '
		[.types[] | select(.type == "First")] == [] and ([.types[] | select(.type == null) | .bytes] | add) >= 2240' show.json
	check "plugins: no leaks" no_leaks
fi

# planted TYPE COUNT SIZE - up to three fewer, never one more.
planted() {
	jq -e -L "$here" --arg type "$1" --argjson count "$2" --argjson size "$3" 'include "names";
		[.types[] | select(row_name == $type and .state == "unreachable")] |
		(map(.count) | add) as $n | $n <= $count and $n >= $count - 3 and (map(.bytes) | add) == $n * $size' show.json ||
		{ jq -c '.types[] | [.type, .label, .state, .count, .bytes]' show.json; return 1; }
}
if snapshot_of "$FIXTURES/traps/trap-planted"; then
	check "planted: orphans" planted Orphan 1000 80
	check "planted: their names" planted 'char[] in Orphan.name' 1000 40
	check "planted: rings" planted Link 1000 56
	check "planted: trains" planted Train 100 120
	# One stale word that holds a train's middle holds ten wagons.
	check "planted: wagons, ten a train" jq -e '[.types[] | select(.type == "Wagon" and .state == "unreachable").count] |
		add <= 1000 and add >= 970' show.json
	check "planted: nothing of another type" jq -e -L "$here" 'include "names";
		[.types[] | select(.state == "unreachable") | row_name] - ["Orphan", "char[] in Orphan.name", "Link", "Train", "Wagon"] == []' show.json
	check "planted: a ring is a cycle, its two links one group with 500 heads or fewer" jq -e '
		[.groups[] | select(.type == "Link")] | length > 0 and all(.cycle) and (map(.count) | add) <= 1000' leaks.json
	check "planted: a train drags its wagons" jq -e '
		[.groups[] | select(.type == "Train").drags[] | select(.type == "Wagon").count] | add >= 970' leaks.json
fi
# What libc keeps of the three threads that ended is no leak of the program's.
if snapshot_of "$FIXTURES/traps/trap-lost"; then
	check "lost: 540 leaks, three fewer of each kind at most" jq -e '.count <= 540 and .count >= 513' leaks.json
	"$BLOCKS" t.snap unreachable >lost.txt
	check "lost: each is of a size that was planted" awk '
		$2 !~ /^(24|3000|400000|696|1512|264|296|328|232)$/ { print; bad = 1 } END { exit bad || NR < 513 }' lost.txt
fi
finish
