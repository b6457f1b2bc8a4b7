/* process_start.c - starts a provider's process and reads its abilities. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "providers/external/params.h"
#include "providers/external/process.h"
#include "providers/external/python.h"

enum { COMMAND_LEAST = 16 << 10, COMMAND_MOST = 1 << 20 };

static bool is_bare(const char *name)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): checked */
	return !strchr(name, '/') && name[0] != '~';
}

/* The program of a command: on PATH, absolute, from the home, or relative to
 * the directory of the config.toml that names it. Relative to the current
 * directory it would be a repository's. */
static char *find_program(const struct settings *set, const char *name)
{
	char *expanded;
	char *path;

	if (is_bare(name))
		return proc_find(name, settings_exported(set, "PATH"));
	expanded = path_expand(name, settings_home(set));
	path = path_join(settings_dir(set), expanded);
	free(expanded);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

int process_open(struct sandbox_client *client, const struct settings *set,
		 struct error *err)
{
	struct process_provider *p =
		(struct process_provider *)client->provider;
	const struct provider_config *d = &p->config;
	struct process_client *c = xcalloc(1, sizeof(*c));

	c->p = p;
	c->settings = set;
	p->limits.start = sandbox_start_ms(client, p->limits.start);
	p->limits.create = sandbox_start_ms(client, p->limits.create);
	pthread_mutex_init(&c->lock, NULL);
	client->priv = c;
	c->program = d->class_path ? python_program(set)
				   : find_program(set, d->command[0]);
	if (c->program)
		return 0;
	if (d->class_path)
		return error_set(err, ERR_CONFIG,
				 "python3, which runs %s, is not installed",
				 d->class_path);
	error_set(err, ERR_CONFIG, "program not found: %s", d->command[0]);
	return error_hint(err,
			  "Use an absolute path, ~/PATH, a path relative to "
			  "%s, or a name on PATH (%s).",
			  settings_dir(set), d->origin);
}

static char **copy_argv(const struct process_client *c)
{
	char **from = c->p->config.command;
	size_t n = 0;
	char **argv;

	if (c->p->config.class_path)
		return python_argv(c->settings, c->program,
				   c->p->config.class_path);
	while (from[n])
		n++;
	argv = xcalloc(n + 1, sizeof(*argv));
	/* With the directory: a program may look for its files there. */
	argv[0] = xstrdup(is_bare(from[0]) ? from[0] : c->program);
	for (size_t i = 1; i < n; i++)
		argv[i] = xstrdup(from[i]);
	return argv;
}

static void add_cancel(struct buf *out, int64_t id)
{
	buf_addf(out,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\","
		 "\"params\":{\"id\":%lld}}\n",
		 (long long)id);
}

const struct jsonrpc_peer process_peer = {
	.name = "the provider",
	.cancel = add_cancel,
	.bye = "{\"jsonrpc\":\"2.0\",\"method\":\"shutdown\"}\n",
};

struct jsonrpc *process_spawn(struct process_client *c, struct error *err)
{
	bool python = c->p->config.class_path;
	int fds[4] = { -1, -1, -1, -1 };
	char **env = settings_environ(c->settings, c->p->made.base.name);
	char **argv = copy_argv(c);
	struct proc_spec spec = { .path = c->program,
				  .argv = argv,
				  .env = env,
				  .fds = fds,
				  .nfds = python ? 4 : 3 };
	struct jsonrpc *w = NULL;

	if (python)
		fds[3] = python_script(err);
	if (!python || fds[3] >= 0)
		w = jsonrpc_start(&spec, &process_peer, NULL, err);
	if (fds[3] >= 0)
		close(fds[3]);
	settings_environ_free(env);
	for (char **a = argv; *a; a++)
		free(*a);
	free(argv);
	return w;
}

static const struct {
	const char *name;
	unsigned flag;
} abilities[] = {
	{ "attach", SANDBOX_ATTACH },
	{ "snapshot", SANDBOX_SNAPSHOT },
	{ "list", SANDBOX_LIST },
};

static bool has_word(const cJSON *list, const char *word)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (cJSON_IsString(item) && !strcmp(item->valuestring, word))
			return true;
	return false;
}

/* Makes the provider's flags and operations certain. An ability that
 * config.toml denied stays denied. */
static void set_abilities(struct process_client *c, const cJSON *result)
{
	const cJSON *list = json_get(result, "capabilities");
	struct process_provider *p = c->p;
	unsigned flags = 0;

	for (size_t i = 0; i < sizeof(abilities) / sizeof(*abilities); i++)
		if (has_word(list, abilities[i].name))
			flags |= abilities[i].flag;
	/* Nobody but config.toml knows what a class can do, unless it has a
	 * method for it. */
	if (p->config.certain && p->config.class_path)
		flags = (p->config.flags &
			 (SANDBOX_ATTACH | SANDBOX_SNAPSHOT)) |
			(flags & SANDBOX_LIST);
	else if (p->config.certain)
		flags &= p->config.flags | SANDBOX_LIST;
	p->made.base.flags = flags | SANDBOX_LIVE;
	if (!has_word(list, "list"))
		p->ops.list = NULL;
	if (p->ops.list || !has_word(list, "list_ids"))
		p->ops.list_ids = NULL;
	if (!has_word(list, "info"))
		p->ops.info = NULL;
	if (!has_word(list, "extend"))
		p->ops.extend = NULL;
	if (!has_word(list, "stop"))
		p->ops.stop = NULL;
	if (!has_word(list, "make_snapshot"))
		p->ops.snapshot = NULL;
	c->uploads = has_word(list, "upload");
	c->downloads = has_word(list, "download");
}

static const char *set_sizes(struct process_client *c, const cJSON *result)
{
	int64_t command = json_int(result, "max_command", 0);
	int64_t file = json_int(result, "max_file", CHILD_FILE);

	if (command && (command < COMMAND_LEAST || command > COMMAND_MOST))
		return "max_command is not between 16384 and 1048576";
	if (file < 0 || file > CHILD_FILE)
		return "max_file is not between 0 and 16777216";
	c->max_command = (size_t)command;
	c->max_file = (size_t)file;
	/* The rest is for the script around the user's command. */
	if (command)
		c->p->made.base.max_command = (size_t)command * 2 / 5;
	return NULL;
}

static enum sandbox_isolation isolation_of(const cJSON *result)
{
	return isolation_parse(str_of(json_string(result, "isolation", "")));
}

/* What is wrong in the answer to initialize, or NULL. */
static const char *find_fault(const cJSON *result)
{
	const cJSON *workdir = json_get(result, "workdir");
	const cJSON *list = json_get(result, "capabilities");
	const cJSON *known = json_get(result, "settings");

	if (json_int(result, "protocol", 0) != CHILD_PROTOCOL)
		return "it does not speak protocol 1";
	if (workdir &&
	    (!cJSON_IsString(workdir) || workdir->valuestring[0] != '/'))
		return "its workdir is not an absolute path";
	if (list && !cJSON_IsArray(list))
		return "its capabilities are not an array";
	if (known && !cJSON_IsObject(known))
		return "its settings are not an object";
	if (json_get(result, "isolation") && !isolation_of(result))
		return "its isolation is not one of " ISOLATION_WORDS;
	return NULL;
}

static int parse_initialized(struct process_client *c, const cJSON *result,
			     const struct jsonrpc_ask *ask, struct error *err)
{
	const char *workdir = json_string(result, "workdir", NULL);
	const cJSON *known = json_get(result, "settings");
	const char *fault = find_fault(result);

	if (!fault && known &&
	    params_check(c->p->config.params, known, c->p->made.base.name,
			 err) < 0)
		return -1;
	if (!fault)
		fault = set_sizes(c, result);
	if (fault)
		return process_bad_answer(ask, fault, err);
	free(c->workdir);
	c->workdir = workdir ? xstrdup(workdir) : NULL;
	set_abilities(c, result);
	if (!c->p->config.isolation)
		c->p->made.base.isolation = isolation_of(result);
	return 0;
}

int process_initialize(struct process_client *c, struct jsonrpc *w,
		       const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(1 << 20);
	struct jsonrpc_ask ask = { .method = "initialize",
				   .what = "initializing",
				   .timeout_ms = c->p->limits.start };
	cJSON *result = NULL;
	int rc;

	buf_addf(&params,
		 "{\"protocol\":%d,\"client\":{\"name\":\"dcode\","
		 "\"version\":\"" DCODE_VERSION "\"},",
		 CHILD_PROTOCOL);
	json_member(&params, "provider", str_of(c->p->made.base.name));
	buf_adds(&params, ",\"params\":");
	rc = params_json(c->p->config.params, NULL, &params, err);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	if (rc == 0)
		rc = buf_check(&params, "the provider's params", err);
	if (rc == 0 && jsonrpc_call(w, &ask, &result, stop, err) < 0) {
		process_translate_error(c, ask.error_code, err);
		rc = -1;
	}
	if (rc == 0)
		rc = parse_initialized(c, result, &ask, err);
	cJSON_Delete(result);
	buf_wipe(&params);
	return rc;
}
