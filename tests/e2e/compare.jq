# SPDX-License-Identifier: MIT
# compare.jq - a line for each figure of `diff --json` (the input) that is not what the program
# itself says in $before and $after ("count bytes live|leaked name" lines).
#
# $names turns the program's names into heapsnap's, where they differ; $others is how many bytes
# the types that the program does not list may have changed by.
#
# A leaked block may be held by a stale word of a stack: of each leaked type up to three may be
# called live, never one more unreachable (and live and unreachable together are exact).
include "names";

def truth($names):
	split("\n")
	| map(capture("^ *(?<count>[0-9]+) +(?<bytes>[0-9]+) +(?<state>live|leaked) +(?<what>.*)$"))
	| map({what: ($names[.what] // .what), state, count: (.count | tonumber), bytes: (.bytes | tonumber)})
	| group_by(.what)
	| map({key: .[0].what, value: {
		count: (map(.count) | add), bytes: (map(.bytes) | add),
		leaked: (map(select(.state == "leaked") | .count) | add // 0)}})
	| from_entries;

def measured($i):
	.types | group_by(row_name)
	| map({key: .[0] | row_name, value: {
		count: (map(.count[$i]) | add), bytes: (map(.bytes[$i]) | add),
		leaked: (map(select(.state == "unreachable") | .count[$i]) | add // 0)}})
	| from_entries;

def compare($when; $want; $got):
	$want | to_entries[]
	| .key as $what | .value as $w | ($got[$what] // {count: 0, bytes: 0, leaked: 0}) as $g
	| if $g.count != $w.count or $g.bytes != $w.bytes then
		"\($when) \($what): want \($w.count) blocks, \($w.bytes) bytes, got \($g.count), \($g.bytes)"
	  elif $g.leaked > $w.leaked or $g.leaked < $w.leaked - 3 then
		"\($when) \($what): want \($w.leaked) unreachable, got \($g.leaked)"
	  else empty end;

($before | truth($names)) as $old | ($after | truth($names)) as $new
| compare("before:"; $old; measured(0)), compare("after:"; $new; measured(1)),
  (if ($old | length) == 0 then "the program told nothing" else empty end),
  ([.types[] | select((row_name | in($new)) | not) | .bytes_delta | fabs] | add // 0
   | if . > $others then "types that the program does not list changed by \(.) bytes" else empty end)
