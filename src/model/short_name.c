/* short_name.c - "sonnet" for claude-sonnet-5-5, and each vendor's default. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at short_name_find(). */
#include "model/short_name.h"

#include <string.h>

#include "model/catalog.h"

enum match {
	MATCH_NONE,
	MATCH_SOME,  /* the model's name has all parts, in this order */
	MATCH_WHOLE, /* and ends in the last one */
};

/* The family of each vendor's default model. The first model of the family in
 * the built-in table is the default, so that a new row is enough to change
 * it. */
static const struct {
	const char *provider, *family;
} defaults[] = {
	{ "anthropic", "opus" },
	{ "openai", "terra" },
	{ "google_genai", "pro" },
};

/* Removes the first part from *rest. Returns false at the end. */
static bool next_part(struct str *rest, struct str *part)
{
	size_t n = 0;

	if (!rest->len)
		return false;
	while (n < rest->len && !strchr("-.", rest->ptr[n]))
		n++;
	*part = (struct str){ rest->ptr, n };
	*rest = str_skip(*rest, n < rest->len ? n + 1 : n);
	return true;
}

/* True for a part that does not say which model it is. */
static bool is_mark(struct str part)
{
	return str_is(part, "preview") || str_is(part, "latest");
}

static bool is_number(struct str part)
{
	for (size_t i = 0; i < part.len; i++)
		if (part.ptr[i] < '0' || part.ptr[i] > '9')
			return false;
	return true;
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && nearest_distance(a, b) == 0;
}

/* Compares a short name to a model's name. */
static enum match match_name(struct str name, const char *model)
{
	const char *slash = strrchr(model, '/'); /* after a router's prefix */
	struct str rest = str_of(slash ? slash + 1 : model);
	struct str wanted;
	struct str part;
	bool last = false; /* the last part was matched */

	if (!next_part(&name, &wanted) || !wanted.len)
		return MATCH_NONE;
	while (next_part(&rest, &part)) {
		last = is_same(part, wanted) || (last && is_mark(part));
		if (is_same(part, wanted) && !next_part(&name, &wanted))
			wanted = (struct str){ 0 };
	}
	if (wanted.len)
		return MATCH_NONE;
	return last ? MATCH_WHOLE : MATCH_SOME;
}

/* Returns the best match among one provider's models, or NULL. */
static const char *find_in(const struct catalog_vendor *v, struct str name)
{
	const char *found = NULL;

	for (const struct catalog_row *row = v->rows; row->model; row++) {
		enum match match = match_name(name, row->model);

		if (match == MATCH_WHOLE)
			return row->model;
		if (match == MATCH_SOME && !found)
			found = row->model;
	}
	return found;
}

static const struct catalog_vendor *find_vendor(const char *provider)
{
	const struct catalog_vendor *v = catalog_vendors;

	while (v->provider && strcmp(v->provider, provider) != 0)
		v++;
	return v->provider ? v : NULL;
}

const char *short_name_default(const char *provider)
{
	const struct catalog_vendor *v = find_vendor(provider);

	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		if (v && !strcmp(defaults[i].provider, provider))
			return find_in(v, str_of(defaults[i].family));
	return NULL;
}

/* True if the name is the provider's, or only the first part of its models'
 * names. */
static bool is_vendor_name(const struct catalog_vendor *v, struct str name)
{
	struct str rest = str_of(v->rows[0].model);
	struct str part;

	return is_same(str_of(v->provider), name) ||
	       (next_part(&rest, &part) && is_same(part, name));
}

/* Returns what a short name stands for among one provider's models, or NULL. */
static const char *find_short(const struct catalog_vendor *v, struct str name)
{
	const char *own = is_vendor_name(v, name)
				  ? short_name_default(v->provider)
				  : NULL;

	return own ? own : find_in(v, name);
}

const char *short_name_find(struct str name,
			    bool (*usable)(void *arg, const char *provider),
			    void *arg, const char **provider)
{
	const char *found = NULL;
	struct str rest = name;
	struct str part;
	bool word = false; /* a part that is not a number */

	while (next_part(&rest, &part))
		word |= part.len > 1 && !is_number(part);
	for (const struct catalog_vendor *v = catalog_vendors;
	     word && v->provider; v++) {
		const char *model = find_short(v, name);

		if (!model || (found && !usable(arg, v->provider)))
			continue;
		if (usable(arg, v->provider)) {
			*provider = v->provider;
			return model;
		}
		*provider = v->provider;
		found = model;
	}
	return found;
}

struct str short_name_of(const char *provider, const char *model)
{
	const struct catalog_vendor *v = find_vendor(provider);
	struct str rest = str_of(model);
	struct str part;

	while (v && next_part(&rest, &part)) {
		const char *found = NULL;

		if (part.len > 2 && part.ptr[0] > '9' && !is_mark(part) &&
		    !is_vendor_name(v, part))
			found = find_short(v, part);
		if (found && !strcmp(found, model))
			return part;
	}
	return (struct str){ 0 };
}
