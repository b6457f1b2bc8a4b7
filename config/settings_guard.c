/* settings_guard.c - checks values: types, and settings that restrict a run. */
/* SPDX-License-Identifier: MIT */
/*
 * An invalid file or a key of the wrong type has the same effect as a missing
 * setting. If that setting is a cap, a list of allowed commands or an
 * isolation, the run would be allowed more than the user intended, and nobody
 * reads the warnings of a script. So settings_unguarded() returns the first
 * such fault, and cmd/policy.c then ends the run or asks.
 *
 * A slot has either text (from a flag, a variable or a stored key) or a value
 * of config.toml. setting_slot_check() and its neighbours read one type from
 * either of them, or say what is wrong and where.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/masking.h"
#include "config/settings.h"
#include "config/settings_slots.h"
#include "config/toml.h"

/* Settings that restrict what a run may do. A name with a final dot means every
 * setting in that section. */
static const char *const core_keys[] = {
	"approvals.",
	"limits",
	"mcp.",
	"models.allowed",
	"models.providers",
	"network.",
	"protect",
	"push.",
	"redact.",
	"retries.",
	"sandboxes.copy_limit",
	"sandboxes.default",
	"sandboxes.keep_for",
	"sandboxes.on_exit",
	"sandboxes.providers",
	"sandboxes.secrets",
	"shell.",
	"skills.extra_allowed_dirs",
	"startup.",
	"threads.",
	"web.",
	"workspace.",
};

/* Keys of sandboxes.providers.NAME.params that restrict: network, isolation and
 * caps. */
static const char *const params[] = {
	"auto_delete",
	"bind",
	"cap_add",
	"container",
	"cpu",
	"cpus",
	"disk",
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

/* The value of one setting, checked by its type. */

const char *setting_source_name(enum setting_source source)
{
	static const char *const names[] = {
		[SOURCE_NONE] = "unset",
		[SOURCE_DEFAULT] = "default",
		[SOURCE_CONFIG] = "config.toml",
		[SOURCE_DOTENV_USER] = "user .env",
		[SOURCE_DOTENV_PROJECT] = "project .env",
		[SOURCE_ENV] = "env",
		[SOURCE_STORED] = "stored",
		[SOURCE_FLAG] = "flag",
		[SOURCE_POLICY] = "managed",
	};

	return names[source];
}

const struct env_var *setting_slot_variable(const struct settings *s,
					    const struct setting *row)
{
	const struct env_var *v;

	if (!row->env)
		return NULL;
	v = row->flags & SETTING_PREFIX_ONLY ? env_prefixed(&s->env, row->env)
					     : env_resolve(&s->env, row->env);
	return v && v->value[0] ? v : NULL;
}

/* Sets the error for a value of the wrong type. The message starts with where
 * to look: "DEEPAGENTS_CODE_X" or "file:3:5: models.default". */
static int set_type_error(const struct settings *s,
			  const struct setting_slot *slot, const char *wanted,
			  struct error *err)
{
	const struct setting *row = slot->row;
	bool secret = row->flags & SETTING_SECRET;
	const struct env_var *v =
		slot->text ? setting_slot_variable(s, row) : NULL;

	if (slot->toml)
		return error_set(
			err, ERR_CONFIG, "%s:%d:%d: %s must be %s, not %s %s",
			slot->source == SOURCE_POLICY
				? s->files[FILE_POLICY].path
				: s->files[FILE_CONFIG].path,
			slot->toml->line, slot->toml->column, slot->path,
			wanted,
			strchr("ai", toml_kind_name(slot->toml->kind)[0]) ? "an"
									  : "a",
			toml_kind_name(slot->toml->kind));
	return error_set(
		err, slot->source == SOURCE_FLAG ? ERR_USAGE : ERR_CONFIG,
		"%s (%s) must be %s%s%s%s",
		slot->source == SOURCE_FLAG || !v ? slot->path : v->name,
		setting_source_name(slot->source), wanted,
		secret ? "" : ", not '", secret ? "" : slot->text,
		secret ? "" : "'");
}

int setting_slot_string(const struct settings *s,
			const struct setting_slot *slot, const char **value,
			struct error *err)
{
	*value = slot->text;
	if (!slot->toml)
		return 0;
	if (slot->toml->kind != TOML_STRING)
		return set_type_error(s, slot, "a string", err);
	if (strlen(slot->toml->text) != slot->toml->text_len)
		return set_type_error(s, slot, "a string without NUL", err);
	*value = slot->toml->text;
	return 0;
}

int setting_slot_int(const struct settings *s, const struct setting_slot *slot,
		     int64_t *value, struct error *err)
{
	int64_t number = 0;

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !str_to_int(str_trim(str_of(slot->text)), &number)
		       : slot->toml->kind != TOML_INT)
		return set_type_error(s, slot, "an integer", err);
	*value = slot->text ? number : slot->toml->integer;
	return 0;
}

static bool is_one_of(struct str text, const char *const *words)
{
	for (; *words; words++)
		if (str_is_nocase(text, *words))
			return true;
	return false;
}

int setting_slot_bool(const struct settings *s, const struct setting_slot *slot,
		      bool *value, struct error *err)
{
	static const char *const yes[] = { "1", "true", "yes", "on", NULL };
	static const char *const no[] = { "0", "false", "no", "off", NULL };
	struct str text = str_trim(str_of(slot->text));
	bool is = slot->text && is_one_of(text, yes);

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !is && !is_one_of(text, no)
		       : slot->toml->kind != TOML_BOOL)
		return set_type_error(s, slot, "true or false", err);
	*value = slot->text ? is : slot->toml->integer;
	return 0;
}

int setting_slot_list(const struct settings *s, const struct setting_slot *slot,
		      struct error *err)
{
	const struct toml_value *v = slot->toml;
	bool good = !v || v->kind == TOML_STRING || v->kind == TOML_ARRAY;

	for (size_t i = 0; good && v && i < v->n_items; i++)
		good = v->items[i].kind == TOML_STRING;
	return good ? 0 : set_type_error(s, slot, "a list of strings", err);
}

int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err)
{
	const char *text;
	int64_t number;
	bool is;

	switch (slot->row->type) {
	case SETTING_STRING:
		return setting_slot_string(s, slot, &text, err);
	case SETTING_INT:
		return setting_slot_int(s, slot, &number, err);
	case SETTING_BOOL:
		return setting_slot_bool(s, slot, &is, err);
	case SETTING_LIST:
		return setting_slot_list(s, slot, err);
	case SETTING_TABLE:
		if (slot->toml && slot->toml->kind != TOML_TABLE)
			return set_type_error(s, slot, "a table", err);
	}
	return 0;
}

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

static bool is_guarded_slot(const struct setting_slot *slot)
{
	if (!slot->group)
		return is_core_key(slot->row->key);
	for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++)
		if (!strcmp(slot->row->key, params[i]))
			return true;
	return false;
}

/* Sets *fault to this error, unless an earlier one is stored there. */
static void set_fault(char **fault, const struct settings *s, int file,
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

/* True for an amount of money that the cap accepts: "5" or "0.50". */
static bool is_amount(const struct toml_value *v)
{
	char *end = NULL;

	if (v->kind == TOML_STRING)
		return strtod(v->text, &end) > 0 && !*end;
	return (v->kind == TOML_INT && v->integer > 0) ||
	       (v->kind == TOML_FLOAT && isfinite(v->real) && v->real > 0);
}

/* Checks [limits]. In the schema it is one row, a table; the code that uses a
 * member parses it. */
static void guard_limits(char **fault, const struct settings *s, int file,
			 const struct toml_value *root)
{
	static const char amount[] = "an amount in US dollars above 0";
	const struct toml_value *limits = toml_path(root, "limits");
	const struct toml_value *v =
		limits ? toml_get(limits, "max_usd") : NULL;

	if (limits && limits->kind != TOML_TABLE)
		set_fault(fault, s, file, limits, "limits", "a table");
	if (v && !is_amount(v))
		set_fault(fault, s, file, v, "limits.max_usd", amount);
	v = limits ? toml_get(limits, "warn_usd") : NULL;
	if (v && v->kind != TOML_ARRAY && !is_amount(v))
		set_fault(fault, s, file, v, "limits.warn_usd", amount);
	for (size_t i = 0; v && v->kind == TOML_ARRAY && i < v->n_items; i++)
		if (!is_amount(&v->items[i]))
			set_fault(fault, s, file, &v->items[i],
				  "limits.warn_usd", amount);
}

/* Checks that enabled and allow_http of each model provider are booleans. */
static void guard_models(char **fault, const struct settings *s, int file,
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
			set_fault(fault, s, file, v, path, "true or false");
			free(path);
		}
}

/* Reports the keys that `network` replaced: ignored, they would leave a sandbox
 * open that the user has restricted. */
static void guard_renamed(char **fault, const struct settings *s, int file,
			  const struct toml_value *root)
{
	static const char *const old[] = { "network_allow", "network_deny",
					   "network_block", "domain_allow" };
	const struct toml_value *all = toml_path(root, "sandboxes.providers");

	for (size_t i = 0; all && i < all->n_items; i++)
		for (size_t k = 0; k < sizeof(old) / sizeof(*old); k++) {
			const struct toml_value *v =
				toml_get(&all->items[i], "params");

			v = v ? toml_get(v, old[k]) : NULL;
			if (v && !entry_is_user_defined(&all->items[i]) &&
			    !*fault)
				*fault = xasprintf(
					"%s:%d:%d: %s is now written as "
					"network = [\"host\", \"!denied\"]: "
					"see `dcode help network`",
					s->files[file].path, v->line, v->column,
					old[k]);
		}
}

/* Reports the section as a fault if it, or a table around it, is not a table:
 * its settings then have no effect. section is the beginning of path. */
static void guard_section(char **fault, const struct settings *s, int file,
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
			set_fault(fault, s, file, v, path, "a table");
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

		/* Rows of one section are adjacent, so compare with the section
		 * before: each is checked once. */
		if ((slot->group && !sandboxes) || str_eq(section, before) ||
		    !is_guarded_slot(slot))
			continue;
		before = section;
		guard_section(fault, s, file, root, section);
	}
	guard_limits(fault, s, file, root);
	guard_models(fault, s, file, root);
	guard_renamed(fault, s, file, root);
}

static const struct setting_slot *find_core_slot(const struct settings *s,
						 const char *key)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!s->slots[i].group && !strcmp(s->slots[i].row->key, key))
			return &s->slots[i];
	return NULL;
}

/* Ends the run if [redact] cannot be used. The file that is named is the policy
 * if a part of it comes from there. */
static void guard_masking(struct settings *s)
{
	const struct setting_slot *off = find_core_slot(s, "redact.kinds_off");
	const struct setting_slot *own = find_core_slot(s, "redact.patterns");
	struct masking m = { 0 };
	struct error err = { 0 };
	bool policy;
	char **fault;
	int file;

	if (!off || !own) /* a caller with settings of its own, without these */
		return;
	policy = off->source == SOURCE_POLICY || own->source == SOURCE_POLICY;
	fault = policy ? &s->policy_error : &s->unguarded;
	file = policy ? FILE_POLICY : FILE_CONFIG;
	m = (struct masking){ (const char *const *)off->list, off->n_list,
			      (const char *const *)own->list, own->n_list };
	if (!*fault && masking_shapes(&m, NULL, &err) < 0)
		*fault = xasprintf("%s: %s", s->files[file].path, err.message);
}

void settings_guard_values(struct settings *s)
{
	for (size_t i = 0; i < s->n_slots && !s->unguarded; i++) {
		const struct setting_slot *slot = &s->slots[i];
		struct error err = { 0 };

		if (slot->source == SOURCE_CONFIG && is_guarded_slot(slot) &&
		    setting_slot_check(s, slot, &err) < 0)
			s->unguarded = xstrdup(err.message);
	}
	guard_masking(s);
}

const char *settings_unguarded(const struct settings *s)
{
	return s->unguarded;
}
