# SPDX-License-Identifier: MIT
# lib.sh - what the end-to-end tests share.  Sourced by them; they run heapsnap on real processes.
#
# Environment: HEAPSNAP, the program; FIXTURES, the build folder of fixtures/.  Every test works in
# a folder of its own, ends only processes that it started, and reports "ok - NAME",
# "not ok - NAME" with the reason behind "#", or "skip - NAME: WHY".
set -u
: "${HEAPSNAP:?the program under test}" "${FIXTURES:?the build folder of fixtures/}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/heapsnap-e2e.XXXXXX")
service=
failures=0
passes=0

leave() {
	exec 7>&- 8<&-
	[ -z "$service" ] || kill -9 "$service" 2>/dev/null
	cd /
	rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1

pass() {
	passes=$((passes + 1))
	echo "ok - $1"
}

# fail NAME [FILE] - the file's first lines tell why.
fail() {
	failures=$((failures + 1))
	echo "not ok - $1"
	[ $# -lt 2 ] || head -n 40 "$2" | sed 's/^/# /'
}

skip() {
	echo "skip - $1: $2"
}

# check NAME COMMAND… - passes if the command does; what it printed is shown if it does not.
check() {
	check_name=$1
	shift
	if "$@" >"$work/check.out" 2>&1; then pass "$check_name"; else fail "$check_name" "$work/check.out"; fi
}

not() {
	! "$@"
}

# expect NAME STATUS PATTERN COMMAND… - the exit status, and an extended pattern that some line of
# stderr matches; "" wants no output on stderr.
expect() {
	expect_name=$1 expect_status=$2 expect_pattern=$3
	shift 3
	"$@" >"$work/expect.out" 2>"$work/expect.err"
	expect_got=$?
	if [ "$expect_got" -ne "$expect_status" ]; then
		echo "want exit status $expect_status, got $expect_got from: $*" >>"$work/expect.err"
		fail "$expect_name" "$work/expect.err"
	elif [ -n "$expect_pattern" ] && ! grep -Eq "$expect_pattern" "$work/expect.err"; then
		echo "no line on stderr like: $expect_pattern" >>"$work/expect.err"
		fail "$expect_name" "$work/expect.err"
	elif [ -z "$expect_pattern" ] && [ -s "$work/expect.err" ]; then
		fail "$expect_name" "$work/expect.err"
	else
		pass "$expect_name"
	fi
}

# start COMMAND… - run it with its stdin and stdout in our hands (descriptors 7 and 8); its own PID
# is in $service, since `heapsnap run` becomes what it starts.
start() {
	rm -f "$work/service.in" "$work/service.out"
	mkfifo "$work/service.in" "$work/service.out"
	"$@" <"$work/service.in" >"$work/service.out" 2>"$work/service.err" &
	service=$!
	exec 7>"$work/service.in" 8<"$work/service.out"
}

# await FILE - read what the service knows of its own memory, up to its END line.
await() {
	: >"$1"
	while read -r await_line <&8; do
		case $await_line in
		END*) return 0 ;;
		*live* | *leaked*) printf '%s\n' "$await_line" >>"$1" ;;
		esac
	done
	fail "the service ended early" "$work/service.err"
	return 1
}

# serve ROUNDS FILE - have it work, and keep the truth of after that in FILE.
serve() {
	echo "$1" >&7
	await "$2"
}

stop() {
	exec 7>&- 8<&-
	wait "$service" 2>/dev/null
	stop_status=$?
	service=
	return $stop_status
}

# take FILE - a snapshot of the service.
take() {
	"$HEAPSNAP" take --quiet -p "$service" -o "$1" >/dev/null 2>"$work/take.err" || {
		fail "take $1" "$work/take.err"
		return 1
	}
}

# compare BEFORE AFTER DIFF - a line for each figure of `diff --json` that is not the program's own;
# no line is agreement.  $names: see compare.jq.
names='{}'
compare() {
	jq -r -L "$here" --rawfile before "$1" --rawfile after "$2" --argjson names "$names" \
		--argjson others 0 -f "$here/compare.jq" "$3" >compared || return 1
	cat compared
	[ ! -s compared ]
}

# adds_up FILE - the rows of `show --json` are all of the heap.
adds_up() {
	jq -e '(.types | map(.bytes) | add) == .snapshot.heap_bytes and
		(.types | map(.count) | add) == .snapshot.heap_count' "$1"
}

# redis_server - make ./redis-server; false where there is none.  Server and checker are one program, which
# looks at its own name: Debian's redis-tools has it under the checker's alone.
redis_server() {
	redis_program=$(command -v redis-server || command -v redis-check-rdb) && ln -sf "$redis_program" redis-server
}

# explain FILE TYPE FILTER - what the name of the first block of that type rests on passes the filter.
explain() {
	explain_at=$("${BLOCKS:?the lister of blocks}" "$1" | awk -v type="$2" '
		{ at = $1; sub(/^[^ ]* [^ ]* [^ ]* /, "") } $0 == type { print at; exit }')
	"$HEAPSNAP" why --explain "$explain_at" --json "$1" >explain.json || return 1
	jq -e --arg at "$explain_at" ".address == \$at and .evidence != null and ($3)" explain.json ||
		{ jq -c 'del(.snapshot)' explain.json; return 1; }
}

finish() {
	[ $passes -gt 0 ] || [ $failures -gt 0 ] || exit 77
	exit $((failures > 0))
}

# A memory cgroup of our own below the one that we are in, of whichever version there is.
make_cgroup() {
	own=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
	for cgroup in "/sys/fs/cgroup/memory$own/heapsnap-test-$$" \
		"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/heapsnap-test-$$"; do
		mkdir "$cgroup" 2>/dev/null || continue
		if [ -w "$cgroup/memory.limit_in_bytes" ]; then
			limit=memory.limit_in_bytes usage=memory.usage_in_bytes events=memory.oom_control
			return 0
		elif [ -w "$cgroup/memory.max" ]; then
			limit=memory.max usage=memory.current events=memory.events
			return 0
		fi
		rmdir "$cgroup"
	done
	return 1
}

# inside COMMAND… - run it in that cgroup.
inside() {
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"
}
