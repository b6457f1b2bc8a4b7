/* money.h - counts and limits the cost of a run, and prints it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MONEY_H
#define CMD_SESSION_MONEY_H

#include "cmd/session/run.h"

/* Creates r->app->meter with the cap of --max-usd or [limits]. Does nothing if
 * an earlier run of the chat did. ERR_USAGE, ERR_CONFIG, ERR_POLICY. */
int run_money_begin(struct run *r, struct error *err);
/* Sets *account to the account of the model in r->choice. ERR_USAGE if there is
 * a cap and the price of the model's requests is unknown. */
int run_money_model(struct run *r, struct meter_model **account,
		    struct error *err);
/* Starts counting the cost of r->client's sandbox. Warns if there is a cap and
 * the sandbox's price is unknown. Call run_money_sandbox_end() when the sandbox
 * is deleted or the run leaves it. ERR_CONFIG. */
int run_money_sandbox(struct run *r, struct error *err);
void run_money_sandbox_end(struct run *r);
/* Returns stop with a deadline: the time at which the sandbox alone would use
 * up the cap. */
struct stop run_money_stop(const struct run *r, const struct stop *stop);
/* Call before leaving a sandbox that keeps running. Its cost until it is used
 * again or deleted is then added to its thread. */
void run_money_keep(struct run *r);
/* Stores the thread's costs since the last call. */
void run_money_store(struct run *r);
/* Appends "Cost: $0.42 (...)" without a newline; nothing if nothing was
 * used. */
void run_money_line(const struct run *r, struct buf *out);
/* Appends members of the JSON result: ,"cost_usd":0.42,... */
void run_money_json(const struct run *r, struct buf *out);
/* Appends the costs of this run by model and sandbox, then those of all runs of
 * the thread. */
void run_money_print(struct run *r, struct buf *out);
/* In a chat, the sandbox costs money even while idle. run_money_asks_at()
 * returns when the user is asked whether it may exceed the cap.
 * run_money_ends_at() returns when the chat ends with the sandbox if there is
 * no answer. Both are clock_ms() times, or INT64_MAX for never. */
int64_t run_money_asks_at(const struct run *r);
int64_t run_money_ends_at(const struct run *r);

#endif
