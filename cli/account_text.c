/* SPDX-License-Identifier: MIT */
/* account_text.c - what the resident memory consists of, line by line, down to the sum. */
#include <stdlib.h>
#include <string.h>

#include "cli/account.h"
#include "cli/table.h"
#include "snapshot/base/vec.h"

#define NUMBER_END 62 /* column where the numbers end */
#define LINE_END 101  /* a blank after a comma may fall away */
#define MUCH 64       /* an arena holds much that has this part of all free memory, or of the RSS */

static uint64_t amount(int64_t number)
{
	return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

/* 1,234 and -1,234. */
static struct hsnap_small signed_number(int64_t number)
{
	struct hsnap_small small;
	snprintf(small.text, sizeof(small.text), "%s%.30s", number < 0 ? "-" : "", hsnap_grouped(amount(number)).text);
	return small;
}

/* "  label            1,234   remark". */
static void add_line(struct hsnap_line *to, const char *label, int64_t number, const char *remark)
{
	struct hsnap_small text = signed_number(number);
	size_t start = to->num, len = strlen(text.text);
	hsnap_line_addf(to, "  %s", label);
	hsnap_line_pad(to, start, NUMBER_END - len);
	hsnap_line_add(to, text.text);
	if (*remark)
		hsnap_line_addf(to, "   %s", remark);
	hsnap_line_add(to, "\n");
}

/* What was counted as live and takes no memory. */
static void add_absent(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
		       const struct hsnap_account_sums *sums)
{
	char remark[64] = "never touched";
	uint64_t swapped = snapshot->account.live_swapped;
	if (!sums->live_absent)
		return;
	if (swapped)
		snprintf(remark, sizeof(remark), "%.30s of it swapped out", hsnap_grouped(swapped).text);
	add_line(to, sums->rss_known ? "of these not resident" : "of these not in the core", -sums->live_absent,
		 sums->rss_known ? remark : "");
}

static void add_free(struct hsnap_line *to, const struct hsnap_snapshot *snapshot,
		     const struct hsnap_account_sums *sums)
{
	const struct hsnap_account *account = &snapshot->account;
	char remark[96] = "";
	if (account->biggest_free)
		snprintf(remark, sizeof(remark), "%.30s %sin one chunk", hsnap_grouped(account->biggest_free).text,
			 account->biggest_free <= account->free_resident ? "of it " : "");
	add_line(to, "free, held by the allocator", sums->free, remark);
	if (account->free > account->free_resident)
		hsnap_line_addf(to, "    and %s more that are not %s\n",
				hsnap_grouped(account->free - account->free_resident).text,
				sums->rss_known ? "resident" : "in it");
}

static void add_parts(struct hsnap_line *to, const struct hsnap_emit *emit, const struct hsnap_account_sums *sums)
{
	const char *dot = emit->charset == HSNAP_TEXT_UTF8 ? " \u00b7 " : "; ";
	int64_t stacks = sums->parts[HSNAP_PART_STACK], modules = sums->parts[HSNAP_PART_MODULE];
	struct hsnap_line label = { 0 };
	char remark[96] = "";
	hsnap_line_addf(&label, "stacks %s%scode and data %s%sother", signed_number(stacks).text, dot,
			signed_number(modules).text, dot);
	if (sums->other)
		snprintf(remark, sizeof(remark), "%.30s of it other mappings", signed_number(sums->other).text);
	add_line(to, hsnap_line_text(&label), stacks + modules + sums->other, remark);
	hsnap_line_deinit(&label);
}

static void add_sum(struct hsnap_line *to, const struct hsnap_account *account, const struct hsnap_account_sums *sums)
{
	struct hsnap_line remark = { 0 };
	hsnap_line_add(&remark, hsnap_human((double)sums->rss).text);
	if (account->cgroup_limit != HSNAP_NOT_KNOWN)
		hsnap_line_addf(&remark, "; limit %s", hsnap_human((double)account->cgroup_limit).text);
	if (account->swap != HSNAP_NOT_KNOWN)
		hsnap_line_addf(&remark, "; swap %s", account->swap ? hsnap_human((double)account->swap).text : "0");
	add_line(to, "= resident (RSS)", sums->rss, hsnap_line_text(&remark));
	hsnap_line_deinit(&remark);
}

/* What stands beside the resident size and is no part of it. */
static void add_beside(struct hsnap_line *to, const struct hsnap_account *account)
{
	char remark[96] = "";
	if (account->huge && account->huge != HSNAP_NOT_KNOWN)
		add_line(to, "besides: huge pages", (int64_t)account->huge, "");
	if (account->cgroup_use == HSNAP_NOT_KNOWN)
		return;
	size_t len = (size_t)snprintf(remark, sizeof(remark), "%s", hsnap_human((double)account->cgroup_use).text);
	if (account->cgroup_limit != HSNAP_NOT_KNOWN)
		len += (size_t)snprintf(remark + len, sizeof(remark) - len, ", %s %% of its limit",
					hsnap_share((double)account->cgroup_use, (double)account->cgroup_limit).text);
	if (account->cgroup_swap && account->cgroup_swap != HSNAP_NOT_KNOWN)
		snprintf(remark + len, sizeof(remark) - len, "; swap %s", hsnap_human((double)account->cgroup_swap).text);
	add_line(to, "its cgroup uses", (int64_t)account->cgroup_use, remark);
}

/* Of another allocator than glibc's blocks alone are known: what of the rest is free, nobody has counted. */
static bool is_walked(const struct hsnap_snapshot *snapshot)
{
	return snapshot->account_arenas.num || snapshot->facts.basis != HSNAP_BASIS_REQUESTED;
}

static void add_memory(struct hsnap_line *to, const struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot,
		       const struct hsnap_account_sums *sums)
{
	bool requested = snapshot->facts.basis == HSNAP_BASIS_REQUESTED;
	bool walked = is_walked(snapshot);
	hsnap_line_add(to, "\nmemory\n");
	add_line(to, requested ? "live blocks, as requested" : "live blocks, as usable", sums->live, "");
	add_absent(to, snapshot, sums);
	/* What was asked for is known by the agent alone. */
	if (!walked)
		add_line(to, "the allocator's own, and free", sums->overhead, "not told apart");
	else
		add_line(to, requested ? "headers, rounding, the agent's 8 bytes a block" : "headers, rounding", sums->overhead, "");
	if (walked || sums->free)
		add_free(to, snapshot, sums);
	if (!sums->rss_known) {
		add_line(to, "= the heap, as far as it was captured",
			 sums->live - sums->live_absent + sums->overhead + sums->free, "its RSS is not known");
		return;
	}
	if (sums->parts[HSNAP_PART_AGENT])
		add_line(to, "the agent's own tables", sums->parts[HSNAP_PART_AGENT], "");
	add_parts(to, emit, sums);
	add_line(to, "unexplained", sums->unexplained, "");
	add_sum(to, &snapshot->account, sums);
	add_beside(to, &snapshot->account);
}

static const struct hsnap_column columns[] = {
	{ "System", 14, false }, { "Free", 14, false }, { "of it resident", 17, false }, { "in one chunk", 15, false },
	{ "Arena", 0, true },
};

static bool holds_much(const struct hsnap_account *account, const struct hsnap_account_arena *arena)
{
	uint64_t rss = account->rss == HSNAP_NOT_KNOWN ? account->heap_resident : account->rss;
	return arena->kind != HSNAP_ARENA_MAPPED && (arena->system >= rss / MUCH || arena->free_resident >= rss / MUCH);
}

static int by_free(const void *a, const void *b)
{
	const struct hsnap_account_arena *x = a, *y = b;
	if (x->free_resident != y->free_resident)
		return x->free_resident < y->free_resident ? 1 : -1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void add_arena(struct hsnap_table *table, const struct hsnap_account_arena *arena)
{
	char name[96];
	struct hsnap_table_row *row = hsnap_table_add(table);
	hsnap_table_set(table, row, 0, hsnap_grouped(arena->system ? arena->system : arena->walked).text);
	hsnap_table_set(table, row, 1, hsnap_grouped(arena->free).text);
	hsnap_table_set(table, row, 2, hsnap_grouped(arena->free_resident).text);
	hsnap_table_set(table, row, 3, hsnap_grouped(arena->biggest_free).text);
	snprintf(name, sizeof(name), "%s%#llx%s", arena->kind == HSNAP_ARENA_MAIN ? "main " : "",
		 (unsigned long long)arena->address, arena->locked ? ", in use at the stop" : "");
	hsnap_table_set(table, row, 4, name);
}

/* Where more than one arena holds much: those, the one with most free memory first. */
static void print_arenas(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	struct hsnap_vec(struct hsnap_account_arena) great = { 0 };
	struct hsnap_table table = { .emit = emit, .columns = columns, .num_columns = sizeof(columns) / sizeof(*columns) };
	size_t arenas = 0;
	bool room = true;
	for (size_t i = 0; room && i < snapshot->account_arenas.num; i++) {
		const struct hsnap_account_arena *arena = &snapshot->account_arenas.items[i];
		arenas += arena->kind != HSNAP_ARENA_MAPPED;
		room = !holds_much(&snapshot->account, arena) || hsnap_vec_push(&great, *arena);
	}
	if (great.num > 1) {
		qsort(great.items, great.num, sizeof(*great.items), by_free);
		for (size_t i = 0; i < great.num && i < hsnap_top(emit->options, 25); i++)
			add_arena(&table, &great.items[i]);
		hsnap_printf(emit, "\n%s, of which hold much:\n", hsnap_plural(arenas, "arena").text);
		hsnap_table_print(&table);
	}
	emit->out.failed |= !room || table.failed;
	hsnap_table_deinit(&table);
	hsnap_vec_deinit(&great);
}

void hsnap_print_account(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	struct hsnap_account_sums sums;
	struct hsnap_line text = { 0 };
	if (!hsnap_account_sum(snapshot, snapshot->facts.basis, &sums))
		return;
	add_memory(&text, emit, snapshot, &sums);
	hsnap_print(emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
	print_arenas(emit, snapshot);
}

/* "label +1,234, ", on a line of its own where the last one would get too long. */
static void add_term(struct hsnap_line *to, size_t *start, const char *label, int64_t number, const char *after)
{
	struct hsnap_small text = hsnap_growth(number);
	if (hsnap_columns(to->text + *start) + strlen(label) + strlen(text.text) + 1 + strlen(after) > LINE_END) {
		to->num -= to->text[to->num - 1] == ' ';
		hsnap_line_add(to, "\n      ");
		*start = to->num - 6;
	}
	hsnap_line_addf(to, "%s %s%s", label, text.text, after);
}

static void add_growth(struct hsnap_line *to, const struct hsnap_account_sums *growth, bool walked)
{
	int64_t other = growth->other + growth->parts[HSNAP_PART_STACK] + growth->parts[HSNAP_PART_MODULE] +
			growth->parts[HSNAP_PART_AGENT];
	size_t start = to->num;
	hsnap_line_addf(to, "  RSS %s = live %s, ", hsnap_growth(growth->rss).text, hsnap_growth(growth->live).text);
	/* What came in of blocks that were there before, or less what was never touched of new ones. */
	if (growth->live_absent)
		add_term(to, &start, growth->live_absent > 0 ? "not resident" : "now resident", -growth->live_absent, ", ");
	add_term(to, &start, walked ? "headers and rounding" : "the allocator's own, and free", growth->overhead, ", ");
	if (walked || growth->free)
		add_term(to, &start, "held free", growth->free, ", ");
	add_term(to, &start, "other", other, growth->unexplained ? ", " : "");
	if (growth->unexplained)
		add_term(to, &start, "unexplained", growth->unexplained, "");
	hsnap_line_add(to, "\n");
}

void hsnap_print_account_growth(struct hsnap_emit *emit, const struct hsnap_snapshot *first,
				const struct hsnap_snapshot *last, enum hsnap_basis basis)
{
	struct hsnap_account_sums a, b;
	bool have_first = hsnap_account_sum(first, basis, &a), have_last = hsnap_account_sum(last, basis, &b);
	if (!have_first && !have_last)
		return;
	struct hsnap_line text = { 0 };
	hsnap_line_add(&text, "\nis it the heap?\n");
	struct hsnap_account_sums growth = hsnap_account_growth(&b, &a);
	if (growth.rss_known)
		add_growth(&text, &growth, is_walked(first) || is_walked(last));
	else
		hsnap_line_addf(&text, "  not known: the RSS was captured %s\n",
				a.rss_known   ? "of the first, not of the last"
				: b.rss_known ? "of the last, not of the first"
					      : "of neither");
	hsnap_print(emit, hsnap_line_text(&text));
	hsnap_line_deinit(&text);
}
