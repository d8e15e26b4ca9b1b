/* SPDX-License-Identifier: MIT */
/* dicts_library.c - another module's struct of a common name, as ld.so's list. */
struct list {
	struct list *next;
	int number;
};

struct list *library_list;
