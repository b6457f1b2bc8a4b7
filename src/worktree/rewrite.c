/* rewrite.c - copies the user's last commits without files that are never
 * sent. */
/* SPDX-License-Identifier: MIT */
/*
 * The user's commits are not sent unchanged: their trees and messages may
 * contain secrets. rewrite_read() reads and filters them. Here git fast-import
 * makes new commits of the filtered contents, in a separate store that uses the
 * user's objects as alternates. They are packed together with the names of
 * files that are in the last commit but not in the tree.
 */
#include "worktree/rewrite.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/git.h"
#include "worktree/odb.h"
#include "worktree/rewrite_read.h"
#include "worktree/treefile.h"
#include "worktree/user_repo.h"

enum {
	SHALLOW_MAX = 64 << 20,
	/* bytes of names that are missing in the tree */
	ABSENT_MAX = 256 << 20,
	PACK_MS = 24 * 3600000,
	SHA1_DIGITS = 40,
	IMPORT_MS = 3600000,
	COMMAND_MAX = 512 << 20, /* bytes of the commands for one commit */
	MARKS_MAX = 64 << 20,
	NAMES_MAX = 64 << 20,
	DATE_DIGITS = 12,
};

#define BRANCH "refs/heads/rewritten"
#define NO_MESSAGE "(The message is not sent: it holds a private key.)\n"

/* Copies the list of commits where a shallow clone ends, so that git does not
 * ask for their parents. The file is rewritten and contains only valid ids. */
static int copy_shallow(struct rewrite *k, struct error *err)
{
	struct buf text = BUF_INIT(SHALLOW_MAX);
	struct buf ids = BUF_INIT(SHALLOW_MAX);
	char *file = path_join(k->dir, "shallow");
	int rc = user_repo_read(k->user.common, "shallow", &text, err);
	struct str rest = buf_str(&text);
	struct str line;

	while (rc == 0 && str_split(&rest, '\n', &line)) {
		size_t n = 0;

		while (n < line.len && strchr("0123456789abcdef", line.ptr[n]))
			n++;
		if (n == SHA1_DIGITS && n == line.len)
			buf_addf(&ids, "%.*s\n", (int)n, line.ptr);
	}
	k->out->is_shallow = ids.len != 0;
	if (rc == 0 && ids.len)
		rc = path_write(file, buf_str(&ids), 0600, err);
	buf_release(&text);
	buf_release(&ids);
	free(file);
	return rc < 0 ? -1 : 0;
}

/* Creates a separate repository, with the user's objects as alternates. */
static int open_store(struct rewrite *k, struct error *err)
{
	struct error ignored = { 0 };

	k->dir = xasprintf("%s/rewrite-%s", k->w->directory, k->w->label);
	(void)path_remove_tree(k->dir, &ignored); /* left by a killed process */
	k->git = (struct git){ .program = k->w->program, .dir = k->dir };
	if (git_init(&k->git, k->stop, err) < 0)
		return -1;
	k->objects = user_repo_objects(&k->user, err);
	k->git.objects = k->objects;
	return k->objects ? copy_shallow(k, err) : -1;
}

static int open_globs(struct rewrite *k, struct error *err)
{
	k->globs = xcalloc(k->r->n_include + 1, sizeof(void *));
	for (size_t i = 0; i < k->r->n_include; i++)
		if (glob_new(&k->globs[i], str_of(k->r->include[i]),
			     GLOB_HIDDEN, err) < 0)
			return error_wrap(err, "--include %s",
					  k->r->include[i]);
	return 0;
}

/* Opens the user's repository and the separate one. Returns 1 if there are no
 * commits. */
static int open_rewrite(struct rewrite *k, struct error *err)
{
	if (user_repo_open(&k->user, k->w->root, &k->w->git, k->stop, err) < 0)
		return -1;
	if (!k->user.git_dir || !k->user.head[0])
		return 1;
	if (strlen(k->user.head) != SHA1_DIGITS)
		return error_set(err, ERR_USAGE,
				 "the repository's object format is not SHA-1");
	if (open_globs(k, err) < 0)
		return -1;
	return open_store(k, err);
}

static void close_rewrite(struct rewrite *k)
{
	struct error ignored = { 0 };

	if (k->dir)
		(void)path_remove_tree(k->dir, &ignored);
	for (size_t i = 0; i < k->n && k->commits; i++)
		free(k->commits[i].text);
	for (size_t i = 0; k->globs && i < k->r->n_include; i++)
		glob_free(k->globs[i]);
	free(k->globs);
	free(k->commits);
	free(k->parents);
	free(k->order);
	free(k->changes);
	free(k->blobs);
	buf_release(&k->paths);
	bare_repo_release(&k->bare);
	user_repo_release(&k->user);
	free(k->objects);
	free(k->dir);
	free(k);
}

/* True for "SECONDS ZONE", as fast-import expects it. */
static bool is_date(struct str s)
{
	size_t n = 0;

	while (n < s.len && isdigit((unsigned char)s.ptr[n]))
		n++;
	if (!n || n > DATE_DIGITS || s.len != n + 6 || s.ptr[n] != ' ' ||
	    (s.ptr[n + 1] != '+' && s.ptr[n + 1] != '-'))
		return false;
	for (n += 2; n < s.len; n++)
		if (!isdigit((unsigned char)s.ptr[n]))
			return false;
	return true;
}

/* True for "NAME <MAIL> SECONDS ZONE", or without the name and its space. */
static bool is_ident(struct str s)
{
	size_t open = str_find(s, '<');
	size_t close = str_find(s, '>');
	struct str mail;

	if (open >= close || close == s.len ||
	    (open && s.ptr[open - 1] != ' ') || memchr(s.ptr, 0, s.len))
		return false;
	mail = (struct str){ s.ptr + open + 1, close - open - 1 };
	return str_find(mail, '<') == mail.len &&
	       str_starts(str_skip(s, close + 1), " ") &&
	       is_date(str_skip(s, close + 2));
}

/* Makes a valid identity from a malformed one, which other tools may write. */
static void repair_ident(struct str s, struct buf *out)
{
	size_t open = str_find(s, '<');
	struct str name = str_trim((struct str){ s.ptr, open });
	struct str rest = str_skip(s, open);
	size_t close = rest.len;
	struct str date;

	while (close && rest.ptr[close - 1] != '>')
		close--;
	date = str_trim(str_skip(rest, close));
	rest.len = close;
	for (size_t i = 0; i < name.len; i++)
		if (!strchr("<>", name.ptr[i]))
			buf_addc(out, name.ptr[i]);
	buf_adds(out, name.len ? " <" : "<");
	for (size_t i = 0; i < rest.len; i++)
		if (!strchr("<>", rest.ptr[i]))
			buf_addc(out, rest.ptr[i]);
	buf_adds(out, "> ");
	if (is_date(date))
		buf_addstr(out, date);
	else
		buf_adds(out, "0 +0000");
}

/* State of the import; collects the commands for one commit. */
struct import_run {
	struct rewrite *k;
	struct git_process *import;
	struct buf commands;
};

/* Appends text, masked. If masking changed it, notes that the commit is
 * altered. */
static void add_masked(struct import_run *m, struct old_commit *c,
		       struct str text, struct buf *out)
{
	mask_text(mask_values(m->k->r->mask), text, out);
	c->altered |= !str_eq(buf_str(out), text);
}

/* Adds an identity, masked, and repaired if git would refuse it. */
static void add_ident(struct import_run *m, struct old_commit *c,
		      const char *key, struct str ident)
{
	struct buf masked = BUF_INIT(COMMAND_MAX);
	struct str clean;

	add_masked(m, c, ident, &masked);
	clean = buf_str(&masked);
	buf_addf(&m->commands, "%s ", key);
	if (is_ident(clean)) {
		buf_addstr(&m->commands, clean);
	} else {
		c->altered = true;
		repair_ident(clean, &m->commands);
	}
	buf_addc(&m->commands, '\n');
	buf_release(&masked);
}

/* Adds the message, masked. One with a private key is replaced. */
static void add_message(struct import_run *m, struct old_commit *c,
			struct str message)
{
	struct buf masked = BUF_INIT(COMMAND_MAX);
	struct str said;

	/* git does not show anything after a NUL. */
	message.len = str_find(message, '\0');
	add_masked(m, c, message, &masked);
	said = buf_str(&masked);
	if (select_secret("x", 0, said)) {
		said = STR(NO_MESSAGE);
		c->altered = true;
	}
	buf_addf(&m->commands, "data %zu\n", said.len);
	buf_addstr(&m->commands, said);
	buf_addc(&m->commands, '\n');
	buf_release(&masked);
}

/* Adds author, committer, encoding and message. All other headers, such as
 * signatures, apply only to the original commit and are dropped. */
static void add_words(struct import_run *m, struct old_commit *c)
{
	struct str rest = { c->text, c->text_len };
	struct str line = { NULL, 0 };
	struct str author = { NULL, 0 };
	struct str committer = { NULL, 0 };
	struct str encoding = { NULL, 0 };

	while (str_split(&rest, '\n', &line) && line.len) {
		if (str_starts(line, "author "))
			author = str_skip(line, strlen("author "));
		else if (str_starts(line, "committer "))
			committer = str_skip(line, strlen("committer "));
		else if (str_starts(line, "encoding "))
			encoding = str_skip(line, strlen("encoding "));
	}
	add_ident(m, c, "author", author);
	add_ident(m, c, "committer", committer);
	if (encoding.len) {
		buf_adds(&m->commands, "encoding ");
		buf_addstr(&m->commands, encoding);
		buf_addc(&m->commands, '\n');
	}
	add_message(m, c, rest);
}

static void add_parents(struct import_run *m, const struct old_commit *c)
{
	const struct rewrite *k = m->k;
	const char *word = "from";

	for (size_t i = 0; i < c->n_parents; i++) {
		size_t p = k->parents[c->parents + i];

		if (k->commits[p].absent)
			continue;
		buf_addf(&m->commands, "%s :%zu\n", word, p + 1);
		word = "merge";
	}
}

static bool is_sent(const struct rewrite *k, const struct tree_change *t)
{
	const struct old_blob *b = t->mode ? &k->blobs[t->blob] : NULL;

	return b && !b->is_missing && (t->asked || !b->is_secret);
}

/* Adds the changes of a commit, deletions first: a file may make room for a
 * directory of its name. */
static void add_changes(struct import_run *m, const struct old_commit *c)
{
	const struct rewrite *k = m->k;

	for (int sent = 0; sent < 2; sent++)
		for (size_t i = 0; i < c->n_changes; i++) {
			const struct tree_change *t =
				&k->changes[c->changes + i];

			if (is_sent(k, t) != (sent == 1))
				continue;
			if (sent)
				buf_addf(&m->commands, "M %06o %s ", t->mode,
					 k->blobs[t->blob].oid);
			else
				buf_adds(&m->commands, "D ");
			odb_quote_path(&m->commands,
				       str_of(k->paths.ptr + t->path));
			buf_addc(&m->commands, '\n');
		}
}

/* Sends commit i as commands for fast-import. */
static int import_commit(struct import_run *m, size_t i, struct error *err)
{
	struct old_commit *c = &m->k->commits[i];
	int rc;

	/* otherwise fast-import would make it a child of the previous commit */
	if (!rewrite_parent(m->k, c))
		buf_adds(&m->commands, "reset " BRANCH "\n\n");
	buf_addf(&m->commands, "commit " BRANCH "\nmark :%zu\n", i + 1);
	add_words(m, c);
	add_parents(m, c);
	add_changes(m, c);
	buf_addc(&m->commands, '\n');
	rc = buf_check(&m->commands, "a commit", err);
	if (rc == 0)
		rc = git_write(m->import, buf_str(&m->commands), err);
	buf_clear(&m->commands);
	return rc;
}

/* Reads lines ":MARK OID". The mark is the commit's index plus one. */
static int read_marks(struct rewrite *k, const char *file, struct error *err)
{
	struct buf text = BUF_INIT(MARKS_MAX);
	int rc = path_read(file, &text, err);
	struct str rest = buf_str(&text);
	struct str line;
	struct str mark;
	int64_t i;

	while (rc == 0 && str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &mark) &&
		    str_to_int(str_skip(mark, 1), &i) && i > 0 &&
		    (size_t)i <= k->n && line.len < GIT_OID)
			snprintf(k->commits[i - 1].fresh, GIT_OID, "%.*s",
				 (int)line.len, line.ptr);
	buf_release(&text);
	if (rc == 0 && !k->commits[0].fresh[0])
		rc = error_set(err, ERR_SYSTEM,
			       "git fast-import did not return a commit id");
	return rc;
}

struct compare_run {
	struct rewrite *k;
	size_t next; /* index of the next commit */
};

static int compare_tree(void *arg, const struct odb_object *o,
			struct error *err)
{
	struct compare_run *c = arg;
	struct old_commit *at;

	(void)err;
	while (!c->k->commits[c->next].fresh[0])
		c->next++;
	at = &c->k->commits[c->next++];
	at->altered |= strcmp(at->tree, o->oid) != 0;
	c->k->out->commits++;
	c->k->out->changed += at->altered;
	return 0;
}

/* Counts the commits that differ from the original: in identity or message, or
 * in the tree, from which something was removed. */
static int count_changed(struct rewrite *k, struct error *err)
{
	struct compare_run c = { .k = k };
	struct odb_reader trees = { .begin = compare_tree, .arg = &c };
	struct buf names = BUF_INIT(NAMES_MAX);
	int rc;

	for (size_t i = 0; i < k->n; i++)
		if (k->commits[i].fresh[0])
			buf_addf(&names, "%s^{tree}\n", k->commits[i].fresh);
	rc = buf_check(&names, "the list of commits", err);
	if (rc == 0)
		rc = odb_read(&k->git, buf_str(&names), &trees, k->stop, err);
	buf_release(&names);
	return rc;
}

/* Sends all commits, parents first, to one fast-import. */
static int run_import(struct rewrite *k, const char *marks, struct error *err)
{
	char *export = xasprintf("--export-marks=%s", marks);
	const char *argv[] = { "fast-import", "--quiet",
			       "--force",     "--done",
			       "--depth=0",   "--date-format=raw-permissive",
			       export,        NULL };
	struct git_request r = { .argv = argv, .timeout_ms = IMPORT_MS };
	struct import_run m = { .k = k, .commands = BUF_INIT(COMMAND_MAX) };
	int rc = git_start(&m.import, &k->git, &r, k->stop, err);

	for (size_t i = 0; rc == 0 && i < k->n; i++)
		if (!k->commits[k->order[i]].absent)
			rc = import_commit(&m, k->order[i], err);
	if (rc == 0)
		rc = git_write(m.import, STR("done\n"), err);
	if (rc == 0)
		rc = git_finish(m.import, err);
	else
		git_abort(m.import);
	buf_release(&m.commands);
	free(export);
	return rc;
}

/* Makes the new commits; sets their fresh ids and out->head. */
static int import_commits(struct rewrite *k, struct error *err)
{
	char *marks = path_join(k->dir, "marks");
	int rc = run_import(k, marks, err);

	if (rc == 0)
		rc = read_marks(k, marks, err);
	if (rc == 0)
		rc = count_changed(k, err);
	if (rc == 0)
		memcpy(k->out->head, k->commits[0].fresh, GIT_OID);
	free(marks);
	return rc;
}

/* names that are in the last commit but not in the tree */
struct absent_names {
	struct rewrite *k;
	struct tree_dir dir;
	/* names left out by a sparse checkout, NUL-terminated, sorted */
	struct buf sparse;
	size_t at; /* offset in sparse */
	struct buf text;
};

static int note_sparse(void *arg, const char *record, struct error *err)
{
	struct absent_names *a = arg;

	if (record[0] == 'S' && record[1] == ' ')
		buf_add(&a->sparse, record + 2, strlen(record + 2) + 1);
	return buf_check(&a->sparse,
			 "the list of files that a sparse checkout leaves out",
			 err);
}

/* True if a sparse checkout leaves path out. Paths must come in order. */
static bool is_sparse(struct absent_names *a, const char *path)
{
	while (a->at < a->sparse.len) {
		const char *one = a->sparse.ptr + a->at;
		int order = strcmp(one, path);

		if (order >= 0)
			return order == 0;
		a->at += strlen(one) + 1;
	}
	return false;
}

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct selected *)item)->path);
}

/* Called for each path of the last commit: adds it if the tree lacks it. */
static int note_absent(void *arg, const char *path, struct error *err)
{
	struct absent_names *a = arg;
	const struct selection *s = a->k->r->files;
	struct stat st;
	const char *name;
	int dir;

	if (s->n &&
	    bsearch(path, s->files, s->n, sizeof(*s->files), compare_path))
		return 0;
	dir = tree_dir_parent(&a->dir, path, &name);
	if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(st.st_mode))
		return 0; /* the file exists, but is not sent */
	if (is_sparse(a, path))
		return 0;
	for (; *path; path++)
		buf_addc(&a->text, *path == '\n' ? '\1' : *path);
	buf_addc(&a->text, '\n');
	return buf_check(&a->text, "the names of deleted files", err);
}

/* Lists files that a sparse checkout leaves out: they do not count as
 * absent. */
static int list_sparse(struct absent_names *a, struct error *err)
{
	static const char *const argv[] = { "ls-files", "-z", "-t", NULL };
	struct rewrite *k = a->k;
	struct nul_records each = { .each = note_sparse, .arg = a };
	struct git g = k->git;
	char *index = path_join(k->dir, "index-of-user");
	int rc = 0;

	g.index = index;
	if (k->r->files->sparse)
		rc = user_repo_copy_index(&k->user, &k->git, index, err);
	if (rc == 0 && k->r->files->sparse)
		rc = git_run_records(&g, argv, &each, k->stop, err);
	free(index);
	return rc;
}

static int list_absent(struct rewrite *k, struct buf *text, struct error *err)
{
	const char *argv[] = { "ls-tree",     "-r",         "-z",
			       "--name-only", k->out->head, NULL };
	struct absent_names a = { .k = k,
				  .sparse = BUF_INIT(ABSENT_MAX),
				  .text = BUF_INIT(ABSENT_MAX) };
	struct nul_records each = { .each = note_absent, .arg = &a };
	int rc = tree_dir_open(&a.dir, k->w->root, err);

	if (rc == 0)
		rc = list_sparse(&a, err);
	if (rc == 0)
		rc = git_run_records(&k->git, argv, &each, k->stop, err);
	tree_dir_close(&a.dir);
	buf_release(&a.sparse);
	*text = a.text;
	return rc;
}

static int append_bytes(void *arg, struct str bytes, struct error *err)
{
	struct rewritten *out = arg;

	if (io_pwrite_all(out->fd, bytes.ptr, bytes.len, out->size) < 0)
		return error_errno(err, "saving the commits");
	out->size += (int64_t)bytes.len;
	return 0;
}

/* Writes the pack. Bitmaps are not used: those of the user's packs are
 * untrusted. */
static int write_pack(struct rewrite *k, struct error *err)
{
	const char *argv[] = { "pack-objects",
			       "--revs",
			       "--stdout",
			       "-q",
			       "--delta-base-offset",
			       "--compression=6",
			       "--no-use-bitmap-index",
			       NULL };
	char *input = xasprintf("%s\n", k->out->head);
	struct git_request r = { .argv = argv,
				 .input = str_of(input),
				 .sink = append_bytes,
				 .sink_arg = k->out,
				 .timeout_ms = PACK_MS };
	int rc = git_run(&k->git, &r, k->stop, err);

	free(input);
	return rc;
}

static int write_names_and_pack(struct rewrite *k, struct error *err)
{
	struct buf names;
	int rc = list_absent(k, &names, err);

	if (rc == 0) {
		k->out->fd = open(k->w->directory,
				  O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		if (k->out->fd < 0)
			rc = error_errno(err, "a temporary file in %s",
					 k->w->directory);
	}
	if (rc == 0)
		rc = append_bytes(k->out, buf_str(&names), err);
	k->out->names_size = k->out->size;
	if (rc == 0)
		rc = write_pack(k, err);
	buf_release(&names);
	return rc;
}

int rewrite_commits(struct rewritten *out, const struct workspace *w,
		    const struct rewrite_request *r, const struct stop *stop,
		    struct error *err)
{
	struct rewrite *k = xcalloc(1, sizeof(*k));
	int rc;

	*out = (struct rewritten){ .fd = -1 };
	*k = (struct rewrite){ .w = w,
			       .most = r->most,
			       .include = r->include,
			       .n_include = r->n_include,
			       .stop = stop,
			       .r = r,
			       .out = out };
	rc = open_rewrite(k, err);
	if (rc == 0)
		rc = rewrite_read(k, err);
	out->missing = k->missing;
	if (rc == 0)
		rc = import_commits(k, err);
	if (rc == 0)
		rc = write_names_and_pack(k, err);
	if (rc < 0)
		rewritten_release(out);
	close_rewrite(k);
	return rc < 0 ? -1 : 0;
}

void rewritten_release(struct rewritten *out)
{
	if (out->fd > 0)
		close(out->fd);
	*out = (struct rewritten){ .fd = -1 };
}
