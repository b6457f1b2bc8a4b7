/* rules.c - the names that a sandbox of Vercel may reach, and their rules. */
/* SPDX-License-Identifier: MIT */
/*
 * A rule replaces headers of the requests that it matches, and only the first
 * rule that matches a request is applied. A name with rules may be reached, so
 * a rule must never add a name that the list of hosts does not have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "providers/vercel/vercel.h"

static void add_matcher(cJSON *object, const char *key, const char *kind,
			const char *value)
{
	cJSON_AddStringToObject(cJSON_AddObjectToObject(object, key), kind,
				value);
}

/* Adds the matcher of a path. One that ends with '*' matches no path that a
 * server might read in another way, such as "/repos/me/../you". */
static void add_path(cJSON *match, const char *path)
{
	static const char segment[] = "[^/.%;#\\\\?][^/%;#\\\\?]*";
	size_t len = strcspn(path, "*");
	struct buf regex = BUF_INIT(16 << 10);

	if (!path[len]) {
		add_matcher(match, "path", "exact", path);
		return;
	}
	buf_addc(&regex, '^');
	for (size_t i = 0; i < len; i++)
		buf_addf(&regex, "%s%c",
			 strchr(".+*?()|[]{}^$\\", path[i]) ? "\\" : "",
			 path[i]);
	/* "/repos/me-*" goes on within a segment. */
	if (len && path[len - 1] != '/')
		buf_adds(&regex, "[^/%;#\\\\?]*(/|$)");
	buf_addf(&regex, "(%s(/|$))*$", segment);
	add_matcher(match, "path", "regex", regex.ptr);
	buf_release(&regex);
}

static void add_methods(cJSON *match, const struct secret *s)
{
	cJSON *list;

	if (!s->methods)
		return;
	list = cJSON_AddArrayToObject(match, "method");
	for (const char **m = s->methods; *m; m++)
		cJSON_AddItemToArray(list, cJSON_CreateString(*m));
}

/* Without a header, the placeholder is replaced where the client has sent it:
 * in Authorization, as the secret's format says. */
static void add_placeholder(cJSON *match, const struct secret *s)
{
	cJSON *entry = cJSON_CreateObject();

	add_matcher(entry, "key", "exact", "authorization");
	vault_add_header(cJSON_AddObjectToObject(entry, "value"), "exact", s,
			 true);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(match, "headers"), entry);
}

/* Adds a rule for one of the secret's paths (NULL: for all). Returns its
 * headers. */
static cJSON *add_rule(cJSON *rules, const struct secret *s, const char *path)
{
	cJSON *rule = cJSON_CreateObject();
	cJSON *match = cJSON_CreateObject();
	cJSON *change = cJSON_CreateObject();

	add_methods(match, s);
	if (path)
		add_path(match, path);
	if (!s->header)
		add_placeholder(match, s);
	if (match->child)
		cJSON_AddItemToObject(rule, "match", match);
	else
		cJSON_Delete(match);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(rule, "transform"), change);
	cJSON_AddItemToArray(rules, rule);
	return cJSON_AddObjectToObject(change, "headers");
}

/* Adds the rules of one name: a rule for each path of one secret, or one rule
 * that sets the headers of all. */
static void add_rules(cJSON *allow, const struct network_rule *host,
		      const struct secrets *secrets)
{
	char *key = vault_host_text(host);
	cJSON *rules = cJSON_AddArrayToObject(allow, key);
	cJSON *headers = NULL;

	free(key);
	for (size_t i = 0; i < secrets->n; i++) {
		const struct secret *s = &secrets->list[i];
		const char *name = s->header ? s->header : "authorization";
		const char **path = s->paths;

		if (!vault_covers(s, host))
			continue;
		do {
			if (!headers || vault_is_limited(s))
				headers =
					add_rule(rules, s, path ? *path : NULL);
			vault_add_header(headers, name, s, false);
		} while (path && *++path);
	}
}

/* Returns the names and their rules. */
static cJSON *names_with_rules(const struct network *n,
			       const struct secrets *secrets)
{
	bool open = n->mode != NETWORK_LIST || n->open;
	struct network hosts = vault_hosts(secrets, open ? NULL : n);
	cJSON *allow = cJSON_CreateObject();
	const struct network_rule *ignored;

	for (size_t i = 0; i < hosts.n; i++)
		if (open || network_allows(n, &hosts.rules[i], &ignored))
			add_rules(allow, &hosts.rules[i], secrets);
	if (open)
		cJSON_AddArrayToObject(allow, "*");
	network_release(&hosts);
	return allow;
}

cJSON *vercel_allowed_names(const struct network *n,
			    const struct secrets *secrets)
{
	cJSON *allow;

	if (secrets && secrets->n)
		return names_with_rules(n, secrets);
	if (n->open) {
		allow = cJSON_CreateObject();
		cJSON_AddArrayToObject(allow, "*");
		return allow;
	}
	allow = body_hosts(n, HOSTS_NAMES);
	return allow ? allow : cJSON_CreateArray();
}
