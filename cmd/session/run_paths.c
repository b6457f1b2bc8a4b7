/* run_paths.c - which paths tools may act on without a question. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/run.h"
#include "cmd/skills/run_skills.h"
#include "config/protect.h"
#include "sandbox/files/files.h"
#include "tool/evict.h"
#include "tool/paths.h"
#include "tool/result.h"

/* The path that the tool will resolve in the same way; NULL for one that it
 * refuses itself. */
static char *written_path(const struct approval *a)
{
	struct error ignored = { 0 };
	const char *written = json_string(a->args, a->tool->path_arg, ".");
	char *path;

	(void)paths_resolve(a->acts_in->workdir, written, &path, &ignored);
	return path;
}

/* Every link of path resolved, on this machine; of what does not exist the
 * part that does. NULL when that cannot be told. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL);
	char *up;
	char *whole;

	if (real)
		return real;
	up = xstrdup(path);
	while (!real && up[0]) {
		*strrchr(up, '/') = '\0';
		real = realpath(up[0] ? up : "/", NULL);
	}
	whole = real ? xasprintf("%s%s", real[1] ? real : "", path + strlen(up))
		     : NULL;
	free(up);
	free(real);
	return whole;
}

enum run_verdict run_decide_reading(const struct run *r, struct approval *a)
{
	char *path = written_path(a);
	char *real = path ? real_path(path) : NULL;
	char *workdir = realpath(r->box.sandbox.workdir, NULL);
	enum run_verdict verdict = RUN_ASK;

	if (!path) {
		verdict = RUN_ALLOW;
	} else if (!real || !workdir) {
		buf_addf(&a->reason, "%s cannot be resolved", path);
		verdict = RUN_REFUSE;
	} else if (secret_files_hold(&r->secrets, real)) {
		buf_addf(&a->reason,
			 "%s holds the user's keys: no tool may read it.",
			 real);
		verdict = RUN_REFUSE;
	} else if (run_allows_all(r) || paths_contain(workdir, real) ||
		   evict_is_own(session_id(r->session), real) ||
		   run_skills_may_read(r, real)) {
		verdict = RUN_ALLOW;
	} else {
		buf_addstr(&a->place, str_of(real));
		buf_addf(&a->reason,
			 "%s lies outside the working directory, where %s is "
			 "not permitted in non-interactive mode. Use files of "
			 "the working directory, or tell the user to run with "
			 "--auto-approve or with a command for it in "
			 "--shell-allow-list.",
			 real, a->tool->spec.name);
	}
	if (real && strcmp(real, path) != 0)
		a->real_path = real;
	else
		free(real);
	free(workdir);
	free(path);
	return verdict;
}

/* Also what a directory holds, when all of it goes. */
static struct str protected_name(const struct protect *p,
				 const struct files_target *t)
{
	struct str rest = str_of(t->real + strlen(t->workdir));
	struct str below = buf_str(&t->below);
	struct str name = protect_find(p, rest);
	struct str line;

	while (!name.len && str_split(&below, '\n', &line))
		name = protect_find(p, line);
	rest = str_of(t->workdir);
	while (!name.len && str_split(&rest, '/', &line))
		if (protect_is_git(line))
			name = line;
	return name;
}

/* Why a run without a user may not write there; nothing when it may. */
static void find_objection(const struct protect *p, const char *own,
			   const struct files_target *t, struct buf *why)
{
	struct str name = { 0 };

	if (own &&
	    (paths_contain(own, t->real) || paths_contain(t->real, own))) {
		buf_adds(why, "dcode's own files");
		return;
	}

	if (!paths_contain(t->workdir, t->real) ||
	    paths_contain(t->real, t->workdir)) {
		buf_adds(why, "outside the working directory");
		return;
	}
	name = protected_name(p, t);
	if (name.len) {
		buf_adds(why, "protected: ");
		sanitize_line(name, why);
	} else if (t->git) {
		buf_adds(why, "inside a git repository's own files");
	} else if (t->kind == TARGET_FILE && t->names > 1) {
		buf_addf(why, "a file with %lld names (hard links)",
			 (long long)t->names);
	}
}

/* "/home/ann/.bashrc (outside the working directory)", where the path that
 * was written does not say it. */
static void describe_target(const struct run *r, const char *path,
			    const struct files_target *t, struct str why,
			    struct buf *place)
{
	const struct sandbox_mounts *m = &r->box.sandbox.mounts;

	if (!why.len && !strcmp(path, t->real) && t->kind != TARGET_LINK)
		return;
	buf_adds(place, t->real);
	for (size_t i = 0; i < m->n; i++)
		if (paths_contain(m->list[i].inside, t->real))
			buf_addf(place, " = %s%s on this machine",
				 m->list[i].path,
				 t->real + strlen(m->list[i].inside));
	if (t->kind == TARGET_LINK)
		buf_adds(place, " (the link itself, not what it names)");
	if (why.len)
		buf_addf(place, " (%.*s)", (int)why.len, why.ptr);
}

/* What a deleted directory holds is not looked through while a user is there to
 * ask. */
static bool is_plain_edit(const struct approval *a, struct str why)
{
	return !why.len && !(a->tool->flags & TOOL_DELETES);
}

static int decide_target(struct run *r, struct approval *a, const char *path,
			 struct files_target *t, enum run_verdict *verdict,
			 struct error *err)
{
	struct protect protect;
	char *own; /* wherever DEEPAGENTS_HOME has put it */
	struct buf why = BUF_INIT(1 << 12);

	if (protect_load(&protect, r->app->settings, err) < 0)
		return -1;
	own = r->host.provider->flags & SANDBOX_UNISOLATED
		      ? realpath(settings_dir(r->app->settings), NULL)
		      : NULL;
	find_objection(&protect, own, t, &why);
	free(own);
	describe_target(r, path, t, buf_str(&why), &a->place);
	a->auto_edit = is_plain_edit(a, buf_str(&why));
	if ((!why.len && !r->interactive) ||
	    (a->auto_edit && r->mode == RUN_AUTO_EDIT))
		*verdict = RUN_ALLOW;
	a->real_path = t->real;
	t->real = NULL;
	buf_release(&why);
	return 0;
}

int run_decide_writing(struct run *r, struct approval *a,
		       enum run_verdict *verdict, const struct stop *stop,
		       struct error *err)
{
	bool deletes = a->tool->flags & TOOL_DELETES;
	struct files_target target = { 0 };
	char *path = written_path(a);
	unsigned how = deletes ? RESOLVE_SELF : 0;
	int rc = 0;

	if (deletes && !r->interactive)
		how |= RESOLVE_BELOW;
	*verdict = path ? RUN_ASK : RUN_ALLOW;
	if (path)
		rc = files_resolve(a->acts_in, path, how, &target, stop, err);
	if (path && rc == 0) {
		rc = decide_target(r, a, path, &target, verdict, err);
	} else if (rc < 0 && err->code != ERR_CANCELLED) {
		*verdict = RUN_REFUSE;
		(void)result_file_failed(&a->reason, "Path", path, err);
		rc = 0;
	}
	files_target_release(&target);
	free(path);
	return rc;
}
