/* address.c - the addresses at which a vendor answers for a sandbox's port. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at ports_ask_url(). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/ports/ports.h"

void port_url_release(struct port_url *u)
{
	mem_wipe(u->url); /* a public address may have its token in it */
	mem_wipe(u->token);
	free(u->more);
	mem_wipe(u->handle);
	*u = (struct port_url){ 0 };
}

bool port_host_ok(const char *host)
{
	return *host && strspn(host, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-.") == strlen(host);
}

int port_url_set_token(struct port_url *u, const char *header,
		       const char *prefix, const char *token, struct error *err)
{
	/* a line break would add headers to the user's requests */
	if (!*token || !str_is_visible(str_of(token)))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no token for the "
				 "port");
	u->header = header;
	u->token = xasprintf("%s%s", prefix, token);
	return 0;
}

/* Fails if the provider does not have this kind of address. */
static int check_kind(const struct sandbox_client *client, bool is_public,
		      struct error *err)
{
	const struct port_ops *ops = ports_ops(client);
	const char *name = client->provider->name;

	if (is_public ? ops->publish != NULL : ops->url != NULL)
		return 0;
	if (is_public)
		return error_set(err, ERR_USAGE,
				 "%s has no public addresses for ports", name);
	if (ops->publish) {
		error_set(err, ERR_USAGE,
			  "%s has only public addresses for ports: anybody who "
			  "knows one reaches the server",
			  name);
		return error_hint(err, ops->dial
					       ? "Use `dcode sandbox forward`, "
						 "or --public to open the port "
						 "to everybody."
					       : "--public opens the port to "
						 "everybody.");
	}
	error_set(err, ERR_USAGE, "%s has no addresses for ports%s%s", name,
		  ops->why_none ? ": " : "",
		  ops->why_none ? ops->why_none : "");
	return ops->dial ? error_hint(err, "`dcode sandbox forward` opens the "
					   "port on this machine.")
			 : -1;
}

int ports_ask_url(struct sandbox *sb, unsigned port, bool is_public,
		  struct port_url *u, const struct stop *stop,
		  struct error *err)
{
	const struct port_ops *ops = ports_ops(sb->client);
	int rc = check_kind(sb->client, is_public, err);

	if (rc < 0)
		return -1;
	rc = is_public ? ops->publish(sb, port, u, stop, err)
		       : ops->url(sb, port, u, stop, err);
	if (rc == 0 && !is_public && !u->token)
		rc = error_set(err, ERR_PROTOCOL, "the port is not protected");
	if (rc == 0)
		return 0;
	port_url_release(u);
	return sandbox_blame(sb->client, err);
}

int ports_close_url(struct sandbox *sb, unsigned port, const struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	const struct port_ops *ops = ports_ops(sb->client);
	int rc = ops->withdraw ? ops->withdraw(sb, port, u, stop, err) : 1;

	return rc < 0 ? sandbox_blame(sb->client, err) : rc;
}
