/* http_provider.h - a REST service that config.toml describes. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_HTTP_PROVIDER_H
#define PROVIDERS_EXTERNAL_HTTP_PROVIDER_H

#include "base/json.h"
#include "providers/external/provider_config.h"

/*
 * [sandboxes.providers.NAME.http] holds base, headers and one table for each
 * operation. In their strings {name} stands for a value, ${NAME} for a
 * variable, {{ and }} for braces. A value is written for its context:
 * percent-encoded in a path, as one word in a "shell" string, as part of one
 * string in a body; in a header, a value that would end it is refused. So no
 * value becomes anything but itself.
 *
 * http_config.c reads the description and writes values into its texts;
 * http_provider.c sends what it describes.
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

/* The values that {name} can stand for. */
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
	CONTEXT_RAW, /* the caller checks or escapes the whole */
	CONTEXT_PATH,
	CONTEXT_HEADER, /* the only one whose variables a project may set */
	CONTEXT_SHELL,
};

/* The values of one request; an absent one has a NULL pointer. */
struct http_values {
	struct str is[VALUES];
	const struct toml_value *params; /* {param.NAME}, or NULL */
	const struct settings *settings; /* ${NAME} */
	const char **project_key; /* as settings_credential() has it, or NULL */
};

/* How the answer of execute comes. */
enum http_stream {
	STREAM_NONE,   /* one document, or the output itself */
	STREAM_SSE,    /* text/event-stream: each event's data is JSON */
	STREAM_NDJSON, /* a JSON document per line */
};

/* One operation's table; strings borrowed from config.toml. */
struct http_operation {
	bool given;
	const char *method;
	const char *path;
	const char *shell; /* makes {command}; NULL: it is the command */
	const struct toml_value *body; /* a table, a string as it is, or NULL */
	const char *type; /* Content-Type of a string; NULL: text/plain */
	/* JSON pointers into the answer; NULL: not given. */
	const char *id;
	const char *output; /* NULL: the whole body */
	const char *exit_code;
	const char *state;
	const char *items;
	const char *label;
	const char *item_owner;
	const struct toml_value *is;     /* states that mean ready */
	const struct toml_value *failed; /* that mean it never will be */
	/* Of create: where its answer, and that of ready, has the address of
	 * the sandbox's own server, and the bearer token for it; NULL: it has
	 * none. Hosts outside of within are refused. */
	const char *server;
	const char *token;
	const struct toml_value *within;
	enum http_stream stream;
	bool base64;  /* output is */
	bool repeats; /* create may be sent again */
	/* Of execute, whether a process outlives its call; unset: two calls
	 * find out. */
	enum { OUTLIVES_UNKNOWN, OUTLIVES_YES, OUTLIVES_NO } outlives;
	int64_t timeout_s;
};

struct http_provider { /* what sandbox_client.provider points to */
	struct made_provider made;
	struct provider_config config;
	struct sandbox_ops ops;
	const char *base;
	const struct toml_value *headers; /* or NULL */
	struct http_operation operations[OP_COUNT];
};

/* http_config.c */
/* Reads config.http, each key checked. ERR_CONFIG: "FILE:3:5: ..."; file is
 * the one that contains it. */
int http_config_read(struct http_provider *p, const char *file,
		     struct error *err);
/* 0 when text is well formed and has no names but allowed (bits of enum
 * http_value), parameters and variables. ERR_CONFIG: what is wrong, without
 * the key. */
int http_text_check(const char *text, unsigned allowed, struct error *err);
/* The same for a "shell" string: values must stand where words do, outside of
 * quotes, comments, backquotes and here-documents. */
int http_text_check_shell(const char *text, unsigned allowed,
			  struct error *err);
/* Appends text with its values. ERR_AUTH: a variable is not set; ERR_CONFIG: a
 * value cannot stand there. */
int http_text_expand(struct buf *out, const char *text,
		     enum http_context context, const struct http_values *v,
		     struct error *err);
/* A path and query: each segment's values stay in it, and none is "..". */
int http_text_path(struct buf *out, const char *text,
		   const struct http_values *v, struct error *err);
/* A table as a JSON document. A member that is only an absent value is left
 * out; one that is only a number is written as a number. */
int http_text_body(struct buf *out, const struct toml_value *table,
		   const struct http_values *v, struct error *err);

/* The value that a pointer (RFC 6901) like "/data/0/id" names; borrowed, or
 * NULL. */
const cJSON *json_pointer_get(const cJSON *tree, const char *pointer);
/* Its text; a number or a boolean as JSON writes it. Owned, or NULL. */
char *json_pointer_text(const cJSON *tree, const char *pointer);
bool json_pointer_ok(const char *pointer);

#endif
