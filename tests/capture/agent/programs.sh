#!/bin/sh
# SPDX-License-Identifier: MIT
# programs.sh AGENT TELL DUMMY OWN_NEW OWN_MALLOC: programs that are not ours say the same under the agent, and TELL, which
# prints what the agent's directory says, knows whether it records.  OWN_MALLOC is TELL with DUMMY inside.
set -u
agent=$1 tell=$2 dummy=$3 own_new=$4 own_malloc=$5
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/heapsnap-programs.XXXXXX")
trap 'rm -rf "$work"' EXIT

same() {
	command -v "$1" >/dev/null 2>&1 || { echo "skip: no $1"; return; }
	bare=$(printf 'b\na\nc\n' | "$@" 2>&1; echo "exit $?")
	with=$(printf 'b\na\nc\n' | LD_PRELOAD=$agent "$@" 2>&1; echo "exit $?")
	if [ "$bare" != "$with" ]; then
		printf 'DIFFERENT: %s\n--- bare\n%s\n--- with the agent\n%s\n' "$*" "$bare" "$with"
		failed=1
	fi
}

same ls -l /usr/lib
same sort
same awk '{ n[$1] = NR } END { for (k in n) s += n[k]; print s }'
same perl -e 'my %h; $h{$_} = "x" x $_ for 1 .. 3000; print scalar(keys %h), "\n"'
same /usr/bin/python3.11 -c 'import json; print(len(json.dumps({str(i): [i] * 9 for i in range(3000)})))'
same git --version
# The server, which Debian's redis-tools has under another name.
redis=$(command -v redis-server || command -v redis-check-rdb) && ln -s "$redis" "$work/redis-server"
same "$work/redis-server" --version
same cmake --version
same sh -c 'echo $(echo $(echo nested)); exit 7'

expect() {
	got=$("$@" 2>&1)
	case $got in
	$want) ;;
	*) printf 'WRONG: %s\n--- want %s\n--- got %s\n' "$*" "$want" "$got"; failed=1 ;;
	esac
}
want='glibc ""'
expect env LD_PRELOAD="$agent" "$tell"
# This one is built without frame pointers
want=unwind
expect env LD_PRELOAD="$agent" HEAPSNAP_STACKS=auto "$tell" stacks
want=fp
expect env LD_PRELOAD="$agent" HEAPSNAP_STACKS=fp "$tell" stacks
want=caller
expect env LD_PRELOAD="$agent" HEAPSNAP_STACKS=caller "$tell" stacks
want="pid right, child's right"
expect env LD_PRELOAD="$agent" "$tell" pid
# Another allocator in front, or in the program: nothing is recorded, and the reason names it.  Behind: it is handed on to.
want="aside \"malloc comes from ${dummy##*/}\""
expect env LD_PRELOAD="$dummy $agent" "$tell"
want='aside "malloc comes from the program itself"'
expect env LD_PRELOAD="$agent" "$own_malloc"
want="other \"malloc comes from ${dummy##*/}\""
expect env LD_PRELOAD="$agent $dummy" "$tell"
# Some define glibc's own names, too, and are not taken for it
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	found=$(ldconfig -p | sed -n "s/^[[:space:]]*$library (.*=> //p" | head -n 1)
	if [ -z "$found" ]; then
		echo "skip: no $library"
		continue
	fi
	want="other \"malloc comes from $(basename "$(realpath "$found")")\""
	got=$(env LD_PRELOAD="$agent $(realpath "$found")" "$tell") || got="$got, status $?"
	[ "$got" = "$want" ] || { printf 'WRONG: %s\n--- want %s\n--- got %s\n' "$library" "$want" "$got"; failed=1; }
done
# Replaced operators are called as often as without the agent
want='3 news, 3 deletes'
expect "$own_new"
expect env LD_PRELOAD="$agent" "$own_new"
exit $failed
