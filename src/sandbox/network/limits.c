/* limits.c - refuses a list of hosts that a provider cannot enforce. */
/* SPDX-License-Identifier: MIT */
/*
 * What a provider can enforce is data: its struct network_limits. A part of a
 * list that would only nearly hold is an error before anything is created,
 * never a warning.
 */
#include <string.h>

#include "base/mem.h"
#include "sandbox/network/network.h"

enum { TLS_PORT = 443 };

/* Returns why the provider cannot enforce the rule, or NULL. */
static const char *rule_fault(const struct network_rule *r, unsigned can)
{
	bool single = r->bits == (r->family == 6 ? 128 : 32);

	if (r->denies && !r->family && !(can & NETWORK_CAN_DENY_NAMES))
		return "deny a host by its name";
	if (r->denies && r->family && !(can & NETWORK_CAN_DENY_ADDRESSES))
		return "deny an address";
	if (r->family && !(can & NETWORK_CAN_ADDRESSES))
		return "allow an address; it takes names";
	if (r->family == 6 && !(can & NETWORK_CAN_IPV6))
		return "filter IPv6 addresses";
	if (r->family && !single && !(can & NETWORK_CAN_NETWORKS))
		return "filter networks; it takes single addresses";
	if (r->port && !r->family && can & NETWORK_TLS_ONLY)
		return r->port == TLS_PORT ? NULL
					   : "open a port other than 443";
	if (r->port && !(can & NETWORK_CAN_PORTS))
		return "limit a host to a port";
	return NULL;
}

static int refuse_rule(const struct network_rule *r, const char *provider,
		       const char *why, struct error *err)
{
	struct buf text = BUF_INIT(512);

	network_print_rule(r, &text);
	error_set(err, ERR_USAGE, "%s cannot %s: %s", provider, why, text.ptr);
	buf_release(&text);
	return -1;
}

/* True if the list also contains the host x of this "*.x". */
static bool has_apex(const struct network *n, const struct network_rule *wild)
{
	for (size_t i = 0; i < n->n; i++) {
		const struct network_rule *r = &n->rules[i];

		if (!r->family && !r->wild && r->denies == wild->denies &&
		    (!r->port || r->port == wild->port) &&
		    !strcmp(r->host, wild->host))
			return true;
	}
	return false;
}

/* Checks the rules as a whole. */
static int check_whole(const struct network *n,
		       const struct network_limits *limits,
		       const char *provider, struct error *err)
{
	size_t denied = 0;
	size_t names = 0;

	for (size_t i = 0; i < n->n; i++) {
		denied += n->rules[i].denies;
		names += !n->rules[i].family;
	}
	if (denied && !n->open && !(limits->can & NETWORK_CAN_MIX))
		return error_set(err, ERR_USAGE,
				 "%s cannot allow some hosts and deny others "
				 "in one list",
				 provider);
	if (names && names < n->n && limits->can & NETWORK_NAMES_OR_ADDRESSES)
		return error_set(err, ERR_USAGE,
				 "%s takes either names or addresses, not both",
				 provider);
	if (limits->names && names > limits->names)
		return error_set(err, ERR_USAGE,
				 "%s takes at most %zu names, not %zu",
				 provider, limits->names, names);
	if (limits->addresses && n->n - names > limits->addresses)
		return error_set(err, ERR_USAGE,
				 "%s takes at most %zu addresses, not %zu",
				 provider, limits->addresses, n->n - names);
	return 0;
}

int network_check(const struct network *n, const struct network_limits *limits,
		  const char *provider, struct error *err)
{
	if (n->mode != NETWORK_LIST)
		return 0;
	if (!limits) {
		error_set(err, ERR_USAGE,
			  "%s cannot filter by host yet: its network is none "
			  "or full",
			  provider);
		return error_hint(err,
				  "Use --sandbox-network none or full, or a "
				  "provider that filters: `dcode help network` "
				  "lists them.");
	}
	for (size_t i = 0; i < n->n; i++) {
		const struct network_rule *r = &n->rules[i];
		const char *why = rule_fault(r, limits->can);

		if (why)
			return refuse_rule(r, provider, why, err);
		if (r->wild && limits->can & NETWORK_WILD_HAS_APEX &&
		    !has_apex(n, r)) {
			refuse_rule(r, provider,
				    "allow the hosts below a name without the "
				    "name itself",
				    err);
			return error_hint(err, "Add %s to the list too.",
					  r->host);
		}
	}
	return check_whole(n, limits, provider, err);
}
