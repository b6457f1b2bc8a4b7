/* run_own.c - the sandbox that a resumed thread has of its own. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/run.h"
#include "cmd/session/tree.h"
#include "session/ledger.h"
#include "session/thread_label.h"

struct own_search {
	struct run *run;
	struct store *store;
	bool takes; /* it is looked for to go on in it */
	bool other; /* the thread had some of another provider */
	bool exists;
	char *label; /* owned: the last of the provider that may be there, else
			the last one */
	char *left;  /* owned: the last one that is there and not taken */
};

static bool note_existing(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state != LEDGER_GONE;
	return false;
}

static bool note_own(void *arg, const struct thread_label *l)
{
	struct error ignored = { 0 };
	struct own_search *own = arg;
	bool exists = false;

	(void)ledger_find(own->store, l->label, note_existing, &exists,
			  &ignored);
	if (exists && !own->left)
		own->left = xstrdup(l->label);
	if (strcmp(l->provider, own->run->options.sandbox) != 0) {
		own->other = true;
		return true;
	}
	own->exists = exists;
	if (own->exists || !own->label) {
		free(own->label);
		own->label = xstrdup(l->label);
	}
	return !own->exists;
}

/* What the run does in place of going on in it. */
static const char *instead_of(const struct run *r)
{
	if (r->host.provider->flags & SANDBOX_UNISOLATED)
		return "the tools of this run act on this machine";
	if (r->options.sandbox_id)
		return "this run uses the one of --sandbox-id";
	return "a new one is made, without its files";
}

static bool is_other(const struct run *r, const struct ledger_row *row)
{
	return !(r->host.provider->flags & SANDBOX_UNISOLATED) &&
	       strcmp(row->provider, r->host.provider->name) != 0;
}

static bool say_left(void *arg, const struct ledger_row *row)
{
	struct run *r = arg;
	const struct run_options *o = &r->options;
	char *name;

	if (row->state == LEDGER_GONE ||
	    (o->sandbox_id && !strcmp(o->sandbox_id, row->id)))
		return false;
	name = xasprintf("%s %s, %s", row->provider,
			 tree_short_name(row->label),
			 ledger_state_name(row->state));
	if (o->fork)
		print_line(r->app,
			   "Thread %s keeps its own sandbox (%s); the copy does"
			   " not share it: %s.",
			   r->thread.id, name, instead_of(r));
	else
		print_line(r->app,
			   "This thread's own sandbox (%s) %sstays as it is:"
			   " %s.",
			   name,
			   is_other(r, row) ? "is of another provider and "
					    : "",
			   instead_of(r));
	if (row->id[0] && o->fork)
		print_line(r->app,
			   "  `--sandbox %s --sandbox-id %s` continues in it.",
			   row->provider, row->id);
	else
		print_line(r->app,
			   "  `dcode -r %s --sandbox %s` continues in it.",
			   r->thread.id, row->provider);
	free(name);
	return false;
}

char *run_own_find(struct run *r, struct store *store)
{
	const struct run_options *o = &r->options;
	struct own_search own = { .run = r, .store = store };
	struct error ignored = { 0 };

	if (!r->thread.id ||
	    (!store && app_store(r->app, &own.store, &ignored) < 0))
		return NULL;
	own.takes = !o->fork && !o->sandbox_id && !o->snapshot &&
		    !(r->host.provider->flags & SANDBOX_UNISOLATED);
	(void)thread_label_each(own.store, r->thread.no, NULL, note_own, &own,
				&ignored);
	if (!own.takes || !own.label) {
		free(own.label);
		own.label = NULL;
	}
	if (!own.label && own.left)
		(void)ledger_find(own.store, own.left, say_left, r, &ignored);
	else if (!own.label && own.takes && own.other)
		print_line(
			r->app,
			"This thread's sandbox belongs to another provider.");
	free(own.left);
	return own.label;
}

struct own_place {
	struct store *store;
	const char *provider;
	char *endpoint; /* owned */
};

static bool note_endpoint(void *arg, const struct ledger_row *row)
{
	struct own_place *own = arg;

	if (row->state != LEDGER_GONE && !strcmp(row->provider, own->provider))
		own->endpoint = xstrdup(row->endpoint);
	return false;
}

static bool find_endpoint(void *arg, const struct thread_label *l)
{
	struct own_place *own = arg;
	struct error ignored = { 0 };

	(void)ledger_find(own->store, l->label, note_endpoint, own, &ignored);
	return !own->endpoint;
}

char *run_own_endpoint(struct run *r)
{
	struct own_place own = { .provider = r->options.sandbox };
	struct error ignored = { 0 };

	if (!r->thread.id || r->options.sandbox_id || r->options.fork ||
	    !strcmp(own.provider, "none") ||
	    app_store(r->app, &own.store, &ignored) < 0)
		return NULL;
	(void)thread_label_each(own.store, r->thread.no, NULL, find_endpoint,
				&own, &ignored);
	return own.endpoint;
}
