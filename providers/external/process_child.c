/* process_child.c - starts the child of an external provider and sends
 * requests. */
/* SPDX-License-Identifier: MIT */
/* process_request() sends one request. If the child does not run, it is started
 * first. start_child() counts the starts and initializes the new child. The
 * child's answer determines the provider's flags and operations
 * (set_abilities). */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "config/settings_env.h"
#include "providers/external/process.h"
#include "providers/external/provider_config.h"

enum { COMMAND_LEAST = 16 << 10, COMMAND_MOST = 1 << 20 };

static bool is_bare(const char *name)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): checked */
	return !strchr(name, '/') && name[0] != '~';
}

/* Finds the program of a command: a name on PATH, an absolute path, a path
 * below the home directory ("~/"), or one relative to the directory of the
 * config.toml that names it. Never relative to the current directory: a
 * repository could supply the program. */
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
	/* A path is passed in full: a program may look for its files next to
	 * itself. */
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

/* Starts the child. A Python child reads the host script from descriptor 3. */
static struct jsonrpc *process_spawn(struct process_client *c,
				     struct error *err)
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
	{ "network", SANDBOX_NETWORK },
};

/* The other capabilities. */
static const char *const operations[] = {
	"list_ids",      "info", "extend",       "upload",       "download",
	"make_snapshot", "stop", "network_list", "network_deny",
};

enum {
	LIST_CAN = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES |
		   NETWORK_CAN_NETWORKS | NETWORK_CAN_IPV6,
	DENY_CAN = NETWORK_CAN_DENY_NAMES | NETWORK_CAN_DENY_ADDRESSES |
		   NETWORK_CAN_MIX,
};
/* A child that takes lists enforces every entry, or refuses the create. */
static const struct network_limits takes_lists = { .can = LIST_CAN };
static const struct network_limits takes_denials = { .can = LIST_CAN |
							    DENY_CAN };

static bool has_word(const cJSON *list, const char *word)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (cJSON_IsString(item) && !strcmp(item->valuestring, word))
			return true;
	return false;
}

static bool is_capability(const char *word)
{
	for (size_t i = 0; i < sizeof(abilities) / sizeof(*abilities); i++)
		if (!strcmp(abilities[i].name, word))
			return true;
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(operations[i], word))
			return true;
	return false;
}

/* Fails if a capability is unknown. A misspelt one would otherwise be noticed
 * only when it is needed, and one of a later dcode may forbid what this dcode
 * would do. */
static int check_capabilities(const cJSON *list, const struct jsonrpc_ask *ask,
			      struct error *err)
{
	struct buf shown = BUF_INIT(1024);
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *word = cJSON_IsString(item) ? item->valuestring
							: "(not a string)";

		if (is_capability(word))
			continue;
		buf_adds(&shown, "unknown capability '");
		sanitize_line((struct str){ word, strnlen(word, 64) }, &shown);
		buf_addc(&shown, '\'');
		process_bad_answer(ask, shown.ptr, err);
		buf_release(&shown);
		return error_hint(err, "dcode help providers lists the "
				       "capabilities that it may name.");
	}
	return 0;
}

/* Sets the provider's flags and operations from the child's answer. What
 * config.toml turns off stays off. */
static void set_abilities(struct process_client *c, const cJSON *result)
{
	const cJSON *list = json_get(result, "capabilities");
	struct process_provider *p = c->p;
	unsigned flags = 0;

	for (size_t i = 0; i < sizeof(abilities) / sizeof(*abilities); i++)
		if (has_word(list, abilities[i].name))
			flags |= abilities[i].flag;
	/* The child knows only those abilities of a class that need a method.
	 * config.toml states the others. */
	if (p->config.certain && p->config.class_path)
		flags = (p->config.flags &
			 (SANDBOX_ATTACH | SANDBOX_SNAPSHOT)) |
			(flags & SANDBOX_LIST);
	else if (p->config.certain)
		flags &= p->config.flags | SANDBOX_LIST | SANDBOX_NETWORK;
	p->made.base.flags = flags | SANDBOX_LIVE;
	p->made.base.network = !has_word(list, "network_list")  ? NULL
			       : has_word(list, "network_deny") ? &takes_denials
								: &takes_lists;
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

/* Sets size limits from the answer to initialize. Returns what is wrong with
 * them, or NULL. */
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
	/* The supervisor's script around the user's command needs the rest. */
	if (command)
		c->p->made.base.max_command = (size_t)command * 2 / 5;
	return NULL;
}

static enum sandbox_isolation isolation_of(const cJSON *result)
{
	return isolation_parse(str_of(json_string(result, "isolation", "")));
}

/* Returns what is wrong in the answer to initialize, or NULL. */
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

int process_bad_answer(const struct jsonrpc_ask *ask, const char *detail,
		       struct error *err)
{
	jsonrpc_bad_answer(&process_peer, detail, err);
	return error_wrap(err, "%s", ask->what);
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
	if (check_capabilities(json_get(result, "capabilities"), ask, err) < 0)
		return -1;
	free(c->workdir);
	c->workdir = workdir ? xstrdup(workdir) : NULL;
	set_abilities(c, result);
	if (!c->p->config.isolation)
		c->p->made.base.isolation = isolation_of(result);
	return 0;
}

/* Sets code and hint of err from the child's error code. */
static void process_translate_error(const struct process_client *c, int code,
				    struct error *err)
{
	static const struct {
		int code;
		enum err ours;
	} codes[] = {
		{ CHILD_NO_METHOD, ERR_USAGE },
		{ CHILD_NOT_FOUND, ERR_NOT_FOUND },
		{ CHILD_AUTH, ERR_AUTH },
		{ CHILD_CONFIG, ERR_CONFIG },
		{ CHILD_LIMIT, ERR_LIMIT },
		{ CHILD_NETWORK, ERR_NETWORK },
		{ CHILD_TIMEOUT, ERR_TIMEOUT },
		{ CHILD_GONE, ERR_GONE },
		{ CHILD_UNSUPPORTED, ERR_USAGE },
		{ CHILD_MISSING, ERR_CONFIG },
	};
	const char *package = c->p->config.package;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			err->code = codes[i].ours;
	if (code == CHILD_MISSING && package)
		error_hint(err,
			   "Missing dependencies for '%s' sandbox. Install "
			   "with: /install %s --package (in-app) or dcode "
			   "install %s --package (CLI)",
			   c->p->made.base.name, package, package);
}

/* Sends "initialize" with the provider's params, and reads what the child can
 * do. */
static int process_initialize(struct process_client *c, struct jsonrpc *w,
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

/* Starts and initializes a child. Call with the lock held. */
static int start_child(struct process_client *c, const struct stop *stop,
		       struct error *err)
{
	struct jsonrpc *w;

	if (c->wire && !jsonrpc_broken(c->wire))
		return 0;
	if (c->wire && c->users)
		return error_set(err, ERR_NETWORK, "the provider is stopping");
	if (c->wire)
		jsonrpc_end(c->wire, 0);
	c->wire = NULL;
	if (c->starts >= CHILD_STARTS) {
		*err = c->last;
		err->code = ERR_REMOTE;
		return error_hint(err,
				  "The provider ended %d times, so dcode does "
				  "not start it again.",
				  CHILD_STARTS);
	}
	c->starts++;
	w = process_spawn(c, err);
	if (!w)
		return -1;
	if (process_initialize(c, w, stop, err) == 0) {
		c->wire = w;
		return 0;
	}
	/* Do not retry a start that failed. */
	if (err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	c->last = *err;
	jsonrpc_end(w, 0);
	return -1;
}

/* Starts a child unless one runs. It is not replaced before release_child(). */
static int acquire_child(struct process_client *c, const struct stop *stop,
			 struct error *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = start_child(c, stop, err);
	if (rc == 0)
		c->users++;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static void release_child(struct process_client *c, const struct error *failure)
{
	pthread_mutex_lock(&c->lock);
	c->users--;
	if (failure && jsonrpc_broken(c->wire))
		c->last = *failure;
	pthread_mutex_unlock(&c->lock);
}

int process_start(struct process_client *c, const struct stop *stop,
		  struct error *err)
{
	int rc = acquire_child(c, stop, err);

	if (rc == 0)
		release_child(c, NULL);
	return rc;
}

struct buf process_params(const char *key, const char *value)
{
	struct buf params = BUF_INIT(JSONRPC_LINE);

	buf_addc(&params, '{');
	if (value)
		json_member(&params, key, str_of(value));
	return params;
}

void process_add_param(struct buf *params, const char *key, struct str value)
{
	buf_addc(params, ',');
	json_member(params, key, value);
}

int process_request(struct process_client *c, struct jsonrpc_ask *ask,
		    struct buf *params, cJSON **result, const struct stop *stop,
		    struct error *err)
{
	cJSON *answer = NULL;
	int rc;

	buf_addc(params, '}');
	ask->params = buf_str(params);
	ask->error_code = JSONRPC_NO_ERROR;
	if (!ask->timeout_ms)
		ask->timeout_ms = c->p->limits.call;
	rc = buf_check(params, "the request", err);
	if (rc == 0)
		rc = acquire_child(c, stop, err);
	if (rc == 0) {
		rc = jsonrpc_call(c->wire, ask, &answer, stop, err);
		release_child(c, rc < 0 ? err : NULL);
	}
	if (rc < 0)
		process_translate_error(c, ask->error_code, err);
	buf_release(params);
	if (result)
		*result = answer;
	else
		cJSON_Delete(answer);
	return rc;
}
