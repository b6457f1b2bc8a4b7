/* model_open.c - a conversation with a model begins, and ends. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/model_state.h"
#include "model/presets.h"
#include "model/request_url.h"

enum { IDLE_MS = 120000 /* where the choice has no idle_ms */ };

static char *copy(const char *s)
{
	return xstrdup(s);
}

static void copy_choice(struct model_choice *to, const struct model_choice *c)
{
	*to = (struct model_choice){
		.provider = copy(c->provider),
		.model = copy(c->model),
		.wire = copy(c->wire),
		.base_url = copy(c->base_url),
		.version = copy(c->version),
		.url_from = copy(c->url_from),
		.api_key = copy(c->api_key),
		.key_env = copy(c->key_env),
		.key_from = copy(c->key_from),
		.params = copy(c->params),
		.lacks = c->lacks,
		.vertex = c->vertex, /* borrowed: see model_close() */
		.max_retries = c->max_retries,
		.busy_ms = c->busy_ms,
		.idle_ms = c->idle_ms > 0 ? c->idle_ms : IDLE_MS,
		.backoff_ms = c->backoff_ms,
	};
}

static void add_header(struct model *m, const char *name, const char *value)
{
	if (m->n_headers < MAX_HEADERS)
		m->headers[m->n_headers++] = xasprintf("%s%s", name, value);
}

/* Gateways pass on what the vendor behind them has signed: of
 * "anthropic/claude-opus-5" the vendor counts. */
static char *make_origin(const struct wire *wire, const struct model_choice *c)
{
	const char *slash = c->model ? strrchr(c->model, '/') : NULL;

	return xasprintf("%s %s%s%.*s", wire->name,
			 c->provider ? c->provider : "", slash ? " " : "",
			 slash ? (int)(slash - c->model) : 0, c->model);
}

/* A value that would end its line must not begin another header. */
static bool one_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7F)
			return false;
	return true;
}

/* default_headers and betas are what Python's clients call them. */
static int param_headers(struct model *m, const cJSON *params,
			 struct error *err)
{
	const cJSON *item;
	const cJSON *betas = json_get(params, "betas");

	cJSON_ArrayForEach (item, json_get(params, "default_headers")) {
		if (!cJSON_IsString(item) || !item->string ||
		    !item->string[0] || strpbrk(item->string, ": \r\n") ||
		    !one_line(item->valuestring))
			return error_set(err, ERR_CONFIG,
					 "default_headers of provider %s: each "
					 "header needs one line of text",
					 m->choice.provider);
		if (m->n_headers < MAX_HEADERS)
			m->headers[m->n_headers++] = xasprintf(
				"%s: %s", item->string, item->valuestring);
	}
	cJSON_ArrayForEach (item, betas)
		if (cJSON_IsString(item) && one_line(item->valuestring))
			add_header(m, m->wire->betas, item->valuestring);
	return 0;
}

static int make_headers(struct model *m, const cJSON *params, struct error *err)
{
	const struct model_choice *c = &m->choice;

	if (c->api_key && !one_line(c->api_key))
		return error_set(err, ERR_CONFIG,
				 "the key in %s contains a line break or "
				 "control character",
				 c->key_env ? c->key_env : "use");
	add_header(m, "Content-Type: ", "application/json");
	add_header(m, "Accept: ",
		   m->wire->aws ? "application/vnd.amazon.eventstream"
				: "text/event-stream");
	if (c->api_key)
		add_header(m, request_key_header(m->wire, c), c->api_key);
	if (m->wire->version)
		add_header(m, m->wire->version, "");
	return param_headers(m, params, err);
}

int model_open(struct model **out, struct http *http,
	       const struct model_choice *choice,
	       const struct model_brief *brief, struct error *err)
{
	const struct preset *preset =
		preset_find(choice->provider ? choice->provider : "");
	struct model *m = xcalloc(1, sizeof(*m));
	cJSON *params =
		json_parse(str_of(choice->params ? choice->params : "{}"));
	struct model_brief fitted = *brief;
	struct wire_head in = { &m->choice, params, &fitted };
	int rc = -1;

	m->http = http;
	m->wire = wire_find(choice->wire);
	m->head = BUF_INIT(MAX_HEAD);
	m->history.bytes = BUF_INIT(MAX_HISTORY);
	m->history.calls_alone = preset && preset->calls_alone;
	m->history.wants_thoughts = preset && preset->thoughts;
	m->history.lacks = choice->lacks;
	m->aws = choice->aws;
	copy_choice(&m->choice, choice);
	if (!m->wire) {
		error_set(err, ERR_CONFIG, "unknown wire protocol \"%s\"",
			  choice->wire);
		goto out;
	}
	if (!cJSON_IsObject(params)) {
		error_set(err, ERR_CONFIG,
			  "the parameters of model %s are not a JSON object",
			  choice->model);
		goto out;
	}
	m->origin = make_origin(m->wire, choice);
	m->url = request_url(m->wire, choice);
	m->system = copy(brief->system);
	m->cache_key = copy(brief->cache_key);
	if (m->wire->begin)
		m->wire->begin(choice, &m->history);
	m->tools = tool_set_new(&m->choice, m->origin, brief->tools,
				brief->n_tools);
	if (m->tools)
		fitted.tools = tool_set_list(m->tools, &fitted.n_tools);
	model_note_offered(m, fitted.tools, fitted.n_tools);
	if (make_headers(m, params, err) < 0)
		goto out;
	account_begin(&m->account, brief->meter, &m->options);
	params_clean(m->wire, &m->choice, params, &m->options);
	m->wire->head(&in, &m->head);
	rc = buf_check(&m->head, "the system prompt with its tools", err);
	if (rc == 0)
		rc = account_find_limit(&m->account, &m->options, params,
					&m->head, err);
out:
	cJSON_Delete(params);
	if (rc < 0)
		model_close(m);
	else
		*out = m;
	return rc;
}

void model_close(struct model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_headers; i++) {
		explicit_bzero(m->headers[i], strlen(m->headers[i]));
		free(m->headers[i]);
	}
	free(m->origin);
	free(m->url);
	free(m->system);
	free(m->cache_key);
	tool_set_free(m->tools);
	buf_release(&m->head);
	buf_release(&m->offered);
	buf_release(&m->history.bytes);
	call_ids_release(&m->call_ids);
	m->choice.vertex = NULL;
	model_choice_release(&m->choice);
	free(m);
}
