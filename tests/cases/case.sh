#!/bin/sh
# SPDX-License-Identifier: MIT
# case.sh NAME [VARIANT] - one case of fixtures/cases, started by `heapsnap run` and without: what heapsnap says of it
# is what its expected.json says (expected-VARIANT.json).
#
# What the user has to say of a case's types lies in its folder: case.types, given with --types.
#
# A line marked "not_yet" is one of which heapsnap cannot give the right answer yet: it is printed and counted, and
# the test fails as soon as it holds, so that the mark is taken away.
cases=$(cd "$(dirname "$0")" && pwd)
. "$cases/../e2e/lib.sh"
: "${BLOCKS:?the lister of blocks}" "${CASES:?the source folder of fixtures/cases}"
# With it, calloc() itself touches all that it hands out: only who says PERTURB wants that.
unset MALLOC_PERTURB_
[ -z "${PERTURB:-}" ] || export MALLOC_PERTURB_="$PERTURB"
expected=$CASES/$1/expected${2:+-$2}.json
program=$FIXTURES/cases/$1
types=$CASES/$1/case.types
[ -e "$types" ] || types=
all=$(jq -c .check "$expected")
id=$(jq -r .id "$expected")
last=$(jq -r 'if .snapshots == 3 then "C" else "B" end' "$expected")
not_yet=0

# await_ready - up to the case's READY line.
await_ready() {
	read -r await_line <&8 && [ "${await_line%% *}" = READY ] || { fail "$id: it ended early" "$work/service.err"; return 1; }
}

# take_of PID FILE
take_of() {
	"$HEAPSNAP" take --quiet -p "$1" ${types:+--types "$types"} -o "$2" >/dev/null 2>"$work/take.err" || { fail "$id: take" "$work/take.err"; return 1; }
}

# snapshots LETTER - of the case and, where it has some, of its oldest and newest child.
snapshots() {
	await_ready && take_of "$service" "main-$1.snap" || return 1
	find "/proc/$service/task" -mindepth 1 -maxdepth 1 | wc -l >"threads-$1"
	read -r children <"/proc/$service/task/$service/children"
	# shellcheck disable=SC2086
	set -- "$1" $children
	echo $# >"processes-$1" # the children, and it
	[ $# -gt 1 ] || return 0
	take_of "$2" "oldest-$1.snap" || return 1
	eval "take_of \"\${$#}\" \"newest-$1.snap\""
}

# say FILE COMMAND… - heapsnap's answer in FILE, or that it has none; asked once.
say() {
	say_file=$1
	shift
	[ -s "$say_file" ] || "$HEAPSNAP" "$@" >"$say_file" 2>say.err || jq -Rs '{failed: .}' say.err >"$say_file"
}

# ask KIND PROCESS SNAPSHOTS TYPE - the answer, in $answer.
ask() {
	ask_first=$2-${3%?}.snap ask_last=$2-${3#"${3%?}"}.snap
	[ ${#3} -eq 2 ] || ask_first=$2-A.snap
	answer=$1-$2-$3.json
	case $1 in
	diff) say "$answer" diff --json "$ask_first" "$ask_last" ;;
	expanded) say "$answer" diff --expand --json "$ask_first" "$ask_last" ;;
	show | leaks) say "$answer" "$1" --json "$ask_last" ;;
	why) answer=why.json && rm -f why.json && say why.json why --json "$4" "$ask_last" ;;
	one)
		answer=one.json && rm -f one.json
		ask_address=$("$BLOCKS" "$ask_last" | awk -v type="$4" '$0 ~ type { print $1; exit }')
		say one.json why --json "${ask_address:-$4}" "$ask_last"
		;;
	memory)
		for ask_letter in A B C; do
			[ ! -e "$2-$ask_letter.snap" ] || say "show-$2-$ask_letter.json" show --json "$2-$ask_letter.snap"
		done
		answer=memory.json
		jq -n 'reduce inputs as $show ({}; .[input_filename | .[-6:-5]] = $show)' "show-$2-"?.json >memory.json
		;;
	processes | threads) answer=$1.json && jq -s . "$1"-? >"$answer" ;;
	esac
}

# line MODE NUMBER KIND PROCESS SNAPSHOTS TYPE WHY NAME - one line of expected.json.
line() {
	line_name="$id, $1: $8"
	ask "$3" "$4" "$5" "$6"
	jq -r -L "$cases/../e2e" --arg mode "$1" --argjson all "$all" --argjson check "$(jq -c ".check[$2]" "$expected")" \
		-f "$cases/check.jq" "$answer" >reasons 2>&1 ||
		echo "the answer cannot be read: $(head -c 200 "$answer")" >>reasons
	if [ "$7" = - ]; then
		if [ -s reasons ]; then fail "$line_name" reasons; else pass "$line_name"; fi
	elif [ -s reasons ]; then
		not_yet=$((not_yet + 1))
		echo "not yet - $line_name: $7"
	else
		echo 'it holds: take its "not_yet" away' >reasons
		fail "$line_name" reasons
	fi
}

tab=$(printf '\t')
for mode in agent plain; do
	rm -f ./*.snap ./*.json
	[ $mode = agent ] && with="$HEAPSNAP run --" || with=
	# shellcheck disable=SC2046,SC2086
	start $with "$program" $(jq -r '.arguments // [] | .[]' "$expected")
	for letter in A B C; do
		snapshots $letter || break
		[ $letter != "$last" ] || break
		echo >&7
	done
	stop
	[ -e "main-$last.snap" ] || continue
	jq -r --arg mode $mode -f "$cases/list.jq" "$expected" >lines
	while IFS=$tab read -r number kind process which type why name; do
		line $mode "$number" "$kind" "$process" "$which" "$type" "$why" "$name"
	done <lines
done
echo "$id: $passes held, $not_yet not yet, $failures wrong"
finish
