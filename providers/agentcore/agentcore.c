/* agentcore.c - AWS Bedrock AgentCore: the account and its sessions. */
/* SPDX-License-Identifier: MIT */
/* A session's name is "LABEL-OWNER". All requests to start a session for a
 * label have the same clientToken, so a repeated request does not start a
 * second session: start_session(). Begin with agentcore_create(); the
 * provider's table is at the end. */
#include "providers/agentcore/agentcore.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "sandbox/ports/ports.h"
#include "sandbox/quote.h"

enum {
	REQUEST_MAX = 64 << 10,
	LIFETIME_S = 14400,
	LIFETIME_MAX_S = 28800, /* maximum of sessionTimeoutSeconds */
	ID_MAX = 40,
	HASH = 65,
	START_BODY_MAX = 4096,
	LIST_BODY_MAX = 64 << 10,
	PAGES_MAX = 1000,
	NAME_MAX_BYTES = 100,
	LABEL = 14, /* length of a label: "dcode-" and 8 characters */
	MKDIR_MS = 30000,
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define INTERPRETER "aws.codeinterpreter.v1"

static const struct setting settings[] = {
	{ .key = "secret_access_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "AWS_SECRET_ACCESS_KEY",
	  .help = "secret of the key" },
	{ .key = "access_key_id",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "AWS_ACCESS_KEY_ID",
	  .help = "key from console.aws.amazon.com (IAM); or use a profile" },
	{ .key = "session_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "AWS_SESSION_TOKEN",
	  .help = "token of a temporary key" },
	{ .key = "region",
	  .example = "\"eu-central-1\"",
	  .type = SETTING_STRING,
	  .env = "AWS_REGION",
	  .help = "region; default: AWS_DEFAULT_REGION, else us-west-2" },
	{ .key = "code_interpreter",
	  .type = SETTING_STRING,
	  .fallback = "\"" INTERPRETER "\"",
	  .help = "id of the code interpreter" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/tmp\"",
	  .help = "working directory inside" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "7200",
	  .type = SETTING_INT,
	  .help = "seconds after which a session ends, at most 28800 "
		  "(default 14400)" },
	{ 0 },
};

static bool is_made_of(const char *text, const char *allowed, size_t most)
{
	size_t len = strlen(text);

	return len && len <= most && strspn(text, allowed) == len;
}

static bool is_id(const char *id)
{
	return is_made_of(id, LETTERS DIGITS, ID_MAX);
}

/* True for text like "us-west-2": lower-case words with hyphens and a number at
 * the end. Checked because the region becomes part of a host name. */
static bool is_region(const char *region)
{
	const char *last = strrchr(region, '-');
	size_t letters = strspn(region, "abcdefghijklmnopqrstuvwxyz");

	return is_made_of(region, "abcdefghijklmnopqrstuvwxyz-" DIGITS, 32) &&
	       letters == 2 && region[2] == '-' && last > region + 3 &&
	       is_made_of(last + 1, DIGITS, 2) &&
	       strspn(region, "abcdefghijklmnopqrstuvwxyz-") ==
		       (size_t)(last + 1 - region);
}

static int set_region(struct agentcore *a, struct error *err)
{
	const struct settings *set = a->settings;
	const char *region = settings_env(set, "AWS_REGION");

	if (!region)
		region = settings_env(set, "AWS_DEFAULT_REGION");
	if (!region &&
	    settings_string(set, "agentcore", "region", &region, err) < 0)
		return -1;
	a->region = xstrdup(region ? region : "us-west-2");
	if (!is_region(a->region))
		return error_set(err, ERR_CONFIG, "not an AWS region: '%.60s'",
				 a->region);
	return 0;
}

static int set_address(struct agentcore *a, struct error *err)
{
	static const char *const variables[] = {
		"BEDROCK_AGENTCORE_DP_ENDPOINT",
		"AWS_ENDPOINT_URL_BEDROCK_AGENTCORE", "AWS_ENDPOINT_URL", NULL
	};
	static const char *const none[] = { NULL };
	const char *off = settings_env(a->settings,
				       "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	bool ignore = off && str_is_nocase(str_of(off), "true");
	bool china = strncmp(a->region, "cn-", 3) == 0;
	char *usual = xasprintf("https://bedrock-agentcore.%s.amazonaws.com%s",
				a->region, china ? ".cn" : "");
	int rc = rest_address(&a->api.base, a->settings,
			      ignore ? none : variables, usual, err);

	free(usual);
	return rc;
}

/* Sets the path, and the Host header with the port. Both are part of the
 * signature. */
static void set_host(struct agentcore *a)
{
	bool secure = strncmp(a->api.base, "https://", 8) == 0;
	struct str rest = str_of(a->api.base + (secure ? 8 : 7));
	struct str host = { rest.ptr, str_find(rest, '/') };
	struct str path = str_skip(rest, host.len);

	a->host = xstrndup(host.ptr, host.len);
	a->prefix = xstrndup(path.ptr ? path.ptr : "", path.len);
}

/* Reads the code interpreter's id from the settings and sets the path of all
 * requests. */
static int set_interpreter(struct agentcore *a, struct error *err)
{
	struct buf path = BUF_INIT(4096);
	const char *id = NULL;

	if (settings_string(a->settings, "agentcore", "code_interpreter", &id,
			    err) < 0)
		return -1;
	id = id ? id : INTERPRETER;
	if (!is_made_of(id, LETTERS DIGITS "-_.:/", 256) || id[0] == '.')
		return error_set(err, ERR_CONFIG,
				 "not the id of a code interpreter: '%.100s'",
				 id);
	buf_adds(&path, "/code-interpreters/");
	rest_encode(&path, str_of(id));
	a->path = buf_detach(&path);
	/* A session's id is valid only for its own interpreter, so the endpoint
	 * includes the interpreter. */
	a->endpoint = strcmp(id, INTERPRETER) == 0
			      ? xstrdup(a->api.base)
			      : xasprintf("%s%s", a->api.base, a->path);
	return 0;
}

static void agentcore_close(struct sandbox_client *client)
{
	struct agentcore *a = client->priv;

	if (!a)
		return;
	rest_release(&a->api);
	aws_close(&a->aws);
	create_log_release(&a->tried);
	free(a->region);
	free(a->host);
	free(a->prefix);
	free(a->path);
	free(a->endpoint);
	pthread_mutex_destroy(&a->lock);
	free(a);
	client->priv = NULL;
	client->endpoint = NULL;
}

static const char *get_env(const void *arg, const char *name)
{
	return settings_env(arg, name);
}

static const char *get_credential(const void *arg, const char *name,
				  const char **project)
{
	return settings_credential(arg, name, project);
}

static char **program_env(const void *arg)
{
	return settings_environ(arg, NULL);
}

static int agentcore_open(struct sandbox_client *client,
			  const struct settings *set, struct error *err)
{
	struct agentcore *a = xcalloc(1, sizeof(*a));
	const struct aws_env env = { .arg = set,
				     .get = get_env,
				     .get_any = get_credential,
				     .program_env = program_env,
				     .free_env = settings_environ_free,
				     .home = settings_home(set) };

	client->priv = a;
	a->api.http = client->http;
	a->settings = set;
	pthread_mutex_init(&a->lock, NULL);
	create_log_init(&a->tried);
	if (aws_open(&a->aws, &env, client->http, err) < 0 ||
	    set_region(a, err) < 0 || set_address(a, err) < 0)
		return -1;
	client->project_key = a->aws.project_key;
	set_host(a);
	if (set_interpreter(a, err) < 0)
		return -1;
	client->endpoint = a->endpoint;
	return 0;
}

/* Appends "LABEL-OWNER", a session's name. */
static void add_name(struct buf *out, const char *label, const char *owner)
{
	out->max = NAME_MAX_BYTES;
	buf_adds(out, label);
	if (owner && *owner)
		buf_addf(out, "-%s", owner);
}

/* Returns the length of the label at the beginning of a session's name. Returns
 * 0 if the name is not one that dcode gives. */
static size_t label_length(const char *name)
{
	if (strncmp(name, "dcode-", 6) != 0 ||
	    strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") < 8 ||
	    (name[LABEL] && name[LABEL] != '-'))
		return 0;
	return LABEL;
}

static bool has_status(const cJSON *session, const char *status)
{
	return strcmp(json_string(session, "status", ""), status) == 0;
}

/* Fills info, whose strings belong to session and label. False if the session
 * has no usable id. */
static bool parse_info(const cJSON *session, char label[LABEL + 1],
		       struct sandbox_info *info)
{
	const char *name = json_string(session, "name", "");
	int64_t lifetime = json_int(session, "sessionTimeoutSeconds", 0);
	size_t len = label_length(name);

	snprintf(label, LABEL + 1, "%.*s", (int)len, name);
	*info = (struct sandbox_info){
		.id = json_string(session, "sessionId", ""),
		.label = label,
		.owner = len && name[len] ? name + len + 1 : "",
		.image = json_string(session, "codeInterpreterIdentifier", ""),
		.created = json_time(session, "createdAt"),
	};
	if (has_status(session, "READY"))
		info->state = STATE_RUNNING;
	else if (has_status(session, "TERMINATED"))
		info->state = STATE_GONE;
	if (info->state == STATE_RUNNING && info->created && lifetime > 0 &&
	    lifetime <= LIFETIME_MAX_S)
		info->ends = info->created + lifetime;
	return is_id(info->id);
}

/* Requests one page of the list. *next is the token of this page, and becomes
 * the token of the next page; owned by the caller. */
static int get_page(struct sandbox_client *client, char **next, cJSON **page,
		    const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(LIST_BODY_MAX);
	struct agentcore_ask ask = {
		.rest = { .method = "POST",
			  .path = "/sessions/list",
			  .what = "listing the sessions",
			  .flags = REST_AGAIN },
	};
	int rc;

	buf_adds(&body, "{\"maxResults\":100,\"status\":\"READY\"");
	if (*next) {
		buf_addc(&body, ',');
		json_member(&body, "nextToken", str_of(*next));
	}
	buf_addc(&body, '}');
	ask.rest.body = buf_str(&body);
	free(*next);
	*next = NULL;
	rc = agentcore_call(client->priv, &ask, page, stop, err);
	if (rc == 0 && !cJSON_IsArray(json_get(*page, "items")))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	if (rc == 0)
		*next = xstrdup(json_string(*page, "nextToken", NULL));
	buf_release(&body);
	return rc;
}

/* Lists all sessions. The API cannot filter by name, so this function does. */
static int agentcore_list(struct sandbox_client *client, const char *owner,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err)
{
	struct sandbox_info info;
	char label[LABEL + 1];
	char *next = NULL;
	int rc = 0;

	for (int pages = 0; rc == 0 && (pages == 0 || next); pages++) {
		cJSON *page = NULL;
		const cJSON *item;

		rc = get_page(client, &next, &page, stop, err);
		cJSON_ArrayForEach (item, json_get(page, "items"))
			if (parse_info(item, label, &info) && label[0] &&
			    (!owner || strcmp(info.owner, owner) == 0))
				info_emit(sink, &info);
		cJSON_Delete(page);
		if (rc == 0 && pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list has too many pages");
	}
	free(next);
	return rc;
}

static int check_id(const char *id, struct error *err)
{
	if (is_id(id))
		return 0;
	return error_set(err, ERR_USAGE, "not a session id: '%.100s'", id);
}

static int agentcore_info(struct sandbox_client *client, const char *id,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err)
{
	struct sandbox_info info;
	char label[LABEL + 1];
	cJSON *session = NULL;

	if (check_id(id, err) < 0 ||
	    agentcore_get_session(client, id, &session, stop, err) < 0)
		return -1;
	if (!session)
		return error_set(err, ERR_NOT_FOUND,
				 "the session %s does not exist", id);
	if (parse_info(session, label, &info))
		info_emit(sink, &info);
	cJSON_Delete(session);
	return 0;
}

/* Computes a clientToken. It is always the same for the same kind and id. */
static void client_token(const char *kind, const char *id, char out[HASH])
{
	char *text = xasprintf("dcode %s %s", kind, id);
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(out, HASH, hash, sizeof(hash));
	free(text);
}

/* Writes the create request. The clientToken depends only on the label, so a
 * repeated request does not start a second session. */
static void add_request(struct buf *body, const struct sandbox_spec *spec)
{
	struct buf name = { 0 };
	char token[HASH];
	int64_t seconds = spec->lifetime_s;

	if (seconds > LIFETIME_MAX_S)
		seconds = LIFETIME_MAX_S;
	add_name(&name, spec->label, spec->owner);
	client_token("start", name.ptr, token);
	buf_addc(body, '{');
	json_member(body, "name", buf_str(&name));
	buf_addf(body, ",\"sessionTimeoutSeconds\":%lld,", (long long)seconds);
	json_member(body, "clientToken", str_of(token));
	buf_addc(body, '}');
	buf_release(&name);
}

/* Starts the session. AWS promises one session per clientToken. As a second one
 * would cost money until its end, the sessions are listed if the request had to
 * be repeated. */
static int start_session(struct sandbox *sb, const struct sandbox_spec *spec,
			 const struct stop *stop, struct error *err)
{
	struct agentcore *a = sb->client->priv;
	const struct duplicate_query all = { spec->label, agentcore_list,
					     spec->owner };
	bool again = create_log_add(&a->tried, spec->label);
	struct buf body = BUF_INIT(START_BODY_MAX);
	struct agentcore_ask ask = {
		.rest = { .method = "PUT",
			  .path = "/sessions/start",
			  .what = "starting the session",
			  .flags = REST_ONCE },
	};
	struct error ignored = { 0 };
	cJSON *tree = NULL;
	const char *id;
	int rc;

	add_request(&body, spec);
	ask.rest.body = buf_str(&body);
	rc = agentcore_call(a, &ask, &tree, stop, err);
	id = json_string(tree, "sessionId", "");
	if (rc == 0 && !is_id(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no session id");
	if (rc == 0)
		sb->id = xstrdup(id);
	if (rc == 0 && (again || ask.tries > 1))
		(void)duplicate_create_resolve(sb->client, &all, &sb->id, stop,
					       &ignored);
	/* without credentials no request is sent */
	if (rc < 0 && !ask.tries)
		err->nothing_made = true;
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}

/* Creates the working directory, unless it is the default one, which always
 * exists. */
static int make_workdir(struct sandbox *sb, const char *dir,
			const struct stop *stop, struct error *err)
{
	struct buf command = BUF_INIT(16 << 10);
	struct buf out = BUF_INIT(4096);
	int rc;

	if (!dir || strcmp(dir, sb->client->provider->workdir) == 0)
		return 0;
	buf_adds(&command, "mkdir -p -- ");
	quote_word(&command, str_of(dir));
	buf_adds(&command, " && echo made");
	rc = agentcore_run(sb, buf_str(&command), MKDIR_MS, &out, stop, err);
	if (rc == 0 && !str_starts(buf_str(&out), "made"))
		rc = error_set(err, ERR_REMOTE, "cannot make the directory %s",
			       dir);
	if (rc == 0)
		sb->workdir = xstrdup(dir);
	buf_release(&command);
	buf_release(&out);
	return rc;
}

static void make_box(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;

	if (b) /* NULL after a create that failed */
		return;
	b = xcalloc(1, sizeof(*b));
	pthread_mutex_init(&b->lock, NULL);
	sb->priv = b;
}

static int agentcore_create(struct sandbox *sb, const struct sandbox_spec *spec,
			    const struct stop *stop, struct error *err)
{
	const char *dir = NULL;
	int rc = settings_directory(sb->client->settings, "agentcore",
				    "workdir", &dir, err);

	if (rc == 0 && spec->lifetime_s <= 0)
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime must be above zero");
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	make_box(sb);
	if (start_session(sb, spec, stop, err) < 0)
		return -1;
	return make_workdir(sb, dir, stop, err);
}

/* Attaches to a running session. */
static int agentcore_attach(struct sandbox *sb, const char *id,
			    const struct stop *stop, struct error *err)
{
	cJSON *session = NULL;
	const char *dir = NULL;
	int rc;

	if (check_id(id, err) < 0 ||
	    settings_directory(sb->client->settings, "agentcore", "workdir",
			       &dir, err) < 0)
		return -1;
	make_box(sb);
	rc = agentcore_get_session(sb->client, id, &session, stop, err);
	if (rc == 0 && !has_status(session, "READY")) {
		rc = error_set(err, ERR_NOT_FOUND, "the session %s %s", id,
			       session ? "has ended" : "does not exist");
		error_hint(err, "A session ends after its lifetime and cannot "
				"be started again.");
	}
	cJSON_Delete(session);
	if (rc < 0)
		return -1;
	sb->id = xstrdup(id);
	return make_workdir(sb, dir, stop, err);
}

/* Call after a failure. Returns 0 if the session has ended or is unknown, which
 * the API reports in several ways. Otherwise returns -1 with why, or with the
 * error of the request that checks it. */
static int check_ended(struct sandbox_client *client, const char *id,
		       const struct error *why, const struct stop *stop,
		       struct error *err)
{
	cJSON *session = NULL;
	int rc = agentcore_get_session(client, id, &session, stop, err);

	if (rc == 0 && session && !has_status(session, "TERMINATED")) {
		*err = *why;
		err->code = ERR_BUSY;
		rc = -1;
	}
	cJSON_Delete(session);
	return rc;
}

/* Stops the session. Returns 1 if the session is unknown, and 0 also if it had
 * already ended. */
static int agentcore_remove(struct sandbox_client *client, const char *id,
			    const struct stop *stop, struct error *err)
{
	char token[HASH];
	struct agentcore_ask ask = {
		.rest = { .method = "PUT",
			  .what = "stopping the session",
			  .flags = REST_ONCE },
	};
	struct error why = { 0 };
	char *path;
	char *body;
	int rc;

	if (check_id(id, err) < 0)
		return -1;
	path = xasprintf("/sessions/stop?sessionId=%s", id);
	client_token("stop", id, token);
	body = xasprintf("{\"clientToken\":\"%s\"}", token);
	ask.rest.path = path;
	ask.rest.body = str_of(body);
	rc = agentcore_call(client->priv, &ask, NULL, stop, &why);
	free(body);
	free(path);
	if (rc == 0 || ask.status == 404)
		return rc == 0 ? 0 : 1;
	/* The session is changing its state or has ended. */
	if (ask.status == 409 || ask.status == 400)
		return check_ended(client, id, &why, stop, err);
	*err = why;
	return -1;
}

static void agentcore_discard(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;

	if (!b)
		return;
	free(b->cwd);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

/* CPU and memory are billed as they are used, second by second
 * (aws.amazon.com/bedrock/agentcore/pricing, as of 2026-09-09; us-east-1). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0895),
	.gib = RATES_HOUR(0.00945),
};

/* The largest size of a session (docs.aws.amazon.com, "Quotas for Amazon
 * Bedrock AgentCore", read 2026-11-23). */
static const struct rates_size most = { .milli_vcpu = 2000, .mib = 8 << 10 };

static int agentcore_price(const struct settings *set, const char *snapshot,
			   struct sandbox_price *price, struct error *err)
{
	(void)set;
	(void)snapshot;
	(void)err;
	price->usd_s = rates_price(&rates, &most);
	price->at_most = true;
	return 0;
}

static const struct port_ops port_ops = {
	.why_none = "AWS offers only API calls, without ports or standard "
		    "input. Sandboxes of other providers have ports",
};

static const struct sandbox_ops ops = {
	.open = agentcore_open,
	.close = agentcore_close,
	.create = agentcore_create,
	.attach = agentcore_attach,
	.list = agentcore_list,
	.info = agentcore_info,
	.ports = &port_ops,
	.execute = agentcore_execute,
	.upload = agentcore_upload,
	.download = agentcore_download,
	.remove = agentcore_remove,
	.discard = agentcore_discard,
};

const struct sandbox_provider agentcore_provider = {
	.name = "agentcore",
	.summary = "sessions of AWS Bedrock AgentCore's code interpreter",
	.workdir = "/tmp",
	.flags = SANDBOX_ATTACH | SANDBOX_LIVE | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.max_command = REQUEST_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "BEDROCK_AGENTCORE_DP_ENDPOINT",
					  "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE",
					  "AWS_ENDPOINT_URL", NULL },
	.ops = &ops,
	.price = agentcore_price,
	/* The page says: "Each tool session runs in a dedicated microVM" (code
	 * interpreter, session management) */
	.isolation = ISOLATION_MICROVM,
	.isolation_source = "docs.aws.amazon.com/bedrock-agentcore, 2026-11-23",
};
