#!/bin/sh
# SPDX-License-Identifier: MIT
# self_test.sh CHECK - the layering check must let good trees pass and name each bad line.
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# row NAME FILE INCLUDE GOOD|BAD
row() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/$(dirname "$2")"
	printf '/* SPDX-License-Identifier: MIT */\n#include %s\n' "$3" >"$tree/$2"
	if sh "$check" "$tree" >/dev/null; then got=GOOD; else got=BAD; fi
	[ "$got" = "$4" ] || { echo "$1: want $4, got $got"; failed=1; }
}

row 'base stands alone' snapshot/base/vec.c '"snapshot/base/vec.h"' GOOD
row 'base knows no graph' snapshot/base/vec.c '"snapshot/graph/graph.h"' BAD
row 'snapshot uses base' snapshot/graph/graph.c '"snapshot/base/vec.h"' GOOD
row 'snapshot knows no process' snapshot/graph/graph.c '"capture/capture.h"' BAD
row 'retention reads graphs' retention/path.c '"snapshot/graph/graph.h"' GOOD
row 'retention knows no diff' retention/path.c '"diff/diff.h"' BAD
row 'diff uses retention' diff/match.c '"retention/retention.h"' GOOD
row 'diff does not capture' diff/match.c '"capture/capture.h"' BAD
row 'the agent knows the wire' capture/agent/agent.c '"capture/wire.h"' GOOD
row 'the agent unwinds' capture/agent/agent.c '"capture/unwind/unwind.h"' GOOD
row 'the agent knows no base' capture/agent/agent.c '"snapshot/base/vec.h"' BAD
row 'unwinding drags nothing into the agent' capture/unwind/unwind.c '"snapshot/base/vec.h"' BAD
row 'nobody reaches into the agent' capture/alloc/glibc.c '"capture/agent/agent.h"' BAD
row 'naming reads symbols' capture/naming/naming.c '"capture/symbols/symbols.h"' GOOD
row 'symbols know no naming' capture/symbols/dwarf.c '"capture/naming/naming.h"' BAD
row 'who stops a process reads /proc' capture/freeze/stop.c '"capture/proc/proc.h"' GOOD
row 'names come from the copy alone' capture/naming/naming.c '"capture/proc/proc.h"' BAD
row 'take puts it together' capture/take.c '"capture/naming/naming.h"' GOOD
row 'the program uses the public face' cli/main.c '"capture/capture.h"' GOOD
row 'the program sees no insides' cli/main.c '"capture/naming/naming.h"' BAD
row 'nobody uses the program' diff/match.c '"cli/emit.h"' BAD
row 'tests may see all' tests/cli/test_emit.c '"cli/emit.h"' GOOD
row 'fixtures are strangers' fixtures/bookstore/main.c '"snapshot/base/vec.h"' BAD
row 'fixtures have headers of their own' fixtures/bookstore/main.c '"cache.h"' GOOD
row 'includes start at the root' retention/path.c '"path.h"' BAD
row 'libdwarf is hidden' capture/naming/naming.c '<libdwarf/libdwarf.h>' BAD
row 'uthash is hidden' diff/match.c '<uthash.h>' BAD
row 'uthash behind base' snapshot/base/hash.h '<uthash.h>' GOOD
row 'libdwarf behind symbols' capture/symbols/dwarf.c '<libdwarf/libdwarf.h>' GOOD

rm -rf "${tree:?}"/*
mkdir -p "$tree/diff"
echo 'int x;' >"$tree/diff/match.c"
if sh "$check" "$tree" >/dev/null; then echo 'a file without its SPDX line passed'; failed=1; fi
exit $failed
