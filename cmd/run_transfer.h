/* run_transfer.h - files that go into a run's sandbox and come back from it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_RUN_TRANSFER_H
#define CMD_RUN_TRANSFER_H

#include "base/buf.h"
#include "base/stop.h"
#include "cmd/args.h"

/* One --upload or --download, and what became of it. */
struct run_transfer {
	bool uploads;
	char *local;  /* owned; "": the current directory */
	char *remote; /* owned; "": the sandbox's working directory */
	bool tried;
	int rc;             /* -1: it failed, err says why */
	char *target;       /* owned: where it went, or NULL */
	int64_t files;      /* that were copied, */
	int64_t links;      /* and links */
	int64_t skipped;    /* not copied: each had a warning */
	struct buf entries; /* JSON: what is in a tree, one object each */
	int64_t listed;     /* how many they are, */
	int64_t unlisted;   /* and those beyond the most */
	struct error err;
};

struct run_transfers { /* zeroed, or filled by run_transfers_read() */
	struct run_transfer *list; /* owned */
	size_t n;
	bool force; /* downloads may replace local files */
};

/* Reads --upload, --download and --force: ERR_USAGE. Release it also after -1.
 */
int run_transfers_read(struct run_transfers *t, const struct args *args,
		       struct error *err);
/* Errors that can be found before there is a sandbox: what is to be sent is
 * missing, or a place for what comes back is taken. */
int run_transfers_check(const struct run_transfers *t, struct error *err);
void run_transfers_release(struct run_transfers *t);

struct run;
struct sandbox;
/* Before the setup script and the first request: the uploads, in their order,
 * to the first that fails. arg is the run; as lifecycle_request.fill. */
int run_fill(void *arg, struct sandbox *sb, const struct stop *stop,
	     struct error *err);
/*
 * After the last answer, while the sandbox is there: the downloads, within a
 * time of their own, which is shorter once the run was interrupted. Each is
 * tried. -1 when one did not come whole; what happened to each is on stderr.
 */
int run_download(struct run *r, struct error *err);
/* What became of each, as a JSON array; nothing without transfers. */
void run_transfers_json(const struct run *r, struct buf *out);
/* /upload LOCAL [REMOTE] and /download [--force] REMOTE [LOCAL] of the chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);

#endif
