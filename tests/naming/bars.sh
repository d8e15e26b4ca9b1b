#!/bin/sh
# SPDX-License-Identifier: MIT
# bars.sh BUILD PROGRAM - what the names of a program must come up to, whatever else changes: see bars.txt.
. "$(dirname "$0")/../e2e/lib.sh"
build=${1:?a build folder} program=${2:?a program}

"$here/run.sh" "$build" -o "$work/reports" "$program" >rows.txt 2>err || fail "$program can be judged" err
grep '^skip' rows.txt

# bar WAY TYPED PRECISION CHECKED UNKNOWN
bar() {
	bar_report=$work/reports/$program.$1.txt
	if [ ! -s "$bar_report" ]; then
		grep -q '^skip' rows.txt || fail "$program $1: there is a report"
		return
	fi
	awk '{ n[$1] = $2; b[$1] = $3; vague[$1] = $4; wrong[$1] = $5 } END {
		typed = b["blocks"] ? 100 * (b["exact"] + b["proved"] + b["inferred"]) / b["blocks"] : 0
		right = n["checked"] ? 100 * (n["checked"] - wrong["checked"]) / n["checked"] : 100
		print typed, right, n["checked"] + 0, n["unknown"] + 0 }' "$bar_report" >figures
	read -r typed right checked unknown <figures
	over "$1: $typed % of the bytes have a name, $2 are wanted" "$typed" "$2"
	over "$1: $right % of $checked exact and proved names are right, $3 are wanted" "$right" "$3"
	over "$1: names of which a witness knows, $4 at least" "$checked" "$4"
	[ "$5" = - ] || over "$1: $unknown blocks without so much as a label, $5 are allowed" "$5" "$unknown"
}

# over NAME VALUE LEAST
over() {
	[ "$3" = - ] && return 0
	if awk -v value="$2" -v least="$3" 'BEGIN { exit !(value >= least) }'; then
		pass "$program $1"
	else
		fail "$program $1" "$bar_report"
	fi
}

while read -r name way typed precision checked unknown; do
	[ "$name" != "$program" ] || bar "$way" "$typed" "$precision" "$checked" "$unknown"
done <"$here/bars.txt"
finish
