/* SPDX-License-Identifier: MIT */
/* user.c - what a user's rules say of the words of one object. */
#include "capture/naming/user.h"

#include <inttypes.h>
#include <stdio.h>

#include "capture/naming/walk.h"

#define MAX_CHAIN 8        /* "is" rules, one behind the other */
#define MAX_POINTERS 65536u /* of one object that one rule is about */
#define MANY_VETOED 10u    /* of which a note is worth while, where it is a tenth of all */

bool hsnap_user_step(struct hsnap_user *user, uint64_t steps)
{
	bool left = user->steps >= steps;
	user->steps = left ? user->steps - steps : 0;
	user->cut |= !left;
	return left;
}

bool hsnap_user_run(struct hsnap_user *user, struct hsnap_program program, const struct hsnap_values *values, int64_t *ret)
{
	return hsnap_user_step(user, 1 + (uint64_t)program.num) && hsnap_run_program(&user->bounds, program, values, ret);
}

static bool is_so(struct hsnap_user *user, struct hsnap_program program, const struct hsnap_values *values)
{
	int64_t value;
	return hsnap_user_run(user, program, values, &value) && value;
}

static struct hsnap_values values_of(const struct hsnap_walk *walk, const struct hsnap_bound *bound, uint64_t address)
{
	return (struct hsnap_values){ .target = walk->work->target, .base = address, .led_to = address - bound->at, .word = address };
}

/* The rule of a name that holds for what lies at an address: the first. */
static uint32_t rule_that_is(const struct hsnap_walk *walk, uint32_t first, uint64_t address)
{
	const struct hsnap_bounds *bounds = &walk->work->user->bounds;
	for (uint32_t i = first; i; i = bounds->bounds.items[i].next) {
		struct hsnap_values values = values_of(walk, &bounds->bounds.items[i], address);
		if (is_so(walk->work->user, bounds->bounds.items[i].when, &values))
			return i;
	}
	return 0;
}

/* Where a pool's objects are. */
static bool take_steps(const struct hsnap_walk *walk, const struct hsnap_bound *bound, const struct hsnap_values *values,
		       struct hsnap_found *found)
{
	struct hsnap_user *user = walk->work->user;
	int64_t step, from = 0;
	if (!hsnap_user_run(user, bound->step, values, &step) || step <= 0)
		return false;
	if (bound->from.num && (!hsnap_user_run(user, bound->from, values, &from) || from < 0))
		return false;
	found->step = (uint64_t)step;
	found->from = (uint64_t)from;
	return true;
}

/* What a rule says of what its pointer leads to; false: that is nothing. */
static bool take_rule(const struct hsnap_walk *walk, uint32_t number, const struct hsnap_values *values, struct hsnap_found *found)
{
	const struct hsnap_bounds *bounds = &walk->work->user->bounds;
	const struct hsnap_bound *bound = &bounds->bounds.items[number];
	const struct hsnap_rule *rule = &bounds->rules->rules.items[bound->rule];
	uint64_t each = hsnap_dtype(bounds->symbols, bound->held)->size;
	int64_t extra = 0, count = 0;
	found->rule = number;
	found->value = values->led_to;
	found->type = bound->held;
	found->header = (uint8_t)rule->header;
	found->run = rule->form != HSNAP_RULE_ONE;
	if (bound->extra.num && (!hsnap_user_run(walk->work->user, bound->extra, values, &extra) || extra < 0))
		return false;
	found->extra = (uint64_t)extra;
	if (bound->step.num && !take_steps(walk, bound, values, found))
		return false;
	if (rule->form != HSNAP_RULE_COUNT)
		return true;
	return hsnap_user_run(walk->work->user, bound->count, values, &count) && count > 0 &&
	       !__builtin_mul_overflow((uint64_t)count, each, &found->live);
}

/* Has the rule said all that there is to say, or may there be more by the name of what it leads to? */
static bool is_final(const struct hsnap_found *found)
{
	return found->run || found->header || found->extra;
}

/* By the rules of its name, and of what that turns out to be.  false: nothing is known of it. */
static bool find_out(const struct hsnap_walk *walk, struct hsnap_found *found, uint32_t made)
{
	const struct hsnap_bounds *bounds = &walk->work->user->bounds;
	for (unsigned hops = 0; hops < MAX_CHAIN && !is_final(found); hops++) {
		uint32_t first = made ? bounds->made.items[made - 1].first
				 : hsnap_keymap_get(&bounds->is, (struct hsnap_key){ found->type, 0 });
		uint32_t i = rule_that_is(walk, first, found->value);
		if (!i)
			return !made;
		const struct hsnap_bound *bound = &bounds->bounds.items[i];
		struct hsnap_values values = values_of(walk, bound, found->value);
		bool same = !made && bound->held == found->type && !bound->at;
		if (!take_rule(walk, i, &values, found))
			return false;
		made = bound->held_made;
		if (same)
			break;
	}
	return !made;
}

bool hsnap_user_refine(struct hsnap_walk *walk, struct hsnap_found *found)
{
	struct hsnap_found other = *found;
	if (!hsnap_keymap_get(&walk->work->user->bounds.is, (struct hsnap_key){ found->type, 0 }))
		return false;
	if (!find_out(walk, &other, 0) || !other.rule)
		return false;
	*found = other;
	found->kind = HSNAP_SLOT_USER;
	found->type = walk->work->plans.same[found->type];
	return true;
}

static void visit_word(struct hsnap_walk *walk, uint32_t number, uint64_t address, uint64_t word, uint64_t offset)
{
	const struct hsnap_bounds *bounds = &walk->work->user->bounds;
	const struct hsnap_bound *bound = &bounds->bounds.items[number];
	uint64_t value = word & ~bounds->rules->rules.items[bound->rule].mask;
	struct hsnap_values values = { .target = walk->work->target, .base = address, .led_to = value - bound->at, .word = word };
	struct hsnap_found found = { .kind = HSNAP_SLOT_USER, .offset = offset };
	if (!value || !is_so(walk->work->user, bound->when, &values) || !take_rule(walk, number, &values, &found) ||
	    !find_out(walk, &found, bound->held_made))
		return;
	found.type = walk->work->plans.same[found.type];
	walk->visit(walk->context, &found);
}

void hsnap_user_visit(struct hsnap_walk *walk, uint32_t number, uint64_t address, uint64_t end, uint64_t offset)
{
	const struct hsnap_bounds *bounds = &walk->work->user->bounds;
	const struct hsnap_bound *bound = &bounds->bounds.items[number];
	struct hsnap_values values = { .target = walk->work->target, .base = address, .led_to = address, .word = address };
	uint64_t most = bound->most, at = bound->offset, word;
	int64_t number_of, place;
	if (bound->owners && !(bound->owners & walk->owners))
		return;
	if (bound->place.num) {
		if (!hsnap_user_run(walk->work->user, bound->place, &values, &place))
			return;
		at = (uint64_t)place;
	}
	if (bound->pointers.num) {
		if (!hsnap_user_run(walk->work->user, bound->pointers, &values, &number_of) || number_of <= 0)
			return;
		most = (uint64_t)number_of < most ? (uint64_t)number_of : most;
	}
	most = most < MAX_POINTERS ? most : MAX_POINTERS;
	bool elsewhere = bounds->rules->rules.items[bound->rule].elsewhere;
	if (elsewhere) { /* words anywhere: what cannot be read is none */
		at -= address;
		end = UINT64_MAX;
		most = bound->pointers.num ? most : 1;
	} else if (address > end || at > end - address) {
		return;
	}
	for (uint64_t n = 0; n < most && (elsewhere || end - address - at >= 8); n++, at += bound->stride)
		if (!hsnap_user_step(walk->work->user, 1))
			return;
		else if (hsnap_target_word(walk->work->target, address + at, &word))
			visit_word(walk, number, address, word, elsewhere ? 0 : offset + at);
}

bool hsnap_user_ask(struct hsnap_walk *walk, uint32_t b, struct hsnap_found *ret)
{
	struct hsnap_work *work = walk->work;
	const struct hsnap_bounds *bounds = &work->user->bounds;
	for (uint32_t i = bounds->any; i; i = bounds->bounds.items[i].next) {
		const struct hsnap_bound *bound = &bounds->bounds.items[i];
		uint64_t header = bounds->rules->rules.items[bound->rule].header;
		uint64_t address = header ? work->heap->blocks.items[b].address + header : hsnap_object_start(work, b);
		struct hsnap_values values = values_of(walk, bound, address);
		*ret = (struct hsnap_found){ .kind = HSNAP_SLOT_USER };
		if (!is_so(work->user, bound->when, &values))
			continue;
		if (!take_rule(walk, i, &values, ret) || !find_out(walk, ret, bound->held_made))
			return false;
		ret->type = work->plans.same[ret->type];
		return true;
	}
	return false;
}

/* Where rules were cut short, that is said: what they say is not complete. */
static bool say_cut(struct hsnap_work *work)
{
	if (!work->user->cut)
		return true;
	hsnap_string note = hsnap_strings_addf(&work->snapshot->strings, "what --types says is not complete: it was left after %" PRIu64
					       " steps, as many as a heap of this size is worth", work->user->most_steps);
	return note != HSNAP_NO_STRING && hsnap_vec_push(&work->snapshot->notes, note);
}

enum hsnap_code hsnap_user_notes(struct hsnap_work *work, struct hsnap_error *err)
{
	const struct hsnap_rules *rules = work->user ? work->user->bounds.rules : NULL;
	for (size_t i = 0; rules && i < rules->rules.num; i++) {
		struct hsnap_user_count count = work->user->counts[i];
		char place[512];
		if (count.vetoed < MANY_VETOED || count.vetoed < count.named / 9)
			continue;
		hsnap_rule_place(rules, &rules->rules.items[i], place, sizeof(place));
		hsnap_string note = hsnap_strings_addf(&work->snapshot->strings, "%s: %" PRIu32 " of %" PRIu32 " blocks have not the size of it, "
						       "and are not called so", place, count.vetoed, count.named + count.vetoed);
		if (note == HSNAP_NO_STRING || !hsnap_vec_push(&work->snapshot->notes, note))
			return hsnap_no_memory(err);
	}
	return !work->user || say_cut(work) ? HSNAP_OK : hsnap_no_memory(err);
}
