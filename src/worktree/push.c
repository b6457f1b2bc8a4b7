/* push.c - pushes one branch from the user's machine. */
/* SPDX-License-Identifier: MIT */
/*
 * Three steps, in this order: push_ask_server() reads the server's branches,
 * push_read() finds what would be pushed, and push_send() pushes one commit to
 * one branch, never forced. The caller asks the user before the last step; or
 * before the first, with what push_recall() knows without the server.
 * server_git.h says which settings git obeys meanwhile.
 */
#include "worktree/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "worktree/odb.h"

enum {
	ASK_MS = 60000,
	ASK_TERMINAL_MS = 600000, /* the user may have to type a password */
	SEND_MS = 1800000,
	REFS_MAX = 16 << 20,
	COMMITS_MAX = 4 << 20,
	SAID_MAX = 64 << 10,
	RECORD_MAX = 4096,
	SHOWN_MAX = 300,
	PATHS_MAX = 64 << 20,
	POINTER_MAX = 1024, /* bytes (git-lfs, docs/spec.md) */
};

#define HEADS "refs/heads/"
#define TAGS "refs/tags/"

static bool is_oid(struct str s)
{
	size_t n = 0;

	while (n < s.len && strchr("0123456789abcdef", s.ptr[n]) && s.ptr[n])
		n++;
	return n == s.len && (n == 40 || n == 64);
}

static void set_oid(char to[GIT_OID], struct str oid)
{
	snprintf(to, GIT_OID, "%.*s", (int)oid.len, oid.ptr);
}

static void set_head(struct push *p, struct str name)
{
	free(p->head);
	p->head = xstrndup(name.ptr ? name.ptr : "", name.len);
}

static void add_branch(struct push *p, struct str oid, struct str name)
{
	buf_addf(&p->refs, "%.*s\n", (int)oid.len, oid.ptr);
	if (str_is(name, p->branch))
		set_oid(p->tip, oid);
}

/* Reads "ref: refs/heads/NAME\tHEAD" or "OID\tREF". */
static void read_ref(struct push *p, struct str line)
{
	struct str first = { line.ptr, str_find(line, '\t') };
	struct str ref = str_skip(line, first.len + 1);

	if (str_starts(first, "ref: " HEADS) && str_is(ref, "HEAD"))
		set_head(p, str_skip(first, sizeof("ref: " HEADS) - 1));
	if (is_oid(first) && str_starts(ref, HEADS))
		add_branch(p, first, str_skip(ref, sizeof(HEADS) - 1));
	if (str_starts(ref, TAGS) &&
	    str_is(str_skip(ref, sizeof(TAGS) - 1), p->branch))
		p->is_tag = true;
}

/* True if git's messages say that the server does not accept the user. */
static bool is_auth(struct str said)
{
	static const char *const words[] = {
		"Permission denied",         "Authentication failed",
		"could not read Username",   "could not read Password",
		"terminal prompts disabled", "Host key verification failed",
		"returned error: 403",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (str_search(said, str_of(words[i])) < said.len)
			return true;
	return false;
}

/* Returns the line to show: the first with a reason, else the last one. ssh
 * prints its reason before git's own line. */
static struct str find_reason(struct str said)
{
	static const char *const starts[] = { "fatal: ", "error: ", "remote: ",
					      "! " };
	struct str found = { 0 };
	struct str last = { 0 };
	struct str line;

	while (str_split(&said, '\n', &line)) {
		line = str_trim(line);
		if (!line.len)
			continue;
		last = line;
		for (size_t i = 0; i < 4 && !found.len; i++)
			if (str_starts(line, starts[i]) || is_auth(line))
				found = line;
	}
	return found.len ? found : last;
}

/* Sets err from git's messages. Returns -1. */
static int say_failure(const struct push *p, struct str said, const char *what,
		       struct error *err)
{
	struct buf line = BUF_INIT(SHOWN_MAX);
	struct buf url = BUF_INIT(4096);

	sanitize_line(find_reason(said), &line);
	server_git_show_url(p->remote->push_url, &url);
	error_set(err, is_auth(said) ? ERR_AUTH : ERR_REMOTE, "%s %s: %s", what,
		  url.ptr, line.len ? line.ptr : "git failed");
	if (is_auth(said))
		error_hint(err,
			   "dcode uses your own git. Check that `git push "
			   "%s` works here.",
			   p->remote->name);
	buf_release(&line);
	buf_release(&url);
	return -1;
}

/* Runs git with the server. Appends its standard output to out. */
static int run_remote(struct push *p, const char *const *argv, struct buf *out,
		      const char *what, const struct stop *stop,
		      struct error *err)
{
	int status = 0;
	struct buf said = BUF_INIT(SAID_MAX);
	bool terminal = p->git->user.terminal;
	struct git_request r = { .argv = argv,
				 .out = out,
				 .said = &said,
				 .status = &status,
				 .timeout_ms =
					 terminal ? ASK_TERMINAL_MS : ASK_MS };
	int rc;

	if (!strcmp(argv[0], "push"))
		r.timeout_ms = SEND_MS;
	rc = git_run(&p->git->git, &r, stop, err);
	if (rc < 0)
		rc = error_wrap(err, "%s", what);
	else if (status)
		rc = say_failure(p, buf_str(&said), what, err);
	buf_addstr(&p->said, buf_str(&said));
	buf_release(&said);
	return rc;
}

/* Forgets what is known of the server. */
static void begin_read(struct push *p)
{
	push_release(p);
	p->head = xstrdup("");
	p->refs = BUF_INIT(REFS_MAX);
	p->said = BUF_INIT(4 * SAID_MAX);
	p->commits = BUF_INIT(COMMITS_MAX);
	p->tip[0] = p->base[0] = '\0';
	p->n_commits = 0;
}

int push_ask_server(struct push *p, const struct stop *stop, struct error *err)
{
	static const char all[] = HEADS "*";
	char *tag = xasprintf(TAGS "%s", p->branch);
	const char *argv[] = { "ls-remote", "--symref", "--", p->remote->name,
			       "HEAD",      all,        tag,  NULL };
	struct buf out = BUF_INIT(REFS_MAX);
	struct str rest;
	struct str line;
	int rc;

	begin_read(p);
	p->asked = true;
	rc = run_remote(p, argv, &out, "cannot read", stop, err);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\n', &line))
		read_ref(p, line);
	buf_release(&out);
	buf_clear(&p->said);
	free(tag);
	return rc;
}

int push_recall(struct push *p, const struct git *user, const struct stop *stop,
		struct error *err)
{
	char *all = xasprintf("refs/remotes/%s/", p->remote->name);
	const char *argv[] = { "for-each-ref",
			       "--format=%(objectname)%09%(refname)%09"
			       "%(symref)",
			       all, NULL };
	struct buf out = BUF_INIT(REFS_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	struct str rest;
	struct str line;
	int rc;

	begin_read(p);
	rc = git_run(user, &r, stop, err);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\n', &line)) {
		struct str oid = { 0 };
		struct str name = { 0 };

		if (!str_split(&line, '\t', &oid) ||
		    !str_split(&line, '\t', &name) || !is_oid(oid))
			continue;
		name = str_skip(name, strlen(all));
		if (!line.len)
			add_branch(p, oid, name);
		else if (str_is(name, "HEAD") && str_starts(line, all))
			set_head(p, str_skip(line, strlen(all)));
	}
	if (!p->refs.len && p->git->repo.head[0])
		buf_addf(&p->refs, "%s\n", p->git->repo.head);
	buf_release(&out);
	free(all);
	return rc;
}

/* Returns a git for the same directory without the user's settings, because
 * the server is not needed. */
static struct git local_git(const struct push *p)
{
	struct git g = p->git->git;

	g.user = NULL;
	return g;
}

/* Fails unless the server's branch is a predecessor of the commit. */
static int check_forward(const struct push *p, const struct stop *stop,
			 struct error *err)
{
	const char *argv[] = { "merge-base", "--is-ancestor", p->tip, p->commit,
			       NULL };
	const struct git g = local_git(p);
	int status = 0;
	struct git_request r = { .argv = argv, .status = &status };

	if (!p->tip[0] || !p->asked)
		return 0;
	if (git_run(&g, &r, stop, err) < 0)
		return -1;
	if (status == 0)
		return 0;
	error_set(err, ERR_BUSY,
		  "branch %s of %s has other commits, and dcode never forces a "
		  "push",
		  p->branch, p->remote->name);
	return error_hint(err, "Choose another branch name.");
}

/* Sets base to the newest commit that the server has too: that of the branch,
 * or else the first parent of the oldest new commit. */
static int find_base(struct push *p, struct str oldest, const struct stop *stop,
		     struct error *err)
{
	char *parent = xasprintf("%.*s^", (int)oldest.len, oldest.ptr);
	const char *argv[] = { "rev-parse", "-q", "--verify", parent, NULL };
	const struct git g = local_git(p);
	struct buf out = BUF_INIT(RECORD_MAX);
	int status = 0;
	struct git_request r = { .argv = argv, .out = &out, .status = &status };
	int rc = 0;

	if (p->tip[0])
		set_oid(p->base, str_of(p->tip));
	else
		rc = git_run(&g, &r, stop, err);
	if (rc == 0 && !p->tip[0])
		set_oid(p->base, status == 0 ? str_trim(buf_str(&out))
					     : STR(ODB_EMPTY_TREE));
	buf_release(&out);
	free(parent);
	return rc;
}

int push_read(struct push *p, const struct stop *stop, struct error *err)
{
	static const char *const argv[] = { "log",
					    "-z",
					    "--ignore-missing",
					    "--topo-order",
					    "--stdin",
					    "--format=%H%n%an <%ae>%n%s",
					    NULL };
	const struct git g = local_git(p);
	struct buf input = BUF_INIT(REFS_MAX + RECORD_MAX);
	struct git_request r = { .argv = argv, .out = &p->commits };
	struct str rest = buf_str(&p->refs);
	struct str line;
	struct str oldest = { 0 };
	int rc = check_forward(p, stop, err);

	buf_addf(&input, "%s\n", p->commit);
	while (str_split(&rest, '\n', &line))
		if (line.len)
			buf_addf(&input, "^%.*s\n", (int)line.len, line.ptr);
	r.input = buf_str(&input);
	if (rc == 0)
		rc = git_run(&g, &r, stop, err);
	rest = buf_str(&p->commits);
	while (rc == 0 && str_split(&rest, '\0', &line)) {
		struct str oid = { line.ptr, str_find(line, '\n') };

		if (!is_oid(oid))
			continue;
		oldest = oid;
		p->n_commits++;
	}
	if (rc == 0 && p->n_commits)
		rc = find_base(p, oldest, stop, err);
	buf_release(&input);
	return rc;
}

int push_send(struct push *p, const struct stop *stop, struct error *err)
{
	char *spec = xasprintf("%s:" HEADS "%s", p->commit, p->branch);
	const char *argv[] = { "push",
			       "--porcelain",
			       "--no-verify",
			       "--no-follow-tags",
			       "--no-force",
			       "--",
			       p->remote->name,
			       spec,
			       NULL };
	struct buf out = BUF_INIT(SAID_MAX);
	int rc = run_remote(p, argv, &out, "cannot push to", stop, err);

	buf_release(&out);
	free(spec);
	return rc;
}

struct lfs_search {
	struct buf paths; /* of the changed files, each with a NUL */
	struct buf oids;  /* of their contents, a line each */
	struct buf head;  /* of the one that is being read */
	int64_t size;
	size_t found; /* index of the first pointer; SIZE_MAX: none */
	size_t i;
};

/* odb_tree_diff() callback. */
static int add_changed(void *arg, const struct odb_record *d, struct error *err)
{
	struct lfs_search *l = arg;

	(void)err;
	if ((d->new_mode & 0170000) != 0100000)
		return 0;
	buf_add(&l->paths, d->path, strlen(d->path) + 1);
	buf_addf(&l->oids, "%s\n", d->new_oid);
	return 0;
}

/* odb_read() callbacks. */
static int begin_content(void *arg, const struct odb_object *o,
			 struct error *err)
{
	struct lfs_search *l = arg;

	(void)err;
	buf_clear(&l->head);
	l->size = o->size;
	l->i = o->i;
	return 0;
}

static int add_content(void *arg, struct str bytes, struct error *err)
{
	static const char mark[] = "version https://git-lfs.github.com/spec/";
	struct lfs_search *l = arg;

	(void)err;
	if (l->size < POINTER_MAX && l->head.len < sizeof(mark))
		buf_addstr(&l->head, bytes);
	if (l->found == SIZE_MAX && str_starts(buf_str(&l->head), mark))
		l->found = l->i;
	return 0;
}

/* Returns the path with this index. */
static const char *path_at(const struct lfs_search *l, size_t i)
{
	const char *path = l->paths.ptr;

	while (i--)
		path += strlen(path) + 1;
	return path;
}

/* Reads what `git check-attr` says. Returns the first path that has the filter
 * of Git LFS, owned; or NULL. */
static char *find_filter(struct str said)
{
	struct str path;
	struct str name;
	struct str value;

	while (str_split(&said, '\0', &path) && str_split(&said, '\0', &name) &&
	       str_split(&said, '\0', &value))
		if (str_is(value, "lfs"))
			return xstrndup(path.ptr, path.len);
	return NULL;
}

/* Sets *path to a changed file that the attributes of the commit give to Git
 * LFS, owned; or NULL. */
static int read_attributes(const struct push *p, const struct lfs_search *l,
			   char **path, const struct stop *stop,
			   struct error *err)
{
	static const char *const argv[] = { "check-attr", "-z", "--stdin",
					    "filter", NULL };
	const struct named_files files = { .name = ".gitattributes",
					   .tree = p->commit };
	char *tree = path_join(p->git->dir, "lfs");
	char *dir = path_join(p->git->dir, "lfs.git");
	char *info = path_join(dir, "info/attributes");
	struct git g = { .program = p->git->git.program,
			 .dir = dir,
			 .work_tree = tree };
	struct buf out = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv,
				 .input = buf_str(&l->paths),
				 .out = &out };
	struct git protected = p->git->git;
	size_t n = 0;
	int rc;

	protected.user = NULL;
	rc = odb_write_named_files(&files, &protected, tree, &n, stop, err);
	/* git_init() would make one that hides all filters */
	if (rc == 0 && n)
		rc = path_mkdirs(dir, 0700, err);
	if (rc == 0 && n) {
		info[strlen(info) - strlen("/attributes")] = '\0';
		rc = path_mkdirs(info, 0700, err);
		info[strlen(info)] = '/';
	}
	if (rc == 0 && n)
		rc = path_write(info, (struct str){ 0 }, 0600, err);
	if (rc == 0 && n)
		rc = git_init(&g, stop, err);
	if (rc == 0 && n)
		rc = git_run(&g, &r, stop, err);
	*path = rc == 0 && n ? find_filter(buf_str(&out)) : NULL;
	buf_release(&out);
	free(info);
	free(dir);
	free(tree);
	return rc;
}

int push_check_lfs(const struct push *p, const struct stop *stop,
		   struct error *err)
{
	struct lfs_search l = { .paths = BUF_INIT(PATHS_MAX),
				.oids = BUF_INIT(PATHS_MAX),
				.head = BUF_INIT(POINTER_MAX),
				.found = SIZE_MAX };
	struct odb_reader reader = { .begin = begin_content,
				     .data = add_content,
				     .arg = &l };
	struct git g = p->git->git;
	char *path = NULL;
	int rc;

	g.user = NULL;
	rc = odb_tree_diff(&g, p->base, p->commit,
			   &(struct odb_sink){ add_changed, &l }, stop, err);
	if (rc == 0)
		rc = buf_check(&l.paths, "the list of files", err);
	if (rc == 0 && l.paths.len)
		rc = odb_read(&g, buf_str(&l.oids), &reader, stop, err);
	if (rc == 0 && l.found != SIZE_MAX)
		path = xstrdup(path_at(&l, l.found));
	else if (rc == 0 && l.paths.len)
		rc = read_attributes(p, &l, &path, stop, err);
	if (path) {
		struct buf line = BUF_INIT(SHOWN_MAX);

		sanitize_line(str_of(path), &line);
		rc = error_set(err, ERR_USAGE,
			       "%s belongs into Git LFS, to which dcode does "
			       "not upload files",
			       line.ptr ? line.ptr : "a file");
		error_hint(err, "Push the branch with git.");
		buf_release(&line);
	}
	free(path);
	buf_release(&l.paths);
	buf_release(&l.oids);
	buf_release(&l.head);
	return rc;
}

void push_release(struct push *p)
{
	free(p->head);
	buf_release(&p->refs);
	buf_release(&p->commits);
	buf_release(&p->said);
	p->head = NULL;
	p->asked = p->is_tag = false;
}

static char *record_path(const struct workspace *w)
{
	return xasprintf("%s/%s.pushed", w->directory, w->label);
}

void push_record_read(struct push_record *r, const struct workspace *w)
{
	struct buf text = BUF_INIT(RECORD_MAX);
	struct error ignored = { 0 };
	char *file = record_path(w);
	struct str rest;
	struct str commit;
	struct str head;
	struct str branch;

	*r = (struct push_record){ 0 };
	if (path_read(file, &text, &ignored) == 0) {
		rest = buf_str(&text);
		if (str_split(&rest, '\n', &commit) && is_oid(commit) &&
		    str_split(&rest, '\n', &head) && is_oid(head) &&
		    str_split(&rest, '\n', &branch) && branch.len) {
			set_oid(r->commit, commit);
			set_oid(r->head, head);
			r->branch = xstrndup(branch.ptr, branch.len);
		}
	}
	buf_release(&text);
	free(file);
}

int push_record_write(const struct push_record *r, const struct workspace *w,
		      struct error *err)
{
	char *file = record_path(w);
	char *text = xasprintf("%s\n%s\n%s\n", r->commit, r->head, r->branch);
	int rc = path_write(file, str_of(text), 0600, err);

	free(text);
	free(file);
	return rc;
}
