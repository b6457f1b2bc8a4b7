/* run_asks.c - which calls the user of a chat wants to be asked about. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/run.h"
#include "cmd/session/yolo.h"
#include "sandbox/rights.h"
#include "session/ledger.h"

/* Reads a setting that is one of two words; *second: it is the latter. */
static int read_word(const struct settings *set, const char *key,
		     const char *const words[2], bool *second,
		     struct error *err)
{
	const char *value = NULL;

	*second = false;
	if (settings_string(set, NULL, key, &value, err) < 0)
		return -1;
	if (!value)
		return 0;
	*second = !strcmp(value, words[1]);
	if (*second || !strcmp(value, words[0]))
		return 0;
	return error_set(err,
			 settings_policy(set, key) ? ERR_POLICY : ERR_CONFIG,
			 "%s is '%.40s', but can only be \"%s\" or \"%s\"", key,
			 value, words[0], words[1]);
}

int run_asks_resolve(struct run_options *o, const struct settings *set,
		     struct error *err)
{
	static const char *const places[] = { "auto", "ask" };
	static const char *const calls[] = { "changes", "all" };

	if (read_word(set, "approvals.sandbox", places, &o->asks_in_sandbox,
		      err) < 0 ||
	    read_word(set, "approvals.review", calls, &o->reviews_all, err) < 0)
		return -1;
	o->asks_given = settings_source(set, NULL, "approvals.sandbox") >
			SOURCE_DEFAULT;
	return 0;
}

bool run_asks(const struct run *r)
{
	return r->interactive &&
	       (sandbox_acts_on_host(&r->box.sandbox) ||
		r->options.asks_in_sandbox || r->options.reviews_all);
}

static bool found(void *arg, const struct ledger_row *row)
{
	struct run *r = arg;

	if (!strcmp(row->provider, r->host.provider->name))
		r->box_known = true;
	return true;
}

/* Whether a sandbox that was attached to was once made here. */
static int find_in_ledger(struct run *r, struct error *err)
{
	struct store *store;

	if (app_store(r->app, &store, err) < 0)
		return -1;
	if (ledger_find(store, r->box.sandbox.id, found, r, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

/* Somebody else may work in a sandbox that this user did not make. */
int run_asks_attached(struct run *r, struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	if (!r->interactive || !r->options.sandbox_id ||
	    r->options.asks_given || run_asks(r) || run_allows_all(r))
		return 0;
	if (find_in_ledger(r, err) < 0)
		return -1;
	if (r->box_known)
		return 0;
	buf_adds(&line, "This dcode did not create the sandbox ");
	print_add_line(r->app, &line, r->options.sandbox_id);
	fprintf(stderr,
		"%s\nIf you say no, dcode asks about every call that changes "
		"something in it.\n([approvals] sandbox = \"auto\" or \"ask\" "
		"answers this question.)\n",
		line.ptr);
	buf_release(&line);
	rc = secret_confirm(r->app, "Run calls in it without asking? [y/N] ",
			    err);
	r->declined = rc == 0;
	r->options.asks_in_sandbox = r->declined;
	return rc < 0 ? -1 : 0;
}

int run_set_mode(struct run *r, enum run_mode mode, struct error *err)
{
	int rc = 1;

	if (mode == RUN_YOLO && run_check_yolo(r, err) < 0)
		return -1;
	if (mode == RUN_YOLO && !yolo_acknowledged(r->app)) {
		rc = secret_confirm(r->app,
				    "yolo runs every call without asking, on "
				    "this machine too. Allow it? [y/N] ",
				    err);
		if (rc > 0)
			yolo_acknowledge(r->app);
	}
	if (rc > 0)
		r->mode = (int)mode;
	return rc < 0 ? -1 : 0;
}
