#!/bin/sh
# SPDX-License-Identifier: MIT
# handles.sh - what opaque handles and void members lead to is named by what the code does with them, and what
# it leaves open is not.
. "$(dirname "$0")/lib.sh"

# row TYPE COUNT CONFIDENCE - all blocks of the name, and the least sure of them.
row() {
	jq -e -L "$here" --arg type "$1" --argjson count "$2" --arg confidence "$3" 'include "names";
		[.types[] | select(row_name == $type)] | (map(.count) | add) == $count and all(.confidence == $confidence)' show.json ||
		{ jq -c -L "$here" 'include "names"; .types[] | [row_name, .count, .confidence]' show.json; return 1; }
}

# none TYPE… - not one block has that name.
none() {
	for none_type; do
		jq -e --arg type "$none_type" 'all(.types[]; .type != $type)' show.json || return 1
	done
}

show() {
	await truth && take s.snap && stop && "$HEAPSNAP" show --json s.snap >show.json
}

rm -f s.snap
start "$FIXTURES/handles/handles"
if show; then
	check "handles are what their library takes them for" row CursorState 50 inferred
	check "what hangs on them is as sure as they are" row Page 150 inferred
	check "and so are its bytes" row 'unsigned char[] in Page.bytes' 150 inferred
	check "one table's values are named together" row Session 400 inferred
	check "their texts hang on them" row 'char[] in Session.user' 400 inferred
	check "entries are declared" row Entry 1100 proved
	# Numbers alone: others of the entries' values could be that, too.
	check "values without a pointer stay labels" row '104 bytes in Entry.value' 500 label
	# Order would fit its blocks, Refund its own.
	check "values of two kinds are not told apart by their sizes" none Order Refund Quota
	check "a handle's name says what it rests on" explain s.snap CursorState '.evidence == "alias"'
	check "and so does a table's value" explain s.snap Session '.evidence == "landing"'
fi
rm -f s.snap
start "$HEAPSNAP" run -- "$FIXTURES/handles/handles"
if show; then
	check "agent: the call site goes before all of that" row CursorState 50 exact
	check "agent: sessions" row Session 400 exact
	check "agent: quotas" row Quota 300 exact
	check "agent: orders" row Order 200 exact
	check "agent: refunds" row Refund 200 exact
fi
finish
