/* ports.c - the public addresses of a Vercel sandbox's ports. */
/* SPDX-License-Identifier: MIT */
/*
 * A sandbox has a list of ports, and each port has a route: an address that
 * anybody reaches. An update with the whole list opens and closes ports while
 * the sandbox runs (update() of the SDK 3.5.0, read 2026-11-26). v1 has no
 * updates. Begin reading at publish_port().
 */
#include "sandbox/ports/ports.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"

/* Asks for the routes (ports NULL), or sends the list of ports. Frees ports. */
static int ask_routes(struct sandbox *sb, cJSON *ports, cJSON **answer,
		      const struct stop *stop, struct error *err)
{
	struct vercel *v = sb->client->priv;
	char *bare = xasprintf("/%s/sandboxes/%s", v->v1 ? "v1" : "v2", sb->id);
	char *path = vercel_path(v, bare, v->v1 ? "" : v->query);
	const struct http_request ask = { .method = ports ? "PATCH" : "GET",
					  .path = path,
					  .what = "asking for the ports",
					  .flags = REST_AGAIN };
	cJSON *body = ports ? cJSON_CreateObject() : NULL;
	int rc;

	if (ports)
		cJSON_AddItemToObject(body, "ports", ports);
	rc = ports ? vendor_post(&v->kit, &ask, body, answer, stop, err)
		   : vendor_api(&v->kit, &ask, answer, stop, err);
	cJSON_Delete(body);
	free(path);
	free(bare);
	return rc;
}

/* Sets u->url if the answer has a route for the port. */
static int take_route(const struct sandbox *sb, const cJSON *answer,
		      unsigned port, struct port_url *u, struct error *err)
{
	const cJSON *route;

	cJSON_ArrayForEach (route, json_get(answer, "routes")) {
		if (json_int(route, "port", 0) != port)
			continue;
		u->url = vendor_server_url(sb->client->priv,
					   json_string(route, "url", ""), err);
		return u->url ? 0 : -1;
	}
	return 0;
}

/* Returns the ports of the routes without this one, owned by the caller. */
static cJSON *other_ports(const cJSON *answer, unsigned port)
{
	cJSON *ports = cJSON_CreateArray();
	const cJSON *route;

	cJSON_ArrayForEach (route, json_get(answer, "routes")) {
		int64_t n = json_int(route, "port", 0);

		if (n > 0 && n != port)
			cJSON_AddItemToArray(ports,
					     cJSON_CreateNumber((double)n));
	}
	return ports;
}

static int fail_full(unsigned port, bool v1, struct error *err)
{
	if (!v1)
		return error_set(err, ERR_LIMIT,
				 "%d ports of this sandbox are open already",
				 VERCEL_PORTS);
	error_set(err, ERR_USAGE,
		  "the v1 API opens ports only when it creates a sandbox, and "
		  "this one was created without port %u",
		  port);
	return error_hint(err,
			  "List it in ports of "
			  "[sandboxes.providers.vercel.params], and create "
			  "another sandbox.");
}

/* u->handle becomes "added" if the port was not open before. */
static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	const struct vercel *v = sb->client->priv;
	cJSON *answer = NULL;
	cJSON *ports;
	int rc = ask_routes(sb, NULL, &answer, stop, err);

	if (rc == 0)
		rc = take_route(sb, answer, port, u, err);
	if (rc < 0 || u->url) {
		cJSON_Delete(answer);
		return rc;
	}
	ports = other_ports(answer, port);
	cJSON_Delete(answer);
	answer = NULL;
	if (v->v1 || cJSON_GetArraySize(ports) >= VERCEL_PORTS) {
		cJSON_Delete(ports);
		return fail_full(port, v->v1, err);
	}
	cJSON_AddItemToArray(ports, cJSON_CreateNumber(port));
	rc = ask_routes(sb, ports, &answer, stop, err);
	if (rc == 0)
		rc = take_route(sb, answer, port, u, err);
	if (rc == 0 && !u->url)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no route for the "
			       "port");
	u->handle = xstrdup("added");
	cJSON_Delete(answer);
	return rc;
}

static int withdraw_port(struct sandbox *sb, unsigned port,
			 const struct port_url *u, const struct stop *stop,
			 struct error *err)
{
	cJSON *answer = NULL;
	cJSON *ports;
	int rc;

	if (!u->handle)
		return 1;
	rc = ask_routes(sb, NULL, &answer, stop, err);
	if (rc == 0) {
		ports = other_ports(answer, port);
		cJSON_Delete(answer);
		answer = NULL;
		rc = ask_routes(sb, ports, &answer, stop, err);
	}
	cJSON_Delete(answer);
	return rc;
}

const struct port_ops vercel_ports = {
	.publish = publish_port,
	.withdraw = withdraw_port,
	.why_none = "Vercel opens ports only at public addresses",
};
