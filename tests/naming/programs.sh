# SPDX-License-Identifier: MIT
# programs.sh - the programs whose names are judged: how they are started, and who says what their blocks are.
# Sourced by run.sh.
#
# NAME_start starts it in the current folder behind $run (the agent, or nothing), its process in $service (or in
# $target, where that is a child), and returns when it has done its work; not 0: it is not to be had here. NAME_truth
# adds to the file truth what is known of the blocks of s.snap. NAME_types prints what is given with --types for a row of its
# own. What else it started is in $helper.
all="bookstore bookstore-cpp planted python lua vsftpd syslog-ng uwsgi cupt objdump as"

# packages NAME… - are they installed, as their debug info must be?
packages() {
	dpkg-query -W "$@" >/dev/null 2>&1
}

# own_start PROGRAM ROUNDS - one of fixtures/, built so that it writes a table of its blocks.
own_start() {
	[ -x "$FIXTURES/$1-witness" ] || return 1
	# shellcheck disable=SC2086
	start env WITNESS="$PWD/truth.own" $run "$FIXTURES/$1-witness"
	[ -z "$2" ] || echo "$2" >&7
	await counts
}
own_truth() { cat truth.own >>truth; }
bookstore_start() { own_start bookstore/bookstore 16604; }
bookstore_truth() { own_truth; }
bookstore_cpp_start() { own_start bookstore-cpp/bookstore-cpp 16604; }
bookstore_cpp_truth() { own_truth; }
planted_start() { own_start traps/trap-planted ''; }
planted_truth() { own_truth; }

# gdb_says OPTION… - its answers, lines that begin with "= ".
gdb_says() {
	timeout 300 gdb -nx -q -batch -p "${target:-$service}" "$@" 2>>gdb.err | sed -n 's/^= //p'
}

# sites_truth [HEADER [WRAPPERS]] - with the agent: the variable at the call site that has the size asked for; see sites.py.
sites_truth() {
	[ "$way" != plain ] || return 0
	"$witness" s.snap "${target:-$service}" sites >sites.txt &&
		gdb_says -ex "set \$sites = \"$PWD/sites.txt\"" -ex "set \$header = ${1:-0}" \
			-ex "set \$wrappers = \"${2:-}\"" -x "$naming/sites.py" >placed.txt &&
		"$witness" s.snap "${target:-$service}" placed placed.txt >>truth
}

# classes_truth - of C++: the symbol of the vtable that an object begins with.
classes_truth() {
	"$witness" s.snap "${target:-$service}" words >words.txt &&
		gdb_says -ex 'set print asm-demangle on' -ex "set \$words = \"$PWD/words.txt\"" -x "$naming/classes.py" >classes.txt &&
		"$witness" s.snap "${target:-$service}" classes classes.txt >>truth
}

python_start() {
	packages python3.11-dbg || return 1
	cat >script.py <<'X'
import collections, json, re
class Book:
    def __init__(self, i): self.number = i; self.title = f"title {i}"
class Slim:
    __slots__ = ("number", "next")
    def __init__(self, i): self.number = i; self.next = None
books = [Book(i) for i in range(10000)]
slim = [Slim(i) for i in range(10000)]
rows = [{"id": i * 1000, "name": b"%d" % i, "pair": (i, float(i))} for i in range(20000)]
index = {f"key {i}": set(range(i % 7)) for i in range(10000)}
queue = collections.deque(range(10000))
text = json.loads(json.dumps([{"a": [1.5, None, "x" * (i % 99)]} for i in range(5000)]))
patterns = [re.compile(f"(a{i}|b+)c*") for i in range(100)]
made = [(lambda k: lambda x: x + k)(i) for i in range(3000)]
open("ready", "w").close()
input()
X
	# shellcheck disable=SC2086
	start env PYTHONMALLOC=malloc $run /usr/bin/python3.11 script.py
	until_true test -e ready
}

python_types() { echo python3.11; }
python_truth() { "$witness" s.snap "$service" python "$naming/python.names" >>truth; }

lua_start() {
	packages liblua5.4-0-dbg || return 1
	cat >script.lua <<'X'
local kept = {}
for i = 1, 20000 do kept[i] = { id = i, name = "table number " .. i } end
local class = { __index = function(t, k) return k end }
for i = 1, 5000 do kept[#kept + 1] = setmetatable({ i, i + 1, i + 2 }, class) end
for i = 1, 3000 do kept[#kept + 1] = function(x) return x + i end end
local threads = {}
for i = 1, 200 do
	threads[i] = coroutine.create(function(a) local b = { a } coroutine.yield(b) end)
	coroutine.resume(threads[i], i)
end
for i = 1, 200 do kept[#kept + 1] = load("return function(x, y) local z = x * " .. i .. " return z + y end") end
kept[#kept + 1] = string.rep("x", 1000000)
io.open("ready", "w"):close()
io.read("l")
X
	# shellcheck disable=SC2086
	start $run "$FIXTURES/lua-host/lua-host" script.lua
	until_true test -e ready
}
lua_types() { echo lua5.4; }
lua_truth() {
	cat >lua.gdb <<'X'
frame function g_read
printf "= %p %p %p %p %p\n", &L->l_G->strt, &L->l_G->allgc, &L->l_G->finobj, &L->l_G->tobefnz, &L->l_G->fixedgc
X
	# shellcheck disable=SC2046
	"$witness" s.snap "$service" lua $(gdb_says -ex 'set language c' -x lua.gdb) >>truth
}

# A session of its own process, with a directory of some size listed.
vsftpd_start() {
	packages vsftpd vsftpd-dbg && [ "$(id -u)" -eq 0 ] || return 1
	port=$((20000 + $$ % 10000)) # several may be tried at a time
	mkdir files empty
	(cd files && seq 2000 | sed 's/^/a file with the number /' | tr ' ' '_' | xargs touch)
	cat >vsftpd.conf <<X
listen=YES
listen_address=127.0.0.1
listen_port=$port
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root=$PWD/files
secure_chroot_dir=$PWD/empty
seccomp_sandbox=NO
one_process_model=YES
X
	chown root:root vsftpd.conf files empty && chmod 755 files empty
	# shellcheck disable=SC2086
	$run /usr/sbin/vsftpd vsftpd.conf >service.err 2>&1 &
	service=$!
	cat >talk.py <<'X'
import ftplib, sys, time
ftp = ftplib.FTP()
ftp.connect("127.0.0.1", int(sys.argv[1]))
ftp.login()
ftp.retrlines("LIST", lambda line: None)
open("ready", "w").close()
time.sleep(300)
X
	until_true /usr/bin/python3.11 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' $port || return 1
	/usr/bin/python3.11 talk.py $port >talk.out 2>&1 &
	helper=$!
	until_true test -e ready && target=$(pgrep -P "$service" | tail -n 1)
}
vsftpd_truth() { sites_truth; }

syslog_ng_start() {
	packages syslog-ng-core syslog-ng-dbg || return 1
	{
		echo '@version: 3.38'
		echo "source s { unix-dgram(\"$PWD/log.sock\"); };"
		for i in $(seq 200); do
			echo "destination d$i { file(\"$PWD/log$i\" template(\"\$DATE \$HOST \$MSGHDR\$MSG $i\\n\")); };"
			echo "filter f$i { program(\"p$i\") and level(info..err) or match(\"word $i\" value(\"MESSAGE\")); };"
			echo "log { source(s); filter(f$i); destination(d$i); };"
		done
	} >syslog-ng.conf
	# shellcheck disable=SC2086
	$run /usr/sbin/syslog-ng -F --no-caps -f syslog-ng.conf -R persist -c control -p pid >service.err 2>&1 &
	service=$!
	until_true test -S log.sock || return 1
	/usr/bin/python3.11 - <<'X'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect("log.sock")
for i in range(2000):
    s.send(b"<13>Jan  1 00:00:00 p%d: a message with word %d" % (i % 200, i % 150))
X
	sleep 1
}
syslog_ng_truth() { sites_truth; }

uwsgi_start() {
	packages uwsgi-core uwsgi-dbg || return 1
	{
		printf '[uwsgi]\nplugins = http,router_static,router_redirect,cache\nsocket = %s/u.sock\nbuffer-size = 8192\n' "$PWD"
		printf 'cache2 = name=one,items=5000,blocksize=1024\nlisten = 64\n'
		seq 300 | sed 's|.*|route = ^/page&/(.*) redirect:/other&/$1|'
		seq 300 | sed 's|.*|static-map = /static&=/var/tmp|'
	} >uwsgi.ini
	# shellcheck disable=SC2086
	$run /usr/bin/uwsgi-core --ini uwsgi.ini >service.err 2>&1 &
	service=$!
	until_true test -S u.sock && sleep 1
}
uwsgi_truth() { sites_truth; }

# Reads what is installed and on offer, and waits for more commands.
# A system of its own, so that the heap is the same wherever this runs: 8,000 packages, installed, no lists.
cupt_system() {
	mkdir -p lists/partial etc/apt.conf.d etc/preferences.d etc/sources.list.d cache/archives/partial
	: >etc/sources.list
	awk -v n=8000 'BEGIN {
		for (i = 0; i < n; i++) {
			printf "Package: package%d\nStatus: install ok installed\nVersion: 1.%d-%d\nArchitecture: amd64\n", i, i, i % 3
			printf "Maintainer: Some One <one%d@example.org>\nInstalled-Size: %d\nSection: section%d\n", i % 50, i, i % 20
			printf "Priority: %s\n", i % 100 ? "optional" : "required"
			printf "Depends: package%d (>= 1.0), package%d | package%d\n", (i * 7 + 1) % n, (i * 13 + 2) % n, i % 97
			if (i % 5 == 0) printf "Provides: virtual%d, other%d (= 1.%d)\n", i % 40, i, i
			if (i % 11 == 0) printf "Recommends: package%d\nConflicts: package%d (<< 0.%d)\n", (i * 3) % n, (i * 5) % n, i
			printf "Description: what package %d is\n of some length\n\n", i
		}
	}' >status
	printf '%s "%s";\n' Dir::State::lists "$PWD/lists/" Dir::State::status "$PWD/status" Dir::State::extended_states \
		"$PWD/extended" Dir::Etc "$PWD/etc" Dir::Cache "$PWD/cache" >apt.conf
}
cupt_start() {
	packages cupt cupt-dbg || return 1
	cupt_system
	# shellcheck disable=SC2086
	start env APT_CONFIG="$PWD/apt.conf" $run /usr/bin/cupt shell
	printf 'show package10 package11\ndepends package10\nrdepends package2\npolicy package33\nsearch --names-only package1\nversion\n' >&7
	cat <&8 >answers &
	helper=$!
	until_true grep -q 'executable: 2' answers
	sleep 1
}
cupt_truth() { classes_truth && sites_truth; }

# Waits for somebody to read what it prints; by then it has looked up lines, however its file begins.
objdump_start() {
	packages binutils-x86-64-linux-gnu-dbg libbinutils-dbg || return 1
	# shellcheck disable=SC2086
	start $run /usr/bin/x86_64-linux-gnu-objdump -d -l -C "$build/tests/naming/naming-take"
	head -c 1000000 <&8 >/dev/null
	until_true grep -q pipe "/proc/$service/wchan"
}
objdump_truth() { sites_truth; }

# Waits for the rest of its source.
as_start() {
	packages binutils-x86-64-linux-gnu-dbg libbinutils-dbg || return 1
	# shellcheck disable=SC2086
	start $run /usr/bin/x86_64-linux-gnu-as -g -o out.o -
	awk 'BEGIN {
		for (i = 0; i < 20000; i++) {
			if (i % 100 == 0) printf "\t.section .text.f%d,\"ax\"\n\t.globl f%d\n\t.type f%d,@function\nf%d:\n\t.cfi_startproc\n", i, i, i, i
			printf "label%d:\n\tmovq table+%d(%%rip), %%rax\n\tjne label%d\n\taddl $%d, %%ecx\n", i, 8 * i, (i * 7) % 20000, i
			if (i % 100 == 99) printf "\tret\n\t.cfi_endproc\n"
		}
	}' >&7
	until_true grep -q pipe "/proc/$service/wchan"
}
as_truth() { sites_truth; }
