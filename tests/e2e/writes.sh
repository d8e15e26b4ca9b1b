#!/bin/sh
# SPDX-License-Identifier: MIT
# writes.sh - a write that fails at any byte, and an interrupt at any moment: the promised status, nothing half done is
# left, and the service goes on.
. "$(dirname "$0")/lib.sh"

unharmed() {
	grep -q '^TracerPid:	0$' "/proc/$service/status" || { cat "/proc/$service/status"; return 1; }
	grep -q '^State:	[tT]' "/proc/$service/status" && { cat "/proc/$service/status"; return 1; }
	serve 20 truth
}

left_over() {
	ls -A out | grep -v '^x\.snap$'
}

start "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
serve 20000 truth || finish
mkdir out
before=$(date +%s%N)
take good.snap || finish
took=$((($(date +%s%N) - before) / 1000000))
size=$(stat -c %s good.snap)

# --- a file that may not grow beyond so many bytes (SIGXFSZ) ---

# limited BYTES WAY… - a take under that limit ends well, or says why not and leaves nothing.
limited() {
	limited_bytes=$1
	shift
	# By a pipe: the limit is on the file of messages, too.
	limited_said=$(prlimit --fsize="$limited_bytes" "$HEAPSNAP" take --quiet -p "$service" "$@" 2>&1 >/dev/null)
	limited_status=$?
	echo "$limited_said" >err
	[ -z "$(left_over)" ] || { ls -lA out >>err; return 1; }
	if [ $limited_status -eq 0 ]; then
		"$HEAPSNAP" show out/x.snap >/dev/null 2>>err || return 1
		fits=$((fits + 1))
		rm -f out/x.snap
	else
		[ ! -e out/x.snap ] && grep -q '^heapsnap: cannot .*File too large' err && [ $limited_status -eq 5 ] || {
			echo "exit status $limited_status with $limited_bytes bytes of $size" >>err
			return 1
		}
		full=$((full + 1))
	fi
	unharmed >>err 2>&1
}
fits=0 full=0 bytes=0 good=yes
while [ "$bytes" -le $((size * 2)) ]; do
	limited "$bytes" -o out/x.snap || { fail "a limit of $bytes bytes" err; good=; break; }
	case $bytes in 0) bytes=1 ;; 1) bytes=15 ;; 15) bytes=16 ;; *) bytes=$((bytes + size / 7)) ;; esac
done
[ -z "$good" ] || pass "a file limited to 0 … $((size * 2)) bytes: written ($fits) or refused ($full)"
check "… both came about" test $fits -gt 0 -a $full -gt 6
echo old >out/x.snap
prlimit --fsize=$((size / 2)) "$HEAPSNAP" take --quiet --force -p "$service" -o out/x.snap >/dev/null 2>err
check "what was to be replaced stands as it was" test $? -eq 5 -a "$(cat out/x.snap)" = old -a -z "$(left_over)"
rm -f out/x.snap
disk=$here
[ -w "$disk" ] || disk=.
mkdir "$disk/scratch.$$"
prlimit --fsize=65536 "$HEAPSNAP" take --quiet -p "$service" --scratch "$disk/scratch.$$" -o out/x.snap >/dev/null 2>err
status=$?
check "a scratch file that may not grow" test $status -eq 3 -o $status -eq 5 -o $status -eq 6
check "… is gone" rmdir "$disk/scratch.$$"
check "… and the service serves" unharmed
rm -f out/x.snap

# --- stdout that takes nothing ---

refuses_full() {
	expect "$* to a full device" 5 '^heapsnap: cannot write' sh -c 'program=$0; exec "$program" "$@" >/dev/full' "$HEAPSNAP" "$@"
	expect "$* to a closed stdout" 5 '^heapsnap: cannot write' sh -c 'program=$0; exec "$program" "$@" >&-' "$HEAPSNAP" "$@"
}
for command in "show" "show --json" "show --csv" "diff good.snap" "diff --json good.snap" "leaks" "leaks --json" "leaks --csv" \
	"why CacheEntry" "why --json CacheEntry"; do
	# shellcheck disable=SC2086
	refuses_full $command good.snap
done
for command in --help --version "take --help" "show --help"; do
	# shellcheck disable=SC2086
	refuses_full $command
done
refuses_full take --dry-run -p "$service"
refuses_full take --dry-run --json -p "$service"

# A reader that has had enough is nobody's mistake.
for command in "show --top 0" "show --json" "why CacheEntry" "diff --top 0 good.snap" "leaks"; do
	# shellcheck disable=SC2086
	{ "$HEAPSNAP" $command good.snap 2>pipe.err; echo $? >pipe.status; } | head -n 1 >/dev/null
	case $(cat pipe.status) in
	0 | 141) [ ! -s pipe.err ] && pass "$command to a reader that leaves" || fail "$command to a reader that leaves" pipe.err ;;
	*) fail "$command to a reader that leaves: $(cat pipe.status)" pipe.err ;;
	esac
done

# --- interrupts ---

# interrupt SIGNAL MOMENTS WAY… - at moments spread over a take.  A shell's background ignores some signals.
interrupt() {
	interrupt_signal=$1 moments=$2
	shift 2
	round=0 done=0 ended=0
	while [ $round -lt "$moments" ]; do
		mkdir -p "$disk/scratch.$$"
		env --default-signal=INT,TERM,HUP "$HEAPSNAP" take --quiet -p "$service" -o out/x.snap "$@" >/dev/null 2>err &
		victim=$!
		sleep "$(awk -v r=$round -v n="$moments" -v ms=$took 'BEGIN { printf "%.4f", (r + 0.5) / n * ms / 1e3 }')"
		kill -"$interrupt_signal" $victim 2>/dev/null
		wait $victim
		interrupt_status=$?
		case $interrupt_status in
		0 | 6) done=$((done + 1)) ;;
		130) ended=$((ended + 1)) && [ ! -e out/x.snap ] && grep -q '^heapsnap: .*interrupted' err ;;
		# It came before anything was begun: nobody has caught it yet.
		129 | 143) [ $round -eq 0 ] && [ ! -e out/x.snap ] ;;
		*) false ;;
		esac && [ -z "$(left_over)" ] && rmdir "$disk/scratch.$$" && unharmed >>err 2>&1 || {
			echo "exit status $interrupt_status, left: $(ls -A out)" >>err
			fail "$interrupt_signal at moment $round of $moments: $*" err
			return
		}
		rm -f out/x.snap
		round=$((round + 1))
	done
	pass "$interrupt_signal at $moments moments: $ended ended, $done done: $*"
}
interrupt INT 10
interrupt TERM 6 --freeze precopy
interrupt HUP 4 --freeze clone
interrupt INT 6 --scratch "$disk/scratch.$$"

# While the file is written: the reader of a pipe does not read.
mkfifo pipe
env --default-signal=INT,TERM "$HEAPSNAP" take --quiet -p "$service" -o - >pipe 2>err &
victim=$!
exec 9<pipe
sleep "$(awk -v ms=$took 'BEGIN { printf "%.3f", 1 + 3 * ms / 1e3 }')"
if kill -0 $victim 2>/dev/null && grep -q pipe_write "/proc/$victim/wchan"; then
	kill -INT $victim
	sleep 1
	kill -KILL $victim 2>/dev/null
	wait $victim
	check "interrupted while it writes: exit status 130" test $? -eq 130
else
	kill -KILL $victim 2>/dev/null
	skip "interrupted while it writes" "all of it went into the pipe, or nothing yet"
fi
exec 9<&-
check "the service serves after all that" unharmed
stop
finish
