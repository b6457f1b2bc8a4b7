/* mcp_claim.c - what the user is asked about a server of a project. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/mcp_servers.h"
#include "config/settings_env.h"
#include "mcp/expand.h"

static void add_variable(void *arg, struct str name)
{
	struct servers_claim *c = arg;

	for (size_t i = 0; i < c->n_variables; i++)
		if (str_is(name, c->variables[i]))
			return;
	c->variables = xrealloc(c->variables, c->n_variables + 1,
				sizeof(*c->variables));
	c->variables[c->n_variables++] =
		xstrndup(name.ptr ? name.ptr : "", name.len);
}

/* The command line, and the values of env: either may name a file of the
 * project. */
static size_t copy_words(struct servers_claim *c, const struct mcp_entry *e)
{
	size_t n = 0;

	while (e->args && e->args[n])
		n++;
	c->words = xcalloc(n + e->n_env + 2, sizeof(*c->words));
	n = 0;
	if (!e->command)
		return 0;
	c->words[n++] = e->command;
	for (size_t i = 0; e->args && e->args[i]; i++)
		c->words[n++] = e->args[i];
	for (size_t i = 0; i < e->n_env; i++)
		c->words[n++] = e->env[i].value;
	return n;
}

void servers_claim(struct servers_claim *c, const struct mcp_entry *e,
		   const struct settings *set)
{
	*c = (struct servers_claim){ 0 };
	mcp_each_variable(e, add_variable, c);
	c->entry = (struct trust_entry){
		.kind = TRUST_MCP,
		.root = e->root,
		.file = e->file,
		.name = e->name,
		.text = str_of(e->text),
		.n_words = copy_words(c, e),
		.path = settings_exported(set, "PATH"),
		.variables = (const char *const *)c->variables,
		.n_variables = c->n_variables,
	};
	c->entry.words = c->words;
	if (e->cwd)
		c->entry.dir = c->dir = path_join(e->root, e->cwd);
}

void servers_claim_release(struct servers_claim *c)
{
	for (size_t i = 0; i < c->n_variables; i++)
		free(c->variables[i]);
	free(c->variables);
	free(c->words);
	free(c->dir);
}
