/* price.c - what a running sandbox costs. */
/* SPDX-License-Identifier: MIT */
#include "providers/price.h"

#include <math.h>
#include <string.h>

enum { HOUR_S = 3600, MOST_USD = 100000 };

#define TRILLION 1e12

static const struct {
	const char *provider;
	int64_t usd_s;
	/* A setting of the provider's and the value that this is the price of;
	 * NULL: of all that it makes. */
	const char *key, *value;
} rows[] = {
	{ "docker", 0, NULL, NULL },
	{ "local", 0, NULL, NULL },
	/* 2 vCPU at $0.000014 and 0.5 GiB at $0.0000045 a second, whether or
	 * not they are used (e2b.dev/docs/faq/calculate-sandbox-price.md, read
	 * 2026-11-23). Other templates have sizes of their own. */
	{ "e2b", 30250000, "template", "base" },
	/* Of the others either the size of a sandbox or the part of it that is
	 * billed is not known before the invoice. */
};

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

int price_of_sandbox(const struct settings *set, const char *provider,
		     const char *snapshot, int64_t *usd_s, struct error *err)
{
	const struct toml_value *all =
		settings_toml(set, "sandboxes.providers");
	const struct toml_value *own = all ? toml_get(all, provider) : NULL;
	const struct toml_value *v = own ? toml_get(own, "usd_per_hour") : NULL;
	struct error ignored = { 0 };
	const char *value = NULL;

	*usd_s = -1;
	if (v)
		return of_setting(v, usd_s, err);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].provider, provider) != 0)
			continue;
		if (rows[i].key &&
		    (snapshot ||
		     settings_string(set, provider, rows[i].key, &value,
				     &ignored) < 0 ||
		     !value || strcmp(value, rows[i].value) != 0))
			continue;
		*usd_s = rows[i].usd_s;
	}
	return 0;
}
