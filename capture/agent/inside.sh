#!/bin/sh
# SPDX-License-Identifier: MIT
# inside.sh STRIP AGENT STRIPPED SOURCE - the agent's file without its debug info, and an assembler source
# that holds it: what capture/agent_inside.h declares.
set -eu
strip=$1 agent=$2 stripped=$3 source=$4
"$strip" --strip-unneeded -R .comment -o "$stripped" "$agent"
cat >"$source" <<S
	.section .rodata
	.globl hsnap_agent_inside, hsnap_agent_inside_size
	.hidden hsnap_agent_inside, hsnap_agent_inside_size
	.balign 16
hsnap_agent_inside:
	.incbin "$(realpath "$stripped")"
0:
	.balign 8
hsnap_agent_inside_size:
	.quad 0b - hsnap_agent_inside
	.section .note.GNU-stack, "", @progbits
S
