/* none.c - no sandbox: commands run on the user's own machine. */
/* SPDX-License-Identifier: MIT */
/*
 * A command is a process of the user, with the user's environment except
 * dcode's own credentials (build_env()). Approval has decided before whether it
 * may run. Begin with none_execute().
 *
 * Commands are not isolated. The provider guarantees: if a command is cancelled
 * or times out, it is killed with all processes that it started, which are
 * found by a mark in their environment; and no command outlives a dcode that is
 * killed (struct orphans).
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/local/local.h"
#include "sandbox/quote.h"

enum {
	/* bytes without NUL; a limit of Linux (MAX_ARG_STRLEN) */
	COMMAND_MAX = (128 << 10) - 1,
	SCRIPT_MAX = 16 << 10,
	TOKEN = 16,   /* characters */
	END_MS = 500, /* wait for the guard process to end */
};

/* A small process (scripts/sandbox/none_guard.sh), started with the first
 * command. dcode reports each command's begin and end to it. When dcode's end
 * of the pipe closes, it kills the commands that still run. Processes that a
 * finished command left in the background are not killed, as after a normal end
 * of dcode. */
struct orphans {
	pthread_mutex_t lock;
	int fd;    /* dcode's end; -1: not started, or the start failed */
	pid_t pid; /* 0: not started yet; -1: the start failed */
};

static const unsigned char guard_sh[] = {
#include "scripts/sandbox/none_guard.sh.inc"
};

static const unsigned char kill_sh[] = {
#include "scripts/sandbox/supervise_kill.sh.inc"
};

static const unsigned char kill_tree_sh[] = {
#include "scripts/sandbox/supervise_kill_tree.sh.inc"
};

static void orphans_init(struct orphans *o)
{
	*o = (struct orphans){ .fd = -1 };
	pthread_mutex_init(&o->lock, NULL);
}

/* Starts the guard in a new session, so that a signal to dcode's process group
 * does not reach it. Called with the lock held. */
static void start_guard(struct orphans *o, const char *token)
{
	/* The scripts are passed in the environment: as arguments they would
	 * fill the output of ps. */
	struct buf guard = BUF_INIT(SCRIPT_MAX);
	struct buf killer = BUF_INIT(SCRIPT_MAX);
	char *argv[] = { "sh",          "-c",          "eval \"$GUARD\"",
			 "dcode-guard", (char *)token, NULL };
	char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
			NULL, NULL, NULL };
	int theirs[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .fds = theirs,
				  .nfds = 3,
				  .session = true };
	struct error ignored = { 0 };
	int fd[2];

	o->pid = -1;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return;
	buf_adds(&guard, "GUARD=");
	quote_script(&guard, SCRIPT(guard_sh));
	buf_adds(&killer, "KILL=");
	quote_script(&killer, SCRIPT(kill_sh));
	quote_script(&killer, SCRIPT(kill_tree_sh));
	env[1] = guard.ptr;
	env[2] = killer.ptr;
	theirs[0] = fd[0];
	if (proc_spawn(&spec, &o->pid, &ignored) == 0) {
		o->fd = fd[1];
	} else {
		o->pid = -1;
		close(fd[1]);
	}
	close(fd[0]);
	buf_release(&guard);
	buf_release(&killer);
}

/* Writes a line with the marker's number to the guard; pid 0: none. Errors are
 * ignored: commands must run even if somebody killed the guard. */
static void write_to_guard(const struct orphans *o, char what,
			   const char *marker, pid_t pid)
{
	const char *number = strrchr(marker, '-') + 1;
	char line[48];
	int len = pid ? snprintf(line, sizeof(line), "%c%s %ld\n", what, number,
				 (long)pid)
		      : snprintf(line, sizeof(line), "%c%s\n", what, number);

	if (o->fd >= 0)
		(void)!io_write(o->fd, line, (size_t)len);
}

/* Call before a command with DCODE_EXEC=TOKEN-NUMBER starts. */
static void orphans_begin(struct orphans *o, const char *token,
			  const char *marker)
{
	pthread_mutex_lock(&o->lock);
	if (!o->pid)
		start_guard(o, token);
	write_to_guard(o, '+', marker, 0);
	pthread_mutex_unlock(&o->lock);
}

/* Call with the command's DCODE_EXEC=TOKEN-NUMBER and its process, which leads
 * a session. */
static void orphans_started(void *arg, const char *marker, pid_t pid)
{
	struct orphans *o = arg;

	pthread_mutex_lock(&o->lock);
	write_to_guard(o, '=', marker, pid);
	pthread_mutex_unlock(&o->lock);
}

/* Call with the command's DCODE_EXEC=TOKEN-NUMBER when it has ended or was
 * killed. */
static void orphans_end(void *arg, const char *marker)
{
	struct orphans *o = arg;

	pthread_mutex_lock(&o->lock);
	write_to_guard(o, '-', marker, 0);
	pthread_mutex_unlock(&o->lock);
}

/* Ends the guard process. Call when no command runs. */
static void orphans_release(struct orphans *o)
{
	struct error ignored = { 0 };

	if (o->fd >= 0)
		close(o->fd);
	if (o->pid > 0) {
		struct pollfd p = { .fd = proc_fd(o->pid, &ignored),
				    .events = POLLIN };

		if (p.fd >= 0 && poll(&p, 1, END_MS) > 0)
			(void)waitpid(o->pid, NULL, WNOHANG);
		if (p.fd >= 0)
			close(p.fd);
	}
	pthread_mutex_destroy(&o->lock);
}

/* Commands of the model do not get dcode's own credentials: variables whose
 * names end as in secret_endings, those in secret_names, and all
 * DEEPAGENTS_CODE_*. All other variables (GITHUB_TOKEN, AWS_*, SSH_AUTH_SOCK,
 * ...) belong to the user's own tools and are passed on. */
static const char *const secret_endings[] = {
	"_API_KEY",    "_API_TOKEN",   "_TOKEN_ID",   "_TOKEN_SECRET",
	"_AUTH_TOKEN", "_OAUTH_TOKEN", "_OIDC_TOKEN", NULL,
};

static const char *const secret_names[] = {
	"DCODE_EXEC", /* set by an outer dcode, to find its processes */
	"DENO_DEPLOY_TOKEN",
	"VERCEL_TOKEN",
	NULL,
};

static const char own_prefix[] = "DEEPAGENTS_CODE_";

/* Variables that take precedence over EDITOR and PAGER, which the tool sets. */
static const char *const editor_names[] = {
	"AWS_PAGER",   "BAT_PAGER",   "BUNDLER_EDITOR", "BZR_EDITOR",
	"CVSEDITOR",   "DELTA_PAGER", "FCEDIT",         "GEM_EDITOR",
	"GH_EDITOR",   "GH_PAGER",    "HGEDITOR",       "JJ_EDITOR",
	"KUBE_EDITOR", "P4EDITOR",    "PSQL_EDITOR",    "PSQL_PAGER",
	"SUDO_EDITOR", "SVN_EDITOR",  "SYSTEMD_EDITOR", NULL,
};

struct none {
	struct pipe_reaper reaper;
	struct orphans orphans;
	char *bash; /* owned; NULL: not installed */
	char token[TOKEN + 1];
	atomic_uint count;
	pthread_mutex_t lock; /* guards env and n_env */
	/* The variables that commands get, those of editor_names last; owned.
	 * NULL until the first command. */
	char **env;
	size_t n_env; /* without those of editor_names */
};

/* Returns NAME of NAME=value. */
static struct str name_of(const char *variable)
{
	struct str s = str_of(variable);

	s.len = str_find(s, '=');
	return s;
}

static bool is_in_list(struct str name, const char *const *list)
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
	return is_in_list(name, secret_names) || str_starts(name, own_prefix);
}

/* Returns /bin/bash, as in sandboxes, else the bash on the user's PATH. Owned
 * by the caller, or NULL. */
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

/* Compares the names of two variables, NAME=value. */
static bool has_same_name(const char *a, const char *b)
{
	while (*a && *a != '=' && *a == *b) {
		a++;
		b++;
	}
	return (!*a || *a == '=') && (!*b || *b == '=');
}

static bool is_overridden(const char *variable, const char *const *env)
{
	for (size_t i = 0; env && env[i]; i++)
		if (has_same_name(variable, env[i]))
			return true;
	return false;
}

/* Moves the variables that editor_names lists to the end. Returns how many are
 * before them. */
static size_t sort_editors(char **env, size_t n)
{
	char **editors = xcalloc(n, sizeof(*editors));
	size_t n_editors = 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_in_list(name_of(env[i]), editor_names))
			editors[n_editors++] = env[i];
		else
			env[kept++] = env[i];
	}
	for (size_t i = 0; i < n_editors; i++)
		env[kept + i] = editors[i];
	free(editors);
	return kept;
}

/* Returns the exported variables without dcode's credentials. Built once, since
 * they do not change while dcode runs; owned by n. */
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
		n->n_env = sort_editors(n->env, kept);
	}
	pthread_mutex_unlock(&n->lock);
	return n->env;
}

/* Returns the user's variables, overridden by those of more. The marker comes
 * first, so that the search for a command's processes finds it without reading
 * the rest. The caller frees the array, not its strings. */
static char **build_env(struct none *n, const struct settings *set,
			char *marker, const char *const *more)
{
	static char level[] = "SHLVL=1";
	char **all = user_env(n, set);
	bool edits = !is_overridden("EDITOR=", more);
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
	for (size_t i = 0; all[i] && (edits || i < n->n_env); i++)
		if (!is_overridden(all[i], more))
			env[count++] = all[i];
	/* Without SHLVL, a bash that finds SSH_CLIENT assumes that sshd started
	 * it, and reads ~/.bashrc (an option of Debian's build). */
	if (!settings_exported(set, "SHLVL"))
		env[count++] = level;
	return env;
}

static int none_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	struct none *n = sb->client->priv;
	/* DCODE_EXEC in the environment of all its processes */
	char marker[64];
	char *command = xstrndup(req->command.ptr, req->command.len);
	bool bash = !req->plain && n->bash;
	char *argv[] = { bash ? "bash" : "sh", "-c", "--", command, NULL };
	char **env;
	int rc;

	/* All numbers have the same length, so that no marker is the beginning
	 * of another. */
	snprintf(marker, sizeof(marker), "DCODE_EXEC=%s-%010u", n->token,
		 atomic_fetch_add(&n->count, 1));
	env = build_env(n, sb->client->settings, marker, req->env);
	orphans_begin(&n->orphans, n->token, marker);
	rc = pump_program(
		&(struct pump_program){
			.spec = { .path = bash ? n->bash : "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .cwd = req->cwd ? req->cwd : sb->workdir,
				  .session = true,
				  .core = true },
			.marker = marker,
			.sb = sb,
			.reaper = &n->reaper,
			.started = orphans_started,
			.ended = orphans_end,
			.arg = &n->orphans },
		req, res, stop, err);
	free(command);
	free(env);
	return rc;
}

/* The id of --sandbox-id is ignored: there is only one machine. */
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
	.summary = "no sandbox: commands run on your own machine, after your "
		   "approval",
	.flags = SANDBOX_UNISOLATED | SANDBOX_LIVE | SANDBOX_STDIN,
	.max_command = COMMAND_MAX,
	.ops = &none_ops,
	.isolation = ISOLATION_NONE,
};
