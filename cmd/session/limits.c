/* limits.c - [workspace]: sizes of what comes back, and of what is kept. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/limits.h"

#include <inttypes.h>

#include "cmd/app.h"

struct limit {
	const char *key;
	const char *name;
	const char *unit;
	int64_t least;
};

static const struct limit fetch_mb = { "workspace.fetch_mb", "fetch_mb", "MiB",
				       1 };
static const struct limit file_mb = { "workspace.file_mb", "file_mb", "MiB",
				      1 };
static const struct limit patches_days = { "workspace.patches_days",
					   "patches_days", "days", 0 };
static const struct limit patches_mb = { "workspace.patches_mb", "patches_mb",
					 "MiB", 0 };

static int read_limit(const struct settings *set, const struct limit *l,
		      int64_t *value, struct error *err)
{
	int64_t normal = settings_int_default(set, l->key);
	int rc = settings_int(set, NULL, l->key, value, err);

	if (rc == 0 && (*value < l->least || *value > INT64_MAX >> 22))
		rc = error_set(err, ERR_CONFIG,
			       "[workspace] %s = %" PRId64
			       ": use %s, at least %" PRId64,
			       l->name, *value, l->unit, l->least);
	if (rc == 0)
		return 0;
	*value = normal;
	return error_hint(err, "Set [workspace] %s = %" PRId64 ", its default.",
			  l->name, normal);
}

int limits_check(const struct settings *set, struct error *err)
{
	int64_t ignored;

	if (read_limit(set, &fetch_mb, &ignored, err) < 0 ||
	    read_limit(set, &file_mb, &ignored, err) < 0 ||
	    read_limit(set, &patches_days, &ignored, err) < 0)
		return -1;
	return read_limit(set, &patches_mb, &ignored, err);
}

int limits_read(const struct settings *set, struct fetch_request *r,
		struct error *err)
{
	int64_t total, file;

	if (read_limit(set, &fetch_mb, &total, err) < 0 ||
	    read_limit(set, &file_mb, &file, err) < 0)
		return -1;
	r->total_max = total << 20;
	r->file_max = file << 20;
	return 0;
}

static int64_t read_or_default(const struct settings *set,
			       const struct limit *l)
{
	struct error err = { 0 };
	int64_t mib;

	if (read_limit(set, l, &mib, &err) < 0)
		app_warn("%s; using %" PRId64 " MiB", err.message, mib);
	return mib << 20;
}

void limits_read_or_default(const struct settings *set, struct fetch_request *r)
{
	r->total_max = read_or_default(set, &fetch_mb);
	r->file_max = read_or_default(set, &file_mb);
}
