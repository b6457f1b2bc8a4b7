/* price.c - what a sandbox of Vercel costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/lease.h"
#include "providers/vercel/vercel.h"

/* Memory is billed as it is given, CPU as it is used; what is sent and stored,
 * and each creation ($0.60 for a million), is not counted here
 * (vercel.com/docs/vercel-sandbox/pricing, as of 2025-11-26). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.128),
	.gib = RATES_HOUR(0.0212),
};

enum { MIB_EACH = 2048 }; /* memory for each vCPU (same page) */

/* Without a number of CPUs the account's plan says how many there are. */
int vercel_price(const struct settings *set, const char *snapshot,
		 struct sandbox_price *price, struct error *err)
{
	int64_t vcpus = 0;
	struct rates_size size = { 0 };

	(void)snapshot;
	if (settings_int(set, "vercel", "vcpus", &vcpus, err) < 0)
		return -1;
	if (vcpus <= 0)
		return 0;
	size.milli_vcpu = vcpus * 1000;
	size.mib = vcpus * MIB_EACH;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}
