/* rates.c - what a vendor bills for a sandbox of a known size. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/rates.h"

enum { MOST = 1 << 24 }; /* of each: settings say anything */

static int64_t clamp(int64_t n)
{
	return n < 0 ? 0 : n > MOST ? MOST : n;
}

int64_t rates_price(const struct rates *rates, const struct rates_size *size)
{
	return rates->vcpu * clamp(size->milli_vcpu) / 1000 +
	       rates->gib * clamp(size->mib) / 1024 +
	       rates->disk_gib * clamp(size->disk_gib);
}

int rates_nothing(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err)
{
	(void)set;
	(void)snapshot;
	(void)err;
	price->usd_s = 0;
	return 0;
}
