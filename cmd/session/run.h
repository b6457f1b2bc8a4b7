/* run.h - a running conversation, and read-only questions about it. */
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

/* Which calls on the user's own machine need approval. */
enum run_mode {
	RUN_MANUAL,    /* every call that changes something */
	RUN_AUTO_EDIT, /* RUN_MANUAL, except unprotected edits in the working
			  directory */
	RUN_YOLO,      /* none, as with -y */
	N_RUN_MODES,
};

enum { RUN_WROTE_NAMED = 5 };
struct run_wrote {
	bool any;      /* a tool that can change something was called */
	bool commands; /* ... and it runs commands */
	char *files[RUN_WROTE_NAMED]; /* owned; paths as the model wrote them */
	size_t n;
	bool more; /* more files than fit into files */
};

struct saved_work {   /* start with { 0 } */
	bool looked;  /* there is a tree, and the sandbox was asked for
			 changes */
	size_t files; /* number of files changed in the sandbox */
	/* number of files refused for an unsafe name, link or mode, or because
	 * they are in a bare repository (fetch.n_refused) */
	size_t refused;
	size_t left;  /* number of files left in the sandbox */
	char *patch;  /* owned; path of the saved patch, or NULL */
	char *failed; /* owned; why saving failed, or NULL */
};

struct mcp;           /* declared in mcp/mcp.h */
struct pick;          /* declared in cmd/chat/slash_cmd.h */
struct promise;       /* defined in sandbox.c */
struct run_skills;    /* declared in cmd/session/skills.h */
struct run_subagents; /* declared in cmd/subagents/run_subagents.h */

/* A running conversation. Zero it, set app and options, then call
 * run_open(). */
struct run {
	struct app *app;
	struct run_options options;
	bool interactive;
	bool box_known;   /* dcode created the attached sandbox earlier */
	bool declined;    /* the user declined to run calls in it without
			     asking */
	_Atomic int mode; /* enum run_mode; may be read on any thread */
	struct stop stop; /* signals, and --timeout counted from the start */
	/* Settings of the chat's screen; NULL without one. */
	struct theme *theme;
	bool *show_thinking;
	struct agent_ui ui; /* callbacks of agent_run(); set before
			       run_open() */
	/* Lets the user choose in a chat. Returns the index, or -1. arg is that
	 * of ui. */
	int (*pick)(void *arg, const struct pick *p);
	/* agent.raise callback with the run as arg; NULL: never ask. */
	bool (*raise)(void *arg);
	/* agent.go_on callback with the run as arg. */
	bool (*go_on)(void *arg, const struct error *why);
	/* If set, run_open() may return before the sandbox is ready, and
	 * run_agent() or run_await() waits for it. opened is called on the
	 * waiting thread once it is ready, before any tool runs. came is called
	 * on another thread when the creation has ended, successful or not.
	 * Both get ui's arg and may be NULL. */
	bool promises;
	int (*opened)(void *arg, struct error *err);
	void (*came)(void *arg);
	void (*on_job_end)(void *arg); /* callback for jobs_set_end(), with
					  arg of ui; or NULL */
	struct promise *promise;       /* the sandbox being created; or NULL */
	struct store *store;     /* borrowed: the second store of app, for the
				    session; or NULL */
	const struct args *args; /* the command line */
	/* The resumed thread; id is NULL for a new one. */
	struct thread thread;
	/* set by run_open() */
	struct model_choice choice;
	struct sandbox_client client;
	struct managed_sandbox box;
	struct session *session;
	struct model *model;
	struct meter_model *account; /* account of the model */
	struct agent agent;
	struct secret_files secrets;
	unsigned stored_results; /* results stored by tools in the resumed
				    thread */
	char *history_dir;       /* path for agent.history_dir; owned, or
				    NULL */
	bool opened_client;
	struct mcp *mcp; /* the MCP servers, or NULL */
	struct web web;  /* limits for web access */
	bool recalls;    /* the model is offered read_history */
	struct run_wrote wrote;
	struct run_subagents *subagents; /* owned, or NULL */
	struct run_skills *skills; /* owned, or NULL: cmd/session/skills.h */
	struct grants grants;      /* grants of this run, and the stored ones */
	struct buf applied;        /* JSON member of the result for --apply */
	struct saved_work saved;   /* what was saved when the sandbox ended */
	bool unsaved;              /* work of an earlier sandbox could not be
				      saved */
	struct app_chat here;      /* the chat, for commands typed in it */
	int metered;       /* number of the sandbox in the meter, from 1; 0:
			      none */
	int64_t usd_s;     /* price of the sandbox per second; -1: unknown */
	int64_t cap_step;  /* step for raising the cap; 0: never raised */
	unsigned switched; /* number of switches to another thread */
	bool lost;         /* the sandbox was already gone when the run left
			      it */
	struct run *next;  /* the run that replaces this one in the chat;
			      owned: next.h */
	/* Runs of interrupted switches whose sandboxes are being deleted. Owned
	 * list, linked by `leaving`. */
	struct run *leaving;
	bool made;     /* created by next_open() */
	int64_t began; /* clock_ms() at the start of the chat */
};

/* False with --sandbox none: the tools act on this machine. */
bool run_has_sandbox(const struct run *r);
/* Returns the user's directory that is mounted as the working directory, or
 * NULL. */
const char *run_bound_directory(const struct sandbox *sb);
/* Records changes reported by an agent event in r->wrote. */
void run_note_event(struct run *r, const struct agent_event *ev);
/* Prints what of r->wrote is lost with the sandbox, and how to keep it next
 * time. has_tree: it could have been saved, but the settings disable that. */
void run_report_lost(const struct run *r, bool has_tree);
char *run_model_name(const struct run *r); /* "openai:gpt-5"; owned */
/* Appends " (/workspace = /home/ann/x on this machine)" if tools can change the
 * user's files through the sandbox. */
void run_mounts(const struct run *r, struct buf *out);
bool run_allows_all(const struct run *r); /* -y, or yolo chosen later */
/* Returns "manual", "auto-edit" or "yolo". */
const char *run_mode_name(enum run_mode mode);
void run_remark(const struct run *r); /* warns if the last answer is
					 incomplete */
/* Appends the text of run_remark(). False if there is none. */
bool run_remark_add(const struct run *r, struct buf *out);
/* Returns the outcome of a task that ended without an error: 0,
 * STATUS_NO_ANSWER (empty, thinking only, or a refusal), or STATUS_REFUSED
 * (every call that would write a file or run a command was refused). If not 0,
 * sets *status to the word for the JSON result and why to a message. */
int run_remark_outcome(const struct run *r, const char **status,
		       struct error *why);
/* Appends members of the JSON result:
 * ,"finish":"length","finish_reason":"MAX_TOKENS" describe the last answer
 * (null after a failure), refused counts refused calls and answers, and reason
 * says why the task failed, or is NULL. */
void run_remark_json(const struct run *r, bool failed, const char *reason,
		     struct buf *out);
void run_wrote_release(struct run_wrote *w);

#endif
