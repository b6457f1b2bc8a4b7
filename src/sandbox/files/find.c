/* find.c - lists and searches a sandbox's files: ls, glob and grep. */
/* SPDX-License-Identifier: MIT */

/*
 * For glob and grep the sandbox lists candidates, without those that git
 * ignores (scripts/sandbox/search.sh). The patterns are matched here, so that
 * they mean the same in every sandbox. sandbox/frame.h parses answers as they
 * arrive. Everything has a limit, and the result says if it was reached.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/files/files.h"
#include "sandbox/files/glob_match.h"
#include "sandbox/frame.h"
#include "sandbox/helper.h"

void files_names_release(struct files_names *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct files_names){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;

	return strcmp(*x, *y);
}

enum {
	GLOB_MS = 5000,
	GLOB_MATCHES = 10000,
	/* bytes of names if output arrives while the command runs */
	GLOB_BYTES = 64 << 20,
	/* bytes of names if output comes at the end */
	GLOB_BYTES_TEXT = 4 << 20,
	GREP_MS = 30000,
	GREP_BYTES = 8 << 20,
	TEXT_CHARS = 5000,
	/* characters of a long line shown before its match */
	BEFORE_CHARS = 2000,
	/* characters of a long line shown after its match, at least */
	AFTER_CHARS = 200,
	LINE_BYTES = 24300,    /* maximum length of a line from grep.sh */
	LINE_CUT = 23900,      /* a line of this length may have been cut */
	LIST_BYTES = 16 << 20, /* bytes of a directory's names */
	NAMES_STEP = 256,      /* names allocated at once */
	STEP = 64,
};

/* Appends root/name. */
static void names_add(struct files_names *list, const char *root,
		      struct str name)
{
	const char *slash = str_ends(str_of(root), "/") ? "" : "/";

	if (list->n % NAMES_STEP == 0)
		list->names = xrealloc(list->names, list->n + NAMES_STEP,
				       sizeof(*list->names));
	list->names[list->n++] =
		xasprintf("%s%s%.*s", root, slash, (int)name.len, name.ptr);
}

static void names_sort(struct files_names *list)
{
	if (list->n)
		qsort(list->names, list->n, sizeof(*list->names), by_bytes);
}

int files_ls(struct sandbox *sb, const char *path, struct files_names *list,
	     const struct stop *stop, struct error *err)
{
	struct helper h = { .script = HELPER_LS,
			    .args = { str_of(path) },
			    .n_args = 1,
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(LIST_BYTES) };
	struct str rest;
	struct str name;
	int rc = -1;

	*list = (struct files_names){ 0 };
	if (helper_run(sb, &h, stop, err)) {
		if (!h.out.over)
			goto out;
		/* The listing exceeded LIST_BYTES, so its last name is
		 * incomplete. */
		list->incomplete = true;
		while (h.out.len && h.out.ptr[h.out.len - 1])
			h.out.len--;
	} else if (files_answered(&h, err)) {
		goto out;
	}
	rest = buf_str(&h.out);
	while (str_split(&rest, '\0', &name))
		if (name.len)
			names_add(list, path, name);
	names_sort(list);
	rc = 0;
out:
	buf_release(&h.out);
	return rc;
}

/* The first line of an answer: the number of files that were skipped because
 * git ignores them, and "p" if git is missing; "!" at its end: a part of the
 * tree was not searched. */
struct answer_head {
	char text[40];
	size_t len;
	bool whole;
};

struct find_search {
	struct answer_head head;
	struct glob *glob;
	const char *root;
	struct files_names *list;
	struct path_records records;
	size_t bytes;
	bool full;
};

struct lines {
	struct answer_head head;
	struct buf out;
	int64_t seen;
	int64_t most; /* maximum number of lines; 0: any number */
	bool full;
};

/* Consumes the first line of the answer, which arrives in pieces. Returns the
 * bytes after it. */
static struct str consume_head(struct answer_head *head, struct str bytes)
{
	while (!head->whole && bytes.len) {
		head->whole = bytes.ptr[0] == '\n';
		if (!head->whole && head->len + 1 < sizeof(head->text))
			head->text[head->len++] = bytes.ptr[0];
		bytes = str_skip(bytes, 1);
	}
	return bytes;
}

/* Parses the first line. exact: the sandbox counted only names that match.
 * False: a part of the tree was not searched. */
static bool read_head(const struct answer_head *head, bool exact,
		      struct files_left *left)
{
	const char *rest = head->text;
	int64_t n = helper_number(&rest);
	struct str how = str_trim(str_of(rest));

	*left = (struct files_left){ 0 };
	if (head->whole && n > 0)
		*left = (struct files_left){ .n = n,
					     .at_most = !exact,
					     .no_git = str_starts(how, "p") };
	left->slow = head->whole && str_starts(how, "s");
	return !str_ends(how, "!");
}

static bool on_path(void *arg, struct str path)
{
	struct find_search *s = arg;

	if (!glob_match(s->glob, path))
		return true;
	if (s->list->n >= GLOB_MATCHES) {
		s->full = true;
		return false;
	}
	names_add(s->list, s->root, path);
	return true;
}

static int on_names(void *arg, struct str bytes, struct error *err)
{
	struct find_search *s = arg;

	bytes = consume_head(&s->head, bytes);
	s->bytes += bytes.len;
	if (s->bytes > GLOB_BYTES)
		s->full = true;
	if (path_records_feed(&s->records, bytes, on_path, s) && !s->full)
		return 0;
	return error_set(err, ERR_LIMIT, "enough");
}

static void filter_args(struct helper *h, size_t at,
			const struct glob_filter *f)
{
	h->args[at] = str_of(f->test);
	h->args[at + 1] = buf_str(&f->like);
	h->args[at + 2] = f->prune ? STR("1") : STR("");
}

/* Appends the last two arguments of glob.sh and grep.sh. A pattern that is the
 * path of a file finds it even if git ignores it. */
static void place_args(struct helper *h, const struct sandbox *sb,
		       const struct files_search *what,
		       const struct glob_filter *f)
{
	h->args[h->n_args++] = str_of(sb->workdir ? sb->workdir : "/");
	h->args[h->n_args++] = what->ignored || f->is_path ? STR("1") : STR("");
}

/* Returns an absolute pattern below the root as one that is relative to it,
 * with a "/" in front. Any other one is returned unchanged. */
static struct str relative_pattern(const char *pattern, const char *root)
{
	struct str rest = str_of(pattern);
	struct str above = str_of(root);

	while (str_ends(above, "/"))
		above.len--;
	if (!above.len || rest.len <= above.len ||
	    strncmp(pattern, root, above.len) != 0 ||
	    rest.ptr[above.len] != '/')
		return rest;
	return str_skip(rest, above.len);
}

int files_glob(struct sandbox *sb, const struct files_search *what,
	       struct files_names *list, const struct stop *stop,
	       struct error *err)
{
	bool live = sb->client->provider->flags & SANDBOX_STDIN;
	struct str pattern = relative_pattern(what->pattern, what->root);
	struct find_search s = { .root = what->root, .list = list };
	struct glob_filter filter;
	char limit[24];
	struct helper h = { .script = HELPER_GLOB,
			    .args = { str_of(what->root) },
			    .n_args = 5,
			    .timeout_ms = GLOB_MS,
			    .body = on_names,
			    .arg = &s };
	int rc;

	*list = (struct files_names){ 0 };
	if (glob_new(&s.glob, pattern, 0, err))
		return -1;
	glob_filter(pattern, &filter);
	filter_args(&h, 1, &filter);
	h.args[4] = helper_decimal(live ? 0 : GLOB_BYTES_TEXT, limit);
	place_args(&h, sb, what, &filter);
	rc = helper_run(sb, &h, stop, err);
	if (s.full)
		rc = 0; /* on_path() stopped it: enough names */
	else if (!rc && !h.timed_out)
		rc = files_answered(&h, err);
	path_records_end(&s.records, !h.timed_out && !s.full, on_path, &s);
	list->incomplete = h.timed_out || s.full || s.records.incomplete;
	names_sort(list);
	list->incomplete |= !read_head(&s.head, filter.exact, &list->left);
	if (rc)
		files_names_release(list);
	buf_release(&filter.like);
	glob_free(s.glob);
	return rc;
}

void files_matches_release(struct files_matches *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].path);
		free(list->items[i].text);
	}
	free(list->items);
	*list = (struct files_matches){ 0 };
}

static int by_place(const void *a, const void *b)
{
	const struct files_match *x = a;
	const struct files_match *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Appends text with invalid UTF-8 replaced, like json_quote(). */
static void make_readable(struct str text, struct buf *out)
{
	while (text.len && !out->over) {
		size_t good = str_utf8_prefix(text);

		buf_add(out, text.ptr, good);
		text = str_skip(text, good);
		if (!text.len)
			break;
		buf_adds(out, "\xef\xbf\xbd");
		text = str_skip(text, 1);
	}
	/* The result becomes a C string, so it must not contain NUL. */
	for (size_t i = 0; i < out->len; i++)
		if (!out->ptr[i])
			out->ptr[i] = ' ';
}

/* Returns the shown part of a line, owned: all, its beginning, or the
 * surroundings of its first match if the beginning does not include it. */
static char *cut_line(struct str line, bool from_start, const char *pattern)
{
	struct buf out = BUF_INIT(4 * TEXT_CHARS + 16);
	size_t match = str_search(line, str_of(pattern));
	size_t chars = str_chars((struct str){ line.ptr, match });
	size_t len = str_chars(
		(struct str){ str_skip(line, match).ptr, line.len - match });
	size_t first = 0;
	bool fits = chars + len <= TEXT_CHARS;

	if (len > str_chars(str_of(pattern)) + AFTER_CHARS)
		len = str_chars(str_of(pattern)) + AFTER_CHARS;
	if (match < line.len &&
	    (!from_start || (!fits && chars + len > TEXT_CHARS)))
		first = chars > BEFORE_CHARS ? chars - BEFORE_CHARS : 0;
	line = str_skip(line, str_char_offset(line, first));
	if (first || !from_start)
		buf_adds(&out, "...");
	len = str_char_offset(line, TEXT_CHARS);
	buf_add(&out, line.ptr, len);
	if ((first || !from_start) && len < line.len)
		buf_adds(&out, "...");
	return buf_detach(&out);
}

/* Appends a match, with its line cleaned and cut. */
static void add_match(struct files_matches *list,
		      const struct files_search *what,
		      const struct match_record *m)
{
	const char *slash = str_ends(str_of(what->root), "/") ? "" : "/";
	bool whole = m->text.len < LINE_CUT && !m->later;
	struct buf clean = BUF_INIT(4 * LINE_BYTES);
	struct buf text = BUF_INIT(4 * LINE_BYTES);
	struct str line = m->text;
	struct files_match *item;

	if (list->n % STEP == 0)
		list->items = xrealloc(list->items, list->n + STEP,
				       sizeof(*list->items));
	item = &list->items[list->n++];
	item->path = m->path.len ? xasprintf("%s%s%.*s", what->root, slash,
					     (int)m->path.len, m->path.ptr)
				 : xstrdup(what->root);
	item->line = m->line;
	if (whole && str_ends(line, "\r"))
		line.len--;
	if (what->clean)
		what->clean(what->arg, line, whole, &clean);
	else
		buf_addstr(&clean, line);
	make_readable(buf_str(&clean), &text);
	item->text = cut_line(buf_str(&text), !m->later, what->pattern);
	buf_release(&clean);
	buf_release(&text);
}

static void collect_matches(const struct lines *l, struct glob *glob,
			    const struct files_search *what,
			    struct files_matches *list)
{
	struct str rest = buf_str(&l->out);
	enum match_form form = MATCH_NULL;
	struct match_record m;

	if (rest.len && rest.ptr[0] == 'f')
		form = MATCH_FILE;
	else if (rest.len && rest.ptr[0] == 'c')
		form = MATCH_COLON;
	rest = str_skip(rest, 1);
	while (match_record_next(&rest, form, &m)) {
		if (form != MATCH_FILE && glob && !glob_match(glob, m.path))
			continue;
		if ((int64_t)list->n == what->cap) {
			list->incomplete = true;
			break;
		}
		add_match(list, what, &m);
	}
}

static int on_lines(void *arg, struct str bytes, struct error *err)
{
	struct lines *l = arg;

	bytes = consume_head(&l->head, bytes);
	for (size_t i = 0; i < bytes.len; i++)
		l->seen += bytes.ptr[i] == '\n';
	buf_addstr(&l->out, bytes);
	/* If a file name contains a newline, there are more lines than
	 * matches. */
	if (l->out.len >= GREP_BYTES || (l->most && l->seen >= l->most)) {
		l->full = true;
		return error_set(err, ERR_LIMIT, "enough");
	}
	return 0;
}

/* Returns how many lines to read, 0 for any number. Without an exact filter in
 * the sandbox some lines will not match, so their number says nothing. */
static int64_t line_limit(int64_t cap, bool exact)
{
	return exact && cap < INT32_MAX ? cap + 1 : 0;
}

static int search_files(struct sandbox *sb, struct helper *h,
			const char *pattern, const struct stop *stop,
			struct error *err)
{
	struct buf text = BUF_INIT(strlen(pattern) + 2);
	struct lines *l = h->arg;
	int rc;

	buf_addc(&text, '=');
	buf_adds(&text, pattern);
	h->args[1] = buf_str(&text);
	rc = helper_run(sb, h, stop, err);
	if (l->full)
		rc = 0; /* the output callback stopped it: enough lines */
	else if (!rc && !h->timed_out)
		rc = files_answered(h, err);
	buf_release(&text);
	return rc;
}

int files_grep(struct sandbox *sb, const struct files_search *what,
	       struct files_matches *list, const struct stop *stop,
	       struct error *err)
{
	const char *glob = what->glob;
	struct str names = { 0 };
	bool live = sb->client->provider->flags & SANDBOX_STDIN;
	struct glob_filter filter = { .test = "", .exact = true };
	struct lines l = { .out = BUF_INIT(2 * GREP_BYTES) };
	struct glob *g = NULL;
	char numbers[2][24];
	struct helper h = { .script = HELPER_GREP,
			    .args = { str_of(what->root) },
			    .n_args = 7,
			    .timeout_ms = GREP_MS,
			    .body = on_lines,
			    .arg = &l };
	int rc;

	*list = (struct files_matches){ 0 };
	if (glob)
		names = relative_pattern(glob, what->root);
	if (glob && glob_new(&g, names, GLOB_HIDDEN, err))
		return -1;
	if (glob)
		glob_filter(names, &filter);
	filter_args(&h, 2, &filter);
	l.most = line_limit(what->cap, filter.exact);
	h.args[5] = helper_decimal(live ? 0 : l.most, numbers[0]);
	h.args[6] = helper_decimal(live ? 0 : GREP_BYTES, numbers[1]);
	place_args(&h, sb, what, &filter);
	rc = search_files(sb, &h, what->pattern, stop, err);
	if (!rc) {
		collect_matches(&l, g, what, list);
		list->incomplete |=
			!read_head(&l.head, filter.exact, &list->left);
		list->incomplete |= h.timed_out || l.full;
		if (list->n)
			qsort(list->items, list->n, sizeof(*list->items),
			      by_place);
	}
	buf_release(&filter.like);
	buf_release(&l.out);
	glob_free(g);
	return rc;
}
