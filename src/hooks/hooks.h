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
 * The file and the wire format are those of the Python program and of Claude
 * Code: JSON on standard input; exit status 0, 2 (block) or another; a JSON
 * object on standard output. Hooks run on the user's machine with his rights,
 * wherever the tools run. All matching hooks run in parallel. Each has a time
 * limit, after which its process group is killed.
 */
struct hooks_source {                    /* borrowed until hooks_free() */
	const struct settings *settings; /* provides the environments */
	const struct mask *mask;         /* masks text that is shown or sent */
	const char *user_file;
	const char *project_file; /* inside root, or NULL */
	const char *root;         /* the project's root directory */
	const char *cwd;          /* directory in which hooks start */
	struct trust *trust;
	void (*warn)(const char *line);
	/* Shows information that needs no action; may be NULL. */
	void (*tell)(const char *line);
	/* Called if the user's file, or that of an allowed project, cannot be
	 * used. Returns 0 to continue without it, -1 with err. */
	int (*without)(void *arg, const struct error *why, struct error *err);
	/* Returns the up-to-date file of a conversation, for transcript_path:
	 * owned by the caller, or NULL. Called from any thread, never twice at
	 * once. May be NULL. */
	char *(*transcript)(void *arg, const char *session);
	void *arg;
};

/* Immutable once loaded. Any thread, except that hooks_load() may ask trust's
 * question. */
struct hooks;

/*
 * Loads the hooks. *h is NULL if there are none; events then cost nothing. An
 * invalid hook is reported as a warning and left out; if it is a guard
 * (PreToolUse, PermissionRequest, UserPromptSubmit), it refuses what it should
 * have judged. Untrusted hooks of a project are left out. Returns -1 if a
 * question was cancelled or without() failed.
 */
int hooks_load(struct hooks **h, const struct hooks_source *src,
	       struct error *err);
/* Ends running notifications and frees h. */
void hooks_free(struct hooks *h);
/* Sets the conversation that hooks are told; session may be NULL. mode is
 * called at each event and returns one of the wire's permission modes. */
void hooks_set_session(struct hooks *h, const char *session,
		       const char *(*mode)(void *arg), void *arg);
/* Removes mode and its arg before arg is freed, unless another arg was set. */
void hooks_end_session(struct hooks *h, const void *arg);
/* True if there is a hook for this event. h may be NULL. */
bool hooks_have(const struct hooks *h, enum hook_event event);

struct hook_call {
	enum hook_event event;
	/* The text that matchers are compared with: a tool's name on the wire,
	 * a cause, a trigger or a type; NULL if the event has none. */
	const char *match;
	const cJSON *fields; /* fields of the event, an object; borrowed */
	/* Receives lines for the user: failures and systemMessage. May be
	 * NULL. */
	void (*notice)(void *arg, const char *line);
	/* Receives terminalSequence: a title, a notification or a bell. May be
	 * NULL. */
	void (*terminal)(void *arg, const char *sequence);
	void *arg;
};

enum hook_permission { /* ordered: the highest wins */
		       HOOK_NO_OPINION,
		       HOOK_ALLOW,
		       HOOK_ASK,
		       HOOK_DENY,
};

/* Combined answers of all hooks of an event. Masked, without escape
 * sequences. */
struct hook_outcome {
	enum hook_permission permission;
	bool blocked;       /* for events that can be blocked */
	struct buf reason;  /* reason of blocked or permission */
	struct buf context; /* for the model, or empty */
	cJSON *input;       /* changed arguments in wire format, or NULL */
	bool has_output;
	struct buf output; /* replaces the tool's result */
	bool stop;         /* the run must end, for stop_reason */
	struct buf stop_reason;
};

/* Runs the matching hooks. Returns -1 only if stop ended them (ERR_CANCELLED or
 * ERR_TIMEOUT); all their processes have then been killed. Failures are
 * reported as notices. But a guard that could not run (its program is missing,
 * or its project has changed) refuses the call or the prompt. The caller
 * releases out in any case. */
int hooks_run(struct hooks *h, const struct hook_call *call,
	      struct hook_outcome *out, const struct stop *stop,
	      struct error *err);
void hook_outcome_release(struct hook_outcome *out);
/* Runs the hooks of an event that only informs, on a separate thread. Takes
 * ownership of fields. Shows nothing. */
void hooks_notify(struct hooks *h, enum hook_event event, const char *match,
		  cJSON *fields);

/* Returns a tool's name on the wire ("Bash"), or its own name if it has no
 * other. */
const char *hook_tool_name(const char *tool);
/* Convert arguments to wire format, and back with a hook's changes. The caller
 * owns the result. */
cJSON *hook_tool_input(const char *tool, const cJSON *args);
cJSON *hook_tool_args(const char *tool, const cJSON *args, const cJSON *input);

#endif
