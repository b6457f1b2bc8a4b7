/* reach.c - which hosts a running sandbox may reach, and has reached. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/reach.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

bool reach_take_contacts(struct sandbox *sb, struct network_contacts *c)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (!ops->take_contacts)
		return false;
	ops->take_contacts(sb, c);
	return true;
}

int reach_read(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (sb->network.mode != NETWORK_DEFAULT)
		return 0;
	if (!ops->get_network)
		return error_set(err, ERR_USAGE,
				 "%s does not say which hosts a sandbox may "
				 "reach",
				 sandbox_client_name(sb->client));
	if (ops->get_network(sb, &sb->network, stop, err) < 0)
		return sandbox_blame(sb->client, err);
	return 0;
}

int reach_check_attached(struct sandbox *sb, const struct stop *stop,
			 struct error *err)
{
	const struct network_rule *beyond = NULL;
	struct buf text = BUF_INIT(512);
	struct network wanted = { 0 };
	int rc = network_require(&wanted, sb->client, err);

	if (rc < 0 || wanted.mode == NETWORK_DEFAULT)
		return rc;
	rc = reach_read(sb, stop, err);
	if (rc == 0 && !network_within(&sb->network, &wanted, &beyond)) {
		if (beyond)
			network_print_rule(beyond, &text);
		rc = error_set(err, ERR_POLICY, "the sandbox may reach %s",
			       beyond ? text.ptr : "every host");
	}
	if (rc < 0) {
		error_add(err, ", but %s limits its network", wanted.source);
		error_hint(err, "Start a new sandbox.");
	}
	network_release(&wanted);
	buf_release(&text);
	return rc;
}

int reach_allow_host(struct sandbox *sb, struct str host,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;
	struct network wider = { 0 };
	struct network n = { 0 };
	int rc = reach_read(sb, stop, err);

	if (rc == 0 && !ops->set_network)
		rc = error_set(err, ERR_USAGE,
			       "%s cannot change the network of a sandbox that "
			       "runs",
			       sandbox_client_name(sb->client));
	network_copy(&wider, &sb->network);
	free(wider.source);
	wider.source = xstrdup("/network allow");
	if (rc == 0)
		rc = network_add(&wider, host, err);
	if (rc == 0)
		rc = sandbox_choose_network(sb->client, &wider, &n, err);
	if (rc == 0 && ops->set_network(sb, &n, stop, err) < 0)
		rc = sandbox_blame(sb->client, err);
	if (rc == 0)
		network_copy(&sb->network, &n);
	network_release(&wider);
	network_release(&n);
	return rc;
}
