/* files.h - files in and out through a vendor's file API. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_FILES_H
#define PROVIDERS_KIT_FILES_H

#include "providers/kit/rest.h"
#include "sandbox/provider.h"
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
 * method needs http_files.send); the vendor fills it in. */
struct file_request {
	struct buf path; /* of the request, with its query */
	struct buf body; /* download: JSON for a POST; empty: a GET */
	/* Upload: the form's field with the path, or NULL. */
	const char *path_field;
	const char *file_field; /* its field with the bytes; NULL: no form, the
				   body is the file */
	const char *file_name;  /* in the form */
};

/* A file to be written to another path than its own. */
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
	/* What an answer of 400 or more means that files.c does not
	 * settle; NULL: it was the file. */
	enum file_retry (*classify)(const struct http_response *res);
	/* As vendor_ensure_running(). */
	int (*ensure_running)(struct sandbox *sb, const struct stop *stop,
			      struct error *err);
	/* Before each file: the sandbox is in use. NULL: it knows. */
	void (*touch)(struct sandbox *sb, const struct stop *stop);
};

/*
 * struct sandbox_ops.upload and .download, in constant memory. A small file is
 * sent in a command. Others go through the API to a part that a command puts in
 * place; after a cut they are sent again to another part, if they can be
 * rewound. A download that was cut continues where it was. If the API refuses a
 * file, the sandbox's own shell is asked: its answer is exact.
 */
int http_files_upload(struct sandbox *sb, const struct http_files *v,
		      struct transfer *files, size_t n, const struct stop *stop,
		      struct error *err);
int http_files_download(struct sandbox *sb, const struct http_files *v,
			struct transfer *files, size_t n,
			const struct stop *stop, struct error *err);

/* The bytes of a file on its way up, held in memory while it is small. */
struct file_source {
	struct transfer *file; /* borrowed */
	struct buf held;       /* all of a small file */
	bool is_held;          /* it can be sent again: set sent to 0 */
	int64_t sent;          /* bytes that file_source_read() gave */
	bool failed;           /* the file itself cannot be read, see why */
	struct error why;
};

/* Reads all of a file of at most held_max bytes into memory. -1 when that
 * failed; release it in any case. */
int file_source_open(struct file_source *s, struct transfer *f,
		     int64_t held_max, struct error *err);
/* At most len bytes into room; 0 at the end, -1 as the file says. arg is the
 * struct file_source. */
int64_t file_source_read(void *arg, char *room, size_t len, struct error *err);
void file_source_release(struct file_source *s);

enum stat_purpose {
	STAT_FOR_UPLOAD, /* makes parents, checks that it can be written */
	STAT_SET_MODES,  /* sets the modes that are wanted */
};

/* Does by the shell what a vendor's file API cannot. Sets error of those files
 * that have none, by one command for all of them (several, when there are very
 * many). */
int stat_files(struct sandbox *sb, enum stat_purpose what,
	       struct transfer *files, size_t n, const struct stop *stop,
	       struct error *err);

#endif
