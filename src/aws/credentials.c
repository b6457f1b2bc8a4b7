/* credentials.c - finds the key that signs requests to AWS. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at aws_open(), in the last part: it decides which source has
 * the key. aws_get() fetches the key when it is needed. The parts above have
 * the sources: a program that prints a key, a profile in AWS's files, and the
 * endpoints of containers and instances. */
#include "aws/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "net/resolve.h"

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

/* Copies a text member; owned. NULL if it is missing or empty. */
static char *copy_member(const cJSON *tree, const char *name)
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
		.id = copy_member(tree, "AccessKeyId"),
		.secret = copy_member(tree, "SecretAccessKey"),
		.token = copy_member(tree, token),
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

/* Sends one short request. The answer's body goes to out. */
/* NOLINTNEXTLINE(readability-function-size): parameters to be gathered */
static int send_request(struct aws *a, const char *method, const char *url,
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
		/* Drop http_do()'s hint: a caller that needs the key sets its
		 * own. */
		err->hint[0] = '\0';
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

/* True if the environment names a container's endpoint. */
static bool aws_container_set(const struct aws_env *env)
{
	return env->get(env->arg, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	       env->get(env->arg, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

/* True if the address may be asked for a key: https, this machine, or one of
 * the addresses that ECS and EKS use. */
static bool is_allowed_url(struct str url)
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

static const char *get_variable(const struct aws *a, const char *name)
{
	return a->env.get(a->env.arg, name);
}

/* Returns the address of the container's endpoint, owned. NULL with err. */
static char *container_url(struct aws *a, struct error *err)
{
	const char *relative =
		get_variable(a, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full =
		get_variable(a, "AWS_CONTAINER_CREDENTIALS_FULL_URI");

	if (relative && relative[0] == '/')
		return xasprintf(CONTAINER "%s", relative);
	if (relative)
		error_set(err, ERR_CONFIG,
			  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not "
			  "start with a slash");
	else if (full && is_allowed_url(str_of(full)))
		return xstrdup(full);
	else
		error_set(err, ERR_CONFIG,
			  "refusing AWS_CONTAINER_CREDENTIALS_FULL_URI: not "
			  "https, a loopback address or the address of ECS or "
			  "EKS");
	return NULL;
}

/* Sets *header to "Authorization: TOKEN" (owned), or NULL without a token. The
 * token file takes precedence. */
static int container_header(struct aws *a, char **header, struct error *err)
{
	const char *file =
		get_variable(a, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = get_variable(a, "AWS_CONTAINER_AUTHORIZATION_"
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

/* Fetches the key from a container's endpoint. */
static int aws_container(struct aws *a, struct aws_credentials *c,
			 const struct stop *stop, struct error *err)
{
	char *url = container_url(a, err);
	struct buf out = BUF_INIT(ANSWER_MAX);
	char *header = NULL;
	int rc = url ? container_header(a, &header, err) : -1;

	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };

		if (send_request(a, "GET", url, header, CONTAINER_MS, &out,
				 stop, &why) == 0)
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

static bool file_starts_with(const char *path, const char *word)
{
	struct buf text = BUF_INIT(4096);
	struct error ignored = { 0 };
	bool has = path_read(path, &text, &ignored) == 0 &&
		   str_starts(buf_str(&text), word);

	buf_release(&text);
	return has;
}

/* True if the metadata service should be asked: this looks like an EC2
 * instance, or the user has configured the service's address, and the user has
 * not disabled the service. On other machines nothing answers, and trying would
 * only cost time. */
static bool aws_instance_likely(const struct aws_env *env)
{
	const char *off = env->get(env->arg, "AWS_EC2_METADATA_DISABLED");

	if (off && str_is_nocase(str_of(off), "true"))
		return false;
	return env->get(env->arg, "AWS_EC2_METADATA_SERVICE_ENDPOINT") ||
	       file_starts_with("/sys/class/dmi/id/sys_vendor", "Amazon EC2") ||
	       file_starts_with("/sys/hypervisor/uuid", "ec2");
}

/* Sets *base (owned) to the metadata service's address: the default, or the one
 * that the user configured. That one must be https, an address of this machine
 * or the service's IPv6 address, since the key is fetched from it; else
 * ERR_CONFIG. */
static int instance_base(struct aws *a, char **base, struct error *err)
{
	const char *own = get_variable(a, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct str url = str_of(own ? own : INSTANCE);

	while (str_ends(url, "/"))
		url.len--;
	if (!str_is(url, INSTANCE) && !str_is(url, "http://[fd00:ec2::254]") &&
	    !loopback_or_https(url))
		return error_set(err, ERR_CONFIG,
				 "refusing AWS_EC2_METADATA_SERVICE_ENDPOINT: "
				 "not https, a loopback address or EC2's own "
				 "service");
	*base = xstrndup(url.ptr, url.len);
	return 0;
}

/* Takes the role's name from the first line. Names with unusual characters are
 * refused: they go into a URL. */
static int read_role(const struct buf *text, char **role, struct error *err)
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

/* Asks the instance for its role's name, then for the role's key. */
static int request_role_key(struct aws *a, const char *base, const char *header,
			    struct aws_credentials *c, const struct stop *stop,
			    struct error *err)
{
	char *url = xasprintf("%s" ROLES, base);
	struct buf out = BUF_INIT(ANSWER_MAX);
	char *role = NULL;
	int rc = send_request(a, "GET", url, header, INSTANCE_MS, &out, stop,
			      err);

	if (rc == 0)
		rc = read_role(&out, &role, err);
	free(url);
	url = xasprintf("%s" ROLES "%s", base, role ? role : "");
	buf_clear(&out);
	if (rc == 0)
		rc = send_request(a, "GET", url, header, INSTANCE_MS, &out,
				  stop, err);
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "Token", "the answer", c,
				   err);
	buf_wipe(&out);
	free(role);
	free(url);
	return rc;
}

/* Fetches the key of an instance's role (IMDSv2). */
static int aws_instance(struct aws *a, struct aws_credentials *c,
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
		rc = send_request(a, "PUT", url, lifetime, INSTANCE_MS, &token,
				  stop, err);
	header = xasprintf("x-aws-ec2-metadata-token: %.*s", (int)token.len,
			   token.ptr ? token.ptr : "");
	if (rc == 0)
		rc = request_role_key(a, base, header, c, stop, err);
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

enum {
	PROCESS_MS = 60000,
	OUTPUT_MAX = 64 << 10,
	WORDS_MAX = 256,
};

struct word_scan {
	struct str rest;
	struct buf word;
	bool open; /* inside quotes */
};

struct program {
	char *path;       /* owned */
	char *const *env; /* borrowed */
};

/* Copies a quoted part; the opening quote was already consumed. */
static void read_quoted(struct word_scan *s, char quote)
{
	s->open = true;
	while (s->rest.len && s->open) {
		char c = s->rest.ptr[0];
		char next = s->rest.len > 1 ? s->rest.ptr[1] : '\0';

		s->rest = str_skip(s->rest, 1);
		if (c == quote) {
			s->open = false;
			continue;
		}
		if (c == '\\' && quote == '"' &&
		    (next == '"' || next == '\\')) {
			c = next;
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Reads the next word into s->word; false at the end. */
static bool read_word(struct word_scan *s)
{
	bool any = false;

	buf_clear(&s->word);
	s->rest = str_trim(s->rest);
	while (s->rest.len && !is_space(s->rest.ptr[0])) {
		char c = s->rest.ptr[0];

		any = true;
		s->rest = str_skip(s->rest, 1);
		if (c == '\'' || c == '"') {
			read_quoted(s, c);
			continue;
		}
		if (c == '\\' && s->rest.len) {
			c = s->rest.ptr[0];
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
	return any;
}

char **aws_words(struct str line)
{
	struct word_scan s = { .rest = line, .word = BUF_INIT(line.len + 1) };
	char **words = xcalloc(WORDS_MAX + 1, sizeof(*words));
	size_t n = 0;

	while (n < WORDS_MAX && read_word(&s))
		words[n++] = xstrndup(s.word.ptr ? s.word.ptr : "", s.word.len);
	if (!n || s.open || str_trim(s.rest).len) {
		aws_words_free(words);
		words = NULL;
	}
	buf_wipe(&s.word);
	return words;
}

void aws_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* Finds the program: name is an absolute path, or is looked up on the PATH in
 * p->env. */
static int find_program(const char *name, struct program *p, struct error *err)
{
	const char *path = NULL;

	for (size_t i = 0; p->env[i]; i++)
		if (strncmp(p->env[i], "PATH=", 5) == 0)
			path = p->env[i] + 5;
	p->path = strchr(name, '/') ? xstrdup(name) : proc_find(name, path);
	if (p->path && *p->path == '/')
		return 0;
	return error_set(
		err, ERR_CONFIG,
		"unknown program (use an absolute path, or a name on PATH)");
}

int aws_process(const char *line, char *const *env, struct aws_credentials *c,
		const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, PROCESS_MS);
	struct buf out = BUF_INIT(OUTPUT_MAX);
	char **words = aws_words(str_of(line));
	struct program program = { NULL, env };
	int rc;

	if (!words)
		return error_set(err, ERR_CONFIG,
				 "credential_process is not a command line");
	rc = find_program(words[0], &program, err);
	if (rc == 0)
		rc = proc_output(program.path, words, env, &out, &within, err);
	if (rc > 0)
		rc = error_set(err, ERR_AUTH, "it exited with status %d", rc);
	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(err, ERR_AUTH, "no answer within %d s",
			  PROCESS_MS / 1000);
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "SessionToken", "its output",
				   c, err);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "credential_process %.60s", words[0]);
	aws_words_free(words);
	free(program.path);
	buf_wipe(&out);
	return rc;
}

/* Settings of a profile that dcode does not support, because they need STS, a
 * login or a browser. */
static const char *const unsupported[] = {
	"role_arn",          "sso_session",   "sso_start_url",
	"sso_account_id",    "login_session", "web_identity_token_file",
	"credential_source",
};

static struct str unquote_text(struct str s)
{
	if (s.len >= 2 && (s.ptr[0] == '"' || s.ptr[0] == '\'') &&
	    s.ptr[s.len - 1] == s.ptr[0])
		return (struct str){ s.ptr + 1, s.len - 2 };
	return s;
}

/* True if the line starts the profile's section: "[profile name]" in a config
 * file, "[name]" in a credentials file, "[default]" in both. */
static bool is_section(struct str line, const char *name, bool config)
{
	struct str inner = str_skip(line, 1);

	inner.len = str_find(inner, ']');
	inner = str_trim(inner);
	if (config && !str_is(inner, "default")) {
		if (!str_starts(inner, "profile") || inner.len < 8 ||
		    (inner.ptr[7] != ' ' && inner.ptr[7] != '\t'))
			return false;
		inner = str_trim(str_skip(inner, 7));
	}
	return str_is(unquote_text(inner), name);
}

static void set_member(char **member, struct str value)
{
	if (*member)
		explicit_bzero(*member, strlen(*member));
	free(*member);
	*member = value.len && !memchr(value.ptr, 0, value.len)
			  ? xstrndup(value.ptr, value.len)
			  : NULL;
}

/* Stores a profile's setting if dcode uses it. */
static void store_setting(struct aws_profile *p, struct str key,
			  struct str value)
{
	const struct {
		const char *key;
		char **member;
	} known[] = {
		{ "aws_access_key_id", &p->id },
		{ "aws_secret_access_key", &p->secret },
		{ "aws_session_token", &p->token },
		{ "credential_process", &p->process },
		{ "region", &p->region },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_is_nocase(key, known[i].key))
			set_member(known[i].member, value);
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(*unsupported); i++)
		if (str_is_nocase(key, unsupported[i]))
			set_member(&p->unsupported, str_of(unsupported[i]));
}

void aws_profile_read(struct str text, const char *name, bool config,
		      struct aws_profile *p)
{
	bool ours = false;
	struct str line;

	if (str_starts(text, "\xef\xbb\xbf"))
		text = str_skip(text, 3);
	while (str_split(&text, '\n', &line)) {
		/* An indented line belongs to the previous key. */
		bool nested =
			line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
		size_t eq;

		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		if (!nested && line.ptr[0] == '[') {
			ours = is_section(line, name, config);
			p->found = p->found || ours;
			continue;
		}
		eq = str_find(line, '=');
		if (!ours || nested || eq == line.len)
			continue;
		store_setting(p, str_trim((struct str){ line.ptr, eq }),
			      str_trim(str_skip(line, eq + 1)));
	}
}

void aws_profile_release(struct aws_profile *p)
{
	set_member(&p->id, STR(""));
	set_member(&p->secret, STR(""));
	set_member(&p->token, STR(""));
	set_member(&p->process, STR(""));
	set_member(&p->region, STR(""));
	set_member(&p->unsupported, STR(""));
	*p = (struct aws_profile){ 0 };
}

enum {
	FILE_MAX = 1 << 20,
	EARLY_S = 300, /* a key is replaced this long before it expires */
};

static int add_hint(struct error *err)
{
	return error_hint(err, "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
			       "and AWS_SESSION_TOKEN, run 'aws configure', or "
			       "create a key at console.aws.amazon.com (IAM).");
}

static int set_not_found(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "AWS credentials not found: AWS_ACCESS_KEY_ID is not set, "
		  "and no profile, container or instance role was found");
	return add_hint(err);
}

/* Reads the key from environment variables. If project is not NULL, also from
 * the project's .env; *project is set as by get_any(). Returns 1 if a key was
 * found, 0 if not. */
static int from_env(struct aws *a, const char **project, struct error *err)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID",
					     "AWS_SECRET_ACCESS_KEY",
					     "AWS_SESSION_TOKEN" };
	const char *found[3];
	const char *id;
	const char *secret;
	const char *token;

	for (size_t i = 0; i < 3; i++)
		found[i] =
			project ? a->env.get_any(a->env.arg, names[i], project)
				: a->env.get(a->env.arg, names[i]);
	id = found[0];
	secret = found[1];
	token = found[2];
	if (!id)
		return 0;
	if (!secret) {
		error_set(err, ERR_AUTH,
			  "AWS_SECRET_ACCESS_KEY is not set, "
			  "but AWS_ACCESS_KEY_ID is");
		return error_hint(err,
				  "Both are shown once, when the key is "
				  "created at console.aws.amazon.com (IAM).");
	}
	a->now.id = xstrdup(id);
	a->now.secret = xstrdup(secret);
	a->now.token = xstrdup(token);
	return 1;
}

/* Reads the profile from one of AWS's files, if that exists. variable: the
 * environment variable that overrides the file's usual path. */
static int read_file(struct aws *a, const char *variable, const char *usual,
		     const char *name, struct aws_profile *p, struct error *err)
{
	const char *own = a->env.get(a->env.arg, variable);
	char *path = path_expand(own ? own : usual, a->env.home);
	struct buf text = BUF_INIT(FILE_MAX);
	struct error why = { 0 };
	int rc;

	/* A profile may name a program to run. A relative path could lead to a
	 * file in the repository, so it is refused. */
	if (path[0] != '/') {
		free(path);
		return error_set(err, ERR_CONFIG,
				 "%s is a relative path: '%.100s'", variable,
				 own);
	}
	rc = path_read(path, &text, &why);
	if (rc == 0)
		aws_profile_read(buf_str(&text), name,
				 strcmp(variable, "AWS_CONFIG_FILE") == 0, p);
	if (rc < 0 && why.code == ERR_LIMIT)
		*err = why;
	else
		rc = 0;
	buf_wipe(&text);
	free(path);
	return rc;
}

static void move_key(struct aws *a, struct aws_profile *p)
{
	a->now.id = p->id;
	a->now.secret = p->secret;
	a->now.token = p->token;
	p->id = p->secret = p->token = NULL;
}

/* Makes an error of a profile with a setting that dcode does not support. what:
 * that setting. */
static int refuse_profile(const char *name, const char *what, struct error *err)
{
	error_set(
		err, ERR_AUTH,
		"the AWS profile '%.60s' uses %s, which dcode does not support",
		name, what);
	return error_hint(
		err,
		"Use another profile with credential_process = aws configure "
		"export-credentials --profile %.60s --format process",
		name);
}

/* Chooses between the profile's sections in both files. 1: a key or process was
 * found, 0: nothing. */
static int choose_section(struct aws *a, const char *name,
			  struct aws_profile *first, struct aws_profile *second,
			  struct error *err)
{
	const char *other =
		first->unsupported ? first->unsupported : second->unsupported;
	char **process = first->process ? &first->process : &second->process;

	if (other && !*process)
		return refuse_profile(name, other, err);
	if (first->id && first->secret) {
		move_key(a, first);
	} else if (*process) {
		a->process = *process;
		*process = NULL;
		a->source = AWS_PROCESS;
	} else if (second->id && second->secret) {
		move_key(a, second);
	} else if (first->id || second->id) {
		return error_set(err, ERR_AUTH,
				 "the AWS profile '%.60s' has no "
				 "aws_secret_access_key",
				 name);
	} else {
		return 0;
	}
	return 1;
}

/* Finds the key and the region of the profile in both of AWS's files. */
static int from_profile(struct aws *a, struct error *err)
{
	const char *name = a->env.get(a->env.arg, "AWS_DEFAULT_PROFILE");
	struct aws_profile first = { 0 };
	struct aws_profile second = { 0 };
	bool named;
	int rc;

	if (!name)
		name = a->env.get(a->env.arg, "AWS_PROFILE");
	named = name;
	if (!name)
		name = "default";
	rc = read_file(a, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials",
		       name, &first, err);
	if (rc == 0)
		rc = read_file(a, "AWS_CONFIG_FILE", "~/.aws/config", name,
			       &second, err);
	if (rc == 0 && named && !first.found && !second.found) {
		rc = error_set(err, ERR_CONFIG,
			       "unknown AWS profile AWS_PROFILE=%.60s", name);
		error_hint(err, "Profiles are in ~/.aws/credentials and "
				"~/.aws/config.");
	}
	if (rc == 0)
		rc = choose_section(a, name, &first, &second, err);
	/* the config file takes precedence for the region */
	a->region = xstrdup(second.region ? second.region : first.region);
	aws_profile_release(&first);
	aws_profile_release(&second);
	return rc;
}

/* Reads only the profile's region, for keys set in variables. Errors are
 * ignored. */
static void find_profile_region(struct aws *a)
{
	const char *name = a->env.get(a->env.arg, "AWS_DEFAULT_PROFILE");
	struct aws_profile p = { 0 };
	struct error ignored = { 0 };

	if (!name)
		name = a->env.get(a->env.arg, "AWS_PROFILE");
	(void)read_file(a, "AWS_CONFIG_FILE", "~/.aws/config",
			name ? name : "default", &p, &ignored);
	a->region = xstrdup(p.region);
	aws_profile_release(&p);
}

int aws_open(struct aws *a, const struct aws_env *env, struct http *http,
	     struct error *err)
{
	int rc;

	*a = (struct aws){ .env = *env, .http = http };
	pthread_mutex_init(&a->lock, NULL);
	rc = from_env(a, NULL, err);
	if (rc > 0)
		find_profile_region(a);
	if (rc == 0)
		rc = from_profile(a, err);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (aws_container_set(env))
		a->source = AWS_CONTAINER;
	else if (aws_instance_likely(env))
		a->source = AWS_INSTANCE;
	else /* The project's key is used only if the user has none. */
		rc = from_env(a, &a->project_key, err);
	if (rc < 0)
		return -1;
	return rc || a->source != AWS_STATIC ? 0 : set_not_found(err);
}

void aws_close(struct aws *a)
{
	if (!a->env.get)
		return;
	aws_credentials_release(&a->now);
	free(a->process);
	free(a->region);
	pthread_mutex_destroy(&a->lock);
	*a = (struct aws){ 0 };
}

static bool is_fresh(const struct aws_credentials *c)
{
	return c->id &&
	       (!c->expires || c->expires - clock_unix_ms() / 1000 > EARLY_S);
}

/* Fetches a new key from the source. */
static int renew_key(struct aws *a, const struct stop *stop, struct error *err)
{
	struct aws_credentials c = { 0 };
	char **env;
	int rc;

	if (a->source == AWS_PROCESS) {
		env = a->env.program_env(a->env.arg);
		rc = aws_process(a->process, env, &c, stop, err);
		a->env.free_env(env);
	} else if (a->source == AWS_CONTAINER) {
		rc = aws_container(a, &c, stop, err);
	} else if (a->source == AWS_INSTANCE) {
		rc = aws_instance(a, &c, stop, err);
	} else {
		rc = error_set(err, ERR_AUTH, "the AWS key has expired");
	}
	if (rc == 0) {
		aws_credentials_release(&a->now);
		a->now = c;
	} else if (err->code == ERR_AUTH && !err->hint[0]) {
		add_hint(err);
	}
	return rc;
}

int aws_get(struct aws *a, struct aws_credentials *copy,
	    const struct stop *stop, struct error *err)
{
	int64_t now = clock_unix_ms() / 1000;
	struct error why = { 0 };
	int rc = 0;

	pthread_mutex_lock(&a->lock);
	if (!is_fresh(&a->now))
		rc = renew_key(a, stop, &why);
	/* The old key is still usable until it expires. */
	if (rc < 0 && a->now.id && a->now.expires > now)
		rc = 0;
	if (rc == 0) {
		copy->id = xstrdup(a->now.id);
		copy->secret = xstrdup(a->now.secret);
		copy->token = xstrdup(a->now.token);
		copy->expires = a->now.expires;
	} else {
		*err = why;
	}
	pthread_mutex_unlock(&a->lock);
	return rc;
}

bool aws_forget(struct aws *a, const char *id)
{
	bool can;

	pthread_mutex_lock(&a->lock);
	can = a->source != AWS_STATIC;
	if (can && a->now.id && strcmp(a->now.id, id) == 0)
		aws_credentials_release(&a->now);
	pthread_mutex_unlock(&a->lock);
	return can;
}
