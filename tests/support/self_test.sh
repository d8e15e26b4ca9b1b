#!/bin/sh
# SPDX-License-Identifier: MIT
# self_test.sh COUNT.JQ - what ./test adds up must show failures and skips, not hide them.
set -eu
jq=$1
failed=0

# row NAME WANT-COUNTS WANT-NAMES LOG-LINE…
row() {
	name=$1 counts=$2 names=$3
	shift 3
	got=$(printf '%s\n' "$@" | jq -rs -f "$jq" --arg want counts)
	[ "$got" = "$counts" ] || { echo "$name: want $counts, got $got"; failed=1; }
	got=$(printf '%s\n' "$@" | jq -rs -f "$jq" --arg want names)
	[ "$got" = "$names" ] || { echo "$name: want '$names', got '$got'"; failed=1; }
}

row 'nothing ran' '0 0 0' ''
row 'Criterion rows' '7 0 0' '' \
	'{"name":"base","result":"OK","returncode":0,"stderr":"[====] Synthesis: Tested: 7 | Passing: 7 | Failing: 0 | Crashing: 0 "}'
row 'Criterion failures' '4 3 0' 'FAILED: base (3 of 7)' \
	'{"name":"base","result":"FAIL","returncode":1,"stderr":"[====] Synthesis: Tested: 7 | Passing: 4 | Failing: 2 | Crashing: 1 "}'
row 'a crash after all rows passed' '7 1 0' 'FAILED: base (1 of 7)' \
	'{"name":"base","result":"FAIL","returncode":1,"stderr":"[====] Synthesis: Tested: 7 | Passing: 7 | Failing: 0 | Crashing: 0 "}'
row 'script lines' '2 1 1' "FAILED: e2e: three
SKIPPED: e2e: four: no redis" \
	'{"name":"e2e","result":"FAIL","returncode":1,"stdout":"ok - one\nok - two\nnot ok - three\nskip - four: no redis\n"}'
row 'a script that dies' '1 1 0' 'FAILED: e2e ended with TIMEOUT (-9)' \
	'{"name":"e2e","result":"TIMEOUT","returncode":-9,"stdout":"ok - one\n"}'
row 'plain tests' '1 1 1' "FAILED: b (FAIL)
SKIPPED: c: no tmpfs here" \
	'{"name":"a","result":"OK","returncode":0,"stdout":""}' \
	'{"name":"b","result":"FAIL","returncode":1,"stdout":""}' \
	'{"name":"c","result":"SKIP","returncode":77,"stdout":"no tmpfs here\n"}'
exit $failed
