/* git.h - the one place that starts git, where no repository steers it. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_GIT_H
#define WORKTREE_GIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/stop.h"

/*
 * git starts with a clean environment, in a git directory that dcode made, and
 * with no configuration but that one's and what is given on its command line:
 * no fsmonitor, hooks, aliases, includes, filters, external diffs, textconv or
 * merge drivers, signing, credentials, editors, pagers, network or lazy
 * fetches. The user's repositories are read as data; none is ever GIT_DIR.
 */
struct git {                    /* all borrowed */
	const char *program;    /* absolute: git_find() */
	const char *dir;        /* a bare repository of dcode's own */
	const char *index;      /* absolute; NULL: none is read or written */
	const char *work_tree;  /* absolute, also where git starts; or NULL */
	const char *objects;    /* where objects are also read from; or NULL */
	const char *const *env; /* more NAME=value, NULL ends; or NULL */
	bool users_modes; /* its files have the umask's: they go into the user's
			     own repository. Else they are for us alone */
};

enum { GIT_OID = 65 }; /* a hexadecimal object id, SHA-256 too, and NUL */

/* The first git in an absolute directory of PATH that is not below root (may
 * be NULL). ERR_CONFIG if there is none. *program is owned. */
int git_find(const char *root, char **program, struct error *err);
/* Makes g->dir if it is missing or half made, and its attributes in any case.
 * Removes locks that a killed git has left in it. */
int git_init(const struct git *g, const struct stop *stop, struct error *err);

/* Takes a part of what git prints; -1 (err filled) ends git. */
typedef int git_sink(void *arg, struct str chunk, struct error *err);

struct git_request {
	const char *const *argv; /* what follows "git"; NULL ends */
	struct str input;        /* its standard input */
	/* Or pulled: at most len bytes into room, 0 at the end, -1 fails. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *source_arg;
	struct buf *out; /* what it prints, with its ceiling; or NULL */
	git_sink *sink;  /* or this takes it */
	void *sink_arg;
	int *status;        /* out; NULL: any other than 0 is an error */
	bool *warned;       /* out: it said something of its own; or NULL */
	int64_t timeout_ms; /* 0: two minutes */
	size_t data_max;    /* bytes it may allocate; 0: no limit */
};
/* Runs git to its end. diff commands get --no-ext-diff and --no-textconv. The
 * error ends in the last line that git said. */
int git_run(const struct git *g, const struct git_request *r,
	    const struct stop *stop, struct error *err);
/* The same with arguments alone; white space at its end is removed. */
int git_ask(const struct git *g, const char *const *argv, struct buf *out,
	    const struct stop *stop, struct error *err);

/* What git prints with -z, record by record. */
struct nul_records {
	/* Gets each record, without the NUL behind it; -1 ends git. */
	int (*each)(void *arg, const char *record, struct error *err);
	void *arg;
	struct str input; /* of git; may be empty */
	bool warned;      /* out: git said something on standard error */
	struct buf held;  /* of git_run_records() */
};
/* ERR_LIMIT for a record of more than 1 MiB. */
int git_run_records(const struct git *g, const char *const *argv,
		    struct nul_records *r, const struct stop *stop,
		    struct error *err);

/* A git that is fed piece by piece: fast-import. r without input, source and
 * status; r and its argv are not needed after git_start(). */
struct git_process;
int git_start(struct git_process **p, const struct git *g,
	      const struct git_request *r, const struct stop *stop,
	      struct error *err);
int git_write(struct git_process *p, struct str bytes, struct error *err);
/* Ends its input and waits for it. Frees p, whatever it returns. */
int git_finish(struct git_process *p, struct error *err);
/* Kills it; NULL is fine. */
void git_abort(struct git_process *p);

/* True if the repository in the directory dir has many packs or loose objects,
 * or more than twice the bytes that it had when it was last packed. False until
 * a day after git_pack(). Only reads directories. */
bool git_pack_is_due(const char *dir);
/* Makes one pack of all that a reference names, another of what was named in
 * the last two weeks, and deletes the rest. Nothing else may use g meanwhile.
 * The next one deletes what a git that was ended has left. */
int git_pack(const struct git *g, const struct stop *stop, struct error *err);

#endif
