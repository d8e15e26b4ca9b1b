/* SPDX-License-Identifier: MIT */
/* error.c - filling in struct hsnap_error. */
#include "snapshot/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return code;
}

enum hsnap_code hsnap_context(struct hsnap_error *err, enum hsnap_code code,
			      const char *format, ...)
{
	if (!err)
		return code;
	char text[sizeof(err->message)];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0)
		return code;
	/* Cutting is meant: the outer context matters more than the tail of the inner message. */
	if ((size_t)len < sizeof(text) &&
	    snprintf(text + len, sizeof(text) - (size_t)len, ": %s", err->message) < 0)
		return code;
	memcpy(err->message, text, sizeof(text));
	return code;
}

enum hsnap_code hsnap_hint(struct hsnap_error *err, enum hsnap_code code, const char *format, ...)
{
	if (!err)
		return code;
	va_list args;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return code;
}
