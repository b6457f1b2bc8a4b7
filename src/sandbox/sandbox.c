/* sandbox.c - wrappers around a provider's operations on a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * The wrappers of struct sandbox_ops check what the provider supports, wait for
 * background work and kills, retry create, remove and what else may be retried,
 * and put the provider's name before errors. Begin reading at sandbox_create()
 * and sandbox_execute().
 */
#include "sandbox/sandbox.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/retry.h"
#include "sandbox/exec.h"
#include "sandbox/frame.h"
#include "sandbox/provider.h"

void mounts_add(struct sandbox_mounts *m, const char *inside, const char *path)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->list[i].inside, inside))
			return; /* this path in the sandbox is already listed */
	m->list = xrealloc(m->list, m->n + 1, sizeof(*m->list));
	m->list[m->n++] =
		(struct sandbox_mount){ xstrdup(inside), xstrdup(path) };
}

void mounts_release(struct sandbox_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->list[i].inside);
		free(m->list[i].path);
	}
	free(m->list);
	*m = (struct sandbox_mounts){ 0 };
}

enum {
	TRIES = 4, /* attempts to create or remove */
	/* pause between attempts to remove a busy sandbox */
	BUSY_MS = 500,
	BUSY_MAX_MS = 120000, /* total time of these attempts */
};

/* A request whose output starts with an aside (frame.h) that has the sandbox's
 * facts. */
struct facts_request {
	struct sandbox *sb;
	const struct exec_request *req; /* the caller's request */
	struct aside aside;
	struct buf text;
};

const char *file_error_name(enum file_error e)
{
	static const char *const names[] = {
		[FILE_OK] = "ok",
		[FILE_NOT_FOUND] = "file_not_found",
		[FILE_PERMISSION_DENIED] = "permission_denied",
		[FILE_IS_DIRECTORY] = "is_directory",
		[FILE_INVALID_PATH] = "invalid_path",
		[FILE_NO_API] = "no_file_api",
		[FILE_OTHER] = "other",
	};

	if ((size_t)e >= sizeof(names) / sizeof(names[0]))
		return "other";
	return names[e];
}

/* Returns the name of the credential that was refused; owned, or NULL. */
static char *key_name(const struct sandbox_client *client)
{
	const struct sandbox_provider *p = client->provider;
	const struct setting *row = client->settings ? p->settings : NULL;

	for (; row && row->key; row++)
		if (row->flags & SETTING_SECRET && row->env &&
		    settings_source(client->settings, p->name, row->key))
			return settings_credential_name(client->settings,
							row->env);
	return NULL;
}

/* Returns advice about an address in a variable that is not used, because the
 * key is stored. Owned, or NULL. */
static char *unused_address(const struct sandbox_client *client,
			    const char *variable)
{
	return client->endpoint && settings_address_is_shared(client->settings,
							      variable)
		       ? settings_address_unused(client->settings,
						 client->provider->name,
						 variable, client->endpoint)
		       : NULL;
}

char *sandbox_unused_address(const struct sandbox_client *client)
{
	const char *const *env = client->provider->url_env;
	char *advice = NULL;

	for (; client->settings && env && *env && !advice; env++)
		advice = unused_address(client, *env);
	return advice;
}

/* Returns the name of the setting that chose the server; owned, or NULL. */
static char *address_name(const struct sandbox_client *client)
{
	const char *const *env = client->provider->url_env;
	const struct toml_value *v;
	char *key;

	if (!client->settings)
		return NULL;
	for (; env && *env; env++) {
		char *unused = unused_address(client, *env);

		free(unused);
		if (settings_env(client->settings, *env) && !unused)
			return settings_address_name(client->settings, *env);
	}
	key = xasprintf("sandboxes.providers.%s.http.base",
			client->provider->name);
	v = settings_toml(client->settings, key);
	free(key);
	return v ? xasprintf("base of [sandboxes.providers.%s.http], "
			     "config.toml line %d",
			     client->provider->name, v->line)
		 : NULL;
}

static void name_address(const struct sandbox_client *client, struct error *err)
{
	char *from = address_name(client);

	if (client->endpoint && from)
		error_wrap(err, "cannot reach %.200s (%.200s)",
			   client->endpoint, from);
	free(from);
}

int sandbox_blame(const struct sandbox_client *client, struct error *err)
{
	char *key = err->code == ERR_AUTH ? key_name(client) : NULL;
	char *unused = err->code == ERR_AUTH || err->code == ERR_UNREACHABLE
			       ? sandbox_unused_address(client)
			       : NULL;

	if (err->code == ERR_UNREACHABLE)
		name_address(client, err);
	if (unused)
		error_hint(err, "%s", unused);
	free(unused);
	if (key)
		error_wrap(err, "%s with %s", client->provider->name, key);
	else if (err->code != ERR_CANCELLED)
		error_wrap(err, "%s", client->provider->name);
	free(key);
	return -1;
}

/* Reads the user's start timeout. ERR_CONFIG says what is wrong with the value,
 * and where. */
static int read_start_timeout(struct sandbox_client *client, struct error *err)
{
	static const char common[] = "sandboxes.start_timeout";
	const struct settings *set = client->settings;
	const struct toml_value *own;
	int64_t seconds = 0;
	char *key;

	if (!set)
		return 0;
	key = xasprintf("sandboxes.providers.%s.start_timeout",
			client->provider->name);
	own = settings_toml(set, key);
	free(key);
	if (own && own->kind == TOML_INT)
		seconds = own->integer;
	else if (settings_source(set, NULL, common) > SOURCE_DEFAULT &&
		 settings_int(set, NULL, common, &seconds, err) < 0)
		return -1;
	if (seconds < 0 || seconds > SANDBOX_START_MAX_S)
		return error_set(err, ERR_CONFIG,
				 "%s must be a number of seconds from 1 to %d",
				 common, SANDBOX_START_MAX_S);
	client->start_ms = seconds * 1000;
	return 0;
}

/* Applies the user's start timeout. Returns the stop to pass to the provider:
 * *within, or stop if there is no limit. */
static const struct stop *limit_start(const struct sandbox_client *client,
				      const struct stop *stop,
				      struct stop *within)
{
	if (!client->start_ms)
		return stop;
	*within = stop_within(stop, client->start_ms);
	return within;
}

/* Replaces a timeout error if the user's start timeout, not the caller's
 * deadline, caused it. */
static void explain_start(const struct sandbox_client *client,
			  const struct stop *stop, const struct stop *within,
			  struct error *err)
{
	if (within == stop || err->code != ERR_TIMEOUT ||
	    clock_ms() < within->deadline || clock_ms() >= stop->deadline)
		return;
	error_set(err, ERR_TIMEOUT,
		  "the sandbox was not ready within %lld s (start_timeout)",
		  (long long)client->start_ms / 1000);
}

const char *sandbox_client_name(const struct sandbox_client *client)
{
	return client->also ? client->provider->also : client->provider->name;
}

void sandbox_client_close(struct sandbox_client *client)
{
	if (client->provider && client->provider->ops->close)
		client->provider->ops->close(client);
	*client = (struct sandbox_client){ 0 };
}

int sandbox_client_open_as(struct sandbox_client *client,
			   const struct sandbox_provider *provider,
			   const char *name, const struct settings *set,
			   struct http *http, struct error *err)
{
	*client = (struct sandbox_client){
		.provider = provider,
		.settings = set,
		.http = http,
		.also = provider->also && !strcmp(provider->also, name)
	};
	if (read_start_timeout(client, err) == 0 &&
	    (!provider->ops->open || !provider->ops->open(client, set, err)))
		return 0;
	error_wrap(err, "%s", sandbox_client_name(client));
	sandbox_client_close(client);
	return -1;
}

int sandbox_client_open(struct sandbox_client *client,
			const struct sandbox_provider *provider,
			const struct settings *set, struct http *http,
			struct error *err)
{
	return sandbox_client_open_as(client, provider, provider->name, set,
				      http, err);
}

/* Completes a sandbox that was created or attached: sets its workdir, if the
 * provider did not, and allocates the state of its commands. Fails if it has no
 * id. */
static int finish_made(struct sandbox *sb, const char *what, struct error *err)
{
	const struct sandbox_provider *p = sb->client->provider;

	if (!sb->id || !*sb->id) {
		error_set(err, ERR_PROTOCOL, "%s returned no sandbox id", what);
		return sandbox_blame(sb->client, err);
	}
	if (!sb->workdir)
		sb->workdir = xstrdup(p->workdir ? p->workdir : "/");
	if (!sb->read)
		sb->read = supervise_read_new();
	if (!sb->kills)
		sb->kills = kills_new();
	return 0;
}

static int create_once(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	if (sb->client->provider->ops->create(sb, spec, stop, err) == 0)
		return 0;
	/* A request that was refused, or never reached the server, has created
	 * nothing. */
	if (!sb->id && (err->code == ERR_UNREACHABLE || retry_was_refused(err)))
		err->nothing_made = true;
	return -1;
}

static void announce_retry(const struct sandbox_spec *spec,
			   const struct error *why)
{
	int64_t s = (why->retry_after_ms + 999) / 1000;
	char *line = s > 1 ? xasprintf("%s; trying again in %lld s",
				       why->message, (long long)s)
			   : xasprintf("%s; trying again", why->message);

	if (spec->progress)
		spec->progress(spec->arg, line);
	free(line);
}

/* True if create may be called again. Once it has returned an id, only after a
 * broken connection. */
static bool may_repeat_create(const struct sandbox *sb, const struct error *why)
{
	return retry_is_transient(why) && (!sb->id || why->code == ERR_NETWORK);
}

void sandbox_release(struct sandbox *sb)
{
	struct error ignored = { 0 };

	(void)background_end(&sb->background, 0, &ignored);
	kills_free(sb->kills);
	if (sb->client && sb->client->provider &&
	    sb->client->provider->ops->discard)
		sb->client->provider->ops->discard(sb);
	free(sb->id);
	free(sb->workdir);
	free(sb->made_dir);
	network_release(&sb->network);
	secrets_release(&sb->secrets);
	free(sb->opened);
	supervise_read_free(sb->read);
	mounts_release(&sb->mounts);
	free(sb->listeners);
	*sb = (struct sandbox){ 0 };
}

/* Each attempt uses the same label, so the provider can recognise the sandbox
 * of an earlier attempt and no second one is made. sb->id stays set if any
 * attempt returned one: the caller must delete that sandbox. */
static int create_with_retries(struct sandbox *sb,
			       const struct sandbox_spec *spec,
			       const struct stop *stop, struct error *err)
{
	struct retry retry = { .max = TRIES - 1 };
	struct sandbox_client *client = sb->client;
	bool nothing_made = true;
	char *known = NULL;
	int rc;

	for (;;) {
		struct error why = { 0 };

		rc = create_once(sb, spec, stop, &why);
		if (rc == 0)
			break;
		nothing_made = nothing_made && why.nothing_made;
		if (sb->id) {
			free(known);
			known = xstrdup(sb->id);
		}
		if (!may_repeat_create(sb, &why) ||
		    retry.attempt == retry.max) {
			*err = why;
			break;
		}
		announce_retry(spec, &why);
		sandbox_release(sb);
		*sb = (struct sandbox){ .client = client };
		if (!retry_after(&retry, stop, &why)) {
			*err = why;
			break;
		}
	}
	if (!sb->id) {
		sb->id = known;
		known = NULL;
	}
	free(known);
	if (rc < 0)
		err->nothing_made = nothing_made;
	return rc;
}

const struct network_limits *
sandbox_network_limits(const struct sandbox_client *client)
{
	return client->lacks & SANDBOX_HOSTS ? NULL : client->provider->network;
}

int sandbox_choose_network(struct sandbox_client *client,
			   const struct network *flag, struct network *n,
			   struct error *err)
{
	const struct sandbox_provider *p = client->provider;
	int rc = network_choose(n, client, flag, err);

	if (rc < 0 || n->mode == NETWORK_DEFAULT)
		return rc;
	if (p->flags & ~client->lacks & SANDBOX_NETWORK)
		rc = network_check(n, sandbox_network_limits(client),
				   sandbox_client_name(client), err);
	else
		rc = error_set(err, ERR_USAGE,
			       "%s cannot control the network of its sandboxes",
			       sandbox_client_name(client));
	if (rc < 0 && n->source)
		error_wrap(err, "%s", n->source);
	if (rc < 0)
		network_release(n);
	return rc;
}

/* Replaces *s by the secrets that a sandbox gets, without their values. */
static int choose_secrets(struct secrets *s,
			  const struct sandbox_client *client,
			  struct error *err)
{
	const struct secret_limits *limits = client->provider->secrets;

	if (client->provider->flags & SANDBOX_UNISOLATED)
		return 0; /* cmd/session/sandbox.c says that they are unused */
	if (secrets_read(s, client->settings, err) < 0)
		return -1;
	/* what dcode does, it does where it limits the network */
	if (limits && limits->can & SECRET_NEEDS_DCODE &&
	    client->lacks & SANDBOX_HOSTS)
		limits = NULL;
	return secrets_check(s, limits, sandbox_client_name(client), err);
}

static int check_secrets_network(const struct secrets *s,
				 const struct sandbox_client *client,
				 const struct network *n, struct error *err)
{
	return secrets_check_network(s, client->provider->secrets, n,
				     sandbox_client_name(client), err);
}

int sandbox_check_limits(struct sandbox_client *client,
			 const struct network *flag, struct error *err)
{
	struct network network = { 0 };
	struct secrets secrets = { 0 };
	int rc = choose_secrets(&secrets, client, err);

	if (rc == 0 && !sandbox_needs_probe(client))
		rc = sandbox_choose_network(client, flag, &network, err);
	if (rc == 0)
		rc = check_secrets_network(&secrets, client, &network, err);
	network_release(&network);
	secrets_release(&secrets);
	return rc;
}

bool sandbox_stores_secrets(const struct sandbox_client *client)
{
	const struct secret_limits *limits = client->provider->secrets;
	struct secrets s = { 0 };
	struct error ignored = { 0 };
	bool some;

	/* What is wrong with the settings is reported by the create. */
	if (!limits || !(limits->can & SECRET_IN_ACCOUNT) ||
	    choose_secrets(&s, client, &ignored) < 0)
		return false;
	some = s.n > 0;
	secrets_release(&s);
	return some;
}

/* Says which hosts of the secret the network list does not have. */
static void announce_unreachable(const struct sandbox_spec *spec,
				 const struct network *n,
				 const struct secret *s)
{
	const struct network_rule *ignored;

	for (size_t i = 0; i < s->hosts.n; i++) {
		struct buf host = BUF_INIT(512);
		char *line;

		network_print_rule(&s->hosts.rules[i], &host);
		line = xasprintf(
			"secrets.%s: %s is not in the network list, so "
			"the sandbox cannot reach it",
			s->name, host.ptr);
		if (!network_allows(n, &s->hosts.rules[i], &ignored))
			spec->progress(spec->arg, line);
		free(line);
		buf_release(&host);
	}
}

/* Obtains the values of the secrets of a new sandbox. One without a network
 * cannot use any. */
static int prepare_secrets(struct secrets *s, struct sandbox_client *client,
			   const struct sandbox_spec *spec,
			   const struct network *n, const struct stop *stop,
			   struct error *err)
{
	if (choose_secrets(s, client, err) < 0 ||
	    check_secrets_network(s, client, n, err) < 0)
		return -1;
	if (s->n && n->mode == NETWORK_NONE) {
		if (spec->progress)
			spec->progress(spec->arg,
				       "[secrets] is not used: this sandbox "
				       "has no network");
		secrets_release(s);
	}
	if (s->n && spec->progress && client->provider->secrets->note)
		spec->progress(spec->arg, client->provider->secrets->note);
	for (size_t i = 0;
	     spec->progress && n->mode == NETWORK_LIST && i < s->n; i++)
		announce_unreachable(spec, n, &s->list[i]);
	return secrets_load(s, client->settings, stop, err);
}

int sandbox_create(struct sandbox *sb, struct sandbox_client *client,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err)
{
	const struct sandbox_provider *p = client->provider;
	unsigned flags = p->flags & ~client->lacks;
	struct stop limited;
	const struct stop *within = limit_start(client, stop, &limited);
	struct network network = { 0 };
	struct secrets secrets = { 0 };
	struct sandbox_spec chosen = *spec;
	int rc;

	*sb = (struct sandbox){ .client = client };
	if (spec->snapshot && !(flags & SANDBOX_SNAPSHOT))
		rc = error_set(err, ERR_USAGE, "%s does not support snapshots",
			       p->name);
	else
		rc = network_choose(&network, client, spec->network, err);
	/* Only the provider's program knows what it can enforce. */
	if (rc == 0 && network.mode != NETWORK_DEFAULT)
		rc = sandbox_probe(client, within, err);
	if (rc == 0)
		rc = sandbox_choose_network(client, spec->network, &network,
					    err);
	if (rc == 0)
		rc = prepare_secrets(&secrets, client, spec, &network, stop,
				     err);
	if (rc == 0)
		rc = stop_check(stop, err);
	if (rc < 0) {
		network_release(&network);
		secrets_release(&secrets);
		err->nothing_made = true;
		return -1;
	}
	chosen.network = &network;
	chosen.secrets = secrets.n ? &secrets : NULL;
	rc = create_with_retries(sb, &chosen, within, err);
	sb->network = network;
	sb->secrets = secrets;
	if (rc < 0) {
		explain_start(client, stop, within, err);
		return sandbox_blame(client, err);
	}
	return finish_made(sb, "create", err);
}

/* Obtains the secrets before an attach, if dcode puts them in. At a vendor they
 * are bound to the sandbox when it is created. */
static int attach_secrets(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	const struct secret_limits *limits = sb->client->provider->secrets;

	if (!limits || !(limits->can & SECRET_NEEDS_DCODE))
		return 0;
	if (choose_secrets(&sb->secrets, sb->client, err) == 0 &&
	    secrets_load(&sb->secrets, sb->client->settings, stop, err) == 0)
		return 0;
	secrets_release(&sb->secrets);
	return -1;
}

int sandbox_attach(struct sandbox *sb, struct sandbox_client *client,
		   const char *id, const struct stop *stop, struct error *err)
{
	const struct sandbox_provider *p = client->provider;
	struct stop limited;
	const struct stop *within = limit_start(client, stop, &limited);

	*sb = (struct sandbox){ .client = client };
	if (!(p->flags & SANDBOX_ATTACH) || !p->ops->attach)
		return error_set(err, ERR_USAGE,
				 "%s cannot attach to a sandbox by id",
				 p->name);
	if (attach_secrets(sb, stop, err) < 0)
		return -1;
	if (stop_check(stop, err))
		return -1;
	if (p->ops->attach(sb, id, within, err)) {
		explain_start(client, stop, within, err);
		return sandbox_blame(client, err);
	}
	return finish_made(sb, "attach", err);
}

static int pass_output(struct facts_request *a, enum exec_stream stream,
		       struct buf *reply, struct error *err)
{
	int rc = 0;

	if (a->text.len)
		rc = a->req->output(a->req->arg, stream, buf_str(&a->text),
				    reply, err);
	buf_clear(&a->text);
	return rc;
}

static int filter_output(void *arg, enum exec_stream stream, struct str chunk,
			 struct buf *reply, struct error *err)
{
	struct facts_request *a = arg;
	int unknown = FACTS_UNKNOWN;

	if (a->aside.found || stream != EXEC_STDOUT)
		return a->req->output(a->req->arg, stream, chunk, reply, err);
	aside_feed(&a->aside, chunk, &a->text);
	if (a->aside.found &&
	    atomic_compare_exchange_strong(&a->sb->facts_known, &unknown,
					   FACTS_COMING)) {
		facts_read(&a->sb->facts, buf_str(&a->aside.text));
		atomic_store(&a->sb->facts_known, FACTS_KNOWN);
	}
	return pass_output(a, stream, reply, err);
}

bool sandbox_move(struct sandbox *sb, struct str dir)
{
	struct buf clean = BUF_INIT(2 * PATH_MAX);
	bool ok;

	sanitize_line(dir, &clean);
	ok = str_starts(dir, "/") && dir.len < PATH_MAX &&
	     str_eq(dir, buf_str(&clean));
	buf_release(&clean);
	if (!ok)
		return false;
	if (sb->made_dir)
		free(sb->workdir);
	else
		sb->made_dir = sb->workdir;
	sb->workdir = xstrndup(dir.ptr, dir.len);
	return true;
}

const char *sandbox_tree_dir(const struct sandbox *sb)
{
	return sb->made_dir ? sb->made_dir : sb->workdir;
}

bool sandbox_expect_facts(const struct sandbox_client *client,
			  struct sandbox_facts *f)
{
	*f = (struct sandbox_facts){ 0 };
	if (!client->provider->ops->facts)
		return false;
	client->provider->ops->facts(client, f);
	return true;
}

static bool asks_facts(const struct sandbox *sb, const struct exec_request *req)
{
	return req->facts && req->output && !req->dialog && !req->source &&
	       !sb->client->provider->ops->facts &&
	       atomic_load(&sb->facts_known) == FACTS_UNKNOWN;
}

/* Copies the caller's request to own and lets it ask for the sandbox's facts
 * too. */
static void facts_begin(struct facts_request *a, struct exec_request *own)
{
	aside_init(&a->aside);
	*own = *a->req;
	own->aside = a->aside.nonce;
	own->output = filter_output;
	own->arg = a;
}

/* Parses the facts and passes the rest of the output to the caller's
 * callback. */
static int facts_end(struct facts_request *a, int rc, struct error *err)
{
	aside_end(&a->aside, &a->text);
	if (rc == 0)
		rc = pass_output(a, EXEC_STDOUT, NULL, err);
	aside_release(&a->aside);
	buf_release(&a->text);
	return rc;
}

int sandbox_await_kills(struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	return kills_wait(sb->kills, stop, err);
}

int sandbox_kill(struct sandbox *sb, struct kill *k, const struct stop *stop,
		 struct error *err)
{
	struct stop ever = stop_on(NULL);

	return kills_run(sb ? sb->kills : NULL, k,
			 sb && sb->mounts.n ? &ever : stop, err);
}

int sandbox_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err)
{
	const struct sandbox_provider *p = sb->client->provider;
	struct stop doom = stop_on(sb->doomed_by);
	struct facts_request facts = { .sb = sb,
				       .req = req,
				       .text = BUF_INIT(SIZE_MAX / 2) };
	struct exec_request own;
	bool asks;
	int rc;

	*res = (struct exec_result){ .exit_code = -1 };
	if (stop_check(stop, err) || stop_check(&doom, err))
		return -1;
	if (req->command.len && memchr(req->command.ptr, 0, req->command.len))
		return error_set(err, ERR_USAGE,
				 "the command contains a NUL byte");
	if (p->max_command && req->command.len > p->max_command)
		return error_set(
			err, ERR_LIMIT,
			"the command is longer than %zu bytes, the limit of %s",
			p->max_command, p->name);
	if (req->terminal && !p->ops->shell)
		return error_set(err, ERR_USAGE,
				 "%s cannot give a command a terminal",
				 p->name);
	if ((req->input.len || req->dialog || req->source) && !req->terminal &&
	    !(p->flags & SANDBOX_STDIN))
		return error_set(err, ERR_USAGE,
				 "%s cannot pass input to a command", p->name);
	/* Work in the background may write what this command reads, and a
	 * command that is being killed may still write. */
	if (background_wait(sb->background, stop, err) < 0)
		return -1;
	if (sandbox_await_kills(sb, stop, err) < 0)
		return -1;
	asks = asks_facts(sb, req);
	if (asks)
		facts_begin(&facts, &own);
	rc = (req->terminal ? p->ops->shell : p->ops->execute)(
		sb, asks ? &own : req, res, stop, err);
	if (asks)
		rc = facts_end(&facts, rc, err);
	return rc ? sandbox_blame(sb->client, err) : 0;
}

void sandbox_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	notice[0] = '\0';
	(void)sandbox_await_kills(sb, &ever, &ignored);
	if (sb->client && sb->client->provider->ops->settle && sb->id)
		sb->client->provider->ops->settle(sb, notice);
}

/* Repeats the request while the sandbox is busy and after transient failures.
 * If it was busy and then is not found, it has been removed: returns 0. */
int sandbox_remove(struct sandbox_client *client, const char *id,
		   const struct stop *stop, struct error *err)
{
	struct retry retry = { .max = TRIES - 1 };
	struct stop busy = stop_within(stop, BUSY_MAX_MS);
	bool was_there = false;

	for (;;) {
		struct error why = { 0 };
		int rc = client->provider->ops->remove(client, id, stop, &why);

		if (rc >= 0)
			return rc == 1 && was_there ? 0 : rc;
		was_there = was_there || why.code == ERR_BUSY;
		if (why.code == ERR_BUSY &&
		    retry_sleep(&why, BUSY_MS, &busy, err) == 0)
			continue;
		if (!retry_is_transient(&why) ||
		    !retry_after(&retry, stop, &why)) {
			*err = why;
			return sandbox_blame(client, err);
		}
	}
}

int sandbox_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		 const struct stop *stop, struct error *err)
{
	int rc = client->provider->ops->stop(client, id, keep_s, stop, err);

	return rc < 0 ? sandbox_blame(client, err) : rc;
}

bool sandbox_needs_probe(const struct sandbox_client *client)
{
	return client->provider->ops->probe;
}

int sandbox_probe(struct sandbox_client *client, const struct stop *stop,
		  struct error *err)
{
	if (!sandbox_needs_probe(client) ||
	    client->provider->ops->probe(client, stop, err) == 0)
		return 0;
	return sandbox_blame(client, err);
}

bool sandbox_can_list(const struct sandbox_client *client)
{
	return client->provider->ops->list && !(client->lacks & SANDBOX_LIST);
}

bool sandbox_can_get(const struct sandbox_client *client)
{
	return client->provider->ops->info;
}

bool sandbox_can_extend(const struct sandbox_client *client)
{
	return client->provider->ops->extend;
}

enum sandbox_isolation sandbox_isolation(const struct sandbox_client *client)
{
	return client->isolation ? client->isolation
				 : client->provider->isolation;
}

const char *sandbox_isolation_source(const struct sandbox_provider *p,
				     enum sandbox_isolation isolation)
{
	return isolation == p->isolation ? p->isolation_source : NULL;
}

bool sandbox_can_stop(const struct sandbox_client *client)
{
	return client->provider->ops->stop && !(client->lacks & SANDBOX_STOP);
}

bool sandbox_can_upload(const struct sandbox_client *client)
{
	return client->provider->ops->upload;
}

int sandbox_list(struct sandbox_client *client, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	const struct sandbox_ops *ops = client->provider->ops;

	return ops->list(client, owner, sink, stop, err)
		       ? sandbox_blame(client, err)
		       : 0;
}

bool sandbox_can_list_ids(const struct sandbox_client *client)
{
	return client->provider->ops->list_ids;
}

int sandbox_list_ids(struct sandbox_client *client,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err)
{
	return client->provider->ops->list_ids(client, sink, stop, err)
		       ? sandbox_blame(client, err)
		       : 0;
}

int sandbox_get(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	const struct sandbox_ops *ops = client->provider->ops;

	return ops->info(client, id, sink, stop, err)
		       ? sandbox_blame(client, err)
		       : 0;
}

int sandbox_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	return ops->extend(sb, lifetime_s, stop, err)
		       ? sandbox_blame(sb->client, err)
		       : 0;
}

void sandbox_check(struct sandbox *sb, bool last,
		   void (*each)(void *arg, const char *line), void *arg)
{
	if (sb->client && sb->client->provider->ops->check)
		sb->client->provider->ops->check(sb, last, each, arg);
}

static const char *const isolation_names[] = {
	[ISOLATION_UNSET] = "not documented",
	[ISOLATION_UNKNOWN] = "not documented",
	[ISOLATION_NONE] = "none",
	[ISOLATION_NAMESPACES] = "namespaces",
	[ISOLATION_CONTAINER] = "container",
	[ISOLATION_GVISOR] = "gVisor",
	[ISOLATION_VM] = "VM",
	[ISOLATION_MICROVM] = "microVM",
};

const char *isolation_name(enum sandbox_isolation isolation)
{
	return isolation_names[isolation];
}

enum sandbox_isolation isolation_parse(struct str name)
{
	for (size_t i = ISOLATION_NONE;
	     i < sizeof(isolation_names) / sizeof(*isolation_names); i++)
		if (str_is_nocase(name, isolation_names[i]))
			return (enum sandbox_isolation)i;
	return ISOLATION_UNSET;
}

void isolation_json(struct buf *out, enum sandbox_isolation isolation)
{
	if (isolation < ISOLATION_NONE)
		buf_adds(out, "null");
	else
		json_quote(out, str_of(isolation_name(isolation)));
}

bool sandbox_is_shared(const struct sandbox *sb)
{
	return sb->client && sb->client->provider->flags & ~sb->client->lacks &
				     SANDBOX_SHARED;
}

bool sandbox_acts_on_host(const struct sandbox *sb)
{
	return sb->mounts.n > 0 || sandbox_is_shared(sb) ||
	       (sb->client && sb->client->provider->flags & SANDBOX_UNISOLATED);
}

const char *sandbox_called(const struct sandbox *sb, char *room, size_t size)
{
	const char *noun = sb->client->provider->noun;

	snprintf(room, size, "%s%s%s", noun ? noun : "", noun ? " " : "",
		 sb->id);
	return room;
}

static bool has_setting(const struct sandbox_provider *p, const char *key)
{
	const struct setting *row = p->settings;

	while (row && row->key && strcmp(row->key, key) != 0)
		row++;
	return row && row->key;
}

const char *place_expect(const struct sandbox_client *client, bool attaches)
{
	const struct sandbox_provider *p = client->provider;
	unsigned wanted = attaches ? SANDBOX_PLACED_AGAIN : SANDBOX_PLACED;
	struct error ignored = { 0 };
	const char *dir = NULL;

	if (p->flags & SANDBOX_UNNAMED)
		return ".";
	if (!(p->flags & ~client->lacks & wanted) ||
	    (has_setting(p, "workdir") &&
	     settings_directory(client->settings, p->name, "workdir", &dir,
				&ignored) < 0))
		return NULL;
	return dir ? dir : p->workdir;
}

bool place_is(const struct sandbox *sb, const char *expected)
{
	return !sb->mounts.n &&
	       (sb->client->provider->flags & SANDBOX_UNNAMED ||
		!strcmp(sandbox_tree_dir(sb), expected));
}
