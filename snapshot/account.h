/* SPDX-License-Identifier: MIT */
/*
 * account.h - where the memory of a process is: what adds up to its resident size (RSS).
 *
 * All numbers are bytes, of one moment: that of the stop.  Resident is what the kernel had given
 * pages for; what was never touched, or is swapped out, is not.  So:
 *
 *	RSS = live blocks that are resident + headers and rounding + free chunks that are resident
 *	      + all parts + what stays unexplained
 *
 * Nothing is made to fit: what the kernel counts and nobody could place is the unexplained, of
 * either sign.
 */
#ifndef HSNAP_SNAPSHOT_ACCOUNT_H
#define HSNAP_SNAPSHOT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/strings.h"

#define HSNAP_NOT_KNOWN UINT64_MAX
#define HSNAP_ACCOUNT_MAX ((uint64_t)1 << 57) /* no number is greater: an address space with five levels */

struct hsnap_account {
	bool known; /* false: nothing of all this, nor arenas, nor parts */

	/* What the kernel says; HSNAP_NOT_KNOWN where it says nothing (a core). */
	uint64_t rss, rss_anon, rss_file, rss_shmem;
	uint64_t swap; /* of private pages */
	uint64_t huge; /* of hugetlbfs, which RSS does not count */
	/* Of the cgroup above the process that has the lowest limit; of its own where none has one. */
	uint64_t cgroup_limit, cgroup_use, cgroup_swap;

	/* What was counted in the copy.  Of a core, which does not tell the two apart, all that it holds
	 * is taken for resident. */
	uint64_t heap_resident;        /* of all memory that the allocator manages, its arenas included */
	uint64_t live_resident;        /* of live blocks, on the snapshot's basis */
	uint64_t live_resident_usable; /* the same on usable sizes */
	uint64_t live_swapped;         /* of usable sizes; 0 also where it is not known which pages are swapped */
	uint64_t free, free_resident;  /* chunks that are nobody's, their heads included */
	uint64_t free_count, biggest_free;
};

enum hsnap_arena_kind {
	HSNAP_ARENA_MAPPED, /* no arena: blocks with mappings of their own */
	HSNAP_ARENA_MAIN,
	HSNAP_ARENA_THREADS, /* shared by some threads */
	HSNAP_NUM_ARENA_KINDS,
};

struct hsnap_account_arena {
	uint64_t address;       /* of its state; 0: not known */
	uint8_t kind;           /* enum hsnap_arena_kind */
	bool locked;            /* a thread was at work in it */
	uint64_t system;        /* bytes that it says it has from the system; 0: not known */
	uint64_t walked;        /* bytes of chunks that were found */
	uint64_t free;          /* bytes of chunks that are nobody's, wherever they are kept … */
	uint64_t free_resident;
	uint64_t cached;        /* … of these in caches of threads and fastbins */
	uint64_t top;           /* … and at the end, where it grows */
	uint64_t biggest_free;
};

/* Memory that is not the allocator's. */
enum hsnap_part_kind {
	HSNAP_PART_STACK,     /* a mapping that a thread's stack pointer leads into */
	HSNAP_PART_MODULE,    /* code and data of a program or library, .bss included */
	HSNAP_PART_FILE,      /* another file, mapped privately or to be read */
	HSNAP_PART_SHARED,    /* shared and writable: shared memory, memfd, files */
	HSNAP_PART_ANONYMOUS, /* private pages that no allocator is known to manage */
	HSNAP_PART_AGENT,     /* the debug agent's own tables */
	HSNAP_NUM_PART_KINDS,
};

struct hsnap_account_part {
	uint8_t kind;      /* enum hsnap_part_kind */
	hsnap_string name; /* path, or name of the thread; "": the rest of the kind */
	uint64_t count;    /* mappings */
	uint64_t size;     /* of address space */
	uint64_t resident;
};

/* "stack", "module" … as in the JSON. */
const char *hsnap_part_kind_name(enum hsnap_part_kind kind);
/* "mapped", "main", "threads". */
const char *hsnap_arena_kind_name(enum hsnap_arena_kind kind);

/* The account as it is read: rss = live - live_absent + overhead + free + of all parts + unexplained. */
struct hsnap_account_sums {
	bool rss_known;      /* else rss and unexplained are 0 */
	int64_t rss;
	int64_t live;        /* all live blocks, on the basis */
	int64_t live_absent; /* of these not resident: never touched or swapped out */
	int64_t overhead;    /* the allocator's memory less live and free: headers, rounding, the agent's records */
	int64_t free;        /* resident free chunks */
	int64_t parts[HSNAP_NUM_PART_KINDS];
	int64_t other;       /* the parts that are neither stack, module nor agent */
	int64_t unexplained;
};

/* Later less earlier, field by field, cut to what an int64_t holds; rss_known where both are. */
struct hsnap_account_sums hsnap_account_growth(const struct hsnap_account_sums *later,
					       const struct hsnap_account_sums *earlier);

#endif
