#!/bin/sh
# SPDX-License-Identifier: MIT
# bookstore_cpp.sh PROGRAM - the C++ bookstore's story, each figure against the program's own books.
. "$(dirname "$0")/lib.sh"
program=$FIXTURES/bookstore-cpp/$1

# The program says what a thing is in its source's words; these are the names in its debug info.
names='{
	"PrintedBook": "^(shop::)?PrintedBook$", "AudioBook": "^(shop::)?AudioBook$",
	"PrintedBook.title": "^char\\[\\] in .*PrintedBook.*title", "PrintedBook.blurb": "^char\\[\\] in .*blurb",
	"AudioBook.title": "^char\\[\\] in .*AudioBook.*title",
	"BufferPool.spare": "^char\\[\\] in .*BufferPool.*spare",
	"CacheEntry": "^(shop::)?CacheEntry$", "PricedLine[]": "^(shop::)?PricedLine\\[\\]$",
	"Catalogue.products": "unique_ptr<.*Product.*\\[\\]$", "Catalogue.downloads": "Downloadable ?\\* ?\\[\\]$",
	"EventHub.subscribers": "^std::function<.*\\[\\]$", "EventHub.vacant": "^(long unsigned int|unsigned long)\\[\\]",
	"Handler": "^(shop::)?Handler$", "OrderPage": "^(shop::)?OrderPage( \\(make_shared\\))?$",
	"OrderPage.heading": "^char\\[\\] in .*heading",
	"QuoteCache.entries nodes": "^std::unordered_map<.*CacheEntry.*>::node$",
	"QuoteCache.entries buckets": "_Hash_node_base ?\\* ?\\[\\]$",
	"QuoteCache.entries key": "^char\\[\\] in .*(_Hash_node|node).*first",
	"Receipt": "^(shop::)?Receipt$", "Receipt.text": "^char\\[\\] in .*Receipt.*text"
}'

# path FILE KIND ROOT TYPE… - every path starts at this root and has these types on it, in this order.
path() {
	path_file=$1 path_kind=$2 path_root=$3
	shift 3
	jq -e --arg kind "$path_kind" --arg root "$path_root" --arg want "$*" '
		def in_order($words): reduce .[] as $type ($words;
			if length > 0 and (.[0] as $word | $type | test($word)) then .[1:] else . end) | length == 0;
		.unreachable.count == 0 and (.paths | map(.count) | add) == .count and
		all(.paths[]; .root.kind == $kind and (.root.name | test($root)) and
			([.steps[].type] | in_order($want | split(" "))))' "$path_file" ||
		{ jq -c '.paths[:3]' "$path_file"; return 1; }
}

start "$HEAPSNAP" run -- "$program"
serve 6000 truth-a && take a.snap || finish
serve 9000 truth-b && take b.snap || finish

"$HEAPSNAP" diff --json a.snap b.snap >diff.json 2>err || fail "diff" err
check "diff says what the program says, to the byte" compare truth-a truth-b diff.json
awk '$4 == "Handler" { $1++ } { print }' truth-b >flipped
check "the comparison notices one block more" not compare truth-a flipped diff.json

"$HEAPSNAP" show --json b.snap >show.json 2>err || fail "show" err
check "the rows of show add up" adds_up show.json
check "show's sum is what the agent counted" jq -e '.snapshot |
	.heap_count - .no_record == .allocated_count - .freed_count' show.json
check "99 bytes in 100 have a name" jq -e '.snapshot.named as $n |
	($n.label + $n.unknown) * 100 < .snapshot.heap_bytes' show.json

for type in CacheEntry Handler OrderPage PrintedBook; do
	"$HEAPSNAP" why --json "$type" b.snap >"why-$type.json" 2>err || fail "why $type" err
done
check "why CacheEntry" path why-CacheEntry.json global g_quotes unordered_map CacheEntry
check "why Handler" path why-Handler.json static hub 'function<' Handler
check "why OrderPage" path why-OrderPage.json static hub 'function<' Handler OrderPage
check "why PrintedBook" path why-PrintedBook.json global g_catalogue unique_ptr PrintedBook

check "a book is named by its vtable, and what else is said is its base" explain b.snap shop::PrintedBook '.evidence == "vtable" and
	.confidence == "exact" and .size.fit == "exact" and .conflicts == 0 and
	[.others[] | [.type, .outcome, .place.declared]] == [["shop::Product", "within", "shop::Product *"]]'
check "an array of a container is named by it" explain b.snap 'std::unique_ptr<shop::Product>[]' '
	(.evidence == "container" or (.evidence == "site" and .decided_by.variable == null and
	(.decided_by.function | startswith("std::__new_allocator<")))) and .size.fit == "array"'

"$HEAPSNAP" leaks --json b.snap >leaks.json 2>err || fail "leaks" err
check "leaks finds receipts and nothing else" jq -e '
	all(.groups[]; .type | test("^(shop::)?Receipt$")) and ([.groups[].heads] | add) as $heads |
	$heads <= 150 and $heads >= 147 and .count <= 2 * $heads and .count >= 2 * $heads - 3' leaks.json
check "leaks says where they were made" jq -e '
	[.groups[0].site[].function] | any(test("Checkout::price_basket"))' leaks.json
stop

start "$HEAPSNAP" run -- "$program" --fixed
serve 6000 truth-c && take c.snap || finish
serve 9000 truth-d && take d.snap || finish
"$HEAPSNAP" diff --json c.snap d.snap >fixed.json 2>err || fail "diff, repaired" err
check "repaired: the figures are the program's" compare truth-c truth-d fixed.json
check "repaired: nothing grows" jq -e 'all(.types[]; .bytes_delta == 0 and .count_delta == 0)' fixed.json
"$HEAPSNAP" leaks --json d.snap >leaks.json 2>err || fail "leaks, repaired" err
check "repaired: no leaks" jq -e '.count == 0' leaks.json
check "the service ends as it would alone" stop
finish
