#!/bin/sh
# SPDX-License-Identifier: MIT
# redis.sh AGENT [PAIRS [DEPTH]] - what the agent costs redis-server: as it is packaged (Debian's is linked to jemalloc), and on glibc's malloc.
#
# Each pair is a server without and one with the agent, the order changing from pair to pair, filled with 200,000 keys and asked by
# redis-benchmark: 50 clients, each DEPTH requests at a time (16, so that the server is what is waited for); SET and GET of 64 bytes at random.
# Printed are medians of all pairs: requests per second, the 99th percentile in ms, the server's processor time a request in µs, each without
# and with the agent; and by how much fewer requests are served, of the pairs the median, the least and the greatest.
set -eu
agent=$(realpath "${1:?the agent}") pairs=${2:-7} depth=${3:-16}
libc=$(ldd /bin/sh | awk '$1 == "libc.so.6" { print $3 }')
command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null || { echo "redis.sh: needs redis-server and redis-benchmark" >&2; exit 1; }
work=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$work"' EXIT
ticks=$(getconf CLK_TCK)
requests=$((60000 * (depth + 1)))

cpu() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }

# ask WHAT - "rps p99 µs"
ask() {
	ask_before=$(cpu)
	redis-benchmark -s "$work/s" -t "$1" -n $requests -c 50 -P $depth -d 64 -r 200000 --csv 2>/dev/null | tail -1 |
		tr -d '"' | awk -F, '{ printf "%s %s ", $2, $7 }'
	awk -v before="$ask_before" -v after="$(cpu)" -v each=$((requests * ticks)) 'BEGIN { printf "%.3f\n", (after - before) * 1e6 / each }'
}

# once PRELOAD STACKS - of SET and of GET, a line each.
once() {
	LD_PRELOAD=$1 HEAPSNAP_STACKS=$2 redis-server --port 0 --unixsocket "$work/s" --save '' --appendonly no --dir "$work" \
		--enable-debug-command yes >"$work/log" 2>&1 &
	server=$!
	left=200
	until redis-cli -s "$work/s" ping >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || { cat "$work/log" >&2; exit 1; }
		sleep 0.05
	done
	redis-cli -s "$work/s" debug populate 200000 key 64 >/dev/null
	ask set
	ask get
	kill -9 $server
	wait $server 2>/dev/null || :
	rm -f "$work/s"
}

# measure NAME BEHIND STACKS - what is preloaded behind the agent.
measure() {
	: >"$work/pairs"
	pair=0
	while [ $pair -lt "$pairs" ]; do
		if [ $((pair % 2)) -eq 0 ]; then
			once "$2" "$3" >"$work/bare"
			once "$agent${2:+:$2}" "$3" >"$work/with"
		else
			once "$agent${2:+:$2}" "$3" >"$work/with"
			once "$2" "$3" >"$work/bare"
		fi
		paste -d' ' "$work/bare" "$work/with" | awk '{ print NR == 1 ? "set" : "get", $0 }' >>"$work/pairs"
		pair=$((pair + 1))
	done
	for what in set get; do
		awk -v what=$what '$1 == what' "$work/pairs" >"$work/one"
		printf '%-24s %s ' "$1" $what
		for column in 2 5 3 6 4 7; do
			cut -d' ' -f$column "$work/one" | sort -n | awk '{ v[NR] = $1 } END { printf " %9s", v[int((NR + 1) / 2)] }'
		done
		awk '{ print 100 * (1 - $5 / $2) }' "$work/one" | sort -n |
			awk '{ v[NR] = $1 } END { printf "   %.1f %% (%.1f to %.1f)\n", v[int((NR + 1) / 2)], v[1], v[NR] }'
	done
}

printf '%-28s  %9s %9s %9s %9s %9s %9s   %s\n' '' requests/s agent '99 % ms' agent 'µs' agent 'fewer requests'
for stacks in caller fp unwind; do
	measure "glibc's malloc, $stacks" "$libc" $stacks
	measure "as packaged, $stacks" "" $stacks
done
