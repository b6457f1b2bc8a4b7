/* agent.h - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "model/model.h"
#include "sandbox/sandbox.h"
#include "session/session.h"
#include "tool/tool.h"

enum agent_event_kind {
	EVENT_TEXT = 1,    /* text: delta */
	EVENT_THINKING,    /* text: delta */
	EVENT_RESTART,     /* text: why the answer so far is void */
	EVENT_TOOL_CALL,   /* part */
	EVENT_TOOL_OUTPUT, /* part, text: delta, masked */
	EVENT_TOOL_RESULT, /* part, text: result, failed */
	EVENT_TURN,        /* usage of one answer */
	EVENT_FLUSH,       /* nothing more has arrived: show what there is */
	EVENT_WARNING,     /* text: what went wrong without ending the run */
};
struct agent_event { /* all borrowed for the call */
	enum agent_event_kind kind;
	struct str text;
	const struct part *call; /* on EVENT_TOOL_* */
	const struct usage *usage;
	bool failed;
};

struct approval { /* whether a call may run */
	const struct part *call;
	const struct tool *tool;
	const cJSON *args; /* as the tool will read them */
	size_t number;     /* which call of the answer it is, from 1 */
	size_t total;      /* calls of the answer */
	/* Filled by approve: */
	bool allowed;
	struct buf reason; /* when not: words for the model, or empty */
	struct buf place;  /* for the user: where a file tool acts, or empty */
	/* The place where a file tool acts, with every link resolved: it acts
	 * exactly there, or fails. NULL: as called. Owned. */
	char *real_path;
};

/* Called on the agent's thread or one of its tool threads, never two at once.
 * approve is asked before each call of a known tool whose arguments are right;
 * -1 when the run was cancelled. */
struct agent_ui {
	void (*event)(void *arg, const struct agent_event *ev);
	int (*approve)(void *arg, struct approval *a, const struct stop *stop,
		       struct error *err);
	void *arg;
};

struct agent { /* filled by the caller; all borrowed */
	struct model *model;
	struct sandbox *sandbox;
	struct session *session;
	const struct mask *mask;
	const char *thread;     /* id of the session, or NULL */
	unsigned saved_results; /* large ones, in files of the sandbox */
	const struct secret_files *secrets; /* or NULL */
	struct agent_ui ui;
	int64_t max_turns;      /* model turns per agent_run, 0: no cap */
	struct usage usage;     /* out: total */
	int64_t turns;          /* out: model turns of the last run */
	struct buf answer;      /* out: text of the last assistant message */
	enum finish finish;     /* out: of the last answer */
	struct message unsaved; /* its own: stored while a request waits */
};
/*
 * One prompt to its end. 0 when the model finished; -1 with ERR_CANCELLED,
 * ERR_LIMIT (max_turns), ERR_GONE, or the model's error. The history is valid
 * for the vendor whatever happened: every call has its result.
 */
int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err);

#endif
