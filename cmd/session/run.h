/* run.h - a running conversation, and functions that describe it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_H
#define CMD_SESSION_RUN_H

#include "agent/agent.h"
#include "cmd/app.h"
#include "cmd/contacts.h"
#include "cmd/host_gate.h"
#include "cmd/session/forwards.h"
#include "cmd/session/grants.h"
#include "cmd/session/mode.h"
#include "cmd/session/options.h"
#include "lifecycle/lifecycle.h"
#include "model/money.h"
#include "session/history.h"
#include "session/thread.h"
#include "term/theme.h"
#include "web/fetch.h"
#include "worktree/tree_watch.h"

/* Names the files that a command has changed, for tools that run on this
 * machine (sandbox `none`): the line "changed: a.c, b.c (+12 -3)" below a
 * command. worktree/tree_watch.h finds the files. Initialise with { .app = app
 * }. */
struct command_changes {
	struct app *app; /* borrowed */
	struct tree_watch watch;
};

enum { RUN_WROTE_NAMED = 5 };
struct run_wrote {
	bool any;       /* a tool that may change something was called */
	bool turn;      /* ... since run_agent() has begun */
	int64_t number; /* number of the turn's prompt in the thread */
	bool commands;  /* ... and one of them ran commands */
	char *files[RUN_WROTE_NAMED]; /* owned; paths of changed files, as the
					 model wrote them */
	size_t n;
	bool more; /* more files were changed than fit into files */
};

struct saved_work {   /* initialise with { 0 } */
	bool looked;  /* the sandbox had a copy of the tree and was asked for
			 changes */
	size_t files; /* number of files changed in the sandbox */
	/* number of files refused for an unsafe name, link or mode, or because
	 * they are in a bare repository (fetch.n_refused) */
	size_t refused;
	size_t left;  /* number of changed files not saved for another reason,
			 such as their size */
	char *patch;  /* owned; path of the saved patch, or NULL */
	char *failed; /* owned; why saving failed, or NULL */
};

/* The list of models of the server that was asked last. */
struct model_offer {
	char *server;     /* owned: its address; NULL: none was asked */
	struct buf names; /* one per line, as the server writes them */
};

struct mcp;           /* declared in mcp/mcp.h */
struct move;          /* declared in cmd/session/move.h */
struct pick;          /* declared in cmd/chat/slash_cmd.h */
struct run_files;     /* defined in undo.c */
struct promise;       /* defined in sandbox.c */
struct run_skills;    /* declared in cmd/session/skills.h */
struct run_subagents; /* declared in cmd/subagents/run_subagents.h */

/* A running conversation. Zero it, set app and options, then call
 * run_open(). */
struct run {
	struct app *app;
	struct run_options options;
	bool interactive;
	bool box_known;   /* --sandbox-id: dcode created that sandbox earlier */
	bool declined;    /* --sandbox-id: the user declined to run calls in it
			     without asking */
	_Atomic int mode; /* enum run_mode; may be read on any thread */
	/* The mode that returns when a plan is accepted: that of the last
	 * prompt that did not ask for a plan, or the last one chosen by a
	 * command. Modes that Shift+Tab only passes do not count. */
	_Atomic int before_plan;
	bool plans;       /* the model was told that plan mode is on */
	struct buf plan;  /* what present_plan gave the user in this turn; a
			     chat points agent.plan to it */
	bool offers_plan; /* it is offered the tools of plan mode; set with its
			     tools */
	struct stop stop; /* triggered by signals and by --timeout, counted from
			     the start */
	/* Settings of the chat's screen; NULL without one. */
	struct theme *theme;
	bool *show_thinking;
	struct agent_ui ui; /* callbacks for agent_run(), which also get its
			       arg; set before run_open() */
	/* Lets the user of a chat choose from a list. Returns the index, or -1.
	 * arg is ui.arg. */
	int (*pick)(void *arg, const struct pick *p);
	/* agent.raise callback, called with the run: asks the user to raise the
	 * cap. NULL: do not ask. */
	bool (*raise)(void *arg);
	/* agent.go_on callback, called with the run. */
	bool (*go_on)(void *arg, const struct error *why);
	/* agent.push callback, called with the run; NULL: nothing is pushed. */
	void (*push)(void *arg, const char *branch, struct buf *told);
	bool push_declined; /* by the user, since the last message */
	bool undo_named;    /* the chat has said that there is /undo */
	struct agent_steering steering; /* agent.steering */
	struct command_changes changes; /* without a sandbox: agent.watch */
	/* If promises is set, run_open() may return before the sandbox is
	 * ready; run_agent() and run_await() then wait for it. The waiting
	 * thread calls opened when the sandbox is ready, before any tool runs.
	 * Another thread calls came when the creation has ended, successful or
	 * not. Both get ui.arg and may be NULL. */
	bool promises;
	bool defers; /* the sandbox may be created when it is first needed */
	int (*opened)(void *arg, struct error *err);
	void (*came)(void *arg);
	/* Called with the run on the thread that waits, before opened; or
	 * NULL. */
	void (*sandbox_ready)(struct run *r);
	struct run_files *files; /* owned, or NULL: undo.c */
	/* Owned: what the next prompt tells the model about undone changes;
	 * NULL: nothing. */
	char *undone;
	void (*on_job_end)(void *arg); /* callback for jobs_set_end(), called
					  with ui.arg; or NULL */
	struct promise *promise;       /* creation in the background, or NULL */
	const struct args *args;       /* the command line */
	/* The resumed thread; id is NULL for a new one. */
	struct thread thread;
	/* set by run_open() */
	struct model_choice choice;
	struct sandbox_client client;
	struct managed_sandbox box;
	/* enum sandbox_state of the sandbox, as last reported between
	 * commands. Any thread. */
	_Atomic int seen;
	struct session *session;
	struct model *model;
	struct meter_model *account; /* account of the model in the meter */
	struct agent agent;
	struct secret_files secrets;
	unsigned stored_results; /* number of tool results that the resumed
				    thread had stored in files */
	char *history_dir; /* owned: value of agent.history_dir, or NULL */
	bool opened_client;
	struct mcp *mcp;          /* the MCP servers, or NULL */
	struct web web;           /* limits for web access */
	bool recalls;             /* offer read_history to the model */
	struct model_offer offer; /* what a server offers (model_names.h) */
	struct run_wrote wrote;
	struct run_subagents *subagents; /* owned, or NULL */
	struct run_skills *skills; /* owned, or NULL: cmd/session/skills.h */
	struct contacts contacts;  /* what commands connected to */
	struct forwards forwards;  /* ports that the user forwards */
	struct host_gate gate;     /* asks about hosts */
	struct grants grants;      /* grants of this run, and the stored ones */
	struct buf applied; /* with --apply: the result of the merge, as a JSON
			       object */
	struct saved_work saved; /* what was saved of the deleted sandbox */
	bool unsaved;            /* work of an earlier sandbox could not be
				    saved */
	struct app_chat here;    /* this chat, for commands typed in it */
	int metered; /* 1 + index of the sandbox in the meter; 0: not counted */
	int64_t usd_s; /* price of the sandbox per second, in trillionths of a
			  US dollar; -1: unknown */
	int64_t cap_step; /* amount by which each raise increases the cap: the
			     first cap; 0: never raised */
	/* Text for the user's next message, which the chat's screen takes;
	 * owned, or NULL. */
	char *draft;
	/* What the user did in a shell, for the model, with the next message;
	 * owned, or NULL. */
	char *shell_note;
	unsigned switched; /* number of switches to another thread */
	bool lost; /* when the run was closed, the sandbox was already gone */
	/* Borrowed while the run is opened: the work that a new sandbox gets;
	 * NULL: none. */
	struct move *move;
	bool moved;       /* it has the work of the run before, and the model
			     is told */
	struct run *next; /* owned: the run that replaces this one in the chat
			     (open.h) */
	/* Owned list, linked by `leaving`: runs that next_open() failed to open
	 * and whose sandboxes are still being deleted. */
	struct run *leaving;
	bool tree_asked; /* the question about the tree was asked early */
	bool made;       /* allocated by next_open() */
	int64_t began;   /* clock_ms() at the start of the chat */
};

/* False with --sandbox none: tools then act on this machine. */
bool run_has_sandbox(const struct run *r);
/* Returns the user's directory that is mounted as the working directory, or
 * NULL. */
const char *run_bound_directory(const struct sandbox *sb);
/* Records in r->wrote what the tool call of this event may have changed. */
void run_note_event(struct run *r, const struct agent_event *ev);
/* Prints which changes in r->wrote are lost with the sandbox, and how to keep
 * them next time. has_tree: a patch could have been saved, but the settings
 * disable that. */
void run_report_lost(const struct run *r, bool has_tree);
char *run_model_name(const struct run *r); /* returns "openai:gpt-5"; owned */
/* Appends " (/workspace = /home/ann/x on this machine)" if tools can change the
 * user's files through the sandbox. */
void run_mounts(const struct run *r, struct buf *out);
bool run_allows_all(const struct run *r); /* true with -y, or in yolo mode */
/* Returns the mode that is in force: -y is yolo, except in plan mode. */
enum run_mode run_mode_shown(const struct run *r);
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
/* Appends members of the JSON result. "finish" and "finish_reason" say how the
 * last answer ended, in dcode's word and the vendor's ("length" and
 * "MAX_TOKENS"); both are null after a failure. "refused" is the number of
 * refused calls that would write a file or run a command, plus one if the model
 * refused to answer. "reason" says why the task failed; reason may be NULL.
 * "network_refused": see contacts.h. */
void run_remark_json(struct run *r, bool failed, const char *reason,
		     struct buf *out);
void run_wrote_release(struct run_wrote *w);

#endif
