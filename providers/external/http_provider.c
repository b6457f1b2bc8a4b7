/* http_provider.c - a REST provider that config.toml describes by templates. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/http_provider.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"

enum {
	POLL_MS = 500, /* at first; doubled each time */
	POLL_MOST_MS = 4000,
	HEADER_MAX = 16 << 10,
	LIFETIME_S = 3600,
	COMMAND_MAX = 32 << 10, /* 80 KiB once encoded */
};

static int set_base(struct http_provider_config *t,
		    const struct http_provider_values *v, struct error *err)
{
	struct buf base = BUF_INIT(4096);
	struct str s;
	int rc = http_provider_expand(&base, t->p->base, PLACE_BASE, v, err);

	s = buf_str(&base);
	if (rc == 0 && (base.over || !rest_url_ok(s))) {
		error_set(err, ERR_CONFIG,
			  "base is no address that a key may be sent to");
		rc = error_hint(err, "Use https://..., or http:// on a "
				     "loopback address.");
	}
	while (str_ends(s, "/"))
		s.len--;
	if (rc == 0)
		t->rest.base = xstrndup(s.ptr, s.len);
	buf_wipe(&base);
	return rc;
}

static int set_headers(struct http_provider_config *t,
		       const struct http_provider_values *v, struct error *err)
{
	const struct toml_value *all = t->p->headers;
	int rc = 0;

	for (size_t i = 0; rc == 0 && all && i < all->n_items; i++) {
		struct buf value = BUF_INIT(HEADER_MAX);

		rc = http_provider_expand(&value, all->items[i].text,
					  PLACE_HEADER, v, err);
		if (rc == 0)
			rc = buf_check(&value, all->items[i].key, err);
		if (rc == 0)
			rc = rest_header(&t->rest, all->items[i].key,
					 value.len ? value.ptr : "", err);
		buf_wipe(&value);
	}
	return rc;
}

static int open_host(struct sandbox_client *host, const struct settings *set,
		     struct error *err)
{
	struct http_provider_config *t = xcalloc(1, sizeof(*t));
	struct http_provider_values v;

	host->priv = t;
	t->p = (const struct http_provider *)host->provider;
	t->settings = set;
	t->rest.http = host->http;
	v = http_provider_values(host, NULL);
	v.project_key = &host->project_key;
	if (set_base(t, &v, err) < 0 || set_headers(t, &v, err) < 0)
		return -1;
	host->endpoint = t->rest.base;
	return 0;
}

static void close_host(struct sandbox_client *host)
{
	struct http_provider_config *t = http_provider_of(host);

	if (!t)
		return;
	rest_release(&t->rest);
	free(t);
	host->priv = NULL;
	host->endpoint = NULL;
}

/* Text that a pointer names, a number too; owned, or NULL. */
static char *text_at(const cJSON *tree, const char *pointer)
{
	const cJSON *v = http_provider_point(tree, pointer);

	if (cJSON_IsString(v))
		return xstrdup(v->valuestring);
	if (cJSON_IsNumber(v))
		return xasprintf("%.0f", v->valuedouble);
	if (cJSON_IsBool(v))
		return xstrdup(cJSON_IsTrue(v) ? "true" : "false");
	return NULL;
}

static bool one_of(const struct toml_value *list, const char *state)
{
	for (size_t i = 0; list && i < list->n_items; i++)
		if (!strcmp(list->items[i].text, state))
			return true;
	return false;
}

/* 1 ready, 0 not yet, -1 never. */
static int judge_state(const struct http_provider_request *q, const cJSON *tree,
		       struct error *err)
{
	char *state = q->state ? text_at(tree, q->state) : NULL;
	int rc = 0;

	if (!q->state || (state && one_of(q->is, state)))
		rc = 1;
	else if (!state)
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no state at %s", q->state);
	else if (one_of(q->failed, state))
		rc = error_set(err, ERR_REMOTE,
			       "the sandbox is in the state '%.80s'", state);
	free(state);
	return rc;
}

/* Asks until it is ready. gone: it must be there. */
static int until_ready(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	struct http_provider_config *t = http_provider_of(sb->host);
	const struct http_provider_request *q = &t->p->deeds[DEED_READY];
	struct stop limit = stop_within(stop, q->timeout_s * 1000);
	int64_t pause = POLL_MS;
	int state = q->given ? 0 : 1;

	while (state == 0) {
		struct http_provider_call c = {
			.deed = DEED_READY,
			.values = http_provider_values(sb->host, sb),
			.flags = REST_AGAIN,
			.timeout_ms = 30000,
		};
		cJSON *tree = NULL;

		if (http_provider_ask(t, &c, &tree, &limit, err) < 0)
			state = -1;
		else
			state = judge_state(q, tree, err);
		cJSON_Delete(tree);
		if (state == 0 && stop_sleep(&limit, pause, err) < 0)
			state = -1;
		pause = pause < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
	}
	if (state < 0 && err->code == ERR_TIMEOUT &&
	    clock_ms() < stop->deadline)
		error_set(err, ERR_TIMEOUT,
			  "the sandbox was not ready within %" PRId64 " s",
			  q->timeout_s);
	return state < 0 ? -1 : 0;
}

static int take_id(struct sandbox *sb, const cJSON *tree, struct error *err)
{
	const struct http_provider_config *t = http_provider_of(sb->host);
	const char *pointer = t->p->deeds[DEED_CREATE].id;
	char *id = text_at(tree, pointer);

	if (id && provider_config_id_ok(id)) {
		sb->id = id;
		return 0;
	}
	free(id);
	return error_set(err, ERR_PROTOCOL,
			 "the answer has no id of a sandbox at %s", pointer);
}

static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	struct http_provider_config *t = http_provider_of(sb->host);
	struct http_provider_call c = {
		.deed = DEED_CREATE,
		.values = http_provider_values(sb->host, NULL),
	};
	cJSON *tree = NULL;
	char lifetime[24];
	int rc;

	snprintf(lifetime, sizeof(lifetime), "%" PRId64, spec->lifetime_s);
	c.values.is[VALUE_LABEL] = str_of(spec->label);
	c.values.is[VALUE_OWNER] = str_of(spec->owner);
	c.values.is[VALUE_SNAPSHOT] = str_of(spec->snapshot);
	c.values.is[VALUE_LIFETIME] = str_of(lifetime);
	rc = http_provider_ask(t, &c, &tree, stop, err);
	/* A value is missing: nothing was sent. */
	if (rc < 0 && !c.status &&
	    (err->code == ERR_AUTH || err->code == ERR_CONFIG))
		err->nothing_made = true;
	if (rc == 0)
		rc = take_id(sb, tree, err);
	/* Only what was refused makes no second one when it is sent again,
	 * unless the service is said to take care of that. */
	if (rc < 0 && !t->p->deeds[DEED_CREATE].repeats &&
	    !retry_was_refused(err))
		err->exhausted = true;
	cJSON_Delete(tree);
	if (rc == 0)
		rc = until_ready(sb, stop, err);
	if (rc == 0)
		http_provider_find_held(sb, stop);
	return rc;
}

static int not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "there is no sandbox '%.100s'",
			 id);
}

static int attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err)
{
	const struct http_provider_config *t = http_provider_of(sb->host);
	struct exec_request req = { .command = STR(":"), .plain = true };
	struct exec_result res;
	int rc;

	if (!provider_config_id_ok(id))
		return not_found(id, err);
	sb->id = xstrdup(id);
	if (t->p->deeds[DEED_READY].given)
		rc = until_ready(sb, stop, err);
	else
		rc = http_provider_execute(sb, &req, &res, stop, err);
	if (rc < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_GONE))
		return not_found(id, err);
	if (rc == 0)
		http_provider_find_held(sb, stop);
	return rc;
}

static int remove_box(struct sandbox_client *host, const char *id,
		      const struct stop *stop, struct error *err)
{
	struct http_provider_config *t = http_provider_of(host);
	struct http_provider_call c = {
		.deed = DEED_DELETE,
		.values = http_provider_values(host, NULL),
		.flags = REST_MISSING_OK,
	};
	struct http_response res = { 0 };
	int rc;

	if (!provider_config_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no id", id);
	c.values.is[VALUE_ID] = str_of(id);
	rc = http_provider_send(t, &c, &res, stop, err);
	if (c.status == 404 || c.status == 410)
		rc = 1;
	http_response_release(&res);
	return rc;
}

static void discard(struct sandbox *sb)
{
	sb->priv = NULL;
}

static void free_provider(struct made_provider *made)
{
	struct http_provider *p = (struct http_provider *)made;

	provider_config_release(&p->d);
	free(p);
}

static const char *file_of(const struct provider_config *d, char *room,
			   size_t size)
{
	const char *colon = strrchr(d->origin, ':');

	snprintf(room, size, "%.*s",
		 (int)(colon ? colon - d->origin : (long)strlen(d->origin)),
		 d->origin);
	return room;
}

struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err)
{
	struct http_provider *p = xcalloc(1, sizeof(*p));
	char file[4096];

	p->d = *d;
	*d = (struct provider_config){ 0 };
	if (http_provider_read(p, file_of(&p->d, file, sizeof(file)), err) <
	    0) {
		free_provider(&p->made);
		return NULL;
	}
	p->ops = (struct sandbox_ops){
		.open = open_host,
		.close = close_host,
		.create = create,
		.attach = attach,
		.list = p->deeds[DEED_LIST].given ? http_provider_list : NULL,
		.execute = http_provider_execute,
		.upload = p->deeds[DEED_WRITE].given ? http_provider_upload
						     : NULL,
		.download = p->deeds[DEED_READ].given ? http_provider_download
						      : NULL,
		.remove = remove_box,
		.discard = discard,
	};
	p->made.free = free_provider;
	p->made.base = (struct sandbox_provider){
		.name = p->d.name,
		.summary = "a REST service that config.toml describes",
		.workdir = p->d.workdir ? p->d.workdir : "/workspace",
		.flags = (p->d.flags & ~(unsigned)SANDBOX_LIST) | SANDBOX_LIVE |
			 (p->ops.list ? SANDBOX_LIST : 0),
		.max_command = COMMAND_MAX,
		.lifetime_s = LIFETIME_S,
		.ops = &p->ops,
	};
	return &p->made;
}
