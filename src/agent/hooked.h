/* hooked.h - calls the user's hooks from the agent loop. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HOOKED_H
#define AGENT_HOOKED_H

#include "agent/agent.h"
#include "hooks/hooks.h"

/* These functions do nothing if a->hooks has no hook for the event. They return
 * -1 with ERR_CANCELLED or ERR_TIMEOUT if stop ended a hook. */

/* Runs SessionStart hooks. The text that they return for the model goes with
 * the next prompt. cause: "startup", "resume", "clear" or "compact". */
int hooked_session_start(struct agent *a, const char *cause,
			 const struct stop *stop, struct error *err);
/* Runs SessionEnd hooks. cause: "clear", "resume", "prompt_input_exit" or
 * "other". */
void hooked_session_end(struct agent *a, const char *cause,
			const struct stop *stop);
/* Runs UserPromptSubmit hooks. text gets the prompt to send, with the text that
 * hooks add. Returns -1 with ERR_REFUSED if a hook blocked the prompt. */
int hooked_prompt(struct agent *a, const char *prompt, struct buf *text,
		  const struct stop *stop, struct error *err);

/* What the hooks of one call decided. Initialise with { .emit, .arg }; release
 * with hooked_call_release(). */
typedef void hooked_emit(void *arg, const struct agent_event *ev);
struct hooked_call {
	/* like agent_ui.event; called on the thread that calls hooked_...() */
	hooked_emit *emit;
	void *arg;
	enum hook_permission permission;
	struct buf reason; /* why the permission was given or refused */
	/* text for the model, to be appended to the result */
	struct buf context;
	char *args;            /* arguments changed by hooks, or NULL; owned */
	struct hooked_end end; /* set by hooked_after() */
};
/* Runs PreToolUse, and PermissionRequest for calls that may need approval. Call
 * on the agent's thread. */
int hooked_before(struct agent *a, const struct part *call,
		  const struct tool *tool, struct hooked_call *c,
		  const struct stop *stop, struct error *err);
struct hooked_result { /* the result of a call; borrowed */
	bool failed;
	struct buf *text;
};
/* Runs PostToolUse or PostToolUseFailure hooks, which may change the result.
 * Then appends the context from hooked_before() to it. Any thread. */
int hooked_after(struct agent *a, const struct part *call,
		 const struct hooked_result *result, struct hooked_call *c,
		 const struct stop *stop, struct error *err);
void hooked_call_release(struct hooked_call *c);
/* Records in `a` that a hook of a call asked to end the run. Takes ownership of
 * end. */
void hooked_merge_end(struct agent *a, struct hooked_end *end);

/* Runs Stop hooks. Returns 1 if the agent must continue with *prompt (owned by
 * the caller), 0 if it may end. loops: how many times in a row Stop hooks have
 * continued it. */
int hooked_stop(struct agent *a, int loops, char **prompt,
		const struct stop *stop, struct error *err);
struct hooked_subagent { /* The subagent that starts or ends. Borrowed. */
	const char *id, *type;
	/* its last text, for SubagentStop; NULL for SubagentStart */
	const char *last;
	struct buf *context; /* gets text that hooks return for the parent */
};
/* Runs SubagentStart, or SubagentStop if last is set. Any thread. */
int hooked_subagent(struct agent *a, const struct hooked_subagent *s,
		    const struct stop *stop, struct error *err);
/* Runs PreCompact. Returns 1 if a hook blocked the compaction; err says why. */
int hooked_compact(struct agent *a, const char *trigger, const char *focus,
		   const struct stop *stop, struct error *err);
/* True if a hook asked to end the run. Shows the hook's reason, once. */
bool hooked_ends(struct agent *a);

#endif
