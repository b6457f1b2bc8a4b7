/* run_offer.c - the sandbox that a resumed thread goes on in. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/run.h"
#include "cmd/threads/threads_cmd.h"

/* Before an imported thread has run here it has no model, and its sandbox is
 * what somebody wrote into a file. */
static bool has_offer(const struct run *r)
{
	const struct thread *t = &r->thread;

	return t->id && t->imported && !t->model[0] && t->sandbox[0];
}

static void add_name(const struct run *r, const char *flag, const char *name,
		     struct buf *out)
{
	buf_adds(out, flag);
	print_add_line(r->app, out, name);
}

/* Nobody is asked: say what would use it. given: --sandbox, or NULL. */
static void print_flags(const struct run *r, const char *given)
{
	struct buf line = BUF_INIT(1 << 12);

	add_name(r, "--sandbox ", r->thread.provider, &line);
	add_name(r, " --sandbox-id ", r->thread.sandbox, &line);
	fprintf(stderr,
		"This thread was imported. %s continues in the sandbox that "
		"the file names, and never deletes it.%s\n",
		line.ptr,
		!given || !strcmp(given, "none")
			? ""
			: " This run makes a new one.");
	buf_release(&line);
}

static int ask(struct run *r, struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	add_name(r, "", r->thread.provider, &line);
	add_name(r, " ", r->thread.sandbox, &line);
	fprintf(stderr,
		"This thread was imported, and its file names a sandbox: %s. "
		"If you use it, the\nmodel's commands run there, on the files "
		"in it. dcode never deletes it.\n",
		line.ptr);
	buf_release(&line);
	rc = secret_confirm(r->app, "Use this sandbox? [y/N] ", err);
	return rc;
}

int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err)
{
	const char *given = args_value(args, "sandbox");
	struct run_options *o = &r->options;
	int rc = 0;

	*name = given;
	if (!r->thread.id)
		return 0;
	if (!has_offer(r)) {
		if (!given && r->thread.model[0] && r->thread.provider[0])
			*name = r->thread.provider;
		return 0;
	}
	if (o->sandbox_id || o->snapshot)
		return 0; /* an error without --sandbox */
	if (!r->app->unattended && secret_terminal(r->app) &&
	    (!given || !strcmp(given, r->thread.provider)))
		rc = ask(r, err);
	else if (!o->quiet)
		print_flags(r, given);
	if (rc > 0) {
		*name = r->thread.provider;
		o->sandbox_id = r->thread.sandbox;
	}
	return rc < 0 ? -1 : 0;
}
