/* meter.h - what a run has cost so far, and what it may still cost. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_METER_H
#define MODEL_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"
#include "model/catalog/catalog.h"

/* Money is in trillionths of a US dollar. */
#define METER_DOLLAR INT64_C(1000000000000)

enum {
	METER_END_S = 60,   /* of a sandbox, held back until its end */
	METER_LEAST = 1024, /* tokens: a lower output limit helps nobody */
	/* Tokens a second that a model thinks at most where it shows nothing.
	 * Faster ones (Cerebras, Groq) show what they write: bytes count. */
	METER_SPEED = 500,
	METER_LATE_MS = 1000, /* until a vendor notices that nobody listens */
};

/*
 * One for each run of dcode. Models, sandboxes and the cap enter it; every
 * request to a model goes through it (model_brief.meter), those of compaction
 * and subagents too. Any thread, several at once.
 */
struct meter;
/* clock: milliseconds that also count while the machine is suspended; NULL: the
 * system's. */
struct meter *meter_new(int64_t (*clock)(void));
void meter_free(struct meter *m);
/* 0: no cap, as at first. */
void meter_set_cap(struct meter *m, int64_t cap);
/* There is a cap from now on, and none is set above most: 0 lifts that. */
void meter_limit_cap(struct meter *m, int64_t most);
/* So many ms before sandboxes have used up the cap are for asking the user:
 * work ends before them. */
void meter_keep_time(struct meter *m, int64_t ms);
/* One more threshold to warn at; ascending or not. At most 16. */
void meter_warn_at(struct meter *m, int64_t amount);
/* The highest threshold that has been passed since the last call, or 0. */
int64_t meter_passed(struct meter *m);

/* A model's account: one for each name, "anthropic:claude-opus-5". Lives as
 * long as the meter. facts are copied. */
struct meter_model;
struct meter_model *meter_model(struct meter *m, const char *name,
				const struct model_facts *facts);
/* Part of an account, with a cap of its own beside that of the meter: what it
 * spends counts in both. Freed by the caller, after its models. */
struct meter_model *meter_part(struct meter_model *of, int64_t cap);
void meter_part_free(struct meter_model *part);
/* The catalog's limit of one answer, in tokens; 0: not known. */
int64_t meter_most_output(const struct meter_model *mm);
/* Tokens of its context window; 0: not known. */
int64_t meter_window(const struct meter_model *mm);
/* Whether requests must say how long their answer may be: there is a cap. */
bool meter_limits(const struct meter_model *mm);

struct meter_noted { /* of a request that runs, as if it were cut now */
	int64_t calls;
	struct usage usage;
	int64_t cost, unclear;
};
struct meter_call {               /* one request: each retry is another one */
	int64_t input;            /* tokens that it has at most */
	int64_t output;           /* its output limit; 0: it says none */
	int64_t least;            /* a lower limit than this is of no use */
	int64_t held;             /* set by meter_reserve() */
	int64_t begun;            /* the same, by the meter's clock */
	int64_t arrived;          /* bytes of the answer so far */
	struct meter_noted noted; /* by meter_note() */
};
/*
 * Before a request is sent. Holds back what it costs at most: input at the
 * dearest of the input prices, and output. With a cap, lowers call->output to
 * what the cap still pays for, at least call->least; else ERR_BUDGET, and
 * nothing is held. Counted with it: what was spent, what other requests hold,
 * answers that were cut, sandbox seconds so far and METER_END_S more.
 */
int meter_reserve(struct meter_model *mm, struct meter_call *call,
		  struct error *err);
/* So many more (or fewer) subagents ask at the same time: the answer to one
 * request may not hold back more than its share of what the cap leaves. */
void meter_share(struct meter *m, int change);
/* error.reason of that ERR_BUDGET where requests that run now hold what is
 * missing: once they are settled, it may be there. */
#define METER_HELD "budget_held"
enum meter_end {
	METER_DONE,    /* usage is what the answer cost */
	METER_CUT,     /* the vendor may bill it: usage is what it had told */
	METER_REFUSED, /* the vendor answered nothing, and bills nothing */
};
/* While it runs: meter_each_new() tells of it as of an answer that is cut here,
 * until meter_settle() puts that right. usage is what it has told so far. */
void meter_note(struct meter_model *mm, struct meter_call *call,
		const struct usage *usage);
/* After it. Where usage does not say what was billed, what the answer may have
 * cost stays counted as unclear: its input, and as many tokens as bytes arrived
 * or METER_SPEED allows for the time that it took, whichever is more, within
 * its output limit. */
void meter_settle(struct meter_model *mm, const struct meter_call *call,
		  enum meter_end end, const struct usage *usage);

/* A sandbox costs from now on. usd_s: money for each second, -1: not known;
 * at_most: its vendor may bill less. Returns its number. */
int meter_sandbox_begin(struct meter *m, const char *name, int64_t usd_s,
			bool at_most);
/* Its end is confirmed, or it is left running: counted no more. */
void meter_sandbox_end(struct meter *m, int number);
/* Instead: none was made, and nobody bills it. */
void meter_sandbox_drop(struct meter *m, int number);
/* ms until the cap is used up by sandboxes alone, but for the time that their
 * end takes; INT64_MAX: no cap, or they cost nothing. Work has that without
 * what meter_keep_time() keeps. */
int64_t meter_time_to_end(struct meter *m);
int64_t meter_time_left(struct meter *m);
int64_t meter_model_time_left(const struct meter_model *mm);

/* rc and err of what may have been ended by meter_time_left(), but not by stop:
 * then ERR_BUDGET names the cap. m may be NULL. Returns rc. */
int meter_name_cap(struct meter *m, const struct stop *stop, int rc,
		   struct error *err);

struct meter_line { /* of a model or a sandbox; name borrowed */
	const char *name;
	bool sandbox;
	bool priced;
	bool at_most;       /* of a sandbox: it may have cost less */
	struct usage usage; /* of a model */
	int64_t calls, cut; /* answers, and how many of them were cut */
	int64_t ms;         /* of a sandbox */
	int64_t cost;       /* money that was surely spent */
	int64_t unclear;    /* that cut answers may have cost besides */
};
/* All, in the order that they came in. */
void meter_each(struct meter *m,
		void (*each)(void *arg, const struct meter_line *line),
		void *arg);
/* What has been added to each since it was told, where there is something. each
 * returns 0 once it has it for good; anything else ends the walk, is returned,
 * and what was not taken is told again by the next call. */
int meter_each_new(struct meter *m,
		   int (*each)(void *arg, const struct meter_line *added),
		   void *arg);
struct meter_total {
	int64_t model, sandbox; /* money that was surely spent */
	int64_t unclear;        /* that cut answers may have cost besides */
	int64_t cut;            /* how many answers those are */
	int64_t held;           /* for requests that run */
	int64_t cap;            /* 0: none */
	int64_t most;           /* that it may be raised to; 0: any */
	int64_t sandbox_ms;
	bool model_unpriced, sandbox_unpriced; /* something is not counted */
	bool sandbox_at_most; /* some of it may be billed lower */
	bool used;            /* a model has answered, or a sandbox run */
};
void meter_total(struct meter *m, struct meter_total *t);

#endif
