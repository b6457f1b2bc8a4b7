/* transfer_options.h - what --upload and --download ask for, checked early. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TRANSFER_OPTIONS_H
#define CMD_SESSION_TRANSFER_OPTIONS_H

#include "base/buf.h"
#include "cmd/args.h"

/* One --upload or --download, and what became of it. */
struct transfer_option {
	bool uploads;
	char *local;        /* owned */
	char *remote;       /* owned; "": the sandbox's working directory */
	bool force;         /* replace files that are there */
	const char **bring; /* names that a download leaves out unless they
			       are asked for (cmd/sandbox/incoming.h);
			       borrowed */
	size_t n_bring;
	bool tried;
	bool refused;       /* all or a part: something else is in its place */
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

struct transfer_options { /* zeroed, or filled by transfer_options_read() */
	struct transfer_option *list; /* owned */
	size_t n;
	bool force;         /* files may be replaced, there and here */
	const char **bring; /* of --bring, owned */
	size_t n_bring;
};

/* Sets what is copied from where to where; "" as second is the directory there,
 * the current one or the sandbox's. option is for errors. Release it also after
 * -1. */
int transfer_option_set(struct transfer_option *t, const char *option,
			const char *first, const char *second,
			struct error *err);
void transfer_option_release(struct transfer_option *t);
/* Reads --upload, --download and --force: ERR_USAGE. Release it also after -1.
 */
int transfer_options_read(struct transfer_options *t, const struct args *args,
			  struct error *err);
/* Errors that can be found before there is a sandbox: what is to be sent is
 * missing, a place for what comes back is taken, or two have one target. */
int transfer_options_check(const struct transfer_options *t, struct error *err);
void transfer_options_release(struct transfer_options *t);

#endif
