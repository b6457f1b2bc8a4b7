/* local.c - sandboxes on this machine, made by bubblewrap. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "providers/kit/rates.h"
#include "sandbox/bind.h"

enum {
	LIFETIME_S = 24 * 3600,
	START_MS = 15000,
	REMOVE_TRIES = 20,
	BASE_MS = 200, /* to measure a tree, else it is done later */
	COMMAND_MAX = (128 << 10) - 1,
};

static int find_bwrap(struct local *l, struct error *err)
{
	/* Never from a project's .env, which settings_env() would include. */
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

static int64_t lifetime_of(const struct local *l,
			   const struct sandbox_spec *spec)
{
	if (spec && spec->lifetime_s > 0)
		return spec->lifetime_s;
	return l->lifetime_s > 0 ? l->lifetime_s : LIFETIME_S;
}

/* The user's directory dir; with its repository, where that is outside, it is
 * at its own path. */
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
		b->git = xcalloc(1, sizeof(*b->git));
		r.root = r.inside = git.common;
		rc = guard_open_git(b->git, &r, &git, stop, err);
	}
	if (rc == 0) {
		r.root = dir;
		r.inside = b->inside;
		b->guard = xcalloc(1, sizeof(*b->guard));
		rc = guard_open(b->guard, &r, stop, err);
	}
	bind_git_release(&git);
	return rc;
}

/* Starts bubblewrap on an existing directory and fills sb. */
static int start(struct sandbox *sb, const char *dir, struct local_meta *m,
		 int64_t lifetime_s, const struct stop *stop, struct error *err)
{
	struct local *l = sb->client->priv;
	struct box *b = xcalloc(1, sizeof(*b));
	int rc = 0;
	uint64_t used;

	b->sock = -1;
	b->inside = xstrdup("/workspace");
	if (m->bind)
		rc = guard_bound(b, sb->client->settings, m->bind,
				 strrchr(dir, '/') + 1, stop, err);
	m->ends = clock_unix_ms() / 1000 + lifetime_s;
	if (rc < 0 || local_meta_write(dir, m, err) < 0 ||
	    box_start(b, l, dir, m, stop, err) < 0 ||
	    box_lifetime(b, lifetime_s * 1000, err) < 0) {
		box_free(b, &l->reaper);
		return -1;
	}
	used = l->disk ? disk_measure(b->home, b->workspace, BASE_MS) : 0;
	b->disk_base = m->bind ? used : 0; /* the user's own does not count */
	b->disk_used = used == UINT64_MAX && !m->bind ? l->disk : used;
	if (sb->priv) /* attached before: that one has ended */
		box_free(sb->priv, &l->reaper);
	sb->priv = b;
	if (!sb->workdir)
		sb->workdir = xstrdup(b->inside);
	if (m->bind)
		mounts_add(&sb->mounts, b->inside, m->bind);
	return 0;
}

/* home/ and workspace/, empty or as the snapshot has them. */
static int fill_directory(const struct sandbox_client *client, const char *dir,
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
	if (!local_id_ok(snapshot) || stat(from, &st) < 0) {
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
	struct local_meta m = { .created = clock_unix_ms() / 1000,
				.network = l->network };
	char *dir;
	int rc = -1;

	if (!local_id_ok(spec->label))
		return error_set(err, ERR_USAGE, "not a sandbox name: %s",
				 spec->label);
	if (spec->network != NETWORK_DEFAULT)
		m.network = spec->network == NETWORK_FULL;
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
		rc = fill_directory(sb->client, dir, spec->snapshot, stop, err);
	if (rc == 0)
		rc = start(sb, dir, &m, lifetime_of(l, spec), stop, err);
out:
	local_meta_release(&m);
	free(dir);
	return rc;
}

/* The directory that was bound at first; another sandbox that has its parent
 * may have put a link there. */
static int check_bind(const struct sandbox *sb, const char *dir,
		      struct error *err)
{
	char *real = NULL;
	int rc = bind_check(sb->client->settings, dir, &real, err);

	if (rc == 0 && strcmp(real, dir) != 0)
		rc = error_set(err, ERR_CONFIG,
			       "%s is now a link to %s: not mounted again", dir,
			       real);
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

	if (!local_id_ok(id))
		return local_not_found(id, err);
	dir = local_dir(sb->client, id);
	if (stat(dir, &st) < 0)
		local_not_found(id, err);
	else if (local_meta_read(dir, &m, err) == 0 &&
		 (!m.bind || check_bind(sb, m.bind, err) == 0))
		rc = start(sb, dir, &m, lifetime_of(l, NULL), stop, err);
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
	if (local_id_ok(name))
		return 0;
	return error_set(err, ERR_USAGE, "not a snapshot name: %s", name);
}

static int local_find_snapshot(struct sandbox_client *client, const char *name,
			       const struct stop *stop, struct error *err)
{
	char *dir = local_snapshot_dir(client, name);
	struct stat st;
	int rc = check_snapshot_name(name, err);

	(void)stop;
	if (rc == 0)
		rc = lstat(dir, &st) == 0;
	free(dir);
	return rc;
}

/* The old one stays until the new one is complete. */
static int replace_snapshot(const char *part, const char *to, bool replace,
			    struct error *err)
{
	char *old = xasprintf("%s.old", to); /* local_id_ok() refuses the dot */
	struct error ignored = { 0 };
	int rc = replace ? path_remove_tree(old, err) : 0;

	if (rc == 0 && replace && rename(to, old) < 0 && errno != ENOENT)
		rc = error_errno(err, "%s", to);
	if (rc == 0 && rename(part, to) < 0) {
		rc = error_errno(err, "keeping the snapshot as %s", to);
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
		xasprintf("%s.part", to); /* local_id_ok() refuses the dot */
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

/* Its directory stays whatever happens. */
static int local_stop(struct sandbox_client *client, const char *id,
		      int64_t *keep_s, const struct stop *stop,
		      struct error *err)
{
	struct local_meta m = { 0 };
	struct error ignored = { 0 };
	struct stat st;
	char *dir;
	int rc = 1;

	if (!local_id_ok(id))
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

	if (!local_id_ok(id))
		return local_not_found(id, err);
	dir = local_dir(client, id);
	rc = local_end(dir, stop, err);
	/* A second dcode may just be starting in it: not for long. */
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

/* The shell and the system are the machine's own: args_system(). */
static void local_facts(const struct sandbox_client *client,
			struct sandbox_facts *f)
{
	(void)client;
	facts_here(f, "user");
	snprintf(f->shell, sizeof(f->shell), "%s",
		 access("/bin/bash", X_OK) == 0 ? "bash" : "sh");
}

static const struct sandbox_ops local_ops = {
	.facts = local_facts,
	.open = local_open,
	.close = local_close,
	.create = local_create,
	.attach = local_attach,
	.list = local_list,
	.info = local_info,
	.extend = local_extend,
	.snapshot = local_snapshot,
	.find_snapshot = local_find_snapshot,
	.execute = local_execute,
	.stop = local_stop,
	.remove = local_remove,
	.check = local_check,
	.discard = local_discard,
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
	.lifetime_s = LIFETIME_S,
	.settings = local_settings,
	.ops = &local_ops,
	.price = rates_nothing,
	.isolation = ISOLATION_NAMESPACES,
	.binding = &local_binding,
	.topic = "local",
};
