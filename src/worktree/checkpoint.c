/* checkpoint.c - states of a sandbox's tree after each turn, and undo. */
/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_take() fetches the tree after a turn and, if it differs from the
 * last checkpoint, gives the commit a name. The names are the only records:
 * reading them in their order gives the turns that are in effect and those that
 * were undone (replay()).
 *
 * An undo sends the difference of two checkpoints, the one that the turns have
 * left and the one to restore (restore.h). So it overwrites nothing of which
 * there is no checkpoint, and it can be repeated after a kill: LABEL.undoing
 * has what was intended.
 */
#include "worktree/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/fetch.h"
#include "worktree/odb.h"
#include "worktree/restore.h"

enum {
	REFS_MAX = 1 << 20,
	LOCK_MS = 30000,
	REF_MS = 60000,
	INTENT_MAX = 64 << 20,
};

static char *turns_prefix(const struct workspace *w)
{
	return odb_ref_name(w->label, "turns/");
}

/* Ref for a commit that has no name yet. */
static char *scratch_ref(const struct workspace *w)
{
	return odb_ref_name(w->label, "turn");
}

static char *label_path(const struct workspace *w, const char *ending)
{
	return xasprintf("%s/%s.%s", w->directory, w->label, ending);
}

/* Parses "NUMBER.KIND.TURN.COUNT.THREAD". */
static bool parse_name(struct checkpoint *c, struct str name)
{
	struct str part[4];
	int64_t number;

	for (int i = 0; i < 4; i++)
		if (!str_split(&name, '.', &part[i]))
			return false;
	if (!str_to_int(part[0], &number) || part[1].len != 1 ||
	    !str_to_int(part[2], &c->turn) || !str_to_int(part[3], &c->count))
		return false;
	c->number = (unsigned long)number;
	c->kind = part[1].ptr[0];
	c->thread = xstrndup(name.len ? name.ptr : "", name.len);
	return true;
}

static bool is_local(const struct workspace *w)
{
	return str_starts(str_of(w->label), CHECKPOINT_LOCAL);
}

/* Parses "REF OID TIME PARENT...". */
static void add_checkpoint(struct checkpoints *all, const char *prefix,
			   struct str line)
{
	struct checkpoint c = { 0 };
	struct str ref = { 0 };
	struct str oid = { 0 };
	struct str time = { 0 };
	struct str parent = { 0 };

	if (!str_split(&line, ' ', &ref) || !str_split(&line, ' ', &oid) ||
	    !str_starts(ref, prefix) || oid.len >= GIT_OID ||
	    !parse_name(&c, str_skip(ref, strlen(prefix))))
		return;
	(void)str_split(&line, ' ', &time);
	(void)str_to_int(time, &c.time);
	while (str_split(&line, ' ', &parent))
		if (parent.len < GIT_OID)
			snprintf(c.parent, sizeof(c.parent), "%.*s",
				 (int)parent.len, parent.ptr);
	snprintf(c.oid, sizeof(c.oid), "%.*s", (int)oid.len, oid.ptr);
	c.ref = xstrndup(ref.ptr, ref.len);
	if (!(all->n & (all->n - 1)))
		all->list = xrealloc(all->list, all->n ? 2 * all->n : 1,
				     sizeof(*all->list));
	all->list[all->n++] = c;
}

/* Finds the turns that are in effect. The oldest checkpoints may be gone, so an
 * undo may name more turns than there are. */
static void replay(struct checkpoints *c)
{
	c->turns = xcalloc(c->n + 1, sizeof(*c->turns));
	c->undone = xcalloc(c->n + 1, sizeof(*c->undone));
	c->popped = xcalloc(c->n + 1, sizeof(*c->popped));
	for (size_t i = 0; i < c->n; i++) {
		size_t count = (size_t)c->list[i].count;

		switch (c->list[i].kind) {
		case CHECKPOINT_TURN:
			c->turns[c->n_turns++] = i;
			c->n_undone = 0;
			break;
		case CHECKPOINT_UNDO:
			c->popped[i] = count < c->n_turns ? count : c->n_turns;
			c->n_turns -= c->popped[i];
			c->undone[c->n_undone++] = i;
			break;
		case CHECKPOINT_REDO:
			if (c->n_undone)
				c->n_turns +=
					c->popped[c->undone[--c->n_undone]];
			break;
		default:
			break;
		}
	}
}

int checkpoints_read(struct checkpoints *c, const struct workspace *w,
		     const struct stop *stop, struct error *err)
{
	char *prefix = turns_prefix(w);
	const char *argv[] = {
		"for-each-ref",
		"--format=%(refname) %(objectname) %(committerdate:unix) "
		"%(parent)",
		prefix, NULL
	};
	struct buf out = BUF_INIT(REFS_MAX);
	const struct git_request q = { .argv = argv,
				       .out = &out,
				       .timeout_ms = REF_MS };
	int rc = git_run(&w->git, &q, stop, err);
	struct str rest = buf_str(&out);
	struct str line;

	*c = (struct checkpoints){ 0 };
	while (rc == 0 && str_split(&rest, '\n', &line))
		add_checkpoint(c, prefix, line);
	if (rc == 0)
		replay(c);
	buf_release(&out);
	free(prefix);
	return rc;
}

void checkpoints_release(struct checkpoints *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->list[i].thread);
		free(c->list[i].ref);
	}
	free(c->list);
	free(c->turns);
	free(c->undone);
	free(c->popped);
	*c = (struct checkpoints){ 0 };
}

/* Carries out lines of git update-ref --stdin, all or none. */
static int update_refs(const struct workspace *w, const struct buf *lines,
		       const struct stop *stop, struct error *err)
{
	static const char *const argv[] = { "update-ref", "--no-deref",
					    "--stdin", NULL };
	const struct git_request q = { .argv = argv,
				       .input = buf_str(lines),
				       .timeout_ms = REF_MS };

	return lines->len ? git_run(&w->git, &q, stop, err) : 0;
}

int checkpoints_remove(const struct workspace *w, const struct stop *stop,
		       struct error *err)
{
	struct checkpoints c;
	struct buf lines = BUF_INIT(REFS_MAX);
	char *scratch = scratch_ref(w);
	int rc = checkpoints_read(&c, w, stop, err);

	for (size_t i = 0; i < c.n; i++)
		buf_addf(&lines, "delete %s\n", c.list[i].ref);
	if (rc == 0)
		rc = update_refs(w, &lines, stop, err);
	if (rc == 0)
		rc = odb_ref_set(&w->git, scratch, NULL, stop, err);
	checkpoints_release(&c);
	buf_release(&lines);
	free(scratch);
	return rc;
}

static unsigned long next_number(const struct checkpoints *c)
{
	return c->n ? c->list[c->n - 1].number + 1 : 1;
}

/* Returns the ref of a new checkpoint. Owned. */
static char *make_ref(const struct workspace *w, unsigned long number,
		      const struct checkpoint *c)
{
	char *prefix = turns_prefix(w);
	char *ref = xasprintf("%s%08lu.%c.%" PRId64 ".%" PRId64 ".%s", prefix,
			      number, c->kind, c->turn, c->count, c->thread);

	free(prefix);
	return ref;
}

/* Appends a line that creates a checkpoint with the commit oid. */
static void add_create(struct buf *lines, const struct workspace *w,
		       unsigned long number, const struct checkpoint *c,
		       const char *oid)
{
	char *ref = make_ref(w, number, c);

	buf_addf(lines, "create %s %s\n", ref, oid);
	free(ref);
}

/* Appends lines that delete the oldest checkpoints: too many, too old, too
 * large. */
static void add_trim(struct buf *lines, const struct checkpoints *c,
		     int64_t most)
{
	int64_t oldest = time(NULL) - (int64_t)CHECKPOINT_DAYS * 86400;
	int64_t kib = 0;
	size_t keep = 0;

	for (size_t i = c->n; i > 0; i--) {
		const struct checkpoint *one = &c->list[i - 1];

		if (one->kind == CHECKPOINT_TURN ||
		    one->kind == CHECKPOINT_OTHER)
			kib += one->count;
		if (++keep > (size_t)most || one->time < oldest ||
		    kib > CHECKPOINTS_KIB)
			buf_addf(lines, "delete %s\n", one->ref);
	}
}

static const struct checkpoint *find_fork(const struct checkpoints *c,
					  const char *thread)
{
	for (size_t i = c->n; i > 0; i--)
		if (c->list[i - 1].kind == CHECKPOINT_FORK &&
		    !strcmp(c->list[i - 1].thread, thread))
			return &c->list[i - 1];
	return NULL;
}

/* True if the checkpoint's turn belongs to t's thread, or to the one from which
 * that was copied before its turn t->turn. Then *thread becomes the owner. */
static bool is_in_thread(const struct checkpoints *c,
			 const struct checkpoint *one,
			 const struct checkpoint_turn *t, const char **thread)
{
	const struct checkpoint *fork;

	if (!strcmp(one->thread, *thread))
		return true;
	fork = find_fork(c, *thread);
	if (!fork || t->turn >= fork->turn)
		return false;
	*thread = one->thread;
	return true;
}

size_t checkpoint_first(const struct checkpoints *c,
			const struct checkpoint_turn *t)
{
	struct checkpoint_turn last = *t;
	const char *thread;
	size_t i = c->n_turns;

	if (!last.turn && i) {
		last.thread = c->list[c->turns[i - 1]].thread;
		last.turn = c->list[c->turns[i - 1]].turn;
	}
	thread = last.thread;
	while (i) {
		const struct checkpoint *one = &c->list[c->turns[i - 1]];

		if (!is_in_thread(c, one, &last, &thread) ||
		    one->turn < last.turn)
			break;
		i--;
	}
	return i;
}

bool checkpoint_of_turn(const struct checkpoints *c,
			const struct checkpoint_turn *t, const char **before,
			const char **after)
{
	const char *thread = t->thread;

	for (size_t i = c->n; i > 0; i--) {
		const struct checkpoint *one = &c->list[i - 1];
		bool local = strstr(one->ref, "/" CHECKPOINT_LOCAL) != NULL;

		if (!local && i == 1)
			break;
		if (one->kind != CHECKPOINT_TURN ||
		    !is_in_thread(c, one, t, &thread) || one->turn != t->turn)
			continue;
		*before = local ? one->parent : c->list[i - 2].oid;
		*after = one->oid;
		return true;
	}
	return false;
}

static int lock_turns(const struct workspace *w, const struct stop *stop,
		      struct error *err)
{
	struct stop wait = stop_within(stop, LOCK_MS);
	char *file = label_path(w, "turns");
	int fd = path_lock(file, &wait, err);

	free(file);
	return fd;
}

static int see_difference(void *arg, const struct odb_record *r,
			  struct error *err)
{
	(void)r;
	(void)err;
	*(bool *)arg = true;
	return 0;
}

/* True if the last turn with a checkpoint is this one. */
static bool has_turn(const struct checkpoints *c,
		     const struct checkpoint_turn *t)
{
	for (size_t i = c->n; i > 0; i--)
		if (c->list[i - 1].kind == CHECKPOINT_TURN &&
		    !strcmp(c->list[i - 1].thread, t->thread))
			return c->list[i - 1].turn >= t->turn;
	return false;
}

int checkpoint_note_first(const struct workspace *w, const struct stop *stop,
			  struct error *err)
{
	const struct checkpoint first = { .kind = CHECKPOINT_FIRST,
					  .thread = (char *)"-" };
	char *ref = make_ref(w, 1, &first);
	int rc = odb_ref_set(&w->git, ref, w->base, stop, err);

	free(ref);
	return rc;
}

/* Names the fetched commit, if it differs from the last checkpoint. A sandbox
 * of an older dcode has none: its earlier turns are unknown. */
static int name_commit(struct workspace *w, const struct checkpoint_request *r,
		       const struct fetch *f, const struct checkpoints *c,
		       const struct stop *stop, struct error *err)
{
	struct checkpoint one = { .kind = r->kind,
				  .turn = r->turn.turn,
				  .count = f->bytes >> 10,
				  .thread = (char *)r->turn.thread };
	struct buf lines = BUF_INIT(REFS_MAX);
	bool differs = !c->n;
	int rc = 0;

	if (c->n)
		rc = odb_tree_diff(
			&w->git, c->list[c->n - 1].oid, f->theirs,
			&(struct odb_sink){ see_difference, &differs }, stop,
			err);
	if (!one.kind)
		one.kind = has_turn(c, &r->turn) ? CHECKPOINT_OTHER
						 : CHECKPOINT_TURN;
	if (!c->n)
		one.kind = CHECKPOINT_OTHER;
	if (rc == 0 && differs) {
		add_create(&lines, w, next_number(c), &one, f->theirs);
		add_trim(&lines, c, r->most - 1);
		rc = update_refs(w, &lines, stop, err);
	}
	buf_release(&lines);
	return rc;
}

/* Does the work of checkpoint_take() while the lock is held. */
static int take_locked(struct workspace *w, const struct checkpoint_request *r,
		       const struct stop *stop, struct error *err)
{
	struct fetch_request q = r->fetch;
	struct error ignored = { 0 };
	struct checkpoints c = { 0 };
	struct fetch f = { 0 };
	char *ref = scratch_ref(w);
	int rc;

	q.ref = ref;
	q.small_first = false;
	q.file_max = CHECKPOINT_FILE;
	q.total_max = CHECKPOINT_BYTES;
	rc = fetch_changes(w, &q, &f, stop, err);
	if (rc == 0)
		rc = checkpoints_read(&c, w, stop, err);
	if (rc == 0)
		rc = name_commit(w, r, &f, &c, stop, err);
	(void)odb_ref_set(&w->git, ref, NULL, stop, &ignored);
	checkpoints_release(&c);
	fetch_release(&f);
	free(ref);
	return rc;
}

int checkpoint_take(struct workspace *w, const struct checkpoint_request *r,
		    const struct stop *stop, struct error *err)
{
	int lock = lock_turns(w, stop, err);
	char *intent = label_path(w, "undoing");
	int rc = lock < 0 ? -1 : take_locked(w, r, stop, err);

	/* The agent has worked with what an interrupted undo has left. */
	if (rc == 0)
		(void)unlink(intent);
	if (lock >= 0)
		close(lock);
	free(intent);
	return rc;
}

int checkpoint_name_turn(const struct workspace *w, struct turn_files *t,
			 int64_t most, const struct stop *stop,
			 struct error *err)
{
	const struct checkpoint one = { .kind = CHECKPOINT_TURN,
					.turn = t->turn.turn,
					.count = t->bytes >> 10,
					.thread = (char *)t->turn.thread };
	struct buf lines = BUF_INIT(REFS_MAX);
	struct checkpoints c = { 0 };
	char *intent = label_path(w, "undoing");
	char *ref = NULL;
	int lock = lock_turns(w, stop, err);
	int rc = lock < 0 ? -1 : checkpoints_read(&c, w, stop, err);

	t->unnamed = false;
	if (!t->number)
		t->number = next_number(&c);
	ref = make_ref(w, t->number, &one);
	if (t->ref && strcmp(ref, t->ref) != 0)
		buf_addf(&lines, "delete %s\n", t->ref);
	buf_addf(&lines, "update %s %s\n", ref, t->after);
	if (!t->ref)
		add_trim(&lines, &c, most - 1);
	if (rc == 0)
		rc = update_refs(w, &lines, stop, err);
	if (rc == 0) {
		/* the agent has worked with what a killed undo has left */
		(void)unlink(intent);
		free(t->ref);
		t->ref = xstrdup(ref);
	}
	if (lock >= 0)
		close(lock);
	checkpoints_release(&c);
	buf_release(&lines);
	free(intent);
	free(ref);
	return rc;
}

/* An odb_sink: copies a difference to a commit. */
static int copy_record(void *arg, const struct odb_record *r, struct error *err)
{
	struct odb_commit *to = arg;

	return r->new_mode ? odb_commit_blob(to, r->new_mode, str_of(r->path),
					     r->new_oid, err)
			   : odb_commit_delete(to, str_of(r->path), err);
}

/* Adds the difference of two commits to the last checkpoint. */
static int copy_difference(const struct workspace *w, const char *from,
			   const struct checkpoints *c, const struct stop *stop,
			   struct error *err)
{
	const struct checkpoint *last = &c->list[c->n - 1];
	const struct checkpoint one = { .kind = CHECKPOINT_OTHER,
					.turn = last->turn,
					.thread = last->thread };
	char *ref = make_ref(w, next_number(c), &one);
	const struct odb_commit_info info = { .ref = ref,
					      .parent = last->oid,
					      .message = "sync\n" };
	struct odb_sink sink = { copy_record, NULL };
	struct odb_commit *commit = NULL;
	char oid[GIT_OID];
	int rc = odb_commit_begin(&commit, &w->git, &info, stop, err);

	sink.arg = commit;
	if (rc == 0)
		rc = odb_tree_diff(&w->git, from, w->base, &sink, stop, err);
	if (rc == 0)
		rc = odb_commit_end(commit, oid, err);
	else
		odb_commit_abort(commit);
	free(ref);
	return rc;
}

int checkpoint_note_sync(const struct workspace *w, const char *from,
			 const struct stop *stop, struct error *err)
{
	struct checkpoints c = { 0 };
	int lock;
	int rc;

	if (!strcmp(from, w->base))
		return 0;
	lock = lock_turns(w, stop, err);
	rc = lock < 0 ? -1 : checkpoints_read(&c, w, stop, err);
	if (rc == 0 && c.n)
		rc = copy_difference(w, from, &c, stop, err);
	if (lock >= 0)
		close(lock);
	checkpoints_release(&c);
	return rc;
}

int checkpoint_fork(const struct workspace *w,
		    const struct checkpoint_turn *turn, const struct stop *stop,
		    struct error *err)
{
	const struct checkpoint one = { .kind = CHECKPOINT_FORK,
					.turn = turn->turn,
					.thread = (char *)turn->thread };
	struct buf lines = BUF_INIT(REFS_MAX);
	struct checkpoints c = { 0 };
	int lock = lock_turns(w, stop, err);
	int rc = lock < 0 ? -1 : checkpoints_read(&c, w, stop, err);

	if (rc == 0 && c.n)
		add_create(&lines, w, next_number(&c), &one,
			   c.list[c.n - 1].oid);
	if (rc == 0)
		rc = update_refs(w, &lines, stop, err);
	if (lock >= 0)
		close(lock);
	checkpoints_release(&c);
	buf_release(&lines);
	return rc;
}

int checkpoints_copy(const struct workspace *to, const struct workspace *from,
		     const char *now, bool only_now, const struct stop *stop,
		     struct error *err)
{
	static const struct checkpoint other = { .kind = CHECKPOINT_OTHER,
						 .thread = (char *)"-" };
	struct buf lines = BUF_INIT(REFS_MAX);
	struct checkpoints c = { 0 };
	bool differs = only_now;
	int rc = checkpoints_read(&c, from, stop, err);

	for (size_t i = 0; i < c.n && rc == 0 && !only_now; i++)
		add_create(&lines, to, c.list[i].number, &c.list[i],
			   c.list[i].oid);
	if (rc == 0 && c.n && now && !only_now)
		rc = odb_tree_diff(
			&to->git, c.list[c.n - 1].oid, now,
			&(struct odb_sink){ see_difference, &differs }, stop,
			err);
	if (rc == 0 && differs && c.n)
		add_create(&lines, to, next_number(&c), &other, now);
	if (rc == 0 && lines.len)
		rc = update_refs(to, &lines, stop, err);
	checkpoints_release(&c);
	buf_release(&lines);
	return rc;
}

/* Paths that the user has changed between the turns that are undone. */
struct kept_paths {  /* initialise with { 0 } */
	char **list; /* owned; sorted by sort_set() */
	size_t n;
};

struct undoing {
	struct workspace *w;
	struct sandbox *sandbox;
	const struct stop *stop;
	struct undo_result *result;
	/* what is intended, as in LABEL.undoing */
	char from[GIT_OID], to[GIT_OID];
	/* the checkpoint afterwards; only thread is owned */
	struct checkpoint entry;
	struct kept_paths skip;
	struct restore restore;
};

static void add_to_set(struct kept_paths *s, struct str path)
{
	if (!(s->n & (s->n - 1)))
		s->list = xrealloc(s->list, s->n ? 2 * s->n : 1,
				   sizeof(*s->list));
	s->list[s->n++] = xstrndup(path.len ? path.ptr : "", path.len);
}

static void sort_set(struct kept_paths *s)
{
	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), str_compare);
}

static bool is_in_set(const struct kept_paths *s, const char *path)
{
	return s->n &&
	       bsearch(&path, s->list, s->n, sizeof(*s->list), str_compare);
}

static void release_set(struct kept_paths *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->list);
	*s = (struct kept_paths){ 0 };
}

static int skip_path(void *arg, const struct odb_record *r, struct error *err)
{
	struct undoing *u = arg;

	(void)err;
	add_to_set(&u->skip, str_of(r->path));
	return 0;
}

/* Collects what the user has changed between two checkpoints. */
static int skip_others(struct undoing *u, const struct checkpoints *c,
		       size_t first, size_t last, struct error *err)
{
	const struct odb_sink sink = { skip_path, u };
	int rc = 0;

	for (size_t i = first + 1; i < last && rc == 0; i++)
		if (c->list[i].kind == CHECKPOINT_OTHER)
			rc = odb_tree_diff(&u->w->git, c->list[i - 1].oid,
					   c->list[i].oid, &sink, u->stop, err);
	sort_set(&u->skip);
	return rc;
}

static void set_intent(struct undoing *u, const struct checkpoint *from,
		       const struct checkpoint *to)
{
	memcpy(u->from, from->oid, sizeof(u->from));
	memcpy(u->to, to->oid, sizeof(u->to));
}

static const char *where_of(const struct workspace *w)
{
	return is_local(w) ? "with a file tool" : "in this sandbox";
}

/* What the undone turns have left at a path, and what was there before. */
struct local_step {
	char *path; /* owned */
	unsigned from_mode, to_mode;
	char from[GIT_OID], to[GIT_OID];
};

struct local_steps { /* initialise with { .undoing } */
	struct undoing *undoing;
	struct local_step *list; /* owned */
	size_t n;
};

static struct local_step *find_step(const struct local_steps *s,
				    const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->list[i].path, path))
			return &s->list[i];
	return NULL;
}

static void add_step(struct local_steps *s, const struct odb_record *r)
{
	struct local_step *one;

	if (!(s->n & (s->n - 1)))
		s->list = xrealloc(s->list, s->n ? 2 * s->n : 1,
				   sizeof(*s->list));
	one = &s->list[s->n++];
	*one = (struct local_step){ .path = xstrdup(r->path),
				    .from_mode = r->new_mode };
	snprintf(one->from, GIT_OID, "%s", r->new_oid);
}

/* An odb_sink for the turns from the last to the first. A file that is not as
 * the earlier turn left it was changed in between, and stays. */
static int see_step(void *arg, const struct odb_record *r, struct error *err)
{
	struct local_steps *s = arg;
	struct local_step *one = find_step(s, r->path);

	(void)err;
	if (!one) {
		add_step(s, r);
		one = &s->list[s->n - 1];
	} else if (one->to_mode != r->new_mode ||
		   strcmp(one->to, r->new_oid) != 0) {
		add_to_set(&s->undoing->skip, str_of(r->path));
	}
	one->to_mode = r->old_mode;
	snprintf(one->to, GIT_OID, "%s", r->old_oid);
	return 0;
}

/* Makes a commit of what the steps lead to, or come from. */
static int commit_steps(const struct local_steps *s, bool to, char oid[GIT_OID],
			struct error *err)
{
	struct undoing *u = s->undoing;
	struct error ignored = { 0 };
	struct odb_commit *commit = NULL;
	char *ref = scratch_ref(u->w);
	const struct odb_commit_info info = { .ref = ref, .message = "undo\n" };
	int rc = odb_commit_begin(&commit, &u->w->git, &info, u->stop, err);

	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const struct local_step *one = &s->list[i];
		unsigned mode = to ? one->to_mode : one->from_mode;

		if (mode)
			rc = odb_commit_blob(commit, mode, str_of(one->path),
					     to ? one->to : one->from, err);
	}
	if (rc == 0)
		rc = odb_commit_end(commit, oid, err);
	else
		odb_commit_abort(commit);
	(void)odb_ref_set(&u->w->git, ref, NULL, u->stop, &ignored);
	free(ref);
	return rc;
}

/* Plans to undo the turns from index `at` on of files without a sandbox. */
static int plan_local(struct undoing *u, const struct checkpoints *c, size_t at,
		      struct error *err)
{
	struct local_steps s = { .undoing = u };
	const struct odb_sink sink = { see_step, &s };
	int rc = 0;

	for (size_t i = c->n_turns; i > at && rc == 0; i--) {
		const struct checkpoint *one = &c->list[c->turns[i - 1]];

		rc = odb_tree_diff(&u->w->git, one->parent, one->oid, &sink,
				   u->stop, err);
	}
	sort_set(&u->skip);
	if (rc == 0)
		rc = commit_steps(&s, false, u->from, err);
	if (rc == 0)
		rc = commit_steps(&s, true, u->to, err);
	for (size_t i = 0; i < s.n; i++)
		free(s.list[i].path);
	free(s.list);
	return rc;
}

/* Finds the two checkpoints for an undo. */
static int plan_undo(struct undoing *u, const struct checkpoints *c,
		     const struct undo_request *r, struct error *err)
{
	const struct checkpoint_turn t = { r->checkpoint.turn.thread, r->turn };
	size_t at = checkpoint_first(c, &t);
	size_t first;
	size_t last;

	if (at == c->n_turns && r->turn)
		return error_set(err, ERR_NOT_FOUND,
				 "nothing to undo: no turn from %" PRId64
				 " on has changed files %s",
				 r->turn, where_of(u->w));
	if (at == c->n_turns)
		return error_set(err, ERR_NOT_FOUND,
				 "nothing to undo: no turn has changed files "
				 "%s, or all are undone",
				 where_of(u->w));
	first = c->turns[at];
	last = c->turns[c->n_turns - 1];
	if (!first && !is_local(u->w))
		return error_set(err, ERR_NOT_FOUND,
				 "the files from before turn %" PRId64
				 " are not stored (any more)",
				 c->list[first].turn);
	if (!is_local(u->w))
		set_intent(u, &c->list[last], &c->list[first - 1]);
	u->entry = (struct checkpoint){ .kind = CHECKPOINT_UNDO,
					.turn = c->list[first].turn,
					.count = (int64_t)(c->n_turns - at),
					.thread = xstrdup(
						r->checkpoint.turn.thread) };
	return is_local(u->w) ? plan_local(u, c, at, err)
			      : skip_others(u, c, first, last, err);
}

static int plan_redo(struct undoing *u, const struct checkpoints *c,
		     const struct undo_request *r, struct error *err)
{
	size_t at = c->n_undone ? c->undone[c->n_undone - 1] : 0;

	if (!c->n_undone || (!at && !is_local(u->w)))
		return error_set(err, ERR_NOT_FOUND,
				 "nothing to redo: no undo since the last turn "
				 "that changed files");
	if (is_local(u->w)) {
		memcpy(u->from, c->list[at].oid, GIT_OID);
		memcpy(u->to, c->list[at].parent, GIT_OID);
	} else {
		set_intent(u, &c->list[at], &c->list[at - 1]);
	}
	u->entry = (struct checkpoint){ .kind = CHECKPOINT_REDO,
					.turn = c->list[at].turn,
					.count = (int64_t)c->popped[at],
					.thread = xstrdup(
						r->checkpoint.turn.thread) };
	return 0;
}

/* Writes LABEL.undoing: "FROM TO NUMBER KIND TURN COUNT THREAD\n", then the
 * paths of skip, each terminated by NUL. */
static int write_intent(const struct undoing *u, const char *file,
			struct error *err)
{
	struct buf text = BUF_INIT(INTENT_MAX);
	int rc;

	buf_addf(&text, "%s %s %lu %c %" PRId64 " %" PRId64 " %s\n", u->from,
		 u->to, u->entry.number, u->entry.kind, u->entry.turn,
		 u->entry.count, u->entry.thread);
	for (size_t i = 0; i < u->skip.n; i++)
		buf_add(&text, u->skip.list[i], strlen(u->skip.list[i]) + 1);
	rc = buf_check(&text, "the list of changed files", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	return rc;
}

static bool parse_intent(struct undoing *u, struct str text)
{
	struct str line;
	struct str part[6];
	struct str path;
	int64_t number;

	if (!str_split(&text, '\n', &line))
		return false;
	for (int i = 0; i < 6; i++)
		if (!str_split(&line, ' ', &part[i]))
			return false;
	if (part[0].len >= GIT_OID || part[1].len >= GIT_OID ||
	    !str_to_int(part[2], &number) || part[3].len != 1 ||
	    !str_to_int(part[4], &u->entry.turn) ||
	    !str_to_int(part[5], &u->entry.count))
		return false;
	u->entry.number = (unsigned long)number;
	snprintf(u->from, GIT_OID, "%.*s", (int)part[0].len, part[0].ptr);
	snprintf(u->to, GIT_OID, "%.*s", (int)part[1].len, part[1].ptr);
	u->entry.kind = part[3].ptr[0];
	u->entry.thread = xstrndup(line.len ? line.ptr : "", line.len);
	while (str_split(&text, '\0', &path))
		if (path.len)
			add_to_set(&u->skip, path);
	return true;
}

/* Reads what a killed dcode has begun. Returns 1 if there is something. */
static int read_intent(struct undoing *u, const char *file, struct error *err)
{
	struct buf text = BUF_INIT(INTENT_MAX);
	int rc = 0;

	if (access(file, F_OK) == 0) {
		rc = path_read(file, &text, err);
		if (rc == 0)
			rc = parse_intent(u, buf_str(&text));
	}
	buf_release(&text);
	return rc;
}

static void note_path(char ***list, size_t *n, const char *path)
{
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = xstrdup(path);
}

/* Makes the checkpoint of what the sandbox has now: the last one with the files
 * that were restored. */
static int add_entry(struct undoing *u, struct error *err)
{
	struct workspace *w = u->w;
	struct checkpoints c = { 0 };
	struct odb_commit_info info = { .message = "undo\n" };
	struct odb_commit *commit = NULL;
	char oid[GIT_OID];
	char *ref = NULL;
	int rc = checkpoints_read(&c, w, u->stop, err);

	if (rc == 0 && !c.n)
		rc = error_set(err, ERR_NOT_FOUND, "the checkpoints are gone");
	if (rc == 0 && next_number(&c) > u->entry.number) {
		/* the killed dcode has made it */
		checkpoints_release(&c);
		return 0;
	}
	if (rc == 0) {
		ref = make_ref(w, u->entry.number, &u->entry);
		info.ref = ref;
		info.parent = is_local(w) ? u->from : c.list[c.n - 1].oid;
		rc = odb_commit_begin(&commit, &w->git, &info, u->stop, err);
	}
	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < u->restore.n && rc == 0; i++) {
			const struct restore_line *l = &u->restore.lines[i];

			if (!l->taken || (l->new.mode == 0) != (gone == 1))
				continue;
			rc = gone ? odb_commit_delete(commit, str_of(l->path),
						      err)
				  : odb_commit_blob(commit, l->new.mode,
						    str_of(l->path), l->new.oid,
						    err);
		}
	if (rc == 0)
		rc = odb_commit_end(commit, oid, err);
	else
		odb_commit_abort(commit);
	checkpoints_release(&c);
	free(ref);
	return rc;
}

/* A restore.skips: the user has changed the file since. */
static bool keep_path(void *arg, const char *path)
{
	struct undoing *u = arg;
	bool keeps = is_in_set(&u->skip, path);

	if (keeps)
		note_path(&u->result->kept, &u->result->n_kept, path);
	return keeps;
}

/* Carries out the intention. */
static int run_intent(struct undoing *u, struct error *err)
{
	struct undo_result *r = u->result;
	const struct restore *done = &u->restore;
	int rc;

	u->restore = (struct restore){ .w = u->w,
				       .sandbox = u->sandbox,
				       .stop = u->stop,
				       .from = u->from,
				       .to = u->to,
				       .skips = keep_path,
				       .arg = u };
	rc = restore_run(&u->restore, err);
	if (rc == 0)
		rc = add_entry(u, err);
	if (rc < 0)
		return -1;
	r->redo = u->entry.kind == CHECKPOINT_REDO;
	r->turn = u->entry.turn;
	r->count = u->entry.count;
	for (size_t i = 0; i < done->n; i++)
		if (done->lines[i].taken)
			note_path(&r->changed, &r->n_changed,
				  done->lines[i].path);
		else
			note_path(&r->kept, &r->n_kept, done->lines[i].path);
	return 0;
}

static void release_undoing(struct undoing *u)
{
	restore_release(&u->restore);
	free(u->entry.thread);
	release_set(&u->skip);
}

/* Decides what to undo, and writes that down. */
static int intend(struct undoing *u, const struct undo_request *r,
		  const char *file, struct error *err)
{
	struct checkpoints c = { 0 };
	int rc = is_local(u->w)
			 ? 0
			 : take_locked(u->w, &r->checkpoint, u->stop, err);

	if (rc == 0)
		rc = checkpoints_read(&c, u->w, u->stop, err);
	if (rc == 0)
		rc = r->redo ? plan_redo(u, &c, r, err)
			     : plan_undo(u, &c, r, err);
	u->entry.number = next_number(&c);
	if (rc == 0)
		rc = write_intent(u, file, err);
	checkpoints_release(&c);
	return rc;
}

int checkpoint_undo(struct workspace *w, const struct undo_request *r,
		    struct undo_result *result, const struct stop *stop,
		    struct error *err)
{
	struct undoing u = { .w = w,
			     .sandbox = r->checkpoint.fetch.sandbox,
			     .stop = stop,
			     .result = result };
	char *file = label_path(w, "undoing");
	int lock = lock_turns(w, stop, err);
	int rc = lock < 0 ? -1 : read_intent(&u, file, err);

	result->finished = rc == 1;
	if (rc == 0)
		rc = intend(&u, r, file, err);
	if (rc >= 0)
		rc = run_intent(&u, err);
	if (rc == 0 && r->done)
		rc = r->done(w, result, err);
	if (rc == 0)
		(void)unlink(file);
	if (lock >= 0)
		close(lock);
	release_undoing(&u);
	free(file);
	return rc;
}

static void release_paths(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void undo_result_release(struct undo_result *r)
{
	release_paths(r->changed, r->n_changed);
	release_paths(r->kept, r->n_kept);
	*r = (struct undo_result){ 0 };
}
