#!/bin/sh
# SPDX-License-Identifier: MIT
# sizes.sh - a place whose labels have a row a size at first and one row later: diff counts what came, and no row
# goes while another comes.
. "$(dirname "$0")/lib.sh"

# of TRUTH - the blocks and bytes that the program has there.
of() {
	awk '$4 == "in" { print $1, $2 }' "$1"
}

for way in plain agent; do
	rm -f few.snap many.snap
	run=
	[ $way = plain ] || run="$HEAPSNAP run --"
	start $run "$FIXTURES/traps/trap-sizes"
	await few && take few.snap && serve 20 many && take many.snap || finish
	stop
	"$HEAPSNAP" show --json few.snap >few.json
	check "$way: few sizes have a row each" jq -e '[.types[] | select(.label // "" | endswith(" in shelf.goods"))] | length == 10' few.json
	"$HEAPSNAP" diff --json few.snap many.snap >diff.json
	check "$way: together they are one row" jq -e '[.types[] | select(.label // "" | endswith("in shelf.goods")) | .label] == ["bytes in shelf.goods"]' diff.json
	set -- $(of few) $(of many)
	check "$way: it grew by what came" jq -e --argjson count "$(($3 - $1))" --argjson least "$(($4 - $2))" --arg way $way '
		.types[] | select(.label == "bytes in shelf.goods") | .count_delta == $count and
		(if $way == "agent" then .bytes_delta == $least else .bytes_delta >= $least and .bytes_delta < $least + 16 * $count end)' diff.json
	check "$way: no row of it shrank" jq -e '[.types[] | select(.bytes_delta < 0)] | length == 0' diff.json
	"$HEAPSNAP" diff --json many.snap few.snap >back.json
	check "$way: and back" jq -e '.types[] | select(.label == "bytes in shelf.goods") | .count_delta == -20' back.json
	"$HEAPSNAP" diff few.snap many.snap >diff.txt
	check "$way: its name is the one for all sizes" grep -Eq ' bytes in shelf\.goods$' diff.txt
	for snap in few many; do
		set -- $(of $snap)
		"$HEAPSNAP" why --json "bytes in shelf.goods" $snap.snap >why.json 2>err
		check "$way: by which both answer ($snap)" jq -e --argjson count "$1" '.count == $count' why.json
	done
done
finish
