/* SPDX-License-Identifier: MIT */
/* match.c - rows of several snapshots joined by identity and state, and subtracted. */
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "snapshot/base/cleanup.h"

/* One row of one snapshot, with what it is matched by. */
struct key {
	char *identity;
	uint32_t snapshot, row;
	uint8_t state;
	bool any_size; /* a label of all sizes of a place */
};

struct keys hsnap_vec_body(struct key);

static void free_keys(struct keys *keys)
{
	for (size_t i = 0; i < keys->num; i++)
		free(keys->items[i].identity);
	hsnap_vec_deinit(keys);
}

void hsnap_diff_deinit(struct hsnap_diff *diff)
{
	hsnap_vec_deinit(&diff->rows);
	free(diff->bytes);
	free(diff->count);
	free(diff->items);
	free(diff->all_bytes);
	free(diff->all_count);
	*diff = (struct hsnap_diff){ 0 };
}

int64_t hsnap_difference(uint64_t later, uint64_t earlier)
{
	uint64_t amount = later > earlier ? later - earlier : earlier - later;
	if (amount > INT64_MAX)
		amount = INT64_MAX;
	return later > earlier ? (int64_t)amount : -(int64_t)amount;
}

static enum hsnap_code collect(const struct hsnap_snapshot *const *snapshots, size_t num,
			       struct keys *keys, struct hsnap_error *err)
{
	for (size_t s = 0; s < num; s++) {
		for (size_t r = 0; r < snapshots[s]->rows.num; r++) {
			const struct hsnap_row *row = &snapshots[s]->rows.items[r];
			struct key key = { .snapshot = (uint32_t)s, .row = (uint32_t)r };
			key.state = row->state == HSNAP_UNREACHABLE ? HSNAP_UNREACHABLE : HSNAP_LIVE;
			key.any_size = hsnap_label_any_size(snapshots[s], row->type);
			key.identity = hsnap_type_identity(snapshots[s], row->type);
			if (!key.identity || !hsnap_vec_push(keys, key)) {
				free(key.identity);
				return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the types");
			}
		}
	}
	return HSNAP_OK;
}

/* A label of one size, and the identity that all sizes of its place have together. */
struct sized {
	char *place;
	const char *identity;
	size_t key;
};

struct sizes hsnap_vec_body(struct sized);

static void free_sizes(struct sizes *sizes)
{
	for (size_t i = 0; i < sizes->num; i++)
		free(sizes->items[i].place);
	hsnap_vec_deinit(sizes);
}

static int compare_sized(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	int order = strcmp(x->place, y->place);
	return order ? order : strcmp(x->identity, y->identity);
}

static bool list_sizes(const struct hsnap_snapshot *const *snapshots, const struct keys *keys, struct sizes *ret)
{
	for (size_t i = 0; i < keys->num; i++) {
		const struct key *key = &keys->items[i];
		const struct hsnap_snapshot *snapshot = snapshots[key->snapshot];
		struct sized sized = { .identity = key->identity, .key = i };
		if (!hsnap_label_any_identity(snapshot, snapshot->rows.items[key->row].type, &sized.place))
			return false;
		if (key->any_size)
			sized.place = strdup(key->identity);
		if (key->any_size && !sized.place)
			return false;
		if (sized.place && !hsnap_vec_push(ret, sized)) {
			free(sized.place);
			return false;
		}
	}
	if (ret->num)
		qsort(ret->items, ret->num, sizeof(*ret->items), compare_sized);
	return true;
}

/*
 * Has the place of the sizes [first, end) one row?  It has if it has one in any of the snapshots, and if sizes went
 * and others came: a block that is made anew, longer, has not gone.  No place is the same to nobody.
 */
static bool is_one_row(const struct keys *keys, const struct sized *first, const struct sized *end, uint32_t last,
		       bool placed)
{
	bool any = false, gone = false, came = false;
	while (first < end) {
		const char *identity = first->identity;
		bool before = false, after = false;
		for (; first < end && !strcmp(first->identity, identity); first++) {
			const struct key *key = &keys->items[first->key];
			any |= key->any_size;
			before |= !key->snapshot;
			after |= key->snapshot == last;
		}
		gone |= before && !after;
		came |= after && !before;
	}
	return any || (placed && gone && came);
}

static enum hsnap_code fold_sizes(const struct hsnap_snapshot *const *snapshots, size_t num, struct keys *keys,
				  struct hsnap_error *err)
{
	hsnap_auto(free_sizes) struct sizes sizes = { 0 };
	if (!list_sizes(snapshots, keys, &sizes))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the types");
	for (size_t first = 0, end; first < sizes.num; first = end) {
		for (end = first + 1; end < sizes.num && !strcmp(sizes.items[end].place, sizes.items[first].place); end++)
			;
		const struct key *key = &keys->items[sizes.items[first].key];
		const struct hsnap_snapshot *snapshot = snapshots[key->snapshot];
		hsnap_string holder = snapshot->types.items[snapshot->rows.items[key->row].type].holder;
		bool fold = is_one_row(keys, sizes.items + first, sizes.items + end, (uint32_t)num - 1,
				       hsnap_text(snapshot, holder)[0]);
		for (size_t i = first; i < end && fold; i++) {
			struct key *part = &keys->items[sizes.items[i].key];
			free(part->identity);
			part->identity = hsnap_take(sizes.items[i].place);
			part->any_size = true;
		}
	}
	return HSNAP_OK;
}

static int compare_matches(const struct key *left, const struct key *right)
{
	int order = strcmp(left->identity, right->identity);
	return order ? order : left->state - right->state;
}

static int compare_keys(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	int order = compare_matches(left, right);
	if (!order)
		order = left->snapshot < right->snapshot ? -1 : left->snapshot > right->snapshot;
	return order ? order : (left->row > right->row) - (left->row < right->row);
}

static bool alloc_columns(struct hsnap_diff *diff, size_t num_rows, size_t num)
{
	diff->bytes = calloc(num_rows * num + 1, sizeof(*diff->bytes));
	diff->count = calloc(num_rows * num + 1, sizeof(*diff->count));
	diff->items = calloc(num_rows * num + 1, sizeof(*diff->items));
	diff->all_bytes = calloc(num, sizeof(*diff->all_bytes));
	diff->all_count = calloc(num, sizeof(*diff->all_count));
	return diff->bytes && diff->count && diff->items && diff->all_bytes && diff->all_count &&
	       hsnap_vec_reserve(&diff->rows, num_rows);
}

static void decide_basis(const struct hsnap_snapshot *const *snapshots, size_t num, struct hsnap_diff *diff)
{
	diff->basis = snapshots[0]->facts.basis;
	for (size_t s = 1; s < num; s++)
		if (snapshots[s]->facts.basis != snapshots[0]->facts.basis)
			diff->mixed = true;
	if (diff->mixed)
		diff->basis = HSNAP_BASIS_USABLE;
}

/* Sum one row of a snapshot into its column. */
static void add_row(struct hsnap_diff *diff, struct hsnap_growth *growth, const struct key *key,
		    const struct hsnap_row *row)
{
	uint64_t bytes = diff->mixed ? row->usable : row->bytes;
	growth->snapshot = key->snapshot;
	growth->type = row->type;
	growth->any_size = key->any_size;
	diff->bytes[growth->first + key->snapshot] += bytes;
	diff->count[growth->first + key->snapshot] += row->count;
	diff->items[growth->first + key->snapshot] += row->items;
	diff->all_bytes[key->snapshot] += bytes;
	diff->all_count[key->snapshot] += row->count;
}

static void subtract(struct hsnap_diff *diff)
{
	size_t last = diff->num_snapshots - 1;
	for (size_t i = 0; i < diff->rows.num; i++) {
		struct hsnap_growth *row = &diff->rows.items[i];
		row->bytes_delta = hsnap_difference(diff->bytes[row->first + last], diff->bytes[row->first]);
		row->count_delta = hsnap_difference(diff->count[row->first + last], diff->count[row->first]);
		row->items_delta = hsnap_difference(diff->items[row->first + last], diff->items[row->first]);
	}
	diff->bytes_delta = hsnap_difference(diff->all_bytes[last], diff->all_bytes[0]);
	diff->count_delta = hsnap_difference(diff->all_count[last], diff->all_count[0]);
}

struct ranking {
	const struct hsnap_snapshot *const *snapshots;
	enum hsnap_diff_order order;
};

static const char *text_of(const struct ranking *ranking, const struct hsnap_growth *row, bool holder)
{
	const struct hsnap_snapshot *snapshot = ranking->snapshots[row->snapshot];
	const struct hsnap_type *type = &snapshot->types.items[row->type];
	if (!holder && row->any_size)
		return HSNAP_LABEL_ANY_SIZE;
	return hsnap_text(snapshot, holder ? type->holder : type->name);
}

static int compare_growth(const void *a, const void *b, void *context)
{
	const struct ranking *ranking = context;
	const struct hsnap_growth *left = a, *right = b;
	int by_bytes = (left->bytes_delta < right->bytes_delta) - (left->bytes_delta > right->bytes_delta);
	int by_count = (left->count_delta < right->count_delta) - (left->count_delta > right->count_delta);
	int order = ranking->order == HSNAP_DIFF_BY_COUNT ? by_count : by_bytes;
	if (!order)
		order = ranking->order == HSNAP_DIFF_BY_COUNT ? by_bytes : by_count;
	if (!order)
		order = strcmp(text_of(ranking, left, false), text_of(ranking, right, false));
	if (!order)
		order = strcmp(text_of(ranking, left, true), text_of(ranking, right, true));
	/* `first` follows the order of identities: no two rows are equal. */
	return order ? order : (left->first > right->first) - (left->first < right->first);
}

enum hsnap_code hsnap_diff_init(const struct hsnap_snapshot *const *snapshots, size_t num,
				enum hsnap_diff_order order, struct hsnap_diff *ret, struct hsnap_error *err)
{
	hsnap_auto(free_keys) struct keys keys = { 0 };
	enum hsnap_code code = collect(snapshots, num, &keys, err);
	if (!code)
		code = fold_sizes(snapshots, num, &keys, err);
	if (code)
		return code;
	if (keys.num)
		qsort(keys.items, keys.num, sizeof(*keys.items), compare_keys);
	struct hsnap_diff diff = { .num_snapshots = num };
	if (keys.num > UINT32_MAX / num || !alloc_columns(&diff, keys.num, num)) {
		hsnap_diff_deinit(&diff);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the growth of %zu types", keys.num);
	}
	decide_basis(snapshots, num, &diff);
	for (size_t i = 0; i < keys.num; i++) {
		const struct key *key = &keys.items[i];
		if (!i || compare_matches(&keys.items[i - 1], key)) {
			uint32_t first = (uint32_t)(diff.rows.num * num);
			diff.rows.items[diff.rows.num++] = (struct hsnap_growth){ .state = key->state, .first = first };
		}
		add_row(&diff, &diff.rows.items[diff.rows.num - 1], key, &snapshots[key->snapshot]->rows.items[key->row]);
	}
	subtract(&diff);
	struct ranking ranking = { .snapshots = snapshots, .order = order };
	if (diff.rows.num)
		qsort_r(diff.rows.items, diff.rows.num, sizeof(*diff.rows.items), compare_growth, &ranking);
	*ret = diff;
	return HSNAP_OK;
}

char *hsnap_growth_identity(const struct hsnap_snapshot *snapshot, const struct hsnap_growth *row)
{
	char *any = NULL;
	if (row->any_size && !hsnap_label_any_identity(snapshot, row->type, &any))
		return NULL;
	return any ? any : hsnap_type_identity(snapshot, row->type);
}

static int compare_deltas(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return (left < right) - (left > right);
}

size_t hsnap_diff_companions(const struct hsnap_diff *diff, int64_t *ret_delta)
{
	hsnap_auto(hsnap_freep) int64_t *deltas = calloc(diff->rows.num + 1, sizeof(*deltas));
	size_t num = 0, best = 0;
	if (!deltas)
		return 0;
	for (size_t i = 0; i < diff->rows.num; i++)
		if (diff->rows.items[i].count_delta >= 10)
			deltas[num++] = diff->rows.items[i].count_delta;
	qsort(deltas, num, sizeof(*deltas), compare_deltas);
	for (size_t first = 0, end; first < num; first = end) {
		for (end = first + 1; end < num && deltas[end] == deltas[first]; end++)
			;
		if (end - first >= 3 && end - first > best) {
			best = end - first;
			*ret_delta = deltas[first];
		}
	}
	return best;
}
