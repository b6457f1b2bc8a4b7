/* run_web.c - which pages of the web a run may fetch. */
/* SPDX-License-Identifier: MIT */
#include "cmd/web/run_web.h"

#include "base/json.h"
#include "cmd/run/run.h"
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
			       .arg = r };
	r->agent.web = &r->web;
}

bool run_web_has(const struct tool *tool)
{
	return tool == &tool_fetch_url;
}

bool run_web_lists(const struct run *r)
{
	const char *const *list = NULL;
	size_t n;

	read_hosts(r, &list, &n);
	return n > 0;
}

bool run_web_allows(const struct run *r, const struct approval *a)
{
	return fetch_is_allowed(&r->web, json_string(a->args, "url", ""));
}

void run_web_refuse(const struct approval *a, struct buf *reason)
{
	buf_addf(reason,
		 "%s is not permitted in non-interactive mode for this host. "
		 "Tell the user to run with --auto-approve, or to name the "
		 "host in [web] allow_hosts of config.toml.",
		 a->tool->spec.name);
}
