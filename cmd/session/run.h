/* run.h - what is known of a run, asked without changing it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_H
#define CMD_SESSION_RUN_H

#include "agent/agent.h"
#include "cmd/app.h"
#include "cmd/session/grants.h"
#include "cmd/session/options.h"
#include "lifecycle/lifecycle.h"
#include "model/money.h"
#include "session/history.h"
#include "session/thread.h"
#include "term/theme.h"
#include "web/fetch.h"

/* Which calls need the user's approval on the user's own machine. */
enum run_mode {
	RUN_MANUAL,    /* each call that acts there */
	RUN_AUTO_EDIT, /* but not unprotected edits in its directory */
	RUN_YOLO,      /* nothing, as with -y */
	N_RUN_MODES,
};

enum { RUN_WROTE_NAMED = 5 };
struct run_wrote {
	bool any;      /* a tool was called that does not only read */
	bool commands; /* ... that runs commands */
	char *files[RUN_WROTE_NAMED]; /* owned: as the tools were told */
	size_t n;
	bool more; /* files than have room */
};

struct saved_work {     /* start from { 0 } */
	bool looked;    /* there is a tree, and the sandbox was asked */
	size_t files;   /* changed there since they were shared */
	size_t refused; /* names that nothing here may have */
	size_t left;    /* files that do not come */
	char *patch;    /* owned: where they were saved; or NULL */
	char *failed;   /* owned: why they were not; or NULL */
};

struct mcp;           /* mcp/mcp.h */
struct pick;          /* cmd/chat/slash_cmd.h */
struct promise;       /* sandbox.c */
struct run_skills;    /* cmd/session/skills.h */
struct run_subagents; /* cmd/subagents/run_subagents.h */

/* A running conversation. Zero it, set app and options, then run_open(). */
struct run {
	struct app *app;
	struct run_options options;
	bool interactive;
	bool box_known;   /* the sandbox that is attached to was made here */
	bool declined;    /* the user, to run calls in it without asking */
	_Atomic int mode; /* enum run_mode; any thread */
	struct stop stop; /* the signals, and --timeout from the start on */
	/* Of the chat's screen; NULL: there is none. */
	struct theme *theme;
	bool *show_thinking;
	struct agent_ui ui; /* what agent_run() calls; set before run_open() */
	/* Lets the user choose, in a chat: the index, or -1; arg of ui. */
	int (*pick)(void *arg, const struct pick *p);
	/* agent.raise, with the run as its arg; NULL: nobody is asked. */
	bool (*raise)(void *arg);
	/* agent.go_on, the same. */
	bool (*go_on)(void *arg, const struct error *why);
	/* run_open() may return before the sandbox is there: run_agent() or
	 * run_await() waits for it. With it, arg of ui: opened is called on
	 * their thread once it is there, before any tool runs; came on another
	 * one when the making has ended, well or not. Both may be NULL. */
	bool promises;
	int (*opened)(void *arg, struct error *err);
	void (*came)(void *arg);
	void (*on_job_end)(void *arg); /* jobs_set_end(), arg of ui; or NULL */
	struct promise *promise; /* the sandbox that is being made; or NULL */
	struct store *store;     /* of the session: app's own other one; NULL */
	const struct args *args; /* the command line */
	/* The thread that is resumed; id NULL: a new one is begun. */
	struct thread thread;
	/* made by run_open() */
	struct model_choice choice;
	struct sandbox_client client;
	struct managed_sandbox box;
	struct session *session;
	struct model *model;
	struct meter_model *account; /* of the model */
	struct agent agent;
	struct secret_files secrets;
	unsigned stored_results; /* of tools, in the resumed thread */
	char *history_dir;       /* for agent.history_dir; owned, or NULL */
	bool opened_client;
	struct mcp *mcp; /* its servers, or NULL */
	struct web web;  /* which pages may be fetched */
	bool recalls;    /* the model is offered read_history */
	struct run_wrote wrote;
	struct run_subagents *subagents; /* owned, or NULL */
	struct run_skills *skills; /* owned: cmd/session/skills.h; or NULL */
	struct grants grants;    /* for as long as it lives, and stored ones */
	struct buf applied;      /* of --apply: the member of the result */
	struct saved_work saved; /* what was in the sandbox at its end */
	bool unsaved;            /* that of one that has gone was lost */
	struct app_chat here;    /* of a chat, for its commands */
	int metered;       /* its sandbox's number in the meter, from 1 on */
	int64_t usd_s;     /* what that costs, -1: unknown */
	int64_t cap_step;  /* by which the cap is raised; 0: never was */
	unsigned switched; /* how often it has gone on with another thread */
	bool lost;         /* its sandbox was gone when it was left */
	struct run *next;  /* takes its place in the chat; owned: next.h */
	/* Opened in place of this one, and interrupted: their sandboxes are
	 * being deleted. Owned; a list by its own `leaving`. */
	struct run *leaving;
	bool made;     /* by next_open() */
	int64_t began; /* clock_ms() at the start of the chat */
};

/* The user's own directory that is the working directory, or NULL. */
const char *run_bound_directory(const struct sandbox *sb);
/* Notes in r->wrote what an event of the agent says of changes. */
void run_note_event(struct run *r, const struct agent_event *ev);
/* Says on stderr what of r->wrote goes with the sandbox, and what would have
 * kept it; has_tree: it could have been saved, but the settings forbid it. */
void run_report_lost(const struct run *r, bool has_tree);
char *run_model_name(const struct run *r); /* "openai:gpt-5"; owned */
/* Appends " (/workspace = /home/ann/x on this machine)" when tools can change
 * files of the user's machine through the sandbox. */
void run_mounts(const struct run *r, struct buf *out);
bool run_allows_all(const struct run *r); /* -y, or a mode chosen later */
/* "manual", "auto-edit", "yolo" */
const char *run_mode_name(enum run_mode mode);
void run_remark(const struct run *r); /* of the last answer's end, a warning */
/* Appends the sentence of run_remark(); false: there is none. */
bool run_remark_add(const struct run *r, struct buf *out);
/*
 * What a task that ended without an error came to: 0; STATUS_NO_ANSWER where
 * the model gave none (nothing, thinking alone, a refusal); STATUS_REFUSED
 * where all calls that would write or run something were refused. Then *status
 * is the word of the JSON result, and why has a sentence for the user.
 */
int run_remark_outcome(const struct run *r, const char **status,
		       struct error *why);
/* Members of the JSON result: ,"finish":"length","finish_reason":"MAX_TOKENS"
 * of the last answer, null after a failure; refused: how many calls, or
 * answers, were refused; reason: why the task did not end well, or NULL. */
void run_remark_json(const struct run *r, bool failed, const char *reason,
		     struct buf *out);
void run_wrote_release(struct run_wrote *w);

#endif
