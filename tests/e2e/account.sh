#!/bin/sh
# SPDX-License-Identifier: MIT
# account.sh - the memory account against what the kernel and the C library say of a process.
#
# Three witnesses: VmRSS (what stays unexplained is small), /proc/PID/smaps (what was explained is
# what the kernel finds in the page tables), mallinfo2 of the process itself (what is free).
. "$(dirname "$0")/lib.sh"
unset MALLOC_PERTURB_ # with it, calloc() itself touches all that it hands out
trap_memory=$FIXTURES/traps/trap-memory
slack=262144 # bytes: the kernel's counters of some versions lag by 64 pages a processor

# snapshot NAME - NAME.snap and NAME.json of the service, and NAME.smaps right after.
snapshot() {
	take "$1.snap" && cp "/proc/$service/smaps" "$1.smaps" && "$HEAPSNAP" show --json "$1.snap" >"$1.json"
}

# account NAME FILTER - a condition on the account, which is shown where it does not hold.
account() {
	jq -e ".snapshot.account | $2" "$1.json" >/dev/null ||
		{ jq -c '.snapshot.account | del(.parts)' "$1.json"; jq -c '.snapshot.account.parts[]' "$1.json"; return 1; }
}

adds_up_to_rss() {
	account "$1" '.rss == .live - .live_not_resident + .overhead + .free + .agent + .stacks + .code_and_data +
		.other + .unexplained and .overhead >= 0 and .live_not_resident >= 0'
}

little_unexplained() {
	account "$1" "(.unexplained | fabs) <= $slack and (.unexplained | fabs) <= .rss / 50 + 32768"
}

# What was explained is what the page tables hold: some pages may come in by what the process, and
# we, do in between.
as_smaps() {
	as_smaps_rss=$(awk '/^Rss:/ { sum += $2 } END { printf "%d", sum * 1024 }' "$1.smaps")
	account "$1" "(.rss - .unexplained - $as_smaps_rss | fabs) <= 65536" || { echo "smaps: $as_smaps_rss"; return 1; }
}

# as_mallinfo NAME TRUTH - nothing is free that the C library does not know, but for what stands in
# its threads' caches, which it counts as in use.
as_mallinfo() {
	as_mallinfo_fields=$(awk '$1 == "live" && $2 == "arena" { print "{\"arena\":" $3 ",\"mapped\":" $5 ",\"free\":" $7 "}" }' "$2")
	account "$1" "$as_mallinfo_fields as \$info | (.free + .free_not_resident) as \$free |
		([.arenas[].cached] | add) as \$cached | \$free >= \$info.free and \$free <= \$info.free + \$cached and
		([.arenas[] | select(.kind != \"mapped\").system] | add) == \$info.arena and
		(([.arenas[] | select(.kind == \"mapped\").walked] | add) // 0) == \$info.mapped" ||
		{ cat "$2"; return 1; }
}

witnesses() {
	check "$2: it adds up" adds_up_to_rss "$1"
	check "$2: little is unexplained" little_unexplained "$1"
	check "$2: as the kernel's page tables say" as_smaps "$1"
}

# The numbers of the line under "is it the heap?" that follow "=" are in sum the one before.
growth_adds_up() {
	"$HEAPSNAP" diff "$1" "$2" | awk '
		found { text = text " " $0 } /^is it the heap/ { found = 1 }
		END {
			print text
			n = split(text, half, "="); gsub(/,[^0-9]/, " ", half[2]); gsub(/,/, "", half[1]); gsub(/,/, "", half[2])
			m = split(half[2], word, " ")
			for (i = 1; i <= m; i++) if (word[i] ~ /^[-+]?[0-9]+$/) sum += word[i]
			split(half[1], left, " ")
			exit !(n == 2 && left[1] == "RSS" && left[2] + 0 == sum && sum != 0)
		}'
}

# by_mode NAME - the account of the service, by each way of holding it still.
by_mode() {
	for mode in copy precopy clone; do
		"$HEAPSNAP" take --quiet --force --allow-partial --freeze=$mode -p "$service" -o "$mode.snap" >/dev/null 2>take.err ||
			{ skip "$1 by $mode" "$(head -n 1 take.err)"; continue; }
		"$HEAPSNAP" show --json $mode.snap >$mode.json
		check "$1 by $mode: it adds up" adds_up_to_rss $mode
		check "$1 by $mode: little is unexplained" little_unexplained $mode
	done
}

for how in agent glibc; do
	with=
	rm -f ./*.snap
	[ $how = glibc ] || with="$HEAPSNAP run --"
	# shellcheck disable=SC2086
	for way in plain freed trimmed untouched arenas mapped; do
		start $with "$trap_memory" "$way"
		await "truth" && snapshot "$way" || { stop; continue; }
		witnesses "$way" "$how, $way"
		check "$how, $way: free is what mallinfo2 says" as_mallinfo "$way" truth
		case $way in
		plain) check "$how: four MiB are live" account plain '.live >= 4194304 and .live < 4300000 and .free < 100000' ;;
		freed) check "$how: 100 MiB are held free" account freed '.free > 103000000 and .free < 106000000 and
			.free_not_resident < 1048576 and .live < 300000' ;;
		trimmed) check "$how: what was trimmed is free and not resident" account trimmed '
			.free < 2 * 1048576 and .free_not_resident > 95 * 1048576 and .rss < 8 * 1048576' ;;
		untouched) check "$how: what calloc gave and nobody touched is live and not resident" account untouched '
			.live >= 268435456 and .live_not_resident >= 268435456 - 16384 and .live_not_resident <= 268435456 and
			.live_swapped == 0 and .rss < 8 * 1048576' ;;
		arenas)
			check "$how: eight arenas of threads, each with its free blocks" account arenas '
				[.arenas[] | select(.kind == "threads")] | length == 8 and
				all(.free_resident > 4000000 and .biggest_free > 4000000 and .system >= .walked)'
			# Seven blocks of 1,000 bytes, with a head and the agent's record.
			check "$how: and what its thread keeps in its cache" account arenas '
				[.arenas[] | select(.kind == "threads").cached] | all(. == 7 * 1008 or . == 7 * 1024)'
			check "$how: show lists them" sh -c "\"\$HEAPSNAP\" show arenas.snap | grep -q '^9 arenas, of which hold much:'" ;;
		mapped) check "$how: a file and shared memory are other mappings" account mapped '
			.other >= 32 * 1048576 and .other < 33 * 1048576 and
			([.parts[] | select(.kind == "file" and (.name | test("trap-memory"))).resident] == [25165824]) and
			([.parts[] | select(.kind == "shared" and (.name | test("trap-shared"))).resident] == [8388608])' ;;
		esac
		stop
	done

	# A block that was there from the start fills up: no type grows, RSS does.
	# shellcheck disable=SC2086
	start $with "$trap_memory" backlog
	await truth && serve 16 truth && snapshot early && serve 160 truth && snapshot late || { stop; continue; }
	stop
	witnesses late "$how, backlog"
	check "$how, backlog: RSS grew by what was filled" jq -en --slurpfile a early.json --slurpfile b late.json '
		($b[0].snapshot.account.rss - $a[0].snapshot.account.rss - 160 * 1048576) as $more | $more >= 0 and $more < 262144'
	check "$how, backlog: and no type did" sh -c '"$HEAPSNAP" diff --json early.snap late.snap | jq -e "all(.types[]; .bytes_delta == 0)"'
	check "$how, backlog: diff says so" sh -c '
		"$HEAPSNAP" diff early.snap late.snap | tee /dev/stderr | grep -q "= live 0, now resident +167,772,160, "'
	check "$how, backlog: the terms of the growth add up" growth_adds_up early.snap late.snap

	# shellcheck disable=SC2086
	start $with "$FIXTURES/bookstore/bookstore"
	serve 4000 truth && snapshot a && serve 4000 truth && snapshot b || { stop; continue; }
	witnesses a "$how, bookstore"
	witnesses b "$how, bookstore later"
	check "$how, bookstore: the terms of the growth add up" growth_adds_up a.snap b.snap
	check "$how, bookstore: text and JSON agree" sh -c '
		rss=$("$HEAPSNAP" show b.snap | sed -n "s/,//g; s/^  = resident (RSS)  *\([0-9]*\) .*/\1/p") && [ "$rss" = "$(jq .snapshot.account.rss b.json)" ]'
	by_mode "$how, bookstore"
	stop

	# Whoever allocates and frees all the time is held still at one moment, which adds up.
	# shellcheck disable=SC2086
	start $with "$trap_memory" churn
	await truth && by_mode "$how, churn"
	stop
done

# ---- the cgroup beside it ----

group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup | sed 's,^/$,,')/heapsnap-account-$$
if mkdir "$group" 2>/dev/null; then
	echo $((256 * 1048576)) >"$group/memory.limit_in_bytes"
	start sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" freed' - "$group" "$trap_memory"
	if await truth && snapshot limited; then
		check "limit and use of its cgroup" account limited '.cgroup.limit == 268435456 and .cgroup.use >= 95 * 1048576 and
			.cgroup.use <= .cgroup.limit'
		check "and show has them beside RSS" sh -c '
			"$HEAPSNAP" show limited.snap | grep -Eq "= resident .*; limit 256.0 MiB; swap " &&
			"$HEAPSNAP" show limited.snap | grep -Eq "^  its cgroup uses  .* % of its limit"'
	fi
	stop
	rmdir "$group"
else
	skip "limit and use of its cgroup" "no memory cgroup of version 1 can be made here"
fi

# ---- by its owner, who sees no frame numbers ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work" && mkdir -m 777 anybody && cp "$HEAPSNAP" anybody/heapsnap
	start setpriv --reuid=65534 --regid=65534 --clear-groups -- "$trap_memory" freed
	if await truth && setpriv --reuid=65534 --regid=65534 --clear-groups -- "$work/anybody/heapsnap" take --quiet \
		-p "$service" -o anybody/own.snap >/dev/null 2>own.err; then
		cp "/proc/$service/smaps" own.smaps
		"$HEAPSNAP" show --json anybody/own.snap >own.json
		witnesses own "by its owner"
	else
		skip "by its owner" "$(head -n 1 own.err)"
	fi
	stop
else
	skip "by its owner" "needs root and setpriv"
fi

# ---- a core knows no RSS ----

if command -v gcore >/dev/null; then
	start "$trap_memory" freed
	await truth && snapshot live && gcore -o core "$service" >gcore.out 2>&1 &&
		"$HEAPSNAP" take --quiet --core "core.$service" -o core.snap >/dev/null 2>take.err && "$HEAPSNAP" show --json core.snap >core.json
	check "a core: the heap as it was live, and no RSS" jq -en --slurpfile a live.json --slurpfile b core.json '
		$a[0].snapshot.account as $a | $b[0].snapshot.account as $b | $b.rss == null and $b.unexplained == null and
		$b.live == $a.live and $b.free + $b.free_not_resident == $a.free + $a.free_not_resident and $b.cgroup == null'
	check "and show says so" sh -c '"$HEAPSNAP" show core.snap | grep -q "its RSS is not known"'
	check "nor does diff" sh -c '"$HEAPSNAP" diff live.snap core.snap | grep -q "not known: the RSS was captured of the first, not of the last"'
	stop
else
	skip "a core knows no RSS" "no gcore here"
fi
[ "$(awk '/^SwapTotal/ { print $2 }' /proc/meminfo)" != 0 ] || skip "swapped pages" "no swap here: tests/capture/account has a recorded tree"
finish
