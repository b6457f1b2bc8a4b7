/* check.c - refuses secrets that a provider cannot hold. */
/* SPDX-License-Identifier: MIT */
/*
 * What a provider can do is data: its struct secret_limits. A secret that would
 * be sent in another way than it is written, or to more hosts, is an error
 * before anything is created.
 */
#include <string.h>

#include "sandbox/secrets/secrets.h"

/* Returns what the provider cannot do for this secret, or NULL. */
static const char *fault_of(const struct secret *s, unsigned can)
{
	if (s->signs)
		return can & SECRET_CAN_SIGN ? NULL : "sign requests to AWS";
	if (s->header && can & SECRET_CLIENT_SENDS && !s->env)
		return "set a header; it replaces a placeholder: add env";
	if (s->header && !(can & (SECRET_CAN_HEADER | SECRET_CLIENT_SENDS)))
		return "set a header; it replaces a placeholder: remove header";
	if (!s->header && !(can & SECRET_CAN_PLACEHOLDER) &&
	    !(can & SECRET_CAN_FORMAT))
		return "replace a placeholder: add header";
	if (!s->header && !(can & SECRET_CAN_PLACEHOLDER) && !s->format)
		return "replace a placeholder everywhere: add format, such as "
		       "\"Bearer {}\", or header";
	if (!s->header && !(can & SECRET_CAN_PLACEHOLDER) &&
	    !strncmp(s->format, "Basic ", 6))
		return "replace a placeholder inside of Basic: add header";
	for (size_t i = 0; i < s->hosts.n; i++)
		if (s->hosts.rules[i].wild && !(can & SECRET_CAN_WILD))
			return "bind a secret to all hosts below a name";
	if (s->hosts.n > 1 && can & SECRET_ONE_HOST)
		return "bind a secret to more than one host";
	if (s->paths && !(can & SECRET_CAN_PATHS))
		return "limit a secret to paths";
	if (s->methods && !(can & SECRET_CAN_METHODS))
		return "limit a secret to methods";
	return NULL;
}

int secrets_check(const struct secrets *s, const struct secret_limits *limits,
		  const char *provider, struct error *err)
{
	if (!s->n)
		return 0;
	if (!limits) {
		error_set(err, ERR_USAGE,
			  "%s: %s cannot put secrets into the requests of its "
			  "sandboxes",
			  s->list[0].source, provider);
		return error_hint(err, "Use another --sandbox (`dcode help "
				       "secrets` has a table), or remove the "
				       "secret.");
	}
	if (limits->most && s->n > limits->most)
		return error_set(err, ERR_USAGE,
				 "%s takes at most %zu secrets, not %zu",
				 provider, limits->most, s->n);
	for (size_t i = 0; i < s->n; i++) {
		const char *fault = fault_of(&s->list[i], limits->can);

		if (fault)
			return error_set(err, ERR_USAGE, "%s: %s cannot %s",
					 s->list[i].source, provider, fault);
	}
	return 0;
}

int secrets_check_network(const struct secrets *s,
			  const struct secret_limits *limits,
			  const struct network *n, const char *provider,
			  struct error *err)
{
	if (!s->n || !limits || !(limits->can & SECRET_ALONE) ||
	    n->mode != NETWORK_LIST)
		return 0;
	error_set(err, ERR_USAGE,
		  "%s: %s cannot both limit a sandbox to a list of hosts and "
		  "put secrets into its requests",
		  s->list[0].source, provider);
	return error_hint(err, "Use --sandbox-network full, or remove the "
			       "secret.");
}
