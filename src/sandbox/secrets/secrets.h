/* secrets.h - credentials that a sandbox uses but never sees. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SECRETS_SECRETS_H
#define SANDBOX_SECRETS_SECRETS_H

/*
 * The user binds a credential to hosts, in [secrets.NAME] of config.toml. A
 * sandbox gets a placeholder. The value is put into requests to those hosts on
 * their way out: by the vendor, or by dcode's own proxy. read.c reads the
 * table, presets.c has the services that need only their name, check.c refuses
 * what a provider cannot do, value.c obtains the values, match.c says which
 * requests a value belongs to. Begin reading at struct secret.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"
#include "config/settings.h"
#include "sandbox/network/network.h"

enum {
	SECRETS_MAX = 64,
	/* A shorter value also occurs in ordinary text. */
	SECRET_SHORTEST = 8,
	/* Bytes of the shortest placeholder: a shorter value has one that is
	 * longer than itself. */
	SECRET_PLACEHOLDER = 32,
};

struct secret {
	char *name; /* "GITHUB" */
	/* the sandbox's variable that holds the placeholder; or NULL */
	char *env;
	struct network hosts; /* names, some of them "*.x"; on port 443 */
	/* The header that is set in every request to the hosts: "X-Api-Key".
	 * NULL: the placeholder is replaced in headers for credentials. */
	char *header;
	/* How the value stands in the header: "Bearer {}". "Basic USER:{}" is
	 * sent in base64. With header never NULL; without it NULL, or how the
	 * client sends the placeholder in Authorization. */
	char *format;
	/* Only requests with one of these paths ("/repos/me/app", or the
	 * beginning "/repos/me/" written as "/repos/me/" and "*"), and with one
	 * of these methods. NULL-terminated, owned; NULL: all. */
	const char **paths, **methods;
	char *source;         /* "/home/me/config.toml:3:1: secrets.GITHUB" */
	char *value_env;      /* variable that has the value; or NULL */
	const char **command; /* program that prints it; or NULL */
	/* Requests are signed with a key of AWS. The value is its id then. */
	bool signs;
	/* After secrets_load(): in locked memory; and of the same length, or
	 * SECRET_PLACEHOLDER. */
	char *value;
	char *placeholder;
	/* The same with signs: the secret access key, and the session token or
	 * NULL. */
	char *key, *key_placeholder;
	char *token, *token_placeholder;
};

/* The variables of a key of AWS. */
#define SECRET_AWS_ID "AWS_ACCESS_KEY_ID"
#define SECRET_AWS_KEY "AWS_SECRET_ACCESS_KEY"
#define SECRET_AWS_TOKEN "AWS_SESSION_TOKEN"

struct secrets { /* initialise with { 0 }; release with secrets_release() */
	struct secret *list;
	size_t n;
};

/* Services whose secrets need only `preset = NAME`. Arrays end with { 0 }. */
struct secret_preset {
	const char *name; /* "github" */
	const char *env;
	const char *hosts[6];
	const char *header, *format; /* or NULL */
	bool signs;
	const char *prefixes[6]; /* of values: "ghp_" */
};
extern const struct secret_preset secret_presets[];

/* Replaces *s by the [secrets] of config.toml, without values. ERR_CONFIG names
 * the line; ERR_POLICY if the machine's policy forbids secrets. */
int secrets_read(struct secrets *s, const struct settings *set,
		 struct error *err);
/* Obtains the values, each from its command, its variable or the stored key
 * "secret:NAME", hides them in dcode's output, and makes placeholders.
 * ERR_CONFIG if there is none or it cannot be used. May run programs. */
int secrets_load(struct secrets *s, const struct settings *set,
		 const struct stop *stop, struct error *err);
/* Opens the store of keys, which may ask for its passphrase, if a secret is
 * stored there. For a thread that may use the terminal: secrets_load() is often
 * called on another one. */
void secrets_open_store(const struct settings *set);
/* Says where the value of a secret comes from, without looking at it: "the
 * stored key secret:GITHUB". Owned. */
char *secret_print_origin(const struct secret *s);
void secrets_release(struct secrets *s); /* zeroes the values */

/* Append and read secrets as bytes, with their values, for the process that
 * puts them into requests. Wipe the bytes after use. ERR_PROTOCOL. */
void secrets_pack(const struct secrets *s, struct buf *out);
int secrets_unpack(struct secrets *s, struct str bytes, struct error *err);

/* Appends what the header gets for this value (or placeholder): "Bearer x". The
 * secret must have a format. */
void secret_print_value(const struct secret *s, struct str value,
			struct buf *out);
/* True if the secret is for this host, in lower case. */
bool secret_has_host(const struct secret *s, const char *host);
/* True if the secret may be put into a request with this method and target
 * ("/a?b"). A path that servers may read in another way is refused. */
bool secret_has_request(const struct secret *s, struct str method,
			struct str target);

/* What a provider can do. A provider without this struct can hold no secret. */
enum {
	SECRET_CAN_HEADER = 1 << 0, /* sets a header */
	/* replaces the placeholder in the headers for credentials, also inside
	 * Basic */
	SECRET_CAN_PLACEHOLDER = 1 << 1,
	/* replaces it if `format` says how it stands in Authorization */
	SECRET_CAN_FORMAT = 1 << 2,
	SECRET_CAN_WILD = 1 << 3, /* hosts like "*.x" */
	SECRET_CAN_PATHS = 1 << 4,
	SECRET_CAN_METHODS = 1 << 5,
	/* dcode itself puts the values in, so it also needs them to attach */
	SECRET_NEEDS_DCODE = 1 << 6,
	SECRET_ONE_HOST = 1 << 7, /* a secret has one host */
	/* the vendor's account stores the values, until sandbox_ops.clean() */
	SECRET_IN_ACCOUNT = 1 << 8,
	/* with `header`, the client itself sends the header, with the
	 * placeholder that it has in env */
	SECRET_CLIENT_SENDS = 1 << 9,
	/* a sandbox with secrets cannot have a list of hosts */
	SECRET_ALONE = 1 << 10,
	SECRET_CAN_SIGN = 1 << 11, /* signs requests to AWS */
};
struct secret_limits {
	unsigned can; /* SECRET_... */
	size_t most;  /* the most secrets of a sandbox; 0: no limit */
	/* What the user should know about this vendor's way: a sentence; or
	 * NULL. */
	const char *note;
};
/* Returns 0 if the provider can hold the secrets. Otherwise ERR_USAGE names the
 * secret and what the provider lacks. limits may be NULL. */
int secrets_check(const struct secrets *s, const struct secret_limits *limits,
		  const char *provider, struct error *err);
/* The same for the secrets together with the sandbox's network. */
int secrets_check_network(const struct secrets *s,
			  const struct secret_limits *limits,
			  const struct network *n, const char *provider,
			  struct error *err);

#endif
