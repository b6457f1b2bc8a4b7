/* credentials.h - finds the key that signs requests to AWS. */
/* SPDX-License-Identifier: MIT */
#ifndef AWS_CREDENTIALS_H
#define AWS_CREDENTIALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"
#include "net/http.h"

/* The order of the sources is botocore's (1.43.67, read 2026-11): the
 * environment; the profile AWS_DEFAULT_PROFILE, AWS_PROFILE or "default" (its
 * keys in the credentials file, its credential_process, its keys in the config
 * file); a container's endpoint; the instance's metadata. dcode adds a
 * project's .env as the last source. Profiles that need STS or a login (roles,
 * SSO, web identity) are refused, and the error names the setting: use
 * credential_process with "aws configure export-credentials" instead. */
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

/* Access to the user's environment, provided by the caller. arg must outlive
 * struct aws. Values are borrowed, NULL if not set. */
struct aws_env {
	const void *arg;
	const char *(*get)(const void *arg, const char *name);
	/* Like get, but also looks in the project's .env. If the value came
	 * from there, *project is set to the variable's name; see
	 * settings_credential(). */
	const char *(*get_any)(const void *arg, const char *name,
			       const char **project);
	/* Environment for credential_process: NAME=value, NULL-terminated. */
	char **(*program_env)(const void *arg);
	void (*free_env)(char **env);
	const char *home;
};

struct aws {
	struct aws_env env;
	struct http *http; /* borrowed */
	enum aws_source source;
	char *process; /* owned: command line of credential_process */
	char *region;  /* owned: the profile's region, or NULL */
	pthread_mutex_t lock;
	struct aws_credentials now; /* id NULL until known */
	/* name of the variable if the key is from the project's .env; see
	 * settings_credential() */
	const char *project_key;
};

/* Decides where the key comes from. Sends nothing. ERR_AUTH if no source has a
 * key, ERR_CONFIG if the settings of the profile contradict each other. */
int aws_open(struct aws *a, const struct aws_env *env, struct http *http,
	     struct error *err);
void aws_close(struct aws *a);
/* Copies a key that stays valid for some minutes. Fetches a new one if needed;
 * if several threads call, one fetches and the others wait. */
int aws_get(struct aws *a, struct aws_credentials *copy,
	    const struct stop *stop, struct error *err);
/* Call when the server says that the key with this id has expired. The next
 * aws_get() fetches a new one. False if the source cannot give a new one. */
bool aws_forget(struct aws *a, const char *id);

/* Settings of one profile; members are owned, or NULL. */
struct aws_profile {
	bool found;
	char *id;
	char *secret;
	char *token;
	char *process;
	char *region;
	char *unsupported; /* name of a setting that dcode does not support */
};
/* Parses the text of AWS's credentials file (config true: of its config file)
 * and adds the settings of the profile `name` to p. No I/O; accepts any
 * bytes. */
void aws_profile_read(struct str text, const char *name, bool config,
		      struct aws_profile *p);
void aws_profile_release(struct aws_profile *p);

/* Splits a command line into words. Quotes and backslashes work as in a shell;
 * variables, wildcards and operators have no meaning. No I/O. Returns a
 * NULL-terminated array, owned, as are the words. NULL if a quote is not closed
 * or there is no word. */
char **aws_words(struct str line);
void aws_words_free(char **words);
/* Runs the command without a shell and parses the key that it prints. env: its
 * environment, whose PATH is used to find the program. */
int aws_process(const char *line, char *const *env, struct aws_credentials *c,
		const struct stop *stop, struct error *err);
/* Parses a key from a JSON object. token: the name of the member that holds the
 * session token. */
int aws_take_json(struct str text, const char *token, const char *what,
		  struct aws_credentials *c, struct error *err);

#endif
