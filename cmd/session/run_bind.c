/* run_bind.c - the user's own directory as the sandbox's. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/run.h"
#include "sandbox/bind_git.h"
#include "tree/user_repo.h"
#include "workspace/workspace.h"

enum { PROBE_MS = 30000 };

/* Its repository names it by its own path. */
static bool is_worktree(const struct settings *set, const char *root)
{
	struct bind_git git;
	bool is = bind_git_find(&git, set, root) &&
		  strcmp(git.git_dir, git.common) != 0;

	bind_git_release(&git);
	return is;
}

static int bind_docker(struct run_options *o, struct settings *set,
		       struct error *err)
{
	bool is_repository;
	char *root;
	int rc;

	if (o->sandbox_id)
		return error_set(err, ERR_USAGE,
				 "--workspace bind needs a new sandbox and "
				 "cannot be combined with --sandbox-id");
	root = user_repo_root(settings_cwd(set), &is_repository, err);
	if (!root)
		return -1;
	rc = settings_set_flag(set, "sandboxes.providers.docker.params.bind",
			       root, err);
	if (rc == 0 && is_worktree(set, root) &&
	    settings_source(set, "docker", "workdir") <= SOURCE_DEFAULT)
		rc = settings_set_flag(
			set, "sandboxes.providers.docker.params.workdir", root,
			err);
	free(root);
	return rc;
}

int run_bind_resolve(struct run_options *o, struct settings *set, bool by_flag,
		     struct error *err)
{
	if (!strcmp(o->sandbox, "local"))
		return settings_set_flag(
			set, "sandboxes.providers.local.params.workspace",
			"bind", err);
	if (!strcmp(o->sandbox, "docker") && (by_flag || !o->sandbox_id))
		return bind_docker(o, set, err);
	if (!by_flag) {
		o->workspace = NULL; /* it is meant for those two */
		return 0;
	}
	error_set(err, ERR_USAGE,
		  "--workspace bind is not supported by provider '%s'",
		  o->sandbox);
	return error_hint(err, "Use --workspace repo, which sends a copy.");
}

const char *run_bound_directory(const struct sandbox *sb)
{
	for (size_t i = 0; i < sb->mounts.n; i++)
		if (!strcmp(sb->mounts.list[i].inside, sandbox_tree_dir(sb)))
			return sb->mounts.list[i].path;
	return NULL;
}

/* Makes the file name in the working directory. 1: it cannot be written. */
static int make_probe(struct sandbox *sb, const char *name,
		      const struct stop *stop, struct error *err)
{
	char *script = xasprintf("umask 077; : >%s", name);
	struct exec_request req = { .command = str_of(script),
				    .plain = true,
				    .timeout_ms = PROBE_MS };
	struct exec_result res = { 0 };
	int rc = sandbox_execute(sb, &req, &res, stop, err);

	free(script);
	return rc < 0 ? -1 : res.exit_code != 0;
}

/* An engine may be in a virtual machine, or map users in ways that its answers
 * do not tell: a file that is made there shows both. */
static int check_docker(struct sandbox *sb, const char *dir,
			const struct stop *stop, struct error *err)
{
	char random[17];
	char *name;
	char *here;
	struct stat st;
	int rc;

	ids_random(random, 16);
	name = xasprintf(".dcode-%s", random);
	here = path_join(dir, name);
	rc = make_probe(sb, name, stop, err);
	if (rc > 0) {
		app_warn("the sandbox's user cannot write to %s", dir);
		rc = 0;
	} else if (rc == 0 && lstat(here, &st) < 0) {
		rc = error_set(
			err, ERR_CONFIG,
			"the engine's %s is not the directory of this machine",
			dir);
		error_hint(err, "Use --workspace repo, which sends a copy.");
	} else if (rc == 0 && st.st_uid != geteuid()) {
		app_warn("files made in the sandbox belong to user %lu in %s, "
			 "not to you",
			 (unsigned long)st.st_uid, dir);
	}
	if (rc == 0)
		(void)unlink(here);
	free(name);
	free(here);
	return rc;
}

/* Whether git works on what is bound, and what of the user's it reads. */
static void say_git(const struct sandbox *sb, const char *dir)
{
	struct bind_git git;
	bool is_outside = bind_git_find(&git, sb->host->settings, dir);
	bool is_docker = !strcmp(sb->host->provider->name, "docker");
	const char *why = git.limit;

	if (is_outside && strcmp(sb->workdir, dir) != 0)
		why = "its repository is outside of the directory, and the "
		      "sandbox has it at another path";
	else if (is_outside && is_docker && !strcmp(git.git_dir, git.common))
		why = "a submodule's repository is outside of the directory "
		      "(this works with local)";
	if (why)
		app_warn("git does not work in %s in this sandbox: %s. "
			 "--workspace repo sends a copy of the repository",
			 dir, why);
	else if (is_outside && strcmp(git.root, dir) != 0)
		app_warn("git needs the whole working tree: the sandbox can "
			 "read %s and write %s",
			 git.root, dir);
	bind_git_release(&git);
}

int run_bind_begin(struct run *r, struct sandbox *sb, const struct stop *stop,
		   struct error *err)
{
	const char *dir = run_bound_directory(sb);
	char *state;
	int rc = 0;

	if (!dir) {
		if (r->options.workspace &&
		    !strcmp(r->options.workspace, "bind"))
			app_warn("this sandbox was made without the directory; "
				 "--workspace bind only affects new ones");
		return 0;
	}
	if (!strcmp(r->host.provider->name, "docker"))
		rc = check_docker(sb, dir, stop, err);
	if (rc == 0)
		say_git(sb, dir);
	state = path_join(settings_dir(r->app->settings), ".state");
	if (rc == 0 && r->box.label[0])
		rc = workspace_note_bound(state, dir, r->box.label, err);
	free(state);
	return rc;
}
