# SPDX-License-Identifier: MIT
# check.jq - a line of text for each way in which what heapsnap said (the input) is not what a line of a
# case's expected.json says ($check; $all are all lines of it).  No line: it holds.
#
# $mode is "agent" (sizes as asked for: .bytes) or "plain" (usable sizes: .usable).  A stale word of a stack may
# hold a leaked block: of a leaked type up to $stale may be called live, never one more unreachable.
include "names";

def stale: 3;
def by_mode: if type == "object" then .[$mode] else . end;
def size_of: if $mode == "agent" then .bytes else .usable end;
def matches($pattern): row_name | test($pattern | by_mode);
def sum(f): map(f) | add // 0;
def grouped: tostring | explode | reverse | [recurse(.[3:]; length > 0)[:3]] | map(reverse) | reverse | map(implode) | join(",");
# A free chunk is handed out whole where less than a chunk would be left of it: a few blocks have 16 bytes more.
def remainders: if $mode == "agent" then 0 else 256 end;
def differs($what; $want; $got; $within):
	if $want != null and ($got - $want | fabs) > $within then "\($what): want \($want), got \($got)" else empty end;

# "global g_quotes .buckets DictNode *[]=1 [*] DictNode=27 .next~ DictNode=35": kind, name and thread of the root,
# then of each step its way ("~": folded), its type and how many blocks stand there.
def path_text:
	.root.kind + " " + (.root.name // "") + (if .root.thread then "@" + .root.thread else "" end) +
	([.steps[] | " " + .via + (if .max then "~" else "" end) + " " + (.type // .label // "unknown") + "=\(.count)"] | add // "");

def growth($check):
	[.types[] | select(matches($check.diff))] as $rows
	| ($rows | sum(.count_delta)) as $count | ($rows | sum(.bytes_delta)) as $bytes
	| ($rows | map(select(.state == "unreachable")) | sum(.count_delta)) as $lost
	| ($rows | sum((.items // [0, 0]) | last - first)) as $items
	| if $check.absent then ($rows[] | select(.bytes_delta != 0) | row_name + " changed by \(.bytes_delta)") else
	  (if ($rows | length) == 0 then "no type is called so" else empty end),
	  differs("blocks"; $check.count; $count; 0), differs("bytes"; $check | size_of; $bytes; $check.within // remainders),
	  differs("items"; $check.items; $items; 0),
	  ((if $check.state == "unreachable" then $check.count else 0 end) as $want
	  | if $lost > $want + stale or $lost < $want - stale then "unreachable: want \($want), got \($lost)" else empty end)
	  end;

def other_growth($check):
	[$all[] | select(.diff and (.from_to // "AB") == ($check.from_to // "AB")) | .diff] as $known
	| [.types[] | . as $row | select(any($known[]; . as $pattern | $row | matches($pattern)) | not)]
	| sum(.bytes_delta | fabs) as $moved
	| if $moved > $check.others + remainders then "other types changed by \($moved) bytes: " +
		([.[] | select(.bytes_delta != 0) | "\(row_name) (\(.state)) \(.bytes_delta)"] | join(", ")) else empty end;

def standing($check):
	[.types[] | select(matches($check.now))]
	| differs("blocks"; $check.count; sum(.count); 0), differs("bytes"; $check | size_of; sum(.bytes); remainders);

def lost($check):
	(if $check.count > 0 then stale * ([.groups[] | 1 + (.drags | length)] | max // 1) else 0 end) as $few
	| if .count > $check.count or .count < $check.count - $few then "leaked blocks: want \($check.count), got \(.count)" else empty end,
	  ([.groups[] | select($check.leaks == null or (matches($check.leaks) | not)) | row_name + " \(.count)"]
	   | if length > $few then "leaked besides: " + join(", ") else empty end);

# The first of the paths that there are, to be shown where they are not what they should be.
def given: [(.paths // [])[:6][] | path_text + " (\(.count))"];

def kept($check):
	given as $given
	| if .failed then .failed else
		[.paths[] | path_text as $text | select($check.path and ($text | test($check.path)))] as $paths
		| differs("blocks on the path"; $check.count; $paths | sum(.count); 0),
		  (if $check.unreachable and (.unreachable.count > $check.unreachable or .unreachable.count < $check.unreachable - stale) then
			"unreachable: want \($check.unreachable), got \(.unreachable.count)" else empty end),
		  (if $check.paths and (.paths | length) > $check.paths then "more paths than \($check.paths)" else empty end)
	end
	| ., ($given[] | "  " + .);

def account($when): .[$when].snapshot.account as $account
	| if $check.memory == "mapped" then $account.parts | sum(.size) else $account[$check.memory] end;

def memory:
	if $check.from_to then
		differs("\($check.memory) from \($check.from_to[:1]) to \($check.from_to[1:])"; $check.change;
			account($check.from_to[1:]) - account($check.from_to[:1]); $check.within)
	else differs("\($check.memory) at \($check.at)"; $check.is | by_mode; account($check.at); $check.within) end;

if $check.diff then growth($check)
  elif $check | has("others") then other_growth($check)
  elif $check.total then differs("bytes"; $check.total | by_mode; [.types[].bytes_delta] | add; $check.within)
  elif $check.now then standing($check)
  elif $check | has("leaks") then lost($check)
  elif $check.why then kept($check)
  elif $check.one then
	if .failed then .failed elif any(.paths[] | path_text; test($check.path)) then empty
	else "no path of it is like that", (given[] | "  " + .) end
  elif $check.memory then memory
  elif $check.processes then if . == $check.processes then empty else "processes: want \($check.processes), got \(.)" end
  elif $check.threads then if max <= $check.threads then empty else "threads: want at most \($check.threads), got \(max)" end
  else "what is to be checked?" end
