/* price.c - what a devbox of Runloop costs. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "providers/kit/lease.h"
#include "providers/runloop/runloop.h"

/* Of what a devbox has, whether or not it is used (www.runloop.ai/pricing, as
 * of 2026-09-28). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.108),
	.gib = RATES_HOUR(0.0252),
	.disk_gib = RATES_HOUR(0.00034236),
};

enum { CUSTOM_DISK = 16 }; /* GiB, where a size of one's own names none */

/* docs.runloop.ai/docs/devboxes/configuration/sizes, as of 2026-09-28 */
static const struct {
	const char *name;
	struct rates_size size;
} sizes[] = {
	{ "X_SMALL", { 500, 1 << 10, 4 } },
	{ "SMALL", { 1000, 2 << 10, 4 } },
	{ "MEDIUM", { 2000, 4 << 10, 8 } },
	{ "LARGE", { 2000, 8 << 10, 16 } },
	{ "X_LARGE", { 4000, 16 << 10, 16 } },
	{ "XX_LARGE", { 8000, 32 << 10, 16 } },
};

/* What it boots from may ask for a size of its own. */
static int boots_own(const struct settings *set, bool *own, struct error *err)
{
	static const char *const keys[] = { "blueprint_id", "blueprint",
					    "snapshot_id" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = NULL;

		if (settings_string(set, "runloop", keys[i], &value, err) < 0)
			return -1;
		*own |= value && *value;
	}
	return 0;
}

int runloop_price(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err)
{
	struct rates_size custom = { .disk_gib = CUSTOM_DISK };
	const char *name = NULL;
	bool own = snapshot != NULL;
	int64_t cores = 0;
	int64_t gib = 0;

	if (boots_own(set, &own, err) < 0 ||
	    settings_string(set, "runloop", "size", &name, err) < 0 ||
	    settings_int(set, "runloop", "cpu", &cores, err) < 0 ||
	    settings_int(set, "runloop", "memory", &gib, err) < 0 ||
	    settings_int(set, "runloop", "disk", &custom.disk_gib, err) < 0)
		return -1;
	if (cores > 0 && gib > 0) {
		custom.milli_vcpu = cores * 1000;
		custom.mib = gib * 1024;
		price->usd_s = rates_price(&rates, &custom);
		return 0;
	}
	if (!name && !own)
		name = "SMALL"; /* the vendor's default */
	for (size_t i = 0; name && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(name, sizes[i].name) == 0)
			price->usd_s = rates_price(&rates, &sizes[i].size);
	return 0;
}
