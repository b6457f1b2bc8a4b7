/* expand.c - expands ${NAME} in a server's env, url and headers. */
/* SPDX-License-Identifier: MIT */
#include "mcp/expand.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"

enum { NAME_MAX_BYTES = 256 };

/* Parses ${NAME} or ${NAME:-fallback} at the start of text and skips it. */
static bool parse_variable(struct str *text, struct str *name,
			   struct str *fallback, bool *has_fallback)
{
	struct str inner = str_skip(*text, 2);
	size_t end = str_find(inner, '}');
	size_t at;

	if (!str_starts(*text, "${") || end == inner.len)
		return false;
	inner.len = end;
	at = str_search(inner, STR(":-"));
	*has_fallback = at < inner.len;
	*fallback = str_skip(inner, at + 2);
	*name = (struct str){ inner.ptr, at };
	*text = str_skip(*text, 2 + end + 1);
	return true;
}

/* Returns the value of a variable, or NULL. For a repository's entry only
 * exported variables are used, none of a .env file. */
static const char *find_value(const struct mcp_entry *e,
			      const struct settings *set, struct str name)
{
	char key[NAME_MAX_BYTES + 1];
	const char *value;

	if (!name.len || name.len > NAME_MAX_BYTES)
		return NULL;
	memcpy(key, name.ptr, name.len);
	key[name.len] = '\0';
	value = settings_exported(set, key);
	if (!value && !e->project)
		value = settings_env_plain(set, key);
	return value;
}

int mcp_expand(const struct mcp_entry *e, const struct settings *set,
	       const char *text, struct buf *out, struct error *err)
{
	struct str rest = str_of(text);
	struct str fallback;
	struct str name;
	bool has_fallback;

	while (rest.len) {
		size_t plain = str_search(rest, STR("${"));
		const char *value;

		buf_add(out, rest.ptr, plain);
		rest = str_skip(rest, plain);
		if (!rest.len)
			break;
		if (!parse_variable(&rest, &name, &fallback, &has_fallback)) {
			buf_addstr(out, rest);
			break;
		}
		value = find_value(e, set, name);
		if (value && (value[0] || !has_fallback))
			buf_adds(out, value);
		else if (has_fallback)
			buf_addstr(out, fallback);
		else
			return error_set(err, ERR_CONFIG,
					 "it needs the variable %.*s, which is "
					 "not set",
					 (int)(name.len < 64 ? name.len : 64),
					 name.ptr ? name.ptr : "");
	}
	return buf_check(out, "a value of the server's entry", err);
}

/* Calls each with the name of every ${NAME} in text. */
static void each_variable(const char *text,
			  void (*each)(void *arg, struct str name), void *arg)
{
	struct str rest = str_of(text);
	struct str fallback;
	struct str name;
	bool has_fallback;

	for (;;) {
		rest = str_skip(rest, str_search(rest, STR("${")));
		if (!rest.len ||
		    !parse_variable(&rest, &name, &fallback, &has_fallback))
			return;
		each(arg, name);
	}
}

void mcp_each_variable(const struct mcp_entry *e,
		       void (*each)(void *arg, struct str name), void *arg)
{
	for (size_t i = 0; i < e->n_env; i++)
		each_variable(e->env[i].value, each, arg);
	each_variable(e->url, each, arg);
	each_variable(e->client_id, each, arg);
	each_variable(e->client_secret, each, arg);
	for (size_t i = 0; i < e->n_headers; i++)
		each_variable(e->headers[i].value, each, arg);
}

static bool has_name(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

/* Removes the variables that the entry's own env sets, so that each is set
 * once. Returns how many are left. */
static size_t remove_overridden(const struct mcp_entry *e, char **env)
{
	size_t n = 0;

	for (size_t i = 0; env[i]; i++) {
		bool keep = true;

		for (size_t k = 0; keep && k < e->n_env; k++)
			keep = !has_name(env[i], e->env[k].name);
		if (keep)
			env[n++] = env[i];
		else
			mem_wipe(env[i]);
	}
	env[n] = NULL;
	return n;
}

char **mcp_environ(const struct mcp_entry *e, const struct settings *set,
		   struct error *err)
{
	char **env = e->project ? settings_environ_project(set)
				: settings_environ_exported(set);
	size_t n = remove_overridden(e, env);

	env = xrealloc(env, n + e->n_env + 1, sizeof(*env));
	for (size_t i = 0; i < e->n_env; i++) {
		struct buf value = BUF_INIT(MCP_VALUE_MAX);

		if (mcp_expand(e, set, e->env[i].value, &value, err) < 0) {
			buf_wipe(&value);
			settings_environ_free(env);
			return NULL;
		}
		env[n++] = xasprintf("%s=%s", e->env[i].name,
				     value.ptr ? value.ptr : "");
		env[n] = NULL;
		buf_wipe(&value);
	}
	return env;
}
