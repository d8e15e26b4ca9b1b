/* SPDX-License-Identifier: MIT */
/* losers.c - sets of claims, each kept once. */
#include "capture/naming/losers.h"

#include <string.h>

/* A set taken apart, the claims in order, and then perhaps the word that there were more. */
struct parts {
	struct hsnap_loser claims[HSNAP_MOST_LOSERS];
	unsigned num;
	bool more;
};

void hsnap_losers_deinit(struct hsnap_losers *sets)
{
	hsnap_vec_deinit(&sets->sets);
	hsnap_keymap_deinit(&sets->index);
}

static uint64_t order_of(const struct hsnap_loser *lost)
{
	return (uint64_t)lost->type << 24 | (uint64_t)lost->form << 16 | (uint64_t)lost->verdict << 8 | lost->evidence;
}

static struct parts take_apart(const struct hsnap_losers *sets, uint16_t set)
{
	struct parts parts = { 0 };
	for (; set && set != HSNAP_LOSERS_UNKEPT; set = sets->sets.items[set - 1].rest) {
		const struct hsnap_loser *last = &sets->sets.items[set - 1].last;
		if (last->type)
			parts.claims[parts.num++] = *last; /* the last first */
		else
			parts.more = true;
	}
	for (unsigned i = 0; i < parts.num / 2; i++) {
		struct hsnap_loser swap = parts.claims[i];
		parts.claims[i] = parts.claims[parts.num - 1 - i];
		parts.claims[parts.num - 1 - i] = swap;
	}
	return parts;
}

/* The set of one more than `rest`, which comes after all in it. */
static uint16_t append(struct hsnap_losers *sets, uint16_t rest, struct hsnap_loser lost)
{
	bool is_new;
	if (rest == HSNAP_LOSERS_UNKEPT || sets->failed)
		return HSNAP_LOSERS_UNKEPT;
	uint32_t *set = hsnap_keymap_at(&sets->index, (struct hsnap_key){ rest, order_of(&lost) }, &is_new);
	if (!set) {
		sets->failed = true;
		return HSNAP_LOSERS_UNKEPT;
	}
	if (!is_new)
		return (uint16_t)*set;
	struct hsnap_loser_set made = { .last = lost, .rest = rest };
	*set = HSNAP_LOSERS_UNKEPT;
	if (sets->sets.num == HSNAP_LOSERS_UNKEPT - 1)
		return HSNAP_LOSERS_UNKEPT;
	if (!hsnap_vec_push(&sets->sets, made)) {
		sets->failed = true;
		return HSNAP_LOSERS_UNKEPT;
	}
	*set = (uint32_t)sets->sets.num;
	return (uint16_t)*set;
}

static uint16_t put_together(struct hsnap_losers *sets, const struct parts *parts)
{
	uint16_t set = 0;
	for (unsigned i = 0; i < parts->num; i++)
		set = append(sets, set, parts->claims[i]);
	return parts->more ? append(sets, set, (struct hsnap_loser){ 0 }) : set;
}

/* Is it told of in the set already, and as strongly? */
static bool contains(const struct hsnap_losers *sets, uint16_t set, const struct hsnap_loser *lost)
{
	for (; set && set != HSNAP_LOSERS_UNKEPT; set = sets->sets.items[set - 1].rest) {
		const struct hsnap_loser *last = &sets->sets.items[set - 1].last;
		if (last->type == lost->type && last->form == lost->form && last->verdict == lost->verdict)
			return last->evidence >= lost->evidence;
	}
	return false;
}

static void drop(struct parts *parts, unsigned i)
{
	parts->num--;
	memmove(&parts->claims[i], &parts->claims[i + 1], (parts->num - i) * sizeof(*parts->claims));
}

/* Which of two is rather let go: what was vetoed, then the weaker. */
static bool is_less(const struct hsnap_loser *a, const struct hsnap_loser *b)
{
	bool vetoed = a->verdict, other = b->verdict;
	return vetoed != other ? vetoed : a->evidence < b->evidence;
}

/* Room for one more in a full set; false: it is the least itself. */
static bool make_room(struct parts *parts, const struct hsnap_loser *lost)
{
	unsigned least = 0;
	for (unsigned i = 1; i < parts->num; i++)
		if (is_less(&parts->claims[i], &parts->claims[least]))
			least = i;
	if (!is_less(&parts->claims[least], lost))
		return false;
	drop(parts, least);
	return true;
}

static void insert(struct parts *parts, const struct hsnap_loser *lost)
{
	unsigned at = 0;
	while (at < parts->num && order_of(&parts->claims[at]) < order_of(lost))
		at++;
	memmove(&parts->claims[at + 1], &parts->claims[at], (parts->num - at) * sizeof(*parts->claims));
	parts->claims[at] = *lost;
	parts->num++;
}

uint16_t hsnap_losers_add(struct hsnap_losers *sets, uint16_t set, struct hsnap_loser lost, bool *ret_new)
{
	*ret_new = false;
	if (set == HSNAP_LOSERS_UNKEPT || contains(sets, set, &lost))
		return set;
	struct parts parts = take_apart(sets, set);
	for (unsigned i = 0; i < parts.num; i++)
		if (parts.claims[i].type == lost.type && parts.claims[i].form == lost.form &&
		    parts.claims[i].verdict == lost.verdict)
			drop(&parts, i--);
	bool full = parts.num == HSNAP_MOST_LOSERS;
	if (full && !make_room(&parts, &lost) && parts.more)
		return set;
	*ret_new = true;
	parts.more |= full;
	if (parts.num < HSNAP_MOST_LOSERS)
		insert(&parts, &lost);
	return put_together(sets, &parts);
}

uint16_t hsnap_losers_remove(struct hsnap_losers *sets, uint16_t set, hsnap_dtype_id type, uint8_t form)
{
	if (!set || set == HSNAP_LOSERS_UNKEPT)
		return set;
	struct parts parts = take_apart(sets, set);
	unsigned before = parts.num;
	for (unsigned i = 0; i < parts.num; i++)
		if (parts.claims[i].type == type && parts.claims[i].form == form)
			drop(&parts, i--);
	return parts.num == before ? set : put_together(sets, &parts);
}
