/* rewrite_import.c - makes the new commits, through git fast-import. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/odb.h"
#include "worktree/rewrite_impl.h"

enum {
	IMPORT_MS = 3600000,
	COMMAND_MAX = 512 << 20, /* bytes of one commit's commands */
	MARKS_MAX = 64 << 20,
	NAMES_MAX = 64 << 20,
	DIGITS_MOST = 12, /* of a date */
};

#define BRANCH "refs/heads/rewritten"
#define NO_MESSAGE "(The message is not sent: it holds a private key.)\n"

/* "SECONDS ZONE", as fast-import takes it. */
static bool is_date(struct str s)
{
	size_t n = 0;

	while (n < s.len && isdigit((unsigned char)s.ptr[n]))
		n++;
	if (!n || n > DIGITS_MOST || s.len != n + 6 || s.ptr[n] != ' ' ||
	    (s.ptr[n + 1] != '+' && s.ptr[n + 1] != '-'))
		return false;
	for (n += 2; n < s.len; n++)
		if (!isdigit((unsigned char)s.ptr[n]))
			return false;
	return true;
}

/* "NAME <MAIL> SECONDS ZONE"; without a name, without the space too. */
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

/* What other tools have written where a name belongs. */
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

/* Commands for one commit are gathered here. */
struct import_run {
	struct rewrite *k;
	struct git_process *import;
	struct buf commands;
};

static void add_ident(struct import_run *m, struct old_commit *c,
		      const char *key, struct str ident)
{
	struct buf masked = BUF_INIT(COMMAND_MAX);
	struct str clean;

	mask_text(m->k->r->mask, ident, &masked);
	clean = buf_str(&masked);
	c->altered |= !str_eq(clean, ident);
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

static void add_message(struct import_run *m, struct old_commit *c,
			struct str message)
{
	struct buf masked = BUF_INIT(COMMAND_MAX);
	struct str said;

	/* What follows a NUL git does not show. */
	message.len = str_find(message, '\0');
	mask_text(m->k->r->mask, message, &masked);
	said = buf_str(&masked);
	if (select_secret("x", 0, said))
		said = STR(NO_MESSAGE);
	c->altered |= !str_eq(said, message);
	buf_addf(&m->commands, "data %zu\n", said.len);
	buf_addstr(&m->commands, said);
	buf_addc(&m->commands, '\n');
	buf_release(&masked);
}

/* Author, committer, encoding and message; every other header, signatures
 * among them, is about the commit as it was. */
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

/* First what goes: a file may make room for a directory of its name. */
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

static int import_commit(struct import_run *m, size_t i, struct error *err)
{
	struct old_commit *c = &m->k->commits[i];
	int rc;

	if (!rewrite_parent(m->k, c)) /* else it would follow the one before */
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

/* ":MARK OID" in each line: the mark is a commit's place and one. */
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
			       "git fast-import names no commit");
	return rc;
}

struct compare_run {
	struct rewrite *k;
	size_t next; /* commit */
};

static int on_tree(void *arg, const struct odb_object *o, struct error *err)
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

/* A commit that lost something has another tree than it had. */
static int count_changed(struct rewrite *k, struct error *err)
{
	struct compare_run c = { .k = k };
	struct odb_reader trees = { .begin = on_tree, .arg = &c };
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

int rewrite_import(struct rewrite *k, struct error *err)
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
