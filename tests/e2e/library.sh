#!/bin/sh
# SPDX-License-Identifier: MIT
# library.sh PROGRAM - the containers of a C++ library: each block of theirs is called what the program says that
# it is, and what only dead memory leads to is found leaked.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
program=$FIXTURES/containers/$1
[ -x "$program" ] || { skip "containers of $1" "no compiler or library for it here"; finish; }

# disagree - lines of the truth that the blocks do not bear out: wrong names first, then those that are not sure.
disagree() {
	awk 'NR == FNR { at = $1; sure[at] = $3; $1 = $2 = $3 = ""; sub(/^ +/, ""); is[at] = $0; next }
		$1 == "live" {
			at = $2; $1 = $2 = ""; sub(/^ +/, ""); want = $0; all++
			if (want ~ /\*$/ ? index(is[at], substr(want, 1, length(want) - 1)) != 1 : is[at] != want)
				print want, "is called", is[at], sure[at]
			else if (sure[at] != "proved" && sure[at] != "exact")
				print want, "is only", sure[at]
		}
		END { if (all < 3000) print "the truth has only", all, "blocks" }' blocks truth | sort | uniq -c >disagreed
	cat disagreed
	[ ! -s disagreed ]
}

# held - planted blocks that something is said to hold.
held() {
	awk 'FILENAME == ARGV[1] { lost[$1] = 1; next }
		$1 == "leaked" { all++; if (!($2 in lost)) print $2, "is held" }
		END { if (all < 20) print "only", all, "were planted" }' lost truth >kept
	cat kept
	[ ! -s kept ]
}

for way in plain agent; do
	if [ $way = plain ]; then start "$program"; else start "$HEAPSNAP" run -- "$program"; fi
	await truth && take $way.snap || finish
	stop
	"$BLOCKS" $way.snap >blocks && "$BLOCKS" $way.snap unreachable >lost || fail "list the blocks, $way"
	check "each block of a container is called what it is, $way" disagree
	check "dead memory holds nothing, $way" held
	sed '0,/^live .*/s//&?/' truth >flipped && mv truth right && mv flipped truth
	check "the comparison notices another name, $way" not disagree
	mv right truth
done
finish
