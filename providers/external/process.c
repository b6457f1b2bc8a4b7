/* process.c - a provider that is a child process: its sandboxes' lives. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { PARAMS_MAX = 1 << 20, PROGRESS_MAX = 200 };

struct provider_process *provider_process_of(const struct sandbox_client *host)
{
	return host->priv;
}

void provider_process_params(struct buf *b, const char *id)
{
	buf_addc(b, '{');
	json_member(b, "sandbox", str_of(id));
}

/* The code that a child answered with, as ours. */
void provider_process_translate(const struct provider_process *c, int code,
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
	const char *package = c->p->d.package;

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

/* With the lock held: one that runs, or a new one. */
static int ensure(struct provider_process *c, const struct stop *stop,
		  struct error *err)
{
	struct jsonrpc *w;

	if (c->wire && !jsonrpc_broken(c->wire))
		return 0;
	if (c->wire && c->users)
		return error_set(err, ERR_NETWORK, "the provider is ending");
	if (c->wire)
		jsonrpc_end(c->wire, 0);
	c->wire = NULL;
	if (c->starts >= CHILD_STARTS) {
		*err = c->last;
		err->code = ERR_REMOTE;
		return error_hint(err,
				  "It has ended %d times and is not "
				  "started again.",
				  CHILD_STARTS);
	}
	c->starts++;
	w = provider_process_spawn(c, err);
	if (!w)
		return -1;
	if (provider_process_initialize(c, w, stop, err) == 0) {
		c->wire = w;
		return 0;
	}
	/* One that cannot begin will not do so later. */
	if (err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	c->last = *err;
	jsonrpc_end(w, 0);
	return -1;
}

int provider_process_call(struct provider_process *c, struct jsonrpc_ask *ask,
			  cJSON **result, const struct stop *stop,
			  struct error *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = ensure(c, stop, err);
	if (rc == 0)
		c->users++;
	pthread_mutex_unlock(&c->lock);
	if (rc < 0)
		return -1;
	rc = jsonrpc_call(c->wire, ask, result, stop, err);
	pthread_mutex_lock(&c->lock);
	c->users--;
	if (rc < 0 && jsonrpc_broken(c->wire))
		c->last = *err;
	pthread_mutex_unlock(&c->lock);
	if (rc < 0 && ask->refused != JSONRPC_REFUSED)
		provider_process_translate(c, ask->refused, err);
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

static bool id_ok(const char *id)
{
	struct str s = str_of(id);

	if (!s.len || s.len > CHILD_ID_MAX || !str_is_utf8(s))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 0x7f)
			return false;
	return true;
}

/* An answer about one sandbox: its id, and maybe where its files are. */
static int adopt(struct sandbox *sb, const cJSON *result, const char *what,
		 const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	const char *id = json_string(result, "id", "");
	const cJSON *dir = json_get(result, "workdir");
	const char *workdir = c->p->d.workdir;

	if (!id_ok(id))
		return error_set(err, ERR_PROTOCOL,
				 "%s: the provider's answer makes no sense: "
				 "its id is no string of 1 to %d printable "
				 "characters",
				 what, CHILD_ID_MAX);
	if (!sb->id)
		sb->id = xstrdup(id);
	if (dir && (!cJSON_IsString(dir) || dir->valuestring[0] != '/'))
		return error_set(err, ERR_PROTOCOL,
				 "%s: the provider's answer makes no sense: "
				 "its workdir is no absolute path",
				 what);
	if (!workdir)
		workdir = dir ? dir->valuestring : c->workdir;
	if (!sb->workdir && workdir)
		sb->workdir = xstrdup(workdir);
	/* A class says where it would like to be, if anything. */
	if (!dir && (!sb->workdir || c->p->d.class_path))
		provider_process_settle(sb, stop);
	provider_process_find_held(sb, stop);
	return 0;
}

/* What only executes has one place for all, which bears the label's name. */
static int adopt_label(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop)
{
	struct provider_process *c = provider_process_of(sb->host);
	const char *workdir = c->p->d.workdir ? c->p->d.workdir : c->workdir;

	sb->id = xstrdup(spec->label);
	if (workdir)
		sb->workdir = xstrdup(workdir);
	else
		provider_process_settle(sb, stop);
	provider_process_find_held(sb, stop);
	return 0;
}

/* Codes that a create fails with before it makes anything. */
static bool is_refusal(int code)
{
	return code == CHILD_BAD_PARAMS || code == CHILD_AUTH ||
	       code == CHILD_CONFIG || code == CHILD_UNSUPPORTED ||
	       code == CHILD_MISSING || code == CHILD_NOT_FOUND;
}

/* The script that runs classes is dcode's own: it cannot list. */
static int provider_process_probe(struct sandbox_client *host,
				  const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(host);
	int rc;

	if (c->p->d.class_path)
		return 0;
	pthread_mutex_lock(&c->lock);
	rc = ensure(c, stop, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* Started by now: what was assumed of it has become certain. */
static int check_spec(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	const struct sandbox_provider *p = &c->p->made.base;
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = ensure(c, stop, err);
	pthread_mutex_unlock(&c->lock);
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

static int provider_process_create(struct sandbox *sb,
				   const struct sandbox_spec *spec,
				   const struct stop *stop, struct error *err)
{
	static const char what[] = "creating the sandbox";
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jsonrpc_ask ask = { .method = "create",
				   .what = what,
				   .timeout_ms = c->p->limits.create,
				   .notify = on_progress,
				   .arg = (void *)spec };
	cJSON *result = NULL;
	int rc = check_spec(sb, spec, stop, err);

	if (rc < 0)
		return -1;
	buf_addc(&params, '{');
	json_member(&params, "label", str_of(spec->label));
	buf_addc(&params, ',');
	json_member(&params, "owner", str_of(spec->owner));
	buf_addf(&params, ",\"lifetime_s\":%lld", (long long)spec->lifetime_s);
	if (spec->snapshot) {
		buf_addc(&params, ',');
		json_member(&params, "snapshot", str_of(spec->snapshot));
	}
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, err);
	if (rc == 0)
		rc = adopt(sb, result, what, stop, err);
	else if (ask.refused == CHILD_NO_METHOD)
		rc = adopt_label(sb, spec, stop);
	else
		err->nothing_made = is_refusal(ask.refused);
	/* A create is not repeated: it need not be idempotent. */
	if (rc < 0 && err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	err->exhausted = rc < 0;
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static int provider_process_attach(struct sandbox *sb, const char *id,
				   const struct stop *stop, struct error *err)
{
	static const char what[] = "attaching to the sandbox";
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jsonrpc_ask ask = { .method = "attach",
				   .what = what,
				   .timeout_ms = c->p->limits.create };
	cJSON *result = NULL;
	int rc = check_spec(sb, NULL, stop, err);

	provider_process_params(&params, id);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	if (rc == 0)
		rc = provider_process_call(c, &ask, &result, stop, err);
	if (rc == 0)
		rc = adopt(sb, result, what, stop, err);
	if (rc == 0 && strcmp(sb->id, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "%s: asked for %.100s, got %.100s", what, id,
			       sb->id);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static int provider_process_remove(struct sandbox_client *host, const char *id,
				   const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct error why = { 0 };
	struct provider_process *c = provider_process_of(host);
	struct jsonrpc_ask ask = { .method = "delete",
				   .what = "deleting the sandbox",
				   .timeout_ms = c->p->limits.call };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, id);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, &why);
	cJSON_Delete(result);
	buf_release(&params);
	if (rc == 0 || why.code == ERR_NOT_FOUND || why.code == ERR_GONE ||
	    ask.refused == CHILD_NO_METHOD)
		return 0;
	*err = why;
	return -1;
}

static int provider_process_extend(struct sandbox *sb, int64_t lifetime_s,
				   const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jsonrpc_ask ask = { .method = "extend",
				   .what = "extending the sandbox's life",
				   .timeout_ms = c->p->limits.call };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, sb->id);
	buf_addf(&params, ",\"lifetime_s\":%lld}", (long long)lifetime_s);
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, err);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static int provider_process_snapshot(struct sandbox *sb, const char *name,
				     bool replace, const struct stop *stop,
				     struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct jsonrpc_ask ask = { .method = "snapshot",
				   .what = "making the snapshot",
				   .timeout_ms = c->p->limits.create };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, sb->id);
	buf_addc(&params, ',');
	json_member(&params, "name", str_of(name));
	buf_addf(&params, ",\"replace\":%s}", replace ? "true" : "false");
	ask.params = buf_str(&params);
	rc = provider_process_call(c, &ask, &result, stop, err);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static void provider_process_discard(struct sandbox *sb)
{
	sb->priv = NULL;
}

static void provider_process_close(struct sandbox_client *host)
{
	struct provider_process *c = host->priv;

	if (!c)
		return;
	if (c->wire)
		jsonrpc_end(c->wire, c->p->limits.grace);
	pthread_mutex_destroy(&c->lock);
	free(c->program);
	free(c->workdir);
	free(c);
	host->priv = NULL;
}

static const struct sandbox_ops all_ops = {
	.open = provider_process_open,
	.close = provider_process_close,
	.probe = provider_process_probe,
	.create = provider_process_create,
	.attach = provider_process_attach,
	.list = provider_process_list,
	.info = provider_process_info,
	.extend = provider_process_extend,
	.snapshot = provider_process_snapshot,
	.execute = provider_process_execute,
	.upload = provider_process_upload,
	.download = provider_process_download,
	.remove = provider_process_remove,
	.discard = provider_process_discard,
};

static void free_provider(struct made_provider *made)
{
	struct process_provider *p = (struct process_provider *)made;

	provider_config_release(&p->d);
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
	p->d = *d;
	*d = (struct provider_config){ 0 };
	p->ops = all_ops;
	p->limits = (struct provider_process_limits){ .start = 30000,
						      .create = 600000,
						      .call = 60000,
						      .held = 20000,
						      .slack = 10000,
						      .patience = 60000,
						      .grace = 1000 };
	p->made.free = free_provider;
	p->made.base = (struct sandbox_provider){
		.name = p->d.name,
		.summary = p->d.class_path ? "a Python class of yours or of a"
					     " package"
					   : "a program that speaks the "
					     "provider protocol",
		.workdir = p->d.workdir ? p->d.workdir : "/workspace",
		.flags = p->d.flags | SANDBOX_LIVE,
		.max_command = 80 << 10,
		.lifetime_s = 3600,
		.ops = &p->ops,
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

	move(&p->d.workdir, &d->workdir);
	move(&p->d.package, &d->package);
	if (d->params)
		p->d.params = d->params;
	if (p->d.workdir)
		made->base.workdir = p->d.workdir;
}
