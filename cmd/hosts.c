/* hosts.c - hosts outside the network list that a tool call asks for. */
/* SPDX-License-Identifier: MIT */
#include "cmd/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/reach.h"
#include "tool/tool.h"

enum {
	HOSTS_MOST = 16, /* of one call */
	READ_MS = 10000, /* to ask the vendor for a list that is not known */
};

bool hosts_are_offered(struct sandbox_client *client, struct sandbox *sb,
		       const struct network *flag)
{
	struct network n = { 0 };
	struct error ignored = { 0 };
	bool listed;

	if (!client->provider->ops->set_network)
		return false;
	if (sb)
		reach_copy_network(sb, &n);
	if (n.mode == NETWORK_DEFAULT)
		(void)sandbox_choose_network(client, flag, &n, &ignored);
	listed = n.mode == NETWORK_LIST;
	network_release(&n);
	return listed;
}

/* Appends "Error: why 'x' ..." */
static int refuse_host(struct buf *reason, const char *why, const char *host)
{
	struct buf clean = BUF_INIT(1 << 12);

	sanitize_line(str_of(host), &clean);
	buf_addf(reason, "Error: %s: %.200s", why, clean.len ? clean.ptr : "");
	buf_release(&clean);
	return -1;
}

/* Reads one host. Returns 1 and adds it to wider if the list lacks it. */
static int read_host(const struct network *list, const char *text,
		     struct network *wider, struct buf *opens,
		     struct buf *reason)
{
	struct network one = { 0 };
	struct error err = { 0 };
	const struct network_rule *host;
	const struct network_rule *rule;
	int rc = -1;

	if (network_parse(&one, &text, 1, &err) < 0) {
		buf_addf(reason, "Error: %s", err.message);
		return -1;
	}
	host = one.n == 1 ? &one.rules[0] : NULL;
	if (!host || host->denies || host->wild || host->preset)
		rc = refuse_host(reason, "hosts takes single hosts only", text);
	else if (network_allows(list, host, &rule))
		rc = 0;
	else if (rule && rule->denies)
		rc = refuse_host(reason, "the user's network list denies it",
				 text);
	else if (network_add(wider, str_of(text), &err) < 0)
		buf_addf(reason, "Error: %s", err.message);
	else
		rc = 1;
	if (rc > 0) {
		network_print_rule(host, opens);
		buf_addc(opens, '\n');
	}
	network_release(&one);
	return rc;
}

/* Refuses what the provider cannot enforce, and what the policy forbids. */
static int check_wider(const struct sandbox *sb, const struct network *wider,
		       struct buf *reason)
{
	struct network n = { 0 };
	struct error err = { 0 };
	int rc = sandbox_choose_network(sb->client, wider, &n, &err);

	if (rc < 0)
		buf_addf(reason, "Error: %s", err.message);
	network_release(&n);
	return rc;
}

int hosts_read(struct sandbox *sb, const cJSON *args, struct buf *opens,
	       struct buf *reason)
{
	const cJSON *list = json_get(args, TOOL_HOSTS);
	struct stop stop = stop_cleanup(READ_MS);
	struct network has = { 0 };
	struct network wider = { 0 };
	struct error ignored = { 0 };
	const cJSON *item;
	int rc = 0;
	int n = 0;

	if (!cJSON_GetArraySize(list) ||
	    !sb->client->provider->ops->set_network ||
	    reach_read(sb, &has, &stop, &ignored) < 0 ||
	    has.mode != NETWORK_LIST) {
		network_release(&has);
		return 0;
	}
	network_copy(&wider, &has);
	free(wider.source);
	wider.source = xstrdup(TOOL_HOSTS);
	cJSON_ArrayForEach (item, list) {
		if (rc < 0)
			break;
		if (++n > HOSTS_MOST)
			rc = refuse_host(reason, "too many hosts",
					 item->valuestring);
		else
			rc = read_host(&has, item->valuestring, &wider, opens,
				       reason);
	}
	if (rc >= 0 && opens->len && json_bool(args, "background", false))
		rc = refuse_host(reason,
				 "hosts are open only while the call runs, so "
				 "they cannot be combined with background",
				 opens->ptr);
	if (rc >= 0 && opens->len)
		rc = check_wider(sb, &wider, reason);
	network_release(&wider);
	network_release(&has);
	return rc < 0 ? -1 : opens->len > 0;
}
