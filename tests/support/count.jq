# SPDX-License-Identifier: MIT
# count.jq - the single tests in meson's testlog.json (slurped): one line "passed failed skipped"
# with $want = "counts", the failed and skipped ones by name with "names".
#
# A Criterion program reports its rows in a "Synthesis" line; a script of ours prints "ok - name",
# "not ok - name", "skip - name: why"; anything else is one test by its exit status.

def output: (.stdout // "") + "\n" + (.stderr // "");
def bad: .result != "OK" and .result != "SKIP" and .result != "EXPECTEDFAIL";
def synthesis: [output | gsub("\u001b\\[[0-9;]*m"; "")
	| scan("Synthesis: Tested: ([0-9]+) \\| Passing: ([0-9]+) \\| Failing: ([0-9]+) \\| Crashing: ([0-9]+)")
	| map(tonumber)] | last;
def lines(word): [output | split("\n")[] | select(startswith(word + " - ")) | ltrimstr(word + " - ")];

def single:
	. as $test | synthesis as $s
	| if $s then
		{passed: $s[1], failed: ($s[2] + $s[3]), skipped: 0, names: []}
		| if ($test | bad) and .failed == 0 then .failed = 1 else . end
		| if .failed > 0 then .names = ["FAILED: \($test.name) (\(.failed) of \($s[0]))"] else . end
	  else
		($test | lines("ok")) as $ok | ($test | lines("not ok")) as $no | ($test | lines("skip")) as $skip
		| if ($ok + $no + $skip | length) > 0 then
			{passed: ($ok | length), failed: ($no | length), skipped: ($skip | length),
			 names: (($no | map("FAILED: \($test.name): " + .)) + ($skip | map("SKIPPED: \($test.name): " + .)))}
			| if ($test | bad) and .failed == 0 then
				.failed = 1 | .names += ["FAILED: \($test.name) ended with \($test.result) (\($test.returncode))"]
			  else . end
		  elif $test.result == "SKIP" then
			{passed: 0, failed: 0, skipped: 1,
			 names: ["SKIPPED: \($test.name): \(($test | output | split("\n") | map(select(. != "")) | last) // "no reason given")"]}
		  elif $test | bad then {passed: 0, failed: 1, skipped: 0, names: ["FAILED: \($test.name) (\($test.result))"]}
		  else {passed: 1, failed: 0, skipped: 0, names: []} end
	  end;

map(single)
| if $want == "counts" then "\(map(.passed) | add // 0) \(map(.failed) | add // 0) \(map(.skipped) | add // 0)"
  else .[].names[] end
