#!/bin/sh
# SPDX-License-Identifier: MIT
# lists.sh - lists whose links stand within what they link (sys/queue.h, Linux' list_head and hlist, nginx' queue): what the
# program declares is proved, what only a list tells is inferred, and of what nothing tells no other name is given.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
program=$FIXTURES/lists/lists

# disagree - lines of the truth that the blocks do not bear out.
disagree() {
	awk 'NR == FNR { at = $1; sure[at] = $3; $1 = $2 = $3 = ""; sub(/^ +/, ""); is[at] = $0; next }
		{ how = $2; at = $3; $1 = $2 = $3 = ""; sub(/^ +/, ""); all++; good = sure[at] == "proved" || sure[at] == "exact" }
		is[at] != $0 && (how != "open" || sure[at] != "label") { print how, $0, "is called", is[at], sure[at] }
		is[at] == $0 && how == "sure" && !good { print how, $0, "is only", sure[at] }
		END { if (all < 1000) print "the truth has only", all, "blocks" }' blocks truth | sort | uniq -c >disagreed
	cat disagreed
	[ ! -s disagreed ]
}

for way in plain agent; do
	if [ $way = plain ]; then start "$program"; else start "$HEAPSNAP" run -- "$program"; fi
	await truth && take $way.snap || finish
	stop
	"$BLOCKS" $way.snap >blocks || fail "list the blocks, $way"
	check "each block on a list is called what it is, or nothing that it is not, $way" disagree
	sed 's/^live open \(.*\)/live list \1?/' truth >flipped && mv truth right && mv flipped truth
	check "the comparison notices another name, $way" not disagree
	mv right truth
done
finish
