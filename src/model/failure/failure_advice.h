/* failure_advice.h - what a user can do about a vendor's refusal. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_FAILURE_FAILURE_ADVICE_H
#define MODEL_FAILURE_FAILURE_ADVICE_H

#include "model/model.h"

/*
 * Each takes an error that has the server's words and gives it the code, the
 * reason and the hint of its meaning; always -1. Pure, any thread.
 */
int failure_overflow(const struct model_choice *c, struct error *err);
int failure_too_large(const struct model_choice *c, struct error *err);
int failure_no_money(const struct model_choice *c, struct error *err);
int failure_no_quota_today(const struct model_choice *c, struct error *err);
int failure_too_many_requests(const struct model_choice *c, struct error *err);
int failure_overloaded(const struct model_choice *c, struct error *err);
int failure_refused_key(const struct model_choice *c, struct error *err);
int failure_denied_access(const struct model_choice *c, struct error *err);
int failure_unknown_model(const struct model_choice *c, struct error *err);
int failure_needs_profile(const struct model_choice *c, struct error *err);
int failure_sealed_reasoning(const struct model_choice *c, struct error *err);
int failure_refused_file(const struct model_choice *c, struct error *err);

#endif
