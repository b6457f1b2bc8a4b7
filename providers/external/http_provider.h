/* http_provider.h - a REST service that config.toml describes. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_HTTP_PROVIDER_H
#define PROVIDERS_EXTERNAL_HTTP_PROVIDER_H

#include "base/json.h"
#include "providers/external/provider_config.h"

/*
 * [sandboxes.providers.NAME.http] holds base, headers and one table for each
 * operation. In their strings {name} is a placeholder for a value, ${NAME} for
 * a variable; {{ and }} are braces. A value is encoded for its context:
 * percent-encoded in a path, one quoted word in a "shell" string, part of one
 * string in a body. In a header, a value that would end it is refused. So no
 * value can change the text around it.
 *
 * http_config.c reads the description and fills values into its texts;
 * http_provider.c sends the requests.
 */
enum http_op {
	OP_CREATE,
	OP_READY,
	OP_EXECUTE,
	OP_READ,
	OP_WRITE,
	OP_DELETE,
	OP_LIST,
	OP_COUNT
};

/* The values that {name} can name. */
enum http_value {
	VALUE_ID,
	VALUE_LABEL,
	VALUE_OWNER,
	VALUE_SNAPSHOT,
	VALUE_COMMAND,
	VALUE_PATH,
	VALUE_WORKDIR,
	VALUE_TIMEOUT,  /* seconds, a number */
	VALUE_LIFETIME, /* seconds, a number */
	VALUES
};

enum http_context {
	CONTEXT_RAW, /* the caller checks or escapes the result */
	CONTEXT_PATH,
	CONTEXT_HEADER, /* only here may a project's .env set variables */
	CONTEXT_SHELL,
};

/* The values of one request. An absent value has a NULL pointer. */
struct http_values {
	struct str is[VALUES];
	const struct toml_value *params; /* for {param.NAME}; or NULL */
	const struct settings *settings; /* for ${NAME} */
	const char **project_key; /* see settings_credential(); or NULL */
};

/* Format of the answer of execute. */
enum http_stream {
	STREAM_NONE,   /* one document, or the output itself */
	STREAM_SSE,    /* text/event-stream: each event's data is JSON */
	STREAM_NDJSON, /* a JSON document per line */
};

/* One operation's table. Strings are borrowed from config.toml. */
struct http_operation {
	bool given;
	const char *method;
	const char *path;
	/* command that becomes {command}; NULL: the plain command */
	const char *shell;
	const struct toml_value *body; /* a table, a literal string, or NULL */
	const char *type; /* Content-Type of a string body; NULL: text/plain */
	/* JSON pointers into the answer; NULL if not given. */
	const char *id;
	const char *output; /* NULL: the whole body */
	const char *exit_code;
	const char *state;
	const char *items;
	const char *label;
	const char *item_owner;
	const struct toml_value *is; /* states that mean: ready */
	/* states that mean: will never be ready */
	const struct toml_value *failed;
	/* Only for create: pointers to the address of the sandbox's own server
	 * and to its bearer token, in the answer of create or ready. NULL: no
	 * own server. Hosts outside of within are refused. */
	const char *server;
	const char *token;
	const struct toml_value *within;
	enum http_stream stream;
	bool base64;  /* output is base64 */
	bool repeats; /* a create may be sent again */
	/* Only for execute: whether processes continue after their call. If
	 * unset, two calls find out. */
	enum { OUTLIVES_UNKNOWN, OUTLIVES_YES, OUTLIVES_NO } outlives;
	int64_t timeout_s;
};

struct http_provider { /* sandbox_client.provider points to it */
	struct made_provider made;
	struct provider_config config;
	struct sandbox_ops ops;
	const char *base;
	const struct toml_value *headers; /* or NULL */
	struct http_operation operations[OP_COUNT];
};

/* http_config.c */
/* Reads and checks config.http. ERR_CONFIG: "FILE:3:5: ...", where file is the
 * one that contains it. */
int http_config_read(struct http_provider *p, const char *file,
		     struct error *err);
/* Returns 0 if text is well formed and names only allowed values (bits of enum
 * http_value), parameters and variables. ERR_CONFIG: what is wrong, without the
 * key. */
int http_text_check(const char *text, unsigned allowed, struct error *err);
/* The same for a "shell" string. Values must be words, outside of quotes,
 * comments, backquotes and here-documents. */
int http_text_check_shell(const char *text, unsigned allowed,
			  struct error *err);
/* Appends text with its values filled in. ERR_AUTH: a variable is not set.
 * ERR_CONFIG: a value is not possible in that place. */
int http_text_expand(struct buf *out, const char *text,
		     enum http_context context, const struct http_values *v,
		     struct error *err);
/* Appends a path and query. Values stay within their segment, and no segment is
 * "..". */
int http_text_path(struct buf *out, const char *text,
		   const struct http_values *v, struct error *err);
/* Appends a table as a JSON document. A member that consists only of an absent
 * value is left out; one that consists only of a number is written as a number.
 */
int http_text_body(struct buf *out, const struct toml_value *table,
		   const struct http_values *v, struct error *err);

/* Returns the value at a pointer (RFC 6901) like "/data/0/id"; borrowed, or
 * NULL. */
const cJSON *json_pointer_get(const cJSON *tree, const char *pointer);
/* Returns that value as text, numbers and booleans as in JSON. Owned by the
 * caller; NULL if there is none. */
char *json_pointer_text(const cJSON *tree, const char *pointer);
bool json_pointer_ok(const char *pointer);

#endif
