#!/bin/sh
# SPDX-License-Identifier: MIT
# golden.sh [--update] PROGRAM SNAPSHOTS CASE… - run golden cases of the command line.
#
# A case is a folder: `cmd` is a shell script that calls heapsnap in a fresh folder which has the
# snapshots, `stdout`, `stderr` and `exit` are what it must give (a file that is missing: nothing,
# nothing, 0).  A line `...` stands for any lines.  --update rewrites them: review the diff.
set -eu
update=no
[ "$1" = --update ] && { update=yes; shift; }
program=$(realpath "$1")
snapshots=$(realpath "$2")
shift 2
here=$(dirname "$(realpath "$0")")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/heapsnap"

# same WANT GOT - does the text match, where "..." in WANT is any lines?
same() {
	awk -v want="$1" '
	function matches(at, chunk,   i) {
		for (i = 1; i <= chunks[chunk]; i++)
			if (text[at + i - 1] != lines[chunk, i]) return 0
		return 1
	}
	BEGIN {
		last = 1
		while ((getline line < want) > 0)
			if (line == "...") last++
			else lines[last, ++chunks[last]] = line
	}
	{ text[NR] = $0 }
	END {
		at = 1
		for (chunk = 1; chunk < last; chunk++) {
			while (!matches(at, chunk))
				if (chunk == 1 || at++ > NR) exit 1
			at += chunks[chunk]
		}
		if (last == 1) exit !(matches(1, 1) && chunks[1] + 0 == NR)
		if (NR - chunks[last] + 1 < at) exit 1
		exit !matches(NR - chunks[last] + 1, last)
	}' "$2"
}

run() {
	rm -rf "$scratch/work"
	mkdir "$scratch/work"
	cp -s "$snapshots"/*.snap "$scratch/work"
	status=0
	(cd "$scratch/work" && env -i PATH="$scratch/bin:/usr/bin:/bin" HOME="$scratch" LC_ALL=C.UTF-8 \
		sh "$1/cmd" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null) || status=$?
	echo "$status" >"$scratch/exit"
}

failed=0
for case in "$@"; do
	case=$(realpath "$case")
	run "$case"
	for what in stdout stderr exit; do
		want=$case/$what
		if [ $update = yes ]; then
			cp "$scratch/$what" "$want"
			[ -s "$want" ] && [ "$what $(cat "$want")" != "exit 0" ] || rm -f "$want"
			continue
		fi
		if [ ! -f "$want" ]; then
			want=$scratch/want
			[ $what != exit ] || echo 0 >"$want"
			[ $what = exit ] || : >"$want"
		fi
		same "$want" "$scratch/$what" && continue
		failed=1
		echo "== $(basename "$case"): $what is not as wanted"
		diff -u --label want --label got "$want" "$scratch/$what" || :
	done
done
exit $failed
