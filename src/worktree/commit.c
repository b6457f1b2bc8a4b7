/* commit.c - the base commit in a sandbox, made behind the user's back. */
/* SPDX-License-Identifier: MIT */
#include "worktree/commit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox/helper.h"

enum {
	NOTE_MAX = 64 << 10,
	COMMIT_MS = 600000, /* the longest that a command waits for it */
	SAID_MAX = 1 << 10,
};

struct commit_job {
	struct sandbox *sandbox; /* borrowed */
	char *note; /* owned: the file that says it is to be done */
	struct buf text;
	struct commit_terms terms; /* in text */
};

static char *note_file(const struct workspace *w)
{
	return xasprintf("%s/%s.uncommitted", w->directory, w->label);
}

int commit_note(const struct workspace *w, const struct commit_terms *t,
		struct error *err)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	char *file = note_file(w);
	int rc;

	buf_add(&text, t->branch, strlen(t->branch) + 1);
	buf_add(&text, t->message, strlen(t->message) + 1);
	buf_add(&text, t->commits, strlen(t->commits) + 1);
	rc = buf_check(&text, "the words of the commit", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

static int run_commit(void *arg, const struct stop *stop, struct error *err)
{
	const struct commit_job *j = arg;
	struct helper h = { .script = HELPER_COMMIT,
			    .args = { str_of(sandbox_tree_dir(j->sandbox)),
				      str_of(j->terms.branch),
				      str_of(j->terms.message),
				      str_of(j->terms.commits) },
			    .n_args = 4,
			    .ahead = true,
			    .timeout_ms = COMMIT_MS,
			    .out = BUF_INIT(SAID_MAX) };
	int rc = helper_run(j->sandbox, &h, stop, err);

	if (rc == 0 && h.timed_out)
		rc = error_set(err, ERR_TIMEOUT, "git took too long");
	if (rc == 0)
		(void)unlink(j->note);
	if (rc == 0 && !str_starts(str_of(h.status), "ok "))
		rc = error_set(err, ERR_REMOTE, "%s", h.status);
	else if (rc == 0 && !strcmp(h.status, "ok failed"))
		rc = error_set(err, ERR_REMOTE, "git failed in the sandbox");
	buf_release(&h.out);
	if (rc < 0)
		return error_wrap(
			err, "the tree is not a repository in the sandbox");
	if (j->terms.commits[0] && !strcmp(h.status, "ok git"))
		return error_set(err, ERR_REMOTE,
				 "git in the sandbox rejected the history");
	return 0;
}

static void release_job(void *arg)
{
	struct commit_job *j = arg;

	buf_release(&j->text);
	free(j->note);
	free(j);
}

/* Three texts with a byte 0 behind each. */
static bool read_terms(struct commit_job *j)
{
	const char **to[] = { &j->terms.branch, &j->terms.message,
			      &j->terms.commits };
	struct str rest = buf_str(&j->text);

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		size_t len = str_find(rest, '\0');

		if (len == rest.len)
			return false;
		*to[i] = rest.ptr;
		rest = str_skip(rest, len + 1);
	}
	return true;
}

int commit_begin(const struct workspace *w, struct sandbox *sb,
		 struct error *err)
{
	struct commit_job *j;
	struct background_work work = { run_commit, release_job, NULL };
	char *file = note_file(w);
	int rc = 0;

	if (access(file, F_OK) < 0) {
		free(file);
		return 0;
	}
	j = xcalloc(1, sizeof(*j));
	*j = (struct commit_job){ .sandbox = sb,
				  .note = file,
				  .text = BUF_INIT(NOTE_MAX) };
	rc = path_read(file, &j->text, err);
	if (rc == 0 && read_terms(j)) {
		work.arg = j;
		return background_start(&sb->background, &work, err);
	}
	release_job(j);
	return rc;
}
