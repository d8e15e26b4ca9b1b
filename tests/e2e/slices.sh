#!/bin/sh
# SPDX-License-Identifier: MIT
# slices.sh JUDGE - GLib's containers where GLib cuts small objects out of slabs of its own (before 2.76, as it comes): all
# of them are seen, in slabs or not, and none is called what it is not.
. "$(dirname "$0")/lib.sh"
judge=${1:?the judge}
program=$FIXTURES/containers/containers-glib
[ -x "$program" ] || { skip "GLib's slices" "no GLib here"; finish; }

# all_of TYPE COUNT - objects of the type, wherever they lie.
all_of() {
	jq -e --arg type "$1" --argjson count "$2" '[.types[] | select(.type == $type and (.confidence == "proved" or .confidence == "exact"))
		| .count] | add == $count' expanded.json ||
		{ jq -c '.types[] | [.type, .label, .confidence, .count, .items]' expanded.json; return 1; }
}

for way in plain agent; do
	if [ $way = plain ]; then start "$program" slices; else start "$HEAPSNAP" run -- "$program" slices; fi
	await truth && take $way.snap || finish
	stop
	"$HEAPSNAP" show --expand --json $way.snap >expanded.json
	check "$way: nodes of lists and queues" all_of _GList 2000
	check "$way: nodes of single lists" all_of _GSList 1000
	check "$way: nodes of trees" all_of _GTreeNode 1000
	check "$way: tables" all_of _GHashTable 4
	awk '$1 == "live" && $3 == "_GList" { print substr($2, 3), 24, $3 } $1 == "live" && $3 == "_GSList" { print substr($2, 3), 16, $3 }
		$1 == "live" && $3 == "_GTreeNode" { print substr($2, 3), 40, $3 }
		$1 == "live" && $3 == "_GPtrArray" { print substr($2, 3), 32, $3 }' truth >judged
	"$judge" --wrong wrong.txt $way.snap judged >report.txt
	check "$way: none is wrong" awk '$1 == "checked" { seen = 1; if ($2 < 4000 || $5) exit 1 } END { exit !seen }' report.txt
done
finish
