/* run_options.h - what the command line and the settings ask of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_OPTIONS_H
#define CMD_SESSION_RUN_OPTIONS_H

#include "agent/allow_list.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "cmd/session/transfer_options.h"
#include "lifecycle/lifecycle.h"

/* What the command line asks for, checked. Strings are borrowed from argv. */
struct run_options {
	const char *task;    /* -n, or NULL */
	const char *message; /* -m, or NULL */
	const char *resume;  /* -r: what names the thread, args_bare; or NULL */
	bool fork;           /* go on in a copy of it */
	const char *skill;   /* -s: to begin with, or NULL */
	const char *startup; /* --startup-cmd, or NULL */
	unsigned fs_tools;   /* of fs_tools.h */
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

#endif
