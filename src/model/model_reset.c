/* model_reset.c - a model that goes on with another history. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/media.h"
#include "model/model_state.h"

enum { BYTES_FOR_TOKEN = 4 };

/* What the server has taught of its options (m->options) stays. */
static int write_head(const struct model *m, const struct tool_spec *tools,
		      size_t n_tools, struct buf *head, struct account *account,
		      struct error *err)
{
	const struct model_brief brief = { .system = m->system,
					   .tools = tools,
					   .n_tools = n_tools,
					   .cache_key = m->cache_key };
	const char *text = m->choice.params ? m->choice.params : "{}";
	cJSON *params = json_parse(str_of(text));
	struct wire_head in = { &m->choice, params, &brief };
	struct params_options options = { 0 };
	int rc;

	account_begin(account, m->account.meter, &options);
	params_clean(m->wire, &m->choice, params, &options);
	m->wire->head(&in, head);
	rc = buf_check(head, "the system prompt with its tools", err);
	if (rc == 0)
		rc = account_find_limit(account, &options, params, head, err);
	cJSON_Delete(params);
	if (rc < 0)
		buf_release(head);
	return rc;
}

/* What was counted of the history stays: of the request before only its size,
 * which another head makes another, is not known any more. */
static void take_head(struct model *m, struct buf *head,
		      const struct account *account)
{
	struct account before = m->account;

	buf_release(&m->head);
	m->head = *head;
	m->account = *account;
	m->account.media = before.media;
	m->account.media_then = before.media_then;
}

static void forget_history(struct model *m)
{
	struct history *h = &m->history;

	buf_release(&h->bytes);
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
	m->call_ids = (struct call_ids){ 0 };
}

void model_note_offered(struct model *m, const struct tool_spec *tools,
			size_t n)
{
	buf_release(&m->offered);
	m->offered = BUF_INIT(MAX_HEAD);
	for (size_t i = 0; i < n; i++)
		buf_add(&m->offered, tools[i].name, strlen(tools[i].name) + 1);
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

static int offer(struct model *m, const struct tool_spec *tools, size_t n_tools,
		 struct error *err)
{
	struct account account = { 0 };
	struct buf head = BUF_INIT(MAX_HEAD);

	if (write_head(m, tools, n_tools, &head, &account, err) < 0)
		return -1;
	take_head(m, &head, &account);
	model_note_offered(m, tools, n_tools);
	return 0;
}

int model_rewrite_head(struct model *m, struct error *err)
{
	size_t n;
	const struct tool_spec *tools = tool_set_list(m->tools, &n);

	return offer(m, tools, n, err);
}

int model_set_tools(struct model *m, const struct tool_spec *tools,
		    size_t n_tools, struct error *err)
{
	struct tool_set *set =
		tool_set_new(&m->choice, m->origin, tools, n_tools);
	int rc;

	if (set)
		tools = tool_set_list(set, &n_tools);
	rc = offer(m, tools, n_tools, err);
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
	size_t history = m->history.bytes.len;

	/* a wire may have left a file out */
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
