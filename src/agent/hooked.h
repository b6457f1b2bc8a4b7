/* hooked.h - where the loop lets the user's hooks have a say. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HOOKED_H
#define AGENT_HOOKED_H

#include "agent/agent.h"
#include "hooks/hooks.h"

/* All of these do nothing where a->hooks has none for the event; -1 with
 * ERR_CANCELLED or ERR_TIMEOUT when stop ended a hook. */

/* SessionStart: what hooks say goes with the next prompt. cause: "startup",
 * "resume", "clear", "compact". */
int hooked_session_start(struct agent *a, const char *cause,
			 const struct stop *stop, struct error *err);
/* SessionEnd. cause: "clear", "resume", "prompt_input_exit", "other". */
void hooked_session_end(struct agent *a, const char *cause,
			const struct stop *stop);
/* UserPromptSubmit: text is what is sent. -1 with ERR_REFUSED when it was
 * blocked. */
int hooked_prompt(struct agent *a, const char *prompt, struct buf *text,
		  const struct stop *stop, struct error *err);

/* What hooks say of one call; start from { .emit, .arg } and release. */
typedef void hooked_emit(void *arg, const struct agent_event *ev);
struct hooked_call {
	hooked_emit *emit; /* as agent_ui.event, safe on the calling thread */
	void *arg;
	enum hook_permission permission;
	struct buf reason;     /* of the permission */
	struct buf context;    /* what the result is followed by */
	char *args;            /* as the hooks changed them, or NULL; owned */
	struct hooked_end end; /* of hooked_after() */
};
/* PreToolUse and, for calls that may be asked about, PermissionRequest. On the
 * agent's thread. */
int hooked_before(struct agent *a, const struct part *call,
		  const struct tool *tool, struct hooked_call *c,
		  const struct stop *stop, struct error *err);
struct hooked_result { /* of a call; borrowed */
	bool failed;
	struct buf *text;
};
/* PostToolUse or PostToolUseFailure: changes the result, which gets the context
 * of hooked_before() too. Any thread. */
int hooked_after(struct agent *a, const struct part *call,
		 const struct hooked_result *result, struct hooked_call *c,
		 const struct stop *stop, struct error *err);
void hooked_call_release(struct hooked_call *c);
/* A hook of a call wants the agent to end. Takes end over. */
void hooked_merge_end(struct agent *a, struct hooked_end *end);

/* Stop: 1 when the agent goes on with *prompt (owned by the caller), 0. loops:
 * how often it has gone on so. */
int hooked_stop(struct agent *a, int loops, char **prompt,
		const struct stop *stop, struct error *err);
struct hooked_subagent { /* borrowed */
	const char *id, *type;
	const char *last;    /* its last words, at its end; else NULL */
	struct buf *context; /* gets what hooks say then to its caller */
};
/* SubagentStart, and with last SubagentStop. Any thread. */
int hooked_subagent(struct agent *a, const struct hooked_subagent *s,
		    const struct stop *stop, struct error *err);
/* PreCompact: 1 when it was blocked, with err saying why. */
int hooked_compact(struct agent *a, const char *trigger, const char *focus,
		   const struct stop *stop, struct error *err);
/* Whether a hook wants the agent to end: says so, once. */
bool hooked_ends(struct agent *a);

#endif
