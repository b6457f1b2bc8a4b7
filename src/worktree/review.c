/* review.c - which changed files a user should look at before he takes them. */
/* SPDX-License-Identifier: MIT */
#include "worktree/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { OUTPUT_MAX = 256 << 20 };

static const char in_ci[] = "runs in CI";
static const char is_hook[] = "is run by git hooks";
static const char by_git[] = "configures git";

/* Beginnings of paths where they end in "/", else whole paths. */
static const struct {
	const char *path, *why;
} known[] = {
	{ ".github/workflows/", in_ci },
	{ ".github/actions/", in_ci },
	{ ".circleci/", in_ci },
	{ ".buildkite/", in_ci },
	{ ".woodpecker/", in_ci },
	{ ".gitlab/ci/", in_ci },
	{ ".teamcity/", in_ci },
	{ ".gitlab-ci.yml", in_ci },
	{ ".travis.yml", in_ci },
	{ ".drone.yml", in_ci },
	{ ".woodpecker.yml", in_ci },
	{ ".cirrus.yml", in_ci },
	{ ".appveyor.yml", in_ci },
	{ "appveyor.yml", in_ci },
	{ "azure-pipelines.yml", in_ci },
	{ "bitbucket-pipelines.yml", in_ci },
	{ "cloudbuild.yaml", in_ci },
	{ "buildspec.yml", in_ci },
	{ ".githooks/", is_hook },
	{ ".husky/", is_hook },
	{ "hooks/", is_hook },
	{ ".pre-commit-config.yaml", is_hook },
	{ "lefthook.yml", is_hook },
};

static bool starts_nocase(struct str path, const char *prefix)
{
	size_t len = strlen(prefix);

	return path.len > len &&
	       str_is_nocase((struct str){ path.ptr, len }, prefix);
}

const char *review_path(const struct protect *p, struct str path)
{
	struct str rest = path;
	struct str name = { 0 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *what = known[i].path;

		if (what[strlen(what) - 1] == '/' ? starts_nocase(path, what)
						  : str_is_nocase(path, what))
			return known[i].why;
	}
	while (str_split(&rest, '/', &name)) {
		if (str_is_nocase(name, "Jenkinsfile"))
			return in_ci;
		if (!rest.ptr && (str_is_nocase(name, ".gitattributes") ||
				  str_is_nocase(name, ".gitmodules")))
			return by_git;
	}
	return p && protect_find(p, path).len
		       ? "is protected: programs run what it says"
		       : NULL;
}

/* ":OLDMODE NEWMODE OLDOID NEWOID STATUS" and one path, two of a rename. */
static bool read_file(struct str *rest, struct review_file *f,
		      const struct protect *p)
{
	struct str head;
	struct str path;
	struct str second;
	size_t space;

	if (!str_split(rest, '\0', &head) || !str_starts(head, ":") ||
	    head.len < 16 || !str_split(rest, '\0', &path))
		return false;
	space = head.len;
	while (space && head.ptr[space - 1] != ' ')
		space--;
	*f = (struct review_file){ .status = head.ptr[space] };
	f->loud = review_path(p, path);
	if (f->status == 'R' || f->status == 'C') {
		if (!str_split(rest, '\0', &second))
			return false;
		f->from = xstrndup(path.ptr, path.len);
		path = second;
		f->loud = f->loud ? f->loud : review_path(p, path);
	}
	f->path = xstrndup(path.ptr, path.len);
	return true;
}

static int parse(struct review *v, struct str text, struct error *err)
{
	while (text.len) {
		struct review_file file = { 0 };

		if (!read_file(&text, &file, v->protect)) {
			free(file.from);
			return error_set(err, ERR_PROTOCOL,
					 "git's list of changes is invalid");
		}
		if (!(v->n & (v->n - 1)))
			v->files = xrealloc(v->files, v->n ? v->n * 2 : 1,
					    sizeof(*v->files));
		v->files[v->n++] = file;
		v->n_loud += file.loud != NULL;
	}
	return 0;
}

int review_read(struct review *v, const struct git *g, const char *before,
		const char *after, const struct stop *stop, struct error *err)
{
	const char *const argv[] = { "diff", "--raw", "-z", "-M", "--no-abbrev",
				     before, after,   "--", NULL };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	const struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);

	*v = (struct review){ .protect = v->protect };
	if (rc == 0)
		rc = parse(v, buf_str(&out), err);
	buf_release(&out);
	if (rc < 0)
		review_release(v);
	return rc;
}

void review_release(struct review *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->files[i].path);
		free(v->files[i].from);
	}
	free(v->files);
	*v = (struct review){ 0 };
}
