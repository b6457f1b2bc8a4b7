/* price.c - what a session of AgentCore costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/agentcore/agentcore.h"
#include "providers/kit/rates.h"

/* CPU and memory are billed as they are used, second by second
 * (aws.amazon.com/bedrock/agentcore/pricing, as of 2026-09-09; us-east-1). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0895),
	.gib = RATES_HOUR(0.00945),
};
/* What a session has at most (docs.aws.amazon.com, "Quotas for Amazon Bedrock
 * AgentCore", read 2026-11-23). */
static const struct rates_size most = { .milli_vcpu = 2000, .mib = 8 << 10 };

int agentcore_price(const struct settings *set, const char *snapshot,
		    struct sandbox_price *price, struct error *err)
{
	(void)set;
	(void)snapshot;
	(void)err;
	price->usd_s = rates_price(&rates, &most);
	price->at_most = true;
	return 0;
}
