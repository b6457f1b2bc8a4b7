/* http_config.c - reads the description of a REST service, fills in its
 * texts. */
/* SPDX-License-Identifier: MIT */
/* Three parts: JSON pointers, by which a description names parts of an answer;
 * texts with placeholders, filled in so that a value cannot change the text
 * around it (http_text_expand); and the keys of
 * [sandboxes.providers.NAME.http], listed in the table keys[]
 * (http_config_read). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "providers/external/http_provider.h"
#include "providers/external/provider_config.h"
#include "providers/kit/rest.h"
#include "sandbox/quote.h"

#define BIT(value) (1U << (value))

enum {
	NAME_LONGEST = 128,   /* bytes */
	STRING_MAX = 4 << 20, /* bytes */
	EVERY = BIT(VALUE_WORKDIR),
	OF_ONE = EVERY | BIT(VALUE_ID),
	ALL = BIT(OP_COUNT) - 1, /* a bit for each operation */
	TIMEOUT_MAX = 3600,
};

bool json_pointer_ok(const char *pointer)
{
	if (pointer[0] && pointer[0] != '/')
		return false;
	for (const char *c = pointer; *c; c++)
		if (*c == '~' && c[1] != '0' && c[1] != '1')
			return false;
	return true;
}

static char *unescape_token(struct str token)
{
	char *out = xcalloc(token.len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < token.len; i++) {
		out[n] = token.ptr[i];
		if (token.ptr[i] == '~' && i + 1 < token.len)
			out[n] = token.ptr[++i] == '1' ? '/' : '~';
		n++;
	}
	return out;
}

/* Follows the pointer segment by segment; "~0" and "~1" are escapes for "~" and
 * "/". */
const cJSON *json_pointer_get(const cJSON *tree, const char *pointer)
{
	struct str rest = str_of(pointer);

	while (tree && rest.len) {
		struct str token;
		char *name;
		int64_t index;

		rest = str_skip(rest, 1);
		token = (struct str){ rest.ptr, str_find(rest, '/') };
		rest = str_skip(rest, token.len);
		name = unescape_token(token);
		if (cJSON_IsObject(tree))
			tree = cJSON_GetObjectItemCaseSensitive(tree, name);
		else if (cJSON_IsArray(tree) && str_to_int(token, &index) &&
			 index >= 0 && index <= 1000000)
			tree = cJSON_GetArrayItem(tree, (int)index);
		else
			tree = NULL;
		free(name);
	}
	return tree;
}

char *json_pointer_text(const cJSON *tree, const char *pointer)
{
	const cJSON *v = json_pointer_get(tree, pointer);

	if (cJSON_IsString(v))
		return xstrdup(v->valuestring);
	if (cJSON_IsNumber(v))
		return xasprintf("%.0f", v->valuedouble);
	if (cJSON_IsBool(v))
		return xstrdup(cJSON_IsTrue(v) ? "true" : "false");
	return NULL;
}

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
	PIECE_BAD, /* malformed braces */
};

struct piece {
	enum piece_kind kind;
	struct str text; /* for PIECE_TEXT: the text */
	/* for the other kinds: the placeholder's name */
	char name[NAME_LONGEST + 1];
};

/* Removes the next piece from *rest and returns its kind. */
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

static bool is_valid_variable(const char *name)
{
	for (size_t i = 0; name[i]; i++) {
		char c = name[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    c != '_' && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return name[0];
}

static int fail_unknown(unsigned allowed, const char *name, struct error *err)
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
		    (p.kind == PIECE_VARIABLE && !is_valid_variable(p.name)) ||
		    (p.kind == PIECE_PARAM && !p.name[0]))
			return error_set(
				err, ERR_CONFIG,
				"is not well formed: write {name} or ${NAME} "
				"for a value, {{ and }} for braces");
		value = p.kind == PIECE_VALUE ? find_value(p.name) : 0;
		if (p.kind == PIECE_VALUE &&
		    (value < 0 || !(allowed & (1U << value))))
			return fail_unknown(allowed, p.name, err);
	}
	return 0;
}

/* Follows the shell's quoting through text. *q is the quote that is open, or 0.
 * Returns -1 if text contains a construct that this function does not know. */
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

/* A placeholder's value becomes one quoted word. That is safe only outside of
 * quotes, comments and other constructs in which a quote has no meaning. */
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
			return error_set(
				err, ERR_CONFIG,
				"has a placeholder inside quotes: leave out "
				"the quotes, since dcode quotes each value");
	}
	return rc;
}

/* True for printable ASCII. A line break would end the header. */
static bool is_valid_header(struct str value)
{
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' ||
		    (unsigned char)value.ptr[i] >= 0x7F)
			return false;
	return true;
}

/* Appends a value, encoded for its context. */
static int add_value(struct buf *out, struct str value,
		     enum http_context context, struct error *err)
{
	if (value.len && memchr(value.ptr, 0, value.len))
		return error_set(err, ERR_CONFIG,
				 "a value contains a NUL byte");
	if (context == CONTEXT_HEADER && !is_valid_header(value))
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

/* Appends the value of a parameter, encoded for its context. */
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

/* Appends the value of an environment variable, encoded for its context. */
static int add_variable(struct buf *out, const char *name,
			enum http_context context, const struct http_values *v,
			struct error *err)
{
	const char *value = NULL;

	/* Only variables in headers are credentials, which a project's .env may
	 * set. Other variables choose the address, the image or the account, so
	 * a project must not. */
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
					 "a placeholder is not well formed");
		if (p.kind == PIECE_TEXT) {
			buf_addstr(out, p.text);
		} else if (p.kind == PIECE_PARAM) {
			rc = add_param(out, p.name, context, v, err);
		} else if (p.kind == PIECE_VARIABLE) {
			rc = add_variable(out, p.name, context, v, err);
		} else {
			value = find_value(p.name);
			rc = value < 0 ? fail_unknown(0, p.name, err)
				       : add_value(out, v->is[value], context,
						   err);
		}
	}
	return rc;
}

/* True for "." and "..", also written as "%2e": such a segment would make the
 * request leave the description's path. */
static bool is_dots(struct str segment)
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
	/* placeholders' values contain no '?': they are encoded */
	path.len = str_find(path, '?');
	while (str_split(&path, '/', &segment))
		if (is_dots(segment))
			return error_set(err, ERR_CONFIG,
					 "a value makes \".\" or \"..\" a "
					 "segment of the path");
	return buf_check(out, "the address", err);
}

/* True if the text is a single placeholder and nothing else; stored in *p. */
static bool is_lone(const char *text, struct piece *p)
{
	struct str rest = str_of(text);

	return next_piece(&rest, p) < PIECE_END && !rest.len;
}

/* Implements params_strings.omit: true if the text is only a placeholder whose
 * value is absent. */
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

/* Implements params_strings.add. A text that is only the placeholder of a
 * number is written as a number. */
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

static const struct {
	const char *name;
	const char *method;
	/* placeholders that its strings may contain, as bits */
	unsigned values;
	int64_t timeout_s;
} operations[OP_COUNT] = {
	[OP_CREATE] = { "create", "POST",
			EVERY | BIT(VALUE_LABEL) | BIT(VALUE_OWNER) |
				BIT(VALUE_SNAPSHOT) | BIT(VALUE_LIFETIME),
			120 },
	[OP_READY] = { "ready", "GET", OF_ONE, 180 },
	[OP_EXECUTE] = { "execute", "POST",
			 OF_ONE | BIT(VALUE_COMMAND) | BIT(VALUE_TIMEOUT), 0 },
	[OP_READ] = { "read", "GET", OF_ONE | BIT(VALUE_PATH), 600 },
	[OP_WRITE] = { "write", "PUT", OF_ONE | BIT(VALUE_PATH), 600 },
	[OP_DELETE] = { "delete", "DELETE", OF_ONE, 60 },
	[OP_LIST] = { "list", "GET", EVERY | BIT(VALUE_OWNER), 60 },
};

struct config_reader {
	/* operation whose table is read ("create"), or NULL */
	const char *operation;
	unsigned values;
	/* what is being read; errors name its line */
	const struct toml_value *at;
	struct error why;
};

/* The following functions return what is wrong with r->at ("must be a string"),
 * or NULL. */

static const char *read_string(struct config_reader *r, void *field)
{
	if (r->at->kind != TOML_STRING ||
	    strlen(r->at->text) != r->at->text_len)
		return "must be a string";
	*(const char **)field = r->at->text;
	return NULL;
}

static const char *read_text(struct config_reader *r, void *field)
{
	const char *wrong = read_string(r, field);

	if (!wrong && http_text_check(r->at->text, r->values, &r->why) < 0)
		wrong = r->why.message;
	return wrong;
}

/* Reads a shell string. In path and body, {command} stands for its expanded
 * text. Each placeholder in it must be a word of its own. */
static const char *read_shell(struct config_reader *r, void *field)
{
	const char *wrong = read_string(r, field);

	if (!wrong &&
	    http_text_check_shell(r->at->text, r->values, &r->why) < 0)
		wrong = r->why.message;
	return wrong;
}

static const char *read_pointer(struct config_reader *r, void *field)
{
	const char *wrong = read_string(r, field);

	if (!wrong && !json_pointer_ok(r->at->text))
		wrong = "must be a JSON pointer, such as \"/data/id\"";
	return wrong;
}

static const char *read_method(struct config_reader *r, void *field)
{
	static const char *const all[] = { "GET", "POST", "PUT", "PATCH",
					   "DELETE" };
	const char *wrong = read_string(r, field);

	for (size_t i = 0; !wrong && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i], r->at->text))
			return NULL;
	return wrong ? wrong : "must be GET, POST, PUT, PATCH or DELETE";
}

static const char *read_states(struct config_reader *r, void *field)
{
	bool good = r->at->kind == TOML_ARRAY && r->at->n_items;

	for (size_t i = 0; i < r->at->n_items; i++)
		good = good && r->at->items[i].kind == TOML_STRING;
	*(const struct toml_value **)field = r->at;
	return good ? NULL : "must be an array of strings";
}

static const char *read_flag(struct config_reader *r, void *field)
{
	if (r->at->kind != TOML_BOOL)
		return "must be true or false";
	*(bool *)field = r->at->integer;
	return NULL;
}

static const char *read_type(struct config_reader *r, void *field)
{
	const char *wrong = read_string(r, field);

	for (const char *c = r->at->text; !wrong && *c; c++)
		if (*c <= ' ' || *c >= 0x7F)
			wrong = "must be a media type, such as \"text/plain\"";
	return wrong;
}

static const char *read_path(struct config_reader *r, void *field)
{
	const char *wrong = read_text(r, field);

	if (wrong)
		return wrong;
	if (r->at->text[0] != '/')
		return "must begin with /";
	for (const char *c = r->at->text; *c; c++)
		if (*c <= ' ' || *c >= 0x7F || strchr("#\\\"<>", *c))
			return "contains a character that is not allowed in an "
			       "address";
	return NULL;
}

/* Checks all texts and numbers of a body. Returns what is wrong, or NULL. */
static const char *check_body(struct config_reader *r, int depth)
{
	const struct toml_value *v = r->at;
	const char *wrong = NULL;
	const char *ignored;

	if (depth > 30)
		return "is nested too deep";
	if (v->kind == TOML_STRING)
		return read_text(r, &ignored);
	if (v->kind == TOML_FLOAT && !isfinite(v->real))
		return "must be a finite number";
	for (size_t i = 0; !wrong && i < v->n_items; i++) {
		r->at = &v->items[i];
		wrong = check_body(r, depth + 1);
	}
	return wrong;
}

static const char *read_body(struct config_reader *r, void *field)
{
	if (r->at->kind != TOML_TABLE && r->at->kind != TOML_STRING)
		return "must be a table, or a string that is sent unchanged";
	*(const struct toml_value **)field = r->at;
	return check_body(r, 0);
}

/* Reads a list of hosts like "boxes.example.org". Each includes its
 * subdomains. */
static const char *read_hosts(struct config_reader *r, void *field)
{
	static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
	const char *wrong = read_states(r, field);

	for (size_t i = 0; !wrong && i < r->at->n_items; i++) {
		const char *text = r->at->items[i].text;

		if (!text[0] || text[0] == '.' || !strchr(text, '.') ||
		    text[strspn(text, host)])
			wrong = "must be host names in lower case, such as "
				"\"boxes.example.org\"";
	}
	return wrong;
}

static const char *read_stream(struct config_reader *r, void *field)
{
	const char *name = NULL;
	const char *wrong = read_string(r, &name);
	enum http_stream *stream = field;

	if (wrong)
		return wrong;
	*stream = !strcmp(name, "sse")      ? STREAM_SSE
		  : !strcmp(name, "ndjson") ? STREAM_NDJSON
					    : STREAM_NONE;
	return *stream ? NULL : "must be \"sse\" or \"ndjson\"";
}

static const char *read_outlives(struct config_reader *r, void *field)
{
	bool yes = false;
	const char *wrong = read_flag(r, &yes);

	*(int *)field = yes ? OUTLIVES_YES : OUTLIVES_NO;
	return wrong;
}

static const char *read_seconds(struct config_reader *r, void *field)
{
	if (r->at->kind != TOML_INT || r->at->integer < 1 ||
	    r->at->integer > TIMEOUT_MAX)
		return "must be seconds, from 1 to 3600";
	*(int64_t *)field = r->at->integer;
	return NULL;
}

static const char *read_encoding(struct config_reader *r, void *field)
{
	const char *name = NULL;
	const char *wrong = read_string(r, &name);

	if (!wrong && strcmp(name, "base64") != 0 && strcmp(name, "text") != 0)
		wrong = "must be \"text\" or \"base64\"";
	*(bool *)field = !wrong && !strcmp(name, "base64");
	return wrong;
}

static const char *read_headers(struct config_reader *r, void *field)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";
	const struct toml_value *table = r->at;
	const char *wrong = NULL;
	const char *ignored;

	if (table->kind != TOML_TABLE)
		return "must be a table";
	if (table->n_items > REST_HEADERS)
		return "contains too many headers";
	for (size_t i = 0; !wrong && i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];

		r->at = v;
		if (!v->key_len || strspn(v->key, token) != v->key_len)
			return "is not a header name";
		wrong = read_text(r, &ignored);
	}
	*(const struct toml_value **)field = table;
	return wrong;
}

#define FIELD(name) offsetof(struct http_operation, name)

static const struct {
	const char *key;
	unsigned operations; /* the operations that have this key, as bits */
	size_t field;
	const char *(*read)(struct config_reader *r, void *field);
} keys[] = {
	{ "method", ALL, FIELD(method), read_method },
	{ "path", ALL, FIELD(path), read_path },
	{ "body", ALL & ~BIT(OP_WRITE), FIELD(body), read_body },
	{ "type", ALL & ~BIT(OP_WRITE), FIELD(type), read_type },
	{ "timeout", ALL & ~BIT(OP_EXECUTE), FIELD(timeout_s), read_seconds },
	{ "server", BIT(OP_CREATE), FIELD(server), read_pointer },
	{ "token", BIT(OP_CREATE), FIELD(token), read_pointer },
	{ "within", BIT(OP_CREATE), FIELD(within), read_hosts },
	{ "stream", BIT(OP_EXECUTE), FIELD(stream), read_stream },
	{ "outlives", BIT(OP_EXECUTE), FIELD(outlives), read_outlives },
	{ "id", BIT(OP_CREATE) | BIT(OP_LIST), FIELD(id), read_pointer },
	{ "repeats", BIT(OP_CREATE), FIELD(repeats), read_flag },
	{ "state", BIT(OP_READY), FIELD(state), read_pointer },
	{ "is", BIT(OP_READY), FIELD(is), read_states },
	{ "failed", BIT(OP_READY), FIELD(failed), read_states },
	{ "shell", BIT(OP_EXECUTE), FIELD(shell), read_shell },
	{ "output", BIT(OP_EXECUTE), FIELD(output), read_pointer },
	{ "encoding", BIT(OP_EXECUTE), FIELD(base64), read_encoding },
	{ "exit_code", BIT(OP_EXECUTE), FIELD(exit_code), read_pointer },
	{ "items", BIT(OP_LIST), FIELD(items), read_pointer },
	{ "label", BIT(OP_LIST), FIELD(label), read_pointer },
	{ "owner", BIT(OP_LIST), FIELD(item_owner), read_pointer },
};

static const char *read_key(struct config_reader *r, struct http_operation *op,
			    enum http_op which)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].operations & BIT(which) &&
		    !strcmp(keys[i].key, r->at->key))
			return keys[i].read(r, (char *)op + keys[i].field);
	return "is unknown";
}

static const char *read_operation(struct config_reader *r,
				  struct http_operation *op, enum http_op which)
{
	const struct toml_value *table = r->at;
	const char *wrong = NULL;

	if (table->kind != TOML_TABLE)
		return "must be a table";
	r->operation = operations[which].name;
	r->values = operations[which].values;
	op->given = true;
	op->method = operations[which].method;
	op->timeout_s = operations[which].timeout_s;
	for (size_t i = 0; !wrong && i < table->n_items; i++) {
		r->at = &table->items[i];
		wrong = read_key(r, op, which);
	}
	if (wrong || op->path)
		return wrong;
	r->at = table;
	r->operation = NULL;
	return "has no path";
}

static const char *read_member(struct config_reader *r, struct http_provider *p)
{
	r->operation = NULL;
	r->values = EVERY;
	if (!strcmp(r->at->key, "base"))
		return read_text(r, &p->base);
	if (!strcmp(r->at->key, "headers"))
		return read_headers(r, &p->headers);
	for (int i = 0; i < OP_COUNT; i++)
		if (!strcmp(r->at->key, operations[i].name))
			return read_operation(r, &p->operations[i],
					      (enum http_op)i);
	return "is unknown";
}

/* Returns which keys the description lacks, or which contradict each other;
 * NULL if it is complete. */
static const char *find_missing(const struct http_provider *p)
{
	const struct http_operation *op = p->operations;

	if (!p->base)
		return "has no base";
	if (!op[OP_CREATE].given || !op[OP_CREATE].id)
		return "needs create with path and id";
	if (op[OP_CREATE].server && !op[OP_CREATE].within)
		return "needs create.within, a list of the hosts that "
		       "create.server may return";
	if (!op[OP_EXECUTE].given)
		return "has no execute";
	if (op[OP_EXECUTE].stream && !op[OP_EXECUTE].output)
		return "needs execute.output, the JSON pointer to the output "
		       "in an event";
	if (!op[OP_DELETE].given)
		return "has no delete";
	if (op[OP_READY].given && (!op[OP_READY].state != !op[OP_READY].is))
		return "needs both ready.state and ready.is, or neither";
	if (op[OP_LIST].given && (!op[OP_LIST].id || !op[OP_LIST].label))
		return "needs list with id and label";
	return NULL;
}

/* Errors look like "FILE:3:5: sandboxes.providers.acme.http.create.path
 * WHAT". */
int http_config_read(struct http_provider *p, const char *file,
		     struct error *err)
{
	const struct toml_value *http = p->config.http;
	struct config_reader r = { 0 };
	const char *wrong = NULL;
	const char *key = "";

	for (size_t i = 0; !wrong && i < http->n_items; i++) {
		r.at = &http->items[i];
		wrong = read_member(&r, p);
		key = r.at->key ? r.at->key : "(item)";
	}
	if (!wrong) {
		r = (struct config_reader){ .at = http };
		key = "";
		wrong = find_missing(p);
	}
	if (!wrong)
		return 0;
	return error_set(err, ERR_CONFIG,
			 "%s:%d:%d: sandboxes.providers.%.64s.http%s%s%s%.60s "
			 "%s",
			 file, r.at->line, r.at->column, p->config.name,
			 r.operation ? "." : "", r.operation ? r.operation : "",
			 *key ? "." : "", key, wrong);
}
