/* http_files.h - files in and out through a vendor's file API. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_HTTP_FILES_H
#define PROVIDERS_KIT_HTTP_FILES_H

#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/* What the answer to a failed request means. */
enum file_retry {
	FILE_RETRY,         /* a passing trouble */
	FILE_RETRY_STARTED, /* the sandbox may be asleep or gone; then again */
	FILE_RETRY_UNSURE,  /* the same, but if it is there, it was the file */
	FILE_RETRY_NEVER,   /* this file */
	FILE_RETRY_FATAL,   /* everything: the key is bad */
};

/* The request for a file (GET, or POST with a body) or with one (POST; another
 * method needs http_files.send); what the vendor fills in. */
struct file_request {
	struct buf path; /* of the request, with its query */
	struct buf body; /* download: JSON for a POST; empty: a GET */
	/* Upload: the form's field with the path, or NULL. */
	const char *path_field;
	const char *file_field; /* its field with the bytes; NULL: no form, the
				   body is the file */
	const char *file_name;  /* in the form */
};

/* A file that is to be written to another path than its own. */
struct http_files_put {
	const struct transfer *file;
	const char *path;
	bool own; /* out: it is the file itself that cannot be read */
};

/* A vendor's, const. All may be called from several threads at once. */
struct http_files {
	/* rest_call() at the server that has the files. */
	int (*call)(struct sandbox *sb, const struct rest_ask *ask,
		    struct http_response *res, const struct stop *stop,
		    struct error *err);
	void (*get)(struct sandbox *sb, const char *file,
		    struct file_request *req);
	/* One of the two. send() does all of it, as rest_call() into res. */
	void (*put)(struct sandbox *sb, const char *file,
		    struct file_request *req);
	int (*send)(struct sandbox *sb, struct http_files_put *put,
		    struct http_response *res, const struct stop *stop,
		    struct error *err);
	/* Of an answer of 400 or more that http_files.c does not
	 * settle; NULL: it was the file. */
	enum file_retry (*classify)(const struct http_response *res);
	/* As vendor_ensure_running(). */
	int (*ensure_running)(struct sandbox *sb, const struct stop *stop,
			      struct error *err);
	/* Before each file: the sandbox is in use. NULL: it knows. */
	void (*touch)(struct sandbox *sb, const struct stop *stop);
};

/*
 * struct sandbox_ops.upload and .download, in constant memory. A file that a
 * command can carry goes in one, others through the API to a part that a
 * command puts in place; after a cut they are sent again to another part, if
 * they can be rewound. A download that was cut goes on where it was. What the
 * API refuses the sandbox's own shell is asked for: its words are exact.
 */
int http_files_upload(struct sandbox *sb, const struct http_files *v,
		      struct transfer *files, size_t n, const struct stop *stop,
		      struct error *err);
int http_files_download(struct sandbox *sb, const struct http_files *v,
			struct transfer *files, size_t n,
			const struct stop *stop, struct error *err);

#endif
