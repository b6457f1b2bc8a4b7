/* highlight.c - highlights keywords, strings, comments and numbers, by line. */
/* SPDX-License-Identifier: MIT */
/*
 * languages[] describes the syntax of each language. Begin reading at
 * highlight_line().
 */
#include "markup/highlight.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/diff.h"

struct language {
	const char *names;    /* names in fences and file suffixes; lower case,
				 separated by spaces */
	const char *keywords; /* separated by spaces */
	const char *line[2];  /* strings that begin a comment up to the end of
				 the line */
	const char *block[2]; /* begin and end of a block comment */
	const char *quotes;   /* quote characters, each of which ends its own
				 string */
	const char *across;   /* quotes whose strings may contain line ends */
	bool triple;   /* a tripled quote begins a string that may contain line
			  ends */
	bool any_case; /* keywords ignore case */
	bool raw;      /* a backslash is an ordinary character */
};

#define C_COMMENTS .line = { "//" }, .block = { "/*", "*/" }
#define JAVASCRIPT                                                             \
	"async await break case catch class const continue debugger default "  \
	"delete do else export extends false finally for from function get "   \
	"if import in instanceof let new null of return set static super "     \
	"switch this throw true try typeof undefined var void while yield "
#define C_WORDS                                                                \
	"auto bool break case char const continue default do double else "     \
	"enum extern false float for goto if inline int long NULL register "   \
	"return short signed sizeof static struct switch true typedef union "  \
	"unsigned void volatile while "

static const struct language languages[] = {
	/* the last row has no names */
	{ .names = "c h",
	  .keywords = C_WORDS "restrict _Bool _Static_assert size_t",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "cpp c++ cc cxx hpp hh",
	  .keywords = C_WORDS
	  "catch class concept consteval constexpr delete "
	  "explicit final friend mutable namespace new noexcept "
	  "nullptr operator override private protected public "
	  "requires template this throw try typename using "
	  "virtual",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "python py python3 pyi",
	  .keywords = "False None True and as assert async await break class "
		      "continue def del elif else except finally for from "
		      "global if import in is lambda match nonlocal not or "
		      "pass raise return self try while with yield",
	  .line = { "#" },
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "javascript js jsx mjs cjs node",
	  .keywords = JAVASCRIPT,
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	{ .names = "typescript ts tsx mts",
	  .keywords = JAVASCRIPT
	  "abstract any as boolean declare enum implements interface keyof "
	  "namespace never number private protected public readonly string "
	  "type unknown",
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	{ .names = "go golang",
	  .keywords = "break case chan const continue default defer else error "
		      "fallthrough false for func go goto if import interface "
		      "map nil package range return select string struct "
		      "switch true type var",
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	/* ' is not a quote here, because it also begins a lifetime. */
	{ .names = "rust rs",
	  .keywords = "as async await break const continue crate dyn else enum "
		      "extern false fn for if impl in let loop match mod move "
		      "mut pub ref return self Self static struct super trait "
		      "true type unsafe use where while",
	  C_COMMENTS,
	  .quotes = "\"",
	  .across = "\"" },
	{ .names = "java kotlin kt scala",
	  .keywords = "abstract boolean break case catch char class companion "
		      "continue data default def do double else enum extends "
		      "false final finally float for fun if implements import "
		      "in instanceof int interface is long new null object "
		      "override package private protected public return "
		      "sealed short static super switch this throw throws "
		      "trait true try val var void when while yield",
	  C_COMMENTS,
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "csharp cs c#",
	  .keywords = "abstract as async await base bool break case catch "
		      "class const continue decimal default do double else "
		      "enum false finally float for foreach get if in int "
		      "interface internal is long namespace new null object "
		      "out override private protected public readonly ref "
		      "return sealed set static string struct switch this "
		      "throw true try using var virtual void while yield",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "swift",
	  .keywords = "as associatedtype async await break case catch class "
		      "continue default defer do else enum extension false "
		      "for func guard if import in init inout is let nil "
		      "private protocol public repeat return self static "
		      "struct switch throw throws true try var where while",
	  C_COMMENTS,
	  .quotes = "\"",
	  .triple = true },
	{ .names = "ruby rb",
	  .keywords = "alias and begin break case class def do else elsif end "
		      "ensure false for if in module next nil not or raise "
		      "redo require rescue retry return self super then true "
		      "unless until when while yield",
	  .line = { "#" },
	  .quotes = "\"'" },
	{ .names = "php",
	  .keywords = "abstract array as break case catch class const continue "
		      "default do echo else elseif extends false final finally "
		      "fn for foreach function if implements include "
		      "instanceof interface match namespace new null private "
		      "protected public require return static switch this "
		      "throw trait true try use var while",
	  .line = { "//", "#" },
	  .block = { "/*", "*/" },
	  .quotes = "\"'" },
	{ .names = "bash sh shell zsh console",
	  .keywords = "case do done elif else esac exit export fi for function "
		      "if in local readonly return select set shift then "
		      "until while",
	  .line = { "#" },
	  .quotes = "\"'",
	  .across = "\"'" },
	{ .names = "sql postgres mysql sqlite",
	  .keywords = "add all alter and as asc begin between by case check "
		      "column commit constraint create default delete desc "
		      "distinct drop else end exists foreign from full group "
		      "having in index inner insert into is join key left like "
		      "limit not null on or order outer primary references "
		      "right rollback select set table then union unique "
		      "update values view when where with",
	  .line = { "--" },
	  .block = { "/*", "*/" },
	  .quotes = "'\"",
	  .any_case = true,
	  .raw = true },
	{ .names = "lua",
	  .keywords = "and break do else elseif end false for function goto if "
		      "in local nil not or repeat return then true until "
		      "while",
	  .line = { "--" },
	  .block = { "--[[", "]]" },
	  .quotes = "\"'" },
	{ .names = "json json5 jsonc",
	  .keywords = "false null true",
	  C_COMMENTS,
	  .quotes = "\"" },
	{ .names = "yaml yml",
	  .keywords = "false null true no yes",
	  .line = { "#" },
	  .quotes = "\"'" },
	{ .names = "toml ini cfg conf",
	  .keywords = "false true",
	  .line = { "#", ";" },
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "css scss less",
	  .keywords = "important",
	  .block = { "/*", "*/" },
	  .quotes = "\"'" },
	{ .names = "html xml svg vue",
	  .keywords = "",
	  .block = { "<!--", "-->" },
	  .quotes = "\"",
	  .raw = true },
	{ .names = "makefile make mk",
	  .keywords = "define else endef endif ifdef ifeq ifndef ifneq include",
	  .line = { "#" },
	  .quotes = "" },
	{ .names = "dockerfile docker containerfile",
	  .keywords = "add arg cmd copy entrypoint env expose from healthcheck "
		      "label run shell stopsignal user volume workdir",
	  .line = { "#" },
	  .quotes = "\"'",
	  .any_case = true },
	{ 0 },
};

enum { LONGEST_WORD = 32 }; /* bytes of a keyword or of a name */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* True if list, separated by spaces, contains word. */
static bool has_word(const char *list, struct str word, bool any_case)
{
	struct str rest = str_of(list);
	struct str item;

	if (word.len > LONGEST_WORD)
		return false;
	while (str_split(&rest, ' ', &item)) {
		char name[LONGEST_WORD + 1] = "";

		if (item.len != word.len)
			continue;
		memcpy(name, item.ptr, item.len);
		if (any_case ? str_is_nocase(word, name) : str_is(word, name))
			return true;
	}
	return false;
}

void highlight_begin(struct highlight *h, struct str name)
{
	size_t n = 0;

	while (n < name.len && name.ptr[n] > ' ' && !strchr(",{:", name.ptr[n]))
		n++;
	name.len = n;
	*h = (struct highlight){ .diff = str_is_nocase(name, "diff") ||
					 str_is_nocase(name, "patch") };
	for (const struct language *l = languages; n && l->names; l++)
		if (has_word(l->names, name, true))
			h->language = l;
}

static void add_text(struct rows *out, enum style_role role, struct str text)
{
	rows_add(out, (struct style){ .role = (uint8_t)role }, text);
}

/* Returns the length of a quoted string up to its end or the end of the line.
 */
static size_t string_length(const struct language *l, struct str text,
			    struct str end, bool *closed)
{
	size_t n = 0;

	*closed = false;
	while (n < text.len) {
		if (!l->raw && text.ptr[n] == '\\') {
			n++;
		} else if (end.len <= text.len - n &&
			   !memcmp(text.ptr + n, end.ptr, end.len)) {
			*closed = true;
			return n + end.len;
		}
		n++;
	}
	return text.len;
}

/* Adds the rest of an open comment or string and returns its length in bytes.
 */
static size_t add_open(struct highlight *h, struct str text, struct rows *out)
{
	struct str end = str_of(h->until);
	size_t n;
	bool over;

	if (h->comment) {
		n = str_search(text, end);
		over = n < text.len;
		n += over ? end.len : 0;
	} else {
		n = string_length(h->language, text, end, &over);
	}
	add_text(out, h->comment ? STYLE_COMMENT : STYLE_STRING,
		 (struct str){ text.ptr, n });
	if (over)
		h->until = NULL;
	return n;
}

/* Returns the quote c three times: the end of a triple-quoted string. */
static const char *triple_quote(char c)
{
	return c == '"' ? "\"\"\"" : "'''";
}

static const char *one_quote(char c)
{
	return c == '"' ? "\"" : c == '`' ? "`" : "'";
}

/* Adds a string from its quote on. If the line does not end it, it may continue
 * on the next, depending on the language. */
static size_t add_string(struct highlight *h, struct str text, struct rows *out)
{
	const struct language *l = h->language;
	char c = text.ptr[0];
	bool triple = l->triple && str_starts(text, triple_quote(c));
	const char *quote = triple ? triple_quote(c) : one_quote(c);
	struct str end = str_of(quote);
	bool closed;
	size_t n = end.len +
		   string_length(l, str_skip(text, end.len), end, &closed);

	add_text(out, STYLE_STRING, (struct str){ text.ptr, n });
	if (!closed && (triple || (l->across && strchr(l->across, c))))
		h->until = quote;
	h->comment = false;
	return n;
}

static size_t add_number(struct str text, struct rows *out)
{
	size_t n = 0;

	while (n < text.len && (is_digit(text.ptr[n]) ||
				is_letter(text.ptr[n]) || text.ptr[n] == '.'))
		n++;
	add_text(out, STYLE_NUMBER, (struct str){ text.ptr, n });
	return n;
}

static size_t add_word(const struct language *l, struct str text,
		       struct rows *out)
{
	struct str word = { text.ptr, 0 };

	while (word.len < text.len &&
	       (is_letter(text.ptr[word.len]) || is_digit(text.ptr[word.len])))
		word.len++;
	add_text(out,
		 has_word(l->keywords, word, l->any_case) ? STYLE_KEYWORD
							  : STYLE_CODE,
		 word);
	return word.len;
}

static bool begins_with(struct str text, const char *what)
{
	return what && str_starts(text, what);
}

/* "#" within a word does not begin a shell comment: ${#x}, a#b. */
static bool begins_comment(const struct language *l, struct str text,
			   bool after_blank)
{
	for (size_t i = 0; i < 2; i++)
		if (begins_with(text, l->line[i]) &&
		    (after_blank || l->line[i][0] != '#'))
			return true;
	return false;
}

/* Adds the first token of text and returns its length in bytes. */
static size_t add_token(struct highlight *h, struct str text, bool after_blank,
			struct rows *out)
{
	const struct language *l = h->language;
	size_t n = 0;

	if (begins_with(text, l->block[0])) {
		n = strlen(l->block[0]);
		add_text(out, STYLE_COMMENT, (struct str){ text.ptr, n });
		h->until = l->block[1];
		h->comment = true;
		return n;
	}
	if (begins_comment(l, text, after_blank)) {
		add_text(out, STYLE_COMMENT, text);
		return text.len;
	}
	if (strchr(l->quotes, text.ptr[0]))
		return add_string(h, text, out);
	if (is_digit(text.ptr[0]))
		return add_number(text, out);
	if (is_letter(text.ptr[0]))
		return add_word(l, text, out);
	do {
		n++;
	} while (n < text.len && text.ptr[n] == ' ');
	add_text(out, STYLE_CODE, (struct str){ text.ptr, n });
	return n;
}

static void add_diff_line(struct highlight *h, struct str line,
			  struct rows *out)
{
	static const struct style styles[] = {
		[DIFF_CONTEXT] = { 0, STYLE_CODE },
		[DIFF_ADDED] = { ATTR_ADDED, STYLE_ADDED },
		[DIFF_REMOVED] = { ATTR_REMOVED, STYLE_REMOVED },
		[DIFF_HUNK] = { 0, STYLE_ACCENT },
		[DIFF_HEAD] = { 0, STYLE_MUTED },
	};

	rows_add(out, styles[diff_line_kind(line, &h->in_hunk)], line);
}

void highlight_line(struct highlight *h, struct str line, struct rows *out)
{
	char before = ' ';

	if (h->diff) {
		add_diff_line(h, line, out);
		return;
	}
	if (!h->language) {
		add_text(out, STYLE_CODE, line);
		return;
	}
	while (line.len) {
		size_t n = h->until ? add_open(h, line, out)
				    : add_token(h, line,
						before == ' ' || before == '\t',
						out);

		before = line.ptr[n - 1];
		line = str_skip(line, n);
	}
}
