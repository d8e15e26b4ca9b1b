# SPDX-License-Identifier: MIT
# roots.sh - small roots and namespaces of their own, as containers have them.  Sourced after lib.sh.
chmod 755 "$work" # others work in it, too

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

# start_in ROOT UID COMMAND… - as start; in a mount and a PID namespace of its own, where it is number 1.
start_in() {
	start_root=$1 start_uid=$2
	shift 2
	start unshare --pid --fork --kill-child --mount-proc="$start_root/proc" \
		chroot --userspec="$start_uid:$start_uid" "$start_root" "$@"
}

# find_target - its number out here goes to $target; once it has answered.
find_target() {
	read -r target <"/proc/$service/task/$service/children"
	target=${target%% *}
}

# inside UID COMMAND… - in the target's namespaces and root: `kubectl exec`.
inside() {
	inside_uid=$1
	shift
	nsenter --target "$target" --mount --pid --root --wd --setuid "$inside_uid" --setgid "$inside_uid" "$@"
}

# can_make_roots - true where namespaces can be had.
can_make_roots() {
	[ "$(id -u)" -eq 0 ] && command -v nsenter >/dev/null &&
		unshare --pid --fork --mount-proc true 2>/dev/null
}
