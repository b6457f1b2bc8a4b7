/* records.h - what glob.sh and grep.sh print, taken apart. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_RECORDS_H
#define SANDBOX_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Paths that arrive in pieces: each ".//./PATH\n", a last "//\n". */
struct path_records {
	struct buf held; /* start from { 0 } */
	bool incomplete; /* the last line said so, or a path was too long */
};
/* each: a path below the root; false stops. Returns false once stopped. */
bool path_records_feed(struct path_records *p, struct str chunk,
		       bool (*each)(void *arg, struct str path), void *arg);
/* whole: nothing was cut off, so the last path counts. */
void path_records_end(struct path_records *p, bool whole,
		      bool (*each)(void *arg, struct str path), void *arg);

enum match_form { MATCH_FILE, MATCH_NULL, MATCH_COLON };
struct match_record {
	struct str path; /* below the root; empty for MATCH_FILE */
	int64_t line;
	bool later; /* text begins later than the line: "12+:" */
	struct str text;
};
/* Takes one match off *rest, skipping what is none; false at the end. */
bool match_record_next(struct str *rest, enum match_form form,
		       struct match_record *m);

#endif
