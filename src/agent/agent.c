/* agent.c - what the parts of the loop have in common. */
/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "session/history.h"
#include "session/spend.h"

static void emit(struct agent *a, enum agent_event_kind kind, struct str text)
{
	a->ui.event(a->ui.arg,
		    &(struct agent_event){ .kind = kind, .text = text });
}

void agent_warn(struct agent *a, const char *what, const struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);

	buf_addf(&line, "%s: %s", what, err->message);
	emit(a, EVENT_WARNING, buf_str(&line));
	buf_release(&line);
}

void agent_not_stored(struct agent *a, const struct error *err)
{
	a->session = NULL;
	agent_warn(a, "this thread is no longer stored", err);
}

/* An answer and what it cost, in one transaction: each is a write of its own to
 * the disk. */
static int store_answer(struct agent *a, const struct message *m,
			const struct usage *usage, struct error *err)
{
	struct error ignored = { 0 };

	if (session_begin(a->session, err) < 0 ||
	    session_append(a->session, m, usage, err) < 0)
		return -1;
	if (a->meter)
		(void)spend_store(a->session, a->meter, &ignored);
	return session_commit(a->session, err);
}

void agent_store(struct agent *a, const struct message *m,
		 const struct usage *usage)
{
	struct error err = { 0 };

	if (a->memory) {
		struct message copy = message_copy(m);

		history_add(a->memory, &copy);
	}
	if (!a->session)
		return;
	if ((usage ? store_answer(a, m, usage, &err)
		   : session_append(a->session, m, usage, &err)) < 0)
		agent_not_stored(a, &err);
}
