/* mcp_logins.c - stores and renews the OAuth tokens of MCP servers. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/mcp_logins.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/credential.h"
#include "mcp/entry.h"

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
void logins_recall(struct app *app, const struct mcp_entry *e)
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
int logins_token(void *arg, const struct mcp_token_ask *ask, struct buf *out,
		 const struct stop *stop, struct error *err)
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

void logins_scope(void *arg, const struct mcp_token_ask *ask, struct str more,
		  struct buf *out)
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
