/* agentcore.c - AWS Bedrock AgentCore: account, settings, the table row. */
/* SPDX-License-Identifier: MIT */
#include "providers/agentcore/agentcore.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_env.h"

enum { COMMAND_MAX = 64 << 10 };

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
	  .help = "region (AWS_DEFAULT_REGION, us-west-2)" },
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
	  .help = "seconds after which a session ends, at most 28800 (14400)" },
	{ 0 },
};

struct agentcore *agentcore_of(const struct sandbox_client *host)
{
	return host->priv;
}

static bool only(const char *text, const char *allowed, size_t most)
{
	size_t len = strlen(text);

	return len && len <= most && strspn(text, allowed) == len;
}

bool agentcore_id_ok(const char *id)
{
	return only(id, LETTERS DIGITS, AGENTCORE_ID_MAX);
}

void agentcore_box(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;

	if (b)
		return;
	b = xcalloc(1, sizeof(*b));
	pthread_mutex_init(&b->lock, NULL);
	sb->priv = b;
}

/* "us-west-2": letters, hyphens, at last a number; it becomes a host's name. */
static bool region_ok(const char *region)
{
	const char *last = strrchr(region, '-');
	size_t letters = strspn(region, "abcdefghijklmnopqrstuvwxyz");

	return only(region, "abcdefghijklmnopqrstuvwxyz-" DIGITS, 32) &&
	       letters == 2 && region[2] == '-' && last > region + 3 &&
	       only(last + 1, DIGITS, 2) &&
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
	if (!region_ok(a->region))
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

/* What is signed: the host with its port, as it is sent, and the path. */
static void set_host(struct agentcore *a)
{
	bool secure = strncmp(a->api.base, "https://", 8) == 0;
	struct str rest = str_of(a->api.base + (secure ? 8 : 7));
	struct str host = { rest.ptr, str_find(rest, '/') };
	struct str path = str_skip(rest, host.len);

	a->host = xstrndup(host.ptr, host.len);
	a->prefix = xstrndup(path.ptr ? path.ptr : "", path.len);
}

static int set_interpreter(struct agentcore *a, struct error *err)
{
	struct buf path = BUF_INIT(4096);
	const char *id = NULL;

	if (settings_string(a->settings, "agentcore", "code_interpreter", &id,
			    err) < 0)
		return -1;
	id = id ? id : INTERPRETER;
	if (!only(id, LETTERS DIGITS "-_.:/", 256) || id[0] == '.')
		return error_set(err, ERR_CONFIG,
				 "not the id of a code interpreter: '%.100s'",
				 id);
	buf_adds(&path, "/code-interpreters/");
	rest_encode(&path, str_of(id));
	a->path = buf_detach(&path);
	/* The same session id means nothing at another interpreter. */
	a->endpoint = strcmp(id, INTERPRETER) == 0
			      ? xstrdup(a->api.base)
			      : xasprintf("%s%s", a->api.base, a->path);
	return 0;
}

static void agentcore_close(struct sandbox_client *host)
{
	struct agentcore *a = agentcore_of(host);

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
	host->priv = NULL;
	host->endpoint = NULL;
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

static int agentcore_open(struct sandbox_client *host,
			  const struct settings *set, struct error *err)
{
	struct agentcore *a = xcalloc(1, sizeof(*a));
	const struct aws_env env = { .arg = set,
				     .get = get_env,
				     .get_any = get_credential,
				     .program_env = program_env,
				     .free_env = settings_environ_free,
				     .home = settings_home(set) };

	host->priv = a;
	a->api.http = host->http;
	a->settings = set;
	pthread_mutex_init(&a->lock, NULL);
	create_log_init(&a->tried);
	if (aws_open(&a->aws, &env, host->http, err) < 0 ||
	    set_region(a, err) < 0 || set_address(a, err) < 0)
		return -1;
	host->project_key = a->aws.project_key;
	set_host(a);
	if (set_interpreter(a, err) < 0)
		return -1;
	host->endpoint = a->endpoint;
	return 0;
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

static const struct sandbox_ops ops = {
	.open = agentcore_open,
	.close = agentcore_close,
	.create = agentcore_create,
	.attach = agentcore_attach,
	.list = agentcore_list,
	.info = agentcore_info,
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
	.max_command = COMMAND_MAX,
	.lifetime_s = AGENTCORE_LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "BEDROCK_AGENTCORE_DP_ENDPOINT",
					  "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE",
					  "AWS_ENDPOINT_URL", NULL },
	.ops = &ops,
	.price = agentcore_price,
	/* "Each tool session runs in a dedicated microVM" (code interpreter,
	 * session management) */
	.isolation = ISOLATION_MICROVM,
	.isolation_source = "docs.aws.amazon.com/bedrock-agentcore, 2026-11-23",
};
