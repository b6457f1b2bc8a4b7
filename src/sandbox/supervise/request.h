/* request.h - encodes requests about a job, decodes their answers. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_REQUEST_H
#define SANDBOX_SUPERVISE_REQUEST_H

#include "sandbox/exec.h"

enum {
	SUPERVISE_CAP = 64 << 20,
	/* limit for a held command (supervisor.held): nobody reads while it
	 * runs */
	SUPERVISE_HELD_CAP = 1 << 30,
	/* minimum of stored output of a persistent job: see kept.h */
	SUPERVISE_RING = 4 << 20,
};

/* How many bytes of output the next answer may contain. */
struct answer_piece {
	size_t max; /* bytes of output in the next answer */
	/* upper limit of max, which piece_grow() does not exceed */
	size_t limit;
};
/* Call after an answer that was cut off (cut) or damaged, for example because
 * the vendor limits its size. True if the next answer will be smaller. */
bool piece_shrink(struct answer_piece *p, bool cut);
/* Call after a complete answer: the next may be larger. */
void piece_grow(struct answer_piece *p);
/* Returns how long to wait before the next request. failures: how many in a
 * row. why: the last one. smaller: the next answer will be smaller. */
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
	/* SUPERVISE_JOB characters of a-z2-7. JOB_LEAVE: the first
	 * SUPERVISE_PREFIX of them, which are the same for all jobs. With jobs:
	 * a word that begins no name. */
	const char *job;
	const char *nonce; /* new for each request, in the same form as job */
	/* bytes of standard output received so far; -1: start at the oldest
	 * byte that is still stored */
	int64_t out_at;
	int64_t err_at; /* the same for standard error */
	/* ms: how long the sandbox waits for new output before it answers */
	int64_t hold_ms;
	/* ms: once there is output, how long it waits for more */
	int64_t gather_ms;
	size_t max; /* maximum bytes of output in the answer */
	const struct exec_request *req; /* JOB_START: the command; borrowed */
	/* JOB_START: the command's working directory, absolute */
	const char *cwd;
	struct str input; /* JOB_START: all of the command's input */
	bool base64;      /* JOB_START: the input may be sent as base64 */
	/* names of jobs whose output the sandbox is to remove; "", or NULL */
	const char *forget;
	bool held;         /* JOB_START: answer only at the end */
	bool preloaded;    /* the scripts are already loaded */
	const char *owner; /* see struct supervisor; or NULL */
	bool kept;         /* a persistent job (kept.h) */
	/* JOB_LIST and JOB_LEAVE with kept: names of the jobs */
	const char *jobs;
	/* with kept: max is taken from here; or NULL */
	struct answer_piece *piece;
};

/* Encodes a request; does no I/O. ERR_USAGE: a variable without a name. */
int supervise_compose(const struct job_request *ask, struct buf *command,
		      struct error *err);

/* Appends the constant parts of requests (see job_request.preloaded), as a
 * script that only assigns variables and defines functions. */
void supervise_preload(struct buf *out);

enum job_word {
	WORD_RUN,    /* still running */
	WORD_END,    /* code is the exit code */
	WORD_LATE,   /* killed at its time limit */
	WORD_KILLED, /* killed by JOB_KILL */
	WORD_NOCWD,  /* no such working directory */
	WORD_FULL,   /* ended, but its output did not fit on the disk */
	WORD_LOST,   /* the output that was asked for is not stored any more */
	WORD_GONE,   /* no such job */
	/* the sandbox has no directory where jobs can be stored */
	WORD_NOWHERE,
	WORD_NOBASE64, /* not started: the sandbox cannot decode base64 */
	WORD_NEVER,    /* persistent job: not started, and can never start */
};

struct supervise_answer {
	enum job_word word;
	int code; /* exit code, 0 to 255; -1: unknown */
	int64_t out_at;
	int64_t err_at; /* offsets where the two streams of this answer begin */
	/* bytes of standard output at the start of body; the rest is stderr */
	size_t out_len;
	struct buf body; /* set max before; the caller releases */
};

/* Parses a word of enum job_word. */
bool supervise_word(struct str word, enum job_word *w);
/* Parses the next number of *rest, from min to max, and skips it and the blank
 * after it. */
bool supervise_number(struct str *rest, int64_t min, int64_t max, int64_t *n);
/* Finds the answer to the request with this nonce in raw, which may contain any
 * bytes around it; does no I/O. ERR_PROTOCOL if there is no answer, or it is
 * incomplete or inconsistent. */
int supervise_parse(struct str raw, const char *nonce,
		    struct supervise_answer *a, struct error *err);

#endif
