/* rest.h - JSON over HTTP: address, headers, bodies, errors, retries. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_REST_H
#define PROVIDERS_KIT_REST_H

#include "base/json.h"
#include "base/stop.h"
#include "config/settings.h"
#include "net/http.h"
#include "sandbox/sandbox.h"

/* Entries of a provider's settings table that most vendors need. The parameters
 * become members of struct setting: dir .fallback, member .field, text .help,
 * and seconds .example. */
#define WORKDIR_ROW(dir)                                                       \
	{                                                                      \
		.key = "workdir", .type = SETTING_STRING,                      \
		.fallback = "\"" dir "\"", .help = "working directory inside"  \
	}

#define ENV_ROW(member)                                                        \
	{                                                                      \
		.key = "env", .example = "[\"LANG=C.UTF-8\"]",                 \
		.type = SETTING_LIST, .flags = SETTING_PAIRS,                  \
		.field = (member), .help = "variables inside: NAME=value"      \
	}

#define LABELS_ROW(text)                                                       \
	{                                                                      \
		.key = "labels", .example = "[\"team=web\"]",                  \
		.type = SETTING_LIST, .help = (text)                           \
	}

#define NETWORK_ROW                                                            \
	{                                                                      \
		.key = "network", .type = SETTING_LIST,                        \
		.example = "[\"crates.io\", \"*.npmjs.org\"]",                 \
		.help = "\"none\", \"full\" or the hosts that can be reached"  \
	}

#define LIFETIME_ROW(seconds, text)                                            \
	{                                                                      \
		.key = "lifetime", .unit = "seconds", .example = (seconds),    \
		.type = SETTING_INT, .help = (text)                            \
	}

enum { /* which entries body_hosts() returns */
       HOSTS_NAMES = 1 << 0,
       HOSTS_ADDRESSES = 1 << 1,
       HOSTS_DENIED = 1 << 2, /* the denied ones instead of the allowed */
       HOSTS_PREFIX = 1 << 3, /* write one address as a network: 1.2.3.4/32 */
};

enum { REST_HEADERS = 12 };

/* One server of a vendor. Read-only after the setup, so any thread may use
 * it. */
struct rest {
	struct http *http;               /* borrowed */
	char *base;                      /* owned, without a slash at the end */
	char *headers[REST_HEADERS + 1]; /* owned, NULL-terminated */
};

/* Returns the value of a variable with the vendor's address, or NULL. A stored
 * key does not go to another machine because of a variable that is exported for
 * all programs, so that variable is ignored then. A server on this machine is
 * the vendor's own, and is accepted. */
const char *rest_variable(const struct settings *set, const char *variable);
/* Reads the address from the first of these variables that is set
 * (rest_variable()), else uses fallback. ERR_CONFIG unless it is https, or
 * http to a loopback address, with nothing after the path. *base is owned by
 * the caller. */
int rest_address(char **base, const struct settings *set,
		 const char *const *variables, const char *fallback,
		 struct error *err);
/* Adds the header "Name: value". ERR_CONFIG if the value has a control
 * character. */
int rest_header(struct rest *r, const char *name, const char *value,
		struct error *err);
void rest_release(struct rest *r);

/* Flags of http_request for rest_call(), above those of net/http.h. */
enum {
	/* may be sent again: a GET, or a request of which the vendor recognises
	 * repetitions */
	REST_AGAIN = 1 << 8,
	REST_MISSING_OK = 1 << 9, /* 404 is an answer, not an error */
	/* for agentcore_call(): never send again, not even after 429 */
	REST_ONCE = 1 << 10,
};

/* Sends a request to ask->path, with the server's headers and then those of
 * ask. Each try may take ask->timeout_ms (default 60 s). 0 if the status is
 * below 400 (or 404 with REST_MISSING_OK). Otherwise -1, with an error that
 * begins with ask->what. (The functions of sandbox.h add the provider's name in
 * front of it.) The caller releases res, even on failure. With REST_AGAIN a
 * request is sent up to four times, with the pauses that Retry-After demands;
 * one with a source is never sent again. After the last one, err->exhausted is
 * set. Any request is tried twice if no connection was made (ERR_UNREACHABLE).
 * Never use REST_AGAIN to create or remove a sandbox: only sandbox_create() and
 * sandbox_remove() repeat these. */
int rest_call(const struct rest *r, const struct http_request *ask,
	      struct http_response *res, const struct stop *stop,
	      struct error *err);
/* Like rest_call(), but parses the body. *tree is owned by the caller; NULL for
 * an empty body. ERR_PROTOCOL if the body is not JSON. *status may be NULL. */
int rest_json(const struct rest *r, const struct http_request *ask,
	      cJSON **tree, int *status, const struct stop *stop,
	      struct error *err);
/* Appends text percent-encoded for one path segment or query value (RFC 3986
 * §2.3: all but unreserved characters are encoded). */
void rest_encode(struct buf *out, struct str text);

/* Returns the claims of a JSON web token without verifying it; NULL if it is
 * not one. The caller deletes them. */
cJSON *jwt_claims(const char *token);
/* Returns when the token expires, in Unix time (seconds); 0 if the token does
 * not say. */
int64_t jwt_expires(const char *token);

/* Row for the ports that a vendor must know when it creates a sandbox. */
#define PORTS_ROW(text)                                                        \
	{                                                                      \
		.key = "ports", .example = "[\"3000\"]", .type = SETTING_LIST, \
		.help = text                                                   \
	}
/* Sets *list, owned by the caller, to the numbers of PORTS_ROW. ERR_CONFIG if
 * there are more than most, or one is not a port. */
int body_read_ports(const struct sandbox_client *client, size_t most,
		    cJSON **list, struct error *err);
/* Adds settings of the provider to body: those that are named in keys ("user
 * region", in this order) and have a value. struct setting.field names the JSON
 * member ("resources.vcpus" also creates the object). A value is written as
 * text, a number of at least .least, true, an array of text, or (SETTING_PAIRS)
 * an object. ERR_CONFIG for a value out of range. */
int body_add_settings(const struct sandbox_client *client, const char *keys,
		      cJSON *body, struct error *err);
/* Returns an array of text: those entries of the list that `which` names. NULL
 * if there are none. */
cJSON *body_hosts(const struct network *n, unsigned which);
/* Adds body_hosts() as a member, unless it is NULL. */
void body_add_hosts(cJSON *object, const char *key, const struct network *n,
		    unsigned which);
/* Reads a vendor's list: the arrays of text `allow` and `deny`. open: hosts
 * that neither contains are allowed. ERR_PROTOCOL if dcode cannot read it. */
int body_read_hosts(struct network *n, const cJSON *allow, const cJSON *deny,
		    bool open, struct error *err);
/* Like cJSON_Delete(), but zeroes the texts first: a body may have values of
 * secrets. */
void body_wipe(cJSON *body);
/* Returns the object at a path of members like "a.b", created if it is
 * missing. */
cJSON *body_object(cJSON *body, const char *path);
/* Reads a setting that is a list of NAME=value. The list is borrowed.
 * ERR_CONFIG if an entry has another form. */
int env_list_get(const struct settings *set, const char *group, const char *key,
		 const char *const **list, size_t *n, struct error *err);
/* Returns the n entries followed by those of more, NULL-terminated. more may be
 * NULL. The caller owns only the array. */
const char **env_list_join(const char *const *list, size_t n,
			   const char *const *more);
/* Adds the list's pairs as members. If a name occurs twice, the last pair
 * counts. ERR_CONFIG for an entry that is not NAME=value. */
int env_list_add(const struct settings *set, const char *group, const char *key,
		 cJSON *object, struct error *err);
/* Adds the pairs of the setting "labels", then dcode's own labels dcode.label
 * and dcode.owner, which a setting cannot replace. */
int env_list_labels(const struct settings *set, const char *group,
		    const struct sandbox_spec *spec, cJSON *labels,
		    struct error *err);
/* Appends, as JSON, the strings that follow "-c" in the arguments of sh. This
 * is the command itself. If it is too long for one argument (Linux allows 128
 * KiB), it is a script followed by the command's parts, which the script
 * joins. */
void shell_argument_add(struct buf *json, struct str command);

#endif
