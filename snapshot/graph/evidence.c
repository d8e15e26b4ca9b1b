/* SPDX-License-Identifier: MIT */
/* evidence.c - how sure each kind of evidence makes a name, and what it is called. */
#include "snapshot/graph/evidence.h"

static const struct {
	const char *name, *words;
	enum hsnap_confidence confidence;
} table[HSNAP_NUM_EVIDENCE] = {
	[HSNAP_EVIDENCE_NONE] = { "none", "nothing says what it is", HSNAP_UNKNOWN },
	[HSNAP_EVIDENCE_TOLD] = { "told", "the call site keeps it as bytes", HSNAP_LABEL },
	[HSNAP_EVIDENCE_KEPT] = { "kept", "the call site keeps it as bytes, and none of its blocks holds a pointer", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_GUESS] = { "guess", "its size is a multiple of what a pointer says", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_RUN] = { "run", "several of it fill the block, and all look like one", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_CONSENSUS] = { "consensus", "nearly all blocks of its call site are that", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_LANDING] = { "landing", "all that its owner's void pointers lead to is like that", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_INTRUSIVE] = { "intrusive", "a list runs through that member in all of its nodes", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_ALIAS] = { "alias", "the program's code takes its opaque handle for that", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_FOLLOWED] = { "followed", "an object that is itself inferred points to it", HSNAP_INFERRED },
	[HSNAP_EVIDENCE_POINTER] = { "pointer", "a declared pointer leads to it", HSNAP_PROVED },
	[HSNAP_EVIDENCE_CONTAINER] = { "container", "a library container keeps it", HSNAP_PROVED },
	[HSNAP_EVIDENCE_SITE] = { "site", "the variable at its call site has the size asked for", HSNAP_EXACT },
	[HSNAP_EVIDENCE_CONTROL] = { "control", "it is a shared_ptr's control block with its object", HSNAP_EXACT },
	[HSNAP_EVIDENCE_VTABLE] = { "vtable", "its vtable pointer says so", HSNAP_EXACT },
	[HSNAP_EVIDENCE_TAG] = { "tag", "the program's own tag says so", HSNAP_EXACT },
	/* The user's word, held against the block's size, is not the program's. */
	[HSNAP_EVIDENCE_USER] = { "user", "the user's --types file says so", HSNAP_PROVED },
};

static enum hsnap_evidence in_range(enum hsnap_evidence evidence)
{
	return (unsigned)evidence < HSNAP_NUM_EVIDENCE ? evidence : HSNAP_EVIDENCE_NONE;
}

enum hsnap_confidence hsnap_evidence_confidence(enum hsnap_evidence evidence)
{
	return table[in_range(evidence)].confidence;
}

const char *hsnap_evidence_name(enum hsnap_evidence evidence)
{
	return table[in_range(evidence)].name;
}

const char *hsnap_evidence_words(enum hsnap_evidence evidence)
{
	return table[in_range(evidence)].words;
}
