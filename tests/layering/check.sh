#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh [ROOT] - hold the layering: which folder may include what of which folder.
#
# Reads every #include line of the sources below ROOT and every first line; prints each arrow that
# is not allowed and each file without its SPDX line.  Exit status 1 if there was one.
set -eu
cd "${1:-.}"

sources() {
	find . \( -name .git -o -path './build*' -o -name corpus -o -name recorded \) -prune -o -type f "$@" -print | sort
}

includes=$(sources \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.hh' -o -name '*.cpp' -o -name '*.hpp' \) |
	xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' /dev/null || true)

bad=$(printf '%s\n' "$includes" | awk '
function starts(text, prefix) { return substr(text, 1, length(prefix)) == prefix }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
# capture/<part> of a path below capture/, or "capture" for the files right in it.
function part(path,   piece) { split(path, piece, "/"); return path ~ /^capture\/[^\/]+\// ? "capture/" piece[2] : "capture" }
function allowed(from, to,   own) {
	if (starts(from, "tests/")) return 1
	if (starts(to, "cli/")) return starts(from, "cli/")
	if (starts(from, "fixtures/")) return folder(from) == folder(to) || to == "../witness/witness.h"
	if (starts(from, "snapshot/base/")) return starts(to, "snapshot/base/")
	if (starts(from, "snapshot/")) return starts(to, "snapshot/")
	if (starts(from, "retention/")) return starts(to, "retention/") || starts(to, "snapshot/")
	if (starts(from, "diff/")) return starts(to, "diff/") || starts(to, "retention/") || starts(to, "snapshot/")
	if (starts(from, "capture/")) {
		own = part(from)
		if (own == "capture/agent" || own == "capture/unwind")
			return part(to) == own || to == "capture/wire.h" || starts(to, "capture/unwind/") ||
			       (own == "capture/unwind" && starts(to, "capture/target/"))
		if (starts(to, "capture/agent/")) return 0
		if (own == "capture") return starts(to, "capture/") || starts(to, "snapshot/")
		# What /proc says: for those who hold the process still, read its files, look for its roots and
		# add up its memory.
		if (starts(to, "capture/proc/"))
			return own == "capture/proc" || own == "capture/target" || own == "capture/freeze" ||
			       own == "capture/core" || own == "capture/roots" || own == "capture/account"
		# Roots are found in one folder and used in another.
		if (own == "capture/roots" && to == "capture/naming/evidence.h") return 1
		return part(to) == own || starts(to, "snapshot/") || to == "capture/wire.h" ||
		       starts(to, "capture/target/") || starts(to, "capture/symbols/") ||
		       starts(to, "capture/unwind/") || starts(to, "capture/alloc/")
	}
	if (starts(from, "cli/"))
		return starts(to, "cli/") || starts(to, "snapshot/") || to == "capture/capture.h" ||
		       to == "diff/diff.h" || to == "retention/retention.h"
	return 0
}
NF {
	colon = index($0, ":"); from = substr($0, 3, colon - 3); rest = substr($0, colon + 1)
	line = rest; sub(/:.*/, "", line)
	match(rest, /["<][^">]*/); quote = substr(rest, RSTART, 1); to = substr(rest, RSTART + 1, RLENGTH - 1)
	if (quote == "<") {
		if (to ~ /dwarf\.h$/ && !starts(from, "capture/symbols/") && !starts(from, "tests/"))
			print from ":" line ": " to " belongs behind capture/symbols"
		if (to == "uthash.h" && from != "snapshot/base/hash.h")
			print from ":" line ": " to " belongs behind snapshot/base/hash.h"
		if (starts(to, "criterion/") && !starts(from, "tests/"))
			print from ":" line ": " to " belongs in tests"
		next
	}
	if (starts(from, "fixtures/") && index(to, "/") == 0) to = folder(from) "/" to
	if (starts(from, "tests/") && index(to, "/") == 0) next
	if (!allowed(from, to)) print from ":" line ": must not include " to
}')

bare=$(sources \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.hh' -o -name '*.cpp' -o -name '*.hpp' \
	-o -name '*.sh' -o -name 'meson.build' -o -name 'meson_options.txt' -o -perm -u+x \) | while read -r file; do
	head -n 2 "$file" | grep -aq 'SPDX-License-Identifier: MIT' || echo "${file#./}: no SPDX line at its head"
done)

[ -z "$bad$bare" ] && exit 0
[ -z "$bad" ] || printf '%s\n' "$bad"
[ -z "$bare" ] || printf '%s\n' "$bare"
exit 1
