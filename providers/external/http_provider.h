/* http_provider.h - a REST service that config.toml describes. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_HTTP_PROVIDER_H
#define PROVIDERS_EXTERNAL_HTTP_PROVIDER_H

#include "base/json.h"
#include "providers/external/provider_config.h"

/*
 * [sandboxes.providers.NAME.http] holds base, headers and one table for each
 * operation. In their strings {name} is a placeholder for a value, and ${NAME}
 * for an environment variable. {{ and }} stand for single braces. A value is
 * encoded for its context: percent-encoded in a path, one quoted word in a
 * "shell" string, part of one string in a body. In a header, a value that would
 * end it is refused. So no value can change the text around it.
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
	CONTEXT_RAW, /* nothing is encoded: the caller does that */
	CONTEXT_PATH,
	/* variables of a project's .env are allowed only here */
	CONTEXT_HEADER,
	CONTEXT_SHELL,
};

/* The values of one request. An absent value has a NULL pointer. */
struct http_values {
	struct str is[VALUES];
	const struct toml_value *params; /* for {param.NAME}; or NULL */
	const struct settings *settings; /* for ${NAME} */
	/* see settings_credential(); NULL: not wanted */
	const char **project_key;
};

/* Format of the answer of execute. */
enum http_stream {
	STREAM_NONE,   /* the answer is one document, or the output itself */
	STREAM_SSE,    /* text/event-stream: each event's data is JSON */
	STREAM_NDJSON, /* a JSON document per line */
};

/* One operation's table. Strings are borrowed from config.toml. */
struct http_operation {
	bool given;
	const char *method;
	const char *path;
	/* text that becomes {command}; NULL: the command as it is */
	const char *shell;
	const struct toml_value *body; /* a table, a literal string, or NULL */
	const char *type; /* Content-Type of a string body; NULL: text/plain */
	/* JSON pointers into the answer; NULL if not given. */
	const char *id;
	/* pointer to the output; NULL: the whole body is the output */
	const char *output;
	const char *exit_code;
	const char *state;
	const char *items;
	const char *label;
	const char *item_owner;
	const struct toml_value *is; /* values of state that mean ready */
	/* values of state that mean that it will never be ready */
	const struct toml_value *failed;
	/* Only for create: pointers to the address and the bearer token of the
	 * sandbox's own server, in the answer of create or ready. NULL: it has
	 * no own server. Only hosts in within are accepted. */
	const char *server;
	const char *token;
	const struct toml_value *within;
	enum http_stream stream;
	bool base64;  /* the output is base64 */
	bool repeats; /* a create may be sent again */
	/* Only for execute: whether processes continue after the request that
	 * started them. If unknown, two requests find out. */
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
/* Reads and checks config.http. file is the path of the config.toml that
 * contains it. ERR_CONFIG: "FILE:3:5: ...". */
int http_config_read(struct http_provider *p, const char *file,
		     struct error *err);
/* Returns 0 if text is well formed and names only known parameters and
 * variables, and values of which allowed has the bit (enum http_value).
 * ERR_CONFIG: what is wrong; the key is not named. */
int http_text_check(const char *text, unsigned allowed, struct error *err);
/* Like http_text_check(), for a "shell" string. Each placeholder must be a
 * word, outside of quotes, comments, backquotes and here-documents. */
int http_text_check_shell(const char *text, unsigned allowed,
			  struct error *err);
/* Appends text with its values filled in. ERR_AUTH: a variable is not set.
 * ERR_CONFIG: a value cannot be written in that context. */
int http_text_expand(struct buf *out, const char *text,
		     enum http_context context, const struct http_values *v,
		     struct error *err);
/* Appends a path and query. A value cannot add a segment, and no segment
 * becomes "..". */
int http_text_path(struct buf *out, const char *text,
		   const struct http_values *v, struct error *err);
/* Appends a table as a JSON document. A member whose text is only a placeholder
 * is left out if its value is absent, and written as a number if it is one. */
int http_text_body(struct buf *out, const struct toml_value *table,
		   const struct http_values *v, struct error *err);

/* Returns the value at a pointer (RFC 6901) like "/data/0/id"; borrowed, or
 * NULL. */
const cJSON *json_pointer_get(const cJSON *tree, const char *pointer);
/* Returns the value at a pointer as text; numbers and booleans are written as
 * in JSON. Owned by the caller; NULL if there is no such value. */
char *json_pointer_text(const cJSON *tree, const char *pointer);
bool json_pointer_ok(const char *pointer);

#endif
