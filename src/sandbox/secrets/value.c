/* value.c - obtains the values of secrets, and makes their placeholders. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "sandbox/secrets/secrets.h"

enum { COMMAND_MS = 60000 };

/* Of the parts of a key of AWS. */
static const char id_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const char key_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789+/=-_";

/* Fails with the secret's place. */
static int refuse(const struct secret *s, const char *why, struct error *err)
{
	return error_set(err, ERR_CONFIG, "%s: %s", s->source, why);
}

void secrets_open_store(const struct settings *set)
{
	struct secrets s = { 0 };
	struct error ignored = { 0 };

	if (secrets_read(&s, set, &ignored) == 0)
		for (size_t i = 0; i < s.n; i++)
			if (!s.list[i].command && !s.list[i].value_env) {
				(void)settings_vault_entry(set, "");
				break;
			}
	secrets_release(&s);
}

char *secret_print_origin(const struct secret *s)
{
	if (s->command)
		return xasprintf("the output of %s", s->command[0]);
	if (s->value_env)
		return xasprintf("the variable %s", s->value_env);
	return xasprintf("the stored key secret:%s", s->name);
}

static char *copy_locked(struct str text)
{
	char *copy = sodium_malloc(text.len + 1);

	if (!copy)
		abort();
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return copy;
}

/* Runs the command without a shell, in /, with the user's environment. */
static int run_command(struct secret *s, const struct settings *set,
		       const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, COMMAND_MS);
	struct buf out = BUF_INIT(VAULT_KEY_MAX + 2);
	char **env = settings_environ(set, NULL);
	const char *name = s->command[0];
	char *path = name[0] == '/'
			     ? xstrdup(name)
			     : proc_find(name, settings_exported(set, "PATH"));
	struct str value;
	int rc;

	if (!path || strchr(name, '/') > name)
		rc = error_set(err, ERR_CONFIG,
			       "unknown program %.80s (use an absolute path, "
			       "or a name on PATH)",
			       name);
	else
		rc = proc_output(path, (char *const *)s->command, env, &out,
				 &within, err);
	if (rc > 0)
		rc = error_set(err, ERR_CONFIG, "%.80s exited with status %d",
			       name, rc);
	if (rc == 0) {
		value = str_trim(buf_str(&out));
		s->value = copy_locked(value);
	} else if (err->code != ERR_CANCELLED) {
		error_wrap(err, "%s.value_command", s->source);
	}
	settings_environ_free(env);
	free(path);
	buf_wipe(&out);
	return rc;
}

static int find_value(struct secret *s, const struct settings *set,
		      const struct stop *stop, struct error *err)
{
	const struct vault_entry *e;
	const char *text;
	char *stored;

	if (s->command)
		return run_command(s, set, stop, err);
	if (s->value_env) {
		text = settings_env(set, s->value_env);
		if (!text)
			return error_set(err, ERR_CONFIG,
					 "%s: the variable %s is not set",
					 s->source, s->value_env);
		s->value = copy_locked(str_trim(str_of(text)));
		return 0;
	}
	stored = xasprintf("secret:%s", s->name);
	e = settings_vault_entry(set, stored);
	free(stored);
	if (e) {
		s->value = copy_locked(str_trim(str_of(e->key)));
		return 0;
	}
	refuse(s, "no value is stored", err);
	return error_hint(err,
			  "Type: dcode auth set secret:%s, or set value_env or "
			  "value_command.",
			  s->name);
}

/* True if the text may be a part of a key of AWS. */
static bool is_key_part(struct str s)
{
	return s.len >= 16 && s.len <= VAULT_KEY_MAX && s.ptr &&
	       strspn(s.ptr, key_letters) >= s.len;
}

/* Splits a key of AWS, "ID:KEY", "ID:KEY:TOKEN" or the JSON of a
 * credential_process, into its parts. */
static int split_key(struct secret *s, struct error *err)
{
	cJSON *json = json_parse(str_of(s->value));
	struct str rest = str_of(s->value);
	struct str id = { 0 };
	struct str key = { 0 };
	struct str token = { 0 };
	bool ok;

	if (json) {
		id = str_of(json_string(json, "AccessKeyId", ""));
		key = str_of(json_string(json, "SecretAccessKey", ""));
		token = str_of(json_string(json, "SessionToken", ""));
	} else {
		(void)str_split(&rest, ':', &id);
		(void)str_split(&rest, ':', &key);
		token = rest;
	}
	ok = is_key_part(id) && strspn(id.ptr, id_letters) >= id.len &&
	     is_key_part(key) && (!token.len || is_key_part(token));
	if (ok) {
		char *whole = s->value;

		s->value = copy_locked(id);
		s->key = copy_locked(key);
		s->token = token.len ? copy_locked(token) : NULL;
		sodium_free(whole);
	}
	if (json) {
		sodium_memzero((char *)key.ptr, key.len);
		sodium_memzero((char *)token.ptr, token.len);
	}
	cJSON_Delete(json);
	if (ok)
		return 0;
	refuse(s, "its value is not a key of AWS", err);
	return error_hint(err, "Write ID:SECRET or ID:SECRET:TOKEN, or what "
			       "`aws configure export-credentials` prints.");
}

static int check_value(const struct secret *s, struct error *err)
{
	struct str value = str_of(s->value);

	if (value.len < SECRET_SHORTEST)
		return error_set(err, ERR_CONFIG,
				 "%s: its value has less than %d characters, "
				 "so dcode cannot tell it from other text "
				 "and hide it in answers",
				 s->source, SECRET_SHORTEST);
	if (!vault_key_ok(value))
		return refuse(s,
			      "its value contains a blank or a character that "
			      "is not ASCII, or is too long",
			      err);
	return 0;
}

/* Returns how the value's kind begins ("ghp_"), if presets.c has it; else "".
 */
static const char *find_prefix(const char *value)
{
	for (const struct secret_preset *p = secret_presets; p->name; p++)
		for (size_t i = 0; p->prefixes[i]; i++)
			if (str_starts(str_of(value), p->prefixes[i]))
				return p->prefixes[i];
	return "";
}

/* Makes the placeholder: it begins as the value's kind does, since programs
 * check that, and is of the same length. */
static void make_placeholder(struct secret *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789";
	const char *prefix = find_prefix(s->value);
	size_t len = str_of(s->value).len;
	size_t at = 0;

	if (len < SECRET_PLACEHOLDER)
		len = SECRET_PLACEHOLDER;
	s->placeholder = xcalloc(len + 1, 1);
	if (strlen(prefix) + SECRET_PLACEHOLDER / 2 <= len)
		at = (size_t)(stpcpy(s->placeholder, prefix) - s->placeholder);
	while (at < len)
		s->placeholder[at++] = letters[ids_below(sizeof(letters) - 1)];
}

/* Fills a text of the same length, from `at` on, with these letters. */
static char *make_text(struct str like, size_t at, const char *letters)
{
	char *text = xcalloc(like.len + 1, 1);

	memcpy(text, like.ptr, at);
	while (at < like.len)
		text[at++] = letters[ids_below(strlen(letters))];
	return text;
}

/* The id's first four letters say of which kind the key is. */
static void make_key_placeholders(struct secret *s)
{
	static const char any[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

	s->placeholder = make_text(str_of(s->value), 4, base32);
	s->key_placeholder = make_text(str_of(s->key), 0, any);
	if (s->token)
		s->token_placeholder = make_text(str_of(s->token), 0, any);
}

/* Hides a value in dcode's output. */
static void hide(const struct secret *s, const struct settings *set,
		 const char *value)
{
	char *label = xasprintf("secret %s", s->name);

	settings_hide(set, label, value);
	free(label);
}

static int load_value(struct secret *s, const struct settings *set,
		      struct error *err)
{
	hide(s, set, s->value);
	if (check_value(s, err) < 0)
		return -1;
	make_placeholder(s);
	return 0;
}

/* Makes a key of AWS from the value. */
static int load_key(struct secret *s, const struct settings *set,
		    struct error *err)
{
	hide(s, set, s->value);
	if (split_key(s, err) < 0)
		return -1;
	hide(s, set, s->value);
	hide(s, set, s->key);
	if (s->token)
		hide(s, set, s->token);
	make_key_placeholders(s);
	return 0;
}

int secrets_load(struct secrets *s, const struct settings *set,
		 const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < s->n; i++) {
		struct secret *one = &s->list[i];

		if (one->value)
			continue;
		if (find_value(one, set, stop, err) < 0)
			return -1;
		if (one->signs ? load_key(one, set, err) < 0
			       : load_value(one, set, err) < 0)
			return -1;
	}
	return 0;
}
