/* credential.h - finds, asks for and stores API keys. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CREDENTIAL_H
#define CMD_CREDENTIAL_H

#include <stdio.h>

#include "cmd/app.h"

/* Returns the callbacks with which the settings decrypt stored keys; they use
 * app. */
struct settings_store credential_store(struct app *app);
/* Returns a vault_ask that never asks the user: it only knows the passphrase in
 * the environment or one that was typed before. Any thread. */
struct vault_ask credential_ask_nobody(struct app *app);
/* Returns ~/.deepagents/.state. Owned. */
char *credential_dir(const struct settings *set);

/* A credential found by name. The strings are owned. */
struct credential {
	char *name;
	char *variable;
	char *group; /* the sandbox provider that uses it, or NULL */
	bool required;
};
/* Finds a credential by its name, its variable, or a model provider's second
 * name. ERR_CONFIG if there is none: for a provider without a credential err
 * says what to do instead, otherwise it lists the known names. */
int credential_find(struct credential *c, struct app *app, const char *name,
		    struct error *err);
void credential_release(struct credential *c);
/* Checks the value of --base-url. *url is the address or, if given is the name
 * of one of the provider's regions, that region's address. given may be
 * NULL. */
int credential_base_url(const struct credential *c, const char *given,
			const char **url, struct error *err);

enum credential_state {
	CREDENTIAL_MISSING,
	CREDENTIAL_OPTIONAL, /* no key needed: a local server, or another
				program provides tokens */
	CREDENTIAL_STORED,   /* stored encrypted */
	CREDENTIAL_PLAIN,    /* in the auth.json of the Python program, not
				encrypted */
	CREDENTIAL_ENV,
};
/* Returns where the key comes from and appends it to label: "stored", "env:
 * DEEPAGENTS_CODE_X", "missing", ... */
enum credential_state credential_state(const struct settings *set,
				       const char *name, const char *variable,
				       struct buf *label);
/* If a variable that is exported for all programs sets an address, asks at the
 * terminal whether the key of this provider belongs to it. *url: the address to
 * store with the key, borrowed, or unchanged. After a no prints how to change
 * that later. */
int credential_ask_address(struct app *app, const char *name, const char **url,
			   struct error *err);
/* If there is such a variable, prints that a stored key does not go there. */
void credential_print_address(const struct settings *set, const char *name,
			      FILE *out);
/* Asks for the key with hidden input, and stores it. */
int credential_ask(struct app *app, const char *name, struct error *err);
/* Stores the key. If the key in change is empty, removes the stored one.
 * *changed: whether the stored keys are different now; changed may be NULL. */
int credential_store_key(struct app *app, const struct vault_change *change,
			 bool *changed, struct error *err);

#endif
