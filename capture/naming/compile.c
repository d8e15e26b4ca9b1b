/* SPDX-License-Identifier: MIT */
/* compile.c - an expression of a user's rule becomes a program, once it is known what its names mean. */
#include "capture/naming/binder.h"

struct compiler {
	struct hsnap_binder *binder;
	const struct hsnap_scope *scope;
	unsigned depth; /* numbers on the stack */
};

static void add_op(struct compiler *compiler, struct hsnap_op op, int grows)
{
	struct hsnap_binder *binder = compiler->binder;
	compiler->depth += (unsigned)grows;
	if (compiler->depth >= HSNAP_MAX_STACK) {
		hsnap_bind_refuse(binder, "an expression is too deep");
		hsnap_bind_hint(binder, "fewer parentheses");
	} else if (!hsnap_vec_push(&binder->bounds->ops, op)) {
		hsnap_bind_no_memory(binder);
	}
}

/* The number that a path ends with. */
static void add_load(struct compiler *compiler, const struct hsnap_named *named, uint64_t offset, const char *name)
{
	struct hsnap_binder *binder = compiler->binder;
	const struct hsnap_dtype *dtype = hsnap_dtype(binder->symbols, named->type);
	struct hsnap_op op = { .kind = HSNAP_OP_LOAD, .value = (int64_t)offset, .size = dtype->size <= 8 ? (uint8_t)dtype->size : 0 };
	bool plain = dtype->kind == HSNAP_DTYPE_SCALAR || dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_POINTER;
	if (named->flags & HSNAP_DMEMBER_BITFIELD) {
		unsigned first = HSNAP_DMEMBER_FIRST_BIT(named->flags), num = HSNAP_DMEMBER_BITS(named->flags);
		plain = plain && num && first + num <= 64;
		op.size = (uint8_t)((first + num + 7) / 8);
		op.first_bit = (uint8_t)first;
		op.num_bits = (uint8_t)num;
	}
	if (!plain || !op.size || op.size > 8) {
		hsnap_bind_refuse(binder, "'%s' is no number and no pointer", name);
		hsnap_bind_hint(binder, "name a member of it that is one");
		return;
	}
	add_op(compiler, op, 0);
}

/* "->" between two names: the pointer is followed. */
static void add_follow(struct compiler *compiler, struct hsnap_named *named, uint64_t *offset, const char *name)
{
	struct hsnap_binder *binder = compiler->binder;
	const struct hsnap_dtype *dtype = hsnap_dtype(binder->symbols, named->type);
	if (dtype->kind != HSNAP_DTYPE_POINTER) {
		hsnap_bind_refuse(binder, "'%s' is no pointer, and '->' stands behind it", name);
		hsnap_bind_hint(binder, "'.' stands between a member and a member of it");
		return;
	}
	add_op(compiler, (struct hsnap_op){ .kind = HSNAP_OP_FOLLOW, .value = (int64_t)*offset }, 0);
	named->type = dtype->target;
	*offset = 0;
}

static void add_path(struct compiler *compiler, const struct hsnap_expr *expr)
{
	struct hsnap_binder *binder = compiler->binder;
	bool led_to = expr->value;
	struct hsnap_named named = { .type = led_to ? compiler->scope->led_to : compiler->scope->base };
	uint64_t offset = 0;
	const char *before = "";
	if (!named.type) {
		hsnap_bind_refuse(binder, led_to ? "'->' wants to know what the pointer leads to, and it may be several things"
						 : "what is called so is no type of the program: it has no members");
		hsnap_bind_hint(binder, led_to ? "say it in the 'is' rules of that name" : "a member of what it is stands behind '->'");
		return;
	}
	add_op(compiler, (struct hsnap_op){ .kind = led_to ? HSNAP_OP_TARGET : HSNAP_OP_BASE }, 1);
	for (uint32_t i = 0; i < expr->b && !binder->code; i++) {
		const struct hsnap_step_name *step = &binder->rules->steps.items[expr->a + i];
		const char *name = hsnap_bind_text(binder, step->name);
		if (step->follow)
			add_follow(compiler, &named, &offset, before);
		hsnap_dtype_id holder = named.type;
		if (!binder->code && !hsnap_find_member(binder->symbols, holder, name, &named)) {
			hsnap_bind_refuse(binder, "'%s' has no member '%s'",
					  hsnap_str(&binder->symbols->strings, hsnap_dtype(binder->symbols, holder)->name), name);
			hsnap_hint_member(binder, holder, name);
		}
		offset += named.offset;
		before = name;
	}
	if (!binder->code)
		add_load(compiler, &named, offset, before);
}

/* A name alone may be an enumerator; members come first. */
static bool add_enumerator(struct compiler *compiler, const struct hsnap_expr *expr)
{
	struct hsnap_binder *binder = compiler->binder;
	struct hsnap_named named;
	int64_t value;
	hsnap_string name = binder->rules->steps.items[expr->a].name;
	if (expr->b != 1 || expr->value)
		return false;
	if (compiler->scope->base && hsnap_find_member(binder->symbols, compiler->scope->base, hsnap_bind_text(binder, name), &named))
		return false;
	if (!hsnap_find_enumerator(binder, name, &value))
		return false;
	add_op(compiler, (struct hsnap_op){ .kind = HSNAP_EXPR_NUMBER, .value = value }, 1);
	return true;
}

static void add_address(struct compiler *compiler, const struct hsnap_expr *expr)
{
	struct hsnap_binder *binder = compiler->binder;
	uint32_t variable;
	if (!hsnap_find_variable(binder, expr->a, &variable)) {
		hsnap_bind_refuse(binder, "there is no variable '%s'", hsnap_bind_text(binder, expr->a));
		hsnap_bind_hint(binder, "only global and static variables have one address, and debug info must tell it");
		return;
	}
	if (binder->symbols->variables.items[variable].num_pieces) {
		hsnap_bind_refuse(binder, "the variable '%s' has no one address", hsnap_bind_text(binder, expr->a));
		hsnap_bind_hint(binder, "the compiler took it apart: debug info has a place for each of its members");
		return;
	}
	uint64_t address = binder->symbols->variables.items[variable].address;
	add_op(compiler, (struct hsnap_op){ .kind = HSNAP_EXPR_NUMBER, .value = (int64_t)address }, 1);
}

/* As deep as the parser let it be. */
static void add_expr(struct compiler *compiler, uint32_t index)
{
	const struct hsnap_expr *expr = &compiler->binder->rules->exprs.items[index];
	if (compiler->binder->code)
		return;
	switch ((enum hsnap_expr_op)expr->op) {
	case HSNAP_EXPR_NUMBER:
	case HSNAP_EXPR_WORD:
		add_op(compiler, (struct hsnap_op){ .kind = expr->op, .value = expr->value }, 1);
		break;
	case HSNAP_EXPR_PATH:
		if (!add_enumerator(compiler, expr) && !compiler->binder->code)
			add_path(compiler, expr);
		break;
	case HSNAP_EXPR_ADDRESS:
		add_address(compiler, expr);
		break;
	case HSNAP_EXPR_PEEK:
		add_expr(compiler, expr->a);
		add_op(compiler, (struct hsnap_op){ .kind = HSNAP_OP_LOAD, .size = (uint8_t)expr->value }, 0);
		break;
	case HSNAP_EXPR_NEGATE:
	case HSNAP_EXPR_NOT:
	case HSNAP_EXPR_INVERT:
		add_expr(compiler, expr->a);
		add_op(compiler, (struct hsnap_op){ .kind = expr->op }, 0);
		break;
	default:
		add_expr(compiler, expr->a);
		add_expr(compiler, expr->b);
		add_op(compiler, (struct hsnap_op){ .kind = expr->op }, -1);
	}
}

struct hsnap_program hsnap_compile(struct hsnap_binder *binder, uint32_t expr, const struct hsnap_scope *scope)
{
	struct compiler compiler = { .binder = binder, .scope = scope };
	struct hsnap_program program = { .first = (uint32_t)binder->bounds->ops.num };
	if (expr == HSNAP_NO_EXPR || binder->code)
		return program;
	add_expr(&compiler, expr);
	program.num = (uint32_t)binder->bounds->ops.num - program.first;
	return program;
}
