/* refused_file.c - what happens where a vendor refuses a file. */
/* SPDX-License-Identifier: MIT */
#include "agent/refused_file.h"

#include <string.h>

#include "session/history.h"
#include "session/session.h"

static int load(const struct agent *a, struct conversation *c)
{
	struct error ignored = { 0 };
	struct store *store;
	int64_t no;

	if (!a->session)
		return -1;
	store = session_store(a->session, &no);
	return no ? history_load(c, store, no, &ignored) : -1;
}

/* As bytes of a request (413) files are most of what is too large. */
static bool is_refused(const struct error *err)
{
	return strcmp(err->reason, MODEL_FILE_REFUSED) == 0 ||
	       (err->http_status == 413 &&
		strcmp(err->reason, MODEL_TOO_LONG) == 0);
}

int refused_file_leave_out(struct agent *a, const struct error *err)
{
	struct conversation c = { 0 };
	struct error ignored = { 0 };
	int rc = 0;

	if (!is_refused(err) || !model_has_files(a->model))
		return 0;
	if (load(a, &c) == 0 && model_reset(a->model, NULL, 0, &ignored) == 0) {
		model_hide_files(a->model, true);
		history_push(&c, a->model);
		model_hide_files(a->model, false);
		agent_warn(a, "asking again without images and PDF files", err);
		rc = 1;
	}
	history_release(&c);
	return rc;
}
