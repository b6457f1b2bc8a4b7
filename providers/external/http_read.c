/* http_read.c - [sandboxes.providers.NAME.http], each key checked. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "providers/external/http_provider.h"

#define BIT(value) (1U << (value))

enum {
	EVERY = BIT(VALUE_WORKDIR),
	OF_ONE = EVERY | BIT(VALUE_ID),
	TIMEOUT_MAX = 3600,
};

struct reading {
	const char *file;
	const char *name; /* the provider's */
	const char *deed; /* "create", or NULL */
	unsigned allowed;
	struct error *err;
};

/* "FILE:3:5: sandboxes.providers.acme.http.create.path WHAT" */
static int wrong(const struct reading *r, const struct toml_value *v,
		 const char *what)
{
	return error_set(r->err, ERR_CONFIG,
			 "%s:%d:%d: sandboxes.providers.%.64s.http%s%s.%.60s "
			 "%s",
			 r->file, v->line, v->column, r->name,
			 r->deed ? "." : "", r->deed ? r->deed : "",
			 v->key ? v->key : "(item)", what);
}

static int string(const struct reading *r, const struct toml_value *v,
		  const char **out)
{
	if (v->kind != TOML_STRING || strlen(v->text) != v->text_len)
		return wrong(r, v, "must be a string");
	*out = v->text;
	return 0;
}

static int template(const struct reading *r, const struct toml_value *v,
		    const char **out)
{
	struct error why = { 0 };

	if (string(r, v, out) < 0)
		return -1;
	if (http_provider_check(*out, r->allowed, &why) < 0)
		return wrong(r, v, why.message);
	return 0;
}

static int pointer(const struct reading *r, const struct toml_value *v,
		   const char **out)
{
	if (string(r, v, out) < 0)
		return -1;
	return http_provider_pointer_ok(*out)
		       ? 0
		       : wrong(r, v,
			       "must be a JSON pointer, such as \"/data/id\"");
}

/* Every string of a body, with a bounded depth. */
static int body(const struct reading *r, const struct toml_value *v, int depth)
{
	const char *ignored = NULL;

	if (depth > 30)
		return wrong(r, v, "is nested too deep");
	if (v->kind == TOML_STRING)
		return template(r, v, &ignored);
	if (v->kind == TOML_FLOAT && !isfinite(v->real))
		return wrong(r, v, "must be a finite number");
	for (size_t i = 0; i < v->n_items; i++)
		if (body(r, &v->items[i], depth + 1) < 0)
			return -1;
	return 0;
}

static int method(const struct reading *r, const struct toml_value *v,
		  const char **out)
{
	static const char *const all[] = { "GET", "POST", "PUT", "PATCH",
					   "DELETE" };

	if (string(r, v, out) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i], *out))
			return 0;
	return wrong(r, v, "must be GET, POST, PUT, PATCH or DELETE");
}

static int path(const struct reading *r, const struct toml_value *v,
		const char **out)
{
	if (template(r, v, out) < 0)
		return -1;
	if ((*out)[0] != '/')
		return wrong(r, v, "must begin with /");
	for (const char *c = *out; *c; c++)
		if (*c <= ' ' || *c >= 0x7F || strchr("#\\\"<>", *c))
			return wrong(r, v, "holds what no address can");
	return 0;
}

static int states(const struct reading *r, const struct toml_value *v,
		  const struct toml_value **out)
{
	if (v->kind != TOML_ARRAY || !v->n_items)
		return wrong(r, v, "must be an array of strings");
	for (size_t i = 0; i < v->n_items; i++)
		if (v->items[i].kind != TOML_STRING)
			return wrong(r, v, "must be an array of strings");
	*out = v;
	return 0;
}

static int flag(const struct reading *r, const struct toml_value *v, bool *out)
{
	if (v->kind != TOML_BOOL)
		return wrong(r, v, "must be true or false");
	*out = v->integer;
	return 0;
}

static int seconds(const struct reading *r, const struct toml_value *v,
		   int64_t *out)
{
	if (v->kind != TOML_INT || v->integer < 1 || v->integer > TIMEOUT_MAX)
		return wrong(r, v, "must be seconds, from 1 to 3600");
	*out = v->integer;
	return 0;
}

static int encoding(const struct reading *r, const struct toml_value *v,
		    bool *base64)
{
	const char *name = NULL;

	if (string(r, v, &name) < 0)
		return -1;
	*base64 = !strcmp(name, "base64");
	return *base64 || !strcmp(name, "text")
		       ? 0
		       : wrong(r, v, "must be \"text\" or \"base64\"");
}

/* A shell string makes the command: it is the only one with {command}. */
static int shell(const struct reading *r, const struct toml_value *v,
		 const char **out)
{
	struct error why = { 0 };

	if (string(r, v, out) < 0)
		return -1;
	if (http_provider_check_shell(*out, r->allowed, &why) < 0)
		return wrong(r, v, why.message);
	return 0;
}

static const struct {
	const char *name;
	const char *method;
	unsigned allowed;
	const char *keys; /* each between spaces */
	int64_t timeout_s;
} deeds[DEEDS] = {
	[DEED_CREATE] = { "create", "POST",
			  EVERY | BIT(VALUE_LABEL) | BIT(VALUE_OWNER) |
				  BIT(VALUE_SNAPSHOT) | BIT(VALUE_LIFETIME),
			  " method path body id repeats timeout ", 120 },
	[DEED_READY] = { "ready", "GET", OF_ONE,
			 " method path body state is failed timeout ", 180 },
	[DEED_EXECUTE] = { "execute", "POST",
			   OF_ONE | BIT(VALUE_COMMAND) | BIT(VALUE_TIMEOUT),
			   " method path body shell output encoding exit_code ",
			   0 },
	[DEED_READ] = { "read", "GET", OF_ONE | BIT(VALUE_PATH),
			" method path body timeout ", 600 },
	[DEED_WRITE] = { "write", "PUT", OF_ONE | BIT(VALUE_PATH),
			 " method path timeout ", 600 },
	[DEED_DELETE] = { "delete", "DELETE", OF_ONE,
			  " method path body timeout ", 60 },
	[DEED_LIST] = { "list", "GET", EVERY | BIT(VALUE_OWNER),
			" method path body items id label owner timeout ", 60 },
};

static bool has_key(const char *keys, const char *key)
{
	const char *at = strchr(key, ' ') ? NULL : strstr(keys, key);
	size_t len = strlen(key);

	while (at && !(at > keys && at[-1] == ' ' && at[len] == ' '))
		at = strstr(at + 1, key);
	return len && at;
}

static int take(const struct reading *r, struct http_provider_request *q,
		const struct toml_value *v)
{
	const char *key = v->key;

	if (!strcmp(key, "method"))
		return method(r, v, &q->method);
	if (!strcmp(key, "path"))
		return path(r, v, &q->path);
	if (!strcmp(key, "shell"))
		return shell(r, v, &q->shell);
	if (!strcmp(key, "id"))
		return pointer(r, v, &q->id);
	if (!strcmp(key, "output"))
		return pointer(r, v, &q->output);
	if (!strcmp(key, "exit_code"))
		return pointer(r, v, &q->exit_code);
	if (!strcmp(key, "state"))
		return pointer(r, v, &q->state);
	if (!strcmp(key, "items"))
		return pointer(r, v, &q->items);
	if (!strcmp(key, "label"))
		return pointer(r, v, &q->label);
	if (!strcmp(key, "owner"))
		return pointer(r, v, &q->item_owner);
	if (!strcmp(key, "is"))
		return states(r, v, &q->is);
	if (!strcmp(key, "failed"))
		return states(r, v, &q->failed);
	if (!strcmp(key, "encoding"))
		return encoding(r, v, &q->base64);
	if (!strcmp(key, "repeats"))
		return flag(r, v, &q->repeats);
	if (!strcmp(key, "timeout"))
		return seconds(r, v, &q->timeout_s);
	if (v->kind != TOML_TABLE)
		return wrong(r, v, "must be a table");
	q->body = v;
	return body(r, v, 0);
}

static int read_deed(struct reading r, struct http_provider *p,
		     enum http_provider_deed deed,
		     const struct toml_value *table)
{
	struct http_provider_request *q = &p->deeds[deed];

	r.deed = NULL;
	if (table->kind != TOML_TABLE)
		return wrong(&r, table, "must be a table");
	r.deed = deeds[deed].name;
	r.allowed = deeds[deed].allowed;
	q->given = true;
	q->method = deeds[deed].method;
	q->timeout_s = deeds[deed].timeout_s;
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];

		if (!has_key(deeds[deed].keys, v->key))
			return wrong(&r, v, "is not known");
		if (take(&r, q, v) < 0)
			return -1;
	}
	return q->path ? 0
		       : error_set(r.err, ERR_CONFIG,
				   "%s:%d:%d: sandboxes.providers.%.64s.http."
				   "%s has no path",
				   r.file, table->line, table->column, r.name,
				   r.deed);
}

static int read_headers(const struct reading *r, struct http_provider *p,
			const struct toml_value *table)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";
	const char *ignored = NULL;

	if (table->kind != TOML_TABLE)
		return wrong(r, table, "must be a table");
	if (table->n_items > REST_HEADERS)
		return wrong(r, table, "holds too many headers");
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];

		if (!v->key_len || strspn(v->key, token) != v->key_len)
			return wrong(r, v, "is no name of a header");
		if (template(r, v, &ignored) < 0)
			return -1;
	}
	p->headers = table;
	return 0;
}

static int read_key(const struct reading *r, struct http_provider *p,
		    const struct toml_value *v)
{
	if (!strcmp(v->key, "base"))
		return template(r, v, &p->base);
	if (!strcmp(v->key, "headers"))
		return read_headers(r, p, v);
	for (int i = 0; i < DEEDS; i++)
		if (!strcmp(v->key, deeds[i].name))
			return read_deed(*r, p, (enum http_provider_deed)i, v);
	return wrong(r, v, "is not known");
}

static int missing(const struct reading *r, const struct toml_value *http,
		   const char *what)
{
	return error_set(r->err, ERR_CONFIG,
			 "%s:%d:%d: sandboxes.providers.%.64s.http has no %s",
			 r->file, http->line, http->column, r->name, what);
}

int http_provider_read(struct http_provider *p, const char *file,
		       struct error *err)
{
	const struct toml_value *http = p->d.http;
	struct reading r = { file, p->d.name, NULL, EVERY, err };
	const struct http_provider_request *d = p->deeds;

	for (size_t i = 0; i < http->n_items; i++)
		if (read_key(&r, p, &http->items[i]) < 0)
			return -1;
	if (!p->base)
		return missing(&r, http, "base");
	if (!d[DEED_CREATE].given || !d[DEED_CREATE].id)
		return missing(&r, http, "create with path and id");
	if (!d[DEED_EXECUTE].given)
		return missing(&r, http, "execute");
	if (!d[DEED_DELETE].given)
		return missing(&r, http, "delete");
	if (d[DEED_READY].given && (!d[DEED_READY].state != !d[DEED_READY].is))
		return missing(&r, http, "ready with both state and is");
	if (d[DEED_LIST].given && (!d[DEED_LIST].id || !d[DEED_LIST].label))
		return missing(&r, http, "list with id and label");
	return 0;
}
