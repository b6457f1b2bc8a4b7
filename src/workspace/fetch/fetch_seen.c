/* fetch_seen.c - what a fetch refused and left, kept for when it is gone. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "workspace/fetch/fetch_impl.h"

enum { SEEN_MAX = 256 << 20 };

/*
 * LABEL.seen: "commit OID\n", "ignored N\n", then for each item "refused",
 * "left" or "ignored", its size, why and the path, each with a byte 0 behind
 * it.
 */
static char *seen_file(const struct workspace *w)
{
	return xasprintf("%s/%s.seen", w->directory, w->label);
}

static void add_items(struct buf *out, const char *kind,
		      const struct fetch_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%s%c%" PRId64 "%c%s%c", kind, 0, items[i].size,
			 0, items[i].why, 0);
		buf_add(out, items[i].path, strlen(items[i].path) + 1);
	}
}

int fetch_remember(const struct workspace *w, const struct fetch *f,
		   struct error *err)
{
	struct buf text = BUF_INIT(SEEN_MAX);
	char *file = seen_file(w);
	int rc;

	buf_addf(&text, "commit %s\nignored %" PRId64 "\n", f->theirs,
		 f->ignored);
	add_items(&text, "refused", f->refused, f->n_refused);
	add_items(&text, "left", f->left, f->n_left);
	add_items(&text, "left", f->later, f->n_later);
	add_items(&text, "ignored", f->ignored_names, f->n_ignored_names);
	rc = buf_check(&text, "the list of what was left", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* The next field, with its byte 0; NULL: there is none. */
static char *next_field(struct str *rest)
{
	char *field = (char *)rest->ptr;
	size_t len = str_find(*rest, '\0');

	if (len == rest->len)
		return NULL;
	*rest = str_skip(*rest, len + 1);
	return field;
}

static void read_items(struct fetch *f, struct str rest)
{
	char *kind;

	while ((kind = next_field(&rest))) {
		char *size = next_field(&rest);
		char *why = size ? next_field(&rest) : NULL;
		char *path = why ? next_field(&rest) : NULL;
		struct fetch_item **list = &f->left;
		size_t *n = &f->n_left;

		if (!path)
			break;
		if (!strcmp(kind, "refused")) {
			list = &f->refused;
			n = &f->n_refused;
		} else if (!strcmp(kind, "ignored")) {
			list = &f->ignored_names;
			n = &f->n_ignored_names;
		}
		fetch_note(list, n, path, why);
		(void)str_to_int(str_of(size), &(*list)[*n - 1].size);
	}
}

static int refuse_now(struct workspace *w, struct fetch *f,
		      const struct stop *stop, struct error *err)
{
	struct fetching g = { .w = w,
			      .f = f,
			      .stop = stop,
			      .ref = w->theirs_ref,
			      .scan = { .spool = -1 } };
	size_t refused = f->n_refused;
	int rc = workspace_read_listing(w, &g.base, stop, err);

	if (rc == 0)
		rc = fetch_refuse_repositories(&g, err);
	if (rc == 0 && f->n_refused > refused)
		rc = fetch_remember(w, f, err);
	odb_commit_abort(g.commit);
	listing_release(&g.base);
	return rc;
}

int fetch_recall(struct workspace *w, struct fetch *f, const struct stop *stop,
		 struct error *err)
{
	struct buf text = BUF_INIT(SEEN_MAX);
	char *file = seen_file(w);
	struct str rest;
	struct str commit;
	struct str ignored;
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	rest = buf_str(&text);
	if (rc == 0 && str_split(&rest, '\n', &commit) &&
	    str_split(&rest, '\n', &ignored) && str_starts(commit, "commit ") &&
	    str_is(str_skip(commit, 7), f->theirs) &&
	    str_starts(ignored, "ignored ")) {
		(void)str_to_int(str_skip(ignored, 8), &f->ignored);
		read_items(f, rest);
		f->recalled = text.ptr; /* the items point into it */
		text.ptr = NULL;
	}
	buf_release(&text);
	free(file);
	return rc == 0 ? refuse_now(w, f, stop, err) : -1;
}
