/* money.h - what a run may cost, has cost, and says about it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MONEY_H
#define CMD_SESSION_MONEY_H

#include "cmd/session/run.h"

/* What dcode costs is counted in r->app->meter: made by the first run, with the
 * cap of --max-usd or [limits]. ERR_USAGE, ERR_CONFIG. */
int run_money_begin(struct run *r, struct error *err);
/* The account of the model of r->choice. ERR_USAGE if there is a cap and the
 * price of its requests is unknown. */
int run_money_model(struct run *r, struct meter_model **account,
		    struct error *err);
/* The sandbox of r->client costs from now on; no more once its end is
 * confirmed, or it is left. Says once where a cap cannot count it. ERR_CONFIG.
 */
int run_money_sandbox(struct run *r, struct error *err);
void run_money_sandbox_end(struct run *r);
/* The same stop, which ends before the sandbox alone has used up the cap. */
struct stop run_money_stop(const struct run *r, const struct stop *stop);
/* Before a sandbox that is kept running is left: what it costs until it is used
 * again, or deleted, counts for its thread. */
void run_money_keep(struct run *r);
/* Stores what the thread has cost since the last time. */
void run_money_store(struct run *r);
/* "Cost: $0.42 (...)": one line without its end, "" when nothing was used. */
void run_money_line(const struct run *r, struct buf *out);
/* Members of the JSON result: ,"cost_usd":0.42,... */
void run_money_json(const struct run *r, struct buf *out);
/* Everything by model, and what the thread has cost before. */
void run_money_print(struct run *r, struct buf *out);
/* Of a chat, clock_ms() or INT64_MAX for never: when the user is asked whether
 * its sandbox, which costs although nothing happens, may pass the cap; and when
 * the chat ends, and the sandbox with it, unless he allowed it. */
int64_t run_money_asks_at(const struct run *r);
int64_t run_money_ends_at(const struct run *r);

#endif
