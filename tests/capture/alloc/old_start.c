/* SPDX-License-Identifier: MIT */
/* old_start.c - where a program begins that is linked to an old libc without that libc's development files. */
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdx, %r9\n" /* what the loader wants to be called at the end */
	"	pop %rsi\n"
	"	mov %rsp, %rdx\n"
	"	and $-16, %rsp\n"
	"	push %rax\n"
	"	push %rsp\n"
	"	xor %r8d, %r8d\n" /* neither constructors nor destructors */
	"	xor %ecx, %ecx\n"
	"	lea main(%rip), %rdi\n"
	"	call *__libc_start_main@GOTPCREL(%rip)\n"
	"	hlt\n");
