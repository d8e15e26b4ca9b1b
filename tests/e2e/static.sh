#!/bin/sh
# SPDX-License-Identifier: MIT
# static.sh FILE - the single file works in a root with nothing but itself and the target.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/roots.sh"
file=$1

size=$(stat -c %s "$file")
check "the single file has $size bytes: 8 MB at most" test "$size" -le 8000000
check "it needs no loader and no library" sh -c 'readelf -ldW "$0" >headers && ! grep -qE "INTERP|NEEDED" headers' "$file"
if ! can_make_roots; then
	skip "in a root of its own" "needs root and namespaces"
	finish
fi

# story UID - from run to leaks, all with the one file.
story() {
	uid=$1 root=$work/root-$1
	make_root "$root" "$file" "$FIXTURES/bookstore/bookstore" "$(command -v busybox)" "$(command -v setpriv)"
	mv "$root/$(basename "$file")" "$root/heapsnap"
	find "$root" ! -path "$root/proc/*" | sort >before
	start_container "$root" "$uid" /heapsnap run -- /bookstore
	serve 1660 truth-a || finish
	find_target
	rm "$root/busybox" "$root/setpriv" "$root"/lib/*/libcap-ng* # they have done their work
	check "uid $uid: take inside" inside "$uid" /heapsnap take -p 1 -o /tmp/a.snap
	serve 1851 truth-b || finish
	check "uid $uid: take again" inside "$uid" /heapsnap take -p 1 -o /tmp/b.snap
	check "uid $uid: the snapshots are the user's own" test "$(stat -c %u:%a "$root/tmp/b.snap")" = "$uid:600"
	inside "$uid" /heapsnap diff --json /tmp/a.snap /tmp/b.snap >diff.json 2>err || fail "diff" err
	check "uid $uid: diff says what the program says, to the byte" compare truth-a truth-b diff.json
	inside "$uid" /heapsnap show --json /tmp/b.snap >show.json 2>err || fail "show" err
	check "uid $uid: show adds up" adds_up show.json
	inside "$uid" /heapsnap leaks --json /tmp/b.snap >leaks.json 2>err || fail "leaks" err
	check "uid $uid: leaks finds receipts" jq -e '[.groups[].type] | unique == ["Receipt"]' leaks.json
	LC_ALL=en_GB.UTF-8 inside "$uid" /heapsnap why CacheEntry /tmp/b.snap >why.txt 2>err || fail "why" err
	check "uid $uid: why, in UTF-8 without any locale's files" grep -q '^ *\.value  *→ CacheEntry' why.txt
	LC_ALL=C inside "$uid" /heapsnap why CacheEntry /tmp/b.snap >why.txt 2>err || fail "why, ASCII" err
	check "uid $uid: why, in ASCII" grep -q '^ *\.value  *-> CacheEntry' why.txt
	check "uid $uid: the service ends as it would alone" stop
	find "$root" ! -path "$root/proc/*" | sort | comm -13 before - | sed "s,^$root,," >written
	check "uid $uid: nothing but the agent and the snapshots was written" sh -c '
		[ "$(wc -l <written)" -eq 4 ] || { cat written; false; }
		grep -qx "/tmp/[ab]\.snap" written && grep -qx "/tmp/heapsnap-$0" written &&
		grep -qxE "/tmp/heapsnap-$0/libheapsnap-agent-[0-9a-f]{16}\.so" written' "$uid"
}
story 0
story 23571

# unprepared PROGRAM UID - one that was started without the agent, dynamic or static.
unprepared() {
	program=$1 uid=$2 root=$work/root-$1-$2
	make_root "$root" "$FIXTURES/bookstore/$program" "$(command -v busybox)" "$(command -v setpriv)"
	cp "$file" "$root/heapsnap"
	start_container "$root" "$uid" "/$program"
	serve 1660 truth-a || finish
	find_target
	rm "$root/busybox" "$root/setpriv"
	check "$program, uid $uid: take inside" inside "$uid" /heapsnap take -p 1 -o /tmp/a.snap
	serve 1851 truth-b || finish
	check "$program, uid $uid: take again" inside "$uid" /heapsnap take -p 1 -o /tmp/b.snap
	inside "$uid" /heapsnap diff --json /tmp/a.snap /tmp/b.snap >diff.json 2>err || fail "diff" err
	check "$program, uid $uid: it grew by as many as the program says" jq -e '
		any(.types[]; .type == "DictNode" and .count == [1660, 3511] and .count_delta == 1851)' diff.json
	check "$program, uid $uid: goes on and ends as it would alone" stop
}
unprepared bookstore 0
unprepared bookstore-static 23571

# The C library of a container is seldom the one that this was built with.
if ! why=$(sh "$here/../support/other_libc.sh" bullseye "$LIBCS" libc6 coreutils); then
	skip "a root with glibc 2.31" "$why"
else
	root=$work/root-old
	make_root "$root" "$(command -v busybox)"
	cp "$file" "$root/heapsnap"
	cp "$LIBCS/bullseye/bin/sleep" "$root/"
	mkdir "$root/lib" "$root/lib64"
	cp -r "$LIBCS/bullseye/lib/x86_64-linux-gnu" "$root/lib/"
	cp -L "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$root/lib64/"
	start_container "$root" 0 /heapsnap run -- /sleep 300
	left=600
	until find_target && [ "$(cat "/proc/$target/comm")" = sleep ] || [ $left -eq 0 ]; do left=$((left - 1)) && sleep 0.1; done
	check "in a root with glibc 2.31" inside 0 /heapsnap take -p 1 -o /tmp/a.snap
	inside 0 /heapsnap show --json /tmp/a.snap >show.json 2>err || fail "show" err
	check "… the agent is there" jq -e '.snapshot | .source == "agent" and .allocated_count > 0' show.json
	kill -9 "$target"
	stop
fi

# Where it may be unpacked, and by whom it can be loaded then
cat >children <<'X2'
mount -t tmpfs none /tmp || exit 77
umask 077
"$1" run -- setpriv --reuid=23571 --regid=23571 --clear-groups -- grep -c heapsnap-agent /proc/self/maps
X2
unshare -m env -u XDG_RUNTIME_DIR sh children "$(realpath "$file")" >out 2>err
if [ $? -eq 77 ]; then
	skip "a child that gave up root" "cannot mount here"
else
	check "a child that gave up root has the agent, too" test "$(cat out)" -ge 1
	check "… and the loader does not complain" not test -s err
fi
root=$work/root-0
cat >mounted <<'X2'
mount -t tmpfs -o noexec none "$1/tmp" || exit 77
[ -z "$2" ] || { mkdir -p "$1/$2" && mount -t tmpfs none "$1/$2"; } || exit 77
exec chroot "$1" /heapsnap run -- /bookstore
X2
place_of() {
	unshare -m sh mounted "$root" "$1" </dev/null >out 2>err
}
place_of ""
status=$?
if [ $status -eq 77 ]; then
	skip "file systems mounted noexec" "cannot mount here"
else
	check "no place that can be executed: nothing is started" test $status -eq 5
	check "… and it is said" grep -q "^heapsnap: cannot unpack the agent to '/tmp'.*noexec" err
	check "… with a hint" grep -q '^hint: XDG_RUNTIME_DIR=' err
	check "a place after one that is mounted noexec" place_of var/tmp
fi
finish
