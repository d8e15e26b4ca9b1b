#!/bin/sh
# SPDX-License-Identifier: MIT
# containers.sh SINGLE FORBID - targets in namespaces and roots of their own, taken from outside, inside and beside.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/roots.sh"
single=$1 forbid=$2
if ! can_make_roots || [ ! -x "$single" ]; then
	skip "containers" "needs root, namespaces, busybox and the single file"
	finish
fi
busybox=$(command -v busybox) setpriv=$(command -v setpriv)

# A program that is quickly taken, in one piece and with a library.
cat >thing.c <<'X'
#include <stdlib.h>
struct NAME { struct NAME *next; long a, b, c; } *g_things;
void thing_make(void) { for (int i = 0; i < 1000; i++) { struct NAME *t = malloc(sizeof(*t)); t->next = g_things; g_things = t; } }
X
cat >things.c <<'X'
#include <stdio.h>
void thing_make(void);
int main(void) { char line[8]; thing_make(); puts("1000 32000 live things\nEND"); fflush(stdout); return fgets(line, sizeof(line), stdin) != NULL; }
X
build_shop() {
	cc -g -DNAME="$1" -o "$2" things.c thing.c
}
build_shop CacheEntry shop && build_shop Other other-shop || { fail "compile"; finish; }

# Root's rights but the one to open what is mapped (map_files).
without_map_files() {
	setpriv --bounding-set=-sys_admin,-checkpoint_restore -- "$@"
}

as_nobody() {
	setpriv --reuid="$nobody" --regid="$nobody" --clear-groups -- "$@"
}

# named FILE, unnamed FILE WHY - have the program's blocks a name?
named() {
	"$HEAPSNAP" show --json "$1" >shown.json && jq -e 'any(.types[]; .type == "CacheEntry" and .count == 1000)' shown.json
}
unnamed() {
	"$HEAPSNAP" show --json "$1" >shown.json && jq -e 'any(.types[]; .type == null and .count == 1000)' shown.json &&
		"$HEAPSNAP" show "$1" | grep "^note  *no types for shop: $2"
}

# container ROOT - a root with a stripped program in it, whose debug info lies apart.
container() {
	root=$1
	make_root "$root" "$busybox" "$setpriv"
	cp "$single" "$root/heapsnap"
	copy_libraries "$root" shop
	mkdir "$root/hidden"
	objcopy --only-keep-debug shop "$root/hidden/shop.debug"
	strip -o "$root/shop" shop
	build_id=$(readelf -n shop | awk '/Build ID/ { print $3 }')
	debug_folder=usr/lib/debug/.build-id/$(echo "$build_id" | cut -c 1-2)
	debug_link=$root/$debug_folder/$(echo "$build_id" | cut -c 3-).debug
	mkdir -p "$root/$debug_folder"
	ln -s /hidden/shop.debug "$debug_link"
}

# ---- from the host ----
container "$work/a"
start_container "$root" 0 /heapsnap run -- /shop
await truth || finish
find_target
check "from the host" "$HEAPSNAP" take -p "$target" -o host.snap
check "… names come from the container's files, through its own absolute links" named host.snap
check "… the process has the number that it has out here" sh -c '"$0" show --json host.snap | jq -e ".snapshot.pid == $1"' \
	"$HEAPSNAP" "$target"
check "… without the right to map_files" without_map_files "$HEAPSNAP" take -p "$target" -o host-2.snap
check "… names come from the same files" named host-2.snap
check "where process_vm_readv is forbidden" "$forbid" process_vm_readv "$HEAPSNAP" take -p "$target" -o filtered.snap
check "… all of it is named" named filtered.snap
for call in openat2 close_range; do
	check "where $call is forbidden" without_map_files "$forbid" $call "$HEAPSNAP" take -p "$target" -o "$call.snap"
	check "… all of it is named" named "$call.snap"
done
expect "where clone3 is forbidden" 3 '^heapsnap: cannot take pid .* a seccomp filter forbids us to start a thread' \
	"$forbid" clone3 "$HEAPSNAP" take -p "$target" -o none.snap
expect "where ptrace is forbidden" 3 '^heapsnap: cannot take pid .* a seccomp filter forbids us ptrace$' \
	"$forbid" ptrace "$HEAPSNAP" take -p "$target" -o none.snap
expect "… with a hint" 3 '^hint: .*--cap-add SYS_PTRACE' "$forbid" ptrace "$HEAPSNAP" take -p "$target" -o none.snap

# ---- from inside, and from beside ----
check "from inside" inside 0 /heapsnap take -p 1 -o /tmp/inside.snap
check "… as number 1" sh -c '"$0" show --json "$1" | jq -e ".snapshot.pid == 1"' "$HEAPSNAP" "$root/tmp/inside.snap"
check "… named" named "$root/tmp/inside.snap"
make_root "$work/beside"
cp "$single" "$work/beside/heapsnap"
mkfifo "$work/beside/shop"
beside() {
	nsenter --target "$target" --pid -- unshare --mount --mount-proc="$work/beside/proc" chroot "$work/beside" "$@"
}
check "from a container beside it, in its PID namespace" beside /heapsnap take -p 1 -o /tmp/beside.snap
check "… named by the target's files" named "$work/beside/tmp/beside.snap"
expect "a /proc of another PID namespace" 3 'cannot take pid 1: /proc is of another PID namespace, where we are [0-9]+ and not 1$' \
	unshare --pid --fork "$HEAPSNAP" take -p 1 -o none.snap
expect "… with a hint" 3 '^hint: mount -t proc' unshare --pid --fork "$HEAPSNAP" take -p 1 -o none.snap
expect "no /proc at all" 3 'cannot take pid 1: /proc is not mounted' \
	chroot "$work/beside" /heapsnap take -p 1 -o /tmp/none.snap

# ---- links that lead out ----
mkdir outside && cp "$root/hidden/shop.debug" outside/
ln -sf "$work/outside/shop.debug" "$debug_link"
check "a link to where there is something in our root" "$HEAPSNAP" take -p "$target" -o out.snap
check "… is not followed" unnamed out.snap 'no debug info'
without_map_files "$HEAPSNAP" take --quiet -p "$target" -o out-2.snap
check "… nor without the right to map_files" unnamed out-2.snap 'no debug info'
ln -sf ../../../../../../../../../../../../../../../../hidden/shop.debug "$debug_link"
check "… and one upward ends in its own root" "$HEAPSNAP" take -p "$target" -o up.snap
check "… named" named up.snap

# ---- files that are no longer what is mapped ----
gone() {
	gone_name=$1
	check "$gone_name" "$HEAPSNAP" take -p "$target" -o "gone.snap" --force
	check "… is named all the same by root" named gone.snap
	check "… and no hang without the right to map_files" without_map_files timeout 60 "$HEAPSNAP" take -p "$target" \
		-o gone.snap --force
	check "… which says that it does not know" unnamed gone.snap 'its file cannot be opened'
}
cp -p "$root/shop" spare
rm "$root/shop" && gone "an executable that is deleted"
mkfifo "$root/shop" && gone "a FIFO in its place" && rm "$root/shop"
ln -s /dev/zero "$root/shop" && gone "a link to a device" && rm "$root/shop"
strip -o "$root/shop.new" other-shop
mv "$root/shop.new" "$root/shop" && gone "another build in its place"
cp -p spare "$root/shop.new" && mv "$root/shop.new" "$root/shop"
check "the same build in its place" without_map_files "$HEAPSNAP" take -p "$target" -o same.snap
check "… is known by its build id" named same.snap
check "after all that it ends as it would alone" stop
check "nothing was written but the agent and what was asked for" test "$(ls -A "$root/tmp" | tr '\n' ' ')" = \
	"heapsnap-0 inside.snap "

# ---- a library that is one thing there and another here ----
mkdir lib
build_thing() {
	cc -g -shared -fPIC -DNAME="$1" -Wl,-soname,libthing.so -o lib/libthing.so thing.c
}
build_thing InsideThing && cc -g -o things things.c lib/libthing.so -Wl,-rpath,"$work/lib" || fail "compile"
make_root "$work/d" "$busybox" "$work/things" && cp "$single" "$work/d/heapsnap"
build_thing OutsideThing
things() {
	"$HEAPSNAP" show --json "$1" >shown.json && jq -e --arg want "$2" '.types[] | select(.count == 1000) | .label // .type | startswith($want)' shown.json
}
start_container "$work/d" 0 /heapsnap run -- /things
await truth
find_target
check "a library of another build here" "$HEAPSNAP" take -p "$target" -o thing.snap
check "… has its names from the one there" things thing.snap InsideThing
check "… without the right to map_files" without_map_files "$HEAPSNAP" take -p "$target" -o thing-2.snap
check "… too" things thing-2.snap InsideThing
cp lib/libthing.so "$work/d/lib.new" && mv "$work/d/lib.new" "$work/d/$work/lib/libthing.so"
check "the other one in its place, as packages are upgraded" without_map_files "$HEAPSNAP" take -p "$target" -o thing-3.snap
check "… gives no name" things thing-3.snap "32 bytes "
check "… but root has the one that is mapped" "$HEAPSNAP" take -p "$target" -o thing-4.snap
check "… and its names" things thing-4.snap InsideThing
: >"/proc/$target/map_files/$(awk '/libthing.so/ { print $1; exit }' "/proc/$target/maps")"
check "one that was cut to nothing" "$HEAPSNAP" take --allow-partial -p "$target" -o thing-5.snap
check "… is unknown" things thing-5.snap "32 bytes "
kill -9 "$target"
stop

# ---- another user, in the container ----
container "$work/b"
proc_options="-o hidepid=2"
start_container "$root" 23571 /heapsnap run -- /shop
proc_options=
await truth || finish
find_target
check "by the target's user, inside" inside 23571 /heapsnap take -p 1 -o /tmp/own.snap
check "… named" named "$root/tmp/own.snap"
expect "another user, where /proc hides it" 3 '^heapsnap: cannot take pid 1.*hidepid' \
	inside 23572 /heapsnap take -p 1 -o /tmp/none.snap
check "root's rights see it" inside 0 /heapsnap take -p 1 -o /tmp/root.snap
stop

# ---- nobody's own ----
cp "$HEAPSNAP" "$work/heapsnap-nobody" && mkdir -m 777 anybody
container "$work/e"
start unshare --mount-proc="$root/proc" chroot --userspec="$nobody:$nobody" "$root" /heapsnap run -- /shop
await truth || finish
check "a root folder below ours, by the target's user" as_nobody "$work/heapsnap-nobody" take -p "$service" \
	-o "$work/anybody/chroot.snap"
check "… named" named anybody/chroot.snap
stop

container "$work/c"
start_rootless "$root" /heapsnap run -- /shop
if await truth; then
	find_target
	check "a user namespace, from the host" "$HEAPSNAP" take -p "$target" -o rootless.snap
	check "… named" named rootless.snap
	check "… by its owner, outside of it" as_nobody "$work/heapsnap-nobody" take -p "$target" -o "$work/anybody/own.snap"
	check "… named" named anybody/own.snap
	check "… inside" as_nobody nsenter --target "$target" --user --mount --pid --root --wd --preserve-credentials \
		/heapsnap take -p 1 -o /tmp/in.snap
	check "… named" named "$root/tmp/in.snap"
	expect "… and what is outside of it not" 3 'not permitted' as_nobody unshare --user --map-root-user \
		"$work/heapsnap-nobody" take -p $$ -o "$work/anybody/none.snap"
	stop
fi
finish
