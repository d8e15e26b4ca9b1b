#!/bin/sh
# SPDX-License-Identifier: MIT
# table.sh [README] - the table of what holds of each case, by the marks in its expected.json (case.sh keeps these honest).
# With a README the table that stands in it is compared with this one.
: "${CASES:?the source folder of fixtures/cases}"

table() {
	echo '| case | with the agent | without | what does not hold yet |'
	echo '| --- | --- | --- | --- |'
	for expected in "$CASES"/*/expected*.json; do
		name=$(basename "$(dirname "$expected")")
		case $expected in *expected-*) name="$name $(basename "$expected" .json | sed 's/^expected-//')" ;; esac
		jq -r --arg name "$name" '
			def holds($mode): [.check[] | select(.not_yet | if type == "object" then .[$mode] else . end | not)] | length;
			def why: [.check[].not_yet | select(.) | if type == "object" then .[] else . end] | unique | join("; ");
			"| \($name) | \(holds("agent")) of \(.check | length) | \(holds("plain")) of \(.check | length) | \(why) |"' "$expected"
	done
	jq -rs '[.[].check[]] as $all | def holds($mode): [$all[] | select(.not_yet | if type == "object" then .[$mode] else . end | not)] | length;
		"| all | \(holds("agent")) of \($all | length) | \(holds("plain")) of \($all | length) | |"' "$CASES"/*/expected*.json
}

if [ $# -eq 0 ]; then
	table
elif [ "$(table)" = "$(sed -n '/^| case | with the agent /,/^| all /p' "$1")" ]; then
	echo "ok - the table of cases says what their marks say"
else
	table
	echo "not ok - the table of cases says what their marks say"
	exit 1
fi
