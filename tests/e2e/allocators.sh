#!/bin/sh
# SPDX-License-Identifier: MIT
# allocators.sh jemalloc|tcmalloc|mimalloc - programs on another allocator than glibc's, with the agent: the same figures
# as on glibc, to the byte; leaks that were planted, and nothing else.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
case ${1:?which} in
jemalloc) library=libjemalloc.so.2 ;;
tcmalloc) library=libtcmalloc_minimal.so.4 ;;
mimalloc) library=libmimalloc.so.2 ;;
esac
library=$(ldconfig -p | sed -n "s/^[[:space:]]*$library (.*x86-64.*=> //p" | head -n 1)
[ -n "$library" ] || { skip "$1" "it is not installed"; finish; }

# on COMMAND… - start it on this allocator, with the agent.
on() {
	start env LD_PRELOAD="$library" "$HEAPSNAP" run -- "$@"
}

# ---- the bookstore's story ----
for program in bookstore bookstore-cpp; do
	[ -x "$FIXTURES/$program/$program" ] || continue
	rm -f ./*.snap
	on "$FIXTURES/$program/$program"
	serve 16604 truth-a && take a.snap || finish
	serve 18519 truth-b && take b.snap || finish
	stop
	"$HEAPSNAP" show --json b.snap >show.json 2>err || fail "$program: show" err
	check "$program: all of it, by the agent, in requested sizes" jq -e '.snapshot | .source == "agent" and .size_basis == "requested" and
		(.partial | not) and .no_record == 0 and .overruns == 0' show.json
	check "$program: the sum is what the agent counted" jq -e '.snapshot |
		.heap_count == .allocated_count - .freed_count and .heap_bytes == .allocated_bytes - .freed_bytes' show.json
	check "$program: the rows add up" adds_up show.json
	check "$program: 48 bytes of the agent's a live block, at most" jq -e '.snapshot | .account.agent / .heap_count |
		., if . <= 48 then empty else error("too much") end' show.json
	cat check.out
	"$HEAPSNAP" show b.snap >show.txt 2>err && "$HEAPSNAP" diff a.snap b.snap >diff.txt 2>err || fail "$program: show, diff" err
	check "$program: what nobody has counted is not called counted" sh -c \
		'grep -q "the allocator.s own, and free  .*not told apart" show.txt && grep -q "the allocator.s own, and free [+-]" diff.txt &&
		! grep -E "8 bytes a block|free, held|held free" show.txt diff.txt'
	"$HEAPSNAP" diff --json a.snap b.snap >diff.json 2>err || fail "$program: diff" err
	[ "$program" = bookstore ] || continue # the C++ one says what its containers hold: bookstore_cpp.sh compares that
	check "bookstore: diff says what the program says, to the byte" compare truth-a truth-b diff.json
	"$HEAPSNAP" why --json CacheEntry b.snap >why.json 2>err || fail "bookstore: why" err
	check "bookstore: why leads to the one place" jq -e '.unreachable.count == 0 and .paths[0].count >= .count - 1 and
		.paths[0].root.kind == "global" and .paths[0].root.name == "g_quotes" and
		([.paths[0].steps[].via] | join(" ")) == ".buckets [*] .next .value" and .paths[0].weak == false' why.json
	"$HEAPSNAP" leaks --json b.snap >leaks.json 2>err || fail "bookstore: leaks" err
	check "bookstore: receipts leak, with their texts, and nothing else" jq -e '([.groups[].type] | unique) == ["Receipt"] and
		([.groups[].heads] | add) as $heads | $heads <= 351 and $heads >= 348 and .count == 2 * $heads and
		([.possible.groups[]?, .possible[]?] | length == 0 or (map(numbers) | add == 0))' leaks.json
done

# ---- planted leaks beside kept blocks ----

# agree - planted and found, "size blocks" a line, all of a size within three of each other and never more, of no other size.
agree() {
	awk '
		FILENAME == "planted" { planted[$1] += $2; next }
		{ ours[$1] += $2; planted[$1] += 0 }
		END {
			for (size in planted) {
				printf "%8d: planted %5d, found %5d\n", size, planted[size], ours[size]
				if (ours[size] > planted[size] || ours[size] < planted[size] - (planted[size] > 900 ? 30 : 3)) bad = 1
			}
			exit bad
		}' planted ours
}

for trap in planted lost; do
	on "$FIXTURES/traps/trap-$trap"
	rm -f t.snap
	await truth && take t.snap || continue
	stop
	awk '$3 == "leaked" { print $2 / $1, $1 }' truth >planted
	"$BLOCKS" t.snap unreachable | awk '{ print $2, 1 }' >ours
	check "$trap: what leaks is found, what is kept is not called a leak" agree
	cat check.out
done
# Of blocks that have been through the caches of threads, and what only the allocator's variables hold.
for way in preloaded before; do
	case $way in
	preloaded) on "${CACHES:?leaks amid caches}" ;;
	before) start env LD_PRELOAD="${HEAPSNAP_AGENT:?the agent} $library" "$CACHES" ;;
	esac
	rm -f t.snap
	await truth && take t.snap || continue
	stop
	awk '$3 == "leaked" { print $2 / $1, $1 }' truth >planted
	"$BLOCKS" t.snap unreachable | awk '{ print $2, 1 }' >ours
	check "caches, $way: what leaks is found, what is kept is not called a leak" agree
	cat check.out
done
# In front of the agent it serves the program by itself.
start env LD_PRELOAD="$library $HEAPSNAP_AGENT" "$CACHES"
await truth || finish
expect "$1 in front of the agent: it stood aside" 3 "the agent stood aside: malloc comes from ${library##*/}" \
	"$HEAPSNAP" take --allocator=agent -p "$service" -o aside.snap
stop

for way in epoll key pool fibre heap-fibre timer thread-local function-static; do
	on "$FIXTURES/traps/trap-held" "$way"
	rm -f t.snap
	await truth && take t.snap || continue
	stop
	"$HEAPSNAP" leaks --json t.snap >leaks.json 2>err || fail "held by $way: leaks" err
	check "held by $way: no leaks" jq -e '.count == 0 and .bytes == 0' leaks.json
	check "held by $way: all 40 are there" sh -c '[ "$("$0" t.snap | awk "\$2 == 72 || \$2 == 64" | wc -l)" -ge 40 ]' "$BLOCKS"
done
finish
