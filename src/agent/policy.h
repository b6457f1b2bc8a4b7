/* policy.h - the allow list of commands, and the approval of one call. */
/* SPDX-License-Identifier: MIT */
/*
 * Parts of the decision whether a call may run. run_decide() in
 * cmd/session/policy.c makes that decision.
 */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include "model/message.h"
#include "sandbox/sandbox.h"
#include "tool/tool.h"

/* Begins the result, for the model, of a call that the user declined without a
 * reason. */
#define APPROVAL_DECLINED "User rejected the tool call for `"

struct allow_list { /* Initialise with { 0 }; free with allow_list_release(). */
	bool given; /* a list was configured */
	bool all;   /* everything is allowed ("all") */
	char **names;
	size_t n;
};

/* Parses "ls,cat" or "recommended", alone or in a list, or "all" alone. Fails
 * with ERR_USAGE. */
int allow_list_parse(struct allow_list *list, const char *text,
		     struct error *err);
void allow_list_release(struct allow_list *list);
/*
 * True if the command line may run: the first word of each of its simple
 * commands is in the list. Refused are substitutions, redirections, background
 * commands and variables; '$', '`' and '!' in double quotes; NUL and all white
 * space except the space, even in quotes. All other characters are literal in
 * single quotes, and ; | & < > ( ) in double quotes.
 */
bool allow_list_permits(const struct allow_list *list, struct str command);
/* Appends the names as "a, b, c". */
void allow_list_names(const struct allow_list *list, struct buf *out);

enum { APPROVAL_MACHINE = 320 };
struct approval { /* A request for approval of one call. */
	const struct part *call;
	const struct tool *tool;
	const cJSON *args; /* parsed, with the types that the tool will get */
	/* calls that follow in the same answer */
	const struct part *const *later;
	size_t n_later;
	size_t number; /* number of the call in the answer, from 1 */
	size_t total;  /* number of calls in the answer */
	/* name of the subagent that makes the call: "reviewer 2"; or NULL */
	const char *subagent;
	/* the sandbox of that subagent; NULL: the run's own */
	struct sandbox *acts_in;
	/* Filled in by agent_ui.approve: */
	/* hosts outside the network list that an allowed call opens, one per
	 * line */
	struct buf opens;
	/* where the call runs, for the user: "this machine"; or NULL */
	const char *machine;
	char called[APPROVAL_MACHINE]; /* buffer for machine */
	const char *sandbox;           /* sandbox id; NULL: no sandbox */
	const char *workdir; /* working directory in the sandbox, or NULL */
	/* host directory that is mounted as the workdir, or NULL */
	const char *mounted;
	const struct mask *mask; /* for file contents that are shown; or NULL */
	/* A hook allowed the call, so the user need not be asked; or a hook
	 * demands that the user is asked. */
	bool hook_allows, hook_asks;
	bool auto_edit; /* the auto-edit mode allows this edit */
	bool allowed;
	bool declined;     /* if not allowed: the user declined */
	struct buf reason; /* if not allowed: text for the model, or empty */
	/* the path that a file tool acts on, for the user; or empty */
	struct buf place;
	/* The path that a file tool acts on, with all links resolved. The tool
	 * acts on exactly this path or fails, so that nothing else can be put
	 * there after the approval. NULL: the path in the call. Owned. */
	char *real_path;
	struct tool_change change; /* the change it would make to a file */
	const char *file_note;     /* why `change` is not known, or NULL */
	char *edited; /* arguments as edited by the user, or NULL; owned */
	cJSON *edited_args; /* the same, parsed; owned */
};
/* Clears place and change. Call before the user is asked again because the
 * arguments have changed. */
void approval_clear(struct approval *a);
/* Records that the user declined; why may be empty. */
void approval_decline(struct approval *a, struct str why);
/* Returns true if the result of a failed call says that the user declined it.
 * *why: the user's reason, or empty. */
bool approval_read_decline(struct str result, struct str *why);
void approval_release(struct approval *a);
/* Returns the name of the argument that the user may edit, or NULL. */
const char *approval_editable(const struct approval *a);
/* Replaces the argument that the user may edit by text. ERR_USAGE if the tool
 * would reject it. The edited call must be checked and approved again. */
int approval_edit(struct approval *a, struct str text, struct error *err);
/* Appends a text that tells the model how the user has edited the call. It
 * comes before the result. */
void approval_describe_edit(const struct approval *a, const struct mask *m,
			    struct buf *out);

#endif
