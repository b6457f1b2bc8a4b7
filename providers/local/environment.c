/* environment.c - what a command in a sandbox gets: directory and variables. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/local/local.h"

/* Appends a string with its terminating NUL. */
static void add_string(struct buf *b, struct str s)
{
	buf_addstr(b, s);
	buf_addc(b, '\0');
}

/* True if the list has a NAME=value with the NAME of variable. */
static bool has_name(const char *variable, const char *const *list, size_t n)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < n; i++)
		if (!strncmp(list[i], variable, len))
			return true;
	return false;
}

struct variables {   /* of the secrets */
	char **list; /* owned: "NAME=value" */
	size_t n;
};

/* trust_each_variable() callback. */
static void add_variable(void *arg, const char *name, const char *value)
{
	struct variables *v = arg;

	v->list = xrealloc(v->list, v->n + 1, sizeof(*v->list));
	v->list[v->n++] = xasprintf("%s=%s", name, value);
}

/* Appends directory, command and environment. The environment contains no
 * variables of the user, except those that the settings list. */
int environment_add(const struct sandbox *sb, const struct exec_request *req,
		    struct buf *b, struct error *err)
{
	static const char path[] =
		"PATH=/home/user/.local/bin:/usr/local/bin:/usr/bin:/bin:"
		"/usr/local/sbin:/usr/sbin:/sbin";
	static const char *const base[] = {
		"HOME=/home/user", "USER=user",    "LOGNAME=user",
		"SHELL=/bin/sh",   "LANG=C.UTF-8", "TMPDIR=/tmp",
		"TERM=dumb",       path,
	};
	const struct local *l = sb->client->priv;
	const struct box *box = sb->priv;
	struct variables own = { 0 };
	size_t nenv = 0;

	if (box->trust)
		trust_each_variable(&box->secrets, LOCAL_TRUST, add_variable,
				    &own);
	while (req->env && req->env[nenv])
		nenv++;
	add_string(b, str_of(req->cwd ? req->cwd : sb->workdir));
	add_string(b, req->command);
	for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++)
		if (!has_name(base[i], l->env, l->nenv) &&
		    !has_name(base[i], req->env, nenv))
			add_string(b, str_of(base[i]));
	for (size_t i = 0; i < l->nenv; i++)
		if (!has_name(l->env[i], req->env, nenv) &&
		    !has_name(l->env[i], (const char *const *)own.list, own.n))
			add_string(b, str_of(l->env[i]));
	for (size_t i = 0; i < own.n; i++) {
		if (!has_name(own.list[i], req->env, nenv))
			add_string(b, str_of(own.list[i]));
		free(own.list[i]);
	}
	free(own.list);
	for (size_t i = 0; i < nenv; i++)
		add_string(b, str_of(req->env[i]));
	return buf_check(b, "the command with its environment", err);
}
