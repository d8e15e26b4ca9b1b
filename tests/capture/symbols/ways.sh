#!/bin/sh
# SPDX-License-Identifier: MIT
# ways.sh c|c++ - one program, its debug info written in every way that there is: each way says what
# the plain one says, types, variables, and at every return address frames, locals and results.
# What the plain one says is held against gdb.  HEAPSNAP is symbols-dump; SOURCES the source tree.
. "$(dirname "$0")/../../e2e/lib.sh"
: "${SOURCES:?the source tree}"
dump=$HEAPSNAP
case $1 in
c) suffix=c gcc=gcc clang=clang standard= ;;
c++) suffix=cc gcc=g++ clang=clang++ standard=-std=c++17 ;;
esac
sources="$SOURCES/tests/capture/symbols/ways.$suffix $SOURCES/tests/capture/symbols/ways_other.$suffix"

# build PROGRAM COMPILER FLAGS… - in a folder of its own, since a .dwo is found by its place.
build() {
	build_to=$1 build_with=$2
	shift 2
	mkdir -p "$build_to"
	(
		cd "$build_to" || exit 1
		for source in $sources; do
			name=$(basename "$source" ".$suffix")
			# shellcheck disable=SC2086
			$build_with $standard -I"$SOURCES" -O2 "$@" -c "$source" -o "$name.o" || exit 1
		done
		# shellcheck disable=SC2086
		$build_with $standard -O2 "$@" ./*.o -o p
	) >build.out 2>&1
}

# facts FOLDER [ASKS] - what is read of its program, in order.
facts() {
	# shellcheck disable=SC2086
	"$dump" --facts --root "$work" "$work/$1/p" ${2:-} | sort
}

# asks FOLDER - all addresses that a call returns to.
asks() {
	objdump -d "$1/p" | awk '/^ *[0-9a-f]+:/ { if (after) printf "@%s:lr ", substr($1, 1, length($1) - 1); after = /\tcall / }'
}

same_code() {
	for program in "$1" "$2"; do
		objcopy -O binary --only-section=.text "$program/p" "$program/text" || return 1
	done
	cmp -s "$1/text" "$2/text"
}

# same NAME FOLDER - says what $base says.
# The compiler may say more where it puts each type into a unit of its own, or each unit into a file:
# types that the plain build throws away.  What the plain one says must stand there as it is.
same() {
	same_code "$base" "$2" || { skip "$1" "its code is another: $base and it cannot be compared address by address"; return; }
	facts "$2" "$(cat "$base/asks")" >"$2/facts"
	comm -3 "$base/facts" "$2/facts" >differences
	check "$1" eval '! grep "^[^	]\|^	.*ways\|^	\(module\|frame\|local\|result\|pc\)" differences'
}

# way NAME COMPILER FLAGS… - build and compare.
way() {
	way_name=$1
	way_folder=$(echo "$1" | tr -c 'a-z0-9\n' _)
	shift
	if build "$way_folder" "$@"; then same "$way_name" "$way_folder"; else skip "$way_name" "cannot be built here: $(tail -1 build.out)"; fi
}

# changed NAME COMMAND… - a copy of $base in folder $changed, with the command done to its program p.
changed() {
	changed_name=$1
	changed=$(echo "$1" | tr -c 'a-z0-9\n' _)
	shift
	rm -rf "$changed"
	cp -r "$base" "$changed"
	(cd "$changed" && eval "$@") >build.out 2>&1 || { skip "$changed_name" "cannot be made here: $(tail -1 build.out)"; return 1; }
}

# The note of a program that says less, and no word of what is missing.
note() {
	facts "$1" "$(cat "$base/asks")" >"$1/facts"
	grep "^module: no types '.*$2" "$1/facts" || { head -3 "$1/facts"; return 1; }
	if comm -13 "$base/facts" "$1/facts" | grep -v '^module:\|^frame\|^pc\|^vtable\|incomplete'; then return 1; fi
	[ -z "${3:-}" ] || grep "^frame .*$3" "$1/facts"
}

# Everything that names something of ours, compilers' spellings and places aside.
ours() {
	grep ways "$1/facts" | grep '^type\|^member\|^variable' | sed 's/ \*/*/g; s/const int/int const/g; s/ at [a-z_]*\.[a-z]*:[0-9]*\( static\)*:/:/' |
		grep -v 'function' | sort -u
}

base=plain_gcc
build $base $gcc -gdwarf-5 || { fail "the plain build" build.out; finish; }
asks $base >$base/asks
facts $base "$(cat $base/asks)" >$base/facts
check "the plain build says enough" eval '[ $(grep -c ^type plain_gcc/facts) -ge 8 ] && [ $(grep -c ^local plain_gcc/facts) -ge 8 ] &&
	[ $(grep -c ^result plain_gcc/facts) -ge 3 ] && [ $(grep -c ^frame plain_gcc/facts) -ge 8 ]'

if [ "$1" = c++ ]; then
	check "a class within a function is called after it" grep -q '^type ways::make(int)::Local:' $base/facts
fi

# --- an independent witness: members by offset, and which variables are in scope at an address ---
if command -v gdb >/dev/null && gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1; then
	cat >witness.py <<'X'
import gdb
def strip(t): return t.strip_typedefs().unqualified()
def look_up(name):
    for way in "", "struct ", "union ":
        try: return strip(gdb.lookup_type(way + name))
        except gdb.error: pass
    return None # within a function
for line in open("wanted"):
    kind, name = line.rstrip("\n").split(" ", 1)
    if kind == "type":
        t = look_up(name)
        if not t: continue
        print("= type %s %d" % (name, t.sizeof))
        for f in t.fields():
            if hasattr(f, "bitpos") and not f.artificial and not f.is_base_class and f.name and not f.name.startswith("_vptr"):
                print("= member %s.%s %d" % (name, f.name, f.bitpos // 8))
    else:
        block = gdb.block_for_pc(int(name, 16) - 1)
        seen = set()
        while block and not block.is_global and not block.is_static:
            for s in block:
                if (s.is_variable or s.is_argument) and s.name not in seen:
                    seen.add(s.name)
                    t = strip(s.type)
                    print("= local %s %s %d" % (name, s.name, t.sizeof))
            block = block.superblock
X
	{
		sed -n 's/^type \(.*ways[^:]*\(::.*\)*\): \(struct\|union\) of .*/type \1/p' $base/facts
		sed -n 's/^local \([0-9a-f]*\) .*/pc \1/p' $base/facts | sort -u
	} >wanted
	gdb -nx -batch -x witness.py $base/p 2>gdb.err | sed -n 's/^= //p' | sort -u >witness
	# ours in its words
	{
		sed -n 's/^type \(.*ways.*\): \(struct\|union\) of \([0-9]*\).*/type \1 \3/p' $base/facts
		sed -n 's/^member \(.*ways.*\.[a-z_]*\): \([0-9]*\) .*/member \1 \2/p' $base/facts | grep -v '\.vptr \|\.base '
	} | grep -v ways_counter | sort -u >mine
	check "types and members are gdb's" eval 'grep -v ^local witness | diff mine - && [ $(wc -l <mine) -ge 20 ]'
	sed -n 's/^local \([0-9a-f]*\) \([^ ]*\) of .*/local \1 \2/p' $base/facts | sort -u >mine
	sed -n 's/^\(local [^ ]* [^ ]*\) .*/\1/p' witness | sort -u >theirs
	check "each local is one that gdb sees there" eval '[ -s mine ] && [ -z "$(comm -23 mine theirs | tee /dev/stderr)" ]'
else
	skip "gdb as a witness" "no gdb with Python here"
fi

# --- gcc's ways ---
way "dwarf 4" $gcc -gdwarf-4
way "type units of dwarf 4" $gcc -gdwarf-4 -fdebug-types-section
way "type units of dwarf 5" $gcc -gdwarf-5 -fdebug-types-section
way "compressed by the compiler" $gcc -gdwarf-5 -gz=zlib
way "split, dwarf 5" $gcc -gdwarf-5 -gsplit-dwarf
way "split, dwarf 4" $gcc -gdwarf-4 -gsplit-dwarf
way "split, with type units" $gcc -gdwarf-5 -gsplit-dwarf -fdebug-types-section

by_id='I=$(readelf -n p | sed -n "s/.*Build ID: //p") && D=$work/usr/lib/debug/.build-id/$(echo $I | cut -c1-2) &&
	F=$D/$(echo $I | cut -c3-).debug && mkdir -p $D'
changed "zlib in the old form" objcopy --compress-debug-sections=zlib-gnu p && same "zlib in the old form" "$changed"
changed "separate, by build id" "$by_id"' && objcopy --only-keep-debug p $F && strip -s p' && same "separate, by build id" "$changed"
rm -rf "$work/usr"
changed "separate, by name" 'objcopy --only-keep-debug p p.debug && strip -s -R .note.gnu.build-id p && objcopy --add-gnu-debuglink=p.debug p' &&
	same "separate, by name" "$changed"
changed "separate and compressed" 'objcopy --only-keep-debug --compress-debug-sections=zlib p p.debug &&
	strip -s -R .note.gnu.build-id p && objcopy --add-gnu-debuglink=p.debug p' && same "separate and compressed" "$changed"
changed "dwz alone" dwz p && same "dwz alone" "$changed"
changed "dwz with a file in common" 'cp p q && dwz -m common -M $PWD/common p q && readelf -SW p | grep -q gnu_debugaltlink' && {
	same "dwz with a file in common" "$changed"
	# By build id alone, as a container sees it that has the debug packages elsewhere.
	(cd "$changed" && mv common p.common && cp p r && mv p.common p && eval "$by_id" && mv p "$F" && mv r p)
	same "dwz by build id" "$changed"
	rm -rf "$work/usr"
	facts "$changed" >"$changed/without"
	check "dwz without it says nothing else" eval '[ -z "$(comm -13 $base/facts $changed/without | grep -v "void\|^module\|^vtable" | tee /dev/stderr)" ]'
}
changed "zstd" 'objcopy --compress-debug-sections=zstd p && readelf -tW p | grep -qi zstd' &&
	check "zstd: a clear note" note "$changed" "compressed with zstd" main
changed "no debug info" strip -g p && check "no debug info: the functions' names" note "$changed" "no debug info" main

# --- split: packages, and what is missing ---
# package COMPILER VERSION - llvm-dwp 14 does not come to an end with gcc's DWARF 5.
package() {
	base=split_$1_$2
	build "$base" "$3" "-gdwarf-$2" -gsplit-dwarf || { skip "package of $1, dwarf $2" "cannot be built: $(tail -1 build.out)"; return; }
	asks "$base" >"$base/asks"
	facts "$base" "$(cat "$base/asks")" >"$base/facts"
	for dwp in llvm-dwp dwp; do
		command -v $dwp >/dev/null || dwp=$dwp-14
		changed "package of $1, dwarf $2, by $dwp" "timeout 10 $dwp *.dwo -o p.dwp && rm *.dwo" || continue
		same "package of $1, dwarf $2, by $dwp" "$changed"
	done
	changed "split, gone, $1, dwarf $2" "rm ways_other.dwo" || return
	rm -f "$base/ways_other.dwo" # which is where the name leads
	check "split, $1, dwarf $2, a part is missing: a note" note "$changed" "split debug info of 1 of 2 units is missing.*ways_other.dwo"
	mv "$base/ways.dwo" "$base/away" && rm "$changed/ways.dwo"
	check "split, $1, dwarf $2, all is missing" note "$changed" "split debug info of 2 of 2 units" main
	cp "$base/away" "$base/ways_other.dwo"
	check "split, $1, dwarf $2, another's part is not taken" note "$changed" "split debug info of 2 of 2 units" main
}
package gcc 4 $gcc
package gcc 5 $gcc
if command -v $clang >/dev/null; then
	package clang 4 $clang
	package clang 5 $clang

	# --- clang's ways ---
	base=plain_clang
	build $base $clang -gdwarf-5 -fstandalone-debug || { fail "clang's plain build" build.out; finish; }
	asks $base >$base/asks
	facts $base "$(cat $base/asks)" >$base/facts
	ours plain_gcc >gcc.ours
	ours $base >clang.ours
	check "clang's types are gcc's" eval '[ -z "$(grep "^type\|^member" clang.ours | comm -13 gcc.ours - | tee /dev/stderr)" ] && [ $(grep -c ^type clang.ours) -ge 5 ]'
	way "clang, dwarf 4" $clang -gdwarf-4 -fstandalone-debug
	way "clang, type units" $clang -gdwarf-5 -fstandalone-debug -fdebug-types-section
	way "clang, split, dwarf 5" $clang -gdwarf-5 -fstandalone-debug -gsplit-dwarf
	way "clang, split, dwarf 4" $clang -gdwarf-4 -fstandalone-debug -gsplit-dwarf
	way "clang, split, with type units" $clang -gdwarf-5 -fstandalone-debug -gsplit-dwarf -fdebug-types-section
	changed "clang, dwz" dwz p && same "clang, dwz" "$changed"
else
	skip "clang's ways" "no $clang here"
fi

# --- linked as one: other code, the same things ---
# lto NAME FOLDER COMPILER FLAGS… - no type, member or variable that is not the plain build's, and hardly fewer.
lto() {
	lto_name=$1 lto_folder=$2 lto_plain=$3
	shift 3
	build "$lto_folder" "$@" || { skip "$lto_name" "cannot be built here: $(tail -1 build.out)"; return; }
	asks "$lto_folder" >"$lto_folder/asks"
	facts "$lto_folder" "$(cat "$lto_folder/asks")" >"$lto_folder/facts"
	ours "$lto_plain" | grep -v '^variable .*/' >plain.ours
	ours "$lto_folder" | grep -v '^variable .*/' >lto.ours
	check "$lto_name" eval '[ -z "$(comm -13 plain.ours lto.ours | tee /dev/stderr)" ] &&
		[ $(comm -23 plain.ours lto.ours | tee /dev/stderr | wc -l) -le 4 ]'
	check "$lto_name: frames are named" eval 'grep -q "^frame .* main at ways\.$suffix" $lto_folder/facts'
}
lto "gcc -flto" lto_gcc plain_gcc $gcc -gdwarf-5 -flto
lto "gcc -flto, dwarf 4" lto_gcc4 plain_gcc $gcc -gdwarf-4 -flto
if command -v $clang >/dev/null; then
	lto "clang -flto" lto_clang plain_clang $clang -gdwarf-5 -fstandalone-debug -flto
	lto "clang -flto=thin" lto_thin plain_clang $clang -gdwarf-5 -fstandalone-debug -flto=thin
fi
finish
