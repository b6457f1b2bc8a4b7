/* conversation.c - a conversation with one model: its requests and answers. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at model_stream(): it sends the conversation, and again if a
 * failure allows a retry. exchange.c handles one request. A wire (wire.h)
 * writes requests and reads answers in the vendor's protocol. A request is sent
 * in pieces, without copying: the head (system prompt, tools, parameters),
 * which is written once; the history, to which model_push() appends each
 * message once; and the tail, which closes the JSON. A long history's older
 * part is in a spool: only requests need it. model_reset() and
 * model_set_tools() write a new head. Some errors are repaired here and the
 * request is sent again: an expired key, a wrong clock, an option or a tool
 * that the server refuses. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/exchange.h"
#include "model/message.h"
#include "model/model.h"
#include "model/model_state.h"
#include "model/presets.h"
#include "model/server.h"
#include "model/wire.h"
#include "model/wires/bedrock.h"
#include "model/wires/gemini.h"
#include "net/retry.h"

/* Joins base and path; owned. The base may end with the beginning of the path:
 * for /v1/messages it may be https://h, https://h/v1 or the whole address. That
 * part is not added again. */
static char *join_url(const char *base, const char *path)
{
	struct str b = str_of(base);
	const char *last = strrchr(path, '/');

	if (str_ends(b, path) || str_ends(b, last))
		return xstrdup(base);
	if (str_starts(str_of(path), "/v1/") && str_ends(b, "/v1"))
		path += strlen("/v1");
	return xasprintf("%s%s", base, path);
}

/* Appends the path of an API with versions like Azure's: wire->path and the
 * user's version. */
static void add_dated(struct buf *url, const struct wire *wire,
		      const struct model_choice *c)
{
	if (wire->deployments) {
		buf_adds(url, "/deployments/");
		wire_escape(url, c->model, "");
	}
	buf_addf(url, "%s?api-version=", wire->path);
	wire_escape(url, c->version, "");
}

/* Returns the full address of requests; owned. If the choice has a version,
 * this is Azure's form,
 * BASE/deployments/MODEL/chat/completions?api-version=VERSION. A wire may do
 * without "deployments/MODEL" (AzureOpenAI of openai-node 6.49.0, azure.js,
 * read 2026-11-23). */
static char *request_url(const struct wire *wire, const struct model_choice *c)
{
	struct buf url = BUF_INIT(SIZE_MAX / 2);

	if (!wire->url && !c->version && !c->vertex)
		return join_url(c->base_url, wire->path);
	buf_adds(&url, c->base_url);
	if (wire->url) {
		wire->url(c, &url);
	} else if (c->vertex) {
		vertex_account_path(c->vertex, "anthropic", c->model, &url);
		buf_adds(&url, ":streamRawPredict");
	} else {
		add_dated(&url, wire, c);
	}
	return buf_detach(&url);
}

/* Returns the header name and the text before the key: the preset's, or the
 * wire's ("Authorization: Bearer "). The wire's is used if the key is a token,
 * or if the wire's header is not that of the preset's own wire. Static. */
static const char *request_key_header(const struct wire *wire,
				      const struct model_choice *c)
{
	const struct preset *p = preset_find(c->provider ? c->provider : "");
	const struct wire *own = p && p->wire ? wire_find(p->wire) : NULL;
	bool token = p && p->token_env && c->key_env &&
		     !strcmp(c->key_env, p->token_env);

	if (c->vertex)
		return "Authorization: Bearer ";
	return own && p->auth && !token && !strcmp(own->auth, wire->auth)
		       ? p->auth
		       : wire->auth;
}

enum {
	IDLE_MS = 120000, /* if the choice has no idle_ms */
	GATHER_MS = 10,   /* less than the time between two frames */
};

static char *copy_text(const char *s)
{
	return xstrdup(s);
}

static void copy_choice(struct model_choice *to, const struct model_choice *c)
{
	*to = (struct model_choice){
		.provider = copy_text(c->provider),
		.model = copy_text(c->model),
		.wire = copy_text(c->wire),
		.base_url = copy_text(c->base_url),
		.version = copy_text(c->version),
		.url_from = copy_text(c->url_from),
		.url_unused = copy_text(c->url_unused),
		.api_key = copy_text(c->api_key),
		.key_env = copy_text(c->key_env),
		.key_from = copy_text(c->key_from),
		.params = copy_text(c->params),
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

/* Returns the origin to record in answers, owned: wire and vendor. A gateway
 * passes on data that the vendor behind it has signed. So for
 * "anthropic/claude-opus-5" the origin includes "anthropic". */
static char *make_origin(const struct wire *wire, const struct model_choice *c)
{
	const char *slash = c->model ? strrchr(c->model, '/') : NULL;

	return xasprintf("%s %s%s%.*s", wire->name,
			 c->provider ? c->provider : "", slash ? " " : "",
			 slash ? (int)(slash - c->model) : 0, c->model);
}

/* False if s has control characters: a line end could inject another header. */
static bool one_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7F)
			return false;
	return true;
}

/* Adds the headers that params contains: default_headers and betas, the names
 * used by Python's clients. */
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
					 "header needs a name without colon or "
					 "space and a one-line string value",
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

/* Builds the headers that all requests share. */
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

/* Stores the names of the offered tools for model_offers(). */
static void note_offered(struct model *m, const struct tool_spec *tools,
			 size_t n)
{
	buf_release(&m->offered);
	m->offered = BUF_INIT(MAX_HEAD);
	for (size_t i = 0; i < n; i++)
		buf_add(&m->offered, tools[i].name, strlen(tools[i].name) + 1);
}

/* The head, the fixed start of all requests, and what is computed from the same
 * parameters. */
struct request_head {
	struct buf text;
	struct account account;
	struct params_options options;
};

/* Returns a masked copy of a text that all requests begin with. AGENTS.md
 * files, skills, agents and MCP servers have written parts of it. Owned. */
static char *mask_fixed_text(const struct model *m, const char *text)
{
	char *copy = xstrdup(text);

	if (m->mask)
		(void)mask_string(m->mask, &copy);
	return copy;
}

/* Copies the tools with masked texts; free with tools_free(). */
static struct tool_spec *mask_tools(const struct model *m,
				    const struct tool_spec *tools, size_t n)
{
	struct tool_spec *masked = xcalloc(n + 1, sizeof(*masked));

	for (size_t i = 0; i < n; i++) {
		masked[i] = tools[i];
		masked[i].description =
			mask_fixed_text(m, tools[i].description);
		masked[i].schema = mask_fixed_text(m, tools[i].schema);
	}
	return masked;
}

static void tools_free(struct tool_spec *masked, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((char *)masked[i].description);
		free((char *)masked[i].schema);
	}
	free(masked);
}

/* Writes a head for these tools. On failure nothing needs to be released. */
static int write_head(const struct model *m, struct meter_model *meter,
		      const struct tool_spec *tools, size_t n_tools,
		      struct request_head *to, struct error *err)
{
	char *system = mask_fixed_text(m, m->system);
	struct tool_spec *masked = mask_tools(m, tools, n_tools);
	const struct model_brief brief = { .system = system,
					   .tools = masked,
					   .n_tools = n_tools,
					   .cache_key = m->cache_key };
	const char *text = m->choice.params ? m->choice.params : "{}";
	cJSON *params = json_parse(str_of(text));
	struct wire_head in = { &m->choice, params, &brief };
	int rc;

	*to = (struct request_head){ .text = BUF_INIT(MAX_HEAD) };
	account_begin(&to->account, meter, &to->options);
	params_clean(m->wire, &m->choice, params, &to->options);
	m->wire->head(&in, &to->text);
	rc = buf_check(&to->text, "the system prompt with its tools", err);
	if (rc == 0)
		rc = account_find_limit(&to->account, &to->options, params,
					&to->text, err);
	cJSON_Delete(params);
	tools_free(masked, n_tools);
	free(system);
	if (rc < 0)
		buf_release(&to->text);
	return rc;
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
	struct request_head head;
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
	m->system = copy_text(brief->system);
	m->mask = brief->mask;
	m->cache_key = copy_text(brief->cache_key);
	if (m->wire->begin)
		m->wire->begin(choice, &m->history);
	m->tools = tool_set_new(&m->choice, m->origin, brief->tools,
				brief->n_tools);
	if (m->tools)
		fitted.tools = tool_set_list(m->tools, &fitted.n_tools);
	note_offered(m, fitted.tools, fitted.n_tools);
	if (make_headers(m, params, err) < 0)
		goto out;
	rc = write_head(m, brief->meter, fitted.tools, fitted.n_tools, &head,
			err);
	if (rc < 0)
		goto out;
	m->head = head.text;
	m->account = head.account;
	m->options = head.options;
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
	spool_release(&m->older);
	call_ids_release(&m->call_ids);
	m->choice.vertex = NULL;
	model_choice_release(&m->choice);
	free(m);
}

enum { BYTES_FOR_TOKEN = 4 };

/* Empties the history and the counts that depend on it. */
static void forget_history(struct model *m)
{
	struct history *h = &m->history;

	buf_release(&h->bytes);
	spool_release(&m->older);
	h->bytes = BUF_INIT(MAX_HISTORY);
	h->last = 0;
	h->block_end = 0;
	h->thoughts = false;
	m->prompt = (struct history_point){ 0 };
	m->media = m->prompt_media = (struct model_media){ 0 };
	m->marked = 0;
	account_forget(&m->account);
	m->account.media = (struct account_media){ 0 };
	call_ids_release(&m->call_ids);
}

bool model_offers(const struct model *m, const char *tool)
{
	const char *sent = m->tools ? tool_set_sent_name(m->tools, tool) : tool;
	size_t at = 0;

	while (at < m->offered.len) {
		const char *name = m->offered.ptr + at;

		if (strcmp(name, sent) == 0)
			return true;
		at += strlen(name) + 1;
	}
	return false;
}

/* Replaces the head by one for these tools. The counts of files in the history
 * stay. The size of the last request is reset, because it depends on the
 * head. */
static int replace_head(struct model *m, const struct tool_spec *tools,
			size_t n_tools, struct error *err)
{
	struct request_head head;

	if (write_head(m, m->account.meter, tools, n_tools, &head, err) < 0)
		return -1;
	head.account.media = m->account.media;
	head.account.media_then = m->account.media_then;
	buf_release(&m->head);
	m->head = head.text;
	m->account = head.account;
	note_offered(m, tools, n_tools);
	return 0;
}

/* Rewrites the head after m->tools has changed. On -1 (ERR_LIMIT) nothing has
 * changed. */
static int rewrite_head(struct model *m, struct error *err)
{
	size_t n;
	const struct tool_spec *tools = tool_set_list(m->tools, &n);

	return replace_head(m, tools, n, err);
}

int model_set_tools(struct model *m, const struct tool_spec *tools,
		    size_t n_tools, struct error *err)
{
	struct tool_set *set =
		tool_set_new(&m->choice, m->origin, tools, n_tools);
	int rc;

	if (set)
		tools = tool_set_list(set, &n_tools);
	rc = replace_head(m, tools, n_tools, err);
	if (rc < 0) {
		tool_set_free(set);
		return -1;
	}
	tool_set_free(m->tools);
	m->tools = set;
	return 0;
}

int model_reset(struct model *m, const struct tool_spec *tools, size_t n_tools,
		struct error *err)
{
	if (tools && model_set_tools(m, tools, n_tools, err) < 0)
		return -1;
	forget_history(m);
	return 0;
}

int model_open_beside(struct model **out, const struct model *m,
		      const struct model_brief *brief, struct error *err)
{
	struct model_choice choice = m->choice;
	struct model_brief paid = *brief;
	int rc;

	choice.aws = m->aws;
	paid.meter = m->account.meter;
	paid.mask = m->mask;
	rc = model_open(out, m->http, &choice, &paid, err);
	if (rc == 0) {
		(*out)->options.decided = m->options.decided;
		(*out)->options.turned = m->options.turned;
	}
	return rc;
}

size_t model_head_size(const struct model *m)
{
	return m->head.len;
}

size_t model_size(const struct model *m)
{
	size_t history = m->older.end + m->history.bytes.len;

	/* The history may be shorter than the files' bytes: a wire may have
	 * left out a file. */
	history -= m->media.bytes < history ? m->media.bytes : history;
	return m->head.len + history + m->media.weight;
}

size_t model_media_weight(const struct model *m, const struct part *p)
{
	const struct model_choice *c = &m->choice;

	return BYTES_FOR_TOKEN *
	       (size_t)media_usual_tokens(c->wire ? c->wire : "",
					  c->model ? c->model : "",
					  (struct str){ p->bytes, p->n_bytes });
}

void model_hide_files(struct model *m, bool hidden)
{
	m->history.hides = hidden;
}

bool model_has_files(const struct model *m)
{
	return m->media.bytes > 0;
}

const char *model_system(const struct model *m)
{
	return m->system;
}

enum {
	CONNECT_MS = 30000,
	THINKING_MS = 16000, /* silence before the user is told */
	/* a stream with only heartbeats stalls after this many idle_ms */
	QUIET_FACTOR = 5,
	MAX_ERROR_BODY = 256 << 10,
};

enum {
	MAX_SEGMENTS = 14,
	/* A longer end of the history goes into the spool, in bytes. */
	MAX_IN_MEMORY = 64 << 10,
	/* Bytes at the end of the history that a later message may change. */
	UNSETTLED = sizeof(((struct history_point *)NULL)->end),
};

struct tries { /* the attempts for one answer */
	struct retry usual;
	/* retries while the server is busy; limited by time */
	struct retry busy;
	/* clock_ms() of the first refusal by a busy server; 0: none */
	int64_t since;
};

static void weigh_media(struct model *m, const struct part *p)
{
	m->media.bytes += (p->n_bytes + 2) / 3 * 4;
	m->media.weight += model_media_weight(m, p);
}

/* Returns the position of the cache mark after the last user block; 0: none. */
static size_t last_mark(const struct model *m)
{
	return m->history.block_end ? m->older.end + m->history.block_end : 0;
}

static void note_prompt(struct model *m)
{
	const struct history *h = &m->history;
	size_t len = h->bytes.len;

	m->prompt_media = m->media;
	m->prompt = (struct history_point){
		m->older.end + len, last_mark(m), h->last, { 0 }
	};
	if (len >= UNSETTLED)
		memcpy(m->prompt.end, h->bytes.ptr + len - UNSETTLED,
		       UNSETTLED);
}

/* Replaces the history in memory by this end of it. */
static void replace_end(struct model *m, struct str end)
{
	struct buf bytes = BUF_INIT(MAX_HISTORY - m->older.end);

	buf_addstr(&bytes, end);
	buf_release(&m->history.bytes);
	m->history.bytes = bytes;
}

/* Moves what changes no more into the spool. The place of the cache mark stays
 * in memory, so that the wire can go on counting from there. */
static void spool_history(struct model *m)
{
	struct history *h = &m->history;
	struct str all = buf_str(&h->bytes);
	size_t n = all.len - UNSETTLED;

	if (all.len <= MAX_IN_MEMORY || h->bytes.over)
		return;
	if (h->block_end && h->block_end <= n)
		n = h->block_end - 1;
	if (!spool_add(&m->older, (struct str){ all.ptr, n }))
		return;
	replace_end(m, str_skip(all, n));
	h->block_end -= h->block_end ? n : 0;
}

void model_push(struct model *m, const struct message *message)
{
	const struct history *h = &m->history;
	struct message sent = { 0 };
	size_t len = h->bytes.len;

	if (message->role == ROLE_USER)
		note_prompt(m);
	for (size_t i = 0; i < message->n; i++) {
		const struct part *p = &message->parts[i];

		if (p->kind == PART_MEDIA && !h->hides)
			weigh_media(m, p);
		if (p->kind == PART_TOOL_CALL && p->id)
			(void)call_ids_add(&m->call_ids, p->id);
	}
	if (m->tools && tool_set_translate(m->tools, message, &sent)) {
		wire_push(m->wire, &m->history, m->origin, &sent);
		message_release(&sent);
	} else {
		wire_push(m->wire, &m->history, m->origin, message);
	}
	account_add(&m->account, &m->choice, h, message, h->bytes.len - len);
	spool_history(m);
}

const char *model_origin(const struct model *m)
{
	return m->origin;
}

/* Takes the end of the history back into memory, from this position on. */
static void unspool_history(struct model *m, size_t from)
{
	struct buf end = BUF_INIT(MAX_HISTORY);

	buf_addstr(&end, spool_text(&m->older, from, m->older.end - from));
	buf_addstr(&end, buf_str(&m->history.bytes));
	m->older.end = from;
	replace_end(m, buf_str(&end));
	buf_release(&end);
}

void model_forget_prompt(struct model *m)
{
	const struct history_point *p = &m->prompt;
	struct history *h = &m->history;
	size_t mark = p->block_end ? p->block_end - 1 : p->len;
	size_t end = p->len < UNSETTLED ? 0 : p->len - UNSETTLED;
	size_t from = mark < end ? mark : end;

	if (from < m->older.end)
		unspool_history(m, from);
	h->bytes.len = p->len - m->older.end;
	h->block_end = p->block_end ? p->block_end - m->older.end : 0;
	h->last = p->last;
	m->media = m->prompt_media;
	if (p->len >= UNSETTLED)
		memcpy(h->bytes.ptr + h->bytes.len - UNSETTLED, p->end,
		       UNSETTLED);
	if (m->marked > p->block_end)
		m->marked = p->block_end;
	account_forget(&m->account);
}

void model_reply_release(struct model_reply *r)
{
	message_release(&r->message);
	*r = (struct model_reply){ 0 };
}

/* Lists the pieces of the history between two positions. Returns their
 * number, 0 to 2. */
static size_t list_history(const struct model *m, size_t from, size_t to,
			   struct str *out)
{
	size_t border = m->older.end;
	size_t n = 0;

	if (from < border) {
		size_t end = to < border ? to : border;

		out[n++] = spool_text(&m->older, from, end - from);
		from = end;
	}
	if (from < to)
		out[n++] = (struct str){ m->history.bytes.ptr + from - border,
					 to - from };
	return n;
}

/* Lists the request's pieces: head, history with cache marks, tail, and the
 * wire's options. A cache mark tells the vendor up to where to cache. One is
 * put at the end of the history and one where the last answered request ended,
 * because the vendor looks for cached content only 20 blocks before a mark.
 * Returns the number of pieces. */
static size_t list_segments(const struct model *m, struct str out[MAX_SEGMENTS])
{
	const struct wire_option *o = m->wire->options;
	size_t marks[2] = { m->marked, last_mark(m) };
	size_t end = m->older.end + m->history.bytes.len;
	size_t at = 0;
	size_t n = 0;

	out[n++] = buf_str(&m->head);
	for (size_t i = 0; m->wire->mark && i < 2; i++) {
		if (marks[i] <= at)
			continue;
		n += list_history(m, at, marks[i], out + n);
		out[n++] = str_of(m->wire->mark);
		at = marks[i];
	}
	n += list_history(m, at, end, out + n);
	out[n++] = str_of(m->wire->tail);
	for (unsigned bit = 1; o && o->name && n + 1 < MAX_SEGMENTS;
	     o++, bit <<= 1)
		if (o->at_first != ((m->options.turned & bit) != 0))
			out[n++] = str_of(o->member);
	out[n++] = STR("}");
	return n;
}

void model_dial(struct model *m, const struct stop *stop)
{
	http_dial(m->http, m->url, stop);
}

/* Signs and sends the request. It must be sent as one piece, because the
 * signature covers the whole body. */
static int send_signed(struct model *m, struct http_request *req,
		       struct exchange *x, const struct stop *stop,
		       struct error *err)
{
	struct signed_request s = { .url = m->url,
				    .headers = req->headers,
				    .body = BUF_INIT(MAX_HISTORY) };
	int rc;

	for (size_t i = 0; i < req->n_segments; i++)
		buf_addstr(&s.body, req->segments[i]);
	rc = bedrock_account_sign(m->aws, m->http, &s, stop, err);
	if (rc == 0) {
		req->body = buf_str(&s.body);
		req->n_segments = 0;
		req->headers = s.lines;
		rc = http_do(m->http, req, &x->response, stop, err);
	}
	signed_request_release(&s);
	return rc;
}

/* Sends the request with a token from gcloud. */
static int send_with_token(struct model *m, struct http_request *req,
			   struct exchange *x, const struct stop *stop,
			   struct error *err)
{
	char *token = vertex_account_header(m->choice.vertex, stop, err);
	const char *lines[MAX_HEADERS + 2];
	size_t n = 0;
	int rc;

	if (!token)
		return -1;
	for (; req->headers[n]; n++)
		lines[n] = req->headers[n];
	lines[n++] = token;
	lines[n] = NULL;
	req->headers = lines;
	rc = http_do(m->http, req, &x->response, stop, err);
	mem_wipe(token);
	return rc;
}

static int reserve_cost(struct model *m, const struct http_request *req,
			struct stop *stop, struct error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < req->n_segments; i++)
		bytes += req->segments[i].len;
	return account_reserve(&m->account, &m->head, bytes, stop, err);
}

/* Sends one request and reads its answer into x->draft. On failure x->again
 * says whether a retry may help. */
static int send_request(struct model *m, struct exchange *x,
			const struct stop *stop, struct error *err)
{
	struct str pieces[MAX_SEGMENTS];
	struct http_request req = {
		.method = "POST",
		.url = m->url,
		.headers = (const char *const *)m->headers,
		.segments = pieces,
		.n_segments = list_segments(m, pieces),
		.data = exchange_data,
		.sent = exchange_sent,
		.idle = exchange_idle,
		.again = exchange_again,
		.gather_ms = GATHER_MS,
		.header = exchange_header,
		.arg = x,
		.connect_ms = CONNECT_MS,
		.idle_ms = m->choice.idle_ms,
		/* HTTP_PROBE: the user is told about retries by events, not by
		 * notices */
		.flags = HTTP_PROBE,
	};
	struct stop thinking = *stop;
	int rc;

	thinking.held = clock_ms() + THINKING_MS;
	x->response.body.max = MAX_ERROR_BODY;
	if (reserve_cost(m, &req, &thinking, err) < 0)
		return -1;
	m->running = x;
	if (m->aws && !m->choice.api_key)
		rc = send_signed(m, &req, x, &thinking, err);
	else if (m->choice.vertex && !m->choice.api_key)
		rc = send_with_token(m, &req, x, &thinking, err);
	else
		rc = http_do(m->http, &req, &x->response, &thinking, err);
	m->running = NULL;
	spool_drop_pages(&m->older);
	rc = exchange_end(x, rc, err);
	account_settle(&m->account, x, rc, err);
	return rc;
}

void model_note_cost(struct model *m)
{
	if (m->running)
		account_note(&m->account, m->running);
}

/* Changes an option that the server's refusal names. True if the request should
 * be sent again. */
static bool flip_option(struct model *m, const struct exchange *x,
			const struct model_sink *sink)
{
	const struct wire_option *o = m->wire->options;
	struct str body = buf_str(&x->response.body);
	char why[256];

	if (x->response.status != 400 && x->response.status != 422)
		return false;
	for (unsigned bit = 1; o && o->name; o++, bit <<= 1) {
		if ((m->options.decided & bit) ||
		    str_search(body, str_of(o->complaint)) == body.len)
			continue;
		m->options.decided |= bit;
		m->options.turned |= bit;
		snprintf(why, sizeof(why), "%s: %s", m->choice.provider,
			 o->why ? o->why : "");
		if (o->why && sink && sink->restart)
			sink->restart(sink->arg, why);
		return true;
	}
	return false;
}

/* Replaces an AWS key that has expired or a Google token that was refused. At
 * most once per turn. */
static bool renew_key(struct model *m, const struct exchange *x)
{
	bool aws = m->aws && !strncmp(x->error_type, "ExpiredToken", 12);
	bool google = m->choice.vertex && x->response.status == 401;

	if (m->renewed || !(aws || google))
		return false;
	m->renewed = true;
	return aws ? bedrock_account_renew(m->aws)
		   : vertex_account_renew(m->choice.vertex);
}

/* Corrects the clock used for signatures if AWS says that it is wrong. At most
 * once per turn. */
static bool correct_clock(struct model *m, const struct exchange *x)
{
	if (!m->aws || m->choice.api_key || m->corrected ||
	    x->response.status != 403)
		return false;
	m->corrected = true;
	return bedrock_clock_correct(x->error_type, x->date,
				     buf_str(&x->response.body));
}

static void report_notes(struct model *m, const struct model_sink *sink)
{
	char *line;

	if (!m->tools || !sink || !sink->notice)
		return;
	while ((line = tool_set_take_note(m->tools))) {
		sink->notice(sink->arg, line);
		free(line);
	}
}

/* Removes the MCP tools that a refusal names from requests: otherwise every
 * turn would fail. True if the request should be sent again. */
static bool omit_refused_tools(struct model *m, const struct exchange *x,
			       const struct model_sink *sink,
			       const struct error *why)
{
	struct error ignored = { 0 };
	int status = x->response.status;

	if (!m->tools || (status != 400 && status != 422) ||
	    !tool_set_refuse(m->tools, buf_str(&x->response.body),
			     why->message) ||
	    rewrite_head(m, &ignored) < 0)
		return false;
	report_notes(m, sink);
	return true;
}

/* True if the server reports too many requests or an overload, by its HTTP
 * status or by an error in the stream. */
static bool is_busy(const struct exchange *x)
{
	int status =
		x->response.status < 400 ? x->draft.status : x->response.status;

	return status == 429 || status == 529;
}

/* Tells the user that a retry follows, why and when. */
static void announce_retry(const struct model *m, const struct tries *t,
			   const struct model_sink *sink, struct retry *r,
			   const struct http_response *res,
			   const struct error *err)
{
	const struct model_wait next = {
		.ms = retry_next_ms(r, res),
		.attempt = r->attempt + 1,
		.of = r == &t->busy ? 0 : r->max,
		.left_ms = r == &t->busy
				   ? t->since + m->choice.busy_ms - clock_ms()
				   : 0
	};
	long long s = (long long)next.ms / 1000;
	char why[sizeof(err->message) + 96];
	char wait[32] = "";

	if (!sink || !sink->restart)
		return;
	if (sink->waits)
		sink->waits(sink->arg, &next);
	if (s > 0)
		snprintf(wait, sizeof(wait), " in %lld s", s);
	if (r == &t->busy)
		snprintf(why, sizeof(why),
			 "%s; trying again%s (waited %lld of %lld s)",
			 err->message, wait,
			 (long long)(clock_ms() - t->since) / 1000,
			 (long long)m->choice.busy_ms / 1000);
	else
		snprintf(why, sizeof(why),
			 "%s; trying again%s (attempt %d of %d)", err->message,
			 wait, r->attempt + 2, r->max + 1);
	sink->restart(sink->arg, why);
}

static int hint_later(struct error *err, int64_t wish)
{
	return error_hint(
		err,
		"The server asks you to wait %lld %s. Then send the message "
		"again, or choose another model (-M).",
		(long long)(wish < 120000 ? (wish + 999) / 1000 : wish / 60000),
		wish < 120000 ? "seconds" : "minutes");
}

/* True if the next attempt starts within choice.busy_ms after the busy server's
 * first refusal. */
static bool has_busy_time(const struct model *m, struct tries *t,
			  const struct http_response *res, struct error *err)
{
	int64_t wish = retry_wish(res);
	int64_t left;

	if (!t->since)
		t->since = clock_ms();
	left = t->since + m->choice.busy_ms - clock_ms();
	if (left > 0 && wish > left) {
		(void)hint_later(err, wish);
		return false;
	}
	if (left <= 0) {
		(void)error_add(err, " (waited %lld s)",
				(long long)(clock_ms() - t->since) / 1000);
		(void)error_hint(
			err, "Send the message again later, choose another "
			     "model (-M), or raise busy_seconds in [retries].");
		return false;
	}
	/* Make the last attempt just before that time is over. */
	if (retry_next_ms(&t->busy, res) > left)
		t->busy.wait_ms = left;
	return true;
}

/* True if the deadline is before the end of the wait that the server asks for.
 * err then becomes ERR_TIMEOUT. */
static bool is_too_late(const struct stop *stop, int64_t ms, int64_t wish,
			struct error *err)
{
	if (wish < 0 || stop->deadline == INT64_MAX ||
	    stop->deadline - clock_ms() > ms)
		return false;
	err->code = ERR_TIMEOUT;
	(void)error_case(err, CASE_NO_TIME);
	(void)error_add(err,
			" (the server asks to wait %lld s, longer than the "
			"time that is left)",
			(long long)(wish + 999) / 1000);
	return true;
}

/* Waits before the next attempt. False: do not send again, err says why. */
static bool wait_for_retry(struct model *m, const struct model_sink *sink,
			   struct tries *t, const struct exchange *x,
			   const struct stop *stop, struct error *err)
{
	const struct http_response *res = &x->response;
	bool busy = m->choice.busy_ms > 0 && is_busy(x);
	struct retry *r = busy ? &t->busy : &t->usual;
	struct stop until = *stop;

	if (!x->again || (busy && !has_busy_time(m, t, res, err)))
		return false;
	if (!retry_possible(r, res)) {
		if (r->attempt < r->max)
			(void)hint_later(err, retry_wish(res));
		else if (r->max > 0)
			(void)error_add(err, " (%d attempts)", r->max + 1);
		return false;
	}
	if (is_too_late(stop, retry_next_ms(r, res), retry_wish(res), err))
		return false;
	/* The sandbox costs money during the wait, so the cap limits it. */
	if (m->account.meter) {
		int64_t ms = meter_model_time_left(m->account.meter);

		if (ms != INT64_MAX)
			until = stop_within(stop, ms);
	}
	announce_retry(m, t, sink, r, res, err);
	return retry_wait(r, res, &until, err);
}

int model_stream(struct model *m, const struct model_sink *sink,
		 struct model_reply *reply, const struct stop *stop,
		 struct error *err)
{
	struct tries tries = {
		.usual = { .max = m->choice.max_retries,
			   .base_ms = m->choice.backoff_ms },
		.busy = { .max = INT_MAX,
			  .base_ms = m->choice.backoff_ms,
			  .most_ms = m->choice.busy_ms,
			  .patient = true },
	};
	int64_t quiet_ms = m->choice.idle_ms * QUIET_FACTOR;

	m->renewed = m->corrected = false;
	report_notes(m, sink);
	if (buf_check(&m->history.bytes, "the conversation", err) < 0)
		return -1;
	for (;;) {
		struct error failed = { 0 };
		struct exchange x;
		bool again;
		int rc;

		exchange_init(&x, m->wire, &m->choice, sink, quiet_ms);
		rc = send_request(m, &x, stop, &failed);
		if (rc == 0) {
			m->marked = last_mark(m);
			draft_finish(&x.draft, reply, &m->call_ids,
				     m->wire->replay);
			if (m->tools)
				tool_set_restore(m->tools, &reply->message);
			reply->message.origin = xstrdup(m->origin);
			exchange_release(&x);
			return 0;
		}
		/* Causes that dcode can remove by itself. Each success removes
		 * one for good, so the loop ends. */
		if (renew_key(m, &x) || correct_clock(m, &x) ||
		    flip_option(m, &x, sink) ||
		    omit_refused_tools(m, &x, sink, &failed)) {
			exchange_release(&x);
			continue;
		}
		*err = failed;
		again = wait_for_retry(m, sink, &tries, &x, stop, err);
		exchange_release(&x);
		if (!again && err->exact == CASE_UNKNOWN_MODEL)
			server_suggest(m, stop, err);
		if (!again)
			return -1;
	}
}
