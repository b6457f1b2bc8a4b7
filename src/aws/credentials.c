/* credentials.c - whose key signs requests to AWS, and where it comes from. */
/* SPDX-License-Identifier: MIT */
#include "aws/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	FILE_MAX = 1 << 20,
	EARLY_S = 300, /* before its end a key is replaced */
};

static int advise(struct error *err)
{
	return error_hint(err, "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
			       "and AWS_SESSION_TOKEN, run 'aws configure', or "
			       "create a key at console.aws.amazon.com (IAM).");
}

static int none(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "AWS credentials not found: AWS_ACCESS_KEY_ID is not set, "
		  "and no profile, container or instance role was found");
	return advise(err);
}

/* The user's variables; with project, those of the project's .env. */
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

static int read_file(struct aws *a, const char *variable, const char *usual,
		     const char *name, struct aws_profile *p, struct error *err)
{
	const char *own = a->env.get(a->env.arg, variable);
	char *path = path_expand(own ? own : usual, a->env.home);
	struct buf text = BUF_INIT(FILE_MAX);
	struct error why = { 0 };
	int rc;

	/* A profile may name a program: it must not be a repository's. */
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

static void take(struct aws *a, struct aws_profile *p)
{
	a->now.id = p->id;
	a->now.secret = p->secret;
	a->now.token = p->token;
	p->id = p->secret = p->token = NULL;
}

static int cannot(const char *name, const char *what, struct error *err)
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

/* 1: there is a key or a process; 0: nothing here. */
static int choose(struct aws *a, const char *name, struct aws_profile *first,
		  struct aws_profile *second, struct error *err)
{
	const char *other =
		first->unsupported ? first->unsupported : second->unsupported;
	char **process = first->process ? &first->process : &second->process;

	if (other && !*process)
		return cannot(name, other, err);
	if (first->id && first->secret) {
		take(a, first);
	} else if (*process) {
		a->process = *process;
		*process = NULL;
		a->source = AWS_PROCESS;
	} else if (second->id && second->secret) {
		take(a, second);
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
		rc = choose(a, name, &first, &second, err);
	/* the config file is the place for it */
	a->region = xstrdup(second.region ? second.region : first.region);
	aws_profile_release(&first);
	aws_profile_release(&second);
	return rc;
}

/* Of the profile, for keys that stand in variables; no failure is one here. */
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
	else /* a project's key comes after all of the user's */
		rc = from_env(a, &a->project_key, err);
	if (rc < 0)
		return -1;
	return rc || a->source != AWS_STATIC ? 0 : none(err);
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

static bool fresh(const struct aws_credentials *c)
{
	return c->id &&
	       (!c->expires || c->expires - clock_unix_ms() / 1000 > EARLY_S);
}

static int renew(struct aws *a, const struct stop *stop, struct error *err)
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
		advise(err);
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
	if (!fresh(&a->now))
		rc = renew(a, stop, &why);
	/* An old one does as long as it has not ended. */
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
