/* request.h - requests about a job and their answers, as bytes. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_REQUEST_H
#define SANDBOX_SUPERVISE_REQUEST_H

#include "sandbox/exec.h"

enum {
	SUPERVISE_CAP = 64 << 20,
	SUPERVISE_HELD_CAP = 1 << 30, /* nobody follows a held command */
	SUPERVISE_RING = 4 << 20, /* of a kept job's output at least: kept.h */
};

/* How many bytes of output an answer may have. */
struct answer_piece {
	size_t max;   /* bytes of the next answer, */
	size_t limit; /* which may grow to this */
};
/* Call after an answer that was cut off (cut), or damaged, as by a vendor with
 * a limit of its own: true when the next request asks for less. */
bool piece_shrink(struct answer_piece *p, bool cut);
/* Call after a complete answer: the next may be larger. */
void piece_grow(struct answer_piece *p);
/* How long to wait before the next request, after so many failures in a row,
 * the last with why. smaller: the next one asks for less. */
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
	const char *job;   /* SUPERVISE_JOB characters of a-z2-7; to leave:
			      what the names begin with */
	const char *nonce; /* the same, new for each request */
	int64_t out_at;    /* bytes of each stream that we have; -1: from */
	int64_t err_at;    /* what is kept */
	int64_t hold_ms;   /* to wait for news */
	int64_t gather_ms; /* and then for more of them */
	size_t max;        /* bytes of the answer */
	struct exec_request req;    /* to start */
	const char *cwd;            /* to start: absolute */
	bool base64;                /* to start: the input may be base64 */
	const char *forget;         /* jobs whose output goes; "", or NULL */
	bool held;                  /* to start: answer at the end only */
	bool preloaded;             /* the scripts are there */
	const char *owner;          /* of struct supervisor, or NULL */
	bool kept;                  /* a job of kept.h, */
	const char *jobs;           /* and JOB_LIST: their names */
	struct answer_piece *piece; /* the same: max follows it; or NULL */
};

/* Pure. ERR_USAGE for a variable that has no name. */
int supervise_compose(const struct job_request *ask, struct buf *command,
		      struct error *err);

/* Appends what need not travel with each request, a script that only assigns.
 */
void supervise_preload(struct buf *out);

enum job_word {
	WORD_RUN,      /* not at the end yet */
	WORD_END,      /* code is the exit code */
	WORD_LATE,     /* killed at its time limit */
	WORD_KILLED,   /* killed by JOB_KILL */
	WORD_NOCWD,    /* no such working directory */
	WORD_FULL,     /* ended, but its output did not fit on the disk */
	WORD_LOST,     /* what we asked for is not kept any more */
	WORD_GONE,     /* no such job */
	WORD_NOWHERE,  /* no directory to write in */
	WORD_NOBASE64, /* not started: the input must not be base64 */
	WORD_NEVER,    /* kept: not started, and it never will be */
};

struct supervise_answer {
	enum job_word word;
	int code; /* 0 to 255, -1 unknown */
	int64_t out_at;
	int64_t err_at;  /* where the bytes begin */
	size_t out_len;  /* the first bytes of body; the rest is error output */
	struct buf body; /* set max before; the caller releases */
};

/* One of the words above. */
bool supervise_word(struct str word, enum job_word *w);
/* The next number of min to max off *rest, and the blank after it. */
bool supervise_number(struct str *rest, int64_t min, int64_t max, int64_t *n);
/* Pure; for any bytes. Takes the answer to nonce out of raw; ERR_PROTOCOL when
 * there is none, a part is missing, or it contradicts itself. */
int supervise_parse(struct str raw, const char *nonce,
		    struct supervise_answer *a, struct error *err);

#endif
