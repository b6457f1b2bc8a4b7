/* options.h - reads the options of a run from the command line and settings. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPTIONS_H
#define CMD_SESSION_OPTIONS_H

#include "agent/policy.h"
#include "base/buf.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "lifecycle/lifecycle.h"
#include "worktree/fetch.h"

/* One --upload or --download, and its result. */
struct transfer_option {
	bool uploads;
	char *local;        /* owned: path on this machine */
	char *remote;       /* owned: path in the sandbox; "": its working
			     directory */
	bool force;         /* may replace existing files */
	const char **bring; /* names given with --bring: a download copies names
			       such as .git only if they are listed here
			       (cmd/session/copy.h); borrowed */
	size_t n_bring;
	bool tried;
	bool refused;    /* something was not copied, because another file is in
			    its place */
	int rc;          /* result: 0, or -1 with err */
	char *target;    /* owned: destination, or NULL */
	int64_t files;   /* copied files */
	int64_t links;   /* copied links */
	int64_t skipped; /* entries that were not copied; each had a warning */
	struct buf entries; /* JSON: one object per entry of a tree */
	int64_t listed;     /* number of objects in entries */
	int64_t unlisted; /* number of entries that did not fit into the list */
	struct error err;
};

struct transfer_options { /* zeroed, or filled by transfer_options_read() */
	struct transfer_option *list; /* owned */
	size_t n;
	bool force; /* --force: existing files may be replaced, in the sandbox
		       and on this machine */
	const char **bring; /* names of --bring; owned array */
	size_t n_bring;
};

/* The checked options of the command line. Strings are borrowed from argv. */
struct run_options {
	const char *task;    /* -n, or NULL */
	const char *message; /* -m, or NULL */
	const char *resume;  /* -r: an id, a prefix of one, "latest", or
			       args_bare  without a value; NULL: not given */
	bool fork;           /* --fork: continue in a copy of the thread */
	const char *skill;   /* -s: skill to start with, or NULL */
	const char *startup; /* --startup-cmd, or NULL */
	unsigned fs_tools;   /* bits for fs_tools_permit() */
	char *agent;         /* agent whose memory and skills are used; owned */
	const char *model, *model_params;
	const char *sandbox; /* name of the provider; "none": tools run on this
				machine */
	const char *sandbox_as; /* the provider's name as the user typed it,
				   such as "podman" for docker */
	const char *sandbox_id, *snapshot, *setup;
	char *scope; /* ledger_row.scope of the sandbox to use or to make; NULL:
			the thread has its own; owned: see scope.h */
	struct network network; /* --sandbox-network; else NETWORK_DEFAULT */
	enum lifecycle_exit on_exit;
	bool exit_given; /* --keep, --on-exit or [sandboxes] on_exit was given,
			    so that the user is not asked */
	bool creates_late; /* [sandboxes] create is first-use */
	int64_t keep_s;
	struct allow_list allow;
	bool apply;         /* --apply */
	const char *branch; /* --branch NAME, or NULL */
	bool push, pr;      /* --push, --pr */
	const char *remote; /* --remote NAME, or NULL */
	const char *output; /* --output FILE, or NULL */
	bool yolo; /* --yolo: like -y, but a chat asks the user once to confirm
		      it */
	int mode; /* --approval-mode: an enum run_mode, RUN_MANUAL without it */
	bool asks_in_sandbox; /* ask before calls in a sandbox, too:
				 approvals.sandbox, or the user's answer */
	bool asks_given;      /* the setting approvals.sandbox is set */
	bool reviews_all;     /* approvals.review: also ask about calls that
				 only read */
	bool yes, quiet, no_stream, read_stdin, trust_project;
	const char *mcp_config; /* --mcp-config, or NULL */
	bool no_mcp;
	unsigned trusted;  /* bits of the kinds in trust.h, from the
			      --trust-project flags */
	bool plain;        /* --plain: a chat without a screen */
	int64_t max_turns; /* number of turns; 0: no limit */
	/* the machine's policy sets max_turns; --max-turns cannot raise it */
	bool turns_by_policy;
	const char *effort; /* --effort or /effort; NULL: use the setting */
	int64_t max_usd;    /* trillionths of a US dollar; 0: not given */
	const char *max_retries; /* a valid number, or NULL */
	int64_t timeout_s;       /* 0: not given */
	struct transfer_options transfers;
	const char *workspace; /* --workspace or the setting; NULL if neither
				  is given */
	const char **include;  /* patterns of --include and the setting; the
				  array is owned */
	size_t n_include;
	int64_t history; /* number of commits of the history that are sent with
			    the tree */
};

/* Reads approvals.sandbox and approvals.review: ERR_CONFIG. */
int run_asks_resolve(struct run_options *o, const struct settings *set,
		     struct error *err);
/* True if tools, the bits of --allow-fs-tools, include this tool. Also true for
 * a tool that the option does not cover. */
bool fs_tools_permit(unsigned tools, const char *name);
/* Collects the patterns of [workspace] include, then those of the chat in which
 * the command was typed, then --include in args (which may be NULL). The array
 * is owned, the strings are borrowed. NULL with err. */
const char **include_read(struct app *app, const struct args *args, size_t *n,
			  struct error *err);
/* Sets r->file_max and r->total_max from the settings. ERR_CONFIG. */
int limits_read(const struct settings *set, struct fetch_request *r,
		struct error *err);
/*
 * Like limits_read(), for use before a sandbox is deleted: replaces an invalid
 * value by its default, with a warning.
 */
void limits_read_or_default(const struct settings *set,
			    struct fetch_request *r);
/* Reads the flags and checks them, but not the files that they name.
 * ERR_USAGE. */
int run_options_read(struct run_options *o, const struct args *args,
		     struct error *err);
/* Reads --sandbox-network into *n: "full", "none" or hosts, as often as it is
 * given; else *n stays. ERR_USAGE. */
int run_read_network(struct network *n, const struct args *args,
		     struct error *err);
/* Sets o->sandbox from the flag and the settings. Errors use the reference's
 * wording (spec/cli.md §2.1). */
int run_sandbox_resolve(struct run_options *o, struct app *app,
			const char *flag, struct error *err);
/* Sets o->on_exit, which says what happens to the sandbox at the end, from
 * --keep, --on-exit or the setting. Call after run_sandbox_resolve(). */
int run_exit_resolve(struct run_options *o, struct app *app,
		     const struct args *args, struct error *err);
/* Reads --workspace, --include, --history and their settings. ERR_USAGE,
 * ERR_CONFIG. Call after run_sandbox_resolve(). */
int run_workspace_resolve(struct run_options *o, struct app *app,
			  const struct args *args, struct error *err);
/* Reads [sandboxes] keep_for, in seconds. */
int run_keep_time(struct app *app, int64_t *seconds, struct error *err);
/* Sets o->allow from shell.allow_list. Call only if --shell-allow-list was not
 * given. */
int run_allow_resolve(struct run_options *o, const struct settings *set,
		      struct error *err);
/* Checks the files and texts that flags name. Called early, so that the user
 * learns about these errors before being asked for a key. */
int run_options_check(const struct run_options *o, struct error *err);
void run_options_release(struct run_options *o);
/* Sets source and destination. second "" means the current directory of this
 * machine or of the sandbox. option is the flag's name, for messages. Call
 * transfer_option_release() even after -1. */
int transfer_option_set(struct transfer_option *t, const char *option,
			const char *first, const char *second,
			struct error *err);
void transfer_option_release(struct transfer_option *t);

#endif
