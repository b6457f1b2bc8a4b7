/* mcp_servers.c - the configured MCP servers, and the logins to them. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at servers_open(): it finds the files that name servers and
 * asks about those of the repository. Logins are OAuth tokens in the key store:
 * logins_recall() loads them, logins_token() hands one to a connection and
 * renews it when it has expired.
 */
#include "cmd/session/mcp_servers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/credential.h"
#include "cmd/print.h"
#include "cmd/project_trust.h"
#include "config/settings_env.h"
#include "mcp/entry.h"
#include "mcp/server.h"
#include "oauth/grant.h"

/* Tokens are in the key store (config/vault.h) as "mcp.NAME.HASH", where HASH
 * is a hash of the server's address. Attack: a repository adds a server with
 * the same name and another address, to get the user's tokens. */

/* Stores and renews the OAuth tokens of MCP servers. */

enum {
	DIGITS = 16,           /* hex digits of the hash of the server's
				  address */
	RENEW_MS = 20000,      /* wait while another process renews a login */
	RENEW_AGAIN_MS = 5000, /* do not renew again within this time */
	REFRESH_MS = 8000,     /* time limit of the renewal request */
	STORE_MS = 5000,       /* time limit for storing the new tokens */
	REVOKE_MS = 5000,      /* time limit for revoking tokens */
	RECORD_MAX = VAULT_KEY_MAX / 4 * 3,
};

struct login {
	char *key; /* name of the entry in the key store */
	char *url;
	pthread_mutex_t lock; /* guards all fields below */
	bool there;
	struct oauth_grant grant;
	char *stored;    /* the access token last seen in the store */
	int64_t renewed; /* clock_ms() of the last renewal */
	struct login *next;
};

static char *key_of(const char *name, const char *url)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	char hash[2 * sizeof(sum) + 1];

	crypto_hash_sha256(sum, (const unsigned char *)url, strlen(url));
	(void)sodium_bin2hex(hash, sizeof(hash), sum, sizeof(sum));
	return xasprintf("mcp.%s.%.*s", name, DIGITS, hash);
}

static struct login *find_login(struct app *app, const char *name,
				const char *url)
{
	char *key = key_of(name, url);
	struct login *l;

	for (l = app->logins; l; l = l->next)
		if (!strcmp(l->key, key) && !strcmp(l->url, url))
			break;
	free(key);
	return l;
}

/* Entries are added only on the main thread, before servers start. So other
 * threads may read the list without a lock. */
static struct login *find_or_add(struct app *app, const char *name,
				 const char *url)
{
	struct login *l = find_login(app, name, url);

	if (l)
		return l;
	l = xcalloc(1, sizeof(*l));
	l->key = key_of(name, url);
	l->url = xstrdup(url);
	pthread_mutex_init(&l->lock, NULL);
	l->next = app->logins;
	app->logins = l;
	return l;
}

void logins_release(struct app *app)
{
	while (app->logins) {
		struct login *l = app->logins;

		app->logins = l->next;
		oauth_grant_release(&l->grant);
		mem_wipe(l->stored);
		pthread_mutex_destroy(&l->lock);
		free(l->key);
		free(l->url);
		free(l);
	}
}

struct oauth_net logins_net(struct app *app, const char *url)
{
	struct error ignored = { 0 };
	int64_t seconds = 10;

	(void)settings_int(app->settings, NULL, "mcp.startup_timeout", &seconds,
			   &ignored);
	return (struct oauth_net){ .http = app_http(app),
				   .server = url,
				   .ms = seconds * 1000 };
}

/* ---- the key store ---- */

static void mask_tokens(struct app *app, const char *key,
			const struct oauth_grant *g)
{
	const char *const secrets[] = { g->access, g->refresh,
					g->client_secret };
	char *name = xasprintf("%s token", key);

	for (size_t i = 0; app->mask && i < 3; i++)
		if (secrets[i])
			(void)mask_add(app->mask, name, str_of(secrets[i]));
	free(name);
}

/* Decodes a stored login. False if it was stored for another address. */
static bool decode_login(const struct vault_entry *e, const char *url,
			 struct oauth_grant *g)
{
	struct buf json = BUF_INIT(RECORD_MAX);
	bool good = e && !e->plain && !strcmp(e->url, url) &&
		    json_decode_base64(&json, str_of(e->key)) && !json.over &&
		    oauth_grant_read(g, buf_str(&json));

	buf_wipe(&json);
	return good;
}

/* Remembers the access token that is now in the key store. */
static void store_last_token(struct login *l, const struct oauth_grant *g)
{
	mem_wipe(l->stored);
	l->stored = xstrdup(g->access);
}

/* Writes the tokens to the key store. */
static int store_login(struct app *app, struct login *l,
		       const struct vault_ask *ask, const struct stop *stop,
		       struct error *err)
{
	struct buf json = BUF_INIT(RECORD_MAX);
	struct buf key = BUF_INIT(VAULT_KEY_MAX);
	struct vault_change change = { .name = l->key, .url = l->url };
	char *dir = credential_dir(app->settings);
	int rc;

	oauth_grant_write(&l->grant, &json);
	json_base64(&key, buf_str(&json));
	change.key = buf_str(&key);
	rc = json.over || key.over
		     ? error_set(err, ERR_LIMIT, "the tokens are too large")
		     : vault_change(dir, ask, &change, NULL, stop, err);
	if (rc == 0)
		store_last_token(l, &l->grant);
	free(dir);
	buf_wipe(&json);
	buf_wipe(&key);
	return rc;
}

static bool has_own_key(const struct mcp_entry *e)
{
	for (size_t i = 0; i < e->n_headers; i++)
		if (str_is_nocase(str_of(e->headers[i].name), "authorization"))
			return true;
	return false;
}

/* Returns the server's address, with variables expanded. Owned. NULL if there
 * is none, or if a variable cannot be expanded. */
static char *address_of(struct app *app, const struct mcp_entry *e)
{
	struct buf url = BUF_INIT(MCP_VALUE_MAX);
	struct error ignored = { 0 };

	if (e->url && !e->wrong &&
	    mcp_expand(e, app->settings, e->url, &url, &ignored) == 0 &&
	    url.len)
		return buf_detach(&url);
	buf_wipe(&url);
	return NULL;
}

/* Does nothing for a server whose entry has its own Authorization header. */
static void logins_recall(struct app *app, const struct mcp_entry *e)
{
	char *url = has_own_key(e) ? NULL : address_of(app, e);
	const struct vault_entry *stored;
	struct login *l;

	if (!url)
		return;
	l = find_or_add(app, e->name, url);
	pthread_mutex_lock(&l->lock);
	stored = l->there ? NULL : settings_vault_entry(app->settings, l->key);
	if (stored)
		l->there = decode_login(stored, l->url, &l->grant);
	if (stored && l->there) {
		store_last_token(l, &l->grant);
		mask_tokens(app, l->key, &l->grant);
	}
	pthread_mutex_unlock(&l->lock);
	mem_wipe(url);
}

bool logins_has(struct app *app, const struct mcp_entry *e)
{
	char *url = address_of(app, e);
	struct login *l = url ? find_login(app, e->name, url) : NULL;
	bool there = false;

	if (l) {
		pthread_mutex_lock(&l->lock);
		there = l->there;
		pthread_mutex_unlock(&l->lock);
	}
	mem_wipe(url);
	return there;
}

/* ---- renewal ---- */

/* Forgets the tokens in memory. Call with the lock held. */
static void clear_tokens(struct login *l)
{
	l->there = false;
	oauth_grant_release(&l->grant);
}

/* Looks in the key store before a renewal: another dcode may have renewed the
 * login already, and a refresh token works only once. Uses the stored tokens if
 * they differ from those last seen there; otherwise those in memory are at
 * least as new. True if the tokens are now fresh. *gone: another dcode has
 * deleted the login. */
static bool load_newer_login(struct login *l, const char *dir,
			     const struct vault_ask *ask, bool *gone)
{
	const struct vault_entry *e = NULL;
	struct oauth_grant stored = { 0 };
	struct error ignored = { 0 };
	struct vault *v = NULL;
	bool newer = false;

	*gone = false;
	if (vault_open(&v, dir, ask, &ignored) == 0) {
		e = vault_find(v, l->key);
		*gone = !e;
	}
	if (decode_login(e, l->url, &stored))
		newer = !l->stored || strcmp(stored.access, l->stored) != 0;
	if (newer) {
		store_last_token(l, &stored);
		oauth_grant_release(&l->grant);
		l->grant = stored;
	} else {
		oauth_grant_release(&stored);
	}
	vault_close(v);
	return newer && !oauth_grant_is_stale(&l->grant);
}

/* Renews the tokens. A refresh token works only once: a cancellation after the
 * server's answer, but before the new tokens are stored, would lose the login.
 * Therefore ignores the caller's stop and has its own time limits. Call with
 * the login's lock held. */
static int renew_locked(struct app *app, struct login *l, const char *dir,
			struct error *err)
{
	struct vault_ask ask = credential_ask_nobody(app);
	struct oauth_net net = logins_net(app, l->url);
	struct stop stop = stop_cleanup(REFRESH_MS);
	struct error why = { 0 };
	bool gone;
	bool adopted = load_newer_login(l, dir, &ask, &gone);
	int rc = 0;

	if (gone)
		return error_set(err, ERR_AUTH, "the login was deleted");
	if (!adopted) {
		rc = oauth_refresh(&net, &l->grant, &stop, err);
		stop = stop_cleanup(STORE_MS);
		if (rc == 0 && store_login(app, l, &ask, &stop, &why) < 0)
			app_warn("cannot store the renewed login to %s (%s): "
				 "the next session may have to log in again",
				 l->url, why.message);
	}
	mask_tokens(app, l->key, &l->grant);
	l->renewed = clock_ms();
	return rc;
}

static int renew_login(struct app *app, struct login *l,
		       const struct stop *stop, struct error *err)
{
	char *dir = credential_dir(app->settings);
	char *path = path_join(dir, "mcp-login.lock");
	struct stop soon = stop_within(stop, RENEW_MS);
	int fd = path_lock(path, &soon, err);
	int rc = fd < 0 ? -1 : renew_locked(app, l, dir, err);

	if (fd >= 0)
		close(fd);
	free(path);
	free(dir);
	return rc;
}

/* Renews stale tokens first. Appends nothing if the server has rejected the
 * login. */
static int logins_token(void *arg, const struct mcp_token_ask *ask,
			struct buf *out, const struct stop *stop,
			struct error *err)
{
	struct app *app = arg;
	struct login *l = find_login(app, ask->entry->name, ask->url);
	int rc = 0;

	if (!l)
		return 0;
	pthread_mutex_lock(&l->lock);
	if (l->there &&
	    (oauth_grant_is_stale(&l->grant) ||
	     (ask->renew && clock_ms() > l->renewed + RENEW_AGAIN_MS)))
		rc = renew_login(app, l, stop, err);
	if (rc < 0 && err->code == ERR_AUTH) {
		clear_tokens(l);
		rc = 0;
	}
	if (rc == 0 && l->there) {
		buf_adds(out, l->grant.access);
		rc = buf_check(out, "the token", err) < 0 ? -1 : 1;
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static bool has_scope(struct str list, struct str name)
{
	struct str word;

	while (str_split(&list, ' ', &word))
		if (str_eq(word, name))
			return true;
	return false;
}

/* Implements mcp_scope_fn. arg is the app. */
static void logins_scope(void *arg, const struct mcp_token_ask *ask,
			 struct str more, struct buf *out)
{
	struct login *l = find_login(arg, ask->entry->name, ask->url);
	struct str word;

	if (l) {
		pthread_mutex_lock(&l->lock);
		if (l->there && l->grant.scope)
			buf_adds(out, l->grant.scope);
		pthread_mutex_unlock(&l->lock);
	}
	while (str_split(&more, ' ', &word))
		if (word.len && !has_scope(buf_str(out), word)) {
			buf_adds(out, out->len ? " " : "");
			buf_addstr(out, word);
		}
}

/* ---- login and logout ---- */

static void copy_grant(const struct oauth_grant *from, struct oauth_grant *to)
{
	struct buf json = BUF_INIT(1 << 20);

	oauth_grant_release(to);
	oauth_grant_write(from, &json);
	(void)oauth_grant_read(to, buf_str(&json));
	buf_wipe(&json);
}

int logins_add(struct app *app, const struct mcp_entry *e, const char *url,
	       const struct oauth_grant *g, struct error *err)
{
	struct login *l = find_or_add(app, e->name, url);
	struct settings_store keys = credential_store(app);
	struct stop stop = app_stop(app);
	int rc;

	stop = stop_within(&stop, RENEW_MS);
	pthread_mutex_lock(&l->lock);
	copy_grant(g, &l->grant);
	mask_tokens(app, l->key, &l->grant);
	rc = store_login(app, l, &keys.ask, &stop, err);
	l->there = rc == 0;
	l->renewed = 0;
	pthread_mutex_unlock(&l->lock);
	settings_store_changed(app->settings);
	return rc;
}

static void forget_logins(struct app *app, const char *prefix)
{
	for (struct login *l = app->logins; l; l = l->next) {
		if (!str_starts(str_of(l->key), prefix))
			continue;
		pthread_mutex_lock(&l->lock);
		clear_tokens(l);
		pthread_mutex_unlock(&l->lock);
	}
}

/* Asks the server to revoke tokens that were deleted here. A failure is only a
 * warning. */
static void revoke_tokens(struct app *app, const struct vault_entry *e)
{
	struct oauth_net net = logins_net(app, e->url);
	struct oauth_grant g = { 0 };
	struct stop stop = app_stop(app);
	struct error err = { 0 };

	stop = stop_within(&stop, REVOKE_MS);
	if (decode_login(e, e->url, &g)) {
		mask_tokens(app, e->name, &g);
		if (oauth_revoke(&net, &g, &stop, &err) < 0)
			app_warn("the tokens for %s are deleted here, but the "
				 "server did not revoke them: %s",
				 e->url, err.message);
	}
	oauth_grant_release(&g);
}

/* True if key is for the server of prefix. A server with a longer name that
 * contains a dot does not count. */
static bool is_key_of(const char *key, const char *prefix)
{
	return str_starts(str_of(key), prefix) &&
	       strlen(key) == strlen(prefix) + DIGITS;
}

/* Deletes each stored login of this name, then revokes it. */
int logins_remove(struct app *app, const char *name, struct error *err)
{
	struct settings_store keys = credential_store(app);
	char *dir = credential_dir(app->settings);
	char *prefix = xasprintf("mcp.%s.", name);
	const struct vault_entry *list;
	struct vault *v = NULL;
	int rc = vault_open(&v, dir, &keys.ask, err);
	size_t n = rc == 0 ? vault_list(v, &list) : 0;
	int removed = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct vault_change change = { .name = list[i].name };

		if (list[i].plain || !is_key_of(list[i].name, prefix))
			continue;
		rc = credential_store_key(app, &change, NULL, err);
		removed += rc == 0;
		if (rc == 0)
			revoke_tokens(app, &list[i]);
	}
	forget_logins(app, prefix);
	settings_store_changed(app->settings);
	vault_close(v);
	free(prefix);
	free(dir);
	return rc < 0 ? -1 : removed;
}

static void add_variable(void *arg, struct str name)
{
	struct servers_claim *c = arg;

	for (size_t i = 0; i < c->n_variables; i++)
		if (str_is(name, c->variables[i]))
			return;
	c->variables = xrealloc(c->variables, c->n_variables + 1,
				sizeof(*c->variables));
	c->variables[c->n_variables++] =
		xstrndup(name.ptr ? name.ptr : "", name.len);
}

/* Collects the words that may name a file of the project: the command, its
 * arguments and the values of env. The user's approval then covers the content
 * of these files. */
static size_t copy_words(struct servers_claim *c, const struct mcp_entry *e)
{
	size_t n = 0;

	while (e->args && e->args[n])
		n++;
	c->words = xcalloc(n + e->n_env + 2, sizeof(*c->words));
	n = 0;
	if (!e->command)
		return 0;
	c->words[n++] = e->command;
	for (size_t i = 0; e->args && e->args[i]; i++)
		c->words[n++] = e->args[i];
	for (size_t i = 0; i < e->n_env; i++)
		c->words[n++] = e->env[i].value;
	return n;
}

/* Fills c with the entry as the trust store sees it. */
void servers_claim(struct servers_claim *c, const struct mcp_entry *e,
		   const struct settings *set)
{
	*c = (struct servers_claim){ 0 };
	mcp_each_variable(e, add_variable, c);
	c->entry = (struct trust_entry){
		.kind = TRUST_MCP,
		.root = e->root,
		.file = e->file,
		.name = e->name,
		.text = str_of(e->text),
		.n_words = copy_words(c, e),
		.path = settings_exported(set, "PATH"),
		.variables = (const char *const *)c->variables,
		.n_variables = c->n_variables,
	};
	c->entry.words = c->words;
	if (e->cwd)
		c->entry.dir = c->dir = path_join(e->root, e->cwd);
}

void servers_claim_release(struct servers_claim *c)
{
	for (size_t i = 0; i < c->n_variables; i++)
		free(c->variables[i]);
	free(c->variables);
	free(c->words);
	free(c->dir);
}

enum { LINE_BYTES = 1 << 12 };

struct servers_reading {
	struct mcp_entries *out;
	const char *config;
	uid_t owner; /* user id of the owner of the working directory */
	struct error *err;
	int rc;
};

struct servers_opening {
	struct app *app;
	struct trust *trust; /* opened for the first entry of the project; NULL
				before */
	bool asks;
	struct buf why;
	struct error *err;
	int rc;
};

static bool is_same_directory(const char *a, const char *b)
{
	struct stat one;
	struct stat other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Calls each for mcp.json and .mcp.json in one directory. */
static bool each_file_in(const char *dir, const char *root, bool project,
			 bool (*each)(void *arg, const struct mcp_place *p),
			 void *arg)
{
	static const char *const names[] = { "mcp.json", ".mcp.json" };
	bool goes_on = true;

	for (size_t i = 0; goes_on && i < 2; i++) {
		char *file = path_join(dir, names[i]);
		struct mcp_place place = { file, root, project };

		goes_on = each(arg, &place);
		free(file);
	}
	return goes_on;
}

/* Visits the files in order of precedence, lowest first. */
void servers_each_place(struct app *app, const char *config,
			bool (*each)(void *arg, const struct mcp_place *p),
			void *arg)
{
	const char *own = settings_dir(app->settings);
	const char *cwd = settings_cwd(app->settings);
	size_t len = project_root(cwd, project_owner(cwd), NULL);
	char *root = xstrndup(cwd, len);
	char *dir = path_join(root, ".deepagents");
	struct mcp_place last = { config, "", false };
	bool goes_on = each_file_in(own, "", false, each, arg);

	/* If the project is the home directory, its .deepagents is the user's
	 * own, which was already visited. */
	if (goes_on && access(dir, F_OK) == 0 && !is_same_directory(dir, own))
		goes_on = each_file_in(dir, root, true, each, arg);
	if (goes_on)
		goes_on = each_file_in(root, root, true, each, arg);
	if (goes_on && config)
		(void)each(arg, &last);
	free(dir);
	free(root);
}

/* Reads one file. An error is only a warning, except for the file of
 * --mcp-config. */
static bool read_place(void *arg, const struct mcp_place *p)
{
	struct servers_reading *r = arg;
	struct buf text = BUF_INIT(MCP_FILE_MAX);
	struct error err = { 0 };
	bool asked_for = p->file == r->config;
	int rc;

	if (access(p->file, F_OK) < 0) {
		if (asked_for)
			r->rc = error_set(r->err, ERR_USAGE,
					  "MCP config file not found: %s",
					  p->file);
		return !asked_for;
	}
	/* The file of --mcp-config may be a pipe, as in <(...). */
	if (asked_for)
		rc = path_read(p->file, &text, &err);
	else if (p->project)
		rc = project_read(p->root, p->file, r->owner, &text, &err);
	else
		rc = path_read_regular(p->file, &text, &err);
	if (rc == 0)
		rc = mcp_entries_read(r->out, buf_str(&text), p, &err);
	if (rc < 0 && asked_for) {
		*r->err = err;
		r->rc = -1;
	} else if (rc < 0) {
		app_warn("%s: its MCP servers are not used", err.message);
	}
	buf_wipe(&text);
	return r->rc == 0;
}

static int read_all(struct app *app, const char *config,
		    struct mcp_entries *out, struct error *err)
{
	struct servers_reading r = { .out = out, .config = config, .err = err };
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	r.owner = project_owner(settings_cwd(set));
	servers_each_place(app, config, read_place, &r);
	if (r.rc < 0)
		mcp_entries_release(out);
	return r.rc;
}

static bool is_listed(struct app *app, const char *key, const char *name)
{
	const char *const *list = NULL;
	struct error err = { 0 };
	size_t n = 0;

	if (settings_list(app->settings, NULL, key, &list, &n, &err) < 0) {
		app_warn("%s", err.message);
		return true; /* an unreadable list disables every server */
	}
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

/* Returns why the settings or the entry itself disable the server, or NULL. */
static const char *find_disable_reason(struct app *app,
				       const struct mcp_entry *e)
{
	if (e->off)
		return "its entry disables it";
	if (is_listed(app, "mcp.disabled_servers", e->name))
		return "[mcp] disabled_servers names it";
	if (e->project &&
	    is_listed(app, "mcp.disabled_project_servers", e->name))
		return "[mcp] disabled_project_servers names it";
	return NULL;
}

/* mcp callback before each start of a server, on any thread: the project's
 * files may have changed since the user allowed the entry. */
static bool may_start(void *arg, const struct settings *set,
		      const struct mcp_entry *e)
{
	struct app *app = arg;
	struct servers_claim claim;
	bool allowed;

	if (!e->project)
		return true;
	servers_claim(&claim, e, set);
	allowed = app->trust &&
		  trust_check(app->trust, &claim.entry) == TRUST_ALLOWED;
	servers_claim_release(&claim);
	return allowed;
}

/* Returns NULL if the user allows this entry of the project, otherwise why it
 * is refused. Looks up an earlier answer and, if o->asks, asks the user. */
static const char *check_project_trust(struct servers_opening *o,
				       const struct mcp_entry *e)
{
	enum trust_verdict verdict = TRUST_REFUSED;
	struct servers_claim claim;

	if (!o->trust && project_trust_open(o->app, &o->trust, o->err) < 0) {
		o->rc = -1;
		return "the record of your approvals cannot be opened";
	}
	servers_claim(&claim, e, o->app->settings);
	if (!o->asks)
		verdict = trust_check(o->trust, &claim.entry);
	else if (o->rc == 0)
		o->rc = trust_ask(o->trust, &claim.entry, &verdict, o->err);
	buf_clear(&o->why);
	if (verdict != TRUST_ALLOWED)
		trust_explain(o->trust, &claim.entry, &o->why);
	servers_claim_release(&claim);
	if (verdict == TRUST_ALLOWED)
		return NULL;
	if (o->asks && o->rc == 0)
		app_warn("%s", o->why.ptr);
	return o->why.ptr;
}

static void check_entry(struct servers_opening *o, struct mcp_entry *e)
{
	const char *why = find_disable_reason(o->app, e);

	if (!why && !e->wrong && e->project)
		why = check_project_trust(o, e);
	if (why)
		e->refused = xstrdup(why);
}

/* Adds secrets that an entry contains in plain text to the mask. */
static void mask_pairs(struct app *app, const struct mcp_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str value = str_of(pairs[i].value);

		if (!setting_looks_secret(pairs[i].name) &&
		    !str_is_nocase(str_of(pairs[i].name), "authorization"))
			continue;
		if (str_starts(value, "Bearer "))
			value = str_skip(value, strlen("Bearer "));
		if (!str_starts(value, "${"))
			(void)mask_add(app->mask, pairs[i].name, value);
	}
}

static void check_entries(struct servers_opening *o,
			  struct mcp_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		check_entry(o, &entries->list[i]);
		if (entries->list[i].refused && mcp_entries_restore(entries, i))
			check_entry(o, &entries->list[i]);
		mask_pairs(o->app, entries->list[i].env,
			   entries->list[i].n_env);
		mask_pairs(o->app, entries->list[i].headers,
			   entries->list[i].n_headers);
		if (o->asks && !entries->list[i].refused)
			logins_recall(o->app, &entries->list[i]);
	}
}

static int read_times(struct app *app, struct mcp_host *host, struct error *err)
{
	if (settings_int(app->settings, NULL, "mcp.startup_timeout",
			 &host->startup_ms, err) < 0 ||
	    settings_int(app->settings, NULL, "mcp.call_timeout",
			 &host->call_ms, err) < 0)
		return -1;
	if (host->startup_ms < 1 || host->startup_ms > 3600 ||
	    host->call_ms < 1 || host->call_ms > 86400)
		return error_set(
			err, ERR_CONFIG,
			"[mcp] startup_timeout must be 1 to 3600 seconds, and "
			"call_timeout 1 to 86400 seconds");
	host->startup_ms *= 1000;
	host->call_ms *= 1000;
	return 0;
}

/* Reads all files, decides which servers may be used, and creates *m. */
int servers_open(struct app *app, const char *config, bool asks, struct mcp **m,
		 struct error *err)
{
	struct servers_opening o = { .app = app,
				     .asks = asks,
				     .why = BUF_INIT(LINE_BYTES),
				     .err = err };
	struct mcp_entries entries = { 0 };
	struct mcp_host host = { .may_start = may_start,
				 .token = logins_token,
				 .scope = logins_scope,
				 .arg = app };
	char *cache;

	*m = NULL;
	if (read_all(app, config, &entries, err) < 0)
		return -1;
	if (!entries.n || read_times(app, &host, err) < 0) {
		o.rc = entries.n ? -1 : 0;
		mcp_entries_release(&entries);
		return o.rc;
	}
	cache = app_state_path(app, "mcp-tools", err);
	host.settings = app->settings;
	host.http = app_http(app);
	host.cwd = settings_cwd(app->settings);
	host.cache_dir = cache;
	check_entries(&o, &entries);
	*m = mcp_new(&entries, &host);
	free(cache);
	buf_release(&o.why);
	if (o.rc == 0)
		return 0;
	mcp_free(*m);
	*m = NULL;
	return -1;
}

enum {
	SAID_MAX = 64 << 10,
	SAID_LINES = 5, /* last lines of the server's stderr that are shown */
	NAMES_MAX = 2 << 20,
};

static const char *const states[] = {
	[MCP_IDLE] = "not started", [MCP_STARTING] = "starting",
	[MCP_READY] = "ready",      [MCP_FAILED] = "failed",
	[MCP_OFF] = "off",
};

struct mcp_tool_json {
	struct buf *out;
	size_t n;
};

void mcp_show_command(const struct app *app, const struct mcp_entry *e,
		      struct buf *out)
{
	if (e->url) {
		buf_adds(out, e->kind == MCP_SSE ? "sse: " : "http: ");
		print_add_line(app, out, e->url);
	} else if (e->command) {
		buf_adds(out, "stdio: ");
		print_add_line(app, out, e->command);
		for (size_t i = 0; e->args && e->args[i]; i++) {
			buf_addc(out, ' ');
			print_add_line(app, out, e->args[i]);
		}
	} else {
		buf_adds(out, "?");
	}
}

static void add_tools(const struct mcp_status *st, struct buf *out)
{
	buf_addf(out, ", %zu tool%s", st->tools, st->tools == 1 ? "" : "s");
	if (st->recalled)
		buf_adds(out, " when last started");
	if (st->left_out)
		buf_addf(out, " (%zu left out: %s%s)", st->left_out, st->lost,
			 st->left_out > 5 ? " ..." : "");
}

/* Appends the last lines that the server wrote to standard error. */
static void add_stderr_tail(const struct app *app, struct mcp_server *s,
			    struct buf *out)
{
	struct buf raw = BUF_INIT(SAID_MAX);
	struct buf clean = BUF_INIT(SIZE_MAX / 4);
	struct str text;
	struct str line;
	size_t lines = 0;

	mcp_server_said(s, &raw);
	app_clean(app, CLEAN_TEXT, buf_str(&raw), &clean);
	text = str_trim(buf_str(&clean));
	for (size_t i = text.len; i > 0; i--)
		if (text.ptr[i - 1] == '\n' && ++lines == SAID_LINES) {
			text = str_skip(text, i);
			break;
		}
	while (str_split(&text, '\n', &line))
		buf_addf(out, "    | %.*s\n", (int)line.len, line.ptr);
	buf_release(&raw);
	buf_release(&clean);
}

static void add_tool_line(void *arg, const struct mcp_tool *t)
{
	buf_addf(arg, "    %s%s\n", t->name, t->reads ? " (reads only)" : "");
}

static void add_error(const struct app *app, const struct mcp_status *st,
		      struct buf *out)
{
	if (!st->why.code)
		return;
	buf_adds(out, "    ");
	print_add_line(app, out, st->why.message);
	buf_addc(out, '\n');
	if (st->why.hint[0])
		buf_addf(out, "    %s\n", st->why.hint);
}

/* Appends the state, command, file, error, stderr output and tools. */
void mcp_show(const struct app *app, struct mcp_server *s, bool names,
	      struct buf *out)
{
	const struct mcp_entry *e = mcp_server_entry(s);
	struct mcp_status st;

	mcp_server_status(s, &st);
	print_add_line(app, out, e->name);
	buf_addf(out, ": %s", states[st.state]);
	if (st.started_ms >= 0)
		buf_addf(out, " after %" PRId64 " ms", st.started_ms);
	if (st.state != MCP_OFF && st.state != MCP_FAILED)
		add_tools(&st, out);
	if (st.calls)
		buf_addf(out, ", %" PRId64 " call%s in %" PRId64 " ms",
			 st.calls, st.calls == 1 ? "" : "s", st.calls_ms);
	buf_adds(out, "\n    ");
	mcp_show_command(app, e, out);
	buf_adds(out, "\n    of ");
	print_add_line(app, out, e->file);
	buf_adds(out, e->project ? " (the project's)\n" : "\n");
	if (e->ignored)
		buf_addf(out, "    ignored in its entry: %s\n", e->ignored);
	add_error(app, &st, out);
	if (st.state == MCP_READY || st.state == MCP_FAILED)
		add_stderr_tail(app, s, out);
	if (names)
		mcp_server_each_tool(s, add_tool_line, out);
}

static void add_tool_json(void *arg, const struct mcp_tool *t)
{
	struct mcp_tool_json *j = arg;

	buf_adds(j->out, j->n++ ? ",{" : "{");
	json_member(j->out, "name", str_of(t->name));
	buf_addf(j->out, ",\"read_only\":%s}", t->reads ? "true" : "false");
}

void mcp_show_json(const struct app *app, struct mcp_server *s, struct buf *out)
{
	const struct mcp_entry *e = mcp_server_entry(s);
	struct mcp_tool_json j = { out, 0 };
	struct buf command = BUF_INIT(NAMES_MAX);
	struct mcp_status st;

	mcp_server_status(s, &st);
	mcp_show_command(app, e, &command);
	buf_addc(out, '{');
	print_add_member(app, out, "name", e->name);
	buf_addf(out, ",\"state\":\"%s\",", states[st.state]);
	print_add_member(app, out, "server", command.ptr);
	buf_addc(out, ',');
	print_add_member(app, out, "file", e->file);
	buf_addf(out, ",\"project\":%s,\"started_ms\":",
		 e->project ? "true" : "false");
	if (st.started_ms >= 0)
		buf_addf(out, "%" PRId64, st.started_ms);
	else
		buf_adds(out, "null");
	buf_addc(out, ',');
	if (st.why.code)
		print_add_member(app, out, "error", st.why.message);
	else
		buf_adds(out, "\"error\":null");
	buf_adds(out, ",\"tools\":[");
	mcp_server_each_tool(s, add_tool_json, &j);
	buf_addf(out, "],\"left_out\":%zu,", st.left_out);
	print_add_member(app, out, "left_out_why", st.lost);
	buf_addc(out, '}');
	buf_release(&command);
}
