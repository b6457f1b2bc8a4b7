/* hooks_impl.h - what the parts of the hooks share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_HOOKS_IMPL_H
#define HOOKS_HOOKS_IMPL_H

#include <pthread.h>
#include <regex.h>

#include "base/proc_run.h"
#include "hooks/hooks.h"

enum {
	HOOK_OUTPUT_MAX = 100000, /* bytes of each stream */
	HOOK_FILE_MAX = 1 << 20,
	HOOK_MOST = 200, /* in one file */
};

struct hook_handler {
	enum hook_event event;
	bool project;
	char *names;   /* exact ones, between '|' or ','; or NULL; owned */
	char *pattern; /* of regex; or NULL; owned */
	regex_t regex; /* when has_regex: pattern, compiled */
	bool has_regex;
	char *command; /* for sh -c; or NULL */
	char **argv;   /* owned, NULL-terminated; or NULL */
	int64_t timeout_ms;
	char *status; /* or NULL */
	/* Why it cannot run; or NULL. Only of guards: they refuse what they
	 * were to judge. Owned. */
	char *broken;
};

struct hook_list {
	struct hook_handler *list; /* owned: the project's first */
	size_t n;
};

struct hook_file { /* borrowed */
	const char *path;
	bool project;
	void (*warn)(const char *line);
};

struct hooks {
	struct hooks_source src;
	char *user_file, *project_file, *root, *cwd; /* owned */
	struct hook_list handlers;
	bool *told; /* of each handler: that it cannot run; owned */
	struct buf project_text; /* of the whole file, as it was allowed */
	char **user_env, **project_env; /* owned */
	char *session;                  /* owned, or NULL */
	const char *(*mode)(void *arg);
	void *mode_arg;
	struct cancel cancel; /* of notifications */
	pthread_mutex_t lock; /* guards session, mode, notifying, told and the
				 two environments while they are made */
	pthread_cond_t idle;  /* notifying is less */
	size_t notifying;     /* threads */
};

const char *hook_event_name(enum hook_event event);
/* True for events whose hooks may refuse: without an answer of such a hook the
 * call or the prompt does not go ahead. */
bool hook_event_guards(enum hook_event event);
/*
 * file.c: adds the handlers of a file's text. What is wrong with one goes to
 * warn, and it is left out, or kept as broken where it is a guard. ERR_CONFIG:
 * nothing of the file can be used.
 */
int hook_file_parse(struct hook_list *list, struct str text,
		    const struct hook_file *file, struct error *err);
/* Compiles the patterns of this file's handlers; one whose pattern is wrong
 * never matches, or is broken where it is a guard, which goes to warn. Attack:
 * a pattern that takes all memory, or hours, in a file of a repository that the
 * user only looks at. So a project's are compiled once it is allowed. */
void hook_list_compile(struct hook_list *list, const struct hook_file *file);
void hook_list_release(struct hook_list *list);

/* match.c */
/* False with *why: no hook can wait for what this says. A pattern is not
 * compiled yet. */
bool hook_match_parse(struct hook_handler *h, const char *matcher,
		      const char **why);
/* False: it is no regular expression. */
bool hook_match_compile(struct hook_handler *h);
bool hook_matches(const struct hook_handler *h, const char *value);

/* One hook of an event, as it runs. */
struct hook_process {
	const struct hook_handler *handler;
	struct proc_run run;
	char *program; /* owned */
	char *shell[4];
};

/* output.c: what one hook said, added to what those before it said. */
void hook_output_add(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, struct hook_outcome *out);
/* Refuses the call or the prompt of an event that hook_event_guards(). */
void hook_output_refuse(struct hooks *h, const struct hook_call *call,
			struct str reason, struct hook_outcome *out);
/* A line for the user, masked and clean. */
void hook_notice(struct hooks *h, const struct hook_call *call, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));

#endif
