/* pinned.c - what no compaction changes: the last request, the open tasks. */
/* SPDX-License-Identifier: MIT */
#include "agent/pinned.h"

#include <inttypes.h>
#include <string.h>

#include "agent/history_text.h"
#include "base/mem.h"
#include "base/str.h"
#include "tool/todos.h"

#define TODOS_BEGIN                                                            \
	"The list of tasks as it was last written with " TODOS_TOOL            \
	":\n<todos>\n"
#define TODOS_END "\n</todos>"

size_t pinned_request(const struct conversation *c)
{
	for (size_t i = c->n; i > 0; i--)
		if (c->list[i - 1].role == ROLE_USER && !c->list[i - 1].summary)
			return i - 1;
	return c->n;
}

void pinned_summary(struct message *m, struct str summary)
{
	struct buf text = BUF_INIT(SIZE_MAX / 2);

	buf_adds(&text,
		 "The older part of this conversation has been taken out to "
		 "make room. All of it can still be read, with the tool "
		 "read_history. This is its summary:\n<summary>\n");
	buf_addstr(&text, summary);
	buf_adds(&text, "\n</summary>");
	message_add(m, PART_TEXT)->text = buf_detach(&text);
}

/* What an earlier compaction has kept, or NULL. */
static const struct part *earlier_todos(const struct conversation *c)
{
	const struct message *m = c->n && c->list[0].summary ? c->list : NULL;

	for (size_t i = 1; m && i < m->n; i++)
		if (str_starts(str_of(m->parts[i].text), TODOS_BEGIN))
			return &m->parts[i];
	return NULL;
}

void pinned_todos(struct message *m, const struct conversation *c, size_t cut)
{
	const struct part *call = todos_latest(c->list, cut);
	const struct part *before = call ? NULL : earlier_todos(c);
	struct buf text = BUF_INIT(SIZE_MAX / 2);

	if (todos_latest(c->list + cut, c->n - cut))
		return;
	if (before) {
		message_add(m, PART_TEXT)->text = xstrdup(before->text);
	} else if (call) {
		buf_adds(&text, TODOS_BEGIN);
		buf_adds(&text, call->args ? call->args : "");
		buf_adds(&text, TODOS_END);
		message_add(m, PART_TEXT)->text = buf_detach(&text);
	}
	buf_release(&text);
}

struct pin {
	const char *name;
	const char *remedy;
	size_t bytes;
};

int pinned_check(const struct agent *a, const struct conversation *c,
		 struct error *err)
{
	const struct window *w = &a->window;
	size_t head = model_head_size(a->model);
	size_t system = str_of(model_system(a->model)).len;
	size_t request = pinned_request(c);
	struct pin pins[] = {
		{ "the system prompt with AGENTS.md", "shorten AGENTS.md",
		  system },
		{ "the tool descriptions", "offer fewer tools",
		  head > system ? head - system : 0 },
		{ "the last message", "send less at once",
		  request < c->n
			  ? history_text_size(&c->list[request], a->model)
			  : 0 },
	};
	const struct pin *largest = pins;
	size_t all = 0;

	for (size_t i = 0; i < sizeof(pins) / sizeof(*pins); i++) {
		all += pins[i].bytes;
		if (pins[i].bytes > largest->bytes)
			largest = &pins[i];
	}
	if (!w->size || window_about(w, all) <= w->most)
		return 0;
	error_set(err, ERR_LIMIT,
		  "%s is too large: about %" PRId64 " tokens of the %" PRId64
		  " that must be sent, and the model's context window has room "
		  "for %" PRId64,
		  largest->name, window_about(w, largest->bytes),
		  window_about(w, all), w->most);
	return error_hint(err,
			  "%s, or choose a model with a larger window (-M)",
			  largest->remedy);
}
