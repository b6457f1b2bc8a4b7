/* allow_list.h - which shell commands may run without asking. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_ALLOW_LIST_H
#define AGENT_ALLOW_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct allow_list { /* from { 0 }; allow_list_release() */
	bool given; /* there is a list at all */
	bool all;   /* everything is allowed */
	char **names;
	size_t n;
};

/* "ls,cat", "recommended", "all" (alone). ERR_USAGE as in spec §8.4. */
int allow_list_parse(struct allow_list *list, const char *text,
		     struct error *err);
void allow_list_release(struct allow_list *list);
/*
 * True when this command line may run. Each simple command is judged by itself:
 * its first word must be a name of the list, exactly. Substitutions,
 * redirections, background and variables are refused, and in double quotes
 * every '$', '`' and '!'; so are NUL and all white space but the space, quoted,
 * escaped, at either end or not. In single quotes all else is text, in double
 * quotes ; | & < > ( ) are.
 */
bool allow_list_permits(const struct allow_list *list, struct str command);
/* "a, b, c" */
void allow_list_names(const struct allow_list *list, struct buf *out);

#endif
