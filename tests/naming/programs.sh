# SPDX-License-Identifier: MIT
# programs.sh - the programs whose names are judged: how they are started, and who says what their blocks are.
# Sourced by run.sh.
#
# NAME_start starts it in the current folder behind $run (the agent, or nothing), its process in $service (or in
# $target, where that is a child), and returns when it has done its work; not 0: it is not to be had here. NAME_truth
# adds to the file truth what is known of the blocks of s.snap. NAME_stop ends what killing $service does not.
all="bookstore bookstore-cpp planted python lua"

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

# sites_truth - of C, with the agent: the variable at the call site that has the size asked for.
sites_truth() {
	[ "$way" != plain ] || return 0
	"$witness" s.snap "${target:-$service}" sites >sites.txt &&
		gdb_says -ex "set \$sites = \"$PWD/sites.txt\"" -x "$naming/sites.py" >placed.txt &&
		"$witness" s.snap "${target:-$service}" placed placed.txt >>truth
}

# classes_truth - of C++: the symbol of the vtable that an object begins with.
classes_truth() {
	"$witness" s.snap "${target:-$service}" words >words.txt &&
		awk '{ print "info symbol 0x" $1 }' words.txt >words.gdb &&
		timeout 300 gdb -nx -q -batch -p "${target:-$service}" -ex 'set print asm-demangle on' -x words.gdb 2>>gdb.err >symbols.txt
	return 0
}

python_start() {
	[ -x /usr/bin/python3.11 ] && dpkg-query -W python3.11-dbg >/dev/null 2>&1 || return 1
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

python_truth() { "$witness" s.snap "$service" python "$naming/python.names" >>truth; }

lua_start() {
	dpkg-query -W liblua5.4-0-dbg >/dev/null 2>&1 || return 1
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
lua_truth() {
	cat >lua.gdb <<'X'
frame function g_read
printf "= %p %p %p %p %p\n", &L->l_G->strt, &L->l_G->allgc, &L->l_G->finobj, &L->l_G->tobefnz, &L->l_G->fixedgc
X
	# shellcheck disable=SC2046
	"$witness" s.snap "$service" lua $(gdb_says -ex 'set language c' -x lua.gdb) >>truth
}
