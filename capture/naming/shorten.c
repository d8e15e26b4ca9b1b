/* SPDX-License-Identifier: MIT */
/*
 * shorten.c - reads a type's name as nested templates and writes it again, shorter.
 *
 * What does not read as one (lambdas, operators, deep nesting) is copied as it is.
 */
#include "capture/naming/shorten.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/vec.h"

#define MAX_DEPTH 32
#define MAX_ARGUMENTS 64

struct text hsnap_vec_body(char);

struct parser {
	const char *at;
	bool failed; /* out of memory */
};

static void put(struct parser *parser, struct text *out, const char *bytes, size_t len)
{
	if (!hsnap_vec_reserve(out, len + 1)) {
		parser->failed = true;
		return;
	}
	memcpy(out->items + out->num, bytes, len);
	out->num += len;
	out->items[out->num] = '\0';
}

static void put_text(struct parser *parser, struct text *out, const char *text)
{
	put(parser, out, text, strlen(text));
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Arguments that the library's templates have by default. */
static bool is_default(const char *argument)
{
	static const char *const prefixes[] = {
		"std::allocator<", "std::char_traits<", "std::less<", "std::hash<", "std::equal_to<",
		"std::default_delete<", "(__gnu_cxx::_Lock_policy)", "std::__map_value_compare<", "std::__unordered_map_",
	};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (begins(argument, prefixes[i]))
			return true;
	return false;
}

/* Names that a template and its first argument have of their own. */
static const struct {
	const char *base, *argument, *name;
} aliases[] = {
	{ "std::basic_string", "char", "std::string" },
	{ "std::basic_string", "wchar_t", "std::wstring" },
	{ "std::basic_string", "char16_t", "std::u16string" },
	{ "std::basic_string", "char32_t", "std::u32string" },
	{ "std::basic_string_view", "char", "std::string_view" },
};

static const struct {
	const char *base;
	const char *map;   /* where the element is a pair with a constant key */
	const char *other;
} nodes[] = {
	{ "std::__detail::_Hash_node", "std::unordered_map", "std::unordered_set" },
	{ "std::_Rb_tree_node", "std::map", "std::set" },
	{ "std::_List_node", "std::list", "std::list" },
	{ "std::_Fwd_list_node", "std::forward_list", "std::forward_list" },
	{ "std::__hash_node", "std::unordered_map", "std::unordered_set" },
	{ "std::__tree_node", "std::map", "std::set" },
	{ "std::__list_node", "std::list", "std::list" },
	{ "std::__forward_list_node", "std::forward_list", "std::forward_list" },
};

/* What libc++ keeps its pairs in: the node of a map has one of these. */
static const char *const value_types[] = { "std::__hash_value_type<", "std::__value_type<" };

/* Is it std::pair<const K, V>, or <K const, V>?  K stands in [*before, *after). */
static bool has_constant_key(const char *element, size_t *before, size_t *after)
{
	if (!begins(element, "std::pair<"))
		return false;
	size_t at = strlen("std::pair<");
	bool first = begins(element + at, "const ");
	*before = at + (first ? strlen("const ") : 0);
	for (int depth = 0; element[at] && (depth || element[at] != ','); at++)
		depth += element[at] == '<' || element[at] == '(' ? 1 : element[at] == '>' || element[at] == ')' ? -1 : 0;
	*after = at;
	if (first || at < *before + strlen(" const"))
		return first && element[at];
	*after = at - strlen(" const");
	return element[at] && begins(element + *after, " const,");
}

/* "std::list<T>::node" for what the library calls std::_List_node<T>. */
static bool put_node(struct parser *parser, struct text *out, const char *base, const char *element)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		if (strcmp(base, nodes[i].base))
			continue;
		size_t before, after;
		for (size_t v = 0; v < sizeof(value_types) / sizeof(*value_types); v++) {
			if (!begins(element, value_types[v]))
				continue;
			put_text(parser, out, nodes[i].map);
			put_text(parser, out, element + strlen(value_types[v]) - 1);
			put_text(parser, out, "::node");
			return true;
		}
		bool map = strcmp(nodes[i].map, nodes[i].other) && has_constant_key(element, &before, &after);
		put_text(parser, out, map ? nodes[i].map : nodes[i].other);
		put_text(parser, out, "<");
		if (map) {
			put(parser, out, element + before, after - before);
			element += after + (begins(element + after, " const") ? strlen(" const") : 0);
			put(parser, out, element, strlen(element) - 1);
		} else {
			put_text(parser, out, element);
		}
		put_text(parser, out, ">::node");
		return true;
	}
	return false;
}

/* "boost::multi_index_container<T>::node": one template for each of its indices, around one that has the value. */
static bool put_indexed(struct parser *parser, struct text *out, const char *base, const struct text *arguments, size_t num)
{
	static const char indices[] = "boost::multi_index::", container[] = "boost::multi_index_container<";
	const char *inner = arguments[num - 1].num ? arguments[num - 1].items : "";
	if (!begins(base, indices))
		return false;
	base += strlen(indices);
	bool value = !strcmp(base, "detail::index_node_base"), layer = begins(inner, container) && strstr(base, "_index_node");
	if (!value && !layer && strcmp(base, "multi_index_container"))
		return false;
	put_text(parser, out, layer ? inner : container);
	put_text(parser, out, layer ? "" : arguments[0].items);
	put_text(parser, out, layer ? "" : value ? ">::node" : ">");
	return true;
}

/* Names that are something else altogether; `base` is the template's, cut off `out` before. */
static bool put_special(struct parser *parser, struct text *out, const char *base, const struct text *arguments,
			size_t num)
{
	const char *first = arguments[0].items;
	for (size_t i = 0; num == 1 && i < sizeof(aliases) / sizeof(*aliases); i++) {
		if (strcmp(base, aliases[i].base) || strcmp(first, aliases[i].argument))
			continue;
		put_text(parser, out, aliases[i].name);
		return true;
	}
	if (!strcmp(base, "std::_Sp_counted_ptr_inplace") || !strcmp(base, "std::__shared_ptr_emplace")) {
		put_text(parser, out, first);
		return true;
	}
	return put_node(parser, out, base, first) || put_indexed(parser, out, base, arguments, num);
}

static void put_template(struct parser *parser, struct text *out, size_t word, const struct text *arguments,
			 size_t num)
{
	struct text base = { 0 };
	put_text(parser, &base, out->num > word ? out->items + word : "");
	if (parser->failed)
		goto end;
	const char *inner = "std::__cxx11::";
	if (begins(base.items, inner))
		memmove(base.items + 5, base.items + strlen(inner), strlen(base.items + strlen(inner)) + 1);
	bool library = begins(base.items, "std::") || begins(base.items, "__gnu_cxx::");
	while (library && num > 1 && arguments[num - 1].num && is_default(arguments[num - 1].items))
		num--;
	out->num = word;
	if (num && arguments[0].num && put_special(parser, out, base.items, arguments, num))
		goto end;
	put_text(parser, out, base.items);
	put_text(parser, out, "<");
	for (size_t i = 0; i < num; i++) {
		put_text(parser, out, i ? ", " : "");
		put_text(parser, out, arguments[i].num ? arguments[i].items : "");
	}
	put_text(parser, out, ">");
end:
	hsnap_vec_deinit(&base);
}

/* What begins with '<' and is no template: to its own '>'. */
static void copy_angle(struct parser *parser, struct text *out)
{
	int depth = 0;
	do {
		char c = *parser->at++;
		depth += c == '<' ? 1 : c == '>' ? -1 : 0;
		put(parser, out, &c, 1);
	} while (depth && *parser->at);
}

static void parse(struct parser *parser, struct text *out, unsigned depth);

/* At the '<' of a template whose name stands in `out` from `word` on. */
static void parse_template(struct parser *parser, struct text *out, size_t word, unsigned depth)
{
	struct text arguments[MAX_ARGUMENTS] = { 0 };
	const char *start = parser->at++;
	size_t num = 0;
	for (; num < MAX_ARGUMENTS && *parser->at; num++) {
		while (*parser->at == ' ')
			parser->at++;
		parse(parser, &arguments[num], depth + 1);
		while (arguments[num].num && arguments[num].items[arguments[num].num - 1] == ' ')
			arguments[num].items[--arguments[num].num] = '\0';
		if (*parser->at != ',')
			break;
		parser->at++;
	}
	if (*parser->at == '>' && num < MAX_ARGUMENTS) {
		parser->at++;
		put_template(parser, out, word, arguments, num + 1);
	} else {
		parser->at = start;
		copy_angle(parser, out);
	}
	for (size_t i = 0; i < MAX_ARGUMENTS; i++)
		hsnap_vec_deinit(&arguments[i]);
}

static bool is_template_start(const struct text *out, size_t word)
{
	if (!out->num || out->num == word)
		return false;
	char last = out->items[out->num - 1];
	if (!isalnum((unsigned char)last) && last != '_')
		return false;
	const char *operator_ = "operator";
	size_t len = strlen(operator_);
	return out->num < len || memcmp(out->items + out->num - len, operator_, len);
}

/* Up to the ',' or '>' that ends an argument, or the end of all. */
static void parse(struct parser *parser, struct text *out, unsigned depth)
{
	size_t word = out->num; /* where the name that is being read began */
	int round = 0;
	while (*parser->at && !parser->failed) {
		char c = *parser->at;
		if (!round && depth && (c == ',' || c == '>'))
			break;
		if (c == '<') {
			if (is_template_start(out, word) && depth < MAX_DEPTH)
				parse_template(parser, out, word, depth);
			else
				copy_angle(parser, out);
			continue;
		}
		round += c == '(' ? 1 : c == ')' ? -1 : 0;
		put(parser, out, &c, 1);
		parser->at++;
		if (c == ' ' || c == '(' || c == ')' || c == ',' || c == '*' || c == '&')
			word = out->num;
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Numbers as people write them; no name gets longer. */
static void rename_numbers(char *text)
{
	static const char *const words[][2] = {
		{ "long long unsigned int", "unsigned long long" }, { "long unsigned int", "unsigned long" },
		{ "short unsigned int", "unsigned short" }, { "long long int", "long long" },
		{ "long int", "long" }, { "short int", "short" },
	};
	char *to = text;
	for (const char *from = text; *from;) {
		size_t i = 0, num = from > text && is_word(from[-1]) ? 0 : sizeof(words) / sizeof(*words);
		while (i < num && (!begins(from, words[i][0]) || is_word(from[strlen(words[i][0])])))
			i++;
		if (i < num) {
			from += strlen(words[i][0]);
			to = stpcpy(to, words[i][1]);
			continue;
		}
		*to++ = *from++;
	}
	*to = '\0';
}

/* "std::__1::vector" as "std::vector": libc++ has all of its names in a namespace for its version. */
static void leave_out_version(char *name)
{
	static const char version[] = "std::__1::";
	char *to = name;
	for (const char *from = name; *from;) {
		if (begins(from, version) && (from == name || !is_word(from[-1]))) {
			to = stpcpy(to, "std::");
			from += strlen(version);
			continue;
		}
		*to++ = *from++;
	}
	*to = '\0';
}

char *hsnap_shorten(const char *full_name)
{
	hsnap_auto(hsnap_freep) char *name = strdup(full_name);
	if (!name)
		return NULL;
	leave_out_version(name);
	struct parser parser = { .at = name };
	struct text out = { 0 };
	put_text(&parser, &out, "");
	if (begins(name, "std::__detail::") && !strchr(name, '<'))
		parser.at += strlen("std::__detail::");
	parse(&parser, &out, 0);
	if (!parser.failed) {
		rename_numbers(out.items);
		return out.items;
	}
	hsnap_vec_deinit(&out);
	return NULL;
}
