/* args.c - parses options by tables of rows and prints their help. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at args_parse(). read_long() handles "--name", "--name=value"
 * and abbreviations, read_short() letters such as "-qy". add_option() checks
 * whether a value must, may or must not follow.
 */
#include "cmd/args.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/reference.h"

const char args_bare[] = "";

enum {
	HELP_COLUMN = 34,
	HELP_WIDTH = 80, /* at most; less at a narrower terminal */
	LEAST_WIDTH = 20,
	LEAST_TEXT = 24, /* columns; with fewer behind the indent, the text has
			    its own lines */
	BRIEF_INDENT = 9,
	SIMILAR = 2, /* maximum edit distance of a suggestion */
};

const struct arg_row *args_row(const struct arg_row *rows, const char *name)
{
	for (; rows && rows->name; rows++)
		if (!strcmp(rows->name, name))
			return rows;
	return NULL;
}

static const struct arg_row *find_by_letter(const struct arg_row *rows,
					    char letter)
{
	for (; rows && rows->name; rows++)
		if (rows->letter == letter)
			return rows;
	return NULL;
}

/* Finds a row by its exact name or an unambiguous prefix. *several is set if
 * the prefix fits more than one name. */
static const struct arg_row *find_by_name(const struct arg_row *const tables[2],
					  const char *name, size_t len,
					  bool *several)
{
	const struct arg_row *match = NULL;

	*several = false;
	for (int t = 0; t < 2; t++) {
		for (const struct arg_row *r = tables[t]; r && r->name; r++) {
			if (strncmp(r->name, name, len) != 0)
				continue;
			if (strlen(r->name) == len)
				return *several = false, r;
			if (match && strcmp(match->name, r->name) != 0)
				*several = true;
			if (!match)
				match = r;
		}
	}
	return match;
}

static int name_candidates(const struct arg_row *const tables[2],
			   const char *word, int len, struct error *err)
{
	struct buf names = BUF_INIT(400);

	for (int t = 0; t < 2; t++)
		for (const struct arg_row *r = tables[t]; r && r->name; r++)
			if (!strncmp(r->name, word + 2, (size_t)len) &&
			    !(t && args_row(tables[0], r->name)))
				buf_addf(&names, "%s--%s",
					 names.len ? ", " : "", r->name);
	error_set(err, ERR_USAGE, "ambiguous option: %.*s could mean %s",
		  len + 2, word, names.ptr);
	buf_release(&names);
	return -1;
}

/* Returns the row whose name is nearest to name. If no distance is below
 * *least, returns best. */
static const struct arg_row *nearest_row(const struct arg_row *rows,
					 struct str name,
					 const struct arg_row *best,
					 size_t *least)
{
	for (const struct arg_row *r = rows; r && r->name; r++) {
		size_t d = nearest_distance(name, str_of(r->name));

		if (d < *least && d < name.len / 2) {
			*least = d;
			best = r;
		}
	}
	return best;
}

static int unknown_option(struct args *a, const struct arg_row *const tables[2],
			  const char *word, size_t len, struct error *err)
{
	struct str name = { word + 2, len };
	const struct arg_row *best = NULL;
	size_t least = SIMILAR + 1;

	if (reference_flag(word + 2, len, '\0', err))
		return -1;
	snprintf(a->unknown, sizeof(a->unknown), "%.*s", (int)name.len,
		 name.ptr);
	error_set(err, ERR_USAGE, "unknown option %s", word);
	for (int t = 0; t < 2; t++)
		best = nearest_row(tables[t], name, best, &least);
	if (best)
		return error_hint(err, "Did you mean --%s?", best->name);
	return error_hint(err, "--help lists all options.");
}

static int add_found(struct args *a, const struct arg_row *row,
		     const char *value, struct error *err)
{
	if (a->n == ARGS_MOST)
		return error_set(err, ERR_USAGE, "too many options");
	a->found[a->n].row = row;
	a->found[a->n].value = value;
	a->n++;
	return 0;
}

/* Returns the next argument as the option's value and skips it. NULL if there
 * is none, or if the value is optional and the next argument is an option. */
static const char *next_value(const struct arg_row *row, int argc, char **argv,
			      int *i)
{
	if (*i + 1 >= argc)
		return NULL;
	if (row->kind == ARG_OPTIONAL && argv[*i + 1][0] == '-')
		return NULL;
	return argv[++*i];
}

/* Adds an option. spelled is its name as the user typed it, for messages. */
static int add_option(struct args *a, const struct arg_row *row,
		      const char *value, const char *spelled, struct error *err)
{
	if (row->kind == ARG_FLAG && value)
		return error_set(err, ERR_USAGE,
				 "option %s does not take a value", spelled);
	if (row->kind == ARG_VALUE && !value)
		return error_set(err, ERR_USAGE, "option %s needs a value",
				 spelled);
	return add_found(a, row, value ? value : args_bare, err);
}

static int read_long(struct args *a, const struct arg_row *const tables[2],
		     int argc, char **argv, int *i, struct error *err)
{
	char *word = argv[*i];
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);
	bool several;
	const struct arg_row *row =
		find_by_name(tables, word + 2, len, &several);
	const char *value = equals ? equals + 1 : NULL;

	if (several)
		return name_candidates(tables, word, (int)len, err);
	if (!row)
		return unknown_option(a, tables, word, len, err);
	if (!equals && row->kind != ARG_FLAG)
		value = next_value(row, argc, argv, i);
	return add_option(a, row, value, word, err);
}

/* Parses a word of short options: "-q", "-nTEXT", "-n TEXT", "-qy". */
static int read_short(struct args *a, const struct arg_row *const tables[2],
		      int argc, char **argv, int *i, struct error *err)
{
	char *word = argv[*i];

	for (char *p = word + 1; *p; p++) {
		const struct arg_row *row = find_by_letter(tables[0], *p);
		char spelled[3] = { '-', *p, '\0' };
		const char *value = NULL;

		if (!row)
			row = find_by_letter(tables[1], *p);
		if (!row && reference_flag("", 0, *p, err))
			return -1;
		if (!row)
			return error_set(err, ERR_USAGE, "unknown option %s",
					 word);
		if (row->kind == ARG_FLAG) {
			if (add_found(a, row, "", err) < 0)
				return -1;
			continue;
		}
		value = p[1] ? p + 1 : next_value(row, argc, argv, i);
		return add_option(a, row, value, spelled, err);
	}
	return 0;
}

int args_parse(struct args *a, const struct arg_row *global,
	       const struct arg_row *own, int argc, char **argv,
	       struct error *err)
{
	const struct arg_row *tables[2] = { own, global };
	int i;

	*a = (struct args){ 0 };
	a->argv = xcalloc((size_t)argc + 1, sizeof(*a->argv));
	for (i = 0; i < argc; i++) {
		char *word = argv[i];
		int rc = 0;

		if (!a->dashes && !strcmp(word, "--"))
			a->dashes = true;
		else if (a->dashes || word[0] != '-' || !word[1])
			a->argv[a->argc++] = word;
		else if (word[1] == '-')
			rc = read_long(a, tables, argc, argv, &i, err);
		else
			rc = read_short(a, tables, argc, argv, &i, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

void args_release(struct args *a)
{
	free(a->argv);
	*a = (struct args){ 0 };
}

const char *args_value(const struct args *a, const char *name)
{
	for (size_t i = a->n; i-- > 0;)
		if (!strcmp(a->found[i].row->name, name))
			return a->found[i].value;
	return NULL;
}

const char *args_next(const struct args *a, const char *name, size_t *at)
{
	while (*at < a->n)
		if (!strcmp(a->found[(*at)++].row->name, name))
			return a->found[*at - 1].value;
	return NULL;
}

bool args_flag(const struct args *a, const char *name)
{
	return args_value(a, name) != NULL;
}

/* Returns the columns of a row. */
static int text_width(FILE *out)
{
	struct winsize size = { 0 };

	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) < 0 ||
	    size.ws_col < LEAST_WIDTH || size.ws_col > HELP_WIDTH)
		return HELP_WIDTH;
	return size.ws_col;
}

static int print_left_column(FILE *out, const struct arg_row *r)
{
	int n = r->letter ? fprintf(out, "  -%c, --%s", r->letter, r->name)
			  : fprintf(out, "      --%s", r->name);

	if (r->kind == ARG_VALUE &&
	    n + 1 + (int)strlen(r->metavar) > text_width(out))
		n = fprintf(out, "\n%*s", BRIEF_INDENT, "") - 1;
	if (r->kind == ARG_VALUE)
		n += fprintf(out, " %s", r->metavar);
	if (r->kind == ARG_OPTIONAL)
		n += fprintf(out, " [%s]", r->metavar);
	return n;
}

/* Returns the length of the first word of text. A bracketed part such as
 * "[--only TEXT]" counts as one word, unless it is longer than a row. */
static int first_word_len(const char *text, int row)
{
	size_t word = strcspn(text, " ");
	size_t n = word;
	const char *end = text[0] == '[' ? strchr(text, ']') : NULL;

	if (end && (size_t)(end - text) > n)
		n = (size_t)(end - text) + strcspn(end, " ");
	return (int)n > row ? (int)word : (int)n;
}

void args_text(FILE *out, const char *text, int at, int indent)
{
	int width = text_width(out);

	if (indent > BRIEF_INDENT && width - indent < LEAST_TEXT)
		indent = BRIEF_INDENT;
	if (at && at >= indent) {
		fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", indent - at, "");
	at = indent;
	while (*text) {
		int word = first_word_len(text, width - indent);

		if (at > indent && at + 1 + word > width) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		}
		if (at > indent)
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", word, text);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void args_help(FILE *out, const struct arg_row *rows)
{
	for (const struct arg_row *r = rows; r->name; r++)
		if (r->help)
			args_text(out, r->help, print_left_column(out, r),
				  HELP_COLUMN);
}
