#!/bin/sh
# SPDX-License-Identifier: MIT
# bookstore.sh PROGRAM - the C bookstore's story, each figure against the program's own books.
. "$(dirname "$0")/lib.sh"
program=$FIXTURES/bookstore/$1

# path FILE ROOT STEP… - all blocks of the type hang on one path, and it is this one.
path() {
	path_file=$1 path_root=$2
	shift 2
	jq -e --arg root "$path_root" --arg want "$*" '
		(.paths | length) == 1 and .unreachable.count == 0 and
		.paths[0].root.kind == "global" and .paths[0].root.name == $root and
		([.paths[0].steps[].via] | join(" ")) == $want and
		.paths[0].weak == false and .paths[0].count == .count and .paths[0].bytes == .bytes' "$path_file" ||
		{ jq -c . "$path_file"; return 1; }
}

start "$HEAPSNAP" run -- "$program"
serve 16604 truth-a && take a.snap || finish
serve 18519 truth-b && take b.snap || finish

"$HEAPSNAP" diff --json a.snap b.snap >diff.json 2>err || fail "diff" err
check "diff says what the program says, to the byte" compare truth-a truth-b diff.json
awk '$4 == "CacheEntry" { $1++ } { print }' truth-b >flipped
check "the comparison notices one block more" not compare truth-a flipped diff.json
awk '/Book.title/ { $2-- } { print }' truth-b >flipped
check "the comparison notices one byte less" not compare truth-a flipped diff.json
awk '$4 == "Receipt" && $3 == "leaked" { $1 -= 1; $2 -= 160 } { print }' truth-b >flipped
check "the comparison notices one leak less" not compare truth-a flipped diff.json

"$HEAPSNAP" show --json b.snap >show.json 2>err || fail "show" err
check "the rows of show add up" adds_up show.json
check "show's sum is what the agent counted" jq -e '.snapshot |
	.heap_count - .no_record == .allocated_count - .freed_count' show.json
check "999 bytes in 1,000 have a name" jq -e '.snapshot.named as $n |
	($n.label + $n.unknown) * 1000 < .snapshot.heap_bytes' show.json

for type in CacheEntry Handler OrderPage Quote Book; do
	"$HEAPSNAP" why --json "$type" b.snap >"why-$type.json" 2>err || fail "why $type" err
done
check "why CacheEntry" path why-CacheEntry.json g_quotes .buckets '[*]' .next .value
check "why Quote" path why-Quote.json g_quotes .buckets '[*]' .next .value .quote
check "why Handler" path why-Handler.json g_events .handlers '[*]'
check "why OrderPage" path why-OrderPage.json g_events .handlers '[*]' .ctx
check "why Book" path why-Book.json g_catalogue .books '[*]'

check "a handler is named by its call site" explain b.snap Handler '.evidence == "site" and .confidence == "exact" and .conflicts == 0 and
	.size == { requested: 40, usable: .size.usable, type: 40, fit: "exact", items: null, rest: 0 } and
	.site[0].function == "hub_subscribe" and .decided_by.function == "hub_subscribe" and .decided_by.variable == "handler" and
	(.decided_by.source | test("^events.c:[0-9]+$")) and .place == null'
check "a key is named by who holds it" explain b.snap 'char[] in DictNode.key' '.evidence == "pointer" and .confidence == "proved" and
	.decided_by == null and .place.kind == "block" and .place.type == "DictNode" and .place.member == ".key" and .place.declared == "char *"'
check "lines are an array" explain b.snap 'PricedLine[]' '.evidence == "site" and .size.fit == "array" and
	.size.items * 80 == .size.requested'

"$HEAPSNAP" leaks --json b.snap >leaks.json 2>err || fail "leaks" err
check "leaks finds receipts and nothing else" jq -e '
	([.groups[].type] | unique) == ["Receipt"] and ([.groups[].heads] | add) as $heads |
	$heads <= 351 and $heads >= 348 and ([.groups[].drags[].count] | add) == $heads and
	.count == 2 * $heads and .bytes == 208 * $heads and all(.groups[]; .cycle | not)' leaks.json
check "leaks says where they were made" jq -e '
	[.groups[0].site[].function] | index("receipt_new") != null and index("price_basket") != null and
	index("main") != null' leaks.json
check "nothing is called a possible leak" jq -e '[.possible.groups[]?, .possible[]?] | length == 0 or
	(map(numbers) | add == 0)' leaks.json
stop

start "$HEAPSNAP" run -- "$program" --fixed
serve 16604 truth-c && take c.snap || finish
serve 18519 truth-d && take d.snap || finish
"$HEAPSNAP" diff --json c.snap d.snap >fixed.json 2>err || fail "diff, repaired" err
check "repaired: the figures are the program's" compare truth-c truth-d fixed.json
check "repaired: nothing grows" jq -e 'all(.types[]; .bytes_delta == 0 and .count_delta == 0)' fixed.json
"$HEAPSNAP" leaks --json d.snap >leaks.json 2>err || fail "leaks, repaired" err
check "repaired: no leaks" jq -e '.count == 0' leaks.json
check "the service ends as it would alone" stop
finish
