/* http_text.c - values written into text so that they stay values. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"
#include "sandbox/quote.h"

enum { NAME_MAX_ = 128, DEEPEST = 32, TEXT_MAX_ = 4 << 20 };

static const char *const names[VALUES] = {
	[VALUE_ID] = "id",
	[VALUE_LABEL] = "label",
	[VALUE_OWNER] = "owner",
	[VALUE_SNAPSHOT] = "snapshot",
	[VALUE_COMMAND] = "command",
	[VALUE_PATH] = "path",
	[VALUE_WORKDIR] = "workdir",
	[VALUE_TIMEOUT] = "timeout",
	[VALUE_LIFETIME] = "lifetime",
};

enum piece { PIECE_TEXT, PIECE_VALUE, PIECE_PARAM, PIECE_VARIABLE, PIECE_END };

/* The next piece of *text: what it is, and its text or name. -1: the braces
 * are not well formed. */
static int next(struct str *text, struct str *piece)
{
	struct str s = *text;
	bool variable = str_starts(s, "${");
	size_t end;

	if (!s.len)
		return PIECE_END;
	if (str_starts(s, "{{") || str_starts(s, "}}")) {
		*piece = (struct str){ s.ptr, 1 };
		*text = str_skip(s, 2);
		return PIECE_TEXT;
	}
	if (s.ptr[0] == '}')
		return -1;
	if (!variable && s.ptr[0] != '{') {
		size_t n = 1;

		while (n < s.len && !strchr("{}$", s.ptr[n]))
			n++;
		*piece = (struct str){ s.ptr, n };
		*text = str_skip(s, n);
		return PIECE_TEXT;
	}
	s = str_skip(s, variable ? 2 : 1);
	end = str_find(s, '}');
	if (end == s.len || !end || end > NAME_MAX_)
		return -1;
	*piece = (struct str){ s.ptr, end };
	*text = str_skip(s, end + 1);
	if (variable)
		return PIECE_VARIABLE;
	if (!str_starts(*piece, "param."))
		return PIECE_VALUE;
	*piece = str_skip(*piece, strlen("param."));
	return PIECE_PARAM;
}

static int value_of(struct str name)
{
	for (int i = 0; i < VALUES; i++)
		if (str_is(name, names[i]))
			return i;
	return -1;
}

static bool variable_ok(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    c != '_' && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return name.len > 0;
}

static int list_allowed(unsigned allowed, struct str name, struct error *err)
{
	struct buf list = BUF_INIT(400);

	for (int i = 0; i < VALUES; i++)
		if (allowed & (1U << i))
			buf_addf(&list, "{%s} ", names[i]);
	error_set(err, ERR_CONFIG,
		  "{%.*s} is not known here; there are %s{param.NAME} and "
		  "${NAME}",
		  (int)(name.len < 60 ? name.len : 60), name.ptr,
		  list.len ? list.ptr : "");
	buf_release(&list);
	return -1;
}

int http_provider_check(const char *text, unsigned allowed, struct error *err)
{
	struct str rest = str_of(text);
	struct str piece;
	int value;
	int kind;

	while ((kind = next(&rest, &piece)) != PIECE_END) {
		if (kind < 0 ||
		    (kind == PIECE_VARIABLE && !variable_ok(piece)) ||
		    (kind == PIECE_PARAM && !piece.len))
			return error_set(err, ERR_CONFIG,
					 "is not well formed: {name} and "
					 "${NAME} stand for values, {{ and }} "
					 "for braces");
		value = kind == PIECE_VALUE ? value_of(piece) : 0;
		if (kind == PIECE_VALUE &&
		    (value < 0 || !(allowed & (1U << value))))
			return list_allowed(allowed, piece, err);
	}
	return 0;
}

/* What quoting makes of the text up to its end; q: in which quote, or 0. */
static int follow_quotes(struct str text, char *q, bool *escaped)
{
	char before = ' ';

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (*escaped) {
			*escaped = false;
		} else if (*q) {
			*q = c == *q ? 0 : *q;
			*escaped = c == '\\' && *q == '"';
		} else if (c == '\\') {
			*escaped = true;
		} else if (c == '\'' || c == '"') {
			*q = c;
		} else if (c == '`' || (c == '<' && before == '<') ||
			   (c == '#' && strchr(" \t\n;&|(", before))) {
			return -1;
		}
		before = c;
	}
	return 0;
}

int http_provider_check_shell(const char *text, unsigned allowed,
			      struct error *err)
{
	struct str rest = str_of(text);
	struct str piece;
	bool escaped = false;
	char quote = 0;
	int rc = http_provider_check(text, allowed, err);
	int kind;

	while (rc == 0 && (kind = next(&rest, &piece)) != PIECE_END) {
		if (kind == PIECE_TEXT &&
		    follow_quotes(piece, &quote, &escaped) < 0)
			return error_set(err, ERR_CONFIG,
					 "must hold no backquotes, comments "
					 "or here-documents");
		if (kind != PIECE_TEXT && (quote || escaped))
			return error_set(err, ERR_CONFIG,
					 "has a value inside of quotes: values "
					 "are quoted already");
	}
	return rc;
}

/* Control characters (a line end ends a header) and what is no ASCII. */
static bool header_ok(struct str value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' ||
		    (unsigned char)value.ptr[i] >= 0x7F)
			return false;
	return true;
}

static int put(struct buf *out, struct str value,
	       enum http_provider_place place, struct error *err)
{
	if (value.len && memchr(value.ptr, 0, value.len))
		return error_set(err, ERR_CONFIG, "a value holds a NUL byte");
	switch (place) {
	case PLACE_BASE:
		buf_addstr(out, value); /* the whole is checked */
		break;
	case PLACE_PATH:
	case PLACE_QUERY:
		rest_encode(out, value);
		break;
	case PLACE_HEADER:
		if (!header_ok(value))
			return error_set(err, ERR_CONFIG,
					 "a value for a header holds a control "
					 "character or no ASCII");
		buf_addstr(out, value);
		break;
	case PLACE_TEXT:
		buf_addstr(out, value);
		break;
	case PLACE_SHELL:
		quote_word(out, value);
		break;
	}
	return 0;
}

/* A parameter of config.toml as text. */
static int add_param(struct buf *out, struct str name,
		     enum http_provider_place place,
		     const struct http_provider_values *v, struct error *err)
{
	char *key = xstrndup(name.ptr, name.len);
	const struct toml_value *p =
		v->params ? toml_get(v->params, key) : NULL;
	char number[32];
	int rc = 0;

	free(key);
	if (!p)
		return 0;
	if (p->kind == TOML_STRING)
		return put(out, (struct str){ p->text, p->text_len }, place,
			   err);
	if (p->kind == TOML_INT)
		snprintf(number, sizeof(number), "%" PRId64, p->integer);
	else if (p->kind == TOML_BOOL)
		snprintf(number, sizeof(number), "%s",
			 p->integer ? "true" : "false");
	else
		rc = error_set(err, ERR_CONFIG,
			       "params.%.*s is neither a string, an integer "
			       "nor a boolean",
			       (int)name.len, name.ptr);
	return rc < 0 ? rc : put(out, str_of(number), place, err);
}

static int add_variable(struct buf *out, struct str name,
			enum http_provider_place place,
			const struct http_provider_values *v, struct error *err)
{
	char *key = xstrndup(name.ptr, name.len);
	const char *value = NULL;
	int rc;

	/* Only a header's variable is a credential: what chooses the address,
	 * the image or the account never comes from a project's .env. */
	if (v->settings)
		value = place == PLACE_HEADER
				? settings_credential(v->settings, key,
						      v->project_key)
				: settings_env(v->settings, key);
	if (value) {
		rc = put(out, str_of(value), place, err);
	} else {
		rc = error_set(err, ERR_AUTH, "%s is not set", key);
		error_hint(err,
			   "export %s=..., or put it into "
			   "~/.deepagents/.env",
			   key);
	}
	free(key);
	return rc;
}

int http_provider_expand(struct buf *out, const char *text,
			 enum http_provider_place place,
			 const struct http_provider_values *v,
			 struct error *err)
{
	struct str rest = str_of(text);
	struct str piece;
	int rc = 0;
	int kind;
	int value;

	while (rc == 0 && (kind = next(&rest, &piece)) != PIECE_END) {
		if (kind < 0)
			return error_set(err, ERR_CONFIG,
					 "a template is not well formed");
		if (kind == PIECE_TEXT) {
			buf_addstr(out, piece);
		} else if (kind == PIECE_PARAM) {
			rc = add_param(out, piece, place, v, err);
		} else if (kind == PIECE_VARIABLE) {
			rc = add_variable(out, piece, place, v, err);
		} else {
			value = value_of(piece);
			if (value < 0)
				return list_allowed(0, piece, err);
			rc = put(out, v->is[value], place, err);
		}
	}
	return rc;
}

/* "." and "..", also as "%2e": what is between names another place. */
static bool dots_only(struct str segment)
{
	size_t n = 0;

	while (segment.len) {
		if (str_starts(segment, ".")) {
			segment = str_skip(segment, 1);
		} else if (str_starts(segment, "%2e") ||
			   str_starts(segment, "%2E")) {
			segment = str_skip(segment, 3);
		} else {
			return false;
		}
		n++;
	}
	return n == 1 || n == 2;
}

static int check_segments(struct str path, struct error *err)
{
	struct str segment;

	while (str_split(&path, '/', &segment))
		if (dots_only(segment))
			return error_set(err, ERR_CONFIG,
					 "a value makes the address lead "
					 "elsewhere");
	return 0;
}

int http_provider_path(struct buf *out, const char *text,
		       const struct http_provider_values *v, struct error *err)
{
	size_t question = strcspn(text, "?");
	char *path = xstrndup(text, question);
	int rc = http_provider_expand(out, path, PLACE_PATH, v, err);

	free(path);
	if (rc == 0)
		rc = check_segments(buf_str(out), err);
	if (rc == 0 && text[question])
		rc = http_provider_expand(out, text + question, PLACE_QUERY, v,
					  err);
	return rc < 0 ? rc : buf_check(out, "the address", err);
}

/* A string that is one {name} and nothing else: which value, or -1. */
static int lone_value(const char *text)
{
	struct str rest = str_of(text);
	struct str piece;

	return next(&rest, &piece) == PIECE_VALUE && !rest.len ? value_of(piece)
							       : -1;
}

static bool lone_param_missing(const char *text,
			       const struct http_provider_values *v)
{
	struct str rest = str_of(text);
	struct str piece;
	bool missing;
	char *key;

	if (next(&rest, &piece) != PIECE_PARAM || rest.len)
		return false;
	key = xstrndup(piece.ptr, piece.len);
	missing = !v->params || !toml_get(v->params, key);
	free(key);
	return missing;
}

static bool left_out(const struct toml_value *item,
		     const struct http_provider_values *v)
{
	int value = item->kind == TOML_STRING ? lone_value(item->text) : -1;

	if (value >= 0)
		return !v->is[value].ptr;
	return item->kind == TOML_STRING && lone_param_missing(item->text, v);
}

static int add_string(struct buf *out, const char *template,
		      const struct http_provider_values *v, struct error *err)
{
	struct buf text = BUF_INIT(TEXT_MAX_);
	int value = lone_value(template);
	int rc = http_provider_expand(&text, template, PLACE_TEXT, v, err);

	if (rc == 0)
		rc = buf_check(&text, "the request", err);
	if (rc == 0 && (value == VALUE_TIMEOUT || value == VALUE_LIFETIME))
		buf_addstr(out, buf_str(&text));
	else if (rc == 0)
		json_quote(out, buf_str(&text));
	buf_wipe(&text);
	return rc;
}

static int add_value(struct buf *out, const struct toml_value *v,
		     const struct http_provider_values *values, int depth,
		     struct error *err);

static int add_items(struct buf *out, const struct toml_value *v,
		     const struct http_provider_values *values, int depth,
		     struct error *err)
{
	bool table = v->kind == TOML_TABLE;
	const char *between = "";
	int rc = 0;

	buf_addc(out, table ? '{' : '[');
	for (size_t i = 0; rc == 0 && i < v->n_items; i++) {
		if (left_out(&v->items[i], values))
			continue;
		buf_adds(out, between);
		between = ",";
		if (table) {
			json_quote(out, (struct str){ v->items[i].key,
						      v->items[i].key_len });
			buf_addc(out, ':');
		}
		rc = add_value(out, &v->items[i], values, depth + 1, err);
	}
	buf_addc(out, table ? '}' : ']');
	return rc;
}

static int add_value(struct buf *out, const struct toml_value *v,
		     const struct http_provider_values *values, int depth,
		     struct error *err)
{
	if (depth > DEEPEST)
		return error_set(err, ERR_CONFIG, "a body is nested too deep");
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		return add_items(out, v, values, depth, err);
	case TOML_INT:
		buf_addf(out, "%" PRId64, v->integer);
		return 0;
	case TOML_BOOL:
		buf_adds(out, v->integer ? "true" : "false");
		return 0;
	case TOML_FLOAT:
		buf_addf(out, "%.17g", v->real);
		return 0;
	case TOML_STRING:
		return add_string(out, v->text, values, err);
	default:
		json_quote(out, (struct str){ v->text, v->text_len });
		return 0;
	}
}

int http_provider_body(struct buf *out, const struct toml_value *table,
		       const struct http_provider_values *v, struct error *err)
{
	int rc = add_value(out, table, v, 0, err);

	return rc < 0 ? rc : buf_check(out, "the request", err);
}
