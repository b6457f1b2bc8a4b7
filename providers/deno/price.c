/* price.c - what a sandbox of Deno Deploy costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/deno.h"
#include "providers/kit/rates.h"

/* Memory is billed as it is given, CPU as it is used; what the account's plan
 * includes is not taken off (deno.com/deploy/pricing, as of 2026-09-28). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.10),
	.gib = RATES_HOUR(0.025),
};

enum { MILLI_VCPU = 2000 }; /* of each (docs.deno.com/sandbox, read 2026-11) */

int deno_price(const struct settings *set, const char *snapshot,
	       struct sandbox_price *price, struct error *err)
{
	struct rates_size size = { .milli_vcpu = MILLI_VCPU,
				   .mib = DENO_MEMORY };

	(void)snapshot;
	if (settings_int(set, "deno", "memory", &size.mib, err) < 0)
		return -1;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}
