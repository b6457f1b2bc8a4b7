/* price.h - what a running sandbox costs. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_PRICE_H
#define PROVIDERS_PRICE_H

#include <stdint.h>

#include "base/error.h"
#include "config/settings.h"

/*
 * *usd_s: trillionths of a US dollar for each second of a sandbox of this
 * provider, -1: not known. usd_per_hour of [sandboxes.providers.NAME] takes
 * precedence; then 0 for this machine's own, and what a vendor has published
 * for its default size, where that is what is made: snapshot, or NULL, names
 * another one. ERR_CONFIG where the setting is no amount.
 */
int price_of_sandbox(const struct settings *set, const char *provider,
		     const char *snapshot, int64_t *usd_s, struct error *err);

#endif
