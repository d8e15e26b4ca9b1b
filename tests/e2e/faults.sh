#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh FORKED - each write that fails, each phase that is interrupted, by name: a system call of heapsnap's is made to fail, or a
# signal comes with it (strace injects both).  The promised status, nothing half done is left, and the service goes on.
# And the same on a disk that is really full, at each size from nothing to enough.
. "$(dirname "$0")/lib.sh"
forked=$1

unharmed() {
	grep -q '^TracerPid:	0$' "/proc/$service/status" && ! grep -q '^State:	[tT]' "/proc/$service/status" ||
		{ cat "/proc/$service/status"; return 1; }
}

start "$HEAPSNAP" run -- "$forked"
read -r child <&8
mkdir out
of="-p $service" # what is taken

# left STATUS… - the take ended by one of these; either nothing is left, or what can be read.
left() {
	left_names=$(ls -A out)
	case " $* " in *" $status "*) ;; *) return 1 ;; esac
	case $left_names in
	"") [ "$status" -ne 0 ] ;;
	x.snap) "$HEAPSNAP" show --allow-partial out/x.snap >/dev/null 2>>err || return 1 ;;
	*) return 1 ;;
	esac
	unharmed >>err || return 1
}

# injected WHAT CALL NUMBER COMMAND… - the command with that done to its first thread's CALL number NUMBER; sets $status.  `came`: it was.
injected() {
	injected_what=$1 call=$2 number=$3
	shift 3
	strace -qq -o trace -e "trace=$call" -e "inject=$call:$injected_what:when=$number" "$@" >out.txt 2>err
	status=$?
	came=$(grep -cE 'INJECTED|^--- SIG(INT|TERM|HUP)' trace)
}

# fails_at CALL ERROR COUNT STATUS… - each of its calls in turn (each fourth of many, except with all tests), until none is left
# to fail; at most COUNT.
fails_at() {
	fails_call=$1 fails_error=$2 most=$3 n=1 met=0
	shift 3
	while [ $n -le "$most" ]; do
		rm -f out/*
		# shellcheck disable=SC2086
		injected "error=$fails_error" "$fails_call" $n "$HEAPSNAP" take --quiet $of -o out/x.snap
		[ "$came" -gt 0 ] || break
		met=$((met + 1))
		left "$@" || {
			echo "exit status $status, left: $(ls -A out)" >>err
			fail "$fails_call number $n fails with $fails_error" err
			return
		}
		[ "${HEAPSNAP_TEST_ALL:-no}" = yes ] || [ $n -lt 4 ] && n=$((n + 1)) || n=$((n + 4))
	done
	check "$fails_call fails with $fails_error, $met in turn: written or refused, nothing half done" test $met -gt 0
}

# comes_at SIGNAL PHASE CALL NUMBER - while a take is about that.
comes_at() {
	rm -f out/*
	# shellcheck disable=SC2086
	injected "signal=$1" "$3" "$4" "$HEAPSNAP" take --quiet $of -o out/x.snap ${way-}
	if [ "$came" -eq 0 ]; then
		fail "$1 while it is $2: there is no $3 number $4" err
	elif left 0 6 130 && { [ $status -ne 130 ] || grep -q '^heapsnap: .*interrupted' err; }; then
		pass "$1 while it is $2 ($3 $4${way:+, $way}): exit status $status"
	else
		echo "exit status $status, left: $(ls -A out)" >>err
		fail "$1 while it is $2 ($3 $4${way:+, $way})" err
	fi
}

if strace -qq -o trace -e trace=write -e inject=write:error=ENOSPC:when=1 sh -c 'echo x' >/dev/null 2>&1 || ! grep -q INJECTED trace; then
	skip "system calls that fail, interrupts by phase" "no strace here that can inject"
else
	fails_at write ENOSPC 60 0 5
	fails_at write EIO 3 0 5 # the first is not of the file
	fails_at fsync EIO 3 0 5
	fails_at linkat EDQUOT 2 0 5
	fails_at linkat EEXIST 2 0 5
	signals=INT
	[ "${HEAPSNAP_TEST_ALL:-no}" = no ] || signals="INT TERM HUP"
	for signal in $signals; do
		comes_at $signal "beginning" openat 60
		comes_at $signal "looking at the process" pread64 5
		comes_at $signal "making room" clone3 1
		comes_at $signal "asking about pages" ioctl 3
		comes_at $signal "copying" process_vm_readv 1
		comes_at $signal "copying the rest" process_vm_readv 2
		comes_at $signal "starting the reader of debug info" clone 1
		comes_at $signal "handing it files" sendmsg 1
		comes_at $signal "hearing it" recvfrom 5
		comes_at $signal "ending it" wait4 1
		comes_at $signal "writing" write 1
		comes_at $signal "writing" write 12
		comes_at $signal "syncing" fsync 1
		comes_at $signal "giving the file its name" linkat 1
		comes_at $signal "syncing the folder" fsync 2
	done
	comes_at TERM "hearing the reader" recvfrom 5
	comes_at HUP "writing" write 2
	for way in "--freeze copy" "--freeze precopy" "--freeze clone"; do
		case $way in
		*clone) comes_at INT "copying" pread64 100 ;;
		*) comes_at INT "copying" process_vm_readv 1 ;;
		esac
		comes_at INT "writing" write 3
	done
	way=
	if gcore -o core "$service" >gcore.out 2>&1; then
		of="--core core.$service"
		comes_at INT "opening the core" openat 40
		comes_at INT "reading the core" pread64 40
		comes_at INT "hearing the reader, of a core" recvfrom 5
		comes_at INT "writing, of a core" write 3
		fails_at pread64 EIO 24 0 3 4 5 6 127 # the first are the loader's
		of="-p $service"
	else
		skip "interrupts while a core is read" "no core: $(tail -n 1 gcore.out)"
	fi
	# What only reads has nothing to clear up: it may end by the signal.
	rm -f out/* && take good.snap
	for command in "show good.snap" "leaks good.snap" "diff good.snap good.snap" "why of_parent good.snap"; do
		for at in "openat 5" "pread64 1" "write 1"; do
			# shellcheck disable=SC2086
			injected signal=INT $at "$HEAPSNAP" $command
			[ "$came" -eq 0 ] || check "INT in $command ($at)" test $status -eq 130 -o $status -eq 0
		done
		# shellcheck disable=SC2086
		injected error=EIO write 1 "$HEAPSNAP" $command
		check "the first write of $command fails: exit status 5" test $status -eq 5
		# shellcheck disable=SC2086
		injected error=EPIPE write 1 "$HEAPSNAP" $command
		check "… nobody reads, and SIGPIPE is ignored: the same, without a word" test $status -eq 5 -a ! -s err
	done
fi

# --- a reader that leaves before the first byte ---

for ignored in "" "trap '' PIPE;"; do
	sh -c "$ignored"' "$1" take --quiet -p "$2" -o - 2>err; echo $? >pipe.status' sh "$HEAPSNAP" "$service" | true
	check "take -o - to nobody${ignored:+, SIGPIPE ignored}: exit status 5" grep -q '^5$' pipe.status
	check "… and the service goes on" unharmed
done

# --- a disk that is full: a file system of so many pages ---

full_disk() {
	disk=$work/disk
	mkdir -p "$disk"
	mount -t tmpfs -o size=4k none "$disk" 2>/dev/null || return 1
	# However the test ends.
	trap 'umount "$disk" 2>/dev/null; leave' EXIT
}
if ! full_disk; then
	skip "a full disk" "no file system can be mounted here"
else
	rm -rf out && mkdir "$disk/out" && ln -s "$disk/out" out
	stop
	start "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore" # whose snapshot is larger
	serve 20 truth || finish
	pages=1 refused=0 wrote=
	while [ $pages -le 200 ] && [ -z "$wrote" ]; do
		mount -o "remount,size=$((pages * 4))k" "$disk"
		by_pipe=$("$HEAPSNAP" take --quiet -p "$service" -o out/x.snap 2>&1 >/dev/null)
		status=$?
		echo "$by_pipe" >err
		left 0 5 || { echo "exit status $status with $pages pages, left: $(ls -A out)" >>err; break; }
		if [ $status -eq 0 ]; then
			wrote=yes
		elif grep -q '^heapsnap: cannot .*No space left on device' err; then
			refused=$((refused + 1))
		else
			break
		fi
		[ "${HEAPSNAP_TEST_ALL:-no}" = yes ] && pages=$((pages + 1)) || pages=$((pages + 1 + pages / 4))
	done
	[ -n "$wrote" ] && pass "disks of 1 to $pages pages: refused by $refused, then written" || fail "a disk of $pages pages" err
	check "… it was refused at first" test $refused -gt 1
	# What is to be replaced stands until the new one does, for which there is no room beside it.
	cp out/x.snap kept.snap
	"$HEAPSNAP" take --quiet --force -p "$service" -o out/x.snap >/dev/null 2>err
	status=$?
	check "no room for a second one: the first stands" cmp out/x.snap kept.snap
	check "… exit status 5" test $status -eq 5
	for command in "show --json" "leaks --json" "diff --json kept.snap"; do
		mount -o "remount,size=$(((pages + 1) * 4))k" "$disk" # a page is left, or less
		dd if=/dev/zero of="$disk/fill" bs=1k count=4096 2>/dev/null
		# shellcheck disable=SC2086
		"$HEAPSNAP" $command kept.snap >"$disk/said" 2>err
		check "$command into a full disk: exit status 5" test $? -eq 5
		rm -f "$disk/said" "$disk/fill"
	done
	umount "$disk"
	trap leave EXIT
	rm -f out
fi
unharmed || fail "the service serves after all that"
stop
finish
