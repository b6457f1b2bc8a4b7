/* instance.c - keys that a container or an instance is given. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/credentials.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/loopback.h"

/* docs.aws.amazon.com/sdkref, "Container credential provider" and "IMDS
 * credential provider" (read 2026-11). */
#define CONTAINER "http://169.254.170.2"
#define INSTANCE "http://169.254.169.254"
#define ROLES "/latest/meta-data/iam/security-credentials/"

enum {
	CONTAINER_MS = 2000,
	CONTAINER_TRIES = 3,
	INSTANCE_MS = 1000,
	ANSWER_MAX = 64 << 10,
};

void aws_credentials_release(struct aws_credentials *c)
{
	mem_wipe(c->id);
	mem_wipe(c->secret);
	mem_wipe(c->token);
	*c = (struct aws_credentials){ 0 };
}

/* Owned; NULL when it is missing or empty. */
static char *member(const cJSON *tree, const char *name)
{
	const char *text = json_string(tree, name, "");

	return *text ? xstrdup(text) : NULL;
}

int aws_take_json(struct str text, const char *token, const char *what,
		  struct aws_credentials *c, struct error *err)
{
	cJSON *tree = json_parse(text);
	const char *end = json_string(tree, "Expiration", "");
	struct aws_credentials got = {
		.id = member(tree, "AccessKeyId"),
		.secret = member(tree, "SecretAccessKey"),
		.token = member(tree, token),
		.expires = json_time(tree, "Expiration"),
	};
	int rc = 0;

	if (!got.id || !got.secret)
		rc = error_set(err, ERR_AUTH,
			       "%s has no AccessKeyId and SecretAccessKey",
			       what);
	else if (*end && !got.expires)
		rc = error_set(err, ERR_AUTH, "%s: Expiration is not a time",
			       what);
	cJSON_Delete(tree);
	aws_credentials_release(rc == 0 ? c : &got);
	if (rc == 0)
		*c = got;
	return rc;
}

/* One short request; the answer's body goes to out. */
/* NOLINTNEXTLINE(readability-function-size): parameters to be gathered */
static int ask(struct aws *a, const char *method, const char *url,
	       const char *header, int64_t ms, struct buf *out,
	       const struct stop *stop, struct error *err)
{
	const char *const headers[] = { header, NULL };
	struct stop within = stop_within(stop, ms);
	struct http_request req = { .method = method,
				    .url = url,
				    .headers = headers,
				    .connect_ms = ms,
				    .flags = HTTP_NO_PROXY | HTTP_PROBE };
	struct http_response res = { .body = BUF_INIT(ANSWER_MAX) };
	int rc = http_do(a->http, &req, &res, &within, err);

	if (rc < 0 && err->code == ERR_UNREACHABLE)
		err->code = ERR_NETWORK;
	if (rc < 0)
		err->hint[0] = '\0'; /* what to do is said by who wants a key */
	if (rc < 0 && err->code == ERR_TIMEOUT && stop_check(stop, err) == 0)
		error_set(err, ERR_NETWORK, "no answer within %lld s",
			  (long long)ms / 1000);
	if (rc == 0 && res.status != 200)
		rc = error_set(err, res.status >= 500 ? ERR_NETWORK : ERR_AUTH,
			       "HTTP %d", res.status);
	if (rc == 0)
		buf_addstr(out, buf_str(&res.body));
	buf_wipe(&res.body);
	return rc;
}

bool aws_container_set(const struct aws_env *env)
{
	return env->get(env->arg, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	       env->get(env->arg, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

/* https, this machine, or one of the two addresses that ECS and EKS use. */
static bool full_ok(struct str url)
{
	static const char *const hosts[] = { "http://169.254.170.2",
					     "http://169.254.170.23",
					     "http://[fd00:ec2::23]" };
	size_t query = str_find(url, '?');

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		struct str rest = str_skip(url, strlen(hosts[i]));

		if (str_starts(url, hosts[i]) &&
		    (!rest.len || strchr("/:", rest.ptr[0])) &&
		    !memchr(url.ptr, '@', url.len))
			return true;
	}
	return loopback_or_https((struct str){ url.ptr, query });
}

static const char *variable(const struct aws *a, const char *name)
{
	return a->env.get(a->env.arg, name);
}

static char *container_url(struct aws *a, struct error *err)
{
	const char *relative =
		variable(a, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = variable(a, "AWS_CONTAINER_CREDENTIALS_FULL_URI");

	if (relative && relative[0] == '/')
		return xasprintf(CONTAINER "%s", relative);
	if (relative)
		error_set(err, ERR_CONFIG,
			  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not "
			  "start with a slash");
	else if (full && full_ok(str_of(full)))
		return xstrdup(full);
	else
		error_set(err, ERR_CONFIG,
			  "AWS_CONTAINER_CREDENTIALS_FULL_URI is not an "
			  "address that dcode may ask for a key");
	return NULL;
}

/* "Authorization: TOKEN", owned, or NULL; the file's content comes first. */
static int container_header(struct aws *a, char **header, struct error *err)
{
	const char *file =
		variable(a, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = variable(a, "AWS_CONTAINER_AUTHORIZATION_"
					"TOKEN");
	struct buf text = BUF_INIT(ANSWER_MAX);
	struct str value = str_of(token);
	int rc = 0;

	if (file) {
		rc = path_read(file, &text, err);
		value = str_trim(buf_str(&text));
	}
	if (rc == 0 && value.len &&
	    (memchr(value.ptr, '\r', value.len) ||
	     memchr(value.ptr, '\n', value.len)))
		rc = error_set(err, ERR_CONFIG,
			       "the container's token contains a line break");
	if (rc == 0 && value.len)
		*header = xasprintf("Authorization: %.*s", (int)value.len,
				    value.ptr);
	buf_wipe(&text);
	return rc;
}

int aws_container(struct aws *a, struct aws_credentials *c,
		  const struct stop *stop, struct error *err)
{
	char *url = container_url(a, err);
	struct buf out = BUF_INIT(ANSWER_MAX);
	char *header = NULL;
	int rc = url ? container_header(a, &header, err) : -1;

	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };

		if (ask(a, "GET", url, header, CONTAINER_MS, &out, stop,
			&why) == 0)
			break;
		if (why.code != ERR_NETWORK || i == CONTAINER_TRIES) {
			*err = why;
			rc = -1;
		}
	}
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "Token", "the answer", c,
				   err);
	if (rc < 0 && err->code != ERR_CANCELLED) {
		error_wrap(err, "the container's credentials");
		if (err->code == ERR_NETWORK)
			err->code = ERR_AUTH;
	}
	mem_wipe(header);
	buf_wipe(&out);
	free(url);
	return rc;
}

static bool file_has(const char *path, const char *word)
{
	struct buf text = BUF_INIT(4096);
	struct error ignored = { 0 };
	bool has = path_read(path, &text, &ignored) == 0 &&
		   str_starts(buf_str(&text), word);

	buf_release(&text);
	return has;
}

/* Elsewhere nobody answers, and asking only takes time. */
bool aws_instance_likely(const struct aws_env *env)
{
	const char *off = env->get(env->arg, "AWS_EC2_METADATA_DISABLED");

	if (off && str_is_nocase(str_of(off), "true"))
		return false;
	return env->get(env->arg, "AWS_EC2_METADATA_SERVICE_ENDPOINT") ||
	       file_has("/sys/class/dmi/id/sys_vendor", "Amazon EC2") ||
	       file_has("/sys/hypervisor/uuid", "ec2");
}

/* The usual one, https, this machine, or what is link-local. */
static int instance_base(struct aws *a, char **base, struct error *err)
{
	const char *own = variable(a, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct str url = str_of(own ? own : INSTANCE);

	while (str_ends(url, "/"))
		url.len--;
	if (!str_is(url, INSTANCE) && !str_is(url, "http://[fd00:ec2::254]") &&
	    !loopback_or_https(url))
		return error_set(err, ERR_CONFIG,
				 "AWS_EC2_METADATA_SERVICE_ENDPOINT is not an "
				 "address that dcode may ask for a key");
	*base = xstrndup(url.ptr, url.len);
	return 0;
}

/* The first line; a role's name has no odd characters. */
static int take_role(const struct buf *text, char **role, struct error *err)
{
	struct str line = buf_str(text);

	line.len = str_find(line, '\n');
	line = str_trim(line);
	for (size_t i = 0; i < line.len; i++)
		if (line.ptr[i] <= ' ' || strchr("/?#%\\", line.ptr[i]) ||
		    line.ptr[i] & 0x80)
			line.len = 0;
	if (!line.len || line.len > 128)
		return error_set(err, ERR_AUTH, "the instance has no role");
	*role = xstrndup(line.ptr, line.len);
	return 0;
}

static int ask_role(struct aws *a, const char *base, const char *header,
		    struct aws_credentials *c, const struct stop *stop,
		    struct error *err)
{
	char *url = xasprintf("%s" ROLES, base);
	struct buf out = BUF_INIT(ANSWER_MAX);
	char *role = NULL;
	int rc = ask(a, "GET", url, header, INSTANCE_MS, &out, stop, err);

	if (rc == 0)
		rc = take_role(&out, &role, err);
	free(url);
	url = xasprintf("%s" ROLES "%s", base, role ? role : "");
	buf_clear(&out);
	if (rc == 0)
		rc = ask(a, "GET", url, header, INSTANCE_MS, &out, stop, err);
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "Token", "the answer", c,
				   err);
	buf_wipe(&out);
	free(role);
	free(url);
	return rc;
}

int aws_instance(struct aws *a, struct aws_credentials *c,
		 const struct stop *stop, struct error *err)
{
	static const char lifetime[] =
		"x-aws-ec2-metadata-token-ttl-seconds: 21600";
	struct buf token = BUF_INIT(4096);
	char *base = NULL;
	char *header = NULL;
	char *url;
	int rc = instance_base(a, &base, err);

	url = xasprintf("%s/latest/api/token", base ? base : "");
	if (rc == 0)
		rc = ask(a, "PUT", url, lifetime, INSTANCE_MS, &token, stop,
			 err);
	header = xasprintf("x-aws-ec2-metadata-token: %.*s", (int)token.len,
			   token.ptr ? token.ptr : "");
	if (rc == 0)
		rc = ask_role(a, base, header, c, stop, err);
	if (rc < 0 && err->code != ERR_CANCELLED && err->code != ERR_CONFIG) {
		error_wrap(err, "the instance's credentials");
		err->code = ERR_AUTH;
	}
	mem_wipe(header);
	buf_wipe(&token);
	free(base);
	free(url);
	return rc;
}
