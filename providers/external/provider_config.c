/* provider_config.c - an entry [sandboxes.providers.NAME] of config.toml. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/provider_config.h"

#include <stddef.h>
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

/* Readers return what is wrong with v ("must be a string"), or NULL. */

static const char *read_string(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)flag;
	if (v->kind != TOML_STRING)
		return "must be a string";
	if (!v->text_len || strlen(v->text) != v->text_len)
		return "must not be empty or contain NUL";
	*(char **)field = xstrdup(v->text);
	return NULL;
}

static const char *read_class(const struct toml_value *v, void *field,
			      unsigned flag)
{
	const char *wrong = read_string(v, field, flag);

	if (!wrong && !class_path_ok(str_of(v->text)))
		wrong = "must be \"module.path:ClassName\"";
	return wrong;
}

static const char *read_workdir(const struct toml_value *v, void *field,
				unsigned flag)
{
	const char *wrong = read_string(v, field, flag);

	if (!wrong && v->text[0] != '/')
		wrong = "must be an absolute path";
	return wrong;
}

static const char *read_command(const struct toml_value *v, void *field,
				unsigned flag)
{
	static const char must[] =
		"must be an array of strings, the program first";
	char **argv;

	(void)flag;
	if (v->kind != TOML_ARRAY || !v->n_items)
		return must;
	argv = xcalloc(v->n_items + 1, sizeof(*argv));
	*(char ***)field = argv;
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		if (item->kind != TOML_STRING || (!i && !item->text_len) ||
		    strlen(item->text) != item->text_len)
			return must;
		argv[i] = xstrdup(item->text);
	}
	return NULL;
}

static const char *read_flag(const struct toml_value *v, void *field,
			     unsigned flag)
{
	unsigned *flags = field;

	if (v->kind != TOML_BOOL)
		return "must be true or false";
	*flags = v->integer ? *flags | flag : *flags & ~flag;
	return NULL;
}

static const char *read_table(const struct toml_value *v, void *field,
			      unsigned flag)
{
	(void)flag;
	if (v->kind != TOML_TABLE)
		return "must be a table";
	*(const struct toml_value **)field = v;
	return NULL;
}

static const char *read_isolation(const struct toml_value *v, void *field,
				  unsigned flag)
{
	enum sandbox_isolation *isolation = field;

	(void)flag;
	if (v->kind == TOML_STRING)
		*isolation = isolation_parse(str_of(v->text));
	return *isolation ? NULL : "must be one of " ISOLATION_WORDS;
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

/* They are read by config/settings_env.c. */
static const char *check_credentials(const struct toml_value *v, void *field,
				     unsigned flag)
{
	bool good = v->kind == TOML_ARRAY;

	(void)field;
	(void)flag;
	for (size_t i = 0; good && i < v->n_items; i++)
		good = is_variable(&v->items[i]);
	return good ? NULL
		    : "must be an array of names of variables: "
		      "[\"ACME_API_KEY\"]";
}

/* It is read by providers/price.c. */
static const char *check_price(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)field;
	(void)flag;
	return v->kind == TOML_INT || v->kind == TOML_FLOAT
		       ? NULL
		       : "must be an amount in US dollars, such as 0.11";
}

/* It is read by sandbox_client_open(). */
static const char *check_start(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)field;
	(void)flag;
	return v->kind == TOML_INT && v->integer >= 1 &&
			       v->integer <= SANDBOX_START_MAX_S
		       ? NULL
		       : "must be seconds, from 1 to 86400";
}

#define FIELD(name) offsetof(struct provider_config, name)

static const struct {
	const char *key;
	const char *(*read)(const struct toml_value *v, void *field,
			    unsigned flag);
	size_t field;
	unsigned flag;
} keys[] = {
	{ "class_path", read_class, FIELD(class_path), 0 },
	{ "command", read_command, FIELD(command), 0 },
	{ "working_dir", read_workdir, FIELD(workdir), 0 },
	{ "package", read_string, FIELD(package), 0 },
	{ "supports_sandbox_id", read_flag, FIELD(flags), SANDBOX_ATTACH },
	{ "supports_snapshot_name", read_flag, FIELD(flags), SANDBOX_SNAPSHOT },
	{ "supports_list", read_flag, FIELD(flags), SANDBOX_LIST },
	{ "params", read_table, FIELD(params), 0 },
	{ "credentials", check_credentials, 0, 0 },
	{ "usd_per_hour", check_price, 0, 0 },
	{ "start_timeout", check_start, 0, 0 },
	{ "http", read_table, FIELD(http), 0 },
	{ "isolation", read_isolation, FIELD(isolation), 0 },
};

static const char *read_key(struct provider_config *d,
			    const struct toml_value *v)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].key, v->key))
			return keys[i].read(v, (char *)d + keys[i].field,
					    keys[i].flag);
	return "is unknown";
}

int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base, struct error *err)
{
	int ways;

	*d = (struct provider_config){ .flags = SANDBOX_ATTACH,
				       .certain = true };
	if (base)
		d->flags = base->flags & (SANDBOX_ATTACH | SANDBOX_SNAPSHOT);
	for (size_t i = 0; i < entry->n_items; i++) {
		const struct toml_value *v = &entry->items[i];
		const char *wrong = read_key(d, v);

		if (wrong)
			return error_set(err, ERR_CONFIG,
					 "%s:%d:%d: sandboxes.providers.%.64s."
					 "%.40s %s",
					 file, v->line, v->column, entry->key,
					 v->key, wrong);
	}
	ways = !!d->class_path + !!d->command + !!d->http;
	if (ways > 1)
		return error_set(err, ERR_CONFIG,
				 "%s:%d:%d: sandboxes.providers.%.64s has more "
				 "than one of class_path, command and http",
				 file, entry->line, entry->column, entry->key);
	if (base && !ways && d->isolation)
		return error_set(
			err, ERR_CONFIG,
			"%s:%d:%d: sandboxes.providers.%.64s.isolation is "
			"fixed for a built-in provider",
			file, entry->line, entry->column, entry->key);
	d->name = xstrdup(entry->key);
	d->origin = xasprintf("%s:%d", file, entry->line);
	if (base && !d->workdir && ways && base->workdir)
		d->workdir = xstrdup(base->workdir);
	return 0;
}
