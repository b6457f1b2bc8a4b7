/* calls.c - requests that wait, and what comes for them: no socket. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	EARLY = 64,          /* streams that no reply has named yet */
	EARLY_MAX = 8 << 20, /* bytes of one */
	WORDS_MAX = 300,
};

struct deno_stream {
	struct deno_stream *next;
	int64_t id;
	struct buf data;
	bool ended;
	bool failed;
};

struct deno_waiting *deno_calls_add(struct deno_calls *c, int64_t id,
				    struct error *err)
{
	struct deno_waiting *w = xcalloc(1, sizeof(*w));

	if (cancel_init(&w->ready, err) < 0) {
		free(w);
		return NULL;
	}
	w->id = id;
	w->sending = -1;
	w->stream = -1;
	w->next = c->list;
	c->list = w;
	return w;
}

static void remove_call(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_waiting **at = &c->list;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	cancel_release(&w->ready);
	cJSON_Delete(w->ok);
	free(w);
}

static void finish(struct deno_calls *c, struct deno_waiting *w)
{
	w->done = true;
	if (w->abandoned)
		remove_call(c, w);
	else
		cancel_trigger(&w->ready);
}

void deno_calls_leave(struct deno_calls *c, struct deno_waiting *w)
{
	w->out = NULL;
	if (w->done || w->stream >= 0)
		remove_call(c, w);
	else
		w->abandoned = true;
}

static void free_stream(struct deno_stream *s)
{
	buf_release(&s->data);
	free(s);
}

/* Streams are kept only while there is a reply to come that may name one. */
static bool naming(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->spawn && w->stream < 0 && !w->done)
			return true;
	return false;
}

static void drop_early(struct deno_calls *c)
{
	while (c->early && !naming(c)) {
		struct deno_stream *s = c->early;

		c->early = s->next;
		free_stream(s);
	}
}

static void deliver(struct deno_waiting *w, const struct buf *data)
{
	if (!w->out)
		return;
	buf_addstr(w->out, buf_str(data));
	w->out->over = w->out->over || data->over;
	if (w->live)
		cancel_trigger(&w->ready);
}

bool deno_calls_full(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->live && w->out && w->out->len >= DENO_FULL)
			return true;
	return false;
}

static void end_output(struct deno_calls *c, struct deno_waiting *w,
		       bool failed)
{
	if (failed)
		error_set(&w->why, ERR_NETWORK,
			  "the command's output ends early");
	finish(c, w);
}

/* The reply has named the stream: what came before it. */
static void claim(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_stream **at = &c->early;
	struct deno_stream *s;

	while (*at && (*at)->id != w->stream)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	*at = s->next;
	deliver(w, &s->data);
	if (s->ended)
		end_output(c, w, s->failed);
	free_stream(s);
}

static void refuse(struct deno_waiting *w, const struct deno_frame *f)
{
	struct buf words = BUF_INIT(WORDS_MAX);

	snprintf(w->code, sizeof(w->code), "%s", f->code);
	if (f->code[0])
		buf_addf(&words, "%.*s: ", DENO_CODE, f->code);
	sanitize_text(str_of(f->message), &words);
	error_set(&w->why, ERR_REMOTE, "%s",
		  words.len ? words.ptr : "refused without a word");
	buf_release(&words);
}

static void take_reply(struct deno_calls *c, const struct deno_frame *f)
{
	struct deno_waiting *w = c->list;

	while (w && (w->id != f->id || w->done || w->stream >= 0))
		w = w->next;
	if (!w)
		return;
	if (f->failed) {
		refuse(w, f);
		finish(c, w);
	} else if (!w->spawn || w->abandoned) {
		w->ok = cJSON_Duplicate(f->ok, true);
		finish(c, w);
	} else {
		w->pid = json_int(f->ok, "pid", -1);
		w->stream = json_int(f->ok, "stdoutStreamId", -1);
		if (w->stream >= 0) {
			claim(c, w);
		} else {
			error_set(&w->why, ERR_PROTOCOL,
				  "unexpected server response: no output");
			finish(c, w);
		}
	}
	drop_early(c);
}

static struct deno_stream *early_stream(struct deno_calls *c, int64_t id,
					struct error *err)
{
	struct deno_stream *s;
	int n = 0;

	for (s = c->early; s; s = s->next, n++)
		if (s->id == id)
			return s;
	if (n == EARLY) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: too many streams");
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->id = id;
	s->data.max = EARLY_MAX;
	s->next = c->early;
	c->early = s;
	return s;
}

/* Data or end of a stream of the server's. What nobody wants is dropped. */
static int take_stream(struct deno_calls *c, const struct deno_frame *f,
		       struct error *err)
{
	struct deno_waiting *w = c->list;
	struct deno_stream *s;

	while (w && (w->stream != f->id || w->done))
		w = w->next;
	if (w && f->word == DENO_END)
		end_output(c, w, f->failed);
	else if (w)
		deliver(w, &f->data);
	if (w || !naming(c))
		return 0;
	s = early_stream(c, f->id, err);
	if (!s)
		return -1;
	if (!s->ended)
		buf_addstr(&s->data, buf_str(&f->data));
	s->ended = s->ended || f->word == DENO_END;
	s->failed = s->failed || f->failed;
	return 0;
}

int deno_calls_take(struct deno_calls *c, const struct deno_frame *f,
		    struct error *err)
{
	switch (f->word) {
	case DENO_REPLY:
		take_reply(c, f);
		return 0;
	case DENO_DATA:
	case DENO_END:
		return take_stream(c, f, err);
	case DENO_CANCEL:
		for (struct deno_waiting *w = c->list; w; w = w->next)
			w->cancelled = w->cancelled || w->sending == f->id;
		return 0;
	default:
		return 0;
	}
}

void deno_calls_fail(struct deno_calls *c, const struct error *why)
{
	struct deno_waiting *next;

	for (struct deno_waiting *w = c->list; w; w = next) {
		next = w->next;
		if (w->done)
			continue;
		w->why = *why;
		finish(c, w);
	}
	drop_early(c);
}
