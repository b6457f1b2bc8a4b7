/* scope.c - which existing sandbox a run continues in. */
/* SPDX-License-Identifier: MIT */

/*
 * A resumed thread continues in its own sandbox, the newest that the ledger has
 * for it (find_own()).
 *
 * [sandboxes] scope says who shares a sandbox. Its row in the ledger has the
 * scope: "directory:/home/ann/project" or "agent:NAME". The row's owner is the
 * lock: a dcode that wants the sandbox while another one works in it gets one
 * of its own, which ends with it. At the exit the sandbox is stopped, or kept
 * running where it cannot be stopped, until keep_for is over; then gc deletes
 * it. Begin reading at scope_choose().
 */
#include "cmd/session/scope.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/tree.h"
#include "session/ledger.h"
#include "session/records.h"

struct own_search {
	struct run *run;
	struct store *store;
	bool takes;  /* this run may continue in the sandbox that is found */
	bool other;  /* the thread had a sandbox of another provider */
	bool exists; /* according to the ledger, the sandbox of label may still
			exist */
	char *label; /* owned: label of the newest sandbox of this run's
			provider that may exist, otherwise of the newest one
			that does not; or NULL */
	char *left;  /* owned: label of the newest sandbox of any provider that
			may exist; or NULL */
};

struct own_place {
	struct store *store;
	const char *provider;
	char *endpoint; /* owned */
};

static bool store_existence(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state != LEDGER_GONE;
	return false;
}

/* thread_label_each() callback; the newest sandbox comes first. Returns false
 * to end the search. */
static bool find_own_label(void *arg, const struct thread_label *l)
{
	struct error ignored = { 0 };
	struct own_search *own = arg;
	bool exists = false;

	(void)ledger_find(own->store, l->label, store_existence, &exists,
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

/* Describes what the run uses instead of the thread's own sandbox. */
static const char *describe_replacement(const struct run *r)
{
	if (!run_has_sandbox(r))
		return "the tools of this run act on this machine";
	if (r->options.sandbox_id)
		return "this run uses the sandbox given by --sandbox-id";
	return "dcode creates a new sandbox without those files";
}

/* ledger_find() callback: tells the user that the thread has a sandbox which
 * this run does not use, and the command that continues in it. */
static bool report_unused(void *arg, const struct ledger_row *row)
{
	struct run *r = arg;
	const struct run_options *o = &r->options;
	bool is_other = run_has_sandbox(r) &&
			strcmp(row->provider, r->client.provider->name) != 0;
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
			   r->thread.id, name, describe_replacement(r));
	else
		print_line(r->app,
			   "This thread's sandbox (%s) %sis not used: %s.",
			   name,
			   is_other ? "belongs to another provider and " : "",
			   describe_replacement(r));
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

/* Returns the label of the thread's own sandbox; owned, or NULL if this run
 * creates or attaches another one. In that case tells the user about a sandbox
 * of the thread that may still exist. */
static char *find_own(struct run *r, struct store *store)
{
	const struct run_options *o = &r->options;
	struct own_search own = { .run = r, .store = store };
	struct error ignored = { 0 };

	if (!r->thread.id ||
	    (!store && app_store(r->app, &own.store, &ignored) < 0))
		return NULL;
	own.takes = !o->fork && !o->sandbox_id && !o->snapshot &&
		    run_has_sandbox(r);
	(void)thread_label_each(own.store, r->thread.no, NULL, find_own_label,
				&own, &ignored);
	if (!own.takes || !own.label) {
		free(own.label);
		own.label = NULL;
	}
	if (!own.label && own.left)
		(void)ledger_find(own.store, own.left, report_unused, r,
				  &ignored);
	else if (!own.label && own.takes && own.other)
		print_line(
			r->app,
			"This thread's sandbox belongs to another provider.");
	free(own.left);
	return own.label;
}

static bool copy_endpoint(void *arg, const struct ledger_row *row)
{
	struct own_place *own = arg;

	if (row->state != LEDGER_GONE && !strcmp(row->provider, own->provider))
		own->endpoint = xstrdup(row->endpoint);
	return false;
}

/* thread_label_each() callback: copies the endpoint of the provider's newest
 * sandbox that may exist. Returns false to end the search. */
static bool find_endpoint(void *arg, const struct thread_label *l)
{
	struct own_place *own = arg;
	struct error ignored = { 0 };

	(void)ledger_find(own->store, l->label, copy_endpoint, own, &ignored);
	return !own->endpoint;
}

/* Returns the endpoint at which the resumed thread's newest sandbox was
 * created; owned, or NULL. The settings may have changed since, to another ssh
 * host or Docker endpoint. */
char *scope_endpoint(struct run *r)
{
	struct own_place own = { .provider = r->options.sandbox };
	struct error ignored = { 0 };

	if (!r->thread.id || r->options.sandbox_id || r->options.fork ||
	    sandbox_is_none(own.provider) ||
	    app_store(r->app, &own.store, &ignored) < 0)
		return NULL;
	(void)thread_label_each(own.store, r->thread.no, NULL, find_endpoint,
				&own, &ignored);
	return own.endpoint;
}

/* True if a sandbox of the resumed thread may still exist. */
bool scope_has_own(struct run *r)
{
	struct own_search own = { .run = r };
	struct error ignored = { 0 };
	bool has;

	if (!r->thread.id || app_store(r->app, &own.store, &ignored) < 0)
		return false;
	(void)thread_label_each(own.store, r->thread.no, NULL, find_own_label,
				&own, &ignored);
	has = own.left;
	free(own.label);
	free(own.left);
	return has;
}

enum { SHARED_KEEP_S = 8 * 3600 }; /* without [sandboxes] keep_for */

static int check_agent(struct run *r, struct error *err)
{
	struct run_options *o = &r->options;

	if (!o->workspace || !strcmp(o->workspace, "none")) {
		o->workspace = "none";
		return 0;
	}
	error_set(err, ERR_USAGE,
		  "[sandboxes] scope = \"agent\" and --workspace %s exclude "
		  "each other: the threads of an agent work on several "
		  "directories",
		  o->workspace);
	return error_hint(err, "Use --workspace none, or scope = "
			       "\"directory\".");
}

int scope_resolve(struct run *r, struct error *err)
{
	struct run_options *o = &r->options;
	const char *scope = NULL;
	int64_t keep_s = 0;

	if (settings_string(r->app->settings, NULL, "sandboxes.scope", &scope,
			    err) < 0)
		return -1;
	if (strcmp(scope, "thread") != 0 && strcmp(scope, "directory") != 0 &&
	    strcmp(scope, "agent") != 0)
		return error_set(err, ERR_CONFIG,
				 "[sandboxes] scope = \"%s\": use thread, "
				 "directory or agent",
				 scope);
	if (!strcmp(scope, "thread") || !run_has_sandbox(r) || o->sandbox_id ||
	    o->snapshot)
		return 0;
	if (!(r->client.provider->flags & SANDBOX_ATTACH)) {
		error_set(err, ERR_USAGE,
			  "[sandboxes] scope = \"%s\" needs a provider whose "
			  "sandboxes can be used again, unlike %s",
			  scope, r->client.provider->name);
		return error_hint(err, "Set scope = \"thread\".");
	}
	if (!strcmp(scope, "agent") && check_agent(r, err) < 0)
		return -1;
	free(o->scope);
	o->scope =
		!strcmp(scope, "agent")
			? xasprintf("agent:%s", o->agent ? o->agent : "agent")
			: xasprintf("directory:%s",
				    settings_cwd(r->app->settings));
	if (settings_source(r->app->settings, NULL, "sandboxes.keep_for") ==
	    SOURCE_DEFAULT)
		keep_s = SHARED_KEEP_S;
	if (keep_s)
		o->keep_s = keep_s;
	return 0;
}

struct scope_search {
	const struct run *run;
	const char *own; /* label of the thread's own sandbox, or NULL */
	bool own_exists; /* as far as the ledger knows */
	char *label;     /* owned: of the scope's sandbox, or NULL */
	int64_t user;    /* process that uses it, or 0 */
};

static bool is_usable(const struct run *r, const struct ledger_row *row)
{
	if (row->state == LEDGER_REMOVING ||
	    strcmp(row->scope, r->options.scope) != 0 ||
	    strcmp(row->provider, r->client.provider->name) != 0 ||
	    strcmp(row->endpoint, lifecycle_endpoint(&r->client)) != 0)
		return false;
	/* One that is being created has an owner and no id yet. One whose time
	 * is over is left to gc. */
	return row->owned_by_live || (row->id[0] && (!row->kept || row->held));
}

/* ledger_each() callback; the newest sandbox comes first. */
static bool match_row(void *arg, const struct ledger_row *row)
{
	struct scope_search *s = arg;
	bool is_own = s->own && !strcmp(row->label, s->own);

	s->own_exists |= is_own;
	if (!is_usable(s->run, row) || (s->label && !is_own))
		return true;
	free(s->label);
	s->label = xstrdup(row->label);
	s->user = row->owned_by_live ? row->pid : 0;
	return true;
}

/* 1: make a sandbox for this thread alone; 0: no. */
static int confirm_own(struct run *r, const struct scope_search *s,
		       struct error *err)
{
	const char *whose = str_starts(str_of(r->options.scope), "agent:")
				    ? "agent"
				    : "directory";

	if (!r->interactive || r->app->unattended || !secret_terminal(r->app)) {
		if (!r->options.quiet)
			print_line(r->app,
				   "The sandbox of this %s (%s) is in use by "
				   "the dcode with process id %lld: this run "
				   "makes its own, without its files.",
				   whose, tree_short_name(s->label),
				   (long long)s->user);
		return 1;
	}
	print_line(r->app,
		   "The sandbox of this %s (%s) is in use by the dcode with "
		   "process id %lld.",
		   whose, tree_short_name(s->label), (long long)s->user);
	return secret_confirm(
		r->app, "Make another one, for this thread alone? [y/N] ", err);
}

static int report_busy(const struct scope_search *s, struct error *err)
{
	error_set(err, ERR_BUSY,
		  "sandbox %s is in use by the dcode with process id %lld",
		  tree_short_name(s->label), (long long)s->user);
	return error_hint(err, "Quit that dcode first.");
}

int scope_choose(struct run *r, struct store *store, char **label, bool *shares,
		 struct error *err)
{
	struct scope_search s = { .run = r };
	int rc = 0;

	*shares = false;
	s.own = *label = find_own(r, store);
	if (!r->options.scope)
		return 0;
	if (ledger_each(store, false, match_row, &s, err) < 0)
		rc = -1;
	if (rc < 0 || (s.own_exists && (!s.label || strcmp(s.label, s.own)))) {
		free(s.label); /* the thread has one that is not shared */
		return rc;
	}
	if (s.label && s.user) {
		rc = confirm_own(r, &s, err);
		if (rc == 0)
			rc = report_busy(&s, err);
		free(s.label);
		s.label = NULL;
	} else {
		*shares = true;
	}
	if (s.label && !s.own_exists)
		print_line(r->app,
			   "Using the sandbox %s, which the threads of this "
			   "%.*s share.",
			   tree_short_name(s.label),
			   (int)strcspn(r->options.scope, ":"),
			   r->options.scope);
	if (s.label || rc > 0) {
		free(*label);
		*label = s.label;
	}
	return rc < 0 ? -1 : 0;
}
