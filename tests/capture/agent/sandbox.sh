#!/bin/sh
# SPDX-License-Identifier: MIT
# sandbox.sh SANDBOXED HEAPSNAP AGENT: programs that let no system call through any more, or few, live on with the agent as
# without it, whether what is forbidden kills them, is a signal or an error; and can be taken.
set -u
sandboxed=$1 heapsnap=$2 agent=$3
export HEAPSNAP_AGENT="$agent"
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/heapsnap-sandbox.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

wrong() {
	printf 'WRONG: %s\n' "$*"
	failed=1
}

for row in 'strict least kill' 'prctl least kill' 'prctl least trap' 'prctl least errno' 'prctl brk kill' 'prctl brk errno' \
	'prctl files kill' 'prctl malloc kill' 'prctl threads kill' 'prctl threads errno' 'syscall least kill' 'syscall brk trap' \
	'syscall threads kill'; do
	# shellcheck disable=SC2086
	bare=$("$sandboxed" $row 2>&1; echo "exit $?")
	case $bare in
	*'exit 0') ;;
	*) echo "skip: $row: without the agent $bare"; continue ;;
	esac
	for stacks in auto fp caller; do
		# shellcheck disable=SC2086
		with=$(LD_PRELOAD=$agent HEAPSNAP_STACKS=$stacks "$sandboxed" $row 2>&1; echo "exit $?")
		[ "$with" = "$bare" ] || wrong "$row, stacks $stacks: $with; without the agent $bare"
	done
done

for row in 'strict least kill' 'syscall threads kill'; do
	rm -f "$work"/*
	mkfifo "$work/in"
	# shellcheck disable=SC2086
	"$heapsnap" run -- "$sandboxed" $row wait <"$work/in" >"$work/out" 2>&1 &
	pid=$!
	exec 7>"$work/in"
	left=200
	until grep -q blocks "$work/out" || ! kill -0 $pid 2>/dev/null || [ $((left -= 1)) -eq 0 ]; do sleep 0.1; done
	for n in 1 2; do
		"$heapsnap" take -p $pid -o "$work/$n.snap" >"$work/take" 2>&1 || wrong "$row: take: $(cat "$work/take")"
	done
	"$heapsnap" show --json "$work/2.snap" | jq -e '.snapshot.source == "agent" and .snapshot.partial == false and
		.snapshot.heap_count >= 2048' >/dev/null ||
		wrong "$row: $("$heapsnap" show "$work/2.snap" 2>&1)"
	echo >&7
	exec 7>&-
	wait $pid || wrong "$row: exit $? after it was taken"
done
exit $failed
