/* local.c - the provider "local": sandboxes on this machine, by bubblewrap. */
/* SPDX-License-Identifier: MIT */
/*
 * A sandbox is a directory in ~/.deepagents/sandboxes (local.h describes its
 * files). It runs while a dcode has started bubblewrap for it (box.c). So
 * creating, attaching, listing, stopping and removing work on files: begin with
 * local_create(). Snapshots are copies of the directory.
 *
 * With "workspace" = "bind" the user's own directory replaces workspace/, and
 * guard_bound() protects it (guard.c).
 */
#include "providers/local/local.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/kit/lease.h"
#include "sandbox/bind.h"
#include "sandbox/ports/ports.h"
#include "sandbox/reach.h"

enum {
	LIFETIME_S = 24 * 3600,
	START_MS = 15000,
	REMOVE_TRIES = 20,
	COMMAND_MAX = (128 << 10) - 1,
	META_MAX = 1 << 20, /* bytes of sandbox.json */
	NAME_LENGTH = 64,
	END_MS = 2000,
};

static const struct setting local_settings[] = {
	{ .key = "workspace",
	  .type = SETTING_STRING,
	  .fallback = "\"private\"",
	  .help = "\"private\": a new empty directory; \"bind\": the "
		  "current directory, read-write" },
	{ .key = "protect",
	  .example = "[\".envrc\", \".husky\"]",
	  .type = SETTING_LIST,
	  .help = "names that are read-only in a bound workspace (replaces the "
		  "setting protect)" },
	{ .key = "network",
	  .type = SETTING_LIST,
	  .fallback = "\"none\"",
	  .help = "\"none\"; \"full\": the host's own network; or a list of "
		  "hosts: `dcode help network`" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .help = "NAME=value for every command; no other variables are "
		  "passed on" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "7200",
	  .type = SETTING_INT,
	  .help = "seconds until its processes end by themselves" },
	{ .key = "memory",
	  .unit = "size",
	  .example = "\"2g\"",
	  .type = SETTING_STRING,
	  .help = "memory limit of each process, and of all together if "
		  "dcode can create a control group; /tmp and /dev/shm get "
		  "half: \"2g\"" },
	{ .key = "disk",
	  .unit = "size",
	  .type = SETTING_STRING,
	  .fallback = "\"32g\"",
	  .help = "size limit of workspace and home (with bind: limit of "
		  "their growth); the command that exceeds it is killed" },
	{ .key = "max_file_size",
	  .unit = "size",
	  .type = SETTING_STRING,
	  .fallback = "\"16g\"",
	  .help = "limit for the size of one file" },
	{ .key = "max_processes",
	  .unit = "processes",
	  .type = SETTING_INT,
	  .fallback = "4096",
	  .help = "limit for processes; the kernel does not apply it if "
		  "root runs dcode" },
	{ 0 },
};

/* Reads a size in bytes. If the setting is missing, *size does not change. */
static int read_size(const struct settings *set, const char *key,
		     uint64_t *size, struct error *err)
{
	const char *text = NULL;
	struct str trimmed;
	int64_t bytes = 0;

	if (settings_string(set, "local", key, &text, err) < 0)
		return -1;
	trimmed = str_trim(str_of(text));
	if (!trimmed.len)
		return 0;
	if (!str_to_size(trimmed, &bytes))
		return error_set(
			err, ERR_CONFIG,
			"%s = \"%s\" is not a size like \"512m\" or \"2g\"",
			key, text);
	*size = (uint64_t)bytes;
	return 0;
}

/* Reads a setting that must be one of two words. *second: whether it is the
 * second one. */
static int read_choice(const struct settings *set, const char *key,
		       const char *first, const char *other, bool *second,
		       struct error *err)
{
	const char *text = NULL;

	if (settings_string(set, "local", key, &text, err) < 0)
		return -1;
	*second = text && !strcmp(text, other);
	if (text && !*second && strcmp(text, first) != 0)
		return error_set(err, ERR_CONFIG,
				 "%s = \"%s\" is neither \"%s\" nor \"%s\"",
				 key, text, first, other);
	return 0;
}

static int read_env(struct local *l, const struct settings *set,
		    struct error *err)
{
	if (settings_list(set, "local", "env", &l->env, &l->nenv, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nenv; i++)
		if (!strchr(l->env[i], '=') || l->env[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "env = \"%s\" is not NAME=value",
					 l->env[i]);
	return 0;
}

/* Fills l from the settings. */
static int local_settings_read(struct local *l, const struct settings *set,
			       struct error *err)
{
	int64_t processes = 0;

	if (read_choice(set, "workspace", "private", "bind", &l->bind, err) <
		    0 ||
	    read_env(l, set, err) < 0 ||
	    settings_int(set, "local", "lifetime", &l->lifetime_s, err) < 0 ||
	    settings_int(set, "local", "max_processes", &processes, err) < 0 ||
	    read_size(set, "memory", &l->limits.memory, err) < 0 ||
	    read_size(set, "disk", &l->disk, err) < 0 ||
	    read_size(set, "max_file_size", &l->limits.file_size, err) < 0)
		return -1;
	l->limits.processes = processes > 0 ? (uint64_t)processes : 0;
	return 0;
}

/* True if an id or a snapshot's name is safe in a path. */
static bool is_valid_id(const char *id)
{
	size_t n = 0;

	for (; id && id[n]; n++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
			    id[n]) ||
		    n >= NAME_LENGTH)
			return false;
	return n > 0;
}

/* Returns the path ~/.deepagents/DIR/NAME, owned by the caller. */
static char *settings_path(const struct sandbox_client *client, const char *dir,
			   const char *name)
{
	return xasprintf("%s/%s%s%s", settings_dir(client->settings), dir,
			 name ? "/" : "", name ? name : "");
}

/* Returns the sandbox's directory, owned by the caller. */
static char *local_dir(const struct sandbox_client *client, const char *id)
{
	return settings_path(client, "sandboxes", id);
}

static char *local_snapshot_dir(const struct sandbox_client *client,
				const char *name)
{
	return settings_path(client, "snapshots", name);
}

/* Appends the list as it is written in a config: "hosts":["crates.io"]. */
static void write_hosts(const struct network *n, struct buf *text)
{
	struct buf entry = BUF_INIT(1024);

	buf_adds(text, ",\"hosts\":[");
	if (n->open || n->mode == NETWORK_FULL)
		buf_adds(text, "\"full\"");
	for (size_t i = 0; i < n->n; i++) {
		buf_clear(&entry);
		network_print_rule(&n->rules[i], &entry);
		buf_adds(text, i || n->open ? "," : "");
		json_quote(text, buf_str(&entry));
	}
	buf_addc(text, ']');
	buf_release(&entry);
}

/* Reads that list. It was written by dcode, but is checked again: a damaged one
 * must not give a sandbox more than it had. */
static int read_hosts(const cJSON *list, struct network *n, struct error *err)
{
	const char **entries =
		xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*entries));
	const cJSON *item;
	size_t count = 0;
	int rc;

	cJSON_ArrayForEach (item, list)
		entries[count++] =
			cJSON_IsString(item) ? item->valuestring : "";
	rc = network_parse(n, entries, count, err);
	free(entries);
	return rc;
}

/* Writes sandbox.json. */
static int local_meta_write(const char *dir, const struct local_meta *m,
			    struct error *err)
{
	struct buf text = BUF_INIT(META_MAX);
	char *path = path_join(dir, "sandbox.json");
	int rc;

	buf_adds(&text, "{\"version\":1,");
	json_member(&text, "owner", str_of(m->owner));
	buf_addf(&text, ",\"created\":%lld,\"ends\":%lld,\"network\":%s",
		 (long long)m->created, (long long)m->ends,
		 m->network ? "true" : "false");
	if (m->bind) {
		buf_addc(&text, ',');
		json_member(&text, "bind", str_of(m->bind));
	}
	if (m->hosts.mode != NETWORK_DEFAULT)
		write_hosts(&m->hosts, &text);
	buf_adds(&text, "}\n");
	rc = buf_check(&text, "sandbox.json", err);
	if (rc == 0)
		rc = path_write(path, buf_str(&text), 0600, err);
	buf_release(&text);
	free(path);
	return rc;
}

/* Reads sandbox.json. m->bind is owned by the caller. */
static int local_meta_read(const char *dir, struct local_meta *m,
			   struct error *err)
{
	struct buf text = BUF_INIT(META_MAX);
	char *path = path_join(dir, "sandbox.json");
	cJSON *tree = NULL;
	int rc = path_read(path, &text, err);

	*m = (struct local_meta){ 0 };
	if (rc == 0) {
		tree = json_parse(buf_str(&text));
		if (!cJSON_IsObject(tree))
			rc = error_set(err, ERR_PROTOCOL, "%s is damaged",
				       path);
	}
	if (rc == 0) {
		snprintf(m->owner, sizeof(m->owner), "%s",
			 json_string(tree, "owner", ""));
		m->created = json_int(tree, "created", 0);
		m->ends = json_int(tree, "ends", 0);
		m->network = json_bool(tree, "network", false);
		m->bind = xstrdup(json_string(tree, "bind", NULL));
		if (cJSON_GetObjectItem(tree, "hosts"))
			rc = read_hosts(cJSON_GetObjectItem(tree, "hosts"),
					&m->hosts, err);
	}
	cJSON_Delete(tree);
	buf_release(&text);
	free(path);
	return rc;
}

static void local_meta_release(struct local_meta *m)
{
	free(m->bind);
	m->bind = NULL;
	network_release(&m->hosts);
}

/* Returns the process id in the name of a run.PID.START file, or 0 if that
 * process has ended. */
static pid_t parse_mark(const char *name)
{
	unsigned long long started;
	int end = 0;
	int pid;

	if (sscanf(name, "run.%d.%llu%n", &pid, &started, &end) != 2 ||
	    name[end] || pid <= 1 || started == 0)
		return 0;
	return proc_started(pid) == started ? pid : 0;
}

/* Returns how many bubblewraps run for the sandbox in dir. */
static int local_running(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += parse_mark(e->d_name) > 0;
	if (d)
		closedir(d);
	return n;
}

/* Kills all processes in the sandbox. bubblewrap's own process then ends by
 * itself. If it has not ended after 20 ms, it is killed, too. */
static int kill_sandbox(pid_t pid, const struct stop *stop, struct error *err)
{
	struct proc_tree tree = { .root = pid, .spare_root = true };
	struct stop limit = stop_within(stop, END_MS);
	struct error ignored = { 0 };
	struct pollfd set = { .events = POLLIN };
	int rc = -1;

	set.fd = proc_fd(pid, &ignored);
	if (set.fd < 0)
		return 0; /* the process has ended meanwhile */
	while (rc < 0 && stop_check(&limit, err) == 0) {
		(void)proc_tree_kill(&tree);
		if (poll(&set, 1, 20) > 0)
			rc = 0;
		tree.spare_root = false;
	}
	close(set.fd);
	return rc;
}

/* Ends all bubblewraps that run for the sandbox in dir. */
static int local_end(const char *dir, const struct stop *stop,
		     struct error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return 0;
	while (rc == 0 && (e = readdir(d))) {
		pid_t pid = parse_mark(e->d_name);

		if (pid > 0)
			rc = kill_sandbox(pid, stop, err);
	}
	closedir(d);
	return rc;
}

static int local_not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", id);
}

/* Reports a sandbox if it belongs to owner (NULL: any owner). */
static void report_sandbox(struct sandbox_client *client, const char *id,
			   const char *owner, const struct info_sink *sink)
{
	char *dir = local_dir(client, id);
	struct error ignored = { 0 };
	struct local_meta m = { 0 };
	struct sandbox_info info = { .id = id, .label = id, .image = "" };

	/* There is no sandbox.json if dcode was killed while it made or removed
	 * the sandbox. Then everybody who may write this directory counts as
	 * the owner. */
	if (local_meta_read(dir, &m, &ignored) < 0)
		snprintf(m.owner, sizeof(m.owner), "%s", owner ? owner : "");
	info.owner = m.owner;
	info.state = local_running(dir) ? STATE_RUNNING : STATE_STOPPED;
	info.created = m.created;
	info.ends = m.ends;
	if (!owner || !strcmp(owner, m.owner))
		info_emit(sink, &info);
	local_meta_release(&m);
	free(dir);
}

static int local_list(struct sandbox_client *client, const char *owner,
		      const struct info_sink *sink, const struct stop *stop,
		      struct error *err)
{
	char *path = local_dir(client, NULL);
	DIR *dir = opendir(path);
	struct dirent *e;
	int rc = 0;

	if (!dir && errno != ENOENT)
		rc = error_errno(err, "reading %s", path);
	while (dir && rc == 0 && (e = readdir(dir))) {
		rc = stop_check(stop, err);
		if (rc == 0 && is_valid_id(e->d_name))
			report_sandbox(client, e->d_name, owner, sink);
	}
	if (dir)
		closedir(dir);
	free(path);
	return rc;
}

static int local_info(struct sandbox_client *client, const char *id,
		      const struct info_sink *sink, const struct stop *stop,
		      struct error *err)
{
	char *dir;
	struct stat st;
	int rc;

	(void)stop;
	if (!is_valid_id(id))
		return local_not_found(id, err);
	dir = local_dir(client, id);
	rc = stat(dir, &st) < 0 ? local_not_found(id, err) : 0;
	free(dir);
	if (rc == 0)
		report_sandbox(client, id, NULL, sink);
	return rc;
}

static int find_bwrap(struct local *l, struct error *err)
{
	/* Not settings_env(): a project's .env must not choose the program. */
	l->bwrap = proc_find("bwrap", getenv("PATH"));
	if (l->bwrap)
		return 0;
	error_set(err, ERR_CONFIG, "bubblewrap (bwrap) is not installed");
	return error_hint(err, "Run apt-get install bubblewrap.");
}

static void local_close(struct sandbox_client *client)
{
	struct local *l = client->priv;

	if (!l)
		return;
	pipe_reaper_release(&l->reaper);
	free(l->bwrap);
	free(l);
	client->priv = NULL;
}

static int local_open(struct sandbox_client *client, const struct settings *set,
		      struct error *err)
{
	struct local *l = xcalloc(1, sizeof(*l));

	pipe_reaper_init(&l->reaper);
	l->start_ms = sandbox_start_ms(client, START_MS);
	client->priv = l;
	if (find_bwrap(l, err) < 0 || local_settings_read(l, set, err) < 0) {
		local_close(client);
		return -1;
	}
	if (l->bind)
		client->lacks |= SANDBOX_PLACED;
	return 0;
}

/* Starts a jail that does nothing: a kernel or container may forbid
 * namespaces. */
static int local_self_test(const struct sandbox_client *client,
			   const struct stop *stop, struct error *err)
{
	const struct local *l = client->priv;
	char *argv[] = { l->bwrap,
			 (char *)"--unshare-all",
			 (char *)"--ro-bind",
			 (char *)"/",
			 (char *)"/",
			 (char *)"--",
			 (char *)"/bin/true",
			 NULL };
	char *const env[] = { NULL };
	struct proc_run run = { .program = l->bwrap,
				.argv = argv,
				.env = env,
				.out = BUF_INIT(1 << 12),
				.err = BUF_INIT(1 << 12) };
	struct proc_run *const list[] = { &run };
	struct buf line = BUF_INIT(1 << 12);
	int rc = proc_run_all(list, 1, stop, err);

	if (rc == 0 && (run.failed.code || run.status)) {
		sanitize_line(str_trim(buf_str(&run.err)), &line);
		rc = error_set(err, ERR_CONFIG, "bubblewrap does not work: %s",
			       run.failed.code ? run.failed.message
			       : line.len      ? line.ptr
					       : "");
	}
	buf_release(&line);
	buf_release(&run.out);
	buf_release(&run.err);
	return rc;
}

static int64_t lifetime_of(const struct local *l,
			   const struct sandbox_spec *spec)
{
	if (spec && spec->lifetime_s > 0)
		return spec->lifetime_s;
	return l->lifetime_s > 0 ? l->lifetime_s : LIFETIME_S;
}

/* Guards the user's directory. If its repository is outside of it, the
 * repository is mounted and guarded, too. Both then have their own paths in the
 * sandbox, which git needs. */
static int guard_bound(struct box *b, const struct settings *set,
		       const char *dir, const char *label,
		       const struct stop *stop, struct error *err)
{
	struct guard_request r = { set, dir, b->inside, label };
	struct bind_git git;
	bool has_git = bind_git_find(&git, set, dir);
	int rc = 0;

	if (has_git) {
		free(b->inside);
		b->inside = xstrdup(dir);
		if (strcmp(git.root, dir) != 0)
			b->tree = xstrdup(git.root);
		r.root = r.inside = git.common;
		rc = guard_open_git(&b->git, &r, &git, stop, err);
	}
	if (rc == 0) {
		r.root = dir;
		r.inside = b->inside;
		rc = guard_open(&b->guard, &r, stop, err);
	}
	bind_git_release(&git);
	return rc;
}

struct start { /* of a sandbox that has its directory */
	struct local_meta *meta;
	const struct secrets *secrets; /* lives as long as the sandbox */
	int64_t lifetime_s;
};

/* Starts bubblewrap for an existing directory and fills sb. */
static int start_box(struct sandbox *sb, const char *dir, struct start *s,
		     const struct stop *stop, struct error *err)
{
	struct local *l = sb->client->priv;
	struct local_meta *m = s->meta;
	struct box *b = xcalloc(1, sizeof(*b));
	int rc = 0;

	b->sock = -1;
	if (s->secrets)
		b->secrets = *s->secrets;
	b->inside = xstrdup("/workspace");
	if (m->bind)
		rc = guard_bound(b, sb->client->settings, m->bind,
				 strrchr(dir, '/') + 1, stop, err);
	m->ends = clock_unix_ms() / 1000 + s->lifetime_s;
	if (rc < 0 || local_meta_write(dir, m, err) < 0 ||
	    box_start(b, l, dir, m, stop, err) < 0 ||
	    box_lifetime(b, s->lifetime_s * 1000, err) < 0) {
		box_free(b, &l->reaper);
		return -1;
	}
	if (sb->priv) /* attached again, after its bubblewrap had ended */
		box_free(sb->priv, &l->reaper);
	sb->priv = b;
	if (!sb->workdir)
		sb->workdir = xstrdup(b->inside);
	if (m->bind)
		mounts_add(&sb->mounts, b->inside, m->bind);
	return 0;
}

/* Creates home/ and workspace/, empty or as copies of the snapshot. */
static int fill_dirs(const struct sandbox_client *client, const char *dir,
		     const char *snapshot, const struct stop *stop,
		     struct error *err)
{
	struct local *l = client->priv;
	char *home = path_join(dir, "home");
	char *work = path_join(dir, "workspace");
	char *from = NULL;
	struct stat st;
	int rc = -1;

	if (path_mkdirs(home, 0700, err) < 0 ||
	    path_mkdirs(work, 0700, err) < 0)
		goto out;
	if (!snapshot) {
		rc = 0;
		goto out;
	}
	from = local_snapshot_dir(client, snapshot);
	if (!is_valid_id(snapshot) || stat(from, &st) < 0) {
		error_set(err, ERR_NOT_FOUND, "unknown snapshot %s", snapshot);
		error_hint(err, "Make one: dcode sandbox snapshot ID %s",
			   snapshot);
		goto out;
	}
	rc = box_copy(l, from, NULL, dir, stop, err);
	if (rc < 0)
		error_wrap(err, "copying the snapshot");
out:
	free(home);
	free(work);
	free(from);
	return rc;
}

static int local_create(struct sandbox *sb, const struct sandbox_spec *spec,
			const struct stop *stop, struct error *err)
{
	const struct local *l = sb->client->priv;
	struct local_meta m = {
		.created = clock_unix_ms() / 1000,
		.network = spec->network->mode == NETWORK_FULL,
	};
	char *dir;
	int rc = -1;

	if (!is_valid_id(spec->label))
		return error_set(err, ERR_USAGE, "not a sandbox name: %s",
				 spec->label);
	/* a secret is put in by the proxy, which then is the only way out */
	if (spec->network->mode == NETWORK_LIST ||
	    (spec->secrets && m.network)) {
		if (egress_check(spec->network, err) < 0)
			return -1;
		network_copy(&m.hosts, spec->network);
		m.network = false;
	}
	snprintf(m.owner, sizeof(m.owner), "%s",
		 spec->owner ? spec->owner : "");
	dir = local_dir(sb->client, spec->label);
	if (!sb->id)
		sb->id = xstrdup(spec->label);
	if (path_mkdirs(dir, 0700, err) < 0 ||
	    (l->bind &&
	     bind_check(sb->client->settings,
			settings_cwd(sb->client->settings), &m.bind, err) < 0))
		goto out;
	rc = local_meta_write(dir, &m, err);
	if (rc == 0)
		rc = fill_dirs(sb->client, dir, spec->snapshot, stop, err);
	if (rc == 0)
		rc = start_box(sb, dir,
			       &(struct start){ &m, spec->secrets,
						lifetime_of(l, spec) },
			       stop, err);
out:
	local_meta_release(&m);
	free(dir);
	return rc;
}

/* Implements sandbox_ops.set_network. The way to listed hosts is made when the
 * sandbox starts, so one without a list gets none later. */
static int local_set_network(struct sandbox *sb, const struct network *n,
			     const struct stop *stop, struct error *err)
{
	struct box *b = sb->priv;
	char *dir = local_dir(sb->client, sb->id);
	struct local_meta m = { 0 };
	struct network old = { 0 };
	struct error ignored = { 0 };
	int rc = -1;

	if (!b || !b->egress || n->mode != NETWORK_LIST)
		error_set(err, ERR_USAGE,
			  "this sandbox was made without a list of hosts");
	else if (egress_check(n, err) == 0 &&
		 local_meta_read(dir, &m, err) == 0) {
		old = m.hosts;
		m.hosts = (struct network){ 0 };
		network_copy(&m.hosts, n);
		rc = local_meta_write(dir, &m, err);
	}
	if (rc == 0 && (rc = egress_change(b->egress, n, stop, err)) < 0) {
		network_release(&m.hosts);
		m.hosts = old;
		old = (struct network){ 0 };
		(void)local_meta_write(dir, &m, &ignored);
	}
	network_release(&old);
	local_meta_release(&m);
	free(dir);
	return rc;
}

/* Implements reach_ops.widen. */
static int widen_network(struct sandbox *sb, const struct network *n,
			 const struct stop *stop, struct error *err)
{
	struct box *b = sb->priv;

	if (!b || !b->egress)
		return error_set(err, ERR_USAGE,
				 "this sandbox was made without a list of "
				 "hosts");
	return egress_check(n, err) < 0
		       ? -1
		       : egress_change(b->egress, n, stop, err);
}

/* Implements reach_ops.take_contacts. */
static void take_contacts(struct sandbox *sb, struct network_contacts *c)
{
	const struct box *b = sb->priv;

	if (b && b->egress)
		egress_take(b->egress, c);
}

/* Implements reach_ops.set_gate. */
static bool set_gate(struct sandbox *sb, const struct network_gate *gate)
{
	const struct box *b = sb->priv;

	if (b && b->egress)
		egress_set_gate(b->egress, gate);
	return b && b->egress;
}

/* Implements reach_ops.report. */
static void report(struct sandbox *sb, char notice[SANDBOX_NOTICE])
{
	const struct box *b = sb->priv;

	if (b && b->egress)
		egress_report(b->egress, notice, SANDBOX_NOTICE);
}

static const struct reach_ops proxy_ops = { widen_network, take_contacts,
					    set_gate, report };

/* Implements port_ops.dial: in each bubblewrap of the sandbox, also those of
 * other dcodes, until one has a server at the port. */
static int local_dial(struct sandbox *sb, unsigned port, struct port_link *link,
		      const struct stop *stop, struct error *err)
{
	char *path = local_dir(sb->client, sb->id);
	DIR *dir = opendir(path);
	struct dirent *e;
	int rc = -1;

	error_set(err, ERR_NOT_FOUND, "the sandbox does not run");
	while (rc < 0 && dir && (e = readdir(dir))) {
		pid_t pid = parse_mark(e->d_name);

		if (pid <= 0)
			continue;
		*err = (struct error){ 0 };
		rc = ports_dial_inside(proc_child(pid), port, link, stop, err);
	}
	if (dir)
		closedir(dir);
	free(path);
	return rc;
}

/* Implements sandbox_ops.get_network. */
static int local_get_network(struct sandbox *sb, struct network *n,
			     const struct stop *stop, struct error *err)
{
	char *dir = local_dir(sb->client, sb->id);
	struct local_meta m = { 0 };
	int rc = local_meta_read(dir, &m, err);

	(void)stop;
	network_release(n);
	if (rc == 0 && m.hosts.mode != NETWORK_DEFAULT)
		network_copy(n, &m.hosts);
	else if (rc == 0)
		n->mode = m.network ? NETWORK_FULL : NETWORK_NONE;
	local_meta_release(&m);
	free(dir);
	return rc;
}

/* Checks that the bound path still names the same directory. Another sandbox
 * that may write the parent could have replaced it by a link, and this sandbox
 * would then get a directory that the user did not choose. */
static int check_bind(const struct sandbox *sb, const char *dir,
		      struct error *err)
{
	char *real = NULL;
	int rc = bind_check(sb->client->settings, dir, &real, err);

	if (rc == 0 && strcmp(real, dir) != 0)
		rc = error_set(
			err, ERR_CONFIG,
			"refusing to mount %s again: it is now a link to %s",
			dir, real);
	free(real);
	return rc;
}

static int local_attach(struct sandbox *sb, const char *id,
			const struct stop *stop, struct error *err)
{
	const struct local *l = sb->client->priv;
	struct local_meta m = { 0 };
	struct stat st;
	char *dir;
	int rc = -1;

	if (!is_valid_id(id))
		return local_not_found(id, err);
	dir = local_dir(sb->client, id);
	if (stat(dir, &st) < 0)
		local_not_found(id, err);
	else if (local_meta_read(dir, &m, err) == 0 &&
		 (!m.bind || check_bind(sb, m.bind, err) == 0))
		rc = start_box(sb, dir,
			       &(struct start){ &m, &sb->secrets,
						lifetime_of(l, NULL) },
			       stop, err);
	if (rc == 0 && !sb->id)
		sb->id = xstrdup(id);
	local_meta_release(&m);
	free(dir);
	return rc;
}

static int local_extend(struct sandbox *sb, int64_t lifetime_s,
			const struct stop *stop, struct error *err)
{
	char *dir = local_dir(sb->client, sb->id);
	struct local_meta m = { 0 };
	int rc = box_lifetime(sb->priv, lifetime_s * 1000, err);

	(void)stop;
	if (rc == 0)
		rc = local_meta_read(dir, &m, err);
	if (rc == 0) {
		m.ends = clock_unix_ms() / 1000 + lifetime_s;
		rc = local_meta_write(dir, &m, err);
	}
	local_meta_release(&m);
	free(dir);
	return rc;
}

static int check_snapshot_name(const char *name, struct error *err)
{
	if (is_valid_id(name))
		return 0;
	return error_set(err, ERR_USAGE, "not a snapshot name: %s", name);
}

static int local_find_snapshot(struct sandbox_client *client, const char *name,
			       char **id, const struct stop *stop,
			       struct error *err)
{
	char *dir = local_snapshot_dir(client, name);
	struct stat st;
	int rc = check_snapshot_name(name, err);

	(void)stop;
	if (rc == 0 && lstat(dir, &st) == 0) {
		*id = xasprintf("%llx:%llx.%lx", (unsigned long long)st.st_dev,
				(unsigned long long)st.st_ino,
				(unsigned long)st.st_mtim.tv_nsec);
		rc = 1;
	}
	free(dir);
	return rc;
}

static int local_remove_snapshot(struct sandbox_client *client,
				 const char *name, const char *id,
				 const struct stop *stop, struct error *err)
{
	char *dir = local_snapshot_dir(client, name);
	/* what replace_snapshot() and local_snapshot() left if killed */
	char *old = xasprintf("%s.old", dir);
	char *part = xasprintf("%s.part", dir);
	int rc = check_snapshot_name(name, err);

	(void)id;
	(void)stop;
	if (rc == 0 &&
	    (path_remove_tree(dir, err) < 0 || path_remove_tree(old, err) < 0 ||
	     path_remove_tree(part, err) < 0))
		rc = -1;
	free(dir);
	free(old);
	free(part);
	return rc;
}

/* Moves a complete new snapshot to its name. The old one exists until then. */
static int replace_snapshot(const char *part, const char *to, bool replace,
			    struct error *err)
{
	/* an id cannot contain the dot: is_valid_id() */
	char *old = xasprintf("%s.old", to);
	struct error ignored = { 0 };
	int rc = replace ? path_remove_tree(old, err) : 0;

	if (rc == 0 && replace && rename(to, old) < 0 && errno != ENOENT)
		rc = error_errno(err, "%s", to);
	if (rc == 0 && rename(part, to) < 0) {
		rc = error_errno(err, "saving the snapshot as %s", to);
		if (replace)
			(void)rename(old, to);
	}
	if (rc == 0 && replace)
		(void)path_remove_tree(old, &ignored);
	free(old);
	return rc;
}

static int local_snapshot(struct sandbox *sb, const char *name, bool replace,
			  const struct stop *stop, struct error *err)
{
	struct local *l = sb->client->priv;
	char *to = local_snapshot_dir(sb->client, name);
	char *part =
		/* an id cannot contain the dot: is_valid_id() */
		xasprintf("%s.part", to);
	char *dir = local_dir(sb->client, sb->id);
	struct local_meta m = { 0 };
	struct error ignored = { 0 };
	int rc = check_snapshot_name(name, err);

	if (rc == 0 && (path_remove_tree(part, err) < 0 ||
			path_mkdirs(part, 0700, err) < 0 ||
			local_meta_read(dir, &m, err) < 0 ||
			box_copy(l, dir, m.bind, part, stop, err) < 0 ||
			replace_snapshot(part, to, replace, err) < 0)) {
		(void)path_remove_tree(part, &ignored);
		rc = -1;
	}
	local_meta_release(&m);
	free(to);
	free(part);
	free(dir);
	return rc;
}

/* Ends the sandbox's processes. Its directory remains. */
static int local_stop(struct sandbox_client *client, const char *id,
		      int64_t *keep_s, const struct stop *stop,
		      struct error *err)
{
	struct local_meta m = { 0 };
	struct error ignored = { 0 };
	struct stat st;
	char *dir;
	int rc = 1;

	if (!is_valid_id(id))
		return local_not_found(id, err);
	dir = local_dir(client, id);
	if (stat(dir, &st) == 0)
		rc = local_end(dir, stop, err);
	if (rc == 0 && local_meta_read(dir, &m, &ignored) == 0) {
		m.ends = clock_unix_ms() / 1000 + *keep_s;
		rc = local_meta_write(dir, &m, err);
	}
	*keep_s = 0;
	local_meta_release(&m);
	free(dir);
	return rc;
}

static int local_remove(struct sandbox_client *client, const char *id,
			const struct stop *stop, struct error *err)
{
	char *dir;
	int rc;

	if (!is_valid_id(id))
		return local_not_found(id, err);
	dir = local_dir(client, id);
	rc = local_end(dir, stop, err);
	/* A second dcode may be starting the sandbox: try for a second. */
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };

		if (path_remove_tree(dir, &why) == 0)
			break;
		if (i == REMOVE_TRIES) {
			*err = why;
			rc = -1;
		} else if (local_end(dir, stop, err) < 0 ||
			   stop_sleep(stop, 50, err) < 0) {
			rc = -1;
		}
	}
	free(dir);
	return rc;
}

static void local_check(struct sandbox *sb, bool last,
			void (*each)(void *arg, const char *line), void *arg)
{
	struct box *b = sb->priv;

	if (!b || !b->guard)
		return;
	if (last)
		box_stop(b);
	guard_check(b->guard, last, each, arg);
	if (b->git)
		guard_check(b->git, last, each, arg);
}

static void local_discard(struct sandbox *sb)
{
	struct local *l = sb->client->priv;

	if (!sb->priv)
		return;
	box_free(sb->priv, &l->reaper);
	sb->priv = NULL;
}

/* The jail has this machine's shell and system: see args_system() in box.c. */
static void local_facts(const struct sandbox_client *client,
			struct sandbox_facts *f)
{
	(void)client;
	facts_here(f, "user");
	snprintf(f->shell, sizeof(f->shell), "%s",
		 access("/bin/bash", X_OK) == 0 ? "bash" : "sh");
}

static const struct port_ops port_ops = { .dial = local_dial };

static const struct sandbox_ops local_ops = {
	.facts = local_facts,
	.open = local_open,
	.close = local_close,
	.create = local_create,
	.attach = local_attach,
	.list = local_list,
	.info = local_info,
	.extend = local_extend,
	.set_network = local_set_network,
	.get_network = local_get_network,
	.proxy = &proxy_ops,
	.snapshot = local_snapshot,
	.find_snapshot = local_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = local_remove_snapshot,
	.execute = local_execute,
	.shell = local_execute,
	.stop = local_stop,
	.remove = local_remove,
	.check = local_check,
	.discard = local_discard,
	.self_test = local_self_test,
	.describe_limits = local_describe_limits,
};

static const struct sandbox_binding local_binding = {
	.key = "workspace",
	.value = "bind",
};

const struct sandbox_provider local_provider = {
	.name = "local",
	.summary = "a sandbox on this machine, made by bubblewrap",
	.workdir = "/workspace",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_STDIN | SANDBOX_NETWORK | SANDBOX_LIST |
		 SANDBOX_STAYS | SANDBOX_BOUND | SANDBOX_PLACED,
	.max_command = COMMAND_MAX,
	.sweep = record_sweep_all,
	.lifetime_s = LIFETIME_S,
	.settings = local_settings,
	.ops = &local_ops,
	.price = rates_nothing,
	.isolation = ISOLATION_NAMESPACES,
	.binding = &local_binding,
	.network = &egress_limits,
	.secrets = &egress_secret_limits,
	.topic = "local",
};
