/* SPDX-License-Identifier: MIT */
/* ruled.c - what the user's rules say of a block, as far as its size bears them out. */
#include "capture/naming/pools.h"
#include "capture/naming/push.h"
#include "snapshot/base/pages.h"

/* An object that the user says to have a header in front: the block is taken to be so, unless more is said of it. */
static bool begin_behind(struct hsnap_work *work, uint32_t b, const struct hsnap_found *found)
{
	if (!found->header || found->value - found->header != work->heap->blocks.items[b].address)
		return !found->header;
	if (!work->headers && !(work->headers = hsnap_pages_alloc(work->num_blocks, sizeof(*work->headers))))
		return false;
	if (work->claims[b].evidence <= HSNAP_EVIDENCE_TOLD) /* which is a description, and no name */
		work->headers[b] = found->header;
	return work->headers[b] == found->header;
}

/* One object, and so many bytes behind it. */
static bool has_extra(const struct hsnap_work *work, uint32_t b, uint64_t size, uint64_t extra)
{
	uint64_t room = hsnap_object_room(work, b), rest = room < size ? 0 : room - size;
	return room >= size && rest >= extra && rest - extra < hsnap_most_rest(work, b);
}

/* Has a block room for just so many objects, whatever the number?  Of small ones it always has. */
static bool is_multiple(const struct hsnap_work *work, uint32_t b, uint64_t each)
{
	uint64_t room = hsnap_object_room(work, b), rest = each ? room % each : room, most = hsnap_most_rest(work, b);
	return each && room >= each && rest < (most == HSNAP_MOST_SLACK ? HSNAP_LEAST_REST : most);
}

/* In what way the block is what the user says; NONE: its size says that it is not. */
static enum hsnap_form form_of_user(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	uint64_t room = hsnap_object_room(work, b);
	enum hsnap_form form = hsnap_fit(work, b, found->type);
	if (found->extra)
		return has_extra(work, b, dtype->size, found->extra) ? HSNAP_FORM_ONE : HSNAP_FORM_NONE;
	if (!found->run)
		return form == HSNAP_FORM_ONE || hsnap_is_odd(work, b, found->type) ? HSNAP_FORM_ONE : HSNAP_FORM_NONE;
	if (dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR)
		return found->live <= room && room >= dtype->size ? HSNAP_FORM_BYTES : HSNAP_FORM_NONE;
	bool filled = found->live && found->live <= room && room - found->live < hsnap_most_rest(work, b);
	return filled || (found->live <= room && is_multiple(work, b, dtype->size)) ? HSNAP_FORM_RUN : HSNAP_FORM_NONE;
}

static void count_user(struct push *push, uint32_t b, const struct hsnap_found *found, bool fits)
{
	struct hsnap_user *user = push->work->user;
	uint32_t rule = user->bounds.bounds.items[found->rule].rule;
	uint16_t *mark = fits ? &user->marks[b].rule : &user->marks[b].vetoed;
	if (*mark == rule + 1)
		return;
	*mark = (uint16_t)(rule + 1);
	if (fits)
		user->counts[rule].named++;
	else
		user->counts[rule].vetoed++;
}

/* A pool of which the user says where its objects stand. */
static void declare_pool(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	const struct hsnap_bounds *bounds = &push->work->user->bounds;
	const struct hsnap_bound *bound = &bounds->bounds.items[found->rule];
	const struct hsnap_rule *rule = &bounds->rules->rules.items[bound->rule];
	struct hsnap_pool_layout layout = {
		.type = found->type, .first = found->from, .stride = found->step, .live_bytes = bound->live_bytes,
		.live_at = bound->live_at, .live_mask = rule->live_mask, .live_value = rule->live_value,
	};
	bool fits = false;
	if (push->work->user->marks[b].rule == bound->rule + 1)
		return; /* it was walked before */
	uint64_t room = hsnap_object_room(push->work, b);
	if (!hsnap_user_step(push->work->user, found->step <= room ? room / found->step : 1))
		return;
	if (!hsnap_declare_pool(push->work, b, &layout, &fits))
		push->failed = true;
	count_user(push, b, found, fits);
}

/* What a rule of the user's leads to. */
void hsnap_push_user(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	enum hsnap_evidence evidence = hsnap_push_evidence(push, HSNAP_EVIDENCE_USER);
	if (!begin_behind(work, b, found) || !hsnap_push_is_start(work, b, found->value)) {
		hsnap_push_note_part(push, b, found->type, found->value);
		return;
	}
	if (found->step) {
		declare_pool(push, b, found);
		return;
	}
	enum hsnap_form form = form_of_user(push, b, found);
	if (!form) {
		hsnap_reject_claim(work, b, found->type, found->run ? HSNAP_FORM_RUN : HSNAP_FORM_ONE, evidence, HSNAP_VERDICT_SIZE);
		count_user(push, b, found, false);
		return;
	}
	hsnap_push_claim(push, b, found->type, form, evidence);
	const struct hsnap_claim *now = &work->claims[b];
	if (now->evidence != evidence || now->form != form || now->type != work->plans.same[found->type])
		return;
	count_user(push, b, found, true);
	if (found->live && !hsnap_set_live(work, b, 0, found->live))
		push->failed = true;
}
