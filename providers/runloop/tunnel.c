/* tunnel.c - the addresses of a devbox's ports. */
/* SPDX-License-Identifier: MIT */
/*
 * A devbox has at most one tunnel, which serves all its ports at addresses like
 * https://3000-KEY.tunnel.runloop.ai (enableDevboxTunnel of the vendor's API
 * document, and getTunnelUrl() of the SDK 1.32.0, read 2026-11-26). By default
 * anybody who knows the address reaches the port, so the mode is always sent.
 * Begin reading at find_tunnel().
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/runloop/runloop.h"
#include "sandbox/ports/ports.h"

enum { TUNNEL_MS = 60000 };

static int ask_tunnel(struct sandbox *sb, const char *verb, const char *body,
		      cJSON **tunnel, const struct stop *stop,
		      struct error *err)
{
	const struct http_request ask = { .method = "POST",
					  .path = verb,
					  .body = str_of(body),
					  .what = "changing the tunnel" };

	return vendor_ask(sb->client->priv, sb->id, &ask, tunnel, stop, err);
}

/* Sets *tunnel, owned by the caller: the devbox's tunnel in this mode, which is
 * made if there is none. A tunnel in the other mode is removed if replace is
 * set. */
static int find_tunnel(struct sandbox *sb, const char *mode, bool replace,
		       cJSON **tunnel, const struct stop *stop,
		       struct error *err)
{
	char *body = xasprintf("{\"auth_mode\":\"%s\"}", mode);
	cJSON *info = NULL;
	const char *now;
	int rc = vendor_get(sb->client->priv, sb->id, &info, stop, err);

	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the devbox has ended");
	now = json_string(json_get(info, "tunnel"), "auth_mode", "");
	if (rc == 0 && !strcmp(now, mode)) {
		*tunnel =
			cJSON_DetachItemFromObjectCaseSensitive(info, "tunnel");
	} else if (rc == 0 && *now && !replace) {
		error_set(err, ERR_USAGE,
			  "anybody reaches the ports of this devbox: its "
			  "tunnel is open");
		rc = error_hint(err, "Close it first, or use `dcode sandbox "
				     "url --public`.");
	} else if (rc == 0) {
		if (*now)
			rc = ask_tunnel(sb, "/remove_tunnel", "{}", NULL, stop,
					err);
		if (rc == 0)
			rc = ask_tunnel(sb, "/enable_tunnel", body, tunnel,
					stop, err);
	}
	/* It must be as asked for, never open instead. */
	if (rc == 0 && strcmp(json_string(*tunnel, "auth_mode", ""), mode) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: another tunnel");
	cJSON_Delete(info);
	free(body);
	return rc;
}

/* Sets the port's address. */
static int set_tunnel_url(struct sandbox *sb, unsigned port,
			  const cJSON *tunnel, struct port_url *u,
			  struct error *err)
{
	const struct vendor_client *c = sb->client->priv;
	const char *key = json_string(tunnel, "tunnel_key", "");
	struct str host = str_of(c->api.base);
	size_t scheme = str_search(host, STR("://")) + 3;

	if (!vendor_id_ok(key))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no tunnel");
	host = str_skip(host, scheme);
	host.len = str_find(host, '/');
	if (str_starts(host, "api."))
		host = str_skip(host, strlen("api."));
	u->url = xasprintf("%.*s%u-%s.tunnel.%.*s", (int)scheme, c->api.base,
			   port, key, (int)host.len, host.ptr);
	/* another dcode may replace the tunnel */
	u->until = clock_ms() + TUNNEL_MS;
	return 0;
}

static int ask_port(struct sandbox *sb, unsigned port, struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	cJSON *tunnel = NULL;
	int rc = find_tunnel(sb, "authenticated", false, &tunnel, stop, err);

	if (rc == 0)
		rc = set_tunnel_url(sb, port, tunnel, u, err);
	if (rc == 0)
		rc = port_url_set_token(
			u, "X-Runloop-Tunnel-Authorization", "Bearer ",
			json_string(tunnel, "auth_token", ""), err);
	cJSON_Delete(tunnel);
	return rc;
}

static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	cJSON *tunnel = NULL;
	int rc = find_tunnel(sb, "open", true, &tunnel, stop, err);

	if (rc == 0)
		rc = set_tunnel_url(sb, port, tunnel, u, err);
	cJSON_Delete(tunnel);
	return rc;
}

static int withdraw_port(struct sandbox *sb, unsigned port,
			 const struct port_url *u, const struct stop *stop,
			 struct error *err)
{
	(void)port;
	(void)u;
	return ask_tunnel(sb, "/remove_tunnel", "{}", NULL, stop, err);
}

const struct port_ops runloop_ports = { .url = ask_port,
					.publish = publish_port,
					.withdraw = withdraw_port };
