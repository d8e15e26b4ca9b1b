/* SPDX-License-Identifier: MIT */
/* report.c - exit statuses and the one way to print an error. */
#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/emit.h"

int hsnap_exit_status(enum hsnap_code code, enum hsnap_doing doing)
{
	switch (code) {
	case HSNAP_OK:
		return HSNAP_EXIT_DONE;
	case HSNAP_INTERRUPTED:
		return HSNAP_EXIT_INTERRUPTED;
	case HSNAP_REFUSED:
	case HSNAP_FAULT:
		return HSNAP_EXIT_NOT_CAPTURED;
	case HSNAP_NO_MEMORY:
		return doing == HSNAP_DOING_CAPTURE ? HSNAP_EXIT_NOT_CAPTURED : HSNAP_EXIT_OTHER;
	case HSNAP_NOT_FOUND:
	case HSNAP_IO:
	case HSNAP_FORMAT:
	case HSNAP_UNSUPPORTED:
		break;
	}
	return doing == HSNAP_DOING_READ      ? HSNAP_EXIT_UNREADABLE
	       : doing == HSNAP_DOING_CAPTURE ? HSNAP_EXIT_NOT_CAPTURED
					      : HSNAP_EXIT_OTHER;
}

/* Names of files and processes are not ours: what they would do to a terminal is escaped. */
static void print_line(const char *before, const char *text)
{
	struct hsnap_line line = { 0 };
	hsnap_line_add(&line, before);
	hsnap_line_add_escaped(&line, text, hsnap_locale_charset());
	hsnap_line_add(&line, "\n");
	fputs(hsnap_line_text(&line), stderr);
	hsnap_line_deinit(&line);
}

int hsnap_report(const struct hsnap_error *err, enum hsnap_doing doing)
{
	bool has_cannot = !strncmp(err->message, "cannot ", 7);
	print_line(has_cannot ? "heapsnap: " : "heapsnap: cannot go on: ", err->message);
	if (err->hint[0])
		print_line("hint: ", err->hint);
	return hsnap_exit_status(err->code, doing);
}

/* As long as it is: what is cut may be the very path, or the command, that is needed. */
static void __attribute__((format(printf, 2, 0)))
print_formatted(const char *before, const char *format, va_list args)
{
	struct hsnap_line line = { 0 };
	hsnap_line_addv(&line, format, args);
	print_line(before, hsnap_line_text(&line));
	hsnap_line_deinit(&line);
}

int hsnap_wrong_use(const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_formatted("heapsnap: cannot ", format, args);
	va_end(args);
	if (hint)
		print_line("hint: ", hint);
	return HSNAP_EXIT_USAGE;
}

void hsnap_say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_formatted("heapsnap: ", format, args);
	va_end(args);
}
