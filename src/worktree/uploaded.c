/* uploaded.c - files that the user put into a sandbox's tree himself. */
/* SPDX-License-Identifier: MIT */
#include "worktree/uploaded.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

static char *uploaded_file(const struct workspace *w)
{
	return xasprintf("%s/%s.uploaded", w->directory, w->label);
}

int uploaded_read(struct listing *l, const struct workspace *w,
		  struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *file = uploaded_file(w);
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	if (rc == 0 && listing_parse(l, buf_str(&text), err) < 0)
		rc = error_wrap(err, "%s", file);
	buf_release(&text);
	free(file);
	return rc;
}

static int add_listing(const struct listing *l, const struct workspace *w,
		       struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *file = uploaded_file(w);
	struct listing all = { 0 };
	int rc = uploaded_read(&all, w, err);

	for (size_t i = 0; rc == 0 && i < l->n; i++)
		listing_add(&all, l->entries[i].mode, l->entries[i].hash,
			    str_of(l->entries[i].path));
	listing_write(&all, &text);
	if (rc == 0)
		rc = buf_check(&text, "the list of uploads", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	listing_release(&all);
	buf_release(&text);
	free(file);
	return rc;
}

int uploaded_add(const struct listing *l, const struct workspace *w,
		 const struct stop *stop, struct error *err)
{
	int lock = workspace_lock(w, stop, err);
	int rc = lock < 0 ? -1 : add_listing(l, w, err);

	if (lock >= 0)
		close(lock);
	return rc;
}
