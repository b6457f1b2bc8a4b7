/* contract.h - checks that a provider keeps its promises, one by one. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include "lifecycle/lifecycle.h"

enum contract_verdict {
	CONTRACT_OK = 1,
	CONTRACT_FAIL,
	CONTRACT_NA, /* not promised, or not tried: the reason says which */
};
struct contract_result { /* borrowed for the call */
	const char *name;
	enum contract_verdict verdict;
	int64_t ms;
	const char *reason; /* or ""; may hold the sandbox's words, not clean */
};
struct contract_request { /* all borrowed for the call */
	struct sandbox_client *client;
	struct store *store; /* may be NULL with SANDBOX_UNISOLATED */
	struct mask *mask;
	/* A snapshot is made under this name, and stays: there is no way to
	 * delete one. NULL: the check is left out. */
	const char *snapshot;
	bool quick; /* leave out what takes more than a second by itself */
	bool large; /* add the largest sizes: 100 MB of output, 1 GiB files */
	/* Of the checks in the sandbox, only those whose name has this in it;
	 * NULL: all. */
	const char *only;
	struct lifecycle_ui ui;
	void (*each)(void *arg, const struct contract_result *result);
	void *arg;
};
struct contract_summary {
	size_t passed, failed, absent;
	int64_t create_ms;    /* -1 unknown, as are the others */
	int64_t command_ms;   /* median of quick commands */
	int64_t remove_ms;    /* until confirmed */
	int64_t upload_kib_s; /* of the largest file */
	int64_t download_kib_s;
};
/*
 * Makes a sandbox through the lifecycle (ledger and all), runs every check in
 * it, and deletes it whatever happens. -1 only when stop ended it: a broken
 * promise, even of create, is a check that failed.
 */
int contract_run(const struct contract_request *request,
		 struct contract_summary *summary, const struct stop *stop,
		 struct error *err);

/* True when this text leaves at least one check to run. */
bool contract_knows(const char *only);

#endif
