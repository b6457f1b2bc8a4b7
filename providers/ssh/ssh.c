/* ssh.c - the provider "ssh": directories on a host that ssh can reach. */
/* SPDX-License-Identifier: MIT */
/*
 * A sandbox is a directory ~/dcode/LABEL on the host. One script
 * (scripts/sandbox/ssh_box.sh) creates, lists, stops and removes sandboxes; it
 * is sent over the connection of connect.c. Begin with call_script() and
 * ssh_create(). Commands run under the supervisor (src/sandbox/supervise). With
 * isolate they run in bubblewrap or Podman on the host (add_wrapped()).
 *
 * An id without a label means the host itself. dcode then works in a directory
 * of the user, creates no sandbox in it, and leaves nothing behind except what
 * commands wrote.
 */
#include "providers/ssh/ssh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/kit/lease.h"
#include "sandbox/quote.h"
#include "sandbox/setup/setup.h"

enum {
	LIFETIME_S = 24 * 3600,
	LOGIN_MS = 60000,
	COMMAND_MAX = 1 << 20,
	WRAPPED_MAX = 8 << 20,
	ARGUMENT_MAX = 100000, /* bytes; Linux allows 128 KiB in one argument */
	CHECK_MS = 600000,     /* ms; podman may have to pull its image */
	ANSWER_MAX = 1 << 20,
	SCRIPT_MAX = 256 << 10,
	REQUEST_MS = 60000,
	LEAVE_MS = 3000,
	JOBS_MAX = 64 << 10, /* bytes of the names of jobs */
};

/* A sandbox's id, split. */
struct ssh_name {
	char host[SSH_HOST];
	char label[SSH_LABEL]; /* "": the host itself */
};

struct ssh_box { /* sandbox.priv points to it */
	struct ssh_name name;
	struct held *held;    /* owned by the client */
	bool offline;         /* commands have no network */
	pthread_mutex_t lock; /* guards jobs */
	/* Only for the host itself: the names of the jobs that ran on it, with
	 * a space before each. */
	struct buf jobs;
};

static const struct setting ssh_settings[] = {
	{ .key = "host",
	  .example = "\"me@box.example.org\"",
	  .type = SETTING_STRING,
	  .help = "host, as for ssh: user@host, or a Host of ~/.ssh/config" },
	{ .key = "workdir",
	  .example = "\"/srv/work\"",
	  .type = SETTING_STRING,
	  .help = "existing directory on the host to work in, never removed "
		  "(default: a new ~/dcode/LABEL for each sandbox)" },
	{ .key = "isolate",
	  .example = "\"podman\"",
	  .type = SETTING_STRING,
	  .help = "bwrap or podman: isolate each command with this program "
		  "of the host (default: no isolation)" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"docker.io/library/debian:stable-slim\"",
	  .help = "image for isolate = \"podman\"" },
	{ .key = "config",
	  .example = "\"/home/me/.ssh/dcode\"",
	  .type = SETTING_STRING,
	  .help = "ssh configuration to use instead of ~/.ssh/config" },
	{ 0 },
};

/* True for "dcode-" followed by lower-case letters or digits, fewer than
 * SSH_LABEL bytes in all. Every label of struct sandbox_spec has this form. */
static bool is_label(const char *s)
{
	return !strncmp(s, "dcode-", 6) && strlen(s) < SSH_LABEL && s[6] &&
	       !s[6 + strspn(s + 6, "abcdefghijklmnopqrstuvwxyz0123456789")];
}

/* Parses "HOST/LABEL", "HOST", or "LABEL" on the configured host. */
static int parse_id(const struct ssh_client *c, const char *id,
		    struct ssh_name *name, struct error *err)
{
	const char *slash = strrchr(id, '/');
	const char *label = slash ? slash + 1 : id;
	size_t len = slash ? (size_t)(slash - id) : 0;

	*name = (struct ssh_name){ 0 };
	if (!is_label(label)) {
		snprintf(name->host, sizeof(name->host), "%s", id);
		return ssh_check_host(id, err);
	}
	snprintf(name->label, sizeof(name->label), "%s", label);
	if (slash)
		snprintf(name->host, sizeof(name->host), "%.*s",
			 (int)(len < SSH_HOST ? len : SSH_HOST), id);
	else if (c->host)
		snprintf(name->host, sizeof(name->host), "%s", c->host);
	else
		return error_set(err, ERR_USAGE,
				 "no host in '%s': write HOST/%s, or set host "
				 "in [sandboxes.providers.ssh.params]",
				 id, id);
	return ssh_check_host(name->host, err);
}

static int check_isolate(const struct ssh_client *c, struct error *err)
{
	if (!c->isolate || !strcmp(c->isolate, "bwrap") ||
	    !strcmp(c->isolate, "podman"))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "isolate = \"%.40s\" must be bwrap or podman",
			 c->isolate);
}

static int read_settings(struct ssh_client *c, const struct settings *set,
			 struct error *err)
{
	if (settings_string(set, "ssh", "host", &c->host, err) < 0 ||
	    settings_directory(set, "ssh", "workdir", &c->workdir, err) < 0 ||
	    settings_string(set, "ssh", "isolate", &c->isolate, err) < 0 ||
	    settings_string(set, "ssh", "image", &c->image, err) < 0 ||
	    settings_string(set, "ssh", "config", &c->config, err) < 0 ||
	    check_isolate(c, err) < 0)
		return -1;
	return c->host ? ssh_check_host(c->host, err) : 0;
}

static enum sandbox_isolation isolation_of(const struct ssh_client *c)
{
	if (!c->isolate)
		return ISOLATION_NONE;
	return strcmp(c->isolate, "bwrap") ? ISOLATION_CONTAINER
					   : ISOLATION_NAMESPACES;
}

static void ssh_close(struct sandbox_client *client)
{
	struct ssh_client *c = client->priv;

	if (!c)
		return;
	while (c->hosts) {
		struct ssh_host *h = c->hosts;

		c->hosts = h->next;
		held_free(h->held);
		free(h->name);
		free(h);
	}
	pthread_mutex_destroy(&c->lock);
	free(c->program);
	free(c);
	client->priv = NULL;
}

static int ssh_open(struct sandbox_client *client, const struct settings *set,
		    struct error *err)
{
	struct ssh_client *c = xcalloc(1, sizeof(*c));

	c->settings = set;
	c->start_ms = sandbox_start_ms(client, LOGIN_MS);
	pthread_mutex_init(&c->lock, NULL);
	client->priv = c;
	if (read_settings(c, set, err) < 0)
		return -1;
	c->program = proc_find("ssh", settings_exported(set, "PATH"));
	if (!c->program) {
		error_set(err, ERR_CONFIG, "ssh is not installed");
		return error_hint(err, "Run apt-get install openssh-client.");
	}
	client->endpoint = c->host;
	client->isolation = isolation_of(c);
	/* Isolated commands do not need individual approval. */
	client->lacks |=
		c->isolate ? SANDBOX_SHARED | SANDBOX_LEAVES : SANDBOX_NETWORK;
	return 0;
}

/*
 * Adds the arguments of bubblewrap. A command may read the whole host except
 * the home directory and /run, where keys and sockets are. It may write the
 * working directory, and the sandbox's own home and /tmp. It has no
 * capabilities and sees only its own processes.
 */
static void add_bwrap(const struct sandbox *sb, struct buf *out)
{
	const struct ssh_box *box = sb->priv;

	buf_adds(out, "exec bwrap --unshare-all --die-with-parent "
		      "--cap-drop ALL --ro-bind / / --dev /dev --proc /proc "
		      "--tmpfs /run --ro-bind-try /run/systemd/resolve "
		      "/run/systemd/resolve --bind ");
	buf_addf(out,
		 "\"$HOME/dcode/.tmp.%s/all\" /tmp --bind "
		 "\"$HOME/dcode/.home.%s\" \"$HOME\" --bind ",
		 box->name.label, box->name.label);
	quote_word(out, str_of(sb->workdir));
	buf_addc(out, ' ');
	quote_word(out, str_of(sb->workdir));
	if (!box->offline)
		buf_adds(out, " --share-net");
	buf_adds(out, " --chdir \"$PWD\" -- ");
}

/*
 * Adds the arguments of podman. They contain only the names of variables; the
 * values stay in the environment.
 */
static void add_podman(const struct sandbox *sb, const char *const *env,
		       bool terminal, struct buf *out)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;

	buf_adds(out, "exec podman run --rm -i ");
	buf_adds(out, terminal ? "-t " : "");
	buf_adds(out, "--env DCODE_EXEC --network ");
	buf_adds(out, box->offline ? "none" : "host");
	for (; env && *env; env++) {
		struct str name = str_of(*env);

		name.len = str_find(name, '=');
		buf_adds(out, " --env ");
		quote_word(out, name);
	}
	buf_addf(out,
		 " --label dcode=%s -v \"$HOME/dcode/.tmp.%s/all:/tmp\" -v ",
		 box->name.label, box->name.label);
	quote_word(out, str_of(sb->workdir));
	buf_addc(out, ':');
	quote_word(out, str_of(sb->workdir));
	buf_adds(out, " -w \"$PWD\" ");
	quote_word(out, str_of(c->image));
	buf_addc(out, ' ');
}

/*
 * Adds the command as the last argument. A command that is too long for one
 * argument is sent on standard input. child: a sh remains as the command's
 * parent, since the first process of a container cannot be killed from inside.
 */
static void add_command(const struct exec_request *req, bool child,
			struct buf *out)
{
	static const char shell[] =
		"s=sh; [ -n \"$1\" ] && command -v bash >/dev/null && s=bash\n"
		"e=" SETUP_ENV_FILE ".${DCODE_EXEC#*.}\n"
		"[ -z \"$1\" ] || [ ! -O \"$e\" ] || . \"$e\"\n";
	struct buf text = BUF_INIT(4096);
	bool long_one = req->command.len > ARGUMENT_MAX;

	if (req->aside)
		facts_add_script(&text, req->aside);
	buf_adds(&text, shell);
	buf_adds(&text, long_one ? "c=$(cat; echo x)\n"
				   "exec 0</dev/null\neval \"${c%x}\""
			: child  ? "\"$s\" -c \"$2\"; exit"
				 : "exec \"$s\" -c \"$2\"");
	buf_adds(out, "sh -c ");
	quote_word(out, buf_str(&text));
	buf_adds(out, req->plain ? " sh '' " : " sh 1 ");
	if (!long_one)
		quote_word(out, req->command);
	buf_release(&text);
}

/* Adds the arguments that run req in bubblewrap or podman. */
static void add_wrapped(const struct sandbox *sb,
			const struct exec_request *req, struct buf *out)
{
	const struct ssh_client *c = sb->client->priv;
	bool in_podman = !strcmp(c->isolate, "podman");

	if (in_podman)
		add_podman(sb, req->env, req->terminal != NULL, out);
	else
		add_bwrap(sb, out);
	add_command(req, in_podman, out);
}

/* Implements supervisor.call for the host itself. */
static int call_box(void *arg, struct str text, int64_t wait_ms,
		    struct buf *out, const struct stop *stop, struct error *err)
{
	const struct ssh_box *box = arg;

	return held_call_job(box->held, text, wait_ms, out, stop, err);
}

/*
 * Implements supervisor.began: stores the job's name, since ssh_discard() must
 * remove its files.
 */
static void store_job(void *arg, const char *job)
{
	struct ssh_box *box = arg;

	pthread_mutex_lock(&box->lock);
	if (box->jobs.max - box->jobs.len > SUPERVISE_JOB + 1)
		buf_addf(&box->jobs, " %s", job);
	pthread_mutex_unlock(&box->lock);
}

/* Runs a command under the supervisor, isolated if that is configured. */
static int ssh_execute(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	struct ssh_box *box = sb->priv;
	struct supervisor s = held_supervisor(box->held);
	struct exec_request own = *req;
	struct buf text = BUF_INIT(WRAPPED_MAX);
	int rc = 0;

	if (box->name.label[0]) {
		s.owner = box->name.label;
	} else {
		s.call = call_box;
		s.began = store_job;
		s.arg = box;
	}
	if (c->isolate) {
		add_wrapped(sb, req, &text);
		own.command = buf_str(&text);
		own.aside = NULL;
		if (req->command.len > ARGUMENT_MAX)
			own.input = req->command;
		rc = buf_check(&text, "the command", err);
	}
	if (rc == 0)
		rc = supervise_execute(sb, &own, res, &s, stop, err);
	buf_release(&text);
	return rc;
}

/* Implements sandbox_ops.shell. DCODE_EXEC marks its processes, as it does
 * those of the supervisor: removing the sandbox ends them. */
static int ssh_shell(struct sandbox *sb, const struct exec_request *req,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;
	struct exec_request own = *req;
	struct buf text = BUF_INIT(WRAPPED_MAX);
	char name[SUPERVISE_JOB + 1];
	int rc;

	ids_random(name, SUPERVISE_JOB);
	buf_adds(&text, "cd -- ");
	quote_word(&text, str_of(sb->workdir));
	buf_addf(&text, " || exit; export DCODE_EXEC=%s%s%s", name,
		 box->name.label[0] ? "." : "", box->name.label);
	for (const char *const *e = req->env; e && *e; e++) {
		buf_addc(&text, ' ');
		quote_word(&text, str_of(*e));
	}
	buf_adds(&text, "\n");
	if (c->isolate)
		add_wrapped(sb, req, &text);
	else
		add_command(req, false, &text);
	own.command = buf_str(&text);
	rc = ssh_run(c, box->name.host, &own, res, stop, err);
	buf_release(&text);
	return rc;
}

/* Checks that the configured isolation works on the host. */
static int ssh_check_isolation(const struct sandbox *sb,
			       const struct stop *stop, struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;
	const struct exec_request req = { .command = STR("echo isolated") };
	struct stop limit = stop_within(stop, CHECK_MS);
	struct buf text = BUF_INIT(WRAPPED_MAX);
	struct buf out = BUF_INIT(64 << 10);
	struct str said;
	int rc;

	if (!c->isolate)
		return 0;
	if (!box->name.label[0])
		return error_set(err, ERR_USAGE,
				 "isolate works only with a sandbox that dcode "
				 "creates, not with --sandbox-id HOST");
	buf_addf(&text,
		 "(umask 077; mkdir -p \"$HOME/dcode/.home.%s\" "
		 "\"$HOME/dcode/.tmp.%s/all\") && chmod 1777 "
		 "\"$HOME/dcode/.tmp.%s/all\" && cd ",
		 box->name.label, box->name.label, box->name.label);
	quote_word(&text, str_of(sb->workdir));
	buf_adds(&text, " && (");
	add_wrapped(sb, &req, &text);
	buf_adds(&text, ")");
	rc = held_call(box->held, buf_str(&text), 0, &out, &limit, err);
	said = str_trim(buf_str(&out));
	if (rc == 0 && !str_ends(said, "isolated")) {
		if (said.len > 300)
			said = str_skip(said, said.len - 300);
		error_set(err, ERR_CONFIG, "%s does not work on %s: %.*s",
			  c->isolate, box->name.host, (int)said.len,
			  said.len ? said.ptr : "");
		rc = error_hint(err, "Set it up there, or leave out isolate.");
	}
	buf_release(&text);
	buf_release(&out);
	return rc;
}

static const unsigned char remove_sh[] = {
#include "scripts/sandbox/private_remove.sh.inc"
};

static const unsigned char box_sh[] = {
#include "scripts/sandbox/ssh_box.sh.inc"
};

/* One request to ssh_box.sh. */
struct box_request {
	const char *op;
	struct ssh_name name;
	/* for list: only sandboxes of this owner; NULL: all */
	const char *owner;
	/* for list: only the sandbox with this label; NULL: all */
	const char *label;
	const char *dir;
	const char *need;
	const char *jobs;
	/* commands have no network; read_workdir() can also set it */
	bool offline;
	struct buf answer;
};

struct found_info {
	const struct info_sink *sink;
	bool found;
};

/* Handles the script's line "fail WORD ...". Always returns -1. */
static int explain_failure(const struct box_request *r, struct str rest,
			   struct error *err)
{
	struct str word = { 0 };
	struct buf why = BUF_INIT(400);
	int rc;

	(void)str_split(&rest, ' ', &word);
	sanitize_line(rest, &why);
	if (str_is(word, "none")) {
		rc = error_set(err, ERR_NOT_FOUND, "unknown sandbox %s on %s",
			       r->name.label, r->name.host);
	} else if (str_is(word, "directory")) {
		rc = error_set(err, ERR_CONFIG,
			       "cannot enter the directory %s on %s",
			       why.ptr ? why.ptr : "", r->name.host);
	} else if (str_is(word, "program")) {
		error_set(err, ERR_CONFIG, "%s is not installed on %s",
			  why.ptr ? why.ptr : "", r->name.host);
		rc = error_hint(err, "Install it there, or leave out isolate.");
	} else if (str_is(word, "home")) {
		rc = error_set(err, ERR_CONFIG,
			       "HOME on %s is not an absolute path without "
			       "line breaks",
			       r->name.host);
	} else if (str_is(word, "alive")) {
		rc = error_set(err, ERR_REMOTE,
			       "a process of %s on %s does not end",
			       r->name.label, r->name.host);
	} else {
		rc = error_set(err, ERR_REMOTE, "%s: %s", r->name.host,
			       why.ptr ? why.ptr : "");
	}
	buf_release(&why);
	return rc;
}

/*
 * Finds the next line "@ssh:WORD rest". Skips other lines, which the login may
 * have printed.
 */
static bool next_line(struct str *all, struct str *word, struct str *rest)
{
	struct str line;

	while (str_split(all, '\n', &line)) {
		if (!str_starts(line, "@ssh:"))
			continue;
		*rest = str_skip(line, strlen("@ssh:"));
		if (!str_split(rest, ' ', word))
			*word = (struct str){ 0 };
		return true;
	}
	return false;
}

/* Runs text on the host and releases text. The caller releases r->answer.
 * Returns -1 also if the answer reports a failure. */
static int call_host(struct ssh_client *c, struct box_request *r,
		     struct buf *text, const struct stop *stop,
		     struct error *err)
{
	struct held *held = ssh_held(c, r->name.host, err);
	struct stop limit = stop_within(stop, REQUEST_MS);
	struct str word;
	struct str rest;
	struct str all;
	int rc = -1;

	r->answer = BUF_INIT(ANSWER_MAX);
	if (held)
		rc = held_call(held, buf_str(text), 0, &r->answer, &limit, err);
	buf_release(text);
	all = buf_str(&r->answer);
	if (rc == 0 && next_line(&all, &word, &rest) && str_is(word, "fail"))
		rc = explain_failure(r, rest, err);
	return rc;
}

/* Like call_host(), with ssh_box.sh, the script about sandboxes. */
static int call_script(struct ssh_client *c, struct box_request *r,
		       const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(SCRIPT_MAX);

	quote_assign(&text, "b_op", str_of(r->op));
	quote_assign(&text, "b_label", str_of(r->name.label));
	quote_assign(&text, "b_owner", str_of(r->owner));
	quote_assign(&text, "b_dir", str_of(r->dir));
	quote_assign(&text, "b_need", str_of(r->need));
	quote_assign(&text, "b_jobs", str_of(r->jobs));
	quote_assign(&text, "b_offline", str_of(r->offline ? "1" : ""));
	quote_script(&text, SCRIPT(remove_sh));
	quote_script(&text, SCRIPT(box_sh));
	return call_host(c, r, &text, stop, err);
}

/* Sets the working directory from the script's answer. */
static int read_workdir(struct sandbox *sb, struct box_request *r,
			struct error *err)
{
	struct str all = buf_str(&r->answer);
	struct str word = { 0 };
	struct str rest = { 0 };
	bool more = next_line(&all, &word, &rest);

	if (more && str_is(word, "offline")) {
		r->offline = true;
		more = next_line(&all, &word, &rest);
	}
	if (!more || !str_is(word, "at") || !str_starts(rest, "/"))
		return error_set(err, ERR_PROTOCOL, "%s sent an invalid answer",
				 r->name.host);
	free(sb->workdir);
	sb->workdir = xstrndup(rest.ptr, rest.len);
	return 0;
}

/* Creates sandbox.priv, or updates it. */
static void make_box(struct sandbox *sb, const struct ssh_name *name,
		     bool offline, struct held *held)
{
	struct ssh_box *box = sb->priv;

	if (!box) {
		box = xcalloc(1, sizeof(*box));
		box->jobs = BUF_INIT(JOBS_MAX);
		pthread_mutex_init(&box->lock, NULL);
		sb->priv = box;
	}
	box->name = *name;
	box->held = held;
	box->offline = offline;
}

/*
 * Frees sandbox.priv. If the sandbox is the host itself, also removes the files
 * that its ended commands left behind.
 */
static void ssh_discard(struct sandbox *sb)
{
	struct ssh_box *box = sb->priv;
	const struct stop stop = stop_cleanup(LEAVE_MS);
	struct error ignored = { 0 };

	if (!box)
		return;
	if (box->jobs.len) {
		struct box_request r = { .op = "leave",
					 .name = box->name,
					 .jobs = box->jobs.ptr };

		(void)call_script(sb->client->priv, &r, &stop, &ignored);
		buf_release(&r.answer);
	}
	buf_release(&box->jobs);
	pthread_mutex_destroy(&box->lock);
	free(box);
	sb->priv = NULL;
}

/* Sets sb->id to HOST/LABEL, or HOST. */
static void set_id(struct sandbox *sb, const struct ssh_name *name)
{
	free(sb->id);
	sb->id = name->label[0] ? xasprintf("%s/%s", name->host, name->label)
				: xstrdup(name->host);
}

/* True if ssh failed before the login, so that nothing was made on the host. */
static bool is_before_login(const struct error *err)
{
	return err->code == ERR_AUTH || err->code == ERR_CONFIG ||
	       err->code == ERR_USAGE || err->code == ERR_UNREACHABLE;
}

static int ssh_create(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct box_request r = { .op = "create",
				 .owner = spec->owner,
				 .dir = c->workdir,
				 .need = c->isolate,
				 .offline =
					 spec->network->mode == NETWORK_NONE };
	int rc;

	if (!c->host) {
		error_set(err, ERR_CONFIG, "no host is set");
		err->nothing_made = true;
		return error_hint(err, "Set host = \"user@host\" in "
				       "[sandboxes.providers.ssh.params] of "
				       "~/.deepagents/config.toml.");
	}
	rc = parse_id(c, spec->label, &r.name, err);
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	rc = call_script(c, &r, stop, err);
	if (rc < 0)
		err->nothing_made = err->nothing_made || is_before_login(err);
	if (rc == 0 || err->code == ERR_REMOTE)
		set_id(sb, &r.name);
	if (rc == 0)
		rc = read_workdir(sb, &r, err);
	if (rc == 0) {
		make_box(sb, &r.name, r.offline, ssh_held(c, r.name.host, err));
		rc = ssh_check_isolation(sb, stop, err);
	}
	buf_release(&r.answer);
	return rc;
}

/*
 * Attaches to the host itself. The working directory is that of the settings,
 * or the home directory.
 */
static int attach_host(struct sandbox *sb, struct box_request *r,
		       const struct stop *stop, struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct buf text = BUF_INIT(SCRIPT_MAX);

	quote_assign(&text, "b_dir", str_of(c->workdir));
	buf_adds(&text, "b_dir=${b_dir:-${HOME:-/}}\n"
			"cd \"$b_dir\" 2>/dev/null && printf '@ssh:at %s\\n' "
			"\"$(pwd -P)\" || printf '@ssh:fail directory %s\\n' "
			"\"$b_dir\"\n");
	return call_host(c, r, &text, stop, err);
}

static int ssh_attach(struct sandbox *sb, const char *id,
		      const struct stop *stop, struct error *err)
{
	struct ssh_client *c = sb->client->priv;
	struct box_request r = { .op = "attach", .need = c->isolate };
	int rc = parse_id(c, id, &r.name, err);

	if (rc == 0 && r.name.label[0])
		rc = call_script(c, &r, stop, err);
	else if (rc == 0)
		rc = attach_host(sb, &r, stop, err);
	if (rc == 0)
		rc = read_workdir(sb, &r, err);
	if (rc == 0) {
		set_id(sb, &r.name);
		make_box(sb, &r.name, r.offline, ssh_held(c, r.name.host, err));
		rc = ssh_check_isolation(sb, stop, err);
	}
	buf_release(&r.answer);
	return rc;
}

/* Reports a sandbox from "LABEL OWNER SINCE STATE". */
static void report_box(const struct box_request *r, struct str rest,
		       const struct info_sink *sink)
{
	struct str part[4] = { 0 };
	struct ssh_name name = r->name;
	char who[64];
	char *id;
	struct sandbox_info info = { .image = "" };

	for (size_t i = 0; i < 4; i++)
		(void)str_split(&rest, ' ', &part[i]);
	if (part[0].len >= sizeof(name.label) || part[1].len >= sizeof(who) ||
	    !str_starts(part[0], "dcode-") || !str_is_visible(part[0]))
		return;
	snprintf(name.label, sizeof(name.label), "%.*s", (int)part[0].len,
		 part[0].ptr);
	snprintf(who, sizeof(who), "%.*s", (int)part[1].len,
		 str_is(part[1], "-") ? "" : part[1].ptr);
	if ((r->label && strcmp(r->label, name.label) != 0) ||
	    (r->owner && strcmp(r->owner, who) != 0))
		return;
	id = xasprintf("%s/%s", name.host, name.label);
	info.id = id;
	info.label = name.label;
	info.owner = who;
	info.state = str_is(part[3], "stopped") ? STATE_STOPPED : STATE_RUNNING;
	(void)str_to_int(part[2], &info.created);
	info_emit(sink, &info);
	free(id);
}

/* Requests all sandboxes of the host, and reports those that r selects. */
static int each_box(struct ssh_client *c, struct box_request *r,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err)
{
	int rc = call_script(c, r, stop, err);
	struct str all = buf_str(&r->answer);
	struct str word;
	struct str rest;

	while (rc == 0 && next_line(&all, &word, &rest))
		if (str_is(word, "box"))
			report_box(r, rest, sink);
	buf_release(&r->answer);
	return rc;
}

static int ssh_list(struct sandbox_client *client, const char *owner,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err)
{
	struct ssh_client *c = client->priv;
	struct box_request r = { .op = "list", .owner = owner };

	if (!c->host)
		return 0;
	snprintf(r.name.host, sizeof(r.name.host), "%s", c->host);
	return each_box(c, &r, sink, stop, err);
}

static void pass_info(void *arg, const struct sandbox_info *info)
{
	struct found_info *n = arg;

	n->found = true;
	info_emit(n->sink, info);
}

static int ssh_info(struct sandbox_client *client, const char *id,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err)
{
	struct ssh_client *c = client->priv;
	struct box_request r = { .op = "list" };
	struct found_info n = { .sink = sink };
	const struct info_sink counting = { pass_info, &n };
	int rc = parse_id(c, id, &r.name, err);

	if (rc < 0)
		return -1;
	r.label = r.name.label;
	if (r.label[0])
		rc = each_box(c, &r, &counting, stop, err);
	if (rc == 0 && !n.found)
		rc = error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", id);
	return rc;
}

/* Stops or removes a sandbox. Returns 1 if the sandbox does not exist. */
static int end_box(struct sandbox_client *client, const char *op,
		   const char *id, const struct stop *stop, struct error *err)
{
	struct ssh_client *c = client->priv;
	struct box_request r = { .op = op };
	struct error why = { 0 };
	int rc = parse_id(c, id, &r.name, err);

	if (rc < 0)
		return -1;
	if (!r.name.label[0])
		return error_set(err, ERR_USAGE,
				 "%s is a host, not a sandbox that dcode made",
				 id);
	rc = call_script(c, &r, stop, &why);
	buf_release(&r.answer);
	if (rc == 0 || why.code == ERR_NOT_FOUND)
		return rc < 0;
	*err = why;
	return -1;
}

static int ssh_stop(struct sandbox_client *client, const char *id,
		    int64_t *keep_s, const struct stop *stop, struct error *err)
{
	*keep_s = 0;
	return end_box(client, "stop", id, stop, err);
}

static int ssh_remove(struct sandbox_client *client, const char *id,
		      const struct stop *stop, struct error *err)
{
	return end_box(client, "remove", id, stop, err);
}

/* Implements port_ops.dial. */
static int dial_host(struct sandbox *sb, unsigned port, struct port_link *link,
		     const struct stop *stop, struct error *err)
{
	const struct ssh_client *c = sb->client->priv;
	const struct ssh_box *box = sb->priv;

	(void)stop;
	if (c->isolate || box->offline)
		return error_set(
			err, ERR_USAGE,
			"each command there has its own network, which "
			"ends with the command: dcode cannot reach "
			"its ports");
	return ssh_dial(c, box->name.host, port, link, err);
}

static const struct port_ops port_ops = { .dial = dial_host };

static const struct sandbox_ops ops = {
	.open = ssh_open,
	.close = ssh_close,
	.create = ssh_create,
	.attach = ssh_attach,
	.list = ssh_list,
	.info = ssh_info,
	.ports = &port_ops,
	.execute = ssh_execute,
	.shell = ssh_shell,
	.stop = ssh_stop,
	.remove = ssh_remove,
	.discard = ssh_discard,
};

const struct sandbox_provider ssh_provider = {
	.name = "ssh",
	.summary = "directories on your own host, over ssh",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_NETWORK |
		 SANDBOX_LIST | SANDBOX_STAYS | SANDBOX_SHARED |
		 SANDBOX_UNNAMED,
	.url_key = "host",
	.max_command = COMMAND_MAX,
	.isolation = ISOLATION_NONE,
	.lifetime_s = LIFETIME_S,
	.settings = ssh_settings,
	.ops = &ops,
	.price = rates_nothing,
	.topic = "ssh",
};
