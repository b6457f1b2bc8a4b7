/* match.c - compares hosts with lists of hosts, and lists with each other. */
/* SPDX-License-Identifier: MIT */
/*
 * Names are compared as text and addresses as bits: nothing is resolved. So an
 * entry for a name says nothing about an address, and the reverse.
 */
#include <string.h>

#include "base/str.h"
#include "sandbox/network/network.h"

static bool is_below(const char *name, const char *parent)
{
	size_t n = strlen(name);
	size_t p = strlen(parent);

	return n > p + 1 && name[n - p - 1] == '.' &&
	       !strcmp(name + n - p, parent);
}

/* True if the first `bits` bits of the addresses are equal. */
static bool has_prefix(const unsigned char *a, const unsigned char *b,
		       unsigned bits)
{
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;

	return !memcmp(a, b, whole) &&
	       (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}

/* True if each port of `inner` is one of `outer`. */
static bool ports_cover(const struct network_rule *outer,
			const struct network_rule *inner)
{
	if (outer->port)
		return inner->port == outer->port;
	return outer->family || !inner->port || inner->port == 80 ||
	       inner->port == 443;
}

/* True if they have a port in common. */
static bool ports_meet(const struct network_rule *a,
		       const struct network_rule *b)
{
	return ports_cover(a, b) || ports_cover(b, a);
}

/* True if each host of `inner` is one of `outer`. */
static bool hosts_cover(const struct network_rule *outer,
			const struct network_rule *inner)
{
	if (outer->family != inner->family)
		return false;
	if (outer->family)
		return outer->bits <= inner->bits &&
		       has_prefix(outer->address, inner->address, outer->bits);
	if (!outer->wild)
		return !inner->wild && !strcmp(outer->host, inner->host);
	return is_below(inner->host, outer->host) ||
	       (inner->wild && !strcmp(inner->host, outer->host));
}

static bool rule_covers(const struct network_rule *outer,
			const struct network_rule *inner)
{
	return hosts_cover(outer, inner) && ports_cover(outer, inner);
}

static bool rules_meet(const struct network_rule *a,
		       const struct network_rule *b)
{
	return (hosts_cover(a, b) || hosts_cover(b, a)) && ports_meet(a, b);
}

static const struct network_rule *find_cover(const struct network *n,
					     bool denies,
					     const struct network_rule *inner)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->rules[i].denies == denies &&
		    rule_covers(&n->rules[i], inner))
			return &n->rules[i];
	return NULL;
}

bool network_allows(const struct network *n, const struct network_rule *host,
		    const struct network_rule **rule)
{
	*rule = NULL;
	if (n->mode != NETWORK_LIST)
		return n->mode == NETWORK_FULL;
	for (size_t i = 0; i < n->n; i++)
		if (n->rules[i].denies && rules_meet(&n->rules[i], host)) {
			*rule = &n->rules[i];
			return false;
		}
	*rule = find_cover(n, false, host);
	return *rule || n->open;
}

/* True if n allows nothing of what the ceiling's rule denies. Otherwise *beyond
 * is the entry that allows it, or NULL. */
static bool keeps_denial(const struct network *n,
			 const struct network_rule *denied,
			 const struct network_rule **beyond)
{
	*beyond = NULL;
	if (find_cover(n, true, denied))
		return true;
	if (n->open)
		return false;
	for (size_t i = 0; i < n->n; i++) {
		*beyond = &n->rules[i];
		if (!n->rules[i].denies && rules_meet(&n->rules[i], denied) &&
		    !find_cover(n, true, &n->rules[i]))
			return false;
	}
	return true;
}

bool network_within(const struct network *n, const struct network *ceiling,
		    const struct network_rule **beyond)
{
	*beyond = NULL;
	if (ceiling->mode == NETWORK_FULL || ceiling->mode == NETWORK_DEFAULT ||
	    n->mode == NETWORK_NONE)
		return true;
	if (n->mode != NETWORK_LIST || ceiling->mode == NETWORK_NONE ||
	    (n->open && !ceiling->open)) {
		*beyond = n->n && !n->open ? &n->rules[0] : NULL;
		return false;
	}
	for (size_t i = 0; !ceiling->open && i < n->n; i++)
		if (!n->rules[i].denies &&
		    !find_cover(ceiling, false, &n->rules[i])) {
			*beyond = &n->rules[i];
			return false;
		}
	for (size_t i = 0; i < ceiling->n; i++)
		if (ceiling->rules[i].denies &&
		    !keeps_denial(n, &ceiling->rules[i], beyond))
			return false;
	return true;
}
