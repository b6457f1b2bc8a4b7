/* undo.c - checkpoints of a run's sandbox, and undo of turns. */
/* SPDX-License-Identifier: MIT */
/*
 * After each turn that may have changed files, undo_checkpoint() lets
 * worktree/checkpoint.h store the sandbox's tree. /undo and dcode undo
 * (cmd/commands/undo.c) restore it. What they did is stored in LABEL.undone
 * beside the tree's records until the next message tells the model.
 */
#include "cmd/session/undo.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "cmd/session/tree.h"
#include "sandbox/tree_changes.h"
#include "session/thread.h"
#include "tool/tool.h"
#include "worktree/odb.h"
#include "worktree/send.h"
#include "worktree/user_repo.h"

enum {
	EXCLUDE_MAX = 1 << 20,
	MARK_MAX = 128,
	NOTE_MAX = 64 << 10,
	PERMS_MAX = 2 << 20,
	TAKE_MS = 120000, /* for one checkpoint */
	WRITE_MS = 10000, /* for storing one file */
	COMMANDS_NAMED = 3,
};

#define NOTE "undone" /* LABEL.undone: what the model is not told yet */

/* Files that tools write without a sandbox, in the running turn. */
struct run_files {
	pthread_mutex_t lock; /* subagents write at the same time */
	struct workspace w;
	bool open;
	int64_t most;
	char thread[MARK_MAX];
	struct turn_files turn;
	struct buf uncovered; /* names of files that are not stored */
	struct error failed;  /* why one could not be stored */
};

/* A turn without a checkpoint. */
struct acting {
	int64_t turn;
	char thread[MARK_MAX];
};

struct checkpoint_job {
	struct workspace w;
	struct checkpoint_request request;
	struct buf exclude;
	char *thread; /* owned */
	char *mark;   /* owned: LABEL.acting */
	/* the running turn, which gets the mark after the earlier one */
	struct acting next;
};

/* LABEL.acting: "TURN THREAD". Turn 0: there is no such file. */
static struct acting read_mark(const char *file)
{
	struct buf text = BUF_INIT(MARK_MAX);
	struct acting a = { 0 };
	struct error ignored = { 0 };
	struct str rest;
	struct str turn;

	if (access(file, F_OK) == 0 && path_read(file, &text, &ignored) == 0) {
		rest = str_trim(buf_str(&text));
		if (str_split(&rest, ' ', &turn) && rest.len < MARK_MAX &&
		    str_to_int(turn, &a.turn))
			snprintf(a.thread, sizeof(a.thread), "%.*s",
				 (int)rest.len, rest.ptr);
	}
	buf_release(&text);
	return a;
}

/* Not synced: it has to survive only a kill. */
static void write_mark(const char *file, const struct acting *a)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	(void)dprintf(fd, "%" PRId64 " %s\n", a->turn, a->thread);
	close(fd);
}

/* A background_work. The mark may be that of the next turn already. */
static int run_job(void *arg, const struct stop *stop, struct error *err)
{
	struct checkpoint_job *j = arg;
	struct stop limit = stop_within(stop, TAKE_MS);
	struct acting a;

	if (checkpoint_take(&j->w, &j->request, &limit, err) < 0)
		return error_wrap(err, "the last turn cannot be undone");
	a = read_mark(j->mark);
	if (j->next.turn)
		write_mark(j->mark, &j->next);
	else if (a.turn == j->request.turn.turn && !strcmp(a.thread, j->thread))
		(void)unlink(j->mark);
	return 0;
}

static void release_job(void *arg)
{
	struct checkpoint_job *j = arg;

	workspace_close(&j->w);
	buf_release(&j->exclude);
	free(j->thread);
	free(j->mark);
	free(j);
}

/* Sets *turn to the number of prompts of a stored thread. */
static int count_turns(struct app *app, const char *thread, int64_t *turn,
		       struct error *err)
{
	struct thread t = { 0 };
	struct store *store;
	int rc = app_store(app, &store, err);

	if (rc == 0)
		rc = thread_find(store, thread, NULL, &t, err);
	if (rc == 0)
		rc = thread_count_prompts(store, t.no, turn, err);
	thread_release(&t);
	return rc;
}

/* Sets q for a workspace and a stored thread. exclude receives the user's
 * ignore patterns, which q borrows. */
static int prepare_request(struct app *app, const struct workspace *w,
			   const char *thread, struct checkpoint_request *q,
			   struct buf *exclude, struct error *err)
{
	q->turn.thread = thread;
	if (settings_int(app->settings, NULL, "workspace.checkpoints", &q->most,
			 err) < 0 ||
	    (q->fetch.sandbox && workspace_read_exclude(w, exclude, err) < 0))
		return -1;
	if (q->most < 0 || q->most > CHECKPOINTS_MOST)
		q->most = CHECKPOINTS_MOST;
	q->fetch.exclude = buf_str(exclude);
	return count_turns(app, thread, &q->turn.turn, err);
}

/* Opens the workspace of the run's sandbox. j->request.kind is set. 1: it has
 * no copy of a tree. */
static int open_job(struct run *r, struct checkpoint_job *j,
		    const struct stop *stop, struct error *err)
{
	int64_t most = 0;
	int rc = settings_int(r->app->settings, NULL, "workspace.checkpoints",
			      &most, err);

	if (rc < 0 || !most)
		return rc < 0 ? -1 : 1;
	rc = tree_find(&j->w, r->app, settings_cwd(r->app->settings),
		       r->box.label, stop, err);
	if (rc)
		return rc;
	j->thread = xstrdup(session_id(r->session));
	j->mark = xasprintf("%s/%s." UNDO_ACTING, j->w.directory, j->w.label);
	j->request.fetch.sandbox = &r->box.sandbox;
	j->request.fetch.include = r->options.include;
	j->request.fetch.n_include = r->options.n_include;
	return prepare_request(r->app, &j->w, j->thread, &j->request,
			       &j->exclude, err);
}

/* A run without a chat that deletes its sandbox needs no checkpoint. */
static bool has_checkpoints(const struct run *r)
{
	return r->box.label[0] &&
	       (r->interactive || r->box.request.on_exit != LIFECYCLE_DELETE);
}

static bool is_local(const struct run *r)
{
	return r->client.provider && !run_has_sandbox(r);
}

static void local_label(const char *thread, char label[MARK_MAX])
{
	snprintf(label, MARK_MAX, CHECKPOINT_LOCAL "%s", thread);
}

/* Returns the path of LABEL.KIND, owned, or NULL. While the sandbox is being
 * created, r->box belongs to another thread, so LABEL is then the one that the
 * conversation has stored. */
static char *find_file(const struct run *r, const char *kind)
{
	bool ready = !r->agent.await && r->box.label[0];
	char own[MARK_MAX];
	const char *label = is_local(r)    ? own
			    : ready        ? r->box.label
			    : r->thread.id ? r->thread.label
					   : "";
	struct error ignored = { 0 };
	bool repository;
	char *root;
	char *state;
	char *file;

	local_label(session_id(r->session), own);
	root = label[0] ? user_repo_root(settings_cwd(r->app->settings),
					 &repository, &ignored)
			: NULL;
	state = root ? app_state_path(r->app, "", &ignored) : NULL;
	file = state && workspace_exists(state, root, label)
		       ? workspace_label_file(state, root, label, kind)
		       : NULL;

	free(root);
	free(state);
	return file;
}

/* Returns the text for the model. Owned, or NULL. */
static char *read_note(const struct run *r)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	struct error ignored = { 0 };
	char *file = find_file(r, NOTE);
	char *note = NULL;

	if (file && access(file, F_OK) == 0 &&
	    path_read(file, &text, &ignored) == 0 && text.len)
		note = buf_detach(&text);
	buf_release(&text);
	free(file);
	return note;
}

/* of: the turn, or NULL for the thread's last one. next: the turn that begins,
 * or NULL. */
static void start_checkpoint(struct run *r, char kind, const struct acting *of,
			     const struct acting *next)
{
	struct stop stop = app_stop(r->app);
	struct background_work work = { run_job, release_job, NULL };
	struct checkpoint_job *j;
	struct error err = { 0 };
	int rc;

	if (!has_checkpoints(r) || !session_is_stored(r->session))
		return;
	/* the first one may still be making the tree a repository */
	if (background_wait(r->box.sandbox.background, &stop, &err) == 0 &&
	    background_failed(r->box.sandbox.background, &err) < 0)
		app_warn("%s", err.message);
	err = (struct error){ 0 };
	j = xcalloc(1, sizeof(*j));
	j->exclude = BUF_INIT(EXCLUDE_MAX);
	j->request.kind = kind;
	if (next)
		j->next = *next;
	rc = open_job(r, j, &stop, &err);
	if (rc == 0 && of) {
		j->request.turn.turn = of->turn;
		if (of->thread[0] != '-') {
			free(j->thread);
			j->thread = xstrdup(of->thread);
			j->request.turn.thread = j->thread;
		}
	}
	if (rc) {
		release_job(j);
	} else {
		work.arg = j;
		rc = background_start(&r->box.sandbox.background, &work, &err);
	}
	if (rc < 0 && err.code != ERR_CANCELLED)
		app_warn("this turn cannot be undone: %s", err.message);
}

/* Sets *turn to the number of the run's next prompt. */
static void number_turn(struct run *r, int64_t *turn)
{
	struct error ignored = { 0 };

	*turn = 0;
	if (session_is_stored(r->session))
		(void)count_turns(r->app, session_id(r->session), turn,
				  &ignored);
	++*turn;
}

/* Starts the checkpoint that a mark asks for, or sets the mark. */
static void begin_turn(struct run *r)
{
	char *mark = has_checkpoints(r) ? find_file(r, UNDO_ACTING) : NULL;
	struct acting earlier = { 0 };
	struct acting now = { .turn = r->wrote.number };

	snprintf(now.thread, sizeof(now.thread), "%s", session_id(r->session));
	r->sandbox_ready = NULL;
	if (mark && r->box.resumed)
		earlier = read_mark(mark);
	if (earlier.turn)
		start_checkpoint(r, 0, &earlier, &now);
	else if (mark)
		write_mark(mark, &now);
	free(mark);
}

int undo_open_local(struct workspace *w, struct app *app, const char *cwd,
		    const char *thread, const struct stop *stop,
		    struct error *err)
{
	char label[MARK_MAX];

	local_label(thread, label);
	return tree_find(w, app, cwd, label, stop, err);
}

/* Returns the path with the links above its last component resolved, also of
 * directories that do not exist yet. Owned. */
static char *resolve_parents(const char *path)
{
	char *part = xstrdup(path);
	char *real = NULL;
	char *whole;
	size_t len = 0;

	while (!real && strrchr(part, '/')) {
		len = (size_t)(strrchr(part, '/') - part);
		part[len] = '\0';
		real = realpath(len ? part : "/", NULL);
	}
	whole = real ? xasprintf("%s/%s", strcmp(real, "/") != 0 ? real : "",
				 path + len + 1)
		     : xstrdup(path);
	free(real);
	free(part);
	return whole;
}

/* Opens the store of the run's thread for the first file of it. */
static int open_files(struct run *r, const struct stop *stop, struct error *err)
{
	struct run_files *f = r->files;
	char label[MARK_MAX];
	bool repository;
	char *state;
	char *root;
	int rc;

	local_label(f->thread, label);
	if (f->open)
		return 0;
	state = app_state_path(r->app, "", err);
	root = state ? user_repo_root(settings_cwd(r->app->settings),
				      &repository, err)
		     : NULL;
	f->w = (struct workspace){ 0 };
	rc = root ? workspace_open(&f->w, state, root, label, stop, err) : -1;
	f->open = rc == 0;
	free(root);
	free(state);
	return rc;
}

/* Returns the part of path below the directory root, or NULL. */
static const char *below(const char *root, const char *path)
{
	size_t len = strcmp(root, "/") != 0 ? strlen(root) : 0;

	return !strncmp(path, root, len) && path[len] == '/' ? path + len + 1
							     : NULL;
}

/* Stores a file before or after a tool writes it. */
static int store_file(struct run *r, const char *path, bool after,
		      struct error *err)
{
	struct stop stop = stop_cleanup(WRITE_MS);
	struct run_files *f = r->files;
	char *real = resolve_parents(path);
	const char *name = NULL;
	int rc = open_files(r, &stop, err);

	if (rc == 0) {
		name = below(f->w.root, real);
		rc = name ? 0 : 1;
	}
	if (rc == 0 && after)
		rc = checkpoint_after_write(&f->w, &f->turn, name, &stop, err);
	else if (rc == 0)
		rc = checkpoint_before_write(&f->w, &f->turn, name, &stop, err);
	if (rc == 0 && f->turn.unnamed)
		rc = checkpoint_name_turn(&f->w, &f->turn, f->most, &stop, err);
	free(real);
	return rc;
}

/* An agent.writes callback. A file that cannot be stored is written
 * nevertheless, and named at the end of the turn. */
static void note_write(void *arg, const char *path, bool after)
{
	struct run *r = arg;
	struct run_files *f = r->files;
	struct error err = { 0 };
	int rc;

	if (!session_is_stored(r->session))
		return;
	pthread_mutex_lock(&f->lock);
	rc = store_file(r, path, after, &err);
	if (rc < 0 && !f->failed.code)
		f->failed = err;
	if (rc != 0 && !after) {
		buf_adds(&f->uncovered, f->uncovered.len ? ", " : "");
		print_add_name(r->app, &f->uncovered, path);
	}
	pthread_mutex_unlock(&f->lock);
}

static void begin_files(struct run *r)
{
	struct run_files *f;
	struct error ignored = { 0 };
	int64_t most = 0;

	if (settings_int(r->app->settings, NULL, "workspace.checkpoints", &most,
			 &ignored) < 0 ||
	    most < 1)
		return;
	f = r->files = xcalloc(1, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	f->uncovered = BUF_INIT(NOTE_MAX);
	f->most = most < CHECKPOINTS_MOST ? most : CHECKPOINTS_MOST;
	snprintf(f->thread, sizeof(f->thread), "%s", session_id(r->session));
	f->turn.turn = (struct checkpoint_turn){ f->thread, r->wrote.number };
	r->agent.writes = note_write;
	r->agent.writes_arg = r;
}

/* Says which files /undo will not restore. */
static void end_files(struct run *r)
{
	struct run_files *f = r->files;

	if (f->uncovered.len)
		app_warn("/undo does not cover %s: %s", f->uncovered.ptr,
			 f->failed.code ? f->failed.message
					: "a directory, too large, or outside "
					  "of this tree");
	else if (f->failed.code)
		app_warn("this turn cannot be undone: %s", f->failed.message);
	r->agent.writes = NULL;
	if (f->open)
		workspace_close(&f->w);
	turn_files_release(&f->turn);
	buf_release(&f->uncovered);
	pthread_mutex_destroy(&f->lock);
	free(f);
	r->files = NULL;
}

/* The commands of the turns from `from` on. */
struct command_names {
	const struct app *app;
	int64_t turn, from;
	struct buf out;
	size_t n;
};

/* A thread_each_message() callback. */
static bool add_commands(void *arg, struct thread_message *m)
{
	struct command_names *c = arg;
	const struct message *g = &m->message;

	if (m->damaged)
		return true;
	c->turn += g->role == ROLE_USER && !g->steering && !g->summary;
	for (size_t i = 0; i < g->n && c->turn >= c->from; i++) {
		const struct part *p = &g->parts[i];
		const struct tool *tool = p->kind == PART_TOOL_CALL && p->name
						  ? tool_find(p->name)
						  : NULL;
		cJSON *args;

		if (!tool || !(tool->flags & TOOL_RUNS) ||
		    c->n++ >= COMMANDS_NAMED)
			continue;
		args = json_parse(str_of(p->args));
		buf_adds(&c->out, c->out.len ? "; " : "");
		print_add_line(c->app, &c->out,
			       json_string(args, "command", ""));
		cJSON_Delete(args);
	}
	return true;
}

/* Names the commands of the turns that will be undone: what they changed on
 * this machine is not stored. */
static int name_commands(const struct undo_target *t, int64_t turn,
			 const struct stop *stop, struct error *err)
{
	const struct checkpoint_turn of = { t->thread, turn };
	struct command_names c = { .app = t->app, .out = BUF_INIT(NOTE_MAX) };
	struct checkpoints all = { 0 };
	struct thread found = { 0 };
	struct store *store;
	int rc = checkpoints_read(&all, t->workspace, stop, err);
	size_t at = rc == 0 ? checkpoint_first(&all, &of) : 0;

	if (rc == 0 && at < all.n_turns) {
		c.from = all.list[all.turns[at]].turn;
		rc = app_store(t->app, &store, err);
		if (rc == 0)
			rc = thread_find(store, t->thread, NULL, &found, err);
		if (rc == 0)
			rc = thread_each_message(store, found.no, add_commands,
						 &c, err);
	}
	if (rc == 0 && c.n)
		print_line(t->app,
			   "Not undone: what the commands of these turns have "
			   "changed: %s%s",
			   c.out.ptr, c.n > COMMANDS_NAMED ? "; ..." : "");
	thread_release(&found);
	checkpoints_release(&all);
	buf_release(&c.out);
	return rc;
}

void undo_begin_turn(struct run *r)
{
	number_turn(r, &r->wrote.number);
	if (is_local(r) && !r->files)
		begin_files(r);
	r->undone = read_note(r);
	r->sandbox_ready = begin_turn;
	if (!r->agent.await)
		begin_turn(r);
}

/* True if a call of the last turn may have changed files. agent.acts does not
 * count a call that was interrupted. */
static bool has_acted(const struct run *r, int rc)
{
	return r->agent.acts > r->agent.refused_acts ||
	       (rc < 0 && r->wrote.turn);
}

/* Names /undo once, after the first turn that has written a file. */
static void name_undo(struct run *r)
{
	bool local = r->files && r->files->turn.number;
	char *file = r->interactive && r->wrote.n && !r->undo_named &&
				     (has_checkpoints(r) || local)
			     ? find_file(r, NOTE)
			     : NULL;

	if (!file)
		return;
	r->undo_named = true;
	fprintf(stderr,
		"/undo takes back what a turn has changed in the "
		"files%s.\n",
		local ? " with file tools, not what commands change" : "");
	free(file);
}

void undo_end_turn(struct run *r, int rc)
{
	bool acted = has_acted(r, rc);
	char *mark =
		!acted && has_checkpoints(r) ? find_file(r, UNDO_ACTING) : NULL;
	char *note = r->undone && r->agent.sent ? find_file(r, NOTE) : NULL;

	if (note)
		(void)unlink(note);
	free(note);
	free(r->undone);
	r->undone = NULL;
	if (acted) {
		undo_checkpoint(r, CHECKPOINT_TURN);
		name_undo(r);
	} else if (mark) {
		(void)unlink(mark);
	}
	free(mark);
	if (r->files)
		end_files(r);
}

void undo_checkpoint(struct run *r, char kind)
{
	start_checkpoint(r, kind, NULL, NULL);
}

static void add_names(struct buf *out, char *const *names, size_t n)
{
	struct changed_files l = { .out = out };

	for (size_t i = 0; i < n; i++)
		changed_files_add(&l, str_of(names[i]));
	changed_files_end(&l);
}

/* The note is one line, and begins so that message_typed() finds it. */
static void write_note(const struct workspace *w, const struct undo_result *u,
		       struct buf *out)
{
	buf_adds(out, MESSAGE_NOTE_UNDO);
	if (u->redo)
		buf_adds(out,
			 "restored the changes that an undo had removed: ");
	else
		buf_addf(out,
			 "undone the changes of the last %lld turn%s that "
			 "changed files: ",
			 (long long)u->count, u->count == 1 ? "" : "s");
	if (u->n_changed)
		add_names(out, u->changed, u->n_changed);
	else
		buf_adds(out, "no files");
	if (u->n_kept) {
		buf_adds(out,
			 ". Not touched, because they have changed since: ");
		add_names(out, u->kept, u->n_kept);
	}
	buf_addf(out,
		 ". Read these files again before you edit them. Commits, "
		 "processes%s and installed packages are as they were.]\n",
		 str_starts(str_of(w->label), CHECKPOINT_LOCAL)
			 ? ", other changes that commands made"
			 : "");
}

static char *note_file(const struct workspace *w)
{
	return xasprintf("%s/%s." NOTE, w->directory, w->label);
}

/* Adds the text for the model to LABEL.undone. */
static int add_note(const struct workspace *w, const struct undo_result *u,
		    struct error *err)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	char *file = note_file(w);
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	if (rc == 0 && (u->n_changed || u->n_kept))
		write_note(w, u, &text);
	if (rc == 0)
		rc = buf_check(&text, "the notes about undone changes", err);
	if (rc == 0 && text.len)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

int undo_files(const struct undo_target *t, int64_t turn, bool redo,
	       struct undo_result *u, const struct stop *stop,
	       struct error *err)
{
	struct undo_request q = { .turn = turn,
				  .redo = redo,
				  .done = add_note };
	struct buf exclude = BUF_INIT(EXCLUDE_MAX);
	const char **include =
		include_read(t->app, NULL, &q.checkpoint.fetch.n_include, err);
	char *mark = xasprintf("%s/%s." UNDO_ACTING, t->workspace->directory,
			       t->workspace->label);
	struct acting a;
	int rc = include ? 0 : -1;

	if (rc == 0 && !t->sandbox && !redo)
		rc = name_commands(t, turn, stop, err);
	if (rc == 0 && t->sandbox) /* of the last turn */
		rc = background_wait(t->sandbox->background, stop, err);
	q.checkpoint.fetch.include = include;
	q.checkpoint.fetch.sandbox = t->sandbox;
	if (rc == 0)
		rc = prepare_request(t->app, t->workspace, t->thread,
				     &q.checkpoint, &exclude, err);
	a = read_mark(mark);
	if (a.turn && !strcmp(a.thread, t->thread))
		q.checkpoint.turn.turn = a.turn;
	free(mark);
	if (rc == 0)
		rc = checkpoint_undo(t->workspace, &q, u, stop, err);
	buf_release(&exclude);
	free(include);
	return rc;
}

void undo_print(const struct app *app, const char *thread,
		const struct undo_result *u)
{
	print_names(app, u->changed, u->n_changed, "");
	print_names(app, u->kept, u->n_kept,
		    " stays as it is: it was changed since");
	fprintf(stderr, "%s %s turn %" PRId64, print_sign(app, GLYPH_CHECK),
		u->finished ? "Finished an interrupted undo:"
		: u->redo   ? "Restored"
			    : "Undid",
		u->turn);
	if (u->count > 1)
		fprintf(stderr, " and the turns after it");
	if (thread)
		fprintf(stderr, " of thread %s", thread);
	fprintf(stderr, ": %zu file%s", u->n_changed,
		u->n_changed == 1 ? "" : "s");
	if (u->n_kept)
		fprintf(stderr, ", %zu left alone", u->n_kept);
	fputs(". Your next message tells the model.\n", stderr);
	if (!u->redo)
		app_print_advice(app, "To get the changes back: "
				      "`dcode undo --redo`");
}

/* Opens the tree of the run's sandbox. 1: there is none. */
static int open_tree(struct run *r, struct workspace *w,
		     const struct stop *stop, struct error *err)
{
	*w = (struct workspace){ 0 };
	if (is_local(r))
		return undo_open_local(w, r->app,
				       settings_cwd(r->app->settings),
				       session_id(r->session), stop, err);
	return r->box.label[0]
		       ? tree_find(w, r->app, settings_cwd(r->app->settings),
				   r->box.label, stop, err)
		       : 1;
}

int undo_count(struct run *r, int64_t turn, int64_t *n, struct error *err)
{
	const struct checkpoint_turn t = { session_id(r->session), turn };
	struct stop stop = app_stop(r->app);
	struct checkpoints c = { 0 };
	struct workspace w;
	int rc = open_tree(r, &w, &stop, err);

	*n = 0;
	if (rc == 0 && !is_local(r))
		rc = background_wait(r->box.sandbox.background, &stop, err);
	if (rc == 0)
		rc = checkpoints_read(&c, &w, &stop, err);
	if (rc == 0)
		*n = (int64_t)(c.n_turns - checkpoint_first(&c, &t));
	checkpoints_release(&c);
	workspace_close(&w);
	return rc < 0 ? -1 : 0;
}

int undo_in_chat(struct run *r, int64_t turn, struct error *err)
{
	struct stop stop = app_stop(r->app);
	struct undo_result u = { 0 };
	struct workspace w;
	const struct undo_target t = { r->app, &w,
				       is_local(r) ? NULL : &r->box.sandbox,
				       session_id(r->session) };
	int rc = open_tree(r, &w, &stop, err);

	if (rc == 0)
		rc = undo_files(&t, turn, false, &u, &stop, err);
	if (rc == 0)
		undo_print(r->app, NULL, &u);
	undo_result_release(&u);
	workspace_close(&w);
	return rc < 0 ? -1 : 0;
}

/* Copies a file LABEL.KIND, if there is one. */
static void copy_file(const struct workspace *from, const struct workspace *to,
		      const char *kind)
{
	char *old = xasprintf("%s/%s.%s", from->directory, from->label, kind);
	char *new = xasprintf("%s/%s.%s", to->directory, to->label, kind);
	struct buf text = BUF_INIT(PERMS_MAX);
	struct error ignored = { 0 };

	if (access(old, F_OK) == 0 && path_read(old, &text, &ignored) == 0)
		(void)path_write(new, buf_str(&text), 0600, &ignored);
	buf_release(&text);
	free(old);
	free(new);
}

/* Gives the copy of a thread without a sandbox its own checkpoints. */
static int fork_local(struct run *r, const char *from,
		      const struct checkpoint_turn *t, bool with_files,
		      const struct stop *stop, struct error *err)
{
	struct workspace old = { 0 };
	struct workspace new = { 0 };
	struct listing none = { 0 };
	char label[MARK_MAX];
	char *state = app_state_path(r->app, "", err);
	int rc = state ? undo_open_local(&old, r->app,
					 settings_cwd(r->app->settings), from,
					 stop, err)
		       : -1;

	local_label(t->thread, label);
	if (rc == 0)
		rc = workspace_open(&new, state, old.root, label, stop, err);
	if (rc == 0)
		rc = workspace_set_base(&new, old.base, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(&new, &none, new.base, err);
	if (rc == 0)
		rc = checkpoints_copy(&new, &old, NULL, false, stop, err);
	if (rc == 0)
		rc = checkpoint_fork(&new, t, stop, err);
	if (rc == 0) {
		copy_file(&old, &new, "perms");
		if (!with_files)
			copy_file(&old, &new, NOTE);
	}
	workspace_close(&old);
	workspace_close(&new);
	free(state);
	return rc < 0 ? -1 : 0;
}

int undo_forked(struct run *r, const char *from, int64_t turn, bool with_files,
		struct error *err)
{
	const struct checkpoint_turn t = { session_id(r->session), turn };
	struct stop stop = app_stop(r->app);
	struct workspace w;
	char *note;
	int rc;

	if (is_local(r))
		return fork_local(r, from, &t, with_files, &stop, err);
	rc = open_tree(r, &w, &stop, err);
	if (rc == 0 && with_files) {
		note = note_file(&w);
		(void)unlink(note);
		free(note);
	}
	if (rc == 0)
		rc = checkpoint_fork(&w, &t, &stop, err);
	workspace_close(&w);
	return rc < 0 ? -1 : 0;
}

enum { HISTORY_MS = 30000 };

void undo_history_open(struct undo_history *h, struct app *app,
		       const char *label)
{
	struct stop signals = app_stop(app);
	struct stop stop = stop_within(&signals, HISTORY_MS);
	struct error ignored = { 0 };
	struct settings *set;

	if (!label[0] || app_settings(app, &set, &ignored) < 0 ||
	    tree_find_label(&h->w, app, label, &stop, &ignored) != 0)
		return;
	(void)checkpoints_read(&h->all, &h->w, &stop, &ignored);
}

/* An odb_sink. */
static int add_changed(void *arg, const struct odb_record *r, struct error *err)
{
	(void)err;
	changed_files_add(arg, str_of(r->path));
	return 0;
}

void undo_history_add(const struct undo_history *h,
		      const struct checkpoint_turn *t, struct buf *out)
{
	struct stop stop = stop_cleanup(HISTORY_MS);
	struct changed_files l = { .out = out };
	const struct odb_sink sink = { add_changed, &l };
	struct error ignored = { 0 };
	const char *before;
	const char *after;

	if (!checkpoint_of_turn(&h->all, t, &before, &after))
		return;
	(void)odb_tree_diff(&h->w.git, before, after, &sink, &stop, &ignored);
	changed_files_end(&l);
}

void undo_history_close(struct undo_history *h)
{
	checkpoints_release(&h->all);
	workspace_close(&h->w);
}
