/* tree_changes.c - which files a command changed, asked in its own request. */
/* SPDX-License-Identifier: MIT */
/*
 * The first functions write a list of changed files as text. Then the request:
 * begin reading at tree_changes_begin().
 */
#include "sandbox/tree_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/quote.h"

enum {
	MOST_NAMES = 5,
	MOST_CHARS = 80, /* characters of a name */
};

/* Appends a name without control characters, and its end if it is long. */
static void add_name(struct changed_files *l, struct str path)
{
	struct buf name = BUF_INIT(1 << 16);
	struct str shown;
	size_t chars = 0;

	sanitize_line(path, &name);
	shown = buf_str(&name);
	for (size_t i = 0; i < shown.len; i++)
		chars += ((unsigned char)shown.ptr[i] & 0xC0) != 0x80;
	if (chars > MOST_CHARS) {
		buf_adds(l->out, "...");
		shown = str_skip(shown,
				 str_char_offset(shown, chars - MOST_CHARS));
	}
	buf_addstr(l->out, shown);
	buf_release(&name);
}

void changed_files_add(struct changed_files *l, struct str path)
{
	l->n++;
	if (l->shown == MOST_NAMES)
		return;
	buf_adds(l->out, l->shown++ ? ", " : "");
	add_name(l, path);
}

void changed_files_end(struct changed_files *l)
{
	if (l->n > l->shown)
		buf_addf(l->out, " and %zu more", l->n - l->shown);
	if (l->counted)
		buf_addf(l->out, " (+%zu \xE2\x88\x92%zu)", l->added,
			 l->removed);
}

enum {
	COMMAND_MAX = 64 << 10, /* bytes of a command that is watched */
	SCRIPT_MAX = 512 << 10,
	LISTED_MAX = 20000,   /* files of the tree */
	BRANCH_MAX = 200,     /* bytes of a branch's name */
	CLAIMED_MAX = 100000, /* changed files that a report may claim */
};

/* of tree_changes.sh */
#define PUSH_MARK "push "
#define BEFORE_MARK "before "
#define LISTENS_MARK "listens "
#define USER_MARK "user "

static const unsigned char changes_sh[] = {
#include "scripts/sandbox/tree_changes.sh.inc"
};

static int pass_output(struct tree_changes *c, enum exec_stream stream,
		       struct buf *reply, struct error *err)
{
	int rc = 0;

	if (c->text.len)
		rc = c->inner.output(c->inner.arg, stream, buf_str(&c->text),
				     reply, err);
	buf_clear(&c->text);
	return rc;
}

/* exec_request.output: removes the aside. A command can find the nonce in its
 * parent's arguments and print an aside too: that only forges names, and a
 * question about a push that git push would ask as well. */
static int filter_output(void *arg, enum exec_stream stream, struct str chunk,
			 struct buf *reply, struct error *err)
{
	struct tree_changes *c = arg;

	if (stream != EXEC_STDOUT)
		return c->inner.output(c->inner.arg, stream, chunk, reply, err);
	aside_feed(&c->aside, chunk, &c->text);
	return pass_output(c, stream, reply, err);
}

static void add_script(const struct tree_changes *c, const char *dir,
		       struct buf *out)
{
	const struct sandbox *sb = c->sandbox;

	buf_addf(out, "d_most=%d d_nonce=%s d_ports=%s d_shared=%s\n",
		 LISTED_MAX + 1, c->aside.nonce,
		 !c->ports                       ? ""
		 : listeners_are_new(c->sandbox) ? "first"
						 : "yes",
		 sb->client->provider->flags & SANDBOX_SHARED ? "yes" : "");
	quote_assign(out, "d_dir", str_of(dir));
	quote_assign(out, "d_command", c->inner.command);
	quote_script(out, SCRIPT(changes_sh));
}

void tree_changes_begin(struct tree_changes *c, struct sandbox *sb, bool ports,
			struct exec_request *req)
{
	size_t most = sb->client->provider->max_command;

	*c = (struct tree_changes){ .inner = *req,
				    .sandbox = sb,
				    .ports = ports,
				    .command = BUF_INIT(SCRIPT_MAX),
				    .text = BUF_INIT(SIZE_MAX / 2) };
	if ((!sb->names_changes && !ports) || !req->output ||
	    req->command.len > COMMAND_MAX)
		return;
	aside_init(&c->aside);
	add_script(c, sb->names_changes ? sandbox_tree_dir(sb) : "",
		   &c->command);
	c->asks = !c->command.over && (!most || c->command.len <= most);
	if (!c->asks)
		return;
	req->command = buf_str(&c->command);
	req->output = filter_output;
	req->arg = c;
}

/* Appends the branch's name, unless it has other characters than those that
 * names of branches usually have. */
static void read_push(struct str name, struct buf *push)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || (c && strchr("._-/", c))))
			return;
	}
	if (name.len && name.len <= BRANCH_MAX && name.ptr[0] != '-')
		buf_addstr(push, name);
}

/* Takes the line of the report that begins with mark, if it is the next. */
static struct str take_line(struct str *report, const char *mark)
{
	struct str line = { 0 };

	if (str_starts(*report, mark) && str_split(report, '\n', &line))
		return str_skip(line, strlen(mark));
	return line;
}

/* Reads the lines about ports at the report's start. */
static void read_ports(struct tree_changes *c, struct str *report,
		       struct listen_note *listens)
{
	struct str user = take_line(report, USER_MARK);
	struct str before = take_line(report, BEFORE_MARK);
	struct str now = take_line(report, LISTENS_MARK);
	char *own = user.ptr ? xstrndup(user.ptr, user.len) : NULL;
	struct listen_note none;

	if (listeners_are_new(c->sandbox))
		listeners_read(c->sandbox, before, true, own, &none);
	listeners_read(c->sandbox, now, false, own, listens);
	free(own);
}

/* Parses "COUNT\nNAME\nNAME...", perhaps with "push BRANCH\n" before it, which
 * the sandbox wrote. */
static void read_report(struct str report, struct buf *out, struct buf *push)
{
	struct changed_files l = { .out = out };
	struct str line;
	int64_t n;

	if (str_starts(report, PUSH_MARK) && str_split(&report, '\n', &line) &&
	    push)
		read_push(str_skip(line, sizeof(PUSH_MARK) - 1), push);
	if (!str_split(&report, '\n', &line) ||
	    !str_to_int(str_trim(line), &n) || n < 1 || n > CLAIMED_MAX)
		return;
	while ((int64_t)l.n < n && str_split(&report, '\n', &line))
		if (line.len)
			changed_files_add(&l, line);
	if (l.n)
		l.n = (size_t)n;
	changed_files_end(&l);
}

int tree_changes_end(struct tree_changes *c, int rc, struct buf *out,
		     struct buf *push, struct listen_note *listens,
		     struct error *err)
{
	struct str report;

	if (c->asks) {
		aside_end(&c->aside, &c->text);
		if (rc == 0)
			rc = pass_output(c, EXEC_STDOUT, NULL, err);
		report = buf_str(&c->aside.text);
		if (c->ports && (c->aside.found || rc == 0))
			read_ports(c, &report, listens);
		if (c->aside.found)
			read_report(report, out, push);
	}
	aside_release(&c->aside);
	buf_release(&c->command);
	buf_release(&c->text);
	return rc;
}
