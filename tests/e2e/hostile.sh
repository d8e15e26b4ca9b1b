#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile.sh - a core that is made to take long is done with in bounded time: what goes round and round, or
# looks at each of these for each of those, is ended by its limit on processor time.
. "$(dirname "$0")/lib.sh"
SECONDS_AT_MOST=30

# ends NAME KIND THREADS SEGMENTS ARENAS MODULES - `take` comes to an end by itself, with whatever it can say.
ends() {
	ends_name=$1
	shift
	"$HOSTILE_CORE" "$@" h.core || { fail "$ends_name: the core could not be made"; return; }
	rm -f h.snap
	(ulimit -t $SECONDS_AT_MOST && exec "$HEAPSNAP" take --core h.core -o h.snap) >out 2>err
	ends_status=$?
	case $ends_status in
	0 | 3 | 6) pass "$ends_name" ;;
	*)
		echo "exit status $ends_status" >>err
		fail "$ends_name" err
		;;
	esac
}

ends "60,000 threads on stacks of their own, of 200,000 mappings" apart 60000 200000 1 0
ends "60,000 threads on one stack" together 60000 1000 1 0
ends "20,000 arenas" apart 1 10 20000 0
ends "chains of chunks from every place, and nowhere the end" split 1 10 60 0
ends "8,000 modules that go on over 200,000 mappings, and 10,000 threads" apart 10000 200000 1 8000
finish
