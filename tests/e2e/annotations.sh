#!/bin/sh
# SPDX-License-Identifier: MIT
# annotations.sh - programs with heapsnap.h: what they say of their memory is what a snapshot says, and without the agent nothing changes.
. "$(dirname "$0")/lib.sh"

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
finish
