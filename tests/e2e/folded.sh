#!/bin/sh
# SPDX-License-Identifier: MIT
# folded.sh - of a function that the linker made of two, in two units, nobody knows which one was called: what it
# returns is called by what leads to it, and never by the variable of the other function.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
program=$FIXTURES/folded/folded
[ -x "$program" ] || { skip "folded functions" "no linker for it here"; finish; }

# right LEAST - no block has the other's name, and so many have their own.
right() {
	awk -v least="$1" 'NR == FNR { is[$1] = $NF; next }
		$1 == "live" && is[$2] == $3 { right++ }
		$1 == "live" && is[$2] != $3 && is[$2] ~ /^(first|second)$/ { print $3, "is called", is[$2]; wrong++ }
		END { print right, "are right"; exit wrong || right < least }' blocks truth
}

start "$HEAPSNAP" run -- "$program"
await truth && take s.snap || finish
stop
"$BLOCKS" s.snap >blocks || fail "list the blocks"
check "no block is called by the function that it did not come from" right 100
sed 's/first/second/' truth >flipped && mv flipped truth
check "the comparison notices another name" not right 50
finish
