#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh HEAPSNAP AGENT TELL: `heapsnap run` becomes the program, and hands the agent on as asked.
set -u
heapsnap=$(realpath "$1") agent=$(realpath "$2") tell=$(realpath "$3")
export HEAPSNAP_AGENT="$agent"
unset LD_PRELOAD
failed=0

# want STATUS OUTPUT COMMAND…: exit status and stdout
want() {
	status=$1 output=$2
	shift 2
	got=$("$@" 2>/dev/null)
	code=$?
	if [ $code -ne "$status" ] || [ "$got" != "$output" ]; then
		printf 'WRONG: %s\n--- want %s: %s\n--- got %s: %s\n' "$*" "$status" "$output" "$code" "$got"
		failed=1
	fi
}

want 0 'glibc ""' "$heapsnap" run -- "$tell"
want 0 'glibc ""' "$heapsnap" run "$tell"
want 7 'out' "$heapsnap" run -- sh -c 'echo out; exit 7'
want 143 '' "$heapsnap" run -- sh -c 'kill -TERM $$'
want 0 '--stacks' "$heapsnap" run -- echo --stacks
want 127 '' "$heapsnap" run -- no-such-command-here
want 126 '' "$heapsnap" run -- /etc/passwd
want 2 '' "$heapsnap" run --stacks=nonsense -- true
want 2 '' env HEAPSNAP_AGENT=/none "$heapsnap" run -- true
# The same process from start to end
want 0 same sh -c '"$0" run -- sh -c "[ \$PPID = $$ ] && echo same"' "$heapsnap"
# What was preloaded before stays, behind the agent
want 0 "$agent:/none/other.so" env LD_PRELOAD=/none/other.so "$heapsnap" run -- sh -c 'echo "$LD_PRELOAD"'

# Children have the agent too, unless that is not wanted
want 0 'glibc ""' "$heapsnap" run -- sh -c "$tell"' && :'
want 1 'no agent' "$heapsnap" run --children=no -- sh -c "$tell"' || exit 1'
want 0 '||/none/other.so' env LD_PRELOAD=/none/other.so "$heapsnap" run --children no --stacks caller -- \
	sh -c 'echo "$HEAPSNAP_STACKS|$HEAPSNAP_CHILDREN|$LD_PRELOAD"'
# … and who only becomes the program that was meant is none of them.
work=$(mktemp -d "${TMPDIR:-/tmp}/heapsnap-run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
printf '#!/usr/bin/env %s\n' "$tell" >"$work/script"
printf '#!%s -S A=1 sh\n%s' "$(command -v env)" "$tell; :" >"$work/shell"
chmod 755 "$work/script" "$work/shell"
for children in yes no; do
	want 0 'glibc ""' "$heapsnap" run --children=$children -- "$work/script"
	want 0 'glibc ""' "$heapsnap" run --children=$children -- nice env A=1 nohup "$tell"
	# A heapsnap with AddressSanitizer is a program like any other with it: not one for the agent.
	if nm -D "$heapsnap" | grep -q __asan_init; then
		want 2 '' "$heapsnap" run --children=$children -- "$heapsnap" run --children=$children "$tell"
	else
		want 0 'glibc ""' "$heapsnap" run --children=$children -- "$heapsnap" run --children=$children "$tell"
	fi
done
want 0 'glibc ""' "$heapsnap" run -- "$work/shell"
want 0 'no agent' "$heapsnap" run --children=no -- "$work/shell"
want 126 '' "$heapsnap" run -- "$work"
echo '#!/etc/passwd' >"$work/script"
want 126 '' "$heapsnap" run -- "$work/script"
echo '#!/none' >"$work/script"
want 127 '' "$heapsnap" run -- "$work/script"
# Blanks and colons, in the paths of the program and of the agent
mkdir "$work/a b:c" && cp "$tell" "$work/a b:c/t x" && cp "$agent" "$work/a b:c/"
want 0 'glibc ""' "$heapsnap" run -- "$work/a b:c/t x"
want 0 'glibc ""' env HEAPSNAP_AGENT="$work/a b:c/${agent##*/}" "$heapsnap" run -- "$work/a b:c/t x"
want 0 'glibc ""' env HEAPSNAP_AGENT="$work/a b:c/${agent##*/}" "$heapsnap" run -- sh -c "$tell"' && :'
want 0 'glibc ""' env PATH="$work/a b:/none::$PATH" "$heapsnap" run -- "$tell"
want 0 'unset' "$heapsnap" run --children no -- sh -c 'echo "${LD_PRELOAD-unset}"'
exit $failed
