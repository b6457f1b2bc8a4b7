/* registry.c - all providers by name, and what a sandbox of one costs. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at registry_new(), which adds the user's providers in the order
 * of precedence: first config.toml, then Python packages, then programs of
 * ~/.deepagents/providers. add_external() decides whether a name is free.
 * Programs on PATH come last, when registry_find() or registry_list() needs
 * them. At the end, what a sandbox costs: price_of_sandbox().
 */
#include "providers/registry.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "sandbox/provider.h"
#include "sandbox/sandbox.h"

#define GROUP "deepagents_code.sandbox_providers"
#define PROGRAM "dcode-sandbox-"

enum { NAME_LONGEST = 64, FOUND_MAX = 1000 };

struct registry_entry {
	const struct sandbox_provider *provider;
	struct made_provider *made; /* owned; NULL: a built-in provider */
	char *origin;               /* owned */
};

struct registry {
	struct settings *set;
	void (*warn)(const char *line);
	struct registry_entry *entries;
	size_t n;
	/* result of the last registry_list() */
	const struct sandbox_provider **list;
	bool scanned; /* the directories of PATH have been searched */
};

/* Finds a provider that dcode has built in. */

const struct sandbox_provider *sandbox_provider_find(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (strcmp(sandbox_providers[i]->name, name) == 0)
			return sandbox_providers[i];
	return NULL;
}

bool sandbox_is_none(const char *name)
{
	const struct sandbox_provider *p = sandbox_provider_find(name);

	return p && p->flags & SANDBOX_UNISOLATED;
}

bool sandbox_provider_is_built_in(const char *name)
{
	for (size_t i = 0; sandbox_providers[i]; i++) {
		const char *also = sandbox_providers[i]->also;

		if (also && !strcmp(also, name))
			return true;
	}
	return sandbox_provider_find(name);
}

bool registry_name_ok(const char *name)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
				   "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t n = strlen(name);

	return n > 0 && n <= NAME_LONGEST && strspn(name, good) == n &&
	       !strchr("-_.", name[0]);
}

static struct registry_entry *find_entry(const struct registry *r,
					 const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->entries[i].provider->name, name))
			return &r->entries[i];
	return NULL;
}

static struct registry_entry *append_entry(struct registry *r,
					   const struct sandbox_provider *p,
					   struct made_provider *made,
					   const char *origin)
{
	struct registry_entry *e;

	r->entries = xrealloc(r->entries, r->n + 1, sizeof(*r->entries));
	e = &r->entries[r->n++];
	*e = (struct registry_entry){ p, made, xstrdup(origin) };
	return e;
}

static void warn_skipped(const struct registry *r, const char *why)
{
	char *text = xasprintf("%s; the entry is skipped", why);

	if (r->warn)
		r->warn(text);
	free(text);
}

/* Adds the provider that d describes, and leaves d empty. */
static int add_external(struct registry *r, struct provider_config *d,
			struct error *err)
{
	char *origin = xstrdup(d->origin);
	struct made_provider *made = d->http ? http_provider_new(d, err)
					     : process_provider_new(d, err);

	if (made)
		append_entry(r, &made->base, made, origin);
	provider_config_release(d);
	free(origin);
	return made ? 0 : -1;
}

/* True for names that a provider must not have, such as "none", which means the
 * user's own machine. */
static bool is_reserved(const struct registry *r, const char *name,
			const char *origin)
{
	char *why;

	if (registry_name_ok(name) && strcmp(name, "none") != 0)
		return false;
	why = xasprintf("%s: not a valid sandbox provider name: '%s'", origin,
			name);
	warn_skipped(r, why);
	free(why);
	return true;
}

static const char *config_file(const struct settings *set)
{
	const struct settings_file *files;
	size_t n = settings_files(set, &files);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(files[i].name, "config.toml"))
			return files[i].path;
	return "config.toml";
}

/* Adds a provider that was found, unless its name is already used. Takes
 * ownership of all strings in d. */
static void add_found(struct registry *r, struct provider_config *d)
{
	struct error err = { 0 };

	d->flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT;
	if (r->n >= FOUND_MAX || find_entry(r, d->name) ||
	    is_reserved(r, d->name, d->origin))
		provider_config_release(d);
	else if (add_external(r, d, &err) < 0)
		warn_skipped(r, err.message);
}

static void on_entry_point(void *arg, const struct entry_point *e)
{
	struct provider_config d = {
		.name = xstrndup(e->name.ptr, e->name.len),
		.class_path = xstrndup(e->object.ptr, e->object.len),
		.origin = xstrdup(e->package),
		.package =
			xstrndup(e->package, str_find(str_of(e->package), '-')),
	};

	if (class_path_ok(e->object))
		add_found(arg, &d);
	else
		provider_config_release(&d);
}

static void on_site(void *arg, const char *dir)
{
	entry_points_read(dir, GROUP, on_entry_point, arg);
}

static void add_program(struct registry *r, const char *name, const char *path)
{
	struct provider_config d = { .name = xstrdup(name),
				     .origin = xstrdup(path),
				     .command = xcalloc(2, sizeof(char *)) };

	d.command[0] = xstrdup(path);
	add_found(r, &d);
}

/* Returns the path of a program, DIR/FILE, or DIR/FILE/FILE if FILE is a
 * directory. Owned by the caller; NULL if there is none. */
static char *program_in(const char *dir, const char *file)
{
	char *path = path_join(dir, file);
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		char *inner = path_join(path, file);

		free(path);
		path = inner;
	}
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static int is_program(const struct dirent *e)
{
	return str_starts(str_of(e->d_name), PROGRAM);
}

static void add_programs(struct registry *r, const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_program, alphasort);

	for (int i = 0; i < n; i++) {
		char *path = program_in(dir, list[i]->d_name);

		if (path)
			add_program(r, list[i]->d_name + sizeof(PROGRAM) - 1,
				    path);
		free(path);
		free(list[i]);
	}
	free(list);
}

/* Applies an entry without class, command and http to an existing provider. */
static int apply_overlay(struct registry *r, struct provider_config *d,
			 struct error *err)
{
	/* called because it also searches PATH for programs */
	struct registry_entry *e =
		registry_find(r, d->name) ? find_entry(r, d->name) : NULL;
	char *key;
	int rc = 0;

	if (!e)
		return error_set(err, ERR_CONFIG,
				 "%s: Sandbox provider '%s' config is missing "
				 "'class_path'",
				 d->origin, d->name);
	if (e->made) {
		process_provider_overlay(e->made, d);
		return 0;
	}
	if (!d->workdir)
		return 0;
	key = xasprintf("sandboxes.providers.%s.params.workdir", d->name);
	if (settings_source(r->set, d->name, "workdir") < SOURCE_CONFIG)
		rc = settings_set_flag(r->set, key, d->workdir, err);
	if (rc < 0)
		error_set(err, ERR_CONFIG,
			  "%s: sandboxes.providers.%s.working_dir: this "
			  "provider's directory cannot be changed",
			  d->origin, d->name);
	free(key);
	return rc;
}

/* Adds the entries of config.toml. Called twice: first for entries that define
 * a provider, since no other source overrides these, and at the end for entries
 * that change another provider (overlays). */
static void add_config(struct registry *r, bool overlays)
{
	const char *file = config_file(r->set);
	const struct toml_value *all =
		settings_toml(r->set, "sandboxes.providers");

	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++) {
		const struct toml_value *v = &all->items[i];
		struct provider_config d = { 0 };
		struct error err = { 0 };
		int rc;

		if (v->kind != TOML_TABLE)
			continue; /* already reported when the file was read */
		rc = provider_config_read(&d, v, file,
					  sandbox_provider_find(v->key), &err);
		if (rc < 0 && !overlays)
			warn_skipped(r, err.message);
		if (rc == 0 &&
		    overlays == !(d.class_path || d.command || d.http) &&
		    !is_reserved(r, d.name, d.origin)) {
			rc = overlays ? apply_overlay(r, &d, &err)
				      : add_external(r, &d, &err);
			if (rc < 0)
				warn_skipped(r, err.message);
		}
		provider_config_release(&d);
	}
}

struct registry *registry_new(struct settings *set,
			      void (*warn_line)(const char *line))
{
	struct registry *r = xcalloc(1, sizeof(*r));
	char *dir = path_join(settings_dir(set), "providers");

	r->set = set;
	r->warn = warn_line;
	add_config(r, false);
	python_each_site(set, on_site, r);
	add_programs(r, dir);
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (!find_entry(r, sandbox_providers[i]->name))
			append_entry(r, sandbox_providers[i], NULL, "built in");
	add_config(r, true);
	free(dir);
	return r;
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		if (r->entries[i].made)
			r->entries[i].made->free(r->entries[i].made);
		free(r->entries[i].origin);
	}
	free(r->entries);
	free(r->list);
	free(r);
}

static const struct sandbox_provider *find_also(const struct registry *r,
						const char *name)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct sandbox_provider *p = r->entries[i].provider;

		if (p->also && !strcmp(p->also, name))
			return p;
	}
	return NULL;
}

const struct sandbox_provider *registry_find(struct registry *r,
					     const char *name)
{
	struct registry_entry *e = name ? find_entry(r, name) : NULL;
	char *file;
	char *path;

	if (e || !name || !registry_name_ok(name))
		return e ? e->provider : NULL;
	file = xasprintf(PROGRAM "%s", name);
	path = proc_find(file, settings_exported(r->set, "PATH"));
	if (path)
		add_program(r, name, path);
	free(path);
	free(file);
	e = find_entry(r, name);
	return e ? e->provider : find_also(r, name);
}

static int by_name(const void *a, const void *b)
{
	const struct sandbox_provider *const *x = a;
	const struct sandbox_provider *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

const struct sandbox_provider *const *registry_list(struct registry *r)
{
	struct str rest = str_of(settings_exported(r->set, "PATH"));
	struct str item;

	while (!r->scanned && str_split(&rest, ':', &item)) {
		char *dir = xstrndup(item.ptr, item.len);

		if (dir[0] == '/')
			add_programs(r, dir);
		free(dir);
	}
	r->scanned = true;
	free(r->list);
	r->list = xcalloc(r->n + 1, sizeof(void *));
	for (size_t i = 0; i < r->n; i++)
		r->list[i] = r->entries[i].provider;
	qsort(r->list, r->n, sizeof(void *), by_name);
	return r->list;
}

const char *registry_origin(const struct registry *r,
			    const struct sandbox_provider *provider)
{
	const struct registry_entry *e = find_entry(r, provider->name);

	return e ? e->origin : "";
}

/* Of usd_per_hour. The price itself is in trillionths of a dollar a second. */
enum { HOUR_S = 3600, MOST_USD = 100000 };

#define TRILLION 1e12

static int price_of_setting(const struct toml_value *v, int64_t *usd_s,
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
		return price_of_setting(v, &price->usd_s, err);
	return provider->price ? provider->price(set, snapshot, price, err) : 0;
}
