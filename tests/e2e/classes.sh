#!/bin/sh
# SPDX-License-Identifier: MIT
# classes.sh JUDGE TAKE… - what fixtures/classes says of each of its blocks, and what heapsnap calls them: by every
# compiler, and without debug info, without symbols, without run-time type information.
. "$(dirname "$0")/lib.sh"
judge=${1:?the judge of names}

# names NAME PROGRAM LEAST [RUN…] - the judge's figures: at least LEAST blocks have a name, and no name is wrong.
names() {
	[ -x "$2" ] || { skip "$1" "not built here"; return; }
	names_name=$1 names_program=$2 names_least=$3
	shift 3
	rm -f truth s.snap
	start env WITNESS="$work/truth" "$@" "$names_program"
	await counts
	if "$HEAPSNAP" take --quiet -p "$service" -o s.snap >take.out 2>&1; then
		"$judge" --top 30 --wrong wrong s.snap truth >report
		cat wrong >>report
		check "$names_name: names of $names_least blocks at least, and all that are sure are right" \
			awk -v least="$names_least" '{ print } $1 == "checked" { ok = $2 >= least && !$4 } END { exit !ok }' report
		check "$names_name: no name is wrong, be it an inferred one" not grep -E "^wrong" report
	else
		fail "$names_name: take" take.out
	fi
	exec 7>&- 8<&-
	wait "$service" 2>/dev/null
	service=
}

# without NAME OPTION… - a copy of the program with less in it.
without() {
	without_name=$1
	shift
	strip "$@" -o "$without_name" "$program" 2>/dev/null
}

for program in "$FIXTURES"/classes/classes "$FIXTURES"/classes/classes-*; do
	[ -f "$program" ] && [ -x "$program" ] || continue
	base=${program##*/}
	# Where blocks have headers it is the same objects, and what shows that they have.
	case $base in *-behind) least=171 ;; *) least=44 ;; esac
	names "$base" "$program" $least
	"$HEAPSNAP" show --json s.snap >shown.json
	names "$base, agent" "$program" $least "$HEAPSNAP" run --
	check "$base: a class within a function has its members" jq -e '.types[] |
		select(.type == "make_local(int)::Local") | .source | startswith("classes.cc:")' shown.json
	case $base in *-dwarf4) continue ;; esac # in type units the name alone is left of them
	check "$base: of two classes of one name and size each is told" jq -e '[.types[] |
		select(.type == "(anonymous namespace)::Hidden") | .source | split(":")[0]] | sort == ["classes.cc", "twin.cc"]' shown.json
	without symbols --strip-debug && names "$base, no debug info" ./symbols 28
	without nothing --strip-all || continue
	case $base in
	*-nortti) names "$base, stripped" ./nothing 0 ;;
	*) names "$base, stripped" ./nothing 28 ;;
	esac
done
finish
