/* rates.h - what a vendor bills for a sandbox of a known size. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_RATES_H
#define PROVIDERS_KIT_RATES_H

#include <stdint.h>

#include "config/settings.h"
#include "sandbox/provider.h"

/* US dollars an hour as trillionths of one a second, rounded up. */
#define RATES_HOUR(usd) ((int64_t)((usd)*1e12 / 3600 + 0.999))

struct rates { /* RATES_HOUR() of one; 0: it is not billed */
	int64_t vcpu, gib, disk_gib;
};
struct rates_size {
	int64_t milli_vcpu, mib, disk_gib;
};
/* Trillionths of a US dollar for each second. */
int64_t rates_price(const struct rates *rates, const struct rates_size *size);
/* sandbox_provider.price of one on a machine of the user's: nothing. */
int rates_nothing(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err);

#endif
