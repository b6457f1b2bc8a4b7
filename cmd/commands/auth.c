/* auth.c - dcode auth: API keys, stored encrypted on this machine. */
/* SPDX-License-Identifier: MIT */
/*
 * Rows of `subs`, at the end, name the function of each subcommand. Keys are
 * read into locked memory (cmd/secret.h) and stored by cmd/credential.c. A
 * provider may have several secrets, such as Modal's id and secret: struct keys
 * has those that one command concerns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/credential.h"
#include "cmd/secret.h"

enum {
	LARGEST = 1 << 20,
	KEYS_MOST = 16, /* maximum number of keys of one provider */
};

struct key_rows {
	struct app *app;
	const char *only; /* show only the credential of this name; NULL: all */
	struct buf json;
};

/* settings_each_credential() callback: prints one credential, with the source
 * of its key or that it is missing. */
static bool print_credential(void *arg, const struct settings_credential *c)
{
	struct key_rows *r = arg;
	struct buf label = BUF_INIT(1024);
	struct buf name = BUF_INIT(1024);
	enum credential_state state;

	if (r->only && strcmp(r->only, c->name) != 0)
		return true;
	state = credential_state(r->app->settings, c->name, c->variable,
				 &label);
	if (!r->app->json) {
		sanitize_line(str_of(c->name), &name);
		printf("%-24s %s\n", name.len ? name.ptr : "", label.ptr);
	} else {
		buf_adds(&r->json, r->json.len ? ",{" : "{");
		json_member(&r->json, "provider", str_of(c->name));
		buf_addc(&r->json, ',');
		json_member(&r->json, "kind",
			    str_of(c->group     ? "sandbox"
				   : c->service ? "service"
						: "model"));
		buf_addc(&r->json, ',');
		json_member(&r->json, "variable", str_of(c->variable));
		buf_addc(&r->json, ',');
		json_member(&r->json, "status", buf_str(&label));
		buf_addf(&r->json, ",\"configured\":%s}",
			 state == CREDENTIAL_MISSING ? "false" : "true");
	}
	buf_release(&label);
	buf_release(&name);
	return true;
}

static int list_credentials(struct app *app, const char *only)
{
	struct key_rows r = { app, only, BUF_INIT(LARGEST) };
	struct buf data = BUF_INIT(LARGEST + 2);
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	settings_each_credential(set, print_credential, &r);
	if (app->json) {
		buf_adds(&data, only ? "" : "[");
		buf_addstr(&data, buf_str(&r.json));
		buf_adds(&data, only ? "" : "]");
		app_envelope(only ? "auth status" : "auth list", &data);
	}
	buf_release(&r.json);
	buf_release(&data);
	return 0;
}

static int print_status(struct app *app, const struct args *args)
{
	struct credential c;
	struct error err = { 0 };
	int rc;

	if (credential_find(&c, app, args->argv[0], &err) < 0)
		return app_fail(app, &err);
	rc = list_credentials(app, c.name);
	credential_release(&c);
	return rc;
}

/* Prints the paths of the credential files. */
static int print_paths(struct app *app, const struct args *args)
{
	static const char *const names[] = { "path", "key_file", "auth_json" };
	static const char *const files[] = { "credentials", "credentials.key",
					     "auth.json" };
	struct buf data = BUF_INIT(1 << 14);
	struct settings *set;
	struct error err = { 0 };
	char *dir;

	(void)args;
	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	dir = credential_dir(set);
	for (size_t i = 0; i < 3; i++) {
		char *file = path_join(dir, files[i]);

		if (!app->json && i == 0)
			puts(file);
		buf_addc(&data, i ? ',' : '{');
		json_member_bytes(&data, names[i], str_of(file));
		free(file);
	}
	buf_addc(&data, '}');
	if (app->json)
		app_envelope("auth path", &data);
	buf_release(&data);
	free(dir);
	return 0;
}

/* Reads a key from an environment variable. Returns its length. */
static int read_variable(const struct settings *set, const char *name,
			 char *room, struct error *err)
{
	const char *value = settings_env_plain(set, name);
	struct str s = str_trim(str_of(value));

	if (!s.len)
		return error_set(err, ERR_CONFIG,
				 "environment variable %.120s is not set or is "
				 "empty.",
				 name);
	if (s.len > VAULT_KEY_MAX)
		return error_set(err, ERR_LIMIT, "%.120s is too long", name);
	memcpy(room, s.ptr, s.len);
	return (int)s.len;
}

/* The keys that one command stores or removes: the named one, then others of
 * the same provider, such as modal's id and secret. */
struct keys {
	struct credential list[KEYS_MOST]; /* owned */
	size_t n;
	bool optional; /* add_key() also adds keys that the provider does not
			  require */
};

/* settings_each_credential() callback: adds the other keys of the provider. */
static bool add_key(void *arg, const struct settings_credential *c)
{
	struct keys *k = arg;
	const struct credential *first = &k->list[0];

	if (c->group && (c->required || k->optional) && k->n < KEYS_MOST &&
	    !strcmp(c->group, first->name) && strcmp(c->name, first->name) != 0)
		k->list[k->n++] =
			(struct credential){ xstrdup(c->name),
					     xstrdup(c->variable),
					     xstrdup(c->group), true };
	return true;
}

static void keys_release(struct keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		credential_release(&k->list[i]);
}

static int refuse_key(struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "not an API key: the input contains spaces or "
			 "non-ASCII characters");
}

/* Splits the input into keys, one per line, and returns their number. Fails if
 * there is none. */
static int split_keys(struct str all, size_t most, struct str *found,
		      struct error *err)
{
	struct str line;
	size_t n = 0;

	while (str_split(&all, '\n', &line)) {
		line = str_trim(line);
		if (!line.len)
			continue;
		if (n == most || !vault_key_ok(line))
			return refuse_key(err);
		found[n++] = line;
	}
	return n ? (int)n
		 : error_set(err, ERR_CONFIG, "no API key received on stdin.");
}

/* Asks for each key at the terminal. Only the first must be entered. Returns
 * the number of keys, including empty ones. */
static int prompt_keys(struct app *app, const struct keys *k, char *room,
		       struct str *found, struct error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct credential *c = &k->list[i];
		char *prompt =
			k->n > 1 ? xasprintf("%s for %s (not shown): ",
					     c->variable, c->group)
				 : xasprintf("API key for %s (not shown): ",
					     c->name);
		int n = secret_ask(app, prompt, room + used, VAULT_KEY_MAX,
				   err);

		free(prompt);
		if (n < 0)
			return -1;
		if (n == 0 && i == 0)
			return error_set(err, ERR_CONFIG,
					 "no API key was entered");
		found[i] = (struct str){ room + used, (size_t)n };
		if (n && !vault_key_ok(found[i]))
			return refuse_key(err);
		used += (size_t)n;
	}
	return (int)k->n;
}

/* Reads the keys to store, from the terminal, an environment variable or
 * standard input. Returns their number; those left empty count. */
static int read_keys(struct app *app, const struct keys *k, const char *from,
		     char *room, struct str *found, struct error *err)
{
	int n;

	if (!from && secret_terminal(app))
		return prompt_keys(app, k, room, found, err);
	n = from ? read_variable(app->settings, from, room, err)
		 : secret_read(app, room, k->n * VAULT_KEY_MAX, err);
	if (n < 0)
		return -1;
	return split_keys((struct str){ room, (size_t)n }, from ? 1 : k->n,
			  found, err);
}

/* Asks for a new passphrase twice, because the user does not see what is typed.
 * Returns its length, or -1 with err. */
static int prompt_new_phrase(struct app *app, char *room, struct error *err)
{
	char *again = secret_room(VAULT_PHRASE_MAX);
	int n = secret_ask(app, "New passphrase for all stored keys: ", room,
			   VAULT_PHRASE_MAX, err);
	int m = n > 0 ? secret_ask(app, "Repeat the passphrase: ", again,
				   VAULT_PHRASE_MAX, err)
		      : 0;

	if (n == 0)
		n = error_set(err, ERR_CONFIG, "the passphrase is empty");
	else if (n > 0 && m < 0)
		n = -1;
	else if (n > 0 && (m != n || memcmp(room, again, (size_t)n) != 0))
		n = error_set(err, ERR_CONFIG, "the two passphrases differ");
	secret_free(again);
	return n;
}

/* Reads and stores the keys. stored[i] is set if key i was stored. */
static int store_keys(struct app *app, const struct keys *k,
		      const struct args *args, bool *stored, struct error *err)
{
	struct vault_change change = { 0 };
	struct str found[KEYS_MOST] = { { 0 } };
	char *room = secret_room(k->n * VAULT_KEY_MAX);
	char *phrase = secret_room(VAULT_PHRASE_MAX);
	const char *url = NULL;
	int rc = -1;
	int n;

	if (credential_base_url(&k->list[0], args_value(args, "base-url"), &url,
				err) < 0)
		goto out;
	n = read_keys(app, k, args_value(args, "from-env"), room, found, err);
	if (n < 0 ||
	    (!url && !args_value(args, "from-env") && secret_terminal(app) &&
	     credential_ask_address(app, k->list[0].name, &url, err) < 0))
		goto out;
	if (args_flag(args, "passphrase")) {
		int len = prompt_new_phrase(app, phrase, err);

		if (len < 0)
			goto out;
		change.phrase = (struct str){ phrase, (size_t)len };
	}
	rc = 0;
	for (int i = 0; i < n && rc == 0; i++) {
		if (!found[i].len)
			continue;
		change.name = k->list[i].name;
		change.key = found[i];
		change.url = i == 0 ? url : NULL;
		rc = credential_store_key(app, &change, NULL, err);
		change.phrase = (struct str){ 0 };
		stored[i] = rc == 0;
	}
	settings_store_changed(app->settings);
out:
	secret_free(room);
	secret_free(phrase);
	return rc;
}

struct reminder {
	struct app *app;
	const struct credential *done;
};

/* settings_each_credential() callback: for a provider with two secrets, prints
 * how to store the one that is still missing. */
static bool print_missing_key(void *arg, const struct settings_credential *c)
{
	const struct reminder *r = arg;
	const struct credential *done = r->done;
	struct buf label = BUF_INIT(1024);
	bool other = done->group && c->group && c->required &&
		     !strcmp(c->group, done->group) &&
		     strcmp(c->name, done->name) != 0;

	if (other && credential_state(r->app->settings, c->name, c->variable,
				      &label) == CREDENTIAL_MISSING)
		printf("%s also needs: dcode auth set %s\n", c->group, c->name);
	buf_release(&label);
	return true;
}

static void print_outcome(struct app *app, const char *command,
			  const char *name, bool changed, const char *words)
{
	struct buf data = BUF_INIT(1 << 12);

	if (!app->json) {
		printf("%s %s.\n", words, name);
		return;
	}
	buf_addc(&data, '{');
	json_member(&data, "provider", str_of(name));
	buf_addf(&data, ",\"changed\":%s}", changed ? "true" : "false");
	app_envelope(command, &data);
	buf_release(&data);
}

/* Stores the keys of a provider and prints which are still missing. */
static int set_key(struct app *app, const struct args *args)
{
	struct keys k = { .n = 1 };
	bool stored[KEYS_MOST] = { false };
	struct reminder r = { app, &k.list[0] };
	struct error err = { 0 };
	int rc = 0;

	if (credential_find(&k.list[0], app, args->argv[0], &err) < 0)
		return app_fail(app, &err);
	if (!args_value(args, "from-env"))
		settings_each_credential(app->settings, add_key, &k);
	if (store_keys(app, &k, args, stored, &err) < 0) {
		rc = app_fail(app, &err);
		if (rc == 2)
			rc = 1;
	}
	for (size_t i = 0; i < k.n; i++)
		if (stored[i] && (i == 0 || !app->json))
			print_outcome(app, "auth set", k.list[i].name, true,
				      "Stored credential for");
	if (!rc && !app->json)
		settings_each_credential(app->settings, print_missing_key, &r);
	if (!rc && !args_value(args, "base-url") &&
	    (args_value(args, "from-env") || !secret_terminal(app)))
		credential_print_address(app->settings, k.list[0].name, stderr);
	keys_release(&k);
	return rc;
}

/* Removes the stored key of this name and the other keys of the same provider,
 * such as modal's id and secret. */
static int remove_keys(struct app *app, const struct args *args)
{
	struct keys k = { .n = 1, .optional = true };
	const struct vault_entry *e = NULL;
	struct error err = { 0 };
	bool any = false;
	int rc = 0;

	if (credential_find(&k.list[0], app, args->argv[0], &err) < 0)
		return app_fail(app, &err);
	settings_each_credential(app->settings, add_key, &k);
	for (size_t i = 0; i < k.n && rc == 0; i++) {
		struct vault_change change = { .name = k.list[i].name };
		bool changed = false;

		if (credential_store_key(app, &change, &changed, &err) < 0)
			rc = app_fail(app, &err);
		if (changed && !app->json)
			print_outcome(app, "auth remove", change.name, true,
				      "Removed stored credential for");
		any |= changed;
	}
	settings_store_changed(app->settings);
	if (!rc && (app->json || !any))
		print_outcome(app, "auth remove", k.list[0].name, any,
			      "No stored credential for");
	if (!rc)
		e = settings_vault_entry(app->settings, k.list[0].name);
	if (e && e->plain)
		app_warn("auth.json also has a key for %s; dcode does not "
			 "change that file",
			 k.list[0].name);
	keys_release(&k);
	return rc;
}

static int run_list(struct app *app, const struct args *args)
{
	(void)args;
	return list_credentials(app, NULL);
}

static const struct arg_row json_option[] = { ARG_JSON, { 0 } };

static const struct arg_row set_options[] = {
	{ "from-env", 0, ARG_VALUE, "VAR",
	  "Read the key from this environment variable" },
	{ "base-url", 0, ARG_VALUE, "URL",
	  "Server that the key belongs to (langsmith: us or eu)" },
	{ "passphrase", 0, ARG_FLAG, NULL,
	  "Encrypt all stored keys with a passphrase instead of a key file" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List providers, and where each key comes from",
	  .options = json_option,
	  .flags = SUB_EXPLAINS,
	  .run = run_list },
	{ .name = "status",
	  .args = "PROVIDER",
	  .summary = "Show where one provider's key comes from",
	  .options = json_option,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_EXPLAINS,
	  .run = print_status },
	{ .name = "set",
	  .args = "PROVIDER",
	  .summary = "Store a provider's key (asked for, or read from stdin)",
	  .options = set_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_EXPLAINS | SUB_SECRET,
	  .run = set_key },
	{ .name = "remove",
	  .aliases = "rm delete",
	  .args = "PROVIDER",
	  .summary = "Delete a provider's stored key",
	  .options = json_option,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_EXPLAINS,
	  .run = remove_keys },
	{ .name = "path",
	  .summary = "Print the path of the file with the stored keys",
	  .options = json_option,
	  .flags = SUB_EXPLAINS,
	  .run = print_paths },
	{ 0 },
};

const struct command command_auth = {
	.name = "auth",
	.summary = "Manage API keys; they are stored encrypted",
	.subs = subs,
};
