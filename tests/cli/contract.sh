#!/bin/sh
# SPDX-License-Identifier: MIT
# contract.sh PROGRAM SNAPSHOTS CLI.md - every field of the JSON examples in docs/cli.md is in what the program prints.
set -eu
program=$(realpath "$1") snapshots=$(realpath "$2") page=$(realpath "$3")
command -v jq >/dev/null || { echo "skip - the contract of JSON: no jq here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

awk '/^```json$/ { n++; out = n ".doc"; next } /^```$/ { out = "" } out { print >out }' "$page"

# fields - each path of a document once, whatever the index.
fields() {
	jq -c '[paths | map(if type == "number" then 0 else . end)] | unique | .[] | select(index("…") | not)'
}

# same N COMMAND… - the N-th example of the page against that.
failed=0
same() {
	example=$1.doc
	shift
	"$program" "$@" >printed.json 2>errors || [ -s printed.json ] || cat errors
	fields <printed.json >printed
	[ -s "$example" ] || { echo "$page has no such example"; failed=1; return; }
	fields <"$example" | grep -vxFf printed >missing || return 0
	echo "heapsnap $* lacks fields that the page promises:"
	cat missing
	failed=1
}
same 1 show --json "$snapshots/b.snap"
same 2 take -p $$ --dry-run --json
same 3 diff --json "$snapshots/a.snap" "$snapshots/b.snap"
same 4 why --json CacheEntry "$snapshots/b.snap"
same 5 why --explain 0x100c0 --json "$snapshots/explain.snap"
[ ! -e 6.doc ] || { echo "an example that nothing is compared with: $(head -n 1 6.doc)"; failed=1; }
exit $failed
