/* price.c - what a sandbox of E2B costs. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "providers/e2b/e2b.h"
#include "providers/kit/lease.h"

/* Of what a sandbox has, whether or not it is used; disk is not billed
 * (e2b.dev/docs/faq/calculate-sandbox-price.md, read 2026-11-23). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0504),
	.gib = RATES_HOUR(0.0162),
};
/* Of the template "base" (same page); others have sizes of their own. */
static const struct rates_size base = { .milli_vcpu = 2000, .mib = 512 };

int e2b_price(const struct settings *set, const char *snapshot,
	      struct sandbox_price *price, struct error *err)
{
	const char *template = NULL;

	if (settings_string(set, "e2b", "template", &template, err) < 0)
		return -1;
	if (!snapshot && template && strcmp(template, "base") == 0)
		price->usd_s = rates_price(&rates, &base);
	return 0;
}
