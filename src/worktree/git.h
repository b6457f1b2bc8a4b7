/* git.h - starts git, protected from the configuration of repositories. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_GIT_H
#define WORKTREE_GIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/stop.h"

/*
 * git starts with a clean environment, in a git directory that dcode made, and
 * with only that directory's configuration and the settings on its command
 * line: no fsmonitor, hooks, aliases, includes, filters, external diffs,
 * textconv or merge drivers, signing, credentials, editors, pagers, network or
 * lazy fetches. The user's repositories are only read as data and never used as
 * GIT_DIR.
 *
 * Why not libgit2: 1.5.1, loaded with dlopen(), was measured against git 2.39.5
 * started as here, on 27 November 2026 (milliseconds of CPU time with 2,000 and
 * 20,000 files; million instructions with 2,000):
 *   start                 git    1.3        0.5 M   libgit2    9.1       65 M
 *   list index + others   git      8    26   12 M   libgit2     17    42   86 M
 *   read all blobs        git      6    47   38 M   libgit2     18    84  163 M
 *   status                git     11    58    7 M   libgit2     25    89   96 M
 *   a commit as one pack  git    110  1131  315 M   libgit2     95   820  745 M
 * Its start loads 15 more libraries (Kerberos, two of TLS, SSH). It ran no
 * fsmonitor, hook or filter, but obeyed the repository's core.worktree (and
 * read files there), core.excludesFile and include.path. It refuses a split or
 * sparse index, partial clones, extensions.worktreeConfig, SHA-256 and
 * reftable; dcode reads the first four. It has no counterpart to the messages
 * of git merge-tree and to git apply --3way. So git stays.
 */
/*
 * For the commands that reach a server (worktree/server_git.h): git then obeys
 * the user's own global and system configuration, with credential helpers, ssh
 * and proxies, and the user's environment. It still starts in a git directory
 * that dcode made, without hooks, and speaks only https, http and ssh.
 */
struct git_user {
	/* core.sshCommand in the user's configuration, or NULL */
	const char *ssh_command;
	/* real path of a directory: programs in it are not on PATH */
	const char *avoid;
	bool terminal; /* git and ssh may ask at the terminal */
};

struct git {                 /* all borrowed */
	const char *program; /* absolute: git_find() */
	const char *dir;     /* one of dcode's own bare repositories */
	const char *index;   /* absolute; NULL: no index is used */
	/* absolute, also git's working directory; or NULL */
	const char *work_tree;
	const char *objects;      /* additional object directory; or NULL */
	const char *more_objects; /* another one; only beside objects */
	/* additional NAME=value, NULL-terminated; or NULL */
	const char *const *env;
	/* new files get the user's umask, because they go into the user's
	 * repository; else only the user can read them */
	bool users_modes;
	const struct git_user *user; /* NULL: protected, see above */
};

enum { GIT_OID = 65 }; /* a hexadecimal object id (also SHA-256) with NUL */

/* Finds the first git in an absolute directory of PATH that is not below root
 * (may be NULL). ERR_CONFIG if there is none. *program is owned. */
int git_find(const char *root, char **program, struct error *err);
/* Creates g->dir if it is missing or incomplete, and its file of attributes if
 * that is missing. Removes locks that a killed git has left in it. */
int git_init(const struct git *g, const struct stop *stop, struct error *err);

/* Receives a chunk of git's output; -1 (err filled) kills git. */
typedef int git_sink(void *arg, struct str chunk, struct error *err);

struct git_request {
	const char *const *argv; /* arguments after "git"; NULL-terminated */
	struct str input;        /* standard input */
	/* Alternative to input: writes at most len bytes into room; 0 at the
	 * end, -1 fails. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *source_arg;
	struct buf *out; /* receives the output, up to its max; or NULL */
	git_sink *sink;  /* alternative to out */
	void *sink_arg;
	/* out: exit status; NULL: any status but 0 is an error */
	int *status;
	bool *warned; /* out: git printed to standard error; or NULL */
	/* out: the end of git's standard error, raw, even on failure; or
	 * NULL */
	struct buf *said;
	int64_t timeout_ms; /* 0: two minutes */
	size_t data_max;    /* memory limit in bytes; 0: none */
};
/* Runs git to its end. diff commands get --no-ext-diff and --no-textconv. The
 * error message ends with git's last error line. */
int git_run(const struct git *g, const struct git_request *r,
	    const struct stop *stop, struct error *err);
/* Runs git with arguments only; white space at the end of the output is
 * removed. */
int git_ask(const struct git *g, const char *const *argv, struct buf *out,
	    const struct stop *stop, struct error *err);

/* Reads git's -z output record by record. */
struct nul_records {
	/* Receives each record, without its NUL; -1 kills git. */
	int (*each)(void *arg, const char *record, struct error *err);
	void *arg;
	struct str input; /* git's standard input; may be empty */
	bool warned;      /* out: git printed to standard error */
	struct buf held;  /* internal to git_run_records() */
};
/* Returns ERR_LIMIT for a record of more than 1 MiB. */
int git_run_records(const struct git *g, const char *const *argv,
		    struct nul_records *r, const struct stop *stop,
		    struct error *err);

/* A git process that is fed piece by piece, such as fast-import. r must not
 * have input, source or status; r and its argv may be freed after
 * git_start(). */
struct git_process;
int git_start(struct git_process **p, const struct git *g,
	      const struct git_request *r, const struct stop *stop,
	      struct error *err);
int git_write(struct git_process *p, struct str bytes, struct error *err);
/* Closes git's input and waits for its exit. Frees p in any case. */
int git_finish(struct git_process *p, struct error *err);
/* Kills git; p may be NULL. */
void git_abort(struct git_process *p);

#endif
