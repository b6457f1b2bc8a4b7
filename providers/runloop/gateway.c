/* gateway.c - secrets that Runloop puts into requests of a devbox. */
/* SPDX-License-Identifier: MIT */
/*
 * A gateway of the account sends requests to one host, with a secret of the
 * account. Only a client that asks at the gateway's address, in the variable
 * NAME_URL, with the token in NAME, reaches it. The token is good from that
 * devbox alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vault.h"
#include "providers/runloop/runloop.h"

const struct secret_limits runloop_secrets = {
	.can = SECRET_CAN_HEADER | SECRET_ONE_HOST | SECRET_IN_ACCOUNT,
	.note = "Runloop puts a secret into requests to the address in the "
		"variable NAME_URL, where NAME is its env. Other requests do "
		"not get it.",
};
static const struct vendor_pages gateway_pages = { .items = "gateway_configs",
						   .query = "starting_after" };
static const struct vendor_pages secret_pages = { .items = "secrets",
						  .query = "starting_after" };
static const struct vendor_pages policy_pages = { .items = "network_policies",
						  .query = "starting_after" };
static const struct vendor_objects gateways = {
	.path = "/v1/gateway-configs",
	.list = "/v1/gateway-configs?limit=100",
	.pages = &gateway_pages,
	.name = "name",
	.id = "id",
	.end = "/delete",
};
static const struct vendor_objects stored_secrets = {
	.path = "/v1/secrets",
	.list = "/v1/secrets?limit=5000", /* it has no pages */
	.pages = &secret_pages,
	.name = "name",
	.id = "name",
	.end = "/delete",
};
static const struct vendor_objects policies = {
	.path = "/v1/network-policies",
	.list = "/v1/network-policies?limit=100",
	.pages = &policy_pages,
	.name = "name",
	.id = "id",
	.end = "/delete",
};
/* A gateway needs its secret. */
static const struct vendor_objects *const objects[] = { &gateways,
							&stored_secrets,
							&policies, NULL };

static bool is_basic(const struct secret *s)
{
	return !strncmp(s->format, "Basic ", 6);
}

/* Adds how the gateway sends the secret. A client sends the gateway's token in
 * the same way. */
static void add_mechanism(cJSON *gateway, const struct secret *s)
{
	cJSON *mechanism = cJSON_AddObjectToObject(gateway, "auth_mechanism");
	bool key = !strcmp(s->format, "{}");

	cJSON_AddStringToObject(mechanism, "type",
				key           ? "header"
				: is_basic(s) ? "basic"
					      : "bearer");
	if (key)
		cJSON_AddStringToObject(mechanism, "key", s->header);
}

/* The other mechanisms are those of Authorization. */
static int check_mechanism(const struct secret *s, struct error *err)
{
	if (!strcmp(s->format, "{}") ||
	    (str_is_nocase(str_of(s->header), "authorization") &&
	     (is_basic(s) || !strcmp(s->format, "Bearer {}"))))
		return 0;
	error_set(err, ERR_CONFIG,
		  "%s: Runloop cannot send a secret in this format", s->source);
	error_hint(err, "Write \"{}\", or with Authorization also "
			"\"Bearer {}\" or \"Basic USER:{}\".");
	err->nothing_made = true;
	return -1;
}

/* Appends "USER:VALUE", which the gateway encodes in base64. */
static void print_user(const struct secret *s, struct buf *out)
{
	const char *format = s->format + strlen("Basic ");
	const char *hole = strstr(format, "{}");

	buf_add(out, format, (size_t)(hole - format));
	buf_adds(out, s->value);
	buf_adds(out, hole + 2);
}

static int store_secret(struct vendor_client *c, const char *name,
			const struct secret *s, const struct stop *stop,
			struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	struct buf text = BUF_INIT(16 << 10);

	if (is_basic(s))
		print_user(s, &text);
	else
		buf_adds(&text, s->value);
	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddStringToObject(body, "value", text.ptr);
	buf_wipe(&text);
	return vault_create_object(c, &stored_secrets, body, stop, err);
}

static int add_gateway(struct vendor_client *c, const char *name,
		       const struct secret *s, const struct stop *stop,
		       struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	char *endpoint = xasprintf("https://%s", s->hosts.rules[0].host);

	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddStringToObject(body, "endpoint", endpoint);
	add_mechanism(body, s);
	free(endpoint);
	return vault_create_object(c, &gateways, body, stop, err);
}

static int add_secrets(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err)
{
	cJSON *all = cJSON_AddObjectToObject(body, "gateways");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < spec->secrets->n; i++)
		rc = check_mechanism(&spec->secrets->list[i], err);
	for (size_t i = 0; rc == 0 && i < spec->secrets->n; i++) {
		const struct secret *s = &spec->secrets->list[i];
		char *name = vault_object_name(spec->label, s);
		cJSON *one =
			cJSON_AddObjectToObject(all, s->env ? s->env : s->name);

		cJSON_AddStringToObject(one, "gateway", name);
		cJSON_AddStringToObject(one, "secret", name);
		rc = store_secret(c, name, s, stop, err);
		if (rc == 0)
			rc = add_gateway(c, name, s, stop, err);
		free(name);
	}
	return rc;
}

const struct vendor_vault runloop_vault = { .add = add_secrets,
					    .objects = objects };
