#!/bin/sh
# SPDX-License-Identifier: MIT
# huge.sh HUGE - what huge pages hold, anonymous ones and those of files in /dev/hugepages, by every way.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"
huge=$1
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# Two runs at a time would each take the other's pages for what there was before.
exec 6>"${TMPDIR:-/tmp}/heapsnap-huge.lock"
flock 6
before=$(cat $pages 2>/dev/null) || { skip "huge pages" "this kernel has none of 2 MiB"; finish; }
give_back() {
	echo "$before" >$pages
	leave
}
if [ "$(cat ${pages%nr_hugepages}free_hugepages)" -lt 8 ]; then
	[ -w $pages ] || { skip "huge pages" "none are reserved, and only root can: echo 16 >$pages"; finish; }
	trap give_back EXIT
	echo $((before + 16)) >$pages
	if [ "$(cat ${pages%nr_hugepages}free_hugepages)" -lt 8 ]; then
		skip "huge pages" "this machine cannot reserve 8 of 2 MiB now"
		finish
	fi
fi
mounted='mount -t hugetlbfs none /dev/hugepages && exec "$0" /dev/hugepages'
unshare -m sh -c 'mount -t hugetlbfs none /dev/hugepages' 2>mount.err || {
	skip "huge pages" "no file system of them can be mounted: $(tail -n 1 mount.err)"
	finish
}

# of_size BYTES - blocks of that size, and a little more for malloc's rounding, on stdin.
of_size() {
	awk -v least="$1" '$2 >= least && $2 < least + 24 { n++ } END { print n + 0 }'
}

# held - all that huge pages hold is there and is not called leaked; what nobody holds is.  A stale word
# may hide some of that.
held() {
	"$BLOCKS" huge.snap unreachable >lost.txt && "$BLOCKS" huge.snap >all.txt || return 1
	for held_size in 200 400 600; do
		[ "$(of_size $held_size <all.txt)" -ge 100 ] && [ "$(of_size $held_size <lost.txt)" -eq 0 ] || {
			echo "$(of_size $held_size <lost.txt) of $(of_size $held_size <all.txt) of $held_size bytes are called leaked"
			return 1
		}
	done
	[ "$(of_size 800 <lost.txt)" -ge 97 ]
}

start unshare -m sh -c "$mounted" "$huge"
await truth || finish
for mode in copy precopy clone auto; do
	"$HEAPSNAP" take --force -p "$service" --freeze $mode -o huge.snap >out 2>err
	status=$?
	if [ $status -eq 3 ] && [ $mode = precopy ] && grep -q 'cannot watch\|cannot tell' err; then
		skip "by precopy" "$(head -n 1 err)"
		continue
	fi
	check "by $mode: it is taken whole" sh -c 'cat err; [ "$0" -eq 0 ]' $status
	check "by $mode: what huge pages hold is held" held
	echo >&7
	read -r answer <&8
	check "by $mode: nothing has changed for it" test "$answer" = END
done
"$HEAPSNAP" show huge.snap >show.out
check "they stand beside the resident size" sh -c 'cat show.out; grep -Eq "huge pages.* 6,291,456|6,291,456.*huge pages|6[.]0 MiB.*huge|huge.*6[.]0 MiB" show.out' # three of 2 MiB
check "the account adds up" sh -c '"$0" show --json huge.snap | jq -e "(.snapshot.account.unexplained | fabs) < 1048576 and
	.snapshot.account.huge_pages == 6291456"' "$HEAPSNAP"
stop
finish
