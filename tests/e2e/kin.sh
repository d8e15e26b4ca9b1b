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

for case in kin:plain:0 kin:plain:8 kin:plain:16 kin:agent:0 kin:agent:8 kin:agent:16 kin-inlined:agent:8 kin-inlined:agent:16; do
	program=${case%%:*} header=${case##*:} way=${case%:*}
	way=${way#*:} run=
	[ $way = plain ] || run="$HEAPSNAP run --"
	start $run "$FIXTURES/kin/$program" $header
	read -r line <&8
	"$HEAPSNAP" take --quiet -p "$service" -o s.snap --force >out 2>err || fail "take" err
	stop
	"$HEAPSNAP" show --json s.snap >show.json
	# Who made a block says what it is where it is known that the wrapper only put a header before it: where the wrapper
	# is a function.
	sure=proved inferred=inferred
	case $case in kin:agent:8 | kin:agent:16) sure=exact inferred=exact ;; esac
	name="$program, header of $header bytes, $way:"
	check "$name entries" row entry $sure 2000
	check "$name sessions" row session $sure 2000
	check "$name jobs" row job $inferred 500
	check "$name their texts" row "char[] in job.title" "${inferred%exact}$([ $sure != exact ] || echo proved)" 500
	check "$name none is called by the node in it" jq -e 'all(.types[]; .type != "link" and .type != "link[]")' show.json
	"$HEAPSNAP" why session s.snap >why.txt 2>err || fail "why" err
	check "$name members are told" grep -Eq '\.session .*session' why.txt
done
finish
