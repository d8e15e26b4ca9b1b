#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [-t] [-a FILE]… [-o DIR] [PROGRAM…] - how much of each program's heap has a name, and how many are right.
#
# BUILD is a build folder. Each program is started without and with the agent, does its work, is looked at by
# heapsnap and by witnesses of its own (programs.sh says by whom), and judged. A line a run goes to stdout; all that
# the judge said, with the most common names that are wrong or missing, goes to DIR/PROGRAM.WAY.txt. -t puts the lines into
# the table of docs/naming.md; those of programs that were not run stay. -a FILE adds programs, told in the words of programs.sh.
set -u
naming=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?a build folder}" && pwd) || exit 2
shift
table= reports=
export HEAPSNAP="$build/cli/heapsnap" FIXTURES="$build/fixtures"
witness=$build/tests/naming/naming-witness
judge=$build/tests/naming/naming-judge
take=$build/tests/naming/naming-take
all=
. "$naming/programs.sh"
while getopts ta:o: option; do
	case $option in
	t) table=$naming/../../docs/naming.md ;;
	a) . "$(readlink -f "$OPTARG")" ;;
	o) mkdir -p "$OPTARG" && reports=$(cd "$OPTARG" && pwd) ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ -z "$table" ] || table=$(readlink -f "$table")
[ $# -gt 0 ] || set -- $all
. "$naming/../e2e/lib.sh"
reports=${reports:-$work/reports}
mkdir -p "$reports"

# until_true COMMAND… - for a minute at most.
until_true() {
	until_left=600
	until "$@" >/dev/null 2>&1; do
		until_left=$((until_left - 1))
		[ $until_left -gt 0 ] || { echo "$program: not ready: $*" >&2; return 1; }
		sleep 0.1
	done
}

# row REPORT WAY - its line of the table.
row() {
	awk -v program="$program" -v way="$2" '
		function cell(name) { return sprintf("%.1f / %.1f", share(n[name], n["blocks"]), share(b[name], b["blocks"])) }
		function share(part, whole) { return whole ? 100 * part / whole : 0 }
		function firm(m, wrong) { return m ? sprintf("%.2f %%", int(10000 * (m - wrong) / m) / 100) : "-" }
		!($1 in n) { n[$1] = $2; b[$1] = $3; vague[$1] = $4; wrong[$1] = $5 }
		END {
			printf "| %s | %s | %d | %.1f |", program, way, n["blocks"], b["blocks"] / 1048576
			split("exact proved inferred label unknown scalars", names, " ")
			for (i = 1; i <= 6; i++) printf " %s |", cell(names[i])
			bad = wrong["checked"]
			printf " %.1f | %d | %d | %d | %s | %d of %d |\n", share(b["exact"] + b["proved"] + b["inferred"], b["blocks"]),
				n["checked"], bad, vague["checked"], firm(n["checked"], bad),
				wrong["inferred-checked"], n["inferred-checked"]
		}' "$1"
}

# keep LINE - in the table, in place of that of the same program and way.
keep() {
	awk -v line="$1" '
		function key(text,   cells) { split(text, cells, " *\\| *"); return cells[2] "|" cells[3] }
		/^\| *program *\| *way / { inside = 1 }
		inside && /^\| / && key($0) == key(line) { print line; done = 1; next }
		inside && !/^\|/ { if (!done) print line; done = 1; inside = 0 }
		{ print }
		END { if (inside && !done) print line }' "$table" >"$work/table.new" && cat "$work/table.new" >"$table"
}

# look - s.snap of the program, what its witnesses say, the judge's report.
look() {
	rm -f s.snap truth
	: >truth
	"$HEAPSNAP" take --quiet --allow-partial -p "${target:-$service}" -o s.snap >/dev/null || return 1
	! command -v "${name}_truth" >/dev/null || "${name}_truth" || echo "$program, $way: no truth" >&2
	score s.snap "$way" || return 1
	# What the user says, in a file that comes with heapsnap, must be as right.
	if command -v "${name}_types" >/dev/null; then
		"$HEAPSNAP" take --quiet --allow-partial -p "${target:-$service}" --types "$("${name}_types")" -o types.snap >/dev/null &&
			score types.snap "$way, types" || return 1
	fi
	[ -s placed.txt ] || return 0
	# What call sites told must be found without them.
	"$take" "${target:-$service}" unsited.snap && score unsited.snap "agent, sites unread"
}

# score SNAP WAY
score() {
	score_report=$reports/$program.$(echo "$2" | tr -d ',' | tr ' ' '-')
	"$judge" --top 20 --wrong "$score_report.wrong" "$1" truth >"$score_report.txt" || return 1
	score_row=$(row "$score_report.txt" "$2")
	echo "$score_row"
	[ -z "$table" ] || keep "$score_row"
}

for program; do
	name=$(echo "$program" | tr '.-' '__')
	for way in plain agent; do
		run= target= helper=
		[ $way = plain ] || run="$HEAPSNAP run --"
		mkdir "$work/$program.$way" && cd "$work/$program.$way" || exit 1
		chmod 777 "$work" . # some servers drop their rights
		if "${name}_start"; then look || fail "$program $way"; else skip "$program $way" "it did not start"; fi
		exec 7>&- 8<&-
		[ -z "$service$helper" ] || { kill $service $helper; wait; } 2>/dev/null
		service=
		cd "$work" && rm -rf "./$program.$way"
	done
done
exit $((failures > 0))
