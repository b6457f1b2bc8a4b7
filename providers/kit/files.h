/* files.h - uploads and downloads through a vendor's file API. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_FILES_H
#define PROVIDERS_KIT_FILES_H

#include "providers/kit/rest.h"
#include "sandbox/provider.h"
#include "sandbox/sandbox.h"

/* What to do after a failed request. */
enum file_retry {
	FILE_RETRY, /* temporary failure: retry */
	/* the sandbox may be stopped or gone: start it, then retry */
	FILE_RETRY_STARTED,
	/* as above; but if the sandbox runs, this file is the cause */
	FILE_RETRY_UNSURE,
	FILE_RETRY_NEVER, /* give up this file */
	FILE_RETRY_FATAL, /* give up all files: the key is invalid */
};

/* The request that downloads a file (GET, or POST with a body) or uploads one
 * (POST; another method needs http_files.send). The vendor fills it in. */
struct file_request {
	struct buf path; /* path of the URL, with its query */
	struct buf body; /* download: JSON of a POST; empty: a GET */
	/* Upload: name of the form field with the path, or NULL. */
	const char *path_field;
	/* form field with the file's bytes; NULL: the body is the file
	 * itself */
	const char *file_field;
	const char *file_name; /* file name in the form */
};

/* A local file, and the path in the sandbox to which it is uploaded. That path
 * may be a temporary one. */
struct http_files_put {
	const struct transfer *file;
	const char *path;
	bool own; /* out: the local file could not be read */
};

/* A vendor's file API, const. All functions may be called from several threads
 * at once. */
struct http_files {
	/* Like rest_call(), to the server that stores the sandbox's files. */
	int (*call)(struct sandbox *sb, const struct http_request *ask,
		    struct http_response *res, const struct stop *stop,
		    struct error *err);
	void (*get)(struct sandbox *sb, const char *file,
		    struct file_request *req);
	/* A vendor sets either put() or send(). put() fills in the request;
	 * send() sends it, like rest_call() with its answer in res. */
	void (*put)(struct sandbox *sb, const char *file,
		    struct file_request *req);
	int (*send)(struct sandbox *sb, struct http_files_put *put,
		    struct http_response *res, const struct stop *stop,
		    struct error *err);
	/* Classifies an answer with a status of 400 or more that files.c has no
	 * rule for. NULL: the file is the cause of all of them. */
	enum file_retry (*classify)(const struct http_response *res);
	bool touch; /* vendor_touch() is needed before each file */
};

/* Serve as struct sandbox_ops.upload and .download of a vendor that has struct
 * vendor.files. They use constant memory. A small file is sent in a command. A
 * larger one goes through the API to a temporary file, which a command renames.
 * After an interruption, a file that can be read from its start again is sent
 * to another temporary file. An interrupted download continues at the same
 * offset. If the API refuses a file, the sandbox's own shell is asked, because
 * its error is exact. */
int vendor_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
int vendor_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);

/* Source of an upload, held in memory if the file is small. */
struct file_source {
	struct transfer *file; /* borrowed */
	struct buf held;       /* content of a small file */
	/* held contains the file; to send it again, set sent to 0 */
	bool is_held;
	int64_t sent; /* bytes returned by file_source_read() */
	bool failed;  /* the local file could not be read: see why */
	struct error why;
};

/* Reads a file of at most held_max bytes into memory. -1 if that failed. The
 * caller releases s, even on failure. */
int file_source_open(struct file_source *s, struct transfer *f,
		     int64_t held_max, struct error *err);
/* Reads at most len bytes into room. 0 at the end, -1 with the file's error.
 * arg is the struct file_source. */
int64_t file_source_read(void *arg, char *room, size_t len, struct error *err);
void file_source_release(struct file_source *s);

enum stat_purpose {
	STAT_FOR_UPLOAD, /* creates parents, checks that files can be written */
	STAT_SET_MODES,  /* sets the requested modes */
};

/* Does with the shell what a vendor's file API cannot. Sets the error of files
 * that have none yet. Uses one command for all files (several if there are very
 * many). */
int stat_files(struct sandbox *sb, enum stat_purpose what,
	       struct transfer *files, size_t n, const struct stop *stop,
	       struct error *err);

#endif
