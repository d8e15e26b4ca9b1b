/* SPDX-License-Identifier: MIT */
/* shorten.h - C++ type names for people. */
#ifndef HSNAP_CAPTURE_NAMING_SHORTEN_H
#define HSNAP_CAPTURE_NAMING_SHORTEN_H

/**
 * The name without the standard library's default arguments and inner namespaces:
 * "std::vector<Book>", "std::string", "std::unordered_map<int, Book>::node".
 * @return to be freed; NULL: out of memory
 */
char *hsnap_shorten(const char *name);

#endif
