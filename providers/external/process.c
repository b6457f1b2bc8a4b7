/* process.c - a provider that is a child process: its sandboxes' lives. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { PROGRESS_MAX = 200 };

struct process_client *process_of(const struct sandbox_client *client)
{
	return client->priv;
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

int process_bad_answer(const struct jsonrpc_ask *ask, const char *detail,
		       struct error *err)
{
	jsonrpc_bad_answer(&process_peer, detail, err);
	return error_wrap(err, "%s", ask->what);
}

void process_translate_error(const struct process_client *c, int code,
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

/* With the lock held. */
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
		return error_hint(
			err,
			"It has ended %d times, so it is not started again.",
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
	/* A child that cannot start once is not tried again. */
	if (err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	c->last = *err;
	jsonrpc_end(w, 0);
	return -1;
}

/* Starts a child where none runs; it is not replaced before release_child(). */
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

static int ensure_running(struct process_client *c, const struct stop *stop,
			  struct error *err)
{
	int rc = acquire_child(c, stop, err);

	if (rc == 0)
		release_child(c, NULL);
	return rc;
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

/* "progress" of a create. */
static int on_progress(void *arg, const char *method, const cJSON *params,
		       struct error *err)
{
	const struct sandbox_spec *spec = arg;
	const char *text = json_string(params, "message", "");
	struct str line = str_of(text);
	char *copy;

	(void)err;
	if (strcmp(method, "progress") != 0 || !line.len || !spec->progress)
		return 0;
	if (line.len > PROGRESS_MAX)
		line.len = str_utf8_prefix((struct str){ text, PROGRESS_MAX });
	copy = xstrndup(line.ptr, line.len);
	spec->progress(spec->arg, copy);
	free(copy);
	return 0;
}

/* The first that is known: config.toml's, the child's for this sandbox (dir) or
 * for all, the directory that its commands start in. */
static void set_workdir(struct sandbox *sb, const char *dir,
			const struct stop *stop)
{
	const struct process_client *c = process_of(sb->client);
	const char *workdir = c->p->config.workdir;

	if (!workdir)
		workdir = dir ? dir : c->workdir;
	if (!sb->workdir && workdir)
		sb->workdir = xstrdup(workdir);
	/* A class may only wish for its directory: see whether it is there. */
	if (!dir && (!sb->workdir || c->p->config.class_path))
		process_resolve_workdir(sb, stop);
	process_probe_held(sb, stop);
}

/* Reads an answer about one sandbox: {"id":..., "workdir":...}. */
static int parse_sandbox(struct sandbox *sb, const cJSON *result,
			 const struct jsonrpc_ask *ask, const struct stop *stop,
			 struct error *err)
{
	const char *id = json_string(result, "id", "");
	const cJSON *dir = json_get(result, "workdir");

	if (!provider_config_id_ok(id))
		return process_bad_answer(ask,
					  "its id is not a string of 1 to 512 "
					  "printable characters",
					  err);
	if (!sb->id)
		sb->id = xstrdup(id);
	if (dir && (!cJSON_IsString(dir) || dir->valuestring[0] != '/'))
		return process_bad_answer(
			ask, "its workdir is not an absolute path", err);
	set_workdir(sb, dir ? dir->valuestring : NULL, stop);
	return 0;
}

/* Codes of a create that has made nothing. */
static bool is_refusal(int code)
{
	return code == CHILD_BAD_PARAMS || code == CHILD_AUTH ||
	       code == CHILD_CONFIG || code == CHILD_UNSUPPORTED ||
	       code == CHILD_MISSING || code == CHILD_NOT_FOUND;
}

static int probe(struct sandbox_client *client, const struct stop *stop,
		 struct error *err)
{
	return ensure_running(process_of(client), stop, err);
}

/* Starts the child, and checks the request by what it said it can do. */
static int check_spec(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err)
{
	struct process_client *c = process_of(sb->client);
	const struct sandbox_provider *p = &c->p->made.base;
	int rc = ensure_running(c, stop, err);

	if (rc == 0 && spec && spec->snapshot && !(p->flags & SANDBOX_SNAPSHOT))
		rc = error_set(err, ERR_USAGE,
			       "--sandbox-snapshot-name is not supported by "
			       "provider '%s'",
			       p->name);
	if (rc == 0 && !spec && !(p->flags & SANDBOX_ATTACH))
		rc = error_set(err, ERR_USAGE,
			       "--sandbox-id is not supported by provider "
			       "'%s'",
			       p->name);
	if (rc < 0)
		err->nothing_made = true;
	return rc;
}

static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	struct process_client *c = process_of(sb->client);
	struct jsonrpc_ask ask = { .method = "create",
				   .what = "creating the sandbox",
				   .timeout_ms = c->p->limits.create,
				   .notify = on_progress,
				   .arg = (void *)spec };
	struct buf params;
	cJSON *result = NULL;
	int rc = check_spec(sb, spec, stop, err);

	if (rc < 0)
		return -1;
	params = process_params("label", spec->label);
	process_add_param(&params, "owner", str_of(spec->owner));
	buf_addf(&params, ",\"lifetime_s\":%lld", (long long)spec->lifetime_s);
	if (spec->snapshot)
		process_add_param(&params, "snapshot", str_of(spec->snapshot));
	rc = process_request(c, &ask, &params, &result, stop, err);
	if (rc == 0) {
		rc = parse_sandbox(sb, result, &ask, stop, err);
	} else if (ask.error_code == CHILD_NO_METHOD) {
		/* A child that only executes has one sandbox, for which any
		 * id will do. */
		sb->id = xstrdup(spec->label);
		set_workdir(sb, NULL, stop);
		rc = 0;
	} else {
		err->nothing_made = is_refusal(ask.error_code);
	}
	/* A create is not repeated: it need not be idempotent. */
	if (rc < 0 && err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	err->exhausted = rc < 0;
	cJSON_Delete(result);
	return rc;
}

static int attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err)
{
	struct process_client *c = process_of(sb->client);
	struct buf params;
	struct jsonrpc_ask ask = { .method = "attach",
				   .what = "attaching to the sandbox",
				   .timeout_ms = c->p->limits.create };
	cJSON *result = NULL;
	int rc = check_spec(sb, NULL, stop, err);

	if (rc < 0)
		return -1;
	params = process_params("sandbox", id);
	rc = process_request(c, &ask, &params, &result, stop, err);
	if (rc == 0)
		rc = parse_sandbox(sb, result, &ask, stop, err);
	if (rc == 0 && strcmp(sb->id, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "%s: asked for %.100s, got %.100s", ask.what, id,
			       sb->id);
	cJSON_Delete(result);
	return rc;
}

static int remove_sandbox(struct sandbox_client *client, const char *id,
			  const struct stop *stop, struct error *err)
{
	struct buf params = process_params("sandbox", id);
	struct jsonrpc_ask ask = { .method = "delete",
				   .what = "deleting the sandbox" };
	struct error why = { 0 };
	int rc = process_request(process_of(client), &ask, &params, NULL, stop,
				 &why);

	if (rc == 0 || why.code == ERR_NOT_FOUND || why.code == ERR_GONE ||
	    ask.error_code == CHILD_NO_METHOD)
		return 0;
	*err = why;
	return -1;
}

static int extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	struct buf params = process_params("sandbox", sb->id);
	struct jsonrpc_ask ask = { .method = "extend",
				   .what = "extending the sandbox's life" };

	buf_addf(&params, ",\"lifetime_s\":%lld", (long long)lifetime_s);
	return process_request(process_of(sb->client), &ask, &params, NULL,
			       stop, err);
}

static int stop_sandbox(struct sandbox_client *client, const char *id,
			int64_t *keep_s, const struct stop *stop,
			struct error *err)
{
	struct process_client *c = process_of(client);
	struct buf params = process_params("sandbox", id);
	struct jsonrpc_ask ask = { .method = "stop",
				   .what = "stopping the sandbox",
				   .timeout_ms = c->p->limits.create };
	cJSON *result = NULL;
	int rc;

	buf_addf(&params, ",\"keep_s\":%lld", (long long)*keep_s);
	rc = process_request(c, &ask, &params, &result, stop, err);
	*keep_s = json_int(result, "keep_s", 0);
	cJSON_Delete(result);
	return rc < 0 && err->code == ERR_NOT_FOUND ? 1 : rc;
}

static int make_snapshot(struct sandbox *sb, const char *name, bool replace,
			 const struct stop *stop, struct error *err)
{
	struct process_client *c = process_of(sb->client);
	struct buf params = process_params("sandbox", sb->id);
	struct jsonrpc_ask ask = { .method = "snapshot",
				   .what = "making the snapshot",
				   .timeout_ms = c->p->limits.create };

	process_add_param(&params, "name", str_of(name));
	buf_addf(&params, ",\"replace\":%s", replace ? "true" : "false");
	return process_request(c, &ask, &params, NULL, stop, err);
}

static void close_client(struct sandbox_client *client)
{
	struct process_client *c = client->priv;

	if (!c)
		return;
	if (c->wire)
		jsonrpc_end(c->wire, c->p->limits.grace);
	pthread_mutex_destroy(&c->lock);
	free(c->program);
	free(c->workdir);
	free(c);
	client->priv = NULL;
}

static const struct sandbox_ops all_ops = {
	.open = process_open,
	.close = close_client,
	.probe = probe,
	.create = create,
	.attach = attach,
	.list = process_list,
	.list_ids = process_list_ids,
	.info = process_info,
	.extend = extend,
	.snapshot = make_snapshot,
	.execute = process_execute,
	.upload = process_upload,
	.download = process_download,
	.stop = stop_sandbox,
	.remove = remove_sandbox,
};

static void free_provider(struct made_provider *made)
{
	struct process_provider *p = (struct process_provider *)made;

	provider_config_release(&p->config);
	free(p);
}

struct made_provider *process_provider_new(struct provider_config *d,
					   struct error *err)
{
	struct process_provider *p;

	if (!d->class_path && !(d->command && d->command[0])) {
		error_set(err, ERR_CONFIG,
			  "Sandbox provider '%s' config is missing "
			  "'class_path'",
			  d->name);
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->config = *d;
	*d = (struct provider_config){ 0 };
	p->ops = all_ops;
	p->limits = (struct process_limits){ .start = 30000,
					     .create = 600000,
					     .call = 60000,
					     .held = 20000,
					     .slack = 10000,
					     .patience = 60000,
					     .grace = 1000 };
	p->made.free = free_provider;
	p->made.base = (struct sandbox_provider){
		.name = p->config.name,
		.summary = p->config.class_path
				   ? "a Python class of yours or a package's"
				   : "a program that speaks the "
				     "provider protocol",
		.workdir = p->config.workdir ? p->config.workdir : "/workspace",
		.flags = p->config.flags | SANDBOX_LIVE,
		.max_command = 80 << 10,
		.lifetime_s = 3600,
		.ops = &p->ops,
		.isolation = p->config.isolation,
	};
	return &p->made;
}

static void move(char **to, char **from)
{
	if (!*from)
		return;
	free(*to);
	*to = *from;
	*from = NULL;
}

void process_provider_overlay(struct made_provider *made,
			      struct provider_config *d)
{
	struct process_provider *p = (struct process_provider *)made;

	move(&p->config.workdir, &d->workdir);
	move(&p->config.package, &d->package);
	if (d->params)
		p->config.params = d->params;
	if (p->config.workdir)
		made->base.workdir = p->config.workdir;
	if (d->isolation)
		p->config.isolation = made->base.isolation = d->isolation;
}
