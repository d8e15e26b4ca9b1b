/* SPDX-License-Identifier: MIT */
/*
 * judge.c - how much of a heap has a name, and how many of the names are right.
 *
 * judge [--top N] [--wrong FILE] SNAP [TRUTH…] scores a snapshot's live blocks (those that a root reaches) against
 * what witnesses say of them (truth.h).  It prints
 *
 *	blocks N BYTES                         all of them
 *	exact|proved|inferred|label|unknown N BYTES
 *	scalars N BYTES                        of those with a name: runs of scalars
 *	checked N RIGHT VAGUE WRONG            exact and proved names that a witness says something of
 *	inferred-checked N RIGHT VAGUE WRONG   the same of inferred ones
 *	items N BYTES                          objects seen in pools: their bytes count as their names are sure, and what is
 *	                                       left of their blocks as those are; where a witness knows of objects in a
 *	                                       block they are checked with the rest, and are wrong where he has none
 *	unfit N                                lines of TRUTH that lie in no live block
 *
 * then the N (10) most common of the wrong names, `wrong N BYTES CONFIDENCE EVIDENCE ADDRESS "said" is "true"`, inferred
 * ones with them, and of what has no name, `missing …` in the same words; "?" where no witness says what it is.
 * --wrong FILE gets each wrong name of its own, in the same words.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/hash.h"
#include "snapshot/snapshot.h"
#include "tests/naming/truth.h"

struct sum {
	uint64_t blocks, bytes;
};

struct score {
	uint64_t checked, verdicts[3]; /* by enum verdict */
};

/* All blocks of one name (said) with one truth. */
struct pair_key {
	hsnap_type_id said;
	hsnap_string type; /* true name, in truth.strings; 0: no witness */
	uint32_t confidence;
	uint8_t single, several; /* as in struct told */
	uint16_t evidence;       /* enum hsnap_evidence */
};

struct pair {
	struct pair_key key;
	enum verdict verdict;
	struct sum sum;
	uint64_t example; /* address of the first */
	UT_hash_handle hh;
};

struct judge {
	const struct hsnap_snapshot *snapshot;
	struct truth truth;
	struct sum all, by_confidence[HSNAP_NUM_CONFIDENCES], scalars, items;
	struct score firm, inferred; /* firm: exact and proved */
	struct pair *pairs;
	uint64_t unfit;
	FILE *wrong;
};

static const struct hsnap_type *type_of(const struct judge *judge, hsnap_type_id id)
{
	return &judge->snapshot->types.items[id];
}

/* The element of a run or array; NULL: the type is none. */
static const struct hsnap_type *element_of(const struct judge *judge, const struct hsnap_type *type)
{
	return type->kind == HSNAP_TYPE_ARRAY ? type_of(judge, type->element) : NULL;
}

/* An array with the number of its elements before it, which is a struct. */
static bool is_counted(const struct judge *judge, const struct hsnap_type *type)
{
	const char *name = hsnap_text(judge->snapshot, type->name);
	size_t len = strlen(name);
	return len > 2 && !strcmp(name + len - 2, "[]");
}

static bool are_scalars(const struct judge *judge, const struct hsnap_type *type)
{
	const struct hsnap_type *element = element_of(judge, type);
	return element && element->kind == HSNAP_TYPE_SCALAR;
}

static void print_name(const struct judge *judge, FILE *out, hsnap_type_id id)
{
	const struct hsnap_type *type = type_of(judge, id);
	const char *holder = hsnap_text(judge->snapshot, type->holder);
	fprintf(out, "\"%s%s%s\"", hsnap_text(judge->snapshot, type->name), *holder ? " " : "", holder);
}

/* The lines of truth that lie in the block: [*first, *last). */
static void find_truth(const struct judge *judge, hsnap_node_id node, size_t *first, size_t *last)
{
	static size_t next; /* blocks come in order of address, as the lines do */
	const struct hsnap_graph *graph = &judge->snapshot->graph;
	uint64_t start = graph->address[node], end = start + hsnap_node_usable(graph, node);
	while (next < judge->truth.lines.num && judge->truth.lines.items[next].address < start)
		next++;
	*first = next;
	while (next < judge->truth.lines.num && judge->truth.lines.items[next].address < end)
		next++;
	*last = next;
}

/* What the lines say together: one of them, or several of one type, which then are a run; else NULL. */
static const struct truth_line *one_truth(const struct judge *judge, size_t first, size_t last, uint64_t end)
{
	const struct truth_line *lines = judge->truth.lines.items;
	for (size_t i = first; i < last; i++)
		if (lines[i].type != lines[first].type || lines[i].size > end - lines[i].address)
			return NULL;
	return first < last ? &lines[first] : NULL;
}

/* Bytes of a type; of a run: of one element. */
static uint64_t size_of(const struct judge *judge, const struct hsnap_type *type)
{
	const struct hsnap_type *element = element_of(judge, type);
	return element ? element->size : type->size;
}

static enum verdict ask(const struct judge *judge, const struct pair_key *key)
{
	const struct hsnap_type *type = type_of(judge, key->said);
	struct said said = {
		.name = hsnap_text(judge->snapshot, type->name),
		.full_name = hsnap_text(judge->snapshot, type->full_name),
		.run = element_of(judge, type) || is_counted(judge, type),
		.bytes = are_scalars(judge, type) && size_of(judge, type) == 1,
	};
	struct told told = { hsnap_str(&judge->truth.strings, key->type), key->single, key->several };
	return truth_verdict(&said, &told);
}

static enum hsnap_evidence evidence_of(const struct judge *judge, hsnap_node_id node)
{
	const uint16_t *grounds = judge->snapshot->graph.grounds;
	return grounds ? judge->snapshot->grounds.items[grounds[node]].evidence : HSNAP_EVIDENCE_NONE;
}

/* The pair of a block's name and its truth; NULL: out of memory. */
static struct pair *pair_of(struct judge *judge, hsnap_node_id node, const struct truth_line *truth, bool several)
{
	const struct hsnap_graph *graph = &judge->snapshot->graph;
	struct pair_key key = {
		.said = graph->type[node], .confidence = hsnap_node_confidence(graph, node), .evidence = evidence_of(judge, node),
	};
	if (truth) {
		key.type = truth->type;
		key.several = several;
		key.single = truth->size == size_of(judge, type_of(judge, key.said));
	}
	struct pair *pair;
	HASH_FIND(hh, judge->pairs, &key, sizeof(key), pair);
	if (pair)
		return pair;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return NULL;
	pair->key = key;
	pair->example = graph->address[node];
	pair->verdict = truth && key.confidence >= HSNAP_INFERRED ? ask(judge, &key) : VERDICT_RIGHT;
	HASH_ADD(hh, judge->pairs, key, sizeof(key), pair);
	return pair;
}

/* Does the witness have such an object at the address?  The next line is looked for from *line on. */
static enum verdict ask_item(const struct judge *judge, const struct hsnap_pool *pool, uint64_t address, size_t *line, size_t last)
{
	const struct truth_line *lines = judge->truth.lines.items;
	while (*line < last && lines[*line].address < address)
		++*line;
	if (*line == last || lines[*line].address != address)
		return VERDICT_WRONG;
	return ask(judge, &(struct pair_key){ .said = pool->type, .type = lines[*line].type,
					      .single = lines[*line].size == size_of(judge, type_of(judge, pool->type)) });
}

static void print_item(const struct judge *judge, const struct hsnap_pool *pool, uint64_t address)
{
	fprintf(judge->wrong, "wrong 1 %" PRIu64 " %s %s 0x%" PRIx64 " ", pool->size,
		hsnap_confidence_name(hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence)),
		hsnap_evidence_name((enum hsnap_evidence)pool->evidence), address);
	print_name(judge, judge->wrong, pool->type);
	fputs(" in a pool\n", judge->wrong);
}

/* The objects of a pool; the bytes that they take of its block. */
static uint64_t score_items(struct judge *judge, hsnap_node_id node, size_t first, size_t last)
{
	const struct hsnap_graph *graph = &judge->snapshot->graph;
	const struct hsnap_pool *pool = hsnap_pool_of(graph, node);
	enum hsnap_confidence confidence = pool ? hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence) : HSNAP_UNKNOWN;
	if (!pool || confidence <= hsnap_node_confidence(graph, node))
		return 0;
	uint64_t bytes = pool->size * pool->num_items, start = graph->address[node] + pool->header + pool->first;
	struct score *score = confidence > HSNAP_INFERRED ? &judge->firm : &judge->inferred;
	for (uint32_t i = 0; i < pool->num_items && first < last; i++) {
		uint64_t address = start + pool->stride * graph->items.items[pool->first_item + i];
		size_t line = first;
		enum verdict verdict = ask_item(judge, pool, address, &line, last);
		score->checked++;
		score->verdicts[verdict]++;
		if (verdict == VERDICT_WRONG && judge->wrong)
			print_item(judge, pool, address);
		first = line < last ? line : first;
	}
	judge->items.blocks += pool->num_items;
	judge->items.bytes += bytes;
	judge->by_confidence[confidence].bytes += bytes;
	return bytes;
}

static void add(struct sum *sum, uint64_t bytes)
{
	sum->blocks++;
	sum->bytes += bytes;
}

static void print_pair(const struct judge *judge, FILE *out, const char *what, const struct pair *pair, const struct sum *sum,
		       uint64_t address)
{
	fprintf(out, "%s %" PRIu64 " %" PRIu64 " %s %s 0x%" PRIx64 " ", what, sum->blocks, sum->bytes,
		hsnap_confidence_name((enum hsnap_confidence)pair->key.confidence),
		hsnap_evidence_name((enum hsnap_evidence)pair->key.evidence), address);
	print_name(judge, out, pair->key.said);
	fprintf(out, " is \"%s\"\n", pair->key.type ? hsnap_str(&judge->truth.strings, pair->key.type) : "?");
}

static bool score_block(struct judge *judge, hsnap_node_id node)
{
	const struct hsnap_graph *graph = &judge->snapshot->graph;
	enum hsnap_confidence confidence = hsnap_node_confidence(graph, node);
	uint64_t bytes = hsnap_node_size(graph, node);
	size_t first, last;
	find_truth(judge, node, &first, &last);
	if (hsnap_node_state(graph, node) == HSNAP_UNREACHABLE) {
		judge->unfit -= last - first; /* it is a block, though nobody asks for its name */
		return true;
	}
	add(&judge->all, bytes);
	bytes -= score_items(judge, node, first, last);
	add(&judge->by_confidence[confidence], bytes);
	if (confidence >= HSNAP_INFERRED && are_scalars(judge, type_of(judge, graph->type[node])))
		add(&judge->scalars, bytes);
	judge->unfit -= last - first;
	const struct truth_line *truth = one_truth(judge, first, last, graph->address[node] + hsnap_node_usable(graph, node));
	struct pair *pair = pair_of(judge, node, truth, last - first > 1);
	if (!pair)
		return false;
	add(&pair->sum, bytes);
	if (!truth || confidence < HSNAP_INFERRED)
		return true;
	struct score *score = confidence > HSNAP_INFERRED ? &judge->firm : &judge->inferred;
	score->checked++;
	score->verdicts[pair->verdict]++;
	if (pair->verdict == VERDICT_WRONG && judge->wrong)
		print_pair(judge, judge->wrong, "wrong", pair, &(struct sum){ 1, bytes }, graph->address[node]);
	return true;
}

/* The commonest first; of equal ones the first in memory. */
static int commonest(const struct pair *a, const struct pair *b)
{
	if (a->sum.bytes != b->sum.bytes)
		return a->sum.bytes > b->sum.bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

static void print_pairs(struct judge *judge, unsigned top)
{
	HASH_SORT(judge->pairs, commonest);
	for (int missing = 0; missing < 2; missing++) {
		unsigned left = top;
		for (struct pair *pair = judge->pairs; pair && left; pair = pair->hh.next) {
			bool named = pair->key.confidence >= HSNAP_INFERRED;
			if (missing ? named : pair->verdict != VERDICT_WRONG)
				continue;
			print_pair(judge, stdout, missing ? "missing" : "wrong", pair, &pair->sum, pair->example);
			left--;
		}
	}
}

static void print_sum(const char *name, const struct sum *sum)
{
	printf("%s %" PRIu64 " %" PRIu64 "\n", name, sum->blocks, sum->bytes);
}

static void print_score(const char *name, const struct score *score)
{
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, score->checked, score->verdicts[VERDICT_RIGHT],
	       score->verdicts[VERDICT_VAGUE], score->verdicts[VERDICT_WRONG]);
}

static void print_all(struct judge *judge, unsigned top)
{
	print_sum("blocks", &judge->all);
	for (int c = HSNAP_NUM_CONFIDENCES - 1; c >= 0; c--)
		print_sum(hsnap_confidence_name((enum hsnap_confidence)c), &judge->by_confidence[c]);
	print_sum("scalars", &judge->scalars);
	print_sum("items", &judge->items);
	print_score("checked", &judge->firm);
	print_score("inferred-checked", &judge->inferred);
	printf("unfit %" PRIu64 "\n", judge->unfit);
	print_pairs(judge, top);
}

static int usage(void)
{
	fputs("usage: judge [--top N] [--wrong FILE] SNAP [TRUTH…]\n", stderr);
	return 2;
}

/* Does any name rest on a tag? */
static bool is_tagged(const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->grounds.num; i++)
		if (snapshot->grounds.items[i].evidence == HSNAP_EVIDENCE_TAG)
			return true;
	return false;
}

static int run(struct judge *judge, const char *path, char **truths, unsigned top)
{
	struct hsnap_error err = { 0 };
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *snapshot = NULL;
	if (hsnap_snapshot_read(path, HSNAP_LOAD_GROUNDS, &snapshot, &err)) {
		fprintf(stderr, "judge: %s\n", err.message);
		return 4;
	}
	judge->snapshot = snapshot;
	if (is_tagged(snapshot)) {
		fprintf(stderr, "judge: the program tells names itself (heapsnap.h), and must not be its own witness: build it with -DHEAPSNAP_OFF\n");
		return 4;
	}
	for (; *truths; truths++)
		if (!truth_read(&judge->truth, *truths))
			return 4;
	if (!truth_sort(&judge->truth))
		return 5;
	judge->unfit = judge->truth.lines.num;
	for (hsnap_node_id n = hsnap_first_block(&snapshot->graph); n < snapshot->graph.num_nodes; n++)
		if (!score_block(judge, n)) {
			fputs("judge: out of memory\n", stderr);
			return 5;
		}
	print_all(judge, top);
	return ferror(stdout) || fflush(stdout) ? 5 : 0;
}

int main(int argc, char **argv)
{
	struct judge judge = { 0 };
	unsigned top = 10;
	char **arg = argv + 1;
	for (; *arg && !strncmp(*arg, "--", 2) && arg[1]; arg += 2) {
		if (!strcmp(*arg, "--top"))
			top = (unsigned)atoi(arg[1]);
		else if (!strcmp(*arg, "--wrong"))
			judge.wrong = fopen(arg[1], "we");
		else
			return usage();
	}
	if (arg >= argv + argc)
		return usage();
	int status = run(&judge, *arg, arg + 1, top);
	truth_deinit(&judge.truth);
	hsnap_hash_free(judge.pairs);
	if (judge.wrong && fclose(judge.wrong))
		status = 5;
	return status;
}
