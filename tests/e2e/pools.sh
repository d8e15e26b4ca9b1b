#!/bin/sh
# SPDX-License-Identifier: MIT
# pools.sh JUDGE - objects in slabs of the program's own: how many there are, who keeps them, which one an address is in;
# and what only seems to be a pool is none; and of millions of them none is left out. The program itself tells where they are.
. "$(dirname "$0")/lib.sh"
judge=${1:?the judge}

# row FILE TYPE CONFIDENCE LEAST MOST - objects of the type.
row() {
	test -s "$1" || return 1
	jq -e --arg type "$2" --arg sure "$3" --argjson least "$4" --argjson most "$5" 'any(.types[]; .type == $type and
		.confidence == $sure and .count >= $least and .count <= $most)' "$1" || { jq -c '.types[] | [.type, .label, .confidence, .count, .items]' "$1"; return 1; }
}

# one_name SHOW… - what may be an array or a pool is the same in all of them, whatever its pointers lead to meanwhile.
one_name() {
	for show; do
		jq -e 'any(.types[]; .type == "arena[]" and .count == 1) and all(.types[]; .label // "" | test("pool of arena") | not) and
			any(.types[]; .label // "" | test("pool of cell")) and all(.types[]; .type != "cell[]")' "$show" ||
			{ jq -c '.types[] | [.type, .label, .confidence, .count, .items]' "$show"; return 1; }
	done
}

for way in plain agent; do
	run=
	[ $way = plain ] || run="$HEAPSNAP run --"
	start $run "$FIXTURES/pools/pools" "$PWD/truth"
	read -r line <&8
	"$HEAPSNAP" take --quiet -p "$service" -o a.snap --force >out 2>err || fail "take" err
	echo >&7
	read -r line <&8
	"$HEAPSNAP" take --quiet -p "$service" -o b.snap --force >out 2>err || fail "take" err
	echo >&7
	read -r line <&8
	"$HEAPSNAP" take --quiet -p "$service" -o c.snap --force >out 2>err || fail "take" err
	stop
	for snap in a b c; do "$HEAPSNAP" show --json $snap.snap >show-$snap.json; done
	check "$way: an array is an array and a pool a pool" one_name show-a.json show-b.json show-c.json
	"$HEAPSNAP" show --expand --json a.snap >expanded.json
	"$HEAPSNAP" show --json a.snap >show.json
	"$HEAPSNAP" diff --expand --json a.snap b.snap >diff.json
	# Four pointers still lead to sessions that were closed, and from there to all that are free: but links say so.
	check "$way: sessions" row expanded.json session proved 3000 3000
	check "$way: items" row expanded.json item proved 5000 5000
	check "$way: bytes and blocks are as without --expand" jq -es '(.[0].types | map(.bytes) | add) == (.[1].types | map(.bytes) | add)' expanded.json show.json
	check "$way: slabs say how many they have" jq -e '[.types[] | select(.label == "pool of session in slab.memory") | .items] | add >= 3000' show.json
	check "$way: two types by turns are no pool" jq -e 'all(.types[]; (.label // "") | test("pool of (red|blue|user)") | not)' show.json
	check "$way: nor are records of all sizes" jq -e 'all(.types[]; (.label // "") | test("pool of record") | not)' show.json
	check "$way: a thousand sessions more" jq -e 'any(.types[]; .type == "session" and .count_delta == 1000)' diff.json
	"$judge" --wrong wrong.txt a.snap truth >report.txt
	check "$way: none is wrong" awk '$1 == "checked" { seen = 1; if ($2 < 8000 || $5) exit 1 } END { exit !seen }' report.txt
	"$HEAPSNAP" why session a.snap >why.txt 2>err || fail "$way: why" err
	check "$way: the table keeps them" grep -Eq 'static g_table' why.txt
	check "$way: one after the other" grep -Eq '\.next ×[0-9].* session' why.txt
	address=$(awk '$3 == "item" { print "0x" $1; exit }' truth)
	"$HEAPSNAP" why "$address" a.snap >one.txt 2>err || fail "$way: why 0x" err
	check "$way: one item and where it is" grep -Eq '^item at 0x[0-9a-f]+, .* into pool of item (in|from) ' one.txt
	"$HEAPSNAP" why --explain "$(printf '0x%x' $((address + 8)))" a.snap >explain.txt 2>err || fail "$way: explain" err
	check "$way: --explain tells which" grep -Eq "object +item at $address, .*\.key" explain.txt
done

start "$FIXTURES/pools/many" 3000000
read -r line <&8
if "$HEAPSNAP" take --quiet -p "$service" -o many.snap >out 2>err; then pass "three million items are no reason to be partial"; else
	fail "three million items: exit status $?" err
fi
# A take that has 200 MiB for itself sees a part of them, and tells so.
if make_cgroup && echo 209715200 >"$cgroup/$limit"; then
	inside "$HEAPSNAP" take --quiet -p "$service" -o few.snap >out 2>err
	few_status=$?
	if [ $few_status -eq 3 ]; then
		skip "in 200 MiB" "this build needs more: $(head -n 1 err)"
	else
		"$HEAPSNAP" show --json few.snap >few.json
		check "in 200 MiB: exit status 6" test $few_status -eq 6
		check "in 200 MiB: how many were looked at" jq -e '([.types[] | select(.label) | .items // 0] | add) as $seen | $seen > 1048575 and
			$seen < 3000000 and any(.snapshot.partial_reasons[]; startswith("of objects within blocks only ") and contains("no memory for more"))' few.json
	fi
else
	skip "with little memory" "no memory cgroup can be made here"
fi
[ ! -d "$cgroup" ] || rmdir "$cgroup"
stop
"$HEAPSNAP" show --expand --json many.snap >expanded.json
check "each of three million items is seen" row expanded.json item proved 3000000 3000000
finish
