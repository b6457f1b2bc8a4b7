/* server.c - asks a model's server for model names and sizes of context
 * windows. */
/* SPDX-License-Identifier: MIT */
/* Two queries, both apart from the conversation's requests: the context window
 * of this model (server_query_limits()) and the names that the server lists
 * (server_query_names()). Begin reading at server_query_limits(): OpenAI's list
 * of models does not have windows, so each server adds a member or a path of
 * its own. The window is queried on a thread after the first answer (struct
 * window_probe) and cached in a file for later runs. Names are queried after a
 * server refused a model's name, to suggest the nearest one. Sources of members
 * and paths, read 2026-11-23: platform.claude.com/docs, "Models";
 * ai.google.dev/api/models; openrouter.ai/docs, "Models"; vLLM's
 * entrypoints/openai/protocol.py (ModelCard); llama.cpp,
 * tools/server/README.md; lmstudio.ai/docs/app/api/endpoints/rest; ollama,
 * docs/api.md; console.groq.com and docs.mistral.ai, "Models". */
#include "model/server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "model/model_state.h"
#include "net/http.h"

enum {
	CONNECT_MS = 5000,
	MAX_ENTRY = 64 << 10, /* bytes of one model in a list */
	MAX_ANSWER = 4 << 20, /* bytes of an answer about one model */
};

/* What a query needs. All of it is copied, because a query may outlive the
 * model. */
struct server_query {
	struct http *http; /* borrowed */
	const struct wire *wire;
	char *name; /* name under which the answer is cached in the file */
	char *base; /* address of the API, without a trailing slash */
	char *model;
	char *headers[MAX_HEADERS + 3]; /* owned, NULL-terminated */
	bool mute;                      /* the server has no usable list */
};

struct model_list {
	struct json_split *split;
	void (*each)(void *arg, const cJSON *model);
	void *arg;
};

struct limits_search {
	const char *model;
	/* exact: limits in the model's own entry; any: in the last entry */
	struct server_limits exact, any;
	size_t n; /* number of entries in the list */
	bool found;
	/* owned_by of the last entry: tells which server software it is */
	char owner[32];
};

struct name_sink {
	void (*each)(void *arg, const char *name);
	void *arg;
};

/* Returns url without trailing slashes and, if it ends with path, without that.
 * Owned. */
static char *cut_path(const char *url, const char *path)
{
	struct str base = str_of(url);

	if (path && str_ends(base, path))
		base.len -= strlen(path);
	while (base.len && base.ptr[base.len - 1] == '/')
		base.len--;
	return xstrndup(base.ptr, base.len);
}

/* Makes a query for a model's server from copies of what it needs. */
static struct server_query *server_query_new(const struct model *m)
{
	const struct model_choice *c = &m->choice;
	struct server_query *q = xcalloc(1, sizeof(*q));
	size_t n = 0;

	q->http = m->http;
	q->wire = m->wire;
	q->base = cut_path(c->base_url, m->wire->path);
	q->model = xstrdup(c->model);
	q->name = xasprintf("%s %s %s", m->wire->name, c->base_url, c->model);
	/* Bedrock and Vertex list models at another host. Azure's list has
	 * models, but requests name deployments. */
	q->mute = m->wire->aws || c->vertex || c->version ||
		  (c->provider && strcmp(c->provider, "azure_openai") == 0);
	for (size_t i = 0; i < m->n_headers; i++)
		if (strncasecmp(m->headers[i], "Accept:", 7) != 0)
			q->headers[n++] = xstrdup(m->headers[i]);
	q->headers[n] = xstrdup("Accept: application/json");
	return q;
}

static void server_query_free(struct server_query *q)
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

/* Returns the name under which the answer is cached: "openai-chat http://h/v1
 * m". Borrowed. */
static const char *server_query_name(const struct server_query *q)
{
	return q->name;
}

static int refuse_list(struct error *err)
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

/* Requests one JSON object; NULL with err. The caller deletes it. */
static cJSON *get_object(const struct server_query *q, const char *url,
			 const char *body, const struct stop *stop,
			 struct error *err)
{
	struct http_response res = { 0 };
	struct http_request req = { .method = body ? "POST" : "GET",
				    .url = url,
				    .body = str_of(body) };
	cJSON *tree = NULL;

	if (send_query(q, &req, &res, stop, err) == 0 &&
	    json_split_is_object(buf_str(&res.body)))
		tree = json_parse(buf_str(&res.body));
	if (!tree && !err->code)
		(void)refuse_list(err);
	http_response_release(&res);
	return tree;
}

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

/* Calls each for every entry as soon as it has arrived: the list may be
 * long. */
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

/* Returns the id of an entry, without Gemini's prefix "models/". */
static const char *entry_name(const cJSON *model)
{
	const char *id = json_string(model, "id", NULL);

	if (!id)
		id = json_string(model, "name", "");
	return strncmp(id, "models/", 7) == 0 ? id + 7 : id;
}

/* Returns the value of the first of these members that is a number above 0, or
 * 0 if none is. */
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

/* Reads the limits in an entry. A server may have loaded the model with a
 * smaller window than the model supports: that one counts. */
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

/* True if the listed name means the model. Ollama lists "qwen3" as
 * "qwen3:latest". */
static bool is_model(const char *name, const char *model)
{
	size_t n = strlen(model);

	return strncmp(name, model, n) == 0 &&
	       (!name[n] || strcmp(name + n, ":latest") == 0);
}

static void compare_entry(void *arg, const cJSON *model)
{
	struct limits_search *s = arg;

	s->n++;
	s->any = read_limits(model);
	snprintf(s->owner, sizeof(s->owner), "%s",
		 json_string(model, "owned_by", ""));
	if (s->found || !is_model(entry_name(model), s->model))
		return;
	s->exact = s->any;
	s->found = true;
}

/* Returns the window that the user has set in Ollama (num_ctx), else the
 * model's own. */
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

/* Asks Ollama for the model's window. */
static void query_ollama(const struct server_query *q, const char *root,
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

static void query_lm_studio(const struct server_query *q, const char *root,
			    struct server_limits *out, const struct stop *stop,
			    struct error *err)
{
	char *url = xasprintf("%s/api/v0/models", root);
	struct limits_search s = { .model = q->model };

	if (get_list(q, url, compare_entry, &s, stop, err) == 0)
		*out = s.exact;
	free(url);
}

static void query_llama(const struct server_query *q, const char *root,
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

/* Asks a local server through its own API, which tells more than OpenAI's and
 * is at the same host. */
static void query_local(const struct server_query *q,
			const struct limits_search *s,
			struct server_limits *out, const struct stop *stop)
{
	static const struct {
		const char *owner;
		void (*ask)(const struct server_query *q, const char *root,
			    struct server_limits *out, const struct stop *stop,
			    struct error *err);
	} servers[] = {
		{ "library", query_ollama },
		{ "organization_owner", query_lm_studio },
		{ "llamacpp", query_llama },
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
	/* the owner does not tell whether this is Ollama, so ask it */
	if (!out->context && s->found && !stop_check(stop, &ignored))
		query_ollama(q, root, out, stop, &ignored);
	free(root);
}

/* Returns the address of the list. The base address of Anthropic's wire need
 * not end with "/v1", so that is added; OpenAI's ends with it. */
static char *list_url(const struct server_query *q, const char *query)
{
	bool claude = q->wire == &wire_anthropic;

	return xasprintf("%s%s/models%s", q->base,
			 claude && !str_ends(str_of(q->base), "/v1") ? "/v1"
								     : "",
			 query);
}

/* Finds the model's limits in the server's list of models. If the list has no
 * window, or the server is llama.cpp, also asks the local server's own API. */
static int limits_in_list(const struct server_query *q,
			  struct server_limits *out, const struct stop *stop,
			  struct error *err)
{
	struct limits_search s = { .model = q->model };
	char *url = list_url(q, "");
	int rc = get_list(q, url, compare_entry, &s, stop, err);

	free(url);
	if (rc < 0)
		return -1;
	/* If the server lists only one model, it is this one under another
	 * name. */
	*out = s.found || s.n != 1 ? s.exact : s.any;
	if (!out->context || strcmp(s.owner, "llamacpp") == 0)
		query_local(q, &s, out, stop);
	return 0;
}

/* Asks the server for the limits of this model, with up to four requests. -1
 * with err if the server does not tell them. Never writes to the terminal. Not
 * thread-safe. */
static int server_query_limits(const struct server_query *q,
			       struct server_limits *out,
			       const struct stop *stop, struct error *err)
{
	struct buf url = BUF_INIT(SIZE_MAX / 2);
	struct error why = { 0 };
	cJSON *tree;
	char *list;
	int rc = 0;

	*out = (struct server_limits){ 0 };
	if (q->mute)
		return refuse_list(err);
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
	return rc < 0 || out->context ? rc : refuse_list(err);
}

static void on_entry(void *arg, const cJSON *model)
{
	const struct name_sink *n = arg;

	n->each(n->arg, entry_name(model));
}

/* Calls each for every name in the server's list, not sanitized. */
static int server_query_names(const struct server_query *q,
			      void (*each)(void *arg, const char *name),
			      void *arg, const struct stop *stop,
			      struct error *err)
{
	struct name_sink n = { each, arg };
	char *url;
	int rc;

	if (q->mute)
		return refuse_list(err);
	url = list_url(q, q->wire == &wire_anthropic ? "?limit=1000"
			  : q->wire == &wire_gemini  ? "?pageSize=1000"
						     : "");
	rc = get_list(q, url, on_entry, &n, stop, err);
	free(url);
	return rc;
}

enum {
	LIST_MS = 5000,
	FEW = 4, /* a list of up to this many names is shown as a whole */
	MAX_NAME = 80,
};

struct candidates {
	struct str wanted;
	size_t n, distance;
	bool listed;         /* the wanted name is in the list */
	char best[MAX_NAME]; /* the nearest name, or "" */
	struct buf few;      /* the first names, with commas */
};

/* Returns how different a listed name is. A router's name "openai/gpt-5.5" is
 * also compared without its vendor. */
static size_t distance_to(struct str wanted, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t whole = nearest_distance(wanted, str_of(name));
	size_t part = slash && str_find(wanted, '/') == wanted.len
			      ? nearest_distance(wanted, str_of(slash + 1))
			      : whole;

	return part < whole ? part : whole;
}

/* Compares a listed name to the wanted one and stores it if it is the nearest
 * so far. */
static void compare_name(void *arg, const char *name)
{
	struct candidates *c = arg;
	struct buf clean = BUF_INIT(MAX_NAME - 1);
	size_t distance = distance_to(c->wanted, name);

	if (!name[0] || strlen(name) >= MAX_NAME)
		return;
	sanitize_line(str_of(name), &clean);
	c->listed |= str_is(c->wanted, name);
	if (c->n++ < FEW && clean.len)
		buf_addf(&c->few, "%s%s", c->few.len ? ", " : "", clean.ptr);
	if (distance < c->distance && clean.len) {
		c->distance = distance;
		snprintf(c->best, sizeof(c->best), "%s", clean.ptr);
	}
	buf_release(&clean);
}

/* Writes the hint from what the list contained. */
static void write_hint(const struct model_choice *m, const struct candidates *c,
		       struct error *err)
{
	if (c->listed)
		error_hint(
			err,
			"The server lists \"%.60s\", but the key may have no "
			"access to it, or the model is not for conversations.",
			m->model);
	else if (c->best[0])
		error_hint(err,
			   "No model \"%.60s\" on this server. Did you mean -M "
			   "%.40s:%.80s?",
			   m->model, m->provider, c->best);
	else if (c->n && c->n <= FEW)
		error_hint(
			err,
			"The server offers %.160s. Choose with -M %.40s:NAME",
			c->few.ptr ? c->few.ptr : "", m->provider);
}

void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err)
{
	struct server_query *q = server_query_new(m);
	struct stop within = stop_within(stop, LIST_MS);
	struct error ignored = { 0 };
	struct candidates c = {
		.wanted = str_of(m->choice.model),
		.distance = nearest_limit(str_of(m->choice.model)),
		.few = BUF_INIT(FEW * (MAX_NAME + 2)),
	};

	/* Ignore errors: the part of the list that arrived may contain the
	 * nearest name. */
	(void)server_query_names(q, compare_name, &c, &within, &ignored);
	write_hint(&m->choice, &c, err);
	buf_release(&c.few);
	server_query_free(q);
}

void server_list_names(const struct model *m,
		       void (*each)(void *arg, const char *name), void *arg,
		       const struct stop *stop)
{
	struct server_query *q = server_query_new(m);
	struct stop within = stop_within(stop, LIST_MS);
	struct error ignored = { 0 };

	(void)server_query_names(q, each, arg, &within, &ignored);
	server_query_free(q);
}

enum {
	MAX_FILE = 256 << 10,
	MAX_ENTRIES = 200,
	FRESH_S = 24 * 3600,
};

/* Returns the cached answers, an object with one member per name, or NULL; the
 * caller deletes it. A file that is missing, damaged or too large counts as
 * empty: it will be replaced. */
static cJSON *read_file(const char *path)
{
	struct buf text = BUF_INIT(MAX_FILE);
	struct error ignored = { 0 };
	cJSON *tree = NULL;

	if (path_read(path, &text, &ignored) == 0 &&
	    json_split_is_object(buf_str(&text)))
		tree = json_parse(buf_str(&text));
	buf_release(&text);
	return tree;
}

/* True if the file has an answer for name, even if that answer has no window.
 * *fresh: it is so recent that the server need not be asked again. */
static bool window_file_read(const char *path, const char *name,
			     struct server_limits *limits, bool *fresh)
{
	cJSON *tree = read_file(path);
	const cJSON *entry = json_get(tree, name);
	int64_t now = clock_unix_ms() / 1000;
	int64_t asked = json_int(entry, "asked", 0);
	bool found = cJSON_IsObject(entry);

	limits->context = json_int(entry, "context", 0);
	limits->max_output = json_int(entry, "max_output", 0);
	*fresh = found && asked <= now && now - asked < FRESH_S;
	cJSON_Delete(tree);
	return found;
}

static void drop_oldest(cJSON *tree)
{
	const cJSON *oldest = tree->child;
	const cJSON *item;

	cJSON_ArrayForEach (item, tree)
		if (json_int(item, "asked", 0) < json_int(oldest, "asked", 0))
			oldest = item;
	cJSON_Delete(cJSON_DetachItemViaPointer(tree, (cJSON *)oldest));
}

/* Stores an answer in the file. Removes the oldest answers if there are more
 * than MAX_ENTRIES. Write errors are ignored: the next run then asks again. */
static void window_file_add(const char *path, const char *name,
			    const struct server_limits *limits)
{
	cJSON *tree = read_file(path);
	cJSON *entry = cJSON_CreateObject();
	int64_t now = clock_unix_ms() / 1000;
	struct buf text = BUF_INIT(MAX_FILE);
	struct error ignored = { 0 };

	if (!tree)
		tree = cJSON_CreateObject();
	cJSON_DeleteItemFromObjectCaseSensitive(tree, name);
	while (cJSON_GetArraySize(tree) >= MAX_ENTRIES)
		drop_oldest(tree);
	cJSON_AddNumberToObject(entry, "context", (double)limits->context);
	cJSON_AddNumberToObject(entry, "max_output",
				(double)limits->max_output);
	cJSON_AddNumberToObject(entry, "asked", (double)now);
	cJSON_AddItemToObject(tree, name, entry);
	json_print(&text, tree);
	if (!text.over)
		(void)path_write(path, buf_str(&text), 0600, &ignored);
	cJSON_Delete(tree);
	buf_release(&text);
}

enum { PROBE_MS = 10000 };

struct window_probe {
	struct server_query *query;
	char *path;
	/* answer in the file from an earlier run */
	struct server_limits before;
	bool known, fresh;
	bool began;
	pthread_t thread;
	struct cancel cancel;
	/* The thread writes this before it sets answered. */
	struct server_limits limits;
	atomic_bool answered;
	bool taken;
};

struct window_probe *window_probe_new(const struct model *m, const char *path)
{
	struct window_probe *p = xcalloc(1, sizeof(*p));

	p->query = server_query_new(m);
	p->path = xstrdup(path);
	p->cancel = (struct cancel){ { -1, -1 } };
	p->known = window_file_read(path, server_query_name(p->query),
				    &p->before, &p->fresh);
	return p;
}

void window_probe_free(struct window_probe *p)
{
	if (!p)
		return;
	if (p->began) {
		cancel_trigger(&p->cancel);
		pthread_join(p->thread, NULL);
		cancel_release(&p->cancel);
	}
	server_query_free(p->query);
	free(p->path);
	free(p);
}

bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits)
{
	*limits = p->before;
	return p->known && limits->context > 0;
}

/* Thread: asks for the window and stores the answer. */
static void *probe_window(void *arg)
{
	struct window_probe *p = arg;
	struct stop never = stop_on(&p->cancel);
	struct stop within = stop_within(&never, PROBE_MS);
	struct error err = { 0 };
	int rc = server_query_limits(p->query, &p->limits, &within, &err);

	/* If the server was not reached, there is no answer to store. */
	if (rc < 0 && err.code != ERR_NOT_FOUND && !err.http_status)
		return NULL;
	window_file_add(p->path, server_query_name(p->query), &p->limits);
	atomic_store(&p->answered, rc == 0);
	return NULL;
}

void window_probe_start(struct window_probe *p)
{
	struct error ignored = { 0 };

	if (p->began || p->fresh || cancel_init(&p->cancel, &ignored) < 0)
		return;
	p->began = thread_start(&p->thread, probe_window, p, &ignored) == 0;
	if (!p->began)
		cancel_release(&p->cancel);
	p->fresh = true; /* later calls must not start another thread */
}

bool window_probe_take(struct window_probe *p, struct server_limits *limits)
{
	if (p->taken || !atomic_load(&p->answered))
		return false;
	p->taken = true;
	*limits = p->limits;
	return true;
}
