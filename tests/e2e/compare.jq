# SPDX-License-Identifier: MIT
# compare.jq - a line for each figure of `diff --json` (the input) that is not what the program
# itself says in $before and $after ("count bytes live|leaked name" lines).
#
# $names says what heapsnap calls a thing where that differs from the program's own word, as a
# pattern; $others is how many bytes the types that the program does not list may have changed by.
#
# A leaked block may be held by a stale word of a stack: of each leaked type up to three may be
# called live, never one more unreachable (and live and unreachable together are exact).
include "names";

def truth:
	split("\n")
	| map(capture("^ *(?<count>[0-9]+) +(?<bytes>[0-9]+) +(?<state>live|leaked) +(?<what>.*)$"))
	| map({what, state, count: (.count | tonumber), bytes: (.bytes | tonumber)})
	| group_by(.what)
	| map({what: .[0].what, count: (map(.count) | add), bytes: (map(.bytes) | add),
	       leaked: (map(select(.state == "leaked") | .count) | add // 0)});

def is_row($what): row_name as $name | $names[$what] as $pattern |
	if $pattern then $name | test($pattern) else $name == $what end;

def compare($when; $i; $rows):
	. as $want
	| [$rows[] | select(is_row($want.what))] as $got
	| ($got | map(.count[$i]) | add // 0) as $count | ($got | map(.bytes[$i]) | add // 0) as $bytes
	| ($got | map(select(.state == "unreachable") | .count[$i]) | add // 0) as $leaked
	| if $count != $want.count or $bytes != $want.bytes then
		"\($when) \($want.what): want \($want.count) blocks, \($want.bytes) bytes, got \($count), \($bytes)"
	  elif $leaked > $want.leaked or $leaked < $want.leaked - 3 then
		"\($when) \($want.what): want \($want.leaked) unreachable, got \($leaked)"
	  else empty end;

.types as $rows | ($before | truth) as $old | ($after | truth) as $new
| ($old[] | compare("before:"; 0; $rows)), ($new[] | compare("after:"; 1; $rows)),
  (if ($old | length) == 0 or ($new | length) == 0 then "the program told nothing" else empty end),
  ([$rows[] | . as $row | select(any($new[].what; . as $what | $row | is_row($what)) | not)]
   | (map(.bytes_delta | fabs) | add // 0) as $moved
   | if $moved > $others then
	"types that the program does not list changed by \($moved) bytes: " +
	(map(select(.bytes_delta != 0) | "\(row_name) \(.bytes_delta)") | join(", "))
     else empty end)
