/* price.c - what a running sandbox costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/price.h"

#include <math.h>

enum { HOUR_S = 3600, MOST_USD = 100000 };

#define TRILLION 1e12

static int of_setting(const struct toml_value *v, int64_t *usd_s,
		      struct error *err)
{
	double usd = v->kind == TOML_INT     ? (double)v->integer
		     : v->kind == TOML_FLOAT ? v->real
					     : -1;

	if (!isfinite(usd) || usd < 0 || usd > MOST_USD)
		return error_set(err, ERR_CONFIG,
				 "usd_per_hour (config.toml line %d) must be "
				 "an amount in US dollars, such as 0.11",
				 v->line);
	*usd_s = llround(ceil(usd * TRILLION / HOUR_S));
	return 0;
}

int price_of_sandbox(const struct settings *set,
		     const struct sandbox_provider *provider,
		     const char *snapshot, struct sandbox_price *price,
		     struct error *err)
{
	const struct toml_value *all =
		settings_toml(set, "sandboxes.providers");
	const struct toml_value *own =
		all ? toml_get(all, provider->name) : NULL;
	const struct toml_value *v = own ? toml_get(own, "usd_per_hour") : NULL;

	*price = (struct sandbox_price){ .usd_s = -1 };
	if (v)
		return of_setting(v, &price->usd_s, err);
	return provider->price ? provider->price(set, snapshot, price, err) : 0;
}
