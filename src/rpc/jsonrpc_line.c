/* jsonrpc_line.c - which call a line of the child's output belongs to. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "rpc/jsonrpc_impl.h"

enum { SHOWN = 240, LINE_KEPT = 512, LINE_SHOWN = 80 }; /* bytes */

void jsonrpc_break(struct jsonrpc *w, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (w->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->broken = true;
	error_set(&w->why, ERR_NETWORK, "%s %s", w->peer->name, text);
	jsonrpc_quote_tail(w, &w->why);
	for (struct pending *p = w->calls; p; p = p->next)
		jsonrpc_poke(p->event);
}

void jsonrpc_add_tail(struct jsonrpc *w, struct str bytes)
{
	if (bytes.len > JSONRPC_TAIL)
		bytes = str_skip(bytes, bytes.len - JSONRPC_TAIL);
	/* Seldom: moving it for every line would take long. */
	if (w->tail.len + bytes.len > w->tail.max)
		buf_consume(&w->tail, w->tail.len + bytes.len - JSONRPC_TAIL);
	buf_addstr(&w->tail, bytes);
}

void jsonrpc_quote_tail(const struct jsonrpc *w, struct error *err)
{
	struct buf shown = BUF_INIT(64 * JSONRPC_TAIL);
	const char *dots = "";
	struct str text;

	sanitize_line(buf_str(&w->tail), &shown);
	text = str_trim(buf_str(&shown));
	if (text.len > SHOWN) {
		text = str_skip(text, text.len - SHOWN);
		while (text.len && ((unsigned char)*text.ptr & 0xc0) == 0x80)
			text = str_skip(text, 1);
		dots = "...";
	}
	if (text.len)
		error_add(err, "; it said: %s%.*s", dots, (int)text.len,
			  text.ptr);
	buf_release(&shown);
}

static void count_noise(struct jsonrpc *w, struct str line, bool keep)
{
	size_t most = w->peer->lenient ? JSONRPC_NOTICES : JSONRPC_NOISE;

	if (keep && line.len) {
		if (line.len > LINE_KEPT)
			line.len = LINE_KEPT;
		jsonrpc_add_tail(w, line);
		jsonrpc_add_tail(w, STR("\n"));
	}
	w->noise += line.len + 1;
	if (w->noise > most)
		jsonrpc_break(w, "wrote %zu MiB that belong to no request",
			      most >> 20);
}

/* Breaks the wire because of a message, whose beginning is shown. */
static void break_by_line(struct jsonrpc *w, const char *what, struct str line)
{
	struct buf shown = BUF_INIT(1 << 10);

	if (line.len > LINE_SHOWN)
		line.len = LINE_SHOWN;
	sanitize_line(line, &shown);
	jsonrpc_break(w, "%s: %.*s", what, LINE_SHOWN,
		      shown.len ? shown.ptr : "");
	buf_release(&shown);
}

static struct pending *find_call(struct jsonrpc *w, const cJSON *id)
{
	if (!cJSON_IsNumber(id))
		return NULL;
	for (struct pending *p = w->calls; p; p = p->next)
		if ((double)p->id == id->valuedouble)
			return p;
	return NULL;
}

/* A late answer to a request that was cancelled is no fault. */
static bool was_asked(const struct jsonrpc *w, const cJSON *id)
{
	double n = cJSON_IsNumber(id) ? id->valuedouble : 0;

	return n >= 1 && n <= (double)w->last_id && n == (double)(int64_t)n;
}

static void on_answer(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *id = json_get(message, "id");
	struct pending *p = find_call(w, id);

	if (p && !p->answer) {
		p->answer = message;
		w->noise = 0;
		jsonrpc_poke(p->event);
		return;
	}
	if (w->peer->lenient)
		count_noise(w, line, true);
	else if (cJSON_IsNull(id) && json_get(message, "error"))
		break_by_line(w, "did not understand a request", line);
	else if (!was_asked(w, id))
		break_by_line(w, "answered a request that was never made",
			      line);
	else
		count_noise(w, line, false);
	cJSON_Delete(message);
}

static struct pending *find_progress(struct jsonrpc *w, const cJSON *token)
{
	if (!cJSON_IsNumber(token) || token->valuedouble == 0)
		return NULL;
	for (struct pending *p = w->calls; p; p = p->next)
		if ((double)p->progress == token->valuedouble)
			return p;
	return NULL;
}

/* Takes message over. */
static void on_notification(struct jsonrpc *w, struct pending *p,
			    cJSON *message, struct str line)
{
	if (!p || p->answer || json_get(message, "id")) {
		count_noise(w, line, false);
		cJSON_Delete(message);
		return;
	}
	if (!p->notes)
		p->notes = cJSON_CreateArray();
	cJSON_AddItemToArray(p->notes, message);
	p->behind += line.len;
	jsonrpc_poke(p->event);
}

/* A notification or request of its own. */
static void on_method(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *params = json_get(message, "params");
	struct pending *p =
		w->peer->receive
			? find_progress(w, json_get(params, JSONRPC_PROGRESS))
			: find_call(w, json_get(params, "id"));

	if (p || !w->peer->receive) {
		if (w->peer->receive)
			count_noise(w, line, false);
		on_notification(w, p, message, line);
		return;
	}
	/* One that does not read what it asked for gets no more. */
	if (w->queue.len < JSONRPC_NOISE)
		w->peer->receive(w->arg, message, &w->queue);
	count_noise(w, line, false);
	cJSON_Delete(message);
}

/* Takes message over. */
static void on_message(struct jsonrpc *w, cJSON *message, struct str line)
{
	if (cJSON_IsString(json_get(message, "method"))) {
		on_method(w, message, line);
	} else if (json_get(message, "id")) {
		on_answer(w, message, line);
	} else {
		cJSON_Delete(message);
		count_noise(w, line, true);
	}
}

/* A batch (JSON-RPC 2.0, section 6; MCP had it in version 2025-03-26). Its
 * messages share the length of the line. */
static void on_batch(struct jsonrpc *w, cJSON *batch, struct str line)
{
	struct str share = { line.ptr,
			     line.len / (size_t)cJSON_GetArraySize(batch) };
	cJSON *message;

	while ((message = cJSON_DetachItemFromArray(batch, 0)))
		on_message(w, message, share);
	cJSON_Delete(batch);
}

static void on_line(struct jsonrpc *w, struct str line)
{
	cJSON *tree = NULL;

	line = str_trim(line);
	if (!line.len)
		return;
	if (str_is_utf8(line) &&
	    (line.ptr[0] == '{' || (line.ptr[0] == '[' && w->peer->lenient)))
		tree = json_parse_repaired(line);
	if (cJSON_IsArray(tree) && tree->child)
		on_batch(w, tree, line);
	else
		on_message(w, tree, line);
}

void jsonrpc_feed(struct jsonrpc *w, struct str chunk)
{
	while (!w->broken) {
		bool whole = buf_add_line(&w->line, &chunk);

		if (w->line.over) {
			buf_release(&w->line);
			w->line = BUF_INIT(JSONRPC_LINE);
			jsonrpc_break(w, "wrote a line of more than %d MiB",
				      JSONRPC_LINE >> 20);
			return;
		}
		if (!whole)
			return;
		on_line(w, buf_str(&w->line));
		buf_clear(&w->line);
	}
}

bool jsonrpc_is_behind(const struct jsonrpc *w)
{
	for (const struct pending *p = w->calls; p; p = p->next)
		if (p->behind > JSONRPC_BEHIND)
			return true;
	return false;
}
