/* SPDX-License-Identifier: MIT */
/* explain_text.c - what a name rests on, as a screen. */
#include "cli/explain_view.h"
#include "cli/head.h"
#include "cli/names.h"
#include "cli/why_view.h"

#define MAX_PATH 512

static void add_type(struct hsnap_line *to, const struct hsnap_explain_view *view, hsnap_type_id type)
{
	struct hsnap_line name = { 0 };
	if (view->emit->options->full_names)
		hsnap_add_full_name(&name, view->snapshot, type);
	else
		hsnap_add_type_name(&name, view->snapshot, type);
	hsnap_line_add_escaped(to, hsnap_line_text(&name), view->emit->charset);
	hsnap_line_deinit(&name);
}

static void add_path(struct hsnap_line *to, const struct hsnap_explain_view *view, hsnap_type_id type, uint64_t offset)
{
	char path[MAX_PATH];
	hsnap_member_path(view->snapshot, type, offset, path, sizeof(path));
	hsnap_line_add(to, to->num && path[0] == '+' ? " " : "");
	hsnap_line_add_escaped(to, path, view->emit->charset);
}

/* "Order.customer at 0x55… (Customer *), and 2 more places". */
static void add_place(struct hsnap_line *to, const struct hsnap_explain_view *view, const struct hsnap_place *place)
{
	const struct hsnap_graph *graph = &view->snapshot->graph;
	if (hsnap_is_root(graph, place->node))
		hsnap_add_root(to, view->emit, view->snapshot, place->node - 1);
	else
		add_type(to, view, graph->type[place->node]);
	add_path(to, view, graph->type[place->node], place->offset);
	if (graph->address[place->node] && place->offset != HSNAP_OFFSET_BEYOND)
		hsnap_line_addf(to, " at 0x%llx", (unsigned long long)(graph->address[place->node] + place->offset));
	if (place->declared) {
		hsnap_line_add(to, " (");
		add_type(to, view, place->declared);
		hsnap_line_add(to, ")");
	}
	if (place->weak)
		hsnap_line_add(to, ", by a word that is not declared a pointer");
	if (place->others)
		hsnap_line_addf(to, ", and %s", hsnap_plural(place->others, "more place").text);
}

/* "  name         …\n"; without a heading the text goes on below the last one. */
static void print_row(const struct hsnap_explain_view *view, const char *heading, const struct hsnap_line *text)
{
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "  %s", heading);
	hsnap_line_pad(&line, 0, 13);
	hsnap_line_addf(&line, "  %s\n", hsnap_line_text(text));
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
}

/* "its vtable pointer says so (vtable for Book)". */
static void add_evidence(struct hsnap_line *to, const struct hsnap_explain_view *view, const struct hsnap_said *said)
{
	hsnap_line_add(to, hsnap_evidence_words((enum hsnap_evidence)said->evidence));
	if (said->evidence != HSNAP_EVIDENCE_VTABLE)
		return;
	const struct hsnap_type *type = &view->snapshot->types.items[said->type];
	bool run = type->kind == HSNAP_TYPE_ARRAY && !type->size;
	hsnap_line_add(to, " (vtable for ");
	add_type(to, view, run ? type->element : said->type);
	hsnap_line_add(to, ")");
}

/* "page in page_open (page.c:25)": of who made the block the function and the variable that say what it is. */
static void print_decider(const struct hsnap_explain_view *view, const struct hsnap_said *said)
{
	struct hsnap_line line = { 0 };
	const struct hsnap_frame *frame = hsnap_explain_decider(view, said);
	if (!frame)
		return;
	const char *taker = hsnap_text(view->snapshot, hsnap_explain_stack(view)->taker);
	if (*taker) {
		hsnap_line_add_escaped(&line, taker, view->emit->charset);
		hsnap_line_add(&line, " in ");
	}
	hsnap_add_frame(&line, view->emit, view->snapshot, frame);
	print_row(view, "decided by", &line);
	hsnap_line_deinit(&line);
}

static void print_head(const struct hsnap_explain_view *view)
{
	struct hsnap_line line = { 0 };
	hsnap_node_id node = view->explanation->node;
	hsnap_type_id type = view->explanation->name.type;
	add_type(&line, view, type);
	hsnap_line_addf(&line, " at 0x%llx, %s", (unsigned long long)view->snapshot->graph.address[node],
			  hsnap_plural(hsnap_node_size(&view->snapshot->graph, node), "byte").text);
	struct hsnap_line source = { 0 };
	hsnap_add_type_source(&source, view->snapshot, type);
	if (source.num) {
		hsnap_line_add(&line, " (");
		hsnap_line_add_escaped(&line, source.text, view->emit->charset);
		hsnap_line_add(&line, ")");
	}
	hsnap_line_deinit(&source);
	enum hsnap_state state = hsnap_node_state(&view->snapshot->graph, node);
	if (state != HSNAP_LIVE)
		hsnap_line_addf(&line, "   %s", hsnap_state_name(state));
	hsnap_line_add(&line, "\n");
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
	hsnap_print_reservations(view->emit, &view->path, &view->snapshot, 1);
}

static void print_offset(const struct hsnap_explain_view *view)
{
	struct hsnap_line line = { 0 }, path = { 0 };
	uint64_t offset = hsnap_explain_offset(view);
	if (!offset)
		return;
	add_path(&path, view, view->explanation->name.type, offset);
	bool member = hsnap_line_text(&path)[0] != '+'; /* else the path says no more than the number */
	hsnap_line_addf(&line, "0x%llx is %s into it%s%s", (unsigned long long)view->address,
			  hsnap_plural(offset, "byte").text, member ? ": " : "", member ? hsnap_line_text(&path) : "");
	hsnap_line_deinit(&path);
	print_row(view, "address", &line);
	hsnap_line_deinit(&line);
}

/* In a pool: which object is there, and how sure that is. */
static void print_item(const struct hsnap_explain_view *view)
{
	const struct hsnap_graph *graph = &view->snapshot->graph;
	const struct hsnap_pool *pool = hsnap_pool_of(graph, view->explanation->node);
	if (!pool)
		return;
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "%s of ", hsnap_grouped(pool->num_items).text);
	add_type(&line, view, pool->type);
	hsnap_line_addf(&line, " seen, %s apart; %s: %s", hsnap_plural(pool->stride, "byte").text,
			  hsnap_confidence_name(hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence)),
			  hsnap_evidence_words((enum hsnap_evidence)pool->evidence));
	print_row(view, "objects", &line);
	hsnap_line_clear(&line);
	uint64_t offset = hsnap_explain_offset(view), at;
	uint32_t item = offset < pool->header ? UINT32_MAX : hsnap_pool_find(graph, pool, offset - pool->header);
	if (item == UINT32_MAX) {
		hsnap_line_add(&line, "none is seen at this address");
	} else {
		at = pool->header + pool->first + pool->stride * graph->items.items[pool->first_item + item];
		add_type(&line, view, pool->type);
		hsnap_line_addf(&line, " at 0x%llx, %s", (unsigned long long)(graph->address[pool->node] + at),
				  hsnap_plural(pool->size, "byte").text);
		if (offset > at) {
			hsnap_line_add(&line, "; ");
			add_path(&line, view, pool->type, offset - at);
		}
	}
	print_row(view, "object", &line);
	hsnap_line_deinit(&line);
}

/* Which line of which file of the user's says so. */
static void print_rule(const struct hsnap_explain_view *view)
{
	struct hsnap_line line = { 0 };
	hsnap_line_add_escaped(&line, hsnap_text(view->snapshot, view->explanation->rule), view->emit->charset);
	if (view->explanation->rule)
		print_row(view, "rule", &line);
	hsnap_line_deinit(&line);
}

static void print_name(const struct hsnap_explain_view *view)
{
	const struct hsnap_explanation *explanation = view->explanation;
	struct hsnap_line line = { 0 };
	hsnap_line_addf(&line, "%s: ",
			  hsnap_confidence_name(hsnap_node_confidence(&view->snapshot->graph, explanation->node)));
	if (explanation->known)
		add_evidence(&line, view, &explanation->name);
	else
		hsnap_line_add(&line, "what it rests on is not in the snapshot");
	if (explanation->conflicts)
		hsnap_line_add(&line, "; contested");
	print_row(view, "name", &line);
	hsnap_line_clear(&line);
	print_rule(view);
	print_decider(view, &explanation->name);
	if (explanation->name.place.node != HSNAP_NO_NODE) {
		add_place(&line, view, &explanation->name.place);
		print_row(view, "held by", &line);
	}
	hsnap_line_deinit(&line);
}

static void add_fit(struct hsnap_line *to, const struct hsnap_explain_view *view)
{
	const struct hsnap_explanation *explanation = view->explanation;
	const struct hsnap_type *type = &view->snapshot->types.items[explanation->name.type];
	switch ((enum hsnap_fit_kind)explanation->fit) {
	case HSNAP_FIT_EXACT:
		hsnap_line_addf(to, "; its type has %s: it fits", hsnap_grouped(type->size).text);
		break;
	case HSNAP_FIT_ARRAY:
		if (view->snapshot->types.items[type->element].size <= 1)
			break; /* bytes */
		hsnap_line_addf(to, "; %s%s of %s", hsnap_at_most(view->snapshot), hsnap_plural(explanation->items, "element").text,
				  hsnap_grouped(view->snapshot->types.items[type->element].size).text);
		if (explanation->rest)
			hsnap_line_addf(to, ", %s left", hsnap_grouped(explanation->rest).text);
		break;
	case HSNAP_FIT_FLEXIBLE:
		hsnap_line_addf(to, "; its type has %s and an array at its end", hsnap_grouped(type->size).text);
		break;
	case HSNAP_FIT_BIGGER:
		hsnap_line_addf(to, "; its type has %s, %s are left", hsnap_grouped(type->size).text,
				  hsnap_grouped(explanation->rest).text);
		break;
	case HSNAP_FIT_UNKNOWN:
		/* A class that has no debug info. */
		if (explanation->name.evidence == HSNAP_EVIDENCE_VTABLE || explanation->name.evidence == HSNAP_EVIDENCE_CONTROL)
			hsnap_line_add(to, "; the size of its class is not known");
		break;
	default:
		break;
	}
}

static void print_size(const struct hsnap_explain_view *view)
{
	struct hsnap_line line = { 0 };
	const struct hsnap_graph *graph = &view->snapshot->graph;
	hsnap_node_id node = view->explanation->node;
	bool usable = view->snapshot->facts.basis == HSNAP_BASIS_USABLE || graph->flags[node] & HSNAP_FLAG_NO_RECORD;
	if (!usable)
		hsnap_line_addf(&line, "%s asked for, %s usable", hsnap_plural(hsnap_node_size(graph, node), "byte").text,
				  hsnap_grouped(hsnap_node_usable(graph, node)).text);
	else
		hsnap_line_addf(&line, "%s usable; what was asked for is not known",
				  hsnap_plural(hsnap_node_usable(graph, node), "byte").text);
	add_fit(&line, view);
	print_row(view, "size", &line);
	hsnap_line_deinit(&line);
}

static void print_site(const struct hsnap_explain_view *view)
{
	struct hsnap_line line = { 0 };
	uint32_t site = view->snapshot->graph.site[view->explanation->node];
	if (!site)
		return;
	hsnap_add_site(&line, view->emit, view->snapshot, site);
	print_row(view, "made by", &line);
	hsnap_line_deinit(&line);
}

static void add_outcome(struct hsnap_line *to, const struct hsnap_explain_view *view, const struct hsnap_said *said)
{
	switch ((enum hsnap_outcome)said->outcome) {
	case HSNAP_OUTCOME_WITHIN:
		hsnap_line_add(to, "no contradiction: ");
		add_type(to, view, view->explanation->name.type);
		hsnap_line_add(to, " begins with one");
		break;
	case HSNAP_OUTCOME_CONTESTS:
		hsnap_line_add(to, "contradicts: it rests on the same and came later, so the name is no more than inferred");
		break;
	case HSNAP_OUTCOME_SIZE:
		hsnap_line_add(to, "lost: the block's size is not one of it");
		break;
	case HSNAP_OUTCOME_LOOK:
		hsnap_line_add(to, "lost: the block's words do not look like it");
		break;
	default:
		hsnap_line_add(to, "lost: the name rests on more");
	}
}

static void print_other(const struct hsnap_explain_view *view, const struct hsnap_said *said)
{
	struct hsnap_line name = { 0 }, line = { 0 };
	add_type(&name, view, said->type);
	hsnap_line_addf(&line, "\n%s, %s: ", hsnap_line_text(&name), hsnap_said_confidence(said));
	add_evidence(&line, view, said);
	hsnap_line_add(&line, "\n");
	hsnap_print(view->emit, hsnap_line_text(&line));
	hsnap_line_clear(&line);
	add_outcome(&line, view, said);
	print_row(view, "outcome", &line);
	hsnap_line_clear(&line);
	print_decider(view, said);
	if (said->place.node != HSNAP_NO_NODE) {
		add_place(&line, view, &said->place);
		print_row(view, "held by", &line);
	}
	hsnap_line_deinit(&line);
	hsnap_line_deinit(&name);
}

static const char *contradicting(uint8_t conflicts)
{
	switch (conflicts) {
	case 0:
		return "none of which contradicts";
	case 1:
		return "of which one contradicts";
	default:
		return "of which several contradict";
	}
}

static void print_others(const struct hsnap_explain_view *view)
{
	const struct hsnap_explanation *explanation = view->explanation;
	if (!explanation->known)
		return;
	if (!explanation->others.num && !explanation->more)
		hsnap_print(view->emit, "\nother claims: none\n");
	else
		hsnap_printf(view->emit, "\nother claims: %s%s, %s the name\n", hsnap_grouped(explanation->others.num).text,
			       explanation->more ? " and some that were not kept" : "", contradicting(explanation->conflicts));
	for (size_t i = 0; i < explanation->others.num; i++)
		print_other(view, &explanation->others.items[i]);
}

void hsnap_explain_print(const struct hsnap_explain_view *view)
{
	print_head(view);
	print_offset(view);
	print_item(view);
	print_name(view);
	print_size(view);
	print_site(view);
	print_others(view);
}
