/* files_find.c - glob and grep: the sandbox lists, the patterns match here. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/files/files_impl.h"
#include "sandbox/files/glob_match.h"
#include "sandbox/records.h"

enum {
	GLOB_MS = 5000,
	GLOB_MATCHES = 10000,
	GLOB_BYTES = 64 << 20,     /* of names, where they stream */
	GLOB_BYTES_TEXT = 4 << 20, /* where they come at the end */
	GREP_MS = 30000,
	GREP_BYTES = 8 << 20,
	TEXT_CHARS = 5000,
	STEP = 64,
};

struct find_search {
	struct glob *glob;
	const char *root;
	struct files_names *list;
	struct path_records records;
	size_t bytes;
	bool full;
};

static bool on_path(void *arg, struct str path)
{
	struct find_search *s = arg;

	if (!glob_match(s->glob, path))
		return true;
	if (s->list->n >= GLOB_MATCHES) {
		s->full = true;
		return false;
	}
	files_names_add(s->list, s->root, path);
	return true;
}

static int on_names(void *arg, struct str bytes, struct error *err)
{
	struct find_search *s = arg;

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

int files_glob(struct sandbox *sb, const char *root, const char *pattern,
	       struct files_names *list, const struct stop *stop,
	       struct error *err)
{
	bool live = sb->host->provider->flags & SANDBOX_STDIN;
	struct find_search s = { .root = root, .list = list };
	struct glob_filter filter;
	char limit[24];
	struct helper h = { .script = HELPER_GLOB,
			    .args = { str_of(root) },
			    .n_args = 5,
			    .timeout_ms = GLOB_MS,
			    .body = on_names,
			    .arg = &s };
	int rc;

	*list = (struct files_names){ 0 };
	if (glob_new(&s.glob, str_of(pattern), 0, err))
		return -1;
	glob_filter(str_of(pattern), &filter);
	filter_args(&h, 1, &filter);
	h.args[4] = helper_decimal(live ? 0 : GLOB_BYTES_TEXT, limit);
	rc = helper_run(sb, &h, stop, err);
	if (s.full)
		rc = 0; /* we ended it ourselves */
	else if (!rc && !h.timed_out)
		rc = files_answered(&h, err);
	path_records_end(&s.records, !h.timed_out && !s.full, on_path, &s);
	list->incomplete = h.timed_out || s.full || s.records.incomplete;
	files_names_sort(list);
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

/* Makes what is not UTF-8 so, as json_quote() would. */
static char *readable(struct str text)
{
	struct buf out = BUF_INIT(4 * TEXT_CHARS + 4);

	if (text.len && text.ptr[text.len - 1] == '\r')
		text.len--;
	while (text.len && !out.over) {
		size_t good = str_utf8_prefix(text);

		buf_add(&out, text.ptr, good);
		text = str_skip(text, good);
		if (!text.len)
			break;
		buf_adds(&out, "\xef\xbf\xbd");
		text = str_skip(text, 1);
	}
	/* A NUL would end the string that this becomes. */
	for (size_t i = 0; i < out.len; i++)
		if (!out.ptr[i])
			out.ptr[i] = ' ';
	if (out.ptr) {
		out.len = str_utf8_prefix(buf_str(&out));
		out.len = str_char_offset(buf_str(&out), TEXT_CHARS);
		out.ptr[out.len] = '\0';
	}
	return buf_detach(&out);
}

static void keep(struct files_matches *list, const char *root,
		 const struct match_record *m)
{
	const char *slash = str_ends(str_of(root), "/") ? "" : "/";
	struct files_match *item;

	if (list->n % STEP == 0)
		list->items = xrealloc(list->items, list->n + STEP,
				       sizeof(*list->items));
	item = &list->items[list->n++];
	item->path = m->path.len ? xasprintf("%s%s%.*s", root, slash,
					     (int)m->path.len, m->path.ptr)
				 : xstrdup(root);
	item->line = m->line;
	item->text = readable(m->text);
}

struct lines {
	struct buf out;
	int64_t seen;
	int64_t most; /* 0: any number */
	bool full;
};

static void collect(const struct lines *l, struct glob *glob,
		    const struct files_search *what, struct files_matches *list)
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
		keep(list, what->root, &m);
	}
}

static int on_lines(void *arg, struct str bytes, struct error *err)
{
	struct lines *l = arg;

	for (size_t i = 0; i < bytes.len; i++)
		l->seen += bytes.ptr[i] == '\n';
	buf_addstr(&l->out, bytes);
	/* A name with a newline makes more lines than matches. */
	if (l->out.len >= GREP_BYTES || (l->most && l->seen >= l->most)) {
		l->full = true;
		return error_set(err, ERR_LIMIT, "enough");
	}
	return 0;
}

/* Lines are only counted where the sandbox finds nothing too much. */
static int64_t line_limit(int64_t cap, bool exact)
{
	return exact && cap < INT32_MAX ? cap + 1 : 0;
}

static int search(struct sandbox *sb, struct helper *h, const char *pattern,
		  const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(strlen(pattern) + 2);
	struct lines *l = h->arg;
	int rc;

	buf_addc(&text, '=');
	buf_adds(&text, pattern);
	h->args[1] = buf_str(&text);
	rc = helper_run(sb, h, stop, err);
	if (l->full)
		rc = 0; /* we ended it ourselves */
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
	bool live = sb->host->provider->flags & SANDBOX_STDIN;
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
	if (glob && glob_new(&g, str_of(glob), GLOB_HIDDEN, err))
		return -1;
	if (glob)
		glob_filter(str_of(glob), &filter);
	filter_args(&h, 2, &filter);
	l.most = line_limit(what->cap, filter.exact);
	h.args[5] = helper_decimal(live ? 0 : l.most, numbers[0]);
	h.args[6] = helper_decimal(live ? 0 : GREP_BYTES, numbers[1]);
	rc = search(sb, &h, what->pattern, stop, err);
	if (!rc) {
		collect(&l, g, what, list);
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
