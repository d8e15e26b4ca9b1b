/* SPDX-License-Identifier: MIT */
/* error.c - filling in struct hsnap_error. */
#include "snapshot/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MARK " ... "
#define LONGEST 8192 /* a path or two, and what is said of them */

/* Leave the middle out where it is too long; on no account half a character of UTF-8. */
static void fit(char *to, size_t size, const char *text)
{
	size_t len = strlen(text), mark = strlen(MARK);
	if (len < size) {
		memcpy(to, text, len + 1);
		return;
	}
	size_t head = (size - 1 - mark) / 2, tail = len - (size - 1 - mark - head);
	while (head && ((unsigned char)text[head] & 0xc0) == 0x80)
		head--;
	while (tail < len && ((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	memcpy(to, text, head);
	memcpy(to + head, MARK, mark);
	memcpy(to + head + mark, text + tail, len - tail + 1);
}

static void __attribute__((format(printf, 3, 0)))
fit_formatted(char *to, size_t size, const char *format, va_list args)
{
	char text[LONGEST];
	if (vsnprintf(text, sizeof(text), format, args) >= 0)
		fit(to, size, text);
}

enum hsnap_code hsnap_fail(struct hsnap_error *err, enum hsnap_code code, uint64_t where,
			   const char *format, ...)
{
	int saved = errno;
	if (!err)
		return code;
	err->code = code;
	err->sys_errno = code == HSNAP_IO ? saved : 0;
	err->where = where;
	err->hint[0] = '\0';
	va_list args;
	va_start(args, format);
	fit_formatted(err->message, sizeof(err->message), format, args);
	va_end(args);
	return code;
}

enum hsnap_code hsnap_context(struct hsnap_error *err, enum hsnap_code code,
			      const char *format, ...)
{
	if (!err)
		return code;
	char text[LONGEST + sizeof(err->message)];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, LONGEST, format, args);
	va_end(args);
	if (len < 0)
		return code;
	size_t end = strlen(text);
	snprintf(text + end, sizeof(text) - end, ": %s", err->message);
	fit(err->message, sizeof(err->message), text);
	return code;
}

enum hsnap_code hsnap_hint(struct hsnap_error *err, enum hsnap_code code, const char *format, ...)
{
	if (!err)
		return code;
	va_list args;
	va_start(args, format);
	fit_formatted(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return code;
}
