/* hooks_impl.h - what the parts of the hooks share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_HOOKS_IMPL_H
#define HOOKS_HOOKS_IMPL_H

#include <pthread.h>
#include <regex.h>

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
};

struct hook_list {
	struct hook_handler *list; /* owned: the project's first */
	size_t n;
};

struct hooks {
	struct hooks_source src;
	char *user_file, *project_file, *root, *cwd; /* owned */
	struct hook_list handlers;
	struct buf project_text; /* of the whole file, as it was allowed */
	char **user_env, **project_env; /* owned */
	char *session;                  /* owned, or NULL */
	const char *(*mode)(void *arg);
	void *mode_arg;
	struct cancel cancel; /* of notifications */
	pthread_mutex_t lock; /* guards session, mode, notifying and the two
				 environments while they are made */
	pthread_cond_t idle;  /* notifying is less */
	size_t notifying;     /* threads */
};

const char *hook_event_name(enum hook_event event);
/* file.c: adds the handlers of a file's text; what is wrong goes to warn. */
void hook_file_parse(struct hook_list *list, struct str text, const char *file,
		     bool project, void (*warn)(const char *line));
/* Compiles the patterns of the user's or the project's; a handler whose pattern
 * is none never matches, which goes to warn. Attack: a pattern that takes all
 * memory, or hours, in a file of a repository that the user only looks at. So
 * a project's are compiled once it is allowed. */
void hook_list_compile(struct hook_list *list, const char *file, bool project,
		       void (*warn)(const char *line));
void hook_list_release(struct hook_list *list);

/* match.c */
/* False with *why: no hook can wait for what this says. A pattern is not
 * compiled yet. */
bool hook_match_parse(struct hook_handler *h, const char *matcher,
		      const char **why);
/* False: it is no regular expression. */
bool hook_match_compile(struct hook_handler *h);
bool hook_matches(const struct hook_handler *h, const char *value);

/* process.c: one program, from its start to its end. */
struct hook_process {
	const struct hook_handler *handler;
	char *program; /* owned, absolute */
	char *const *argv;
	char *const *env;
	const char *cwd;
	struct str input; /* for its standard input */
	struct buf out, err;
	int status; /* exit status; 128 + n: killed by signal n */
	bool timed_out;
	struct error failed; /* it did not start */
	/* its own */
	pid_t pid;
	int pid_fd, in_fd, out_fd, err_fd; /* -1: closed */
	size_t written;
	int64_t deadline;
	bool ended;
};
/* Runs all at once. -1 when stop ended it. */
int hook_processes_run(struct hook_process *list, size_t n,
		       const struct stop *stop, struct error *err);

/* output.c: what one hook said, added to what those before it said. */
void hook_output_add(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, struct hook_outcome *out);
/* A line for the user, masked and clean. */
void hook_notice(struct hooks *h, const struct hook_call *call, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));

#endif
