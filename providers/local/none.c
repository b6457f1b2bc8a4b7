/* none.c - no sandbox: commands run on the user's own machine. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/local/local.h"
#include "providers/local/orphans.h"
#include "providers/local/pipes.h"

enum {
	COMMAND_MAX = (128 << 10) - 1, /* Linux, MAX_ARG_STRLEN, without NUL */
	TOKEN = 16,                    /* characters */
};

/*
 * The credentials of dcode itself stay out of what the model runs: variables
 * whose names end like this, these very ones, and all DEEPAGENTS_CODE_*.
 * Everything else of the user's (GITHUB_TOKEN, AWS_*, SSH_AUTH_SOCK, ...)
 * belongs to the user's own tools and is passed on.
 */
static const char *const secret_endings[] = {
	"_API_KEY",    "_API_TOKEN",   "_TOKEN_ID",   "_TOKEN_SECRET",
	"_AUTH_TOKEN", "_OAUTH_TOKEN", "_OIDC_TOKEN", NULL,
};
static const char *const secret_names[] = {
	"DCODE_EXEC", /* the marker of a dcode around us */
	"DENO_DEPLOY_TOKEN",
	"VERCEL_TOKEN",
	NULL,
};
static const char own_prefix[] = "DEEPAGENTS_CODE_";

/* Without these the programs take EDITOR, which the tool sets. */
static const char *const editor_names[] = {
	"CVSEDITOR", "FCEDIT",      "HGEDITOR",   "JJ_EDITOR", "KUBE_EDITOR",
	"P4EDITOR",  "SUDO_EDITOR", "SVN_EDITOR", NULL,
};

struct none {
	struct pipe_reaper reaper;
	struct orphans orphans;
	char *bash; /* owned; NULL: there is none */
	char token[TOKEN + 1];
	atomic_uint count;
	pthread_mutex_t lock; /* for env */
	char **env;           /* owned; NULL until the first command */
};

static struct str name_of(const char *variable)
{
	struct str s = str_of(variable);

	s.len = str_find(s, '=');
	return s;
}

static bool is_among(struct str name, const char *const *list)
{
	for (size_t i = 0; list[i]; i++)
		if (str_is(name, list[i]))
			return true;
	return false;
}

static bool is_secret(struct str name)
{
	for (size_t i = 0; secret_endings[i]; i++)
		if (str_ends(name, secret_endings[i]))
			return true;
	return is_among(name, secret_names) || str_starts(name, own_prefix);
}

/* The same one that sandboxes have, where it is. */
static char *find_bash(const struct settings *set)
{
	if (access("/bin/bash", X_OK) == 0)
		return xstrdup("/bin/bash");
	return proc_find("bash", settings_exported(set, "PATH"));
}

static int none_open(struct sandbox_client *client, const struct settings *set,
		     struct error *err)
{
	struct none *n = xcalloc(1, sizeof(*n));

	(void)err;
	n->bash = find_bash(set);
	ids_random(n->token, TOKEN);
	pthread_mutex_init(&n->lock, NULL);
	pipe_reaper_init(&n->reaper);
	orphans_init(&n->orphans);
	client->priv = n;
	return 0;
}

static void none_close(struct sandbox_client *client)
{
	struct none *n = client->priv;

	if (!n)
		return;
	pipe_reaper_release(&n->reaper);
	orphans_release(&n->orphans);
	free(n->bash);
	if (n->env)
		settings_environ_free(n->env);
	pthread_mutex_destroy(&n->lock);
	free(n);
	client->priv = NULL;
}

static int none_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	(void)spec;
	(void)stop;
	(void)err;
	if (!sb->id)
		sb->id = xstrdup("none");
	if (!sb->workdir)
		sb->workdir = xstrdup(settings_cwd(sb->client->settings));
	return 0;
}

static int none_remove(struct sandbox_client *client, const char *id,
		       const struct stop *stop, struct error *err)
{
	(void)client;
	(void)id;
	(void)stop;
	(void)err;
	return 0;
}

static void none_discard(struct sandbox *sb)
{
	sb->priv = NULL;
}

static bool overridden(const char *variable, const char *const *env)
{
	struct str name = name_of(variable);

	for (size_t i = 0; env && env[i]; i++)
		if (str_eq(name, name_of(env[i])))
			return true;
	return false;
}

/* The exported variables without dcode's own keys, found once: they do not
 * change while dcode runs. Owned by n. */
static char **user_env(struct none *n, const struct settings *set)
{
	size_t kept = 0;

	pthread_mutex_lock(&n->lock);
	if (!n->env) {
		n->env = settings_environ_exported(set);
		for (size_t i = 0; n->env[i]; i++) {
			if (is_secret(name_of(n->env[i]))) {
				sodium_memzero(n->env[i], strlen(n->env[i]));
				free(n->env[i]);
			} else {
				n->env[kept++] = n->env[i];
			}
		}
		n->env[kept] = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	return n->env;
}

/* The user's variables, over which those of more take precedence. The marker
 * comes first, where a search finds it soonest. The array is the caller's, its
 * strings are borrowed. */
static char **build_env(struct none *n, const struct settings *set,
			char *marker, const char *const *more)
{
	static char level[] = "SHLVL=1";
	char **all = user_env(n, set);
	bool edits = !overridden("EDITOR=", more);
	char **env;
	size_t room = 3;
	size_t count = 0;

	for (size_t i = 0; more && more[i]; i++)
		room++;
	for (size_t i = 0; all[i]; i++)
		room++;
	env = xcalloc(room, sizeof(*env));
	env[count++] = marker;
	for (size_t i = 0; more && more[i]; i++)
		env[count++] = (char *)more[i];
	for (size_t i = 0; all[i]; i++)
		if (!overridden(all[i], more) &&
		    (edits || !is_among(name_of(all[i]), editor_names)))
			env[count++] = all[i];
	/* Without it a bash that finds SSH_CLIENT takes itself for the one that
	 * sshd began, and reads ~/.bashrc (built so by Debian). */
	if (!settings_exported(set, "SHLVL"))
		env[count++] = level;
	return env;
}

static int none_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	struct none *n = sb->client->priv;
	char marker[64]; /* in the environment of all that it starts */
	char number[16];
	char *command = xstrndup(req->command.ptr, req->command.len);
	bool bash = !req->plain && n->bash;
	char *argv[] = { bash ? "bash" : "sh", "-c", "--", command, NULL };
	char **env;
	int rc;

	/* All of one length: none begins another one's mark. */
	snprintf(number, sizeof(number), "%010u",
		 atomic_fetch_add(&n->count, 1));
	snprintf(marker, sizeof(marker), "DCODE_EXEC=%s-%s", n->token, number);
	env = build_env(n, sb->client->settings, marker, req->env);
	orphans_begin(&n->orphans, n->token, number);
	rc = pump_program(
		&(struct pump_program){
			.spec = { .path = bash ? n->bash : "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .cwd = req->cwd ? req->cwd : sb->workdir,
				  .session = true,
				  .core = true },
			.marker = marker,
			.reaper = &n->reaper },
		req, res, stop, err);
	orphans_end(&n->orphans, number);
	free(command);
	free(env);
	return rc;
}

static int none_attach(struct sandbox *sb, const char *id,
		       const struct stop *stop, struct error *err)
{
	(void)id;
	return none_create(sb, NULL, stop, err);
}

static void none_facts(const struct sandbox_client *client,
		       struct sandbox_facts *f)
{
	const struct none *n = client->priv;

	facts_here(f, NULL);
	snprintf(f->shell, sizeof(f->shell), "%s", n->bash ? "bash" : "sh");
}

static const struct sandbox_ops none_ops = {
	.facts = none_facts,
	.open = none_open,
	.close = none_close,
	.create = none_create,
	.attach = none_attach,
	.execute = none_execute,
	.remove = none_remove,
	.discard = none_discard,
};

const struct sandbox_provider none_provider = {
	.name = "none",
	.summary = "no sandbox: your own machine, behind approval",
	.flags = SANDBOX_UNISOLATED | SANDBOX_LIVE | SANDBOX_STDIN,
	.max_command = COMMAND_MAX,
	.ops = &none_ops,
	.isolation = ISOLATION_NONE,
};
