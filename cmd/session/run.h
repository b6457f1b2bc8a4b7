/* run.h - a conversation with everything it needs, opened and closed. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_H
#define CMD_SESSION_RUN_H

#include "agent/agent.h"
#include "cmd/app.h"
#include "cmd/session/grants.h"
#include "cmd/session/run_options.h"
#include "cmd/session/save.h"
#include "cmd/session/wrote.h"
#include "lifecycle/lifecycle.h"
#include "model/money.h"
#include "session/history.h"
#include "session/thread.h"
#include "term/theme.h"
#include "web/fetch.h"

/* What a user is asked about on his own machine. */
enum run_mode {
	RUN_MANUAL,    /* each call that acts there */
	RUN_AUTO_EDIT, /* but not unprotected edits in its directory */
	RUN_YOLO,      /* nothing, as with -y */
	N_RUN_MODES,
};

struct pick; /* cmd/slash/slash_cmd.h */
struct run_subagents;
struct mcp;     /* mcp/mcp.h */
struct promise; /* run_promise.c */

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
	struct sandbox_client host;
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
	struct run_skills *skills; /* owned: cmd/skills/run_skills.h; or NULL */
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
/* Fills r->thread when -r was given; opens the database only then. Where a chat
 * asks for the last thread and there is none, says so and begins a new one. */
int run_resume_find(struct run *r, struct error *err);
/*
 * *name is the provider: --sandbox, else that of the resumed thread, else NULL.
 * A thread that was imported and has not gone on here yet has a sandbox on
 * offer only: a chat asks whether to use it, like one of --sandbox-id, unless
 * --sandbox is another provider; -n says how.
 */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err);
/* Asks, or says, what has to be known before the thread goes on: that it is of
 * another directory, or in use. Makes r->session, which has it from then on. */
int run_resume_begin(struct run *r, struct error *err);
/* Hands the stored messages on to r->model; shows the last ones in a chat. */
int run_resume_load(struct run *r, struct error *err);
/* The label of a sandbox that the thread has of its own: owned, or NULL. One
 * that something asks to leave alone is named on stderr, and how to take it. */
char *run_own_find(struct run *r, struct store *store);
/* Where the newest sandbox of the resumed thread is: owned, or NULL. */
char *run_own_endpoint(struct run *r);
/* r->host, and what can be known of its sandbox before there is one. */
int run_open_client(struct run *r, struct error *err);
/* r->box: the sandbox of the resumed thread where there still is one. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err);
/* The user's tree into the sandbox, as o->workspace, or the user when asked,
 * says; or what changed in it since, where it was sent before. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       const struct stop *stop, struct error *err);
/* Says before the first request, where nobody can be asked, that the sandbox
 * has nothing of the repository, and what sends it. */
void run_workspace_remark(const struct run *r);
/* Errors of --workspace repo that can be found before. */
int run_workspace_check(const struct run *r, struct error *err);
/* --workspace bind (by_flag), or the setting: the provider's own setting says
 * it, so that its checks and warnings hold. */
int run_bind_resolve(struct run_options *o, struct settings *set, bool by_flag,
		     struct error *err);
/* The user's own directory that is the working directory, or NULL. */
const char *run_bound_directory(const struct sandbox *sb);
/* Of a sandbox that has the directory: notes it, for those who ask for what
 * changed there. Checks that docker's is this machine's, and says whose the
 * files are that are made there. */
int run_bind_begin(struct run *r, struct sandbox *sb, const struct stop *stop,
		   struct error *err);
/* True when the sandbox, which is about to be left, may hold work that has not
 * come back; *files: so many, 0 where that is not known. */
bool run_has_unreturned_work(struct run *r, size_t *files);
/* Notes in r->wrote what an event of the agent says of changes. */
void run_note_event(struct run *r, const struct agent_event *ev);
/* Says on stderr what of r->wrote goes with the sandbox, and what would have
 * kept it; has_tree: it could have been saved, but the settings forbid it. */
void run_report_lost(const struct run *r, bool has_tree);
/* lifecycle_request.before_remove; arg is the run: saves that work, or says
 * what goes with the sandbox. */
void run_save(void *arg, struct sandbox *sb, const struct stop *stop);
/* --branch NAME of -n: whether a commit can be made there. */
int run_branch_check(struct run *r, struct error *err);
/* --apply and --branch NAME of -n: whether they can be, known before the first
 * request; and what the sandbox changed, brought back while it still lives. */
int run_apply_check(struct run *r, struct error *err);
int run_apply(struct run *r, struct error *err);
/* Deletes the sandbox, or keeps it, and counts it no more. */
int run_end_sandbox(struct run *r, struct error *err);
/* All of it, but for a sandbox that is promised. On -1 run_close() has to be
 * called: it deletes what was made. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
/* What of it needs the sandbox. */
int run_open_rest(struct run *r, struct error *err);
void run_undo(struct run *r); /* after it failed: it may be called again */
void run_close(struct run *r);
/*
 * run_promise.c: the sandbox as a promise. Where the model's prompt is known to
 * be the same afterwards, the agent asks it while the sandbox is being made.
 */
/* Whether it can be; then r->box says where the tools will act, until
 * run_promise_begin(). r->host is open. Not with [sandboxes] overlap false. */
bool run_promise_can(struct run *r);
/* r->agent is complete. Makes the sandbox on a thread, and returns once the
 * user has no question to answer any more; -1: there will be none. */
int run_promise_begin(struct run *r, const struct stop *stop,
		      struct error *err);
void run_promise_begins(void *arg); /* lifecycle_request.begins; the run */
/* The user has answered whether his tree may be sent. Any thread. */
void run_promise_answered(struct run *r);
/* Nobody has waited for the sandbox to its end yet. */
bool run_is_promised(const struct run *r);
/* The sandbox is there, and as the model was told; the making has ended. */
bool run_has_come(const struct run *r);
bool run_promise_ended(const struct run *r);
/* Waits for it; 0 where none is promised. -1 with why there is none. */
int run_await(struct run *r, struct error *err);
/* Ends the making where it still goes on. */
void run_promise_end(struct run *r);
/* agent_run(), in every way of starting. With a sandbox that is promised: on
 * return it is there, or the run has failed by its failure; one of both that
 * fails ends the other, but a chat keeps the sandbox where its request fails.
 */
int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err);
/* r->choice: a resumed thread goes on with its model, -M takes precedence. */
int run_choose_model(struct run *r, struct error *err);
/* Masks its key, and says when it comes with the project. */
void run_watch_key(struct run *r);
/* r->model, with a prompt that knows the sandbox, but none of the thread. */
int run_open_model(struct run *r, struct error *err);
/* Offers r->model the tools that there are now; its history stays. */
int run_offer_tools(struct run *r, struct error *err);
/* MCP servers: reads which there are, asks about those of the project, and
 * starts those whose tools are not known from before. */
int run_mcp_begin(struct run *r, struct error *err);
/* Waits until these have named them: before the model is opened. */
int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err);
/* The agent is told of their tools, and of changes. */
void run_mcp_attach(struct run *r);
void run_mcp_end(struct run *r);
/* The agent has the user's hooks, and they are told of this run, from now on,
 * without any event: run_hooks.c. run_open() does it before any request. */
void run_hooks_follow(struct run *r);
void run_web_attach(struct run *r);
int run_reset_model(void *arg, struct error *err); /* agent.reset; the run */
/* Tells the agent how much the window of r->choice holds. */
void run_set_window(struct run *r);
/* Says on stderr where the window's size is an assumption. */
void run_tell_assumed(const struct run *r);
/* Hands a stored conversation on to r->model, which has none yet. */
int run_push_history(struct run *r, const struct conversation *c,
		     struct error *err);
/* Makes r->session, or says anew which model and sandbox it has. */
int run_name_session(struct run *r, struct error *err);
char *run_model_name(const struct run *r); /* "openai:gpt-5"; owned */
/* Appends " (/workspace = /home/ann/x on this machine)" when tools can change
 * files of the user's machine through the sandbox. */
void run_mounts(const struct run *r, struct buf *out);
/* Whether the model is offered it at all. */
bool run_offers(const struct run *r, const struct tool *tool);
enum run_verdict { RUN_ALLOW = 1, RUN_ASK, RUN_REFUSE };
/* The approval policy: sets a->allowed for RUN_ALLOW, a->reason for RUN_REFUSE,
 * to which RUN_ASK comes without a user. -1 when cancelled. */
int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err);
bool run_allows_all(const struct run *r); /* -y, or a mode chosen later */
/* ERR_POLICY where the machine's policy forbids to allow everything. */
int run_check_yolo(const struct run *r, struct error *err);
/* "manual", "auto-edit", "yolo" */
const char *run_mode_name(enum run_mode mode);
/* False where the machine's policy sets startup.mode, which can only be manual.
 */
bool run_may_auto_edit(const struct run *r);
/* run_asks.c. Reads approvals.sandbox and approvals.review: ERR_CONFIG. */
int run_asks_resolve(struct run_options *o, const struct settings *set,
		     struct error *err);
/* Whether this chat asks about calls at all, but for its mode. */
bool run_asks(const struct run *r);
/* Asks once about a sandbox of --sandbox-id that the ledger does not know. */
int run_asks_attached(struct run *r, struct error *err);
/* Asks before a user's first yolo, who may say no. ERR_POLICY, ERR_CANCELLED */
int run_set_mode(struct run *r, enum run_mode mode, struct error *err);
/* Its parts about paths: run_paths.c. */
enum run_verdict run_decide_reading(const struct run *r, struct approval *a);
int run_decide_writing(struct run *r, struct approval *a,
		       enum run_verdict *verdict, const struct stop *stop,
		       struct error *err);
/* Flags, just read, that the policy forbids are an error; what it limits is
 * limited. */
int run_policy_apply(struct run_options *o, const struct settings *set,
		     struct error *err);
/* A warning where the policy's sandbox was not asked for. */
void run_policy_remark(const struct run_options *o, const struct settings *set);
/* Appends what a run without a user may do, one line; nothing when all. */
void run_limits(const struct run *r, struct buf *out);
/* Before the setup script and the first request: the uploads, in their order,
 * to the first that fails; one that would replace a file is refused, which is
 * an error once the others are there. arg is the run; as
 * lifecycle_request.fill. */
int run_fill(void *arg, struct sandbox *sb, const struct stop *stop,
	     struct error *err);
/*
 * After the last answer, while the sandbox is there: the downloads, within a
 * time of their own, which is shorter once the run was interrupted. Each is
 * tried. -1 when one did not come whole; what happened to each is on stderr.
 */
int run_download(struct run *r, struct error *err);
/* What became of each, as a JSON array; nothing without transfers. */
void run_transfers_json(const struct run *r, struct buf *out);
/* /upload [--force] LOCAL [REMOTE], /download [--force] REMOTE [LOCAL] of the
 * chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);
/* What dcode costs is counted in r->app->meter: made by the first run, with the
 * cap of --max-usd or [limits]. ERR_USAGE, ERR_CONFIG; see run_money.h. */
int run_money_begin(struct run *r, struct error *err);

/*
 * first_start.c, before a chat's screen: where no model has a key, and somebody
 * sits at the terminal, offers to paste one, or a model server of this machine.
 * 1: the chat may begin, and says itself what is missing still. 0: the user has
 * left.
 */
int run_first_start(struct run *r, struct error *err);
/* model_choose() as this run will. */
int run_first_choose(const struct run *r, struct model_choice *c,
		     struct error *err);
void run_remark(const struct run *r); /* of the last answer's end, a warning */
/* The flags of r->options, with what the settings say of the same. */
int run_read_flags(struct run *r, const struct args *args, struct error *err);
int run_chat_or_task(struct app *app, const struct args *args);
int run_task(struct run *r, const char *prompt); /* exit status */
int run_fail(struct run *r, struct error *err);  /* the same: it never began */
int run_chat(struct run *r, const char *first);  /* exit status */

#endif
