/* nul_records.h - what git prints with -z, record by record. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_NUL_RECORDS_H
#define GIT_NUL_RECORDS_H

#include "git/git.h"

struct nul_records {
	/* Gets each record, without the NUL that ends it; -1 ends git. */
	int (*each)(void *arg, const char *record, struct error *err);
	void *arg;
	struct str input; /* of git; may be empty */
	bool warned;      /* out: git said something on standard error */
	struct buf held;  /* of nul_records_run() */
};
/* ERR_LIMIT for a record of more than 1 MiB. */
int nul_records_run(const struct git *g, const char *const *argv,
		    struct nul_records *r, const struct stop *stop,
		    struct error *err);

#endif
