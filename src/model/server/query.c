/* query.c - what a model's server says of its models. */
/* SPDX-License-Identifier: MIT */
/* Members and paths, read 2026-11-23: platform.claude.com/docs, "Models";
 * ai.google.dev/api/models; openrouter.ai/docs, "Models"; vLLM's
 * entrypoints/openai/protocol.py (ModelCard); llama.cpp,
 * tools/server/README.md; lmstudio.ai/docs/app/api/endpoints/rest; ollama,
 * docs/api.md; console.groq.com and docs.mistral.ai, "Models". */
#include "model/server/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_split.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/model_state.h"
#include "net/http.h"

enum {
	CONNECT_MS = 5000,
	MAX_ENTRY = 64 << 10, /* bytes of one model in a list */
	MAX_ANSWER = 4 << 20, /* bytes of an answer about one model */
};

struct server_query {
	struct http *http; /* borrowed */
	const struct wire *wire;
	char *name;
	char *base; /* address of the API, without a slash at its end */
	char *model;
	char *headers[MAX_HEADERS + 3]; /* owned, NULL-terminated */
	bool mute;                      /* there is nothing to ask here */
};

/* The user may have given the whole address of requests. */
static char *cut_path(const char *url, const char *path)
{
	struct str base = str_of(url);

	if (path && str_ends(base, path))
		base.len -= strlen(path);
	while (base.len && base.ptr[base.len - 1] == '/')
		base.len--;
	return xstrndup(base.ptr, base.len);
}

struct server_query *server_query_new(const struct model *m)
{
	const struct model_choice *c = &m->choice;
	struct server_query *q = xcalloc(1, sizeof(*q));
	size_t n = 0;

	q->http = m->http;
	q->wire = m->wire;
	q->base = cut_path(c->base_url, m->wire->path);
	q->model = xstrdup(c->model);
	q->name = xasprintf("%s %s %s", m->wire->name, c->base_url, c->model);
	/* Their lists are elsewhere, or of what has other names here. */
	q->mute = m->wire->aws || c->vertex || c->version ||
		  (c->provider && strcmp(c->provider, "azure_openai") == 0);
	for (size_t i = 0; i < m->n_headers; i++)
		if (strncasecmp(m->headers[i], "Accept:", 7) != 0)
			q->headers[n++] = xstrdup(m->headers[i]);
	q->headers[n] = xstrdup("Accept: application/json");
	return q;
}

void server_query_free(struct server_query *q)
{
	if (!q)
		return;
	for (size_t i = 0; q->headers[i]; i++)
		mem_wipe(q->headers[i]);
	free(q->name);
	free(q->base);
	free(q->model);
	free(q);
}

const char *server_query_name(const struct server_query *q)
{
	return q->name;
}

static int refuse(struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
			 "the server does not list its models");
}

static int send_query(const struct server_query *q, struct http_request *req,
		      struct http_response *res, const struct stop *stop,
		      struct error *err)
{
	int rc;

	req->headers = (const char *const *)q->headers;
	req->connect_ms = CONNECT_MS;
	req->flags = HTTP_PROBE;
	res->body.max = MAX_ANSWER;
	rc = http_do(q->http, req, res, stop, err);
	if (rc == 0 && res->status >= 300)
		rc = http_status_error(res, NULL, err);
	return rc;
}

/* The object that answers, or NULL. The caller deletes it. */
static cJSON *get_object(const struct server_query *q, const char *url,
			 const char *body, const struct stop *stop,
			 struct error *err)
{
	struct str text = str_of(body ? body : "");
	struct http_response res = { 0 };
	struct http_request req = { .method = body ? "POST" : "GET",
				    .url = url,
				    .segments = &text,
				    .n_segments = body ? 1 : 0 };
	cJSON *tree = NULL;

	if (send_query(q, &req, &res, stop, err) == 0 &&
	    json_split_is_object(buf_str(&res.body)))
		tree = json_parse(buf_str(&res.body));
	if (!tree && !err->code)
		(void)refuse(err);
	http_response_release(&res);
	return tree;
}

struct model_list {
	struct json_split *split;
	void (*each)(void *arg, const cJSON *model);
	void *arg;
};

static int on_value(void *arg, const struct json_split_key *key,
		    struct str text, const cJSON *tree, int64_t line,
		    struct error *err)
{
	const struct model_list *l = arg;

	(void)key;
	(void)text;
	(void)line;
	(void)err;
	if (cJSON_IsObject(tree))
		l->each(l->arg, tree);
	return 0;
}

static int on_chunk(void *arg, struct str chunk, struct error *err)
{
	const struct model_list *l = arg;

	return json_split_feed(l->split, chunk, err);
}

/* Each entry of a list, which may be long, as it comes. */
static int get_list(const struct server_query *q, const char *url,
		    void (*each)(void *arg, const cJSON *model), void *arg,
		    const struct stop *stop, struct error *err)
{
	static const struct json_split_key keys[] = {
		{ "data", true, MAX_ENTRY },
		{ "models", true, MAX_ENTRY },
		{ 0 },
	};
	struct model_list l = { .each = each, .arg = arg };
	const struct json_split_sink sink = { on_value, &l };
	struct http_response res = { 0 };
	struct http_request req = {
		.method = "GET", .url = url, .data = on_chunk, .arg = &l
	};
	int rc;

	l.split = json_split_new(keys, &sink);
	rc = send_query(q, &req, &res, stop, err);
	json_split_free(l.split);
	http_response_release(&res);
	return rc;
}

/* The id of an entry; Gemini's are "models/gemini-...". */
static const char *entry_name(const cJSON *model)
{
	const char *id = json_string(model, "id", NULL);

	if (!id)
		id = json_string(model, "name", "");
	return strncmp(id, "models/", 7) == 0 ? id + 7 : id;
}

/* The first of these members that is a number above 0. */
static int64_t first_number(const cJSON *model, const char *const *names)
{
	int64_t found = 0;

	for (; *names && found <= 0; names++) {
		const char *dot = strchr(*names, '.');
		char group[32];

		if (!dot) {
			found = json_int(model, *names, 0);
			continue;
		}
		snprintf(group, sizeof(group), "%.*s", (int)(dot - *names),
			 *names);
		found = json_int(json_get(model, group), dot + 1, 0);
	}
	return found > 0 ? found : 0;
}

/* What runs stands before what the model could have. */
static struct server_limits read_limits(const cJSON *model)
{
	static const char *const contexts[] = {
		"loaded_context_length",       /* LM Studio */
		"max_model_len",               /* vLLM, SGLang */
		"top_provider.context_length", /* OpenRouter */
		"meta.n_ctx",                  /* llama.cpp */
		"default_generation_settings.n_ctx",
		"context_length",     /* OpenRouter, Together, Fireworks */
		"context_window",     /* Groq */
		"max_context_length", /* Mistral, LM Studio */
		"max_input_tokens",   /* Anthropic */
		"inputTokenLimit",    /* Gemini */
		"meta.n_ctx_train",
		NULL,
	};
	static const char *const outputs[] = {
		"top_provider.max_completion_tokens",
		"max_completion_tokens",
		"max_output_tokens",
		"outputTokenLimit",
		"max_tokens",
		NULL,
	};

	return (struct server_limits){ first_number(model, contexts),
				       first_number(model, outputs) };
}

struct seeking {
	const char *model;
	struct server_limits exact, any; /* of its entry, and of the last one */
	size_t n;
	bool found;
	char owner[32]; /* owned_by of the last, which tells the server */
};

/* Ollama's "qwen3" is "qwen3:latest". */
static bool is_model(const char *name, const char *model)
{
	size_t n = strlen(model);

	return strncmp(name, model, n) == 0 &&
	       (!name[n] || strcmp(name + n, ":latest") == 0);
}

static void compare_entry(void *arg, const cJSON *model)
{
	struct seeking *s = arg;

	s->n++;
	s->any = read_limits(model);
	snprintf(s->owner, sizeof(s->owner), "%s",
		 json_string(model, "owned_by", ""));
	if (s->found || !is_model(entry_name(model), s->model))
		return;
	s->exact = s->any;
	s->found = true;
}

/* A number that the model was given (num_ctx), or what it was made for. */
static int64_t ollama_context(const cJSON *shown)
{
	const char *given = json_string(shown, "parameters", "");
	const cJSON *item;

	for (given = strstr(given, "num_ctx"); given;
	     given = strstr(given + 1, "num_ctx")) {
		struct str rest = str_trim(str_of(given + strlen("num_ctx")));
		int64_t n;

		rest.len = str_find(rest, '\n');
		if (str_to_int(str_trim(rest), &n) && n > 0)
			return n;
	}
	cJSON_ArrayForEach (item, json_get(shown, "model_info"))
		if (item->string &&
		    str_ends(str_of(item->string), ".context_length"))
			return json_int(json_get(shown, "model_info"),
					item->string, 0);
	return 0;
}

static void ask_ollama(const struct server_query *q, const char *root,
		       struct server_limits *out, const struct stop *stop,
		       struct error *err)
{
	char *url = xasprintf("%s/api/show", root);
	struct buf body = BUF_INIT(1 << 12);
	cJSON *tree;

	buf_addc(&body, '{');
	json_member(&body, "model", str_of(q->model));
	buf_addc(&body, '}');
	tree = get_object(q, url, body.ptr, stop, err);
	if (tree)
		out->context = ollama_context(tree);
	cJSON_Delete(tree);
	buf_release(&body);
	free(url);
}

static void ask_lm_studio(const struct server_query *q, const char *root,
			  struct server_limits *out, const struct stop *stop,
			  struct error *err)
{
	char *url = xasprintf("%s/api/v0/models", root);
	struct seeking s = { .model = q->model };

	if (get_list(q, url, compare_entry, &s, stop, err) == 0)
		*out = s.exact;
	free(url);
}

static void ask_llama(const struct server_query *q, const char *root,
		      struct server_limits *out, const struct stop *stop,
		      struct error *err)
{
	char *url = xasprintf("%s/props", root);
	cJSON *tree = get_object(q, url, NULL, stop, err);
	int64_t context = tree ? read_limits(tree).context : 0;

	if (context > 0)
		out->context = context;
	cJSON_Delete(tree);
	free(url);
}

/* Servers for one's own machine say more in a protocol of their own, which
 * stands beside OpenAI's. */
static void ask_beside(const struct server_query *q, const struct seeking *s,
		       struct server_limits *out, const struct stop *stop)
{
	static const struct {
		const char *owner;
		void (*ask)(const struct server_query *q, const char *root,
			    struct server_limits *out, const struct stop *stop,
			    struct error *err);
	} servers[] = {
		{ "library", ask_ollama },
		{ "organization_owner", ask_lm_studio },
		{ "llamacpp", ask_llama },
	};
	struct str base = str_of(q->base);
	struct error ignored = { 0 };
	char *root;

	if (!str_ends(base, "/v1"))
		return;
	root = xstrndup(base.ptr, base.len - strlen("/v1"));
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (strcmp(s->owner, servers[i].owner) == 0)
			servers[i].ask(q, root, out, stop, &ignored);
	/* nobody's name: Ollama's own models have no owner that is known */
	if (!out->context && s->found && !stop_check(stop, &ignored))
		ask_ollama(q, root, out, stop, &ignored);
	free(root);
}

static char *list_url(const struct server_query *q, const char *query)
{
	bool claude = q->wire == &wire_anthropic;

	return xasprintf("%s%s/models%s", q->base,
			 claude && !str_ends(str_of(q->base), "/v1") ? "/v1"
								     : "",
			 query);
}

static int limits_in_list(const struct server_query *q,
			  struct server_limits *out, const struct stop *stop,
			  struct error *err)
{
	struct seeking s = { .model = q->model };
	char *url = list_url(q, "");
	int rc = get_list(q, url, compare_entry, &s, stop, err);

	free(url);
	if (rc < 0)
		return -1;
	/* a server of one model may call it as it likes */
	*out = s.found || s.n != 1 ? s.exact : s.any;
	if (!out->context || strcmp(s.owner, "llamacpp") == 0)
		ask_beside(q, &s, out, stop);
	return 0;
}

int server_query_limits(const struct server_query *q, struct server_limits *out,
			const struct stop *stop, struct error *err)
{
	struct buf url = BUF_INIT(SIZE_MAX / 2);
	struct error why = { 0 };
	cJSON *tree;
	char *list;
	int rc = 0;

	*out = (struct server_limits){ 0 };
	if (q->mute)
		return refuse(err);
	if (q->wire != &wire_anthropic && q->wire != &wire_gemini) {
		rc = limits_in_list(q, out, stop, &why);
	} else {
		list = list_url(q, "/");
		buf_adds(&url, list);
		wire_escape(&url, q->model, "/");
		tree = get_object(q, url.ptr, NULL, stop, &why);
		if (tree)
			*out = read_limits(tree);
		rc = tree ? 0 : -1;
		cJSON_Delete(tree);
		buf_release(&url);
		free(list);
	}
	if (rc < 0)
		*err = why;
	return rc < 0 || out->context ? rc : refuse(err);
}

struct name_sink {
	void (*each)(void *arg, const char *name);
	void *arg;
};

static void on_entry(void *arg, const cJSON *model)
{
	const struct name_sink *n = arg;

	n->each(n->arg, entry_name(model));
}

int server_query_names(const struct server_query *q,
		       void (*each)(void *arg, const char *name), void *arg,
		       const struct stop *stop, struct error *err)
{
	struct name_sink n = { each, arg };
	char *url;
	int rc;

	if (q->mute)
		return refuse(err);
	url = list_url(q, q->wire == &wire_anthropic ? "?limit=1000"
			  : q->wire == &wire_gemini  ? "?pageSize=1000"
						     : "");
	rc = get_list(q, url, on_entry, &n, stop, err);
	free(url);
	return rc;
}
