/* price.h - what a running sandbox costs. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_PRICE_H
#define PROVIDERS_PRICE_H

#include "base/error.h"
#include "config/settings.h"
#include "sandbox/sandbox.h"

/*
 * Computes the price. usd_per_hour of [sandboxes.providers.NAME] in the user's
 * configuration takes precedence. Otherwise the provider computes the price of
 * a sandbox with these settings. snapshot, if not NULL, is used instead of the
 * configured snapshot. ERR_CONFIG if usd_per_hour is not an amount.
 */
int price_of_sandbox(const struct settings *set,
		     const struct sandbox_provider *provider,
		     const char *snapshot, struct sandbox_price *price,
		     struct error *err);

#endif
