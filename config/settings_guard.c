/* settings_guard.c - whether config.toml still restricts what it was to. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_impl.h"

/*
 * A file that does not parse, or a key of the wrong type, is like no setting.
 * Where that setting is a cap, a list of what may run or an isolation, a run
 * without it does more than its user allowed, and in a script nobody reads the
 * warning. settings_unguarded() names the first such fault; cmd/policy.c ends
 * the run, or asks.
 */

/* Settings that restrict. A name that ends in a dot stands for its section. */
static const char *const core_keys[] = {
	"approvals.",
	"limits",
	"mcp.",
	"models.allowed",
	"models.providers",
	"protect",
	"retries.",
	"sandboxes.copy_limit",
	"sandboxes.default",
	"sandboxes.keep_for",
	"sandboxes.on_exit",
	"sandboxes.providers",
	"shell.",
	"skills.extra_allowed_dirs",
	"startup.",
	"threads.",
	"web.",
	"workspace.",
};

/* The same of sandboxes.providers.NAME.params: network, isolation, and caps. */
static const char *const params[] = {
	"auto_delete",
	"bind",
	"cap_add",
	"container",
	"cpu",
	"cpus",
	"disk",
	"domain_allow",
	"gpu",
	"gpus",
	"idle",
	"idle_timeout",
	"isolate",
	"lifetime",
	"max_file_size",
	"max_processes",
	"memory",
	"mounts",
	"network",
	"network_allow",
	"network_block",
	"network_deny",
	"no_new_privileges",
	"on_idle",
	"options",
	"paths",
	"protect",
	"requeue",
	"runtime",
	"size",
	"time",
	"user",
	"vcpus",
	"volumes",
	"workspace",
};

static bool is_core_key(const char *key)
{
	for (size_t i = 0; i < sizeof(core_keys) / sizeof(*core_keys); i++) {
		struct str name = str_of(core_keys[i]);

		if (str_ends(name, ".") ? str_starts(str_of(key), core_keys[i])
					: !strcmp(key, core_keys[i]))
			return true;
	}
	return false;
}

static bool restricts(const struct setting_slot *slot)
{
	if (!slot->group)
		return is_core_key(slot->row->key);
	for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++)
		if (!strcmp(slot->row->key, params[i]))
			return true;
	return false;
}

/* The first fault stays. */
static void note(char **fault, const struct settings *s, int file,
		 const struct toml_value *v, const char *path,
		 const char *wanted)
{
	const char *kind = toml_kind_name(v->kind);

	if (!*fault)
		*fault = xasprintf("%s:%d:%d: %s must be %s, not %s %s",
				   s->files[file].path, v->line, v->column,
				   path, wanted,
				   strchr("ai", kind[0]) ? "an" : "a", kind);
}

/* "5 or 0.50", as the reader of the cap takes it. */
static bool is_amount(const struct toml_value *v)
{
	char *end = NULL;

	if (v->kind == TOML_STRING)
		return strtod(v->text, &end) > 0 && !*end;
	return (v->kind == TOML_INT && v->integer > 0) ||
	       (v->kind == TOML_FLOAT && isfinite(v->real) && v->real > 0);
}

/* Parts of rows that are tables, which their readers take apart. */
static void check_limits(char **fault, const struct settings *s, int file,
			 const struct toml_value *root)
{
	static const char amount[] = "an amount in US dollars above 0";
	const struct toml_value *limits = toml_path(root, "limits");
	const struct toml_value *v =
		limits ? toml_get(limits, "max_usd") : NULL;

	if (limits && limits->kind != TOML_TABLE)
		note(fault, s, file, limits, "limits", "a table");
	if (v && !is_amount(v))
		note(fault, s, file, v, "limits.max_usd", amount);
	v = limits ? toml_get(limits, "warn_usd") : NULL;
	if (v && v->kind != TOML_ARRAY && !is_amount(v))
		note(fault, s, file, v, "limits.warn_usd", amount);
	for (size_t i = 0; v && v->kind == TOML_ARRAY && i < v->n_items; i++)
		if (!is_amount(&v->items[i]))
			note(fault, s, file, &v->items[i], "limits.warn_usd",
			     amount);
}

static void check_models(char **fault, const struct settings *s, int file,
			 const struct toml_value *root)
{
	static const char *const flags[] = { "enabled", "allow_http" };
	const struct toml_value *all = toml_path(root, "models.providers");

	for (size_t i = 0; all && i < all->n_items; i++)
		for (size_t k = 0; k < sizeof(flags) / sizeof(*flags); k++) {
			const struct toml_value *v =
				toml_get(&all->items[i], flags[k]);
			char *path;

			if (!v || v->kind == TOML_BOOL)
				continue;
			path = xasprintf("models.providers.%s.%s",
					 all->items[i].key, flags[k]);
			note(fault, s, file, v, path, "true or false");
			free(path);
		}
}

/* A section that is not one hides all that was written into it. section: bytes
 * of path. */
static void check_section(char **fault, const struct settings *s, int file,
			  const struct toml_value *root, struct str section)
{
	size_t end = 0;

	while (end < section.len) {
		struct str rest = str_skip(section, end + (end > 0));
		const struct toml_value *v;
		char *path;

		end = section.len - rest.len + str_find(rest, '.');
		path = xstrndup(section.ptr, end);
		v = toml_path(root, path);
		if (v && v->kind != TOML_TABLE)
			note(fault, s, file, v, path, "a table");
		free(path);
		if (!v || v->kind != TOML_TABLE)
			return;
	}
}

void settings_guard_tables(const struct settings *s, int file,
			   const struct toml_value *root, char **fault)
{
	const struct toml_value *sandboxes = toml_get(root, "sandboxes");
	struct str before = { 0 };

	for (size_t i = 0; root->n_items && i < s->n_slots; i++) {
		const struct setting_slot *slot = &s->slots[i];
		const char *dot = strrchr(slot->path, '.');
		struct str section = { slot->path,
				       dot ? (size_t)(dot - slot->path) : 0 };

		/* Rows of one section follow each other. */
		if ((slot->group && !sandboxes) || str_eq(section, before) ||
		    !restricts(slot))
			continue;
		before = section;
		check_section(fault, s, file, root, section);
	}
	check_limits(fault, s, file, root);
	check_models(fault, s, file, root);
}

void settings_guard_values(struct settings *s)
{
	for (size_t i = 0; i < s->n_slots && !s->unguarded; i++) {
		const struct setting_slot *slot = &s->slots[i];
		struct error err = { 0 };

		if (slot->source == SOURCE_CONFIG && restricts(slot) &&
		    setting_slot_check(s, slot, &err) < 0)
			s->unguarded = xstrdup(err.message);
	}
}

const char *settings_unguarded(const struct settings *s)
{
	return s->unguarded;
}
