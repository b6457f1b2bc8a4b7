/* run.h - a conversation with everything it needs, opened and closed. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_RUN_RUN_H
#define CMD_RUN_RUN_H

#include "agent/agent.h"
#include "agent/allow_list.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "cmd/run/transfer_options.h"
#include "cmd/workspace/save.h"
#include "lifecycle/lifecycle.h"
#include "session/thread.h"
#include "term/theme.h"

/* What the command line asks for, checked. Strings are borrowed from argv. */
struct run_options {
	const char *task;    /* -n, or NULL */
	const char *message; /* -m, or NULL */
	const char *resume;  /* -r: what names the thread, args_bare; or NULL */
	bool fork;           /* go on in a copy of it */
	const char *model, *model_params;
	const char *sandbox; /* provider's name after resolution; "none" */
	const char *sandbox_id, *snapshot, *setup;
	enum sandbox_network network;
	enum lifecycle_exit on_exit;
	bool exit_given; /* by flag or setting: nobody is asked */
	int64_t keep_s;
	struct allow_list allow;
	bool apply;         /* --apply */
	const char *branch; /* --branch NAME, or NULL */
	bool yes, quiet, no_stream, read_stdin, trust_project;
	bool plain;        /* --plain: a chat of lines, without a screen */
	int64_t max_turns; /* 0: no cap */
	const char *max_retries; /* checked, or NULL */
	int64_t timeout_s;       /* 0: not given */
	struct transfer_options transfers;
	const char *workspace; /* --workspace or the setting; NULL: neither */
	const char **include;  /* patterns; the array is owned */
	size_t n_include;
	int64_t history; /* commits that are sent with the tree */
};

/* Reads and checks the flags that need no file: ERR_USAGE. */
int run_options_read(struct run_options *o, const struct args *args,
		     struct error *err);
/* Settles o->sandbox by flag and configuration, with the messages of the
 * reference (spec/cli.md §2.1). */
int run_sandbox_resolve(struct run_options *o, struct app *app,
			const char *flag, struct error *err);
/* What becomes of the sandbox at the end: by --keep, --on-exit, else the
 * setting. After run_sandbox_resolve(). */
int run_exit_resolve(struct run_options *o, struct app *app,
		     const struct args *args, struct error *err);
/* Reads --workspace, --include and their settings: ERR_USAGE, ERR_CONFIG. After
 * run_sandbox_resolve(). */
int run_workspace_resolve(struct run_options *o, struct app *app,
			  const struct args *args, struct error *err);
/* [sandboxes] keep_for. */
int run_keep_time(struct app *app, int64_t *seconds, struct error *err);
/* What else can be wrong without asking for a key: the files and texts that
 * flags name. */
int run_options_check(const struct run_options *o, struct error *err);
void run_options_release(struct run_options *o);

/* What a user is asked about on his own machine. */
enum run_mode {
	RUN_MANUAL,    /* each call that acts there */
	RUN_AUTO_EDIT, /* but not edits within the working directory that
			  touch nothing protected */
	RUN_YOLO,      /* nothing, as with -y */
	N_RUN_MODES,
};

/* What the tools may have changed in the sandbox, as far as it is known. */
enum { RUN_WROTE_NAMED = 5 };
struct run_wrote {
	bool any;      /* a tool was called that does not only read */
	bool commands; /* ... that runs commands */
	char *files[RUN_WROTE_NAMED]; /* owned: as the tools were told */
	size_t n;
	bool more; /* files than have room */
};

/* A running conversation. Zero it, set app and options, then run_open(). */
struct run {
	struct app *app;
	struct run_options options;
	bool interactive;
	_Atomic int mode; /* enum run_mode; any thread */
	struct stop stop; /* the signals, and --timeout from the start on */
	/* Of the chat's screen; NULL: there is none. */
	struct theme *theme;
	bool *show_thinking;
	struct agent_ui ui; /* what agent_run() calls; set before run_open() */
	/* The thread that is resumed; id NULL: a new one is begun. */
	struct thread thread;
	/* made by run_open() */
	struct model_choice choice;
	struct sandbox_client host;
	struct managed_sandbox box;
	struct session *session;
	struct model *model;
	struct agent agent;
	struct secret_files secrets;
	unsigned stored_results; /* of tools, in the resumed thread */
	bool opened_client;
	struct run_wrote wrote;
	struct buf applied;      /* of --apply: the member of the result */
	struct saved_work saved; /* what was in the sandbox at its end */
};
/* Fills r->thread when -r was given; opens the database only then. Where a chat
 * asks for the last thread and there is none, says so and begins a new one. */
int run_resume_find(struct run *r, struct error *err);
/*
 * *name is the provider: --sandbox, else that of the resumed thread, else NULL.
 * A thread that was imported and has not gone on here yet has a sandbox on
 * offer only: a chat asks whether to use it, like one of --sandbox-id; -n says
 * how.
 */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err);
/* Asks, or says, what has to be known before the thread goes on: that it is of
 * another directory, or in use. Makes r->session, which has it from then on. */
int run_resume_begin(struct run *r, struct error *err);
/* Hands the stored messages on to r->model; shows the last ones in a chat. */
int run_resume_load(struct run *r, struct error *err);
/* How to go on with this thread, on stderr, when a chat ends. */
void run_resume_hint(const struct run *r);
/* Opens the provider and the sandbox of r->box: that of the resumed thread
 * where there still is one. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err);
/* The user's tree into the sandbox, as o->workspace, or the user when asked,
 * says; or what changed in it since, where it was sent before. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       const struct stop *stop, struct error *err);
/* --workspace bind (by_flag), or the setting: the provider's own setting says
 * it, so that its checks and warnings hold. */
int run_bind_resolve(struct run_options *o, struct settings *set, bool by_flag,
		     struct error *err);
/* The directory of the user's that is the working directory, or NULL. */
const char *run_bound_directory(const struct sandbox *sb);
/* Of a sandbox that has the directory: notes it, for those who ask for what
 * changed there. Checks that docker's is this machine's, and says whose the
 * files are that are made there. */
int run_bind_begin(struct run *r, struct sandbox *sb, const struct stop *stop,
		   struct error *err);
/* True when the sandbox, which is about to be deleted, may hold work that has
 * not come back. */
bool run_has_unreturned_work(struct run *r);
/* Notes in r->wrote what an event of the agent says of changes. */
void run_note_event(struct run *r, const struct agent_event *ev);
/* Says on stderr what of r->wrote goes with the sandbox, and what would have
 * kept it; has_tree: it could have been saved, but the settings forbid it. */
void run_report_lost(const struct run *r, bool has_tree);
void run_wrote_release(struct run_wrote *w);
/* lifecycle_request.before_remove; arg is the run: saves that work, or says
 * what goes with the sandbox. */
void run_save(void *arg, struct sandbox *sb, const struct stop *stop);
/* --apply and --branch NAME of -n: whether they can be, known before the first
 * request; and what the sandbox changed, brought back while it still lives. */
int run_apply_check(struct run *r, struct error *err);
int run_apply(struct run *r, struct error *err);
/* Model, database, sandbox with setup, prompt. On -1 run_close() still has to
 * be called: it deletes what was created. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
void run_close(struct run *r);
/* "anthropic:claude-opus-5"; owned by the caller. */
char *run_model_name(const struct run *r);
/* Appends " (/workspace = /home/ann/x on this machine)" when tools can change
 * files of the user's machine through the sandbox. */
void run_mounts(const struct run *r, struct buf *out);
/* Which tools the model is offered at all. */
bool run_offers(const struct run *r, const struct tool *tool);
enum run_verdict { RUN_ALLOW = 1, RUN_ASK, RUN_REFUSE };
/* The approval policy: sets a->allowed for RUN_ALLOW, a->reason for
 * RUN_REFUSE, which is all that is left of RUN_ASK without a user. -1 when the
 * run was cancelled. */
int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err);
/* Everything is allowed: -y, or a mode that was chosen later. */
bool run_allows_all(const struct run *r);
/* ERR_POLICY where the machine's policy forbids to allow everything. */
int run_check_yolo(const struct run *r, struct error *err);
/* "manual", "auto-edit", "yolo" */
const char *run_mode_name(enum run_mode mode);
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
 * to the first that fails. arg is the run; as lifecycle_request.fill. */
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
/* /upload LOCAL [REMOTE] and /download [--force] REMOTE [LOCAL] of the chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);

/* Text piped to standard input. 0 with *text owned (NULL: there was none);
 * a terminal gives NULL, an error with --stdin. With -n but not --stdin a pipe
 * that stays silent for 10 s is left alone with a warning. */
int run_read_stdin(char **text, const struct run_options *o,
		   const struct stop *stop, struct error *err);

/* Warns where the last answer did not end as an answer should. */
void run_remark(const struct run *r);
int run_chat_or_task(struct app *app, const struct args *args);
int run_task(struct run *r, const char *prompt); /* exit status */
/* Says what kept a run from beginning, as run_task() would. Exit status. */
int run_fail(struct run *r, struct error *err);
int run_chat(struct run *r, const char *first); /* exit status */

#endif
