/* SPDX-License-Identifier: MIT */
/*
 * pieces.S - debug info by hand: variables in pieces, as compilers write them and as nobody does, for test_pieces.c.
 *
 * Types: struct node (16 bytes), struct table { struct node *head, *tail; long count; struct node *slots[2]; }.
 */
#define OP_ADDR .byte 0x03; .quad
#define OP_ADDRX .byte 0xa1; .uleb128
#define OP_CONST8U .byte 0x0e; .quad
#define OP_CONSTU .byte 0x10; .uleb128
#define OP_DEREF_SIZE .byte 0x94, 
#define OP_LIT0 .byte 0x30
#define OP_MUL .byte 0x1e
#define OP_PLUS .byte 0x22
#define OP_PLUS_UCONST .byte 0x23; .uleb128
#define OP_PIECE .byte 0x93; .uleb128
#define OP_BIT_PIECE .byte 0x9d; .uleb128
#define OP_CALL4 .byte 0x99; .long
#define OP_STACK_VALUE .byte 0x9f
#define OP_TLS .byte 0x9b
#define OP_GNU_TLS .byte 0xe0
/* A variable of the type; its location follows, up to END. */
#define VARIABLE(name_, type) .uleb128 5; .asciz #name_; .long type - unit; .uleb128 1f - 0f; 0:
#define END 1:

	.section .text, "ax", @progbits
start:
	ret
	ret
end:
	.data
	.balign 8
	.globl data
data:
	.fill 64, 8, 1
	.section .tbss, "awT", @nobits
	.balign 8
	.fill 64, 1, 0

	.section .debug_abbrev, "", @progbits
	.macro abbrev code, tag, children, attributes:vararg
	.uleb128 \code, \tag
	.byte \children, \attributes, 0, 0
	.endm
	abbrev 1, 0x11, 1, 0x03, 0x08, 0x73, 0x17, 0x11, 0x01, 0x12, 0x07 /* unit: name, addr_base, low_pc, high_pc */
	abbrev 2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b /* base type: name, size, encoding */
	abbrev 3, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b             /* struct: name, size */
	abbrev 4, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b /* member: name, type, offset */
	abbrev 5, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18 /* variable: name, type, location */
	abbrev 6, 0x0f, 0, 0x49, 0x13                         /* pointer: type */
	abbrev 7, 0x01, 1, 0x49, 0x13                         /* array: type */
	abbrev 8, 0x21, 0, 0x37, 0x0b                         /* subrange: count */
	abbrev 9, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07 /* function: name, low_pc, high_pc */
	.byte 0

	.section .debug_addr, "", @progbits
	.long 3f - 2f
2:	.short 5
	.byte 8, 0
addresses:
	.quad data + 80, data + 96
3:

	.section .debug_info, "", @progbits
unit:
	.long 3f - 2f
2:	.short 5
	.byte 1, 8
	.long 0
	.uleb128 1; .asciz "pieces.c"; .long 8; .quad start, end - start
long_type:
	.uleb128 2; .asciz "long"; .byte 8, 5
node:
	.uleb128 3; .asciz "node"; .byte 16
	.uleb128 4; .asciz "next"; .long node_pointer - unit; .byte 0
	.uleb128 4; .asciz "value"; .long long_type - unit; .byte 8
	.byte 0
node_pointer:
	.uleb128 6; .long node - unit
slots:
	.uleb128 7; .long node_pointer - unit
	.uleb128 8; .byte 2
	.byte 0
table:
	.uleb128 3; .asciz "table"; .byte 40
	.uleb128 4; .asciz "head"; .long node_pointer - unit; .byte 0
	.uleb128 4; .asciz "tail"; .long node_pointer - unit; .byte 8
	.uleb128 4; .asciz "count"; .long long_type - unit; .byte 16
	.uleb128 4; .asciz "slots"; .long slots - unit; .byte 24
	.byte 0
	VARIABLE(whole, table) OP_ADDR data; END
	VARIABLE(two, table) OP_ADDR data + 8; OP_PIECE 8; OP_ADDR data; OP_PIECE 8; END
	VARIABLE(gap, table) OP_PIECE 16; OP_ADDR data + 16; OP_PIECE 8; END
	VARIABLE(constant, table) OP_LIT0; OP_STACK_VALUE; OP_PIECE 8; OP_ADDR data + 24; OP_PIECE 16; END
	VARIABLE(numbered, table) OP_ADDRX 0; OP_PIECE 8; OP_ADDRX 1; OP_PIECE 8; END
	VARIABLE(no_number, table) OP_ADDRX 0; OP_PIECE 8; OP_ADDRX 99; OP_PIECE 8; END
	VARIABLE(shrunk, table) OP_ADDR data; OP_PIECE 8
	OP_ADDR data + 8; OP_DEREF_SIZE 1; OP_CONSTU 1000; OP_MUL; OP_LIT0; OP_PLUS; OP_STACK_VALUE; OP_PIECE 8
	OP_ADDR data + 32; OP_PIECE 8; END
	VARIABLE(moved, table) OP_ADDR data; OP_PLUS_UCONST 40; OP_PIECE 8; END
	VARIABLE(per_thread, table) OP_CONST8U 8; OP_GNU_TLS; OP_PIECE 8; OP_CONST8U 24; OP_TLS; OP_PIECE 8; END
	VARIABLE(mixed, table) OP_CONST8U 8; OP_TLS; OP_PIECE 8; OP_ADDR data; OP_PIECE 8; END
	VARIABLE(bare_number, table) OP_CONST8U 8; OP_PIECE 8; OP_ADDR data + 8; OP_PIECE 8; END
	VARIABLE(thrown_away, table) OP_ADDR 0; OP_PIECE 8; OP_ADDR data + 48; OP_PIECE 8; END
	VARIABLE(whole_bytes, table) OP_ADDR data; OP_BIT_PIECE 64; .uleb128 0; OP_ADDR data + 8; OP_BIT_PIECE 64; .uleb128 0; END
	VARIABLE(half_bytes, table) OP_ADDR data; OP_PIECE 8; OP_ADDR data; OP_BIT_PIECE 4; .uleb128 0; OP_ADDR data; OP_PIECE 8; END
	VARIABLE(more_than_we_know, table) OP_ADDR data; OP_PIECE 8; OP_CALL4 0; OP_PIECE 8; OP_ADDR data; OP_PIECE 8; END
	VARIABLE(empty_piece, table) OP_ADDR data; OP_PIECE 0; OP_ADDR data + 8; OP_PIECE 8; END
	VARIABLE(too_large, table) OP_ADDR data; OP_PIECE 8; OP_PIECE 0xffffffffffffffff; OP_ADDR data; OP_PIECE 8; END
	VARIABLE(cut_short, table) OP_ADDR data; OP_PIECE 8; .byte 0x03, 1, 2; END
	VARIABLE(many, table)
	.rept 70
	OP_ADDR data; OP_PIECE 8
	.endr
	END
	VARIABLE(a_value, table) OP_ADDR data; OP_STACK_VALUE; END
	VARIABLE(nothing, table) OP_PIECE 40; END
	VARIABLE(values, table) OP_LIT0; OP_STACK_VALUE; OP_PIECE 8; OP_CONSTU 5; OP_STACK_VALUE; OP_PIECE 8; END
	.uleb128 9; .asciz "counter"; .quad start, end - start
	VARIABLE(in_function, table) OP_ADDRX 0; OP_PIECE 8; OP_ADDRX 1; OP_PIECE 8; OP_LIT0; OP_STACK_VALUE; OP_PIECE 8; END
	.byte 0
	.uleb128 9; .asciz "other"; .quad start + 1, end - start - 1
	VARIABLE(behind_nothing, table) OP_PIECE 16; OP_ADDR data + 56; OP_PIECE 8; END
	.byte 0
	.byte 0
3:
	.section .note.GNU-stack, "", @progbits
