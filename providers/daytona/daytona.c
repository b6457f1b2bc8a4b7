/* daytona.c - sandboxes of Daytona. */
/* SPDX-License-Identifier: MIT */
/*
 * There are two servers with one key: the API, which creates and deletes
 * sandboxes, and the toolbox proxy at a sandbox's toolboxProxyUrl, which runs
 * commands and transfers files. Sources of the protocol: the OpenAPI documents
 * 0.190.0 and what the official JavaScript SDK 0.218.0 and Python SDK 0.190.0
 * were seen to send (2026-11).
 *
 * The tables at the end contain the special cases of Daytona; providers/kit
 * does the rest. Begin with describe() and compose_request().
 */
#include "providers/daytona/daytona.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/files.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "providers/kit/vendor.h"
#include "sandbox/ports/ports.h"

enum {
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	PUBLIC_S = 86400, /* after which a public address expires */
	/* ms; the server may hold a create request for 30 s */
	CREATE_MS = 90000,
	WAIT_MS = 180000,
	START_MS = 90000, /* ms; the server may hold a start request for 30 s */
	TOUCH_MS = 10000,
	/* Constants for commands: */
	BODY_MAX = 4 << 20,
	ARGUMENT_MAX = 120000, /* bytes of one argument; Linux allows 128 KiB */
	/* added to the time for which the server may hold a request */
	SLACK_MS = 8000,
	/* Constants for snapshots: */
	SNAPSHOT_MS = 120000,
	POLL_MS = 1000,
	/* how long the API may answer 404 for a new snapshot */
	NOTICE_MS = 30000,
	WORK_MS = 1800000,
};

/* Version of the SDK that dcode claims to be. For versions from 0.167.0 on, the
 * server separates standard output and error output, and answers in JSON. */
static const char version[] = "0.190.0";

static const struct setting settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "DAYTONA_API_KEY",
	  .help = "key from https://app.daytona.io/dashboard/keys" },
	{ .key = "jwt_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "DAYTONA_JWT_TOKEN",
	  .help = "login token, instead of api_key; needs "
		  "DAYTONA_ORGANIZATION_ID" },
	{ .key = "snapshot",
	  .example = "\"my-snapshot\"",
	  .type = SETTING_STRING,
	  .field = "snapshot",
	  .help = "snapshot to start from (default: the account's)" },
	{ .key = "image",
	  .example = "\"python:3.13\"",
	  .type = SETTING_STRING,
	  .help = "image with a tag to build from, instead of a snapshot" },
	WORKDIR_ROW("/home/daytona"),
	{ .key = "user",
	  .example = "\"daytona\"",
	  .type = SETTING_STRING,
	  .field = "user",
	  .help = "user inside (default: the snapshot's)" },
	{ .key = "region",
	  .example = "\"eu\"",
	  .type = SETTING_STRING,
	  .field = "target",
	  .env = "DAYTONA_TARGET",
	  .help = "region: us, eu or an id" },
	{ .key = "cpu",
	  .unit = "CPUs",
	  .example = "2",
	  .type = SETTING_INT,
	  .field = "cpu",
	  .least = 1,
	  .help = "virtual CPUs; only with image" },
	{ .key = "memory",
	  .unit = "GiB",
	  .example = "4",
	  .type = SETTING_INT,
	  .field = "memory",
	  .least = 1,
	  .help = "GiB of memory; only with image" },
	{ .key = "disk",
	  .unit = "GiB",
	  .example = "10",
	  .type = SETTING_INT,
	  .field = "disk",
	  .least = 1,
	  .help = "GiB of disk; only with image" },
	{ .key = "gpu",
	  .unit = "GPUs",
	  .example = "1",
	  .type = SETTING_INT,
	  .field = "gpu",
	  .least = 1,
	  .help = "GPUs; only with image" },
	ENV_ROW("env"),
	LABELS_ROW("labels of the sandbox: NAME=value"),
	NETWORK_ROW,
	LIFETIME_ROW("3600", "seconds without a command until it stops "
			     "(default 1800)"),
	{ .key = "auto_delete",
	  .unit = "minutes",
	  .type = SETTING_INT,
	  .field = "autoDeleteInterval",
	  .least = -1,
	  .fallback = "0",
	  .help = "minutes from stop to deletion; -1: never" },
	{ .key = "auto_archive",
	  .unit = "minutes",
	  .example = "1440",
	  .type = SETTING_INT,
	  .field = "autoArchiveInterval",
	  .help = "minutes from stop to archive" },
	{ 0 },
};

/* Adds the headers that both servers need. */
static int add_headers(struct rest *r, const struct settings *set,
		       const char **project, struct error *err)
{
	const char *key = settings_credential(set, "DAYTONA_API_KEY", project);
	const char *jwt =
		key ? NULL
		    : settings_credential(set, "DAYTONA_JWT_TOKEN", project);
	const char *org = settings_env(set, "DAYTONA_ORGANIZATION_ID");

	if (!key && !jwt) {
		error_set(err, ERR_AUTH, "DAYTONA_API_KEY is not set");
		return error_hint(err,
				  "Get a key at "
				  "https://app.daytona.io/dashboard/keys, then "
				  "export DAYTONA_API_KEY=dtn_...");
	}
	if (!key && !org) {
		error_set(err, ERR_AUTH,
			  "DAYTONA_JWT_TOKEN is set, but "
			  "DAYTONA_ORGANIZATION_ID is not");
		return error_hint(err,
				  "Set DAYTONA_ORGANIZATION_ID to the id that "
				  "https://app.daytona.io/dashboard shows in "
				  "Settings, or use a DAYTONA_API_KEY.");
	}
	if (vendor_bearer(r, key ? key : jwt, err) < 0 ||
	    (!key &&
	     rest_header(r, "X-Daytona-Organization-ID", org, err) < 0) ||
	    rest_header(r, "X-Daytona-Source", "dcode", err) < 0)
		return -1;
	return rest_header(r, "X-Daytona-SDK-Version", version, err);
}

static const struct vendor vendor;

static int daytona_open(struct sandbox_client *client,
			const struct settings *set, struct error *err)
{
	static const char *const variables[] = { "DAYTONA_API_URL",
						 "DAYTONA_SERVER_URL", NULL };
	struct vendor_client *c = vendor_open(client, &vendor);

	if (add_headers(&c->api, set, &client->project_key, err) < 0 ||
	    rest_header(&c->api, "Accept", "application/json", err) < 0 ||
	    rest_address(&c->api.base, set, variables,
			 "https://app.daytona.io/api", err) < 0)
		return -1;
	client->endpoint = c->api.base;
	return 0;
}

/* The API takes one list of at most 20 names or 10 IPv4 networks, without ports
 * and denied hosts. "*.x" includes x. */
static const struct network_limits network_limits = {
	.can = NETWORK_CAN_ADDRESSES | NETWORK_CAN_NETWORKS |
	       NETWORK_NAMES_OR_ADDRESSES | NETWORK_WILD_HAS_APEX,
	.names = 20,
	.addresses = 10,
	.note = "On Daytona's tiers 1 and 2 the organization's own policy "
		"replaces the list, and registries, GitHub and other services "
		"stay reachable.",
};

/* Adds the entries of a list as one text, as the API expects, if there are
 * any. */
static void add_joined(cJSON *body, const char *name, cJSON *hosts)
{
	struct buf all = BUF_INIT(16 << 10);
	const cJSON *host;

	cJSON_ArrayForEach (host, hosts)
		buf_addf(&all, "%s%s", all.len ? "," : "", host->valuestring);
	if (all.len)
		cJSON_AddStringToObject(body, name, all.ptr);
	buf_release(&all);
	cJSON_Delete(hosts);
}

static void add_network(const struct network *n, cJSON *body)
{
	if (n->mode == NETWORK_NONE || n->mode == NETWORK_FULL)
		cJSON_AddBoolToObject(body, "networkBlockAll",
				      n->mode == NETWORK_NONE);
	if (n->mode != NETWORK_LIST)
		return;
	add_joined(body, "networkAllowList",
		   body_hosts(n, HOSTS_ADDRESSES | HOSTS_PREFIX));
	add_joined(body, "domainAllowList", body_hosts(n, HOSTS_NAMES));
}

static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	add_network(n, body);
	return vendor_change_network(
		sb, "POST", xasprintf("/sandbox/%s/network-settings", sb->id),
		body, stop, err);
}

/* Secrets. The organization stores the values, and a variable holds the
 * vendor's own placeholder. */

static const struct secret_limits secret_limits = {
	/* "*.x" would include x */
	.can = SECRET_CAN_PLACEHOLDER | SECRET_CLIENT_SENDS | SECRET_IN_ACCOUNT,
	.note = "Daytona replaces the placeholder of a secret where a client "
		"sends it, also over plain HTTP.",
};
static const struct vendor_pages secret_pages = { .member = "nextCursor",
						  .query = "cursor",
						  .items = "items" };
static const struct vendor_objects stored_secrets = {
	.path = "/secret",
	.list = "/secret/paginated?limit=200",
	.pages = &secret_pages,
	.name = "name",
	.id = "id",
};
static const struct vendor_objects *const objects[] = { &stored_secrets, NULL };

static int add_secrets(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err)
{
	cJSON *all = cJSON_AddArrayToObject(body, "secrets");

	for (size_t i = 0; i < spec->secrets->n; i++) {
		const struct secret *s = &spec->secrets->list[i];
		char *name = vault_object_name(spec->label, s);
		cJSON *variable = cJSON_CreateObject();
		cJSON *stored = cJSON_CreateObject();

		cJSON_AddStringToObject(variable, s->env, name);
		cJSON_AddItemToArray(all, variable);
		cJSON_AddStringToObject(stored, "name", name);
		cJSON_AddStringToObject(stored, "value", s->value);
		vault_add_hosts(stored, "hosts", s);
		free(name);
		if (vault_create_object(c, &stored_secrets, stored, stop, err) <
		    0)
			return -1;
	}
	return 0;
}

static const struct vendor_vault vault = { .add = add_secrets,
					   .objects = objects };

/* Returns an array of the parts of a text that are separated by commas. */
static cJSON *split_list(const char *text)
{
	struct str rest = str_of(text);
	struct str part;
	cJSON *array = cJSON_CreateArray();

	while (str_split(&rest, ',', &part)) {
		char *item = xstrndup(part.ptr, part.len);

		cJSON_AddItemToArray(array, cJSON_CreateString(item));
		free(item);
	}
	return array;
}

static int get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *info = NULL;
	cJSON *hosts;
	const char *text;
	int rc = vendor_get(sb->client->priv, sb->id, &info, stop, err);

	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the sandbox has ended");
	text = json_string(info, "domainAllowList", "");
	if (!*text)
		text = json_string(info, "networkAllowList", "");
	hosts = split_list(text);
	if (rc == 0 && json_bool(info, "networkBlockAll", false))
		n->mode = NETWORK_NONE;
	else if (rc == 0)
		rc = body_read_hosts(n, hosts, NULL, !*text, err);
	cJSON_Delete(hosts);
	cJSON_Delete(info);
	return rc;
}

/* Adds the snapshot, or the image to build and the sandbox's resources. The API
 * accepts resources only with an image. */
static int add_source(const struct sandbox_client *client,
		      const struct sandbox_spec *spec, cJSON *body,
		      struct error *err)
{
	const char *image = NULL;
	char *text;

	if (settings_string(client->settings, "daytona", "image", &image, err) <
	    0)
		return -1;
	if (spec->snapshot) {
		cJSON_AddStringToObject(body, "snapshot", spec->snapshot);
		return 0;
	}
	if (!image || !*image)
		return body_add_settings(client, "snapshot", body, err);
	if (strpbrk(image, "\r\n"))
		return error_set(err, ERR_CONFIG, "image has several lines");
	text = xasprintf("FROM %s\n", image);
	cJSON_AddStringToObject(body_object(body, "buildInfo"),
				"dockerfileContent", text);
	free(text);
	return body_add_settings(client, "cpu memory disk gpu", body, err);
}

static int describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	int64_t minutes = (spec->lifetime_s + 59) / 60;

	(void)stop;
	cJSON_AddStringToObject(body, "name", spec->label);
	cJSON_AddObjectToObject(body, "env");
	if (body_add_settings(c->client, "env", body, err) < 0)
		return -1;
	cJSON_AddObjectToObject(body, "labels");
	if (add_source(c->client, spec, body, err) < 0 ||
	    body_add_settings(c->client, "user region", body, err) < 0)
		return -1;
	add_network(spec->network, body);
	cJSON_AddNumberToObject(body, "autoStopInterval", (double)minutes);
	return body_add_settings(c->client, "auto_delete auto_archive", body,
				 err);
}

static int post_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/sandbox",
				    .what = "creating the sandbox",
				    .timeout_ms = sandbox_start_ms(sb->client,
								   CREATE_MS) };

	(void)spec;
	return vendor_post(sb->client->priv, &ask, body, answer, stop, err);
}

/* Requests the toolbox's address. For servers that are too old to put
 * toolboxProxyUrl into the description. The caller frees the result; NULL on
 * error. */
static char *request_url(struct sandbox *sb, const struct stop *stop,
			 struct error *err)
{
	struct http_request ask = { .method = "GET",
				    .path = "/toolbox-proxy-url",
				    .what = "asking for the toolbox's address",
				    .flags = REST_AGAIN };
	cJSON *tree = NULL;
	char *url = NULL;

	if (vendor_ask(sb->client->priv, sb->id, &ask, &tree, stop, err) == 0)
		url = xstrdup(json_string(tree, "url", ""));
	cJSON_Delete(tree);
	return url;
}

/* Sets the toolbox's address, which may differ between regions. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const char *named = json_string(answer, "toolboxProxyUrl", "");
	char *url = *named ? xstrdup(named) : request_url(sb, stop, err);
	char *base = url ? vendor_server_url(sb->client->priv, url, err) : NULL;
	struct rest toolbox = { .http = sb->client->http };
	int rc = -1;

	if (base) {
		toolbox.base = xasprintf("%s/%s", base, sb->id);
		rc = add_headers(&toolbox, sb->client->settings, NULL, err);
	}
	if (rc == 0) {
		vendor_set_server(sb, &toolbox);
		vendor_set_lease(sb,
				 json_int(answer, "autoStopInterval", 0) * 60);
	}
	rest_release(&toolbox);
	free(base);
	free(url);
	return rc;
}

static int start_sandbox(struct sandbox *sb, const char *id, cJSON **answer,
			 const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/start",
				    .what = "starting the sandbox",
				    .timeout_ms = sandbox_start_ms(sb->client,
								   START_MS),
				    .flags = REST_AGAIN };

	return vendor_ask(sb->client->priv, id, &ask, answer, stop, err);
}

static int touch_sandbox(struct sandbox *sb, const struct stop *stop,
			 struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/last-activity",
				    .what = "keeping the sandbox alive" };

	return vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);
}

/* Extends the sandbox's life by setting its autostop interval: the minutes from
 * the last activity to the stop. */
static int extend_life(struct sandbox *sb, int64_t lifetime_s,
		       const struct stop *stop, struct error *err)
{
	long long minutes = (lifetime_s + 59) / 60;
	char *path = xasprintf("/autostop/%lld", minutes);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "extending the sandbox's life",
				    .flags = REST_AGAIN };
	struct stop within = stop_within(stop, TOUCH_MS);
	struct error ignored = { 0 };
	int rc = 0;

	if (vendor_lifetime(sb) != minutes * 60)
		rc = vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop,
				err);
	free(path);
	if (rc < 0)
		return -1;
	vendor_set_lease(sb, minutes * 60);
	(void)touch_sandbox(sb, &within, &ignored);
	return 0;
}

/* Sets how many minutes after a stop the sandbox is deleted. The create request
 * sets 0: it is deleted when it stops. */
static int set_auto_delete(struct vendor_client *c, const char *id,
			   int64_t *keep_s, const struct stop *stop,
			   struct error *err)
{
	char *path =
		xasprintf("/autodelete/%lld", (long long)(*keep_s + 59) / 60);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "postponing the sandbox's deletion",
				    .flags = REST_AGAIN };
	int rc = vendor_ask(c, id, &ask, NULL, stop, err);

	free(path);
	return rc;
}

/* Writes the request's body, with the command wrapped for the daemon in the
 * sandbox. Daemons from 0.160 on pass the text to a shell as its input. Older
 * ones split it into words and run these without a shell. Both run Base64 in
 * the form that SDKs up to 0.155 sent, but a command that is too long for one
 * word needs a new daemon. The braces make the inner shell read the whole
 * script before it runs, so that a program that reads its input cannot swallow
 * the rest of the script. Base64 needs no escapes in JSON. */
static int compose_request(struct str command, int64_t wait_ms,
			   struct buf *body, struct error *err)
{
	struct buf script = BUF_INIT(BODY_MAX);
	bool word;
	int rc;

	buf_adds(&script, "{\n");
	buf_addstr(&script, command);
	buf_adds(&script, "\n} </dev/null\n");
	word = (script.len + 2) / 3 * 4 + 1 < ARGUMENT_MAX;
	buf_addf(body, "{\"command\":\"%secho '", word ? "sh -c \\\"" : "");
	json_base64(body, buf_str(&script));
	buf_addf(body, "' | base64 -d | sh%s\",\"cwd\":\"/\",\"timeout\":%lld}",
		 word ? "\\\"" : "",
		 (long long)(wait_ms + SLACK_MS / 2 + 999) / 1000);
	rc = buf_check(&script, "the command", err);
	buf_release(&script);
	return rc < 0 ? -1 : buf_check(body, "the command", err);
}

/* Reads {"exitCode":0,"result":"..."} and appends the result to out. */
static int parse_result(const struct http_response *res, struct buf *out,
			struct error *err)
{
	cJSON *tree = json_parse(buf_str(&res->body));
	const char *result = json_string(tree, "result", NULL);
	int rc = 0;

	if (!result)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no result of the "
			       "command");
	else
		buf_adds(out, result);
	cJSON_Delete(tree);
	return rc;
}

/* Implements supervisor.call: runs one script in the sandbox. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = arg;
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_response res = { .retry_after_ms = -1 };
	struct http_request ask = {
		.method = "POST",
		.path = "/process/execute",
		.what = "running the command",
		.timeout_ms = wait_ms + SLACK_MS,
	};
	int rc;

	vendor_touch(sb, stop);
	rc = compose_request(command, wait_ms, &body, err);
	ask.body = buf_str(&body);
	if (rc == 0) {
		rc = rest_call(vendor_server(sb), &ask, &res, stop, err);
		rc = rc < 0 ? vendor_exec_failed(sb, res.status, false, stop,
						 err)
			    : parse_result(&res, out, err);
	}
	http_response_release(&res);
	buf_release(&body);
	return rc;
}

static void fill_get(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/files/download?path=");
	rest_encode(&req->path, str_of(file));
}

static void fill_put(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	(void)sb;
	(void)file;
	buf_adds(&req->path, "/files/bulk-upload");
	req->path_field = "files[0].path";
	req->file_field = "files[0].file";
	req->file_name = "file";
}

static bool has_words(const struct http_response *res, const char *words)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(words)) < body.len;
}

/* Recognises the texts with which the proxy says that a sandbox does not exist
 * or does not answer. */
static enum file_retry classify_failure(const struct http_response *res)
{
	int status = res->status;

	if (status == 401 || status == 502 || status == 503 || status == 504 ||
	    ((status == 400 || status == 404) && has_words(res, "andbox") &&
	     !has_words(res, "FILE_") && !has_words(res, "\"errors\"")))
		return FILE_RETRY_STARTED;
	return FILE_RETRY_NEVER;
}

static const struct http_files files = {
	.call = vendor_send,
	.get = fill_get,
	.put = fill_put,
	.classify = classify_failure,
	.touch = true,
};

/* Returns 1 when the snapshot can be used, 0 to poll again. Sets *known, its
 * id, owned by the caller, once the API finds the snapshot. */
static int poll_snapshot(struct sandbox_client *client, const char *name,
			 char **known, const struct stop *stop,
			 struct error *err)
{
	struct buf path = BUF_INIT(4096);
	struct http_request ask = { .method = "GET",
				    .what = "asking for the snapshot",
				    .flags = REST_AGAIN | REST_MISSING_OK };
	cJSON *tree = NULL;
	const char *state;
	int rc;

	buf_adds(&path, "/snapshots/");
	rest_encode(&path, str_of(name));
	ask.path = path.ptr;
	rc = vendor_api(client->priv, &ask, &tree, stop, err);
	state = json_string(tree, "state", "");
	if (rc == 0 && !*known)
		*known = xstrdup(json_string(tree, "id", ""));
	if (rc > 0)
		rc = 0;
	else if (rc == 0 && strcmp(state, "active") == 0)
		rc = 1;
	else if (rc == 0 && (strcmp(state, "error") == 0 ||
			     strcmp(state, "build_failed") == 0))
		rc = error_set(err, ERR_REMOTE, "the snapshot failed: %.300s",
			       json_string(tree, "errorReason", state));
	cJSON_Delete(tree);
	buf_release(&path);
	return rc;
}

static int daytona_find_snapshot(struct sandbox_client *client,
				 const char *name, char **id,
				 const struct stop *stop, struct error *err)
{
	struct error failed = { 0 };

	/* A snapshot whose build failed keeps the name, so this finds it. */
	if (poll_snapshot(client, name, id, stop, &failed) < 0 && !*id) {
		*err = failed;
		return -1;
	}
	return *id != NULL;
}

static int daytona_remove_snapshot(struct sandbox_client *client,
				   const char *name, const char *id,
				   const struct stop *stop, struct error *err)
{
	(void)name;
	return vendor_delete_snapshot(client, "/snapshots/", id, stop, err);
}

/* Makes a snapshot and waits until it can be used. */
static int daytona_snapshot(struct sandbox *sb, const char *name, bool replace,
			    const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .path = "/snapshot",
					  .timeout_ms = SNAPSHOT_MS };
	struct stop within = stop_within(stop, WORK_MS);
	int64_t noticed = clock_ms() + NOTICE_MS;
	char *known = NULL;
	int rc;

	(void)replace; /* the API itself refuses a name that exists */
	if (vendor_post_snapshot(sb, &ask, name, NULL, stop, err) < 0)
		return -1;
	while ((rc = poll_snapshot(sb->client, name, &known, &within, err)) ==
	       0) {
		if (!known && clock_ms() > noticed)
			rc = error_set(err, ERR_REMOTE,
				       "the snapshot was not made");
		else
			rc = stop_sleep(&within, POLL_MS, err);
		if (rc < 0)
			break;
	}
	free(known);
	return rc < 0 ? -1 : 0;
}

/* A sandbox is billed for its size, used or not. The account's 5 GiB of free
 * disk are not subtracted (www.daytona.io/pricing, as of 2026-05-25; a GPU's
 * price depends on its kind). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0504),
	.gib = RATES_HOUR(0.0162),
	.disk_gib = RATES_HOUR(0.000108),
};

/* Computes the price from the sizes in the settings. With the account's default
 * snapshot, or with an image and no sizes, a sandbox has the vendor's default
 * size (www.daytona.io/docs, "Sandboxes", resources, read 2026-11). The size of
 * any other snapshot is unknown, so it has no price. */
static int daytona_price(const struct settings *set, const char *snapshot,
			 struct sandbox_price *price, struct error *err)
{
	const char *own = NULL;
	const char *image = NULL;
	int64_t gpu = 0;
	int64_t vcpu = 1;
	int64_t gib = 1;
	struct rates_size size = { .disk_gib = 3 };

	if (settings_string(set, "daytona", "image", &image, err) < 0 ||
	    settings_string(set, "daytona", "snapshot", &own, err) < 0 ||
	    settings_int(set, "daytona", "gpu", &gpu, err) < 0)
		return -1;
	if (snapshot || gpu > 0 || (!(image && *image) && own && *own))
		return 0;
	if (image && *image &&
	    (settings_int(set, "daytona", "cpu", &vcpu, err) < 0 ||
	     settings_int(set, "daytona", "memory", &gib, err) < 0 ||
	     settings_int(set, "daytona", "disk", &size.disk_gib, err) < 0))
		return -1;
	size.milli_vcpu = vcpu * 1000;
	size.mib = gib * 1024;
	price->usd_s = rates_price(&rates, &size);
	return 0;
}

/* Builds the path of the list. The label filter is JSON in the query. */
static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	struct buf labels = BUF_INIT(4096);

	(void)c;
	buf_adds(path, "/sandbox?limit=100");
	if (!label)
		return;
	buf_addc(&labels, '{');
	json_member(&labels, label, str_of(value));
	buf_addc(&labels, '}');
	buf_adds(path, "&labels=");
	rest_encode(path, buf_str(&labels));
	buf_release(&labels);
}

static void add_end(const cJSON *item, struct sandbox_info *info)
{
	int64_t minutes = json_int(item, "autoStopInterval", 0);
	int64_t active = json_time(item, "lastActivityAt");

	if (active && minutes > 0 && info->state == STATE_RUNNING)
		info->ends = active + minutes * 60;
}

static const struct vendor_state states[] = {
	{ "started", STATE_RUNNING, STEP_READY, false },
	{ "stopped", STATE_STOPPED, STEP_START, false },
	{ "archived", STATE_STOPPED, STEP_START, false },
	{ "paused", STATE_STOPPED, STEP_START, false },
	{ "stopping", STATE_STOPPED, STEP_WAIT, false },
	{ "pausing", STATE_STOPPED, STEP_WAIT, false },
	{ "archiving", STATE_STOPPED, STEP_WAIT, true },
	{ "creating", STATE_STARTING, STEP_WAIT, false },
	{ "starting", STATE_STARTING, STEP_WAIT, false },
	{ "resuming", STATE_STARTING, STEP_WAIT, false },
	{ "restoring", STATE_STARTING, STEP_WAIT, true },
	{ "pending_build", STATE_STARTING, STEP_WAIT, true },
	{ "building_snapshot", STATE_STARTING, STEP_WAIT, true },
	{ "pulling_snapshot", STATE_STARTING, STEP_WAIT, true },
	{ "error", STATE_UNKNOWN, STEP_FAIL, false },
	{ "build_failed", STATE_UNKNOWN, STEP_FAIL, false },
	{ "destroying", STATE_GONE, STEP_ENDING, false },
	{ "destroyed", STATE_GONE, STEP_ENDED, false },
	{ 0 },
};

/* Old servers do not paginate and answer with a plain array. */
static const struct vendor_pages pages = { .items = "items",
					   .member = "nextCursor",
					   .query = "cursor" };

static const struct vendor vendor = {
	.noun = "sandbox",
	.auth_hint = "Check that DAYTONA_API_KEY belongs to this account and "
		     "has the permission for this: "
		     "https://app.daytona.io/dashboard/keys",
	.client_size = sizeof(struct vendor_client),
	.box_size = sizeof(struct vendor_box),
	.path = "/sandbox/",
	.fields = { .id = "id",
		    .alias = "name",
		    .labels = "labels",
		    .state = "state",
		    .reason = "errorReason",
		    .created = "createdAt",
		    .image = { "snapshot" } },
	.states = states,
	.pages = &pages,
	.wait_ms = WAIT_MS,
	.unique_names = true,
	.awaits_end = true,
	.describe = describe,
	.vault = &vault,
	.post = post_create,
	.start = start_sandbox,
	.set_endpoint = set_endpoint,
	.stop_path = "/stop",
	.stop_body = "",
	.hold = set_auto_delete,
	.extend = extend_life,
	.touch = touch_sandbox,
	.info = add_end,
	.list_path = list_path,
	.call = run_script,
	.max_command = 1 << 20,
	.max_answer = 4 << 20,
	.may_be_gone = (const int[]){ 400, 401, 404, 502, 503, 504, 0 },
	.files = &files,
};

/* Implements port_ops.url (operation getPortPreviewUrl of Daytona's
 * OpenAPI document, 2026-11-26). The token serves all ports of the sandbox
 * until it is restarted. */
static int daytona_port_url(struct sandbox *sb, unsigned port,
			    struct port_url *u, const struct stop *stop,
			    struct error *err)
{
	static const struct port_names names = { "url", "token",
						 "x-daytona-preview-token" };
	struct http_request ask = { .method = "GET",
				    .path = xasprintf("/ports/%u/preview-url",
						      port),
				    .what = "asking for the port's address",
				    .flags = REST_AGAIN };

	/* else a browser gets a page that warns of the sandbox */
	u->more = xstrdup("X-Daytona-Skip-Preview-Warning: true\r\n");
	return vendor_port_url(sb, &ask, &names, u, stop, err);
}

/* Implements port_ops.publish: an address with a token in its host name
 * (getSignedPortPreviewUrl). */
static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	static const struct port_names names = { "url", "token", NULL };
	struct http_request ask = { .method = "GET",
				    .path = xasprintf(
					    "/ports/%u/signed-preview-url"
					    "?expiresInSeconds=%d",
					    port, PUBLIC_S),
				    .what = "opening the port",
				    .flags = REST_AGAIN };

	return vendor_port_url(sb, &ask, &names, u, stop, err);
}

/* Implements port_ops.withdraw (expireSignedPortPreviewUrl). */
static int withdraw_port(struct sandbox *sb, unsigned port,
			 const struct port_url *u, const struct stop *stop,
			 struct error *err)
{
	char *path = xasprintf("/ports/%u/signed-preview-url/%s/expire", port,
			       u->handle);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "closing the port",
				    .flags = REST_AGAIN };
	int rc = vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);

	free(path);
	return rc;
}

static const struct port_ops port_ops = { .url = daytona_port_url,
					  .publish = publish_port,
					  .withdraw = withdraw_port };

static const struct sandbox_ops ops = {
	VENDOR_OPS,
	.open = daytona_open,
	.attach = vendor_attach,
	.snapshot = daytona_snapshot,
	.find_snapshot = daytona_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = daytona_remove_snapshot,
	.execute = vendor_execute,
	.shell = daytona_shell,
	.set_network = set_network,
	.get_network = get_network,
	.clean = vault_clean,
};

const struct sandbox_provider daytona_provider = {
	.name = "daytona",
	.summary = "sandboxes of Daytona",
	.workdir = "/home/daytona",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "DAYTONA_API_URL",
					  "DAYTONA_SERVER_URL", NULL },
	.ops = &ops,
	.price = daytona_price,
	/* Sandboxes of the default class are containers. */
	.isolation = ISOLATION_CONTAINER,
	.isolation_source = "daytona.io/docs/en/isolation, 2026-11-23",
};
