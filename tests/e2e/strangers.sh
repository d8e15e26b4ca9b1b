#!/bin/sh
# SPDX-License-Identifier: MIT
# strangers.sh redis|sqlite|cmake|lua|python - a program that is not ours lives with the agent, and
# what show says adds up to what the agent counted.
. "$(dirname "$0")/lib.sh"

need() {
	for need_command in "$@"; do
		command -v "$need_command" >/dev/null || { skip "$0" "no $need_command here"; finish; }
	done
}

# ready FILE - until the stranger has made it.
ready() {
	ready_left=600
	until [ -e "$1" ]; do
		kill -0 "$service" 2>/dev/null || { fail "the program ended early" "$work/service.err"; finish; }
		ready_left=$((ready_left - 1))
		[ $ready_left -gt 0 ] || { fail "the program was not ready after a minute" "$work/service.err"; finish; }
		sleep 0.1
	done
}

# sums BLOCKS - of s.snap; at least so many blocks are expected.
sums() {
	take s.snap || finish
	"$HEAPSNAP" show --json s.snap >show.json 2>err || fail "show" err
	check "the rows add up" adds_up show.json
	check "blocks with a record are as many as the agent counted" jq -e '.snapshot |
		.heap_count - .no_record == .allocated_count - .freed_count or
		error("\(.heap_count - .no_record) walked, \(.allocated_count - .freed_count) counted, \(.no_record) without a record")' show.json
	check "at least $1 blocks" jq -e --argjson want "$1" '.snapshot.heap_count >= $want' show.json
	check "not partial" jq -e '.snapshot.partial | not' show.json
	"$HEAPSNAP" leaks s.snap >leaks.txt 2>err || fail "leaks" err
}

case "${1:-}" in
redis)
	need redis-cli
	redis_server || { skip redis "no redis-server and no redis-check-rdb here"; finish; }
	libc=$(ldd "$(command -v redis-cli)" | awk '$1 == "libc.so.6" { print $3 }')
	mkdir data
	LD_PRELOAD=$libc "$HEAPSNAP" run -- ./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' \
		--dir "$work/data" --enable-debug-command yes >service.err 2>&1 &
	service=$!
	ready redis.sock
	cli() { redis-cli -s "$work/redis.sock" "$@"; }
	cli debug populate 100000 key 64 >/dev/null
	check "redis: 100,000 keys" test "$(cli dbsize)" = 100000
	sums 200000
	check "redis: goes on" test "$(cli get key:99999 | wc -c)" -ge 8
	cli flushall >/dev/null
	take t.snap && "$HEAPSNAP" diff --json s.snap t.snap >diff.json
	check "redis: flushall frees what the keys took" jq -e '
		.snapshots[0].heap_count - .snapshots[1].heap_count >= 200000' diff.json
	cli shutdown nosave 2>/dev/null
	wait "$service"
	check "redis: ends as it should" test $? -eq 0
	service=
	;;
sqlite)
	need sqlite3
	start "$HEAPSNAP" run -- sqlite3 -batch :memory:
	cat >&7 <<'X'
create table book(id integer primary key, title text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
insert into book select i, 'a book with the number ' || i from n;
select count(*) from book;
.shell touch ready
X
	ready ready
	sums 100
	check "sqlite: what pages take is seen" jq -e '.snapshot.heap_bytes > 2000000' show.json
	echo 'select sum(id) from book;' >&7
	exec 7>&- # what it prints stays in its buffer until it ends
	read -r count <&8 && read -r sum <&8
	check "sqlite: goes on and is right" test "$count $sum" = "50000 1250025000"
	check "sqlite: ends as it should" stop
	;;
cmake)
	need cmake
	cat >script.cmake <<'X'
foreach(i RANGE 20000)
  set("variable_number_${i}" "the value of the variable with the number ${i}")
endforeach()
file(WRITE ready "")
while(NOT EXISTS go)
  execute_process(COMMAND sleep 0.1)
endwhile()
message(STATUS "${variable_number_19999}")
X
	"$HEAPSNAP" run -- cmake -P script.cmake >service.out 2>&1 &
	service=$!
	ready ready
	sums 40000
	: >go
	wait "$service"
	check "cmake: ends as it should" test $? -eq 0
	service=
	check "cmake: is right" grep -q 'with the number 19999' service.out
	;;
lua)
	need lua5.4
	cat >script.lua <<'X'
local kept = {}
for i = 1, 100000 do kept[i] = { id = i, name = "table " .. i } end
io.open("ready", "w"):close()
io.read("l")
local sum = 0
for _, t in ipairs(kept) do sum = sum + t.id end
print(sum)
X
	start "$HEAPSNAP" run -- lua5.4 script.lua
	ready ready
	sums 200000
	echo >&7
	read -r sum <&8
	check "lua: goes on and is right" test "$sum" = 5000050000
	check "lua: ends as it should" stop
	;;
python)
	need python3.11
	cat >script.py <<'X'
kept = [{"id": i, "name": f"dict {i}"} for i in range(50000)]
open("ready", "w").close()
input()
print(sum(d["id"] for d in kept))
X
	start env PYTHONMALLOC=malloc "$HEAPSNAP" run -- "$(command -v python3.11)" script.py
	ready ready
	sums 150000
	echo >&7
	read -r sum <&8
	check "python: goes on and is right" test "$sum" = 1249975000
	check "python: ends as it should" stop
	;;
*)
	echo "usage: strangers.sh redis|sqlite|cmake|lua|python" >&2
	exit 2
	;;
esac
finish
