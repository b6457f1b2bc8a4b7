/* jsonrpc_line.c - which call a line of the child's output belongs to. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/external/jsonrpc_impl.h"

enum { SHOWN = 240, LINE_KEPT = 512 };

void jsonrpc_break(struct jsonrpc *w, enum err code, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (w->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->broken = true;
	error_set(&w->why, code, "the provider %s", text);
	jsonrpc_add_words(w, &w->why);
	for (struct pending *p = w->calls; p; p = p->next)
		jsonrpc_poke(p->event);
}

void jsonrpc_keep_words(struct jsonrpc *w, struct str bytes)
{
	if (bytes.len > JSONRPC_TAIL)
		bytes = str_skip(bytes, bytes.len - JSONRPC_TAIL);
	/* Now and then: moving it for every line would take its time. */
	if (w->tail.len + bytes.len > w->tail.max)
		buf_consume(&w->tail, w->tail.len + bytes.len - JSONRPC_TAIL);
	buf_addstr(&w->tail, bytes);
}

/* Cleaned, and from the beginning of a character. */
static void last_words(const struct jsonrpc *w, struct buf *out)
{
	struct buf shown = BUF_INIT(64 * JSONRPC_TAIL);
	struct str text;

	sanitize_line(buf_str(&w->tail), &shown);
	text = str_trim(buf_str(&shown));
	if (text.len > SHOWN) {
		text = str_skip(text, text.len - SHOWN);
		while (text.len && ((unsigned char)*text.ptr & 0xc0) == 0x80)
			text = str_skip(text, 1);
		buf_adds(out, "...");
	}
	buf_addstr(out, text);
	buf_release(&shown);
}

void jsonrpc_add_words(const struct jsonrpc *w, struct error *err)
{
	struct buf words = BUF_INIT(2 * SHOWN);
	size_t used = strlen(err->message);

	last_words(w, &words);
	if (words.len)
		snprintf(err->message + used, sizeof(err->message) - used,
			 "; it said: %s", words.ptr);
	buf_release(&words);
}

void jsonrpc_words(struct jsonrpc *w, struct buf *out)
{
	pthread_mutex_lock(&w->lock);
	last_words(w, out);
	pthread_mutex_unlock(&w->lock);
}

static void noise(struct jsonrpc *w, struct str line, bool keep)
{
	if (keep && line.len) {
		if (line.len > LINE_KEPT)
			line.len = LINE_KEPT;
		jsonrpc_keep_words(w, line);
		jsonrpc_keep_words(w, STR("\n"));
	}
	w->noise += line.len + 1;
	if (w->noise > JSONRPC_NOISE)
		jsonrpc_break(w, ERR_NETWORK,
			      "wrote %d MiB that belong to no request",
			      JSONRPC_NOISE >> 20);
}

/* What a message began with, fit to be shown. */
static void begin_of(struct str line, char room[81])
{
	struct buf shown = BUF_INIT(1 << 10);

	sanitize_line((struct str){ line.ptr, line.len < 80 ? line.len : 80 },
		      &shown);
	snprintf(room, 81, "%s", shown.len ? shown.ptr : "");
	buf_release(&shown);
}

static struct pending *call_of(struct jsonrpc *w, const cJSON *id)
{
	if (!cJSON_IsNumber(id))
		return NULL;
	for (struct pending *p = w->calls; p; p = p->next)
		if ((double)p->id == id->valuedouble)
			return p;
	return NULL;
}

/* Was it ever asked? A late answer to what was given up is no fault. */
static bool was_asked(const struct jsonrpc *w, const cJSON *id)
{
	double n = cJSON_IsNumber(id) ? id->valuedouble : 0;

	return n >= 1 && n <= (double)w->last_id && n == (double)(int64_t)n;
}

static void on_answer(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *id = json_get(message, "id");
	struct pending *p = call_of(w, id);
	char text[81];

	begin_of(line, text);
	if (p && !p->answer) {
		p->answer = message;
		w->noise = 0;
		jsonrpc_poke(p->event);
		return;
	}
	if (cJSON_IsNull(id) && json_get(message, "error"))
		jsonrpc_break(w, ERR_NETWORK,
			      "did not understand a request: %s", text);
	else if (!was_asked(w, id))
		jsonrpc_break(w, ERR_NETWORK,
			      "answered a request that was never made: %s",
			      text);
	else
		noise(w, line, false);
	cJSON_Delete(message);
}

static void on_note(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *params = json_get(message, "params");
	struct pending *p = call_of(w, json_get(params, "id"));
	struct note *note;

	if (!p || p->answer || json_get(message, "id")) {
		noise(w, line, false);
		cJSON_Delete(message);
		return;
	}
	note = xcalloc(1, sizeof(*note));
	note->message = message;
	note->size = line.len;
	if (p->last)
		p->last->next = note;
	else
		p->first = note;
	p->last = note;
	p->behind += line.len;
	jsonrpc_poke(p->event);
}

static void on_line(struct jsonrpc *w, struct str line)
{
	cJSON *message;

	line = str_trim(line);
	if (!line.len)
		return;
	message = line.ptr[0] == '{' && str_is_utf8(line) ? json_parse(line)
							  : NULL;
	if (!cJSON_IsObject(message)) {
		cJSON_Delete(message);
		noise(w, line, true);
	} else if (cJSON_IsString(json_get(message, "method"))) {
		on_note(w, message, line);
	} else if (json_get(message, "id")) {
		on_answer(w, message, line);
	} else {
		cJSON_Delete(message);
		noise(w, line, true);
	}
}

void jsonrpc_feed(struct jsonrpc *w, struct str chunk)
{
	struct str rest = chunk;

	while (rest.len && !w->broken) {
		size_t n = str_find(rest, '\n');

		buf_add(&w->line, rest.ptr, n);
		if (w->line.over) {
			buf_release(&w->line);
			w->line = BUF_INIT(JSONRPC_LINE);
			jsonrpc_break(w, ERR_NETWORK,
				      "wrote a line of more than %d MiB",
				      JSONRPC_LINE >> 20);
			return;
		}
		if (n == rest.len)
			return;
		on_line(w, buf_str(&w->line));
		buf_clear(&w->line);
		rest = str_skip(rest, n + 1);
	}
}

bool jsonrpc_is_behind(const struct jsonrpc *w)
{
	for (const struct pending *p = w->calls; p; p = p->next)
		if (p->behind > JSONRPC_BEHIND)
			return true;
	return false;
}
