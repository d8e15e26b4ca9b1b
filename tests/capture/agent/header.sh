#!/bin/sh
# SPDX-License-Identifier: MIT
# header.sh BUILD AGENT - heapsnap.h as it is installed: each compiler and standard takes it without a word, however it is
# linked; what the programs say is the same with and without the agent, but for what the agent counts.
set -u
build=$1 agent=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD
failed=0 done=0

DESTDIR=$work/root meson install -C "$build" --no-rebuild --tags devel >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
pc=$(find "$work/root" -name heapsnap.pc)
[ -n "$pc" ] || { echo "not ok - no heapsnap.pc"; exit 1; }
command -v pkg-config >/dev/null || { echo "skip: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$work/root" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
flags=$(pkg-config --cflags heapsnap) || exit 1
[ -z "$(pkg-config --libs-only-l heapsnap)" ] || { echo "not ok - there is something to link with"; failed=1; }

# try WANT COMPILER… - builds, and says "plain" without the agent and WANT with it.
try() {
	want=$1
	shift
	if ! "$@" $flags -Wall -Wextra -pedantic -Werror -o "$work/program" >"$work/out" 2>&1; then
		echo "not ok - $*"
		cat "$work/out"
		failed=1
		return
	fi
	plain=$("$work/program" 2>&1) with=$(LD_PRELOAD=$agent "$work/program" 2>&1)
	done=$((done + 1))
	[ "$plain" = plain ] && [ "$with" = "$want" ] && return
	echo "not ok - $*: '$plain' without the agent, '$with' with it"
	failed=1
}

for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "skip - $cc: not here"; continue; }
	for std in c99 c11 c17 gnu17; do
		try agent $cc -std=$std -O1 "$here/header.c"
	done
	for how in -O0 "-O2 -fno-plt" "-fno-pie -no-pie" "-O2 -fno-pie -no-pie -fno-plt" -fvisibility=hidden "-O2 -flto" "-fpie -pie -Wl,-z,now" \
		"-Wl,--as-needed,-z,defs" "-O3 -march=x86-64-v3 -fcf-protection=full"; do
		try agent $cc $how "$here/header.c"
	done
	for how in -static -static-pie; do
		try plain $cc $how "$here/header.c"
	done
	try plain $cc -DHEAPSNAP_OFF "$here/header.c"
	cxx=g++
	[ $cc = gcc ] || cxx=clang++
	for std in c++11 c++14 c++17 c++20; do
		try agent $cxx -std=$std -x c++ "$here/header.c"
		try agent $cxx -std=$std -O2 -fno-rtti -fno-exceptions -x c++ "$here/header.c"
	done
	# In a library that is linked to, hidden but for one function.
	if $cc $flags -shared -fPIC -fvisibility=hidden -DLIBRARY "$here/header.c" -o "$work/libnote.so" -Wl,-z,defs; then
		try agent $cc -DPROGRAM "$here/header.c" "$work/libnote.so" -Wl,-rpath,"$work"
	else
		failed=1
	fi
done
echo "$done programs were built"
[ $done -gt 0 ] && exit $failed
