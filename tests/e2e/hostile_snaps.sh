#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile_snaps.sh - a snapshot of anybody's making is read by every command in bounded time, on a small stack, and nothing
# in it reaches a terminal that is not text.
. "$(dirname "$0")/lib.sh"
SECONDS_AT_MOST=60 # of processor time
STACK=256          # KiB
many=300000
[ "${HEAPSNAP_TEST_ALL:-no}" = no ] || many=10000000

# Controls, and what turns the direction in which text is read (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
drives='[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]'

# bounded COMMAND… - 0, or a status that says why not; what it prints is whole lines of UTF-8 without control characters.
bounded() {
	(ulimit -t $SECONDS_AT_MOST && ulimit -s $STACK && exec "$HEAPSNAP" "$@") >out 2>err
	bounded_status=$?
	case $bounded_status in
	0 | 2 | 6) ;;
	*) echo "exit status $bounded_status from: $*" >>err && cat err && return 1 ;;
	esac
	cat out err | tr -d '\n\r' >both
	iconv -f UTF-8 -t UTF-8 both >/dev/null || { echo "no UTF-8 from: $*"; return 1; }
	! LC_ALL=C grep -qP "$drives" both || { echo "control characters from: $*"; LC_ALL=C grep -oP ".{20}($drives)" both | cat -v | head -n 3; return 1; }
}

# whole COMMAND… - the same, and JSON throughout.
whole() {
	bounded "$@" --json || return 1
	[ $bounded_status -eq 2 ] || jq -e . out >/dev/null || { head -c 400 out; return 1; }
}

# hostile NAME KIND NUM TYPE
hostile() {
	"$HOSTILE_SNAP" "$2" "$3" h.snap || { fail "$1: could not be made"; return; }
	for command in "show" "show --full-names" "show --csv" "show --top 0" "leaks" "why $4" "why 0x10000" "why --explain 0x10000"; do
		# shellcheck disable=SC2086
		check "$1: $command" bounded $command h.snap
	done
	check "$1: diff" bounded diff h.snap h.snap
	for command in show leaks "why $4" "why 0x10000"; do
		# shellcheck disable=SC2086
		check "$1: $command --json" whole $command h.snap
	done
	check "$1: diff --json" whole diff h.snap h.snap
}

hostile "a chain of $many blocks" chain $many Node
hostile "$many blocks in a chain that nobody holds" lost $many Node
hostile "$many blocks that hold themselves" self $many Node
hostile "a ring of $many blocks" ring $many Node
hostile "1,500 blocks, each holding all" all 1500 Node
hostile "names for a terminal" names 2000 two
hostile "the greatest numbers" numbers 100 Node
hostile "4,000 types within each other" nested 4000 Nested
finish
