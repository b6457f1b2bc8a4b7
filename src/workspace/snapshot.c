/* snapshot.c - the user's tree as it is now, as a commit of dcode's own. */
/* SPDX-License-Identifier: MIT */
#include "workspace/snapshot.h"

#include "workspace/pass.h"

/* The commit has the base as its parent and nothing of its tree. */
static int begin(struct workspace *w, const char *ref, struct odb_commit **c,
		 const struct stop *stop, struct error *err)
{
	struct odb_commit_info info = { .ref = ref,
					.parent = w->base[0] ? w->base : NULL,
					.message = "local tree" };

	if (odb_commit_begin(c, &w->git, &info, stop, err) < 0)
		return -1;
	if (!info.parent || odb_commit_clear(*c, err) == 0)
		return 0;
	odb_commit_abort(*c);
	return -1;
}

static int read_all(const struct pass_request *r, struct listing *read,
		    const struct stop *stop, struct error *err)
{
	struct pass *p;
	int rc;

	if (pass_open(&p, r, err) < 0)
		return -1;
	rc = pass_run(p, stop, err);
	if (rc == 0 && read) {
		*read = *pass_listing(p);
		*pass_listing(p) = (struct listing){ 0 };
	}
	pass_close(p);
	return rc;
}

int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err)
{
	struct selection s;
	struct pass_request pass = { .workspace = w };
	int rc;

	if (select_files(&s, w, r, stop, err) < 0)
		return -1;
	pass.files = s.files;
	pass.n = s.n;
	rc = begin(w, snapshot->ref, &pass.commit, stop, err);
	if (rc == 0 && read_all(&pass, snapshot->read, stop, err) < 0) {
		odb_commit_abort(pass.commit);
		rc = -1;
	} else if (rc == 0) {
		rc = odb_commit_end(pass.commit, snapshot->commit, err);
	}
	select_release(&s);
	return rc;
}
