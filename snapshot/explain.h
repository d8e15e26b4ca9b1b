/* SPDX-License-Identifier: MIT */
/*
 * explain.h - why a block is called what it is called.
 *
 * The snapshot keeps for each block who said so, and who said otherwise; the places that
 * say it are the graph's edges, found here by going through all of them.
 */
#ifndef HSNAP_SNAPSHOT_EXPLAIN_H
#define HSNAP_SNAPSHOT_EXPLAIN_H

#include "snapshot/snapshot.h"

/* How the block's bytes and its type go together. */
enum hsnap_fit_kind {
	HSNAP_FIT_UNKNOWN,  /* no type, or one without a size */
	HSNAP_FIT_EXACT,    /* one object; of usable bytes rounding may be left */
	HSNAP_FIT_ARRAY,    /* several, one behind the other */
	HSNAP_FIT_FLEXIBLE, /* one, whose last member is an array that goes on, or ends early */
	HSNAP_FIT_BIGGER,   /* one, and more bytes than rounding explains */
	HSNAP_NUM_FITS,
};

/* Why a claim is not the block's name. */
enum hsnap_outcome {
	HSNAP_OUTCOME_WON,      /* it is */
	HSNAP_OUTCOME_WEAKER,   /* what it rests on is weaker */
	HSNAP_OUTCOME_CONTESTS, /* it rests on the same, and came later: a conflict */
	HSNAP_OUTCOME_WITHIN,   /* no contradiction: the block's type begins with it */
	HSNAP_OUTCOME_SIZE,     /* nothing of the type fills the block */
	HSNAP_OUTCOME_LOOK,     /* the block's words are not what the type says */
	HSNAP_NUM_OUTCOMES,
};

/* A place that points to the block. */
struct hsnap_place {
	hsnap_node_id node;     /* root or block; HSNAP_NO_NODE: there is none */
	uint32_t offset;        /* of the pointer in it; HSNAP_OFFSET_BEYOND: far */
	hsnap_type_id declared; /* the pointer's own type, "Book *"; HSNAP_NO_TYPE: unknown */
	bool weak;              /* of a block without a name only: a word that is no declared pointer */
	uint64_t others;        /* places besides that say the same */
};

struct hsnap_said {
	hsnap_type_id type;
	uint8_t evidence; /* enum hsnap_evidence */
	uint8_t outcome;  /* enum hsnap_outcome */
	struct hsnap_place place; /* only of evidence that goes by pointers */
};

struct hsnap_explanation {
	hsnap_node_id node;
	bool known;            /* it was kept what the name rests on */
	bool more;             /* there were other claims that were not kept */
	hsnap_string rule;     /* the user's, "FILE:LINE", that the name rests on; "" */
	uint8_t conflicts;     /* 255: that or more */
	uint8_t fit;           /* enum hsnap_fit_kind */
	uint64_t items;        /* ARRAY: how many */
	uint64_t rest;         /* bytes beyond the object or the items; FLEXIBLE: of the last array */
	struct hsnap_said name;
	struct hsnap_vec(struct hsnap_said) others; /* strongest first */
};

/**
 * @param snapshot  with its edges and its column of grounds
 * @param node      a block
 * @param[out] ret  release with hsnap_explanation_deinit()
 * Cost: O(edges · claims) in the worst case, one look at each edge in the usual one.
 */
HSNAP_CHECKED enum hsnap_code hsnap_explain(const struct hsnap_snapshot *snapshot, hsnap_node_id node,
					    struct hsnap_explanation *ret, struct hsnap_error *err);
void hsnap_explanation_deinit(struct hsnap_explanation *explanation);

/* In JSON: "exact", "array" …; "weaker", "contests" …. */
const char *hsnap_fit_name(enum hsnap_fit_kind fit);
const char *hsnap_outcome_name(enum hsnap_outcome outcome);

#endif
