/* entry.c - reads the servers under mcpServers in a JSON file. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at mcp_entries_read(); read_entry() reads one server. The
 * format is that of Claude Code's .mcp.json. Other programs' names for the same
 * members are accepted, because such files are copied between programs. An
 * invalid entry stays in the list with the reason (refuse_entry()), so that
 * lists of servers can show it. ${NAME} is not replaced here, but when the
 * server starts (mcp_expand()).
 */
#include "mcp/entry.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/settings_env.h"

enum { NAME_MAX_BYTES = 64, WORDS_MAX = 1024 };

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void free_pairs(struct mcp_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pairs[i].name);
		mem_wipe(pairs[i].value);
	}
	free(pairs);
}

static void release_entry(struct mcp_entry *e)
{
	free(e->name);
	free(e->file);
	free(e->root);
	free(e->command);
	free_words(e->args);
	free_pairs(e->env, e->n_env);
	free(e->cwd);
	free(e->url);
	free_pairs(e->headers, e->n_headers);
	free(e->client_id);
	mem_wipe(e->client_secret);
	free(e->scope);
	free_words(e->allowed);
	free_words(e->disabled);
	mem_wipe(e->text);
	free(e->ignored);
	free(e->wrong);
	free(e->refused);
	if (e->own)
		release_entry(e->own);
	free(e->own);
	*e = (struct mcp_entry){ 0 };
}

void mcp_entries_release(struct mcp_entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		release_entry(&e->list[i]);
	free(e->list);
	*e = (struct mcp_entries){ 0 };
}

/* Records why the entry cannot be used, unless a reason is recorded already.
 * Returns false. */
static bool refuse_entry(struct mcp_entry *e, const char *why)
{
	if (!e->wrong)
		e->wrong = xstrdup(why);
	return false;
}

/* True for a valid server name. Spaces and dots are allowed inside it. A slash
 * is not: in a pattern of [mcp] allow it divides server and tool. */
static bool is_name(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789_- .");

	return n && n <= NAME_MAX_BYTES && !name[n] && name[0] != ' ' &&
	       name[n - 1] != ' ' && strspn(name, " .") < n;
}

/* Copies a JSON array of strings, NULL-terminated. NULL if it is anything
 * else. */
static char **copy_words(const cJSON *list)
{
	int n = cJSON_GetArraySize(list);
	char **words;
	const cJSON *item;
	int at = 0;

	if (!cJSON_IsArray(list) || n > WORDS_MAX)
		return NULL;
	words = xcalloc((size_t)n + 1, sizeof(*words));
	cJSON_ArrayForEach (item, list) {
		if (!cJSON_IsString(item)) {
			free_words(words);
			return NULL;
		}
		words[at++] = xstrdup(item->valuestring);
	}
	return words;
}

static bool has_line_end(const char *text)
{
	return strpbrk(text, "\r\n") != NULL;
}

/* Copies a JSON object of strings. False if it is anything else. Also false if
 * a name is empty or contains "=" or a line end: such a name could inject
 * another variable or header. Line ends in the values of headers are refused by
 * read_headers(). */
static bool copy_pairs(const cJSON *object, struct mcp_pair **pairs, size_t *n)
{
	const cJSON *item;

	if (!object)
		return true;
	if (!cJSON_IsObject(object) || cJSON_GetArraySize(object) > WORDS_MAX)
		return false;
	*pairs = xcalloc((size_t)cJSON_GetArraySize(object) + 1,
			 sizeof(**pairs));
	cJSON_ArrayForEach (item, object) {
		if (!cJSON_IsString(item) || !item->string[0] ||
		    strchr(item->string, '=') || has_line_end(item->string))
			return false;
		(*pairs)[*n].name = xstrdup(item->string);
		(*pairs)[(*n)++].value = xstrdup(item->valuestring);
	}
	return true;
}

/* Returns the member, or NULL if it is missing or null: some editors write null
 * for a value that is not set. */
static const cJSON *get_given(const cJSON *object, const char *name)
{
	const cJSON *item = json_get(object, name);

	return cJSON_IsNull(item) ? NULL : item;
}

static bool read_headers(struct mcp_entry *e, const cJSON *object)
{
	if (!copy_pairs(object, &e->headers, &e->n_headers))
		return refuse_entry(e,
				    "\"headers\" is not an object of strings");
	for (size_t i = 0; i < e->n_headers; i++)
		if (strpbrk(e->headers[i].name, ": \t") ||
		    has_line_end(e->headers[i].value))
			return refuse_entry(
				e, "a header contains a line break, or its "
				   "name contains a colon or a space");
	return true;
}

/* False for a path that may lead out of the root: absolute, or with "~", a
 * variable or "..". Attack: a repository's entry starts in a directory other
 * than the one whose files the user saw when allowing it. */
static bool is_below_root(const char *cwd)
{
	struct str rest = str_of(cwd);
	struct str part;

	if (cwd[0] == '/' || cwd[0] == '~' || strstr(cwd, "${"))
		return false;
	while (str_split(&rest, '/', &part))
		if (str_is(part, ".."))
			return false;
	return true;
}

static void ignore_member(struct mcp_entry *e, const char *name)
{
	char *before = e->ignored;

	e->ignored = xasprintf("%s%s\"%s\"", before ? before : "",
			       before ? ", " : "", name);
	free(before);
}

/* Reads the working directory. In a repository's entry, one that is not below
 * the root is ignored and recorded as such. */
static bool read_cwd(struct mcp_entry *e, const cJSON *item)
{
	const cJSON *cwd = get_given(item, "cwd");

	if (!cwd)
		return true;
	if (!cJSON_IsString(cwd))
		return refuse_entry(e, "\"cwd\" is not a string");
	if (e->project && !is_below_root(cwd->valuestring))
		ignore_member(e, "cwd");
	else if (cwd->valuestring[0])
		e->cwd = xstrdup(cwd->valuestring);
	return true;
}

/* Records members that other programs obey and dcode ignores, so that the user
 * can be told. The file's author must not decide what runs without a question,
 * and "timeout" is in seconds in some programs and in milliseconds in others.
 * config.toml has settings for both. */
static void find_ignored(struct mcp_entry *e, const cJSON *item)
{
	static const char *const names[] = { "alwaysAllow", "autoApprove",
					     "trust", "timeout", "envFile" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const cJSON *member = get_given(item, names[i]);
		bool empty = cJSON_IsArray(member) && !member->child;

		if (member && !empty && !cJSON_IsFalse(member))
			ignore_member(e, names[i]);
	}
}

/* Reads a server that is a program. */
static bool read_stdio(struct mcp_entry *e, const cJSON *item)
{
	const cJSON *args = get_given(item, "args");
	const char *command = json_string(item, "command", "");

	e->kind = MCP_STDIO;
	if (!command[0])
		return refuse_entry(
			e, "it has neither a \"command\" nor a \"url\"");
	e->command = xstrdup(command);
	e->args = args ? copy_words(args) : xcalloc(1, sizeof(*e->args));
	if (!e->args)
		return refuse_entry(e, "\"args\" is not a list of strings");
	if (!copy_pairs(get_given(item, "env"), &e->env, &e->n_env))
		return refuse_entry(e, "\"env\" is not an object of strings");
	return read_cwd(e, item);
}

static char *copy_text(const cJSON *object, const char *name)
{
	const char *value = json_string(object, name, NULL);

	return value && value[0] ? xstrdup(value) : NULL;
}

/* Reads the login. "auth": "oauth" suffices if the server announces all that a
 * login needs. The object "oauth" has what the server cannot announce. */
static bool read_login(struct mcp_entry *e, const cJSON *item)
{
	const cJSON *auth = json_get(item, "auth");
	const cJSON *oauth = json_get(item, "oauth");
	int64_t port = json_int(oauth, "callbackPort", 0);

	if (auth && strcmp(json_string(item, "auth", ""), "oauth") != 0)
		return refuse_entry(e, "its \"auth\" is not \"oauth\"");
	if (oauth && (!cJSON_IsObject(oauth) || port < 0 || port > 65535))
		return refuse_entry(e, "\"oauth\" is not an object, or its "
				       "\"callbackPort\" is not a port");
	e->client_id = copy_text(oauth, "clientId");
	e->client_secret = copy_text(oauth, "clientSecret");
	e->scope = copy_text(oauth, "scope");
	e->callback_port = (unsigned)port;
	e->wants_login = auth || oauth;
	return true;
}

/* Accepts the names that other programs use for "url", because such files are
 * copied between programs. */
static const char *find_url(const cJSON *item)
{
	static const char *const names[] = { "url", "serverUrl", "httpUrl" };
	const char *url = NULL;

	for (size_t i = 0; !url && i < sizeof(names) / sizeof(*names); i++)
		url = json_string(item, names[i], NULL);
	return url;
}

/* Reads a server behind an address. */
static bool read_http(struct mcp_entry *e, const cJSON *item,
		      enum mcp_kind kind)
{
	const char *url = find_url(item);

	url = url ? url : "";

	e->kind = kind;
	if (!str_starts(str_of(url), "http://") &&
	    !str_starts(str_of(url), "https://") && url[0] != '$')
		return refuse_entry(
			e, "its \"url\" is not an http or https address");
	e->url = xstrdup(url);
	return read_login(e, item) &&
	       read_headers(e, get_given(item, "headers"));
}

/* Reads the transport. "type" or "transport" names it; if both are missing, it
 * is a program if there is a command, or HTTP if there is an address. */
static bool read_kind(struct mcp_entry *e, const cJSON *item)
{
	static const char *const http[] = { "http", "streamable_http",
					    "streamable-http",
					    "streamableHttp" };
	struct str type = str_of(
		json_string(item, "type", json_string(item, "transport", "")));

	if (str_is_nocase(type, "sse"))
		return read_http(e, item, MCP_SSE);
	for (size_t i = 0; i < sizeof(http) / sizeof(*http); i++)
		if (str_is_nocase(type, http[i]))
			return read_http(e, item, MCP_HTTP);
	if (type.len && !str_is_nocase(type, "stdio"))
		return refuse_entry(
			e,
			"its \"type\" is not \"stdio\", \"http\" or \"sse\"");
	return !type.len && find_url(item) && !json_get(item, "command")
		       ? read_http(e, item, MCP_HTTP)
		       : read_stdio(e, item);
}

/* Returns the patterns, or NULL if the member is missing or is not a list of
 * strings (*wrong is set then). */
static char **read_patterns(const cJSON *item, const char *name, bool *wrong)
{
	const cJSON *list = get_given(item, name);
	char **words = list ? copy_words(list) : NULL;

	*wrong |= list && !words;
	return words;
}

/* Reads allowedTools and disabledTools, of which only one may be set. Also
 * reads Gemini CLI's includeTools and excludeTools, which may both be set. An
 * empty list of disabled tools is allowed beside allowedTools, because other
 * programs write it. */
static bool read_filters(struct mcp_entry *e, const cJSON *item)
{
	bool wrong = false;

	e->allowed = read_patterns(item, "allowedTools", &wrong);
	e->disabled = read_patterns(item, "disabledTools", &wrong);
	wrong |= e->allowed && e->disabled && e->disabled[0];
	if (!e->allowed)
		e->allowed = read_patterns(item, "includeTools", &wrong);
	if (!e->disabled)
		e->disabled = read_patterns(item, "excludeTools", &wrong);
	if (wrong || (e->allowed && !e->allowed[0]))
		return refuse_entry(
			e,
			"\"allowedTools\" and \"disabledTools\" must be lists "
			"of patterns, and only one of them may be set");
	return true;
}

static void hash_entry(struct mcp_entry *e)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	struct buf all = BUF_INIT(2 * MCP_FILE_MAX);

	buf_addf(&all, "%s%c%s%c%d%c%s", e->name, 0, e->root, 0, e->project, 0,
		 e->text);
	crypto_hash_sha256(sum, (const unsigned char *)all.ptr, all.len);
	(void)sodium_bin2hex(e->hash, sizeof(e->hash), sum, sizeof(sum));
	buf_wipe(&all);
}

/* False if the text has characters that a terminal would hide or act on: the
 * user must see the whole command before allowing it. */
static bool is_plain(struct str text)
{
	struct buf clean = BUF_INIT(2 * MCP_FILE_MAX);
	bool same;

	sanitize_text(text, &clean);
	same = str_eq(buf_str(&clean), text);
	buf_wipe(&clean);
	return same;
}

/* True if all strings of the entry can be shown to the user as they are: no
 * hidden or control characters. */
static bool has_plain_words(const struct mcp_entry *e)
{
	bool plain = !e->command || is_plain(str_of(e->command));

	for (size_t i = 0; plain && e->args && e->args[i]; i++)
		plain = is_plain(str_of(e->args[i]));
	for (size_t i = 0; plain && i < e->n_env; i++)
		plain = is_plain(str_of(e->env[i].name)) &&
			is_plain(str_of(e->env[i].value));
	plain = plain && (!e->cwd || is_plain(str_of(e->cwd)));
	return plain && (!e->url || str_is_visible(str_of(e->url)));
}

/* Reads one server. If it cannot be used, e->wrong says why. */
static void read_entry(struct mcp_entry *e, const cJSON *item,
		       const struct mcp_place *place)
{
	struct buf text = BUF_INIT(MCP_FILE_MAX);

	e->name = xstrdup(item->string);
	e->file = xstrdup(place->file);
	e->root = xstrdup(place->root);
	e->project = place->project;
	e->off = json_bool(item, "disabled", false) ||
		 !json_bool(item, "enabled", true);
	find_ignored(e, item);
	json_print(&text, item);
	e->text = buf_detach(&text);
	if (!is_name(e->name))
		(void)refuse_entry(
			e, "its name may have at most 64 letters, digits, "
			   "_ and -, with dots and spaces between them");
	else if (!cJSON_IsObject(item))
		(void)refuse_entry(e, "it is not an object");
	else if (read_kind(e, item) && read_filters(e, item) &&
		 !has_plain_words(e))
		(void)refuse_entry(
			e, "it contains control characters or hidden ones");
	hash_entry(e);
}

static struct mcp_entry *find_entry(struct mcp_entries *e, const char *name)
{
	for (size_t i = 0; i < e->n; i++)
		if (!strcmp(e->list[i].name, name))
			return &e->list[i];
	return NULL;
}

/* Keeps the user's own entry (old) in entry->own when a project's entry of the
 * same name replaces it. It is restored if the user does not allow the
 * project's. */
static void store_own(struct mcp_entry *old, struct mcp_entry *entry)
{
	if (!entry->project || (old->project && !old->own)) {
		release_entry(old);
		return;
	}
	entry->own = old->own;
	old->own = NULL;
	if (entry->own) {
		release_entry(old);
		return;
	}
	entry->own = xcalloc(1, sizeof(*entry->own));
	*entry->own = *old;
	*old = (struct mcp_entry){ 0 };
}

/* Adds the entry. Replaces an earlier one of the same name. */
static void add_entry(struct mcp_entries *e, struct mcp_entry *entry)
{
	struct mcp_entry *old = find_entry(e, entry->name);

	if (!old) {
		e->list = xrealloc(e->list, e->n + 1, sizeof(*e->list));
		old = &e->list[e->n++];
	} else {
		store_own(old, entry);
	}
	*old = *entry;
}

bool mcp_entries_restore(struct mcp_entries *e, size_t i)
{
	struct mcp_entry *own = e->list[i].own;

	if (!own)
		return false;
	e->list[i].own = NULL;
	release_entry(&e->list[i]);
	e->list[i] = *own;
	free(own);
	return true;
}

int mcp_entries_read(struct mcp_entries *e, struct str text,
		     const struct mcp_place *place, struct error *err)
{
	cJSON *tree = str_is_utf8(text) ? json_parse(text) : NULL;
	const cJSON *servers = json_get(tree, "mcpServers");
	const cJSON *item;
	int rc = 0;

	if (!str_is_utf8(text))
		rc = error_set(err, ERR_CONFIG,
			       "%s is not a JSON object: it is not UTF-8",
			       place->file);
	else if (!tree)
		rc = error_set(err, ERR_CONFIG,
			       "%s is not a JSON object: line %zu is not JSON "
			       "(comments and trailing commas are not allowed)",
			       place->file, json_parse_error_line(text));
	else if (!cJSON_IsObject(tree))
		rc = error_set(err, ERR_CONFIG, "%s is not a JSON object",
			       place->file);
	else if (!cJSON_IsObject(servers))
		rc = error_set(err, ERR_CONFIG,
			       "%s has no object \"mcpServers\"", place->file);
	else if (cJSON_GetArraySize(servers) > MCP_SERVERS_MAX)
		rc = error_set(err, ERR_CONFIG, "%s names more than %d servers",
			       place->file, MCP_SERVERS_MAX);
	if (rc == 0)
		cJSON_ArrayForEach (item, servers) {
			struct mcp_entry entry = { 0 };

			read_entry(&entry, item, place);
			add_entry(e, &entry);
		}
	cJSON_Delete(tree);
	return rc;
}

bool mcp_entry_in_project(const struct mcp_entry *e)
{
	if (e->kind != MCP_STDIO)
		return false;
	return e->project || (e->cwd && !strcmp(e->cwd, MCP_IN_PROJECT));
}

static bool matches_any(char *const *patterns, const char *tool)
{
	for (size_t i = 0; patterns[i]; i++)
		if (fnmatch(patterns[i], tool, 0) == 0)
			return true;
	return false;
}

bool mcp_entry_offers(const struct mcp_entry *e, const char *tool)
{
	return (!e->allowed || matches_any(e->allowed, tool)) &&
	       !(e->disabled && matches_any(e->disabled, tool));
}

/* Expands ${NAME} in a server's env, url and headers. */

enum { VARIABLE_MAX = 256 };

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
	char key[VARIABLE_MAX + 1];
	const char *value;

	if (!name.len || name.len > VARIABLE_MAX)
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
