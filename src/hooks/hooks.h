/* hooks.h - commands of the user's (hooks.json) that run at events. */
/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_HOOKS_H
#define HOOKS_HOOKS_H

#include "base/json.h"
#include "base/mask/mask.h"
#include "base/stop.h"
#include "config/settings.h"
#include "hooks/hooks_file.h"
#include "trust/trust.h"

/*
 * The format and the wire are those of the Python program, which are Claude
 * Code's: JSON on standard input, exit status 0, 2 (block) or another, and a
 * JSON object on standard output. Hooks run on the user's machine, with his
 * rights, wherever the tools run: at once all that match, each with its time
 * limit, at which its process group is killed.
 */
struct hooks_source {                    /* borrowed until hooks_free() */
	const struct settings *settings; /* for environments */
	const struct mask *mask;         /* for what is shown and sent on */
	const char *user_file;
	const char *project_file; /* below root, or NULL */
	const char *root;         /* of the project */
	const char *cwd;          /* that hooks start in */
	struct trust *trust;
	void (*warn)(const char *line);
	/* What the user should know and nobody has to mend; may be NULL. */
	void (*tell)(const char *line);
	/* The user's file, or that of a project that was allowed, cannot be
	 * used at all: 0 to go on without it, -1 with err. */
	int (*without)(void *arg, const struct error *why, struct error *err);
	/* The file of a conversation, up to date, for transcript_path: owned by
	 * the caller, or NULL. Any thread, never two at once. May be NULL. */
	char *(*transcript)(void *arg, const char *session);
	void *arg;
};

/* Immutable once loaded. Any thread, but for trust's question, which
 * hooks_load() asks. */
struct hooks;

/*
 * NULL when there are none: nothing is read then, no thread started. What is
 * wrong with one hook is a warning, and that hook is left out; where it is a
 * guard (PreToolUse, PermissionRequest, UserPromptSubmit) it refuses what it
 * was to judge. A project's that are not trusted are left out, too. -1 when a
 * question was cancelled, or without() says so.
 */
int hooks_load(struct hooks **h, const struct hooks_source *src,
	       struct error *err);
/* Ends notifications that still run. */
void hooks_free(struct hooks *h);
/* Of which conversation the hooks are told; session may be NULL. mode: one of
 * the wire's permission modes, asked for at each event. */
void hooks_set_session(struct hooks *h, const char *session,
		       const char *(*mode)(void *arg), void *arg);
/* Forgets a mode's arg before that goes, unless another one took its place. */
void hooks_end_session(struct hooks *h, const void *arg);
/* Whether any hook waits for this event. NULL h: none. */
bool hooks_have(const struct hooks *h, enum hook_event event);

struct hook_call {
	enum hook_event event;
	/* What matchers are compared with: a tool's name on the wire, a cause,
	 * a trigger, a type; NULL where the event has none. */
	const char *match;
	const cJSON *fields; /* of the event: an object; borrowed */
	/* Lines for the user: failures, and systemMessage. May be NULL. */
	void (*notice)(void *arg, const char *line);
	/* terminalSequence: a title, a notification or a bell. May be NULL. */
	void (*terminal)(void *arg, const char *sequence);
	void *arg;
};

enum hook_permission { /* the higher one wins */
		       HOOK_NO_OPINION,
		       HOOK_ALLOW,
		       HOOK_ASK,
		       HOOK_DENY,
};

/* What all hooks of an event said together. Masked, without escapes. */
struct hook_outcome {
	enum hook_permission permission;
	bool blocked;       /* what the event allows to block */
	struct buf reason;  /* of blocked or permission */
	struct buf context; /* for the model, or empty */
	cJSON *input;       /* changed arguments as on the wire; or NULL */
	bool has_output;
	struct buf output; /* in place of the tool's result */
	bool stop;         /* the agent is to end: stop_reason */
	struct buf stop_reason;
};

/* Runs those that match. -1 only when stop ended it: ERR_CANCELLED or
 * ERR_TIMEOUT; everything they left has been killed. Failures of hooks are
 * notices, but that a guard could not run at all (its program is missing, its
 * project has changed) refuses the call or the prompt. out is released by the
 * caller in any case. */
int hooks_run(struct hooks *h, const struct hook_call *call,
	      struct hook_outcome *out, const struct stop *stop,
	      struct error *err);
void hook_outcome_release(struct hook_outcome *out);
/* The same on a thread of its own, for events that only tell. Takes fields
 * over; nothing is shown of it. */
void hooks_notify(struct hooks *h, enum hook_event event, const char *match,
		  cJSON *fields);

/* wire.c: a tool as the wire calls it ("Bash"); its own name where there is no
 * other. */
const char *hook_tool_name(const char *tool);
/* Arguments as on the wire; and back: the arguments with what a hook changed.
 * Owned by the caller. */
cJSON *hook_tool_input(const char *tool, const cJSON *args);
cJSON *hook_tool_args(const char *tool, const cJSON *args, const cJSON *input);

#endif
