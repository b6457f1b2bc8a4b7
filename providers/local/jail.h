/* jail.h - the supervisor inside a local sandbox, and the words it knows. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_JAIL_H
#define PROVIDERS_LOCAL_JAIL_H

#include <stddef.h>
#include <stdint.h>

/*
 * `dcode --jail-supervisor FD` runs as process 1 of a bubblewrap sandbox. FD is
 * a SOCK_SEQPACKET socket to the dcode outside; when that closes it, however
 * it ends, the supervisor exits and the kernel kills everything in the
 * sandbox. Nothing of the user's is in here: what it may see, bubblewrap has
 * decided before.
 *
 *   supervisor -> dcode  struct jail_hello, once
 *   dcode -> supervisor  struct jail_order; JAIL_RUN carries descriptors:
 *                        a stream socket (control) and for JOB_EXEC stdout,
 *                        stderr and, if the job says so, stdin
 *
 * The supervisor forks a runner for each order, which speaks on control:
 *
 *   dcode -> runner      struct jail_job and its strings; for JOB_UPLOAD then
 *                        size bytes. Closing or shutting down early kills the
 *                        job's whole process tree
 *   runner -> dcode      struct jail_reply: REPLY_DATA (download) any number
 *                        of times, each followed by its bytes; then one other
 *
 * Both sides are the same binary, so these are plain structs. dcode checks
 * what comes out all the same.
 */
#define JAIL_ARGUMENT "--jail-supervisor"

enum { JAIL_MAGIC = 0x6463316a, JAIL_STRINGS_MAX = 4 << 20 };

struct jail_hello {
	uint32_t magic;
};

enum jail_order_kind { JAIL_RUN = 1, JAIL_LIFETIME };

struct jail_order {
	uint32_t kind;
	uint32_t unused;
	int64_t lifetime_ms; /* JAIL_LIFETIME: from now on */
};

enum jail_job_kind { JOB_EXEC = 1, JOB_UPLOAD, JOB_DOWNLOAD };

/* Per process, 0: no limit. */
struct jail_limits {
	uint64_t memory;    /* bytes of writable memory */
	uint64_t file_size; /* bytes */
	uint64_t processes; /* of the whole sandbox */
};

struct jail_job {
	uint32_t kind;
	uint32_t len;   /* bytes of strings that follow, NUL-terminated each:
			   path or directory, command, environment... */
	uint32_t mode;  /* JOB_UPLOAD: permission bits */
	uint16_t plain; /* JOB_EXEC: sh even where bash exists */
	uint16_t input; /* JOB_EXEC: stdin came along */
	uint64_t size;  /* JOB_UPLOAD: bytes */
	struct jail_limits limits;
};

enum jail_reply_kind {
	REPLY_DONE = 1, /* value: exit code */
	REPLY_ERRNO,    /* value: why the job could not be done */
	REPLY_CWD,      /* value: errno of the directory */
	REPLY_DATA,     /* value: bytes that follow */
	REPLY_KILLED    /* value: processes that could not be killed */
};

struct jail_reply {
	uint32_t kind;
	int32_t value;
};
enum { JAIL_DATA_MAX = 64 << 10 }; /* bytes after one REPLY_DATA */

/* Never returns to the caller's program: its result is the exit status. */
int jail_main(int argc, char **argv);

/* jail_files.c: does the job and replies; in the runner. */
void jail_upload(int control, const struct jail_job *job, const char *path);
void jail_download(int control, const char *path);
/* jail_filter.c: for this process and all that come of it; 0 or -1. */
int jail_filter(void);
/* jail.c */
int jail_reply(int control, uint32_t kind, int32_t value);
/* Blocking, in the runner: all of len, or -1. */
int jail_read(int fd, void *data, size_t len);
int jail_write(int fd, const void *data, size_t len);

#endif
