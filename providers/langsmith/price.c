/* price.c - what a sandbox of LangSmith costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/lease.h"
#include "providers/langsmith/langsmith.h"

/* 0.0384 LCU for a vCPU, 0.0123 LCU and 0.000123 LSU for a GiB of memory and of
 * disk, each an hour; an LCU is $1.50, an LSU $1.00 (www.langchain.com/pricing,
 * as of 2026-09-28). What the account includes is not taken off. */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0384 * 1.5),
	.gib = RATES_HOUR(0.0123 * 1.5),
	.disk_gib = RATES_HOUR(0.000123),
};

enum { MOST_GIB_EACH = 6 }; /* memory for each vCPU, as the server takes it */

/* Without a number of CPUs the server chooses the size. */
int langsmith_price(const struct settings *set, const char *snapshot,
		    struct sandbox_price *price, struct error *err)
{
	struct rates_size size = { 0 };
	int64_t vcpus = 0;
	int64_t gib = 0;

	(void)snapshot;
	if (settings_int(set, "langsmith", "cpu", &vcpus, err) < 0 ||
	    settings_int(set, "langsmith", "memory", &gib, err) < 0 ||
	    settings_int(set, "langsmith", "disk", &size.disk_gib, err) < 0)
		return -1;
	if (vcpus <= 0)
		return 0;
	size.milli_vcpu = vcpus * 1000;
	size.mib = (gib > 0 ? gib : vcpus * MOST_GIB_EACH) * 1024;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}
