/* http_config.c - reads [sandboxes.providers.NAME.http], each key checked. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "providers/external/http_provider.h"
#include "providers/external/json_pointer.h"

#define BIT(value) (1U << (value))

enum {
	EVERY = BIT(VALUE_WORKDIR),
	OF_ONE = EVERY | BIT(VALUE_ID),
	ALL = BIT(OP_COUNT) - 1, /* operations */
	TIMEOUT_MAX = 3600,
};

static const struct {
	const char *name;
	const char *method;
	unsigned values; /* that its strings may have */
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
	const char *operation; /* "create", or NULL */
	unsigned values;
	const struct toml_value *at; /* what is being read */
	struct error why;
};

/* Readers return what is wrong with r->at ("must be a string"), or NULL. */

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

/* A shell string makes the command: it is the only one with {command}. */
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
			return "contains a character that addresses cannot "
			       "have";
	return NULL;
}

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

/* Hosts, each with those below it: "boxes.example.org". */
static const char *read_hosts(struct config_reader *r, void *field)
{
	static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
	const char *wrong = read_states(r, field);

	for (size_t i = 0; !wrong && i < r->at->n_items; i++) {
		const char *text = r->at->items[i].text;

		if (!text[0] || text[0] == '.' || !strchr(text, '.') ||
		    text[strspn(text, host)])
			wrong = "must be names of hosts, in lower case, such "
				"as "
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
	unsigned operations; /* bits: those that have it */
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

static const char *find_missing(const struct http_provider *p)
{
	const struct http_operation *op = p->operations;

	if (!p->base)
		return "has no base";
	if (!op[OP_CREATE].given || !op[OP_CREATE].id)
		return "has no create with path and id";
	if (op[OP_CREATE].server && !op[OP_CREATE].within)
		return "has no create.within, the hosts that its server may be";
	if (!op[OP_EXECUTE].given)
		return "has no execute";
	if (op[OP_EXECUTE].stream && !op[OP_EXECUTE].output)
		return "has no execute.output, where an event has output";
	if (!op[OP_DELETE].given)
		return "has no delete";
	if (op[OP_READY].given && (!op[OP_READY].state != !op[OP_READY].is))
		return "has no ready with both state and is";
	if (op[OP_LIST].given && (!op[OP_LIST].id || !op[OP_LIST].label))
		return "has no list with id and label";
	return NULL;
}

/* "FILE:3:5: sandboxes.providers.acme.http.create.path WHAT" */
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
