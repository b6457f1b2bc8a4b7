/* slash_compact.c - /compact: older messages give way to a summary. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/compact.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/conversation.h"

enum { FOCUS_MAX = 4000 };

static void report(const struct compact_step *s)
{
	int64_t saved = s->before > s->after ? s->before - s->after : 0;

	fprintf(stderr,
		"Context: about %" PRId64 " -> %" PRId64 " tokens (%" PRId64
		"%% less). The thread keeps every message; the model can read "
		"them with read_history.\n",
		s->before, s->after,
		s->before > 0 ? saved * 100 / s->before : 0);
}

static void report_nothing(const struct compact_step *s)
{
	if (!s->after)
		fputs("Nothing to compact: there are no older messages.\n",
		      stderr);
	else
		fprintf(stderr,
			"Compacting would save nothing: about %" PRId64
			" -> %" PRId64
			" tokens. The conversation is unchanged.\n",
			s->before, s->after);
}

static void fail(const struct run *r, struct error *err)
{
	error_wrap(err, "the conversation was not compacted");
	(void)app_fail(r->app, err);
}

bool slash_cmd_compact(struct run *r, int n, char **words)
{
	struct buf focus = BUF_INIT(1 << 20);
	struct compact_order order = { .asked = true };
	struct compact_step step = { 0 };
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };
	int rc;

	if (n && strlen(words[0]) > FOCUS_MAX) {
		fprintf(stderr,
			"/compact: the text is limited to %d bytes, and yours "
			"has %zu.\n",
			FOCUS_MAX, strlen(words[0]));
		return true;
	}
	if (n) /* it goes to the model */
		mask_text(r->app->mask, str_of(words[0]), &focus);
	order.focus = focus.ptr;
	rc = compact_now(&r->agent, &order, &step, &stop, &err);
	buf_release(&focus);
	if (rc > 0)
		report(&step);
	else if (rc == 0)
		report_nothing(&step);
	else if (err.code == ERR_CANCELLED)
		fputs("Interrupted: the conversation is unchanged.\n", stderr);
	else
		fail(r, &err);
	return true;
}
