/* stored_calls.c - the tool calls of a stored thread, with their results. */
/* SPDX-License-Identifier: MIT */
#include "session/stored_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "session/thread.h"

static size_t size_of(const struct stored_call *c)
{
	const char *args = c->call.args;
	const char *text = c->result.text;
	const char *change = c->result.change;

	return (args ? strlen(args) : 0) + (text ? strlen(text) : 0) +
	       (change ? strlen(change) : 0);
}

static void release_call(struct stored_call *c)
{
	free(c->call.id);
	free(c->call.name);
	free(c->call.args);
	free(c->result.text);
	free(c->result.change);
}

static void drop_oldest(struct stored_calls *c)
{
	c->bytes -= size_of(c->list);
	release_call(c->list);
	memmove(c->list, c->list + 1, --c->n * sizeof(*c->list));
}

static char *take(char **text)
{
	char *taken = *text;

	*text = NULL;
	return taken;
}

static void add_call(struct stored_calls *c, struct part *p)
{
	struct stored_call *added;

	if (!c->list)
		c->list = xcalloc(STORED_CALLS_MOST, sizeof(*c->list));
	if (c->n == STORED_CALLS_MOST)
		drop_oldest(c);
	added = &c->list[c->n++];
	*added = (struct stored_call){ .call = { .kind = PART_TOOL_CALL,
						 .id = take(&p->id),
						 .name = take(&p->name),
						 .args = take(&p->args),
						 .bad_args = p->bad_args } };
	c->bytes += size_of(added);
}

/* Gives a result to the newest call of its id. */
static void add_result(struct stored_calls *c, struct part *p)
{
	for (size_t i = c->n; i && p->id; i--) {
		struct stored_call *call = &c->list[i - 1];

		if (call->result.text || !call->call.id ||
		    strcmp(call->call.id, p->id) != 0)
			continue;
		c->bytes -= size_of(call);
		call->result.failed = p->failed;
		call->result.text = take(&p->text);
		call->result.change = take(&p->change);
		c->bytes += size_of(call);
		break;
	}
	while (c->n > 1 && c->bytes > STORED_CALLS_BYTES)
		drop_oldest(c);
}

static bool add_message(void *arg, struct thread_message *m)
{
	struct stored_calls *c = arg;

	for (size_t i = 0; !m->damaged && i < m->message.n; i++) {
		struct part *p = &m->message.parts[i];

		if (p->kind == PART_TOOL_CALL)
			add_call(c, p);
		else if (p->kind == PART_TOOL_RESULT)
			add_result(c, p);
	}
	return true;
}

int stored_calls_load(struct stored_calls *c, struct store *s, int64_t no,
		      const struct mask *mask, struct error *err)
{
	const struct thread_export of = {
		.no = no, .mask = mask, .each = add_message, .arg = c
	};

	return thread_export(s, &of, err);
}

void stored_calls_release(struct stored_calls *c)
{
	for (size_t i = 0; i < c->n; i++)
		release_call(&c->list[i]);
	free(c->list);
	*c = (struct stored_calls){ 0 };
}
