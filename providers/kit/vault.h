/* vault.h - the secrets of a sandbox in the form of a vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_VAULT_H
#define PROVIDERS_KIT_VAULT_H

#include "base/json.h"
#include "providers/kit/vendor.h"

/*
 * A vendor puts a secret (src/sandbox/secrets) into requests in one of two
 * ways. Either the create request has the value, or the account has a store of
 * secrets, and the create request has their names. An object of the store is
 * named "dcode-k3v7q2xa-GITHUB", after the sandbox's label, so that it can be
 * deleted when only the label is known: see sandbox_ops.clean().
 */

/* One kind of object of an account. It is also deleted if its name is the label
 * itself. */
struct vendor_objects {
	const char *path; /* "/secrets": a POST creates one */
	const char *list; /* the same, with a query, to list them */
	const struct vendor_pages *pages;
	const char *name; /* member of an item that has its name */
	const char *id;   /* member that names it in a path: "/secrets/ID" */
	/* a POST to it, behind the object's path, deletes the object; NULL: a
	 * DELETE does */
	const char *end;
};

/* How a vendor gets the secrets of a sandbox. */
struct vendor_vault {
	/* Adds spec->secrets to the body of the create request, and to the
	 * account's store if it has one. A failure has nothing_made set if no
	 * request was sent. */
	int (*add)(struct vendor_client *c, const struct sandbox_spec *spec,
		   cJSON *body, const struct stop *stop, struct error *err);
	/* The kinds of objects that belong to a sandbox, in the order in which
	 * they can be deleted; NULL-terminated, or NULL. */
	const struct vendor_objects *const *objects;
};

/* Returns the name of the secret's object. Owned. */
char *vault_object_name(const char *label, const struct secret *s);
/* Creates an object. Takes ownership of body, which it zeroes. An object that
 * an earlier try has created (409) is not an error. */
int vault_create_object(struct vendor_client *c, const struct vendor_objects *o,
			cJSON *body, const struct stop *stop,
			struct error *err);
/* Implements sandbox_ops.clean for a vendor that has objects. */
int vault_clean(struct sandbox_client *client, const char *label,
		const struct stop *stop, struct error *err);

/* Returns the hosts of all secrets, and the names that list has (NULL: none),
 * the most specific ones first. No two are equal, and none has a port. Release
 * it with network_release(). */
struct network vault_hosts(const struct secrets *all,
			   const struct network *list);
/* Returns the entry as vendors write it: "*.x". Owned. */
char *vault_host_text(const struct network_rule *host);
/* True if the secret is for every host of the entry. */
bool vault_covers(const struct secret *s, const struct network_rule *host);
/* True if some requests to the secret's hosts do not get its value. */
bool vault_is_limited(const struct secret *s);
/* ERR_CONFIG if one request might need two rules, at a vendor that applies only
 * the first that matches: a limited secret is alone on its hosts. */
int vault_check_rules(const struct secrets *all, const struct network *list,
		      const char *vendor, struct error *err);
/* Adds the whole value of the secret's header, "Bearer VALUE", to an object.
 * placeholder: with the placeholder instead of the value. */
void vault_add_header(cJSON *object, const char *key, const struct secret *s,
		      bool placeholder);
/* Adds the hosts of the secret as an array of text. */
void vault_add_hosts(cJSON *object, const char *key, const struct secret *s);
/* Adds the variables with the placeholders to an object. */
void vault_add_variables(cJSON *object, const struct secrets *all);

#endif
