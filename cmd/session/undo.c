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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "cmd/session/tree.h"
#include "sandbox/tree_changes.h"
#include "session/thread.h"
#include "worktree/odb.h"
#include "worktree/send.h"
#include "worktree/user_repo.h"

enum {
	EXCLUDE_MAX = 1 << 20,
	MARK_MAX = 128,
	NOTE_MAX = 64 << 10,
	TAKE_MS = 120000, /* for one checkpoint */
};

#define NOTE "undone" /* LABEL.undone: what the model is not told yet */

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
	    workspace_read_exclude(w, exclude, err) < 0)
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

/* Returns the path of LABEL.KIND, owned, or NULL. While the sandbox is being
 * created, r->box belongs to another thread, so LABEL is then the one that the
 * conversation has stored. */
static char *find_file(const struct run *r, const char *kind)
{
	bool ready = !r->agent.await && r->box.label[0];
	const char *label = ready          ? r->box.label
			    : r->thread.id ? r->thread.label
					   : "";
	struct error ignored = { 0 };
	bool repository;
	char *root = label[0] ? user_repo_root(settings_cwd(r->app->settings),
					       &repository, &ignored)
			      : NULL;
	char *state = root ? app_state_path(r->app, "", &ignored) : NULL;
	char *file = state && workspace_exists(state, root, label)
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

void undo_begin_turn(struct run *r)
{
	number_turn(r, &r->wrote.number);
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
	char *file = r->interactive && r->wrote.n && !r->undo_named &&
				     has_checkpoints(r)
			     ? find_file(r, NOTE)
			     : NULL;

	if (!file)
		return;
	r->undo_named = true;
	fputs("/undo takes back what a turn has changed in the files.\n",
	      stderr);
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
static void write_note(const struct undo_result *u, struct buf *out)
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
	buf_adds(out, ". Read these files again before you edit them. Commits, "
		      "processes and installed packages are as they were.]\n");
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
		write_note(u, &text);
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

	if (rc == 0) /* of the last turn */
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
		u->finished ? "Finished an interrupted undo: turn"
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
	if (rc == 0)
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
	const struct undo_target t = { r->app, &w, &r->box.sandbox,
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

int undo_forked(struct run *r, int64_t turn, bool with_files, struct error *err)
{
	const struct checkpoint_turn t = { session_id(r->session), turn };
	struct stop stop = app_stop(r->app);
	struct workspace w;
	int rc = open_tree(r, &w, &stop, err);
	char *note;

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
