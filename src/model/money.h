/* money.h - what a run has cost so far, and what it may still cost. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MONEY_H
#define MODEL_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"
#include "base/str.h"
#include "model/catalog.h"

/* Amounts: trillionths of a US dollar, read and shown. */
#define METER_DOLLAR INT64_C(1000000000000)

enum { MONEY_SIZE = 32 };

/* "$12.40", "<$0.01", "$0.00". Returns room. */
const char *money_short(int64_t amount, char room[MONEY_SIZE]);
/* The same with four digits after the point below one dollar: "$0.0042". */
const char *money_exact(int64_t amount, char room[MONEY_SIZE]);
/* A JSON number of dollars: "12.4", "0.000001". */
const char *money_json(int64_t amount, char room[MONEY_SIZE]);
/* "2", "0.5", "$1.25". False unless text is an amount above zero and of at most
 * a million dollars. */
bool money_read(struct str text, int64_t *amount);

/* The JSON of usage for events: {"input_tokens":1,...}. */
void usage_to_json(const struct usage *u, struct buf *out);
/* Adds u to total. A count that would overflow stays as it was. */
void usage_sum(struct usage *total, const struct usage *u);

/* Parameters by which a request costs more than its tokens show. */
struct costly_param {
	enum costly_kind {
		COSTLY_ANSWERS, /* several answers to one request */
		COSTLY_TIER,    /* other prices than the list's */
		COSTLY_UNSEEN,  /* input, tools or models at the server's */
	} kind;
	char shown[100]; /* "service_tier = \"priority\"", one clean line */
};
/* Finds the first such parameter of params, the JSON object of model_choice, or
 * NULL. The worst case of a request with it, or its price, is unknown. Values
 * that cost the list's price or less by the vendor's documents do not count. */
bool costly_param_find(const char *params, struct costly_param *found);

enum {
	METER_END_S = 60,   /* of a sandbox, reserved for its end */
	METER_LEAST = 1024, /* tokens: a lower output limit is of no use */
	/* Tokens a second that a model thinks at most without showing them.
	 * Faster servers (Cerebras, Groq) show all tokens, as bytes. */
	METER_SPEED = 500,
	METER_LATE_MS = 1000, /* until a vendor notices a closed connection */
};

/*
 * One for each run of dcode. Models, sandboxes and the cap enter it. Every
 * request to a model goes through it (model_brief.meter), also those of
 * compaction and subagents. Any thread, several at once.
 */
struct meter;
/* clock: milliseconds that also count while the machine is suspended; NULL: the
 * system's. */
struct meter *meter_new(int64_t (*clock)(void));
void meter_free(struct meter *m);
/* 0: no cap, which is the initial state. */
void meter_set_cap(struct meter *m, int64_t cap);
/* Sets a cap, and refuses any above most from now on; 0 lifts that. */
void meter_limit_cap(struct meter *m, int64_t most);
/* Reserves so many ms before sandboxes have used up the cap, for a question to
 * the user: work ends before them. */
void meter_keep_time(struct meter *m, int64_t ms);
/* Adds a threshold to warn at, in any order. At most 16. */
void meter_warn_at(struct meter *m, int64_t amount);
/* The highest threshold that has been passed since the last call, or 0. */
int64_t meter_passed(struct meter *m);

/* A model's account: one for each name, "anthropic:claude-opus-5". Lives as
 * long as the meter. facts are copied. */
struct meter_model;
struct meter_model *meter_model(struct meter *m, const char *name,
				const struct model_facts *facts);
/* Part of an account, with its own cap beside the meter's: what it spends
 * counts in both. Freed by the caller, after its models. */
struct meter_model *meter_part(struct meter_model *of, int64_t cap);
void meter_part_free(struct meter_model *part);
/* The catalog's limit of one answer, in tokens; 0: unknown. */
int64_t meter_most_output(const struct meter_model *mm);
/* Tokens of its context window; 0: unknown. */
int64_t meter_window(const struct meter_model *mm);
/* True if there is a cap: requests must then limit their answer. */
bool meter_limits(const struct meter_model *mm);

struct meter_noted { /* of a running request, as if it were cut now */
	int64_t calls;
	struct usage usage;
	int64_t cost, unclear;
};
struct meter_call {               /* one request; a retry is another one */
	int64_t input;            /* tokens that it has at most */
	int64_t output;           /* its output limit; 0: none is sent */
	int64_t least;            /* a lower limit than this is of no use */
	int64_t held;             /* set by meter_reserve() */
	int64_t begun;            /* the same, by the meter's clock */
	int64_t arrived;          /* bytes of the answer so far */
	struct meter_noted noted; /* by meter_note() */
};
/*
 * Call before a request is sent. Reserves what it costs at most: input at the
 * highest of the input prices, and output. With a cap, lowers call->output to
 * what the cap still pays for, at least call->least. If not even that fits,
 * fails with ERR_BUDGET and reserves nothing. The sum that the cap is compared
 * with has what was spent, what other requests hold, answers that were cut, and
 * the sandboxes' time so far and METER_END_S more.
 */
int meter_reserve(struct meter_model *mm, struct meter_call *call,
		  struct error *err);
/* So many more (or fewer) subagents send requests at the same time. The answer
 * to one request may reserve at most its share of what the cap leaves. */
void meter_share(struct meter *m, int change);
/* error.reason of that ERR_BUDGET if running requests hold the missing money:
 * it may be there once they are settled. */
#define METER_HELD "budget_held"
enum meter_end {
	METER_DONE,    /* usage is what the answer cost */
	METER_CUT,     /* the vendor may bill it; usage is what arrived of it */
	METER_REFUSED, /* no answer: the vendor bills nothing */
};
/* While a request runs: meter_each_new() reports it as an answer that was cut
 * here, until meter_settle() corrects that. usage is what the vendor has
 * reported so far. */
void meter_note(struct meter_model *mm, struct meter_call *call,
		const struct usage *usage);
/* After a request. If usage does not say what was billed, what the answer may
 * have cost stays counted as unclear: its input, and as many tokens as bytes
 * arrived or METER_SPEED allows for its time, whichever is more, within its
 * output limit. */
void meter_settle(struct meter_model *mm, const struct meter_call *call,
		  enum meter_end end, const struct usage *usage);

/* A sandbox costs from now on. usd_s: money for each second, -1: unknown;
 * at_most: its vendor may bill less. Returns its number. */
int meter_sandbox_begin(struct meter *m, const char *name, int64_t usd_s,
			bool at_most);
/* Its end is confirmed, or it is left running: stop counting it. */
void meter_sandbox_end(struct meter *m, int number);
/* Instead of the above: none was made, and the vendor bills nothing. */
void meter_sandbox_drop(struct meter *m, int number);
/* ms until sandboxes alone have used up the cap, minus the time that their end
 * takes. INT64_MAX: there is no cap, or they cost nothing. */
int64_t meter_time_to_end(struct meter *m);
/* The same for work: without the time that meter_keep_time() reserves. */
int64_t meter_time_left(struct meter *m);
int64_t meter_model_time_left(const struct meter_model *mm);

/* Takes rc and err of work that meter_time_left() may have ended. If it did,
 * and stop did not, err becomes an ERR_BUDGET that names the cap. m may be
 * NULL. Returns rc. */
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
/* All lines, in the order in which they were added. */
void meter_each(struct meter *m,
		void (*each)(void *arg, const struct meter_line *line),
		void *arg);
/* Each line's growth since it was last reported, if there is any. each returns
 * 0 once it has stored the line. Anything else ends the walk and is returned;
 * the next call reports that line again. */
int meter_each_new(struct meter *m,
		   int (*each)(void *arg, const struct meter_line *added),
		   void *arg);
struct meter_total {
	int64_t model, sandbox; /* money that was surely spent */
	int64_t unclear;        /* that cut answers may have cost besides */
	int64_t cut;            /* how many answers those are */
	int64_t held;           /* for running requests */
	int64_t cap;            /* 0: none */
	int64_t most;           /* that it may be raised to; 0: any */
	int64_t sandbox_ms;
	bool model_unpriced, sandbox_unpriced; /* something is not counted */
	bool sandbox_at_most; /* some of it may be billed lower */
	bool used;            /* a model has answered, or a sandbox run */
};
void meter_total(struct meter *m, struct meter_total *t);

#endif
