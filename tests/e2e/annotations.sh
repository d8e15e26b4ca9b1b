#!/bin/sh
# SPDX-License-Identifier: MIT
# annotations.sh JUDGE - programs with heapsnap.h: what they say of their memory is what a snapshot says, and without the agent nothing changes.
. "$(dirname "$0")/lib.sh"

judge=${1:?the judge}

# told FILE - keep all that the service says, up to its END line, in FILE.
told() {
	: >"$1"
	while read -r told_line <&8; do
		[ "$told_line" != END ] || return 0
		printf '%s\n' "$told_line" >>"$1"
	done
	fail "the service ended early" "$work/service.err"
	return 1
}

# agrees TRUTH SHOW CONFIDENCE - each "live COUNT BYTES TYPE" of the service is a row of `show --json`, and there is no other of such confidence.
agrees() {
	jq -r --arg sure "$3" '.types[] | select(.confidence == $sure) | "live \(.count) \(.bytes) \(.type)"' "$2" | sort >shown
	sed -n 's/\\x1B/\x1b/; /^live/p' "$1" | sort >wanted
	diff wanted shown
}

if [ "$("$FIXTURES/annotated/tags" </dev/null | grep -v '^live')" = "$(printf 'thread none\nthread none\nastray 16\nEND')" ]; then
	pass "without the agent nothing is counted"
else
	fail "without the agent nothing is counted"
fi

for stacks in auto caller; do
	rm -f *.snap
	start "$HEAPSNAP" run --stacks=$stacks -- "$FIXTURES/annotated/tags"
	told a.truth
	take a.snap
	echo >&7
	told b.truth
	take b.snap
	stop
	for snap in a b; do "$HEAPSNAP" show --json $snap.snap >$snap.json; done
	check "$stacks: types and sizes as the program says" agrees a.truth a.json exact
	check "$stacks: and later" agrees b.truth b.json exact
	check "$stacks: tags of what is no block are counted" jq -e --arg n "$(sed -n 's/^astray //p' a.truth)" \
		'any(.snapshot.notes[]; startswith($n + " annotations of the program are of addresses where no block"))' a.json
	check "$stacks: nothing is missing" jq -e '.snapshot.partial_reasons == [] and .snapshot.no_record_count <= 2' a.json
	"$HEAPSNAP" diff --json a.snap b.snap >diff.json
	check "$stacks: growth by type" jq -e 'any(.types[]; .type == "session" and .count_delta == 100 and .bytes_delta == 4800)' diff.json
	check "$stacks: --explain says who says so" explain a.snap session '.evidence == "tag"'
	"$HEAPSNAP" show a.snap >a.txt
	check "$stacks: no control character reaches the terminal" sh -c '! grep -q "$(printf "\033")" a.txt && grep -F "raw \x1B[1mheaders" a.txt || { cat a.txt; exit 1; }'
done
expect "a program is not its own witness" 4 'must not be its own witness' "$judge" a.snap a.truth
check "a thread's own count" test "$(grep -c '^thread 1000 14500 750 of 0$' a.truth)" -eq 2
# The service knows what it holds; the blocks of libc are the rest.
check "the process's count" sh -c 'set -- $(sed -n "s/^process //p" a.truth) $(jq -r ".snapshot.heap_count" a.json)
	[ $(($3 - $1)) -ge -2 ] && [ $(($3 - $1)) -le 2 ]'

start "$HEAPSNAP" run -- "$FIXTURES/annotated/tags" fork
told c.truth
parent=$service
service=$(sed -n 's/^child //p' c.truth)
take c.snap
service=$parent
"$HEAPSNAP" show --json c.snap >c.json
check "a forked child's tags" agrees c.truth c.json exact
stop

for program in tags-cpp tags-cpp-bare; do
	rm -f d.snap
	start "$HEAPSNAP" run -- "$FIXTURES/annotated/$program"
	told d.truth
	take d.snap
	stop
	"$HEAPSNAP" show --json d.snap >d.json
	check "$program: classes and templates" agrees d.truth d.json exact
done
# held TRUTH SHOW - pools: objects count and bytes of each type, live and leaked ones; "text" is whatever is called char[] and no libc's.
held() {
	jq -r '[.types[] | {bytes, count, state, type: (if .type // .label | test("^char\\[\\] (in header|of pool request|from)") then "text" else .type // .label end)}] | group_by(.type)[] |
		"live \(map(.count) | add) \(map(.bytes) | add) \(.[0].type)",
		(map(select(.state == "unreachable")) | select(length > 0) | "leaked \(map(.count) | add) \(map(.bytes) | add) \(.[0].type)")' "$2" |
		grep -E ' (session|user|text|header|timer|callback|ticket)$' | sort >shown
	grep -E '^(live|leaked)' "$1" | sort >wanted
	diff wanted shown
}

# is_told PROGRAM TRUTH SHOW - as that program tells it.
is_told() {
	if [ "$1" = tags ]; then agrees "$2" "$3" exact; else held "$2" "$3"; fi
}

# As a child that was forked has it, too.
for way in '' fork; do
	rm -f *.snap
	start "$HEAPSNAP" run -- "$FIXTURES/annotated/pools-annotated" $way
	told p.truth
	parent=$service
	[ -z "$way" ] || service=$(sed -n 's/^child //p' p.truth)
	take p.snap
	echo >&7
	told q.truth
	take q.snap
	service=$parent
	stop
	for snap in p q; do "$HEAPSNAP" show --json $snap.snap >$snap.json; done
	check "pools${way:+ after a fork}: objects, by type, in use and forgotten" held p.truth p.json
	check "pools${way:+ after a fork}: arenas reset, pools destroyed, more objects" held q.truth q.json
	check "pools${way:+ after a fork}: slabs are no blocks" jq -e '([.types[].bytes] | max) < 200000 and .snapshot.partial_reasons == [] and
		any(.snapshot.notes[]; test("^[0-9]+ objects of the program.s pools, [0-9]+ bytes; around them in [0-9]+ slabs"))' p.json
	for snap in p q; do
		check "pools${way:+ after a fork}: what is around the objects, to the byte" jq -e --argjson n "$(sed -n 's/^around //p' $snap.truth)" \
			'any(.snapshot.notes[]; capture("slabs (?<n>[0-9]+) bytes that are no blocks") | .n == ($n | tostring))' $snap.json
	done
	check "pools${way:+ after a fork}: no annotation went astray" jq -e 'all(.snapshot.notes[]; test("annotations|no memory") | not)' p.json q.json
	check "pools${way:+ after a fork}: the heap's sum is the account's" jq -e '.snapshot.account | (.unexplained | fabs) <= .rss / 50 + 32768' p.json
	"$HEAPSNAP" leaks p.snap >leaks.txt
	"$HEAPSNAP" show p.snap >show.txt
	check "pools${way:+ after a fork}: what only a slab's header leads to is no leak" sh -c \
		'grep -Eq " 999 .*(333 bytes|unsigned char\[\]) from session_get" show.txt && ! grep -E "(333 bytes|unsigned char\[\]) from" leaks.txt'
	check "pools${way:+ after a fork}: the header's functions are nobody's call sites" sh -c '! grep -n "heapsnap" leaks.txt'
	"$HEAPSNAP" why ticket p.snap >why.txt 2>err || fail "why" err
	check "pools${way:+ after a fork}: paths begin at roots by their names" sh -c 'grep -q "handle ticket office" why.txt && grep -Fq "handle lone \\x1B[1mticket" why.txt || { cat why.txt; exit 1; }'
	"$HEAPSNAP" why --json ticket q.snap >why.json 2>err || fail "why" err
	check "pools${way:+ after a fork}: and are none once they are given up" sh -c '! grep -q "ticket office\|lone " why.json'
	"$HEAPSNAP" diff --json p.snap q.snap >diff.json
	check "pools${way:+ after a fork}: growth of a pool's objects" jq -e --argjson n "$(($(sed -n 's/^live \([0-9]*\) .* session$/\1/p' q.truth) - $(sed -n 's/^live \([0-9]*\) .* session$/\1/p' p.truth)))" \
		'[.types[] | select(.type == "session") | .count_delta] | add == $n' diff.json
done
# A core of it says the same: on glibc, and where the table has it.
cored() {
	for program in tags pools-annotated; do
		rm -f core.* k.snap
		start env LD_PRELOAD="$1" "$HEAPSNAP" run -- "$FIXTURES/annotated/$program"
		told k.truth
		gcore -o core "$service" >gcore.out 2>&1 || { fail "gcore" gcore.out; return; }
		stop
		"$HEAPSNAP" take --quiet --core core.* -o k.snap >/dev/null 2>err || fail "take --core" err
		"$HEAPSNAP" show --json k.snap >k.json
		check "$program, by a core${1:+ on jemalloc}" is_told $program k.truth k.json
	done
	"$HEAPSNAP" why ticket k.snap >why.txt 2>err || fail "why" err
	check "roots by their names, by a core${1:+ on jemalloc}" grep -q "handle ticket office" why.txt
}
if command -v gcore >/dev/null; then
	cored ""
	for library in /usr/lib/*/libjemalloc.so.2; do
		[ ! -e "$library" ] || cored "$library"
	done
else
	skip "annotations by a core" "no gcore here"
fi

# On another allocator blocks have no trailers: tags stand in the table, beside the pools' objects.
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
if [ -n "$jemalloc" ]; then
	for program in tags pools-annotated; do
		rm -f j.snap
		start env LD_PRELOAD="$jemalloc" "$HEAPSNAP" run -- "$FIXTURES/annotated/$program"
		told j.truth
		take j.snap
		stop
		"$HEAPSNAP" show --json j.snap >j.json
		check "$program on jemalloc" is_told $program j.truth j.json
	done
else
	skip "on jemalloc" "it is not here"
fi

start "$HEAPSNAP" run -- "$FIXTURES/annotated/pools-annotated"
told p.truth
echo >&7
told q.truth
stop
{ cat p.truth && echo END && cat q.truth && echo END; } >both
check "pools: without the agent the program does the same" sh -c 'echo | "$0" | cmp - both' "$FIXTURES/annotated/pools-annotated"
finish
