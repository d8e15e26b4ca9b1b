/* SPDX-License-Identifier: MIT */
/*
 * bench_format.c - size and speed of the snapshot file, beside plain rows.
 *
 *	bench-format [MILLIONS_OF_BLOCKS [FOLDER]]     10, /tmp
 *	bench-format memory MILLIONS [FOLDER]          the peaks of memory; fails where they are above 1.2 x the arrays
 *
 * The heap is like a program's: types, call sites and grounds of names by Zipf's law, a tenth of
 * them of varying size, addresses as glibc gives them with holes, two edges a
 * block (none in half of the types), 80 % of them to blocks nearby.  The
 * peer is what a straightforward tool would write: a row of 20 bytes a block
 * and 8 an edge, through zlib -1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

#include "snapshot/base/pages.h"
#include "snapshot/snapshot.h"
#include "tests/support/random_graph.h"

#define NUM_KINDS 300u
#define MAX_SLOTS 8
#define NUM_GROUNDS 100u

/* A call site: what it allocates, and where pointers stand in it. */
struct kind {
	bool varies;
	uint32_t size, num_slots, num_optional;
	uint32_t offsets[MAX_SLOTS];
};

static struct kind kinds[NUM_KINDS];
static double cumulated[NUM_KINDS];
static struct random rng = { .state = 88172645463325252u };

static void need(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "bench-format: %s\n", what);
	exit(1);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void make_kinds(void)
{
	double sum = 0;
	for (uint32_t k = 0; k < NUM_KINDS; k++) {
		sum += 1.0 / (k + 1);
		cumulated[k] = sum;
		struct kind *kind = &kinds[k];
		kind->varies = !random_below(&rng, 10);
		kind->size = 16 + 8 * (uint32_t)random_below(&rng, 24);
		bool leaf = kind->varies || (k % 3 && k % 7 != 1);
		kind->num_slots = leaf ? 0 : 1 + (uint32_t)random_below(&rng, MAX_SLOTS);
		if (kind->num_slots > kind->size / 8)
			kind->num_slots = kind->size / 8;
		kind->num_optional = kind->num_slots / 3;
		for (uint32_t i = 0, at = 0; i < kind->num_slots; i++) {
			kind->offsets[i] = at;
			at += 8 * (1 + (uint32_t)random_below(&rng, (kind->size - at) / 8 / (kind->num_slots - i)));
		}
	}
}

static uint32_t pick_kind(void)
{
	double want = (double)(random_next(&rng) >> 11) / 9007199254740992.0 * cumulated[NUM_KINDS - 1];
	uint32_t low = 0, high = NUM_KINDS - 1;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (cumulated[middle] < want)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void make_table(struct hsnap_snapshot *s)
{
	for (uint32_t k = 0; k < NUM_KINDS; k++) {
		hsnap_string name = hsnap_strings_addf(&s->strings, "service::Record%u", k);
		hsnap_string unit = hsnap_strings_addf(&s->strings, "src/part%u.cc", k % 40);
		hsnap_string function = hsnap_strings_addf(&s->strings, "service::make_record%u", k);
		need(hsnap_vec_push(&s->types, (struct hsnap_type){ .name = name, .full_name = name, .unit = unit,
			.line = k, .kind = HSNAP_TYPE_STRUCT, .size = kinds[k].size }), "memory");
		for (uint32_t f = 0; f < 8; f++)
			need(hsnap_vec_push(&s->frames, (struct hsnap_frame){ .function = function, .offset = 4096 * k + f }), "memory");
		need(hsnap_vec_push(&s->stacks, (struct hsnap_stack){ .first_frame = 8 * k, .num_frames = 8 }), "memory");
	}
}

static uint32_t make_blocks(struct hsnap_snapshot *s, uint32_t num)
{
	struct hsnap_graph *graph = &s->graph;
	uint64_t address = 0x55d0c0a00010, edges = 0;
	need(!hsnap_graph_alloc_nodes(graph, 0, num, NULL) && !hsnap_graph_alloc_grounds(graph, NULL), "memory");
	for (uint32_t i = 0; i < NUM_GROUNDS; i++)
		need(hsnap_vec_push(&s->grounds, (struct hsnap_grounds){ .evidence = (uint8_t)(i % HSNAP_NUM_EVIDENCE) }), "memory");
	for (hsnap_node_id node = 1; node <= num; node++) {
		uint32_t k = pick_kind();
		const struct kind *kind = &kinds[k];
		uint64_t size = kind->varies ? 8 + random_below(&rng, 120) : kind->size;
		uint64_t usable = size <= 24 ? 24 : ((size + 8 + 15) & ~15ull) - 8;
		graph->type[node] = 1 + k;
		graph->site[node] = 1 + k;
		graph->flags[node] = kind->varies ? HSNAP_EXACT : HSNAP_PROVED;
		/* What a name rests on goes with its type; in a twentieth of a third of the types something else was said, too. */
		graph->grounds[node] = (uint16_t)(1 + k % (NUM_GROUNDS - 1) / (k % 3 || random_below(&rng, 20) ? 2 : 1));
		graph->address[node] = address;
		need(hsnap_node_set_size(graph, node, size, usable), "memory");
		address += usable + 8;
		if (!random_below(&rng, 12)) /* a hole: something was freed */
			address += 16 * (2 + random_below(&rng, 20));
		edges += kind->num_slots;
	}
	need(edges < UINT32_MAX, "too many edges");
	return (uint32_t)edges;
}

static uint32_t pick_target(uint32_t num, hsnap_node_id node)
{
	if (random_below(&rng, 5) == 0)
		return 1 + (uint32_t)random_below(&rng, num);
	int64_t to = (int64_t)node + (int64_t)random_below(&rng, 1 << (2 + random_below(&rng, 13))) -
		     (int64_t)random_below(&rng, 1 << (2 + random_below(&rng, 13)));
	return to < 1 || to > num ? 1 : (uint32_t)to;
}

static void make_edges(struct hsnap_snapshot *s, uint32_t most)
{
	struct hsnap_graph *graph = &s->graph;
	need(!hsnap_graph_alloc_edges(graph, most, NULL), "memory");
	uint32_t edge = 0;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		const struct kind *kind = &kinds[graph->type[node] - 1];
		graph->first_edge[node] = edge;
		for (uint32_t i = 0; i < kind->num_slots; i++) {
			if (i < kind->num_optional && random_below(&rng, 4) == 0)
				continue; /* a null pointer */
			graph->edge_offset[edge] = kind->offsets[i];
			graph->edge_to[edge++] = pick_target(graph->num_blocks, node) |
						 (random_below(&rng, 30) ? 0 : HSNAP_EDGE_WEAK);
		}
	}
	graph->first_edge[graph->num_nodes] = edge;
	graph->num_edges = edge;
}

/* Times as the agent knows them: half of the blocks of their neighbour's second, half of any in an hour. */
static void make_epochs(struct hsnap_graph *graph)
{
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++)
		graph->epoch[node] = random_below(&rng, 2) ? graph->epoch[node - 1] : (uint16_t)random_below(&rng, 3600);
}

/* The naive file: rows, in pieces through zlib -1, on one core.  Answers its size; times are of cpu. */
static uint64_t write_rows(const struct hsnap_graph *graph, const char *path, double *ret_seconds)
{
	double start = cpu_seconds();
	gzFile out = gzopen(path, "wb1");
	need(out, "cannot write the peer's file");
	gzbuffer(out, 1 << 20);
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		uint8_t row[20];
		memcpy(row, &graph->address[node], 8);
		memcpy(row + 8, &graph->size[node], 4);
		memcpy(row + 12, &graph->type[node], 4);
		memcpy(row + 16, &graph->site[node], 4);
		gzwrite(out, row, sizeof(row));
		for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
			uint32_t pair[2] = { graph->edge_to[e], graph->edge_offset[e] };
			gzwrite(out, pair, sizeof(pair));
		}
	}
	gzclose(out);
	*ret_seconds = cpu_seconds() - start;
	FILE *in = fopen(path, "rb");
	need(in, "cannot read the peer's file");
	fseek(in, 0, SEEK_END);
	uint64_t size = (uint64_t)ftell(in);
	fclose(in);
	return size;
}

static double read_rows(const char *path)
{
	static char buffer[1 << 20];
	double start = cpu_seconds();
	gzFile in = gzopen(path, "rb");
	need(in, "cannot read the peer's file");
	gzbuffer(in, 1 << 20);
	while (gzread(in, buffer, sizeof(buffer)) > 0)
		;
	gzclose(in);
	return cpu_seconds() - start;
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return left < right ? -1 : left > right;
}

/* Median of some loads; *ret_cpu: that of the processor time of all cores. */
static double time_load(const char *path, unsigned what, double *ret_cpu)
{
	double wall[7], cpu[7];
	for (int i = 0; i < 7; i++) {
		struct hsnap_snapshot *read;
		struct hsnap_error err;
		double start = seconds(), cpu_start = cpu_seconds();
		enum hsnap_code code = hsnap_snapshot_read(path, what, &read, &err);
		wall[i] = seconds() - start;
		cpu[i] = cpu_seconds() - cpu_start;
		need(!code, err.message);
		hsnap_snapshot_destroy(read);
	}
	qsort(wall, 7, sizeof(*wall), compare_doubles);
	qsort(cpu, 7, sizeof(*cpu), compare_doubles);
	*ret_cpu = cpu[3];
	return wall[3];
}

struct cost {
	uint64_t size;
	double write_cpu, load_cpu;
};

static struct cost time_format(const char *name, const struct hsnap_snapshot *s, const char *path)
{
	struct hsnap_error err;
	uint64_t size;
	double start = seconds(), cpu_start = cpu_seconds(), cpu;
	need(!hsnap_snapshot_write(s, path, true, &size, &err), err.message);
	double wall = seconds() - start, write_cpu = cpu_seconds() - cpu_start, load_cpu;
	printf("%-22s %6.2f bytes a block  written %.3f s (%.3f s of cpu)\n", name,
	       (double)size / s->graph.num_blocks, wall, write_cpu);
	wall = time_load(path, HSNAP_LOAD_EDGES, &load_cpu);
	printf("%-22s loaded whole %.3f s (%.3f s of cpu)\n", "", wall, load_cpu);
	wall = time_load(path, HSNAP_LOAD_NODES, &cpu);
	printf("%-22s without edges %.3f s (%.3f s of cpu)\n", "", wall, cpu);
	wall = time_load(path, HSNAP_LOAD_TABLE, &cpu);
	printf("%-22s table alone %.2f ms\n", "", wall * 1e3);
	return (struct cost){ .size = size, .write_cpu = write_cpu, .load_cpu = load_cpu };
}

/* Bytes that are in memory at most since forget_peak(). */
static uint64_t peak(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *in = fopen("/proc/self/status", "r");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	need(in && kib, "cannot read /proc/self/status");
	fclose(in);
	return (uint64_t)kib * 1024;
}

static void forget_peak(void)
{
	FILE *out = fopen("/proc/self/clear_refs", "w");
	need(out && fputs("5", out) >= 0 && !fclose(out), "cannot reset the peak");
}

static uint64_t array_bytes(const struct hsnap_graph *graph)
{
	uint64_t node = sizeof(*graph->address) + sizeof(*graph->size) + sizeof(*graph->slack) + sizeof(*graph->type) +
			sizeof(*graph->site) + sizeof(*graph->epoch) + sizeof(*graph->flags) + sizeof(*graph->grounds) +
			sizeof(*graph->first_edge);
	return graph->num_nodes * node + graph->num_edges * (sizeof(*graph->edge_to) + sizeof(*graph->edge_offset));
}

/* Peaks of a writer and of a reader beside the arrays that they cannot do without. */
static int measure_memory(uint32_t num, const char *path)
{
	struct hsnap_snapshot *s = hsnap_snapshot_create();
	struct hsnap_error err = { 0 };
	uint64_t size;
	need(s && num, "no blocks");
	make_kinds();
	make_table(s);
	uint32_t most = make_blocks(s, num);
	make_edges(s, most);
	need(!hsnap_snapshot_summarize(s, NULL), "memory");
	double arrays = (double)array_bytes(&s->graph);
	forget_peak();
	need(!hsnap_snapshot_write(s, path, true, &size, &err), err.message);
	double write = (double)peak() / arrays;
	hsnap_snapshot_destroy(s);
	forget_peak();
	need(!hsnap_snapshot_read(path, HSNAP_LOAD_ALL, &s, &err), err.message);
	double read = (double)peak() / arrays;
	hsnap_snapshot_destroy(s);
	remove(path);
	printf("%u blocks, arrays of %.0f MB, a file of %.0f MB: writer at most %.2f x the arrays, reader %.2f x\n", num,
	       arrays / 1e6, (double)size / 1e6, write, read);
	return write > 1.2 || read > 1.2;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "memory")) {
		char file[256];
		snprintf(file, sizeof(file), "%s/bench-format.snap", argc > 3 ? argv[3] : "/tmp");
		return measure_memory((uint32_t)(atof(argv[2]) * 1e6), file);
	}
	uint32_t num = (uint32_t)((argc > 1 ? atof(argv[1]) : 10) * 1e6);
	char path[256], peer[256];
	snprintf(path, sizeof(path), "%s/bench-format.snap", argc > 2 ? argv[2] : "/tmp");
	snprintf(peer, sizeof(peer), "%s/bench-format.gz", argc > 2 ? argv[2] : "/tmp");
	struct hsnap_snapshot *s = hsnap_snapshot_create();
	need(s && num, "no blocks");
	make_kinds();
	make_table(s);
	make_edges(s, make_blocks(s, num));
	need(!hsnap_snapshot_summarize(s, NULL), "memory");
	printf("%u blocks, %.2f edges a block\n", num, (double)s->graph.num_edges / num);
	struct cost whole = time_format("whole", s, path);
	double rows_write;
	uint64_t rows = write_rows(&s->graph, peer, &rows_write);
	double rows_read = read_rows(peer);
	printf("%-22s %6.2f bytes a block  written %.3f s of cpu  inflated %.3f s of cpu (no arrays made)\n",
	       "rows, zlib -1", (double)rows / num, rows_write, rows_read);
	printf("%-22s %6.2f x the size, %.1f x the time to write, %.1f x to read\n", "against ours",
	       (double)rows / (double)whole.size, rows_write / whole.write_cpu, rows_read / whole.load_cpu);

	uint32_t *first_edge = s->graph.first_edge;
	uint64_t num_edges = s->graph.num_edges;
	s->graph.first_edge = NULL;
	s->graph.num_edges = 0;
	time_format("without edges", s, path);
	make_epochs(&s->graph);
	time_format("so, with times", s, path);
	s->graph.first_edge = first_edge;
	s->graph.num_edges = num_edges;
	hsnap_snapshot_destroy(s);
	remove(path);
	remove(peer);
	return 0;
}
