/* credentials.h - whose key signs requests to AWS, and where it comes from. */
/* SPDX-License-Identifier: MIT */
#ifndef AWS_CREDENTIALS_H
#define AWS_CREDENTIALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"
#include "net/http.h"

/*
 * The order is botocore's (1.43.67, read 2026-11): the environment; the
 * profile of AWS_DEFAULT_PROFILE or AWS_PROFILE, else "default", with its keys
 * in the credentials file, its credential_process, its keys in the config
 * file; a container's endpoint; the instance's metadata. dcode adds a project's
 * .env as the last. A key that needs STS or a login (roles, SSO, web identity)
 * is refused by name: credential_process with "aws configure
 * export-credentials" covers it.
 */
struct aws_credentials { /* all owned */
	char *id;
	char *secret;
	char *token;     /* or NULL */
	int64_t expires; /* Unix seconds, 0: never */
};
void aws_credentials_release(struct aws_credentials *c);

enum aws_source {
	AWS_STATIC, /* environment or file */
	AWS_PROCESS,
	AWS_CONTAINER,
	AWS_INSTANCE,
};

/* The user's environment, handed in by who reads it; arg outlives struct
 * aws. Values are borrowed, NULL when a variable is not set. */
struct aws_env {
	const void *arg;
	const char *(*get)(const void *arg, const char *name);
	/* A project's .env, too: *project is then its name, see
	 * settings_credential(). */
	const char *(*get_any)(const void *arg, const char *name,
			       const char **project);
	/* For credential_process: NAME=value, NULL-terminated. */
	char **(*program_env)(const void *arg);
	void (*free_env)(char **env);
	const char *home;
};

struct aws {
	struct aws_env env;
	struct http *http; /* borrowed */
	enum aws_source source;
	char *process; /* owned: the credential_process' command line */
	char *region;  /* owned: what the profile says, or NULL */
	pthread_mutex_t lock;
	struct aws_credentials now; /* id NULL until known */
	const char *project_key;    /* as in struct sandbox_client */
};

/* Decides where the key comes from; sends nothing. ERR_AUTH if no place has
 * one, ERR_CONFIG for a profile that contradicts itself. */
int aws_open(struct aws *a, const struct aws_env *env, struct http *http,
	     struct error *err);
void aws_close(struct aws *a);
/* A copy of a key that is valid for some more minutes; fetches a new one if
 * needed. One thread fetches, others wait. */
int aws_get(struct aws *a, struct aws_credentials *copy,
	    const struct stop *stop, struct error *err);
/* Call when the server says that this key has expired. False if no new one can
 * be fetched. */
bool aws_forget(struct aws *a, const char *id);

/* What one profile says; members are owned, or NULL. */
struct aws_profile {
	bool found;
	char *id;
	char *secret;
	char *token;
	char *process;
	char *region;
	char *unsupported; /* a key that needs something dcode cannot do */
};
/* Pure, for any bytes: the profile's section of a credentials file or, with
 * config, of a config file, added to what p holds. */
void aws_profile_read(struct str text, const char *name, bool config,
		      struct aws_profile *p);
void aws_profile_release(struct aws_profile *p);

/* Pure. A command line's words, with quotes and backslashes as
 * a shell has them and nothing else of it: NULL-terminated and owned, each
 * too; NULL when a quote is open or there is no word. */
char **aws_words(struct str line);
void aws_words_free(char **words);
/* Runs it, without a shell, and takes the key out of what it prints. env: its
 * environment, in whose PATH it is looked for. */
int aws_process(const char *line, char *const *env, struct aws_credentials *c,
		const struct stop *stop, struct error *err);
/* Takes the key out of a JSON object; token is the token's name in it. */
int aws_take_json(struct str text, const char *token, const char *what,
		  struct aws_credentials *c, struct error *err);

#endif
