/* live_commands.c - what slash commands do to the chat with a screen. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/elsewhere.h"
#include "cmd/live/live_impl.h"
#include "cmd/run/next.h"
#include "cmd/slash/slash.h"
#include "sandbox/rights.h"

enum {
	SHOWN_BYTES = 1 << 20,
};

int live_pick(void *arg, const struct pick *p)
{
	struct live *l = arg;

	return p->n ? worker_pick(&l->worker, p) : -1;
}

static void close_picker(struct live *l)
{
	selection_list_release(&l->picker);
	l->picking = false;
	complete_update(&l->completer, &l->editor);
}

void live_open_pick(struct live *l, int64_t now)
{
	const struct pick *p = l->asked_pick;

	selection_list_open(&l->picker, str_of(p->title), p->items, p->n,
			    p->selected);
	l->picking = true;
	l->focused = false;
	l->opened = now;
}

static void answer_pick(struct live *l, int chosen)
{
	l->asked_pick = NULL;
	worker_answer(&l->worker, chosen);
}

void live_drop_pick(struct live *l)
{
	if (!l->asked_pick)
		return;
	if (l->picking)
		close_picker(l);
	answer_pick(l, -1);
}

void live_on_picker(struct live *l, const struct key_event *ev)
{
	enum selection_result result = selection_list_event(&l->picker, ev);
	int chosen = -1;

	if (result != SELECTION_CHOSEN && result != SELECTION_CANCELLED)
		return;
	if (result == SELECTION_CHOSEN)
		chosen = (int)selection_list_chosen(&l->picker);
	close_picker(l);
	answer_pick(l, chosen);
}

static void print_echo(struct live *l, const char *text)
{
	char *line =
		xasprintf("%s %s", theme_glyph(&l->theme, GLYPH_PROMPT), text);

	live_print(l);
	live_say(l, (struct style){ ATTR_BOLD, STYLE_USER }, line);
	free(line);
}

/* Nothing opens, changes or leaves it. */
static bool has_sandbox(const struct live *l)
{
	return !l->unopened &&
	       (l->state == LIVE_IDLE ||
		(l->state == LIVE_WORKING && l->now.kind != JOB_SLASH));
}

/* Its subagents are not being read, nor closed. */
static bool is_open(const struct live *l)
{
	return !l->unopened &&
	       (l->state == LIVE_IDLE || l->state == LIVE_WORKING);
}

/* "/help TOPIC" */
static bool show_topic(struct live *l, struct str line, const char *text)
{
	struct str word = str_trim(str_skip(line, str_find(line, ' ')));
	char *topic = xstrndup(word.ptr, word.len);
	const struct manual_page *page = manual_find(topic);

	free(topic);
	if (!page)
		return false;
	print_echo(l, text);
	elsewhere_show_page(l, page);
	live_print(l);
	return true;
}

bool live_run_at_once(struct live *l, const char *text)
{
	struct str line = str_trim(str_of(text));
	struct buf shown = BUF_INIT(SHOWN_BYTES);
	bool done;

	if (message_classify(line) != MESSAGE_SLASH ||
	    (l->state == LIVE_WORKING && l->now.kind == JOB_SLASH &&
	     slash_is(str_of(l->now.text), "/reload")))
		return false; /* the settings are being replaced */
	if ((slash_needs_sandbox(line) && !has_sandbox(l)) ||
	    (slash_is(line, "/agents") && !is_open(l)))
		return false;
	if (slash_is(line, "/editor")) {
		elsewhere_edit(l);
		return true;
	}
	if (slash_is(line, "/help") && show_topic(l, line, text))
		return true;
	done = slash_show(l->run, line, screen_columns(&l->screen), &shown);
	if (done) {
		print_echo(l, text);
		if (shown.len)
			live_say(l, (struct style){ 0, STYLE_MUTED },
				 shown.ptr);
		live_print(l);
	}
	buf_release(&shown);
	return done;
}

/* The mode may have been chosen after the new run had copied it. What is looser
 * is not brought from a sandbox to this machine, nor to where the user has just
 * declined it. */
static void follow_mode(struct run *now, const struct run *was)
{
	if (was->mode < now->mode ||
	    (!sandbox_acts_on_host(&now->box.sandbox) && !now->declined))
		now->mode = was->mode;
}

void live_follow_run(struct live *l)
{
	struct run *was = l->run;

	if (was->next) {
		l->run = was->next;
		l->asker.run = l->run;
		follow_mode(l->run, was);
		next_free(was);
	}
	if (l->run->switched != l->switched)
		l->context = 0;
	l->switched = l->run->switched;
	l->usage = l->run->agent.usage;
}
