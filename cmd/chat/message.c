/* message.c - what a user sends in a chat: text, or a command of his own. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/message.h"

#include "agent/agent.h"
#include "base/str.h"
#include "cmd/chat/mention.h"
#include "cmd/chat/pictures.h"
#include "cmd/chat/slash.h"
#include "cmd/session/run_skills.h"
#include "cmd/session/sandbox.h"
#include "sandbox/background.h"

enum { MAX_PROMPT = 128 << 20 };

enum message_kind message_classify(struct str text)
{
	if (slash_is_command(str_trim(text)))
		return MESSAGE_SLASH;
	if (str_starts(text, "!!"))
		return MESSAGE_HIDDEN_COMMAND;
	return str_starts(text, "!") ? MESSAGE_COMMAND : MESSAGE_PROMPT;
}

const char *message_prefix(enum message_kind kind)
{
	static const char *const prefixes[] = {
		[MESSAGE_PROMPT] = "",   [MESSAGE_SLASH] = "",
		[MESSAGE_COMMAND] = "!", [MESSAGE_HIDDEN_COMMAND] = "!!",
		[MESSAGE_GIVEN] = "",
	};

	return prefixes[kind];
}

/* With what the user's own commands have printed since the last one. */
static int run_prompt(struct run *r, const char *text, struct buf *told,
		      const struct stop *stop, struct error *err)
{
	struct buf whole = BUF_INIT(MAX_PROMPT);
	struct buf marks = BUF_INIT(MAX_PROMPT);
	struct str typed = str_of(text);
	struct str name;
	int rc = 0;

	/* a path that was dragged to where a paste is not known as one */
	if (pictures_take(r->app->pictures, typed, &marks))
		typed = buf_str(&marks);
	buf_addstr(&whole, buf_str(told));
	if (whole.len)
		buf_addc(&whole, '\n');
	if (run_skills_is_call(typed, &name, &typed))
		rc = run_skills_invoke(r, name, typed.len > 0, &whole, err);
	/* Only in what was typed: "@" in a skill of a repository names no file.
	 */
	if (rc == 0)
		rc = mention_expand(r, typed, &whole, stop, err);
	if (rc == 0) {
		buf_clear(told);
		rc = run_agent(r, whole.ptr, stop, err);
	}
	buf_release(&whole);
	buf_release(&marks);
	return rc;
}

int message_run(struct run *r, enum message_kind kind, const char *text,
		struct buf *told, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };

	if (!run_is_promised(r) &&
	    background_failed(r->box.sandbox.background, &why) < 0)
		app_warn("%s", why.message);
	if (kind == MESSAGE_GIVEN)
		return run_agent(r, text, stop, err);
	if (kind == MESSAGE_PROMPT)
		return run_prompt(r, text, told, stop, err);
	return agent_run_own_command(&r->agent, text,
				     kind == MESSAGE_COMMAND ? told : NULL,
				     stop, err);
}
