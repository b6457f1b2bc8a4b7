/* hooks.h - runs the user's commands (hooks.json) at events. */
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
 * File and wire format are those of the Python program and of Claude Code. A
 * hook gets JSON on standard input; it answers with exit status 0, 2 (block) or
 * another, and may print a JSON object. Hooks run on the user's machine with
 * the user's rights, wherever the tools run. All hooks that match an event run
 * in parallel. Each has a time limit, after which its process group is killed.
 */
struct hooks_source { /* borrowed until hooks_free() */
	/* environments of hooks are made from them */
	const struct settings *settings;
	const struct mask *mask; /* masks text that is shown or sent */
	const char *user_file;
	const char *project_file; /* inside root, or NULL */
	const char *root;         /* the project's root directory */
	const char *cwd;          /* directory in which hooks start */
	struct trust *trust;
	void (*warn)(const char *line);
	/* Shows information that requires no action. May be NULL. */
	void (*tell)(const char *line);
	/* Called if the file of the user, or of a project that was allowed,
	 * cannot be used. Returns 0 to continue without it, -1 with err. */
	int (*without)(void *arg, const struct error *why, struct error *err);
	/* Returns the path of a file with the conversation so far, for
	 * transcript_path: owned by the caller, or NULL. Called on any thread,
	 * but not on two at once. May be NULL. */
	char *(*transcript)(void *arg, const char *session);
	void *arg;
};

/* Does not change once loaded. All functions may be called on any thread, but
 * hooks_load() may ask the user a question (see trust.h). */
struct hooks;

/*
 * Loads the hooks. *h is NULL if there are none, so that events cost nothing.
 * An invalid hook is reported as a warning and left out. But if it is a guard
 * (PreToolUse, PermissionRequest, UserPromptSubmit), it refuses everything that
 * it should have judged. Hooks of a project are left out if the user has not
 * allowed them. Returns -1 if a question was cancelled or without() failed.
 */
int hooks_load(struct hooks **h, const struct hooks_source *src,
	       struct error *err);
/* Cancels running notifications, waits for them and frees h. */
void hooks_free(struct hooks *h);
/* Sets the conversation that hooks are told about; session may be NULL. mode is
 * called at each event and returns the permission mode to report, as Claude
 * Code names it. */
void hooks_set_session(struct hooks *h, const char *session,
		       const char *(*mode)(void *arg), void *arg);
/* Call before arg is freed: removes mode and its arg, unless
 * hooks_set_session() was called again with another arg. */
void hooks_end_session(struct hooks *h, const void *arg);
/* True if there is a hook for this event. h may be NULL. */
bool hooks_have(const struct hooks *h, enum hook_event event);

struct hook_call {
	enum hook_event event;
	/* What an event's matchers are compared with: a tool's name as hooks
	 * know it, a cause, a trigger or a type. NULL if the event has nothing
	 * of the kind. */
	const char *match;
	const cJSON *fields; /* fields of the event, an object; borrowed */
	/* Receives lines for the user: failures, and systemMessage of hooks.
	 * May be NULL. */
	void (*notice)(void *arg, const char *line);
	/* Receives terminalSequence of hooks: a title, a notification or a
	 * bell. May be NULL. */
	void (*terminal)(void *arg, const char *sequence);
	void *arg;
};

enum hook_permission { /* weakest first: the strictest wins */
		       HOOK_NO_OPINION,
		       HOOK_ALLOW,
		       HOOK_ASK,
		       HOOK_DENY,
};

/* The combined answers of all hooks of an event. Texts are masked and have no
 * escape sequences. */
struct hook_outcome {
	enum hook_permission permission;
	bool blocked; /* only for events that can be blocked */
	/* why it was blocked, or why the permission is as it is */
	struct buf reason;
	struct buf context; /* text for the model, or empty */
	/* arguments as changed by a hook, in Claude Code's format; or NULL */
	cJSON *input;
	bool has_output;
	struct buf output; /* replaces the tool's result */
	bool stop; /* a hook asked to end the run; stop_reason says why */
	struct buf stop_reason;
};

/* Runs the matching hooks. Returns -1 only if stop ended them (ERR_CANCELLED or
 * ERR_TIMEOUT); all their processes have then been killed. Failures are
 * reported as notices. But if a guard could not be run (its program is missing,
 * or its project's files have changed), the call or the prompt is refused. The
 * caller releases out in any case. */
int hooks_run(struct hooks *h, const struct hook_call *call,
	      struct hook_outcome *out, const struct stop *stop,
	      struct error *err);
void hook_outcome_release(struct hook_outcome *out);
/* Runs the hooks of an event that only informs, on a separate thread. Takes
 * ownership of fields. Their output is not shown. */
void hooks_notify(struct hooks *h, enum hook_event event, const char *match,
		  cJSON *fields);

/* Returns the name by which hooks know a tool ("Bash"), or the tool's own name
 * if they use the same. */
const char *hook_tool_name(const char *tool);
/* Convert a call's arguments to Claude Code's format, and back with the changes
 * that a hook has made. The caller owns the result. */
cJSON *hook_tool_input(const char *tool, const cJSON *args);
cJSON *hook_tool_args(const char *tool, const cJSON *args, const cJSON *input);

#endif
