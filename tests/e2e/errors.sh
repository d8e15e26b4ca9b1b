#!/bin/sh
# SPDX-License-Identifier: MIT
# errors.sh - what cannot be done is said in one line, with the promised exit status, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"

# as_nobody COMMAND… - without root's rights; false where that cannot be tried.
chmod 755 "$work"
mkdir -m 777 anybody
cp "$HEAPSNAP" "$work/heapsnap-nobody"
as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

# empty FOLDER
empty() {
	[ -z "$(ls -A "$1")" ] || { ls -lA "$1"; return 1; }
}

expect "no command" 2 . "$HEAPSNAP" nonsense
expect "take without a pid" 2 '^heapsnap: ' "$HEAPSNAP" take
expect "take of what is no pid" 2 '^heapsnap: ' "$HEAPSNAP" take -p 12x
# Options that make no sense together; what they are about is not even looked at.
together() {
	expect "$*" 2 '^heapsnap: cannot take: --' "$HEAPSNAP" take "$@"
	check "$* has a hint" grep -q '^hint: heapsnap take ' expect.err
}
together --exe nowhere
together --exe nowhere -p $$
together --core nowhere --freeze copy
together --core nowhere --max-pause 5
together --core nowhere --suspend-seccomp
together --core nowhere --dry-run
together -p $$ --dry-run -o nowhere
together -p $$ --dry-run --force
together -p $$ --dry-run --allow-partial
together -p $$ --dry-run --allocator glibc
together -p $$ --json
expect "--allocator of nothing that there is" 2 'is one of auto' "$HEAPSNAP" take -p $$ --allocator jemalloc
expect "an unknown option" 2 '^heapsnap: ' "$HEAPSNAP" take --nonsense -p 1
expect "run without a command" 2 '^heapsnap: ' "$HEAPSNAP" run
expect "run of a missing command" 127 '^heapsnap: ' "$HEAPSNAP" run -- ./no-such-command
echo 'text' >plain && chmod 644 plain
expect "run of what is no program" 126 '^heapsnap: ' "$HEAPSNAP" run -- ./plain

sh -c 'exit 0' &
gone=$!
wait "$gone"
expect "a pid that is gone" 3 "^heapsnap: cannot take pid $gone" "$HEAPSNAP" take -p "$gone"

sh -c 'sh -c "exit 0" & exec sleep 60' &
service=$!
sleep 0.3
zombie=$(cat "/proc/$service/task/$service/children")
zombie=${zombie%% *}
if [ -n "$zombie" ] && grep -q '^State:.*Z' "/proc/$zombie/status"; then
	expect "a zombie" 3 "^heapsnap: cannot take pid $zombie" "$HEAPSNAP" take -p "$zombie"
else
	skip "a zombie" "none could be made"
fi
kill "$service"
wait "$service" 2>/dev/null
service=

kernel=
for stat in /proc/[0-9]*/stat; do
	flags=$(sed 's/.*) //' "$stat" 2>/dev/null | cut -d' ' -f7)
	[ -n "$flags" ] && [ $((flags & 0x200000)) -ne 0 ] && kernel=${stat#/proc/} && kernel=${kernel%/stat} && break
done
if [ -n "$kernel" ]; then
	expect "a kernel thread" 3 "^heapsnap: cannot take pid $kernel" "$HEAPSNAP" take -p "$kernel"
else
	skip "a kernel thread" "none is seen in this PID namespace"
fi

if ! as_nobody true 2>/dev/null || ! as_nobody "$work/heapsnap-nobody" --version >/dev/null 2>&1; then
	skip "not permitted, an unwritable folder" "cannot become another user here"
else
	expect "a process of somebody else" 3 '^heapsnap: cannot take pid 1 .*not permitted' \
		as_nobody "$work/heapsnap-nobody" take -p 1 -o "$work/anybody/none.snap"
	expect "… with a hint" 3 '^hint: needs CAP_SYS_PTRACE: ' \
		as_nobody "$work/heapsnap-nobody" take -p 1 -o "$work/anybody/none.snap"
fi
if [ -x /usr/bin/python3.11 ] && as_nobody /usr/bin/python3.11 -c 'import ctypes' 2>/dev/null; then
	as_nobody /usr/bin/python3.11 -c 'import ctypes, time
ctypes.CDLL(None).prctl(4, 0); open("anybody/ready", "w"); time.sleep(60)' &
	service=$!
	until [ -e anybody/ready ] || ! kill -0 "$service"; do sleep 0.1; done
	read -r child <"/proc/$service/task/$service/children"
	child=${child:-$service}
	child=${child%% *}
	expect "one that is not dumpable" 3 "^heapsnap: cannot take pid $child \\(python3.11\\): not permitted: it is not dumpable" \
		as_nobody "$work/heapsnap-nobody" take -p "$child" -o "$work/anybody/none.snap"
	expect "… with a hint" 3 '^hint: needs CAP_SYS_PTRACE: ' \
		as_nobody "$work/heapsnap-nobody" take -p "$child" -o "$work/anybody/none.snap"
	kill -9 "$child"
	wait "$service" 2>/dev/null
	service=
else
	skip "not dumpable" "no python3.11, or cannot become another user here"
fi

start "$HEAPSNAP" run -- "$FIXTURES/bookstore/bookstore"
serve 1000 truth || finish
mkdir out
expect "a folder that does not exist" 5 '^heapsnap: cannot ' "$HEAPSNAP" take -p "$service" -o no/such/x.snap
expect "a file that stands there" 5 '^heapsnap: cannot ' "$HEAPSNAP" take -p "$service" -o plain
check "… is left as it was" grep -qx text plain
expect "… but with --force" 0 . "$HEAPSNAP" take --force -p "$service" -o plain
check "… is nobody else's to read" test "$(stat -c %a plain)" = 600
ln -s "$work/elsewhere" out/link
expect "a link is not followed" 5 '^heapsnap: cannot ' "$HEAPSNAP" take -p "$service" -o out/link
check "… and nothing stands behind it" not test -e elsewhere
expect "… with --force neither" 5 '^heapsnap: cannot .*it is a link' "$HEAPSNAP" take --force -p "$service" -o out/link
check "… and the link stands" test -L out/link
rm out/link
check "no failure left a file" empty out
# What can be known beforehand is said before anything is done: no second passes, and the service is not stopped.
beforehand() {
	beforehand_name=$1 beforehand_status=$2 beforehand_pattern=$3
	shift 3
	expect "$beforehand_name" "$beforehand_status" "$beforehand_pattern" "$@"
	check "… in one line, with a hint, before it is held still" sh -c '
		! grep -q "held still" expect.err && [ "$(grep -vc "^hint: " expect.err)" -eq 1 ] && grep -q "^hint: " expect.err'
}
beforehand "no name" 2 '^heapsnap: cannot take: -o wants a file' "$HEAPSNAP" take -p "$service" -o ''
beforehand "a folder for a name" 5 'it is a folder$' "$HEAPSNAP" take --force -p "$service" -o out
beforehand "a device for a name" 5 'it is not a regular file$' "$HEAPSNAP" take --force -p "$service" -o /dev/full
beforehand "a file that stands there is seen" 5 'File exists$' "$HEAPSNAP" take -p "$service" -o plain
mkdir dev && ln -s /proc/self/fd/1 dev/stdout
beforehand "a link to stdout" 5 'it is a link' "$HEAPSNAP" take --force -p "$service" -o dev/stdout
check "… stays one" test -L dev/stdout
expect "stdout is closed, and is to be the file" 5 "^heapsnap: cannot write 'stdout': Bad file" \
	sh -c '"$0" take -p "$1" -o - >&-' "$HEAPSNAP" "$service"
"$HEAPSNAP" take --quiet -p "$service" -o - >/dev/full 2>err
check "a full device under stdout is noticed" test $? -eq 5

# A file system of 64 KiB, where mounting one is possible.
cat >on_full_disk <<'X'
mount -t tmpfs -o size=64k none out || exit 77
"$HEAPSNAP" take -p "$1" -o out/x.snap 2>full.err
status=$?
ls -A out >full.left
exit $status
X
export HEAPSNAP
unshare -m sh on_full_disk "$service" 2>mount.err
status=$?
if [ ! -e full.left ]; then
	skip "a full disk" "cannot mount a small file system here: $(tail -n 1 mount.err)"
else
	check "a full disk" test $status -eq 5
	check "… says so" grep -q '^heapsnap: cannot .*No space left' full.err
	check "… leaves no part of a file" not test -s full.left
fi
if [ "$(id -u)" -eq 0 ]; then
	# Root may write everywhere but on a read-only file system.
	cat >on_read_only <<'X'
mount -t tmpfs -o ro,size=64k none out || exit 77
"$HEAPSNAP" take -p "$1" -o out/x.snap 2>ro.err
X
	unshare -m sh on_read_only "$service" 2>mount.err
	status=$?
	if [ -e ro.err ]; then
		check "a folder that cannot be written" test $status -eq 5
	else
		skip "a folder that cannot be written" "cannot mount here: $(tail -n 1 mount.err)"
	fi
else
	mkdir -m 555 locked
	expect "a folder that cannot be written" 5 '^heapsnap: cannot ' "$HEAPSNAP" take -p "$service" -o locked/x.snap
fi
serve 10 truth && pass "after all that the service serves"
take good.snap
stop

expect "a snapshot that is missing" 4 '^heapsnap: cannot ' "$HEAPSNAP" show no.snap
echo 'no snapshot at all' >text.snap
expect "a file that is none" 4 '^heapsnap: cannot ' "$HEAPSNAP" show text.snap
: >empty.snap
expect "an empty file" 4 '^heapsnap: cannot ' "$HEAPSNAP" show empty.snap
head -c 5000 good.snap >short.snap
expect "a file cut short" 4 '^heapsnap: cannot ' "$HEAPSNAP" show short.snap
expect "diff with a file cut short" 4 '^heapsnap: cannot ' "$HEAPSNAP" diff good.snap short.snap
expect "why of what is not there" 2 CacheEntry "$HEAPSNAP" why CacheEntri good.snap
expect "show to a full device" 5 '^heapsnap: ' sh -c '"$0" show good.snap >/dev/full' "$HEAPSNAP"
finish
