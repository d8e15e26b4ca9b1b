#!/bin/sh
# SPDX-License-Identifier: MIT
# types.sh - what a user says with --types names blocks, or is refused before anything is written.
. "$(dirname "$0")/lib.sh"
hidden=$here/../../fixtures/hidden/hidden.types

# rows FILE - each line of the program's truth is a row, named for sure.
rows() {
	awk '{ printf "{\"count\":%d,\"type\":\"%s\"}\n", $1, $4 }' truth >truth.json
	jq -e -s -L "$here" 'include "names";
		.[0].types as $rows | .[1:] | map(. as $want | ([$rows[] | select(row_name == $want.type)] |
			if (map(.count) | add) == $want.count and all(.confidence == "proved" or .confidence == "exact") then empty
			else { want: $want, got: map([.count, .confidence]) } end)) | if . == [] then true else (., false) end' "$1" truth.json
}

# none FILE TYPE… - not one block has that name.
none() {
	none_file=$1
	shift
	for none_type; do
		jq -e --arg type "$none_type" 'all(.types[]; .type != $type)' "$none_file" || return 1
	done
}

# look OPTION… - show.json of the service by a snapshot of its own.
look() {
	"$HEAPSNAP" take --quiet -p "$service" "$@" -o s.snap --force >/dev/null 2>take.err &&
		"$HEAPSNAP" show --json s.snap >show.json
}

# explained TYPE PLACE - that rule names it.
explained() {
	explain s.snap "$1" ".evidence == \"user\" and .rule == \"$2\"" || return 1
	"$HEAPSNAP" why --explain "$explain_at" s.snap | grep -E "^  rule +$2\$"
}

# line PATTERN - "FILE:N" of the first line of hidden.types that matches.
line() {
	echo "$hidden:$(grep -n "$1" "$hidden" | head -n 1 | cut -d: -f1)"
}

for way in plain agent; do
	run=
	[ $way = plain ] || run="$HEAPSNAP run --"
	# shellcheck disable=SC2086
	start $run "$FIXTURES/hidden/hidden"
	await truth || continue
	look && check "$way: without a file nothing tells one from another" none show.json Circle Square Pen Ink Leaf Branch Quota
	check "$way: it can be taken" look --types "$hidden"
	check "$way: all that the file tells of has its name" rows show.json
	[ $way = agent ] || check "the name says which line it rests on" explained Circle "$(line '^Object is Circle')"
	[ $way = agent ] || check "so does an owner's" explained Quota "$(line 'Quota under')"
	"$HEAPSNAP" show -p "$service" --types "$hidden" --json >live.json 2>live.err
	check "$way: show -p takes it as well" rows live.json

	echo 'Item.body holds Ordr' >wrong.types
	expect "$way: a type that is not there is refused" 3 'wrong.types:1: there is no type .Ordr.' \
		"$HEAPSNAP" take -p "$service" --types "$hidden" --types ./wrong.types -o w.snap
	check "$way: with what is spelled nearly so" grep -q "hint: there is a type 'Order'" expect.err
	check "$way: and nothing is written" test ! -e w.snap
	echo 'Item.body holds' >wrong.types
	expect "$way: what is no rule is refused" 2 'wrong.types:1: a type is wanted' \
		"$HEAPSNAP" take -p "$service" --types ./wrong.types -o w.snap
	# Its items' bodies are orders and refunds of 40 bytes; a note has 56.
	printf 'module hidden\n\nItem.body holds Note\n' >wrong.types
	check "$way: a wrong word is taken as one" look --types ./wrong.types
	check "$way: but never against a block's size" jq -e '([.types[] | select(.type == "Note") | .count] | add // 0) | . == 0 or . == 60' show.json
	check "$way: and that is said" jq -e '.snapshot.notes | any(test("wrong.types:3: 120 of 120 blocks have not the size of it"))' show.json
	stop
	check "$way: the program runs to its end" test "$stop_status" -eq 0
done
expect "a name that does not come with heapsnap" 2 "none of that name" "$HEAPSNAP" take -p 1 --types nothing -o w.snap
expect "a file that is not there" 2 "cannot read the types './nothing'" "$HEAPSNAP" take -p 1 --types ./nothing -o w.snap
expect "of no use for a snapshot that is there" 2 'types is of -p PID' "$HEAPSNAP" show --types "$hidden" s.snap
if command -v gcore >/dev/null; then
	start "$FIXTURES/hidden/hidden"
	await truth && gcore -o core "$service" >/dev/null 2>&1
	"$HEAPSNAP" take --quiet --allow-partial --core core.* --types "$hidden" -o c.snap >/dev/null 2>&1
	"$HEAPSNAP" show --json c.snap >show.json
	check "a core is named as well" rows show.json
	stop
else
	skip "a core is named as well" "there is no gcore"
fi
finish
