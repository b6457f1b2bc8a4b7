/* grants.h - calls that the user has approved in advance. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_GRANTS_H
#define CMD_SESSION_GRANTS_H

#include "agent/agent.h"
#include "cmd/app.h"

struct grant {
	char *call;  /* owned: JSON of the call and the place where it acts */
	bool stored; /* also stored in the user's config.toml */
};

/* The user's grants; initialise with { 0 }. A call matches a grant if tool, all
 * arguments, machine, sandbox, working directory, mounted directory and target
 * file are equal. A stored grant matches every sandbox of its provider, because
 * each new sandbox has another id. Use on one thread. */
struct grants {
	struct grant *list; /* owned */
	size_t n;
};

/* Adds a grant. With id, it is valid only for the call with this id until
 * grants_take() removes it. id may be NULL. */
void grants_add(struct grants *g, const struct approval *a, const char *id);
bool grants_have(const struct grants *g, const struct approval *a);
bool grants_take(struct grants *g, const struct approval *a, const char *id);
void grants_clear(struct grants *g);
/* Adds the grants of from that are not stored in config.toml. */
void grants_inherit(struct grants *g, const struct grants *from);
/* Adds the grants of approvals.allow. Only warns if the value is invalid. */
void grants_load(struct grants *g, const struct settings *set);
/* Like grants_add(), and writes the grant to the user's config.toml. ERR_CONFIG
 * if the file cannot be changed, ERR_POLICY, ERR_USAGE if the call contains a
 * secret. */
int grants_store(struct grants *g, const struct approval *a, struct app *app,
		 struct error *err);
/* Removes the i-th grant, also from config.toml. */
int grants_remove(struct grants *g, size_t i, struct app *app,
		  struct error *err);
/* Returns the path of the user's config.toml. Owned. */
char *grants_file(const struct settings *set);

#endif
