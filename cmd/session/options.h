/* options.h - what the command line and the settings ask of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPTIONS_H
#define CMD_SESSION_OPTIONS_H

#include "agent/policy.h"
#include "base/buf.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "lifecycle/lifecycle.h"
#include "worktree/fetch.h"

/* One --upload or --download, and what became of it. */
struct transfer_option {
	bool uploads;
	char *local;        /* owned */
	char *remote;       /* owned; "": the sandbox's working directory */
	bool force;         /* replace files that are there */
	const char **bring; /* names that a download leaves out unless they
			       are asked for (cmd/session/copy.h);
			       borrowed */
	size_t n_bring;
	bool tried;
	bool refused;       /* all or a part: something else is in its place */
	int rc;             /* -1: it failed, err says why */
	char *target;       /* owned: where it went, or NULL */
	int64_t files;      /* that were copied, */
	int64_t links;      /* and links */
	int64_t skipped;    /* not copied: each had a warning */
	struct buf entries; /* JSON: what is in a tree, one object each */
	int64_t listed;     /* how many they are, */
	int64_t unlisted;   /* and those beyond the most */
	struct error err;
};

struct transfer_options { /* zeroed, or filled by transfer_options_read() */
	struct transfer_option *list; /* owned */
	size_t n;
	bool force;         /* files may be replaced, there and here */
	const char **bring; /* of --bring, owned */
	size_t n_bring;
};

/* What the command line asks for, checked. Strings are borrowed from argv. */
struct run_options {
	const char *task;    /* -n, or NULL */
	const char *message; /* -m, or NULL */
	const char *resume;  /* -r: what names the thread, args_bare; or NULL */
	bool fork;           /* go on in a copy of it */
	const char *skill;   /* -s: to begin with, or NULL */
	const char *startup; /* --startup-cmd, or NULL */
	unsigned fs_tools;   /* fs_tools_permit() */
	char *agent;         /* whose memory and skills: "agent"; owned */
	const char *model, *model_params;
	const char *sandbox;    /* provider's name after resolution; "none" */
	const char *sandbox_as; /* as it was given: "podman" of docker */
	const char *sandbox_id, *snapshot, *setup;
	enum sandbox_network network;
	enum lifecycle_exit on_exit;
	bool exit_given; /* by flag or setting: nobody is asked */
	int64_t keep_s;
	struct allow_list allow;
	bool apply;         /* --apply */
	const char *branch; /* --branch NAME, or NULL */
	bool yolo; /* --yolo: -y, but a chat asks once whether that is meant */
	bool asks_in_sandbox; /* approvals.sandbox, or the user when asked */
	bool asks_given;      /* the former says it */
	bool reviews_all;     /* approvals.review: calls that only read, too */
	bool yes, quiet, no_stream, read_stdin, trust_project;
	const char *mcp_config; /* --mcp-config, or NULL */
	bool no_mcp;
	unsigned trusted;   /* kinds of trust.h, by --trust-project... */
	bool plain;         /* --plain: a chat of lines, without a screen */
	int64_t max_turns;  /* 0: no cap */
	const char *effort; /* --effort or /effort; NULL: the setting's */
	int64_t max_usd;    /* trillionths of a US dollar; 0: not given */
	const char *max_retries; /* checked, or NULL */
	int64_t timeout_s;       /* 0: not given */
	struct transfer_options transfers;
	const char *workspace; /* --workspace or the setting; NULL: neither */
	const char **include;  /* patterns; the array is owned */
	size_t n_include;
	int64_t history; /* commits that are sent with the tree */
};

/* Reads approvals.sandbox and approvals.review: ERR_CONFIG. */
int run_asks_resolve(struct run_options *o, const struct settings *set,
		     struct error *err);
/* Flags, just read, that the policy forbids are an error; what it limits is
 * limited. */
int run_policy_apply(struct run_options *o, const struct settings *set,
		     struct error *err);
/* ERR_POLICY if the machine's policy forbids what, a flag like -y. */
int run_options_check_yes(const struct settings *set, const char *what,
			  struct error *err);
/* A warning where the policy's sandbox was not asked for. */
void run_policy_remark(const struct run_options *o, const struct settings *set);
/* True also for a tool that is none of these. */
bool fs_tools_permit(unsigned tools, const char *name);
/* [workspace] include, then --include of the chat that a command was typed in,
 * then of args, which may be NULL. The array is owned, its strings are not;
 * NULL with err. */
const char **include_read(struct app *app, const struct args *args, size_t *n,
			  struct error *err);
/* Sets file_max and total_max. */
int limits_read(const struct settings *set, struct fetch_request *r,
		struct error *err);
/* The same before a sandbox is deleted: where a value cannot be used, its
 * default counts, which is said on stderr. */
void limits_read_or_default(const struct settings *set,
			    struct fetch_request *r);
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
/* o->allow of shell.allow_list, for where no flag gave one. */
int run_allow_resolve(struct run_options *o, const struct settings *set,
		      struct error *err);
/* What else can be wrong without asking for a key: the files and texts that
 * flags name. */
int run_options_check(const struct run_options *o, struct error *err);
void run_options_release(struct run_options *o);
/* Sets what is copied from where to where; "" as second is the directory there,
 * the current one or the sandbox's. option is for errors. Release it also after
 * -1. */
int transfer_option_set(struct transfer_option *t, const char *option,
			const char *first, const char *second,
			struct error *err);
void transfer_option_release(struct transfer_option *t);

#endif
