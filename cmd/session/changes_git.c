/* changes_git.c - dcode apply --branch and --index: writes to the user's
 * repository. */
/* SPDX-License-Identifier: MIT */

/*
 * Most of dcode apply writes files. --branch and --index write objects, refs
 * and the index of the user's repository. Two rules: nothing that the
 * repository configures may run a program (hooks, filters), and git itself does
 * the locking. struct user_git below ensures both. Begin reading at
 * changes_to_branch for --branch, changes_stage() for --index, and
 * changes_unstage() for --undo after --index.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/changes.h"
#include "session/thread.h"
#include "worktree/name.h"
#include "worktree/user_repo.h"

enum {
	INDEX_LIST_MAX = 512 << 20, /* bytes of output of git ls-files */
	PATHS_MAX = 256 << 20,
	VALUE_MAX = 4096, /* bytes of one git setting */
	TRANSFER_MS = 3600 * 1000,
	LINE_MAX_BYTES = 4096,
};

#define NO_OID "0000000000000000000000000000000000000000"

/* The submodules of an index. The index does not list their files. */
struct gitlinks {
	char **paths; /* owned */
	size_t n;
};

/* Collects the submodules from records "MODE OID STAGE\tPATH"
 * (git-ls-files(1)). */
static int gitlinks_read(struct gitlinks *l, const struct git *g,
			 const struct stop *stop, struct error *err)
{
	const char *argv[] = { "ls-files", "-z", "-s", NULL };
	struct buf out = BUF_INIT(INDEX_LIST_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);
	struct str rest = buf_str(&out);
	struct str record;

	while (rc == 0 && str_split(&rest, '\0', &record)) {
		struct str path;

		if (!str_starts(record, "160000 "))
			continue;
		path = str_skip(record, str_find(record, '\t') + 1);
		l->paths = xrealloc(l->paths, l->n + 1, sizeof(*l->paths));
		l->paths[l->n++] = xstrndup(path.ptr, path.len);
	}
	buf_release(&out);
	return rc;
}

/* True if a equals b or is a directory above it. */
static bool is_at_or_above(const char *a, const char *b)
{
	size_t len = strlen(a);

	return !strncmp(a, b, len) && (!b[len] || b[len] == '/');
}

/* True if path is a submodule, is inside one, or is a directory above one.
 * Adding such a path to an index would remove the submodule from it. */
static bool gitlinks_touch(const struct gitlinks *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_at_or_above(l->paths[i], path) ||
		    is_at_or_above(path, l->paths[i]))
			return true;
	return false;
}

static void gitlinks_release(struct gitlinks *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->paths[i]);
	free(l->paths);
	*l = (struct gitlinks){ 0 };
}

/* A git repository whose GIT_DIR is a directory of dcode, created anew for each
 * use. It has links to the user's refs, packed-refs and logs, and uses the
 * user's objects. So git locks and writes branches as usual, but never reads
 * the configuration or hooks of the user's repository, which could run
 * programs. dcode itself parses the identity, the line endings and the object
 * format there. Attributes are those of the working tree. */
struct user_git {
	struct user_repo repo;
	struct git git;
	char *dir, *objects; /* owned */
	const char *env[2];
	char *object_env;  /* owned */
	char autocrlf[32]; /* "core.autocrlf=input" */
	char eol[32];
};

/* Reads a line ending setting from the repository, else from the user's files.
 * Accepts only the words that git knows. */
static void read_line_ends(struct user_git *u, const char *key, char *setting,
			   size_t size, const struct stop *stop)
{
	static const char *const known[] = { "true", "false", "input",
					     "lf",   "crlf",  "native" };
	const char *home = getenv("HOME");
	struct error ignored = { 0 };
	struct buf value = BUF_INIT(VALUE_MAX);

	if (user_repo_config(&u->repo, key, &u->git, &value, stop, &ignored) ==
		    0 ||
	    user_config_value(&u->repo, home ? home : "/", key, &u->git, &value,
			      stop))
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (str_is_nocase(buf_str(&value), known[i]))
				snprintf(setting, size, "%s=%s", key, known[i]);
	buf_release(&value);
}

/* Refuses repositories with SHA-256 or reftable, which dcode cannot write. */
static int check_format(struct user_git *u, const struct stop *stop,
			struct error *err)
{
	static const struct {
		const char *key, *value;
	} known[] = { { "extensions.objectformat", "sha1" },
		      { "extensions.refstorage", "files" } };
	struct buf value = BUF_INIT(VALUE_MAX);
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < 2; i++) {
		buf_clear(&value);
		rc = user_repo_config(&u->repo, known[i].key, &u->git, &value,
				      stop, err);
		if (rc == 0 && !str_is_nocase(buf_str(&value), known[i].value))
			rc = error_set(err, ERR_USAGE,
				       "dcode cannot apply changes to a "
				       "repository unless its %s is %s",
				       known[i].key, known[i].value);
	}
	buf_release(&value);
	return rc < 0 ? -1 : 0;
}

/* Links one file or directory of the user's git directory into dcode's. Does
 * nothing if it is missing. Refuses a symbolic link, pipe or device. */
static int link_part(const struct user_git *u, const char *name,
		     struct error *err)
{
	char *from = path_join(u->repo.common, name);
	char *to = path_join(u->dir, name);
	struct stat st;
	int rc = 0;

	if (path_remove_tree(to, err) < 0 && access(to, F_OK) == 0)
		rc = -1;
	else if (lstat(from, &st) == 0 && !S_ISDIR(st.st_mode) &&
		 !S_ISREG(st.st_mode))
		rc = error_set(err, ERR_USAGE,
			       "dcode does not write to %s: it is a link, a "
			       "pipe or a device",
			       from);
	else if (lstat(from, &st) == 0 && symlink(from, to) < 0)
		rc = error_errno(err, "linking %s", to);
	free(from);
	free(to);
	return rc;
}

/* Deletes and recreates u->dir: files left there by an earlier run or another
 * program could make git run commands. */
static int make_dir(struct user_git *u, const struct stop *stop,
		    struct error *err)
{
	static const char *const parts[] = { "refs", "packed-refs", "logs" };
	char *info = path_join(u->dir, "info");
	char *file = path_join(info, "attributes");
	struct error ignored = { 0 };
	int rc;

	(void)path_remove_tree(u->dir, &ignored);
	rc = path_mkdirs(info, 0700, err);
	if (rc == 0)
		rc = path_write(file, STR("\n"), 0600, err);
	if (rc == 0)
		rc = git_init(&u->git, stop, err);
	for (size_t i = 0; rc == 0 && i < 3; i++)
		rc = link_part(u, parts[i], err);
	free(info);
	free(file);
	return rc;
}

/* Writes new objects directly into the user's repository. */
static int set_objects(struct user_git *u, struct error *err)
{
	struct stat st;

	u->objects = path_join(u->repo.common, "objects");
	if (lstat(u->objects, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERR_USAGE, "not a directory: %s",
				 u->objects);
	u->object_env = xasprintf("GIT_OBJECT_DIRECTORY=%s", u->objects);
	u->env[0] = u->object_env;
	u->git.env = u->env;
	u->git.users_modes = true;
	return 0;
}

static void user_git_close(struct user_git *u)
{
	user_repo_release(&u->repo);
	free(u->dir);
	free(u->objects);
	free(u->object_env);
	*u = (struct user_git){ 0 };
}

/* Opens u. ERR_USAGE if there is no repository, or one that dcode cannot
 * write. */
static int user_git_open(struct user_git *u, const struct workspace *w,
			 const struct stop *stop, struct error *err)
{
	int rc;

	*u = (struct user_git){ .autocrlf = "core.autocrlf=false",
				.eol = "core.eol=lf" };
	if (user_repo_open(&u->repo, w->root, &w->git, stop, err) < 0)
		return -1;
	u->dir = path_join(w->directory, "user.git");
	u->git = (struct git){ .program = w->program, .dir = u->dir };
	if (!u->repo.git_dir || !u->repo.common) {
		rc = error_set(
			err, ERR_USAGE,
			"not a git repository, or not writable by dcode: %s",
			w->root);
	} else {
		rc = make_dir(u, stop, err);
		if (rc == 0)
			rc = check_format(u, stop, err);
		if (rc == 0)
			rc = set_objects(u, err);
	}
	if (rc < 0) {
		user_git_close(u);
		return -1;
	}
	read_line_ends(u, "core.autocrlf", u->autocrlf, sizeof(u->autocrlf),
		       stop);
	read_line_ends(u, "core.eol", u->eol, sizeof(u->eol), stop);
	return 0;
}

/* True for a file with conflict markers, which must not be staged. */
static bool is_in_conflict(const struct change_set *ch, const char *path)
{
	const struct merge *m = &ch->result.merge;

	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->conflicts[i].path, path))
			return true;
	return false;
}

/* Lists the paths to stage, NUL-terminated for git -z. */
static void list_paths(const struct apply_file *files, size_t n,
		       struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		if (!files[i].unstaged)
			buf_add(out, files[i].path, strlen(files[i].path) + 1);
}

static void mark_unstaged(struct apply_file *files, size_t n, struct str path)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(path, files[i].path))
			files[i].unstaged = true;
}

/* Excludes paths in submodules: adding one would remove the submodule from the
 * index. */
static int skip_submodules(const struct git *g, struct apply_file *files,
			   size_t n, const struct stop *stop, struct error *err)
{
	struct gitlinks links = { 0 };
	int rc = gitlinks_read(&links, g, stop, err);

	for (size_t i = 0; i < n; i++)
		if (gitlinks_touch(&links, files[i].path))
			files[i].unstaged = true;
	gitlinks_release(&links);
	return rc;
}

/* Excludes paths with an unfinished merge of the user: git add would mark it as
 * resolved. */
static int skip_unmerged(const struct git *g, struct apply_file *files,
			 size_t n, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "ls-files", "-u", "-z", NULL };
	struct buf out = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);
	struct str rest = buf_str(&out);
	struct str entry;

	while (rc == 0 && str_split(&rest, '\0', &entry))
		mark_unstaged(files, n,
			      str_skip(entry, str_find(entry, '\t') + 1));
	buf_release(&out);
	return rc;
}

/* Excludes paths with a filter attribute: git would run a program for them. */
static int skip_filtered(const struct git *g, struct apply_file *files,
			 size_t n, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "check-attr", "-z", "--stdin", "filter", NULL };
	struct buf in = BUF_INIT(PATHS_MAX);
	struct buf out = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	struct str rest, path, name, value;
	int rc;

	list_paths(files, n, &in);
	r.input = buf_str(&in);
	rc = git_run(g, &r, stop, err);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\0', &path) &&
	       str_split(&rest, '\0', &name) && str_split(&rest, '\0', &value))
		if (!str_is(value, "unspecified") && !str_is(value, "unset"))
			mark_unstaged(files, n, path);
	buf_release(&in);
	buf_release(&out);
	return rc;
}

/* Stages the files. Line endings are converted as git add would. */
static int update_index(const struct git *g, const struct user_git *u,
			struct apply_file *files, size_t n,
			const struct stop *stop, struct error *err)
{
	const char *argv[] = { "-c",    u->autocrlf,    "-c",
			       u->eol,  "update-index", "--no-split-index",
			       "--add", "--remove",     "--replace",
			       "-z",    "--stdin",      NULL };
	struct buf in = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv };
	int rc;

	list_paths(files, n, &in);
	r.input = buf_str(&in);
	rc = git_run(g, &r, stop, err);
	if (rc < 0)
		error_wrap(err, "staging");
	buf_release(&in);
	return rc;
}

/* Stages into a copy of the index. The journal then replaces the user's index
 * with the copy. */
int changes_stage(void *arg, const char *before, const char *after,
		  struct apply_file *files, size_t n, struct error *err)
{
	struct change_set *ch = arg;
	struct stop stop = app_stop(ch->app);
	struct user_git u;
	struct git g;
	int rc;

	(void)before; /* user_repo_copy_index() makes the copy, because it
			 handles split indexes */
	if (user_git_open(&u, ch->workspace, &stop, err) < 0)
		return -1;
	g = u.git;
	g.index = after;
	g.work_tree = ch->workspace->root;
	for (size_t i = 0; i < n; i++)
		files[i].unstaged = is_in_conflict(ch, files[i].path);
	rc = user_repo_copy_index(&u.repo, &g, after, err);
	if (rc == 0)
		rc = skip_submodules(&g, files, n, &stop, err);
	if (rc == 0)
		rc = skip_unmerged(&g, files, n, &stop, err);
	if (rc == 0)
		rc = skip_filtered(&g, files, n, &stop, err);
	if (rc == 0)
		rc = update_index(&g, &u, files, n, &stop, err);
	user_git_close(&u);
	return rc;
}

/* Iterator over the entries of an index: "MODE OID STAGE\tPATH" records, sorted
 * by path, each NUL-terminated (git-ls-files(1)). */
struct entries {
	struct buf text;
	struct str rest; /* the records that are not consumed yet */
	struct str path; /* path of the next entry; ptr NULL at the end */
};

static struct str path_of(struct str record)
{
	return str_skip(record, str_find(record, '\t') + 1);
}

static void peek_path(struct entries *e)
{
	struct str rest = e->rest;
	struct str record;

	e->path = (struct str){ 0 };
	if (str_split(&rest, '\0', &record) && record.len)
		e->path = path_of(record);
}

/* Reads all entries of an index, to compare several indexes path by path. */
static int read_entries(struct entries *e, const struct git *g,
			const char *index, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "ls-files", "-s", "-z", NULL };
	struct git own = *g;
	struct git_request r = { .argv = argv, .out = &e->text };

	own.index = index;
	own.work_tree = NULL;
	e->text = BUF_INIT(PATHS_MAX);
	if (git_run(&own, &r, stop, err) < 0)
		return -1;
	e->rest = buf_str(&e->text);
	peek_path(e);
	return 0;
}

static int compare_names(struct str a, struct str b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	int c = least ? memcmp(a.ptr, b.ptr, least) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* If path is next, consumes and returns its entries for all stages. Otherwise
 * returns an empty string. */
static struct str consume_path(struct entries *e, struct str path)
{
	struct str taken = { e->rest.ptr, 0 };
	struct str record;

	while (e->path.ptr && str_eq(e->path, path)) {
		(void)str_split(&e->rest, '\0', &record);
		taken.len += record.len + 1;
		peek_path(e);
	}
	return taken;
}

/* Collects input for git update-index --index-info, which restores the entry
 * from before the apply for each path whose entry has not changed since. */
static void find_changes(struct entries *before, struct entries *applied,
			 struct entries *now, struct buf *changes)
{
	while (before->path.ptr || applied->path.ptr) {
		struct str path = applied->path;
		struct str old, staged;

		if (!path.ptr ||
		    (before->path.ptr && compare_names(before->path, path) < 0))
			path = before->path;
		while (now->path.ptr && compare_names(now->path, path) < 0)
			(void)consume_path(now, now->path);
		old = consume_path(before, path);
		staged = consume_path(applied, path);
		if (str_eq(old, staged) ||
		    !str_eq(consume_path(now, path), staged))
			continue;
		buf_adds(changes, "0 " NO_OID "\t");
		buf_addstr(changes, path);
		buf_addc(changes, '\0');
		buf_addstr(changes, old);
	}
}

/* Uses --no-split-index, so that the index does not depend on a second file. */
static int change_index(const struct git *g, const char *index,
			const struct buf *changes, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "update-index", "--no-split-index", "-z",
			       "--index-info", NULL };
	struct git own = *g;
	struct git_request r = { .argv = argv, .input = buf_str(changes) };

	if (buf_check(changes, "the list of changes", err) < 0)
		return -1;
	own.index = index;
	return git_run(&own, &r, stop, err);
}

/* Writes the index as it was before the apply to q->to and returns 1. If the
 * user's index has changed since, only restores unchanged entries with force,
 * and returns 0 without it. -1 with err. */
static int unstage_changes(const struct git *g, const struct apply_unstage *q,
			   bool force, const struct stop *stop,
			   struct error *err)
{
	struct entries before = { 0 };
	struct entries applied = { 0 };
	struct entries now = { 0 };
	struct buf changes = BUF_INIT(PATHS_MAX);
	int rc = 0;

	if (read_entries(&before, g, q->before, stop, err) < 0 ||
	    read_entries(&applied, g, q->applied, stop, err) < 0 ||
	    read_entries(&now, g, q->to, stop, err) < 0) {
		rc = -1;
	} else if (str_eq(buf_str(&applied.text), buf_str(&now.text))) {
		rc = user_index_copy(q->before, q->to, err) < 0 ? -1 : 1;
	} else if (force) {
		find_changes(&before, &applied, &now, &changes);
		rc = change_index(g, q->to, &changes, stop, err) < 0 ? -1 : 1;
	}
	buf_release(&before.text);
	buf_release(&applied.text);
	buf_release(&now.text);
	buf_release(&changes);
	return rc;
}

/* Deletes q->to if no new index was written to it. */
int changes_unstage(void *arg, const struct apply_unstage *q, struct error *err)
{
	struct change_set *ch = arg;
	struct stop stop = app_stop(ch->app);
	struct user_git u;
	int rc;

	if (user_git_open(&u, ch->workspace, &stop, err) < 0)
		return -1;
	rc = user_repo_copy_index(&u.repo, &u.git, q->to, err);
	if (rc == 0)
		rc = unstage_changes(&u.git, q, ch->force, &stop, err);
	if (rc != 1)
		unlink(q->to);
	user_git_close(&u);
	return rc;
}

struct branching {
	struct change_set *changes;
	struct user_git user;
	struct git git;       /* dcode's repository, which also reads the user's
				 objects */
	char *ref;            /* owned: refs/heads/NAME */
	char old[GIT_OID];    /* the branch's current commit, or "" */
	const char *parent;   /* of the new commit: HEAD, or old */
	char theirs[GIT_OID]; /* the sandbox's tree without submodules */
	const struct stop *stop;
};

/* Two indexes for the merge, built from HEAD and the sandbox's commit. */
struct sides {
	const struct branching *k;
	/* HEAD's tree, plus the sent version of the files that the sandbox
	 * changed and HEAD does not have. Without it the merge would report a
	 * conflict for them. */
	struct tree_index ours;
	struct buf known; /* "path\0" of every path in HEAD's tree */
	/* The sandbox's tree. Files in submodules are reset to the sent
	 * version. */
	struct tree_index theirs;
	struct gitlinks links;
	size_t kept; /* number of the sandbox's changes outside submodules */
};

/* True if this HEAD file points to the branch. */
static bool is_head(const struct branching *k, const char *file)
{
	const char *common = k->user.repo.common;
	struct buf text = BUF_INIT(LINE_MAX_BYTES);
	struct error ignored = { 0 };
	bool is = user_repo_read(common, file, &text, &ignored) == 0 &&
		  str_starts(buf_str(&text), "ref: ") &&
		  str_is(str_trim(str_skip(buf_str(&text), 5)), k->ref);

	buf_release(&text);
	return is;
}

/* True if the branch is checked out in the main or a linked working tree. */
static bool is_checked_out(const struct branching *k)
{
	char *list = path_join(k->user.repo.common, "worktrees");
	bool found = is_head(k, "HEAD");
	DIR *dir = opendir(list);
	const struct dirent *d;

	while (!found && dir && (d = readdir(dir))) {
		char *head = xasprintf("worktrees/%s/HEAD", d->d_name);

		found = d->d_name[0] != '.' && is_head(k, head);
		free(head);
	}
	if (dir)
		closedir(dir);
	free(list);
	return found;
}

/* Refuses links and pipes in place of files that git writes: git would write
 * through a link and block on a pipe. */
static int check_writable(const struct branching *k, const char *name,
			  struct error *err)
{
	char *path = path_join(k->user.repo.common, name);
	size_t from = strlen(k->user.repo.common) + 1;
	struct stat st;
	int rc = 0;

	for (size_t i = from; rc == 0; i++) {
		char kept = path[i];

		if (kept != '/' && kept != '\0')
			continue;
		path[i] = '\0';
		if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode) &&
		    !S_ISREG(st.st_mode))
			rc = error_set(err, ERR_USAGE,
				       "dcode does not write to %s: it is a "
				       "link, a pipe or a device",
				       path);
		path[i] = kept;
		if (!kept)
			break;
	}
	free(path);
	return rc;
}

/* Checks that git may write the files of the branch and its reflog. */
static int check_files(const struct branching *k, struct error *err)
{
	char *log = path_join("logs", k->ref);
	int rc = check_writable(k, k->ref, err);

	if (rc == 0)
		rc = check_writable(k, log, err);
	free(log);
	return rc;
}

/* True if dcode has made the branch for this sandbox and neither it nor HEAD
 * has moved: then a commit on top of it contains what HEAD contains. */
static bool is_continued(const struct branching *k)
{
	const struct push_record *p = k->changes->pushed;

	return p && p->branch && k->old[0] &&
	       !strcmp(p->branch, k->changes->given[CHANGES_BRANCH]) &&
	       !strcmp(p->commit, k->old) &&
	       !strcmp(p->head, k->user.repo.head);
}

/* Sets oid to what the user's ref is; "" if it does not exist. */
static int read_ref(const struct branching *k, const char *ref,
		    char oid[GIT_OID], struct error *err)
{
	const char *argv[] = { "rev-parse", "-q", "--verify", ref, NULL };
	struct buf out = BUF_INIT(LINE_MAX_BYTES);
	int status = 0;
	struct git_request r = { .argv = argv, .out = &out, .status = &status };
	int rc = git_run(&k->user.git, &r, k->stop, err);
	struct str found = str_trim(buf_str(&out));

	oid[0] = '\0';
	if (rc == 0 && status == 0 && found.len < GIT_OID)
		snprintf(oid, GIT_OID, "%.*s", (int)found.len, found.ptr);
	buf_release(&out);
	return rc;
}

/* Sets k->old and k->parent. Fails if the branch is checked out anywhere, or
 * exists, is not continued, and --force is not given. */
static int check_name(struct branching *k, struct error *err)
{
	const char *name = k->changes->given[CHANGES_BRANCH];
	const char *format[] = { "check-ref-format", k->ref, NULL };
	char *tag = xasprintf("refs/tags/%s", name);
	char tagged[GIT_OID];
	int status = 0;
	struct git_request r = { .argv = format, .status = &status };
	int rc = git_run(&k->user.git, &r, k->stop, err);

	k->parent = k->user.repo.head;
	if (rc == 0 && (status != 0 || name[0] == '-' || !strcmp(name, "HEAD")))
		rc = error_set(err, ERR_USAGE, "not a valid branch name: '%s'",
			       name);
	if (rc == 0)
		rc = check_files(k, err);
	if (rc == 0)
		rc = read_ref(k, k->ref, k->old, err);
	if (rc == 0)
		rc = read_ref(k, tag, tagged, err);
	free(tag);
	/* git would take the name for the tag, others for the branch */
	if (rc == 0 && tagged[0]) {
		rc = error_set(err, ERR_USAGE,
			       "this repository has a tag with the name %s",
			       name);
		error_hint(err, "Choose another name for the branch.");
	}
	if (rc == 0 && k->old[0] && is_checked_out(k)) {
		rc = error_set(
			err, ERR_USAGE,
			"branch %s is checked out: it cannot be replaced",
			name);
		error_hint(err, "Choose another name, or run `dcode apply` "
				"without --branch.");
	} else if (rc == 0 && is_continued(k)) {
		k->parent = k->old;
	} else if (rc == 0 && k->old[0] && !k->changes->force) {
		rc = error_set(err, ERR_USAGE, "branch %s already exists",
			       name);
		error_hint(err, "Choose another name; `dcode apply --force` "
				"replaces it.");
	}
	return rc;
}

/* True if HEAD's tree contains this path. */
static bool is_known(const struct sides *s, const char *path)
{
	struct buf key = BUF_INIT(2 * LINE_MAX_BYTES);
	bool known;

	buf_addc(&key, '\0');
	buf_add(&key, path, strlen(path) + 1);
	known = str_search(buf_str(&s->known), buf_str(&key)) != s->known.len;
	buf_release(&key);
	return known;
}

/* odb_tree_diff() callback: edits the indexes for one change of the sandbox. A
 * path in a submodule is reset in theirs. A path that HEAD does not have is
 * added to ours as it was sent. */
static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct sides *s = arg;
	struct change_set *ch = s->k->changes;
	bool leave = gitlinks_touch(&s->links, d->path);
	struct tree_index *index = leave ? &s->theirs : &s->ours;
	char mode[16];

	(void)err;
	snprintf(mode, sizeof(mode), "%o", d->old_mode);
	if (leave)
		apply_add_path(&ch->left_out, &ch->n_left_out, d->path);
	else
		s->kept++;
	if (d->old_mode && (leave || !is_known(s, d->path)))
		tree_index_set(index, str_of(mode), str_of(d->old_oid),
			       str_of(d->path));
	else if (leave)
		tree_index_forget(index, str_of(d->path));
	return 0;
}

/* Collects the submodules of the user's index and of HEAD. */
static int read_links(struct sides *s, struct error *err)
{
	const struct branching *k = s->k;
	struct git user = k->user.git;
	char *index = path_join(user.dir, "index");
	int rc;

	user.index = index;
	rc = user_repo_copy_index(&k->user.repo, &user, index, err);
	if (rc == 0)
		rc = gitlinks_read(&s->links, &user, k->stop, err);
	if (rc == 0)
		rc = gitlinks_read(&s->links, &s->ours.git, k->stop, err);
	free(index);
	return rc;
}

/* Fills both indexes from whole trees, then edits them with add_change(). */
static int read_sides(struct sides *s, struct error *err)
{
	const struct branching *k = s->k;
	struct change_set *ch = k->changes;
	const char *list[] = { "ls-files", "-z", NULL };
	struct git_request r = { .argv = list, .out = &s->known };
	int rc = tree_index_read(&s->ours, k->user.repo.head, k->stop, err);

	if (rc == 0)
		rc = tree_index_read(&s->theirs, ch->theirs, k->stop, err);
	buf_addc(&s->known, '\0');
	if (rc == 0)
		rc = git_run(&s->ours.git, &r, k->stop, err);
	if (rc == 0)
		rc = read_links(s, err);
	if (rc == 0)
		rc = odb_tree_diff(&k->git, ch->workspace->base, ch->theirs,
				   &(struct odb_sink){ add_change, s }, k->stop,
				   err);
	if (rc == 0 && !s->kept) {
		rc = error_set(err, ERR_USAGE,
			       "--branch: all changes are in submodules, which "
			       "have commits of their own");
		error_hint(err,
			   "`dcode apply` writes them to the working tree.");
	}
	return rc;
}

/* Writes both indexes as trees. HEAD and the sandbox's commit cannot be merged
 * as they are, because the sandbox also has files that are in no commit of the
 * user. */
static int build_side_trees(struct branching *k, char ours[GIT_OID],
			    struct error *err)
{
	const char *directory = k->changes->workspace->directory;
	struct sides s = { .k = k, .known = BUF_INIT(256 << 20) };
	int rc;

	tree_index_init(&s.ours, &k->git, directory, "branch.index");
	tree_index_init(&s.theirs, &k->git, directory, "branch-sandbox.index");
	rc = read_sides(&s, err);
	if (rc == 0)
		rc = tree_index_update(&s.ours, k->stop, err);
	if (rc == 0)
		rc = tree_index_write(&s.ours, ours, k->stop, err);
	if (rc == 0)
		rc = tree_index_update(&s.theirs, k->stop, err);
	if (rc == 0)
		rc = tree_index_write(&s.theirs, k->theirs, k->stop, err);
	tree_index_release(&s.ours);
	tree_index_release(&s.theirs);
	gitlinks_release(&s.links);
	buf_release(&s.known);
	return rc;
}

/* Appends the commit message. The subject is the first line of the task. */
static void add_message(const struct change_set *ch, struct buf *out)
{
	struct str task = str_trim(str_of(ch->task ? ch->task : ""));
	char *line = xstrndup(task.len ? task.ptr : "", str_find(task, '\n'));
	char *title = thread_title(line);

	if (title[0])
		app_clean(ch->app, CLEAN_LATER, str_of(title), out);
	else
		buf_adds(out, "Changes made in dcode's sandbox");
	buf_addf(out, "\n\nThread: %s\n", ch->thread ? ch->thread : "none");
	free(line);
	free(title);
}

/* Writes the commit with git hash-object: dcode runs git with its own author,
 * and this commit needs the user's. */
static int make_commit(struct branching *k, const char *identity,
		       struct error *err)
{
	struct change_set *ch = k->changes;
	const char *argv[] = { "hash-object", "-t",      "commit",
			       "-w",          "--stdin", NULL };
	struct buf text = BUF_INIT(1 << 16);
	struct buf out = BUF_INIT(LINE_MAX_BYTES);
	struct git_request r = { .argv = argv, .out = &out };
	time_t now = time(NULL);
	struct tm parts;
	char zone[8] = "+0000";
	struct str oid;
	int rc;

	if (localtime_r(&now, &parts))
		(void)strftime(zone, sizeof(zone), "%z", &parts);
	buf_addf(&text, "tree %s\nparent %s\n", ch->result.merge.tree,
		 k->parent);
	buf_addf(&text, "author %s %lld %s\n", identity, (long long)now, zone);
	buf_addf(&text, "committer %s %lld %s\n\n", identity, (long long)now,
		 zone);
	add_message(ch, &text);
	r.input = buf_str(&text);
	rc = git_run(&k->git, &r, k->stop, err);
	oid = str_trim(buf_str(&out));
	if (rc == 0 && (!oid.len || oid.len >= GIT_OID))
		rc = error_set(err, ERR_SYSTEM,
			       "git hash-object printed no commit id");
	if (rc == 0)
		snprintf(ch->commit, sizeof(ch->commit), "%.*s", (int)oid.len,
			 oid.ptr);
	buf_release(&text);
	buf_release(&out);
	return rc;
}

static int write_unpack_input(void *arg, struct str chunk, struct error *err)
{
	return git_write(arg, chunk, err);
}

/* Copies objects of the commit that the user's repository lacks. */
static int copy_objects(struct branching *k, struct error *err)
{
	const char *unpack[] = { "unpack-objects", "-q", NULL };
	const char *pack[] = { "pack-objects", "-q", "--revs", "--stdout",
			       NULL };
	struct git_request out = { .argv = unpack, .timeout_ms = TRANSFER_MS };
	struct buf revs = BUF_INIT(LINE_MAX_BYTES);
	struct git_request in = { .argv = pack, .timeout_ms = TRANSFER_MS };
	struct git_process *p;
	int rc;

	if (git_start(&p, &k->user.git, &out, k->stop, err) < 0)
		return -1;
	buf_addf(&revs, "%s\n^%s\n", k->changes->commit, k->parent);
	in.input = buf_str(&revs);
	in.sink = write_unpack_input;
	in.sink_arg = p;
	rc = git_run(&k->git, &in, k->stop, err);
	if (rc == 0)
		rc = git_finish(p, err);
	else
		git_abort(p);
	buf_release(&revs);
	return rc;
}

/* Moves the branch to the new commit. Tells git update-ref the old commit, so
 * that git refuses if the branch has moved meanwhile. */
static int set_branch(struct branching *k, struct error *err)
{
	const char *old = k->old[0] ? k->old : NO_OID;
	const char *argv[] = { "-c",
			       "core.logAllRefUpdates=true",
			       "update-ref",
			       "-m",
			       "dcode apply",
			       k->ref,
			       k->changes->commit,
			       old,
			       NULL };
	struct git_request r = { .argv = argv };

	return git_run(&k->user.git, &r, k->stop, err);
}

/* odb_tree_diff() callback: adds a file of the commit to the result. */
static int add_file(void *arg, const struct odb_record *d, struct error *err)
{
	struct apply_result *r = arg;

	(void)err;
	r->files = xrealloc(r->files, r->n + 1, sizeof(*r->files));
	r->files[r->n++] = (struct apply_file){
		.path = xstrdup(d->path),
		.letter = !d->old_mode   ? 'A'
			  : !d->new_mode ? 'D'
					 : 'M',
	};
	return 0;
}

/* Checks the names in the commit like names in the working tree, because a
 * checkout would create these files there. */
static int check_names(const struct branching *k, struct error *err)
{
	const struct apply_result *r = &k->changes->result;
	struct bare_repos made = { 0 };
	struct tree_dir disk;
	int rc = tree_dir_open(&disk, k->changes->workspace->root, err);

	for (size_t i = 0; i < r->n; i++)
		if (r->files[i].letter != 'D')
			bare_repo_add(&made, str_of(r->files[i].path));
	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		const char *path = r->files[i].path;
		const char *why = name_refuse(str_of(path), NAME_FILE);

		if (!why && bare_repo_find(&made, &disk, path) >= 0)
			why = bare_repo_refused;
		if (why)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s %s: no commit was made", path, why);
	}
	tree_dir_close(&disk);
	bare_repo_release(&made);
	return rc;
}

/* True if a continued branch has all changes already. */
static bool is_unchanged(const struct branching *k)
{
	char *name = xasprintf("%s^{tree}", k->old);
	const char *argv[] = { "rev-parse", "-q", "--verify", name, NULL };
	struct buf tree = BUF_INIT(LINE_MAX_BYTES);
	struct error ignored = { 0 };
	bool same = k->parent == k->old &&
		    git_ask(&k->git, argv, &tree, k->stop, &ignored) == 0 &&
		    str_is(buf_str(&tree), k->changes->result.merge.tree);

	buf_release(&tree);
	free(name);
	return same;
}

static int confirm_commit(const struct branching *k, struct error *err)
{
	const struct change_set *ch = k->changes;

	return ch->confirm ? ch->confirm(ch->confirm_arg, ch->commit,
					 &k->user.git, k->stop, err)
			   : 0;
}

/* Copies the objects first and moves the branch last, so that a failure leaves
 * only unreferenced objects. */
static int commit_merge(struct branching *k, struct error *err)
{
	struct change_set *ch = k->changes;
	struct apply_result *r = &ch->result;
	char *identity = NULL;
	int rc;

	if (is_unchanged(k)) {
		memcpy(ch->commit, k->old, sizeof(ch->commit));
		rc = confirm_commit(k, err);
		if (rc < 0)
			ch->commit[0] = '\0';
		return rc;
	}
	rc = user_repo_identity(&k->user.repo, settings_home(ch->app->settings),
				&k->user.git, &identity, k->stop, err);
	if (rc == 0)
		rc = make_commit(k, identity, err);
	if (rc == 0)
		rc = odb_tree_diff(&k->git, k->user.repo.head, r->merge.tree,
				   &(struct odb_sink){ add_file, r }, k->stop,
				   err);
	if (rc == 0)
		rc = check_names(k, err);
	if (rc == 0)
		rc = confirm_commit(k, err);
	if (rc == 0)
		rc = copy_objects(k, err);
	if (rc == 0)
		rc = set_branch(k, err);
	if (rc < 0)
		ch->commit[0] = '\0';
	free(identity);
	return rc;
}

/* Fails if the repository has no commit yet: the new commit needs a parent. */
static int check_commit(const struct branching *k, struct error *err)
{
	if (k->user.repo.head[0])
		return 0;
	return error_set(err, ERR_USAGE,
			 "--branch: the repository has no commit yet");
}

/* Opens the user's repository and checks that the branch can be created or
 * replaced there. */
static int init_branch(struct branching *k, struct change_set *ch,
		       const struct stop *stop, struct error *err)
{
	int rc;

	*k = (struct branching){ .changes = ch,
				 .git = ch->workspace->git,
				 .stop = stop };
	if (user_git_open(&k->user, ch->workspace, stop, err) < 0)
		return error_wrap(err, "--branch");
	k->git.objects = k->user.objects;
	k->ref = xasprintf("refs/heads/%s", ch->given[CHANGES_BRANCH]);
	rc = check_commit(k, err);
	return rc == 0 ? check_name(k, err) : rc;
}

static void release_branch(struct branching *k)
{
	user_git_close(&k->user);
	free(k->ref);
}

/* Checks what open_branch() and write_branch() check, without writing
 * anything. */
int changes_check_branch(struct change_set *ch, const struct stop *stop,
			 struct error *err)
{
	struct branching k;
	char *identity = NULL;
	int rc = init_branch(&k, ch, stop, err);

	if (rc == 0)
		rc = user_repo_identity(&k.user.repo,
					settings_home(ch->app->settings),
					&k.user.git, &identity, stop, err);
	release_branch(&k);
	free(identity);
	return rc;
}

static int open_branch(struct change_merge *m, struct error *err)
{
	struct branching *k = xcalloc(1, sizeof(*k));

	m->branching = k;
	if (init_branch(k, m->changes, m->stop, err) < 0)
		return -1;
	m->git = k->git;
	m->sides.autocrlf = k->user.autocrlf;
	m->sides.eol = k->user.eol;
	return 0;
}

static int read_branch(struct change_merge *m, struct error *err)
{
	m->sides.theirs = m->branching->theirs;
	return build_side_trees(m->branching, m->ours, err);
}

static int write_branch(struct change_merge *m, struct error *err)
{
	return m->changes->result.merge.n ? 0 : commit_merge(m->branching, err);
}

static void close_branch(struct change_merge *m)
{
	release_branch(m->branching);
	free(m->branching);
}

const struct change_target changes_to_branch = {
	.open = open_branch,
	.read = read_branch,
	.write = write_branch,
	.close = close_branch,
};
