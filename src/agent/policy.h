/* policy.h - whether a call may run: the list of commands, the user's answer.
 */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include "model/message.h"
#include "sandbox/sandbox.h"
#include "tool/tool.h"

struct allow_list { /* from { 0 }; allow_list_release() */
	bool given; /* there is a list at all */
	bool all;   /* everything is allowed */
	char **names;
	size_t n;
};

/* "ls,cat", "recommended", "all" (alone). ERR_USAGE as in spec §8.4. */
int allow_list_parse(struct allow_list *list, const char *text,
		     struct error *err);
void allow_list_release(struct allow_list *list);
/*
 * True when this command line may run. Each simple command is judged by itself:
 * its first word must be a name of the list, exactly. Substitutions,
 * redirections, background and variables are refused, and in double quotes
 * every '$', '`' and '!'; so are NUL and all white space but the space, quoted,
 * escaped, at either end or not. In single quotes all else is text, in double
 * quotes ; | & < > ( ) are.
 */
bool allow_list_permits(const struct allow_list *list, struct str command);
/* "a, b, c" */
void allow_list_names(const struct allow_list *list, struct buf *out);

enum { APPROVAL_MACHINE = 320 };
struct approval { /* whether a call may run */
	const struct part *call;
	const struct tool *tool;
	const cJSON *args;               /* as the tool will read them */
	const struct part *const *later; /* calls of the answer behind it */
	size_t n_later;
	size_t number;           /* which call of the answer it is, from 1 */
	size_t total;            /* calls of the answer */
	const char *subagent;    /* that wants it: "reviewer 2"; or NULL */
	struct sandbox *acts_in; /* a subagent's own; NULL: the run's */
	/* Filled by approve: */
	const char *machine; /* where it acts: "this machine"; or NULL */
	char called[APPROVAL_MACHINE]; /* room for it */
	const char *sandbox;           /* its id; NULL: no sandbox */
	const char *workdir;           /* there; or NULL */
	const char *mounted;     /* that directory of the user's, or NULL */
	const struct mask *mask; /* for what is shown of files; or NULL */
	/* By a hook: it need not be asked about, or has to be. */
	bool hook_allows, hook_asks;
	bool auto_edit; /* an edit that the mode auto-edit allows */
	bool allowed;
	bool declined;     /* when not: by the user */
	struct buf reason; /* when not: words for the model, or empty */
	struct buf place;  /* for the user: where a file tool acts, or empty */
	/* The place where a file tool acts, with every link resolved: it acts
	 * exactly there, or fails. NULL: as called. Owned. */
	char *real_path;
	struct tool_change change; /* what it would do to a file */
	const char *file_note;     /* why that is not known, or NULL */
	char *edited; /* arguments as the user changed them, or NULL; owned */
	cJSON *edited_args; /* the same, read; owned */
};
/* What args is about to be asked again: place and change of before go. */
void approval_clear(struct approval *a);
/* The user says no; why may be empty. */
void approval_decline(struct approval *a, struct str why);
/* What he gave as the reason, from the result of a declined call; or empty. */
struct str approval_why(struct str result);
void approval_release(struct approval *a);
/* The argument that the user may change before the call runs, or NULL. */
const char *approval_editable(const struct approval *a);
/* Puts text in its place: ERR_USAGE where the tool would refuse it. The call
 * has to be judged and asked about anew. */
int approval_edit(struct approval *a, struct str text, struct error *err);
/* What the model is told of that, before the result. */
void approval_describe_edit(const struct approval *a, const struct mask *m,
			    struct buf *out);

#endif
