/* contacts.c - adds up what commands in a sandbox have connected to. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/network/network.h"

static struct network_contact *find_contact(const struct network_contacts *c,
					    const struct network_contact *one)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].port == one->port &&
		    !strcmp(c->list[i].verdict, one->verdict) &&
		    !strcmp(c->list[i].host, one->host))
			return &c->list[i];
	return NULL;
}

/* The last places are for what does not fit: one for each verdict. */
enum { OTHERS = 16 };

void network_contacts_add(struct network_contacts *c,
			  const struct network_contact *one)
{
	struct network_contact *known = find_contact(c, one);
	struct network_contact other;

	if (!known && c->n >= NETWORK_CONTACTS_MAX - OTHERS) {
		other = *one;
		other.port = 0;
		snprintf(other.host, sizeof(other.host), NETWORK_OTHERS);
		one = &other;
		known = find_contact(c, one);
	}
	if (!known && c->n < NETWORK_CONTACTS_MAX) {
		if (!c->list)
			c->list =
				xcalloc(NETWORK_CONTACTS_MAX, sizeof(*c->list));
		c->list[c->n++] = *one;
	}
	if (!known)
		return;
	known->up += one->up;
	known->down += one->down;
	known->count += one->count;
	if (one->last > known->last)
		known->last = one->last;
}

bool network_contact_refused(const struct network_contact *c)
{
	return strcmp(c->verdict, NETWORK_REACHED) != 0 &&
	       strcmp(c->verdict, NETWORK_FAILED) != 0;
}

void network_contacts_release(struct network_contacts *c)
{
	free(c->list);
	*c = (struct network_contacts){ 0 };
}
