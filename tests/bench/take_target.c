/* SPDX-License-Identifier: MIT */
/*
 * take_target.c - take-target BLOCKS: a process with so many small blocks, 128 bytes on average.
 *
 * Ten blocks a visitor, linked as programs do; one visitor in twenty is gone again, so that there are
 * holes.  "READY" when all of it is there; it ends with its standard input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 10 /* a visitor */
#define PAGES 3

struct page {
	struct page *next;
	char *url;
	uint64_t hits[10];
};

struct session {
	struct visitor *of;
	struct page **pages;
	uint64_t num_pages, times[14];
};

struct visitor {
	struct visitor *next;
	struct session *session;
	char *name;
	uint64_t id, seen, flags[2];
};

static struct visitor *visitors;
static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state;
}

static void *get(void *block)
{
	if (!block)
		abort();
	return block;
}

static char *make_text(size_t len)
{
	char *text = get(malloc(len + 1));
	memset(text, 'a' + (int)(next_random() % 26), len);
	text[len] = '\0';
	return text;
}

static struct page *make_page(struct page *next)
{
	struct page *page = get(malloc(sizeof(*page)));
	*page = (struct page){ .next = next, .url = make_text(100 + next_random() % 200) };
	page->hits[0] = next_random() % 1000;
	return page;
}

static struct session *make_session(struct visitor *of)
{
	struct session *session = get(calloc(1, sizeof(*session)));
	session->of = of;
	session->num_pages = PAGES;
	session->pages = get(malloc(7 * sizeof(*session->pages)));
	memset(session->pages, 0, 7 * sizeof(*session->pages));
	for (size_t i = 0; i < PAGES; i++)
		session->pages[i] = make_page(i ? session->pages[i - 1] : NULL);
	return session;
}

static struct visitor *make_visitor(uint64_t id)
{
	struct visitor *visitor = get(calloc(1, sizeof(*visitor)));
	visitor->id = id;
	visitor->name = make_text(16 + next_random() % 24);
	visitor->session = make_session(visitor);
	return visitor;
}

static void end_visitor(struct visitor *visitor)
{
	for (size_t i = 0; i < PAGES; i++) {
		free(visitor->session->pages[i]->url);
		free(visitor->session->pages[i]);
	}
	free(visitor->session->pages);
	free(visitor->session);
	free(visitor->name);
	free(visitor);
}

int main(int argc, char **argv)
{
	uint64_t num = argc > 1 ? strtoull(argv[1], NULL, 10) / BLOCKS : 1000;
	for (uint64_t i = 0; i < num + num / 19; i++) {
		struct visitor *visitor = make_visitor(i);
		if (i % 20 == 19) {
			end_visitor(visitor);
			continue;
		}
		visitor->next = visitors;
		visitors = visitor;
	}
	puts("READY");
	fflush(stdout);
	char byte;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		visitors->seen++;
	return 0;
}
