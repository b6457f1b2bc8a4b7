/* shared.c - moves the base of a workspace: what both sides share. */
/* SPDX-License-Identifier: MIT */
#include "cmd/workspace/shared.h"

#include <stdlib.h>
#include <string.h>

#include "workspace/relist.h"

static int move_base(struct workspace *w, const char *commit,
		     const struct stop *stop, struct error *err)
{
	struct listing l = { 0 };
	int rc = workspace_read_listing(w, &l, stop, err);

	if (rc == 0)
		rc = relist_commit(&l, &w->git, w->base, commit, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(w, &l, commit, err);
	if (rc == 0)
		rc = workspace_set_base(w, commit, stop, err);
	listing_release(&l);
	return rc;
}

int shared_move(struct workspace *w, const char *label, const char *commit,
		const struct stop *stop, struct error *err)
{
	struct workspace other = *w;
	int rc;

	if (!strcmp(label, w->label))
		return move_base(w, commit, stop, err);
	other.label = (char *)label;
	other.base_ref = odb_ref_name(label, "base");
	rc = odb_ref_get(&other.git, other.base_ref, other.base, stop, err);
	if (rc == 0)
		rc = move_base(&other, commit, stop, err);
	else if (err->code == ERR_NOT_FOUND)
		rc = 0; /* that sandbox's records have gone meanwhile */
	free(other.base_ref);
	return rc;
}
