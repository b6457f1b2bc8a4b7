/* bring_branch.c - dcode apply --branch: a commit, and nothing else. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/bring.h"
#include "cmd/session/gitlinks.h"
#include "cmd/session/tree_index.h"
#include "cmd/session/user_git.h"
#include "session/thread.h"
#include "tree/bare_repo.h"
#include "tree/name.h"

enum { TRANSFER_MS = 3600 * 1000, LINE_MAX_BYTES = 4096 };

struct branching {
	struct bring *bring;
	struct user_git user;
	struct git git;    /* dcode's, reading the user's objects too */
	char *ref;         /* owned: refs/heads/NAME */
	char old[GIT_OID]; /* that it names now, or "" */
	const struct stop *stop;
};

/* Whether a HEAD file is on this branch. */
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

/* git would write through links, and wait for who reads a pipe. */
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

/* The branch, and its log. */
static int check_files(const struct branching *k, struct error *err)
{
	char *log = path_join("logs", k->ref);
	int rc = check_writable(k, k->ref, err);

	if (rc == 0)
		rc = check_writable(k, log, err);
	free(log);
	return rc;
}

static int check_name(struct branching *k, struct error *err)
{
	const char *name = k->bring->options.branch;
	const char *format[] = { "check-ref-format", k->ref, NULL };
	const char *parse[] = { "rev-parse", "-q", "--verify", k->ref, NULL };
	struct buf out = BUF_INIT(LINE_MAX_BYTES);
	struct str oid;
	int status = 0;
	struct git_request r = { .argv = format, .status = &status };
	int rc = git_run(&k->user.git, &r, k->stop, err);

	if (rc == 0 && (status != 0 || name[0] == '-' || !strcmp(name, "HEAD")))
		return error_set(err, ERR_USAGE,
				 "not a valid branch name: '%s'", name);
	if (rc < 0 || check_files(k, err) < 0)
		return -1;
	r.argv = parse;
	r.out = &out;
	rc = git_run(&k->user.git, &r, k->stop, err);
	oid = str_trim(buf_str(&out));
	if (rc == 0 && status == 0 && oid.len < GIT_OID)
		snprintf(k->old, sizeof(k->old), "%.*s", (int)oid.len, oid.ptr);
	buf_release(&out);
	if (rc == 0 && k->old[0] && is_checked_out(k)) {
		rc = error_set(
			err, ERR_USAGE,
			"branch %s is checked out: it cannot be replaced",
			name);
		error_hint(err, "Choose another name, or run `dcode apply` "
				"without --branch.");
	} else if (rc == 0 && k->old[0] && !k->bring->options.force) {
		rc = error_set(err, ERR_USAGE, "branch %s already exists",
			       name);
		error_hint(err, "Choose another name; `dcode apply --force` "
				"replaces it.");
	}
	return rc;
}

/* Two trees for the merge, each from what the sandbox changed. */
struct sides {
	const struct branching *k;
	/* HEAD's, with the files that are in the base but in no commit of the
	 * user's, as new ones are: what became of them goes in whole. */
	struct tree_index ours;
	struct buf known; /* "path\0" of all in HEAD's tree */
	/* The sandbox's, with the files of submodules as in the base. */
	struct tree_index theirs;
	struct gitlinks links;
	size_t kept; /* changes that are in no submodule */
};

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

static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct sides *s = arg;
	struct bring *b = s->k->bring;
	bool leave = gitlinks_touch(&s->links, d->path);
	struct tree_index *index = leave ? &s->theirs : &s->ours;
	char mode[16];

	(void)err;
	snprintf(mode, sizeof(mode), "%o", d->old_mode);
	if (leave)
		apply_add_path(&b->left_out, &b->n_left_out, d->path);
	else
		s->kept++;
	if (d->old_mode && (leave || !is_known(s, d->path)))
		tree_index_set(index, str_of(mode), str_of(d->old_oid),
			       str_of(d->path));
	else if (leave)
		tree_index_forget(index, str_of(d->path));
	return 0;
}

/* Those of HEAD, and those that are staged. */
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

static int read_sides(struct sides *s, struct error *err)
{
	const struct branching *k = s->k;
	struct bring *b = k->bring;
	const char *list[] = { "ls-files", "-z", NULL };
	struct git_request r = { .argv = list, .out = &s->known };
	int rc = tree_index_read(&s->ours, k->user.repo.head, k->stop, err);

	if (rc == 0)
		rc = tree_index_read(&s->theirs, b->theirs, k->stop, err);
	buf_addc(&s->known, '\0');
	if (rc == 0)
		rc = git_run(&s->ours.git, &r, k->stop, err);
	if (rc == 0)
		rc = read_links(s, err);
	if (rc == 0)
		rc = odb_tree_diff(&k->git, b->workspace->base, b->theirs,
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

static int make_sides(struct branching *k, char ours[GIT_OID],
		      char theirs[GIT_OID], struct error *err)
{
	const char *directory = k->bring->workspace->directory;
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
		rc = tree_index_write(&s.theirs, theirs, k->stop, err);
	tree_index_release(&s.ours);
	tree_index_release(&s.theirs);
	gitlinks_release(&s.links);
	buf_release(&s.known);
	return rc;
}

/* The first line of the task is the subject. */
static void add_message(const struct bring *b, struct buf *out)
{
	struct str task = str_trim(str_of(b->task ? b->task : ""));
	char *line = xstrndup(task.len ? task.ptr : "", str_find(task, '\n'));
	char *title = thread_title(line);

	if (title[0])
		mask_text(b->app->mask, str_of(title), out);
	else
		buf_adds(out, "Changes made in dcode's sandbox");
	buf_addf(out, "\n\nThread: %s\n", b->thread ? b->thread : "none");
	free(line);
	free(title);
}

/* Written as an object, since dcode's git has an author of its own. */
static int make_commit(struct branching *k, const char *identity,
		       struct error *err)
{
	struct bring *b = k->bring;
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
	buf_addf(&text, "tree %s\nparent %s\n", b->result.merge.tree,
		 k->user.repo.head);
	buf_addf(&text, "author %s %lld %s\n", identity, (long long)now, zone);
	buf_addf(&text, "committer %s %lld %s\n\n", identity, (long long)now,
		 zone);
	add_message(b, &text);
	r.input = buf_str(&text);
	rc = git_run(&k->git, &r, k->stop, err);
	oid = str_trim(buf_str(&out));
	if (rc == 0 && (!oid.len || oid.len >= GIT_OID))
		rc = error_set(err, ERR_SYSTEM, "git hash-object: no commit");
	if (rc == 0)
		snprintf(b->commit, sizeof(b->commit), "%.*s", (int)oid.len,
			 oid.ptr);
	buf_release(&text);
	buf_release(&out);
	return rc;
}

static int feed_unpack(void *arg, struct str chunk, struct error *err)
{
	return git_write(arg, chunk, err);
}

/* What the commit needs and the user's repository lacks. */
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
	buf_addf(&revs, "%s\n^%s\n", k->bring->commit, k->user.repo.head);
	in.input = buf_str(&revs);
	in.sink = feed_unpack;
	in.sink_arg = p;
	rc = git_run(&k->git, &in, k->stop, err);
	if (rc == 0)
		rc = git_finish(p, err);
	else
		git_abort(p);
	buf_release(&revs);
	return rc;
}

static int set_branch(struct branching *k, struct error *err)
{
	const char *old =
		k->old[0] ? k->old : "0000000000000000000000000000000000000000";
	const char *argv[] = { "-c",
			       "core.logAllRefUpdates=true",
			       "update-ref",
			       "-m",
			       "dcode apply",
			       k->ref,
			       k->bring->commit,
			       old,
			       NULL };
	struct git_request r = { .argv = argv };

	return git_run(&k->user.git, &r, k->stop, err);
}

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

static int check_names(const struct branching *k, struct error *err)
{
	const struct apply_result *r = &k->bring->result;
	struct bare_repos made = { 0 };
	struct tree_dir disk;
	int rc = tree_dir_open(&disk, k->bring->workspace->root, err);

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

static int commit_merge(struct branching *k, struct error *err)
{
	struct bring *b = k->bring;
	struct apply_result *r = &b->result;
	char *identity = NULL;
	int rc = user_git_identity(&k->user, settings_home(b->app->settings),
				   &identity, k->stop, err);

	if (rc == 0)
		rc = make_commit(k, identity, err);
	if (rc == 0)
		rc = odb_tree_diff(&k->git, k->user.repo.head, r->merge.tree,
				   &(struct odb_sink){ add_file, r }, k->stop,
				   err);
	if (rc == 0)
		rc = check_names(k, err);
	if (rc == 0)
		rc = copy_objects(k, err);
	if (rc == 0)
		rc = set_branch(k, err);
	if (rc < 0)
		b->commit[0] = '\0';
	free(identity);
	return rc;
}

/* The commit goes on top of one. */
static int check_commit(const struct branching *k, struct error *err)
{
	if (k->user.repo.head[0])
		return 0;
	return error_set(err, ERR_USAGE,
			 "--branch: the repository has no commit yet");
}

int bring_branch_check(struct bring *b, const struct stop *stop,
		       struct error *err)
{
	struct branching k = { .bring = b, .stop = stop };
	char *identity = NULL;
	int rc = user_git_open(&k.user, b->workspace, stop, err);

	if (rc < 0)
		return error_wrap(err, "--branch");
	k.ref = xasprintf("refs/heads/%s", b->options.branch);
	rc = check_commit(&k, err);
	if (rc == 0)
		rc = check_name(&k, err);
	if (rc == 0)
		rc = user_git_identity(&k.user, settings_home(b->app->settings),
				       &identity, stop, err);
	user_git_close(&k.user);
	free(identity);
	free(k.ref);
	return rc;
}

int bring_branch(struct bring *b, const struct stop *stop, struct error *err)
{
	struct workspace *w = b->workspace;
	struct branching k = { .bring = b, .git = w->git, .stop = stop };
	char ours[GIT_OID], theirs[GIT_OID];
	struct merge_sides sides = { .base = w->base,
				     .ours = ours,
				     .theirs = theirs };
	struct user_attributes a = { 0 };
	int rc = user_git_open(&k.user, w, stop, err);

	if (rc < 0)
		return error_wrap(err, "--branch");
	k.ref = xasprintf("refs/heads/%s", b->options.branch);
	k.git.objects = k.user.objects;
	rc = check_commit(&k, err);
	if (rc == 0)
		rc = check_name(&k, err);
	if (rc == 0)
		rc = make_sides(&k, ours, theirs, err);
	if (rc == 0)
		user_repo_attributes(&k.user.repo, &w->git,
				     settings_home(b->app->settings), &a, stop);
	sides.autocrlf = k.user.autocrlf;
	sides.eol = k.user.eol;
	sides.attributes.info = buf_str(&a.info);
	sides.attributes.global = buf_str(&a.global);
	if (rc == 0)
		rc = merge_compute(&b->result.merge, &k.git, &sides, stop, err);
	if (rc == 0 && !b->result.merge.n)
		rc = commit_merge(&k, err);
	user_repo_attributes_release(&a);
	user_git_close(&k.user);
	free(k.ref);
	return rc;
}
