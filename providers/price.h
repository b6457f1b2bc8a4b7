/* price.h - what a running sandbox costs. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_PRICE_H
#define PROVIDERS_PRICE_H

#include "base/error.h"
#include "config/settings.h"
#include "sandbox/sandbox.h"

/*
 * usd_per_hour of [sandboxes.providers.NAME], a file of the user's own, takes
 * precedence; then what the provider's row knows of the sandbox that is made
 * with these settings: snapshot, or NULL, names another one. ERR_CONFIG where
 * usd_per_hour is no amount.
 */
int price_of_sandbox(const struct settings *set,
		     const struct sandbox_provider *provider,
		     const char *snapshot, struct sandbox_price *price,
		     struct error *err);

#endif
