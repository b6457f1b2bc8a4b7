/* run_web.c - what of the web a run may read. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_web.h"

#include "base/json.h"
#include "cmd/session/run.h"
#include "cmd/session/run_search.h"
#include "tool/table.h"
#include "web/fetch.h"
#include "web/url.h"

static void read_hosts(const struct run *r, const char *const **list, size_t *n)
{
	struct error ignored = { 0 };

	*n = 0;
	if (settings_list(r->app->settings, NULL, "web.allow_hosts", list, n,
			  &ignored) < 0)
		*n = 0;
}

static bool allows_host(void *arg, const char *host)
{
	const char *const *list = NULL;
	size_t n;

	read_hosts(arg, &list, &n);
	return web_url_matches(host, list, n);
}

static bool allows_private(void *arg)
{
	const struct run *r = arg;
	struct error ignored = { 0 };
	bool allowed = false;

	return settings_bool(r->app->settings, NULL, "web.allow_private",
			     &allowed, &ignored) == 0 &&
	       allowed;
}

void run_web_attach(struct run *r)
{
	r->web = (struct web){ .http = app_http(r->app),
			       .allows_host = allows_host,
			       .allows_private = allows_private,
			       .search = run_search,
			       .arg = r };
	r->agent.web = &r->web;
}

bool run_web_has(const struct tool *tool)
{
	return tool == &tool_fetch_url || tool == &tool_web_search;
}

bool run_web_offers(const struct run *r, const struct tool *tool)
{
	const char *const *list = NULL;
	size_t n;

	if (tool == &tool_web_search)
		return (r->interactive || r->options.yes ||
			run_search_is_allowed(r)) &&
		       run_search_is_set(r);
	if (r->interactive || r->options.yes)
		return true;
	read_hosts(r, &list, &n);
	return n > 0;
}

bool run_web_allows(const struct run *r, const struct approval *a)
{
	const char *url;

	if (a->tool == &tool_web_search)
		return run_search_is_allowed(r);
	url = json_string(a->args, "url", "");
	/* The tool itself says why it does not fetch it. */
	return fetch_is_allowed(&r->web, url) || fetch_is_refused(&r->web, url);
}

void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place)
{
	buf_adds(place, "the web, from this machine");
	if (a->tool == &tool_web_search) {
		buf_adds(place, ", by ");
		run_search_name(r, place);
	}
}

void run_web_refuse(const struct approval *a, struct buf *reason)
{
	bool searches = a->tool == &tool_web_search;

	buf_addf(reason,
		 "%s is not permitted in non-interactive mode%s. Tell the user "
		 "to run with --auto-approve, or to %s of config.toml.",
		 a->tool->spec.name, searches ? "" : " for this host",
		 searches ? "set allow_search in [web]"
			  : "name the host in [web] allow_hosts");
}
