/* grants.h - calls that the user has allowed beforehand. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_GRANTS_H
#define CMD_SESSION_GRANTS_H

#include "agent/agent.h"
#include "cmd/app.h"

struct grant {
	char *call;  /* owned: JSON of the call and of where it acts */
	bool stored; /* in the user's config.toml */
};

/* Zeroed: none. A call is the same when tool, every argument, machine, sandbox,
 * working directory, the user's directory that is mounted there, and the file
 * that it acts on are; a stored one is for all sandboxes of its provider, since
 * one that is made anew has another id. One thread. */
struct grants {
	struct grant *list; /* owned */
	size_t n;
};

/* id: only the call of this id, which grants_take() uses up; or NULL. */
void grants_add(struct grants *g, const struct approval *a, const char *id);
bool grants_have(const struct grants *g, const struct approval *a);
bool grants_take(struct grants *g, const struct approval *a, const char *id);
void grants_clear(struct grants *g);
/* Adds the grants of from that are not stored. */
void grants_inherit(struct grants *g, const struct grants *from);
/* Adds the grants of approvals.allow; a value that cannot be used is a
 * warning. */
void grants_load(struct grants *g, const struct settings *set);
/* As grants_add(), and writes it to the user's config.toml: ERR_CONFIG where
 * that cannot be changed, ERR_POLICY, ERR_USAGE where it holds a secret. */
int grants_store(struct grants *g, const struct approval *a, struct app *app,
		 struct error *err);
/* Takes out the i-th, also from config.toml. */
int grants_remove(struct grants *g, size_t i, struct app *app,
		  struct error *err);
/* config.toml of the user. Owned. */
char *grants_file(const struct settings *set);

#endif
