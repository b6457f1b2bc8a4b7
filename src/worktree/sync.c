/* sync.c - what changed in the user's tree, into the sandbox. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/transfer.h"
#include "worktree/carry.h"
#include "worktree/included.h"
#include "worktree/pass.h"
#include "worktree/send.h"

enum { LINE = 2 * (6 + 1 + 64) + 2 + 1 };

#define NO_HASH                                                                \
	"0000000000000000000000000000000000000000000000000000000000000000"
#define NOTHING "000000 " NO_HASH

/* One path that differs. */
struct local_change {
	const char *path;  /* of a listing */
	unsigned old_mode; /* 0: the base has none */
	char old_hash[LISTING_HASH];
	bool gone; /* there is none now */
};

struct syncing {
	struct workspace *w;
	const struct sync_request *r;
	struct sync_result *result;
	struct listing base;
	struct included included;
	struct listing now;            /* as found when looking for changes */
	const struct selection *found; /* while they are looked for */
	struct local_change *changes;
	size_t n;
	struct selected *files; /* those to send; paths are the listing's */
	size_t n_files;
	const char **gone;
	size_t n_gone;
	size_t size; /* of the trailer, at most */
	char local_ref[128];
	char from[GIT_OID]; /* the base that changes are told against */
	struct carried out;
};

static void add_path(char ***list, size_t *n, struct str line)
{
	char *path = xstrndup(line.ptr ? line.ptr : "", line.len);

	for (char *p = path; *p; p++)
		if (*p == '\1')
			*p = '\n';
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = path;
}

/* Holds what is never sent unasked: it is there, though not among the files. */
static bool is_held(const struct selection *found, const char *path)
{
	for (size_t i = 0; i < found->n_left; i++)
		if (!strcmp(found->left[i].path, path))
			return true;
	return false;
}

static int add_change(void *arg, const struct listing_entry *before,
		      const struct listing_entry *after, struct error *err)
{
	struct syncing *s = arg;
	struct local_change c = { .path = (after ? after : before)->path,
				  .old_mode = before ? before->mode : 0,
				  .gone = after == NULL };

	(void)err;
	if (c.gone && is_held(s->found, c.path)) {
		add_path(&s->result->held, &s->result->n_held, str_of(c.path));
		return 0;
	}
	memcpy(c.old_hash, before ? before->hash : NO_HASH, LISTING_HASH);
	s->changes = xrealloc(s->changes, s->n + 1, sizeof(*s->changes));
	s->changes[s->n++] = c;
	s->size += LINE + strlen(c.path);
	return 0;
}

/* A path of the base is looked at in any case: it may be ignored by now. */
static int select_all(struct syncing *s, struct selection *sel,
		      const struct stop *stop, struct error *err)
{
	const char **extra = xcalloc(s->base.n + 1, sizeof(const char *));
	struct select_request q = s->r->select;
	int rc;

	listing_sort(&s->base);
	for (size_t i = 0; i < s->base.n; i++)
		extra[i] = s->base.entries[i].path;
	q.extra = extra;
	q.n_extra = s->base.n;
	q.allowed = (const char *const *)s->included.paths;
	q.n_allowed = s->included.n;
	q.guard_extra = true; /* the agent's .env may hold real keys by now */
	rc = select_files(sel, s->w, &q, stop, err);
	free(extra);
	return rc;
}

static void choose_files(struct syncing *s, const struct selection *sel)
{
	size_t at = 0;

	s->files = xcalloc(s->n + 1, sizeof(*s->files));
	s->gone = xcalloc(s->n + 1, sizeof(const char *));
	for (size_t i = 0; i < s->n; i++) {
		const char *path = s->changes[i].path;

		if (s->changes[i].gone) {
			s->gone[s->n_gone++] = path;
			continue;
		}
		while (at < sel->n && strcmp(sel->files[at].path, path) < 0)
			at++;
		if (at == sel->n)
			break;
		s->files[s->n_files] = sel->files[at];
		s->files[s->n_files].path = (char *)path;
		s->result->bytes += s->files[s->n_files++].size;
	}
}

static int find_changes(struct syncing *s, const struct stop *stop,
			struct error *err)
{
	struct selection sel = { 0 };
	struct pass_request r = { .workspace = s->w };
	struct pass *p = NULL;
	int rc = select_all(s, &sel, stop, err);

	if (rc < 0)
		return -1;
	r.files = sel.files;
	r.n = sel.n;
	rc = pass_open(&p, &r, err);
	if (rc == 0)
		rc = pass_run(p, stop, err);
	if (rc == 0) {
		s->now = *pass_listing(p);
		*pass_listing(p) = (struct listing){ 0 };
		s->found = &sel;
		rc = listing_compare(&s->base, &s->now, add_change, s, err);
	}
	if (rc == 0)
		choose_files(s, &sel);
	if (rc == 0)
		rc = included_add(&s->included, s->w, &sel, stop, err);
	pass_close(p);
	select_release(&sel);
	return rc;
}

/* A file that is gone since it was found to have changed is not mentioned. */
static void write_change(struct listing *read, const struct local_change *c,
			 struct buf *out)
{
	const struct listing_entry *e =
		c->gone ? NULL : listing_find(read, c->path);
	size_t from;

	if (!c->gone && !e)
		return;
	buf_addf(out, "%06o %s ", c->old_mode, c->old_hash);
	if (e)
		buf_addf(out, "%06o %s ", e->mode, e->hash);
	else
		buf_adds(out, NOTHING " ");
	from = out->len;
	buf_adds(out, c->path);
	for (size_t k = from; !out->over && k < out->len; k++)
		if (out->ptr[k] == '\n')
			out->ptr[k] = '\1';
	buf_addc(out, '\n');
}

/* What is gone comes first: a file may have taken its directory's place. */
static void write_trailer(void *arg, struct listing *read, struct buf *out)
{
	const struct syncing *s = arg;

	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < s->n; i++)
			if (s->changes[i].gone == (gone == 1))
				write_change(read, &s->changes[i], out);
}

static int carry_changes(struct syncing *s, const struct stop *stop,
			 struct error *err)
{
	struct odb_commit_info info = { .ref = s->local_ref,
					.parent = s->from,
					.message = "local changes" };
	struct carry c = { .sandbox = s->r->sandbox,
			   .workspace = s->w,
			   .files = s->files,
			   .n = s->n_files,
			   .trailer = write_trailer,
			   .trailer_size = s->size + 1,
			   .arg = s,
			   .commit = &info,
			   .deleted = s->gone,
			   .n_deleted = s->n_gone,
			   .script = HELPER_SYNC };
	char root[LISTING_HASH];

	listing_root(&s->base, root);
	c.args[0] = str_of(root);
	c.args[1] = s->r->force ? STR("1") : STR("");
	carried_release(&s->out);
	return carry_run(&c, &s->out, stop, err);
}

static int64_t read_text(void *arg, char *room, size_t len, struct error *err)
{
	struct str *left = arg;
	size_t n = left->len < len ? left->len : len;

	(void)err;
	if (n)
		memcpy(room, left->ptr, n);
	*left = str_skip(*left, n);
	return (int64_t)n;
}

/* The sandbox has lost what both sides share. */
static int send_base(struct syncing *s, const char *state,
		     const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *path = xasprintf("%s/base", state);
	struct str left;
	struct transfer t = {
		.path = path, .mode = 0600, .read = read_text, .arg = &left
	};
	int rc;

	listing_write(&s->base, &text);
	left = buf_str(&text);
	t.size = (int64_t)left.len;
	rc = buf_check(&text, "the listing", err);
	if (rc == 0)
		rc = sandbox_upload(s->r->sandbox, &t, 1, stop, err);
	if (rc == 0 && t.error != FILE_OK)
		rc = error_set(err, ERR_REMOTE, "%s: %s", path,
			       file_error_name(t.error));
	free(path);
	buf_release(&text);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What the sandbox says it did is only believed of paths that were sent. */
static void read_answer(struct syncing *s)
{
	struct sync_result *r = s->result;
	struct str said = buf_str(&s->out.said);
	struct str line;

	while (str_split(&said, '\n', &line)) {
		if (str_starts(line, "t "))
			add_path(&r->taken, &r->n_taken, str_skip(line, 2));
		else if (str_starts(line, "k "))
			add_path(&r->kept, &r->n_kept, str_skip(line, 2));
	}
	if (r->n_taken)
		qsort(r->taken, r->n_taken, sizeof(*r->taken), by_name);
}

/* What was taken over are files that were sent, and others that are gone. */
static void split_deleted(struct syncing *s)
{
	struct sync_result *r = s->result;
	size_t kept = 0;

	for (size_t i = 0; i < r->n_taken; i++) {
		char *path = r->taken[i];

		if (!listing_find(&s->out.read, path)) {
			add_path(&r->deleted, &r->n_deleted, str_of(path));
			free(path);
			continue;
		}
		if (included_has(&s->included, path))
			add_path(&r->asked, &r->n_asked, str_of(path));
		r->taken[kept++] = path;
	}
	r->n_taken = kept;
}

static bool is_taken(const struct syncing *s, const char *path)
{
	return s->result->n_taken &&
	       bsearch(&path, s->result->taken, s->result->n_taken,
		       sizeof(*s->result->taken), by_name);
}

/* Copies what was taken over from the commit of all changes to another. */
struct taking {
	const struct syncing *s;
	struct odb_commit *to;
};

static int take_one(void *arg, const struct odb_record *r, struct error *err)
{
	const struct taking *t = arg;

	if (!is_taken(t->s, r->path))
		return 0;
	if (!r->new_mode)
		return odb_commit_delete(t->to, str_of(r->path), err);
	return odb_commit_blob(t->to, r->new_mode, str_of(r->path), r->new_oid,
			       err);
}

/* ref gets what was taken over, on top of what it has. */
static int advance(struct syncing *s, const char *ref, const char *parent,
		   char oid[GIT_OID], const struct stop *stop,
		   struct error *err)
{
	struct odb_commit_info info = { .ref = ref,
					.parent = parent,
					.message = "taken over" };
	struct taking t = { .s = s };

	if (odb_commit_begin(&t.to, &s->w->git, &info, stop, err) < 0)
		return -1;
	if (odb_tree_diff(&s->w->git, s->from, s->out.oid,
			  &(struct odb_sink){ take_one, &t }, stop, err) < 0) {
		odb_commit_abort(t.to);
		return -1;
	}
	return odb_commit_end(t.to, oid, err);
}

static void take_listing(struct syncing *s, struct listing *base)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct local_change *c = &s->changes[i];
		const struct listing_entry *e =
			listing_find(&s->out.read, c->path);

		if (!is_taken(s, c->path))
			continue;
		if (e)
			listing_add(base, e->mode, e->hash, str_of(c->path));
		else
			listing_drop(base, c->path);
	}
}

/* On top of what the base is by now: an apply may have moved it meanwhile. */
static int move_base(struct syncing *s, const struct stop *stop,
		     struct error *err)
{
	struct listing base = { 0 };
	char theirs[GIT_OID];
	char oid[GIT_OID];
	struct error none = { 0 };
	int rc = workspace_read_listing(s->w, &base, stop, err);

	if (rc == 0 &&
	    odb_ref_get(&s->w->git, s->w->theirs_ref, theirs, stop, &none) == 0)
		rc = advance(s, s->w->theirs_ref, theirs, theirs, stop, err);
	if (rc == 0)
		rc = advance(s, s->w->base_ref, s->w->base, oid, stop, err);
	if (rc == 0) {
		memcpy(s->w->base, oid, sizeof(oid));
		take_listing(s, &base);
		rc = workspace_write_listing(s->w, &base, oid, err);
	}
	listing_release(&base);
	return rc;
}

static int take_over(struct syncing *s, const struct stop *stop,
		     struct error *err)
{
	int lock;
	int rc;

	read_answer(s);
	lock = workspace_lock_base(s->w, stop, err);
	if (lock < 0)
		return -1;
	rc = move_base(s, stop, err);
	close(lock);
	split_deleted(s);
	return rc;
}

static int exchange(struct syncing *s, const struct stop *stop,
		    struct error *err)
{
	static const char lost[] = "ok nobase ";
	struct error ignored = { 0 };
	int rc = carry_changes(s, stop, err);

	if (rc == 0 && str_starts(str_of(s->out.status), lost)) {
		char *state = xstrdup(s->out.status + sizeof(lost) - 1);

		rc = send_base(s, state, stop, err);
		free(state);
		if (rc == 0)
			rc = carry_changes(s, stop, err);
	}
	if (rc == 0 && !str_starts(str_of(s->out.status), "ok done "))
		rc = carried_failed(&s->out, "the changes", err);
	if (rc == 0)
		rc = take_over(s, stop, err);
	(void)odb_ref_set(&s->w->git, s->local_ref, NULL, stop, &ignored);
	return rc;
}

int workspace_sync(struct workspace *w, const struct sync_request *r,
		   struct sync_result *result, const struct stop *stop,
		   struct error *err)
{
	struct syncing s = {
		.w = w, .r = r, .result = result, .out = { .said = BUF_INIT(1) }
	};
	char *ref = odb_ref_name(w->label, "local");
	int rc = workspace_read_listing(w, &s.base, stop, err);

	if (strlen(ref) < sizeof(s.local_ref))
		memcpy(s.local_ref, ref, strlen(ref) + 1);
	free(ref);
	memcpy(s.from, w->base, sizeof(s.from));
	if (rc == 0 && (!w->base[0] || !s.local_ref[0]))
		rc = error_set(err, ERR_NOT_FOUND,
			       "nothing was sent to this sandbox");
	if (rc == 0)
		rc = included_read(&s.included, w, err);
	if (rc == 0)
		rc = find_changes(&s, stop, err);
	if (rc == 0 && s.n)
		rc = exchange(&s, stop, err);
	carried_release(&s.out);
	included_release(&s.included);
	listing_release(&s.base);
	listing_release(&s.now);
	free(s.changes);
	free(s.files);
	free(s.gone);
	return rc;
}

static void release_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void sync_result_release(struct sync_result *result)
{
	release_names(result->taken, result->n_taken);
	release_names(result->deleted, result->n_deleted);
	release_names(result->kept, result->n_kept);
	release_names(result->held, result->n_held);
	release_names(result->asked, result->n_asked);
	*result = (struct sync_result){ 0 };
}
