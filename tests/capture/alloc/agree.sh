#!/bin/sh
# SPDX-License-Identifier: MIT
# agree.sh reader|shapes|static|churner|bookstores|redis|python|libcs - the walk of glibc's heap against its witnesses, each
# on one frozen copy: the agent's records, the program's own ledger, glibc's own sums (see agree.c).  A row each:
# program, witness, stops, blocks, missing in the walk, extra in it, blocks that may be in flight, libc's own (caches of
# threads, tables of thread-locals, blocks from before main()), arenas, arenas found locked, walks that were partial.
. "$(dirname "$0")/../../e2e/lib.sh"
: "${AGREE:?the judge}" "${HEAPS:?heaps}" "${HEAPS_STATIC:?heaps, linked statically}" "${AGENT:?the agent}" "${LIBCS:?a folder}"
: "${CC:=cc}"
ways="mixed bins caches pieces foreign-break arenas heaps shrunk-heaps one-arena small-mappings large-in-heaps aligned
	resized trimmed nearly-nothing gone-threads forked"

# judge NAME PID ARGUMENTS… - a row; passes if the witnesses agree.
judge() {
	judge_name=$1 judge_pid=$2
	shift 2
	if "$AGREE" ${judge_options-} "$judge_name" "$judge_pid" "$@" >row 2>&1; then
		grep -v '^#' row
		pass "$judge_name"
	else
		fail "$judge_name" row
	fi
}

# heap COMMAND… - start it; its process is in $heap_pid once its heap stands.
heap() {
	: >heap.out
	"$@" >heap.out 2>heap.err &
	service=$!
	heap_left=300
	until heap_pid=$(grep -E '^[0-9]+$' heap.out); do
		heap_left=$((heap_left - 1))
		kill -0 "$service" 2>/dev/null && [ $heap_left -gt 0 ] || { fail "$*" heap.err; kill_heap; return 1; }
		sleep 0.1
	done
}

kill_heap() {
	kill -9 "$service" 2>/dev/null
	wait "$service" 2>/dev/null
	service=
}

# shape NAME WITNESSES COMMAND… - a heap that nobody works at: all must be right.
shape() {
	shape_name=$1 shape_witnesses=$2
	shift 2
	heap "$@" || return
	# shellcheck disable=SC2086
	judge_options="--sure ${shape_options-}" judge "$shape_name" "$heap_pid" $shape_witnesses
	kill_heap
}

# tuned NAME - what an environment may do to malloc.
tuned() {
	shape "mixed, $1" "ledger info" env "$1" "$HEAPS" mixed
}

case "${1:-}" in
shapes)
	for way in $ways; do
		shape "$way" "agent ledger info" env LD_PRELOAD="$AGENT" "$HEAPS" "$way"
		shape "$way, unprepared" "ledger info" "$HEAPS" "$way"
	done
	# Thousands of chunks that glibc freed by itself lie in the cache, with a program's bytes at their ends.
	for way in cut-from-dirt forged-records; do
		shape "$way" "agent ledger info" env GLIBC_TUNABLES=glibc.malloc.tcache_count=60000 LD_PRELOAD="$AGENT" \
			"$HEAPS" "$way"
	done
	shape "two libcs" ledger "$HEAPS" second-libc # of the second one the agent and glibc's sums know nothing
	for tune in MALLOC_ARENA_MAX=1 MALLOC_PERTURB_=165 MALLOC_MMAP_THRESHOLD_=20000 MALLOC_TOP_PAD_=3000000 \
		GLIBC_TUNABLES=glibc.malloc.tcache_count=0 GLIBC_TUNABLES=glibc.malloc.tcache_count=120 \
		GLIBC_TUNABLES=glibc.malloc.tcache_max=100 GLIBC_TUNABLES=glibc.malloc.mxfast=0 \
		GLIBC_TUNABLES=glibc.malloc.hugetlb=1; do
		tuned "$tune"
	done
	;;
reader)
	# The same of what reads the agent's records.
	for way in $ways; do
		shape_options="--of agent" shape "$way, by the agent" ledger env LD_PRELOAD="$AGENT" "$HEAPS" "$way"
	done
	;;
static)
	for way in $ways; do
		shape "$way, static" "ledger info" "$HEAPS_STATIC" "$way"
	done
	;;
churner)
	stops=20
	[ "${HEAPSNAP_TEST_ALL:-no}" = no ] || stops=100
	# Its threads never rest: without a lower priority the judge would get one of 200 turns.
	heap nice -n 19 env LD_PRELOAD="$AGENT" "$HEAPS" churner && judge_options="--stops $stops" judge "churner, 200 threads" "$heap_pid" agent ledger
	kill_heap
	;;
bookstores)
	for program in bookstore bookstore-nofp bookstore-cpp; do
		start "$HEAPSNAP" run -- "$FIXTURES/${program%-nofp}/$program"
		serve 16604 truth && judge_options=--sure judge "$program" "$service" agent
		stop
	done
	;;
redis)
	redis_server || { skip redis "no redis-server and no redis-check-rdb here"; finish; }
	libc=$(ldd "$(command -v redis-cli)" | awk '$1 == "libc.so.6" { print $3 }')
	LD_PRELOAD=$libc "$HEAPSNAP" run -- ./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' \
		--dir "$work" --enable-debug-command yes >service.err 2>&1 &
	service=$!
	left=300
	until [ -e redis.sock ]; do
		left=$((left - 1))
		[ $left -gt 0 ] || { fail redis service.err; finish; }
		sleep 0.1
	done
	redis-cli -s redis.sock debug populate 100000 key 64 >/dev/null
	redis-cli -s redis.sock eval 'for i = 1, 3000 do redis.call("del", "key:" .. i * 7) redis.call("sadd", "s" .. i % 50, i) end' 0 >/dev/null
	judge "redis on glibc's malloc" "$service" agent
	kill_heap
	;;
python)
	[ -x /usr/bin/python3.11 ] || { skip python "no python3.11 here"; finish; }
	cat >script.py <<'X'
import json, os, time, threading
kept = [{"id": i, "name": f"dict {i}"} for i in range(50000)]
texts = json.loads(json.dumps(kept[:5000]))
del kept[::7]
threads = [threading.Thread(target=time.sleep, args=(300,), daemon=True) for _ in range(8)]
for thread in threads: thread.start()
print(os.getpid(), flush=True)
time.sleep(300)
X
	heap env PYTHONMALLOC=malloc "$HEAPSNAP" run -- /usr/bin/python3.11 script.py &&
		judge_options=--sure judge "python3.11, its allocator off" "$heap_pid" agent
	kill_heap
	;;
libcs)
	# One build for all of them: it is linked to the oldest, and needs nothing newer.
	oldest=
	for suite in bullseye bookworm trixie forky; do
		# This machine's own is what all other tests run with.
		[ "$suite $(getconf GNU_LIBC_VERSION)" != "bookworm glibc 2.36" ] || continue
		if ! why=$(sh "$here/../../support/other_libc.sh" "$suite" "$LIBCS" libc6); then
			skip "glibc of $suite" "$why"
			continue
		fi
		libc=$(find "$LIBCS/$suite/" -name libc.so.6 ! -path '*/i386*' | head -n 1)
		folder=${libc%/*}
		loader=$folder/ld-linux-x86-64.so.2
		if [ -z "$oldest" ]; then
			oldest=$folder
			$CC -O2 -g -D_GNU_SOURCE -I"$here/../../.." -fno-builtin-malloc -nostdlib -nostartfiles -o heaps-old \
				"$here/heaps.c" "$here/old_start.c" -Wl,--unresolved-symbols=ignore-in-shared-libs -Wl,-rpath-link,"$folder" \
				"$(find "$folder/" -name 'libpthread.so.0')" "$libc" >cc.out 2>&1 || { fail "heaps for the glibc of $suite" cc.out; finish; }
		fi
		version=$("$loader" --library-path "$folder" "$libc" | sed -n '1s/.* \([0-9.]*\)\.$/\1/p')
		agent_too=
		# Where the agent cannot be loaded, the program's own ledger is the witness.
		"$loader" --library-path "$folder" --preload "$AGENT" ./heaps-old >tell.out 2>&1
		grep -q 'usage: heaps' tell.out && agent_too=yes
		set -- caches pieces arenas gone-threads forked
		[ "${HEAPSNAP_TEST_ALL:-no}" = no ] || set -- $ways
		for way in "$@"; do
			shape "$way, $version, unprepared" ledger "$loader" --library-path "$folder" ./heaps-old "$way"
			[ -z "$agent_too" ] || shape "$way, $version" "agent ledger" \
				"$loader" --library-path "$folder" --preload "$AGENT" ./heaps-old "$way"
		done
	done
	;;
*)
	echo "usage: agree.sh reader|shapes|static|churner|bookstores|redis|python|libcs" >&2
	exit 2
	;;
esac
finish
