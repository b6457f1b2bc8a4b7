/* process_start.c - starts a provider's process, and learns what it can. */
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

enum { PARAMS_MAX = 1 << 20, COMMAND_LEAST = 16 << 10, COMMAND_MOST = 1 << 20 };

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

int provider_process_open(struct sandbox_client *host,
			  const struct settings *set, struct error *err)
{
	struct process_provider *p = (struct process_provider *)host->provider;
	const struct provider_config *d = &p->d;
	struct provider_process *c = xcalloc(1, sizeof(*c));

	c->p = p;
	c->settings = set;
	pthread_mutex_init(&c->lock, NULL);
	host->priv = c;
	c->program = d->class_path ? python_program(set)
				   : find_program(set, d->command[0]);
	if (c->program)
		return 0;
	if (d->class_path)
		return error_set(err, ERR_CONFIG,
				 "there is no python3 to run %s with",
				 d->class_path);
	error_set(err, ERR_CONFIG, "there is no program %s", d->command[0]);
	return error_hint(err,
			  "Give an absolute path, ~/PATH, a path relative to "
			  "%s, or a name on PATH (%s).",
			  settings_dir(set), d->origin);
}

static char **copy_argv(const struct provider_process *c)
{
	char **from = c->p->d.command;
	size_t n = 0;
	char **argv;

	if (c->p->d.class_path)
		return python_argv(c->settings, c->program, c->p->d.class_path);
	while (from[n])
		n++;
	argv = xcalloc(n + 1, sizeof(*argv));
	/* Programs that look for their files beside themselves need it whole.
	 */
	argv[0] = xstrdup(is_bare(from[0]) ? from[0] : c->program);
	for (size_t i = 1; i < n; i++)
		argv[i] = xstrdup(from[i]);
	return argv;
}

struct jsonrpc *provider_process_spawn(struct provider_process *c,
				       struct error *err)
{
	bool python = c->p->d.class_path;
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
		w = jsonrpc_start(&spec, err);
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
} words[] = {
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

/* From here on the provider is known to be what it says. What was written down
 * that it cannot stays so. */
static void take_capabilities(struct provider_process *c, const cJSON *result)
{
	const cJSON *list = json_get(result, "capabilities");
	struct process_provider *p = c->p;
	unsigned flags = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (has_word(list, words[i].name))
			flags |= words[i].flag;
	/* For a class what is written down of it is all that is known. */
	if (p->d.certain && p->d.class_path)
		flags = p->d.flags & (SANDBOX_ATTACH | SANDBOX_SNAPSHOT);
	else if (p->d.certain)
		flags &= p->d.flags | SANDBOX_LIST;
	p->made.base.flags = flags | SANDBOX_LIVE;
	if (!has_word(list, "list"))
		p->ops.list = NULL;
	if (!has_word(list, "info"))
		p->ops.info = NULL;
	if (!has_word(list, "extend"))
		p->ops.extend = NULL;
	if (!has_word(list, "make_snapshot"))
		p->ops.snapshot = NULL;
	c->uploads = has_word(list, "upload");
	c->downloads = has_word(list, "download");
}

static int nonsense(const char *what, struct error *err)
{
	return error_set(err, ERR_PROTOCOL,
			 "initializing: the provider's answer makes no sense: "
			 "%s",
			 what);
}

static int take_sizes(struct provider_process *c, const cJSON *result,
		      struct error *err)
{
	int64_t command = json_int(result, "max_command", 0);
	int64_t file = json_int(result, "max_file", CHILD_FILE);

	if (command && (command < COMMAND_LEAST || command > COMMAND_MOST))
		return nonsense("max_command is not between 16384 and 1048576",
				err);
	if (file < 0 || file > CHILD_FILE)
		return nonsense("max_file is not between 0 and 16777216", err);
	c->max_command = (size_t)command;
	c->max_file = (size_t)file;
	/* Half of it is left to our own framing. */
	if (command)
		c->p->made.base.max_command = (size_t)command * 2 / 5;
	return 0;
}

static int take(struct provider_process *c, const cJSON *result,
		struct error *err)
{
	const cJSON *workdir = json_get(result, "workdir");
	const cJSON *list = json_get(result, "capabilities");
	const cJSON *known = json_get(result, "settings");

	if (json_int(result, "protocol", 0) != CHILD_PROTOCOL)
		return nonsense("it does not speak protocol 1", err);
	if (workdir &&
	    (!cJSON_IsString(workdir) || workdir->valuestring[0] != '/'))
		return nonsense("its workdir is no absolute path", err);
	if (list && !cJSON_IsArray(list))
		return nonsense("its capabilities are no array", err);
	if (known && !cJSON_IsObject(known))
		return nonsense("its settings are no object", err);
	if (known &&
	    params_check(c->p->d.params, known, c->p->made.base.name, err) < 0)
		return -1;
	free(c->workdir);
	c->workdir = workdir ? xstrdup(workdir->valuestring) : NULL;
	take_capabilities(c, result);
	return take_sizes(c, result, err);
}

int provider_process_initialize(struct provider_process *c, struct jsonrpc *w,
				const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
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
	rc = params_json(c->p->d.params, &params, err);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	if (rc == 0)
		rc = buf_check(&params, "the provider's params", err);
	if (rc == 0)
		rc = jsonrpc_call(w, &ask, &result, stop, err);
	if (rc < 0 && ask.refused != JSONRPC_REFUSED)
		provider_process_translate(c, ask.refused, err);
	if (rc == 0)
		rc = take(c, result, err);
	cJSON_Delete(result);
	buf_wipe(&params);
	return rc;
}
