#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh CHECK AGENT CC: what `run` says before it starts a program, for programs of each kind.
set -u
check=$(realpath "$1") agent=$(realpath "$2") cc=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# want PATTERN COMMAND [WHO RUNS THE CHECK]
want() {
	# shellcheck disable=SC2086
	got=$(${3-} ${4-} "$check" "$2")
	case $got in
	$1) ;;
	*) printf 'WRONG: %s\n--- want %s\n--- got  %s\n' "$2" "$1" "$got"; failed=1 ;;
	esac
}

echo 'int main(void) { return 0; }' >p.c
$cc -o plain p.c || exit 1
want 'ok||' ./plain
want 'ok||' sh
want "not found|cannot run 'no-such-command': no such command|" no-such-command
want "not found|cannot run './none': no such command|" ./none
want "not found|*" ''
echo text >text && chmod 644 text
want "not executable|cannot run './text': it is not an executable file|" ./text
want "not executable|*" ./
printf 'a\0b' >binary && chmod 755 binary
want "not executable|cannot run './binary': it is no program|" ./binary

# A file that is found in PATH but may not be executed does not hide a later one.
mkdir one two && echo text >one/tool && cp plain two/tool
PATH=$work/one:$work/two:$PATH
want 'ok||' tool
rm two/tool
want "not executable|*" tool

printf '#!%s\n' "$work/plain" >script && chmod 755 script
want 'ok||' ./script
printf '#!/none/at/all -x\n' >script
want "not found|cannot run '/none/at/all': *" ./script
printf '#! /usr/bin/env plain-not-there\n' >script
want "not found|cannot run 'plain-not-there': *" ./script
# What env is told to do first: its options and variables are none of the program, and some take the agent away.
env_line() {
	printf '#!/usr/bin/env %s\n' "$2" >script
	want "$1" ./script
}
env_line 'ok||' sh
env_line 'ok||' 'sh  '
env_line "not found|cannot run 'sh -x': *" 'sh -x'
env_line "not found|cannot run 'none-1': *" '-S none-1 -i'
env_line "not found|cannot run 'none-2': *" '-S A=1 B= none-2 C=3'
env_line "not found|cannot run 'none-3': *" '-S -u HOME -v -C / --unset=A none-3'
env_line "not found|cannot run 'none-4': *" '-vS none-4'
env_line "not found|cannot run 'none-5': *" '-Snone-5'
env_line 'ok||' '-S "A B"=1 anything'
env_line 'ok||' '-S'
env_line 'ok||' ''
for words in '-i' '-S -i sh' '-S A=1 - sh' '-S --ignore-environment sh' '-S -u LD_PRELOAD sh' '-S -uLD_PRELOAD sh' '-S LD_PRELOAD= sh'; do
	env_line "refused|cannot run './script': its first line has env take LD_PRELOAD away*|*heapsnap run*" "$words"
done
env_line "not found|cannot run 'none-6': *" '-S -u LD_PRELOAD_NOT none-6'

printf '#!%s\n' "$work/loop" >loop && chmod 755 loop
want "refused|*lead to one another|*" ./loop
echo 'echo no first line' >shell && chmod 755 shell
want 'ok||' ./shell

if $cc -static -o static p.c 2>/dev/null; then
	want "refused|cannot run './static': it is statically linked, so nothing can be loaded into it|link it dynamically" ./static
	printf '#!%s\n' "$work/static" >script
	want "refused|cannot run '$work/static': it is statically*" ./script
	cp static one/static-tool && chmod 755 one/static-tool
	printf '#!/usr/bin/env -S static-tool -v\n' >script
	want "refused|*/one/static-tool*statically*" ./script
else
	echo "skip: no static libc"
fi
if $cc -fsanitize=address -o asan p.c 2>/dev/null; then
	want "refused|cannot run './asan': it is built with AddressSanitizer*|use a build*" ./asan
else
	echo "skip: no AddressSanitizer"
fi
# Other kinds by changing a byte of the head: class, machine; and another loader's name.
cp plain bits && printf '\001' | dd of=bits bs=1 seek=4 conv=notrunc 2>/dev/null
want "refused|*not a 64-bit x86 program|*" ./bits
cp plain arm && printf '\267' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
want "refused|*not a 64-bit x86 program|*" ./arm
$cc -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl p.c
want "refused|*its C library is not glibc (loader /lib/ld-musl-x86_64.so.1)|*" ./musl
if [ "$(id -u)" -eq 0 ]; then
	cp plain suid && chown 65534 suid && chmod 4755 suid
	want "refused|*setuid*|*" ./suid
	cp plain suid-own && chmod 4755 suid-own
	want 'ok||' ./suid-own
	# Nor a script's; and where nobody gains anything by it, the agent comes along.
	printf '#!%s -x\n' "$work/suid" >script
	want "refused|cannot run '$work/suid': it is setuid*" ./script
	cp plain sgid && chgrp 65534 sgid && chmod 2755 sgid
	want "refused|*setgid*|*" ./sgid
	printf '#!/bin/sh\n' >suid-script && chown 65534 suid-script && chmod 4755 suid-script
	want 'ok||' ./suid-script
	want 'ok||' ./suid setpriv --no-new-privs
fi
# A head that lies about everything after it: no crash, the loader will complain.
head -c 64 plain >cut && chmod 755 cut
want '*|*' ./cut
head -c 400 plain >cut2 && chmod 755 cut2
want '*|*' ./cut2

# Where the agent is
HEAPSNAP_AGENT=$agent want "$(realpath "$agent")" path
cp "$agent" "$work/other.so"
HEAPSNAP_AGENT=$work/other.so want "not found|cannot use the agent '$work/other.so'*|*called libheapsnap-agent.so*" path
HEAPSNAP_AGENT=$work/none want "not found|cannot use the agent '$work/none'*|*HEAPSNAP_AGENT*" path
mkdir 'a b' && cp "$agent" 'a b/libheapsnap-agent.so'
HEAPSNAP_AGENT="$work/a b/libheapsnap-agent.so" want '/tmp/heapsnap-*/*-libheapsnap-agent.so' path
link=$(HEAPSNAP_AGENT="$work/a b/libheapsnap-agent.so" "$check" path)
again=$(HEAPSNAP_AGENT="$work/a b/libheapsnap-agent.so" "$check" path)
[ "$link" = "$again" ] && [ "$(realpath "$link")" = "$(realpath 'a b/libheapsnap-agent.so')" ] || {
	echo "WRONG: link $link, then $again"
	failed=1
}
rm -f "$link"
exit $failed
