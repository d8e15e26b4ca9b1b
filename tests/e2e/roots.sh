# SPDX-License-Identifier: MIT
# roots.sh - small roots and namespaces of their own, as containers have them.  Sourced after lib.sh.
chmod 755 "$work" # others work in it, too
nobody=65534

# copy_libraries ROOT PROGRAM - those that it is linked to, to where it looks for them.
copy_libraries() {
	ldd "$2" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$1/$(dirname "$library")"
		cp -L "$library" "$1/$library"
	done
}

# make_root ROOT PROGRAM… - with these at its top, what they are linked to, and nothing else.
make_root() {
	make_root=$1
	shift
	mkdir -p "$make_root/proc" "$make_root/tmp"
	chmod 1777 "$make_root/tmp"
	for make_root_program in "$@"; do
		cp "$make_root_program" "$make_root/"
		copy_libraries "$make_root" "$make_root_program"
	done
}

# What runtimes do: the root of this mount namespace is the container's, and ours is gone.
cat >"$work/pivot" <<'X2'
mount --bind "$1" "$1" && cd "$1" && mkdir old && pivot_root . old || exit 70
shift
exec /busybox sh -c '
/busybox mount -t proc $proc_options proc /proc && /busybox umount -l /old && /busybox rmdir /old && cd / || exit 71
exec "$@"' container "$@"
X2

# start_container ROOT UID COMMAND… - as start; in namespaces of its own, where it is number 1.
proc_options=
export proc_options
start_container() {
	start_root=$1 start_uid=$2
	shift 2
	[ "$start_uid" -eq 0 ] || set -- /setpriv --reuid="$start_uid" --regid="$start_uid" --clear-groups -- "$@"
	start unshare --mount --pid --ipc --uts --fork --kill-child sh "$work/pivot" "$start_root" "$@"
}

# start_rootless ROOT COMMAND… - the same by nobody, who is root in a user namespace.
start_rootless() {
	start_root=$1
	shift
	chown -R "$nobody:$nobody" "$start_root"
	start setpriv --reuid="$nobody" --regid="$nobody" --clear-groups -- \
		unshare --user --map-root-user --mount --pid --fork --kill-child sh "$work/pivot" "$start_root" "$@"
}

# find_target - its number out here goes to $target; once it has answered.
find_target() {
	read -r target 2>/dev/null <"/proc/$service/task/$service/children"
	target=${target%% *}
	[ -n "$target" ]
}

# inside UID COMMAND… - in the target's namespaces and root: `docker exec`, `kubectl exec`.
inside() {
	inside_uid=$1
	shift
	nsenter --target "$target" --mount --pid --root --wd --setuid "$inside_uid" --setgid "$inside_uid" "$@"
}

# can_make_roots - true where namespaces can be had.
can_make_roots() {
	[ "$(id -u)" -eq 0 ] && command -v nsenter busybox setpriv >/dev/null &&
		unshare --pid --fork --mount-proc true 2>/dev/null
}
