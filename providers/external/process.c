/* process.c - the operations of a provider that is a child process. */
/* SPDX-License-Identifier: MIT */
/* The operations of PROTOCOL.md: creating, attaching, listing and deleting
 * sandboxes; commands, as supervised jobs that use the child's simple execute
 * (run_script); and files, each in one message, or else by commands. Begin with
 * create_sandbox(); all_ops and process_provider_new() are at the end. */
#include "providers/external/process.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "providers/kit/files.h"
#include "providers/kit/rest.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

enum {
	PROGRESS_MAX = 200,
	ANSWER_MAX = 1 << 20,
	OUTPUT_MAX = 8 << 20,
	PATH_LONGEST = 4096, /* bytes */
	/* bytes; smaller files are transferred by commands, just as fast */
	STAGED_LEAST = 128 << 10,
};

/* Appends the "text" and the base64 "data" of an answer or notification. */
static int add_output(const cJSON *object, struct buf *out, struct error *err)
{
	const cJSON *text = json_get(object, "text");
	const cJSON *data = json_get(object, "data");

	if (text && !cJSON_IsString(text))
		return error_set(err, ERR_PROTOCOL,
				 "invalid reply from the provider: \"text\" "
				 "must be a string");
	if (data && !cJSON_IsString(data))
		return error_set(err, ERR_PROTOCOL,
				 "invalid reply from the provider: \"data\" "
				 "must be a string");
	if (text)
		buf_adds(out, text->valuestring);
	if (data && !json_decode_base64(out, str_of(data->valuestring)) &&
	    !out->over)
		return error_set(err, ERR_PROTOCOL,
				 "invalid reply from the provider: \"data\" "
				 "must be base64");
	return buf_check(out, "the output", err);
}

static int on_output(void *arg, const char *method, const cJSON *params,
		     struct error *err)
{
	if (strcmp(method, "output") != 0)
		return 0;
	return add_output(params, arg, err);
}

/* Sets the error code on which the supervisor's retry depends. */
static void classify_failure(struct process_client *c, struct error *err)
{
	bool dead;

	if (err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	/* Do not retry: the child would send the same wrong type again. */
	if (err->code == ERR_PROTOCOL)
		err->code = ERR_REMOTE;
	if (err->code != ERR_NETWORK)
		return;
	pthread_mutex_lock(&c->lock);
	dead = c->starts >= CHILD_STARTS && c->wire && jsonrpc_broken(c->wire);
	pthread_mutex_unlock(&c->lock);
	if (dead)
		err->code = ERR_REMOTE;
}

/* Implements supervisor.call: runs one script in the child's sandbox. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = arg;
	struct process_client *c = sb->client->priv;
	int64_t limit = wait_ms + c->p->limits.slack;
	struct buf params = process_params("sandbox", sb->id);
	struct buf got = BUF_INIT(2 * OUTPUT_MAX);
	struct jsonrpc_ask ask = { .method = "execute",
				   .what = "running the command",
				   .timeout_ms = limit,
				   .notify = on_output,
				   .arg = &got };
	cJSON *result = NULL;
	int rc;

	process_add_param(&params, "command", command);
	buf_addf(&params, ",\"timeout_s\":%lld",
		 (long long)(limit + 999) / 1000);
	rc = process_request(c, &ask, &params, &result, stop, err);
	if (rc == 0 && (rc = add_output(result, &got, err)) < 0)
		error_wrap(err, "the provider sent an invalid answer");
	if (rc == 0)
		buf_addstr(out, buf_str(&got));
	else
		classify_failure(c, err);
	cJSON_Delete(result);
	buf_release(&got);
	return rc;
}

/* Returns PATH of "@dcode-at:PATH:@" somewhere in text, owned by the caller, or
 * NULL. */
static char *parse_workdir(struct str text)
{
	static const char head[] = "@dcode-at:";
	size_t at = str_search(text, str_of(head));
	struct str rest = str_skip(text, at + sizeof(head) - 1);
	size_t end = str_search(rest, STR(":@"));

	if (end == rest.len || end < 1 || end > PATH_LONGEST ||
	    rest.ptr[0] != '/')
		return NULL;
	return xstrndup(rest.ptr, end);
}

/* If commands cannot enter sb->workdir, changes it to the directory in which
 * they start. */
static void resolve_workdir(struct sandbox *sb, const struct stop *stop)
{
	const struct process_provider *p =
		((struct process_client *)sb->client->priv)->p;
	struct buf command = BUF_INIT(1 << 20);
	struct buf got = BUF_INIT(OUTPUT_MAX);
	struct stop limit = stop_within(stop, p->limits.call);
	struct error ignored = { 0 };
	char *dir = NULL;

	quote_assign(&command, "w",
		     str_of(sb->workdir ? sb->workdir : p->made.base.workdir));
	buf_adds(&command, "cd \"$w\" 2>/dev/null || "
			   "printf '@dcode-at:%s:@\\n' \"$PWD\"\n");
	if (run_script(sb, buf_str(&command), p->limits.held, &got, &limit,
		       &ignored) == 0)
		dir = parse_workdir(buf_str(&got));
	if (dir) {
		free(sb->workdir);
		sb->workdir = dir;
	}
	buf_release(&command);
	buf_release(&got);
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	const struct process_client *c = sb->client->priv;
	const struct process_limits *l = &c->p->limits;

	return (struct supervisor){
		.call = run_script,
		.arg = sb,
		.max_command = c->max_command,
		.max_answer = c->held ? OUTPUT_MAX : ANSWER_MAX,
		.longest_ms = l->held,
		.first_ms = l->held < 5000 ? l->held : 5000,
		.patience_ms = l->patience,
		.held = c->held,
	};
}

/* Sets process_client.held after two requests that find out whether processes
 * end with their execute. */
static void probe_held(struct sandbox *sb, const struct stop *stop)
{
	struct process_client *c = sb->client->priv;
	struct supervisor s = supervisor_of(sb);

	c->held = supervise_probe(&s, stop);
	if (c->held)
		sb->client->lacks |= SANDBOX_LIVE | SANDBOX_LEAVES;
}

static int process_execute(struct sandbox *sb, const struct exec_request *req,
			   struct exec_result *res, const struct stop *stop,
			   struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}

static enum file_error file_error_of(int code)
{
	switch (code) {
	case CHILD_FILE_NOT_FOUND:
		return FILE_NOT_FOUND;
	case CHILD_FILE_PERMISSION:
		return FILE_PERMISSION_DENIED;
	case CHILD_FILE_DIRECTORY:
		return FILE_IS_DIRECTORY;
	case CHILD_FILE_PATH:
		return FILE_INVALID_PATH;
	default:
		return FILE_OTHER;
	}
}

/* Sets the error of one file. Returns 0 if only this file failed, -1 if all
 * other files will fail, too. */
static int set_file_error(struct transfer *f, int code, const struct error *why,
			  struct error *err)
{
	transfer_fail(f, file_error_of(code), "");
	if (f->error != FILE_OTHER)
		return 0;
	transfer_fail(f, FILE_OTHER, why->message);
	if (code != JSONRPC_NO_ERROR && why->code == ERR_REMOTE)
		return 0;
	*err = *why;
	return -1;
}

struct whole_file { /* a file to write to a path in the child's sandbox */
	const char *path;
	int mode;
	struct str data;
	int error_code; /* out: see jsonrpc_ask.error_code */
};

static int send_file(struct sandbox *sb, struct whole_file *file,
		     const struct stop *stop, struct error *err)
{
	struct buf params = process_params("sandbox", sb->id);
	struct jsonrpc_ask ask = { .method = "upload",
				   .what = "writing the file" };
	int rc;

	process_add_param(&params, "path", str_of(file->path));
	if (file->mode)
		buf_addf(&params, ",\"mode\":%d", file->mode);
	buf_adds(&params, ",\"data\":\"");
	json_base64(&params, file->data);
	buf_addc(&params, '"');
	rc = process_request(sb->client->priv, &ask, &params, NULL, stop, err);
	file->error_code = ask.error_code;
	return rc;
}

/* Uploads to a temporary path, then moves the file by commands. The upload of a
 * provider class is fast, but its interface does not cover modes, links and
 * directories. If the upload fails, commands transfer the bytes. */
static int upload_staged(struct sandbox *sb, struct transfer *f,
			 struct file_source *source, const struct stop *stop,
			 struct error *err)
{
	struct transfer again = *f;
	struct error why = { 0 };
	char *staged = transfer_stage(f);
	struct whole_file file = { .path = staged,
				   .data = buf_str(&source->held) };
	int rc = send_file(sb, &file, stop, &why);

	transfer_fail(f, FILE_OK, "");
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, &why);
	transfer_unstage(sb, staged);
	free(staged);
	if (rc == 0 && f->error == FILE_OK)
		return 0;
	again.read = file_source_read;
	again.arg = source;
	rc = transfer_upload(sb, &again, 1, stop, err);
	transfer_fail(f, again.error, again.detail);
	return rc;
}

static int upload_message(struct sandbox *sb, struct transfer *f,
			  const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	struct file_source source;
	struct whole_file file = { .path = f->path, .mode = f->mode };
	int rc = file_source_open(&source, f, f->size, err);

	file.data = buf_str(&source.held);
	f->error = FILE_OK;
	if (rc == 0 &&
	    ((struct process_client *)sb->client->priv)->p->config.class_path)
		rc = upload_staged(sb, f, &source, stop, err);
	else if (rc == 0 && send_file(sb, &file, stop, &why) < 0)
		rc = set_file_error(f, file.error_code, &why, err);
	file_source_release(&source);
	return rc;
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	const struct process_client *c = sb->client->priv;
	bool staged = c->p->config.class_path && !f->api_only;

	(void)arg;
	if (!c->uploads || !str_is_utf8(str_of(f->path)) ||
	    (uint64_t)f->size > c->max_file ||
	    (staged && f->size < STAGED_LEAST))
		return transfer_upload(sb, f, 1, stop, err);
	return upload_message(sb, f, stop, err);
}

static int process_upload(struct sandbox *sb, struct transfer *files, size_t n,
			  const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static int write_data(struct transfer *f, const cJSON *result,
		      const struct jsonrpc_ask *ask, struct error *err)
{
	const char *data = json_string(result, "data", NULL);
	struct buf bytes = BUF_INIT(JSONRPC_LINE);
	int rc = 0;

	if (!data)
		return process_bad_answer(ask, "data is not a string", err);
	if (!json_decode_base64(&bytes, str_of(data)))
		rc = process_bad_answer(ask, "data is not base64", err);
	else if (bytes.len)
		rc = f->write(f->arg, buf_str(&bytes), err);
	buf_release(&bytes);
	return rc;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct process_client *c = sb->client->priv;
	struct buf params;
	struct jsonrpc_ask ask = { .method = "download",
				   .what = "reading the file" };
	struct error why = { 0 };
	cJSON *result = NULL;
	int rc;

	(void)arg;
	if (!c->downloads || !str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	params = process_params("sandbox", sb->id);
	process_add_param(&params, "path", str_of(f->path));
	buf_addf(&params, ",\"max_bytes\":%zu", c->max_file);
	f->error = FILE_OK;
	rc = process_request(c, &ask, &params, &result, stop, &why);
	if (rc == 0)
		rc = write_data(f, result, &ask, err);
	else if (ask.error_code == CHILD_FILE_TOO_LARGE)
		rc = transfer_download(sb, f, 1, stop, err);
	else
		rc = set_file_error(f, ask.error_code, &why, err);
	cJSON_Delete(result);
	return rc;
}

static int process_download(struct sandbox *sb, struct transfer *files,
			    size_t n, const struct stop *stop,
			    struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static enum sandbox_state parse_state(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} words[] = {
		{ "starting", STATE_STARTING },
		{ "running", STATE_RUNNING },
		{ "stopped", STATE_STOPPED },
		{ "gone", STATE_GONE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].state;
	return STATE_UNKNOWN;
}

/* Reports one sandbox, unless it belongs to an owner other than owner. */
static int emit_item(const cJSON *item, const char *owner,
		     const struct info_sink *sink, struct error *err)
{
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(item, "label", ""),
		.owner = json_string(item, "owner", ""),
		.state = parse_state(json_string(item, "state", "")),
		.image = json_string(item, "image", ""),
		.created = json_int(item, "created", 0),
		.ends = json_int(item, "ends", 0),
	};

	if (!info.id[0] || strlen(info.id) > PROVIDER_ID_MAX)
		return jsonrpc_bad_answer(&process_peer,
					  "a sandbox without an id", err);
	if (!owner || !strcmp(owner, info.owner))
		info_emit(sink, &info);
	return 0;
}

static int process_list(struct sandbox_client *client, const char *owner,
			const struct info_sink *sink, const struct stop *stop,
			struct error *err)
{
	struct buf params = process_params("owner", owner);
	struct jsonrpc_ask ask = { .method = "list",
				   .what = "listing the sandboxes" };
	const cJSON *item;
	const cJSON *list;
	cJSON *result = NULL;
	int rc = process_request(client->priv, &ask, &params, &result, stop,
				 err);

	list = json_get(result, "sandboxes");
	if (rc == 0 && !cJSON_IsArray(list))
		rc = process_bad_answer(&ask, "sandboxes is not an array", err);
	cJSON_ArrayForEach (item, list)
		if (rc == 0)
			rc = emit_item(item, owner, sink, err);
	cJSON_Delete(result);
	return rc;
}

static int process_list_ids(struct sandbox_client *client,
			    const struct info_sink *sink,
			    const struct stop *stop, struct error *err)
{
	return process_list(client, NULL, sink, stop, err);
}

static int process_info(struct sandbox_client *client, const char *id,
			const struct info_sink *sink, const struct stop *stop,
			struct error *err)
{
	struct buf params = process_params("sandbox", id);
	struct jsonrpc_ask ask = { .method = "info",
				   .what = "asking for the sandbox" };
	cJSON *result = NULL;
	int rc = process_request(client->priv, &ask, &params, &result, stop,
				 err);

	if (rc == 0)
		rc = emit_item(result, NULL, sink, err);
	cJSON_Delete(result);
	return rc;
}

/* Handles the notification "progress" of a create. */
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

/* Sets sb->workdir to the first of these that is known: that of config.toml,
 * dir (what the child said about this sandbox), what the child said about all
 * its sandboxes, the directory in which commands start. */
static void set_workdir(struct sandbox *sb, const char *dir,
			const struct stop *stop)
{
	const struct process_client *c = sb->client->priv;
	const char *workdir = c->p->config.workdir;

	if (!workdir)
		workdir = dir ? dir : c->workdir;
	if (!sb->workdir && workdir)
		sb->workdir = xstrdup(workdir);
	/* Check the directory if a provider class named it: it may not
	 * exist. */
	if (!dir && (!sb->workdir || c->p->config.class_path))
		resolve_workdir(sb, stop);
	probe_held(sb, stop);
}

/* Reads an answer about one sandbox, {"id":..., "workdir":...}. */
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

/* True for error codes which mean that the create made nothing. */
static bool is_refusal(int code)
{
	return code == CHILD_BAD_PARAMS || code == CHILD_AUTH ||
	       code == CHILD_CONFIG || code == CHILD_UNSUPPORTED ||
	       code == CHILD_MISSING || code == CHILD_NOT_FOUND;
}

static int start_provider(struct sandbox_client *client,
			  const struct stop *stop, struct error *err)
{
	return process_start(client->priv, stop, err);
}

/* Starts the child and checks that it supports what spec requests. spec NULL:
 * checks what an attach needs. */
static int check_spec(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err)
{
	struct process_client *c = sb->client->priv;
	const struct sandbox_provider *p = &c->p->made.base;
	int rc = process_start(c, stop, err);

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

/* Adds "none", "full" or an array of entries. */
static void add_network(struct buf *params, const struct network *n)
{
	struct buf entry = BUF_INIT(512);

	if (n->mode == NETWORK_NONE || n->mode == NETWORK_FULL)
		process_add_param(params, "network",
				  n->mode == NETWORK_NONE ? STR("none")
							  : STR("full"));
	if (n->mode != NETWORK_LIST)
		return;
	buf_adds(params, ",\"network\":[");
	if (n->open)
		buf_adds(params, n->n ? "\"full\"," : "\"full\"");
	for (size_t i = 0; i < n->n; i++) {
		buf_clear(&entry);
		network_print_rule(&n->rules[i], &entry);
		buf_adds(params, i ? "," : "");
		json_quote(params, buf_str(&entry));
	}
	buf_addc(params, ']');
	buf_release(&entry);
}

static int create_sandbox(struct sandbox *sb, const struct sandbox_spec *spec,
			  const struct stop *stop, struct error *err)
{
	struct process_client *c = sb->client->priv;
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
	add_network(&params, spec->network);
	rc = process_request(c, &ask, &params, &result, stop, err);
	if (rc == 0) {
		rc = parse_sandbox(sb, result, &ask, stop, err);
	} else if (ask.error_code == CHILD_NO_METHOD) {
		/* A child that can only execute has a single sandbox, so any id
		 * works. */
		sb->id = xstrdup(spec->label);
		set_workdir(sb, NULL, stop);
		rc = 0;
	} else {
		err->nothing_made = is_refusal(ask.error_code);
	}
	/* Do not retry a create: it may make a second sandbox. */
	if (rc < 0 && err->code == ERR_NETWORK)
		err->code = ERR_REMOTE;
	err->exhausted = rc < 0;
	cJSON_Delete(result);
	return rc;
}

static int attach_sandbox(struct sandbox *sb, const char *id,
			  const struct stop *stop, struct error *err)
{
	struct process_client *c = sb->client->priv;
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
	int rc = process_request(client->priv, &ask, &params, NULL, stop, &why);

	if (rc == 0 || why.code == ERR_NOT_FOUND || why.code == ERR_GONE ||
	    ask.error_code == CHILD_NO_METHOD)
		return 0;
	*err = why;
	return -1;
}

static int extend_sandbox(struct sandbox *sb, int64_t lifetime_s,
			  const struct stop *stop, struct error *err)
{
	struct buf params = process_params("sandbox", sb->id);
	struct jsonrpc_ask ask = { .method = "extend",
				   .what = "extending the sandbox's life" };

	buf_addf(&params, ",\"lifetime_s\":%lld", (long long)lifetime_s);
	return process_request(sb->client->priv, &ask, &params, NULL, stop,
			       err);
}

static int stop_sandbox(struct sandbox_client *client, const char *id,
			int64_t *keep_s, const struct stop *stop,
			struct error *err)
{
	struct process_client *c = client->priv;
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
	struct process_client *c = sb->client->priv;
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
	.probe = start_provider,
	.create = create_sandbox,
	.attach = attach_sandbox,
	.list = process_list,
	.list_ids = process_list_ids,
	.info = process_info,
	.extend = extend_sandbox,
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
		.summary =
			p->config.class_path
				? "your own Python class, or one from a package"
				: "a program that speaks the "
				  "provider protocol",
		.workdir = p->config.workdir ? p->config.workdir : "/workspace",
		/* A program says later whether it controls the network. */
		.flags = p->config.flags | SANDBOX_LIVE |
			 (p->config.class_path ? 0 : SANDBOX_NETWORK),
		.max_command = 80 << 10,
		.lifetime_s = 3600,
		.ops = &p->ops,
		.isolation = p->config.isolation,
	};
	return &p->made;
}

static void replace_string(char **to, char **from)
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

	replace_string(&p->config.workdir, &d->workdir);
	replace_string(&p->config.package, &d->package);
	if (d->params)
		p->config.params = d->params;
	if (p->config.workdir)
		made->base.workdir = p->config.workdir;
	if (d->isolation)
		p->config.isolation = made->base.isolation = d->isolation;
}
