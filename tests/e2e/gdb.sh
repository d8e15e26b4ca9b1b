#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb.sh python|lua - names and paths in programs that are not ours, against a judge that is not ours:
# what their own run-time tags and variables say in gdb.
# gdb.sh names - names of local types, lambdas and what stands in namespaces without a name, as gdb gives them.
. "$(dirname "$0")/lib.sh"
: "${BLOCKS:?the lister of blocks}"

command -v gdb >/dev/null || { skip "gdb" "no gdb here"; finish; }

# begin NAME FILE COMMAND… - start the program; it makes FILE when it is ready.
begin() {
	begin_name=$1 begin_file=$2
	shift 2
	start "$@"
	begin_left=300
	until [ -e "$begin_file" ]; do
		kill -0 "$service" 2>/dev/null && [ $begin_left -gt 0 ] || { fail "$begin_name is ready" "$work/service.err"; finish; }
		begin_left=$((begin_left - 1))
		sleep 0.1
	done
	take s.snap || finish
	"$HEAPSNAP" show --json s.snap >show.json && "$BLOCKS" s.snap >blocks.txt || { fail "$begin_name can be read"; finish; }
}

# judge SCRIPT OUTPUT - gdb's answer, lines that begin with "= ".
judge() {
	timeout 240 gdb -nx -q -batch -p "$service" -ex 'set language c' -x "$1" >gdb.out 2>&1
	sed -n 's/^= //p' gdb.out >"$2"
	[ -s "$2" ] || { fail "gdb answers" gdb.out; finish; }
}

# ten_types MODULE - exact or proved names of the module's own.
ten_types() {
	jq -e --arg home "$1" '[.types[] | select(.label == null and (.module | startswith($home)) and
		(.confidence == "exact" or .confidence == "proved")) | .type] | unique |
		length >= 10 or error("\(length) types: \(join(", "))")' show.json
}

# agree COUNT - each line of judged is "what we said|what gdb says": at least COUNT, and no two differ.
agree() {
	awk -F'|' -v least="$1" '{ n++ } $1 != $2 { print; bad++ } END {
		print n + 0 " compared, " bad + 0 " differ"; exit !(n >= least && !bad) }' judged
}

case "${1:-}" in
names)
	gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || { skip "names" "no gdb with Python here"; finish; }
	for compiler in "g++ -gdwarf-5" "g++ -gdwarf-4" "g++ -gdwarf-5 -fdebug-types-section" "g++ -gdwarf-5 -gsplit-dwarf" \
		"clang++ -gdwarf-5" "clang++ -gdwarf-4"; do
		command -v "${compiler%% *}" >/dev/null || { skip "names, $compiler" "no such compiler here"; continue; }
		# shellcheck disable=SC2086
		$compiler -std=c++17 -O0 -o named "$here/gdb_names.cc" 2>build.out || { fail "names, $compiler" build.out; continue; }
		rm -f ready s.snap
		begin "names, $compiler" ready ./named
		cat >names.py <<'X'
import gdb
scopes = {"": ["hidden", "deeper", "quiet", "holder", "inner", "of_hidden", "wrapped"],
          "'shop::Owner::run(int)'::": ["keep", "held", "held_generic"], "'shop::Holder<int>::fill()'::": ["kept"],
          "helper::": ["kept"]}
for scope, names in scopes.items():
    for name in names:
        try: value = gdb.parse_and_eval(scope + name)
        except gdb.error: continue
        type = value.type.target() # that of a struct without a name but for its typedef is that name
        name = str(type.strip_typedefs())
        print("= 0x%x %s" % (int(value), type.name if name.endswith("{...}") and type.name else name))
print("= 0x%x InLambda" % int(gdb.parse_and_eval("shop::in_lambda_here")))
X
		timeout 60 gdb -nx -q -batch -p "$service" -x names.py >gdb.out 2>&1
		sed -n 's/^= //p' gdb.out >theirs
		# gdb has no name for the class of a lambda: ours says where it is written.
		awk -v source="$here/gdb_names.cc" 'BEGIN { while ((getline line <source) > 0) if (++n && line ~ /\/\/ lambda$/) written[n] = 1 }
			NR == FNR { address = $1; confidence[$1] = $3; sub(/^[^ ]* [^ ]* [^ ]* /, ""); ours[address] = $0; next }
			{
				address = $1; sub(/^[^ ]* /, ""); sub(/^(struct|class) /, ""); name = ours[address]
				if ($0 == "{...}" && match(name, /^\(lambda at gdb_names\.cc:[0-9]+\)$/) &&
				    substr(name, 25, length(name) - 25) in written)
					name = $0
				gsub(/ \*/, "*", name) # a matter of taste
				print name "|" $0
			}' blocks.txt theirs >judged
		check "names are gdb's: $compiler" agree 10
		echo >&7
		stop >/dev/null
	done
	;;
python)
	python=/usr/bin/python3.11
	[ -x $python ] || { skip "python" "no $python here"; finish; }
	dpkg-query -W python3.11-dbg >/dev/null 2>&1 || { skip "python" "no python3.11-dbg here"; finish; }
	cat >script.py <<'X'
kept = [{"id": i * 1000, "name": b"%d" % i} for i in range(1000)]
open("ready", "w").close()
input()
X
	begin python ready env PYTHONMALLOC=malloc "$HEAPSNAP" run -- $python script.py
	check "python: ten types are named" ten_types python3.11

	# An object says by its first words what it is; nobody else reads them.  (Floats are left out: in
	# the interpreter's list of free ones a link stands where the tag was.)
	awk 'BEGIN { tags["PyCodeObject"] = "code"; tags["PyBytesObject"] = "bytes"; tags["_longobject"] = "int"
			tags["PyListObject"] = "list"; tags["PyTupleObject"] = "tuple" }
		($3 == "exact" || $3 == "proved") && ($4 in tags) && seen[$4]++ < 150 {
			printf "printf \"= %s|%%s\\n\", ((PyObject *)%s)->ob_type->tp_name\n", tags[$4], $1
		}' blocks.txt >tags.gdb
	judge tags.gdb judged
	check "python: 200 blocks are what their own tags say" agree 200

	"$HEAPSNAP" why --json 'PyMemberDef[]' s.snap >why.json
	jq -r '.paths[] | select((.steps | length) == 1 and .steps[0].via == ".tp_members") | .root.name' why.json |
		sort | uniq -u >roots.txt
	# Link-time optimisation hides these variables from gdb until it is made to read their unit; what it
	# then still does not find it cannot confirm.
	set --
	while read -r root; do
		set -- "$@" -ex "info variables ^$root\$" -ex "printf \"= $root %p %p\\n\", &$root, $root.tp_members"
	done <roots.txt
	timeout 60 gdb -nx -q -batch -p "$service" -ex 'set language c' "$@" >gdb.out 2>&1
	sed -n 's/^= //p' gdb.out >hops.txt
	check "python: gdb confirms why PyMemberDef[], hop by hop" sh -c '
		[ "$(wc -l <hops.txt)" -ge 3 ] || { cat gdb.out; exit 1; }
		while read -r name root block; do
			grep -q "^$block .* PyMemberDef\[\]" blocks.txt || { echo "$name.tp_members is $block"; exit 1; }
		done <hops.txt'
	echo >&7
	check "python: ends as it should" stop
	;;
lua)
	ldconfig -p 2>/dev/null | grep -q 'liblua5.4.so.0' || /sbin/ldconfig -p | grep -q 'liblua5.4.so.0' ||
		{ skip "lua" "no liblua5.4.so.0 here"; finish; }
	dpkg-query -W liblua5.4-0-dbg >/dev/null 2>&1 || { skip "lua" "no liblua5.4-0-dbg here"; finish; }
	cat >script.lua <<'X'
local kept = {}
for i = 1, 1000 do kept[i] = { id = i, name = "table number " .. i } end
local co = coroutine.create(function() coroutine.yield(kept) end)
coroutine.resume(co)
io.open("ready", "w"):close()
io.read("l")
X
	begin lua ready "$HEAPSNAP" run -- "$FIXTURES/lua-host/lua-host" script.lua
	check "lua: ten types are named" ten_types liblua5.4

	# All objects hang on one list; each has its tag. A table's nodes stand where the table says.
	cat >tags.gdb <<'X'
frame function g_read
printf "= hash %p\n", L->l_G->strt.hash
set $o = L->l_G->allgc
set $n = 0
while $o != 0 && $n < 2500
  if $o->tt == 5
    set $t = (Table *)$o
    printf "= node %p %d\n", $t->node, (1 << $t->lsizenode) * sizeof(Node)
  end
  if $o->tt == 4 || $o->tt == 20
    printf "= string %p 0\n", $o
  end
  set $o = $o->next
  set $n = $n + 1
end
X
	judge tags.gdb tags.txt
	# A table without fields points to one shared node, which is no block.
	awk 'NR == FNR { type[$1] = $4; size[$1] = $2; next }
		$1 == "node" && ($2 in type) { print "Node[] " $3 "|" type[$2] " " size[$2] }
		$1 == "string" && ($2 in type) && type[$2] !~ /^[0-9]/ && type[$2] != "bytes" { print "TString|" type[$2] }
	' blocks.txt tags.txt >judged
	check "lua: 200 blocks are what the interpreter's own tags say" agree 200
	"$HEAPSNAP" why --json 'TString *[]' s.snap >why.json
	check "lua: why TString *[] leads over the state's string table" jq -e '.paths[0].steps |
		.[-1].via | endswith(".strt.hash")' why.json
	check "lua: gdb confirms it" sh -c '
		block=$(awk "\$1 == \"hash\" { print \$2 }" tags.txt); grep -q "^$block .* TString \*\[\]" blocks.txt'
	echo >&7
	check "lua: ends as it should" stop
	;;
*)
	echo "usage: gdb.sh python|lua" >&2
	exit 2
	;;
esac
finish
