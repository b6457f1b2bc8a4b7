/* subagent_sandbox.c - a subagent's own sandbox: sends its files and merges its
 * changes. */
/* SPDX-License-Identifier: MIT */
/*
 * write_tree() changes the files in a sandbox from one commit to another by
 * running commands in the sandbox. The rest of the file opens a sandbox for a
 * child and fills it with its caller's files. At the end it does a three-way
 * merge: the base is the caller's files when the child started, and the sides
 * are the caller's files now and the child's files.
 */
#include "cmd/subagents/subagent_sandbox.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/money.h"
#include "cmd/session/save.h"
#include "cmd/session/tree.h"
#include "sandbox/quote.h"
#include "sandbox/reach.h"
#include "sandbox/sandbox.h"
#include "worktree/git.h"
#include "worktree/merge.h"
#include "worktree/odb.h"
#include "worktree/patch.h"
#include "worktree/select.h"
#include "worktree/send.h"

struct write_tree { /* members are borrowed, except changed and deleted */
	const struct git *git;
	const char *before; /* commit or tree of the files that the sandbox has
			       now */
	const char *after;
	const struct merge *skip; /* paths with a conflict in this merge stay
				     unchanged; or NULL */
	struct sandbox *sandbox;
	struct buf *names;       /* receives "M path\n" for each file; or
				    NULL */
	size_t changed, deleted; /* results */
};

enum {
	MODE_LINK = 0120000,
	MODE_EXECUTABLE = 0100755,
	COMMAND_BYTES = 16 << 10,
	COMMAND_MS = 60000,
	ALL_BYTES = 512 << 20,
};

struct tree_file {
	char *path; /* owned */
	char oid[GIT_OID];
	unsigned mode; /* new mode; 0: the file is deleted */
	bool is_new;
	bool replaces; /* it replaces a link by a file, or a file by a link */
	bool remodes;  /* the mode differs */
	struct buf bytes;
	struct str left; /* bytes that are not uploaded yet */
};

struct tree_writing {
	struct write_tree *w;
	struct tree_file *files;
	size_t n;
	size_t at; /* index of the file whose content is being read */
	size_t bytes;
};

/* True for a path with a conflict in w->skip: it must stay unchanged. */
static bool is_skipped(const struct write_tree *w, const char *path)
{
	for (size_t i = 0; w->skip && i < w->skip->n; i++)
		if (!strcmp(w->skip->conflicts[i].path, path))
			return true;
	return false;
}

static void add_name(struct write_tree *w, const struct odb_record *r)
{
	if (w->names)
		buf_addf(w->names, "%c %s\n",
			 !r->new_mode   ? 'D'
			 : !r->old_mode ? 'A'
					: 'M',
			 r->path);
}

/* odb_tree_diff() callback: adds a changed file to t. */
static int add_file(void *arg, const struct odb_record *r, struct error *err)
{
	struct tree_writing *t = arg;
	struct tree_file *f;

	(void)err;
	if (is_skipped(t->w, r->path))
		return 0;
	add_name(t->w, r);
	t->files = xrealloc(t->files, t->n + 1, sizeof(*t->files));
	f = &t->files[t->n++];
	*f = (struct tree_file){ .path = xstrdup(r->path),
				 .mode = r->new_mode,
				 .is_new = !r->old_mode,
				 .replaces = r->old_mode && r->new_mode &&
					     (r->old_mode == MODE_LINK) !=
						     (r->new_mode == MODE_LINK),
				 .remodes = r->old_mode && r->new_mode &&
					    r->old_mode != r->new_mode,
				 .bytes = BUF_INIT(ALL_BYTES) };
	memcpy(f->oid, r->new_oid, strlen(r->new_oid) + 1);
	return 0;
}

static int on_begin(void *arg, const struct odb_object *o, struct error *err)
{
	struct tree_writing *t = arg;
	size_t i = o->i;

	for (t->at = 0; t->at < t->n; t->at++)
		if (t->files[t->at].mode && i-- == 0)
			break;
	if (o->size < 0 || t->at == t->n)
		return error_set(err, ERR_PROTOCOL, "git lacks an object");
	t->bytes += (size_t)o->size;
	if (t->bytes > ALL_BYTES)
		return error_set(err, ERR_LIMIT,
				 "what changed is larger than %d MiB",
				 ALL_BYTES >> 20);
	return 0;
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct tree_writing *t = arg;

	(void)err;
	buf_addstr(&t->files[t->at].bytes, bytes);
	return 0;
}

static int read_blobs(struct tree_writing *t, const struct stop *stop,
		      struct error *err)
{
	struct odb_reader b = { .begin = on_begin, .data = on_data, .arg = t };
	struct buf names = BUF_INIT(SIZE_MAX / 2);
	int rc;

	for (size_t i = 0; i < t->n; i++)
		if (t->files[i].mode)
			buf_addf(&names, "%s\n", t->files[i].oid);
	rc = names.len ? odb_read(t->w->git, buf_str(&names), &b, stop, err)
		       : 0;
	buf_release(&names);
	return rc;
}

static int run_command(struct tree_writing *t, struct buf *command,
		       const struct stop *stop, struct error *err)
{
	struct exec_request req = { .command = buf_str(command),
				    .timeout_ms = COMMAND_MS };
	struct exec_result res = { 0 };

	if (!command->len)
		return 0;
	if (sandbox_execute(t->w->sandbox, &req, &res, stop, err) < 0)
		return -1;
	buf_clear(command);
	if (res.exit_code)
		return error_set(err, ERR_REMOTE,
				 "a change could not be made in the sandbox "
				 "(exit status %d)",
				 res.exit_code);
	return 0;
}

/* Appends the path as "./path", quoted, so that it cannot be taken for an
 * option. */
static void add_path(struct buf *out, const char *path)
{
	char *here = xasprintf("./%s", path);

	quote_word(out, str_of(here));
	free(here);
}

/* True if path is in a directory that a new file replaces. Its directory must
 * then be removed, too; that fails if it still contains ignored files. */
static bool is_in_replaced_dir(const struct tree_writing *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tree_file *f = &t->files[i];
		size_t len = strlen(f->path);

		if (f->mode && f->is_new && !strncmp(path, f->path, len) &&
		    path[len] == '/')
			return true;
	}
	return false;
}

static void add_rmdir(struct buf *out, const char *path)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	buf_adds(out, " && { rmdir -p -- ");
	add_path(out, dir);
	buf_adds(out, " 2>/dev/null || :; }");
	free(dir);
}

/* Deletes the files that the new commit does not have, and directories that a
 * new file replaces. */
static int delete_files(struct tree_writing *t, const struct stop *stop,
			struct error *err)
{
	struct buf command = BUF_INIT(SIZE_MAX / 2);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct tree_file *f = &t->files[i];

		if (f->mode && !f->replaces)
			continue;
		buf_adds(&command, command.len ? " && rm -f -- " : "rm -f -- ");
		add_path(&command, f->path);
		if (!f->mode && is_in_replaced_dir(t, f->path))
			add_rmdir(&command, f->path);
		t->w->deleted += !f->mode;
		if (command.len > COMMAND_BYTES)
			rc = run_command(t, &command, stop, err);
	}
	if (rc == 0)
		rc = run_command(t, &command, stop, err);
	buf_release(&command);
	return rc;
}

static void add_link(const struct tree_file *f, struct buf *command)
{
	const char *slash = strrchr(f->path, '/');
	char *dir = xstrndup(f->path, slash ? (size_t)(slash - f->path) : 0);

	buf_adds(command, "mkdir -p -- ");
	add_path(command, dir);
	buf_adds(command, " && rm -f -- ");
	add_path(command, f->path);
	buf_adds(command, " && ln -s -- ");
	quote_word(command, buf_str(&f->bytes));
	buf_addc(command, ' ');
	add_path(command, f->path);
	free(dir);
}

/* Sets the mode, because an upload keeps that of an existing file. */
static void add_mode(const struct tree_file *f, struct buf *command)
{
	buf_adds(command, f->mode == MODE_EXECUTABLE ? "chmod a+x -- "
						     : "chmod a-x -- ");
	add_path(command, f->path);
}

/* Creates links and sets modes; an upload can do neither. */
static int finish_files(struct tree_writing *t, const struct stop *stop,
			struct error *err)
{
	struct buf command = BUF_INIT(SIZE_MAX / 2);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct tree_file *f = &t->files[i];

		if (!f->mode || (f->mode != MODE_LINK && !f->remodes))
			continue;
		buf_adds(&command, command.len ? " && " : "");
		if (f->mode == MODE_LINK)
			add_link(f, &command);
		else
			add_mode(f, &command);
		t->w->changed += f->mode == MODE_LINK;
		if (command.len > COMMAND_BYTES)
			rc = run_command(t, &command, stop, err);
	}
	if (rc == 0)
		rc = run_command(t, &command, stop, err);
	buf_release(&command);
	return rc;
}

static int64_t on_read(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_file *f = arg;
	size_t n = f->left.len < len ? f->left.len : len;

	(void)err;
	if (n)
		memcpy(room, f->left.ptr, n);
	f->left = str_skip(f->left, n);
	return (int64_t)n;
}

static int on_rewind(void *arg, struct error *err)
{
	struct tree_file *f = arg;

	(void)err;
	f->left = buf_str(&f->bytes);
	return 0;
}

static int check_sent(const struct transfer *list, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].error != FILE_OK)
			return error_set(
				err, ERR_REMOTE, "%s: %s", list[i].path,
				list[i].error == FILE_OTHER
					? list[i].detail
					: file_error_name(list[i].error));
	return 0;
}

/* Uploads the changed files. */
static int send_files(struct tree_writing *t, const struct stop *stop,
		      struct error *err)
{
	struct transfer *list = xcalloc(t->n + 1, sizeof(*list));
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct tree_file *f = &t->files[i];

		if (!f->mode || f->mode == MODE_LINK)
			continue;
		f->left = buf_str(&f->bytes);
		list[n++] = (struct transfer){
			.path = xasprintf("%s/%s",
					  sandbox_tree_dir(t->w->sandbox),
					  f->path),
			.size = (int64_t)f->bytes.len,
			.mode = f->mode == MODE_EXECUTABLE ? 0755 : 0644,
			.read = on_read,
			.rewind = on_rewind,
			.arg = f,
		};
	}
	if (n)
		rc = sandbox_upload(t->w->sandbox, list, n, stop, err);
	if (rc == 0)
		rc = check_sent(list, n, err);
	if (rc == 0)
		t->w->changed += n;
	for (size_t i = 0; i < n; i++)
		free((char *)list[i].path);
	free(list);
	return rc;
}

/* Deletes, then uploads, then creates links and sets modes. */
static int write_tree(struct write_tree *w, const struct stop *stop,
		      struct error *err)
{
	struct tree_writing t = { .w = w };
	int rc = odb_tree_diff(w->git, w->before, w->after,
			       &(struct odb_sink){ add_file, &t }, stop, err);

	w->changed = w->deleted = 0;
	if (rc == 0)
		rc = read_blobs(&t, stop, err);
	if (rc == 0)
		rc = delete_files(&t, stop, err);
	if (rc == 0)
		rc = send_files(&t, stop, err);
	if (rc == 0)
		rc = finish_files(&t, stop, err);
	for (size_t i = 0; i < t.n; i++) {
		free(t.files[i].path);
		buf_release(&t.files[i].bytes);
	}
	free(t.files);
	return rc;
}

enum {
	NAMES_BYTES = 8 << 10,  /* bytes of file names in a result */
	PATCH_BYTES = 40 << 10, /* bytes of a patch in a result */
	BRING_MS = 120000,
	SAVE_MS = 30000,
	STOPPED_MS = 15000,      /* limit for all merges together after the user
				    stopped everything */
	STOPPED_SAVE_MS = 15000, /* more time for patches after that */
};

struct apart {
	struct run run; /* has only the client and the sandbox, and counts their
			   cost */
	struct store *store;
	struct workspace theirs; /* workspace of the caller's sandbox */
	struct workspace own;    /* workspace of this sandbox, in the same
				    repository */
	char before[GIT_OID];    /* commit of the caller's files when the child
				    started */
	bool has_client;
};

/* Opens the workspace of the caller's sandbox. ERR_USAGE if dcode did not send
 * a tree to it. */
static int find_tree(struct child *c, struct apart *a, struct error *err)
{
	struct run *r = c->run;
	int rc = 1;

	if (run_has_sandbox(r) && !r->box.sandbox.mounts.n && r->box.label[0])
		rc = tree_find(&a->theirs, r->app,
			       settings_cwd(r->app->settings), r->box.label,
			       &c->stop, err);
	if (rc <= 0)
		return rc;
	return error_set(err, ERR_USAGE,
			 "a subagent's own sandbox needs --sandbox with "
			 "--workspace repo");
}

/* Fetches the current files of a sandbox; oid receives their commit. */
static int fetch_tree(struct child *c, struct workspace *w, struct sandbox *sb,
		      char oid[GIT_OID], const struct stop *stop,
		      struct error *err)
{
	struct fetch_request with = { .sandbox = sb,
				      .include = c->run->options.include,
				      .n_include = c->run->options.n_include };
	struct fetch f = { 0 };
	int rc = tree_fetch_from(w, c->run->app, &with, &f, stop, err);

	if (rc == 0)
		memcpy(oid, f.theirs, GIT_OID);
	fetch_release(&f);
	return rc;
}

/* lifecycle_request.fill callback: sends the user's tree, then changes it to
 * the files of the caller's sandbox. */
static int fill_sandbox(void *arg, struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	struct child *c = arg;
	struct apart *a = c->apart;
	struct run *r = c->run;
	const char *home = settings_home(r->app->settings);
	const struct select_request q = { .home = home,
					  .include = r->options.include,
					  .n_include = r->options.n_include };
	const struct send_request send = { .sandbox = sb,
					   .home = home,
					   .include = r->options.include,
					   .n_include = r->options.n_include,
					   .mask = r->app->mask };
	struct selection s = { 0 };
	struct send_result sent = { 0 };
	char *state;
	int rc;

	/* Whether calls need approval depends on the caller's sandbox. If the
	 * settings changed since that was created, the new sandbox could be
	 * less isolated. */
	if (sandbox_acts_on_host(sb) && !sandbox_acts_on_host(&r->box.sandbox))
		return error_set(err, ERR_USAGE,
				 "with the current settings, a new sandbox "
				 "would not be isolated like the caller's");
	state = app_state_path(r->app, "", err);
	rc = state ? 0 : -1;
	pthread_mutex_lock(&c->all->merging);
	if (rc == 0)
		rc = workspace_open(&a->own, state, a->theirs.root,
				    a->run.box.label, stop, err);
	if (rc == 0)
		rc = select_files(&s, &a->own, &q, stop, err);
	if (rc == 0)
		rc = workspace_send(&a->own, &s, &send, &sent, stop, err);
	if (rc == 0) {
		struct write_tree w = { .git = &a->own.git,
					.before = a->own.base,
					.after = a->before,
					.sandbox = sb };

		rc = write_tree(&w, stop, err);
	}
	pthread_mutex_unlock(&c->all->merging);
	select_release(&s);
	free(state);
	return rc;
}

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

/* Sets *n to what limits the network of the caller's sandbox. That is not only
 * what the options of this run say: a resumed sandbox has the list with which
 * it was created, and what was added to it. Fails if the vendor cannot be asked
 * now. */
static int copy_limits(struct child *c, struct network *n, struct error *err)
{
	struct sandbox *sb = &c->run->box.sandbox;
	int rc = 0;

	reach_copy_lasting(sb, n);
	if (n->mode == NETWORK_DEFAULT &&
	    sb->client->provider->ops->get_network)
		rc = reach_read(sb, n, &c->stop, err);
	if (rc == 0 && n->mode != NETWORK_LIST && n->mode != NETWORK_NONE)
		network_copy(n, &c->run->options.network);
	return rc;
}

/* Creates a sandbox with the options of the caller's. It is always deleted at
 * the end. */
static int create_sandbox(struct child *c, struct error *err)
{
	struct run *r = c->run;
	struct apart *a = c->apart;
	struct network network = { 0 };
	struct lifecycle_request request = {
		.client = &a->run.client,
		.store = a->store,
		.mask = r->app->mask,
		.snapshot = r->options.snapshot,
		.setup = r->options.setup,
		.network = &network,
		.fill = fill_sandbox,
		.fill_arg = c,
		.trust_project = r->options.trust_project,
		.on_exit = LIFECYCLE_DELETE,
		.ui = { .warn = on_warning, .arg = c },
	};
	struct stop limit = run_money_stop(&a->run, &c->stop);
	int rc;

	if (settings_bool(r->app->settings, NULL, "sandboxes.cache_setup",
			  &request.cache_setup, err) < 0)
		return -1;
	rc = copy_limits(c, &network, err);
	if (rc == 0)
		rc = lifecycle_open(&a->run.box, &request, &limit, err);
	a->run.box.request.network = NULL; /* not used after the opening */
	network_release(&network);
	return rc;
}

static int open_client(struct child *c, struct error *err)
{
	struct run *r = c->run;
	struct apart *a = c->apart;
	struct store *store;

	a->run.app = r->app;
	a->run.options.snapshot = r->options.snapshot;
	if (app_client(r->app, sandbox_client_name(&r->client), &a->run.client,
		       err) < 0)
		return -1;
	a->has_client = true;
	/* only to copy it: the caller's thread may be using it */
	if (app_store_later(r->app, &store, err) < 0)
		return -1;
	a->store = store_again(store);
	return run_money_sandbox(&a->run, err);
}

/* First commits the caller's files, which are the base of the merge at the
 * end. */
int subagent_sandbox_open(struct child *c, struct error *err)
{
	struct apart *a = c->apart = xcalloc(1, sizeof(*a));
	int rc;

	pthread_mutex_lock(&c->all->merging);
	rc = find_tree(c, a, err);
	if (rc == 0)
		rc = fetch_tree(c, &a->theirs, &c->run->box.sandbox, a->before,
				&c->stop, err);
	pthread_mutex_unlock(&c->all->merging);
	pthread_mutex_lock(&c->all->opening);
	if (rc == 0)
		rc = open_client(c, err);
	pthread_mutex_unlock(&c->all->opening);
	if (rc == 0)
		rc = create_sandbox(c, err);
	if (rc == 0)
		c->agent.sandbox = &a->run.box.sandbox;
	return rc;
}

static int on_patch(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	(void)err;
	if (out->len + chunk.len <= PATCH_BYTES)
		buf_addstr(out, chunk);
	return 0;
}

/* Lists the files that both the caller and the child changed: they keep the
 * caller's version. Appends the child's changes as a patch. */
static void add_conflicts(struct apart *a, const struct merge *m,
			  const char *mine, const struct stop *stop,
			  struct buf *out)
{
	struct buf patch = BUF_INIT(SIZE_MAX / 2);
	const struct patch_output to = { on_patch, &patch };
	struct error ignored = { 0 };

	buf_adds(out, "\n\nNot merged, because you changed the same files. "
		      "They keep your version.\n");
	for (size_t i = 0; i < m->n && out->len < out->max / 2; i++)
		buf_addf(out, "  %s (%s)\n", m->conflicts[i].path,
			 m->conflicts[i].kind);
	(void)patch_write(&a->own.git, a->before, mine, &to, stop, &ignored);
	buf_adds(out, "All changes of the subagent, as a patch:\n");
	buf_addstr(out, buf_str(&patch));
	buf_release(&patch);
}

/* Saves the child's changes as a patch file before its sandbox is deleted.
 * Appends the path of the patch to out or, if out is NULL, prints it. */
static void save_patch(struct child *c, const struct stop *stop,
		       struct buf *out)
{
	struct apart *a = c->apart;
	struct saved_work saved = { 0 };
	const struct save_terms terms = { .thread = a->run.box.label,
					  .name = a->run.box.label,
					  .quiet = out != NULL,
					  .stop = stop };

	if (save_is_on(c->run->app))
		save_sandbox(&saved, c->run->app, &a->own, &a->run.box.sandbox,
			     &terms);
	if (out && saved.patch)
		buf_addf(out, "\nThe user can find all of its changes in %s\n",
			 saved.patch);
	saved_work_release(&saved);
}

/* Merges and writes the result into the caller's sandbox. Appends the merged
 * files and the conflicts to out. */
static int merge_trees(struct child *c, const char *mine, const char *yours,
		       const struct stop *stop, struct buf *out,
		       struct error *err)
{
	struct apart *a = c->apart;
	const struct merge_sides sides = { .base = a->before,
					   .ours = yours,
					   .theirs = mine };
	struct buf names = BUF_INIT(NAMES_BYTES);
	struct merge m = { 0 };
	struct write_tree w = { .git = &a->own.git,
				.before = yours,
				.after = m.tree,
				.skip = &m,
				.sandbox = &c->run->box.sandbox,
				.names = &names };
	int rc = merge_compute(&m, &a->own.git, &sides, stop, err);

	if (rc == 0 && m.unwritable)
		rc = error_set(err, ERR_REMOTE,
			       "a file and a directory have the same name");
	if (rc == 0)
		rc = write_tree(&w, stop, err);
	if (rc == 0 && names.len) {
		pthread_mutex_lock(&c->all->events);
		c->run->wrote.any = true;
		pthread_mutex_unlock(&c->all->events);
		buf_addf(out, "\n\nMerged into your files:\n%.*s",
			 (int)names.len, names.ptr);
	}
	if (rc == 0 && m.n) {
		add_conflicts(a, &m, mine, stop, out);
		save_patch(c, stop, out);
	}
	merge_release(&m);
	buf_release(&names);
	return rc;
}

/* Returns the limit for a merge after the user stopped everything. All children
 * share one deadline, which the first one sets. more_ms is added to it. */
static struct stop common_stop(struct child *c, int64_t more_ms)
{
	int64_t until = 0;
	int64_t mine = clock_ms() + STOPPED_MS;

	if (atomic_compare_exchange_strong(&c->all->brings_until, &until, mine))
		until = mine;
	return stop_cleanup(until + more_ms - clock_ms());
}

static int merge_changes(struct child *c, const struct stop *stop,
			 struct buf *out, struct error *err)
{
	struct apart *a = c->apart;
	char mine[GIT_OID];
	char yours[GIT_OID];

	if (fetch_tree(c, &a->own, &a->run.box.sandbox, mine, stop, err) < 0)
		return -1;
	if (!strcmp(mine, a->before))
		return 0;
	if (fetch_tree(c, &a->theirs, &c->run->box.sandbox, yours, stop, err) <
	    0)
		return -1;
	return merge_trees(c, mine, yours, stop, out, err);
}

/* If the user stops everything during the merge, tries again with a short time
 * limit. */
void subagent_sandbox_merge(struct child *c, struct buf *out)
{
	const struct stop *all = c->order->stop;
	struct stop stop = stop_within(all, BRING_MS);
	struct apart *a = c->apart;
	struct error stopped = { 0 };
	struct error err = { 0 };
	int rc;

	if (!a || c->agent.sandbox != &a->run.box.sandbox)
		return;
	pthread_mutex_lock(&c->all->merging);
	rc = merge_changes(c, &stop, out, &err);
	if (rc < 0 && stop_check(all, &stopped) < 0) {
		stop = common_stop(c, 0);
		rc = merge_changes(c, &stop, out, &err);
	}
	if (rc < 0) {
		stop = stopped.code ? common_stop(c, STOPPED_SAVE_MS)
				    : stop_cleanup(SAVE_MS);
		buf_addf(out, "\n\nIts changes were not merged: %s.",
			 err.message);
		save_patch(c, &stop, NULL);
	}
	pthread_mutex_unlock(&c->all->merging);
}

void subagent_sandbox_close(struct child *c)
{
	struct apart *a = c->apart;
	struct error ignored = { 0 };

	if (!a)
		return;
	/* failures were already reported */
	(void)lifecycle_close(&a->run.box, &ignored);
	run_money_sandbox_end(&a->run);
	if (a->has_client)
		sandbox_client_close(&a->run.client);
	if (a->store)
		store_close(a->store);
	workspace_close(&a->own);
	workspace_close(&a->theirs);
	free(a);
	c->apart = NULL;
}
