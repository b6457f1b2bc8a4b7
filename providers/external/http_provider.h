/* http_provider.h - a REST provider that config.toml describes by templates. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_HTTP_PROVIDER_H
#define PROVIDERS_EXTERNAL_HTTP_PROVIDER_H

#include "base/json.h"
#include "providers/external/provider_config.h"
#include "providers/kit/rest.h"

/*
 * [sandboxes.providers.NAME.http] holds base, headers and one table for each
 * deed. In their strings {name} stands for a value, ${NAME} for a variable, {{
 * and }} for braces. A value is written for where it stands: percent-encoded in
 * a path, as one word in a "shell" string, as part of one string in a body;
 * what would end a header is refused. So no value becomes anything but itself.
 */
enum http_provider_deed {
	DEED_CREATE,
	DEED_READY,
	DEED_EXECUTE,
	DEED_READ,
	DEED_WRITE,
	DEED_DELETE,
	DEED_LIST,
	DEEDS
};

/* What {name} may be. */
enum http_provider_value {
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

enum http_provider_place {
	PLACE_BASE, /* of the URL: never from a project's .env */
	PLACE_PATH, /* one segment, or part of one */
	PLACE_QUERY,
	PLACE_HEADER,
	PLACE_TEXT, /* whoever takes the whole of it escapes it: JSON */
	PLACE_SHELL,
};

/* The values of one request; an absent one has a NULL pointer. */
struct http_provider_values {
	struct str is[VALUES];
	const struct toml_value *params; /* {param.NAME}, or NULL */
	const struct settings *settings; /* ${NAME} */
	const char **project_key; /* as settings_credential() has it, or NULL */
};

/* http_provider_text.c */
/* Is text well formed, with names of allowed (bits of enum http_provider_value)
 * and parameters only? ERR_CONFIG: what is wrong, without the place. */
int http_provider_check(const char *text, unsigned allowed, struct error *err);
/* The same for a "shell" string: values must stand where words do, outside of
 * quotes, comments, backquotes and here-documents. */
int http_provider_check_shell(const char *text, unsigned allowed,
			      struct error *err);
/* Appends text with its values. ERR_AUTH: a variable is not set; ERR_CONFIG: a
 * value cannot stand there. */
int http_provider_expand(struct buf *out, const char *text,
			 enum http_provider_place place,
			 const struct http_provider_values *v,
			 struct error *err);
/* A path and query: each segment's values stay in it, and none is "..". */
int http_provider_path(struct buf *out, const char *text,
		       const struct http_provider_values *v, struct error *err);
/* A table as a JSON document. A member that is nothing but a value which is
 * absent is left out; one that is nothing but a number is one. */
int http_provider_body(struct buf *out, const struct toml_value *table,
		       const struct http_provider_values *v, struct error *err);
/* http_provider_point.c. RFC 6901: the value that a pointer names, or NULL. */
const cJSON *http_provider_point(const cJSON *tree, const char *pointer);
bool http_provider_pointer_ok(const char *pointer);

/* One deed's table; strings borrowed from config.toml. */
struct http_provider_request {
	bool given;
	const char *method;
	const char *path;
	const char *shell; /* makes {command}; NULL: it is the command */
	const struct toml_value *body; /* or NULL */
	/* Pointers into the answer; NULL: not given. */
	const char *id;
	const char *output; /* NULL: the whole body */
	const char *exit_code;
	const char *state;
	const char *items;
	const char *label;
	const char *item_owner;
	const struct toml_value *is;     /* states that mean ready */
	const struct toml_value *failed; /* that mean it never will be */
	bool base64;                     /* output is */
	bool repeats;                    /* create may be sent again */
	int64_t timeout_s;
};

struct http_provider { /* what sandbox_client.provider points to */
	struct made_provider made;
	struct provider_config d;
	struct sandbox_ops ops;
	const char *base;
	const struct toml_value *headers; /* or NULL */
	struct http_provider_request deeds[DEEDS];
};

/* http_provider_read.c: checks every key. ERR_CONFIG: "FILE:3:5: ...". file is
 * the one that d->http stands in. */
int http_provider_read(struct http_provider *p, const char *file,
		       struct error *err);

/* http_provider_call.c */
struct http_provider_config { /* sandbox_client.priv */
	const struct http_provider *p;
	const struct settings *settings; /* borrowed */
	struct rest rest;
	bool held; /* nothing outlives an execute: see supervise_probe() */
};
struct http_provider_config *
http_provider_of(const struct sandbox_client *host);
/* Values that every request of this sandbox has; sb may be NULL. */
struct http_provider_values
http_provider_values(const struct sandbox_client *host,
		     const struct sandbox *sb);

struct http_provider_call { /* one request */
	enum http_provider_deed deed;
	struct http_provider_values values;
	unsigned flags;     /* REST_... */
	int64_t timeout_ms; /* 0: the deed's own */
	/* As in rest_ask. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	struct str raw; /* the body, instead of a template's */
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
	int status; /* out: of the answer, 0 without one */
};
/* Sends it; res is released by the caller in any case. */
int http_provider_send(struct http_provider_config *t,
		       struct http_provider_call *c, struct http_response *res,
		       const struct stop *stop, struct error *err);
/* The same with the answer as a tree; NULL where it is empty. */
int http_provider_ask(struct http_provider_config *t,
		      struct http_provider_call *c, cJSON **tree,
		      const struct stop *stop, struct error *err);

/* After create and attach, two requests: does a process outlive the execute
 * that left it? If not, commands are held in theirs from then on. */
void http_provider_find_held(struct sandbox *sb, const struct stop *stop);
/* http_provider_exec.c, http_provider_files.c, http_provider_list.c: as in
 * sandbox_ops. */
int http_provider_execute(struct sandbox *sb, const struct exec_request *req,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err);
int http_provider_upload(struct sandbox *sb, struct transfer *files, size_t n,
			 const struct stop *stop, struct error *err);
int http_provider_download(struct sandbox *sb, struct transfer *files, size_t n,
			   const struct stop *stop, struct error *err);
int http_provider_list(struct sandbox_client *host, const char *owner,
		       const struct info_sink *sink, const struct stop *stop,
		       struct error *err);

#endif
