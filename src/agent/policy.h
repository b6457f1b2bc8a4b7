/* policy.h - the allow list of commands, and the approval of one call. */
/* SPDX-License-Identifier: MIT */
/*
 * These are the parts of a decision. run_decide() in cmd/session/policy.c makes
 * it.
 */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include "model/message.h"
#include "sandbox/sandbox.h"
#include "tool/tool.h"

struct allow_list { /* start from { 0 }; free with allow_list_release() */
	bool given; /* a list was configured */
	bool all;   /* everything is allowed */
	char **names;
	size_t n;
};

/* Parses "ls,cat", "recommended" or "all" (alone). Fails with ERR_USAGE. */
int allow_list_parse(struct allow_list *list, const char *text,
		     struct error *err);
void allow_list_release(struct allow_list *list);
/*
 * True if the command line may run. The first word of each simple command must
 * equal a name in the list. Refused: substitutions, redirections, background
 * commands and variables; '$', '`' and '!' in double quotes; NUL and all white
 * space except the space, wherever it is. Otherwise all characters are literal
 * in single quotes, and ; | & < > ( ) in double quotes.
 */
bool allow_list_permits(const struct allow_list *list, struct str command);
/* Appends the names as "a, b, c". */
void allow_list_names(const struct allow_list *list, struct buf *out);

enum { APPROVAL_MACHINE = 320 };
struct approval { /* a request for approval of one call */
	const struct part *call;
	const struct tool *tool;
	const cJSON *args;               /* parsed, as the tool will see them */
	const struct part *const *later; /* later calls of the same answer */
	size_t n_later;
	size_t number; /* index of the call in the answer, from 1 */
	size_t total;  /* number of calls in the answer */
	/* name of the calling subagent: "reviewer 2"; or NULL */
	const char *subagent;
	/* the sandbox of the calling subagent; NULL: the run's */
	struct sandbox *acts_in;
	/* Filled by approve: */
	const char *machine; /* where the call runs: "this machine"; or NULL */
	char called[APPROVAL_MACHINE]; /* buffer for machine */
	const char *sandbox;           /* sandbox id; NULL: no sandbox */
	const char *workdir; /* working directory in the sandbox, or NULL */
	const char *mounted; /* the user's directory mounted there, or NULL */
	const struct mask *mask; /* masks shown file contents, or NULL */
	/* A hook allowed the call without asking, or demands that the user is
	 * asked. */
	bool hook_allows, hook_asks;
	bool auto_edit; /* an edit that the auto-edit mode allows */
	bool allowed;
	bool declined;     /* if not allowed: the user declined */
	struct buf reason; /* if not allowed: text for the model, or empty */
	/* for the user: the path a file tool acts on, or empty */
	struct buf place;
	/* The path a file tool acts on, with all links resolved. The tool acts
	 * on exactly this path or fails. NULL: the path in the call. Owned. */
	char *real_path;
	struct tool_change change; /* the change it would make to a file */
	const char *file_note;     /* why the change is unknown, or NULL */
	char *edited; /* arguments as edited by the user, or NULL; owned */
	cJSON *edited_args; /* edited, parsed; owned */
};
/* Clears place and change before the user is asked again about changed args. */
void approval_clear(struct approval *a);
/* Records that the user declined; why may be empty. */
void approval_decline(struct approval *a, struct str why);
/* Returns the user's reason from the result of a declined call, or empty. */
struct str approval_why(struct str result);
void approval_release(struct approval *a);
/* Returns the name of the argument that the user may edit, or NULL. */
const char *approval_editable(const struct approval *a);
/* Replaces that argument by text. ERR_USAGE if the tool would reject it.
 * Afterwards the call must be checked and approved again. */
int approval_edit(struct approval *a, struct str text, struct error *err);
/* Describes the user's edit to the model; precedes the result. */
void approval_describe_edit(const struct approval *a, const struct mask *m,
			    struct buf *out);

#endif
