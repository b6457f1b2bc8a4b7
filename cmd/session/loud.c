/* loud.c - names changed files that make programs run. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/loud.h"

#include <stdio.h>

#include "cmd/print.h"

void loud_print(const struct app *app, const struct review *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct buf line = BUF_INIT(1 << 16);

		if (!v->files[i].loud)
			continue;
		print_add_name(app, &line, v->files[i].path);
		fprintf(stderr, "Check %s: it %s\n", line.len ? line.ptr : "",
			v->files[i].loud);
		buf_release(&line);
	}
}

int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err)
{
	struct protect protect = { 0 };
	struct review v = { .protect = &protect };
	int rc = protect_load(&protect, app->settings, err);

	if (rc == 0)
		rc = review_read(&v, &w->git, w->base, theirs, stop, err);
	if (rc == 0)
		loud_print(app, &v);
	review_release(&v);
	return rc;
}
