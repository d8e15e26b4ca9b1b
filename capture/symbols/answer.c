/* SPDX-License-Identifier: MIT */
/* answer.c - one module's symbols as bytes: writing them, and reading them with distrust. */
#include "capture/symbols/answer.h"

#include <string.h>

#include "capture/symbols/fixed.h"
#include "snapshot/base/bytes.h"
#include "snapshot/base/cleanup.h"

#define MAX_NAME 65536

/* --- writing --- */

struct out {
	struct hsnap_answer_bytes *bytes;
	bool failed;
};

static void put(struct out *out, uint64_t value)
{
	if (out->failed || !hsnap_vec_reserve(out->bytes, 10)) {
		out->failed = true;
		return;
	}
	uint8_t *at = out->bytes->items + out->bytes->num;
	out->bytes->num += (size_t)(hsnap_put_varint(at, value) - at);
}

static void put_types(struct out *out, const struct hsnap_symbols *s)
{
	put(out, s->types.num);
	for (size_t i = 0; i < s->types.num; i++) {
		const struct hsnap_dtype *t = &s->types.items[i];
		put(out, t->kind);
		put(out, t->flags);
		put(out, t->name);
		put(out, t->unit);
		put(out, t->line);
		put(out, t->die);
		put(out, t->size);
		put(out, t->count);
		put(out, t->target);
		put(out, t->first_member);
		put(out, t->num_members);
		put(out, t->first_argument);
		put(out, t->num_arguments);
	}
	put(out, s->members.num);
	for (size_t i = 0; i < s->members.num; i++) {
		const struct hsnap_dmember *m = &s->members.items[i];
		put(out, m->name);
		put(out, m->offset);
		put(out, m->type);
		put(out, m->flags);
	}
	put(out, s->arguments.num);
	for (size_t i = 0; i < s->arguments.num; i++)
		put(out, s->arguments.items[i]);
}

static void put_places(struct out *out, const struct hsnap_symbols *s)
{
	put(out, s->variables.num);
	for (size_t i = 0; i < s->variables.num; i++) {
		const struct hsnap_dvariable *v = &s->variables.items[i];
		put(out, v->name);
		put(out, v->function);
		put(out, v->source);
		put(out, v->address);
		put(out, v->type);
		put(out, (uint64_t)v->thread_local_ | (uint64_t)v->external << 1);
		put(out, v->num_pieces);
		for (uint32_t p = 0; p < v->num_pieces; p++) {
			put(out, s->pieces.items[v->first_piece + p].offset);
			put(out, s->pieces.items[v->first_piece + p].size);
			put(out, s->pieces.items[v->first_piece + p].address);
		}
	}
	put(out, s->vtables.num);
	for (size_t i = 0; i < s->vtables.num; i++) {
		put(out, s->vtables.items[i].address);
		put(out, s->vtables.items[i].size);
		put(out, s->vtables.items[i].class_name);
		put(out, s->vtables.items[i].type);
	}
	put(out, s->managers.num);
	for (size_t i = 0; i < s->managers.num; i++) {
		put(out, s->managers.items[i].address);
		put(out, s->managers.items[i].type);
	}
}

static void put_casts(struct out *out, const struct hsnap_symbols *s)
{
	put(out, s->aliases.num);
	for (size_t i = 0; i < s->aliases.num; i++) {
		put(out, s->aliases.items[i].opaque);
		put(out, s->aliases.items[i].type);
		put(out, s->aliases.items[i].sites);
		put(out, s->aliases.items[i].against);
	}
	put(out, s->landings.num);
	for (size_t i = 0; i < s->landings.num; i++) {
		put(out, s->landings.items[i].holder);
		put(out, s->landings.items[i].offset);
		put(out, s->landings.items[i].type);
		put(out, s->landings.items[i].sites);
	}
}

static void put_pcs(struct out *out, const struct hsnap_symbols *s)
{
	put(out, s->frames.num);
	for (size_t i = 0; i < s->frames.num; i++) {
		put(out, s->frames.items[i].function);
		put(out, s->frames.items[i].source);
		put(out, s->frames.items[i].line);
		put(out, s->frames.items[i].allocates);
	}
	put(out, s->locals.num);
	for (size_t i = 0; i < s->locals.num; i++) {
		const struct hsnap_dlocal *l = &s->locals.items[i];
		put(out, l->name);
		put(out, l->function);
		put(out, l->type);
		put(out, l->place);
		put(out, l->number);
		put(out, hsnap_zigzag(l->offset));
	}
	put(out, s->results.num);
	for (size_t i = 0; i < s->results.num; i++) {
		put(out, s->results.items[i].name);
		put(out, s->results.items[i].pointee);
		put(out, s->results.items[i].declared_void);
	}
	put(out, s->pcs.num);
	for (size_t i = 0; i < s->pcs.num; i++) {
		const struct hsnap_dpc *p = &s->pcs.items[i];
		put(out, p->pc);
		put(out, p->first_frame);
		put(out, p->num_frames);
		put(out, p->first_local);
		put(out, p->num_locals);
		put(out, p->first_result);
		put(out, p->num_results);
		put(out, p->returns_result);
	}
}

static void put_words(struct out *out, const struct hsnap_symbols *s)
{
	put(out, s->words.num);
	for (size_t i = 0; i < s->words.num; i++) {
		put(out, s->words.items[i].name);
		put(out, s->words.items[i].type);
		put(out, hsnap_zigzag(s->words.items[i].value));
	}
}

bool hsnap_answer_write(const struct hsnap_symbols *symbols, struct hsnap_answer_bytes *ret)
{
	struct out out = { ret, false };
	put(&out, symbols->strings.num);
	if (!hsnap_vec_reserve(ret, symbols->strings.num))
		return false;
	if (symbols->strings.num)
		memcpy(ret->items + ret->num, symbols->strings.bytes, symbols->strings.num);
	ret->num += symbols->strings.num;
	put(&out, symbols->modules.items[0].has_types | symbols->modules.items[0].no_classes << 1);
	put(&out, symbols->modules.items[0].note);
	put_types(&out, symbols);
	put_places(&out, symbols);
	put_casts(&out, symbols);
	put_pcs(&out, symbols);
	put_words(&out, symbols);
	return !out.failed;
}

/* --- reading --- */

struct in {
	struct hsnap_bytes bytes;
	const struct hsnap_target *target;
	struct hsnap_symbols *into;
	uint32_t module;
	const char *text;      /* the child's strings */
	size_t text_size;
	uint32_t *known;       /* per byte of text: 1 + the string's offset in ours, 0 = not seen */
	uint64_t num_types;    /* of the answer, [0] included */
	uint32_t first_type;   /* id 1 of the answer is this one of ours */
	uint64_t first_frame, first_local, first_result;
	bool no_memory;
};

/* A number that must be at most `most`. */
static uint64_t get(struct in *in, uint64_t most)
{
	uint64_t value = hsnap_bytes_varint(&in->bytes);
	if (value > most)
		in->bytes.bad = true;
	return in->bytes.bad ? 0 : value;
}

/* A count of things that take at least `each` bytes: no more than there are bytes for. */
static uint64_t get_count(struct in *in, size_t each)
{
	return get(in, hsnap_bytes_left(&in->bytes) / each);
}

static hsnap_string get_string(struct in *in)
{
	uint64_t at = get(in, in->text_size ? in->text_size - 1 : 0);
	if (!at || in->bytes.bad)
		return 0;
	if (in->known[at])
		return in->known[at] - 1;
	/* The middle of another string would do no harm, but nobody honest sends it. */
	size_t len = strnlen(in->text + at, in->text_size - at);
	if (in->text[at - 1] || len == in->text_size - at || len > 2 * MAX_NAME) {
		in->bytes.bad = true;
		return 0;
	}
	hsnap_string s = hsnap_strings_add_len(&in->into->strings, in->text + at, len);
	if (s == HSNAP_NO_STRING) {
		in->no_memory = true;
		return 0;
	}
	in->known[at] = s + 1;
	return s;
}

static hsnap_dtype_id get_type(struct in *in)
{
	uint64_t id = get(in, in->num_types - 1);
	return id ? in->first_type + (uint32_t)id - 1 : 0;
}

/* [first, first + num) must lie in what the answer has `all` of; returns first shifted to ours. */
static uint32_t get_range(struct in *in, uint64_t base, uint64_t all, uint32_t *ret_num)
{
	uint64_t first = get(in, UINT32_MAX), num = get(in, UINT32_MAX);
	if (num && (first > all || num > all - first))
		in->bytes.bad = true;
	*ret_num = in->bytes.bad ? 0 : (uint32_t)num;
	return num ? (uint32_t)(base + first) : 0;
}

static bool in_module(const struct in *in, uint64_t address)
{
	const struct hsnap_target_module *module = &in->target->modules.items[in->module];
	return address >= module->start && address < module->end;
}

#define KEEP(in, vector, ...) \
	do { \
		if (!hsnap_vec_push(vector, __VA_ARGS__)) \
			(in)->no_memory = true; \
	} while (0)

static void get_types(struct in *in)
{
	struct hsnap_symbols *into = in->into;
	const size_t first_member = into->members.num, first_argument = into->arguments.num;
	uint64_t most_members = 0, most_arguments = 0;
	in->num_types = get_count(in, 13);
	in->first_type = (uint32_t)into->types.num;
	if (!in->num_types || in->num_types > UINT32_MAX - in->first_type) {
		in->bytes.bad = true;
		return;
	}
	for (uint64_t i = 0; i < in->num_types && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dtype t = { .module = in->module };
		t.kind = (uint8_t)get(in, HSNAP_NUM_DTYPE_KINDS - 1);
		t.flags = (uint8_t)get(in, 2 * HSNAP_DTYPE_WRAPPED - 1);
		t.name = get_string(in);
		t.unit = get_string(in);
		t.line = (uint32_t)get(in, UINT32_MAX);
		t.die = get(in, UINT64_MAX);
		t.size = get(in, UINT64_MAX);
		t.count = get(in, UINT64_MAX);
		t.target = get_type(in);
		t.first_member = (uint32_t)get(in, UINT32_MAX);
		t.num_members = (uint32_t)get(in, UINT32_MAX);
		t.first_argument = (uint32_t)get(in, UINT32_MAX);
		t.num_arguments = (uint32_t)get(in, UINT32_MAX);
		uint64_t members_end = (uint64_t)t.first_member + t.num_members;
		uint64_t arguments_end = (uint64_t)t.first_argument + t.num_arguments;
		most_members = t.num_members && members_end > most_members ? members_end : most_members;
		most_arguments = t.num_arguments && arguments_end > most_arguments ? arguments_end : most_arguments;
		t.first_member += (uint32_t)first_member;
		t.first_argument += (uint32_t)first_argument;
		if (i) /* void is there already */
			KEEP(in, &into->types, t);
	}
	uint64_t num = get_count(in, 4);
	in->bytes.bad |= most_members > num || num + first_member > UINT32_MAX;
	for (uint64_t i = 0; i < num && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dmember m = { .name = get_string(in) };
		m.offset = get(in, UINT64_MAX);
		m.type = get_type(in);
		m.flags = (uint32_t)get(in, HSNAP_DMEMBER_ALL) & HSNAP_DMEMBER_ALL;
		KEEP(in, &into->members, m);
	}
	num = get_count(in, 1);
	in->bytes.bad |= most_arguments > num || num + first_argument > UINT32_MAX;
	for (uint64_t i = 0; i < num && !in->bytes.bad && !in->no_memory; i++)
		KEEP(in, &into->arguments, get_type(in));
}

/* Where each lies is asked of who uses it: it may have none in the module. */
static void get_pieces(struct in *in, struct hsnap_dvariable *v)
{
	uint64_t end = 0;
	v->first_piece = (uint32_t)in->into->pieces.num;
	v->num_pieces = (uint32_t)get(in, HSNAP_FIXED_PIECES);
	in->bytes.bad |= in->into->pieces.num > UINT32_MAX - HSNAP_FIXED_PIECES;
	for (uint32_t left = v->num_pieces; left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dpiece piece = { .offset = get(in, UINT64_MAX) };
		piece.size = get(in, UINT64_MAX);
		piece.address = get(in, UINT64_MAX);
		in->bytes.bad |= piece.offset < end || !piece.size || piece.offset + piece.size < piece.offset;
		end = piece.offset + piece.size;
		KEEP(in, &in->into->pieces, piece);
	}
}

static void get_places(struct in *in)
{
	uint64_t tls_size = in->target->modules.items[in->module].tls_size;
	for (uint64_t left = get_count(in, 7); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dvariable v = { .name = get_string(in), .module = in->module };
		v.function = get_string(in);
		v.source = get_string(in);
		v.address = get(in, UINT64_MAX);
		v.type = get_type(in);
		uint64_t flags = get(in, 3);
		v.thread_local_ = flags & 1;
		v.external = flags & 2;
		get_pieces(in, &v);
		/* Only what can be: debug info may speak of what is not there. */
		if (v.thread_local_ ? v.address < tls_size : in_module(in, v.address))
			KEEP(in, &in->into->variables, v);
	}
	for (uint64_t left = get_count(in, 4); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dvtable v = { .address = get(in, UINT64_MAX) };
		v.size = get(in, UINT64_MAX);
		v.class_name = get_string(in);
		v.type = get_type(in);
		if (in_module(in, v.address) &&
		    v.size <= in->target->modules.items[in->module].end - v.address)
			KEEP(in, &in->into->vtables, v);
	}
	for (uint64_t left = get_count(in, 2); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dmanager m = { .address = get(in, UINT64_MAX) };
		m.type = get_type(in);
		if (m.type && in_module(in, m.address))
			KEEP(in, &in->into->managers, m);
	}
}

static bool is_kind(const struct in *in, hsnap_dtype_id id, unsigned kinds)
{
	return kinds >> in->into->types.items[id].kind & 1;
}

#define OBJECT (1u << HSNAP_DTYPE_STRUCT | 1u << HSNAP_DTYPE_UNION)
#define OPAQUE (1u << HSNAP_DTYPE_INCOMPLETE)
#define BYTES (1u << HSNAP_DTYPE_BYTE)

static void get_casts(struct in *in)
{
	struct hsnap_symbols *into = in->into;
	hsnap_dtype_id last = 0;
	for (uint64_t left = get_count(in, 4); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dalias a = { .opaque = get_type(in) };
		a.type = get_type(in);
		a.sites = (uint32_t)get(in, UINT32_MAX);
		a.against = (uint32_t)get(in, UINT32_MAX);
		in->bytes.bad |= a.opaque <= last || !is_kind(in, a.opaque, OPAQUE) || !is_kind(in, a.type, OBJECT);
		last = a.opaque;
		KEEP(in, &into->aliases, a);
	}
	struct hsnap_dlanding before = { 0 };
	for (uint64_t left = get_count(in, 4); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dlanding l = { .holder = get_type(in) };
		l.offset = get(in, UINT64_MAX);
		l.type = get_type(in);
		l.sites = (uint32_t)get(in, UINT32_MAX);
		bool in_order = l.holder != before.holder ? l.holder > before.holder
				: l.offset != before.offset ? l.offset > before.offset : l.type > before.type;
		in->bytes.bad |= !in_order || !is_kind(in, l.holder, OBJECT) || !is_kind(in, l.type, OBJECT | OPAQUE | BYTES) ||
				 l.offset >= into->types.items[l.holder].size;
		before = l;
		KEEP(in, &into->landings, l);
	}
}

static void get_pcs(struct in *in, size_t first_pc, size_t num_pcs)
{
	struct hsnap_symbols *into = in->into;
	in->first_frame = into->frames.num;
	in->first_local = into->locals.num;
	in->first_result = into->results.num;
	uint64_t frames = get_count(in, 4);
	for (uint64_t i = 0; i < frames && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dframe f = { .function = get_string(in), .module = in->module };
		f.source = get_string(in);
		f.line = (uint32_t)get(in, UINT32_MAX);
		f.allocates = get_type(in);
		KEEP(in, &into->frames, f);
	}
	uint64_t locals = get_count(in, 6);
	for (uint64_t i = 0; i < locals && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dlocal l = { .name = get_string(in) };
		l.function = get_string(in);
		l.type = get_type(in);
		l.place = (uint8_t)get(in, HSNAP_NUM_PLACES - 1);
		l.number = (uint8_t)get(in, HSNAP_REG_PC - 1);
		l.offset = hsnap_unzigzag(get(in, UINT64_MAX));
		KEEP(in, &into->locals, l);
	}
	uint64_t results = get_count(in, 3);
	for (uint64_t i = 0; i < results && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dresult r = { .name = get_string(in) };
		r.pointee = get_type(in);
		r.declared_void = get(in, 1);
		KEEP(in, &into->results, r);
	}
	if (get(in, num_pcs) != num_pcs)
		in->bytes.bad = true;
	for (size_t i = 0; i < num_pcs && !in->bytes.bad && !in->no_memory; i++) {
		struct hsnap_dpc *pc = &into->pcs.items[first_pc + i], got = { .pc = pc->pc };
		if (get(in, UINT64_MAX) != pc->pc)
			in->bytes.bad = true;
		got.first_frame = get_range(in, in->first_frame, frames, &got.num_frames);
		got.first_local = get_range(in, in->first_local, locals, &got.num_locals);
		got.first_result = get_range(in, in->first_result, results, &got.num_results);
		got.returns_result = get(in, 1);
		if (!in->bytes.bad)
			*pc = got;
	}
}

static void get_words(struct in *in)
{
	for (uint64_t left = get_count(in, 3); left && !in->bytes.bad && !in->no_memory; left--) {
		struct hsnap_dword w = { .name = get_string(in), .module = in->module };
		w.type = get_type(in);
		w.value = hsnap_unzigzag(get(in, UINT64_MAX));
		KEEP(in, &in->into->words, w);
	}
}

/* --- no type may contain itself --- */

struct visit {
	hsnap_dtype_id id;
	uint32_t next; /* member that is next */
};

/* The type that member `n` of a struct, or an array, holds by value; false: no more. */
static bool held(const struct hsnap_symbols *s, const struct hsnap_dtype *t, uint32_t n, hsnap_dtype_id *ret)
{
	*ret = 0;
	if (t->kind == HSNAP_DTYPE_ARRAY && !n) {
		*ret = t->target;
		return true;
	}
	if ((t->kind != HSNAP_DTYPE_STRUCT && t->kind != HSNAP_DTYPE_UNION) || n >= t->num_members)
		return false;
	*ret = s->members.items[t->first_member + n].type;
	return true;
}

/* Depth first, with a stack of our own: a type met again while it is open contains itself. */
static bool contains_itself(struct in *in)
{
	const struct hsnap_symbols *s = in->into;
	size_t num = s->types.num - in->first_type;
	struct hsnap_vec(struct visit) stack = { 0 };
	uint8_t *state = calloc(num + 1, 1); /* 0 new, 1 open, 2 done */
	bool found = false;
	in->no_memory |= !state;
	for (size_t i = 0; i < num && !found && !in->no_memory; i++) {
		if (state[i])
			continue;
		KEEP(in, &stack, (struct visit){ in->first_type + (uint32_t)i, 0 });
		state[i] = 1;
		while (stack.num && !found && !in->no_memory) {
			struct visit *top = &stack.items[stack.num - 1];
			hsnap_dtype_id inner;
			if (!held(s, &s->types.items[top->id], top->next++, &inner)) {
				state[top->id - in->first_type] = 2;
				stack.num--;
				continue;
			}
			if (!inner || state[inner - in->first_type] == 2)
				continue;
			found = state[inner - in->first_type] == 1;
			state[inner - in->first_type] = 1;
			KEEP(in, &stack, (struct visit){ inner, 0 });
		}
		stack.num = 0;
	}
	free(state);
	hsnap_vec_deinit(&stack);
	return found;
}

enum hsnap_code hsnap_answer_merge(const void *bytes, size_t size, const struct hsnap_target *target,
				   uint32_t module, size_t first_pc, size_t num_pcs, struct hsnap_symbols *into,
				   struct hsnap_error *err)
{
	struct in in = { .bytes = hsnap_bytes(bytes, size), .target = target, .into = into, .module = module };
	const struct hsnap_symbols before = *into;
	struct hsnap_dmodule got = { 0 };

	in.text_size = get_count(&in, 1);
	in.text = hsnap_bytes_get(&in.bytes, in.text_size);
	hsnap_auto(hsnap_freep) uint32_t *known = calloc(in.text_size + 1, sizeof(*known));
	in.known = known;
	in.no_memory = !known;
	if (!in.bytes.bad && known) {
		uint64_t flags = get(&in, 3);
		got.has_types = flags & 1;
		got.no_classes = flags >> 1;
		got.note = get_string(&in);
		get_types(&in);
		get_places(&in);
		get_casts(&in);
		get_pcs(&in, first_pc, num_pcs);
		get_words(&in);
		in.bytes.bad |= hsnap_bytes_left(&in.bytes) != 0;
	}
	if (!in.bytes.bad && !in.no_memory)
		in.bytes.bad |= contains_itself(&in);
	if (!in.bytes.bad && !in.no_memory) {
		into->modules.items[module] = got;
		return HSNAP_OK;
	}
	/* Back to before; strings that were added stay, and nobody names them. */
	into->types.num = before.types.num;
	into->members.num = before.members.num;
	into->arguments.num = before.arguments.num;
	into->variables.num = before.variables.num;
	into->pieces.num = before.pieces.num;
	into->vtables.num = before.vtables.num;
	into->managers.num = before.managers.num;
	into->aliases.num = before.aliases.num;
	into->landings.num = before.landings.num;
	into->words.num = before.words.num;
	into->frames.num = before.frames.num;
	into->locals.num = before.locals.num;
	into->results.num = before.results.num;
	for (size_t i = 0; i < num_pcs; i++)
		into->pcs.items[first_pc + i] = (struct hsnap_dpc){ .pc = into->pcs.items[first_pc + i].pc };
	if (in.no_memory)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	return hsnap_fail(err, HSNAP_FORMAT, 0, "the debug info reader's answer makes no sense");
}
