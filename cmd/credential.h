/* credential.h - the names that keys are stored under, and the store. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CREDENTIAL_H
#define CMD_CREDENTIAL_H

#include "cmd/app.h"

/* How app's settings open the stored keys; arg is the app. */
struct settings_store credential_store(struct app *app);
/* How they are opened where nobody can be asked: by what was typed before. Any
 * thread. */
struct vault_ask credential_ask_nobody(struct app *app);
/* ~/.deepagents/.state. Owned. */
char *credential_dir(const struct settings *set);

/* One that was found by name; the strings are owned. */
struct credential {
	char *name;
	char *variable;
	char *group; /* the sandbox provider, or NULL */
	bool required;
};
/* By its name, its variable, or a model provider's second name. ERR_CONFIG says
 * what to do where a provider has none, or which ones there are. */
int credential_find(struct credential *c, struct app *app, const char *name,
		    struct error *err);
void credential_release(struct credential *c);
/* What --base-url was given as, checked: an address, or the name of a region
 * of its provider, whose address it becomes. given may be NULL. */
int credential_base_url(const struct credential *c, const char *given,
			const char **url, struct error *err);

enum credential_state {
	CREDENTIAL_MISSING,
	CREDENTIAL_OPTIONAL, /* works without one: a server of one's own, or
				tokens of a program */
	CREDENTIAL_STORED,   /* sealed */
	CREDENTIAL_PLAIN,    /* in the Python program's auth.json */
	CREDENTIAL_ENV,
};
/* Where its value comes from. label: "stored", "env: DEEPAGENTS_CODE_X",
 * "missing", ... appended. */
enum credential_state credential_state(const struct settings *set,
				       const char *name, const char *variable,
				       struct buf *label);
/* Asks for it without showing it, and stores it. */
int credential_ask(struct app *app, const char *name, struct error *err);
/* Stores, or (without bytes) removes it. *changed may be NULL. */
int credential_store_key(struct app *app, const struct vault_change *change,
			 bool *changed, struct error *err);

#endif
