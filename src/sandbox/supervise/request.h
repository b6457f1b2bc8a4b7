/* request.h - encodes requests about a job, decodes their answers. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_REQUEST_H
#define SANDBOX_SUPERVISE_REQUEST_H

#include "sandbox/exec.h"

enum {
	SUPERVISE_CAP = 64 << 20,
	/* nobody reads while a held command runs */
	SUPERVISE_HELD_CAP = 1 << 30,
	/* minimum stored output of a persistent job: kept.h */
	SUPERVISE_RING = 4 << 20,
};

/* Size limit for the output in an answer. */
struct answer_piece {
	size_t max;   /* bytes of output in the next answer, */
	size_t limit; /* which may grow up to this */
};
/* Call after an answer that was cut off (cut) or damaged, for example by a
 * limit of the vendor. True if the next request will ask for less. */
bool piece_shrink(struct answer_piece *p, bool cut);
/* Call after a complete answer: the next may be larger. */
void piece_grow(struct answer_piece *p);
/* Returns how long to wait before the next request after this many failures in
 * a row. why: the last failure. smaller: the next request asks for less. */
int64_t piece_pause_ms(unsigned failures, const struct error *why,
		       bool smaller);

enum supervise_op {
	JOB_START,
	JOB_FOLLOW,
	JOB_KILL,
	JOB_CLAIM,
	JOB_LIST,
	JOB_LEAVE
};

struct job_request {
	enum supervise_op op;
	/* SUPERVISE_JOB characters of a-z2-7; JOB_LEAVE: the common prefix of
	 * the names */
	const char *job;
	const char *nonce; /* like job, new for each request */
	int64_t out_at;    /* bytes received of each stream; -1: start at the */
	int64_t err_at;    /* oldest stored byte */
	int64_t hold_ms;   /* how long to wait for new output */
	/* how long to wait for more output after the first */
	int64_t gather_ms;
	size_t max;              /* bytes of the answer */
	struct exec_request req; /* JOB_START */
	const char *cwd;         /* JOB_START: absolute */
	/* JOB_START: the input may be sent as base64 */
	bool base64;
	/* jobs whose output is removed; "", or NULL */
	const char *forget;
	bool held;         /* JOB_START: answer only at the end */
	bool preloaded;    /* the scripts are already loaded */
	const char *owner; /* see struct supervisor; or NULL */
	bool kept;         /* a persistent job (kept.h) */
	const char *jobs;  /* JOB_LIST with kept: names of the jobs */
	/* with kept: max is taken from this; or NULL */
	struct answer_piece *piece;
};

/* Encodes a request; does no I/O. ERR_USAGE: a variable without a name. */
int supervise_compose(const struct job_request *ask, struct buf *command,
		      struct error *err);

/* Appends the parts that need not be sent with each request, as a script that
 * only assigns variables and defines functions. */
void supervise_preload(struct buf *out);

enum job_word {
	WORD_RUN,      /* still running */
	WORD_END,      /* code is the exit code */
	WORD_LATE,     /* killed at its time limit */
	WORD_KILLED,   /* killed by JOB_KILL */
	WORD_NOCWD,    /* no such working directory */
	WORD_FULL,     /* ended, but its output did not fit on the disk */
	WORD_LOST,     /* the requested output is not stored any more */
	WORD_GONE,     /* no such job */
	WORD_NOWHERE,  /* no writable directory */
	WORD_NOBASE64, /* not started: the sandbox cannot decode base64 */
	WORD_NEVER,    /* persistent job: not started, and can never start */
};

struct supervise_answer {
	enum job_word word;
	int code; /* 0 to 255, -1 unknown */
	int64_t out_at;
	int64_t err_at;  /* offsets where the bytes begin */
	size_t out_len;  /* the first bytes of body; the rest is error output */
	struct buf body; /* set max before; the caller releases */
};

/* Parses one of the words above. */
bool supervise_word(struct str word, enum job_word *w);
/* Parses the next number of *rest, from min to max, and skips it and the blank
 * after it. */
bool supervise_number(struct str *rest, int64_t min, int64_t max, int64_t *n);
/* Finds the answer to nonce in raw, which may hold any bytes; does no I/O.
 * ERR_PROTOCOL if there is no answer, or it is incomplete or inconsistent. */
int supervise_parse(struct str raw, const char *nonce,
		    struct supervise_answer *a, struct error *err);

#endif
