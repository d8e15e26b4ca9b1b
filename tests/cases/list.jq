# SPDX-License-Identifier: MIT
# list.jq - a line of tab-separated words for each line of a case's expected.json: its number, what heapsnap is to be
# asked, of which process, which snapshots, with which argument; why it does not hold yet ("-": it does); a name.
def by_mode: if type == "object" then .[$mode] else . end;
def kind: if .expand then "expanded" elif has("others") or has("total") or has("diff") then "diff" elif has("now") then "show" elif has("leaks") then "leaks"
	elif has("why") then "why" elif has("one") then "one" elif has("memory") then "memory"
	elif has("processes") then "processes" else "threads" end;
def subject: .diff // .now // .why // .one // .memory // .leaks // "" | by_mode;
def said:
	if has("others") then "nothing else grows" + (if .from_to then " (\(.from_to))" else "" end)
	elif has("total") then "total growth"
	elif .diff then "diff \(subject) \(if .absent then "gone" else "\(.state // "live") \(.count)" end)" + (if .from_to then " (\(.from_to))" else "" end)
	elif .now then "show \(subject) \(.count)"
	elif has("leaks") then "leaks \(.count)"
	elif .why then "why \(subject) \(.count // .unreachable)"
	elif .one then "why one \(subject)"
	elif .memory then "\(.memory) \(.from_to // .at)"
	elif .processes then "processes \(.processes | map(tostring) | join(", "))"
	else "threads at most \(.threads)" end;
.snapshots as $snapshots | .check | to_entries[] | .key as $number | .value
| [$number, kind, .process // "main", .from_to // .of // (if kind == "diff" or kind == "expanded" then "AB" elif $snapshots == 3 then "C" else "B" end),
   (.why // .one // "-" | by_mode), (.not_yet | by_mode) // "-",
   (if .process then .process + " worker: " else "" end) + said] | @tsv
