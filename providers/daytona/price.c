/* price.c - what a sandbox of Daytona costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/daytona/daytona.h"
#include "providers/kit/lease.h"

/* Of what a sandbox has, whether or not it is used. The account's 5 GiB of disk
 * without a charge are not taken off (www.daytona.io/pricing, as of 2026-05-25;
 * a GPU's price depends on its kind). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0504),
	.gib = RATES_HOUR(0.0162),
	.disk_gib = RATES_HOUR(0.000108),
};

/* Without an image, and with the account's default snapshot, a sandbox has the
 * vendor's default size, as one of an image that asks for none
 * (www.daytona.io/docs, "Sandboxes", resources, read 2026-11). */
int daytona_price(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err)
{
	const char *own = NULL;
	const char *image = NULL;
	int64_t gpu = 0;
	int64_t vcpu = 1;
	int64_t gib = 1;
	struct rates_size size = { .disk_gib = 3 };

	if (settings_string(set, "daytona", "image", &image, err) < 0 ||
	    settings_string(set, "daytona", "snapshot", &own, err) < 0 ||
	    settings_int(set, "daytona", "gpu", &gpu, err) < 0)
		return -1;
	if (snapshot || gpu > 0 || (!(image && *image) && own && *own))
		return 0;
	if (image && *image &&
	    (settings_int(set, "daytona", "cpu", &vcpu, err) < 0 ||
	     settings_int(set, "daytona", "memory", &gib, err) < 0 ||
	     settings_int(set, "daytona", "disk", &size.disk_gib, err) < 0))
		return -1;
	size.milli_vcpu = vcpu * 1000;
	size.mib = gib * 1024;
	price->usd_s = rates_price(&rates, &size);
	return 0;
}
