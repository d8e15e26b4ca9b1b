#!/bin/sh
# SPDX-License-Identifier: MIT
# others.sh languages|tools|git|compilers|cmake|tests|redis|nginx|postgres|node|java - programs that are not ours, with the
# agent and without: the same output, exit status and files; servers go on while they are taken.  docs/agent.md
# has the list of what was tried.
. "$(dirname "$0")/../../e2e/lib.sh"
: "${HEAPSNAP_AGENT:?the agent}"
export LC_ALL=C.UTF-8 TZ=UTC

# have NAME COMMAND - is it installed?
have() {
	command -v "$2" >/dev/null || { skip "$1" "no $2 here"; return 1; }
}

# one COMMAND… - what it prints, says and leaves behind, in a folder of the same name each time.
one() {
	rm -rf "$work/here" "$work/$round"
	mkdir "$work/here" "$work/$round"
	(cd "$work/here" && "$@" </dev/null >"$work/$round/stdout" 2>"$work/$round/stderr"; echo "exit $?" >"$work/$round/status")
	mv "$work/here" "$work/$round/files"
}

# same NAME COMMAND… - as without the agent; at least something is printed.  $exits: its exit status.
exits=0
same() {
	same_name=$1
	shift
	round=bare
	one "$@"
	round=with
	one "$HEAPSNAP" run -- "$@"
	if [ ! -s bare/stdout ] || [ "$(cat bare/status)" != "exit $exits" ]; then
		skip "$same_name" "it does not do without the agent either: $(head -n 3 bare/stderr | tr '\n' ' ')"
	elif diff -r bare with >same.out 2>&1; then
		pass "$same_name"
	else
		fail "$same_name" same.out
	fi
	exits=0
}

# all NAME - is this a run of all tests?
all() {
	[ "${HEAPSNAP_TEST_ALL:-no}" = yes ] || { skip "$1" "only with ./test --all"; return 1; }
}

# until_true COMMAND… - for a minute at most.
until_true() {
	until_left=600
	until "$@" >/dev/null 2>&1; do
		until_left=$((until_left - 1))
		[ $until_left -gt 0 ] || { fail "ready: $*" "$work/service.err"; finish; }
		sleep 0.1
	done
}

# looked_at NAME PID ALLOCATOR - taken twice, compared and shown, and its heap is recorded; where the allocator is glibc's,
# the agent's records and a walk of the heap are of as many blocks (in flight: one a thread, and what libc takes itself).
# Of another allocator: all of it is there.
looked_at() {
	looked=$1 looked_pid=$2
	set -- "$3" "$(find "/proc/$2/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)"
	rm -f ./*.snap
	for looked_n in 1 2; do
		check "$looked: take $looked_n" "$HEAPSNAP" take --allow-partial --force -p "$looked_pid" -o $looked_n.snap
	done
	check "$looked: diff" "$HEAPSNAP" diff --allow-partial 1.snap 2.snap
	check "$looked: show" "$HEAPSNAP" show --allow-partial 2.snap
	[ "$1" != busy ] || return
	check "$looked: the agent records it" sh -c '"$0" show --allow-partial --json 2.snap |
		jq -e ".snapshot.source == \"agent\""' "$HEAPSNAP"
	[ "$1" = glibc ] || return
	"$HEAPSNAP" take --allow-partial --allocator=glibc -p "$looked_pid" -o walk.snap >take.out 2>&1 ||
		{ fail "$looked: take --allocator=glibc" take.out; return; }
	"$HEAPSNAP" take --allow-partial --allocator=agent -p "$looked_pid" -o agent.snap >take.out 2>&1 ||
		{ fail "$looked: take --allocator=agent" take.out; return; }
	check "$looked: its records are of as many blocks as a walk finds" sh -c 'for f in walk agent;
		do "$0" show --allow-partial --json $f.snap; done |
		jq -s --argjson threads "$1" "map(.snapshot.heap_count) | ., if (.[0] - .[1] |
			fabs) <= 3 * \$threads then empty else error(\"too far\") end"' "$HEAPSNAP" "$2"
}

# user_of FOLDER - $as_user runs a command as somebody who has no rights, to whom it then belongs.
user_of() {
	as_user=
	chmod 755 "$work"
	[ "$(id -u)" -eq 0 ] || return 0
	user_is=nobody
	! getent passwd postgres >/dev/null || user_is=postgres
	as_user="setpriv --reuid $user_is --regid $(id -g $user_is) --clear-groups"
	chown $user_is: "$1"
}

case "${1:-}" in
languages)
	have perl perl && same "perl" perl -e '
		my %words; my $seed = 42;
		for my $i (1 .. 30000) {
			$seed = ($seed * 1103515245 + 12345) % 2147483648;
			my $word = join "", map { chr(97 + ($seed >> $_) % 26) } 1 .. 3 + $i % 9;
			push @{$words{substr $word, 0, 2}}, $word;
		}
		my $text = join " ", map { @{$words{$_}} } sort keys %words;
		my $n = () = $text =~ /\b(\w)\w*\1\b/g;
		(my $other = $text) =~ s/(\w+) (\w+)/$2 $1/g;
		print "$n ", length $other, " ", unpack("%32C*", $other), "\n"; exit 3 if $n < 10'
	have "perl: Debian's modules" perl && same "perl: Debian's modules compile" sh -c '
		for m in POSIX Storable Encode Unicode::Collate Data::Dumper Compress::Zlib DB_File Math::BigFloat threads; do
			perl -M$m -e "print qq($m \$${m}::VERSION\n)"; done 2>&1'
	have "perl: threads" perl && same "perl: threads" perl -Mthreads -e '
		my @t = map { my $n = $_; threads->create(sub { my %h; $h{$_ x 3} = "v" x $_ for 1 .. 400 * $n; scalar keys %h }) } 1 .. 4;
		print join(",", map { $_->join } @t), "\n"'
	exits=9
	have "python3.11" /usr/bin/python3.11 &&
		same "python3.11: threads, processes, ctypes" env PYTHONHASHSEED=1 /usr/bin/python3.11 -c '
import ctypes, json, subprocess, sys, threading, multiprocessing, zlib, hashlib
def work(n): return zlib.crc32(json.dumps({str(i): [i] * (n % 7) for i in range(n)}).encode())
got = [None] * 20
def thread(n): got[n] = work(500 + n)
threads = [threading.Thread(target=thread, args=(n,)) for n in range(20)]
[t.start() for t in threads]; [t.join() for t in threads]
print(got)
with multiprocessing.get_context("fork").Pool(3) as pool: print(pool.map(work, range(100, 120)))
libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
block = libc.malloc(ctypes.c_size_t(1000)); ctypes.memset(block, 7, libc.malloc_usable_size(block))
libc.free(ctypes.c_void_p(block))
print(subprocess.run([sys.executable, "-c", "print(sum(map(len, [str(i) for i in range(9999)])))"], capture_output=True).stdout)
sys.exit(9)'
	exits=0
	have ruby ruby && same "ruby: threads, garbage, fork" ruby -e '
		t = 8.times.map { |n| Thread.new { (1..4000).map { |i| "#{i * n}" * 3 }.group_by(&:size).transform_values(&:size).sort } }
		p t.map(&:value); GC.start(full_mark: true); GC.compact rescue nil
		r, w = IO.pipe; pid = fork { w.write("x" * 100_000); exit! 5 }; w.close; p r.read.size; Process.wait pid; p $?.exitstatus'
	have php php && same "php" php -r '
		$a = []; for ($i = 0; $i < 60000; $i++) $a[md5((string)$i)] = str_repeat(chr(65 + $i % 26), $i % 50);
		ksort($a); echo md5(serialize($a)), " ", count(preg_grep("/^[a-f]{3}/", array_keys($a))), "\n";'
	have lua lua5.4 && same "lua5.4" lua5.4 -e '
		local t = {} for i = 1, 60000 do t[i] = ("%d:%x"):format(i, i * 2654435761 % 4294967296) end
		table.sort(t) local s = table.concat(t):gsub("%x%x:", "<%0>") collectgarbage() print(#s, s:sub(1000, 1040))'
	echo 'set d {}; for {set i 0} {$i < 20000} {incr i} {dict set d k$i [string repeat x [expr {$i % 30}]]}
		puts [dict size $d]; puts [string length [regsub -all {k([0-9])} $d {<\1>}]]; interp create a;
			puts [a eval {info patchlevel}]' >script.tcl
	have tcl tclsh && same "tclsh" tclsh "$work/script.tcl"
	exits=6
	have bash bash && same "bash: arrays, coprocesses, subshells" bash -c '
		declare -A a; for i in {1..2000}; do a[k$i]=${i}$((i * i)); done; for k in "${!a[@]}"; do s=$((s + ${#a[$k]})); done; echo $s
		coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo "$line"; x=$(for i in {1..200};
			do (echo $i); done); echo "${x//[0-9]/n}" | md5sum
		mapfile -t m < <(seq 20000); echo ${#m[@]}; exit 6'
	exits=0
	[ -x /bin/dash ] && same "dash" dash -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); v=$v.$i; done;
		echo ${#v} $(echo "$v" | cksum)'
	have awk awk && same "awk" awk 'BEGIN { for (i = 0; i < 90000; i++) n[i % 977 "x" i] = i;
		for (k in n) s += length(k) * n[k]; print s }'
	have emacs emacs && same "emacs -batch" emacs -Q -batch --eval '(progn (dotimes (i 30000)
		(insert (format "%d line %x\n" i (* i i)))) (sort-lines nil (point-min) (point-max))
		(goto-char (point-min)) (while (re-search-forward "line \\([0-9]+\\)" nil t) (replace-match "<\\1>"))
			(garbage-collect) (princ (secure-hash (quote sha1) (buffer-string))))'
	have vim vim && same "vim -es" sh -c 'seq 20000 >f;
		vim -u NONE -N -i NONE -es -c "%s/\(.\)\(.\)/\2\1/" -c "sort" -c "g/99/d" -c "wq" f; sha1sum f'
	;;
tools)
	have sqlite3 sqlite3 && same "sqlite3" sqlite3 db 'create table t(a integer primary key, b text, c real);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
		insert into t select i, printf("%x", i * 2654435761), i / 7.0 from n; create index x on t(b);
			delete from t where a % 3 = 0; vacuum;
		select count(*), sum(c), group_concat(b) from (select * from t order by b desc limit 200); pragma integrity_check;'
	have sort sort && same "sort" sh -c 'seq 30000 | sort -R --random-source=/bin/sh | sort -S 100K --parallel=4 -k1.2 | md5sum'
	have tar tar && same "tar, xz, zstd, gzip" sh -c 'seq 60000 >f; tar --mtime=@0 --owner=0 --group=0 -c f >f.tar;
		for c in gzip\ -n xz\ -T2 zstd\ -qT2; do $c <f.tar | md5sum; done; xz <f.tar | xz -d | cmp - f.tar && rm f f.tar'
	have openssl openssl && same "openssl" sh -c 'seq 50000 >f; openssl dgst -sha3-256 f;
		openssl enc -aes-256-cbc -pbkdf2 -S 0102030405060708 -pass pass:x -in f |
		openssl enc -d -aes-256-cbc -pbkdf2 -S 0102030405060708 -pass pass:x | md5sum; openssl list -digest-algorithms | wc -l'
	have gdb gdb && same "gdb -batch" gdb -nx -batch -ex 'info functions ^malloc$' -ex 'disassemble main' -ex 'info line 1' "$FIXTURES/bookstore/bookstore"
	have gdb gdb && same "gdb: a program under it" sh -c 'gdb -nx -batch -ex "break malloc" -ex run -ex delete -ex continue -ex "print \$_exitcode" --args true | sed "s/process [0-9]*/process/"'
	have strace strace && same "strace -f" strace -f -o /dev/null sh -c 'ls / | sort | head -n 2; exit 0'
	# Sandboxes of their own: a filter of libseccomp's, and one that a program is started in
	have man man && printf '.TH A 1\n.SH NAME\na \\- b\n' >a.1 && same "man, which filters its system calls" man -l "$work/a.1"
	have bwrap bwrap && [ "$(id -u)" -eq 0 ] &&
		same "bwrap" bwrap --ro-bind / / --proc /proc --dev /dev --unshare-pid -- sh -c 'seq 2000 | sort -r | head -n 2'
	have qemu qemu-system-x86_64 && all "qemu-system-x86_64 -sandbox on" &&
		same "qemu-system-x86_64 -sandbox on" sh -c '{ sleep 2; echo info version; sleep 1; echo quit; } |
		qemu-system-x86_64 -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny -display none -m 64 -accel tcg -S -monitor stdio | grep -a "^[0-9]"'
	have qemu-user qemu-x86_64 && have qemu-user busybox &&
		same "qemu-x86_64: busybox" qemu-x86_64 "$(command -v busybox)" sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1));
		s=$s.$i; done; echo "$s" | md5sum; seq 5000 | sort -r | head -n 3'
	have curl curl && same "curl" curl -sS "file://$(realpath "$(command -v curl)")" -o f --write-out "%{size_download}\n"
	have make make && same "make -j" sh -c 'printf "all: %s\n%%: ; @echo \$@ >\$@\n" "$(seq -s " " 60)" >Makefile;
		make -sj3 && cat $(seq 60) | md5sum; rm -f *'
	have ssh-keygen ssh-keygen && same "ssh-keygen" sh -c 'ssh-keygen -q -t ed25519 -N "" -f k && ssh-keygen -yf k |
		cut -c 1-20; rm -f k k.pub'
	have bc bc && same "bc" sh -c 'echo "scale=900; 4*a(1)" | bc -l'
	have xmllint xmllint && same "xmllint" sh -c '{ echo "<a>"; for i in $(seq 3000); do echo "<b c=\"$i\">$i</b>";
		done; echo "</a>"; } | xmllint --format - | md5sum'
	have nm nm && same "binutils" sh -c 'nm -DC /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | md5sum;
		objdump -d --no-show-raw-insn /bin/true | md5sum; readelf -aW /bin/true | md5sum'
	;;
git)
	have git git && same "git: add, commit, branch, merge, gc, fsck, log" env GIT_CONFIG_NOSYSTEM=1 HOME=/none GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
		GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d GIT_AUTHOR_DATE='2026-01-02T03:04:05Z' GIT_COMMITTER_DATE='2026-01-02T03:04:05Z' \
		GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=init.defaultBranch GIT_CONFIG_VALUE_0=main GIT_CONFIG_KEY_1=pack.threads GIT_CONFIG_VALUE_1=2 sh -c '
		git init -q r && cd r || exit 1
		for n in $(seq 12); do
			for f in a b c d; do seq $n 7 $((n * 900)) >$f; done; mkdir -p s$n; seq $n 4000 >s$n/f
			git add . && git commit -qm "number $n" || exit 2
		done
		git checkout -qb other HEAD~5 && seq 77 >other && git add other && git commit -qm other && git merge -q -m merged main || exit 3
		git gc -q --aggressive && git fsck --strict --full && git log --format="%H %T %s" --stat | md5sum && git rev-parse HEAD &&
		git verify-pack -v .git/objects/pack/*.idx | sort | md5sum && git blame -s a | md5sum && git diff HEAD~3 |
			md5sum && git archive HEAD | md5sum
		git grep -c 1000 | md5sum; git clone -q . ../copy && git -C ../copy rev-parse HEAD; rm -rf ../copy ../r'
	;;
compilers)
	cat >a.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[20]; };
static struct node *push(struct node *head, int n) { struct node *x = malloc(sizeof(*x));
	snprintf(x->text, sizeof(x->text), "%d", n); x->next = head; return x; }
int main(void) { struct node *l = NULL; for (int i = 0; i < 100; i++) l = push(l, i); unsigned s = 0; for (; l;
	l = l->next) s += (unsigned)strlen(l->text); printf("%u\n", s); return 0; }
X
	cat >b.cc <<'X'
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<std::shared_ptr<int>>> m; for (int i = 0; i < 100;
	i++) m[std::to_string(i % 7)].push_back(std::make_shared<int>(i));
	int s = 0; for (auto &[k, v] : m) s += std::count_if(v.begin(), v.end(), [&](auto &p) { return *p % 3 == k[0] % 3;
		}); printf("%d\n", s); }
X
	cat >c.cc <<'X'
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<std::shared_ptr<int>>> m; for (int i = 0; i < 100;
	i++) m[std::to_string(i % 7)].push_back(std::make_shared<int>(i));
	std::regex r("([0-9])+"); int s = 0; for (auto &[k, v] : m) if (std::regex_match(k, r)) for (auto &p : v) s += *p;
		std::cout << s << std::endl; }
X
	# The same paths, since they stand in what is made.
	for compiler in "gcc a.c" "g++ b.cc" "clang a.c" "gcc a.c -flto" "g++ c.cc -g"; do
		set -- $compiler
		case $compiler in
		clang* | *-*) all "$compiler" || continue ;;
		esac
		have "$compiler" "$1" && same "$compiler: the same object and program" sh -c 'compiler=$1 source=$2; shift 2;
			cp "../$source" . && $compiler "$@" -O2 -frandom-seed=1 -c "$source" -o o.o &&
			$compiler "$@" -O2 -frandom-seed=1 o.o -o p && ./p' sh "$@"
	done
	;;
cmake)
	have cmake cmake && have cmake make && same "cmake: configure, build, test, install" sh -c 'mkdir s &&
		printf "%s\n" "cmake_minimum_required(VERSION 3.20)" "project(p C)" "enable_testing()" "add_library(l STATIC l.c)" \
		"add_executable(p p.c)" "target_link_libraries(p l)" "add_test(NAME t COMMAND p)" "install(TARGETS p)" >s/CMakeLists.txt && echo "int f(void) { return 0; }" >s/l.c && echo "int f(void); int main(void) { return f(); }" >s/p.c &&
		cmake -S s -B b -DCMAKE_BUILD_TYPE=Release >log && cmake --build b >>log && (cd b && ctest) |
			sed "s/ *[0-9.]* sec//g" && cmake --install b --prefix i | md5sum && cat b/p | md5sum && md5sum i/bin/p; rm -rf b log'
	;;
tests)
	have "python's own tests" /usr/bin/python3.11 && all "python's own tests" || finish
	[ -e /usr/lib/python3.11/test/test_ctypes ] || [ -e /usr/lib/python3.11/test/test_dict.py ] ||
		{ skip "python's own tests" "no libpython3.11-testsuite here"; finish; }
	# What it says of itself in the end, without the times
	for test in test_dict test_list test_json test_threading test_thread test_subprocess test_fork1 test_ctypes test_zlib test_mmap \
		test_array test_gc test_weakref test_struct; do
		same "python's $test" sh -c 'timeout 250 /usr/bin/python3.11 -m test -u none $0 >log 2>&1; status=$?;
			grep -E "^(Ran|OK|FAILED|FAIL:|ERROR:|Tests result|.* run no tests|.* test(s)? (OK|failed|skipped))" log |
			sed "s/ in [0-9.]*s$//"; rm -rf log; exit $status' $test
	done
	;;
redis)
	# jemalloc_room SNAP - bytes of the blocks as jemalloc rounds them up: four sizes to a doubling.
	jemalloc_room() {
		"$BLOCKS" "$1" | awk '{ size = $2; step = 16; if (size <= 8) step = 8
			for (most = 128; most < size; most *= 2) step = most / 4
			room = size ? int((size + step - 1) / step) * step : 8; sum += room } END { printf "%d\n", sum }'
	}
	# counted NAME - what redis says of its memory, and what is in a snapshot of right after.
	counted() {
		cli info >info # the first one makes a histogram of how long it took
		sleep 0.3      # what jemalloc says it asks for ten times a second
		cli info memory | tr -d '\r' | awk -F: '$1 == "used_memory" { used = $2 } $1 == "allocator_allocated" { all = $2 } END { print used, all }' >$1.said
		"$HEAPSNAP" take --quiet -p "$service" -o "$1.snap" >take.out 2>&1 || fail "redis, packaged: take $1" take.out
		jemalloc_room "$1.snap" >$1.room
	}
	# agrees - by how much redis has grown, to one part in 1,000; and jemalloc, which counts what lies in its caches, too, has
	# more than is there, and redis, which does not count what its libraries have, less.
	agrees() {
		paste -d ' ' empty.said empty.room filled.said filled.room | awk '{
			said = $4 - $1; found = $6 - $3
			printf "redis: %d to %d bytes, by %d; the snapshots: %d to %d, by %d; jemalloc: %d\n", $1, $4, said, $3, $6, found, $5
			exit !(said > 1000000 && found - said < said / 1000 && said - found < said / 1000 && $6 >= $4 && $6 <= $5) }'
	}
	have redis redis-cli && redis_server || finish
	libc=$(ldd "$(command -v redis-cli)" | awk '$1 == "libc.so.6" { print $3 }')
	cli() { redis-cli -s "$work/redis.sock" "$@"; }
	for way in bare glibc packaged; do
		rm -f redis.sock dump.rdb
		case $way in
		bare) set -- ;;
		glibc) set -- env LD_PRELOAD="$libc" "$HEAPSNAP" run -- ;;
		packaged) set -- "$HEAPSNAP" run -- ;;
		esac
		"$@" ./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" --enable-debug-command yes --rdbcompression yes >service.err 2>&1 &
		service=$!
		until_true cli ping
		[ $way != packaged ] || counted empty
		{
			cli debug populate 20000 key 64
			[ $way != packaged ] || counted filled >&3
			cli eval 'for i = 1, 3000 do redis.call("del", "key:" .. i * 7) redis.call("sadd", "s" .. i % 50, i) redis.call("zadd", "z" .. i % 9, i, "m" .. i) redis.call("hset", "h" .. i % 5, i, ("x"):rep(i % 99)) end' 0
			[ $way = bare ] || looked_at "redis, $way" "$service" $way >&3
			cli save # and by a forked child
			cli bgsave
			until_true sh -c 'redis-cli -s "$0" info persistence | grep -q rdb_bgsave_in_progress:0' "$work/redis.sock"
			cli debug reload
			cli debug digest
			cli dbsize
			cli flushall
			cli get key:3
		} 3>&1 >"$way.out" 2>&1
		cli shutdown nosave
		wait "$service"
		echo "exit $?" >>$way.out
		service=
		[ $way != packaged ] || { check "redis, packaged: what it says of its memory is what is there" agrees; cat check.out; }
		[ $way = bare ] || check "redis, $way: it answers and ends as without the agent" diff bare.out $way.out
	done
	;;
nginx)
	nginx=$(command -v nginx || echo /usr/sbin/nginx)
	have nginx "$nginx" && have nginx curl || finish
	seq 30000 >index.html
	cat >nginx.conf <<X
daemon off; pid $work/nginx.pid; error_log $work/error.log; worker_processes 2;
$([ "$(id -u)" -ne 0 ] || echo "user root root;")
events { worker_connections 64; }
http { access_log off; client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
	uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
	gzip on; gzip_min_length 1; gzip_types *; server { listen unix:$work/nginx.sock; root $work; } }
X
	ask() { curl -sS --unix-socket "$work/nginx.sock" "$@" | md5sum; }
	workers() { cat "/proc/$service/task/$service/children"; }
	for way in bare with; do
		rm -f nginx.sock
		if [ $way = bare ]; then set --; else set -- "$HEAPSNAP" run --; fi
		"$@" "$nginx" -p "$work" -c "$work/nginx.conf" >service.err 2>&1 &
		service=$!
		until_true curl -sSf --unix-socket "$work/nginx.sock" http://localhost/
		{
			ask "http://localhost/index.html?[1-50]"
			ask --compressed "http://localhost/index.html?[1-50]"
			set -- $(workers)
			[ $way = bare ] || { looked_at "nginx, worker" "$1" glibc; all "nginx, master" &&
				looked_at "nginx, master" "$service" glibc; } >&3
			kill -HUP "$service"
			until_true sh -c 'set -- $(cat "/proc/$0/task/$0/children") "$1"; [ "$1" != "$3" ]' "$service" "$1"
			ask "http://localhost/index.html?[1-100]"
		} 3>&1 >$way.out 2>&1
		kill -QUIT "$service"
		wait "$service"
		echo "exit $?" >>$way.out
		service=
		[ $way = bare ] || check "nginx: it answers, reloads and ends as without the agent" diff bare.out with.out
	done
	check "nginx: nothing is in its log of errors" not grep -vE '\[notice\]' error.log
	;;
postgres)
	all postgres || finish
	bin=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | tail -n 1)
	[ -n "$bin" ] || { skip postgres "no postgres here"; finish; }
	bin=${bin%/initdb}
	for way in bare with; do
		if [ $way = bare ]; then set --; else set -- "$HEAPSNAP" run --; fi
		rm -rf db && mkdir db && user_of db
		cd db || finish
		$as_user "$@" "$bin/initdb" -D "$work/db/data" -U postgres -A trust --no-locale -E UTF8 --no-sync >"$work/service.err" 2>&1 || { cd "$work"; fail "initdb, $way" "$work/service.err"; finish; }
		pass "initdb, $way"
		$as_user "$@" "$bin/postgres" -D "$work/db/data" -k "$work/db" -c listen_addresses= -c fsync=off >"$work/service.err" 2>&1 &
		service=$!
		cd "$work" || finish
		until_true "$bin/pg_isready" -h "$work/db"
		sql() { "$bin/psql" -h "$work/db" -U postgres -qAtX "$@"; }
		check "pgbench -i, $way" "$bin/pgbench" -h "$work/db" -U postgres -i -q -s 2 postgres
		"$bin/pgbench" -h "$work/db" -U postgres -c 4 -T 8 -P 1 postgres >pgbench.out 2>&1 &
		client=$!
		if [ $way = with ]; then
			until_true sh -c '"$0/psql" -h "$1/db" -U postgres -qAtXc "select pid from pg_stat_activity where query ~ \$\$^UPDATE\$\$ limit 1" >backend && [ -s backend ]' "$bin" "$work"
			backend=$(cat backend)
			# At work: as many blocks at two stops is not to be had.
			looked_at "postgres, a backend at work" "$backend" busy
			looked_at "postgres, postmaster" "$service" glibc
		fi
		wait $client
		check "pgbench, $way: no transaction failed" sh -c '[ "$1" -eq 0 ] && grep -E "failed transactions: 0 " pgbench.out' sh $?
		sql -c 'select count(*), sum(bid) from pgbench_accounts' -c "select md5(string_agg(md5(i::text), ',')) from generate_series(1, 50000) i" \
			-c "select count(*), min(proname), max(proname) from pg_proc" -c "select jsonb_agg(x) from (select i, repeat(i::text, 3) s from generate_series(1, 20) i) x" \
			-c 'select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid where a.attname ~ $$^[a-c].*e$$' >$way.out 2>&1
		kill -INT "$service"
		wait "$service"
		echo "exit $?" >>$way.out
		service=
	done
	check "postgres: it answers and ends as without the agent" diff bare.out with.out
	;;
node)
	have node node && all node || finish
	cat >script.js <<'X'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib'), crypto = require('crypto');
if (!isMainThread) {
	const buffers = [];
	for (let i = 0; i < 300; i++) buffers.push(Buffer.alloc(1000 + i * 17, `${workerData}:${i}`));
	const packed = zlib.gzipSync(Buffer.concat(buffers), { level: 6 });
	parentPort.postMessage(crypto.createHash('sha256').update(zlib.gunzipSync(packed)).digest('hex') + packed.length);
} else {
	const wanted = [1, 2, 3, 4].map(n => new Promise((done, bad) => { const w = new Worker(__filename, { workerData: n }); w.on('message', done); w.on('error', bad); }));
	Promise.all(wanted).then(all => {
		console.log(all.join('\n'), crypto.scryptSync('a', 'b', 32).toString('hex'));
		zlib.brotliCompress(Buffer.alloc(1 << 20, 'abcde'), (e, b) => { console.log(e, b.length);
			process.stdin.on('data', () => { console.log(Object.keys(Array.from({ length: 9999 }, (_, i) => 'k' + i)).length);
				process.exit(8); }); console.log('END'); });
	});
}
X
	for way in bare with; do
		if [ $way = bare ]; then set --; else set -- "$HEAPSNAP" run --; fi
		start "$@" node script.js
		: >$way.out
		while read -r line <&8 && [ "$line" != END ]; do echo "$line" >>$way.out; done
		[ $way = bare ] || looked_at node "$service" busy
		echo >&7
		cat <&8 >>$way.out
		stop
		echo "exit $?" >>$way.out
	done
	check "node: it says and ends as without the agent" diff bare.out with.out
	;;
java)
	have java java && all java || finish
	same "java -version" sh -c 'java -version 2>&1'
	cat >Program.java <<'X'
import java.util.*; import java.util.concurrent.*; import java.util.zip.*; import java.nio.*;
public class Program {
	public static void main(String[] a) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4); List<Future<Long>> all = new ArrayList<>();
		for (int n = 0; n < 16; n++) { final int k = n;
			all.add(pool.submit(() -> { Map<String, Integer> m = new TreeMap<>(); for (int i = 0; i < 20000; i++) m.put("k" + i * k, i);
			ByteBuffer direct = ByteBuffer.allocateDirect(1 << 20); CRC32 crc = new CRC32();
				for (String s : m.keySet()) direct.put(s.getBytes()[0]); direct.flip(); crc.update(direct); return crc.getValue(); })); }
		for (Future<Long> f : all) System.out.println(f.get());
		pool.shutdown(); System.out.println("END"); System.in.read(); System.gc(); System.out.println("goes on"); System.exit(4);
	}
}
X
	for way in bare with; do
		if [ $way = bare ]; then set --; else set -- "$HEAPSNAP" run --; fi
		start "$@" java -Xmx128m -XX:+UseSerialGC Program.java
		: >$way.out
		while read -r line <&8 && [ "$line" != END ]; do echo "$line" >>$way.out; done
		[ $way = bare ] || looked_at java "$service" busy
		echo >&7
		cat <&8 >>$way.out
		stop
		echo "exit $?" >>$way.out
	done
	check "java, from a source file: it says and ends as without the agent" diff bare.out with.out
	;;
*) echo "usage: others.sh languages|tools|git|compilers|cmake|tests|redis|nginx|postgres|node|java" >&2; exit 2 ;;
esac
finish
