/* http_text.c - values written into text so that they stay values. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "providers/external/http_provider.h"
#include "providers/external/params.h"
#include "sandbox/quote.h"

enum { NAME_LONGEST = 128, STRING_MAX = 4 << 20 }; /* bytes */

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

enum piece_kind {
	PIECE_TEXT,
	PIECE_VALUE,
	PIECE_PARAM,
	PIECE_VARIABLE,
	PIECE_END,
	PIECE_BAD, /* the braces are not well formed */
};

struct piece {
	enum piece_kind kind;
	struct str text;             /* of PIECE_TEXT */
	char name[NAME_LONGEST + 1]; /* of the others */
};

/* Cuts the next piece off *rest. */
static enum piece_kind next_piece(struct str *rest, struct piece *p)
{
	struct str s = *rest;
	bool variable = str_starts(s, "${");
	bool param;
	size_t end = 0;

	if (!s.len)
		return p->kind = PIECE_END;
	p->kind = PIECE_TEXT;
	if (str_starts(s, "{{") || str_starts(s, "}}")) {
		p->text = (struct str){ s.ptr, 1 };
		*rest = str_skip(s, 2);
		return p->kind;
	}
	if (!variable && !strchr("{}", s.ptr[0])) {
		end = 1;
		while (end < s.len && !strchr("{}$", s.ptr[end]))
			end++;
		p->text = (struct str){ s.ptr, end };
		*rest = str_skip(s, end);
		return p->kind;
	}
	s = str_skip(s, variable ? 2 : 1);
	end = str_find(s, '}');
	if (rest->ptr[0] == '}' || end == s.len || !end || end > NAME_LONGEST)
		return p->kind = PIECE_BAD;
	*rest = str_skip(s, end + 1);
	s.len = end;
	param = !variable && str_starts(s, "param.");
	if (param)
		s = str_skip(s, strlen("param."));
	snprintf(p->name, sizeof(p->name), "%.*s", (int)s.len, s.ptr);
	p->kind = variable ? PIECE_VARIABLE : param ? PIECE_PARAM : PIECE_VALUE;
	return p->kind;
}

static int find_value(const char *name)
{
	for (int i = 0; i < VALUES; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

static bool variable_ok(const char *name)
{
	for (size_t i = 0; name[i]; i++) {
		char c = name[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    c != '_' && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return name[0];
}

static int list_allowed(unsigned allowed, const char *name, struct error *err)
{
	struct buf list = BUF_INIT(400);

	for (int i = 0; i < VALUES; i++)
		if (allowed & (1U << i))
			buf_addf(&list, "{%s} ", names[i]);
	error_set(err, ERR_CONFIG,
		  "{%.60s} is unknown here; available: %s{param.NAME} and "
		  "${NAME}",
		  name, list.len ? list.ptr : "");
	buf_release(&list);
	return -1;
}

int http_text_check(const char *text, unsigned allowed, struct error *err)
{
	struct str rest = str_of(text);
	struct piece p;
	int value;

	while (next_piece(&rest, &p) != PIECE_END) {
		if (p.kind == PIECE_BAD ||
		    (p.kind == PIECE_VARIABLE && !variable_ok(p.name)) ||
		    (p.kind == PIECE_PARAM && !p.name[0]))
			return error_set(err, ERR_CONFIG,
					 "is not well formed: {name} and "
					 "${NAME} stand for values, {{ and }} "
					 "for braces");
		value = p.kind == PIECE_VALUE ? find_value(p.name) : 0;
		if (p.kind == PIECE_VALUE &&
		    (value < 0 || !(allowed & (1U << value))))
			return list_allowed(allowed, p.name, err);
	}
	return 0;
}

/* Follows a shell's quoting through text: *q is the open quote, or 0. -1 for
 * constructs whose quoting is not followed. */
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

int http_text_check_shell(const char *text, unsigned allowed, struct error *err)
{
	struct str rest = str_of(text);
	struct piece p;
	bool escaped = false;
	char quote = 0;
	int rc = http_text_check(text, allowed, err);

	while (rc == 0 && next_piece(&rest, &p) != PIECE_END) {
		if (p.kind == PIECE_TEXT &&
		    follow_quotes(p.text, &quote, &escaped) < 0)
			return error_set(err, ERR_CONFIG,
					 "must not contain backquotes, "
					 "comments or here-documents");
		if (p.kind != PIECE_TEXT && (quote || escaped))
			return error_set(err, ERR_CONFIG,
					 "has a value inside quotes: values "
					 "are quoted already");
	}
	return rc;
}

/* Printable ASCII: a line end would end the header. */
static bool header_ok(struct str value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' ||
		    (unsigned char)value.ptr[i] >= 0x7F)
			return false;
	return true;
}

static int add_value(struct buf *out, struct str value,
		     enum http_context context, struct error *err)
{
	if (value.len && memchr(value.ptr, 0, value.len))
		return error_set(err, ERR_CONFIG,
				 "a value contains a NUL byte");
	if (context == CONTEXT_HEADER && !header_ok(value))
		return error_set(err, ERR_CONFIG,
				 "a value for a header contains a control "
				 "character or non-ASCII characters");
	if (context == CONTEXT_PATH)
		rest_encode(out, value);
	else if (context == CONTEXT_SHELL)
		quote_word(out, value);
	else
		buf_addstr(out, value);
	return 0;
}

static const struct toml_value *find_param(const struct http_values *v,
					   const char *name)
{
	return v->params ? toml_get(v->params, name) : NULL;
}

static int add_param(struct buf *out, const char *name,
		     enum http_context context, const struct http_values *v,
		     struct error *err)
{
	const struct toml_value *p = find_param(v, name);
	char number[32];

	if (!p)
		return 0;
	if (p->kind == TOML_STRING)
		return add_value(out, (struct str){ p->text, p->text_len },
				 context, err);
	if (p->kind != TOML_INT && p->kind != TOML_BOOL)
		return error_set(
			err, ERR_CONFIG,
			"params.%s is not a string, an integer or a boolean",
			name);
	snprintf(number, sizeof(number), "%" PRId64, p->integer);
	if (p->kind == TOML_BOOL)
		return add_value(out, str_of(p->integer ? "true" : "false"),
				 context, err);
	return add_value(out, str_of(number), context, err);
}

static int add_variable(struct buf *out, const char *name,
			enum http_context context, const struct http_values *v,
			struct error *err)
{
	const char *value = NULL;

	/* Only a header's variable is a credential: what chooses the address,
	 * the image or the account never comes from a project's .env. */
	if (v->settings)
		value = context == CONTEXT_HEADER
				? settings_credential(v->settings, name,
						      v->project_key)
				: settings_env(v->settings, name);
	if (value)
		return add_value(out, str_of(value), context, err);
	error_set(err, ERR_AUTH, "%s is not set", name);
	return error_hint(
		err, "export %s=..., or put it into ~/.deepagents/.env", name);
}

int http_text_expand(struct buf *out, const char *text,
		     enum http_context context, const struct http_values *v,
		     struct error *err)
{
	struct str rest = str_of(text);
	struct piece p;
	int rc = 0;
	int value;

	while (rc == 0 && next_piece(&rest, &p) != PIECE_END) {
		if (p.kind == PIECE_BAD)
			return error_set(err, ERR_CONFIG,
					 "a text is not well formed");
		if (p.kind == PIECE_TEXT) {
			buf_addstr(out, p.text);
		} else if (p.kind == PIECE_PARAM) {
			rc = add_param(out, p.name, context, v, err);
		} else if (p.kind == PIECE_VARIABLE) {
			rc = add_variable(out, p.name, context, v, err);
		} else {
			value = find_value(p.name);
			rc = value < 0 ? list_allowed(0, p.name, err)
				       : add_value(out, v->is[value], context,
						   err);
		}
	}
	return rc;
}

/* "." and "..", also as "%2e": the address would lead elsewhere. */
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

int http_text_path(struct buf *out, const char *text,
		   const struct http_values *v, struct error *err)
{
	struct str path;
	struct str segment;

	if (http_text_expand(out, text, CONTEXT_PATH, v, err) < 0)
		return -1;
	path = buf_str(out);
	path.len = str_find(path, '?'); /* values hold none: they are encoded */
	while (str_split(&path, '/', &segment))
		if (dots_only(segment))
			return error_set(
				err, ERR_CONFIG,
				"a value changes the host of the address");
	return buf_check(out, "the address", err);
}

/* Reads a string that is one piece and nothing else. */
static bool is_lone(const char *text, struct piece *p)
{
	struct str rest = str_of(text);

	return next_piece(&rest, p) < PIECE_END && !rest.len;
}

/* struct params_strings.omit: of a lone value that is absent. */
static bool is_absent(const void *arg, const char *text)
{
	const struct http_values *v = arg;
	struct piece p;
	int value;

	if (!is_lone(text, &p))
		return false;
	if (p.kind == PIECE_PARAM)
		return !find_param(v, p.name);
	value = p.kind == PIECE_VALUE ? find_value(p.name) : -1;
	return value >= 0 && !v->is[value].ptr;
}

/* struct params_strings.add: a lone number stays one. */
static int add_string(const void *arg, const char *text, struct buf *out,
		      struct error *err)
{
	struct buf string = BUF_INIT(STRING_MAX);
	struct piece p;
	int value = is_lone(text, &p) && p.kind == PIECE_VALUE
			    ? find_value(p.name)
			    : -1;
	int rc = http_text_expand(&string, text, CONTEXT_RAW, arg, err);

	if (rc == 0)
		rc = buf_check(&string, "the request", err);
	if (rc == 0 && (value == VALUE_TIMEOUT || value == VALUE_LIFETIME))
		buf_addstr(out, buf_str(&string));
	else if (rc == 0)
		json_quote(out, buf_str(&string));
	buf_wipe(&string);
	return rc;
}

int http_text_body(struct buf *out, const struct toml_value *table,
		   const struct http_values *v, struct error *err)
{
	const struct params_strings strings = { is_absent, add_string, v };
	int rc = params_json(table, &strings, out, err);

	return rc < 0 ? rc : buf_check(out, "the request", err);
}
