#!/bin/sh
# SPDX-License-Identifier: MIT
# kin.sh - objects behind the header of a malloc of the program's own, and ones that only a list through their middle
# leads to: both have their names, with and without the agent.
. "$(dirname "$0")/lib.sh"

# row TYPE CONFIDENCE COUNT - such a row there is, and all its blocks are as sure.
row() {
	test -s show.json || return 1
	jq -e --arg type "$1" --arg sure "$2" --argjson count "$3" 'any(.types[]; (.type // .label) == $type and .count == $count
		and .confidence == $sure and .state == "live")' show.json || { jq -c '.types[] | [.type, .label, .confidence, .count]' show.json; return 1; }
}

for way in plain agent; do
	for header in 0 8 16; do
		run=
		[ $way = plain ] || run="$HEAPSNAP run --"
		start $run "$FIXTURES/kin/kin" $header
		read -r line <&8
		"$HEAPSNAP" take --quiet -p "$service" -o s.snap --force >out 2>err || fail "take" err
		stop
		"$HEAPSNAP" show --json s.snap >show.json
		# Who made a block says what it is where it is known that the wrapper only put a header before it.
		sure=proved inferred=inferred
		[ $way$header = agent8 ] || [ $way$header = agent16 ] && sure=exact inferred=exact
		name="header of $header bytes, $way:"
		check "$name entries" row entry $sure 2000
		check "$name sessions" row session $sure 2000
		check "$name jobs" row job $inferred 500
		check "$name their texts" row "char[] in job.title" "${inferred%exact}$([ $sure != exact ] || echo proved)" 500
		check "$name none is called by the node in it" jq -e 'all(.types[]; .type != "link" and .type != "link[]")' show.json
		"$HEAPSNAP" why session s.snap >why.txt 2>err || fail "why" err
		check "$name members are told" grep -Eq '\.session .*session' why.txt
	done
done
finish
