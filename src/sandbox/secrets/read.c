/* read.c - reads [secrets] of config.toml. */
/* SPDX-License-Identifier: MIT */
/*
 * Only the user's own config.toml has this table: a repository that could add
 * an entry, or a host to one, would get the value. Everything that is not
 * understood is an error, since a misspelt `paths` would widen the secret.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml.h"
#include "sandbox/secrets/secrets.h"

enum {
	NAME_BYTES = 64,
	TEXT_BYTES = 1024, /* of one string in the table */
	FILE_CONFIG = 1,   /* place in settings_files() */
};

static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char word_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789_";
static const char header_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789_-";

/* Headers that dcode's proxy or the vendor needs for its own work. */
static const char *const reserved_headers[] = {
	"connection",        "content-length", "host",
	"transfer-encoding", "upgrade",        "te",
	"trailer",           "expect",         "accept-encoding",
};

static bool has_only(const char *text, const char *letters)
{
	return text[0] && !text[strspn(text, letters)] &&
	       strlen(text) <= NAME_BYTES;
}

/* Fails with the secret's place. key: the member, or NULL. */
static int refuse(const struct secret *s, const char *key, const char *why,
		  struct error *err)
{
	return error_set(err, ERR_CONFIG, "%s%s%s: %s", s->source,
			 key ? "." : "", key ? key : "", why);
}

static bool is_text(const struct toml_value *v)
{
	return v->kind == TOML_STRING && v->text_len &&
	       v->text_len <= TEXT_BYTES && strlen(v->text) == v->text_len;
}

/* Reads a string, or an array of strings, into a list. NULL if the value is
 * neither, or empty. */
static const char **read_list(const struct toml_value *v)
{
	const char **list;
	size_t n = v->kind == TOML_ARRAY ? v->n_items : 1;

	if (!n || n > NETWORK_RULES_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!is_text(v->kind == TOML_ARRAY ? &v->items[i] : v))
			return NULL;
	list = xcalloc(n + 1, sizeof(*list));
	for (size_t i = 0; i < n; i++)
		list[i] = xstrdup(
			(v->kind == TOML_ARRAY ? &v->items[i] : v)->text);
	return list;
}

static int read_hosts(struct secret *s, const char *const *list,
		      struct error *err)
{
	size_t n = 0;

	while (list[n])
		n++;
	if (network_parse(&s->hosts, list, n, err) < 0) {
		error_wrap(err, "%s.hosts", s->source);
		err->code = ERR_CONFIG;
		return -1;
	}
	if (s->hosts.mode != NETWORK_LIST || s->hosts.open)
		return refuse(s, "hosts", "name the hosts", err);
	for (size_t i = 0; i < s->hosts.n; i++) {
		const struct network_rule *r = &s->hosts.rules[i];

		if (r->denies || r->family || r->preset ||
		    (r->port && r->port != 443))
			return refuse(s, "hosts",
				      "write host names, which are reached by "
				      "HTTPS on port 443",
				      err);
	}
	return 0;
}

static int read_preset(struct secret *s, const char *name, struct error *err)
{
	const struct secret_preset *p = secret_presets;
	struct buf known = BUF_INIT(200);

	while (p->name && strcmp(p->name, name) != 0)
		p++;
	if (p->name) {
		s->env = xstrdup(p->env);
		s->header = xstrdup(p->header);
		s->format = xstrdup(p->format);
		s->signs = p->signs;
		return read_hosts(s, p->hosts, err);
	}
	for (p = secret_presets; p->name; p++)
		buf_addf(&known, "%s%s", known.len ? ", " : "", p->name);
	refuse(s, "preset", "unknown preset", err);
	error_hint(err, "Presets: %s.", known.ptr);
	buf_release(&known);
	return -1;
}

/* Returns the list of the table that a key stands for, or NULL. */
static const char ***list_of(struct secret *s, const char *key)
{
	return !strcmp(key, "paths")           ? &s->paths
	       : !strcmp(key, "methods")       ? &s->methods
	       : !strcmp(key, "value_command") ? &s->command
					       : NULL;
}

static char **text_of(struct secret *s, const char *key)
{
	return !strcmp(key, "env")         ? &s->env
	       : !strcmp(key, "header")    ? &s->header
	       : !strcmp(key, "format")    ? &s->format
	       : !strcmp(key, "value_env") ? &s->value_env
					   : NULL;
}

static int read_member(struct secret *s, const struct toml_value *v,
		       struct error *err)
{
	const char ***list = list_of(s, v->key);
	char **text = text_of(s, v->key);
	const char **read;
	int rc = 0;

	if (!strcmp(v->key, "preset")) /* read first */
		return 0;
	if (text) {
		if (!is_text(v))
			return refuse(s, v->key, "must be a text", err);
		free(*text);
		*text = xstrdup(v->text);
		return 0;
	}
	if (!list && strcmp(v->key, "hosts") != 0)
		return refuse(s, v->key, "unknown key (`dcode help secrets`)",
			      err);
	read = read_list(v);
	if (!read)
		return refuse(s, v->key, "must be a list of texts", err);
	if (list) {
		*list = read;
		return 0;
	}
	rc = read_hosts(s, read, err);
	mem_free_list(read);
	return rc;
}

/* Returns what is wrong with the format, or NULL. */
static const char *format_fault(const char *format)
{
	const char *hole = strstr(format, "{}");

	if (!hole || strstr(hole + 1, "{}"))
		return "must contain {} once, for the value";
	for (const char *c = format; *c; c++)
		if (*c < ' ' || *c > '~')
			return "must be printable ASCII";
	return NULL;
}

static bool is_reserved(const char *header)
{
	for (size_t i = 0;
	     i < sizeof(reserved_headers) / sizeof(*reserved_headers); i++)
		if (str_is_nocase(str_of(header), reserved_headers[i]))
			return true;
	return false;
}

static int check_lists(const struct secret *s, struct error *err)
{
	for (size_t i = 0; s->paths && s->paths[i]; i++) {
		const char *star = strchr(s->paths[i], '*');

		if (s->paths[i][0] != '/' || (star && star[1]) ||
		    strpbrk(s->paths[i], "?#%"))
			return refuse(s, "paths",
				      "write /path, or /beginning/* with '*' "
				      "only at the end",
				      err);
	}
	for (size_t i = 0; s->methods && s->methods[i]; i++)
		if (!has_only(s->methods[i], upper))
			return refuse(s, "methods",
				      "write methods like GET and POST", err);
	return 0;
}

/* Checks one secret as a whole, and completes it. */
static int check_secret(struct secret *s, struct error *err)
{
	const char *fault;

	if (!s->hosts.n)
		return refuse(s, "hosts", "is missing", err);
	if (!s->env && !s->header)
		return refuse(s, NULL,
			      "needs env, for the placeholder, or header", err);
	if (s->env && (!has_only(s->env, word_letters) ||
		       (s->env[0] >= '0' && s->env[0] <= '9')))
		return refuse(s, "env", "is not the name of a variable", err);
	if (s->header &&
	    (!has_only(s->header, header_letters) || is_reserved(s->header)))
		return refuse(s, "header", "cannot be set", err);
	if (s->signs &&
	    (s->header || s->format || strcmp(s->env, SECRET_AWS_ID) != 0))
		return refuse(s, NULL,
			      "preset aws has neither header, format nor env",
			      err);
	if (s->header && !s->format)
		s->format = xstrdup("{}");
	fault = s->format ? format_fault(s->format) : NULL;
	if (fault)
		return refuse(s, "format", fault, err);
	if (s->value_env && s->command)
		return refuse(s, NULL, "has both value_env and value_command",
			      err);
	return check_lists(s, err);
}

static bool share_host(const struct secret *a, const struct secret *b)
{
	const struct network_rule *ignored;

	for (size_t i = 0; i < a->hosts.n; i++)
		if (network_allows(&b->hosts, &a->hosts.rules[i], &ignored))
			return true;
	for (size_t i = 0; i < b->hosts.n; i++)
		if (network_allows(&a->hosts, &b->hosts.rules[i], &ignored))
			return true;
	return false;
}

/* Checks a secret against those before it. */
static int check_pairs(const struct secrets *all, struct error *err)
{
	const struct secret *s = &all->list[all->n - 1];

	for (const struct secret *o = all->list; o < s; o++) {
		if (s->env && o->env && !strcmp(s->env, o->env))
			return error_set(err, ERR_CONFIG,
					 "%s.env: secrets.%s has the same "
					 "variable",
					 s->source, o->name);
		if (s->header && o->header &&
		    str_is_nocase(str_of(s->header), o->header) &&
		    share_host(s, o))
			return error_set(err, ERR_CONFIG,
					 "%s: secrets.%s sets the same header "
					 "for the same host",
					 s->source, o->name);
	}
	return 0;
}

static int read_secret(struct secret *s, const struct toml_value *v,
		       const char *file, struct error *err)
{
	const struct toml_value *preset;
	char *place = xasprintf("%s:%d:%d: secrets", file, v->line, v->column);
	bool named = has_only(v->key, word_letters);

	s->source = named ? xasprintf("%s.%s", place, v->key)
			  : xasprintf("%s", place);
	free(place);
	if (!named)
		return refuse(s, NULL,
			      "a name has only letters, digits and '_'", err);
	if (v->kind != TOML_TABLE)
		return refuse(s, NULL, "must be a table", err);
	s->name = xstrdup(v->key);
	preset = toml_get(v, "preset");
	if (preset && !is_text(preset))
		return refuse(s, "preset", "must be a text", err);
	if (preset && read_preset(s, preset->text, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n_items; i++)
		if (read_member(s, &v->items[i], err) < 0)
			return -1;
	return check_secret(s, err);
}

static int check_policy(const struct secrets *s, const struct settings *set,
			struct error *err)
{
	bool allowed = true;

	if (!s->n ||
	    settings_bool(set, NULL, "sandboxes.secrets", &allowed, err) < 0)
		return s->n ? -1 : 0;
	if (allowed)
		return 0;
	if (settings_source(set, NULL, "sandboxes.secrets") == SOURCE_POLICY)
		return error_set(err, ERR_POLICY,
				 "%s: the machine's policy forbids secrets in "
				 "sandboxes (sandboxes.secrets)",
				 s->list[0].source);
	return error_set(err, ERR_CONFIG,
			 "%s: sandboxes.secrets = false forbids it",
			 s->list[0].source);
}

static void free_locked(char *value)
{
	if (value)
		sodium_free(value); /* also zeroes it */
}

static void release_secret(struct secret *s)
{
	free(s->name);
	free(s->env);
	network_release(&s->hosts);
	free(s->header);
	free(s->format);
	mem_free_list(s->paths);
	mem_free_list(s->methods);
	free(s->source);
	free(s->value_env);
	mem_free_list(s->command);
	free_locked(s->value);
	free_locked(s->key);
	free_locked(s->token);
	free(s->placeholder);
	free(s->key_placeholder);
	free(s->token_placeholder);
}

void secrets_release(struct secrets *s)
{
	for (size_t i = 0; i < s->n; i++)
		release_secret(&s->list[i]);
	free(s->list);
	*s = (struct secrets){ 0 };
}

int secrets_read(struct secrets *s, const struct settings *set,
		 struct error *err)
{
	const struct toml_value *all =
		set ? settings_toml(set, "secrets") : NULL;
	const struct settings_file *files;
	const char *file = "";
	int rc = 0;

	secrets_release(s);
	if (!all)
		return 0;
	if (settings_files(set, &files) > FILE_CONFIG)
		file = files[FILE_CONFIG].path;
	if (all->kind != TOML_TABLE || all->n_items > SECRETS_MAX)
		return error_set(err, ERR_CONFIG,
				 "%s:%d:%d: secrets must be a table with at "
				 "most %d entries",
				 file, all->line, all->column, SECRETS_MAX);
	s->list = xcalloc(SECRETS_MAX, sizeof(*s->list));
	for (size_t i = 0; rc == 0 && i < all->n_items; i++) {
		rc = read_secret(&s->list[s->n++], &all->items[i], file, err);
		if (rc == 0)
			rc = check_pairs(s, err);
	}
	if (rc == 0)
		rc = check_policy(s, set, err);
	if (rc < 0)
		secrets_release(s);
	return rc;
}
