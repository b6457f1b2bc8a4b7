/* provider_config.c - an entry [sandboxes.providers.NAME] of config.toml. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/provider_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/entry_points.h"

enum { VARIABLE_MAX = 60 }; /* bytes of a variable's name */

void provider_config_release(struct provider_config *d)
{
	for (char **w = d->command; w && *w; w++)
		free(*w);
	free(d->command);
	free(d->name);
	free(d->workdir);
	free(d->package);
	free(d->class_path);
	free(d->origin);
	*d = (struct provider_config){ 0 };
}

bool provider_config_id_ok(const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)id[i] <= ' ' || id[i] == 0x7F)
			return false;
	return len > 0 && len <= PROVIDER_ID_MAX && str_is_utf8(str_of(id));
}

struct reading {
	const char *file;
	const struct toml_value *entry;
	struct provider_config *d;
	struct error *err;
};

/* "FILE:3:5: sandboxes.providers.acme.command must be ..." */
static int wrong(const struct reading *r, const struct toml_value *v,
		 const char *must)
{
	return error_set(r->err, ERR_CONFIG,
			 "%s:%d:%d: sandboxes.providers.%.64s.%.40s %s",
			 r->file, v->line, v->column, r->entry->key, v->key,
			 must);
}

static int take_string(const struct reading *r, const struct toml_value *v,
		       char **out)
{
	if (v->kind != TOML_STRING)
		return wrong(r, v, "must be a string");
	if (!v->text_len || strlen(v->text) != v->text_len)
		return wrong(r, v, "must not be empty or hold NUL");
	*out = xstrdup(v->text);
	return 0;
}

static int take_class(const struct reading *r, const struct toml_value *v)
{
	if (take_string(r, v, &r->d->class_path) < 0)
		return -1;
	if (class_path_ok(str_of(r->d->class_path)))
		return 0;
	return wrong(r, v, "must be \"module.path:ClassName\"");
}

static int take_workdir(const struct reading *r, const struct toml_value *v)
{
	if (take_string(r, v, &r->d->workdir) < 0)
		return -1;
	return r->d->workdir[0] == '/'
		       ? 0
		       : wrong(r, v, "must be an absolute path");
}

static int take_package(const struct reading *r, const struct toml_value *v)
{
	return take_string(r, v, &r->d->package);
}

static int take_command(const struct reading *r, const struct toml_value *v)
{
	static const char must[] =
		"must be an array of strings, the program first";

	if (v->kind != TOML_ARRAY || !v->n_items)
		return wrong(r, v, must);
	r->d->command = xcalloc(v->n_items + 1, sizeof(*r->d->command));
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		if (item->kind != TOML_STRING || (!i && !item->text_len) ||
		    strlen(item->text) != item->text_len)
			return wrong(r, v, must);
		r->d->command[i] = xstrdup(item->text);
	}
	return 0;
}

static int take_flag(const struct reading *r, const struct toml_value *v,
		     unsigned flag)
{
	if (v->kind != TOML_BOOL)
		return wrong(r, v, "must be true or false");
	if (v->integer)
		r->d->flags |= flag;
	else
		r->d->flags &= ~flag;
	return 0;
}

static int take_attach(const struct reading *r, const struct toml_value *v)
{
	return take_flag(r, v, SANDBOX_ATTACH);
}

static int take_snapshot(const struct reading *r, const struct toml_value *v)
{
	return take_flag(r, v, SANDBOX_SNAPSHOT);
}

static int take_list(const struct reading *r, const struct toml_value *v)
{
	return take_flag(r, v, SANDBOX_LIST);
}

static int take_params(const struct reading *r, const struct toml_value *v)
{
	if (v->kind != TOML_TABLE)
		return wrong(r, v, "must be a table");
	r->d->params = v;
	return 0;
}

static bool is_variable(const struct toml_value *v)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				   "abcdefghijklmnopqrstuvwxyz0123456789";

	return v->kind == TOML_STRING && v->text_len &&
	       v->text_len <= VARIABLE_MAX &&
	       strspn(v->text, good) == v->text_len &&
	       !(v->text[0] >= '0' && v->text[0] <= '9');
}

/* Read by config/settings_env.c. */
static int take_credentials(const struct reading *r, const struct toml_value *v)
{
	static const char must[] = "must be an array of names of variables: "
				   "[\"ACME_API_KEY\"]";

	if (v->kind != TOML_ARRAY)
		return wrong(r, v, must);
	for (size_t i = 0; i < v->n_items; i++)
		if (!is_variable(&v->items[i]))
			return wrong(r, v, must);
	return 0;
}

static int take_http(const struct reading *r, const struct toml_value *v)
{
	if (v->kind != TOML_TABLE)
		return wrong(r, v, "must be a table");
	r->d->http = v;
	return 0;
}

static const struct {
	const char *key;
	int (*take)(const struct reading *r, const struct toml_value *v);
} keys[] = {
	{ "class_path", take_class },
	{ "command", take_command },
	{ "working_dir", take_workdir },
	{ "package", take_package },
	{ "supports_sandbox_id", take_attach },
	{ "supports_snapshot_name", take_snapshot },
	{ "supports_list", take_list },
	{ "params", take_params },
	{ "credentials", take_credentials },
	{ "http", take_http },
};

static int take(const struct reading *r, const struct toml_value *v)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].key, v->key))
			return keys[i].take(r, v);
	return wrong(r, v, "is not known");
}

static int check_ways(const struct reading *r)
{
	const struct provider_config *d = r->d;
	int ways = !!d->class_path + !!d->command + !!d->http;

	if (ways <= 1)
		return 0;
	return error_set(r->err, ERR_CONFIG,
			 "%s:%d:%d: sandboxes.providers.%.64s has more than "
			 "one of class_path, command and http",
			 r->file, r->entry->line, r->entry->column,
			 r->entry->key);
}

int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base, struct error *err)
{
	struct reading r = { file, entry, d, err };

	*d = (struct provider_config){ .flags = SANDBOX_ATTACH,
				       .certain = true };
	if (base)
		d->flags = base->flags & (SANDBOX_ATTACH | SANDBOX_SNAPSHOT);
	for (size_t i = 0; i < entry->n_items; i++)
		if (take(&r, &entry->items[i]) < 0)
			return -1;
	if (check_ways(&r) < 0)
		return -1;
	d->name = xstrdup(entry->key);
	d->origin = xasprintf("%s:%d", file, entry->line);
	if (base && !d->workdir && (d->class_path || d->command || d->http))
		d->workdir = base->workdir ? xstrdup(base->workdir) : NULL;
	return 0;
}
