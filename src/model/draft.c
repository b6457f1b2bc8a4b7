/* draft.c - a reply while it arrives. */
/* SPDX-License-Identifier: MIT */
#include "model/draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/args.h"
#include "model/wire_id.h"

void draft_init(struct draft *d, const struct model_sink *sink)
{
	*d = (struct draft){ .sink = sink };
}

static void part_free(struct draft_part *p)
{
	buf_release(&p->text);
	buf_release(&p->extra);
	free(p->id);
	free(p->name);
}

void draft_release(struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		part_free(&d->parts[i]);
	free(d->parts);
	think_tags_release(&d->tags);
	buf_release(&d->thought);
	draft_init(d, d->sink);
}

static int too_much(struct draft *d, struct error *err, const char *what,
		    size_t limit)
{
	d->fatal = true;
	return error_set(err, ERR_LIMIT,
			 "the model's answer has more than %zu %s", limit,
			 what);
}

struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err)
{
	struct draft_part *p;

	if (kind == PART_TOOL_CALL && d->calls == DRAFT_MAX_CALLS) {
		(void)too_much(d, err, "tool calls", DRAFT_MAX_CALLS);
		return NULL;
	}
	if (d->n == DRAFT_MAX_PARTS) {
		(void)too_much(d, err, "parts", DRAFT_MAX_PARTS);
		return NULL;
	}
	if (d->n == d->room) {
		d->room = d->room ? d->room * 2 : 4;
		d->parts = xrealloc(d->parts, d->room, sizeof(*p));
	}
	p = &d->parts[d->n++];
	*p = (struct draft_part){
		.kind = kind,
		.key = key,
		.text = BUF_INIT(kind == PART_TOOL_CALL ? DRAFT_MAX_ARGS
							: DRAFT_MAX_TEXT),
		.extra = BUF_INIT(DRAFT_MAX_ARGS),
	};
	d->calls += kind == PART_TOOL_CALL;
	return p;
}

struct draft_part *draft_find(struct draft *d, enum part_kind kind, int64_t key)
{
	for (size_t i = d->n; i > 0; i--)
		if (d->parts[i - 1].kind == kind && d->parts[i - 1].key == key)
			return &d->parts[i - 1];
	return NULL;
}

static void show(const struct draft *d, enum part_kind kind, struct str delta)
{
	const struct model_sink *sink = d->sink;

	if (sink && kind == PART_TEXT && sink->text)
		sink->text(sink->arg, delta);
	if (sink && kind == PART_THINKING && sink->thinking)
		sink->thinking(sink->arg, delta);
}

struct tagged { /* arg of add_tagged() */
	struct draft *draft;
	struct draft_part *part;
};

static int add_tagged(void *arg, bool thinking, struct str text,
		      struct error *err)
{
	struct tagged *t = arg;

	(void)err;
	t->draft->thought.max = DRAFT_MAX_TEXT;
	buf_addstr(thinking ? &t->draft->thought : &t->part->text, text);
	show(t->draft, thinking ? PART_THINKING : PART_TEXT, text);
	return 0;
}

/* A server that tells thinking apart leaves none in the text. */
static bool tells_thinking(const struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->parts[i].kind == PART_THINKING && d->parts[i].text.len)
			return true;
	return false;
}

int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err)
{
	if (!delta.len)
		return 0;
	if (p->kind == PART_TOOL_CALL) {
		buf_addstr(&p->text, delta);
		if (p->text.over)
			return too_much(d, err, "bytes of arguments in a call",
					DRAFT_MAX_ARGS);
		return 0;
	}
	if (delta.len > DRAFT_MAX_TEXT - d->bytes)
		return too_much(d, err, "bytes of text", DRAFT_MAX_TEXT);
	d->bytes += delta.len;
	if (p->kind == PART_TEXT && d->tags.at != THINK_OVER) {
		struct tagged tagged = { d, p };

		if (d->tags.at == THINK_BEGIN && tells_thinking(d))
			d->tags.at = THINK_OVER;
		return think_tags_feed(&d->tags, delta, add_tagged, &tagged,
				       err);
	}
	buf_addstr(&p->text, delta);
	show(d, p->kind, delta);
	return 0;
}

/* The bytes that could have been the beginning of a tag. */
static void end_tags(struct draft *d)
{
	struct tagged tagged = { d, NULL };
	struct error ignored = { 0 };

	for (size_t i = d->n; i > 0 && !tagged.part; i--)
		if (d->parts[i - 1].kind == PART_TEXT)
			tagged.part = &d->parts[i - 1];
	if (tagged.part)
		(void)think_tags_end(&d->tags, add_tagged, &tagged, &ignored);
}

void draft_name(char **field, const char *value)
{
	size_t len = value ? strlen(value) : 0;

	if (!*field && len && len <= DRAFT_MAX_NAME)
		*field = xstrndup(value, len);
}

void call_ids_add(struct call_ids *ids, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->parts[i].kind != PART_TOOL_CALL || !m->parts[i].id)
			continue;
		/* grows at powers of two, so that no capacity need be kept */
		if (!(ids->n & (ids->n - 1)))
			ids->list = xrealloc(ids->list, ids->n ? ids->n * 2 : 1,
					     sizeof(*ids->list));
		ids->list[ids->n++] = xstrdup(m->parts[i].id);
	}
}

void call_ids_release(struct call_ids *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		free(ids->list[i]);
	free(ids->list);
	*ids = (struct call_ids){ 0 };
}

/* Two calls of one id could not be told apart by their results: vendors refuse
 * such a conversation for good. Servers that number their calls begin anew
 * with each message. */
static bool id_used(const struct message *m, const struct call_ids *earlier,
		    const char *id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].id && wire_same_id(m->parts[i].id, id))
			return true;
	for (size_t i = 0; earlier && i < earlier->n; i++)
		if (wire_same_id(earlier->list[i], id))
			return true;
	return false;
}

/* Mistral's servers and templates refuse ids that are not nine letters and
 * digits; everybody takes those (langchain pull request 24668, mlx-lm issue
 * 1375; read 2026-11-20). */
static char *call_id(const struct message *m, const struct call_ids *earlier,
		     struct draft_part *p)
{
	char *id = p->id;
	char random[10];

	if (id && !id_used(m, earlier, id)) {
		p->id = NULL;
		return id;
	}
	ids_random(random, sizeof(random) - 1);
	return xstrdup(random);
}

void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows)
{
	if (!reason)
		return;
	d->finish = FINISH_STOP;
	d->reason[0] = '\0';
	for (; rows->reason; rows++) {
		if (strcmp(rows->reason, reason) != 0)
			continue;
		d->finish = rows->finish;
		snprintf(d->reason, sizeof(d->reason), "%s", rows->reason);
	}
}

/* The limit fell into the last call: what there is of its arguments must not
 * be mended. */
static bool is_cut(const struct draft *d, const struct draft_part *p)
{
	return p == &d->parts[d->n - 1] && p->kind == PART_TOOL_CALL &&
	       (d->finish == FINISH_LENGTH || d->finish == FINISH_WINDOW) &&
	       !args_strict(str_trim(buf_str(&p->text)));
}

static void convert_part(struct message *m, struct draft_part *p,
			 const struct call_ids *earlier, bool cut,
			 void (*replay)(const struct draft_part *p,
					struct buf *out))
{
	struct buf again = BUF_INIT(SIZE_MAX / 2);
	struct part *part;
	char *id = NULL;
	bool bad = false;

	replay(p, &again);
	if (p->kind == PART_TOOL_CALL) {
		id = call_id(m, earlier, p);
		bad = cut || !args_repair(&p->text);
	} else if (!p->text.len && !again.len) {
		buf_release(&again);
		return;
	}
	part = message_add(m, p->kind);
	part->id = id;
	part->bad_args = bad;
	if (p->kind == PART_TOOL_CALL) {
		part->name = p->name ? p->name : xstrdup("");
		p->name = NULL;
		part->args = buf_detach(&p->text);
	} else {
		part->text = buf_detach(&p->text);
	}
	part->replay = again.len ? buf_detach(&again) : NULL;
	buf_release(&again);
}

void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out))
{
	struct message *m = &reply->message;
	bool calls = false;

	m->role = ROLE_ASSISTANT;
	end_tags(d);
	if (str_trim(buf_str(&d->thought)).len)
		message_add(m, PART_THINKING)->text = buf_detach(&d->thought);
	if (d->refuses)
		d->finish = FINISH_REFUSAL;
	for (size_t i = 0; i < d->n; i++) {
		struct draft_part *p = &d->parts[i];

		if (p->kind == PART_TOOL_CALL && d->finish == FINISH_REFUSAL)
			continue;
		reply->cut_call |= is_cut(d, p);
		convert_part(m, p, earlier, reply->cut_call, replay);
		calls |= p->kind == PART_TOOL_CALL;
	}
	reply->usage = d->usage;
	snprintf(reply->reason, sizeof(reply->reason), "%s", d->reason);
	reply->finish = calls                       ? FINISH_TOOLS
			: d->finish == FINISH_TOOLS ? FINISH_STOP
						    : d->finish;
	draft_release(d);
}
