#!/bin/sh
# SPDX-License-Identifier: MIT
# unprepared.sh bookstore|nginx|memcached|python|postgres|redis - servers that nobody prepared: take, show, why and
# leaks, and what they say held against figures that the server itself knows.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"

need() {
	for need_command in "$@"; do
		command -v "$need_command" >/dev/null || { skip "$0" "no $need_command here"; finish; }
	done
}

# until_true COMMAND… - for half a minute at most.
until_true() {
	until_left=300
	until "$@" >/dev/null 2>&1; do
		until_left=$((until_left - 1))
		[ $until_left -gt 0 ] || { fail "ready: $*" "$work/service.err"; finish; }
		sleep 0.1
	done
}

# look PID [partial] - s.snap, show.json, leaks.json and blocks.txt of it; all four commands work, and add up.
# partial: what another allocator has is told, and not walked.
look() {
	look_option=--ascii look_want=false
	[ $# -lt 2 ] || look_option=--allow-partial look_want=true
	if ! "$HEAPSNAP" take --allow-partial -p "$1" -o s.snap >/dev/null 2>take.err; then
		fail "take" take.err
		finish
	fi
	pass "take: $(sed -n 2p take.err)"
	check "show" sh -c '"$0" show "$1" s.snap >show.txt && "$0" show "$1" --json s.snap >show.json' "$HEAPSNAP" $look_option
	check "leaks" sh -c '"$0" leaks "$1" s.snap >leaks.txt && "$0" leaks "$1" --json s.snap >leaks.json' "$HEAPSNAP" $look_option
	"$BLOCKS" s.snap >blocks.txt 2>err || fail "blocks" err
	check "why: of a block in the middle" sh -c '"$0" why "$1" "$(awk "{ a[NR] = \$1 } END { print a[int(NR / 2) + 1] }" blocks.txt)" s.snap' \
		"$HEAPSNAP" $look_option
	check "read from glibc's own lists, $([ $look_want = true ] && echo "and what is not glibc's told" || echo "all of it")" \
		jq -e --argjson want $look_want '.snapshot | .source == "glibc" and .partial == $want' show.json
	check "the rows add up" adds_up show.json
}

# room SIZE - usable bytes of a block that was asked for so many.
room() {
	awk -v size="$1" 'BEGIN {
		if (size >= 131072) print int((size + 16 + 4095) / 4096) * 4096 - 16
		else { chunk = int((size + 23) / 16) * 16; print (chunk < 32 ? 32 : chunk) - 8 } }'
}

# blocks_of SIZE - how many there are of that room.
blocks_of() {
	awk -v room="$(room "$1")" '$2 == room { n++ } END { print n + 0 }' blocks.txt
}

# between LOW VALUE HIGH
between() {
	echo "$1 <= $2 <= $3" # shown if it fails
	awk -v low="$1" -v value="$2" -v high="$3" 'BEGIN { exit !(value != "" && low <= value && value <= high) }'
}

# few_leaks PERCENT - of the heap's bytes: a server at rest has hardly any.
few_leaks() {
	jq -e --argjson most "$1" --slurpfile show show.json '.bytes <= $show[0].snapshot.heap_bytes * $most / 100' leaks.json ||
		{ head -n 30 leaks.txt; return 1; }
}

heap_bytes() {
	jq .snapshot.heap_bytes show.json
}

stop_service() {
	kill "$service" 2>/dev/null
	wait "$service" 2>/dev/null
	service=
}

case "${1:-}" in
bookstore)
	start "$FIXTURES/bookstore/bookstore"
	serve 16604 truth || finish
	look "$service"
	# Names come from the roots here, not from call sites: what is typed all the way down is proved, and what hangs on
	# a void * is called by it.
	while IFS='|' read -r known shown; do
		check "as many as the bookstore counts: $known" jq -e -L "$here" --arg known "$known" --arg shown "$shown" --rawfile truth truth '
			include "names";
			([$truth | split("\n")[] | capture("^ *(?<n>[0-9]+) +[0-9]+ +live +(?<what>.*)$") | select(.what == $known) | .n | tonumber] | add) as $want |
			([.types[] | select(row_name == $shown) | .count] | add) as $got |
			$want == $got or error("want \($want), got \($got)")' show.json
	done <<'X'
Book|Book
Book *[]|Book *[]
char[] in Book.title|char[] in Book.title
char[] in Book.blurb|char[] in Book.blurb
DictNode|DictNode
DictNode *[]|DictNode *[]
char[] in DictNode.key|char[] in DictNode.key
Handler|Handler
Handler *[]|Handler *[]
CacheEntry|CacheEntry
Quote|Quote
OrderPage|OrderPage
char[] in BufferPool.spare|char[] in BufferPool.spare
X
	"$HEAPSNAP" why CacheEntry s.snap >why.txt 2>&1
	check "why: a cached entry is held by the dictionary" sh -c 'grep -q "global g_quotes" why.txt && grep -q "DictNode" why.txt || { cat why.txt; false; }'
	leaked=$(awk '$3 == "leaked" && $4 == "Receipt" { print $1 }' truth)
	"$BLOCKS" s.snap unreachable >lost.txt
	check "leaks: the receipts" between $((leaked - 3)) "$(awk '$2 == 168' lost.txt | wc -l)" "$leaked"
	check "leaks: and their texts" between $((leaked - 3)) "$(awk '$2 == 56' lost.txt | wc -l)" "$leaked"
	check "leaks: nothing else" test "$(awk '$2 != 168 && $2 != 56' lost.txt | wc -l)" -eq 0
	check "it serves on" serve 100 truth
	stop
	;;
nginx)
	need nginx curl
	mkdir logs
	cat >nginx.conf <<X
daemon off; master_process off; pid $work/nginx.pid; error_log $work/logs/error.log;
events { worker_connections 4321; }
http {
	access_log off;
	client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3; uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
	server { listen unix:$work/nginx.sock; location / { return 200 "hello"; } }
}
X
	nginx -p "$work" -e "$work/logs/error.log" -c "$work/nginx.conf" >service.err 2>&1 &
	service=$!
	until_true curl -s --unix-socket nginx.sock http://x/
	for request in 1 2 3 4 5; do curl -s --unix-socket nginx.sock http://x/$request >/dev/null; done
	look "$service"
	# nginx 1.22 src/event/ngx_event.c: one array of connections and two of events, of worker_connections each.
	check "nginx: its 4,321 connections of 240 bytes" test "$(blocks_of $((4321 * 240)))" -ge 1
	check "nginx: their 2 x 4,321 events of 96 bytes" test "$(blocks_of $((4321 * 96)))" -ge 2
	check "nginx: hardly a leak" few_leaks 1
	check "nginx: serves on" test "$(curl -s --unix-socket nginx.sock http://x/)" = hello
	stop_service
	;;
memcached)
	need memcached /usr/bin/python3.11
	user=
	[ "$(id -u)" -ne 0 ] || user="-u nobody"
	chmod 777 "$work"
	# shellcheck disable=SC2086
	memcached $user -s "$work/m.sock" -m 96 -t 4 >service.err 2>&1 &
	service=$!
	cat >talk.py <<'X'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect("m.sock"); f = s.makefile("rwb")
if sys.argv[1] == "fill":
    for i in range(60000): f.write(b"set key%d 0 0 300 noreply\r\n%s\r\n" % (i, b"v" * 300))
f.write(b"stats\r\nstats slabs\r\n"); f.flush()
ends = 0
while ends < 2:
    line = f.readline().decode()
    ends += line.strip() == "END"
    if line.startswith("STAT "): print(*line.split()[1:])
X
	until_true /usr/bin/python3.11 talk.py look
	/usr/bin/python3.11 talk.py fill >stats.txt
	look "$service"
	stat() { awk -v name="$1" '$1 == name { print $2 }' stats.txt; }
	check "memcached: 60,000 items" test "$(stat curr_items)" -eq 60000
	# Each page of a slab is one block of a mebibyte; what `stats slabs` calls total_malloced is their sum.
	pages=$(($(stat total_malloced) / 1048576))
	check "memcached: as many blocks of a mebibyte as it counts pages ($pages)" test "$(blocks_of 1048576)" -eq "$pages"
	check "memcached: its table of keys ($(stat hash_bytes) bytes)" test "$(blocks_of "$(stat hash_bytes)")" -ge 1
	check "memcached: hardly a leak" few_leaks 1
	check "memcached: serves on" test "$(/usr/bin/python3.11 talk.py look | awk '$1 == "curr_items" { print $2 }')" -eq 60000
	stop_service
	;;
python)
	need /usr/bin/python3.11
	cat >script.py <<'X'
import gc, os, sys
texts = [b"%06d" % i + b"x" * 694 for i in range(12345)] # more than 512 bytes: by malloc, whatever the allocator
kept = [{"id": i, "name": f"dict {i}"} for i in range(20000)]
gc.collect()
open("count", "w").write(f"{len(gc.get_objects())} {sys.getsizeof(texts[0])}")
os.rename("count", "ready")
input()
print(sum(d["id"] for d in kept) + sum(map(len, texts)))
X
	for allocator in pymalloc malloc; do
		rm -f ready s.snap
		start env PYTHONMALLOC=$allocator /usr/bin/python3.11 script.py
		until_true test -e ready
		read -r objects size <ready
		# shellcheck disable=SC2046
		look "$service" $([ $allocator = malloc ] || echo partial)
		[ $allocator = malloc ] || check "python, pymalloc: that it has memory is said" grep -q "are pymalloc's" take.err
		check "python, $allocator: its 12,345 long bytes objects of $size" between 12345 "$(blocks_of "$size")" 12445
		[ $allocator = pymalloc ] ||
			check "python, $allocator: a block for each of $objects objects that its collector knows" \
				test "$(jq .snapshot.heap_count show.json)" -gt $((objects + 12345))
		check "python, $allocator: hardly a leak" few_leaks 1
		echo >&7
		read -r sum <&8
		check "python, $allocator: goes on and is right" test "$sum" = $((199990000 + 12345 * 700))
		stop
	done
	;;
postgres)
	bin=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | tail -n 1)
	[ -n "$bin" ] || { skip postgres "no postgres here"; finish; }
	bin=${bin%/initdb}
	chmod 755 "$work"
	mkdir db
	as_user=
	if [ "$(id -u)" -eq 0 ]; then
		as_user="setpriv --reuid postgres --regid postgres --clear-groups"
		getent passwd postgres >/dev/null || as_user="setpriv --reuid nobody --regid nogroup --clear-groups"
		chown "$(echo "$as_user" | awk '{ print $3 ":" $5 }')" db
	fi
	cd db || finish
	$as_user "$bin/initdb" -D "$work/db/data" -U postgres -A trust --no-sync >"$work/service.err" 2>&1 || { fail "initdb" "$work/service.err"; finish; }
	$as_user "$bin/postgres" -D "$work/db/data" -k "$work/db" -c listen_addresses= -c fsync=off -c jit=off >"$work/service.err" 2>&1 &
	service=$!
	until_true "$bin/pg_isready" -h "$work/db"
	cd "$work" || finish
	mkfifo sql answers
	"$bin/psql" -h "$work/db" -U postgres -qAtX <sql >answers 2>psql.err &
	client=$!
	exec 7>sql 8<answers
	echo 'create temp table t as select i, repeat(md5(i::text), 9) as text from generate_series(1, 20000) i;
		select count(distinct text) from t; prepare p as select * from t, pg_class where relname = text;
		do $$ begin perform count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid; end $$;
		select pg_backend_pid(); select sum(total_bytes) from pg_backend_memory_contexts;' >&7
	read -r count <&8 && read -r backend <&8 && read -r total <&8
	sleep 0.2 # until it waits for the next command
	look "$backend"
	check "postgres: it worked" test "$count" = 20000
	# The query that told the sum took memory of its own.
	check "postgres: its memory contexts have $total bytes" between $((total * 8 / 10)) "$(heap_bytes)" $((total * 15 / 10 + 400000))
	check "postgres: hardly a leak" few_leaks 2
	echo 'select count(*) from t;' >&7
	read -r count <&8
	check "postgres: serves on" test "$count" = 20000
	exec 7>&- 8<&-
	wait $client
	kill -INT "$service"
	wait "$service"
	service=
	;;
redis)
	need redis-cli
	redis_server || { skip redis "no redis-server and no redis-check-rdb here"; finish; }
	libc=$(ldd "$(command -v redis-cli)" | awk '$1 == "libc.so.6" { print $3 }')
	cli() { redis-cli -s "$work/redis.sock" "$@"; }
	LD_PRELOAD=$libc ./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" --enable-debug-command yes >service.err 2>&1 &
	service=$!
	until_true cli ping
	cli debug populate 100000 key 64 >/dev/null
	cli info memory | tr -d '\r' >info.txt
	look "$service"
	used=$(sed -n 's/^used_memory://p' info.txt)
	# What redis counts is the usable size of all that it took itself; libraries and lua took some more.
	check "redis: it counts $used bytes" between "$used" "$(heap_bytes)" $((used * 102 / 100 + 300000))
	check "redis: three blocks a key" test "$(jq .snapshot.heap_count show.json)" -gt 300000
	check "redis: hardly a leak" few_leaks 1
	check "redis: goes on" test "$(cli get key:99999 | wc -c)" -ge 8
	cli flushall >/dev/null
	look_before=$(heap_bytes)
	rm s.snap
	look "$service"
	check "redis: flushall frees it" test $((look_before - $(heap_bytes))) -gt 15000000
	cli shutdown nosave 2>/dev/null
	wait "$service"
	service=
	;;
*)
	echo "usage: unprepared.sh bookstore|nginx|memcached|python|postgres|redis" >&2
	exit 2
	;;
esac
finish
