/* money.h - what a run has cost and may still cost. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MONEY_H
#define MODEL_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"
#include "base/str.h"
#include "model/catalog.h"

/* Amounts are trillionths of a US dollar. */
#define METER_DOLLAR INT64_C(1000000000000)

enum { MONEY_SIZE = 32 };

/* Writes "$12.40", "<$0.01" or "$0.00". Returns room. */
const char *money_short(int64_t amount, char room[MONEY_SIZE]);
/* Like money_short(), but with four decimal places below one dollar:
 * "$0.0042". */
const char *money_exact(int64_t amount, char room[MONEY_SIZE]);
/* Writes a JSON number of dollars: "12.4", "0.000001". */
const char *money_json(int64_t amount, char room[MONEY_SIZE]);
/* Writes a number of tokens: "340", "3.2K", "1.5M". Returns room. */
const char *money_tokens(int64_t n, char room[MONEY_SIZE]);
/* Parses an amount: "2", "0.5" or "$1.25". False if it is anything else, zero,
 * or more than a million dollars. */
bool money_read(struct str text, int64_t *amount);

/* Appends usage as JSON for events: {"input_tokens":1,...}. */
void usage_to_json(const struct usage *u, struct buf *out);
/* Adds u to total. A count whose sum would overflow stays as it is. */
void usage_sum(struct usage *total, const struct usage *u);

/* A parameter that makes a request cost more than its tokens tell. */
struct costly_param {
	enum costly_kind {
		COSTLY_ANSWERS, /* requests several answers */
		COSTLY_TIER,    /* has prices that are not in the list */
		/* makes the server add input, tools or models that dcode does
		 * not see */
		COSTLY_UNSEEN,
	} kind;
	char shown[100]; /* "service_tier = \"priority\"", one sanitized line */
};
/* Finds the first costly parameter in params (model_choice.params, a JSON
 * object, or NULL). With such a parameter the highest cost of a request, or its
 * price, is unknown. Values that according to the vendor's documentation cost
 * no more than the list price are ignored. */
bool costly_param_find(const char *params, struct costly_param *found);

enum {
	/* seconds of each sandbox's cost that are reserved for ending it */
	METER_END_S = 60,
	METER_LEAST = 1024, /* the lowest useful output limit, in tokens */
	/* Most tokens per second that a vendor generates without sending them
	 * (hidden thinking). Faster servers (Cerebras, Groq) send all tokens,
	 * so there the received bytes are counted. */
	METER_SPEED = 500,
	/* how long until a vendor notices that the connection was closed */
	METER_LATE_MS = 1000,
};

/* Counts the cost of models and sandboxes and enforces the cap. One per run of
 * dcode. Every request to a model goes through it (model_brief.meter),
 * including those of compaction and subagents. Any thread, several at once. */
struct meter;
/* clock: milliseconds that include suspended time; NULL: the system's clock. */
struct meter *meter_new(int64_t (*clock)(void));
void meter_free(struct meter *m);
/* Sets the cap. 0: no cap, the initial state. */
void meter_set_cap(struct meter *m, int64_t cap);
/* Limits the cap to at most `most` from now on: a higher cap, or none, becomes
 * most. most 0 removes that limit. */
void meter_limit_cap(struct meter *m, int64_t most);
/* Reserves ms milliseconds for a question to the user: meter_time_left() ends
 * that much earlier. */
void meter_keep_time(struct meter *m, int64_t ms);
/* Adds an amount at which the user is warned. At most 16, in any order. */
void meter_warn_at(struct meter *m, int64_t amount);
/* Returns the highest of these amounts that was passed since the last call, or
 * 0. */
int64_t meter_passed(struct meter *m);

/* meter_model() returns the account of a model name such as
 * "anthropic:claude-opus-5" and creates it if needed. It lives as long as the
 * meter. facts are copied. */
struct meter_model;
struct meter_model *meter_model(struct meter *m, const char *name,
				const struct model_facts *facts);
/* Creates a part of an account, with a cap of its own. What it spends counts
 * against both caps. The caller frees it after its models. */
struct meter_model *meter_part(struct meter_model *of, int64_t cap);
void meter_part_free(struct meter_model *part);
/* The most tokens of one answer according to the catalog; 0: unknown. */
int64_t meter_most_output(const struct meter_model *mm);
/* The size of the context window in tokens; 0: unknown. */
int64_t meter_window(const struct meter_model *mm);
/* True if there is a cap. Then every request must have an output limit. */
bool meter_limits(const struct meter_model *mm);

struct meter_noted { /* cost of a running request if its answer ended now */
	int64_t calls;
	struct usage usage;
	int64_t cost, unclear;
};
struct meter_call {      /* one request; each retry is a new one */
	int64_t input;   /* the most input tokens that the request may have */
	int64_t output;  /* output limit; 0: none is sent */
	int64_t least;   /* the lowest useful output limit */
	int64_t held;    /* amount reserved; set by meter_reserve() */
	int64_t begun;   /* time on the meter's clock; set by meter_reserve() */
	int64_t arrived; /* bytes of the answer received so far */
	struct meter_noted noted; /* set by meter_note() */
};
/* Call before sending a request. Reserves the most that it can cost: its input
 * at the highest input price, and its output. With a cap, lowers call->output
 * to what the cap can pay for, but not below call->least. If the cap cannot pay
 * for that either: ERR_BUDGET, and nothing is reserved. These count against the
 * cap: money spent, reservations of other requests, the unclear cost of cut
 * answers, and the sandboxes' time so far plus METER_END_S. */
int meter_reserve(struct meter_model *mm, struct meter_call *call,
		  struct error *err);
/* Changes the number of subagents that send requests at the same time. What the
 * cap leaves is shared equally: one request's output may reserve at most one
 * share. */
void meter_share(struct meter *m, int change);
enum meter_end {
	METER_DONE,    /* complete: usage is what was billed */
	METER_CUT,     /* cut: may be billed; usage is what was reported */
	METER_REFUSED, /* no answer: nothing is billed */
};
/* Call during a request. meter_each_new() then reports the request as if its
 * answer had been cut here, until meter_settle() corrects that. usage: what the
 * vendor has reported so far. */
void meter_note(struct meter_model *mm, struct meter_call *call,
		const struct usage *usage);
/* Call after a request. If usage does not say what was billed, the possible
 * cost is counted as unclear: the input, and output tokens. Of these the higher
 * of two numbers is assumed, but at most the output limit: one token per
 * received byte, or METER_SPEED for the duration. */
void meter_settle(struct meter_model *mm, const struct meter_call *call,
		  enum meter_end end, const struct usage *usage);

/* Starts counting a sandbox. usd_s: its cost per second, in trillionths of a
 * dollar; -1: unknown. at_most: the vendor may bill less. Returns the sandbox's
 * number. */
int meter_sandbox_begin(struct meter *m, const char *name, int64_t usd_s,
			bool at_most);
/* Stops counting a sandbox that has ended or is left running. */
void meter_sandbox_end(struct meter *m, int number);
/* Call instead of meter_sandbox_end() if no sandbox was created: nothing is
 * billed. */
void meter_sandbox_drop(struct meter *m, int number);
/* Returns the ms until the sandboxes alone use up the cap, minus the time
 * needed to end them. INT64_MAX: there is no cap, or they cost nothing. */
int64_t meter_time_to_end(struct meter *m);
/* Like meter_time_to_end(), minus the time that meter_keep_time() reserves. */
int64_t meter_time_left(struct meter *m);
int64_t meter_model_time_left(const struct meter_model *mm);

/* Call with rc and err of work that was limited by meter_time_left(). If that
 * limit ended the work, and stop did not, err becomes an ERR_BUDGET that names
 * the cap. m may be NULL. Returns rc. */
int meter_name_cap(struct meter *m, const struct stop *stop, int rc,
		   struct error *err);

struct meter_line { /* the costs of one model or sandbox; name is borrowed */
	const char *name;
	bool sandbox;
	bool priced;
	bool at_most;       /* for a sandbox: the vendor may bill less */
	struct usage usage; /* for a model */
	int64_t calls, cut; /* number of answers; how many were cut */
	int64_t ms;         /* for a sandbox: how long it ran */
	int64_t cost;       /* money certainly spent */
	int64_t unclear;    /* possible additional cost of cut answers */
};
/* Calls each for every line, in the order in which they were added. */
void meter_each(struct meter *m,
		void (*each)(void *arg, const struct meter_line *line),
		void *arg);
/* Calls each with what every line has gained since it was last reported. each
 * returns 0 once it has stored that. Any other value ends the loop and is
 * returned; the next call reports that line again. */
int meter_each_new(struct meter *m,
		   int (*each)(void *arg, const struct meter_line *added),
		   void *arg);
struct meter_total {
	int64_t model, sandbox; /* money certainly spent */
	int64_t unclear;        /* possible additional cost of cut answers */
	int64_t cut;            /* number of cut answers */
	int64_t held;           /* reserved for running requests */
	int64_t cap;            /* 0: none */
	int64_t most;           /* highest cap allowed; 0: any */
	int64_t sandbox_ms;
	/* a model or sandbox has no known price, so its cost is missing */
	bool model_unpriced, sandbox_unpriced;
	bool sandbox_at_most; /* a sandbox's vendor may bill less */
	bool used;            /* a model has answered, or a sandbox has run */
};
void meter_total(struct meter *m, struct meter_total *t);

#endif
