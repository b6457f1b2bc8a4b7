/* ports.c - the addresses of a Modal sandbox's ports. */
/* SPDX-License-Identifier: MIT */
/*
 * A connect token opens one port to requests that have it, at any time. A
 * tunnel opens a port to everybody, and only a port that was listed when the
 * sandbox was created has one (createConnectToken() and tunnels() of the
 * JavaScript SDK 0.11.1, read 2026-11-26).
 */
#include "sandbox/ports/ports.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/modal/modal.h"

enum { TUNNELS_S = 50 /* the SDK's limit */, HTTPS = 443 };

static int ask_port(struct sandbox *sb, unsigned port, struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	struct modal *m = sb->client->priv;
	const struct protobuf_ask ask = {
		"SandboxCreateConnectToken", "asking for the port's address",
		.request = protobuf_texts("sandbox_id", sb->id, NULL),
		.flags = modal_flags(sb->id)
	};
	ProtobufCMessage *answer;
	const Modal__SandboxCreateConnectTokenResponse *r;
	int rc;

	cJSON_AddNumberToObject(ask.request, "port", port);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	r = (const Modal__SandboxCreateConnectTokenResponse *)answer;
	u->url = modal_take_address(m, r->url, "port", err);
	rc = u->url ? port_url_set_token(u, "Authorization", "Bearer ",
					 r->token, err)
		    : -1;
	protobuf_free(answer);
	return rc;
}

static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxGetTunnels", "asking for the port's address",
		.request = protobuf_texts("sandbox_id", sb->id, NULL),
		.timeout_ms = (TUNNELS_S + 10) * 1000,
		.flags = modal_flags(sb->id)
	};
	ProtobufCMessage *answer;
	const Modal__SandboxGetTunnelsResponse *r;

	cJSON_AddNumberToObject(ask.request, "timeout", TUNNELS_S);
	if (modal_ask(sb->client->priv, &ask, &answer, stop, err) < 0)
		return -1;
	r = (const Modal__SandboxGetTunnelsResponse *)answer;
	for (size_t i = 0; i < r->n_tunnels && !u->url; i++) {
		const Modal__TunnelData *t = r->tunnels[i];

		if (t->container_port != port || !port_host_ok(t->host))
			continue;
		u->url = t->port == HTTPS
				 ? xasprintf("https://%s", t->host)
				 : xasprintf("https://%s:%u", t->host, t->port);
	}
	protobuf_free(answer);
	if (u->url)
		return 0;
	error_set(err, ERR_USAGE,
		  "this sandbox was created without a public address for port "
		  "%u",
		  port);
	return error_hint(err, "List it in ports of "
			       "[sandboxes.providers.modal.params], and create "
			       "another sandbox.");
}

const struct port_ops modal_ports = { .url = ask_port,
				      .publish = publish_port };
